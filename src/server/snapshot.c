/* Snapshots: the values of one moment, kept while training goes on
 * (docs/decisions/0009-snapshots.md).
 *
 * Marking copies next to nothing: single numbers, and of a table with rows that lie behind the
 * history by which they are brought to the moment later (tensor/value.h). From then on whoever is
 * about to change a value for the first time keeps what it was before: a dense unit as a whole,
 * rows of a sparse one row by row. Reading (snapshot_read.c) takes what was kept, or the value that
 * nobody has changed since. Where something changes a table as a whole (all rows are
 * settled, a rule that moves every row), all of it is copied then: that costs what the change does.
 *
 * One snapshot at a time; a new mark drops the one before. One that a worker has made for itself
 * goes with its process; an epoch's is the job's. There being no memory to keep something spoils
 * the snapshot, not the training. Locks: the parts of a unit are guarded by its shard's
 * lock; the snapshot itself changes under all of them, taken in order, and the rate's. */
#include "server/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rules/rule.h"
#include "server/server_parts.h"

/* ---- life ---- */

static void kept_unit_deinit(struct kept_unit *k)
{
    for (int i = 0; i < k->nvars; i++) {
        tensor_deinit(&k->vars[i].copy);
        for (size_t c = 0; k->vars[i].rows && c < k->nchunks; c++)
            mem_free(k->vars[i].rows[c]);
        free(k->vars[i].rows);
    }
    for (size_t c = 0; c < k->nchunks; c++)
        mem_free(k->stamps[c]);
    free(k->stamps);
    if (k->moment)
        k->moment->destroy(k->moment);
    for (size_t c = 0; k->slots && c <= k->rows / SLOT_PIECE; c++)
        mem_free(k->slots[c]);
    mem_free(k->all_stamps);
    free(k->scratch);
    free(k->slots);
    free(k->vars);
    table_snapshot_free(k->ended);
}

void snapshot_destroy(struct snapshot *n)
{
    if (!n)
        return;
    for (int i = 0; i < n->nunits; i++)
        kept_unit_deinit(&n->units[i]);
    for (int i = 0; i < n->nothers; i++)
        tensor_deinit(&n->others[i].copy);
    free(n->units);
    free(n->others);
    free(n);
}

static enum skiff_status copy_tensor(struct tensor *to, const struct tensor *from,
                                     struct skiff_error *err)
{
    TRY(tensor_resize(to, from->dtype, &from->shape, err));
    if (tensor_bytes(from))
        memcpy(to->data, from->data, tensor_bytes(from));
    return SKIFF_OK;
}

/* ---- marking ----
 *
 * Rows that lie behind are brought to the mark when they are read, from their stamps and a copy of
 * the rates (lag_moment). In sync mode, which promises bits, they are settled at the mark: a job
 * that resumes from the snapshot starts with no row behind. */

bool unit_moves_rows_only(const struct server *s, const struct unit *u)
{
    if (u->add)
        return true;
    const struct lag *lag = value_lag(u->param_value);
    if (lag)
        return lag->class->moment != NULL;
    const struct skiff_block *b = s->program->blocks[u->block];
    for (int i = 0; i < b->nops; i++) {
        const struct skiff_op *op = b->ops[i];
        const struct rule *rule = op_writes(op, u->param) ? rule_find(op->type) : NULL;
        const struct op_attr_value *lazy = rule ? op_attr(op, "lazy_mode") : NULL;
        if (rule)
            return !(rule->flags & RULE_WHOLE) && (!rule->idle || (lazy && lazy->value.b));
    }
    return false;
}

/* Has it as many rows as the parameter, of the same length? */
static bool is_by_row(const struct unit *u, const struct tensor *t)
{
    const struct tensor *p = &u->param_value->tensor;
    return u->sparse && t->dtype == DTYPE_FP32 && t->shape.ndim && p->shape.ndim &&
           t->shape.dims[0] == p->shape.dims[0] && tensor_numel(t) == tensor_numel(p);
}

static int place_in(const struct lag_moment *m, const void *data)
{
    for (int i = 0; m && data && i < LAG_ARRAYS; i++)
        if (m->base[i] == data)
            return i;
    return -1;
}

static bool is_row_var(const struct unit *u, const struct skiff_tensor *v)
{
    for (int i = 0; i < u->nvars; i++)
        if (u->vars[i].value == v)
            return true;
    return false;
}

