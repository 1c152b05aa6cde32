/* Sums (and max, min, prod, averages) of several ranks' data, element by element and in the order
 * of the ranks, so that every engine and every rank gives the same bits. float16 and bfloat16 are
 * computed in float32 and rounded after every step; bool: sum and max are or, prod and min are and.
 * Integers wrap around. */
#include <string.h>

#include "collective/collective_parts.h"
#include "tensor/math.h"

#define STEP 8192 /* bytes at a time: the sum so far stays in the nearest cache */

typedef void (*combine)(const void *x, const void *y, void *out, size_t bytes);

#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define EITHER(a, b) ((a) || (b))
#define BOTH(a, b) ((a) && (b))

#define COMBINE(name, type, wide, op)                                       \
    static void name(const void *x, const void *y, void *out, size_t bytes) \
    {                                                                       \
        const type *a = x, *b = y;                                          \
        type *o = out;                                                      \
        for (size_t i = 0; i < bytes / sizeof(type); i++)                   \
            o[i] = (type)op((wide)a[i], (wide)b[i]);                        \
    }

#define COMBINE_ALL(prefix, type, wide)        \
    COMBINE(prefix##_sum, type, wide, PLUS)    \
    COMBINE(prefix##_max, type, wide, LARGER)  \
    COMBINE(prefix##_min, type, wide, SMALLER) \
    COMBINE(prefix##_prod, type, wide, TIMES)

/* sums and products in unsigned integers: they wrap around, which signed ones must not */
#define COMBINE_WHOLE(prefix, type, wide)      \
    COMBINE(prefix##_sum, type, wide, PLUS)    \
    COMBINE(prefix##_max, type, type, LARGER)  \
    COMBINE(prefix##_min, type, type, SMALLER) \
    COMBINE(prefix##_prod, type, wide, TIMES)

COMBINE(f32_max, float, float, LARGER)
COMBINE(f32_min, float, float, SMALLER)
COMBINE(f32_prod, float, float, TIMES)
COMBINE_ALL(f64, double, double)
COMBINE_WHOLE(i8, int8_t, uint32_t)
COMBINE_WHOLE(u8, uint8_t, uint32_t)
COMBINE_WHOLE(i16, int16_t, uint32_t)
COMBINE_WHOLE(i32, int32_t, uint32_t)
COMBINE_WHOLE(i64, int64_t, uint64_t)
COMBINE(bool_or, uint8_t, uint8_t, EITHER)
COMBINE(bool_and, uint8_t, uint8_t, BOTH)

static void f32_sum(const void *x, const void *y, void *out, size_t bytes)
{
    math_add_f32((int64_t)(bytes / sizeof(float)), x, y, out);
}

/* ---- float16, bfloat16 ---- */

static float bits_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static uint32_t float_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static float half_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
    if (rest >= 0x7c00) /* infinity or NaN */
        return bits_float(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest >= 0x0400)
        return bits_float(sign | ((rest << 13) + (112u << 23)));
    float small = (float)rest * 0x1p-24f; /* below the smallest normal number */
    return bits_float(sign | float_bits(small));
}

/* Rounds to nearest, ties to even. */
static uint16_t float_half(float f)
{
    uint32_t bits = float_bits(f), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (rest >= 0x477ff000) /* 65520: rounds to infinity */
        return (uint16_t)(sign | 0x7c00);
    if (rest < 0x38800000) { /* below 2^-14: the addition rounds to a multiple of 2^-24 */
        uint32_t low = float_bits(bits_float(rest) + 0.5f) - float_bits(0.5f);
        return (uint16_t)(sign | low);
    }
    uint32_t odd = rest >> 13 & 1;
    return (uint16_t)(sign | ((rest - (112u << 23) + 0xfff + odd) >> 13));
}

static float brain_float(uint16_t b)
{
    return bits_float((uint32_t)b << 16);
}

static uint16_t float_brain(float f)
{
    uint32_t bits = float_bits(f);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#define COMBINE_SHORT(name, read, write, op)                                \
    static void name(const void *x, const void *y, void *out, size_t bytes) \
    {                                                                       \
        const uint16_t *a = x, *b = y;                                      \
        uint16_t *o = out;                                                  \
        for (size_t i = 0; i < bytes / sizeof *o; i++) {                    \
            float p = read(a[i]), q = read(b[i]);                           \
            o[i] = write(op(p, q));                                         \
        }                                                                   \
    }

COMBINE_SHORT(f16_sum, half_float, float_half, PLUS)
COMBINE_SHORT(f16_max, half_float, float_half, LARGER)
COMBINE_SHORT(f16_min, half_float, float_half, SMALLER)
COMBINE_SHORT(f16_prod, half_float, float_half, TIMES)
COMBINE_SHORT(bf16_sum, brain_float, float_brain, PLUS)
COMBINE_SHORT(bf16_max, brain_float, float_brain, LARGER)
COMBINE_SHORT(bf16_min, brain_float, float_brain, SMALLER)
COMBINE_SHORT(bf16_prod, brain_float, float_brain, TIMES)

/* ---- averages ---- */

static void divide(enum dtype dtype, int by, void *data, size_t bytes)
{
    size_t n = bytes / dtype_size(dtype);
    double *d = data;
    uint16_t *h = data;
    if (dtype == DTYPE_FP32) {
        math_scale_f32((int64_t)n, 1.0f / (float)by, data);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (dtype == DTYPE_FP64)
            d[i] /= by;
        else if (dtype == DTYPE_FP16)
            h[i] = float_half(half_float(h[i]) / (float)by);
        else
            h[i] = float_brain(brain_float(h[i]) / (float)by);
}

/* ---- choice of the function ---- */

static const struct {
    enum dtype dtype;
    combine by_op[4]; /* sum, max, min, prod */
} table[] = {
    {DTYPE_FP32, {f32_sum, f32_max, f32_min, f32_prod}},
    {DTYPE_FP64, {f64_sum, f64_max, f64_min, f64_prod}},
    {DTYPE_FP16, {f16_sum, f16_max, f16_min, f16_prod}},
    {DTYPE_BF16, {bf16_sum, bf16_max, bf16_min, bf16_prod}},
    {DTYPE_INT8, {i8_sum, i8_max, i8_min, i8_prod}},
    {DTYPE_UINT8, {u8_sum, u8_max, u8_min, u8_prod}},
    {DTYPE_INT16, {i16_sum, i16_max, i16_min, i16_prod}},
    {DTYPE_INT32, {i32_sum, i32_max, i32_min, i32_prod}},
    {DTYPE_INT64, {i64_sum, i64_max, i64_min, i64_prod}},
    {DTYPE_BOOL, {bool_or, bool_or, bool_and, bool_and}},
};

static combine find(enum dtype dtype, enum collective_op op)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].dtype == dtype)
            return table[i].by_op[op == COLLECTIVE_AVG ? COLLECTIVE_SUM : op];
    return NULL;
}

bool fold_knows(enum dtype dtype)
{
    return find(dtype, COLLECTIVE_SUM) != NULL;
}

bool fold_averages(enum dtype dtype)
{
    return dtype == DTYPE_FP32 || dtype == DTYPE_FP64 || dtype == DTYPE_FP16 || dtype == DTYPE_BF16;
}

void fold(enum dtype dtype, enum collective_op op, const uint8_t *const *in, int n, uint8_t *out,
          size_t bytes)
{
    combine two = find(dtype, op);
    _Alignas(64) uint8_t sum[STEP];
    if (n == 1) {
        if (out != in[0] && bytes)
            memmove(out, in[0], bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += STEP) {
        size_t len = bytes - at < STEP ? bytes - at : STEP;
        const uint8_t *so_far = in[0] + at;
        for (int i = 1; i < n; i++) {
            uint8_t *to = i == n - 1 ? out + at : sum;
            two(so_far, in[i] + at, to, len);
            so_far = to;
        }
        if (op == COLLECTIVE_AVG)
            divide(dtype, n, out + at, len);
    }
}
