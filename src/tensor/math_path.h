/* One set of vector loops per instruction set. math.c builds them and picks the best one that the
 * machine has; tests run all of them. (Not target_clones: its resolvers run before a thread
 * sanitizer is ready, and a single clone cannot be called.) */
#ifndef TENSOR_MATH_PATH_H
#define TENSOR_MATH_PATH_H

#include "tensor/math.h"

struct math_path {
    const char *name; /* "avx512", "avx2", "plain" */
    void (*axpy)(int64_t n, float a, const float *x, float *y);
    void (*scale)(int64_t n, float a, float *x);
    void (*add)(int64_t n, const float *x, const float *y, float *out);
    /* out[c] = sum_r x[r * stride + c] */
    void (*sum_rows)(int64_t rows, int64_t cols, int64_t stride, const float *x, float *out);
    double (*dot)(int64_t n, const float *x, const float *y);
    void (*exp)(int64_t n, const float *x, float *out);
    void (*sigmoid)(int64_t n, const float *x, float *out);
    void (*tanh)(int64_t n, const float *x, float *out);
    /* y[m,n] = act(y + bias); bias may be NULL */
    void (*finish)(int64_t m, int64_t n, const float *bias, enum math_act act, float *y);
    void (*act_grad)(int64_t n, enum math_act act, const float *out, const float *dout, float *dx);
};

/* The i-th path that this machine can run, best first; NULL past the last. */
const struct math_path *math_path_at(int i);
const struct math_path *math_path_best(void);

#endif
