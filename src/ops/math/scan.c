/* Running products, log-sum-exps and extremes along an axis: cumprod, logcumsumexp, cummax, cummin
 * (2.x); cumsum is in norm.c.
 *
 *   cumprod       y_j = x_0 .. x_j;             dX_i = sum over j >= i of d_j y_j / x_i, without
 *                                               dividing, so that zeros do no harm
 *   logcumsumexp  y_j = log sum_{i<=j} e^x_i;   dX_i = sum over j >= i of d_j e^(x_i - y_j)
 *                 may leave out the element itself (exclusive), or run from the end (reverse)
 *   cummax, cummin  y_j = the extreme of x_0 .. x_j, and where it is (the last of equals; the last
 *                 NaN once there is one);       dX_i = sum of d_j over the j whose extreme is i */
#include "ops/seq_common.h"

#include <tgmath.h>

enum { X, DOUT, OUT };
enum { L_AXIS, L_FLATTEN, L_EXCLUSIVE, L_REVERSE };

static enum skiff_status same_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, X, 0, err);
}

static enum skiff_status scan_lines(const struct kernel *k, int64_t axis, bool flatten,
                                    struct axis_view *l, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    int a = axis_of(axis, x->shape.ndim);
    *l = (struct axis_view){1, tensor_numel(x), 1};
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    if (flatten || x->shape.ndim == 0)
        return SKIFF_OK;
    if (a < 0)
        return kernel_fail(k, SKIFF_SHAPE, err, "axis %lld is out of range for %d dims",
                           (long long)axis, x->shape.ndim);
    *l = shape_lines(&x->shape, a);
    return SKIFF_OK;
}

/* Offset of the first element of line i. */
static int64_t line_at(struct axis_view l, int64_t i)
{
    return i / l.inner * l.n * l.inner + i % l.inner;
}

/* ---- cumprod ---- */

static enum skiff_status cumprod_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct axis_view l;
    TRY(scan_lines(k, k->attr[0].i, false, &l, err));
    DISPATCH_NUMBER(x->dtype, T, {
        for (int64_t i = 0; i < l.outer * l.inner; i++) {
            const T *p = (const T *)x->data + line_at(l, i);
            T *q = (T *)kernel_out(k, 0)->data + line_at(l, i), product = 1;
            for (int64_t j = 0; j < l.n; j++) {
                product = (T)WRAP_MUL(product, p[j * l.inner]);
                q[j * l.inner] = product;
            }
        }
    })
    return SKIFF_OK;
}

static enum skiff_status cumprod_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct axis_view l;
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    TRY(scan_lines(k, k->attr[0].i, false, &l, err));
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    TRY(kernel_want_elements(k, DOUT, x->dtype, tensor_numel(x), err));
    DISPATCH_FLOAT(x->dtype, T, {
        for (int64_t i = 0; i < l.outer * l.inner; i++) {
            const T *p = (const T *)x->data + line_at(l, i);
            const T *d = (const T *)kernel_in(k, DOUT)->data + line_at(l, i);
            T *dx = (T *)kernel_out(k, 0)->data + line_at(l, i);
            double before = 1;
            for (int64_t j = 0; j < l.n; j++) {
                double others = before, sum = 0;
                for (int64_t m = j; m < l.n; m++) {
                    others *= m > j ? (double)p[m * l.inner] : 1;
                    sum += (double)d[m * l.inner] * others;
                }
                before *= (double)p[j * l.inner];
                dx[j * l.inner] = (T)sum;
            }
        }
    })
    return SKIFF_OK;
}

/* ---- logcumsumexp ---- */

static enum skiff_status lse_infer(struct infer *c, struct skiff_error *err)
{
    if (!c->attr[L_FLATTEN].b)
        return infer_same(c, X, 0, err);
    struct shape s = SHAPE(dims_product(infer_in(c, X, 0), 0, infer_in(c, X, 0)->ndim));
    return infer_out(c, 0, 0, infer_in_dtype(c, X, 0), &s, err);
}

/* log(e^a + e^b) */
static double log_add(double a, double b)
{
    double top = a > b ? a : b, low = a > b ? b : a;
    return isinf(top) ? top : top + log1p(exp(low - top));
}

