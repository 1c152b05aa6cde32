/* Activations and other functions of one element: Out[i] = f(X[i]).
 *
 * Each op is a forward formula in x and a gradient formula in d (= Out@GRAD) and v, where v is X or
 * Out, whichever Paddle's gradient op reads. Formulas are written once and expanded for float and
 * double (tgmath); p[] are the op's float attributes in table order.
 *
 *   op            Out                                 X@GRAD / Out@GRAD
 *   relu          max(x, 0)                           out > 0
 *   relu6         min(max(x, 0), t)                   0 < out < t            (t = 6 in 2.x)
 *   leaky_relu    x > 0 ? x : a x                     1.x: out > 0 ? 1 : a; 2.x: x < 0 ? a : 1
 *   sigmoid       1 / (1 + e^-x)                      out (1 - out)
 *   tanh          tanh x                              1 - out^2
 *   swish, silu   x sigmoid(b x)                      s + b x s (1 - s)      (b = 1 in 2.x)
 *   softplus      1.x: m + log(e^-m + e^(x-m)), m = max(x, 0); 2.x: log(1 + e^(b x)) / b, or x when
 *                 b x > threshold                     sigmoid(b x), or 1
 *   gelu          x Phi(x), or its tanh form          Phi(x) + x phi(x)
 *   elu, selu, hard_sigmoid, softsign, logsigmoid, exp, log, log1p, log2, sqrt, rsqrt, square, abs,
 *   reciprocal, pow, erf, sin, cos, tan, acos, asin, atan, sinh, cosh, asinh, acosh, atanh, expm1,
 *   log10: as their names say; floor, ceil, round, trunc: gradient 0;
 *   mish          x tanh(softplus x), softplus x = x above the threshold
 *   celu          x > 0 ? x : a (e^(x/a) - 1)         x > 0 ? 1 : e^(x/a)
 *   hard_swish    x min(max(x + o, 0), t) / s         (2 x + o) / s; 0 below, 1 above
 *   brelu         x cut to [t_min, t_max]             1 between them
 *   soft_relu     log(1 + e^x), x cut to +-t          1 - e^-out, 0 where |out| >= t
 *   hard_shrink, softshrink, tanh_shrink, thresholded_relu: x, x less the threshold (or tanh x), or
 *                 0 near 0 (below the threshold)
 *   stanh         b tanh(a x)
 *   logit         log(x / (1 - x)), x cut to [eps, 1 - eps] unless eps is 0
 *   sign: its gradient is a `scale` op with factor 0.
 * abs, sqrt and square also work on the values of SelectedRows, row by row as they stand. */
#include "ops/ops_common.h"

#include <string.h>
#include <tgmath.h>

#include "base/thread_pool.h"
#include "tensor/math.h"

#define INV_SQRT2 0.70710678118654752440
#define INV_SQRT_2PI 0.39894228040143267794
#define SQRT_2_OVER_PI 0.79788456080286535588
#define TWO_OVER_SQRT_PI 1.12837916709551257390
#define LN2 0.69314718055994530942
#define LN10 2.30258509299404568402

typedef void (*map_f32)(int64_t n, const float *x, float *out, const float *p);
typedef void (*map_f64)(int64_t n, const double *x, double *out, const float *p);
typedef void (*slope_f32)(int64_t n, const float *v, const float *d, float *dx, const float *p);
typedef void (*slope_f64)(int64_t n, const double *v, const double *d, double *dx, const float *p);

#define MAP_BODY(T, expr)                    \
    {                                        \
        for (int64_t i_ = 0; i_ < n; i_++) { \
            T x = in[i_];                    \
            out[i_] = (T)(expr);             \
        }                                    \
    }
#define SLOPE_BODY(T, expr)                  \
    {                                        \
        for (int64_t i_ = 0; i_ < n; i_++) { \
            T v = in[i_], d = dout[i_];      \
            dx[i_] = (T)(expr);              \
        }                                    \
    }
/* In the formulas K(c) is a constant of the element type, so that float stays float. */
#define DEFINE_MAP(name, expr)                                                                     \
    static void name##_map_f32(int64_t n, const float *in, float *out, const float *p)             \
        MAP_BODY(float, expr) static void name##_map_f64(int64_t n, const double *in, double *out, \
                                                         const float *p) MAP_BODY(double, expr)
#define DEFINE_SLOPE(name, expr)                                                           \
    static void name##_slope_f32(int64_t n, const float *in, const float *dout, float *dx, \
                                 const float *p)                                           \
        SLOPE_BODY(float, expr) static void name##_slope_f64(                              \
            int64_t n, const double *in, const double *dout, double *dx, const float *p)   \
            SLOPE_BODY(double, expr)
#define K(c) ((typeof(_Generic(KX, float : 0.0f, default : 0.0)))(c))

