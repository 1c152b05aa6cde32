/* Reductions over dims: reduce_sum, mean, max, min, amax, amin, prod, all, any, and `mean` of
 * everything.
 *
 * Result dims: reduced dims go away, or become 1 with keep_dim; when nothing is left 1.x gives [1],
 * 2.x a 0-D tensor. An empty dim list, or reduce_all, means all dims. 1.x passes the lod on unless
 * dim 0 is reduced, 2.x drops it. out_dtype >= 0: that is the type of the sum.
 *
 *   gradients:  sum d;  mean d / count;  max, min: d at every element that equals the result, and
 *               for amax, amin divided among them; prod: d times the product of the others */
#include "ops/ops_common.h"

#include <string.h>

#include "tensor/math.h"

enum { X, DOUT, OUT };
enum { DIM, KEEP_DIM, REDUCE_ALL, IN_DTYPE, OUT_DTYPE };

/* The dims attribute is INTS, or LONGS for reduce_all and reduce_any of 2.x. */
static bool attr_mask(const struct op_kind *kind, const struct attr_value *attr, int ndim,
                      unsigned *mask)
{
    int32_t dims[TENSOR_MAX_DIMS];
    const struct attr_value *a = &attr[DIM];
    if (kind->attrs[DIM].type == ATTR_INTS)
        return reduce_mask(a->ints, a->n, attr[REDUCE_ALL].b, ndim, mask);
    if (a->n > TENSOR_MAX_DIMS)
        return false;
    for (int i = 0; i < a->n; i++)
        dims[i] = (int32_t)a->longs[i];
    return reduce_mask(dims, a->n, attr[REDUCE_ALL].b, ndim, mask);
}

/* `as_long`: int32 and bool are summed as int64 (reduce_sum of 2.x). */
static enum skiff_status reduce_shape(struct infer *c, bool is_1x, bool as_long,
                                      struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0);
    unsigned mask;
    if (!attr_mask(c->kind, c->attr, x->ndim, &mask))
        return infer_fail(c, X, 0, err, "attribute dim must hold numbers in [%d, %d)", -x->ndim,
                          x->ndim);
    struct shape out = {0};
    for (int i = 0; i < x->ndim; i++) {
        if (!(mask >> i & 1))
            out.dims[out.ndim++] = x->dims[i];
        else if (c->attr[KEEP_DIM].b)
            out.dims[out.ndim++] = 1;
    }
    if (out.ndim == 0 && is_1x)
        out = SHAPE(1);
    enum dtype t = infer_in_dtype(c, X, 0);
    if (c->attr[OUT_DTYPE].i >= 0)
        t = (enum dtype)c->attr[OUT_DTYPE].i;
    else if (as_long && (t == DTYPE_BOOL || t == DTYPE_INT32))
        t = DTYPE_INT64;
    TRY(infer_out(c, 0, 0, t, &out, err));
    if (is_1x && !(mask & 1))
        infer_share_lod(c, X, 0, 0, 0);
    return SKIFF_OK;
}
static enum skiff_status reduce_1x_infer(struct infer *c, struct skiff_error *err)
{
    return reduce_shape(c, true, false, err);
}
static enum skiff_status reduce_2x_infer(struct infer *c, struct skiff_error *err)
{
    return reduce_shape(c, false, false, err);
}
static enum skiff_status sum_2x_infer(struct infer *c, struct skiff_error *err)
{
    return reduce_shape(c, false, true, err);
}
static enum skiff_status grad_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, X, 0, err);
}

static enum skiff_status kernel_plan(const struct kernel *k, struct reduce_plan *p,
                                     struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    unsigned mask;
    if (!attr_mask(k->kind, k->attr, x->shape.ndim, &mask))
        return kernel_fail(k, SKIFF_SHAPE, err, "attribute dim is out of range");
    reduce_plan_init(p, &x->shape, mask);
    return SKIFF_OK;
}

