/* Snapshots: the values at one point in time, kept while training continues
 * (docs/internals/decisions/0009-snapshots.md).
 *
 * Tagging copies next to nothing: single numbers, and for a table with deferred updates the history
 * from which these are computed later (tensor/value.h). From then on the first change of a value
 * copies the old one (copy-on-write): a dense slice as a whole, rows of a sparse one row by row.
 * Reading (snapshot_read.c) takes the copy, or the current value if it has not changed since. An
 * operation that changes a table as a whole (flushing all deferred updates, a rule that moves every
 * row) copies all of it then, which costs as much as the change.
 *
 * One snapshot at a time; a new tag drops the one before. A snapshot that a worker has made for
 * itself is dropped when its process goes; an epoch's belongs to the job. If memory for a copy runs
 * out, the snapshot is lost and training continues. Locks: the parts of a slice are guarded by its
 * shard's lock; the snapshot itself changes under all of them, taken in order, and the rate's. */
#include "server/snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rules/rule.h"
#include "server/hashed.h"
#include "server/members.h"
#include "server/quiesce.h"
#include "server/shard.h"
#include "server/slice.h"
#include "server/server_parts.h"
#include "table/table_snapshot.h"

/* ---- lifecycle ---- */

static void slice_copy_deinit(struct slice_copy *k)
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
    if (k->deferred_state)
        k->deferred_state->destroy(k->deferred_state);
    for (size_t c = 0; k->slots && c <= k->rows / SLOT_PIECE; c++)
        mem_free(k->slots[c]);
    mem_free(k->all_stamps);
    free(k->scratch);
    free(k->slots);
    free(k->vars);
    table_snapshot_destroy(k->ended);
}

