/* Reads: rows for a batch, rows that other trainers have changed, parts of variables for saving,
 * whole tables row by row. Replies are written straight from the variables, under the shard's lock,
 * so a reply is of one instant. Deferred updates are applied first; for a request by id, only to
 * the rows requested.
 *
 * Prefetched rows: a trainer may request the rows of its next batch while it computes the current
 * one, and names the step after which it wants them (`after`). Such a request waits in the shard
 * until that step is done (sync: of all trainers; half-async: this trainer's push is applied), so
 * that the rows are those that a request at that time would have returned. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/plural.h"
#include "server/bind.h"
#include "server/exchange.h"
#include "server/hashed.h"
#include "server/maintenance.h"
#include "server/server_parts.h"
#include "server/shard.h"
#include "server/slice.h"
#include "server/snapshot.h"
#include "store/model_dir.h"
#include "store/tensor_file.h"

#define AHEAD 12 /* rows are prefetched this many ids ahead */

void reply_written(struct server *s, struct rpc_request *q, struct wire_writer *w)
{
    struct blob *reply;
    struct skiff_error err;
    if (writer_finish(w, &reply, &err) < 0) {
        rpc_fail(q, &err);
        return;
    }
    metric_add(s->counts.bytes_out, (int64_t)reply->len);
    rpc_reply(q, reply);
}

static enum skiff_status unknown(const struct server *s, const char *name, struct skiff_error *err)
{
    char text[320];
    return error_set(err, SKIFF_NOT_FOUND, "%s has no variable %s", server_text(s, text), name);
}

/* ---- DESCRIBE ---- */

static enum skiff_status compare(const struct server *s, const struct ps_describe *own,
                                 const struct ps_describe *its, const char *who,
                                 struct skiff_error *err)
{
    char text[320];
    server_text(s, text);
    if (its->servers != own->servers || its->trainers != own->trainers)
        return error_set(err, SKIFF_INVALID,
                         "%s was started for %u trainer%s and %u server%s, %s for %u trainer%s and "
                         "%u server%s; all processes of a job must be started with the same counts",
                         who, its->trainers, plural(its->trainers), its->servers,
                         plural(its->servers), text, own->trainers, plural(own->trainers),
                         own->servers, plural(own->servers));
    if (its->mode != own->mode)
        return error_set(err, SKIFF_INVALID,
                         "%s was started in mode %s, %s in mode %s; start all processes of a job "
                         "with the same mode",
                         who, skiff_mode_name((enum skiff_split_mode)its->mode), text,
                         skiff_mode_name((enum skiff_split_mode)own->mode));
    if (its->program_hash && own->program_hash && its->program_hash != own->program_hash)
        return error_set(err, SKIFF_INVALID,
                         "%s and %s have split different programs, or with different settings: the "
                         "parts do not fit together; start all processes with the same script and "
                         "configuration",
                         who, text);
    return SKIFF_OK;
}

void on_describe(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_describe own = {.server = (uint32_t)s->index,
                              .servers = (uint32_t)s->plan->servers,
                              .trainers = (uint32_t)s->plan->trainers,
                              .mode = (uint32_t)s->plan->mode,
                              .shards = (uint32_t)s->nshards,
                              .program_hash = s->plan->hash};
    struct ps_describe its;
    struct wire_writer w;
    struct skiff_error err;
    char id[NET_ID_TEXT];
    if (blob_len(q->body) && (ps_read_describe(q->body, &its, &err) < 0 ||
                              compare(s, &own, &its, net_id_print(q->sender, id), &err) < 0)) {
        server_warn(s, "refused: %s", err.message);
        rpc_fail(q, &err);
        return;
    }
    writer_init(&w);
    ps_write_describe(&w, &own);
    reply_written(s, q, &w);
}

void on_clock(void *self, struct rpc_request *q)
{
    struct wire_writer w;
    writer_init(&w);
    writer_u64(&w, (uint64_t)clock_real());
    reply_written(self, q, &w);
}

/* ---- rows ---- */

