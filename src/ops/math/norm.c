/* Norms and running sums: norm (l2_normalize), p_norm, frobenius_norm, l1_norm, squared_l2_norm,
 * logsumexp, cumsum. s = sum over the reduced dims.
 *
 *   op               Out                                X@GRAD
 *   norm             x / n, Norm n = sqrt(s x^2 + eps)  (d - x s(d x) / n^2) / n
 *   p_norm           (s |x|^p)^(1/p); p = 0: count of   p = 2: d x / (out + eps); p = 1: d sign x;
 *                    non-zeros; +-inf: largest,         +-inf: d sign x where |x| = out; p = 0: 0;
 *                    smallest |x|                       else d sign x |x|^(p-1) (out+eps)^(1-p)
 *   frobenius_norm   sqrt(s x^2)                        d x / out
 *   l1_norm          s |x|                              d sign x
 *   squared_l2_norm  s x^2, always [1]                  2 d x
 *   logsumexp        log s e^x                          d e^(x - out)
 *   cumsum           sums along an axis, may leave out the element itself (exclusive) or run from
 *                    the end (reverse); gradient: the same with reverse turned round
 * Where nothing is left of the shape, 1.x gives [1] and 2.x a 0-D tensor. */
#include "ops/ops_common.h"

#include <string.h>
#include <tgmath.h>

enum { X, DOUT, OUT };

#define SIGN(v) (((v) > 0) - ((v) < 0))

/* ---- reductions that share one frame: the row says which attributes hold the dims ---- */

enum norm_how { HOW_P, HOW_FROBENIUS, HOW_L1, HOW_SQUARED, HOW_LSE };

/* p_norm: porder axis epsilon keepdim asvector; frobenius_norm, logsumexp: dims keep all */
enum { P_ORDER, P_AXIS, P_EPSILON, P_KEEP, P_ASVECTOR };
enum { D_DIMS, D_KEEP, D_ALL };

static bool norm_mask(enum norm_how how, const struct op_kind *kind, const struct attr_value *attr,
                      int ndim, unsigned *mask, bool *keep)
{
    *keep = false;
    if (how == HOW_L1 || how == HOW_SQUARED) {
        *mask = (1u << ndim) - 1;
        return true;
    }
    if (how == HOW_P) {
        *keep = attr[P_KEEP].b;
        return reduce_mask(&attr[P_AXIS].i, 1, attr[P_ASVECTOR].b, ndim, mask);
    }
    *keep = attr[D_KEEP].b;
    return reduce_mask(attr[D_DIMS].ints, attr[D_DIMS].n, attr[D_ALL].b, ndim, mask);
}

static enum skiff_status norm_shape(struct infer *c, enum norm_how how, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, X, 0);
    unsigned mask;
    bool keep;
    if (!norm_mask(how, c->kind, c->attr, x->ndim, &mask, &keep))
        return infer_fail(c, X, 0, err, "the axis is out of range [%d, %d)", -x->ndim, x->ndim);
    struct shape out = {0};
    for (int i = 0; i < x->ndim; i++) {
        if (!(mask >> i & 1))
            out.dims[out.ndim++] = x->dims[i];
        else if (keep)
            out.dims[out.ndim++] = 1;
    }
    if (out.ndim == 0)
        out = infer_one_number(c);
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &out, err);
}

#define EACH(body)                                     \
    for (int64_t j_ = 0; j_ < p->reduce_count; j_++) { \
        int64_t at = base + reduce_offset(p, j_);      \
        double v = (double)x[at];                      \
        body;                                          \
    }

/* one result; the sums are made in double for both types */
#define ONE_NORM(T)                                                                   \
    static double one_norm_##T(const struct reduce_plan *p, const T *x, int64_t base, \
                               enum norm_how how, double order)                       \
    {                                                                                 \
        double s = 0, top = -INFINITY, low = INFINITY;                                \
        switch (how) {                                                                \
        case HOW_L1:                                                                  \
            EACH(s += fabs(v)) return s;                                              \
        case HOW_SQUARED:                                                             \
            EACH(s += v * v) return s;                                                \
        case HOW_FROBENIUS:                                                           \
            EACH(s += v * v) return sqrt(s);                                          \
        case HOW_LSE:                                                                 \
            EACH(top = fmax(top, v)) if (isinf(top)) return top;                      \
            EACH(s += exp(v - top)) return top + log(s);                              \
        case HOW_P:                                                                   \
            break;                                                                    \
        }                                                                             \
        if (isinf(order)) {                                                           \
            EACH(top = fmax(top, fabs(v)); low = fmin(low, fabs(v)))                  \
            return order > 0 ? top : low;                                             \
        }                                                                             \
        if (order == 0) {                                                             \
            EACH(s += v != 0) return s;                                               \
        }                                                                             \
        EACH(s += pow(fabs(v), order))                                                \
        return pow(s, 1 / order);                                                     \
    }