/* Forward formulas in x: KX is x */
#define KX x
DEFINE_MAP(relu, x < 0 ? 0 : x); /* NaN stays NaN; 2.x: 0 */
DEFINE_MAP(relu_2x, x > 0 ? x : 0);
DEFINE_MAP(relu6, x<0 ? 0 : x> p[0] ? K(p[0]) : x);
DEFINE_MAP(relu6_2x, x<0 ? 0 : x> 6 ? K(6) : x);
DEFINE_MAP(leaky_relu, x > 0 ? x : p[0] * x);
DEFINE_MAP(swish, x / (1 + exp(-p[0] * x)));
DEFINE_MAP(silu, x / (1 + exp(-x)));
DEFINE_MAP(softplus, fmax(x, K(0)) + log(exp(-fmax(x, K(0))) + exp(x - fmax(x, K(0)))));
DEFINE_MAP(softplus_2x, x *p[0] > p[1] ? x : log1p(exp(x * p[0])) / p[0]);
DEFINE_MAP(gelu, p[0] != 0
                     ? K(0.5) * x * (1 + tanh(K(SQRT_2_OVER_PI) * (x + K(0.044715) * x * x * x)))
                     : K(0.5) * x * (1 + erf(x * K(INV_SQRT2))));
DEFINE_MAP(hard_sigmoid, fmin(fmax(p[0] * x + p[1], K(0)), K(1)));
DEFINE_MAP(elu, x > 0 ? x : p[0] * expm1(x));
DEFINE_MAP(selu, p[0] * (x > 0 ? x : p[1] * exp(x) - p[1]));
DEFINE_MAP(softsign, x / (1 + fabs(x)));
DEFINE_MAP(logsigmoid, -fmax(-x, K(0)) - log1p(exp(-fabs(x))));
DEFINE_MAP(log, log(x));
DEFINE_MAP(log1p, log1p(x));
DEFINE_MAP(log2, log2(x));
DEFINE_MAP(sqrt, sqrt(x));
DEFINE_MAP(rsqrt, 1 / sqrt(x));
DEFINE_MAP(square, x *x);
DEFINE_MAP(abs, fabs(x));
DEFINE_MAP(reciprocal, 1 / x);
DEFINE_MAP(pow, pow(x, K(p[0])));
DEFINE_MAP(erf, erf(x));
DEFINE_MAP(sin, sin(x));
DEFINE_MAP(cos, cos(x));
DEFINE_MAP(floor, floor(x));
DEFINE_MAP(ceil, ceil(x));
DEFINE_MAP(round, round(x));
DEFINE_MAP(sign, (x > 0) - (x < 0));
DEFINE_MAP(trunc, trunc(x));
DEFINE_MAP(tan, tan(x));
DEFINE_MAP(acos, acos(x));
DEFINE_MAP(asin, asin(x));
DEFINE_MAP(atan, atan(x));
DEFINE_MAP(sinh, sinh(x));
DEFINE_MAP(cosh, cosh(x));
DEFINE_MAP(asinh, asinh(x));
DEFINE_MAP(acosh, acosh(x));
DEFINE_MAP(atanh, atanh(x));
DEFINE_MAP(expm1, expm1(x));
DEFINE_MAP(log10, log10(x));
#define SOFTPLUS_TO(t, x) ((x) > (t) ? (x) : log1p(exp(x)))
DEFINE_MAP(mish, x *tanh(SOFTPLUS_TO(p[0], x)));
DEFINE_MAP(celu, x > 0 ? x : p[0] * expm1(x / p[0]));
DEFINE_MAP(hard_swish, x *fmin(fmax(x + p[2], K(0)), K(p[0])) / p[1]);
DEFINE_MAP(brelu, fmin(fmax(x, K(p[0])), K(p[1])));
DEFINE_MAP(soft_relu, log(1 + exp(fmin(fmax(x, K(-p[0])), K(p[0])))));
DEFINE_MAP(hard_shrink, x > p[0] || x < -p[0] ? x : 0);
DEFINE_MAP(softshrink, x > p[0] ? x - p[0] : x < -p[0] ? x + p[0] : 0);
DEFINE_MAP(tanh_shrink, x - tanh(x));
DEFINE_MAP(thresholded_relu, x > p[0] ? x : 0);
DEFINE_MAP(stanh, p[1] * tanh(p[0] * x));
#define CUT_TO_EPS(x) ((x) < K(p[0]) ? K(p[0]) : (x) > 1 - K(p[0]) ? 1 - K(p[0]) : (x))
DEFINE_MAP(logit,
           p[0] == 0 && (x < 0 || x > 1) ? K(NAN) : log(CUT_TO_EPS(x) / (1 - CUT_TO_EPS(x))));
#undef KX

/* hot ones come from the math library in float */
#define DEFINE_HOT_MAP(name, math, expr)                                                 \
    static void name##_map_f32(int64_t n, const float *in, float *out, const float *p)   \
    {                                                                                    \
        math(n, in, out);                                                                \
    }                                                                                    \
    static void name##_map_f64(int64_t n, const double *in, double *out, const float *p) \
        MAP_BODY(double, expr)