static void copy_rows(float *to, const float *from, const int64_t *rows, size_t n, size_t width)
{
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            __builtin_prefetch(from + (size_t)rows[i + AHEAD] * width);
        memcpy(to + i * width, from + (size_t)rows[i] * width, width * sizeof *to);
    }
}

static enum skiff_status pull_keyed(struct server *s, struct param_slice *u,
                                    const struct ps_pull_rows *p, size_t bytes, struct blob **out,
                                    struct skiff_error *err)
{
    TRY(slice_check_ids(s, u, p->ids, p->n, err));
    TRY(blob_create(bytes, "rows of a table", out, err));
    float *rows = (float *)(void *)(*out)->data;
    enum skiff_status status = u->sparse_table
                                   ? sparse_pull(u->sparse_table, p->ids, p->n, rows, err)
                                   : hashed_pull(u, p->ids, p->n, rows, err);
    if (status < 0)
        blob_unref(*out);
    return status;
}

static enum skiff_status pull_rows(struct server *s, struct server_shard *h, struct param_slice *u,
                                   const struct ps_pull_rows *p, struct blob **out,
                                   struct skiff_error *err)
{
    const int64_t *rows;
    size_t bytes;
    if (!mem_mul(p->n, (size_t)u->width * sizeof(float), &bytes))
        return error_set(err, SKIFF_RANGE, "%zu rows of %s", p->n, u->param);
    if (slice_is_hashed(u))
        return pull_keyed(s, u, p, bytes, out, err);
    TRY(slice_rows(s, h, u, p->ids, p->n, &rows, err));
    TRY(slice_backup(s, u, p->trainer, rows, p->n, err));
    TRY(blob_create(bytes, "rows of a table", out, err));
    copy_rows((float *)(void *)(*out)->data, tensor_f32(&u->param_value->tensor), rows, p->n,
              (size_t)u->width);
    return SKIFF_OK;
}

/* Reads which rows a pull names, or fails with the reason. */
static enum skiff_status read_pull(struct server *s, const struct rpc_request *q,
                                   struct ps_pull_rows *p, struct param_slice **out,
                                   struct skiff_error *err)
{
    const struct bound_var *v;
    TRY(ps_read_pull_rows(q->body, p, err));
    TRY(bound_get(s, p->number, PS_PULL_ROWS_OF, -1, &v, err));
    if (p->after && (q->sender.role != NET_WORKER || q->sender.index != p->trainer ||
                     p->trainer >= (uint32_t)s->plan->trainers))
        return error_set(err, SKIFF_INVALID,
                         "pull of rows of %s after a step of trainer %u: only "
                         "that trainer may request it",
                         v->name, p->trainer);
    *out = v->slice;
    return SKIFF_OK;
}

/* The shard's lock is held. */
static void answer_pull(struct server *s, struct server_shard *h, struct rpc_request *q)
{
    struct ps_pull_rows p;
    struct param_slice *u;
    struct skiff_error err;
    struct blob *reply = NULL;
    if (read_pull(s, q, &p, &u, &err) < 0 || pull_rows(s, h, u, &p, &reply, &err) < 0) {
        rpc_fail(q, &err);
        return;
    }
    metric_add(s->counts.rows_pulled, (int64_t)p.n);
    metric_add(s->counts.bytes_out, (int64_t)reply->len);
    rpc_reply(q, reply);
}

static void quiesce_pull(struct server_shard *h, struct rpc_request *q,
                         const struct ps_pull_rows *p)
{
    if (h->nwaiting == h->waiting_cap) {
        h->waiting_cap = h->waiting_cap ? 2 * h->waiting_cap : 4;
        h->waiting = mem_grow_or_die(h->waiting, (size_t)h->waiting_cap * sizeof *h->waiting);
    }
    h->waiting[h->nwaiting++] = (struct waiting_pull){q, p->trainer, p->after};
}

