/* conv2d, depthwise_conv2d, conv3d and their transposes: between an image [N, C, H, W] and a map
 * [N, M, oh, ow], with Filter [M, C / groups, kh, kw], as products of matrices, image by image and
 * group by group:
 *
 *   columns [C/g * kh * kw, oh * ow] of an image
 *   map_from_image     map = Filter columns                   conv2d; Input@GRAD of the transpose
 *   image_from_map     image = spread(Filter^T map)           Input@GRAD of conv2d; the transpose
 *   filter_from_both   dFilter += map columns^T               Filter@GRAD of either
 *   oh = (H + top + bottom - (dilation (kh - 1) + 1)) / stride + 1; the transpose solves it for H,
 *   adds output_padding, or takes output_size
 *
 * paddings: [h, w] or [top, bottom, left, right]; padding_algorithm SAME (ceil(H / stride) rows,
 * the odd one at the end, dilation 1) and VALID (none) win over them. Depthwise ones are the same
 * with groups = C. NHWC: channels last in image and map, the filter stays as it is.
 *
 * conv3d and conv3d_transpose are the same with a depth before height and width, in volumes,
 * filters and lists of attributes. Inside there is always a depth: images are one deep. */
#include "ops/seq_common.h"
#include "tensor/math.h"

enum { IN_INPUT, IN_FILTER, IN_DOUT, IN_BIAS }; /* gradient op: all four */
enum { FWD_BIAS = 2 };                          /* forward op of images in 1.x */
enum { AT_STRIDES, AT_PADDINGS, AT_ALGORITHM, AT_GROUPS, AT_DILATIONS, AT_FORMAT };
enum { AT_OUT_SIZE = AT_FORMAT + 1, AT_OUT_PADDING }; /* transposes */

enum { AXES = 3 };

struct conv {
    enum dtype dtype;
    bool last;                                 /* NHWC */
    int first;                                 /* axis: 1 for images, 0 for volumes */
    int64_t n, channels, groups, filters;      /* channels and filters of all groups */
    int64_t in[AXES], out[AXES], kernel[AXES]; /* depth, height, width of image, map, filter */
    int64_t stride[AXES], dilation[AXES], before[AXES], after[AXES];
};

/* Number of dimensions of this op's images, without rows and channels. */
static int axes_of(const struct op_kind *kind)
{
    return strstr(kind->type, "conv3d") ? 3 : 2;
}

static bool name_is(const char *s, const char *name)
{
    return s && !strcmp(s, name);
}

static enum skiff_status lists_check(const struct infer *c, struct skiff_error *err)
{
    const struct attr_value *s = &c->attr[AT_STRIDES], *p = &c->attr[AT_PADDINGS];
    const struct attr_value *d = &c->attr[AT_DILATIONS];
    const char *format = c->attr[AT_FORMAT].s;
    int axes = axes_of(c->kind);
    bool fits = s->n == axes && d->n == axes && (p->n == axes || p->n == 2 * axes);
    for (int i = 0; fits && i < axes; i++)
        fits = s->ints[i] > 0 && d->ints[i] > 0;
    for (int i = 0; fits && i < p->n; i++)
        fits = p->ints[i] >= 0;
    if (!fits)
        return infer_fail(
            c, IN_INPUT, 0, err,
            "strides (%d), dilations (%d) and paddings (%d values) must be %d, %d and %d "
            "or %d numbers, strides and dilations positive",
            s->n, d->n, p->n, axes, axes, axes, 2 * axes);
    if (!format || name_is(format, "NCHW") || name_is(format, "AnyLayout") ||
        name_is(format, "NHWC") ||
        (axes == 3 && (name_is(format, "NCDHW") || name_is(format, "NDHWC"))))
        return SKIFF_OK;
    return error_set(err, SKIFF_UNSUPPORTED, "op %s: data_format is %s, must be %s", c->kind->type,
                     format, axes == 3 ? "NCDHW or NDHWC" : "NCHW or NHWC");
}

