/* Comparisons, logic and bits: equal, not_equal, less_than, less_equal, greater_than,
 * greater_equal, logical_and/or/xor/not, bitwise_and/or/xor/not, isclose, allclose, equal_all;
 * isnan_v2, isinf_v2, isfinite_v2, and isnan, isinf, isfinite of 1.x.
 *
 * Comparisons and logic give bool, with the broadcasting of elementwise.c; a number is true when it
 * is not 0. equal and equal_all of floats: |x - y| < 1e-8. Bits keep the type of X. isclose:
 * |x - y| <= atol + rtol |y|. isfinite (1.x) gives one bool for the whole tensor, isnan and isinf
 * (1.x) whether there is any. None has a gradient. */
#include "ops/ops_common.h"

#include <math.h>
#include <stdlib.h>

#include "tensor/half.h"

enum { X, Y };

#define RUN_LOOP(T, R, expr)                                                            \
    do {                                                                                \
        int last_ = b.ndim - 1;                                                         \
        int64_t n_ = b.dims[last_], sx_ = b.sx[last_], sy_ = b.sy[last_];               \
        struct broadcast_walk w_;                                                       \
        for (broadcast_start(&w_, &b); broadcast_more(&w_); broadcast_step(&w_, &b)) {  \
            const T *px_ = (const T *)x->data + w_.x, *py_ = (const T *)y->data + w_.y; \
            R *po_ = (R *)out->data + w_.out;                                           \
            for (int64_t i_ = 0; i_ < n_; i_++) {                                       \
                T a = px_[i_ * sx_], c = py_[i_ * sy_];                                 \
                po_[i_] = (R)(expr);                                                    \
            }                                                                           \
        }                                                                               \
    } while (0)

static bool dtype_compares(enum dtype t)
{
    return dtype_is_any(t) || dtype_is_half(t);
}

static enum skiff_status check_operands(const struct kernel *k, bool (*is_right)(enum dtype),
                                        int axis, struct broadcast *b, struct skiff_error *err)
{
    TRY(kernel_check_dtype(k, X, is_right, "a number or bool", err));
    TRY(kernel_check_same_dtype(k, Y, X, err));
    if (!broadcast_plan(b, &kernel_in(k, X)->shape, &kernel_in(k, Y)->shape, axis))
        return kernel_fail(k, SKIFF_SHAPE, err, "X and Y do not fit");
    return SKIFF_OK;
}

#define DEFINE_BINARY(name, axis, expr)                                            \
    static enum skiff_status name##_run(struct kernel *k, struct skiff_error *err) \
    {                                                                              \
        const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y);            \
        struct tensor *out = kernel_out(k, 0);                                     \
        struct broadcast b;                                                        \
        TRY(check_operands(k, dtype_is_any, axis, &b, err));                       \
        DISPATCH_ALL(x->dtype, T, RUN_LOOP(T, bool, expr))                         \
        return SKIFF_OK;                                                           \
    }

/* Floats that differ by less than 1e-8 are equal to Paddle. To 1.x two infinities are not: their
 * difference is no number. */
static inline bool same_float(double difference, bool same)
{
    return same || fabs(difference) < 1e-8;
}
#define IS_REAL(v) _Generic((v), float : true, double : true, default : false)
#define SAME(a, c) (IS_REAL(a) ? same_float((double)(a - c), a == c) : a == c)
#define SAME_HALF(a, c) (half_value(x->dtype, a) == half_value(x->dtype, c))
#define SAME_1X(a, c) (IS_REAL(a) ? same_float((double)(a - c), false) : a == c)
#define DEFINE_EQUALITY(name, not_)                                                \
    static enum skiff_status name##_run(struct kernel *k, struct skiff_error *err) \
    {                                                                              \
        const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y);            \
        struct tensor *out = kernel_out(k, 0);                                     \
        struct broadcast b;                                                        \
        TRY(check_operands(k, dtype_compares, k->attr[0].i, &b, err));             \
        if (dtype_is_half(x->dtype))                                               \
            RUN_LOOP(uint16_t, bool, not_ SAME_HALF(a, c));                        \
        DISPATCH_ALL(x->dtype, T, RUN_LOOP(T, bool, not_ SAME(a, c)))              \
        return SKIFF_OK;                                                           \
    }
