/* pool2d and max_pool2d_with_index over [N, C, H, W]; pool2d also over [N, H, W, C] (NHWC). pool3d
 * and max_pool3d_with_index have a depth before height and width; inside there is always one, and
 * images are one deep.
 *
 * Windows: plain: ksize, strides, paddings ([h, w] or [top, bottom, left, right]), cut to the
 * image; adaptive: ksize is the size of the result, window i = [floor(i H / out), ceil((i + 1) H /
 * out)); global_pooling: the whole image. ceil_mode rounds the number of windows up.
 *
 *   max  largest value; its gradient goes to the first one. Mask = its position in the H * W plane
 *   avg  sum over the window divided by the elements in it that are inside the image (exclusive or
 *        adaptive), or by the window with its padding */
#include <float.h>

#include "ops/seq_common.h"

enum {
    P2_TYPE,
    P2_KSIZE,
    P2_GLOBAL,
    P2_STRIDES,
    P2_PADDINGS,
    P2_ADAPTIVE,
    P2_EXCLUSIVE,
    P2_CEIL,
    P2_ALGORITHM,
    P2_FORMAT
};
/* max_pool2d_with_index */
enum { MI_KSIZE, MI_GLOBAL, MI_STRIDES, MI_PADDINGS, MI_ADAPTIVE };

enum { AXES = 3 };
enum { FULL_WINDOW = 1 }; /* op_kind.arg: divides by the whole ksize (1.x) */

struct pool_geometry {
    enum dtype dtype;
    int first;                /* axis: 1 for images, 0 for volumes */
    int64_t planes, channels; /* planes = N C */
    bool last;                /* NHWC */
    int64_t in[AXES], out[AXES], ksize[AXES], stride[AXES], before[AXES], after[AXES];
    bool adaptive, exclusive, ceil, full_window;
};

struct pool_window {
    int64_t from[AXES], to[AXES]; /* inside the image */
    int64_t size;                 /* what an average divides by */
};

struct pool_attrs { /* by position, so that both ops share the rest */
    const struct attr_value *ksize, *strides, *paddings;
    bool global, adaptive, exclusive, ceil;
    const char *algorithm;
};

static struct pool_attrs attrs_of(const struct op_kind *kind, const struct attr_value *attr,
                                  bool with_index)
{
    if (with_index)
        return (struct pool_attrs){&attr[MI_KSIZE],
                                   &attr[MI_STRIDES],
                                   &attr[MI_PADDINGS],
                                   attr[MI_GLOBAL].b,
                                   attr[MI_ADAPTIVE].b,
                                   true,
                                   false,
                                   NULL};
    return (struct pool_attrs){&attr[P2_KSIZE],   &attr[P2_STRIDES],   &attr[P2_PADDINGS],
                               attr[P2_GLOBAL].b, attr[P2_ADAPTIVE].b, attr[P2_EXCLUSIVE].b,
                               attr[P2_CEIL].b,   attr[P2_ALGORITHM].s};
}

static int axes_of(const struct op_kind *kind)
{
    return strstr(kind->type, "pool3d") ? 3 : 2;
}

static enum skiff_status lists_check(const struct infer *c, const struct pool_attrs *a,
                                     struct skiff_error *err)
{
    int axes = axes_of(c->kind);
    bool fits = a->ksize->n == axes && a->strides->n == axes &&
                (a->paddings->n == axes || a->paddings->n == 2 * axes);
    for (int i = 0; fits && i < axes; i++)
        fits = (a->global || a->ksize->ints[i] > 0) && a->strides->ints[i] > 0;
    for (int i = 0; fits && i < a->paddings->n; i++)
        fits = a->paddings->ints[i] >= 0;
    if (fits)
        return SKIFF_OK;
    return infer_fail(
        c, 0, 0, err,
        "ksize and strides must be %d positive numbers, paddings %d or %d not negative "
        "ones; there are %d, %d and %d",
        axes, axes, 2 * axes, a->ksize->n, a->strides->n, a->paddings->n);
}