DEFINE_HOT_MAP(exp, math_exp_f32, exp(x));
DEFINE_HOT_MAP(sigmoid, math_sigmoid_f32, 1 / (1 + exp(-x)));
DEFINE_HOT_MAP(tanh, math_tanh_f32, tanh(x));

/* Gradient formulas in v (X or Out) and d */
#define KX v
#define SIG(t) (1 / (1 + exp(-(t))))

#define DEFINE_HOT_SLOPE(name, act, expr)                                                     \
    static void name##_slope_f32(int64_t n, const float *in, const float *dout, float *dx,    \
                                 const float *p)                                              \
    {                                                                                         \
        math_act_grad_f32(n, act, in, dout, dx);                                              \
    }                                                                                         \
    static void name##_slope_f64(int64_t n, const double *in, const double *dout, double *dx, \
                                 const float *p) SLOPE_BODY(double, expr)
DEFINE_HOT_SLOPE(relu, MATH_ACT_RELU, v > 0 ? d : 0);
DEFINE_HOT_SLOPE(sigmoid, MATH_ACT_SIGMOID, d *v *(1 - v));
DEFINE_HOT_SLOPE(tanh, MATH_ACT_TANH, d *(1 - v * v));
DEFINE_SLOPE(relu6, v > 0 && v < p[0] ? d : 0);
DEFINE_SLOPE(relu6_2x, v > 0 && v < 6 ? d : 0);
DEFINE_SLOPE(leaky_relu, v > 0 ? d : p[0] * d);
DEFINE_SLOPE(leaky_relu_2x, v < 0 ? p[0] * d : d);
DEFINE_SLOPE(swish, d *SIG(p[0] * v) * (1 + p[0] * v * (1 - SIG(p[0] * v))));
DEFINE_SLOPE(silu, d *SIG(v) * (1 + v * (1 - SIG(v))));
DEFINE_SLOPE(softplus, d *SIG(v));
DEFINE_SLOPE(softplus_2x, v *p[0] > p[1] ? d : d * SIG(p[0] * v));
DEFINE_SLOPE(
    gelu,
    d *(p[0] != 0
            ? K(0.5) * (1 + tanh(K(SQRT_2_OVER_PI) * (v + K(0.044715) * v * v * v))) +
                  K(0.5) * v *
                      (1 - pow(tanh(K(SQRT_2_OVER_PI) * (v + K(0.044715) * v * v * v)), K(2))) *
                      K(SQRT_2_OVER_PI) * (1 + K(3 * 0.044715) * v * v)
            : K(0.5) * (1 + erf(v * K(INV_SQRT2))) + v * K(INV_SQRT_2PI) * exp(-K(0.5) * v * v)));
DEFINE_SLOPE(hard_sigmoid, v > 0 && v < 1 ? d * p[0] : 0);
DEFINE_SLOPE(elu, v > 0 ? d : d * p[0] * exp(v));
DEFINE_SLOPE(selu, v > 0 ? d * p[0] : d * (v + p[0] * p[1]));
DEFINE_SLOPE(softsign, d / ((1 + fabs(v)) * (1 + fabs(v))));
DEFINE_SLOPE(logsigmoid, d *SIG(-v));
DEFINE_SLOPE(exp, d *v);
DEFINE_SLOPE(log, d / v);
DEFINE_SLOPE(log1p, d / (1 + v));
DEFINE_SLOPE(log2, d / (v * K(LN2)));
DEFINE_SLOPE(sqrt, K(0.5) * d / v);
DEFINE_SLOPE(rsqrt, -K(0.5) * d * v * v * v);
DEFINE_SLOPE(square, 2 * d * v);
DEFINE_SLOPE(abs, d *((v > 0) - (v < 0)));
DEFINE_SLOPE(reciprocal, -d *v *v);
DEFINE_SLOPE(pow, d *K(p[0]) * pow(v, K(p[0] - 1)));
DEFINE_SLOPE(erf, d *K(TWO_OVER_SQRT_PI) * exp(-v * v));
DEFINE_SLOPE(sin, d *cos(v));
DEFINE_SLOPE(cos, -d *sin(v));
DEFINE_SLOPE(tan, d / (cos(v) * cos(v)));
DEFINE_SLOPE(acos, -d / sqrt(1 - v * v));
DEFINE_SLOPE(asin, d / sqrt(1 - v * v));
DEFINE_SLOPE(atan, d / (1 + v * v));
DEFINE_SLOPE(sinh, d *cosh(v));
DEFINE_SLOPE(cosh, d *sinh(v));
DEFINE_SLOPE(asinh, d / sqrt(v * v + 1));
DEFINE_SLOPE(acosh, d / sqrt(v * v - 1));
DEFINE_SLOPE(atanh, d / (1 - v * v));
DEFINE_SLOPE(expm1, d *v + d);
DEFINE_SLOPE(log10, d / (v * K(LN10)));
#define TANH_SOFTPLUS tanh(SOFTPLUS_TO(p[0], v))
DEFINE_SLOPE(mish, d *(TANH_SOFTPLUS +
                       v * (1 - TANH_SOFTPLUS * TANH_SOFTPLUS) * (1 - exp(-SOFTPLUS_TO(p[0], v)))));
