/* Averages gradients over the ranks of a job while backward is still running (DataParallel).
 *
 * Dense gradients are copied into buckets, in the order in which rank 0's first backward
 * produced them. The ring's own thread reduces a full bucket once all earlier buckets have been
 * started. All ranks therefore start the same calls in the same order, whatever order their
 * gradients arrive in. At the end of the walk, missing gradients are filled in (with the present
 * gradient, or zeros), and the averages are written to the gradients. After the gradients a
 * bucket has one number per gradient, 1 if this rank had it: if no rank had it, there is none
 * afterwards either.
 *
 * Selected rows of all ranks are gathered in rank order and divided by the number of ranks. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/options.h"
#include "collective/rings.h"
#include "eager/eager.h"
#include "tensor/half.h"

struct reduce_bucket {
    enum dtype dtype;
    int first, count; /* positions in the order */
    int left;         /* gradients that have not come yet */
    int64_t elements; /* and `count` numbers behind them */
    void *data;
    struct collective_work *work;
    bool started;
};

struct reduced { /* a parameter */
    struct skiff_eager_reducer *reducer;
    struct skiff_eager_tensor *tensor; /* owned reference; NULL if another reducer has taken it */
    bool sparse, ready;
    struct reduce_bucket *bucket; /* NULL: sparse */
    int index;                    /* in the bucket */
    int64_t at, numel;            /* its elements in the bucket */
};

struct skiff_eager_reducer {
    struct skiff_eager *engine;
    int ring, n;
    size_t bucket_bytes, first_bucket_bytes;
    struct reduced *params;
    int *order; /* of params; dense ones first */
    int ndense;
    struct reduce_bucket *buckets;
    int nbuckets, next; /* the next bucket to start */
    int *came, ncame;   /* in the first backward */
    bool sync, ordered;
    void (*waits)(void *user, bool begins);
    void *user;
    bool touched; /* by this backward */
    struct skiff_eager_reducer *next_touched;
};

/* Takes the parameters from `r`. */
static void detach(struct skiff_eager_reducer *r)
{
    for (int i = 0; i < r->n; i++) {
        struct skiff_eager_tensor *t = r->params[i].tensor;
        r->params[i].tensor = NULL;
        if (!t)
            continue;
        t->reduced = NULL;
        skiff_eager_tensor_unref(t);
    }
}

static enum skiff_status failed(const struct skiff_error *why, struct skiff_error *err)
{
    return error_set(err, SKIFF_STATE, "the gradients of all ranks could not be averaged: %s",
                     why->message);
}

static void wait_for_others(const struct skiff_eager_reducer *r, bool begins)
{
    if (r->waits)
        r->waits(r->user, begins);
}

/* ---- buckets ---- */

static void buckets_free(struct skiff_eager_reducer *r)
{
    for (int i = 0; i < r->nbuckets; i++)
        mem_free(r->buckets[i].data);
    free(r->buckets);
    r->buckets = NULL;
    r->nbuckets = 0;
}

static const struct tensor *parameter(const struct skiff_eager_reducer *r, int i)
{
    return &r->params[i].tensor->storage->value.tensor;
}

/* Cuts the order into buckets of one type each. The first ones are small, so that reducing
 * begins early. */
static enum skiff_status buckets_cut(struct skiff_eager_reducer *r, struct skiff_error *err)
{
    buckets_free(r);
    r->buckets = mem_alloc_or_die((size_t)(r->ndense + 1) * sizeof *r->buckets);
    for (int i = 0; i < r->ndense; i++) {
        struct reduced *p = &r->params[r->order[i]];
        const struct tensor *t = parameter(r, r->order[i]);
        struct reduce_bucket *b = r->nbuckets ? &r->buckets[r->nbuckets - 1] : NULL;
        size_t limit = r->nbuckets > 1 ? r->bucket_bytes : r->first_bucket_bytes;
        if (!b || b->dtype != t->dtype ||
            (size_t)b->elements * dtype_size(b->dtype) + tensor_bytes(t) > limit) {
            b = &r->buckets[r->nbuckets++];
            *b = (struct reduce_bucket){.dtype = t->dtype, .first = i};
        }
        p->bucket = b;
        p->index = b->count++;
        p->at = b->elements;
        b->elements += p->numel = tensor_numel(t);
    }
    for (int i = 0; i < r->nbuckets; i++) {
        struct reduce_bucket *b = &r->buckets[i];
        size_t bytes = (size_t)(b->elements + b->count) * dtype_size(b->dtype);
        TRY(mem_alloc(bytes, "a bucket of gradients", &b->data, err));
    }
    return SKIFF_OK;
}

