/* Applies pushed gradients. The data lie unaligned in the message and are read from there once,
 * into the variable that the slice's block reads. Pushes of several trainers are merged on the way:
 *   dense   (x_0 + x_1 + ...) / present, in trainer order
 *   rows    the same per id; ids in the order of their first appearance
 *   DC-ASGD g + (w - w_pulled) g g; dense by the block's own ops, rows here
 *   GEO     w += delta
 * So every element is computed from the same numbers in the same order wherever it lives: the
 * result does not depend on the number of servers. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server/bind.h"
#include "server/hashed.h"
#include "server/members.h"
#include "server/server_parts.h"
#include "server/shard.h"
#include "server/slice.h"
#include "server/snapshot.h"
#include "tensor/math.h"

/* ---- numbers in a message ---- */

static inline float float_at(const unsigned char *p, size_t i)
{
    float x;
    memcpy(&x, p + 4 * i, sizeof x);
    return x;
}

static void add_floats(float *to, const unsigned char *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += float_at(from, i);
}

static inline int64_t id_at(const unsigned char *ids, size_t i)
{
    int64_t id;
    memcpy(&id, ids + 8 * i, sizeof id);
    return id;
}

/* ---- checks ---- */

enum skiff_status slice_check_ids(const struct server *s, const struct param_slice *u,
                                  const uint8_t *ids, size_t n, struct skiff_error *err)
{
    uint64_t rows = (uint64_t)u->shape.dims[0], most = 0;
    char text[320];
    if (slice_is_hashed(u)) {
        for (size_t i = 0; s->plan->servers > 1 && i < n; i++)
            if (!slice_owns(s, u, id_at(ids, i)))
                return error_set(err, SKIFF_RANGE,
                                 "table %s: id %lld does not belong to %s (id modulo %s%d servers)",
                                 u->param, (long long)id_at(ids, i), server_text(s, text),
                                 u->sparse_table ? "shard_num, split for " : "", s->plan->servers);
        return SKIFF_OK;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t id = (uint64_t)id_at(ids, i);
        most = id > most ? id : most;
    }
    if (n && most >= rows)
        return error_set(err, SKIFF_RANGE, "row %lld of %s: it has %lld rows on %s",
                         (long long)most, u->param, (long long)rows, server_text(s, text));
    return SKIFF_OK;
}

enum skiff_status slice_check(const struct server *s, const struct bound_var *v,
                              const struct ps_piece *item, struct skiff_error *err)
{
    const struct param_slice *u = v->slice;
    char expected[160];
    size_t width = (size_t)u->pushed * sizeof(float);
    if (item->has_rows != u->sparse)
        return error_set(err, SKIFF_INVALID, "%s was sent as %s; the server program expects %s",
                         v->name, item->has_rows ? "rows" : "a tensor",
                         u->sparse ? "rows" : "a tensor");
    if (u->sparse_table && item->bytes != item->nrows * width)
        return error_set(err, SKIFF_SHAPE,
                         "%s has %zu bytes in %zu rows; table %s expects rows of %lld numbers "
                         "(slot, show, click, gradients)",
                         v->name, item->bytes, item->nrows, u->param, (long long)u->pushed);
    size_t bytes = u->sparse ? item->nrows * width : (size_t)shape_numel(&u->shape) * sizeof(float);
    if (item->bytes != bytes)
        return error_set(err, SKIFF_SHAPE,
                         "%s has %zu bytes and %zu rows; parameter %s is %s, and %zu bytes are "
                         "expected",
                         v->name, item->bytes, item->nrows, u->param,
                         shape_text(&u->shape, expected), bytes);
    return u->sparse ? slice_check_ids(s, u, item->rows, item->nrows, err) : SKIFF_OK;
}

/* ---- rows ---- */

static enum skiff_status reserve_rows(struct server_shard *h, size_t n, struct skiff_error *err)
{
    void *rows;
    if (n <= h->rows_cap)
        return SKIFF_OK;
    size_t cap = n < 1024 ? 1024 : n + n / 4;
    TRY(mem_alloc(cap * sizeof *h->rows, "row numbers of a request", &rows, err));
    mem_free(h->rows);
    h->rows = rows;
    h->rows_cap = cap;
    return SKIFF_OK;
}

enum skiff_status slice_rows(struct server *s, struct server_shard *h, struct param_slice *u,
                             const uint8_t *ids, size_t n, const int64_t **out,
                             struct skiff_error *err)
{
    TRY(slice_check_ids(s, u, ids, n, err));
    TRY(reserve_rows(h, n, err));
    if (n)
        memcpy(h->rows, ids, n * sizeof *h->rows);
    struct deferred *deferred = value_deferred(u->param_value);
    if (deferred) {
        slice_cow_rows(s, u, h->rows, n);
        deferred->class->flush_rows(deferred, h->rows, n);
    }
    *out = h->rows;
    return SKIFF_OK;
}

