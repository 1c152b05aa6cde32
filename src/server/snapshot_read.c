/* Reading a snapshot: what was kept, or the value that nobody has changed since the mark; rows that
 * lay behind are brought to the moment in a copy. A part at a time, under the shard's lock, so that
 * nobody waits long. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server/server_parts.h"
#include "server/snapshot.h"

#define LOST "%s had no memory to keep the values of \"%s\" while training went on"

/* ---- one row ---- */

static const float *raw_row(const struct kept_var *v, const struct kept_unit *k, size_t width,
                            int64_t row, int64_t slot)
{
    if (slot >= 0)
        return kept_slot(v, (size_t)slot, width);
    const struct tensor *t = k->whole ? &v->copy : &v->value->tensor;
    return (const float *)t->data + (size_t)row * width;
}

static uint32_t stamp_of(const struct unit *u, const struct kept_unit *k, int64_t row, int64_t slot)
{
    const struct lag *lag = value_lag(u->param_value);
    if (slot >= 0)
        return k->stamps[(size_t)slot / KEPT_CHUNK][(size_t)slot % KEPT_CHUNK];
    return k->whole ? k->all_stamps[row] : lag->class->stamp(lag, row);
}

static void read_row(const struct unit *u, const struct kept_unit *k, const struct kept_var *v,
                     int64_t row, float *out)
{
    size_t width = (size_t)u->width, bytes = width * sizeof(float);
    int64_t slot = kept_find(k, row);
    float *arrays[LAG_ARRAYS] = {0};
    memcpy(out, raw_row(v, k, width, row, slot), bytes);
    if (!k->moment || v->array < 0)
        return;
    for (int i = 0; i < k->nvars; i++) {
        const struct kept_var *w = &k->vars[i];
        if (w->array < 0)
            continue;
        arrays[w->array] = w == v ? out : k->scratch + (size_t)w->array * width;
        if (w != v)
            memcpy(arrays[w->array], raw_row(w, k, width, row, slot), bytes);
    }
    k->moment->settle(k->moment, stamp_of(u, k, row, slot), arrays);
}

/* ---- parts of variables ---- */

static enum skiff_status no_such_var(const struct server *s, const struct ps_kept *x,
                                     struct skiff_error *err)
{
    char text[320];
    return error_set(err, SKIFF_NOT_FOUND, "%s has no variable %s in its snapshot \"%s\"",
                     server_text(s, text), x->name, x->tag);
}

static const struct kept_var *find_var(const struct kept_var *vars, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(vars[i].name, name))
            return &vars[i];
    return NULL;
}

static enum skiff_status check_range(const struct ps_kept *x, uint64_t rows,
                                     struct skiff_error *err)
{
    if (x->first <= rows && x->count <= rows - x->first)
        return SKIFF_OK;
    return error_set(err, SKIFF_RANGE, "rows %llu to %llu of %s, which has %llu here",
                     (unsigned long long)x->first, (unsigned long long)x->first + x->count, x->name,
                     (unsigned long long)rows);
}

static enum skiff_status write_part(const struct unit *u, const struct kept_unit *k,
                                    const struct kept_var *v, const struct ps_kept *x,
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
        float *rows_out = mem_must((size_t)x->count * row + 1);
        for (uint64_t i = 0; i < x->count; i++)
            read_row(u, k, v, (int64_t)(x->first + i), rows_out + i * (size_t)u->width);
        memcpy(to, rows_out, x->count * row);
        free(rows_out);
    } else if (to) {
        memcpy(to, (const char *)t->data + x->first * row, x->count * row);
    }
    return SKIFF_OK;
}

/* Rows by id. One that was not there at the mark had what a new row gets. */
static enum skiff_status write_ids(struct server *s, struct unit *u, const struct kept_unit *k,
                                   const struct ps_kept *x, struct wire_writer *w,
                                   struct skiff_error *err)
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
    enum skiff_status status = keyed_read_kept(u, var, k->moment, x->ids, x->n, rows, err);
    if (status == SKIFF_OK)
        writer_bytes(w, rows, bytes);
    mem_free(rows);
    return status;
}

#define RECORDS_MOST ((uint64_t)1 << 14)

static bool is_waiting(const struct unit *u, const char *name)
{
    size_t n = strlen(u->param);
    return !strncmp(name, u->param, n) && !strcmp(name + n, PS_WAITING);
}

/* The table of features whose ids that wait have this name; NULL: none. */
static struct unit *waiting_unit(struct server *s, const char *name)
{
    for (int i = 0; i < s->nunits; i++)
        if (s->units[i].features && is_waiting(&s->units[i], name))
            return &s->units[i];
    return NULL;
}

