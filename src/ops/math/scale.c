/* Ops that pass a tensor on, changed element by element or not at all: scale, cast, clip,
 * increment, assign, label_smooth.
 *
 *   scale      s x + b, or s (x + b) when not bias_after_scale; integers: s and b are converted to
 *              the element type first. SelectedRows: the values, the rows stay
 *   cast       C conversion; to bool: x != 0; floats that do not fit an integer give its least
 *              value
 *   clip       min(max(x, lo), hi); SelectedRows are merged first (rows summed, ascending)
 *              gradient: d where lo < x < hi (bounds excluded)
 *   increment  x + step, one element; its "gradient" takes the step back, as loops need it
 *   assign     a copy of a tensor, SelectedRows or a tensor array
 *   label_smooth  (1 - e) x + e p_j of a row of n classes, p = PriorDist or 1 / n;
 *              gradient: (1 - e) d */
#include "ops/ops_common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/math.h"
#include "tensor/half.h"

enum { X };

/* ---- scale ---- */
enum { SCALE, BIAS, AFTER };
enum { SCALE_TENSOR = 1 };

static enum skiff_status scale_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *by = kernel_in(k, SCALE_TENSOR);
    struct tensor *out = kernel_out(k, 0);
    double s = by ? tensor_read_number(by) : (double)k->attr[SCALE].f;
    double b = (double)k->attr[BIAS].f;
    bool after = k->attr[AFTER].b;
    int64_t n = tensor_numel(x);
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    if (kernel_in_is_rows(k, X, 0))
        rows_copy_ids(kernel_out_value(k, 0, 0), kernel_in_value(k, X, 0));
    DISPATCH_NUMBER(x->dtype, T, T ts = (T)s; T tb = (T)b; const T *p = x->data; T *o = out->data;
                    if (after) for (int64_t i = 0; i < n; i++) o[i] =
                        (T)WRAP_ADD(WRAP_MUL(ts, p[i]), tb);
                    else for (int64_t i = 0; i < n; i++) o[i] = (T)WRAP_MUL(ts, WRAP_ADD(p[i], tb)))
    return SKIFF_OK;
}

static enum skiff_status same_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, X, 0, err);
}

static enum skiff_status scale_make_grad(struct grad_build *g, struct skiff_error *err)
{
    struct skiff_op *op = grad_pass_back(g, "scale", false, "Out", "X");
    if (!op)
        return SKIFF_OK;
    const struct op_attr_value *s = op_attr(g->fwd, "scale");
    grad_use(g, op, "ScaleTensor");
    op_set_float(g->program, op, "scale", s ? s->value.f : 1.0f);
    op_set_float(g->program, op, "bias", 0);
    op_set_bool(g->program, op, "bias_after_scale", true);
    return SKIFF_OK;
}

/* ---- cast ---- */
enum { IN_DTYPE, OUT_DTYPE };

/* what x86 gives for values out of range, without undefined behaviour */
static inline int64_t whole(double v)
{
    return v > -9.3e18 && v < 9.2233720368547758e18 ? (int64_t)v : INT64_MIN;
}
static inline int32_t whole32(double v)
{
    return v > -2147483649.0 && v < 2147483648.0 ? (int32_t)v : INT32_MIN;
}
#define FROM_FLOAT(D, v)                     \
    _Generic((D)0, float                     \
             : (v), double                   \
             : (v), bool                     \
             : (v) != 0, int32_t             \
             : whole32((double)(v)), default \
             : whole((double)(v)))
#define CONVERT(S, D)                                  \
    const S *p = x->data;                              \
    D *o = out->data;                                  \
    for (int64_t i = 0; i < n; i++)                    \
    o[i] = (D) _Generic((S)0, float                    \
                        : FROM_FLOAT(D, p[i]), double  \
                        : FROM_FLOAT(D, p[i]), default \
                        : p[i])

