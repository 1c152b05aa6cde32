/* sequence_pool: one row per sequence of the lowest lod level.
 *
 *   SUM sum of rows   AVERAGE sum / h   SQRT sum / sqrt(h)   FIRST, LAST that row
 *   MAX column maximum, the first one wins; MaxIndex = its row in X, -1 for an empty sequence
 *
 * h = length of the sequence. An empty sequence gives pad_value and no gradient. With two lod
 * levels Out keeps the upper one. Unlike Paddle, a batch with fewer rows than sequences is fine. */
#include <math.h>
#include <string.h>

#include "ops/seq_common.h"

enum { AT_IS_TEST, AT_POOLTYPE, AT_PAD };
enum { OUT_OUT, OUT_MAX_INDEX };
enum { GRAD_X, GRAD_MAX_INDEX, GRAD_DOUT };

enum pool { POOL_SUM, POOL_AVERAGE, POOL_SQRT, POOL_FIRST, POOL_LAST, POOL_MAX, POOL_UNKNOWN };

static enum pool pool_of(const char *name)
{
    static const char *const names[] = {"SUM", "AVERAGE", "SQRT", "FIRST", "LAST", "MAX"};
    for (int i = 0; i < POOL_UNKNOWN; i++)
        if (name && !strcmp(name, names[i]))
            return (enum pool)i;
    return POOL_UNKNOWN;
}

static enum skiff_status pool_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, 0, DTYPE_FP32, err));
    TRY(infer_want_lod(c, 0, err));
    enum pool pool = pool_of(c->attr[AT_POOLTYPE].s);
    if (pool == POOL_UNKNOWN)
        return error_set(err, SKIFF_INVALID,
                         "op sequence_pool: pooltype is '%s', must be SUM, AVERAGE, SQRT, FIRST, "
                         "LAST or MAX",
                         c->attr[AT_POOLTYPE].s);
    struct shape s = *infer_in(c, 0, 0);
    if (s.ndim < 1)
        return infer_fail(c, 0, 0, err, "has no rows");
    if (c->running)
        s.dims[0] = lod_last(infer_in_lod(c, 0, 0))->n - 1;
    TRY(infer_out(c, OUT_OUT, 0, DTYPE_FP32, &s, err));
    int level = infer_in_lod_level(c, 0, 0);
    if (!c->running)
        infer_lod_level(c, OUT_OUT, 0, level > 0 ? level - 1 : 0);
    if (pool == POOL_MAX)
        TRY(infer_out(c, OUT_MAX_INDEX, 0, DTYPE_INT32, &s, err));
    return SKIFF_OK;
}

static void pool_sum(const float *x, int64_t h, int64_t width, float *out)
{
    for (int64_t d = 0; d < width; d++)
        out[d] = x[d];
    for (int64_t r = 1; r < h; r++) {
        const float *row = x + r * width;
        for (int64_t d = 0; d < width; d++)
            out[d] += row[d];
    }
}

/* `first` is the row number in X of x[0]; index may be NULL. */
static void pool_max(const float *x, int64_t first, int64_t h, int64_t width, float *out,
                     int32_t *index)
{
    for (int64_t d = 0; d < width; d++) {
        int64_t best = 0;
        for (int64_t r = 1; r < h; r++)
            if (x[r * width + d] > x[best * width + d])
                best = r;
        out[d] = x[best * width + d];
        if (index)
            index[d] = (int32_t)(first + best);
    }
}

static void pool_one(enum pool pool, const float *x, int64_t h, int64_t width, float *out)
{
    if (pool == POOL_FIRST || pool == POOL_LAST) {
        memcpy(out, pool == POOL_FIRST ? x : x + (h - 1) * width, (size_t)width * sizeof(float));
        return;
    }
    pool_sum(x, h, width, out);
    if (pool == POOL_SUM)
        return;
    float by = pool == POOL_AVERAGE ? 1.0f / (float)h : 1.0f / sqrtf((float)h);
    for (int64_t d = 0; d < width; d++)
        out[d] *= by;
}

static enum skiff_status pool_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    struct tensor *out = kernel_out(k, OUT_OUT), *max_index = kernel_out(k, OUT_MAX_INDEX);
    const struct lod_level *seq = lod_last(x->lod);
    enum pool pool = pool_of(k->attr[AT_POOLTYPE].s);
    float pad = k->attr[AT_PAD].f;
    int64_t width = shape_cols(&x->shape, 1);
    TRY(kernel_lod_without_last(out, x, err));
    for (int64_t i = 0; i + 1 < seq->n; i++) {
        const float *rows = tensor_f32(x) + seq->off[i] * width;
        float *to = tensor_f32(out) + i * width;
        int32_t *index = pool == POOL_MAX && max_index ? tensor_i32(max_index) + i * width : NULL;
        int64_t h = seq->off[i + 1] - seq->off[i];
        if (h == 0) {
            for (int64_t d = 0; d < width; d++)
                to[d] = pad;
            for (int64_t d = 0; index && d < width; d++)
                index[d] = -1;
        } else if (pool == POOL_MAX) {
            pool_max(rows, seq->off[i], h, width, to, index);
        } else {
            pool_one(pool, rows, h, width, to);
        }
    }
    return SKIFF_OK;
}