static void list_vars(struct server *s, const struct unit *u, const struct plan_names *names,
                      struct kept_unit *k)
{
    k->vars = mem_must((size_t)(names->n + 1) * sizeof *k->vars);
    for (int i = 0; i < names->n; i++) {
        struct skiff_tensor *v = scope_var(s->scope, names->v[i]);
        if (is_row_var(u, v) || v == u->grad_value || v == u->base_value ||
            v->kind != VALUE_TENSOR || !v->tensor.data)
            continue;
        k->vars[k->nvars++] = (struct kept_var){.name = names->v[i],
                                                .value = v,
                                                .array = place_in(k->moment, v->tensor.data),
                                                .by_row = is_by_row(u, &v->tensor)};
    }
}

/* Is every array of the moment one of the variables? Otherwise rows could not be told later. */
static bool moment_is_covered(const struct kept_unit *k)
{
    for (int a = 0; a < LAG_ARRAYS; a++) {
        bool found = !k->moment->base[a];
        for (int i = 0; i < k->nvars; i++)
            found |= k->vars[i].array == a && k->vars[i].by_row;
        if (!found)
            return false;
    }
    return true;
}

/* Rows are kept by the table; powers of beta and the like are copied. */
static enum skiff_status mark_keyed(struct server *s, int i, struct kept_unit *k,
                                    struct skiff_error *err)
{
    struct unit *u = &s->units[i];
    struct lag *lag = value_lag(u->param_value);
    uint32_t moment;
    list_vars(s, u, &s->options.plan->units[i].vars, k);
    for (int v = 0; v < k->nvars; v++)
        TRY(copy_tensor(&k->vars[v].copy, &k->vars[v].value->tensor, err));
    if (lag && mode_waits(s->plan->mode))
        TRY(keyed_settle_all(u, err));
    else if (lag)
        TRY(lag->class->moment(lag, &k->moment, err));
    if (u->table->snapshot) /* the clerk's */
        return error_set(err, SKIFF_STATE,
                         "table %s is being saved: a snapshot of the job can be taken when that is "
                         "done",
                         u->param);
    TRY(table_snapshot_begin(u->table, 0, &moment, err));
    k->tabled = true;
    return table_snapshot_by_id(u->table, err);
}

static enum skiff_status mark_unit(struct server *s, int i, struct kept_unit *k,
                                   struct skiff_error *err)
{
    struct unit *u = &s->units[i];
    struct lag *lag = value_lag(u->param_value);
    if (u->table)
        return mark_keyed(s, i, k, err);
    k->rows = u->param_value->tensor.shape.ndim ? (size_t)u->param_value->tensor.shape.dims[0] : 1;
    if (lag && lag->class->moment && !mode_waits(s->plan->mode))
        TRY(lag->class->moment(lag, &k->moment, err));
    else
        value_settle(u->param_value);
    list_vars(s, u, &s->options.plan->units[i].vars, k);
    if (k->moment && !moment_is_covered(k)) {
        value_settle(u->param_value);
        k->moment->destroy(k->moment);
        k->moment = NULL;
    }
    if (!u->sparse)
        return SKIFF_OK;
    k->slots = mem_must((k->rows / SLOT_PIECE + 1) * sizeof *k->slots);
    k->scratch = mem_must((size_t)(LAG_ARRAYS * u->width + 1) * sizeof *k->scratch);
    for (int v = 0; v < k->nvars; v++) /* powers of beta and the like */
        if (!k->vars[v].by_row)
            TRY(copy_tensor(&k->vars[v].copy, &k->vars[v].value->tensor, err));
    return SKIFF_OK;
}

/* Counters and rates, which no unit has: few numbers. */
static enum skiff_status mark_others(struct server *s, struct snapshot *n, struct skiff_error *err)
{
    const struct skiff_block *root = program_root(s->options.main);
    n->others = mem_must((root->vars.count + 1) * sizeof *n->others);
    for (size_t i = 0; i < root->vars.count; i++) {
        const struct skiff_var *v = root->vars.entries[i].value;
        if (v->persistable != IS_TRUE || str_map_has(&s->by_var, v->name) ||
            str_map_has(&s->elsewhere, v->name))
            continue;
        struct skiff_tensor *value = scope_var(s->scope, v->name);
        if (value->kind != VALUE_TENSOR || !value->tensor.data)
            continue;
        n->others[n->nothers] = (struct kept_var){.name = v->name, .value = value};
        TRY(copy_tensor(&n->others[n->nothers++].copy, &value->tensor, err));
    }
    return SKIFF_OK;
}

/* Tables keep nothing more for this snapshot. */
static void leave_tables(struct server *s, struct snapshot *n)
{
    for (int i = 0; i < n->nunits; i++)
        if (n->units[i].tabled)
            n->units[i].ended = table_snapshot_take_off(s->units[i].table);
}