static enum skiff_status lse_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    bool exclusive = k->attr[L_EXCLUSIVE].b, reverse = k->attr[L_REVERSE].b;
    struct axis_view l;
    TRY(scan_lines(k, k->attr[L_AXIS].i, k->attr[L_FLATTEN].b, &l, err));
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    DISPATCH_FLOAT(x->dtype, T, {
        for (int64_t i = 0; i < l.outer * l.inner; i++) {
            const T *p = (const T *)x->data + line_at(l, i);
            T *q = (T *)kernel_out(k, 0)->data + line_at(l, i);
            double sum = -(double)INFINITY;
            for (int64_t j = 0; j < l.n; j++) {
                int64_t at = (reverse ? l.n - 1 - j : j) * l.inner;
                double next = log_add(sum, (double)p[at]);
                q[at] = (T)(exclusive ? sum : next);
                sum = next;
            }
        }
    })
    return SKIFF_OK;
}

static enum skiff_status lse_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    bool exclusive = k->attr[L_EXCLUSIVE].b, reverse = k->attr[L_REVERSE].b;
    struct axis_view l;
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    TRY(scan_lines(k, k->attr[L_AXIS].i, k->attr[L_FLATTEN].b, &l, err));
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    for (int slot = DOUT; slot <= OUT; slot++)
        TRY(kernel_want_elements(k, slot, x->dtype, tensor_numel(x), err));
    DISPATCH_FLOAT(x->dtype, T, {
        for (int64_t i = 0; i < l.outer * l.inner; i++) {
            const T *p = (const T *)x->data + line_at(l, i);
            const T *d = (const T *)kernel_in(k, DOUT)->data + line_at(l, i);
            const T *y = (const T *)kernel_in(k, OUT)->data + line_at(l, i);
            T *dx = (T *)kernel_out(k, 0)->data + line_at(l, i);
            for (int64_t j = 0; j < l.n; j++) {
                int64_t from = reverse ? 0 : j + exclusive, to = reverse ? j - exclusive : l.n - 1;
                double sum = 0;
                for (int64_t m = from; m <= to; m++)
                    sum += (double)d[m * l.inner] * exp((double)(p[j * l.inner] - y[m * l.inner]));
                dx[j * l.inner] = (T)sum;
            }
        }
    })
    return SKIFF_OK;
}

/* ---- cummax, cummin ---- */

enum { E_AXIS, E_DTYPE };
enum { EG_X, EG_INDICES, EG_DOUT };

static enum skiff_status extreme_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_same(c, X, 0, err));
    if (!dtype_is_index((enum dtype)c->attr[E_DTYPE].i))
        return infer_fail(c, X, 0, err, "dtype is %d; it must be that of int32 or int64",
                          c->attr[E_DTYPE].i);
    return infer_out(c, 1, 0, (enum dtype)c->attr[E_DTYPE].i, infer_in(c, X, 0), err);
}

/* Places of the running extremes of one line; kept as int64, or int32 when asked for. */
#define RUN_EXTREMES(T, P, better)                           \
    for (int64_t i = 0; i < l.outer * l.inner; i++) {        \
        const T *p = (const T *)x->data + line_at(l, i);     \
        T *q = (T *)kernel_out(k, 0)->data + line_at(l, i);  \
        P *at = (P *)kernel_out(k, 1)->data + line_at(l, i); \
        int64_t best = 0;                                    \
        for (int64_t j = 0; j < l.n; j++) {                  \
            T a = p[j * l.inner], b = p[best * l.inner];     \
            if (a != a || (b == b && (better)))              \
                best = j;                                    \
            q[j * l.inner] = p[best * l.inner];              \
            at[j * l.inner] = (P)best;                       \
        }                                                    \
    }

static enum skiff_status extreme_run(struct kernel *k, bool most, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    struct axis_view l;
    TRY(scan_lines(k, k->attr[E_AXIS].i, false, &l, err));
    DISPATCH_NUMBER(x->dtype, T,
                    DISPATCH_INDEX(kernel_out(k, 1)->dtype, P,
                                   if (most)
                                       RUN_EXTREMES(T, P, a >= b) else RUN_EXTREMES(T, P, a <= b)))
    return SKIFF_OK;
}