#define TO_HALF(S)                  \
    const S *p = x->data;           \
    uint16_t *o = out->data;        \
    for (int64_t i = 0; i < n; i++) \
    o[i] = half_of(out->dtype, (float)p[i])
#define OF_HALF(D)                  \
    const uint16_t *p = x->data;    \
    D *o = out->data;               \
    for (int64_t i = 0; i < n; i++) \
    o[i] = (D)FROM_FLOAT(D, half_value(x->dtype, p[i]))

/* From or to half precision. */
static void cast_half(const struct tensor *x, struct tensor *out, int64_t n)
{
    if (!dtype_is_half(out->dtype)) {
        DISPATCH_ALL(out->dtype, D, OF_HALF(D))
    } else if (!dtype_is_half(x->dtype)) {
        DISPATCH_ALL(x->dtype, S, TO_HALF(S))
    } else {
        const uint16_t *p = x->data;
        uint16_t *o = out->data;
        for (int64_t i = 0; i < n; i++)
            o[i] = half_of(out->dtype, half_value(x->dtype, p[i]));
    }
}

static enum skiff_status cast_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct tensor *out = kernel_out(k, 0);
    int64_t n = tensor_numel(x);
    bool half_in = dtype_is_half(x->dtype), half_out = dtype_is_half(out->dtype);
    if ((half_in || half_out) && (half_in || dtype_is_any(x->dtype)) &&
        (half_out || dtype_is_any(out->dtype))) {
        cast_half(x, out, n);
        return SKIFF_OK;
    }
    TRY(kernel_check_dtype(k, X, dtype_is_any, "a number or bool", err));
    if (!dtype_is_any(out->dtype))
        return kernel_fail(k, SKIFF_UNSUPPORTED, err, "cannot cast to %s", dtype_name(out->dtype));
    DISPATCH_ALL(x->dtype, S, DISPATCH_ALL(out->dtype, D, CONVERT(S, D)))
    return SKIFF_OK;
}