static enum skiff_status mark(struct server *s, const char *tag, struct snapshot **out,
                              struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct snapshot *n = mem_must(sizeof *n);
    snprintf(n->tag, sizeof n->tag, "%s", tag);
    n->units = mem_must((size_t)(s->nunits + 1) * sizeof *n->units);
    n->nunits = s->nunits;
    for (int i = 0; i < s->nunits && status == SKIFF_OK; i++)
        status = mark_unit(s, i, &n->units[i], err);
    if (status == SKIFF_OK)
        status = mark_others(s, n, err);
    if (status < 0) {
        leave_tables(s, n);
        snapshot_destroy(n);
    } else {
        *out = n;
    }
    return status;
}

void server_lock_all(struct server *s)
{
    for (int i = 0; i < s->nshards; i++)
        pthread_mutex_lock(&s->shards[i].lock);
}

void server_unlock_all(struct server *s)
{
    for (int i = s->nshards - 1; i >= 0; i--)
        pthread_mutex_unlock(&s->shards[i].lock);
}

/* All locks are held. */
static struct snapshot *take_off(struct server *s)
{
    struct snapshot *old = s->snapshot;
    if (old)
        leave_tables(s, old);
    s->snapshot = NULL;
    return old;
}

/* All locks are held. Gives the one that is replaced. */
static enum skiff_status replace(struct server *s, const char *tag, const struct rpc_request *owner,
                                 struct snapshot **old, struct skiff_error *err)
{
    struct snapshot *fresh = NULL;
    if (s->snapshot && !strcmp(s->snapshot->tag, tag))
        return SKIFF_OK;
    *old = take_off(s);
    pthread_rwlock_rdlock(&s->rate);
    enum skiff_status status = mark(s, tag, &fresh, err);
    pthread_rwlock_unlock(&s->rate);
    if (status < 0)
        return status;
    if (owner) {
        fresh->owned = true;
        fresh->owner = owner->sender.index;
        fresh->owner_life = owner->incarnation;
    }
    s->snapshot = fresh;
    return SKIFF_OK;
}

enum skiff_status snapshot_mark(struct server *s, const char *tag, const struct rpc_request *owner,
                                struct skiff_error *err)
{
    struct snapshot *old = NULL;
    server_lock_all(s);
    enum skiff_status status = owner ? hold_check(s, owner, err) : SKIFF_OK;
    if (status == SKIFF_OK)
        status = replace(s, tag, owner, &old, err);
    if (owner)
        hold_end_of(s, owner);
    server_unlock_all(s);
    snapshot_destroy(old); /* it may be large: nobody waits for that */
    return status;
}

void snapshot_drop(struct server *s, const char *tag, const struct rpc_request *q)
{
    struct snapshot *old = NULL;
    server_lock_all(s);
    if (s->snapshot && !strcmp(s->snapshot->tag, tag))
        old = take_off(s);
    hold_end_of(s, q);
    server_unlock_all(s);
    snapshot_destroy(old);
}

void snapshot_review(struct server *s)
{
    struct snapshot *old = NULL;
    server_lock_all(s);
    const struct snapshot *n = s->snapshot;
    if (n && n->owned && people_gone(s, n->owner, n->owner_life))
        old = take_off(s);
    server_unlock_all(s);
    snapshot_destroy(old);
}

/* ---- keeping: the shard's lock is held ---- */

static struct kept_unit *kept_of(struct server *s, const struct unit *u)
{
    struct snapshot *n = s->snapshot;
    return n && !u->table && !atomic_load(&n->spoiled) ? &n->units[u - s->units] : NULL;
}

/* The save will fail with the reason; training goes on. */
static void spoil(struct server *s, const struct unit *u, const struct skiff_error *why)
{
    struct snapshot *n = s->snapshot;
    if (!atomic_exchange(&n->spoiled, true))
        server_warn(s, "the snapshot \"%s\" is lost: %s: %s", n->tag, u->param, why->message);
}

static enum skiff_status keep_whole(const struct unit *u, struct kept_unit *k,
                                    struct skiff_error *err)
{
    for (int i = 0; i < k->nvars; i++)
        if (!k->vars[i].copy.data)
            TRY(copy_tensor(&k->vars[i].copy, &k->vars[i].value->tensor, err));
    if (k->moment) {
        const struct lag *lag = value_lag(u->param_value);
        void *stamps;
        TRY(mem_alloc((k->rows + 1) * sizeof *k->all_stamps, "stamps of a snapshot", &stamps, err));
        k->all_stamps = stamps;
        for (size_t r = 0; r < k->rows; r++)
            k->all_stamps[r] = lag->class->stamp(lag, (int64_t)r);
    }
    k->whole = true;
    return SKIFF_OK;
}