static enum skiff_status cummax_run(struct kernel *k, struct skiff_error *err)
{
    return extreme_run(k, true, err);
}
static enum skiff_status cummin_run(struct kernel *k, struct skiff_error *err)
{
    return extreme_run(k, false, err);
}

static enum skiff_status extreme_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, EG_X), *at = kernel_in(k, EG_INDICES);
    struct axis_view l;
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    TRY(scan_lines(k, k->attr[E_AXIS].i, false, &l, err));
    TRY(kernel_check_dtype(k, EG_X, dtype_is_float, "float32 or float64", err));
    TRY(kernel_check_dtype(k, EG_INDICES, dtype_is_index, "int32 or int64", err));
    TRY(kernel_want_elements(k, EG_INDICES, at->dtype, tensor_numel(x), err));
    TRY(kernel_want_elements(k, EG_DOUT, x->dtype, tensor_numel(x), err));
    tensor_clear(kernel_out(k, 0));
    for (int64_t i = 0; i < l.outer * l.inner; i++)
        for (int64_t j = 0; j < l.n; j++) {
            int64_t from = line_at(l, i) + j * l.inner, to = tensor_int_at(at, from);
            if (to < 0 || to >= l.n)
                return kernel_fail(k, SKIFF_INVALID, err, "index %lld is not in [0, %lld)",
                                   (long long)to, (long long)l.n);
            DISPATCH_FLOAT(x->dtype, T,
                           ((T *)kernel_out(k, 0)->data)[line_at(l, i) + to * l.inner] +=
                           ((const T *)kernel_in(k, EG_DOUT)->data)[from])
        }
    return SKIFF_OK;
}

static const struct op_slot extreme_in[] = {{"x", 0}, {0}};
static const struct op_slot extreme_out[] = {{"out", 0}, {"indices", 0}, {0}};
static const struct op_slot extreme_grad_in[] = {
    {"x", SLOT_SHAPE_ONLY}, {"indices", 0}, {"out@GRAD", 0}, {0}};
static const struct op_slot extreme_dx[] = {{"x@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec extreme_attrs[] = {
    A_INT("axis", -1), A_INT("dtype", DTYPE_INT64), {0}};
#define EXTREME(name)                                                                             \
    {.type = #name,                                                                               \
     .generations = GEN_2X,                                                                       \
     .ins = extreme_in,                                                                           \
     .outs = extreme_out,                                                                         \
     .attrs = extreme_attrs,                                                                      \
     .grad = "x indices out@GRAD -> x@GRAD",                                                      \
     .infer = extreme_infer,                                                                      \
     .run = name##_run},                                                                          \
    {                                                                                             \
        .type = #name "_grad", .generations = GEN_2X, .ins = extreme_grad_in, .outs = extreme_dx, \
        .attrs = extreme_attrs, .infer = same_infer, .run = extreme_grad_run                      \
    }

static const struct op_slot x_in[] = {{"X", 0}, {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_slot grad_in[] = {{"X", 0}, {"Out@GRAD", 0}, {"Out", 0}, {0}};
static const struct op_slot dx_out[] = {{"X@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec cumprod_attrs[] = {A_INT("dim", 0), {0}};
static const struct op_attr_spec lse_attrs[] = {A_INT("axis", -1),
                                                A_BOOL("flatten", false),
                                                A_BOOL("exclusive", false),
                                                A_BOOL("reverse", false),
                                                {0}};

#define SCAN(name, a, rule, fn)                                                                  \
    {.type = name,                                                                               \
     .generations = GEN_2X,                                                                      \
     .ins = x_in,                                                                                \
     .outs = out_out,                                                                            \
     .attrs = a,                                                                                 \
     .grad = "X Out Out@GRAD -> X@GRAD",                                                         \
     .infer = rule,                                                                              \
     .run = fn##_run},                                                                           \
    {                                                                                            \
        .type = name "_grad", .generations = GEN_2X, .ins = grad_in, .outs = dx_out, .attrs = a, \
        .infer = same_infer, .run = fn##_grad_run                                                \
    }

const struct op_kind ops_scan[] = {SCAN("cumprod", cumprod_attrs, same_infer, cumprod),
                                   SCAN("logcumsumexp", lse_attrs, lse_infer, lse),
                                   EXTREME(cummax),
                                   EXTREME(cummin),
                                   {0}};
