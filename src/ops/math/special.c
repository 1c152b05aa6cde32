/* Special functions of one element (2.x): Out[i] = f(X[i]), computed in double.
 *
 *   op         Out                                      X@GRAD / Out@GRAD
 *   lgamma     log |Gamma(x)|                           digamma(x)
 *   digamma    (log Gamma)'(x)                          polygamma(1, x)
 *   polygamma  (-1)^(n+1) n! zeta(n + 1, x)             polygamma(n + 1, x); n = 0 is digamma
 *   erfinv     the y with erf(y) = x                    sqrt(pi) / 2 e^(out^2)
 *   i0, i1     Bessel's I_0, I_1                        i1; i0 - i1 / x
 *   i0e, i1e   e^-|x| I_0, e^-|x| I_1                   i1e - sign(x) i0e; i0e - i1e (sign x + 1/x)
 *   nextafter  the next number after x towards y        none
 *
 * zeta(s, q) = sum over k >= 0 of (q + k)^-s is Hurwitz's: ten terms, then Euler and Maclaurin. */
#include "ops/seq_common.h"

#include <math.h>

enum { X, Y };
enum { G_V, G_DOUT };

#define HALF_SQRT_PI 0.88622692545275801365
#define TWO_PI 6.28318530717958647693
#define NEAR 1e-17

/* ---- gamma's family ---- */

static double log_gamma(double x, int n)
{
    int sign; /* lgamma() would write a global */
    return lgamma_r(x, &sign);
}

static double digamma_above(double x)
{
    static const double series[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132};
    double shift = 0, power, sum = 0;
    for (; x < 10; x++)
        shift += 1 / x;
    power = 1 / (x * x);
    for (int i = 4; i >= 0; i--)
        sum = (sum + series[i]) * power;
    return log(x) - 0.5 / x - sum - shift;
}

/* the real line from below: digamma(1 - x) = digamma(x) + pi / tan(pi x); poles have no value */
static double digamma(double x, int n)
{
    double pi = TWO_PI / 2;
    if (x > 0)
        return digamma_above(x);
    return x == floor(x) ? (double)NAN : digamma_above(1 - x) - pi / tan(pi * (x - floor(x)));
}

static double zeta_tail(double s, double a, double b)
{
    /* (2k)! / B_2k */
    static const double below[] = {12.0,
                                   -720.0,
                                   30240.0,
                                   -1209600.0,
                                   47900160.0,
                                   -1.8924375803183791606e9,
                                   7.47242496e10,
                                   -2.950130727918164224e12,
                                   1.1646782814350067249e14,
                                   -4.5979787224074726105e15,
                                   1.8152105401943546773e17,
                                   -7.1661652561756670113e18};
    double sum = b * a / (s - 1) - 0.5 * b, factor = 1, k = 0;
    for (int i = 0; i < 12; i++) {
        factor *= s + k;
        b /= a;
        double term = factor * b / below[i];
        sum += term;
        if (fabs(term / sum) < NEAR)
            break;
        factor *= s + k + 1;
        b /= a;
        k += 2;
    }
    return sum;
}

static double zeta(double s, double q)
{
    double sum = 0, term = 0;
    if (q <= 0 && q == floor(q))
        return (double)INFINITY;
    for (int i = 0; i < 10 || q <= 10; i++, q++) {
        term = pow(q, -s);
        sum += term;
        if (fabs(term / sum) < NEAR && q > 0)
            return sum;
    }
    return sum + zeta_tail(s, q - 1, term);
}

static double polygamma(double x, int n)
{
    if (n == 0)
        return digamma(x, 0);
    return (n % 2 ? 1 : -1) * exp(log_gamma(n + 1.0, 0)) * zeta(n + 1.0, x);
}

/* ---- the error function's inverse: a guess (Winitzki), then Halley's steps ---- */

static double erfinv(double x, int n)
{
    double w = -log((1 - x) * (1 + x)), t = 4.3307467508 - w / 2, y, off;
    if (!(fabs(x) < 1))
        return fabs(x) == 1 ? copysign((double)INFINITY, x) : (double)NAN;
    y = copysign(sqrt(fmax(sqrt(t * t + w / 0.147) - t, 0)), x);
    for (int i = 0; i < 4; i++) {
        off = (x > 0 ? (1 - x) - erfc(y) : erfc(-y) - (1 + x)) * HALF_SQRT_PI * exp(y * y);
        y -= off / (1 + y * off);
    }
    return y;
}