/* ---- the gradient's variable ---- */

static int64_t param_rows(const struct param_slice *u)
{
    return u->param_value->tensor.shape.dims[0];
}

#define PART ((size_t)4096) /* floats that stay in the first cache */

/* Data in a message begin at multiples of 8 bytes (net/ps_exchange.c). */
static const float *floats_of(const struct pending_push *p)
{
    return (const float *)(const void *)p->item.data;
}

static enum skiff_status take_dense(struct param_slice *u, int present, struct skiff_error *err)
{
    size_t n = (size_t)shape_numel(&u->shape);
    TRY(value_as_tensor(u->grad_value, DTYPE_FP32, &u->shape, err));
    float *g = tensor_f32(&u->grad_value->tensor);
    for (size_t at = 0; at < n; at += PART) {
        const float *sum = floats_of(&u->pushes[0]) + at;
        int64_t some = (int64_t)(n - at < PART ? n - at : PART);
        if (u->npushes == 1)
            memcpy(g + at, sum, (size_t)some * sizeof *g);
        for (int i = 1; i < u->npushes; i++, sum = g + at)
            math_add_f32(some, sum, floats_of(&u->pushes[i]) + at, g + at);
        if (present > 1)
            math_scale_f32(some, (float)(1.0 / present), g + at);
    }
    return SKIFF_OK;
}

static enum skiff_status as_rows(struct param_slice *u, size_t n, struct skiff_error *err)
{
    struct shape shape = u->shape;
    shape.dims[0] = (int64_t)n;
    return value_as_rows_shape(u->grad_value, DTYPE_FP32, &shape, param_rows(u), err);
}

/* Applies a single push, unmerged. */
static enum skiff_status take_rows(struct param_slice *u, const struct ps_piece *item,
                                   struct skiff_error *err)
{
    size_t n = (size_t)item->nrows;
    TRY(as_rows(u, n, err));
    if (n) {
        memcpy(u->grad_value->sel.rows, item->rows, n * sizeof *u->grad_value->sel.rows);
        memcpy(u->grad_value->tensor.data, item->data, item->bytes);
    }
    return SKIFF_OK;
}

static void merge_push(struct server_shard *h, struct param_slice *u, const struct ps_piece *item)
{
    struct skiff_tensor *g = u->grad_value;
    size_t width = (size_t)u->width, bytes = width * sizeof(float);
    for (size_t i = 0; i < (size_t)item->nrows; i++) {
        bool is_new;
        int64_t id = id_at(item->rows, i);
        uint32_t at = id_map_add(&h->map, id, &is_new);
        float *to = tensor_f32(&g->tensor) + at * width;
        if (is_new) {
            g->sel.rows[at] = id;
            memcpy(to, item->data + i * bytes, bytes);
        } else {
            add_floats(to, item->data + i * bytes, width);
        }
    }
}

static enum skiff_status merge_rows(struct server_shard *h, struct param_slice *u, int present,
                                    struct skiff_error *err)
{
    size_t total = 0;
    for (int i = 0; i < u->npushes; i++)
        total += (size_t)u->pushes[i].item.nrows;
    if (total > UINT32_MAX)
        return error_set(err, SKIFF_RANGE, "%s: %zu rows in one step", u->grad, total);
    TRY(as_rows(u, total, err));
    id_map_reset(&h->map, total);
    for (int i = 0; i < u->npushes; i++)
        merge_push(h, u, &u->pushes[i].item);
    TRY(as_rows(u, h->map.count, err));
    u->grad_value->sel.distinct = true;
    if (present > 1)
        math_scale_f32((int64_t)(h->map.count * (size_t)u->width), (float)(1.0 / present),
                       tensor_f32(&u->grad_value->tensor));
    return SKIFF_OK;
}

/* ---- DC-ASGD ---- */

enum skiff_status slice_backup(struct server *s, struct param_slice *u, uint32_t trainer,
                               const int64_t *rows, size_t n, struct skiff_error *err)
{
    if (!u->compensate || trainer >= (uint32_t)s->plan->trainers)
        return SKIFF_OK;
    size_t width = (size_t)u->width, bytes = (size_t)shape_numel(&u->shape) * sizeof(float);
    const float *p = tensor_f32(&u->param_value->tensor);
    if (!u->backups[trainer]) {
        void *fresh;
        TRY(mem_alloc(bytes, "backup of pulled values", &fresh, err));
        memcpy(fresh, p, bytes);
        u->backups[trainer] = fresh;
    } else if (!rows) {
        memcpy(u->backups[trainer], p, bytes);
    }
    for (size_t i = 0; rows && i < n; i++)
        memcpy(u->backups[trainer] + (size_t)rows[i] * width, p + (size_t)rows[i] * width,
               width * sizeof *p);
    return SKIFF_OK;
}