void on_pull_rows(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_pull_rows p;
    struct param_slice *u;
    struct skiff_error err;
    if (read_pull(s, q, &p, &u, &err) < 0) {
        rpc_fail(q, &err);
        return;
    }
    struct server_shard *h = slice_shard(s, u);
    pthread_mutex_lock(&h->lock);
    slice_hear(h, q);
    if (p.after)
        exchange_new_incarnation(h, q, p.trainer);
    if (p.after > h->done[p.after ? p.trainer : 0]) {
        if (u->sparse_table) /* a hint: rows on disk are fetched meanwhile */
            table_fetch_prefetch(u->sparse_table->table, p.ids, p.n, NULL);
        quiesce_pull(h, q, &p);
    } else
        answer_pull(s, h, q);
    pthread_mutex_unlock(&h->lock);
}

/* Fetches rows from disk to memory before they are pulled. */
void on_prefetch(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_pull_rows p;
    struct param_slice *u;
    struct skiff_error err;
    if (read_pull(s, q, &p, &u, &err) < 0) {
        rpc_fail(q, &err);
        return;
    }
    struct server_shard *h = slice_shard(s, u);
    pthread_mutex_lock(&h->lock);
    if (u->sparse_table)
        table_fetch_prefetch(u->sparse_table->table, p.ids, p.n,
                             NULL); /* an error here shows again in the pull */
    pthread_mutex_unlock(&h->lock);
    rpc_reply(q, NULL);
}

static struct rpc_request *take_waiting(struct server_shard *h, int i)
{
    struct rpc_request *q = h->waiting[i].request;
    h->waiting[i] = h->waiting[--h->nwaiting];
    return q;
}

void pulls_review(struct server_shard *h)
{
    for (int i = h->nwaiting - 1; i >= 0; i--)
        if (h->done[h->waiting[i].trainer] >= h->waiting[i].after)
            answer_pull(h->server, h, take_waiting(h, i));
}

void pulls_forget(struct server_shard *h, uint32_t trainer, uint64_t incarnation)
{
    struct skiff_error err;
    error_set(&err, SKIFF_STATE, "another process has replaced trainer %u", trainer);
    for (int i = h->nwaiting - 1; i >= 0; i--)
        if (h->waiting[i].trainer == trainer && h->waiting[i].request->incarnation != incarnation)
            rpc_fail(take_waiting(h, i), &err);
}

void pulls_end(struct server_shard *h, const struct skiff_error *reason)
{
    while (h->nwaiting)
        rpc_fail(take_waiting(h, h->nwaiting - 1), reason);
}

/* ---- items with rows ---- */

/* Reserves space for the values of rows[0..n), as an item with ids; NULL: out of memory. */
static unsigned char *write_rows(struct wire_writer *w, const struct param_slice *u,
                                 const char *name, const int64_t *rows, size_t n)
{
    struct ps_item item = {.dtype = DTYPE_FP32, .ndim = u->shape.ndim, .has_rows = true};
    snprintf(item.name, sizeof item.name, "%s", name);
    memcpy(item.dims, u->shape.dims, sizeof item.dims);
    item.dims[0] = item.nrows = (int64_t)n;
    item.bytes = n * (size_t)u->width * sizeof(float);
    item.rows = (const unsigned char *)rows;
    return ps_write_item_space(w, &item);
}

static enum skiff_status changed_unit(struct server *s, const struct ps_pull_rows *p,
                                      struct param_slice **out, struct skiff_error *err)
{
    const struct bound_var *v;
    TRY(bound_get(s, p->number, PS_PULL_ROWS_OF, -1, &v, err));
    if (!v->slice->add || !v->slice->sparse)
        return error_set(err, SKIFF_INVALID,
                         "changed rows of %s: only sparse gradients in GEO mode have them",
                         v->name);
    if (p->trainer >= (uint32_t)s->plan->trainers)
        return error_set(err, SKIFF_RANGE, "trainer %u of %d", p->trainer, s->plan->trainers);
    *out = v->slice;
    return SKIFF_OK;
}