/* ---- Bessel: the power series below 30, where all terms are positive; beyond it the asymptotic
 * one, whose terms fall to e^-60 there ---- */

static double bessel_scaled(double x, int order)
{
    double a = fabs(x), sum = 1, term = 1, mu = 4.0 * order;
    if (a < 30) {
        for (int k = 1; fabs(term) > NEAR * sum; k++)
            sum += term *= a * a / (4.0 * k * (k + order));
        return sum * exp(-a) * (order ? x / 2 : 1);
    }
    for (int k = 1; k < 60 && fabs(term) > NEAR; k++)
        sum += term *= -(mu - (2.0 * k - 1) * (2.0 * k - 1)) / (8.0 * k * a);
    return sum / sqrt(TWO_PI * a) * (order && x < 0 ? -1 : 1);
}

static double sign_of(double x)
{
    return (x > 0) - (x < 0);
}
static double i0e(double x, int n)
{
    return isinf(x) ? 0 : bessel_scaled(x, 0);
}
static double i1e(double x, int n)
{
    return isinf(x) ? 0 : bessel_scaled(x, 1);
}
static double i0(double x, int n)
{
    return isinf(x) ? (double)INFINITY : i0e(x, 0) * exp(fabs(x));
}
static double i1(double x, int n)
{
    return isinf(x) ? x : i1e(x, 0) * exp(fabs(x));
}

/* ---- slopes: of v, which is X, or Out for erfinv ---- */

static double lgamma_slope(double v, int n)
{
    return digamma(v, 0);
}
static double digamma_slope(double v, int n)
{
    return polygamma(v, 1);
}
static double polygamma_slope(double v, int n)
{
    return polygamma(v, n + 1);
}
static double erfinv_slope(double v, int n)
{
    return HALF_SQRT_PI * exp(v * v);
}
static double i0_slope(double v, int n)
{
    return i1(v, 0);
}
static double i0e_slope(double v, int n)
{
    return i1e(v, 0) - (v < 0 ? -1 : 1) * i0e(v, 0); /* at 0 as from above */
}
static double i1_slope(double v, int n)
{
    return v == 0 ? 0.5 : i0(v, 0) - i1(v, 0) / v;
}
static double i1e_slope(double v, int n)
{
    return v == 0 ? 0.5 : i0e(v, 0) - i1e(v, 0) * (sign_of(v) + 1 / v);
}

/* ---- kernels ---- */

static enum skiff_status map_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, X, 0, err);
}
static enum skiff_status slope_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, G_DOUT, 0, err);
}

/* polygamma's order; the others have no attributes */
static enum skiff_status read_order(const struct kernel *k, int *n, struct skiff_error *err)
{
    *n = k->kind->attrs[0].name ? k->attr[0].i : 0;
    if (*n < 0)
        return kernel_fail(k, SKIFF_INVALID, err, "n is %d; it must not be negative", *n);
    return SKIFF_OK;
}

static enum skiff_status map(struct kernel *k, double (*f)(double, int), struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    int n;
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    TRY(read_order(k, &n, err));
    DISPATCH_FLOAT(x->dtype, T, {
        const T *p = x->data;
        T *q = kernel_out(k, 0)->data;
        for (int64_t i = 0, count = tensor_numel(x); i < count; i++)
            q[i] = (T)f((double)p[i], n);
    })
    return SKIFF_OK;
}

static enum skiff_status slope(struct kernel *k, double (*f)(double, int), struct skiff_error *err)
{
    const struct tensor *v = kernel_in(k, G_V);
    int n;
    if (!kernel_wants(k, 0))
        return SKIFF_OK;
    TRY(kernel_check_dtype(k, G_V, dtype_is_float, "float32 or float64", err));
    TRY(kernel_want_elements(k, G_DOUT, v->dtype, tensor_numel(v), err));
    TRY(read_order(k, &n, err));
    DISPATCH_FLOAT(v->dtype, T, {
        const T *p = v->data, *d = kernel_in(k, G_DOUT)->data;
        T *q = kernel_out(k, 0)->data;
        for (int64_t i = 0, count = tensor_numel(v); i < count; i++)
            q[i] = (T)((double)d[i] * f((double)p[i], n));
    })
    return SKIFF_OK;
}