DEFINE_EQUALITY(equal, )
DEFINE_EQUALITY(not_equal, !)
DEFINE_BINARY(equal_1x, k->attr[0].i, SAME_1X(a, c));
DEFINE_BINARY(not_equal_1x, k->attr[0].i, !SAME_1X(a, c));
DEFINE_BINARY(less_than, k->attr[0].i, a < c);
DEFINE_BINARY(less_equal, k->attr[0].i, a <= c);
DEFINE_BINARY(greater_than, k->attr[0].i, a > c);
DEFINE_BINARY(greater_equal, k->attr[0].i, a >= c);
DEFINE_BINARY(logical_and, -1, (a != 0) & (c != 0));
DEFINE_BINARY(logical_or, -1, (a != 0) | (c != 0));
DEFINE_BINARY(logical_xor, -1, (a != 0) ^ (c != 0));

static bool dtype_has_bits(enum dtype t)
{
    return dtype_is_any(t) && !dtype_is_float(t);
}

/* Equal sizes of integers share one loop: bits do not care for the sign. */
#define DEFINE_BITS(name, op)                                                      \
    static enum skiff_status name##_run(struct kernel *k, struct skiff_error *err) \
    {                                                                              \
        const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y);            \
        struct tensor *out = kernel_out(k, 0);                                     \
        struct broadcast b;                                                        \
        TRY(kernel_check_dtype(k, X, dtype_has_bits, "an integer or bool", err));  \
        TRY(check_operands(k, dtype_has_bits, -1, &b, err));                       \
        size_t size = dtype_size(x->dtype);                                        \
        if (size == 8)                                                             \
            RUN_LOOP(uint64_t, uint64_t, a op c);                                  \
        else if (size == 4)                                                        \
            RUN_LOOP(uint32_t, uint32_t, a op c);                                  \
        else if (size == 2)                                                        \
            RUN_LOOP(uint16_t, uint16_t, a op c);                                  \
        else                                                                       \
            RUN_LOOP(uint8_t, uint8_t, a op c);                                    \
        return SKIFF_OK;                                                           \
    }
DEFINE_BITS(bitwise_and, &);
DEFINE_BITS(bitwise_or, |);
DEFINE_BITS(bitwise_xor, ^);

static enum skiff_status logical_not_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    bool *out = kernel_out(k, 0)->data;
    int64_t n = tensor_numel(x);
    TRY(kernel_check_dtype(k, X, dtype_is_any, "a number or bool", err));
    DISPATCH_ALL(x->dtype, T, const T *p = x->data;
                 for (int64_t i = 0; i < n; i++) out[i] = p[i] == 0)
    return SKIFF_OK;
}

static enum skiff_status bitwise_not_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    const uint8_t *p = x->data;
    uint8_t *out = kernel_out(k, 0)->data;
    TRY(kernel_check_dtype(k, X, dtype_has_bits, "an integer or bool", err));
    for (size_t i = 0; i < tensor_bytes(x); i++)
        out[i] = x->dtype == DTYPE_BOOL ? !p[i] : (uint8_t)~p[i];
    return SKIFF_OK;
}

/* ---- which kind of number ---- */

static bool is_nan(double v)
{
    return isnan(v);
}
static bool is_inf(double v)
{
    return isinf(v);
}
static bool is_finite(double v)
{
    return isfinite(v);
}

static enum skiff_status each_is(struct kernel *k, bool (*is)(double), struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    int64_t n = tensor_numel(x);
    bool *out = kernel_out(k, 0)->data;
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    DISPATCH_NUMBER(x->dtype, T, {
        const T *p = x->data;
        for (int64_t i = 0; i < n; i++)
            out[i] = is((double)p[i]);
    })
    return SKIFF_OK;
}

/* Does any element differ from `all` in being so? */
static enum skiff_status whole_is(struct kernel *k, bool (*is)(double), bool all,
                                  struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X);
    int64_t n = tensor_numel(x), i = 0;
    TRY(kernel_check_dtype(k, X, dtype_is_number, "a number", err));
    DISPATCH_NUMBER(x->dtype, T, {
        const T *p = x->data;
        for (; i < n && is((double)p[i]) == all;)
            i++;
    })
    *(bool *)kernel_out(k, 0)->data = (i < n) != all;
    return SKIFF_OK;
}