static void *index_of(const struct reduced *p)
{
    return (char *)p->bucket->data + (size_t)p->at * dtype_size(p->bucket->dtype);
}

static void set_used(const struct reduced *p, bool used)
{
    struct reduce_bucket *b = p->bucket;
    int64_t at = b->elements + p->index;
    if (b->dtype == DTYPE_FP32)
        ((float *)b->data)[at] = used;
    else if (b->dtype == DTYPE_FP64)
        ((double *)b->data)[at] = used;
    else
        ((uint16_t *)b->data)[at] = half_of(b->dtype, used);
}

static bool was_used(const struct reduced *p)
{
    const struct reduce_bucket *b = p->bucket;
    int64_t at = b->elements + p->index;
    if (b->dtype == DTYPE_FP32)
        return ((const float *)b->data)[at] != 0;
    if (b->dtype == DTYPE_FP64)
        return ((const double *)b->data)[at] != 0;
    return half_value(b->dtype, ((const uint16_t *)b->data)[at]) != 0;
}

/* ---- gradients in and out ---- */

/* Selected rows arrived for a parameter that has a dense slot. */
static enum skiff_status add_rows(const struct reduced *p, const struct skiff_tensor *g,
                                  struct skiff_error *err)
{
    int64_t width = shape_cols(&p->tensor->storage->value.tensor.shape, 1);
    if (p->bucket->dtype != DTYPE_FP32)
        return error_set(err, SKIFF_UNSUPPORTED,
                         "selected rows of %s as the gradient of a parameter whose layer has no "
                         "sparse=True",
                         dtype_name(p->bucket->dtype));
    for (size_t i = 0; i < g->sel.nrows; i++) {
        float *to = (float *)index_of(p) + g->sel.rows[i] * width;
        const float *from = tensor_f32(&g->tensor) + (int64_t)i * width;
        for (int64_t k = 0; k < width; k++)
            to[k] += from[k];
    }
    return SKIFF_OK;
}

static enum skiff_status put_gradient(struct reduced *p, struct skiff_error *err)
{
    const struct tensor *t = &p->tensor->storage->value.tensor;
    struct skiff_eager_tensor *g = p->tensor->grad;
    const struct skiff_tensor *v = g ? &g->storage->value : NULL;
    if (t->dtype != p->bucket->dtype || tensor_numel(t) != p->numel)
        return error_set(err, SKIFF_SHAPE,
                         "DataParallel: a parameter has another type or shape than when the model "
                         "was made parallel");
    set_used(p, v != NULL || p->tensor->cleared);
    if (v && v->kind == VALUE_TENSOR && v->tensor.dtype == t->dtype &&
        tensor_numel(&v->tensor) == tensor_numel(t)) {
        memcpy(index_of(p), v->tensor.data, tensor_bytes(t));
        return SKIFF_OK;
    }
    memset(index_of(p), 0, tensor_bytes(t));
    if (v && v->kind == VALUE_ROWS)
        return add_rows(p, v, err);
    return !v ? SKIFF_OK
              : error_set(err, SKIFF_SHAPE, "a gradient is not of its parameter's type and shape");
}