ONE_NORM(float)
ONE_NORM(double)

static enum skiff_status norm_plan(const struct kernel *k, enum norm_how how, struct reduce_plan *p,
                                   struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    unsigned mask;
    bool keep;
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    if (!norm_mask(how, k->kind, k->attr, x->shape.ndim, &mask, &keep))
        return kernel_fail(k, SKIFF_SHAPE, err, "the axis is out of range");
    reduce_plan_init(p, &x->shape, mask);
    return SKIFF_OK;
}

static enum skiff_status norm_run(struct kernel *k, enum norm_how how, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct tensor *out = kernel_out(k, 0);
    struct reduce_plan p;
    double order = how == HOW_P ? (double)k->attr[P_ORDER].f : 2;
    TRY(norm_plan(k, how, &p, err));
    for (int64_t o = 0; o < p.out_count; o++) {
        int64_t base = reduce_kept_offset(&p, o);
        if (x->dtype == DTYPE_FP32)
            tensor_f32(out)[o] = (float)one_norm_float(&p, tensor_f32(x), base, how, order);
        else
            tensor_f64(out)[o] = one_norm_double(&p, tensor_f64(x), base, how, order);
    }
    return SKIFF_OK;
}

/* d Out / d x at one element */
static double norm_slope(enum norm_how how, double v, double out, double order, double eps)
{
    switch (how) {
    case HOW_L1:
        return SIGN(v);
    case HOW_SQUARED:
        return 2 * v;
    case HOW_FROBENIUS:
        return v / out;
    case HOW_LSE:
        return exp(v - out);
    case HOW_P:
        break;
    }
    if (isinf(order))
        return fabs(v) == out ? SIGN(v) : 0;
    if (order == 0)
        return 0;
    if (order == 1)
        return SIGN(v);
    if (order == 2)
        return v / (out + eps);
    return SIGN(v) * pow(fabs(v), order - 1) * pow(out + eps, 1 - order);
}

static enum skiff_status norm_grad_run(struct kernel *k, enum norm_how how, struct skiff_error *err)
{
    const struct tensor *tx = kernel_in(k, X), *d = kernel_in(k, DOUT);
    bool by_out = how == HOW_P || how == HOW_FROBENIUS || how == HOW_LSE;
    const struct tensor *out = by_out ? kernel_in(k, OUT) : d;
    struct tensor *dx = kernel_out(k, 0);
    struct reduce_plan plan, *p = &plan;
    double order = how == HOW_P ? (double)k->attr[P_ORDER].f : 2;
    double eps = how == HOW_P ? (double)k->attr[P_EPSILON].f : 0;
    if (!dx)
        return SKIFF_OK;
    TRY(norm_plan(k, how, p, err));
    TRY(kernel_check_same_dtype(k, DOUT, X, err));
    if (tensor_numel(d) != p->out_count || tensor_numel(out) != p->out_count)
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD has %lld elements, expected %lld",
                           (long long)tensor_numel(d), (long long)p->out_count);
    for (int64_t o = 0; o < p->out_count; o++) {
        int64_t base = reduce_kept_offset(p, o);
        DISPATCH_FLOAT(tx->dtype, T, const T *x = tx->data; T *to = dx->data;
                       double dv = ((const T *)d->data)[o]; double ov = ((const T *)out->data)[o];
                       EACH(to[at] = (T)(dv * norm_slope(how, v, ov, order, eps))))
    }
    return SKIFF_OK;
}

#define DEFINE_NORM(name, how)                                                          \
    static enum skiff_status name##_run(struct kernel *k, struct skiff_error *err)      \
    {                                                                                   \
        return norm_run(k, how, err);                                                   \
    }                                                                                   \
    static enum skiff_status name##_grad_run(struct kernel *k, struct skiff_error *err) \
    {                                                                                   \
        return norm_grad_run(k, how, err);                                              \
    }                                                                                   \
    static enum skiff_status name##_infer(struct infer *c, struct skiff_error *err)     \
    {                                                                                   \
        return norm_shape(c, how, err);                                                 \
    }