#define DEFINE_IS(name, test, all)                                                    \
    static enum skiff_status name##_v2_run(struct kernel *k, struct skiff_error *err) \
    {                                                                                 \
        return each_is(k, test, err);                                                 \
    }                                                                                 \
    static enum skiff_status name##_run(struct kernel *k, struct skiff_error *err)    \
    {                                                                                 \
        return whole_is(k, test, all, err);                                           \
    }
DEFINE_IS(isnan, is_nan, false)
DEFINE_IS(isinf, is_inf, false)
DEFINE_IS(isfinite, is_finite, true)

/* ---- equal within a tolerance, or as wholes ---- */
enum { CLOSE_RTOL_TENSOR = 2, CLOSE_ATOL_TENSOR };
enum { CLOSE_RTOL, CLOSE_ATOL, CLOSE_NAN };

static double tolerance(const struct kernel *k, int slot, int attr)
{
    if (k->kind->attrs[attr].type == ATTR_FLOAT)
        return (double)k->attr[attr].f;
    return kernel_in(k, slot) ? tensor_read_number(kernel_in(k, slot))
                              : strtod(k->attr[attr].s, NULL);
}

static enum skiff_status close_run(struct kernel *k, bool each, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y);
    int64_t n = tensor_numel(x);
    bool *out = kernel_out(k, 0)->data, nan_too = k->attr[CLOSE_NAN].b, all = true;
    double rtol = tolerance(k, CLOSE_RTOL_TENSOR, CLOSE_RTOL);
    double atol = tolerance(k, CLOSE_ATOL_TENSOR, CLOSE_ATOL);
    TRY(kernel_check_dtype(k, X, dtype_is_float, "float32 or float64", err));
    TRY(kernel_check_same_dtype(k, Y, X, err));
    if (!shape_equal(&x->shape, &y->shape))
        return kernel_fail(k, SKIFF_SHAPE, err, "Input and Other differ in shape");
    DISPATCH_FLOAT(x->dtype, T, {
        const T *p = x->data, *q = y->data;
        for (int64_t i = 0; i < n; i++) {
            double a = (double)p[i], b = (double)q[i];
            bool near = a == b || fabs(a - b) <= atol + rtol * fabs(b);
            near = near || (nan_too && isnan(a) && isnan(b));
            all = all && near;
            if (each)
                out[i] = near;
        }
    })
    if (!each)
        *out = all;
    return SKIFF_OK;
}
static enum skiff_status isclose_run(struct kernel *k, struct skiff_error *err)
{
    return close_run(k, true, err);
}
static enum skiff_status allclose_run(struct kernel *k, struct skiff_error *err)
{
    return close_run(k, false, err);
}

static enum skiff_status equal_all_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, X), *y = kernel_in(k, Y);
    int64_t n = tensor_numel(x), i = 0;
    TRY(kernel_check_dtype(k, X, dtype_is_any, "a number or bool", err));
    TRY(kernel_check_same_dtype(k, Y, X, err));
    bool same = shape_equal(&x->shape, &y->shape);
    DISPATCH_ALL(x->dtype, T, {
        const T *p = x->data, *q = y->data;
        for (; same && i < n && SAME(p[i], q[i]);)
            i++;
    })
    *(bool *)kernel_out(k, 0)->data = same && i == n;
    return SKIFF_OK;
}

static enum skiff_status compare_infer(struct infer *c, struct skiff_error *err)
{
    return infer_broadcast(c, DTYPE_BOOL, c->attr[0].i, err);
}
static enum skiff_status logical_infer(struct infer *c, struct skiff_error *err)
{
    return infer_broadcast(c, DTYPE_BOOL, -1, err);
}
static enum skiff_status bits_infer(struct infer *c, struct skiff_error *err)
{
    return infer_broadcast(c, infer_in_dtype(c, X, 0), -1, err);
}
static enum skiff_status not_infer(struct infer *c, struct skiff_error *err)
{
    struct shape s = *infer_in(c, X, 0);
    TRY(infer_out(c, 0, 0, DTYPE_BOOL, &s, err));
    infer_share_lod(c, X, 0, 0, 0);
    return SKIFF_OK;
}
static enum skiff_status same_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, X, 0, err);
}
static enum skiff_status one_bool_infer(struct infer *c, struct skiff_error *err)
{
    struct shape one = infer_one_number(c);
    return infer_out(c, 0, 0, DTYPE_BOOL, &one, err);
}
static enum skiff_status isfinite_infer(struct infer *c, struct skiff_error *err)
{
    struct shape one = SHAPE(1);
    return infer_out(c, 0, 0, DTYPE_BOOL, &one, err);
}

