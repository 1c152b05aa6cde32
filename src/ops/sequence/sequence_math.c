/* sequence_softmax and sequence_conv.
 *
 *   sequence_softmax  softmax over the values of each sequence; dX = (dO - sum dO p) p
 *   sequence_conv     row t of a sequence sees rows t + contextStart .. + contextLength - 1 of it,
 *                     laid side by side: Out = columns(X) Filter, Filter [contextLength * D, M].
 *                     Rows beyond the sequence are zero, or (paddingTrainable) rows of PaddingData:
 *                     first those before the beginning, then those after the end. */
#include <math.h>

#include "ops/seq_common.h"
#include "tensor/math.h"

/* ---- sequence_softmax ---- */

static enum skiff_status softmax_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, 0, DTYPE_FP32, err));
    TRY(infer_want_lod(c, 0, err));
    const struct shape *s = infer_in(c, 0, 0);
    if (s->ndim < 1 || !dims_agree(dims_product(s, 1, s->ndim), 1))
        return infer_fail(c, 0, 0, err, "must be [rows] or [rows, 1]");
    return infer_same(c, 0, 0, err);
}

static enum skiff_status softmax_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    const struct lod_level *seq = lod_last(x->lod);
    float *out = tensor_f32(kernel_out(k, 0));
    for (int64_t i = 0; i + 1 < seq->n; i++) {
        float max = -INFINITY, sum = 0;
        for (int64_t t = seq->off[i]; t < seq->off[i + 1]; t++)
            max = fmaxf(max, tensor_f32(x)[t]);
        for (int64_t t = seq->off[i]; t < seq->off[i + 1]; t++)
            sum += out[t] = expf(tensor_f32(x)[t] - max);
        for (int64_t t = seq->off[i]; t < seq->off[i + 1]; t++)
            out[t] /= sum;
    }
    return SKIFF_OK;
}

enum { SG_X, SG_OUT, SG_DOUT };