/* A trainer that has pulled nothing yet is taken to have the current values, so nothing is
 * compensated. */
static enum skiff_status compensate_dense(struct server *s, struct param_slice *u, uint32_t trainer,
                                          struct skiff_error *err)
{
    if (!u->backups[trainer])
        TRY(slice_backup(s, u, trainer, NULL, 0, err));
    struct tensor *t = &u->base_value->tensor;
    *t = (struct tensor){.dtype = DTYPE_FP32,
                         .shape = u->shape,
                         .data = u->backups[trainer],
                         .cap = (size_t)shape_numel(&u->shape) * sizeof(float),
                         .owner = TENSOR_BORROWED};
    u->base_value->kind = VALUE_TENSOR;
    return SKIFF_OK;
}

static void compensate_rows(struct param_slice *u, uint32_t trainer)
{
    struct skiff_tensor *g = u->grad_value;
    size_t width = (size_t)u->width;
    const float *base = u->backups[trainer], *p = tensor_f32(&u->param_value->tensor);
    struct deferred *deferred = value_deferred(u->param_value);
    if (!base)
        return;
    if (deferred)
        deferred->class->flush_rows(deferred, g->sel.rows, g->sel.nrows);
    for (size_t i = 0; i < g->sel.nrows; i++) {
        float *x = tensor_f32(&g->tensor) + i * width;
        size_t row = (size_t)g->sel.rows[i] * width;
        for (size_t c = 0; c < width; c++)
            x[c] = x[c] + (p[row + c] - base[row + c]) * x[c] * x[c];
    }
}

/* ---- GEO ---- */

/* A trainer that has left or died will not pull again. Its set of unseen changes would grow to the
 * whole table. A new process in its place has no values and gets every row as it stands on its
 * first pull; it may pull before this server has heard of its arrival, but then the pull has
 * registered it. */
static bool hears(struct server *s, const struct server_shard *h, int trainer)
{
    struct server_member p = members_get(s, (uint32_t)trainer);
    bool gone = p.state == MEMBER_LEFT || p.state == MEMBER_DEAD;
    return !gone || (h->heard[trainer] && h->heard[trainer] != p.incarnation);
}

static void forget_changed(struct param_slice *u, int trainer)
{
    if (u->table)
        hashed_forget_changed(u, trainer);
    else
        changed_deinit(&u->changed[trainer]);
}

void slice_hear(struct server_shard *h, const struct rpc_request *q)
{
    uint32_t t = q->sender.index;
    if (q->sender.role == NET_WORKER && t < (uint32_t)h->server->plan->trainers &&
        h->heard[t] < q->incarnation) /* drops late messages of a dead process */
        h->heard[t] = q->incarnation;
}

void changed_review(struct server *s)
{
    for (int i = 0; mode_adds(s->plan->mode) && i < s->nshards; i++) {
        struct server_shard *h = &s->shards[i];
        pthread_mutex_lock(&h->lock);
        for (int t = 0; t < s->plan->trainers; t++)
            for (int k = 0; !hears(s, h, t) && k < h->nslices; k++)
                if (h->slices[k]->add && h->slices[k]->sparse)
                    forget_changed(h->slices[k], t);
        pthread_mutex_unlock(&h->lock);
    }
}

/* Adds rows by id and notes them as changed for every trainer that still pulls. */
static enum skiff_status add_keyed(struct server *s, const struct server_shard *h,
                                   struct param_slice *u, const struct ps_piece *item,
                                   struct skiff_error *err)
{
    TRY(hashed_add(u, item->rows, (size_t)item->nrows, item->data, err));
    for (int t = 0; u->add && t < s->plan->trainers; t++)
        if (hears(s, h, t))
            hashed_note_changed(u, t, item->rows, (size_t)item->nrows);
    return SKIFF_OK;
}

