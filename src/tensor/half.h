/* Half-precision numbers, which are only stored and converted: nothing computes with them. What
 * does not fit is cut off, not rounded, as Paddle does it on a CPU. */
#ifndef TENSOR_HALF_H
#define TENSOR_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tensor/dtype.h"

static inline float bits_float(uint32_t bits)
{
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline uint32_t float_bits(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

/* The upper half of a float; as in Paddle, the rest is cut off. */
static inline uint16_t bfloat16_of(float v)
{
    uint32_t bits = float_bits(v);
    if (isnan(v))
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)(bits >> 16);
}

static inline float float16_value(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    float sign = h >> 15 ? -1.0f : 1.0f;
    if (exponent == 31)
        return fraction ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexpf((float)(fraction + 1024), exponent - 25)
                            : ldexpf((float)fraction, -24));
}

/* As Paddle converts: what does not fit is cut off, not rounded; beyond 65504 it is infinite. */
static inline uint16_t float16_of(float v)
{
    uint32_t bits = float_bits(v), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (isnan(v))
        return (uint16_t)(sign | 0x7e00);
    if (rest > 0x477fe000)
        return (uint16_t)(sign | 0x7c00);
    if (rest < 0x38800000) /* below 2^-14: units of 2^-24 */
        return (uint16_t)(sign | (uint32_t)(bits_float(rest) * 0x1p24f));
    return (uint16_t)(sign | (rest - 0x38000000) >> 13);
}

static inline bool dtype_is_half(enum dtype t)
{
    return t == DTYPE_FP16 || t == DTYPE_BF16;
}

static inline float half_value(enum dtype t, uint16_t h)
{
    return t == DTYPE_BF16 ? bits_float((uint32_t)h << 16) : float16_value(h);
}

static inline uint16_t half_of(enum dtype t, float v)
{
    return t == DTYPE_BF16 ? bfloat16_of(v) : float16_of(v);
}

#endif