/* The storage that the gradient is written to: its own if nobody else reads that one. */
static enum skiff_status own_grad(struct skiff_eager_tensor *t, struct skiff_eager_tensor **out,
                                  struct skiff_error *err)
{
    struct skiff_eager_tensor *g = t->grad;
    if (!g || g->storage->refs > 1 || g->storage->value.kind != VALUE_TENSOR) {
        g = skiff_eager_tensor_create(t->engine);
        skiff_eager_set_grad(t, g);
        skiff_eager_tensor_unref(g);
    }
    g->stop_gradient = false;
    const struct tensor *like = &t->storage->value.tensor;
    *out = g;
    return value_as_tensor(&g->storage->value, like->dtype, &like->shape, err);
}

static enum skiff_status take_average(const struct reduced *p, struct skiff_error *err)
{
    struct skiff_eager_tensor *g;
    if (!was_used(p))
        return SKIFF_OK;
    TRY(own_grad(p->tensor, &g, err));
    memcpy(g->storage->value.tensor.data, index_of(p), tensor_bytes(&g->storage->value.tensor));
    skiff_eager_touched(g);
    return SKIFF_OK;
}

/* ---- selected rows ---- */

/* Message of one rank, for each sparse parameter: number of rows, ids, values. */
static void pack_rows(struct buf *to, const struct reduced *p)
{
    const struct tensor *t = &p->tensor->storage->value.tensor;
    const struct skiff_tensor *v = p->tensor->grad ? &p->tensor->grad->storage->value : NULL;
    int64_t height = t->shape.dims[0], n = 0;
    size_t width = (size_t)shape_cols(&t->shape, 1) * dtype_size(t->dtype);
    bool dense = v && v->kind == VALUE_TENSOR;
    if (v)
        n = dense ? height : (int64_t)v->sel.nrows;
    buf_add(to, &n, sizeof n);
    for (int64_t i = 0; i < n && dense; i++)
        buf_add(to, &i, sizeof i);
    if (n && !dense)
        buf_add(to, v->sel.rows, (size_t)n * sizeof n);
    if (n)
        buf_add(to, v->tensor.data, (size_t)n * width);
}

struct rows_view { /* one rank's rows of a parameter */
    int64_t n;
    const uint8_t *ids, *values;
};

static enum skiff_status read_rows(const uint8_t **at, const uint8_t *end, const struct tensor *t,
                                   struct rows_view *out, struct skiff_error *err)
{
    size_t width = (size_t)shape_cols(&t->shape, 1) * dtype_size(t->dtype);
    size_t row = width + sizeof(int64_t), left = (size_t)(end - *at);
    int64_t n = -1, id;
    if (left >= sizeof n) {
        memcpy(&n, *at, sizeof n);
        left -= sizeof n;
    }
    if (n < 0 || (size_t)n > left / row)
        return error_set(err, SKIFF_FORMAT, "a rank has sent %lld rows in %zu bytes", (long long)n,
                         left);
    *out = (struct rows_view){n, *at + sizeof n, *at + sizeof n + (size_t)n * sizeof n};
    for (int64_t i = 0; i < n; i++) {
        memcpy(&id, out->ids + (size_t)i * sizeof id, sizeof id);
        if (id < 0 || id >= t->shape.dims[0])
            return error_set(err, SKIFF_RANGE, "a rank has sent row %lld of a table of %lld",
                             (long long)id, (long long)t->shape.dims[0]);
    }
    *at = out->values + (size_t)n * width;
    return SKIFF_OK;
}

static void divide(struct tensor *t, int by)
{
    int64_t n = tensor_numel(t);
    for (int64_t i = 0; i < n; i++)
        if (t->dtype == DTYPE_FP32)
            tensor_f32(t)[i] /= (float)by;
        else if (t->dtype == DTYPE_FP64)
            tensor_f64(t)[i] /= by;
        else
            ((uint16_t *)t->data)[i] =
                half_of(t->dtype, half_value(t->dtype, ((uint16_t *)t->data)[i]) / (float)by);
}