/* The position in the message may be unaligned: rows of a table are copied there. */
static enum skiff_status write_changed(struct param_slice *u, uint32_t trainer,
                                       struct wire_writer *w, size_t *out_n,
                                       struct skiff_error *err)
{
    size_t row = (size_t)u->width * sizeof(float);
    const int64_t *rows = u->changed[trainer].rows;
    float *copy = NULL;
    enum skiff_status status = SKIFF_OK;
    size_t n =
        u->table ? hashed_take_changed(u, (int)trainer, &rows) : changed_take(&u->changed[trainer]);
    *out_n = n;
    if (u->table) {
        void *p;
        TRY(mem_alloc(n * row + 1, "changed rows", &p, err));
        copy = p;
        status = hashed_pull(u, (const uint8_t *)rows, n, copy, err);
    }
    unsigned char *to = status == SKIFF_OK ? write_rows(w, u, u->param, rows, n) : NULL;
    for (size_t i = 0; to && i < n; i++)
        memcpy(to + i * row,
               copy ? (const char *)copy + i * row
                    : (const char *)u->param_value->tensor.data + (size_t)rows[i] * row,
               row);
    mem_free(copy);
    return status;
}

void on_pull_changed(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_pull_rows p;
    struct skiff_error err;
    struct param_slice *u = NULL;
    struct wire_writer w;
    size_t n;
    if (ps_read_pull_rows(q->body, &p, &err) < 0 || changed_unit(s, &p, &u, &err) < 0) {
        rpc_fail(q, &err);
        return;
    }
    struct server_shard *h = slice_shard(s, u);
    writer_init(&w);
    writer_varint(&w, 1);
    pthread_mutex_lock(&h->lock);
    slice_hear(h, q);
    enum skiff_status status = write_changed(u, p.trainer, &w, &n, &err);
    pthread_mutex_unlock(&h->lock);
    if (status < 0) {
        writer_deinit(&w);
        rpc_fail(q, &err);
        return;
    }
    metric_add(s->counts.rows_pulled, (int64_t)n);
    reply_written(s, q, &w);
}

/* ---- parts of variables ---- */

static enum skiff_status write_part(struct server *s, const char *name, uint64_t first,
                                    uint64_t count, struct wire_writer *w, struct skiff_error *err)
{
    const struct skiff_tensor *v = scope_find(s->scope, name);
    if (!v || v->kind != VALUE_TENSOR)
        return unknown(s, name, err);
    const struct tensor *t = &v->tensor;
    uint64_t rows = t->shape.ndim ? (uint64_t)t->shape.dims[0] : 1;
    if (first > rows || count > rows - first)
        return error_set(err, SKIFF_RANGE, "rows %llu to %llu of %s, which has %llu rows here",
                         (unsigned long long)first, (unsigned long long)first + count, name,
                         (unsigned long long)rows);
    size_t row = rows ? tensor_bytes(t) / rows : 0;
    struct ps_item item = {.dtype = (uint32_t)t->dtype, .ndim = t->shape.ndim};
    snprintf(item.name, sizeof item.name, "%s", name);
    memcpy(item.dims, t->shape.dims, sizeof item.dims);
    if (item.ndim)
        item.dims[0] = (int64_t)count;
    item.data = (const unsigned char *)t->data + first * row;
    item.bytes = count * row;
    ps_write_items(w, &item, 1);
    return SKIFF_OK;
}

void on_pull_part(void *self, struct rpc_request *q)
{
    struct server *s = self;
    char name[PS_NAME];
    uint64_t first, count;
    struct skiff_error err;
    struct wire_writer w;
    if (ps_read_range(q->body, name, &first, &count, &err) < 0) {
        rpc_fail(q, &err);
        return;
    }
    struct param_slice *u = str_map_get(&s->by_var, name);
    enum skiff_status status;
    writer_init(&w);
    if (!u && !block_own_var(program_root(s->options.main), name)) {
        status = unknown(s, name, &err);
    } else if (u && slice_is_hashed(u)) {
        status = error_set(&err, SKIFF_INVALID, "%s is a hash-backed table: scan it instead", name);
    } else {
        struct server_shard *h = u ? slice_shard(s, u) : NULL;
        h ? pthread_mutex_lock(&h->lock) : pthread_rwlock_rdlock(&s->rate);
        if (u &&
            value_deferred(u->param_value)) /* reading flushes deferred updates: it writes rows */
            slice_cow_all(s, u);
        status = write_part(s, name, first, count, &w, &err);
        h ? pthread_mutex_unlock(&h->lock) : pthread_rwlock_unlock(&s->rate);
    }
    if (status < 0) {
        writer_deinit(&w);
        rpc_fail(q, &err);
    } else {
        reply_written(s, q, &w);
    }
}