/* `size` of the Input's axis, the one that SAME keeps. */
static void padding_of(const struct infer *c, struct conv *v, int axis, int64_t size)
{
    const struct attr_value *p = &c->attr[AT_PADDINGS];
    const char *algorithm = c->attr[AT_ALGORITHM].s;
    int i = axis - v->first;
    bool both = p->n == 2 * (AXES - v->first);
    v->before[axis] = p->ints[both ? 2 * i : i];
    v->after[axis] = p->ints[both ? 2 * i + 1 : i];
    if (name_is(algorithm, "VALID"))
        v->before[axis] = v->after[axis] = 0;
    if (!name_is(algorithm, "SAME"))
        return;
    v->dilation[axis] = 1;
    int64_t rows = (size + v->stride[axis] - 1) / v->stride[axis];
    int64_t sum = (rows - 1) * v->stride[axis] + v->kernel[axis] - size;
    sum = sum > 0 ? sum : 0;
    v->before[axis] = sum / 2;
    v->after[axis] = sum - sum / 2;
}

/* Types, ranks, lists and all else that does not depend on sizes. x = Input's rows, channels and
 * sizes. */
static enum skiff_status conv_begin(const struct infer *c, struct conv *v, int64_t x[2 + AXES],
                                    struct skiff_error *err)
{
    int axes = axes_of(c->kind);
    TRY(infer_want_float(c, IN_INPUT, err));
    TRY(infer_want(c, IN_FILTER, infer_in_dtype(c, IN_INPUT, 0), err));
    TRY(infer_want_rank(c, IN_INPUT, 2 + axes, err));
    TRY(infer_want_rank(c, IN_FILTER, 2 + axes, err));
    TRY(lists_check(c, err));
    const struct shape *f = infer_in(c, IN_FILTER, 0), *given = infer_in(c, IN_INPUT, 0);
    const char *format = c->attr[AT_FORMAT].s;
    *v = (struct conv){.dtype = infer_in_dtype(c, IN_INPUT, 0),
                       .last = name_is(format, "NHWC") || name_is(format, "NDHWC"),
                       .first = AXES - axes,
                       .n = given->dims[0],
                       .groups = c->attr[AT_GROUPS].i,
                       .filters = f->dims[0]};
    x[0] = v->n;
    x[1] = given->dims[v->last ? 1 + axes : 1];
    for (int a = 0; a < AXES; a++) {
        int i = a - v->first;
        x[2 + a] = i < 0 ? 1 : given->dims[(v->last ? 1 : 2) + i];
        v->kernel[a] = i < 0 ? 1 : f->dims[2 + i];
        v->stride[a] = i < 0 ? 1 : c->attr[AT_STRIDES].ints[i];
        v->dilation[a] = i < 0 ? 1 : c->attr[AT_DILATIONS].ints[i];
        v->in[a] = v->out[a] = i < 0 ? 1 : -1;
        if (v->kernel[a] < 1)
            return infer_fail(c, IN_FILTER, 0, err, "must have a height and a width");
    }
    return SKIFF_OK;
}

static enum skiff_status groups_fail(const struct infer *c, const struct conv *v, int64_t channels,
                                     const char *dims, struct skiff_error *err)
{
    return infer_fail(c, IN_FILTER, 0, err,
                      "does not fit %lld input channels in %lld groups: %s is wanted",
                      (long long)channels, (long long)v->groups, dims);
}

/* Checks everything and fills v; out is -1 where the input's size is not known. */
static enum skiff_status conv_of(const struct infer *c, struct conv *v, struct skiff_error *err)
{
    int64_t x[2 + AXES];
    TRY(conv_begin(c, v, x, err));
    v->channels = x[1];
    if (v->groups < 1 || v->filters < 0 || v->filters % v->groups ||
        !dims_agree(v->channels, infer_in(c, IN_FILTER, 0)->dims[1] * v->groups))
        return groups_fail(c, v, v->channels, "[filters, channels / groups, height, width]", err);
    for (int a = v->first; a < AXES; a++) {
        v->in[a] = x[2 + a];
        if (v->in[a] < 0)
            continue;
        padding_of(c, v, a, v->in[a]);
        int64_t span = v->dilation[a] * (v->kernel[a] - 1) + 1;
        int64_t capacity = v->in[a] + v->before[a] + v->after[a] - span;
        if (capacity < 0)
            return infer_fail(c, IN_INPUT, 0, err, "is smaller than the filter (%lld of %lld)",
                              (long long)v->in[a], (long long)span);
        v->out[a] = capacity / v->stride[a] + 1;
    }
    return SKIFF_OK;
}