DEFINE_NORM(p_norm, HOW_P);
DEFINE_NORM(frobenius_norm, HOW_FROBENIUS);
DEFINE_NORM(l1_norm, HOW_L1);
DEFINE_NORM(squared_l2_norm, HOW_SQUARED);
DEFINE_NORM(logsumexp, HOW_LSE);

static enum skiff_status same_as_x_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, X, 0, err);
}

/* ---- norm ---- */
enum { N_OUT, N_NORM };
enum { NG_DOUT = 1, NG_NORM };
enum { AXIS, EPSILON };

static enum skiff_status l2_norm_infer(struct infer *c, struct skiff_error *err)
{
    struct shape norm = *infer_in(c, X, 0);
    int axis;
    TRY(infer_axis(c, X, "axis", c->attr[AXIS].i, norm.ndim, &axis, err));
    norm.dims[axis] = 1;
    enum dtype t = infer_in_dtype(c, X, 0);
    TRY(infer_same(c, X, N_OUT, err));
    return infer_out(c, N_NORM, 0, t, &norm, err);
}

static enum skiff_status l2_norm_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct tensor *out = kernel_out(k, N_OUT), *norm = kernel_out(k, N_NORM);
    struct axis_view l = shape_lines(&x->shape, axis_of(k->attr[AXIS].i, x->shape.ndim));
    double eps = (double)k->attr[EPSILON].f;
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    DISPATCH_FLOAT(
        x->dtype, T, for (int64_t o = 0; o < l.outer; o++) for (int64_t i = 0; i < l.inner; i++) {
            const T *p = (const T *)x->data + o * l.n * l.inner + i;
            T *q = (T *)out->data + o * l.n * l.inner + i;
            double s = eps;
            for (int64_t j = 0; j < l.n; j++)
                s += (double)p[j * l.inner] * p[j * l.inner];
            T n = (T)sqrt(s);
            if (norm)
                ((T *)norm->data)[o * l.inner + i] = n;
            for (int64_t j = 0; j < l.n; j++)
                q[j * l.inner] = p[j * l.inner] / n;
        })
    return SKIFF_OK;
}

static enum skiff_status l2_norm_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *d = kernel_in(k, NG_DOUT);
    const struct tensor *norm = kernel_in(k, NG_NORM);
    struct tensor *dx = kernel_out(k, 0);
    int axis = axis_of(k->attr[AXIS].i, x->shape.ndim);
    if (!dx)
        return SKIFF_OK;
    if (axis < 0)
        return kernel_fail(k, SKIFF_SHAPE, err, "attribute axis is %d, X has %d dims",
                           k->attr[AXIS].i, x->shape.ndim);
    struct axis_view l = shape_lines(&x->shape, axis);
    if (tensor_numel(d) != tensor_numel(x) || tensor_numel(norm) != l.outer * l.inner)
        return kernel_fail(k, SKIFF_SHAPE, err, "X, Norm and Out@GRAD do not fit");
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    TRY(kernel_check_same_dtype(k, NG_DOUT, X, err));
    TRY(kernel_check_same_dtype(k, NG_NORM, X, err));
    DISPATCH_FLOAT(
        x->dtype, T, for (int64_t o = 0; o < l.outer; o++) for (int64_t i = 0; i < l.inner; i++) {
            int64_t first = o * l.n * l.inner + i;
            const T *p = (const T *)x->data + first;
            const T *g = (const T *)d->data + first;
            T *q = (T *)dx->data + first;
            double n = ((const T *)norm->data)[o * l.inner + i], s = 0;
            for (int64_t j = 0; j < l.n; j++)
                s += (double)p[j * l.inner] * g[j * l.inner];
            for (int64_t j = 0; j < l.n; j++)
                q[j * l.inner] = (T)((g[j * l.inner] - p[j * l.inner] * s / (n * n)) / n);
        })
    return SKIFF_OK;
}

/* ---- cumsum ---- */
enum { C_AXIS, C_EXCLUSIVE, C_REVERSE, C_FLATTEN };