DEFINE_SLOPE(celu, v > 0 ? d : d * exp(v / p[0]));
DEFINE_SLOPE(hard_swish, v + p[2] >= p[0] ? d : v + p[2] > 0 ? d * (2 * v + p[2]) / p[1] : 0);
DEFINE_SLOPE(brelu, v > p[0] && v < p[1] ? d : 0);
DEFINE_SLOPE(soft_relu, v > -p[0] && v < p[0] ? d * (1 - exp(-v)) : 0);
DEFINE_SLOPE(hard_shrink, v > p[0] || v < -p[0] ? d : 0);
DEFINE_SLOPE(tanh_shrink, d *tanh(v) * tanh(v));
DEFINE_SLOPE(thresholded_relu, v > p[0] ? d : 0);
DEFINE_SLOPE(stanh, d *p[0] * p[1] * (1 - tanh(p[0] * v) * tanh(p[0] * v)));
DEFINE_SLOPE(logit, v<p[0] || v> 1 - p[0] ? 0 : d / (v * (1 - v)));
#undef KX

/* The first `n` attributes of the kind as floats. */
static void read_params(const struct kernel *k, int n, float *p)
{
    for (int i = 0; i < n; i++)
        p[i] = k->kind->attrs[i].type == ATTR_BOOLEAN ? (float)k->attr[i].b : k->attr[i].f;
}

enum unary_slot { UNARY_X, UNARY_FACTOR };
enum grad_slot { GRAD_V, GRAD_DOUT, GRAD_FACTOR };

/* abs and square of integers; everything else wants floats. */
static bool map_integers(map_f32 f32, const struct tensor *x, struct tensor *out)
{
    int64_t n = tensor_numel(x);
    if (f32 == square_map_f32) {
        DISPATCH_INDEX(x->dtype, T, const T *a = x->data; T *o = out->data;
                       for (int64_t i = 0; i < n; i++) o[i] = (T)WRAP_MUL(a[i], a[i]))
        return true;
    }
    if (f32 == abs_map_f32) {
        DISPATCH_INDEX(x->dtype, T, const T *a = x->data; T *o = out->data;
                       for (int64_t i = 0; i < n; i++) o[i] = a[i] < 0 ? -a[i] : a[i])
        return true;
    }
    return false;
}

/* A map or a slope of float32 or float64, shared with the thread pool. */
struct span {
    map_f32 map;
    map_f64 map_wide;
    slope_f32 slope;
    slope_f64 slope_wide;
    const void *x, *d;
    void *out;
    const float *p;
};

static void span_part(void *arg, int64_t from, int64_t to)
{
    const struct span *s = arg;
    int64_t n = to - from;
    if (s->map)
        s->map(n, (const float *)s->x + from, (float *)s->out + from, s->p);
    else if (s->map_wide)
        s->map_wide(n, (const double *)s->x + from, (double *)s->out + from, s->p);
    else if (s->slope)
        s->slope(n, (const float *)s->x + from, (const float *)s->d + from, (float *)s->out + from,
                 s->p);
    else
        s->slope_wide(n, (const double *)s->x + from, (const double *)s->d + from,
                      (double *)s->out + from, s->p);
}

static void span_run(struct span s, int64_t n)
{
    thread_pool_split(n, thread_pool_elements(n), span_part, &s);
}

static enum skiff_status run_map(struct kernel *k, map_f32 f32, map_f64 f64, const float *p,
                                 struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, UNARY_X);
    struct tensor *out = kernel_out(k, 0);
    if (kernel_in_is_rows(k, UNARY_X, 0))
        rows_copy_ids(kernel_out_value(k, 0, 0), kernel_in_value(k, UNARY_X, 0));
    if (x->dtype == DTYPE_FP32)
        span_run((struct span){.map = f32, .x = x->data, .out = out->data, .p = p},
                 tensor_numel(x));
    else if (x->dtype == DTYPE_FP64)
        span_run((struct span){.map_wide = f64, .x = x->data, .out = out->data, .p = p},
                 tensor_numel(x));
    else if (!dtype_is_index(x->dtype) || !map_integers(f32, x, out))
        return kernel_check_dtype(k, UNARY_X, dtype_is_float, "float32 or float64", err);
    return SKIFF_OK;
}