static enum skiff_status cast_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = *infer_in(c, X, 0);
    TRY(infer_out(c, 0, 0, (enum dtype)c->attr[OUT_DTYPE].i, &s, err));
    infer_share_lod(c, X, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status cast_make_grad(struct grad_build *g, struct skiff_error *err)
{
    struct skiff_op *op = grad_pass_back(g, "cast", false, "Out", "X");
    if (!op)
        return SKIFF_OK;
    op_set_int(g->program, op, "in_dtype", op_attr(g->fwd, "out_dtype")->value.i);
    op_set_int(g->program, op, "out_dtype", op_attr(g->fwd, "in_dtype")->value.i);
    return SKIFF_OK;
}

/* ---- clip ---- */
enum { CLIP_MIN = 1, CLIP_MAX, CLIP_DOUT };
enum { ATTR_MIN, ATTR_MAX };

static enum skiff_status clip_bounds(const struct kernel *k, double *lo, double *hi,
                                     struct skiff_error *err)
{
    const struct tensor *tmin = kernel_in(k, CLIP_MIN), *tmax = kernel_in(k, CLIP_MAX);
    *lo = tmin ? tensor_read_number(tmin) : (double)k->attr[ATTR_MIN].f;
    *hi = tmax ? tensor_read_number(tmax) : (double)k->attr[ATTR_MAX].f;
    if (!(*lo <= *hi))
        return kernel_fail(k, SKIFF_INVALID, err, "min %g must not be greater than max %g", *lo,
                           *hi);
    return SKIFF_OK;
}

/* A bound as an element; beyond the type's range: its end. */
#define BOUND(T, v) \
    (T) _Generic((T)0, float : (v), double : (v), default : fmax(fmin(v, 9.2e18), -9.2e18))

static enum skiff_status clip_values(const struct kernel *k, const struct tensor *x,
                                     struct tensor *out, struct skiff_error *err)
{
    double lo, hi;
    int64_t n = tensor_numel(x);
    TRY(clip_bounds(k, &lo, &hi, err));
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    if (x->dtype == DTYPE_INT32) {
        lo = fmax(lo, INT32_MIN);
        hi = fmin(hi, INT32_MAX);
    }
    DISPATCH_NUMBER(x->dtype, T, T tl = BOUND(T, lo); T th = BOUND(T, hi); const T *p = x->data;
                    T *o = out->data; for (int64_t i = 0; i < n; i++) o[i] = p[i] < tl   ? tl
                                                                             : p[i] > th ? th
                                                                                         : p[i])
    return SKIFF_OK;
}

struct row_position {
    int64_t id;
    size_t at;
};

static int by_row(const void *a, const void *b)
{
    const struct row_position *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Out = rows of X in ascending order, the values of equal rows added in their order. */
static enum skiff_status merge_rows(struct kernel *k, struct skiff_tensor *in,
                                    struct skiff_tensor *out, struct skiff_error *err)
{
    size_t n = in->sel.nrows, merged = 0;
    struct row_position *position;
    float *sum;
    int64_t width = n ? tensor_numel(&in->tensor) / (int64_t)n : 0;
    if (in->tensor.dtype != DTYPE_FP32)
        return kernel_fail(k, SKIFF_DTYPE, err, "SelectedRows must hold float32");
    TRY(kernel_scratch(k, n * sizeof(*position), (void **)&position, err));
    TRY(kernel_scratch(k, tensor_bytes(&in->tensor), (void **)&sum, err));
    for (size_t i = 0; i < n; i++)
        position[i] = (struct row_position){in->sel.rows[i], i};
    qsort(position, n, sizeof(*position), by_row);
    for (size_t i = 0; i < n; i++) {
        const float *v = tensor_f32(&in->tensor) + (int64_t)position[i].at * width;
        if (i == 0 || position[i].id != position[i - 1].id) {
            position[merged].id = position[i].id;
            memcpy(sum + (int64_t)merged++ * width, v, (size_t)width * sizeof(float));
        } else
            math_axpy_f32(width, 1, v, sum + (int64_t)(merged - 1) * width);
    }
    struct shape s = in->tensor.shape;
    s.dims[0] = (int64_t)merged;
    int64_t height = in->sel.height;
    TRY(value_as_rows_shape(out, DTYPE_FP32, &s, height, err));
    for (size_t i = 0; i < merged; i++)
        out->sel.rows[i] = position[i].id;
    memcpy(out->tensor.data, sum, merged * (size_t)width * sizeof(float));
    return SKIFF_OK;
}

static enum skiff_status clip_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *out = kernel_out(k, 0);
    if (!kernel_in_is_rows(k, X, 0))
        return clip_values(k, kernel_in(k, X), out, err);
    TRY(merge_rows(k, kernel_in_value(k, X, 0), kernel_out_value(k, 0, 0), err));
    return clip_values(k, out, out, err);
}

static enum skiff_status clip_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *d = kernel_in(k, CLIP_DOUT);
    struct tensor *dx = kernel_out(k, 0);
    double lo, hi;
    int64_t n = tensor_numel(x);
    if (!dx)
        return SKIFF_OK;
    TRY(clip_bounds(k, &lo, &hi, err));
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    TRY(kernel_check_same_dtype(k, CLIP_DOUT, X, err));
    if (tensor_numel(d) != n)
        return kernel_fail(k, SKIFF_SHAPE, err, "X and Out@GRAD differ in size");
    DISPATCH_FLOAT(x->dtype, T, const T *p = x->data; const T *g = d->data; T *o = dx->data;
                   for (int64_t i = 0; i < n; i++) o[i] = p[i] > (T)lo && p[i] < (T)hi ? g[i] : 0)
    return SKIFF_OK;
}