static enum skiff_status cumsum_lines(const struct kernel *k, const struct tensor *x,
                                      struct axis_view *l, struct skiff_error *err)
{
    int axis = axis_of(k->attr[C_AXIS].i, x->shape.ndim);
    *l = (struct axis_view){1, tensor_numel(x), 1};
    if (k->attr[C_FLATTEN].b || x->shape.ndim == 0)
        return SKIFF_OK;
    if (axis < 0)
        return kernel_fail(k, SKIFF_SHAPE, err, "attribute axis is %d, X has %d dims",
                           k->attr[C_AXIS].i, x->shape.ndim);
    *l = shape_lines(&x->shape, axis);
    return SKIFF_OK;
}

static enum skiff_status cumsum_to(const struct kernel *k, const struct tensor *x,
                                   struct tensor *out, bool reverse, struct skiff_error *err)
{
    struct axis_view l;
    bool exclusive = k->attr[C_EXCLUSIVE].b;
    TRY(cumsum_lines(k, x, &l, err));
    if (!dtype_is_number(x->dtype))
        return kernel_fail(k, SKIFF_DTYPE, err, "cannot sum type %s", dtype_name(x->dtype));
    DISPATCH_NUMBER(
        x->dtype, T, for (int64_t o = 0; o < l.outer; o++) for (int64_t i = 0; i < l.inner; i++) {
            const T *p = (const T *)x->data + o * l.n * l.inner + i;
            T *q = (T *)out->data + o * l.n * l.inner + i;
            T sum = 0;
            for (int64_t j = 0; j < l.n; j++) {
                int64_t at = (reverse ? l.n - 1 - j : j) * l.inner;
                T v = p[at];
                q[at] = exclusive ? sum : sum + v;
                sum += v;
            }
        })
    return SKIFF_OK;
}

static enum skiff_status cumsum_run(struct kernel *k, struct skiff_error *err)
{
    return cumsum_to(k, kernel_in(k, X), kernel_out(k, 0), k->attr[C_REVERSE].b, err);
}

/* dX has the shape of X; with `flatten` Out is one line, in the same order */
static enum skiff_status cumsum_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *dx = kernel_out(k, 0);
    struct tensor d = *kernel_in(k, DOUT);
    if (!dx)
        return SKIFF_OK;
    if (tensor_numel(&d) != tensor_numel(dx) || d.dtype != dx->dtype)
        return kernel_fail(k, SKIFF_SHAPE, err, "X and Out@GRAD differ in size or type");
    d.shape = dx->shape;
    return cumsum_to(k, &d, dx, !k->attr[C_REVERSE].b, err);
}

static enum skiff_status cumsum_infer(struct infer *c, struct skiff_error *err)
{
    if (!c->attr[C_FLATTEN].b)
        return infer_same(c, X, 0, err);
    struct shape s = SHAPE(shape_numel(infer_in(c, X, 0)));
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &s, err);
}

/* 1.x: cumsum itself, the other way round. */
static enum skiff_status cumsum_make_grad(struct grad_build *g, struct skiff_error *err)
{
    struct skiff_op *op = grad_pass_back(g, "cumsum", true, "Out", "X");
    const struct op_attr_value *reverse = op_attr(g->fwd, "reverse");
    if (op)
        op_set_bool(g->program, op, "reverse", !(reverse && reverse->value.b));
    return SKIFF_OK;
}