/* The rows of all ranks become the parameter's gradient. */
static enum skiff_status join_rows(const struct reduced *p, const struct rows_view *views,
                                   int ranks, struct skiff_error *err)
{
    const struct tensor *t = &p->tensor->storage->value.tensor;
    struct shape shape = t->shape;
    size_t width = (size_t)shape_cols(&shape, 1) * dtype_size(t->dtype);
    shape.dims[0] = 0;
    for (int i = 0; i < ranks; i++)
        shape.dims[0] += views[i].n;
    if (!shape.dims[0] && !p->tensor->grad)
        return SKIFF_OK;
    struct skiff_eager_tensor *g = skiff_eager_tensor_create(p->reducer->engine);
    skiff_eager_set_grad(p->tensor, g);
    skiff_eager_tensor_unref(g);
    g->stop_gradient = false;
    struct skiff_tensor *v = &g->storage->value;
    TRY(value_as_rows_shape(v, t->dtype, &shape, t->shape.dims[0], err));
    size_t at = 0;
    for (int i = 0; i < ranks; at += (size_t)views[i++].n) {
        if (!views[i].n)
            continue;
        memcpy(v->sel.rows + at, views[i].ids, (size_t)views[i].n * sizeof(int64_t));
        memcpy((char *)v->tensor.data + at * width, views[i].values, (size_t)views[i].n * width);
    }
    divide(&v->tensor, ranks);
    return SKIFF_OK;
}

static enum skiff_status take_rows(struct skiff_eager_reducer *r, const uint8_t *all,
                                   const size_t *sizes, int ranks, struct skiff_error *err)
{
    const uint8_t *at[ranks], *end[ranks];
    struct rows_view views[ranks];
    for (int i = 0; i < ranks; all = end[i++]) {
        at[i] = all;
        end[i] = all + sizes[i];
    }
    for (int k = r->ndense; k < r->n; k++) {
        struct reduced *p = &r->params[r->order[k]];
        for (int i = 0; i < ranks; i++)
            TRY(read_rows(&at[i], end[i], &p->tensor->storage->value.tensor, &views[i], err));
        TRY(join_rows(p, views, ranks, err));
    }
    return SKIFF_OK;
}

static enum skiff_status gather_rows(struct skiff_eager_reducer *r, struct collective *c,
                                     struct skiff_error *err)
{
    int ranks = collective_size(c);
    size_t sizes[ranks];
    void *all = NULL;
    struct buf mine = {0};
    if (r->ndense == r->n)
        return SKIFF_OK;
    for (int k = r->ndense; k < r->n; k++)
        pack_rows(&mine, &r->params[r->order[k]]);
    wait_for_others(r, true);
    enum skiff_status status = collective_all_gather_any(c, mine.data, mine.len, &all, sizes, err);
    wait_for_others(r, false);
    buf_deinit(&mine);
    if (status == SKIFF_OK)
        status = take_rows(r, all, sizes, ranks, err);
    mem_free(all);
    return status;
}

/* ---- a backward ---- */

static void start_over(struct skiff_eager_reducer *r)
{
    for (int i = 0; i < r->nbuckets; i++) {
        struct reduce_bucket *b = &r->buckets[i];
        if (b->work)
            collective_wait(b->work, NULL);
        b->work = NULL;
        b->started = false;
        b->left = b->count;
    }
    for (int i = 0; i < r->n; i++)
        r->params[i].ready = false;
    r->next = r->ncame = 0;
}

static enum skiff_status start_full(struct skiff_eager_reducer *r, struct skiff_error *err)
{
    struct collective *c = NULL;
    while (r->next < r->nbuckets && !r->buckets[r->next].left) {
        struct reduce_bucket *b = &r->buckets[r->next++];
        struct skiff_error why;
        TRY(rings_need(r->ring, "DataParallel", &c, err));
        b->started = true;
        b->work = collective_start_all_reduce(c, b->data, b->elements + b->count, b->dtype,
                                              COLLECTIVE_AVG, &why);
        if (!b->work)
            return failed(&why, err);
    }
    return SKIFF_OK;
}