/* The image's size of axis a, when several give this map: output_size, or the smallest and
 * output_padding. */
static enum skiff_status image_size(const struct infer *c, struct conv *v, int a,
                                    struct skiff_error *err)
{
    const struct attr_value *size = &c->attr[AT_OUT_SIZE];
    const struct attr_value *more = &c->attr[AT_OUT_PADDING];
    int64_t least = (v->out[a] - 1) * v->stride[a] - v->before[a] - v->after[a] +
                    v->dilation[a] * (v->kernel[a] - 1) + 1;
    v->in[a] = least;
    if (size->n == AXES - v->first)
        v->in[a] = size->ints[a - v->first];
    else if (more->n == AXES - v->first)
        v->in[a] += more->ints[a - v->first];
    if (v->in[a] >= least && v->in[a] < least + v->stride[a] && least > 0)
        return SKIFF_OK;
    return infer_fail(c, IN_INPUT, 0, err,
                      "gives a size of %lld on axis %d, must be in [%lld, %lld)",
                      (long long)v->in[a], 2 + a - v->first, (long long)(least > 0 ? least : 1),
                      (long long)(least + v->stride[a]));
}

/* The same for a transpose: Input is the map. */
static enum skiff_status transpose_of(const struct infer *c, struct conv *v,
                                      struct skiff_error *err)
{
    int64_t x[2 + AXES];
    TRY(conv_begin(c, v, x, err));
    v->channels = infer_in(c, IN_FILTER, 0)->dims[1] * v->groups;
    if (v->groups < 1 || v->filters < 0 || v->filters % v->groups || !dims_agree(v->filters, x[1]))
        return groups_fail(c, v, x[1], "[channels, results / groups, height, width]", err);
    for (int a = v->first; a < AXES; a++) {
        v->out[a] = x[2 + a];
        if (v->out[a] < 0)
            continue;
        padding_of(c, v, a, v->out[a]);
        TRY(image_size(c, v, a, err));
    }
    return SKIFF_OK;
}

typedef enum skiff_status (*conv_rule)(const struct infer *c, struct conv *v,
                                       struct skiff_error *err);

static enum skiff_status conv_of_kernel(struct kernel *k, conv_rule rule, struct conv *v,
                                        struct skiff_error *err)
{
    struct infer c = {.kind = k->kind, .attr = k->attr, .running = true, .kernel = k};
    return rule(&c, v, err);
}

/* ---- sizes and positions ---- */

static int64_t map_width(const struct conv *v)
{
    return v->out[0] * v->out[1] * v->out[2];
}
static int64_t image_width(const struct conv *v)
{
    return v->in[0] * v->in[1] * v->in[2];
}
static int64_t columns_depth(const struct conv *v)
{
    return v->channels / v->groups * v->kernel[0] * v->kernel[1] * v->kernel[2];
}
static void *moved(const struct conv *v, const void *p, int64_t elements)
{
    return (char *)(uintptr_t)p + elements * (int64_t)dtype_size(v->dtype);
}
/* Part i of n * groups: the group's planes of one image, its rows of the filter, of one map. */
static void *image_at(const struct conv *v, const void *image, int64_t i)
{
    int64_t plane = image_width(v), g = i % v->groups, channels = v->channels / v->groups;
    return moved(v, image,
                 i / v->groups * v->channels * plane + g * channels * (v->last ? 1 : plane));
}
static void *filter_at(const struct conv *v, const void *filter, int64_t i)
{
    return moved(v, filter, i % v->groups * (v->filters / v->groups) * columns_depth(v));
}
static void *map_at(const struct conv *v, const void *map, int64_t i)
{
    int64_t width = map_width(v), g = i % v->groups, filters = v->filters / v->groups;
    return moved(v, map, i / v->groups * v->filters * width + g * filters * (v->last ? 1 : width));
}
/* A group's map is [filters, width], or its transpose with all filters in a row (NHWC). */
static int64_t map_row(const struct conv *v)
{
    return v->last ? v->filters : map_width(v);
}

/* ---- columns ---- */

/* Position in the image of kernel row (or column) k for output position o; -1
 * when in the padding. */