static enum skiff_status softmax_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, SG_X, DTYPE_FP32, err));
    TRY(infer_want_lod(c, SG_X, err));
    TRY(infer_like(c, SG_X, 0, err));
    if (c->running)
        infer_share_lod(c, SG_X, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status softmax_grad_run(struct kernel *k, struct skiff_error *err)
{
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    int64_t n = tensor_numel(kernel_in(k, SG_X));
    TRY(kernel_want_floats(k, SG_OUT, n, err));
    TRY(kernel_want_floats(k, SG_DOUT, n, err));
    const struct lod_level *seq = lod_last(kernel_in(k, SG_X)->lod);
    const float *p = tensor_f32(kernel_in(k, SG_OUT)), *dout = tensor_f32(kernel_in(k, SG_DOUT));
    float *dx = tensor_f32(kernel_out(k, 0));
    for (int64_t i = 0; i + 1 < seq->n; i++) {
        float dot = 0;
        for (int64_t t = seq->off[i]; t < seq->off[i + 1]; t++)
            dot += dout[t] * p[t];
        for (int64_t t = seq->off[i]; t < seq->off[i + 1]; t++)
            dx[t] = (dout[t] - dot) * p[t];
    }
    return SKIFF_OK;
}

/* ---- sequence_conv ---- */

enum { CV_X, CV_PADDING, CV_FILTER, CV_DOUT };
enum { CV_TRAINABLE, CV_LENGTH, CV_START, CV_STRIDE };

struct context {
    int64_t width, length, start, before; /* before: padding rows in front of a sequence */
};

static struct context context_of(const struct attr_value *attr, int64_t width)
{
    struct context c = {width, attr[CV_LENGTH].i, attr[CV_START].i, 0};
    c.before = c.start < 0 ? -c.start : 0;
    return c;
}

static enum skiff_status conv_check(const struct infer *c, struct skiff_error *err)
{
    TRY(infer_want(c, CV_X, DTYPE_FP32, err));
    TRY(infer_want(c, CV_FILTER, DTYPE_FP32, err));
    TRY(infer_want(c, CV_PADDING, DTYPE_FP32, err));
    TRY(infer_want_rank(c, CV_X, 2, err));
    TRY(infer_want_rank(c, CV_FILTER, 2, err));
    TRY(infer_want_lod(c, CV_X, err));
    const struct shape *x = infer_in(c, CV_X, 0), *f = infer_in(c, CV_FILTER, 0);
    int64_t length = c->attr[CV_LENGTH].i, start = c->attr[CV_START].i;
    if (length < 1 || c->attr[CV_STRIDE].i != 1)
        return infer_fail(c, CV_X, 0, err, "contextLength is %lld, contextStride %d (must be 1)",
                          (long long)length, c->attr[CV_STRIDE].i);
    if (x->dims[1] >= 0 && !dims_agree(f->dims[0], length * x->dims[1]))
        return infer_fail(c, CV_FILTER, 0, err, "must have contextLength %lld x width %lld rows",
                          (long long)length, (long long)x->dims[1]);
    if (!c->attr[CV_TRAINABLE].b)
        return SKIFF_OK;
    const struct shape *pad = infer_in(c, CV_PADDING, 0);
    int64_t before = start < 0 ? -start : 0, after = start + length > 1 ? start + length - 1 : 0;
    if (!pad || pad->ndim != 2 || !dims_agree(pad->dims[0], before + after) ||
        !dims_agree(pad->dims[1], x->dims[1]))
        return infer_fail(c, CV_PADDING, 0, err, "must be [%lld, width of X]",
                          (long long)(before + after));
    return SKIFF_OK;
}

static enum skiff_status conv_infer(struct infer *c, struct skiff_error *err)
{
    TRY(conv_check(c, err));
    struct shape s = *infer_in(c, CV_X, 0);
    s.dims[1] = infer_in(c, CV_FILTER, 0)->dims[1];
    TRY(infer_out(c, 0, 0, DTYPE_FP32, &s, err));
    infer_share_lod(c, CV_X, 0, 0, 0);
    return SKIFF_OK;
}

/* Row of PaddingData for position p of a sequence of h rows. */
static int64_t padding_row(struct context c, int64_t p, int64_t h)
{
    return p < 0 ? c.before + p : c.before + p - h;
}

/* columns [rows, length * width] */
static void columns_fill(struct context c, const struct lod_level *seq, const float *x,
                         const float *padding, float *columns)
{
    for (int64_t i = 0; i + 1 < seq->n; i++) {
        int64_t h = seq->off[i + 1] - seq->off[i];
        for (int64_t t = 0; t < h; t++)
            for (int64_t w = 0; w < c.length; w++, columns += c.width) {
                int64_t p = t + c.start + w;
                if (p >= 0 && p < h)
                    rows_move(columns, x + (seq->off[i] + p) * c.width, c.width, sizeof(float));
                else if (padding)
                    rows_move(columns, padding + padding_row(c, p, h) * c.width, c.width,
                              sizeof(float));
                else
                    floats_zero(columns, c.width);
            }
    }
}

/* Adds the gradients of the columns back; dx or dpadding may be NULL. */
static void columns_scatter(struct context c, const struct lod_level *seq, const float *columns,
                            float *dx, float *dpadding)
{
    for (int64_t i = 0; i + 1 < seq->n; i++) {
        int64_t h = seq->off[i + 1] - seq->off[i];
        for (int64_t t = 0; t < h; t++)
            for (int64_t w = 0; w < c.length; w++, columns += c.width) {
                int64_t p = t + c.start + w;
                bool inside = p >= 0 && p < h;
                float *to = inside     ? dx ? dx + (seq->off[i] + p) * c.width : NULL
                            : dpadding ? dpadding + padding_row(c, p, h) * c.width
                                       : NULL;
                for (int64_t d = 0; to && d < c.width; d++)
                    to[d] += columns[d];
            }
    }
}

static enum skiff_status conv_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, CV_X), *f = kernel_in(k, CV_FILTER);
    struct context c = context_of(k->attr, x->shape.dims[1]);
    const float *padding = k->attr[CV_TRAINABLE].b ? tensor_f32(kernel_in(k, CV_PADDING)) : NULL;
    int64_t rows = x->shape.dims[0], k_dim = f->shape.dims[0], m = f->shape.dims[1];
    float *columns;
    TRY(kernel_floats(k, rows * k_dim, &columns, err));
    columns_fill(c, lod_last(x->lod), tensor_f32(x), padding, columns);
    if (rows)
        math_gemm_f32(false, false, rows, m, k_dim, 1.0f, columns, k_dim, tensor_f32(f), m, 0.0f,
                      tensor_f32(kernel_out(k, 0)), m);
    return SKIFF_OK;
}

enum { CVG_DX, CVG_DFILTER, CVG_DPADDING };

static enum skiff_status conv_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(conv_check(c, err));
    TRY(infer_grad_of(c, CV_X, CVG_DX, err));
    TRY(infer_like(c, CV_FILTER, CVG_DFILTER, err));
    return infer_has(c, CV_PADDING) ? infer_like(c, CV_PADDING, CVG_DPADDING, err) : SKIFF_OK;
}