void snapshot_destroy(struct snapshot *n)
{
    if (!n)
        return;
    for (int i = 0; i < n->nslices; i++)
        slice_copy_deinit(&n->slices[i]);
    for (int i = 0; i < n->nothers; i++)
        tensor_deinit(&n->others[i].copy);
    free(n->slices);
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

/* ---- tagging ----
 *
 * Deferred updates are applied when rows are read, from their stamps and a copy of the rates
 * (deferred_rows_state). In sync mode, which promises bits, they are flushed at the tag: a job that
 * resumes from the snapshot starts without deferred updates. */

bool slice_moves_rows_only(const struct server *s, const struct param_slice *u)
{
    if (u->add)
        return true;
    const struct deferred *deferred = value_deferred(u->param_value);
    if (deferred)
        return deferred->class->deferred_state != NULL;
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
static bool is_by_row(const struct param_slice *u, const struct tensor *t)
{
    const struct tensor *p = &u->param_value->tensor;
    return u->sparse && t->dtype == DTYPE_FP32 && t->shape.ndim && p->shape.ndim &&
           t->shape.dims[0] == p->shape.dims[0] && tensor_numel(t) == tensor_numel(p);
}

static int index_in(const struct deferred_state *m, const void *data)
{
    for (int i = 0; m && data && i < DEFERRED_ARRAYS; i++)
        if (m->base[i] == data)
            return i;
    return -1;
}

static bool is_row_var(const struct param_slice *u, const struct skiff_tensor *v)
{
    for (int i = 0; i < u->nvars; i++)
        if (u->vars[i].value == v)
            return true;
    return false;
}

static void list_vars(struct server *s, const struct param_slice *u, const struct plan_names *names,
                      struct slice_copy *k)
{
    k->vars = mem_alloc_or_die((size_t)(names->n + 1) * sizeof *k->vars);
    for (int i = 0; i < names->n; i++) {
        struct skiff_tensor *v = scope_var(s->scope, names->v[i]);
        if (is_row_var(u, v) || v == u->grad_value || v == u->base_value ||
            v->kind != VALUE_TENSOR || !v->tensor.data)
            continue;
        k->vars[k->nvars++] =
            (struct var_copy){.name = names->v[i],
                              .value = v,
                              .array = index_in(k->deferred_state, v->tensor.data),
                              .by_row = is_by_row(u, &v->tensor)};
    }
}

/* Is every array of the deferred update one of the variables? Otherwise rows could not be computed
 * later. */
static bool state_is_covered(const struct slice_copy *k)
{
    for (int a = 0; a < DEFERRED_ARRAYS; a++) {
        bool found = !k->deferred_state->base[a];
        for (int i = 0; i < k->nvars; i++)
            found |= k->vars[i].array == a && k->vars[i].by_row;
        if (!found)
            return false;
    }
    return true;
}

/* The table keeps its rows itself; powers of beta and the like are copied. */
static enum skiff_status mark_keyed(struct server *s, int i, struct slice_copy *k,
                                    struct skiff_error *err)
{
    struct param_slice *u = &s->slices[i];
    struct table *table = slice_table(u);
    struct deferred *deferred = value_deferred(u->param_value);
    uint32_t deferred_state;
    list_vars(s, u, &s->options.plan->slices[i].vars, k);
    for (int v = 0; v < k->nvars; v++)
        TRY(copy_tensor(&k->vars[v].copy, &k->vars[v].value->tensor, err));
    if (deferred && mode_waits(s->plan->mode))
        TRY(hashed_flush_all(u, err));
    else if (deferred)
        TRY(deferred->class->deferred_state(deferred, &k->deferred_state, err));
    if (table->snapshot) /* the maintenance thread's */
        return error_set(err, SKIFF_STATE,
                         "table %s is being saved: a snapshot of the job can be taken when that is "
                         "done",
                         u->param);
    TRY(table_snapshot_begin(table, 0, &deferred_state, err));
    k->tabled = true;
    return table_snapshot_by_id(table, err);
}

static enum skiff_status mark_unit(struct server *s, int i, struct slice_copy *k,
                                   struct skiff_error *err)
{
    struct param_slice *u = &s->slices[i];
    struct deferred *deferred = value_deferred(u->param_value);
    if (slice_is_hashed(u))
        return mark_keyed(s, i, k, err);
    k->rows = u->param_value->tensor.shape.ndim ? (size_t)u->param_value->tensor.shape.dims[0] : 1;
    if (deferred && deferred->class->deferred_state && !mode_waits(s->plan->mode))
        TRY(deferred->class->deferred_state(deferred, &k->deferred_state, err));
    else
        value_flush(u->param_value);
    list_vars(s, u, &s->options.plan->slices[i].vars, k);
    if (k->deferred_state && !state_is_covered(k)) {
        value_flush(u->param_value);
        k->deferred_state->destroy(k->deferred_state);
        k->deferred_state = NULL;
    }
    if (!u->sparse)
        return SKIFF_OK;
    k->slots = mem_alloc_or_die((k->rows / SLOT_PIECE + 1) * sizeof *k->slots);
    k->scratch = mem_alloc_or_die((size_t)(DEFERRED_ARRAYS * u->width + 1) * sizeof *k->scratch);
    for (int v = 0; v < k->nvars; v++) /* powers of beta and the like */
        if (!k->vars[v].by_row)
            TRY(copy_tensor(&k->vars[v].copy, &k->vars[v].value->tensor, err));
    return SKIFF_OK;
}

/* Counters and rates, which belong to no slice: few numbers. */
static enum skiff_status mark_others(struct server *s, struct snapshot *n, struct skiff_error *err)
{
    const struct skiff_block *root = program_root(s->options.main);
    n->others = mem_alloc_or_die((root->vars.count + 1) * sizeof *n->others);
    for (size_t i = 0; i < root->vars.count; i++) {
        const struct skiff_var *v = root->vars.entries[i].value;
        if (v->persistable != PRESENCE_TRUE || str_map_has(&s->by_var, v->name) ||
            str_map_has(&s->elsewhere, v->name))
            continue;
        struct skiff_tensor *value = scope_var(s->scope, v->name);
        if (value->kind != VALUE_TENSOR || !value->tensor.data)
            continue;
        n->others[n->nothers] = (struct var_copy){.name = v->name, .value = value};
        TRY(copy_tensor(&n->others[n->nothers++].copy, &value->tensor, err));
    }
    return SKIFF_OK;
}

/* Tables stop copying for this snapshot. */
static void leave_tables(struct server *s, struct snapshot *n)
{
    for (int i = 0; i < n->nslices; i++)
        if (n->slices[i].tabled)
            n->slices[i].ended = table_snapshot_take_off(slice_table(&s->slices[i]));
}

static enum skiff_status mark(struct server *s, const char *tag, struct snapshot **out,
                              struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    struct snapshot *n = mem_alloc_or_die(sizeof *n);
    snprintf(n->tag, sizeof n->tag, "%s", tag);
    n->slices = mem_alloc_or_die((size_t)(s->nslices + 1) * sizeof *n->slices);
    n->nslices = s->nslices;
    for (int i = 0; i < s->nslices && status == SKIFF_OK; i++)
        status = mark_unit(s, i, &n->slices[i], err);
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

/* All locks are held. Returns the one that is replaced. */
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
        fresh->owner_incarnation = owner->incarnation;
    }
    s->snapshot = fresh;
    return SKIFF_OK;
}

enum skiff_status snapshot_tag(struct server *s, const char *tag, const struct rpc_request *owner,
                               struct skiff_error *err)
{
    struct snapshot *old = NULL;
    server_lock_all(s);
    enum skiff_status status = owner ? quiesce_check(s, owner, err) : SKIFF_OK;
    if (status == SKIFF_OK)
        status = replace(s, tag, owner, &old, err);
    if (owner)
        quiesce_end_of(s, owner);
    server_unlock_all(s);
    snapshot_destroy(old); /* it may be large: freed without locks */
    return status;
}

void snapshot_drop(struct server *s, const char *tag, const struct rpc_request *q)
{
    struct snapshot *old = NULL;
    server_lock_all(s);
    if (s->snapshot && !strcmp(s->snapshot->tag, tag))
        old = take_off(s);
    quiesce_end_of(s, q);
    server_unlock_all(s);
    snapshot_destroy(old);
}

void snapshot_review(struct server *s)
{
    struct snapshot *old = NULL;
    server_lock_all(s);
    const struct snapshot *n = s->snapshot;
    if (n && n->owned && members_gone(s, n->owner, n->owner_incarnation))
        old = take_off(s);
    server_unlock_all(s);
    snapshot_destroy(old);
}

/* ---- copy-on-write: the shard's lock is held ---- */

static struct slice_copy *copy_of(struct server *s, const struct param_slice *u)
{
    struct snapshot *n = s->snapshot;
    return n && !slice_is_hashed(u) && !atomic_load(&n->spoiled) ? &n->slices[u - s->slices] : NULL;
}

/* The save will fail with the reason; training continues. */
static void spoil(struct server *s, const struct param_slice *u, const struct skiff_error *why)
{
    struct snapshot *n = s->snapshot;
    if (!atomic_exchange(&n->spoiled, true))
        server_warn(s, "the snapshot \"%s\" is lost: %s: %s", n->tag, u->param, why->message);
}

static enum skiff_status keep_whole(const struct param_slice *u, struct slice_copy *k,
                                    struct skiff_error *err)
{
    for (int i = 0; i < k->nvars; i++)
        if (!k->vars[i].copy.data)
            TRY(copy_tensor(&k->vars[i].copy, &k->vars[i].value->tensor, err));
    if (k->deferred_state) {
        const struct deferred *deferred = value_deferred(u->param_value);
        void *stamps;
        TRY(mem_alloc((k->rows + 1) * sizeof *k->all_stamps, "stamps of a snapshot", &stamps, err));
        k->all_stamps = stamps;
        for (size_t r = 0; r < k->rows; r++)
            k->all_stamps[r] = deferred->class->stamp(deferred, (int64_t)r);
    }
    k->whole = true;
    return SKIFF_OK;
}

void slice_cow_all(struct server *s, const struct param_slice *u)
{
    struct slice_copy *k = copy_of(s, u);
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

static void reserve_chunks(struct slice_copy *k)
{
    if (k->nchunks < k->chunks_cap)
        return;
    k->chunks_cap = k->chunks_cap ? 2 * k->chunks_cap : 16;
    for (int i = 0; i < k->nvars; i++)
        if (k->vars[i].by_row)
            k->vars[i].rows =
                mem_grow_or_die(k->vars[i].rows, k->chunks_cap * sizeof *k->vars[i].rows);
    k->stamps = mem_grow_or_die(k->stamps, k->chunks_cap * sizeof *k->stamps);
}

static enum skiff_status add_chunk(const struct param_slice *u, struct slice_copy *k,
                                   struct skiff_error *err)
{
    size_t c = k->nchunks;
    reserve_chunks(k);
    k->stamps[c] = NULL;
    for (int i = 0; i < k->nvars; i++)
        if (k->vars[i].by_row)
            k->vars[i].rows[c] = NULL;
    k->nchunks++;
    TRY(chunk_alloc(COPY_CHUNK * sizeof **k->stamps, &k->stamps[c], err));
    for (int i = 0; i < k->nvars; i++)
        if (k->vars[i].by_row)
            TRY(chunk_alloc(COPY_CHUNK * (size_t)u->width * sizeof(float), &k->vars[i].rows[c],
                            err));
    return SKIFF_OK;
}

static void keep_row(const struct param_slice *u, struct slice_copy *k, size_t slot, int64_t row)
{
    size_t width = (size_t)u->width;
    const struct deferred *deferred = k->deferred_state ? value_deferred(u->param_value) : NULL;
    for (int i = 0; i < k->nvars; i++)
        if (k->vars[i].by_row)
            memcpy(copy_slot(&k->vars[i], slot, width),
                   tensor_f32(&k->vars[i].value->tensor) + (size_t)row * width,
                   width * sizeof(float));
    k->stamps[slot / COPY_CHUNK][slot % COPY_CHUNK] =
        deferred ? deferred->class->stamp(deferred, row) : 0;
}

/* The entry for the row's slot. */
static enum skiff_status slot_index(struct slice_copy *k, size_t row, uint32_t **out,
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

static enum skiff_status keep_rows(const struct param_slice *u, struct slice_copy *k,
                                   const int64_t *rows, size_t n, struct skiff_error *err)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t *slot;
        if ((uint64_t)rows[i] >= (uint64_t)k->rows)
            continue; /* it did not exist at the tag */
        TRY(slot_index(k, (size_t)rows[i], &slot, err));
        if (*slot)
            continue;
        if (k->nkept == k->nchunks * COPY_CHUNK)
            TRY(add_chunk(u, k, err));
        keep_row(u, k, k->nkept, rows[i]);
        *slot = (uint32_t)++k->nkept;
    }
    return SKIFF_OK;
}

void slice_cow_rows(struct server *s, const struct param_slice *u, const int64_t *rows, size_t n)
{
    struct slice_copy *k = copy_of(s, u);
    struct skiff_error err;
    if (k && !k->whole && n && keep_rows(u, k, rows, n, &err) < 0)
        spoil(s, u, &err);
}

void slice_cow(struct server *s, const struct param_slice *u)
{
    const struct slice_copy *k = copy_of(s, u);
    if (!k || k->whole)
        return;
    const struct deferred *deferred = value_deferred(u->param_value);
    bool sweeps =
        deferred && deferred->class->sweeps_next && deferred->class->sweeps_next(deferred);
    if (!u->sparse || sweeps || !slice_moves_rows_only(s, u))
        slice_cow_all(s, u);
    else
        slice_cow_rows(s, u, u->grad_value->sel.rows, u->grad_value->sel.nrows);
}