static int64_t input_at(const struct conv *v, int axis, int64_t o, int64_t k)
{
    int64_t at = o * v->stride[axis] - v->before[axis] + k * v->dilation[axis];
    return at >= 0 && at < v->in[axis] ? at : -1;
}

/* One row of the columns, of one channel and kernel position: read from the image, or added to
 * it. */
static void column_row(const struct conv *v, void *image, const int64_t kernel[AXES], void *columns,
                       bool spread)
{
    int64_t pixel = v->last ? v->channels : 1;
    DISPATCH_FLOAT(v->dtype, T, {
        T *plane = image;
        T *row = columns;
        for (int64_t i = 0; i < v->out[0] * v->out[1]; i++) {
            int64_t d = input_at(v, 0, i / v->out[1], kernel[0]);
            int64_t h = input_at(v, 1, i % v->out[1], kernel[1]);
            for (int64_t ow = 0; ow < v->out[2]; ow++, row++) {
                int64_t w = input_at(v, 2, ow, kernel[2]);
                int64_t at = ((d * v->in[1] + h) * v->in[2] + w) * pixel;
                bool inside = d >= 0 && h >= 0 && w >= 0;
                if (!spread)
                    *row = inside ? plane[at] : 0;
                else if (inside)
                    plane[at] += *row;
            }
        }
    })
}

/* columns <-> image of one group (channels / groups planes); image is read, or added to. */
static void columns_walk(const struct conv *v, void *image, void *columns, bool spread)
{
    int64_t channels = v->channels / v->groups, plane = v->last ? 1 : image_width(v);
    int64_t row = 0, width = map_width(v), at[AXES];
    for (int64_t c = 0; c < channels; c++)
        for (at[0] = 0; at[0] < v->kernel[0]; at[0]++)
            for (at[1] = 0; at[1] < v->kernel[1]; at[1]++)
                for (at[2] = 0; at[2] < v->kernel[2]; at[2]++, row++)
                    column_row(v, moved(v, image, c * plane), at, moved(v, columns, row * width),
                               spread);
}

static enum skiff_status columns_make(struct kernel *k, const struct conv *v, void **out,
                                      struct skiff_error *err)
{
    int64_t n = columns_depth(v) * map_width(v) * (int64_t)(dtype_size(v->dtype) / sizeof(float));
    float *columns;
    TRY(kernel_floats(k, n, &columns, err));
    *out = columns;
    return SKIFF_OK;
}

/* ---- the three products ---- */

enum product { PRODUCT_MAP, PRODUCT_IMAGE, PRODUCT_FILTER }; /* which one comes of the others */

static struct tensor *cleared(struct tensor *t)
{
    tensor_clear(t);
    return t;
}

/* The product is added to its tensor, but a map, which is written. */
static enum skiff_status multiply(struct kernel *k, const struct conv *v, enum product of,
                                  const struct tensor *image, const struct tensor *filter,
                                  const struct tensor *map, struct skiff_error *err)
{
    int64_t width = map_width(v), filters = v->filters / v->groups, depth = columns_depth(v);
    void *columns;
    TRY(columns_make(k, v, &columns, err));
    for (int64_t i = 0; i < v->n * v->groups; i++) {
        void *part = image_at(v, image->data, i), *f = filter_at(v, filter->data, i),
             *m = map_at(v, map->data, i);
        if (of != PRODUCT_IMAGE)
            columns_walk(v, part, columns, false);
        if (of == PRODUCT_MAP && v->last)
            gemm(v->dtype, true, true, width, filters, depth, 1.0f, columns, width, f, depth, 0.0f,
                 m, v->filters);
        else if (of == PRODUCT_MAP)
            gemm(v->dtype, false, false, filters, width, depth, 1.0f, f, depth, columns, width,
                 0.0f, m, width);
        else if (of == PRODUCT_FILTER)
            gemm(v->dtype, v->last, true, filters, depth, width, 1.0f, m, map_row(v), columns,
                 width, 1.0f, f, depth);
        else
            gemm(v->dtype, true, v->last, depth, width, filters, 1.0f, f, depth, m, map_row(v),
                 0.0f, columns, width);
        if (of == PRODUCT_IMAGE)
            columns_walk(v, part, columns, true);
    }
    return SKIFF_OK;
}