/* Runs `step` with v = every element of one result. */
#define EACH_REDUCED(T, base, step)                                \
    do {                                                           \
        int last_ = p.nreduced - 1;                                \
        int64_t run_ = last_ < 0 ? 1 : p.reduced[last_];           \
        int64_t stride_ = last_ < 0 ? 1 : p.reduced_stride[last_]; \
        for (int64_t j_ = 0; j_ < p.reduce_count; j_ += run_) {    \
            const T *q_ = (base) + reduce_offset(&p, j_);          \
            for (int64_t i_ = 0; i_ < run_; i_++) {                \
                T v = q_[i_ * stride_];                            \
                step;                                              \
            }                                                      \
        }                                                          \
    } while (0)

enum reduce_how { HOW_SUM, HOW_MEAN, HOW_MAX, HOW_MIN, HOW_PROD, HOW_SHARE };

/* float32 sums over dims that lie together */
static bool sum_fast(const struct tensor *x, struct tensor *out, const struct reduce_plan *p,
                     bool mean)
{
    if (x->dtype != DTYPE_FP32 || out->dtype != DTYPE_FP32 || !p->is_block || p->inner < 4)
        return false;
    for (int64_t o = 0; o < p->outer; o++)
        math_sum_rows_f32(p->reduce_count, p->inner, tensor_f32(x) + o * p->reduce_count * p->inner,
                          tensor_f32(out) + o * p->inner);
    if (mean)
        math_scale_f32(p->out_count, 1.0f / (float)p->reduce_count, tensor_f32(out));
    return true;
}

/* The type sums and products are made in. */
#define ACC(T) typeof(_Generic((T)0, float : 0.0, double : 0.0, default : (int64_t)0))

static void reduce_to(const struct tensor *x, struct tensor *out, const struct reduce_plan *plan,
                      enum reduce_how how)
{
    struct reduce_plan p = *plan;
    for (int64_t o = 0; o < p.out_count; o++)
        DISPATCH_ALL(
            x->dtype, T, const T *base = (const T *)x->data + reduce_kept_offset(&p, o);
            ACC(T) acc = how == HOW_PROD;
            if (how <= HOW_MEAN) EACH_REDUCED(T, base, acc = WRAP_ADD(acc, v));
            else if (how == HOW_PROD) EACH_REDUCED(T, base, acc = WRAP_MUL(acc, v)); else {
                acc = *base;
                if (how == HOW_MAX)
                    EACH_REDUCED(T, base, acc = v > acc || v != v ? v : acc);
                else
                    EACH_REDUCED(T, base, acc = v < acc || v != v ? v : acc);
            } if (how == HOW_MEAN) acc /= p.reduce_count;
            DISPATCH_ALL(out->dtype, R, ((R *)out->data)[o] = (R)acc))
}

static enum skiff_status reduce_run(struct kernel *k, enum reduce_how how, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct tensor *out = kernel_out(k, 0);
    struct reduce_plan p;
    TRY(kernel_check_dtype(k, X, dtype_is_any, "a number or bool", err));
    TRY(kernel_plan(k, &p, err));
    if (!dtype_is_any(out->dtype))
        return kernel_fail(k, SKIFF_UNSUPPORTED, err, "out_dtype %d", k->attr[OUT_DTYPE].i);
    bool chooses =
        how == HOW_MAX || how == HOW_MIN || (how == HOW_MEAN && !dtype_is_float(x->dtype));
    if (p.reduce_count == 0 && p.out_count > 0 && chooses)
        return kernel_fail(k, SKIFF_SHAPE, err, "input X (%s) has no elements to choose from",
                           kernel_in_name(k, X, 0));
    if (how <= HOW_MEAN && sum_fast(x, out, &p, how == HOW_MEAN))
        return SKIFF_OK;
    reduce_to(x, out, &p, how);
    return SKIFF_OK;
}

#define DEFINE_RUN(name, how)                                                      \
    static enum skiff_status name##_run(struct kernel *k, struct skiff_error *err) \
    {                                                                              \
        return reduce_run(k, how, err);                                            \
    }