/* ---- gradient ---- */

static enum skiff_status pool_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_lod(c, GRAD_X, err));
    return infer_grad_of(c, GRAD_X, 0, err);
}

static enum skiff_status pool_grad_max(struct kernel *k, int64_t width, struct skiff_error *err)
{
    const struct tensor *index = kernel_in(k, GRAD_MAX_INDEX), *dout = kernel_in(k, GRAD_DOUT);
    struct tensor *dx = kernel_out(k, 0);
    if (!index || index->dtype != DTYPE_INT32 || tensor_numel(index) != tensor_numel(dout))
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "input MaxIndex (%s) must be int32 of the shape of Out@GRAD",
                           kernel_in_name(k, GRAD_MAX_INDEX, 0));
    int64_t rows = dx->shape.dims[0], n = tensor_numel(dout);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = tensor_i32(index)[i];
        if (row < 0)
            continue;
        if (row >= rows)
            return kernel_bad_index(k, GRAD_MAX_INDEX, i, row, rows, "rows of X", err);
        tensor_f32(dx)[row * width + i % width] = tensor_f32(dout)[i];
    }
    return SKIFF_OK;
}

static void pool_grad_one(enum pool pool, const float *dout, int64_t h, int64_t width, float *dx)
{
    if (pool == POOL_FIRST || pool == POOL_LAST) {
        memcpy(pool == POOL_FIRST ? dx : dx + (h - 1) * width, dout, (size_t)width * sizeof(float));
        return;
    }
    float by = pool == POOL_AVERAGE ? 1.0f / (float)h
               : pool == POOL_SQRT  ? 1.0f / sqrtf((float)h)
                                    : 1.0f;
    for (int64_t r = 0; r < h; r++, dx += width)
        for (int64_t d = 0; d < width; d++)
            dx[d] = dout[d] * by;
}

static enum skiff_status pool_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, GRAD_X), *dout = kernel_in(k, GRAD_DOUT);
    struct tensor *dx = kernel_out(k, 0);
    if (!dx)
        return SKIFF_OK;
    const struct lod_level *seq = lod_last(x->lod);
    enum pool pool = pool_of(k->attr[AT_POOLTYPE].s);
    int64_t width = shape_cols(&x->shape, 1);
    if (dout->dtype != DTYPE_FP32 || tensor_numel(dout) != (seq->n - 1) * width)
        return kernel_fail(
            k, SKIFF_SHAPE, err, "input Out@GRAD (%s) must be float32 [%lld sequences, %lld]",
            kernel_in_name(k, GRAD_DOUT, 0), (long long)(seq->n - 1), (long long)width);
    if (pool >= POOL_FIRST)
        floats_zero(tensor_f32(dx), tensor_numel(dx));
    if (pool == POOL_MAX)
        return pool_grad_max(k, width, err);
    for (int64_t i = 0; i + 1 < seq->n; i++)
        if (seq->off[i + 1] > seq->off[i])
            pool_grad_one(pool, tensor_f32(dout) + i * width, seq->off[i + 1] - seq->off[i], width,
                          tensor_f32(dx) + seq->off[i] * width);
    return SKIFF_OK;
}

/* MaxIndex goes to the gradient op of a MAX pool only. */
static enum skiff_status pool_make_grad(struct grad_build *g, struct skiff_error *err)
{
    struct skiff_op *op = grad_op(g, "sequence_pool_grad", true);
    grad_use(g, op, "X");
    const struct op_attr_value *type = op_attr(g->fwd, "pooltype");
    if (type && type->type == ATTR_STRING && !strcmp(type->value.s, "MAX"))
        grad_use(g, op, "MaxIndex");
    grad_use_out_grad(g, op, "Out");
    grad_make_in_grad(g, op, "X");
    return SKIFF_OK;
}

static const struct op_slot pool_ins[] = {{"X", 0}, {0}};
static const struct op_slot pool_outs[] = {{"Out", 0}, {"MaxIndex", SLOT_EXTRA}, {0}};
static const struct op_slot pool_grad_ins[] = {
    {"X", SLOT_SHAPE_ONLY}, {"MaxIndex", SLOT_OPTIONAL}, {"Out@GRAD", 0}, {0}};
static const struct op_slot pool_grad_outs[] = {{"X@GRAD", 0}, {0}};
static const struct op_attr_spec pool_attrs[] = {
    A_BOOL("is_test", false), A_STR("pooltype", "AVERAGE"), A_FLOAT("pad_value", 0.0f), {0}};

const struct op_kind ops_sequence_pool[] = {{.type = "sequence_pool",
                                             .class = CLASS_POOL,
                                             .ins = pool_ins,
                                             .outs = pool_outs,
                                             .attrs = pool_attrs,
                                             .make_grad = pool_make_grad,
                                             .infer = pool_infer,
                                             .run = pool_run},
                                            {.type = "sequence_pool_grad",
                                             .class = CLASS_POOL_GRAD,
                                             .ins = pool_grad_ins,
                                             .outs = pool_grad_outs,
                                             .attrs = pool_attrs,
                                             .infer = pool_grad_infer,
                                             .run = pool_grad_run},
                                            {0}};
