/* Out = X op Y with Paddle's broadcasting (ops_common.h): add, sub, mul, div, max, min, pow, mod,
 * floordiv, for float32, float64, int32, int64; fmax, fmin, which pass over NaN, and atan2 (2.x).
 * Gradients are in elementwise_grad.c.
 *
 * div of integers truncates. mod of floats has the sign of Y: r = fmod(x, y), plus y when r and y
 * differ in sign. mod and floordiv of integers: 1.x truncates as C does (floordiv of floats too);
 * 2.x rounds down, and mod has the sign of Y. Division of an integer by zero is an error.
 * mul and div take SelectedRows X with a Y of one element: the values are scaled, the rows stay. */
#include "ops/ops_common.h"

#include <tgmath.h>

#include "tensor/math.h"

enum { X, Y };

struct binary_loops {
    binary_loop f32, f64, i32, i64;
    bool divides; /* integers: Y may not hold 0 */
};

#define DEFINE_LOOP(fn, T, expr)                                                                \
    static void fn(int64_t n, const void *px, int64_t sx, const void *py, int64_t sy, void *po) \
    {                                                                                           \
        const T *a_ = px, *b_ = py;                                                             \
        T *o_ = po;                                                                             \
        if (sx && sy)                                                                           \
            for (int64_t i = 0; i < n; i++) {                                                   \
                T x = a_[i], y = b_[i];                                                         \
                o_[i] = (T)(expr);                                                              \
            }                                                                                   \
        else if (sx)                                                                            \
            for (int64_t i = 0; i < n; i++) {                                                   \
                T x = a_[i], y = *b_;                                                           \
                o_[i] = (T)(expr);                                                              \
            }                                                                                   \
        else                                                                                    \
            for (int64_t i = 0; i < n; i++) {                                                   \
                T x = *a_, y = b_[i * sy];                                                      \
                o_[i] = (T)(expr);                                                              \
            }                                                                                   \
    }