DEFINE_RUN(reduce_sum, HOW_SUM);
DEFINE_RUN(reduce_mean, HOW_MEAN);
DEFINE_RUN(reduce_max, HOW_MAX);
DEFINE_RUN(reduce_min, HOW_MIN);
DEFINE_RUN(reduce_prod, HOW_PROD);

static enum skiff_status logic_run(struct kernel *k, bool any, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct reduce_plan p;
    if (x->dtype != DTYPE_BOOL)
        return kernel_fail(k, SKIFF_DTYPE, err, "input X (%s) has type %s, expected bool",
                           kernel_in_name(k, X, 0), dtype_name(x->dtype));
    TRY(kernel_plan(k, &p, err));
    for (int64_t o = 0; o < p.out_count; o++) {
        const bool *base = (const bool *)x->data + reduce_kept_offset(&p, o);
        bool acc = !any;
        EACH_REDUCED(bool, base, acc = any ? acc || v : acc && v);
        ((bool *)kernel_out(k, 0)->data)[o] = acc;
    }
    return SKIFF_OK;
}
static enum skiff_status reduce_all_run(struct kernel *k, struct skiff_error *err)
{
    return logic_run(k, false, err);
}
static enum skiff_status reduce_any_run(struct kernel *k, struct skiff_error *err)
{
    return logic_run(k, true, err);
}

/* ---- gradients ---- */

/* d times the product of the others, without dividing by zero (out / x, and Paddle, give NaN). */
#define PROD_GRAD(T)                                                       \
    do {                                                                   \
        int64_t zeros_ = 0;                                                \
        double rest_ = 1;                                                  \
        EACH_REDUCED(T, px, if (v == 0) zeros_++; else rest_ *= v);        \
        for (int64_t j = 0; j < p.reduce_count; j++) {                     \
            int64_t at = reduce_offset(&p, j);                             \
            double others_ = zeros_ == 0                  ? rest_ / px[at] \
                             : zeros_ == 1 && px[at] == 0 ? rest_          \
                                                          : 0;             \
            pdx[at] = (T)(d * others_);                                    \
        }                                                                  \
    } while (0)

static void reduce_grad_to(const struct tensor *x, const struct tensor *out,
                           const struct tensor *dout, struct tensor *dx,
                           const struct reduce_plan *plan, enum reduce_how how)
{
    struct reduce_plan p = *plan;
    double scale = how == HOW_MEAN ? 1.0 / (double)p.reduce_count : 1;
    for (int64_t o = 0; o < p.out_count; o++) {
        int64_t base = reduce_kept_offset(&p, o);
        DISPATCH_FLOAT(
            dout->dtype, T, T d = ((const T *)dout->data)[o]; T *pdx = (T *)dx->data + base;
            const T *px = x && how > HOW_MEAN ? (const T *)x->data + base : NULL;
            if (how <= HOW_MEAN) {
                T each = (T)(d * scale);
                for (int64_t j = 0; j < p.reduce_count; j++)
                    pdx[reduce_offset(&p, j)] = each;
            } else if (how == HOW_PROD) PROD_GRAD(T);
            else {
                T best = ((const T *)out->data)[o];
                int64_t ties = 0;
                EACH_REDUCED(T, px, ties += v == best);
                T each = how == HOW_SHARE && ties ? d / (T)ties : d;
                for (int64_t j = 0; j < p.reduce_count; j++) {
                    int64_t at = reduce_offset(&p, j);
                    pdx[at] = px[at] == best ? each : 0;
                }
            })
    }
}

/* float32 sum and mean over dims that lie together: rows of dX are copies of rows of dOut */
static bool spread_fast(const struct tensor *d, struct tensor *dx, const struct reduce_plan *p,
                        float scale)
{
    if (d->dtype != DTYPE_FP32 || !p->is_block)
        return false;
    const float *from = tensor_f32(d);
    float *to = tensor_f32(dx);
    for (int64_t o = 0; o < p->outer; o++, from += p->inner)
        for (int64_t j = 0; j < p->reduce_count; j++)
            for (int64_t i = 0; i < p->inner; i++)
                *to++ = from[i] * scale;
    return true;
}

