/* conv2d and depthwise_conv2d: Input [N, C, H, W], Filter [M, C / groups, kh, kw], as a product of
 * matrices, image by image and group by group:
 *
 *   columns [C/g * kh * kw, oh * ow] of an image;  Output = Filter columns (+ Bias)
 *   dFilter += dOutput columns^T;  dInput += spread(Filter^T dOutput);  dBias = sum of dOutput
 *   oh = (H + top + bottom - (dilation (kh - 1) + 1)) / stride + 1
 *
 * paddings: [h, w] or [top, bottom, left, right]; padding_algorithm SAME (ceil(H / stride) rows,
 * the odd one at the end, dilation 1) and VALID (none) win over them. depthwise_conv2d is the same
 * with groups = C. Only the layout NCHW is known. */
#include "ops/seq_common.h"
#include "tensor/math.h"

enum { IN_INPUT, IN_FILTER, IN_DOUT, IN_BIAS };         /* gradient op: all four */
enum { FWD_INPUT, FWD_FILTER, FWD_BIAS, FWD_RESIDUAL }; /* forward op in 1.x: bias third */
enum { AT_STRIDES, AT_PADDINGS, AT_ALGORITHM, AT_GROUPS, AT_DILATIONS, AT_FORMAT };

struct conv {
    int64_t n, channels, groups, filters; /* channels and filters of all groups */
    int64_t in[2], out[2], kernel[2];     /* height, width */
    int64_t stride[2], dilation[2], before[2], after[2];
};

static bool name_is(const char *s, const char *name)
{
    return s && !strcmp(s, name);
}

static enum skiff_status lists_check(const struct infer *c, struct skiff_error *err)
{
    const struct attr_value *s = &c->attr[AT_STRIDES], *p = &c->attr[AT_PADDINGS];
    const struct attr_value *d = &c->attr[AT_DILATIONS];
    bool fits = s->n == 2 && d->n == 2 && (p->n == 2 || p->n == 4) && s->ints[0] > 0 &&
                s->ints[1] > 0 && d->ints[0] > 0 && d->ints[1] > 0;
    for (int i = 0; fits && i < p->n; i++)
        fits = p->ints[i] >= 0;
    if (!fits)
        return infer_fail(
            c, IN_INPUT, 0, err,
            "strides (%d), dilations (%d) and paddings (%d values) must be 2, 2 and 2 "
            "or 4 numbers, strides and dilations positive",
            s->n, d->n, p->n);
    if (c->attr[AT_FORMAT].s && !name_is(c->attr[AT_FORMAT].s, "NCHW") &&
        !name_is(c->attr[AT_FORMAT].s, "AnyLayout"))
        return error_set(err, SKIFF_UNSUPPORTED, "op %s: data_format is %s, only NCHW is known",
                         c->kind->type, c->attr[AT_FORMAT].s);
    return SKIFF_OK;
}

static void padding_of(const struct infer *c, struct conv *v, int axis)
{
    const struct attr_value *p = &c->attr[AT_PADDINGS];
    const char *algorithm = c->attr[AT_ALGORITHM].s;
    v->before[axis] = p->n == 4 ? p->ints[2 * axis] : p->ints[axis];
    v->after[axis] = p->n == 4 ? p->ints[2 * axis + 1] : p->ints[axis];
    if (name_is(algorithm, "VALID"))
        v->before[axis] = v->after[axis] = 0;
    if (!name_is(algorithm, "SAME"))
        return;
    v->dilation[axis] = 1;
    int64_t rows = (v->in[axis] + v->stride[axis] - 1) / v->stride[axis];
    int64_t sum = (rows - 1) * v->stride[axis] + v->kernel[axis] - v->in[axis];
    sum = sum > 0 ? sum : 0;
    v->before[axis] = sum / 2;
    v->after[axis] = sum - sum / 2;
}