/* integer formulas are written for signed overflow to wrap: W() is the unsigned type */
#define DEFINE_LOOPS(name, float_expr, int_expr, is_division)                            \
    DEFINE_LOOP(name##_f32, float, float_expr)                                           \
    DEFINE_LOOP(name##_f64, double, float_expr)                                          \
    DEFINE_LOOP(name##_i32, int32_t, int_expr)                                           \
    DEFINE_LOOP(name##_i64, int64_t, int_expr)                                           \
    static const struct binary_loops name##_loops = {name##_f32, name##_f64, name##_i32, \
                                                     name##_i64, is_division};

#define W(v) ((uint64_t)(v))

/* y is not 0; y = -1 is kept from the hardware division, which traps on the smallest integer */
static inline int64_t div_trunc(int64_t x, int64_t y)
{
    return y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}
static inline int64_t mod_trunc(int64_t x, int64_t y)
{
    return y == -1 ? 0 : x % y;
}
static inline int64_t div_floor(int64_t x, int64_t y)
{
    int64_t q = div_trunc(x, y);
    return q - (mod_trunc(x, y) != 0 && (x < 0) != (y < 0));
}
static inline int64_t mod_floor(int64_t x, int64_t y)
{
    int64_t r = mod_trunc(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
static inline double fmod_floor(double x, double y)
{
    double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
static inline int64_t pow_int(int64_t x, int64_t y)
{
    return (int64_t)llrint(pow((double)x, (double)y));
}

DEFINE_LOOPS(add, x + y, W(x) + W(y), false);
DEFINE_LOOPS(sub, x - y, W(x) - W(y), false);
DEFINE_LOOPS(mul, x *y, W(x) * W(y), false);
DEFINE_LOOPS(div, x / y, div_trunc(x, y), true);
DEFINE_LOOPS(max, x > y ? x : y, x > y ? x : y, false);
DEFINE_LOOPS(min, x < y ? x : y, x < y ? x : y, false);
DEFINE_LOOPS(pow, pow(x, y), pow_int(x, y), false);
DEFINE_LOOPS(fmax, fmax(x, y), x > y ? x : y, false);
DEFINE_LOOPS(fmin, fmin(x, y), x < y ? x : y, false);
DEFINE_LOOPS(atan2, atan2(x, y), atan2((double)x, (double)y), false);
DEFINE_LOOPS(mod_1x, fmod_floor(x, y), mod_trunc(x, y), true);
DEFINE_LOOPS(mod_2x, fmod_floor(x, y), mod_floor(x, y), true);
DEFINE_LOOPS(floordiv_1x, trunc(x / y), div_trunc(x, y), true);
DEFINE_LOOPS(floordiv_2x, floor(x / y), div_floor(x, y), true);

static bool has_zero(const struct tensor *t)
{
    int64_t n = tensor_numel(t);
    DISPATCH_INDEX(t->dtype, T, const T *p = t->data;
                   for (int64_t i = 0; i < n; i++) if (p[i] == 0) return true)
    return false;
}

static enum skiff_status elementwise_run(struct kernel *k, const struct binary_loops *f,
                                         struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y);
    struct tensor *out = kernel_out(k, 0);
    TRY(kernel_check_dtype(k, X, dtype_is_number, "float32, float64, int32 or int64", err));
    TRY(kernel_check_same_dtype(k, Y, X, err));
    if (f->divides && has_zero(y))
        return kernel_fail(k, SKIFF_RANGE, err, "division of integers by zero: input Y (%s)",
                           kernel_in_name(k, Y, 0));
    if (kernel_in_is_rows(k, X, 0))
        rows_copy_ids(kernel_out_value(k, 0, 0), kernel_in_value(k, X, 0));
    struct broadcast b;
    if (!broadcast_plan(&b, &x->shape, &y->shape, k->attr[0].i))
        return kernel_fail(k, SKIFF_SHAPE, err, "X and Y do not fit");
    binary_loop loop = x->dtype == DTYPE_FP32    ? f->f32
                       : x->dtype == DTYPE_FP64  ? f->f64
                       : x->dtype == DTYPE_INT32 ? f->i32
                                                 : f->i64;
    size_t elem = dtype_size(x->dtype);
    broadcast_run(&b, loop, elem, elem, x->data, y->data, out->data);
    return SKIFF_OK;
}

static void add_runs(int64_t n, const void *x, int64_t sx, const void *y, int64_t sy, void *out)
{
    math_add_f32(n, x, y, out);
}

/* The hottest: same shape, or a bias row repeated over the rows. */
static enum skiff_status add_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y);
    struct tensor *out = kernel_out(k, 0);
    struct broadcast b;
    if (x->dtype != DTYPE_FP32 || y->dtype != DTYPE_FP32 ||
        !broadcast_plan(&b, &x->shape, &y->shape, k->attr[0].i))
        return elementwise_run(k, &add_loops, err);
    int last = b.ndim - 1;
    if (b.sx[last] != 1 || b.sy[last] != 1)
        return elementwise_run(k, &add_loops, err);
    broadcast_run(&b, add_runs, sizeof(float), sizeof(float), x->data, y->data, out->data);
    return SKIFF_OK;
}

#define DEFINE_RUN(name)                                                           \
    static enum skiff_status name##_run(struct kernel *k, struct skiff_error *err) \
    {                                                                              \
        return elementwise_run(k, &name##_loops, err);                             \
    }
DEFINE_RUN(sub);
DEFINE_RUN(mul);
DEFINE_RUN(div);
DEFINE_RUN(max);
DEFINE_RUN(min);
DEFINE_RUN(pow);
DEFINE_RUN(fmax);
DEFINE_RUN(fmin);
DEFINE_RUN(atan2);
DEFINE_RUN(mod_1x);
DEFINE_RUN(mod_2x);
DEFINE_RUN(floordiv_1x);
DEFINE_RUN(floordiv_2x);

static enum skiff_status elementwise_infer(struct infer *c, struct skiff_error *err)
{
    if (infer_in_is_rows(c, X, 0)) {
        const struct shape *y = infer_in(c, Y, 0);
        if (shape_numel(y) != 1)
            return infer_fail(c, Y, 0, err, "X is SelectedRows: Y must hold one element");
        return infer_same(c, X, 0, err);
    }
    return infer_broadcast(c, infer_in_dtype(c, X, 0), c->attr[0].i, err);
}

static const struct op_slot ins[] = {{"X", 0}, {"Y", 0}, {0}};
static const struct op_slot outs[] = {{"Out", 0}, {0}};
static const struct op_attr_spec attrs[] = {
    A_INT("axis", -1),
    {.name = "use_mkldnn", .type = ATTR_BOOLEAN, .flags = ATTR_ONLY_1X},
    {.name = "x_data_format", .type = ATTR_STRING, .flags = ATTR_ONLY_1X, .def = {.s = ""}},
    {.name = "y_data_format", .type = ATTR_STRING, .flags = ATTR_ONLY_1X, .def = {.s = ""}},
    {0},
};

static const struct op_slot atan2_ins[] = {{"X1", 0}, {"X2", 0}, {0}};
static const struct op_attr_spec no_axis[] = {
    {.name = "axis", .type = ATTR_INT, .flags = ATTR_HIDDEN, .def = {.i = -1}}, {0}};

#define BINARY(t, fn, ...)                                                  \
    {                                                                       \
        .type = "elementwise_" t, .ins = ins, .outs = outs, .attrs = attrs, \
        .infer = elementwise_infer, .run = fn##_run, __VA_ARGS__            \
    }
#define GRAD "X Y Out@GRAD -> X@GRAD Y@GRAD"

const struct op_kind ops_elementwise[] = {
    BINARY("add", add, .grad = GRAD, .class = CLASS_ADD),
    BINARY("sub", sub, .grad = GRAD),
    BINARY("mul", mul, .grad = GRAD, .flags = OP_ROWS_OK),
    BINARY("div", div, .grad = "X Y Out Out@GRAD -> X@GRAD Y@GRAD", .flags = OP_ROWS_OK),
    BINARY("max", max, .grad = GRAD),
    BINARY("min", min, .grad = GRAD),
    BINARY("pow", pow, .grad = GRAD),
    BINARY("fmax", fmax, .grad = GRAD, .generations = GEN_2X),
    BINARY("fmin", fmin, .grad = GRAD, .generations = GEN_2X),
    {.type = "atan2",
     .generations = GEN_2X,
     .ins = atan2_ins,
     .outs = outs,
     .attrs = no_axis,
     .grad = "X1 X2 Out@GRAD -> X1@GRAD X2@GRAD",
     .infer = elementwise_infer,
     .run = atan2_run},
    BINARY("mod", mod_1x, .generations = GEN_1X, .flags = OP_NO_GRAD_NEEDED),
    BINARY("mod", mod_2x, .generations = GEN_2X, .flags = OP_NO_GRAD_NEEDED),
    BINARY("floordiv", floordiv_1x, .generations = GEN_1X, .flags = OP_NO_GRAD_NEEDED),
    BINARY("floordiv", floordiv_2x, .generations = GEN_2X, .flags = OP_NO_GRAD_NEEDED),
    {0},
};