static enum skiff_status reduce_grad_run(struct kernel *k, enum reduce_how how,
                                         struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *d = kernel_in(k, DOUT);
    const struct tensor *out = how > HOW_MEAN ? kernel_in(k, OUT) : NULL;
    struct tensor *dx = kernel_out(k, 0);
    struct reduce_plan p;
    if (!dx)
        return SKIFF_OK;
    TRY(kernel_check_dtype(k, DOUT, dtype_is_float, "float32 or float64", err));
    TRY(kernel_check_same_dtype(k, X, DOUT, err));
    if (out)
        TRY(kernel_check_same_dtype(k, OUT, DOUT, err));
    TRY(kernel_plan(k, &p, err));
    if (tensor_numel(d) != p.out_count || (out && tensor_numel(out) != p.out_count))
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD (%s) has %lld elements, expected %lld",
                           kernel_in_name(k, DOUT, 0), (long long)tensor_numel(d),
                           (long long)p.out_count);
    float scale = how == HOW_MEAN ? 1.0f / (float)p.reduce_count : 1;
    if (how > HOW_MEAN || !spread_fast(d, dx, &p, scale))
        reduce_grad_to(x, out, d, dx, &p, how);
    return SKIFF_OK;
}

#define DEFINE_GRAD_RUN(name, how)                                                      \
    static enum skiff_status name##_grad_run(struct kernel *k, struct skiff_error *err) \
    {                                                                                   \
        return reduce_grad_run(k, how, err);                                            \
    }
DEFINE_GRAD_RUN(reduce_sum, HOW_SUM);
DEFINE_GRAD_RUN(reduce_mean, HOW_MEAN);
DEFINE_GRAD_RUN(reduce_max, HOW_MAX);
DEFINE_GRAD_RUN(reduce_min, HOW_MIN);
DEFINE_GRAD_RUN(reduce_prod, HOW_PROD);
DEFINE_GRAD_RUN(reduce_share, HOW_SHARE);

/* ---- mean ---- */
static enum skiff_status mean_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    int64_t n = tensor_numel(x);
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    DISPATCH_FLOAT(x->dtype, T, const T *p = x->data; double sum = 0;
                   for (int64_t i = 0; i < n; i++) sum += p[i];
                   *(T *)kernel_out(k, 0)->data = (T)(sum / (double)n))
    return SKIFF_OK;
}

static enum skiff_status mean_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *d = kernel_in(k, DOUT);
    struct tensor *dx = kernel_out(k, 0);
    if (!dx)
        return SKIFF_OK;
    int64_t n = tensor_numel(dx);
    TRY(kernel_check_dtype(k, DOUT, dtype_is_float, "float32 or float64", err));
    TRY(kernel_check_same_dtype(k, X, DOUT, err));
    DISPATCH_FLOAT(d->dtype, T, T each = *(const T *)d->data / (T)n; T *o = dx->data;
                   for (int64_t i = 0; i < n; i++) o[i] = each)
    return SKIFF_OK;
}

static enum skiff_status mean_1x_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = SHAPE(1);
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &s, err);
}
static enum skiff_status mean_2x_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = {0};
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &s, err);
}