static const struct op_slot x_in[] = {{"X", 0}, {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_slot grad_in[] = {{"X", 0}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot shape_grad_in[] = {{"X", SLOT_SHAPE_ONLY}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot by_out_in[] = {{"X", 0}, {"Out" GRAD_SUFFIX, 0}, {"Out", 0}, {0}};
static const struct op_slot dx_out[] = {{"X" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};
static const struct op_slot norm_out[] = {{"Out", 0}, {"Norm", SLOT_EXTRA}, {0}};
static const struct op_slot norm_grad_in[] = {{"X", 0}, {"Out" GRAD_SUFFIX, 0}, {"Norm", 0}, {0}};

#define ZERO_DIM(attr_name)                                                                  \
    {                                                                                        \
        .name = attr_name, .type = ATTR_INTS, .def = {.n = 1, .ints = (const int32_t[]){0} } \
    }
#define A_2X(n)                                                \
    {                                                          \
        .name = n, .type = ATTR_BOOLEAN, .flags = ATTR_ONLY_2X \
    }
static const struct op_attr_spec none[] = {{0}};
static const struct op_attr_spec p_norm_attrs[] = {
    A_FLOAT("porder", 2.0f),  A_INT("axis", -1), A_FLOAT("epsilon", 1.0e-12f),
    A_BOOL("keepdim", false), A_2X("asvector"),  {0}};
static const struct op_attr_spec frobenius_attrs[] = {
    ZERO_DIM("dim"),       A_BOOL("keep_dim", false), A_BOOL("reduce_all", false),
    A_INT("in_dtype", -1), A_INT("out_dtype", -1),    {0}};
static const struct op_attr_spec logsumexp_attrs[] = {
    ZERO_DIM("axis"), A_BOOL("keepdim", false), A_BOOL("reduce_all", false), {0}};
static const struct op_attr_spec norm_attrs[] = {
    A_REQ("axis", ATTR_INT), A_FLOAT("epsilon", 1.0e-10f), A_2X("is_test"), {0}};
static const struct op_attr_spec cumsum_attrs[] = {
    A_INT("axis", -1), A_BOOL("exclusive", false), A_BOOL("reverse", false), A_2X("flatten"), {0}};

#define BY_X "X Out@GRAD -> X@GRAD"
#define BY_OUT "X Out Out@GRAD -> X@GRAD"
#define NORM(name, gen, dims, a, line)                                                  \
    {                                                                                   \
        .type = #name, .generations = gen, .flags = dims, .ins = x_in, .outs = out_out, \
        .attrs = a, .grad = line, .infer = name##_infer, .run = name##_run              \
    }
#define NORM_GRAD(name, a, in, ...)                                                             \
    {                                                                                           \
        .type = #name "_grad", .ins = in, .outs = dx_out, .attrs = a, .infer = same_as_x_infer, \
        .run = name##_grad_run, __VA_ARGS__                                                     \
    }

const struct op_kind ops_norm[] = {
    NORM(p_norm, GEN_2X, 0, p_norm_attrs, BY_OUT),
    NORM_GRAD(p_norm, p_norm_attrs, by_out_in, .generations = GEN_2X),
    NORM(frobenius_norm, GEN_1X, OP_ONE_DIM, frobenius_attrs, BY_OUT),
    NORM(frobenius_norm, GEN_2X, 0, frobenius_attrs, BY_OUT),
    NORM_GRAD(frobenius_norm, frobenius_attrs, by_out_in, ),
    NORM(l1_norm, GEN_1X, OP_ONE_DIM, none, BY_X),
    NORM(l1_norm, GEN_2X, 0, none, BY_X),
    NORM_GRAD(l1_norm, none, grad_in, ),
    NORM(squared_l2_norm, 0, OP_ONE_DIM, none, BY_X),
    NORM_GRAD(squared_l2_norm, none, grad_in, ),
    NORM(logsumexp, GEN_2X, 0, logsumexp_attrs, BY_OUT),
    NORM_GRAD(logsumexp, logsumexp_attrs, by_out_in, .generations = GEN_2X),
    {.type = "norm",
     .ins = x_in,
     .outs = norm_out,
     .attrs = norm_attrs,
     .grad = "X Norm Out@GRAD -> X@GRAD",
     .infer = l2_norm_infer,
     .run = l2_norm_run},
    {.type = "norm_grad",
     .ins = norm_grad_in,
     .outs = dx_out,
     .attrs = norm_attrs,
     .infer = same_as_x_infer,
     .run = l2_norm_grad_run},
    {.type = "cumsum",
     .generations = GEN_1X,
     .ins = x_in,
     .outs = out_out,
     .attrs = cumsum_attrs,
     .make_grad = cumsum_make_grad,
     .infer = cumsum_infer,
     .run = cumsum_run},
    {.type = "cumsum",
     .generations = GEN_2X,
     .ins = x_in,
     .outs = out_out,
     .attrs = cumsum_attrs,
     .grad = BY_X,
     .infer = cumsum_infer,
     .run = cumsum_run},
    {.type = "cumsum_grad",
     .generations = GEN_2X,
     .ins = shape_grad_in,
     .outs = dx_out,
     .attrs = cumsum_attrs,
     .infer = same_as_x_infer,
     .run = cumsum_grad_run},
    {0},
};