enum skiff_status part_check(struct server *s, const struct ps_put *x, struct param_slice **out,
                             struct skiff_error *err)
{
    const struct ps_item *item = &x->item;
    struct param_slice *u = *out = str_map_get(&s->by_var, item->name);
    struct skiff_tensor *v = u ? scope_find(s->scope, item->name) : NULL;
    if (!v || v->kind != VALUE_TENSOR || slice_is_hashed(u))
        return unknown(s, item->name, err);
    uint64_t all = (uint64_t)tensor_numel(&v->tensor), n = item->bytes / sizeof(float);
    if (item->dtype != DTYPE_FP32 || v->tensor.dtype != DTYPE_FP32 || item->bytes % sizeof(float) ||
        x->first > all || n > all - x->first)
        return error_set(err, SKIFF_RANGE,
                         "%llu float32 elements from %llu on for %s, which has %llu here",
                         (unsigned long long)n, (unsigned long long)x->first, item->name,
                         (unsigned long long)all);
    return SKIFF_OK;
}

/* Values from a saved model, while nothing trains; a snapshot keeps the old ones. */
void part_put(struct server *s, struct param_slice *u, const struct ps_put *x)
{
    struct skiff_tensor *v = scope_find(s->scope, x->item.name);
    slice_cow_all(s, u);
    value_flush(v);
    memcpy(tensor_f32(&v->tensor) + x->first, x->item.data, x->item.bytes);
}

void on_put_part(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_put x;
    struct skiff_error err;
    struct param_slice *u;
    enum skiff_status status = ps_read_put(q->body, &x, &err);
    if (status == SKIFF_OK && x.token) {
        maintenance_keep_part(s, q);
        return;
    }
    if (status == SKIFF_OK)
        status = part_check(s, &x, &u, &err);
    if (status == SKIFF_OK) {
        pthread_mutex_lock(&slice_shard(s, u)->lock);
        part_put(s, u, &x);
        pthread_mutex_unlock(&slice_shard(s, u)->lock);
    }
    if (status < 0)
        rpc_fail(q, &err);
    else
        rpc_reply(q, NULL);
}

/* ---- whole tables ---- */

static struct row_var *table_var(struct server *s, const char *name, struct param_slice **out)
{
    struct param_slice *u = str_map_get(&s->by_var, name);
    for (int i = 0; u && i < u->nvars; i++)
        if (!strcmp(u->vars[i].name, name)) {
            *out = u;
            return &u->vars[i];
        }
    return NULL;
}

/* At most this many slots of the table are examined for one reply. */
#define SCAN_MOST ((uint64_t)1 << 20)

static enum skiff_status scan(struct param_slice *u, const struct row_var *var, uint64_t cursor,
                              uint64_t count, struct wire_writer *w, struct skiff_error *err)
{
    size_t max = count < SCAN_MOST ? (size_t)count : SCAN_MOST, n = 0;
    void *ids, *rows = NULL;
    TRY(mem_alloc((max + 1) * sizeof(int64_t), "ids of a scan", &ids, err));
    enum skiff_status status =
        mem_alloc((max * (size_t)u->width + 1) * sizeof(float), "rows of a scan", &rows, err);
    if (status == SKIFF_OK)
        status = hashed_list(u, var, &cursor, max, ids, rows, &n, err);
    if (status >= 0) {
        writer_varint(w, status == SKIFF_END ? 0 : cursor);
        unsigned char *to = write_rows(w, u, var->name, ids, n);
        if (to && n)
            memcpy(to, rows, n * (size_t)u->width * sizeof(float));
    }
    mem_free(ids);
    mem_free(rows);
    return status < 0 ? status : SKIFF_OK;
}