static const struct op_slot x_in[] = {{"X", 0}, {0}};
static const struct op_slot axis_in[] = {
    {"X", 0}, {"AxisTensor", SLOT_OPTIONAL}, {"AxisTensorList", SLOT_LIST | SLOT_OPTIONAL}, {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_slot spread_in[] = {{"X", SLOT_SHAPE_ONLY}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot choose_in[] = {{"X", 0}, {"Out" GRAD_SUFFIX, 0}, {"Out", 0}, {0}};
static const struct op_slot share_in[] = {{"X", 0},
                                          {"Out" GRAD_SUFFIX, 0},
                                          {"Out", 0},
                                          {"AxisTensor", SLOT_OPTIONAL},
                                          {"AxisTensorList", SLOT_LIST | SLOT_OPTIONAL},
                                          {0}};
static const struct op_slot dx_out[] = {{"X" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};

#define REST                                                                       \
    A_BOOL("keep_dim", false), A_BOOL("reduce_all", false), A_INT("in_dtype", -1), \
        A_INT("out_dtype", -1),                                                    \
    {                                                                              \
        0                                                                          \
    }
static const struct op_attr_spec attrs[] = {
    {.name = "dim", .type = ATTR_INTS, .def = {.n = 1, .ints = (const int32_t[]){0}}}, REST};
static const struct op_attr_spec long_attrs[] = {
    {.name = "dim", .type = ATTR_LONGS, .def = {.n = 1, .longs = (const int64_t[]){0}}}, REST};
static const struct op_attr_spec none[] = {{0}};

#define FORWARD(name, gen, in, a, rule, ...)                                                      \
    {                                                                                             \
        .type = #name, .generations = gen, .ins = in, .outs = out_out, .attrs = a, .infer = rule, \
        .run = name##_run, __VA_ARGS__                                                            \
    }
#define REDUCE(name, rule_2x, line, grad_slots)                                   \
    FORWARD(name, GEN_1X, x_in, attrs, reduce_1x_infer, .grad = line),            \
        FORWARD(name, GEN_2X, x_in, attrs, rule_2x, .grad = line),                \
    {                                                                             \
        .type = #name "_grad", .ins = grad_slots, .outs = dx_out, .attrs = attrs, \
        .infer = grad_infer, .run = name##_grad_run                               \
    }
/* reduce_amax, reduce_amin (2.x) */
#define SHARE(name, fn)                                                               \
    {.type = name,                                                                    \
     .generations = GEN_2X,                                                           \
     .ins = axis_in,                                                                  \
     .outs = out_out,                                                                 \
     .attrs = long_attrs,                                                             \
     .grad = "X Out AxisTensor AxisTensorList Out@GRAD -> X@GRAD",                    \
     .infer = reduce_2x_infer,                                                        \
     .run = fn},                                                                      \
    {                                                                                 \
        .type = name "_grad", .generations = GEN_2X, .ins = share_in, .outs = dx_out, \
        .attrs = long_attrs, .infer = grad_infer, .run = reduce_share_grad_run        \
    }
#define SPREAD "X Out@GRAD -> X@GRAD"
#define CHOOSE "X Out Out@GRAD -> X@GRAD"
#define NO_GRAD .flags = OP_NO_GRAD_NEEDED

const struct op_kind ops_reduce[] = {
    REDUCE(reduce_sum, sum_2x_infer, SPREAD, spread_in),
    REDUCE(reduce_mean, reduce_2x_infer, SPREAD, spread_in),
    REDUCE(reduce_max, reduce_2x_infer, CHOOSE, choose_in),
    REDUCE(reduce_min, reduce_2x_infer, CHOOSE, choose_in),
    REDUCE(reduce_prod, reduce_2x_infer, CHOOSE, choose_in),
    SHARE("reduce_amax", reduce_max_run),
    SHARE("reduce_amin", reduce_min_run),
    FORWARD(reduce_all, GEN_1X, x_in, attrs, reduce_1x_infer, NO_GRAD),
    FORWARD(reduce_all, GEN_2X, axis_in, long_attrs, reduce_2x_infer, NO_GRAD),
    FORWARD(reduce_any, GEN_1X, x_in, attrs, reduce_1x_infer, NO_GRAD),
    FORWARD(reduce_any, GEN_2X, axis_in, long_attrs, reduce_2x_infer, NO_GRAD),
    FORWARD(mean, GEN_1X, x_in, none, mean_1x_infer, .grad = "!X Out@GRAD -> X@GRAD"),
    FORWARD(mean, GEN_2X, x_in, none, mean_2x_infer, .grad = "!X Out@GRAD -> X@GRAD"),
    {.type = "mean_grad",
     .ins = spread_in,
     .outs = dx_out,
     .attrs = none,
     .infer = grad_infer,
     .run = mean_grad_run},
    {0},
};