static const struct op_slot xy[] = {{"X", 0}, {"Y", 0}, {0}};
static const struct op_slot x_only[] = {{"X", 0}, {0}};
static const struct op_slot outs[] = {{"Out", 0}, {0}};
static const struct op_attr_spec compare_attrs[] = {
    A_INT("axis", -1), A_BOOL("force_cpu", false), {0}};
static const struct op_attr_spec none[] = {{0}};
static const struct op_slot close_in_1x[] = {{"Input", 0}, {"Other", 0}, {0}};
static const struct op_slot close_in[] = {
    {"Input", 0}, {"Other", 0}, {"Rtol", SLOT_OPTIONAL}, {"Atol", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec close_attrs_1x[] = {
    A_FLOAT("rtol", 1e-5f), A_FLOAT("atol", 1e-8f), A_BOOL("equal_nan", false), {0}};
static const struct op_attr_spec close_attrs[] = {
    A_STR("rtol", "1e-5"), A_STR("atol", "1e-8"), A_BOOL("equal_nan", false), {0}};

#define KIND_WITH(name, loop, more, in, a, rule, ...)                                        \
    {                                                                                        \
        .type = name, .ins = in, .outs = outs, .attrs = a, .infer = rule, .run = loop##_run, \
        .flags = OP_NO_GRAD_NEEDED | (more), __VA_ARGS__                                     \
    }
#define KIND_AS(name, loop, ...) KIND_WITH(name, loop, 0, __VA_ARGS__)
#define KIND(name, ...) KIND_WITH(#name, name, 0, __VA_ARGS__)

const struct op_kind ops_compare[] = {
    KIND_AS("equal", equal_1x, xy, compare_attrs, compare_infer, .generations = GEN_1X),
    KIND_AS("equal", equal, xy, compare_attrs, compare_infer, .generations = GEN_2X),
    KIND_AS("not_equal", not_equal_1x, xy, compare_attrs, compare_infer, .generations = GEN_1X),
    KIND_AS("not_equal", not_equal, xy, compare_attrs, compare_infer, .generations = GEN_2X),
    KIND(less_than, xy, compare_attrs, compare_infer, ),
    KIND(less_equal, xy, compare_attrs, compare_infer, ),
    KIND(greater_than, xy, compare_attrs, compare_infer, ),
    KIND(greater_equal, xy, compare_attrs, compare_infer, ),
    KIND(logical_and, xy, none, logical_infer, ),
    KIND(logical_or, xy, none, logical_infer, ),
    KIND(logical_xor, xy, none, logical_infer, ),
    KIND(logical_not, x_only, none, not_infer, ),
    KIND(bitwise_and, xy, none, bits_infer, .generations = GEN_2X),
    KIND(bitwise_or, xy, none, bits_infer, .generations = GEN_2X),
    KIND(bitwise_xor, xy, none, bits_infer, .generations = GEN_2X),
    KIND(bitwise_not, x_only, none, same_infer, .generations = GEN_2X),
    KIND(isfinite, x_only, none, isfinite_infer, .generations = GEN_1X),
    KIND(isnan, x_only, none, isfinite_infer, .generations = GEN_1X),
    KIND(isinf, x_only, none, isfinite_infer, .generations = GEN_1X),
    KIND(isfinite_v2, x_only, none, not_infer, .generations = GEN_2X),
    KIND(isnan_v2, x_only, none, not_infer, .generations = GEN_2X),
    KIND(isinf_v2, x_only, none, not_infer, .generations = GEN_2X),
    KIND(isclose, close_in, close_attrs, not_infer, .generations = GEN_2X),
    KIND_WITH("allclose", allclose, OP_ONE_DIM, close_in_1x, close_attrs_1x, one_bool_infer,
              .generations = GEN_1X),
    KIND(allclose, close_in, close_attrs, one_bool_infer, .generations = GEN_2X),
    KIND(equal_all, xy, none, one_bool_infer, .generations = GEN_2X),
    {0},
};