static void axis_fill(const struct pool_attrs *a, struct pool_geometry *p, int i)
{
    bool both = a->paddings->n == 2 * (AXES - p->first);
    int at = i - p->first;
    p->ksize[i] = a->global ? p->in[i] : a->ksize->ints[at];
    p->stride[i] = a->strides->ints[at];
    p->before[i] = a->global ? 0 : a->paddings->ints[both ? 2 * at : at];
    p->after[i] = a->global ? 0 : a->paddings->ints[both ? 2 * at + 1 : at];
    if (a->algorithm && !strcmp(a->algorithm, "VALID"))
        p->before[i] = p->after[i] = 0;
    if (a->algorithm && !strcmp(a->algorithm, "SAME") && !a->global) {
        int64_t rows = (p->in[i] + p->stride[i] - 1) / p->stride[i];
        int64_t sum = (rows - 1) * p->stride[i] + p->ksize[i] - p->in[i];
        sum = sum > 0 ? sum : 0;
        p->before[i] = sum / 2;
        p->after[i] = sum - sum / 2;
    }
    int64_t capacity = p->in[i] + p->before[i] + p->after[i] - p->ksize[i];
    if (p->adaptive)
        p->out[i] = p->ksize[i];
    else
        p->out[i] =
            capacity < 0 ? 0 : (capacity + (p->ceil ? p->stride[i] - 1 : 0)) / p->stride[i] + 1;
}

static enum skiff_status format_check(const struct infer *c, const char *format,
                                      struct skiff_error *err)
{
    bool volume = axes_of(c->kind) == 3;
    const char *known[] = {"NCHW", "AnyLayout", "NHWC", "NCDHW", "NDHWC"};
    for (int i = 0; i < (volume ? 5 : 3); i++)
        if (!format || !strcmp(format, known[i]))
            return SKIFF_OK;
    return error_set(err, SKIFF_UNSUPPORTED, "op %s: data_format is %s, must be %s", c->kind->type,
                     format, volume ? "NCDHW or NDHWC" : "NCHW or NHWC");
}

static enum skiff_status axes_fill(const struct infer *c, const struct pool_attrs *a,
                                   struct pool_geometry *p, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, 0, 0);
    for (int i = 0; i < AXES; i++) {
        int at = i - p->first;
        p->in[i] = p->out[i] = p->ksize[i] = p->stride[i] = 1;
        if (at < 0)
            continue;
        p->in[i] = x->dims[(p->last ? 1 : 2) + at];
        p->out[i] = -1;
        if (p->in[i] < 0) {
            p->out[i] = a->global ? 1 : p->adaptive ? a->ksize->ints[at] : -1;
            continue;
        }
        axis_fill(a, p, i);
        if (p->out[i] < 1 || p->in[i] < 1)
            return infer_fail(c, 0, 0, err, "is smaller than the window (%lld of %lld)",
                              (long long)p->in[i], (long long)p->ksize[i]);
    }
    return SKIFF_OK;
}

static enum skiff_status pool_of(const struct infer *c, bool with_index, struct pool_geometry *p,
                                 struct skiff_error *err)
{
    struct pool_attrs a = attrs_of(c->kind, c->attr, with_index);
    int axes = axes_of(c->kind);
    TRY(infer_want_float(c, 0, err));
    TRY(infer_want_rank(c, 0, 2 + axes, err));
    TRY(lists_check(c, &a, err));
    const struct shape *x = infer_in(c, 0, 0);
    const char *format = with_index ? NULL : c->attr[P2_FORMAT].s;
    TRY(format_check(c, format, err));
    bool last = format && (!strcmp(format, "NHWC") || !strcmp(format, "NDHWC"));
    int64_t channels = x->dims[last ? 1 + axes : 1];
    *p = (struct pool_geometry){.dtype = infer_in_dtype(c, 0, 0),
                                .first = AXES - axes,
                                .planes = x->dims[0] < 0 ? -1 : x->dims[0] * channels,
                                .channels = channels,
                                .last = last,
                                .adaptive = a.adaptive && !a.global,
                                .exclusive = a.exclusive,
                                .ceil = a.ceil,
                                .full_window = c->kind->arg == FULL_WINDOW};
    return axes_fill(c, &a, p, err);
}

static enum skiff_status pool_of_kernel(struct kernel *k, bool with_index, struct pool_geometry *p,
                                        struct skiff_error *err)
{
    struct infer c = {.kind = k->kind, .attr = k->attr, .running = true, .kernel = k};
    return pool_of(&c, with_index, p, err);
}