/* Channel of element `at` of a map. */
static int64_t filter_of(const struct conv *v, int64_t at)
{
    return (v->last ? at : at / map_width(v)) % v->filters;
}

/* ---- conv2d ---- */

static struct shape layout(const struct conv *v, int64_t channels, const int64_t size[AXES])
{
    struct shape s = {.ndim = 2 + AXES - v->first, .dims = {v->n}};
    for (int a = v->first; a < AXES; a++)
        s.dims[(v->last ? 1 : 2) + a - v->first] = size[a];
    s.dims[v->last ? s.ndim - 1 : 1] = channels;
    return s;
}

static bool takes_bias(const struct op_kind *kind)
{
    return name_is(kind->ins[FWD_BIAS].name, "Bias");
}

static enum skiff_status conv_infer(struct infer *c, struct skiff_error *err)
{
    struct conv v;
    TRY(conv_of(c, &v, err));
    bool has_bias = takes_bias(c->kind) && infer_has(c, FWD_BIAS);
    int residual = op_kind_slot(c->kind->ins, "ResidualData");
    if (residual >= 0 && infer_has(c, residual))
        return infer_fail(c, residual, 0, err, "fused residuals are not supported");
    if (has_bias && c->running && shape_numel(infer_in(c, FWD_BIAS, 0)) != v.filters)
        return infer_fail(c, FWD_BIAS, 0, err, "must have one value per filter");
    if (has_bias)
        TRY(infer_want(c, FWD_BIAS, v.dtype, err));
    struct shape out = layout(&v, v.filters, v.out);
    TRY(infer_out(c, 0, 0, v.dtype, &out, err));
    infer_share_lod(c, IN_INPUT, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status conv_run(struct kernel *k, struct skiff_error *err)
{
    struct conv v;
    TRY(conv_of_kernel(k, conv_of, &v, err));
    struct tensor *out = kernel_out(k, 0);
    TRY(multiply(k, &v, PRODUCT_MAP, kernel_in(k, IN_INPUT), kernel_in(k, IN_FILTER), out, err));
    if (!takes_bias(k->kind) || !kernel_has(k, FWD_BIAS))
        return SKIFF_OK;
    int64_t n = tensor_numel(out);
    DISPATCH_FLOAT(v.dtype, T, {
        const T *bias = kernel_in(k, FWD_BIAS)->data;
        T *map = out->data;
        for (int64_t i = 0; i < n; i++)
            map[i] += bias[filter_of(&v, i)];
    })
    return SKIFF_OK;
}

static enum skiff_status conv_grad_infer(struct infer *c, struct skiff_error *err)
{
    struct conv v;
    TRY(conv_of(c, &v, err));
    TRY(infer_like(c, IN_INPUT, 0, err));
    TRY(infer_like(c, IN_FILTER, 1, err));
    struct shape bias = SHAPE(v.filters);
    return infer_has(c, IN_BIAS) ? infer_out(c, 2, 0, v.dtype, &bias, err) : SKIFF_OK;
}

static enum skiff_status conv_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct conv v;
    TRY(conv_of_kernel(k, conv_of, &v, err));
    int64_t n = v.n * v.filters * map_width(&v);
    TRY(kernel_want_elements(k, IN_DOUT, v.dtype, n, err));
    const struct tensor *dout = kernel_in(k, IN_DOUT);
    if (kernel_wants(k, 1))
        TRY(multiply(k, &v, PRODUCT_FILTER, kernel_in(k, IN_INPUT), cleared(kernel_out(k, 1)), dout,
                     err));
    if (kernel_wants(k, 0))
        TRY(multiply(k, &v, PRODUCT_IMAGE, cleared(kernel_out(k, 0)), kernel_in(k, IN_FILTER), dout,
                     err));
    if (!kernel_grad(k, 2, IN_BIAS))
        return SKIFF_OK;
    tensor_clear(kernel_out(k, 2));
    DISPATCH_FLOAT(v.dtype, T, {
        const T *d = dout->data;
        T *dbias = kernel_out(k, 2)->data;
        for (int64_t i = 0; i < n; i++)
            dbias[filter_of(&v, i)] += d[i];
    })
    return SKIFF_OK;
}

/* ---- conv2d_transpose ---- */

static enum skiff_status transpose_infer(struct infer *c, struct skiff_error *err)
{
    struct conv v;
    TRY(transpose_of(c, &v, err));
    if (infer_has(c, FWD_BIAS))
        return infer_fail(c, FWD_BIAS, 0, err, "a fused bias is not supported; add it afterwards");
    struct shape out = layout(&v, v.channels, v.in);
    TRY(infer_out(c, 0, 0, v.dtype, &out, err));
    infer_share_lod(c, IN_INPUT, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status transpose_run(struct kernel *k, struct skiff_error *err)
{
    struct conv v;
    TRY(conv_of_kernel(k, transpose_of, &v, err));
    return multiply(k, &v, PRODUCT_IMAGE, cleared(kernel_out(k, 0)), kernel_in(k, IN_FILTER),
                    kernel_in(k, IN_INPUT), err);
}

static enum skiff_status transpose_grad_infer(struct infer *c, struct skiff_error *err)
{
    struct conv v;
    TRY(transpose_of(c, &v, err));
    TRY(infer_like(c, IN_INPUT, 0, err));
    return infer_like(c, IN_FILTER, 1, err);
}

static enum skiff_status transpose_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct conv v;
    TRY(conv_of_kernel(k, transpose_of, &v, err));
    TRY(kernel_want_elements(k, IN_DOUT, v.dtype, v.n * v.channels * image_width(&v), err));
    const struct tensor *dout = kernel_in(k, IN_DOUT);
    if (kernel_wants(k, 1))
        TRY(multiply(k, &v, PRODUCT_FILTER, dout, cleared(kernel_out(k, 1)), kernel_in(k, IN_INPUT),
                     err));
    if (kernel_wants(k, 0))
        TRY(multiply(k, &v, PRODUCT_MAP, dout, kernel_in(k, IN_FILTER), kernel_out(k, 0), err));
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

static const struct op_slot conv3d_ins_1x[] = {
    {"Input", 0}, {"Filter", 0}, {"ResidualData", SLOT_OPTIONAL}, {0}};
#define CONV3D_ATTRS                                                 \
    A_INTS_DEF("strides", 1, 1, 1), A_INTS_DEF("paddings", 0, 0, 0), \
        A_STR("padding_algorithm", "EXPLICIT"), A_INT("groups", 1),  \
        A_INTS_DEF("dilations", 1, 1, 1), A_STR("data_format", "NCDHW")
static const struct op_attr_spec conv3d_attrs_1x[] = {CONV3D_ATTRS,
                                                      A_BOOL("is_test", false),
                                                      A_BOOL("use_cudnn", false),
                                                      A_BOOL("use_mkldnn", false),
                                                      A_BOOL("fuse_relu", false),
                                                      A_STR("fuse_activation", ""),
                                                      A_FLOAT("fuse_alpha", 0.0f),
                                                      A_FLOAT("fuse_beta", 0.0f),
                                                      A_BOOL("fuse_residual_connection", false),
                                                      A_INT("workspace_size_MB", 512),
                                                      A_BOOL("exhaustive_search", false),
                                                      A_BOOL("force_fp32_output", false),
                                                      {0}};
static const struct op_attr_spec conv3d_attrs_2x[] = {CONV3D_ATTRS, {0}};

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

static const struct op_slot transpose_ins[] = {
    {"Input", 0}, {"Filter", 0}, {"Bias", SLOT_OPTIONAL}, {0}};
static const struct op_slot transpose_grad_ins[] = {
    {"Input", 0}, {"Filter", 0}, {"Output@GRAD", 0}, {0}};
static const struct op_slot transpose_grad_outs[] = {
    {"Input@GRAD", SLOT_OPTIONAL}, {"Filter@GRAD", SLOT_OPTIONAL}, {0}};
#define TRANSPOSE_ATTRS                                                                            \
    A_INTS_DEF("strides", 1, 1), A_INTS_DEF("paddings", 0, 0),                                     \
        A_STR("padding_algorithm", "EXPLICIT"), A_INT("groups", 1), A_INTS_DEF("dilations", 1, 1), \
        A_STR("data_format", "NCHW"), A_INTS("output_size"),                                       \
        AF_LIST("output_padding", ATTR_INTS, ATTR_ONLY_2X)
static const struct op_attr_spec transpose_attrs_1x[] = {TRANSPOSE_ATTRS,
                                                         A_BOOL("is_test", false),
                                                         A_BOOL("use_cudnn", false),
                                                         A_BOOL("use_mkldnn", false),
                                                         A_BOOL("fuse_relu", false),
                                                         A_STR("fuse_activation", ""),
                                                         A_FLOAT("fuse_alpha", 0.0f),
                                                         A_FLOAT("fuse_beta", 0.0f),
                                                         A_INT("workspace_size_MB", 512),
                                                         {0}};
static const struct op_attr_spec transpose_attrs_2x[] = {TRANSPOSE_ATTRS, {0}};

#define TRANSPOSE3D_ATTRS                                                                      \
    A_INTS_DEF("strides", 1, 1, 1), A_INTS_DEF("paddings", 0, 0, 0),                           \
        A_STR("padding_algorithm", "EXPLICIT"), A_INT("groups", 1),                            \
        A_INTS_DEF("dilations", 1, 1, 1), A_STR("data_format", "NCHW"), A_INTS("output_size"), \
        AF_LIST("output_padding", ATTR_INTS, ATTR_ONLY_2X)
static const struct op_attr_spec transpose3d_attrs_1x[] = {TRANSPOSE3D_ATTRS,
                                                           A_BOOL("use_cudnn", false),
                                                           A_BOOL("use_mkldnn", false),
                                                           A_INT("workspace_size_MB", 512),
                                                           {0}};
static const struct op_attr_spec transpose3d_attrs_2x[] = {TRANSPOSE3D_ATTRS, {0}};

#define TRANSPOSE_ROWS(name, gen, attr_table)                                            \
    {.type = name,                                                                       \
     .generations = gen,                                                                 \
     .ins = transpose_ins,                                                               \
     .outs = conv_outs,                                                                  \
     .attrs = attr_table,                                                                \
     .grad = GRAD_2X,                                                                    \
     .infer = transpose_infer,                                                           \
     .run = transpose_run},                                                              \
    {                                                                                    \
        .type = name "_grad", .generations = gen, .ins = transpose_grad_ins,             \
        .outs = transpose_grad_outs, .attrs = attr_table, .infer = transpose_grad_infer, \
        .run = transpose_grad_run                                                        \
    }
#define GRAD_1X "Input Filter Bias Output@GRAD -> Input@GRAD Filter@GRAD Bias@GRAD"
#define GRAD_2X "Input Filter Output@GRAD -> Input@GRAD Filter@GRAD"

const struct op_kind ops_conv[] = {
    CONV_ROWS("conv2d", GEN_1X, conv_ins_1x, conv_attrs_1x, GRAD_1X),
    CONV_ROWS("conv2d", GEN_2X, conv_ins_2x, conv_attrs_2x, GRAD_2X),
    CONV_ROWS("depthwise_conv2d", GEN_1X, conv_ins_1x, conv_attrs_1x, GRAD_1X),
    CONV_ROWS("depthwise_conv2d", GEN_2X, conv_ins_2x, depthwise_attrs_2x, GRAD_2X),
    TRANSPOSE_ROWS("conv2d_transpose", GEN_1X, transpose_attrs_1x),
    TRANSPOSE_ROWS("conv2d_transpose", GEN_2X, transpose_attrs_2x),
    TRANSPOSE_ROWS("depthwise_conv2d_transpose", GEN_1X, transpose_attrs_1x),
    TRANSPOSE_ROWS("depthwise_conv2d_transpose", GEN_2X, transpose_attrs_2x),
    CONV_ROWS("conv3d", GEN_1X, conv3d_ins_1x, conv3d_attrs_1x, GRAD_2X),
    CONV_ROWS("conv3d", GEN_2X, conv_ins_2x, conv3d_attrs_2x, GRAD_2X),
    TRANSPOSE_ROWS("conv3d_transpose", GEN_1X, transpose3d_attrs_1x),
    TRANSPOSE_ROWS("conv3d_transpose", GEN_2X, transpose3d_attrs_2x),
    {0}};