void unit_keep_all(struct server *s, const struct unit *u)
{
    struct kept_unit *k = kept_of(s, u);
    struct skiff_error err;
    if (k && !k->whole && keep_whole(u, k, &err) < 0)
        spoil(s, u, &err);
}

static enum skiff_status chunk_alloc(size_t bytes, void *out, struct skiff_error *err)
{
    void *p;
    TRY(mem_alloc(bytes, "rows of a snapshot", &p, err));
    memcpy(out, &p, sizeof p);
    return SKIFF_OK;
}

static void reserve_chunks(struct kept_unit *k)
{
    if (k->nchunks < k->chunks_cap)
        return;
    k->chunks_cap = k->chunks_cap ? 2 * k->chunks_cap : 16;
    for (int i = 0; i < k->nvars; i++)
        if (k->vars[i].by_row)
            k->vars[i].rows =
                mem_must_grow(k->vars[i].rows, k->chunks_cap * sizeof *k->vars[i].rows);
    k->stamps = mem_must_grow(k->stamps, k->chunks_cap * sizeof *k->stamps);
}

static enum skiff_status add_chunk(const struct unit *u, struct kept_unit *k,
                                   struct skiff_error *err)
{
    size_t c = k->nchunks;
    reserve_chunks(k);
    k->stamps[c] = NULL;
    for (int i = 0; i < k->nvars; i++)
        if (k->vars[i].by_row)
            k->vars[i].rows[c] = NULL;
    k->nchunks++;
    TRY(chunk_alloc(KEPT_CHUNK * sizeof **k->stamps, &k->stamps[c], err));
    for (int i = 0; i < k->nvars; i++)
        if (k->vars[i].by_row)
            TRY(chunk_alloc(KEPT_CHUNK * (size_t)u->width * sizeof(float), &k->vars[i].rows[c],
                            err));
    return SKIFF_OK;
}

static void keep_row(const struct unit *u, struct kept_unit *k, size_t slot, int64_t row)
{
    size_t width = (size_t)u->width;
    const struct lag *lag = k->moment ? value_lag(u->param_value) : NULL;
    for (int i = 0; i < k->nvars; i++)
        if (k->vars[i].by_row)
            memcpy(kept_slot(&k->vars[i], slot, width),
                   tensor_f32(&k->vars[i].value->tensor) + (size_t)row * width,
                   width * sizeof(float));
    k->stamps[slot / KEPT_CHUNK][slot % KEPT_CHUNK] = lag ? lag->class->stamp(lag, row) : 0;
}

/* Where the row's slot is noted. */
static enum skiff_status slot_place(struct kept_unit *k, size_t row, uint32_t **out,
                                    struct skiff_error *err)
{
    uint32_t **piece = &k->slots[row / SLOT_PIECE];
    if (!*piece) {
        TRY(chunk_alloc(SLOT_PIECE * sizeof **piece, piece, err));
        memset(*piece, 0, SLOT_PIECE * sizeof **piece);
    }
    *out = *piece + row % SLOT_PIECE;
    return SKIFF_OK;
}

static enum skiff_status keep_rows(const struct unit *u, struct kept_unit *k, const int64_t *rows,
                                   size_t n, struct skiff_error *err)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t *slot;
        if ((uint64_t)rows[i] >= (uint64_t)k->rows)
            continue; /* it was not there at the mark */
        TRY(slot_place(k, (size_t)rows[i], &slot, err));
        if (*slot)
            continue;
        if (k->nkept == k->nchunks * KEPT_CHUNK)
            TRY(add_chunk(u, k, err));
        keep_row(u, k, k->nkept, rows[i]);
        *slot = (uint32_t)++k->nkept;
    }
    return SKIFF_OK;
}

void unit_keep_rows(struct server *s, const struct unit *u, const int64_t *rows, size_t n)
{
    struct kept_unit *k = kept_of(s, u);
    struct skiff_error err;
    if (k && !k->whole && n && keep_rows(u, k, rows, n, &err) < 0)
        spoil(s, u, &err);
}

void unit_keep(struct server *s, const struct unit *u)
{
    const struct kept_unit *k = kept_of(s, u);
    if (!k || k->whole)
        return;
    const struct lag *lag = value_lag(u->param_value);
    bool sweeps = lag && lag->class->sweeps_next && lag->class->sweeps_next(lag);
    if (!u->sparse || sweeps || !unit_moves_rows_only(s, u))
        unit_keep_all(s, u);
    else
        unit_keep_rows(s, u, u->grad_value->sel.rows, u->grad_value->sel.nrows);
}
