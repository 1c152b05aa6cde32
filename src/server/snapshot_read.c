/* Reading a snapshot: the copy, or the current value if it has not changed since the tag; deferred
 * updates are applied in a copy. A part at a time, under the shard's lock, so that no thread waits
 * long. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server/exchange.h"
#include "server/hashed.h"
#include "server/quiesce.h"
#include "server/server_parts.h"
#include "server/shard.h"
#include "server/slice.h"
#include "server/snapshot.h"
#include "table/table_snapshot.h"

#define LOST "%s ran out of memory for copies of the values of snapshot \"%s\""

/* ---- one row ---- */

static const float *raw_row(const struct var_copy *v, const struct slice_copy *k, size_t width,
                            int64_t row, int64_t slot)
{
    if (slot >= 0)
        return copy_slot(v, (size_t)slot, width);
    const struct tensor *t = k->whole ? &v->copy : &v->value->tensor;
    return (const float *)t->data + (size_t)row * width;
}

static uint32_t stamp_of(const struct param_slice *u, const struct slice_copy *k, int64_t row,
                         int64_t slot)
{
    const struct deferred *deferred = value_deferred(u->param_value);
    if (slot >= 0)
        return k->stamps[(size_t)slot / COPY_CHUNK][(size_t)slot % COPY_CHUNK];
    return k->whole ? k->all_stamps[row] : deferred->class->stamp(deferred, row);
}

static void read_row(const struct param_slice *u, const struct slice_copy *k,
                     const struct var_copy *v, int64_t row, float *out)
{
    size_t width = (size_t)u->width, bytes = width * sizeof(float);
    int64_t slot = copy_find(k, row);
    float *arrays[DEFERRED_ARRAYS] = {0};
    memcpy(out, raw_row(v, k, width, row, slot), bytes);
    if (!k->deferred_state || v->array < 0)
        return;
    for (int i = 0; i < k->nvars; i++) {
        const struct var_copy *w = &k->vars[i];
        if (w->array < 0)
            continue;
        arrays[w->array] = w == v ? out : k->scratch + (size_t)w->array * width;
        if (w != v)
            memcpy(arrays[w->array], raw_row(w, k, width, row, slot), bytes);
    }
    k->deferred_state->flush(k->deferred_state, stamp_of(u, k, row, slot), arrays);
}

/* ---- parts of variables ---- */

static enum skiff_status no_such_var(const struct server *s, const struct ps_pull_snapshot *x,
                                     struct skiff_error *err)
{
    char text[320];
    return error_set(err, SKIFF_NOT_FOUND, "%s has no variable %s in its snapshot \"%s\"",
                     server_text(s, text), x->name, x->tag);
}

static const struct var_copy *find_var(const struct var_copy *vars, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(vars[i].name, name))
            return &vars[i];
    return NULL;
}

static enum skiff_status check_range(const struct ps_pull_snapshot *x, uint64_t rows,
                                     struct skiff_error *err)
{
    if (x->first <= rows && x->count <= rows - x->first)
        return SKIFF_OK;
    return error_set(err, SKIFF_RANGE, "rows %llu to %llu of %s, which has %llu rows here",
                     (unsigned long long)x->first, (unsigned long long)x->first + x->count, x->name,
                     (unsigned long long)rows);
}

static enum skiff_status write_part(const struct param_slice *u, const struct slice_copy *k,
                                    const struct var_copy *v, const struct ps_pull_snapshot *x,
                                    struct wire_writer *w, struct skiff_error *err)
{
    const struct tensor *t = v->copy.data ? &v->copy : &v->value->tensor;
    uint64_t rows = t->shape.ndim ? (uint64_t)t->shape.dims[0] : 1;
    TRY(check_range(x, rows, err));
    size_t row = rows ? tensor_bytes(t) / rows : 0;
    struct ps_item item = {
        .dtype = (uint32_t)t->dtype, .ndim = t->shape.ndim, .bytes = x->count * row};
    snprintf(item.name, sizeof item.name, "%s", x->name);
    memcpy(item.dims, t->shape.dims, sizeof item.dims);
    if (item.ndim)
        item.dims[0] = (int64_t)x->count;
    writer_varint(w, 1);
    char *to = ps_write_item_space(w, &item);
    if (to && v->by_row) {
        float *rows_out = mem_alloc_or_die((size_t)x->count * row + 1);
        for (uint64_t i = 0; i < x->count; i++)
            read_row(u, k, v, (int64_t)(x->first + i), rows_out + i * (size_t)u->width);
        memcpy(to, rows_out, x->count * row);
        free(rows_out);
    } else if (to) {
        memcpy(to, (const char *)t->data + x->first * row, x->count * row);
    }
    return SKIFF_OK;
}