static enum skiff_status run_slope(struct kernel *k, slope_f32 f32, slope_f64 f64, const float *p,
                                   struct skiff_error *err)
{
    const struct tensor *v = kernel_in(k, GRAD_V), *d = kernel_in(k, GRAD_DOUT);
    struct tensor *dx = kernel_out(k, 0);
    if (!dx)
        return SKIFF_OK;
    TRY(kernel_check_dtype(k, GRAD_V, dtype_is_float, "float32 or float64", err));
    TRY(kernel_check_same_dtype(k, GRAD_DOUT, GRAD_V, err));
    int64_t n = tensor_numel(d);
    if (tensor_numel(v) != n)
        return kernel_fail(k, SKIFF_SHAPE, err, "inputs %s and %s differ in size: %lld and %lld",
                           k->kind->ins[GRAD_V].name, k->kind->ins[GRAD_DOUT].name,
                           (long long)tensor_numel(v), (long long)n);
    struct span s = {.x = v->data, .d = d->data, .out = dx->data, .p = p};
    if (v->dtype == DTYPE_FP32)
        s.slope = f32;
    else
        s.slope_wide = f64;
    span_run(s, n);
    return SKIFF_OK;
}

#define DEFINE_RUN(name, nparams)                                                  \
    static enum skiff_status name##_run(struct kernel *k, struct skiff_error *err) \
    {                                                                              \
        float p[3] = {0};                                                          \
        read_params(k, nparams, p);                                                \
        return run_map(k, name##_map_f32, name##_map_f64, p, err);                 \
    }
#define DEFINE_GRAD_RUN(name, nparams)                                                  \
    static enum skiff_status name##_grad_run(struct kernel *k, struct skiff_error *err) \
    {                                                                                   \
        float p[3] = {0};                                                               \
        read_params(k, nparams, p);                                                     \
        return run_slope(k, name##_slope_f32, name##_slope_f64, p, err);                \
    }
#define DEFINE_BOTH(name, nparams) DEFINE_RUN(name, nparams) DEFINE_GRAD_RUN(name, nparams)

DEFINE_BOTH(relu, 0);
DEFINE_RUN(relu_2x, 0);
DEFINE_BOTH(relu6, 1);
DEFINE_BOTH(relu6_2x, 0);
DEFINE_BOTH(leaky_relu, 1);
DEFINE_GRAD_RUN(leaky_relu_2x, 1);
DEFINE_BOTH(sigmoid, 0);
DEFINE_BOTH(tanh, 0);
DEFINE_BOTH(swish, 1);
DEFINE_BOTH(silu, 0);
DEFINE_BOTH(softplus, 0);
DEFINE_BOTH(softplus_2x, 2);
DEFINE_BOTH(gelu, 1);
DEFINE_BOTH(hard_sigmoid, 2);
DEFINE_BOTH(elu, 1);
DEFINE_BOTH(selu, 2);
DEFINE_BOTH(softsign, 0);
DEFINE_BOTH(logsigmoid, 0);
DEFINE_BOTH(exp, 0);
DEFINE_BOTH(log, 0);
DEFINE_BOTH(log1p, 0);
DEFINE_BOTH(log2, 0);
DEFINE_BOTH(sqrt, 0);
DEFINE_BOTH(rsqrt, 0);
DEFINE_BOTH(square, 0);
DEFINE_BOTH(abs, 0);
DEFINE_BOTH(reciprocal, 0);
DEFINE_BOTH(erf, 0);
DEFINE_BOTH(sin, 0);
DEFINE_BOTH(cos, 0);
DEFINE_RUN(floor, 0);
DEFINE_RUN(ceil, 0);
DEFINE_RUN(round, 0);
DEFINE_RUN(sign, 0);
DEFINE_RUN(trunc, 0);
DEFINE_BOTH(tan, 0);
DEFINE_BOTH(acos, 0);
DEFINE_BOTH(asin, 0);
DEFINE_BOTH(atan, 0);
DEFINE_BOTH(sinh, 0);
DEFINE_BOTH(cosh, 0);
DEFINE_BOTH(asinh, 0);
DEFINE_BOTH(acosh, 0);
DEFINE_BOTH(atanh, 0);
DEFINE_BOTH(expm1, 0);
DEFINE_BOTH(log10, 0);
DEFINE_BOTH(mish, 1);
DEFINE_BOTH(celu, 1);
DEFINE_BOTH(hard_swish, 3);
DEFINE_BOTH(brelu, 2);
DEFINE_BOTH(soft_relu, 1);
DEFINE_BOTH(hard_shrink, 1);
DEFINE_RUN(softshrink, 1);
DEFINE_BOTH(tanh_shrink, 0);
DEFINE_BOTH(thresholded_relu, 1);
DEFINE_BOTH(stanh, 2);
DEFINE_BOTH(logit, 1);

static enum skiff_status pow_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *factor = kernel_in(k, UNARY_FACTOR), *x = kernel_in(k, UNARY_X);
    float p[1] = {factor ? (float)tensor_read_number(factor) : k->attr[0].f};
    if (dtype_is_index(x->dtype)) {
        int64_t n = tensor_numel(x);
        DISPATCH_INDEX(x->dtype, T, const T *a = x->data; T *o = kernel_out(k, 0)->data;
                       for (int64_t i = 0; i < n; i++) o[i] = (T)pow((double)a[i], (double)p[0]))
        return SKIFF_OK;
    }
    return run_map(k, pow_map_f32, pow_map_f64, p, err);
}

static enum skiff_status pow_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *factor = kernel_in(k, GRAD_FACTOR);
    float p[1] = {factor ? (float)tensor_read_number(factor) : k->attr[0].f};
    return run_slope(k, pow_slope_f32, pow_slope_f64, p, err);
}