static enum skiff_status came(struct reduced *p, struct skiff_error *err)
{
    struct skiff_eager_reducer *r = p->reducer;
    if (!p->ready && !r->ordered)
        r->came[r->ncame++] = (int)(p - r->params);
    if (p->sparse) {
        p->ready = true;
        return SKIFF_OK;
    }
    if (p->bucket->started)
        return error_set(err, SKIFF_STATE,
                         "a parameter got a gradient twice in one backward, and its first one was "
                         "being averaged by then: DataParallel needs one backward for a step");
    TRY(put_gradient(p, err));
    p->bucket->left -= !p->ready;
    p->ready = true;
    return start_full(r, err);
}

enum skiff_status reduce_leaf(struct skiff_eager_tensor *t, struct skiff_error *err)
{
    struct skiff_eager_reducer *r = t->reduced->reducer;
    if (!r->sync)
        return SKIFF_OK;
    if (!r->touched) {
        r->touched = true;
        r->next_touched = t->engine->reducing;
        t->engine->reducing = r;
        start_over(r);
    }
    return came(t->reduced, err);
}

/* ---- the order ---- */

/* Dense parameters first: those of `first`, then the others, the last parameters first. */
static void set_order(struct skiff_eager_reducer *r, const int *first, int n)
{
    bool *there = mem_alloc_or_die((size_t)r->n + 1);
    int at = 0;
    for (int sparse = 0; sparse < 2; sparse++) {
        for (int i = 0; i < n; i++)
            if (r->params[first[i]].sparse == sparse && !there[first[i]]) {
                there[first[i]] = true;
                r->order[at++] = first[i];
            }
        for (int i = r->n - 1; i >= 0; i--)
            if (r->params[i].sparse == sparse && !there[i])
                r->order[at++] = i;
        if (!sparse)
            r->ndense = at;
    }
    free(there);
}

/* After the first backward: the arrival order of rank 0's gradients becomes the order of all
 * ranks. */
static enum skiff_status agree_on_order(struct skiff_eager_reducer *r, struct collective *c,
                                        struct skiff_error *err)
{
    int first[r->n + 1];
    first[0] = r->ncame;
    memcpy(first + 1, r->came, (size_t)r->ncame * sizeof(int));
    memset(first + 1 + r->ncame, 0, (size_t)(r->n - r->ncame) * sizeof(int));
    TRY(collective_broadcast(c, first, sizeof first, 0, err));
    bool good = first[0] >= 0 && first[0] <= r->n;
    for (int i = 0; good && i < first[0]; i++)
        good = first[1 + i] >= 0 && first[1 + i] < r->n;
    if (!good)
        return error_set(err, SKIFF_FORMAT,
                         "rank 0 has sent an order that is not a permutation of the gradients");
    set_order(r, first + 1, first[0]);
    r->ordered = true;
    return buckets_cut(r, err);
}

static enum skiff_status average(struct skiff_eager_reducer *r, struct collective *c,
                                 struct skiff_error *err)
{
    TRY(gather_rows(r, c, err));
    for (int i = 0; i < r->nbuckets; i++) {
        struct reduce_bucket *b = &r->buckets[i];
        struct collective_work *w = b->work;
        b->work = NULL;
        wait_for_others(r, true);
        enum skiff_status status = collective_wait(w, err);
        wait_for_others(r, false);
        if (status < 0)
            return status;
        for (int k = 0; k < b->count; k++)
            TRY(take_average(&r->params[r->order[b->first + k]], err));
    }
    return r->ordered ? SKIFF_OK : agree_on_order(r, c, err);
}

static enum skiff_status finish(struct skiff_eager_reducer *r, struct skiff_error *err)
{
    struct collective *c;
    struct skiff_error why;
    for (int i = 0; i < r->ndense; i++) {
        struct reduced *p = &r->params[r->order[i]];
        if (p->ready)
            continue;
        TRY(put_gradient(p, err));
        p->ready = true;
        p->bucket->left--;
    }
    TRY(start_full(r, err));
    TRY(rings_need(r->ring, "DataParallel", &c, err));
    return average(r, c, &why) < 0 ? failed(&why, err) : SKIFF_OK;
}