/* Checks everything and fills v; out is -1 where the input's size is not known. */
static enum skiff_status conv_of(const struct infer *c, struct conv *v, struct skiff_error *err)
{
    TRY(infer_want(c, IN_INPUT, DTYPE_FP32, err));
    TRY(infer_want(c, IN_FILTER, DTYPE_FP32, err));
    TRY(infer_want_rank(c, IN_INPUT, 4, err));
    TRY(infer_want_rank(c, IN_FILTER, 4, err));
    TRY(lists_check(c, err));
    const struct shape *x = infer_in(c, IN_INPUT, 0), *f = infer_in(c, IN_FILTER, 0);
    *v = (struct conv){.n = x->dims[0],
                       .channels = x->dims[1],
                       .groups = c->attr[AT_GROUPS].i,
                       .filters = f->dims[0]};
    if (v->groups < 1 || v->filters < 0 || v->filters % v->groups ||
        !dims_agree(v->channels, f->dims[1] * v->groups))
        return infer_fail(c, IN_FILTER, 0, err,
                          "does not fit %lld input channels in %lld groups: [filters, channels / "
                          "groups, height, width] is wanted",
                          (long long)v->channels, (long long)v->groups);
    for (int a = 0; a < 2; a++) {
        v->in[a] = x->dims[2 + a];
        v->kernel[a] = f->dims[2 + a];
        v->stride[a] = c->attr[AT_STRIDES].ints[a];
        v->dilation[a] = c->attr[AT_DILATIONS].ints[a];
        v->out[a] = -1;
        if (v->in[a] < 0)
            continue;
        padding_of(c, v, a);
        int64_t span = v->dilation[a] * (v->kernel[a] - 1) + 1;
        int64_t room = v->in[a] + v->before[a] + v->after[a] - span;
        if (room < 0 || v->kernel[a] < 1)
            return infer_fail(c, IN_INPUT, 0, err, "is smaller than the filter (%lld of %lld)",
                              (long long)v->in[a], (long long)span);
        v->out[a] = room / v->stride[a] + 1;
    }
    return SKIFF_OK;
}

static enum skiff_status conv_of_kernel(struct kernel *k, struct conv *v, struct skiff_error *err)
{
    struct infer c = {.kind = k->kind, .attr = k->attr, .running = true, .kernel = k};
    return conv_of(&c, v, err);
}

/* ---- columns ---- */

/* Position in the image of kernel row (or column) k for output position o; -1
 * when in the padding. */
static int64_t input_at(const struct conv *v, int axis, int64_t o, int64_t k)
{
    int64_t at = o * v->stride[axis] - v->before[axis] + k * v->dilation[axis];
    return at >= 0 && at < v->in[axis] ? at : -1;
}

/* One row of the columns: channel c of the group, kernel position (kh, kw). */
static void column_row(const struct conv *v, const float *image, int64_t kh, int64_t kw, float *row)
{
    for (int64_t oh = 0; oh < v->out[0]; oh++) {
        int64_t h = input_at(v, 0, oh, kh);
        for (int64_t ow = 0; ow < v->out[1]; ow++, row++) {
            int64_t w = input_at(v, 1, ow, kw);
            *row = h < 0 || w < 0 ? 0.0f : image[h * v->in[1] + w];
        }
    }
}

static void column_row_spread(const struct conv *v, const float *row, int64_t kh, int64_t kw,
                              float *image)
{
    for (int64_t oh = 0; oh < v->out[0]; oh++) {
        int64_t h = input_at(v, 0, oh, kh);
        for (int64_t ow = 0; ow < v->out[1]; ow++, row++) {
            int64_t w = input_at(v, 1, ow, kw);
            if (h >= 0 && w >= 0)
                image[h * v->in[1] + w] += *row;
        }
    }
}

/* columns <-> image of one group (channels / groups planes); image is read, or added to. */
static void columns_walk(const struct conv *v, float *image, float *columns, bool spread)
{
    int64_t channels = v->channels / v->groups, plane = v->in[0] * v->in[1];
    int64_t width = v->out[0] * v->out[1];
    for (int64_t c = 0; c < channels; c++)
        for (int64_t kh = 0; kh < v->kernel[0]; kh++)
            for (int64_t kw = 0; kw < v->kernel[1]; kw++, columns += width)
                if (spread)
                    column_row_spread(v, columns, kh, kw, image + c * plane);
                else
                    column_row(v, image + c * plane, kh, kw, columns);
}

/* ---- forward ---- */

