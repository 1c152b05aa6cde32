/* Values of every type for tests of collective sums, and their expected sums. */
#ifndef COLLECTIVE_VALUES_TEST_H
#define COLLECTIVE_VALUES_TEST_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collective/collective.h"

static const enum dtype dtypes[] = {DTYPE_FP32,  DTYPE_FP64,  DTYPE_FP16,  DTYPE_BF16,  DTYPE_INT8,
                                    DTYPE_UINT8, DTYPE_INT16, DTYPE_INT32, DTYPE_INT64, DTYPE_BOOL};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

/* Small integers as float16 and bfloat16, exact in both: 0 to 3, negative in one case of 5. */
static uint16_t half_of(int v)
{
    static const uint16_t positive[] = {0, 0x3c00, 0x4000, 0x4200};
    return v < 0 ? (uint16_t)(positive[-v] | 0x8000) : positive[v];
}

static uint16_t brain_of(int v)
{
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static double read_half(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double v = e ? (double)(m + 1024) * (double)(1u << e) / 33554432.0 : m / 16777216.0;
    return h & 0x8000 ? -v : v;
}

static double read_brain(uint16_t b)
{
    uint32_t bits = (uint32_t)b << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static int small_value(int rank, int64_t i)
{
    int v = (int)((i * 7 + rank * 3 + i / 11) % 4);
    return (i + rank) % 5 == 4 ? -v : v;
}

static void put_value(void *data, int64_t i, enum dtype t, int v)
{
    switch (t) {
    case DTYPE_FP32:
        ((float *)data)[i] = (float)v;
        break;
    case DTYPE_FP64:
        ((double *)data)[i] = v;
        break;
    case DTYPE_FP16:
        ((uint16_t *)data)[i] = half_of(v);
        break;
    case DTYPE_BF16:
        ((uint16_t *)data)[i] = brain_of(v);
        break;
    case DTYPE_INT8:
        ((int8_t *)data)[i] = (int8_t)v;
        break;
    case DTYPE_UINT8:
        ((uint8_t *)data)[i] = (uint8_t)v;
        break;
    case DTYPE_INT16:
        ((int16_t *)data)[i] = (int16_t)v;
        break;
    case DTYPE_INT32:
        ((int32_t *)data)[i] = v;
        break;
    case DTYPE_INT64:
        ((int64_t *)data)[i] = v;
        break;
    default:
        ((uint8_t *)data)[i] = v != 0;
        break;
    }
}

static double get_value(const void *data, int64_t i, enum dtype t)
{
    switch (t) {
    case DTYPE_FP32:
        return ((const float *)data)[i];
    case DTYPE_FP64:
        return ((const double *)data)[i];
    case DTYPE_FP16:
        return read_half(((const uint16_t *)data)[i]);
    case DTYPE_BF16:
        return read_brain(((const uint16_t *)data)[i]);
    case DTYPE_INT8:
        return ((const int8_t *)data)[i];
    case DTYPE_UINT8:
        return ((const uint8_t *)data)[i];
    case DTYPE_INT16:
        return ((const int16_t *)data)[i];
    case DTYPE_INT32:
        return ((const int32_t *)data)[i];
    case DTYPE_INT64:
        return (double)((const int64_t *)data)[i];
    default:
        return ((const uint8_t *)data)[i];
    }
}

/* A rank's value at i, as the type stores it. */
static double held(int rank, int64_t i, enum dtype t)
{
    int v = small_value(rank, i);
    return t == DTYPE_BOOL ? v != 0 : t == DTYPE_UINT8 ? (uint8_t)v : v;
}

static double expected(int size, int64_t i, enum dtype t, enum collective_op op)
{
    double sum = held(0, i, t);
    for (int r = 1; r < size; r++) {
        double v = held(r, i, t);
        if (op == COLLECTIVE_SUM)
            sum += v;
        else if (op == COLLECTIVE_PROD)
            sum *= v;
        else if (op == COLLECTIVE_MAX ? v > sum : v < sum)
            sum = v;
        if (t == DTYPE_UINT8)
            sum = (uint8_t)(uint64_t)sum;
        if (t == DTYPE_BOOL)
            sum = sum != 0;
    }
    return t == DTYPE_INT8 ? (int8_t)(int64_t)sum : sum;
}

static void *values(int rank, int64_t n, enum dtype t)
{
    void *data = malloc((size_t)n * dtype_size(t) + 64);
    for (int64_t i = 0; i < n; i++)
        put_value(data, i, t, small_value(rank, i));
    return data;
}

#endif