/* Window number `number` of a plane. */
static struct pool_window window_at(const struct pool_geometry *p, int64_t number)
{
    const int64_t at[AXES] = {number / p->out[2] / p->out[1], number / p->out[2] % p->out[1],
                              number % p->out[2]};
    struct pool_window w = {.size = 1};
    int64_t padded = 1;
    for (int i = 0; i < AXES; i++) {
        if (p->adaptive) {
            w.from[i] = at[i] * p->in[i] / p->out[i];
            w.to[i] = ((at[i] + 1) * p->in[i] + p->out[i] - 1) / p->out[i];
        } else {
            w.from[i] = at[i] * p->stride[i] - p->before[i];
            w.to[i] = w.from[i] + p->ksize[i];
            if (!p->full_window && w.to[i] > p->in[i] + p->after[i])
                w.to[i] = p->in[i] + p->after[i];
        }
        padded *= w.to[i] - w.from[i];
        w.from[i] = w.from[i] < 0 ? 0 : w.from[i];
        w.to[i] = w.to[i] > p->in[i] ? p->in[i] : w.to[i];
        w.size *= w.to[i] > w.from[i] ? w.to[i] - w.from[i] : 0;
    }
    if (!p->exclusive && !p->adaptive)
        w.size = padded;
    w.size = w.size > 0 ? w.size : 1;
    return w;
}

/* Element `at` of plane n lies at plane_at(n) + at * pixel_step, of `size` elements each. */
static int64_t plane_at(const struct pool_geometry *p, int64_t n, int64_t size)
{
    return p->last ? n / p->channels * p->channels * size + n % p->channels : n * size;
}
static int64_t pixel_step(const struct pool_geometry *p)
{
    return p->last ? p->channels : 1;
}

#define EACH_OF_WINDOW(p, w, at)                                                               \
    for (int64_t d_ = (w)->from[0]; d_ < (w)->to[0]; d_++)                                     \
        for (int64_t h_ = (w)->from[1]; h_ < (w)->to[1]; h_++)                                 \
            for (int64_t row_ = (d_ * (p)->in[1] + h_) * (p)->in[2], at = row_ + (w)->from[2]; \
                 at < row_ + (w)->to[2]; at++)

/* Position of the first largest value in the plane; -1 for a window outside of it. */
static int64_t window_max(const struct pool_geometry *p, const struct pool_window *w,
                          const void *plane)
{
    int64_t best = -1, step = pixel_step(p);
    DISPATCH_FLOAT(p->dtype, T, {
        const T *x = plane;
        EACH_OF_WINDOW(p, w, at)
        if (best < 0 || x[at * step] > x[best * step])
            best = at;
    })
    return best;
}

static double window_mean(const struct pool_geometry *p, const struct pool_window *w,
                          const void *plane)
{
    int64_t step = pixel_step(p);
    double mean = 0;
    DISPATCH_FLOAT(p->dtype, T, {
        const T *x = plane;
        T sum = 0;
        EACH_OF_WINDOW(p, w, at) sum += x[at * step];
        mean = (double)(sum / (T)w->size);
    })
    return mean;
}

/* ---- shapes ---- */

static struct shape pooled(const struct shape *x, const struct pool_geometry *p)
{
    struct shape s = *x;
    for (int i = p->first; i < AXES; i++)
        s.dims[(p->last ? 1 : 2) + i - p->first] = p->out[i];
    return s;
}

static int64_t plane_size(const struct pool_geometry *p)
{
    return p->in[0] * p->in[1] * p->in[2];
}

static int64_t windows_of(const struct pool_geometry *p)
{
    return p->out[0] * p->out[1] * p->out[2];
}

static bool is_max(const struct attr_value *attr)
{
    return attr[P2_TYPE].s && !strcmp(attr[P2_TYPE].s, "max");
}

static enum skiff_status type_check(const struct infer *c, struct skiff_error *err)
{
    const char *type = c->attr[P2_TYPE].s;
    if (is_max(c->attr) || (type && !strcmp(type, "avg")))
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID, "op %s: pooling_type is '%s', must be max or avg",
                     c->kind->type, type ? type : "");
}