/* ---- increment ---- */
static enum skiff_status increment_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct tensor *out = kernel_out(k, 0);
    float step = k->attr[0].f;
    if (tensor_numel(x) != 1)
        return kernel_fail(k, SKIFF_SHAPE, err, "input X (%s) must hold one element, found %lld",
                           kernel_in_name(k, X, 0), (long long)tensor_numel(x));
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    DISPATCH_NUMBER(x->dtype, T, *(T *)out->data = *(const T *)x->data + (T)step)
    return SKIFF_OK;
}

static enum skiff_status increment_make_grad(struct grad_build *g, struct skiff_error *err)
{
    const struct op_attr_value *step = op_attr(g->fwd, "step");
    struct skiff_op *op = grad_op(g, "increment", false);
    const char *x = op_in1(g->fwd, "X"), *out = op_out1(g->fwd, "Out");
    op_set_in(g->program, op, "X", 1, &out);
    op_set_out(g->program, op, "Out", 1, &x);
    op_set_float(g->program, op, "step", step ? -step->value.f : -1.0f);
    return SKIFF_OK;
}

/* ---- assign ---- */
static bool input_is_array(const struct infer *c)
{
    if (c->running) {
        struct skiff_tensor *v = kernel_in_value(c->kernel, X, 0);
        return v && v->kind == VALUE_ARRAY;
    }
    struct skiff_var *v = block_find_var(c->block, infer_in_name(c, X, 0));
    return v && v->kind == VAR_LOD_TENSOR_ARRAY;
}

static enum skiff_status assign_infer(struct infer *c, struct skiff_error *err)
{
    if (infer_in_count(c, X) == 0)
        return SKIFF_OK;
    if (!input_is_array(c))
        return infer_same(c, X, 0, err);
    infer_out_kind(c, 0, 0, VAR_LOD_TENSOR_ARRAY);
    return c->running ? SKIFF_OK : infer_same(c, X, 0, err);
}

static enum skiff_status assign_run(struct kernel *k, struct skiff_error *err)
{
    struct skiff_tensor *in = kernel_in_value(k, X, 0), *out = kernel_out_value(k, 0, 0);
    if (!in || !out || in == out)
        return SKIFF_OK;
    if (in->kind != VALUE_TENSOR)
        return value_copy(out, in, err);
    bytes_copy(out->tensor.data, in->tensor.data, tensor_bytes(&in->tensor));
    return SKIFF_OK;
}

static enum skiff_status assign_make_grad(struct grad_build *g, struct skiff_error *err)
{
    grad_pass_back(g, "assign", false, "Out", "X");
    return SKIFF_OK;
}

/* ---- label_smooth ---- */
enum { LS_PRIOR = 1 };

static enum skiff_status smooth_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *prior = kernel_in(k, LS_PRIOR);
    int64_t n = tensor_numel(x), classes = x->shape.ndim ? x->shape.dims[x->shape.ndim - 1] : 1;
    float e = k->attr[0].f;
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    if (prior && (tensor_numel(prior) != classes || prior->dtype != x->dtype))
        return kernel_fail(k, SKIFF_SHAPE, err, "input PriorDist (%s) must be like a row of X",
                           kernel_in_name(k, LS_PRIOR, 0));
    DISPATCH_FLOAT(x->dtype, T, {
        const T *p = x->data, *share = prior ? prior->data : NULL;
        T *out = kernel_out(k, 0)->data;
        for (int64_t i = 0; i < n; i++)
            out[i] = (1 - e) * p[i] + e * (share ? share[i % classes] : 1 / (T)classes);
    })
    return SKIFF_OK;
}

static enum skiff_status smooth_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, 0);
    int64_t n = tensor_numel(d);
    TRY(kernel_check_dtype(k, 0, dtype_is_float, "float32 or float64", err));
    if (kernel_out(k, 0))
        DISPATCH_FLOAT(d->dtype, T, {
            T *dx = kernel_out(k, 0)->data;
            for (int64_t i = 0; i < n; i++)
                dx[i] = (1 - k->attr[0].f) * ((const T *)d->data)[i];
        })
    return SKIFF_OK;
}