/* Rows of one variable of a plain table: which ids there are, then what they were. */
static enum skiff_status list_rows(struct unit *u, const struct kept_unit *k,
                                   const struct row_var *var, uint64_t *cursor, size_t max,
                                   int64_t *ids, float *rows, size_t *out_n,
                                   struct skiff_error *err)
{
    void *records;
    TRY(mem_alloc(max * u->table->stride, "rows of a snapshot", &records, err));
    enum skiff_status status = table_snapshot_list(u->table, cursor, max, records, out_n, err);
    for (size_t i = 0; status >= 0 && i < *out_n; i++)
        ids[i] = ((struct record *)(void *)((char *)records + i * u->table->stride))->id;
    mem_free(records);
    if (status < 0)
        return status;
    TRY(keyed_read_kept(u, var, k->moment, (const uint8_t *)ids, *out_n, rows, err));
    return status;
}

static enum skiff_status list_some(struct unit *u, const struct kept_unit *k,
                                   const struct row_var *var, bool waiting, uint64_t *cursor,
                                   size_t max, int64_t *ids, float *rows, size_t *out_n,
                                   struct skiff_error *err)
{
    if (var)
        return list_rows(u, k, var, cursor, max, ids, rows, out_n, err);
    return (waiting ? features_list_waiting : features_list_kept)(u, cursor, max, ids, rows, out_n,
                                                                  err);
}

/* Records of a table of features, ids that wait for it, or (var) rows of a plain one, from the
 * cursor x->first on; the reply is that of a scan. */
static enum skiff_status write_records(struct server *s, struct unit *u, const struct kept_unit *k,
                                       const struct row_var *var, const struct ps_kept *x,
                                       struct wire_writer *w, struct skiff_error *err)
{
    bool waiting = !var && is_waiting(u, x->name);
    int64_t open = u->table->waiting ? WAITING_WIDTH : 0; /* 0: everybody comes in, nobody waits */
    int64_t width = var ? u->width : waiting ? open : features_record_width(u);
    size_t max = x->count < RECORDS_MOST ? (size_t)x->count : RECORDS_MOST, n = 0;
    uint64_t cursor = x->first;
    void *ids, *rows = NULL;
    char text[320];
    if (table_snapshot_lost(u->table))
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

static enum skiff_status check_snapshot(const struct server *s, const struct ps_kept *x,
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

static enum skiff_status read_kept(struct server *s, struct unit *u, const struct ps_kept *x,
                                   struct wire_writer *w, struct skiff_error *err)
{
    TRY(check_snapshot(s, x, err));
    const struct kept_unit *k = u ? &s->snapshot->units[u - s->units] : NULL;
    const struct kept_var *v = u ? find_var(k->vars, k->nvars, x->name)
                                 : find_var(s->snapshot->others, s->snapshot->nothers, x->name);
    if (x->n)
        return u && u->table && !u->features ? write_ids(s, u, k, x, w, err)
                                             : no_such_var(s, x, err);
    if (u && u->features && (!strcmp(u->param, x->name) || is_waiting(u, x->name)))
        return write_records(s, u, k, NULL, x, w, err);
    for (int i = 0; u && i < u->nvars; i++)
        if (!strcmp(u->vars[i].name, x->name))
            return write_records(s, u, k, &u->vars[i], x, w, err);
    return v ? write_part(u, k, v, x, w, err) : no_such_var(s, x, err);
}

void on_pull_kept(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_kept x;
    struct wire_writer w;
    struct skiff_error err;
    if (ps_read_kept(q->body, &x, &err) < 0) {
        rpc_fail(q, &err);
        return;
    }
    struct unit *u = str_map_get(&s->by_var, x.name);
    u = u ? u : waiting_unit(s, x.name);
    struct shard *h = u ? unit_shard(s, u) : &s->shards[0]; /* any: the snapshot must stay */
    writer_init(&w);
    pthread_mutex_lock(&h->lock);
    enum skiff_status status = read_kept(s, u, &x, &w, &err);
    pthread_mutex_unlock(&h->lock);
    if (status < 0) {
        writer_deinit(&w);
        rpc_fail(q, &err);
    } else {
        reply_written(s, q, &w);
    }
}

/* Answers with what was applied lately. */
static enum skiff_status hold(struct server *s, struct rpc_request *q, const struct ps_snapshot *x,
                              struct skiff_error *err)
{
    struct wire_writer w;
    struct ps_applied *list = NULL;
    uint32_t n = 0;
    server_lock_all(s);
    enum skiff_status status = hold_begin(s, q, x, err);
    if (status == SKIFF_OK)
        list = hold_list(s, &n);
    server_unlock_all(s);
    if (status < 0)
        return status;
    server_wake(s); /* who watches looks for the end of it */
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
        status = error_set(&err, SKIFF_INVALID, "snapshots are for workers of the job");
    if (status == SKIFF_OK && x.call == PS_HOLD)
        status = hold(s, q, &x, &err);
    else if (status == SKIFF_OK && x.call == PS_DROP)
        snapshot_drop(s, x.tag, q);
    else if (status == SKIFF_OK)
        status = snapshot_mark(s, x.tag, x.call == PS_MARK_OWN ? q : NULL, &err);
    free(pushes);
    if (status < 0)
        rpc_fail(q, &err);
    else if (x.call != PS_HOLD)
        rpc_reply(q, NULL);
}