enum skiff_status reduce_finish(struct skiff_eager *e, enum skiff_status status,
                                struct skiff_error *err)
{
    while (e->reducing) {
        struct skiff_eager_reducer *r = e->reducing;
        e->reducing = r->next_touched;
        r->touched = false;
        if (status == SKIFF_OK)
            status = finish(r, err);
        start_over(r);
    }
    return status;
}

/* ---- create and destroy ---- */

static enum skiff_status check(int n, struct skiff_eager_tensor *const *params,
                               const struct skiff_eager_reducer_options *o, struct skiff_error *err)
{
    struct collective *c;
    TRY(rings_need(o->ring, "DataParallel", &c, err));
    for (int i = 0; i < n; i++) {
        const struct skiff_tensor *v = &params[i]->storage->value;
        if (v->kind != VALUE_TENSOR || !dtype_has_gradient(v->tensor.dtype))
            return error_set(err, SKIFF_DTYPE,
                             "DataParallel: parameter %d is not a floating point tensor", i);
        if (params[i]->reduced && params[i]->reduced->reducer->touched)
            return error_set(err, SKIFF_STATE,
                             "DataParallel: a backward of these parameters is still running");
        for (int k = 0; k < i; k++)
            if (params[k] == params[i])
                return error_set(err, SKIFF_INVALID, "DataParallel: parameter %d is listed twice",
                                 i);
    }
    return SKIFF_OK;
}

enum skiff_status skiff_eager_reducer_create(struct skiff_eager *e, int n,
                                             struct skiff_eager_tensor *const *params,
                                             const struct skiff_eager_reducer_options *o,
                                             struct skiff_eager_reducer **out,
                                             struct skiff_error *err)
{
    *out = NULL;
    TRY(reserved_check(o->reserved, "skiff_eager_reducer_options", err));
    TRY(check(n, params, o, err));
    struct skiff_eager_reducer *r = mem_alloc_or_die(sizeof *r);
    *r = (struct skiff_eager_reducer){.engine = e, .ring = o->ring, .n = n, .sync = true};
    e->refs++;
    r->waits = o->waits;
    r->user = o->user;
    r->bucket_bytes = o->bucket_bytes ? o->bucket_bytes : (size_t)25 << 20;
    r->first_bucket_bytes = o->first_bucket_bytes ? o->first_bucket_bytes : (size_t)1 << 20;
    r->params = mem_alloc_or_die((size_t)(n + 1) * sizeof *r->params);
    r->order = mem_alloc_or_die((size_t)(n + 1) * sizeof *r->order);
    r->came = mem_alloc_or_die((size_t)(n + 1) * sizeof *r->came);
    for (int i = 0; i < n; i++) {
        struct skiff_eager_tensor *t = skiff_eager_tensor_ref(params[i]);
        bool sparse = o->sparse && o->sparse[i] && t->storage->value.tensor.shape.ndim;
        if (t->reduced) /* the latest reducer owns it */
            detach(t->reduced->reducer);
        r->params[i] = (struct reduced){.reducer = r, .tensor = t, .sparse = sparse};
        t->reduced = &r->params[i];
    }
    set_order(r, NULL, 0);
    enum skiff_status status = buckets_cut(r, err);
    if (status < 0)
        skiff_eager_reducer_destroy(r);
    else
        *out = r;
    return status;
}

void skiff_eager_reducer_set_sync(struct skiff_eager_reducer *r, bool sync)
{
    r->sync = sync;
}

void skiff_eager_reducer_destroy(struct skiff_eager_reducer *r)
{
    if (!r)
        return;
    struct skiff_eager *e = r->engine;
    for (struct skiff_eager_reducer **at = &e->reducing; *at; at = &(*at)->next_touched)
        if (*at == r) {
            *at = r->next_touched;
            break;
        }
    start_over(r);
    detach(r);
    buckets_free(r);
    free(r->params);
    free(r->order);
    free(r->came);
    free(r);
    engine_unref(e);
}