static enum skiff_status pool_infer(struct infer *c, struct skiff_error *err)
{
    struct pool_geometry p;
    TRY(type_check(c, err));
    TRY(pool_of(c, false, &p, err));
    struct shape out = pooled(infer_in(c, 0, 0), &p);
    TRY(infer_out(c, 0, 0, p.dtype, &out, err));
    infer_share_lod(c, 0, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status index_infer(struct infer *c, struct skiff_error *err)
{
    struct pool_geometry p;
    TRY(pool_of(c, true, &p, err));
    struct shape out = pooled(infer_in(c, 0, 0), &p);
    TRY(infer_out(c, 0, 0, p.dtype, &out, err));
    return infer_out(c, 1, 0, DTYPE_INT32, &out, err);
}

/* ---- kernels ---- */

static void pool_forward(const struct pool_geometry *p, bool max, const void *x, void *out,
                         int32_t *mask)
{
    int64_t windows = windows_of(p), step = pixel_step(p);
    DISPATCH_FLOAT(p->dtype, T, {
        for (int64_t n = 0; n < p->planes; n++) {
            const T *plane = (const T *)x + plane_at(p, n, plane_size(p));
            T *to = (T *)out + plane_at(p, n, windows);
            for (int64_t i = 0; i < windows; i++) {
                struct pool_window win = window_at(p, i);
                int64_t best = max ? window_max(p, &win, plane) : 0;
                to[i * step] = !max       ? (T)window_mean(p, &win, plane)
                               : best < 0 ? -FLT_MAX
                                          : plane[best * step];
                if (mask)
                    *mask++ = (int32_t)best;
            }
        }
    })
}

static enum skiff_status pool_run(struct kernel *k, struct skiff_error *err)
{
    struct pool_geometry p;
    TRY(pool_of_kernel(k, false, &p, err));
    pool_forward(&p, is_max(k->attr), kernel_in(k, 0)->data, kernel_out(k, 0)->data, NULL);
    return SKIFF_OK;
}

static enum skiff_status index_run(struct kernel *k, struct skiff_error *err)
{
    struct pool_geometry p;
    TRY(pool_of_kernel(k, true, &p, err));
    pool_forward(&p, true, kernel_in(k, 0)->data, kernel_out(k, 0)->data, kernel_out_data(k, 1));
    return SKIFF_OK;
}

enum { PG_X, PG_OUT, PG_DOUT }; /* with index: Mask in place of Out */

static enum skiff_status pool_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_float(c, PG_X, err));
    return infer_like(c, PG_X, 0, err);
}

/* The gradient of one window into its plane. */
static void window_spread(const struct pool_geometry *p, bool max, const struct pool_window *w,
                          const void *plane, double dout, void *dplane)
{
    int64_t step = pixel_step(p), best = max ? window_max(p, w, plane) : -1;
    DISPATCH_FLOAT(p->dtype, T, {
        T *dx = dplane, d = (T)dout;
        if (best >= 0)
            dx[best * step] += d;
        if (!max)
            EACH_OF_WINDOW(p, w, at)
        dx[at * step] += d / (T)w->size;
    })
}

static enum skiff_status pool_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct pool_geometry p;
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    TRY(pool_of_kernel(k, false, &p, err));
    int64_t windows = windows_of(&p), step = pixel_step(&p);
    TRY(kernel_want_elements(k, PG_DOUT, p.dtype, p.planes * windows, err));
    tensor_clear(kernel_out(k, 0));
    DISPATCH_FLOAT(p.dtype, T, {
        for (int64_t n = 0; n < p.planes; n++) {
            int64_t at = plane_at(&p, n, plane_size(&p));
            const T *x = (const T *)kernel_in(k, PG_X)->data + at;
            const T *dout = (const T *)kernel_in(k, PG_DOUT)->data + plane_at(&p, n, windows);
            T *dx = (T *)kernel_out(k, 0)->data + at;
            for (int64_t i = 0; i < windows; i++) {
                struct pool_window win = window_at(&p, i);
                window_spread(&p, is_max(k->attr), &win, x, (double)dout[i * step], dx);
            }
        }
    })
    return SKIFF_OK;
}

static enum skiff_status index_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct pool_geometry p;
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    TRY(pool_of_kernel(k, true, &p, err));
    const struct tensor *mask = kernel_in(k, PG_OUT);
    int64_t windows = windows_of(&p), plane = plane_size(&p), n = p.planes * windows;
    TRY(kernel_want_elements(k, PG_DOUT, p.dtype, n, err));
    if (mask->dtype != DTYPE_INT32 || tensor_numel(mask) != n)
        return kernel_fail(k, SKIFF_SHAPE, err, "input Mask (%s) must be %lld int32 values",
                           kernel_in_name(k, PG_OUT, 0), (long long)n);
    tensor_clear(kernel_out(k, 0));
    for (int64_t i = 0; i < n; i++)
        if (tensor_i32(mask)[i] >= plane)
            return kernel_bad_index(k, PG_OUT, i, tensor_i32(mask)[i], plane,
                                    "positions of a plane", err);
    DISPATCH_FLOAT(p.dtype, T, {
        const T *dout = kernel_in(k, PG_DOUT)->data;
        T *dx = kernel_out(k, 0)->data;
        for (int64_t i = 0; i < n; i++)
            if (tensor_i32(mask)[i] >= 0)
                dx[i / windows * plane + tensor_i32(mask)[i]] += dout[i];
    })
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot x_ins[] = {{"X", 0}, {0}};
static const struct op_slot out_outs[] = {{"Out", 0}, {0}};
static const struct op_slot index_outs[] = {{"Out", 0}, {"Mask", 0}, {0}};
static const struct op_slot pool_grad_ins[] = {
    {"X", 0}, {"Out", SLOT_SHAPE_ONLY}, {"Out@GRAD", 0}, {0}};