void on_scan(void *self, struct rpc_request *q)
{
    struct server *s = self;
    char name[PS_NAME];
    uint64_t cursor, count;
    struct skiff_error err;
    struct wire_writer w;
    struct param_slice *u = NULL;
    struct row_var *var = NULL;
    enum skiff_status status = ps_read_range(q->body, name, &cursor, &count, &err);
    if (status == SKIFF_OK && !(var = table_var(s, name, &u)))
        status = unknown(s, name, &err);
    writer_init(&w);
    if (status == SKIFF_OK) {
        struct server_shard *h = slice_shard(s, u);
        pthread_mutex_lock(&h->lock);
        status = scan(u, var, cursor, count, &w, &err);
        pthread_mutex_unlock(&h->lock);
    }
    if (status < 0) {
        writer_deinit(&w);
        rpc_fail(q, &err);
    } else {
        reply_written(s, q, &w);
    }
}

struct id_row {
    int64_t id, row;
};

static int by_id(const void *a, const void *b)
{
    const struct id_row *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* The table's rows on this server, in the table's order, as SelectedRows; the shard's lock is
 * held. */
static enum skiff_status copy_table(struct param_slice *u, const struct row_var *var,
                                    struct skiff_tensor *out, struct skiff_error *err)
{
    size_t n = table_count(u->table), found;
    uint64_t cursor = 0;
    TRY(value_as_rows(out, DTYPE_FP32, n, u->width, 0, err));
    enum skiff_status status = hashed_list(u, var, &cursor, SIZE_MAX, out->sel.rows,
                                           tensor_f32(&out->tensor), &found, err);
    return status < 0 ? status : SKIFF_OK;
}

/* The same, sorted by id. */
static enum skiff_status sort_table(const struct skiff_tensor *v, struct skiff_tensor *out,
                                    struct skiff_error *err)
{
    size_t n = v->sel.nrows, width = (size_t)v->tensor.shape.dims[1];
    int64_t height = 0;
    TRY(value_as_rows(out, DTYPE_FP32, n, (int64_t)width, 0, err));
    struct id_row *order = mem_alloc_or_die((n + 1) * sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = (struct id_row){v->sel.rows[i], (int64_t)i};
    qsort(order, n, sizeof *order, by_id);
    for (size_t i = 0; i < n; i++) {
        out->sel.rows[i] = order[i].id;
        if (order[i].id >= height) /* the largest possible id has no successor */
            height = order[i].id < INT64_MAX ? order[i].id + 1 : INT64_MAX;
        memcpy(tensor_f32(&out->tensor) + i * width,
               tensor_f32(&v->tensor) + (size_t)order[i].row * width, width * sizeof(float));
    }
    out->sel.height = height;
    free(order);
    return SKIFF_OK;
}

static enum skiff_status save_table(struct server *s, const struct ps_save_table *what,
                                    struct skiff_error *err)
{
    struct param_slice *u;
    struct row_var *var = table_var(s, what->table, &u);
    struct skiff_tensor copy = {0}, sorted = {0};
    char path[sizeof what->dir + PS_NAME + 64];
    if (!var)
        return unknown(s, what->table, err);
    TRY(model_name_check(what->table, err));
    pthread_mutex_lock(&slice_shard(s, u)->lock);
    enum skiff_status status = copy_table(u, var, &copy, err);
    pthread_mutex_unlock(&slice_shard(s, u)->lock);
    snprintf(path, sizeof path, "%s/%s.pserver_%d", what->dir, what->table, s->index);
    if (status == SKIFF_OK)
        status = sort_table(&copy, &sorted, err);
    value_deinit(&copy);
    if (status == SKIFF_OK)
        status = value_file_write(path, &sorted, err);
    value_deinit(&sorted);
    return status;
}

void on_save_table(void *self, struct rpc_request *q)
{
    struct server *s = self;
    struct ps_save_table *what = mem_alloc_or_die(sizeof *what);
    struct skiff_error err;
    enum skiff_status status = ps_read_save_table(q->body, what, &err);
    if (status == SKIFF_OK)
        status = save_table(s, what, &err);
    free(what);
    if (status < 0)
        rpc_fail(q, &err);
    else
        rpc_reply(q, NULL);
}