static enum skiff_status conv_infer(struct infer *c, struct skiff_error *err)
{
    struct conv v;
    TRY(conv_of(c, &v, err));
    bool has_bias = c->kind->ins[FWD_BIAS].name && infer_has(c, FWD_BIAS);
    if (c->kind->ins[FWD_BIAS].name && infer_has(c, FWD_RESIDUAL))
        return infer_fail(c, FWD_RESIDUAL, 0, err, "fused residuals are not supported");
    if (has_bias && c->running && shape_numel(infer_in(c, FWD_BIAS, 0)) != v.filters)
        return infer_fail(c, FWD_BIAS, 0, err, "must have one value per filter");
    struct shape out = SHAPE(v.n, v.filters, v.out[0], v.out[1]);
    TRY(infer_out(c, 0, 0, DTYPE_FP32, &out, err));
    infer_share_lod(c, IN_INPUT, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status conv_run(struct kernel *k, struct skiff_error *err)
{
    struct conv v;
    TRY(conv_of_kernel(k, &v, err));
    const float *filter = tensor_f32(kernel_in(k, IN_FILTER));
    const float *bias = k->kind->ins[FWD_BIAS].name && kernel_has(k, FWD_BIAS)
                            ? tensor_f32(kernel_in(k, FWD_BIAS))
                            : NULL;
    int64_t width = v.out[0] * v.out[1], filters = v.filters / v.groups;
    int64_t depth = v.channels / v.groups * v.kernel[0] * v.kernel[1];
    int64_t in_group = v.channels / v.groups * v.in[0] * v.in[1];
    float *columns;
    TRY(kernel_floats(k, depth * width, &columns, err));
    for (int64_t i = 0; i < v.n * v.groups; i++) {
        float *out = tensor_f32(kernel_out(k, 0)) + i * filters * width;
        int64_t g = i % v.groups;
        columns_walk(&v, tensor_f32(kernel_in(k, IN_INPUT)) + i * in_group, columns, false);
        math_gemm_f32(false, false, filters, width, depth, 1.0f, filter + g * filters * depth,
                      depth, columns, width, 0.0f, out, width);
        for (int64_t f = 0; bias && f < filters; f++)
            for (int64_t p = 0; p < width; p++)
                out[f * width + p] += bias[g * filters + f];
    }
    return SKIFF_OK;
}

/* ---- gradient ---- */

static enum skiff_status conv_grad_infer(struct infer *c, struct skiff_error *err)
{
    struct conv v;
    TRY(conv_of(c, &v, err));
    TRY(infer_like(c, IN_INPUT, 0, err));
    TRY(infer_like(c, IN_FILTER, 1, err));
    struct shape bias = SHAPE(v.filters);
    return infer_has(c, IN_BIAS) ? infer_out(c, 2, 0, DTYPE_FP32, &bias, err) : SKIFF_OK;
}

static void bias_grad(const struct conv *v, const float *dout, float *dbias)
{
    int64_t width = v->out[0] * v->out[1];
    floats_zero(dbias, v->filters);
    for (int64_t i = 0; i < v->n * v->filters; i++)
        for (int64_t p = 0; p < width; p++)
            dbias[i % v->filters] += dout[i * width + p];
}

static enum skiff_status conv_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct conv v;
    TRY(conv_of_kernel(k, &v, err));
    int64_t width = v.out[0] * v.out[1], filters = v.filters / v.groups;
    int64_t depth = v.channels / v.groups * v.kernel[0] * v.kernel[1];
    int64_t in_group = v.channels / v.groups * v.in[0] * v.in[1];
    TRY(kernel_want_floats(k, IN_DOUT, v.n * v.filters * width, err));
    float *dx = kernel_wants(k, 0) ? tensor_f32(kernel_out(k, 0)) : NULL, *columns;
    float *df = kernel_wants(k, 1) ? tensor_f32(kernel_out(k, 1)) : NULL;
    TRY(kernel_floats(k, depth * width, &columns, err));
    if (dx)
        floats_zero(dx, tensor_numel(kernel_out(k, 0)));
    if (df)
        floats_zero(df, tensor_numel(kernel_out(k, 1)));
    for (int64_t i = 0; i < v.n * v.groups; i++) {
        const float *dout = tensor_f32(kernel_in(k, IN_DOUT)) + i * filters * width;
        int64_t at = i % v.groups * filters * depth;
        if (df) {
            columns_walk(&v, tensor_f32(kernel_in(k, IN_INPUT)) + i * in_group, columns, false);
            math_gemm_f32(false, true, filters, depth, width, 1.0f, dout, width, columns, width,
                          1.0f, df + at, depth);
        }
        if (dx) {
            math_gemm_f32(true, false, depth, width, filters, 1.0f,
                          tensor_f32(kernel_in(k, IN_FILTER)) + at, depth, dout, width, 0.0f,
                          columns, width);
            columns_walk(&v, dx + i * in_group, columns, true);
        }
    }
    if (kernel_grad(k, 2, IN_BIAS))
        bias_grad(&v, tensor_f32(kernel_in(k, IN_DOUT)), kernel_grad(k, 2, IN_BIAS));
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot conv_ins_1x[] = {
    {"Input", 0}, {"Filter", 0}, {"Bias", SLOT_OPTIONAL}, {"ResidualData", SLOT_OPTIONAL}, {0}};
static const struct op_slot conv_ins_2x[] = {{"Input", 0}, {"Filter", 0}, {0}};
static const struct op_slot conv_outs[] = {{"Output", 0}, {0}};
static const struct op_slot conv_grad_ins[] = {
    {"Input", 0}, {"Filter", 0}, {"Output@GRAD", 0}, {"Bias", SLOT_OPTIONAL}, {0}};
static const struct op_slot conv_grad_outs[] = {{"Input@GRAD", SLOT_OPTIONAL},
                                                {"Filter@GRAD", SLOT_OPTIONAL},
                                                {"Bias@GRAD", SLOT_OPTIONAL},
                                                {0}};

#define SCALE_WEIGHTS                                          \
    {                                                          \
        .name = "Scale_weights", .type = ATTR_FLOATS, .def = { \
            .n = 1,                                            \
            .floats = (const float[]){1.0f}                    \
        }                                                      \
    }
#define CONV_ATTRS                                                                                 \
    A_INTS_DEF("strides", 1, 1), A_INTS_DEF("paddings", 0, 0),                                     \
        A_STR("padding_algorithm", "EXPLICIT"), A_INT("groups", 1), A_INTS_DEF("dilations", 1, 1), \
        A_STR("data_format", "NCHW"), A_BOOL("is_test", false), A_BOOL("use_cudnn", false),        \
        A_BOOL("use_mkldnn", false), A_INT("workspace_size_MB", 512),                              \
        A_BOOL("exhaustive_search", false), A_BOOL("force_fp32_output", false)
#define CONV_ATTRS_MKLDNN                                                                         \
    A_BOOL("fuse_relu_before_depthwise_conv", false), A_BOOL("use_quantizer", false),             \
        A_BOOL("fuse_relu", false), A_STR("fuse_activation", ""), A_FLOAT("fuse_alpha", 0.0f),    \
        A_FLOAT("fuse_beta", 0.0f), A_BOOL("fuse_residual_connection", false),                    \
        A_FLOAT("Scale_in", 1.0f), A_FLOAT("Scale_out", 1.0f), A_FLOAT("Scale_in_eltwise", 1.0f), \
        SCALE_WEIGHTS
static const struct op_attr_spec conv_attrs_1x[] = {CONV_ATTRS,
                                                    CONV_ATTRS_MKLDNN,
                                                    A_BOOL("fuse_brelu", false),
                                                    A_FLOAT("fuse_brelu_threshold", 6.0f),
                                                    {0}};
static const struct op_attr_spec conv_attrs_2x[] = {CONV_ATTRS, A_BOOL("use_addto", false), {0}};
static const struct op_attr_spec depthwise_attrs_2x[] = {CONV_ATTRS,
                                                         CONV_ATTRS_MKLDNN,
                                                         A_BOOL("use_addto", false),
                                                         A_STR("mkldnn_data_type", "float32"),
                                                         {0}};

#define CONV_ROWS(name, gen, in_table, attr_table, grad_line)                                   \
    {.type = name,                                                                              \
     .generations = gen,                                                                        \
     .ins = in_table,                                                                           \
     .outs = conv_outs,                                                                         \
     .attrs = attr_table,                                                                       \
     .grad = grad_line,                                                                         \
     .infer = conv_infer,                                                                       \
     .run = conv_run},                                                                          \
    {                                                                                           \
        .type = name "_grad", .generations = gen, .ins = conv_grad_ins, .outs = conv_grad_outs, \
        .attrs = attr_table, .infer = conv_grad_infer, .run = conv_grad_run                     \
    }
#define GRAD_1X "Input Filter Bias Output@GRAD -> Input@GRAD Filter@GRAD Bias@GRAD"
#define GRAD_2X "Input Filter Output@GRAD -> Input@GRAD Filter@GRAD"

const struct op_kind ops_conv[] = {
    CONV_ROWS("conv2d", GEN_1X, conv_ins_1x, conv_attrs_1x, GRAD_1X),
    CONV_ROWS("conv2d", GEN_2X, conv_ins_2x, conv_attrs_2x, GRAD_2X),
    CONV_ROWS("depthwise_conv2d", GEN_1X, conv_ins_1x, conv_attrs_1x, GRAD_1X),
    CONV_ROWS("depthwise_conv2d", GEN_2X, conv_ins_2x, depthwise_attrs_2x, GRAD_2X),
    {0}};