#define DEFINE_RUNS(name, function)                                                     \
    static enum skiff_status name##_run(struct kernel *k, struct skiff_error *err)      \
    {                                                                                   \
        return map(k, function, err);                                                   \
    }                                                                                   \
    static enum skiff_status name##_grad_run(struct kernel *k, struct skiff_error *err) \
    {                                                                                   \
        return slope(k, name##_slope, err);                                             \
    }
DEFINE_RUNS(lgamma, log_gamma)
DEFINE_RUNS(digamma, digamma)
DEFINE_RUNS(polygamma, polygamma)
DEFINE_RUNS(erfinv, erfinv)
DEFINE_RUNS(i0, i0)
DEFINE_RUNS(i0e, i0e)
DEFINE_RUNS(i1, i1)
DEFINE_RUNS(i1e, i1e)

static enum skiff_status nextafter_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_alike(c, X, Y, err));
    return infer_same(c, X, 0, err);
}

static enum skiff_status nextafter_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y);
    int64_t n = tensor_numel(x);
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    TRY(kernel_want_elements(k, Y, x->dtype, n, err));
    if (x->dtype == DTYPE_FP32)
        for (int64_t i = 0; i < n; i++)
            ((float *)kernel_out(k, 0)->data)[i] =
                nextafterf(((const float *)x->data)[i], ((const float *)y->data)[i]);
    else
        for (int64_t i = 0; i < n; i++)
            ((double *)kernel_out(k, 0)->data)[i] =
                nextafter(((const double *)x->data)[i], ((const double *)y->data)[i]);
    return SKIFF_OK;
}

static const struct op_slot small_pair[] = {{"x", 0}, {"y", 0}, {0}};
static const struct op_slot large_x[] = {{"X", 0}, {0}};
static const struct op_slot large_out[] = {{"Out", 0}, {0}};
static const struct op_slot large_dx[] = {{"X@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot large_by_x[] = {{"X", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot large_by_out[] = {{"Out", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot small_x[] = {{"x", 0}, {0}};
static const struct op_slot small_out[] = {{"out", 0}, {0}};
static const struct op_slot small_dx[] = {{"x@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot small_by_x[] = {{"x", 0}, {"out@GRAD", 0}, {0}};
static const struct op_slot small_by_both[] = {
    {"x", 0}, {"out@GRAD", 0}, {"out", SLOT_OPTIONAL | SLOT_SHAPE_ONLY}, {0}};
static const struct op_attr_spec none[] = {{0}};
static const struct op_attr_spec order[] = {A_INT("n", 0), {0}};

/* Paddle spells the slots of older ops X and Out, of newer ones x and out. */
#define SPECIAL(name, spelled, by, a, maker)                                                       \
    {.type = #name,                                                                                \
     .generations = GEN_2X,                                                                        \
     .ins = spelled##_x,                                                                           \
     .outs = spelled##_out,                                                                        \
     .attrs = a,                                                                                   \
     .grad = maker,                                                                                \
     .infer = map_infer,                                                                           \
     .run = name##_run},                                                                           \
    {                                                                                              \
        .type = #name "_grad", .generations = GEN_2X, .ins = by, .outs = spelled##_dx, .attrs = a, \
        .infer = slope_infer, .run = name##_grad_run                                               \
    }
#define BY_X "X Out@GRAD -> X@GRAD"
#define SMALL_BY_BOTH "x out out@GRAD -> x@GRAD"

const struct op_kind ops_special[] = {
    SPECIAL(lgamma, large, large_by_x, none, BY_X),
    SPECIAL(digamma, large, large_by_x, none, BY_X),
    SPECIAL(polygamma, small, small_by_x, order, "x out@GRAD -> x@GRAD"),
    SPECIAL(erfinv, large, large_by_out, none, "Out Out@GRAD -> X@GRAD"),
    SPECIAL(i0, small, small_by_x, none, "x out@GRAD -> x@GRAD"),
    SPECIAL(i0e, small, small_by_both, none, SMALL_BY_BOTH),
    SPECIAL(i1, small, small_by_both, none, SMALL_BY_BOTH),
    SPECIAL(i1e, small, small_by_both, none, SMALL_BY_BOTH),
    {.type = "nextafter",
     .generations = GEN_2X,
     .flags = OP_NO_GRAD_NEEDED,
     .ins = small_pair,
     .outs = small_out,
     .attrs = none,
     .infer = nextafter_infer,
     .run = nextafter_run},
    {0}};