static enum skiff_status add_delta(struct server *s, struct server_shard *h, struct param_slice *u,
                                   const struct ps_piece *item, struct skiff_error *err)
{
    if (u->table)
        return add_keyed(s, h, u, item, err);
    float *p = tensor_f32(&u->param_value->tensor);
    size_t width = (size_t)u->width, n = (size_t)item->nrows;
    const int64_t *rows;
    if (!u->sparse) {
        slice_cow_all(s, u);
        add_floats(p, item->data, (size_t)shape_numel(&u->shape));
        return SKIFF_OK;
    }
    TRY(slice_rows(s, h, u, item->rows, n, &rows, err));
    slice_cow_rows(s, u, rows, n);
    p = tensor_f32(&u->param_value->tensor);
    for (size_t i = 0; i < n; i++)
        add_floats(p + (size_t)rows[i] * width, item->data + i * width * sizeof *p, width);
    for (int t = 0; t < s->plan->trainers; t++)
        if (hears(s, h, t))
            changed_add(&u->changed[t], rows, n);
    return SKIFF_OK;
}

/* ---- the two ways to apply ---- */

static enum skiff_status run(struct server *s, struct param_slice *u, struct skiff_error *err)
{
    slice_cow(s, u);
    bool window = u->table && !u->home.each;
    if (window)
        TRY(hashed_open(s, u, err));
    pthread_rwlock_rdlock(&s->rate);
    enum skiff_status status = plan_run(u->plan, NULL, NULL, err);
    pthread_rwlock_unlock(&s->rate);
    if (window)
        hashed_close(u, status == SKIFF_OK);
    if (status < 0)
        return error_prefix(err, status, "update of %s", u->param);
    return SKIFF_OK;
}

enum skiff_status slice_apply(struct server *s, struct server_shard *h, struct param_slice *u,
                              uint32_t trainer, const struct ps_piece *item,
                              struct skiff_error *err)
{
    if (u->sparse_table)
        return sparse_push(u->sparse_table, item->rows, item->data, item->nrows, err);
    if (s->bound[item->number].delta)
        return add_delta(s, h, u, item, err);
    if (u->sparse) {
        TRY(take_rows(u, item, err));
        if (u->compensate) {
            slice_cow(s, u); /* also flushes deferred updates */
            compensate_rows(u, trainer);
        }
    } else {
        TRY(value_as_tensor(u->grad_value, DTYPE_FP32, &u->shape, err));
        memcpy(u->grad_value->tensor.data, item->data, item->bytes);
        if (u->compensate)
            TRY(compensate_dense(s, u, trainer, err));
    }
    return run(s, u, err);
}

static int by_trainer(const void *a, const void *b)
{
    const struct pending_push *x = a, *y = b;
    if (x->trainer != y->trainer)
        return x->trainer < y->trainer ? -1 : 1;
    return x->order - y->order;
}

/* Keeps only pushes of trainers that have ended the step, in trainer order. */
static void keep_ended(const struct server_shard *h, struct param_slice *u)
{
    int n = 0;
    for (int i = 0; i < u->npushes; i++) {
        if (h->ended[u->pushes[i].trainer])
            u->pushes[n++] = u->pushes[i];
        else
            blob_unref(u->pushes[i].body);
    }
    u->npushes = n;
    if (n > 1)
        qsort(u->pushes, (size_t)n, sizeof *u->pushes, by_trainer);
}

enum skiff_status slice_step(struct server *s, struct server_shard *h, struct param_slice *u,
                             int present, struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    keep_ended(h, u);
    if (u->sparse_table) {
        for (int i = 0; i < u->npushes; i++)
            TRY_OUT(sparse_push(u->sparse_table, u->pushes[i].item.rows, u->pushes[i].item.data,
                                (size_t)u->pushes[i].item.nrows, err));
        goto out;
    }
    if (u->npushes == 1 && u->sparse && present == 1)
        TRY_OUT(take_rows(u, &u->pushes[0].item, err));
    else if (u->npushes)
        TRY_OUT(u->sparse ? merge_rows(h, u, present, err) : take_dense(u, present, err));
    if (u->npushes)
        TRY_OUT(run(s, u, err));
out:
    slice_forget(u, -1);
    return status;
}

void slice_forget(struct param_slice *u, int trainer)
{
    int n = 0;
    for (int i = 0; i < u->npushes; i++) {
        if (trainer >= 0 && u->pushes[i].trainer != (uint32_t)trainer)
            u->pushes[n++] = u->pushes[i];
        else
            blob_unref(u->pushes[i].body);
    }
    u->npushes = n;
}

enum skiff_status rate_run(struct server *s, struct skiff_error *err)
{
    if (!s->rate_plan)
        return SKIFF_OK;
    enum skiff_status status = plan_run(s->rate_plan, NULL, NULL, err);
    return status < 0 ? error_prefix(err, status, "learning rate") : SKIFF_OK;
}