/* floor, ceil, round */
static enum skiff_status zero_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct tensor *dx = kernel_out(k, 0);
    if (dx)
        tensor_clear(dx);
    return SKIFF_OK;
}

static enum skiff_status map_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, UNARY_X, 0, err);
}
static enum skiff_status slope_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, GRAD_DOUT, 0, err);
}

enum { FULL_SCALE = 1 }; /* op_kind.arg: the gradient op states its bias, too (2.x) */
static enum skiff_status sign_make_grad(struct grad_build *g, struct skiff_error *err)
{
    struct skiff_op *op = grad_pass_back(g, "scale", false, "Out", "X");
    if (!op)
        return SKIFF_OK;
    op_set_float(g->program, op, "scale", 0);
    if (g->fwd->kind->arg == FULL_SCALE) {
        op_set_float(g->program, op, "bias", 0);
        op_set_bool(g->program, op, "bias_after_scale", true);
    }
    return SKIFF_OK;
}

static const struct op_slot x_in[] = {{"X", 0}, {0}};
static const struct op_slot out_out[] = {{"Out", 0}, {0}};
static const struct op_slot dx_out[] = {{"X" GRAD_SUFFIX, SLOT_OPTIONAL}, {0}};
static const struct op_slot grad_x_in[] = {{"X", 0}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot grad_out_in[] = {{"Out", 0}, {"Out" GRAD_SUFFIX, 0}, {0}};
static const struct op_slot grad_both_in[] = {
    {"X", 0}, {"Out" GRAD_SUFFIX, 0}, {"Out", SLOT_OPTIONAL | SLOT_SHAPE_ONLY}, {0}};
static const struct op_slot grad_none_in[] = {{"Out" GRAD_SUFFIX, SLOT_SHAPE_ONLY}, {0}};
static const struct op_slot pow_in[] = {{"X", 0}, {"FactorTensor", SLOT_OPTIONAL}, {0}};
static const struct op_slot pow_grad_in[] = {
    {"X", 0}, {"Out" GRAD_SUFFIX, 0}, {"FactorTensor", SLOT_OPTIONAL}, {0}};

#define A_1X(n)                                                \
    {                                                          \
        .name = n, .type = ATTR_BOOLEAN, .flags = ATTR_ONLY_1X \
    }
static const struct op_attr_spec none[] = {{0}};
static const struct op_attr_spec plain[] = {A_1X("use_mkldnn"), A_1X("use_cudnn"), {0}};
static const struct op_attr_spec relu6_attrs[] = {A_FLOAT("threshold", 6.0f), {0}};
static const struct op_attr_spec leaky_attrs[] = {A_FLOAT("alpha", 0.02f), A_1X("use_mkldnn"), {0}};
static const struct op_attr_spec swish_attrs[] = {A_FLOAT("beta", 1.0f), A_1X("use_mkldnn"), {0}};
static const struct op_attr_spec softplus_2x_attrs[] = {
    A_FLOAT("beta", 1.0f), A_FLOAT("threshold", 20.0f), {0}};
static const struct op_attr_spec gelu_attrs[] = {
    A_BOOL("approximate", false), A_1X("use_mkldnn"), A_1X("use_cudnn"), {0}};
static const struct op_attr_spec hard_sigmoid_attrs[] = {
    A_FLOAT("slope", 0.2f), A_FLOAT("offset", 0.5f), {0}};
static const struct op_attr_spec elu_attrs[] = {A_FLOAT("alpha", 1.0f), {0}};
static const struct op_attr_spec selu_attrs[] = {
    A_FLOAT("scale", 1.0507009873554805f), A_FLOAT("alpha", 1.6732632423543772f), {0}};
static const struct op_attr_spec mish_attrs[] = {A_FLOAT("threshold", 20.0f), {0}};
static const struct op_attr_spec hard_swish_attrs[] = {
    A_FLOAT("threshold", 6.0f), A_FLOAT("scale", 6.0f), A_FLOAT("offset", 3.0f), {0}};
static const struct op_attr_spec brelu_attrs[] = {
    A_FLOAT("t_min", 0.0f), A_FLOAT("t_max", 24.0f), {0}};
static const struct op_attr_spec soft_relu_attrs[] = {A_FLOAT("threshold", 40.0f), {0}};
static const struct op_attr_spec hard_shrink_attrs[] = {A_FLOAT("threshold", 0.5f), {0}};
static const struct op_attr_spec softshrink_attrs[] = {A_FLOAT("lambda", 0.5f), {0}};
static const struct op_attr_spec thresholded_attrs[] = {A_FLOAT("threshold", 1.0f), {0}};
static const struct op_attr_spec stanh_attrs[] = {
    A_FLOAT("scale_a", 0.67f), A_FLOAT("scale_b", 1.7159f), {0}};
static const struct op_attr_spec logit_attrs[] = {A_FLOAT("eps", 1e-6f), {0}};
static const struct op_attr_spec pow_attrs[] = {A_FLOAT("factor", 1.0f), {0}};

#define GRAD_BY_X "X Out@GRAD -> X@GRAD"
#define GRAD_BY_OUT "Out Out@GRAD -> X@GRAD"
#define GRAD_BY_BOTH "X Out Out@GRAD -> X@GRAD"

/* op and gradient op; further fields (fuse class, flags, generation) may follow */
#define FORWARD(t, fn, a, g, ...)                                                           \
    {                                                                                       \
        .type = t, .ins = x_in, .outs = out_out, .attrs = a, .grad = g, .infer = map_infer, \
        .run = fn##_run, __VA_ARGS__                                                        \
    }
#define BACKWARD(t, fn, a, in, ...)                                                     \
    {                                                                                   \
        .type = t "_grad", .ins = in, .outs = dx_out, .attrs = a, .infer = slope_infer, \
        .run = fn##_grad_run, __VA_ARGS__                                               \
    }
#define BY_X(name, a, ...) \
    FORWARD(#name, name, a, GRAD_BY_X, __VA_ARGS__), BACKWARD(#name, name, a, grad_x_in, )
#define BY_OUT(name, a, ...) \
    FORWARD(#name, name, a, GRAD_BY_OUT, __VA_ARGS__), BACKWARD(#name, name, a, grad_out_in, )
#define BY_X_2X(name, a)                                       \
    FORWARD(#name, name, a, GRAD_BY_X, .generations = GEN_2X), \
        BACKWARD(#name, name, a, grad_x_in, .generations = GEN_2X)
#define STEP(name)                                                                  \
    FORWARD(#name, name, plain, "Out@GRAD -> X@GRAD", .flags = OP_ZERO_GRAD),       \
    {                                                                               \
        .type = #name "_grad", .ins = grad_none_in, .outs = dx_out, .attrs = plain, \
        .run = zero_grad_run                                                        \
    }
#define ACT(name, act)                                                        \
    FORWARD(#name, name, plain, GRAD_BY_OUT, .class = CLASS_ACT, .arg = act), \
        BACKWARD(#name, name, plain, grad_out_in, .class = CLASS_ACT_GRAD, .arg = act)
#define RELU(run, act, gen)                                                                       \
    FORWARD("relu", run, plain, GRAD_BY_OUT, .class = CLASS_ACT, .arg = act, .generations = gen), \
        BACKWARD("relu", relu, plain, grad_out_in, .class = CLASS_ACT_GRAD, .arg = act,           \
                 .generations = gen)

#define SIGN(gen, what)                                                                      \
    {                                                                                        \
        .type = "sign", .generations = gen, .flags = OP_ZERO_GRAD, .arg = what, .ins = x_in, \
        .outs = out_out, .attrs = none, .make_grad = sign_make_grad, .infer = map_infer,     \
        .run = sign_run                                                                      \
    }

const struct op_kind ops_activation[] = {
    RELU(relu, MATH_ACT_RELU, GEN_1X),
    RELU(relu_2x, MATH_ACT_RELU_2X, GEN_2X),
    ACT(sigmoid, MATH_ACT_SIGMOID),
    ACT(tanh, MATH_ACT_TANH),
    FORWARD("relu6", relu6, relu6_attrs, GRAD_BY_OUT, .generations = GEN_1X),
    BACKWARD("relu6", relu6, relu6_attrs, grad_out_in, .generations = GEN_1X),
    FORWARD("relu6", relu6_2x, none, GRAD_BY_OUT, .generations = GEN_2X),
    BACKWARD("relu6", relu6_2x, none, grad_out_in, .generations = GEN_2X),
    FORWARD("leaky_relu", leaky_relu, leaky_attrs, GRAD_BY_OUT, .generations = GEN_1X),
    BACKWARD("leaky_relu", leaky_relu, leaky_attrs, grad_out_in, .generations = GEN_1X),
    FORWARD("leaky_relu", leaky_relu, leaky_attrs, GRAD_BY_X, .generations = GEN_2X),
    BACKWARD("leaky_relu", leaky_relu_2x, leaky_attrs, grad_x_in, .generations = GEN_2X),
    FORWARD("swish", swish, swish_attrs, GRAD_BY_X, .generations = GEN_1X),
    BACKWARD("swish", swish, swish_attrs, grad_x_in, .generations = GEN_1X),
    FORWARD("swish", silu, none, GRAD_BY_X, .generations = GEN_2X),
    BACKWARD("swish", silu, none, grad_x_in, .generations = GEN_2X),
    FORWARD("silu", silu, none, GRAD_BY_BOTH, .generations = GEN_2X),
    BACKWARD("silu", silu, none, grad_both_in, .generations = GEN_2X),
    FORWARD("softplus", softplus, plain, GRAD_BY_X, .generations = GEN_1X),
    BACKWARD("softplus", softplus, plain, grad_x_in, .generations = GEN_1X),
    FORWARD("softplus", softplus_2x, softplus_2x_attrs, GRAD_BY_X, .generations = GEN_2X),
    BACKWARD("softplus", softplus_2x, softplus_2x_attrs, grad_x_in, .generations = GEN_2X),
    FORWARD("elu", elu, elu_attrs, GRAD_BY_X, .generations = GEN_1X),
    BACKWARD("elu", elu, elu_attrs, grad_x_in, .generations = GEN_1X),
    FORWARD("elu", elu, elu_attrs, GRAD_BY_BOTH, .generations = GEN_2X),
    BACKWARD("elu", elu, elu_attrs, grad_both_in, .generations = GEN_2X),
    FORWARD("log2", log2, none, GRAD_BY_X, .generations = GEN_2X),
    BACKWARD("log2", log2, none, grad_x_in, .generations = GEN_2X),
    BY_X(gelu, gelu_attrs, ),
    BY_OUT(hard_sigmoid, hard_sigmoid_attrs, ),
    BY_OUT(selu, selu_attrs, ),
    BY_X(softsign, plain, ),
    BY_X(logsigmoid, plain, ),
    BY_OUT(exp, plain, ),
    BY_X(log, plain, ),
    BY_X(log1p, plain, ),
    BY_OUT(sqrt, plain, .flags = OP_ROWS_OK),
    BY_OUT(rsqrt, plain, ),
    BY_X(square, plain, .flags = OP_ROWS_OK),
    BY_X(abs, plain, .flags = OP_ROWS_OK),
    BY_OUT(reciprocal, plain, ),
    BY_X(erf, none, ),
    BY_X(sin, plain, ),
    BY_X(cos, plain, ),
    STEP(floor),
    STEP(ceil),
    STEP(round),
    FORWARD("trunc", trunc, none, "Out@GRAD -> X@GRAD", .flags = OP_ZERO_GRAD,
            .generations = GEN_2X),
    {.type = "trunc_grad",
     .generations = GEN_2X,
     .ins = grad_none_in,
     .outs = dx_out,
     .attrs = none,
     .run = zero_grad_run},
    BY_X_2X(tan, none),
    BY_X_2X(sinh, none),
    BY_X_2X(cosh, none),
    BY_X_2X(asinh, none),
    BY_X_2X(acosh, none),
    BY_X_2X(atanh, none),
    BY_X_2X(log10, none),
    BY_X(mish, mish_attrs, ),
    BY_X_2X(celu, elu_attrs),
    BY_X_2X(logit, logit_attrs),
    FORWARD("expm1", expm1, none, GRAD_BY_OUT, .generations = GEN_2X),
    BACKWARD("expm1", expm1, none, grad_out_in, .generations = GEN_2X),
    BY_X(acos, none, ),
    BY_X(asin, none, ),
    BY_X(atan, none, ),
    BY_X(hard_swish, hard_swish_attrs, ),
    BY_X(brelu, brelu_attrs, ),
    BY_OUT(soft_relu, soft_relu_attrs, ),
    BY_X(hard_shrink, hard_shrink_attrs, ),
    FORWARD("softshrink", softshrink, softshrink_attrs, GRAD_BY_X, ),
    BACKWARD("softshrink", hard_shrink, softshrink_attrs, grad_x_in, ),
    BY_X(tanh_shrink, plain, ),
    BY_X(thresholded_relu, thresholded_attrs, ),
    BY_X(stanh, stanh_attrs, ),
    SIGN(GEN_1X, 0),
    SIGN(GEN_2X, FULL_SCALE),
    {.type = "pow",
     .ins = pow_in,
     .outs = out_out,
     .attrs = pow_attrs,
     .grad = "X FactorTensor Out@GRAD -> X@GRAD",
     .infer = map_infer,
     .run = pow_run},
    {.type = "pow_grad",
     .ins = pow_grad_in,
     .outs = dx_out,
     .attrs = pow_attrs,
     .infer = slope_infer,
     .run = pow_grad_run},
    {0},
};
