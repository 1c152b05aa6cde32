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

/* The upper half of a float. */
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

/* From 65536 on it is infinite. */
static inline uint16_t float16_of(float v)
{
    uint16_t sign = (uint16_t)(float_bits(v) >> 31 << 15);
    float a = fabsf(v);
    if (isnan(v))
        return sign | 0x7e00;
    if (a >= 65536.0f)
        return sign | 0x7c00;
    if (a == 0)
        return sign;
    int exponent;
    frexpf(a, &exponent);
    exponent = exponent < -13 ? -13 : exponent;           /* below: without the leading 1 */
    uint32_t scaled = (uint32_t)ldexpf(a, 11 - exponent); /* 0 .. 2047 */
    return (uint16_t)(sign + (uint16_t)((uint32_t)(exponent + 13) << 10) + scaled);
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