static enum skiff_status conv_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, CV_X), *f = kernel_in(k, CV_FILTER);
    struct tensor *dx = kernel_out(k, CVG_DX), *df = kernel_out(k, CVG_DFILTER);
    struct tensor *dpad =
        kernel_grad(k, CVG_DPADDING, CV_PADDING) ? kernel_out(k, CVG_DPADDING) : NULL;
    struct context c = context_of(k->attr, x->shape.dims[1]);
    bool trainable = k->attr[CV_TRAINABLE].b;
    int64_t rows = x->shape.dims[0], k_dim = f->shape.dims[0], m = f->shape.dims[1];
    const float *dout = tensor_f32(kernel_in(k, CV_DOUT));
    float *columns;
    TRY(kernel_want_floats(k, CV_DOUT, rows * m, err));
    TRY(kernel_floats(k, rows * k_dim, &columns, err));
    if (df) {
        floats_zero(tensor_f32(df), tensor_numel(df));
        columns_fill(c, lod_last(x->lod), tensor_f32(x),
                     trainable ? tensor_f32(kernel_in(k, CV_PADDING)) : NULL, columns);
        if (rows)
            math_gemm_f32(true, false, k_dim, m, rows, 1.0f, columns, k_dim, dout, m, 0.0f,
                          tensor_f32(df), m);
    }
    if (!dx && !dpad)
        return SKIFF_OK;
    if (dx)
        floats_zero(tensor_f32(dx), tensor_numel(dx));
    if (dpad)
        floats_zero(tensor_f32(dpad), tensor_numel(dpad));
    if (rows)
        math_gemm_f32(false, true, rows, k_dim, m, 1.0f, dout, m, tensor_f32(f), m, 0.0f, columns,
                      k_dim);
    columns_scatter(c, lod_last(x->lod), columns, dx ? tensor_f32(dx) : NULL,
                    dpad && trainable ? tensor_f32(dpad) : NULL);
    return SKIFF_OK;
}

static enum skiff_status conv_make_grad(struct grad_build *g, struct skiff_error *err)
{
    struct skiff_op *op = grad_op(g, "sequence_conv_grad", true);
    const struct op_attr_value *trainable = op_attr(g->fwd, "paddingTrainable");
    grad_use(g, op, "X");
    grad_use(g, op, "Filter");
    grad_use_out_grad(g, op, "Out");
    bool wanted = grad_make_in_grad(g, op, "X");
    wanted = grad_make_in_grad(g, op, "Filter") || wanted;
    if (trainable && trainable->type == ATTR_BOOLEAN && trainable->value.b) {
        grad_use(g, op, "PaddingData");
        wanted = grad_make_in_grad(g, op, "PaddingData") || wanted;
    }
    if (!wanted)
        g->nops--;
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot x_ins[] = {{"X", 0}, {0}};
static const struct op_slot out_outs[] = {{"Out", 0}, {0}};
static const struct op_slot softmax_grad_ins[] = {
    {"X", SLOT_SHAPE_ONLY}, {"Out", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot x_grad_outs[] = {{"X@GRAD", 0}, {0}};
static const struct op_attr_spec softmax_attrs[] = {
    A_BOOL("use_cudnn", false), A_STR("data_format", "AnyLayout"), {0}};

static const struct op_slot conv_ins[] = {
    {"X", 0}, {"PaddingData", SLOT_OPTIONAL}, {"Filter", 0}, {0}};
static const struct op_slot conv_grad_ins[] = {
    {"X", 0}, {"PaddingData", SLOT_OPTIONAL}, {"Filter", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot conv_grad_outs[] = {{"X@GRAD", SLOT_OPTIONAL},
                                                {"Filter@GRAD", SLOT_OPTIONAL},
                                                {"PaddingData@GRAD", SLOT_OPTIONAL},
                                                {0}};
static const struct op_attr_spec conv_attrs[] = {A_BOOL("paddingTrainable", false),
                                                 A_REQ("contextLength", ATTR_INT),
                                                 A_INT("contextStart", 0),
                                                 A_INT("contextStride", 1),
                                                 {0}};

const struct op_kind ops_sequence_math[] = {{.type = "sequence_softmax",
                                             .ins = x_ins,
                                             .outs = out_outs,
                                             .attrs = softmax_attrs,
                                             .grad = "X Out Out@GRAD -> X@GRAD",
                                             .infer = softmax_infer,
                                             .run = softmax_run},
                                            {.type = "sequence_softmax_grad",
                                             .ins = softmax_grad_ins,
                                             .outs = x_grad_outs,
                                             .attrs = softmax_attrs,
                                             .infer = softmax_grad_infer,
                                             .run = softmax_grad_run},
                                            {.type = "sequence_conv",
                                             .ins = conv_ins,
                                             .outs = out_outs,
                                             .attrs = conv_attrs,
                                             .make_grad = conv_make_grad,
                                             .infer = conv_infer,
                                             .run = conv_run},
                                            {.type = "sequence_conv_grad",
                                             .ins = conv_grad_ins,
                                             .outs = conv_grad_outs,
                                             .attrs = conv_attrs,
                                             .infer = conv_grad_infer,
                                             .run = conv_grad_run},
                                            {0}};