static const struct op_slot index_grad_ins[] = {
    {"X", SLOT_SHAPE_ONLY}, {"Mask", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot x_grad_outs[] = {{"X@GRAD", 0}, {0}};

#define POOL_ATTRS                                                                           \
    A_REQ("ksize", ATTR_INTS), A_BOOL("global_pooling", false), A_INTS_DEF("strides", 1, 1), \
        A_INTS_DEF("paddings", 0, 0), A_BOOL("adaptive", false)
#define POOL2D_ATTRS                                                                             \
    POOL_ATTRS, A_BOOL("exclusive", true), A_BOOL("ceil_mode", false),                           \
        A_STR("padding_algorithm", "EXPLICIT"), A_STR("data_format", "NCHW"),                    \
        A_BOOL("use_cudnn", false), A_BOOL("use_mkldnn", false), A_BOOL("use_quantizer", false), \
        A_BOOL("is_test", false)
static const struct op_attr_spec pool_attrs_1x[] = {
    A_REQ("pooling_type", ATTR_STRING), POOL2D_ATTRS, {0}};
static const struct op_attr_spec pool_attrs_2x[] = {
    A_STR("pooling_type", ""), POOL2D_ATTRS, A_STR("mkldnn_data_type", "float32"), {0}};
static const struct op_attr_spec index_attrs[] = {POOL_ATTRS, {0}};

#define POOL_ATTRS_3D                                                                           \
    A_REQ("ksize", ATTR_INTS), A_BOOL("global_pooling", false), A_INTS_DEF("strides", 1, 1, 1), \
        A_INTS_DEF("paddings", 0, 0, 0), A_BOOL("adaptive", false)
#define POOL3D_ATTRS                                                           \
    POOL_ATTRS_3D, A_BOOL("exclusive", true), A_BOOL("ceil_mode", false),      \
        A_STR("padding_algorithm", "EXPLICIT"), A_STR("data_format", "NCDHW"), \
        A_BOOL("use_cudnn", false)
static const struct op_attr_spec pool3d_attrs_1x[] = {
    A_REQ("pooling_type", ATTR_STRING), POOL3D_ATTRS, A_BOOL("use_mkldnn", false), {0}};
static const struct op_attr_spec pool3d_attrs_2x[] = {A_STR("pooling_type", ""), POOL3D_ATTRS, {0}};
static const struct op_attr_spec index3d_attrs[] = {POOL_ATTRS_3D, {0}};

#define POOL_ROWS(name, gen, window, attr_table)                                                 \
    {.type = name,                                                                               \
     .generations = gen,                                                                         \
     .arg = window,                                                                              \
     .ins = x_ins,                                                                               \
     .outs = out_outs,                                                                           \
     .attrs = attr_table,                                                                        \
     .grad = "X Out Out@GRAD -> X@GRAD",                                                         \
     .infer = pool_infer,                                                                        \
     .run = pool_run},                                                                           \
    {                                                                                            \
        .type = name "_grad", .generations = gen, .arg = window, .ins = pool_grad_ins,           \
        .outs = x_grad_outs, .attrs = attr_table, .infer = pool_grad_infer, .run = pool_grad_run \
    }
#define INDEX_ROWS(name, attr_table)                                                           \
    {.type = name,                                                                             \
     .ins = x_ins,                                                                             \
     .outs = index_outs,                                                                       \
     .attrs = attr_table,                                                                      \
     .grad = "X Mask Out@GRAD -> X@GRAD",                                                      \
     .infer = index_infer,                                                                     \
     .run = index_run},                                                                        \
    {                                                                                          \
        .type = name "_grad", .ins = index_grad_ins, .outs = x_grad_outs, .attrs = attr_table, \
        .infer = pool_grad_infer, .run = index_grad_run                                        \
    }

const struct op_kind ops_pool[] = {POOL_ROWS("pool2d", GEN_1X, FULL_WINDOW, pool_attrs_1x),
                                   POOL_ROWS("pool2d", GEN_2X, 0, pool_attrs_2x),
                                   POOL_ROWS("pool3d", GEN_1X, FULL_WINDOW, pool3d_attrs_1x),
                                   POOL_ROWS("pool3d", GEN_2X, 0, pool3d_attrs_2x),
                                   INDEX_ROWS("max_pool2d_with_index", index_attrs),
                                   INDEX_ROWS("max_pool3d_with_index", index3d_attrs),
                                   {0}};