/* Rows by id. A row that did not exist at the tag had the initial values of a new one. */
static enum skiff_status write_ids(struct server *s, struct param_slice *u,
                                   const struct slice_copy *k, const struct ps_pull_snapshot *x,
                                   struct wire_writer *w, struct skiff_error *err)
{
    const struct row_var *var = NULL;
    size_t bytes;
    void *rows;
    char text[320];
    for (int i = 0; i < u->nvars; i++)
        if (!strcmp(u->vars[i].name, x->name))
            var = &u->vars[i];
    if (!var)
        return no_such_var(s, x, err);
    if (table_snapshot_lost(u->table))
        return error_set(err, SKIFF_NOMEM, LOST, server_text(s, text), x->tag);
    if (!mem_mul(x->n, (size_t)u->width * sizeof(float), &bytes))
        return error_set(err, SKIFF_RANGE, "%zu rows of %s", x->n, x->name);
    TRY(mem_alloc(bytes + 1, "rows of a snapshot", &rows, err));
    enum skiff_status status = hashed_read_kept(u, var, k->deferred_state, x->ids, x->n, rows, err);
    if (status == SKIFF_OK)
        writer_bytes(w, rows, bytes);
    mem_free(rows);
    return status;
}

#define RECORDS_MOST ((uint64_t)1 << 14)

static bool is_waiting(const struct param_slice *u, const char *name)
{
    size_t n = strlen(u->param);
    return !strncmp(name, u->param, n) && !strcmp(name + n, WAITING_SUFFIX);
}

/* The sparse table whose list of waiting ids has this name; NULL: none. */
static struct param_slice *waiting_unit(struct server *s, const char *name)
{
    for (int i = 0; i < s->nslices; i++)
        if (s->slices[i].sparse_table && is_waiting(&s->slices[i], name))
            return &s->slices[i];
    return NULL;
}

/* Rows of one variable of a hash-backed embedding: first the ids, then their values. */
static enum skiff_status list_rows(struct param_slice *u, const struct slice_copy *k,
                                   const struct row_var *var, uint64_t *cursor, size_t max,
                                   int64_t *ids, float *rows, size_t *out_n,
                                   struct skiff_error *err)
{
    void *row_list;
    TRY(mem_alloc(max * u->table->stride, "rows of a snapshot", &row_list, err));
    enum skiff_status status = table_snapshot_list(u->table, cursor, max, row_list, out_n, err);
    for (size_t i = 0; status >= 0 && i < *out_n; i++)
        ids[i] = ((struct table_row *)(void *)((char *)row_list + i * u->table->stride))->id;
    mem_free(row_list);
    if (status < 0)
        return status;
    TRY(hashed_read_kept(u, var, k->deferred_state, (const uint8_t *)ids, *out_n, rows, err));
    return status;
}

static enum skiff_status list_some(struct param_slice *u, const struct slice_copy *k,
                                   const struct row_var *var, bool waiting, uint64_t *cursor,
                                   size_t max, int64_t *ids, float *rows, size_t *out_n,
                                   struct skiff_error *err)
{
    if (var)
        return list_rows(u, k, var, cursor, max, ids, rows, out_n, err);
    return (waiting ? sparse_list_waiting : sparse_list_kept)(u->sparse_table, cursor, max, ids,
                                                              rows, out_n, err);
}

/* Records of a sparse table, ids that wait for it, or (var) rows of a hash-backed embedding, from
 * the cursor x->first on; the reply is that of a scan. */
static enum skiff_status write_records(struct server *s, struct param_slice *u,
                                       const struct slice_copy *k, const struct row_var *var,
                                       const struct ps_pull_snapshot *x, struct wire_writer *w,
                                       struct skiff_error *err)
{
    bool waiting = !var && is_waiting(u, x->name);
    /* 0: there is no admission, so no id waits */
    int64_t open = slice_table(u)->waiting ? WAITING_WIDTH : 0;
    int64_t width = var ? u->width : waiting ? open : sparse_record_width(u->sparse_table);
    size_t max = x->count < RECORDS_MOST ? (size_t)x->count : RECORDS_MOST, n = 0;
    uint64_t cursor = x->first;
    void *ids, *rows = NULL;
    char text[320];
    if (table_snapshot_lost(slice_table(u)))
        return error_set(err, SKIFF_NOMEM, LOST, server_text(s, text), x->tag);
    TRY(mem_alloc((max + 1) * sizeof(int64_t), "ids of a snapshot", &ids, err));
    enum skiff_status status =
        mem_alloc((max * (size_t)width + 1) * sizeof(float), "rows of a snapshot", &rows, err);
    if (status == SKIFF_OK)
        status = list_some(u, k, var, waiting, &cursor, max, ids, rows, &n, err);
    if (status >= 0) {
        struct ps_item item = {.dtype = DTYPE_FP32,
                               .ndim = 2,
                               .dims = {(int64_t)n, width},
                               .has_rows = true,
                               .nrows = (int64_t)n,
                               .rows = ids,
                               .data = rows,
                               .bytes = n * (size_t)width * sizeof(float)};
        snprintf(item.name, sizeof item.name, "%s", x->name);
        ps_write_scan(w, &item, status == SKIFF_END ? 0 : cursor);
    }
    mem_free(ids);
    mem_free(rows);
    return status < 0 ? status : SKIFF_OK;
}