static const struct op_slot smooth_in[] = {{"X", 0}, {"PriorDist", SLOT_OPTIONAL}, {0}};
static const struct op_slot dout_in[] = {{"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_attr_spec smooth_attrs[] = {A_FLOAT("epsilon", 0.0f), {0}};
static const struct op_slot x_in[] = {{"X", 0}, {0}};
static const struct op_slot scale_in[] = {{"X", 0}, {"ScaleTensor", SLOT_OPTIONAL}, {0}};
static const struct op_slot assign_in[] = {{"X", SLOT_OPTIONAL}, {0}};
static const struct op_slot clip_in[] = {
    {"X", 0}, {"Min", SLOT_OPTIONAL}, {"Max", SLOT_OPTIONAL}, {0}};
static const struct op_slot clip_grad_in[] = {
    {"X", 0}, {"Min", SLOT_OPTIONAL}, {"Max", SLOT_OPTIONAL}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_slot dx_out[] = {{"X" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};

static const struct op_attr_spec none[] = {{0}};
static const struct op_attr_spec scale_attrs[] = {
    A_FLOAT("scale", 1.0f), A_FLOAT("bias", 0.0f), A_BOOL("bias_after_scale", true), {0}};
static const struct op_attr_spec cast_attrs[] = {
    A_REQ("in_dtype", ATTR_INT),
    A_REQ("out_dtype", ATTR_INT),
    {.name = "use_mkldnn", .type = ATTR_BOOLEAN, .flags = ATTR_ONLY_2X},
    {0}};
static const struct op_attr_spec clip_attrs[] = {
    A_REQ("min", ATTR_FLOAT), A_REQ("max", ATTR_FLOAT), {0}};
static const struct op_attr_spec increment_attrs[] = {A_FLOAT("step", 1.0f), {0}};

const struct op_kind ops_scale[] = {
    {.type = "scale",
     .class = CLASS_SCALE,
     .flags = OP_ROWS_OK,
     .ins = scale_in,
     .outs = out_out,
     .attrs = scale_attrs,
     .make_grad = scale_make_grad,
     .infer = same_infer,
     .run = scale_run},
    {.type = "cast",
     .flags = OP_MOVES,
     .ins = x_in,
     .outs = out_out,
     .attrs = cast_attrs,
     .make_grad = cast_make_grad,
     .infer = cast_infer,
     .run = cast_run},
    {.type = "clip",
     .flags = OP_ROWS_OK,
     .ins = clip_in,
     .outs = out_out,
     .attrs = clip_attrs,
     .grad = "X Min Max Out@GRAD -> X@GRAD",
     .infer = same_infer,
     .run = clip_run},
    {.type = "clip_grad",
     .ins = clip_grad_in,
     .outs = dx_out,
     .attrs = clip_attrs,
     .infer = same_infer,
     .run = clip_grad_run},
    {.type = "increment",
     .class = CLASS_COUNTER,
     .ins = x_in,
     .outs = out_out,
     .attrs = increment_attrs,
     .make_grad = increment_make_grad,
     .infer = same_infer,
     .run = increment_run},
    {.type = "assign",
     .flags = OP_MOVES | OP_ROWS_OK | OP_ARRAY_OK,
     .ins = assign_in,
     .outs = out_out,
     .attrs = none,
     .make_grad = assign_make_grad,
     .infer = assign_infer,
     .run = assign_run},
    {.type = "label_smooth",
     .ins = smooth_in,
     .outs = out_out,
     .attrs = smooth_attrs,
     .grad = "Out@GRAD -> X@GRAD",
     .infer = same_infer,
     .run = smooth_run},
    {.type = "label_smooth_grad",
     .ins = dout_in,
     .outs = dx_out,
     .attrs = smooth_attrs,
     .infer = same_infer,
     .run = smooth_grad_run},
    {0},
};