static enum skiff_status check_snapshot(const struct server *s, const struct ps_pull_snapshot *x,
                                        struct skiff_error *err)
{
    const struct snapshot *n = s->snapshot;
    char text[320];
    if (!n || strcmp(n->tag, x->tag))
        return error_set(err, SKIFF_STATE, "%s does not have the snapshot \"%s\" any more%s%s%s",
                         server_text(s, text), x->tag, n ? ": another save, \"" : "",
                         n ? n->tag : "", n ? "\", has begun since" : "");
    if (atomic_load(&n->spoiled))
        return error_set(err, SKIFF_NOMEM, LOST, server_text(s, text), x->tag);
    return SKIFF_OK;
}

static enum skiff_status read_copy(struct server *s, struct param_slice *u,
                                   const struct ps_pull_snapshot *x, struct wire_writer *w,
                                   struct skiff_error *err)
{
    TRY(check_snapshot(s, x, err));
    const struct slice_copy *k = u ? &s->snapshot->slices[u - s->slices] : NULL;
    const struct var_copy *v = u ? find_var(k->vars, k->nvars, x->name)
                                 : find_var(s->snapshot->others, s->snapshot->nothers, x->name);
    if (x->n)
        return u && u->table ? write_ids(s, u, k, x, w, err) : no_such_var(s, x, err);
    if (u && u->sparse_table && (!strcmp(u->param, x->name) || is_waiting(u, x->name)))
        return write_records(s, u, k, NULL, x, w, err);
    for (int i = 0; u && i < u->nvars; i++)
        if (!strcmp(u->vars[i].name, x->name))
            return write_records(s, u, k, &u->vars[i], x, w, err);
    return v ? write_part(u, k, v, x, w, err) : no_such_var(s, x, err);
}

void on_pull_snapshot(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_pull_snapshot x;
    struct wire_writer w;
    struct skiff_error err;
    if (ps_read_pull_snapshot(q->body, &x, &err) < 0) {
        rpc_fail(q, &err);
        return;
    }
    struct param_slice *u = str_map_get(&s->by_var, x.name);
    u = u ? u : waiting_unit(s, x.name);
    struct server_shard *h =
        u ? slice_shard(s, u) : &s->shards[0]; /* any: the snapshot must stay */
    writer_init(&w);
    pthread_mutex_lock(&h->lock);
    enum skiff_status status = read_copy(s, u, &x, &w, &err);
    pthread_mutex_unlock(&h->lock);
    if (status < 0) {
        writer_deinit(&w);
        rpc_fail(q, &err);
    } else {
        reply_written(s, q, &w);
    }
}

/* Answers with the recently applied pushes. */
static enum skiff_status quiesce(struct server *s, struct rpc_request *q,
                                 const struct ps_snapshot *x, struct skiff_error *err)
{
    struct wire_writer w;
    struct ps_applied *list = NULL;
    uint32_t n = 0;
    server_lock_all(s);
    enum skiff_status status = quiesce_begin(s, q, x, err);
    if (status == SKIFF_OK)
        list = quiesce_list(s, &n);
    server_unlock_all(s);
    if (status < 0)
        return status;
    server_wake(s); /* the monitoring thread checks for its end */
    writer_init(&w);
    ps_write_applied(&w, list, n);
    free(list);
    reply_written(s, q, &w);
    return SKIFF_OK;
}

void on_snapshot(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_snapshot x;
    struct skiff_error err;
    enum skiff_status status = ps_read_snapshot(q->body, &x, &err);
    struct ps_applied *pushes = status == SKIFF_OK ? x.pushes : NULL;
    if (status == SKIFF_OK &&
        (q->sender.role != NET_WORKER || q->sender.index >= (uint32_t)s->plan->trainers))
        status = error_set(&err, SKIFF_INVALID, "only workers of the job can use snapshots");
    if (status == SKIFF_OK && x.call == PS_QUIESCE)
        status = quiesce(s, q, &x, &err);
    else if (status == SKIFF_OK && x.call == PS_DROP)
        snapshot_drop(s, x.tag, q);
    else if (status == SKIFF_OK)
        status = snapshot_tag(s, x.tag, x.call == PS_TAG_OWN ? q : NULL, &err);
    free(pushes);
    if (status < 0)
        rpc_fail(q, &err);
    else if (x.call != PS_QUIESCE)
        rpc_reply(q, NULL);
}
