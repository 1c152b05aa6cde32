/* Dense math: GEMM on oneDNN (math_dnnl.c is the only file that includes dnnl.h) and vector loops
 * that the compiler vectorises, built for several instruction sets and chosen at run time
 * (math_path.h). The vector loops give the same bits on every machine. Calls are single-threaded
 * (training's parallelism is Hogwild threads) and take no locks, but large ones share their work
 * with the thread pool that the calling thread was lent (base/thread_pool.h). In steady state
 * nothing allocates. */
#ifndef TENSOR_MATH_H
#define TENSOR_MATH_H

#include <stdbool.h>
#include <stdint.h>

/* C[m,n] = alpha * op(A) op(B) + beta * C; row-major, ld* = row length in memory of the stored
 * matrix. */
void math_gemm_f32(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                   const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                   int64_t ldc);
/* Same in double; plain blocked loops (used by checks and by float64 programs, not by training). */
void math_gemm_f64(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha,
                   const double *a, int64_t lda, const double *b, int64_t ldb, double beta,
                   double *c, int64_t ldc);

/* RELU leaves NaN as it is, as Paddle 1.x does; RELU_2X makes it 0, as 2.x does. */
enum math_act {
    MATH_ACT_NONE,
    MATH_ACT_RELU,
    MATH_ACT_SIGMOID,
    MATH_ACT_TANH,
    MATH_ACT_RELU_2X,
};

/* Y[m,n] = act(X[m,k] W[k,n] + bias[n]); bias may be NULL. */
void math_fc_f32(int64_t m, int64_t n, int64_t k, const float *x, const float *w, const float *bias,
                 enum math_act act, float *y);

/* dx = dout * act'(x), taken from out = act(x). dx may be dout. */
void math_act_grad_f32(int64_t n, enum math_act act, const float *out, const float *dout,
                       float *dx);

void math_copy_f32(int64_t n, const float *x, float *out);
void math_axpy_f32(int64_t n, float a, const float *x, float *y); /* y += a x */
void math_scale_f32(int64_t n, float a, float *x);                /* x *= a */
void math_add_f32(int64_t n, const float *x, const float *y, float *out);
void math_sum_rows_f32(int64_t rows, int64_t cols, const float *x,
                       float *out); /* out[c] = sum_r x[r,c] */
double math_dot_f32(int64_t n, const float *x, const float *y);
double math_norm2_f32(int64_t n, const float *x); /* sum of squares */
void math_exp_f32(int64_t n, const float *x, float *out);
void math_sigmoid_f32(int64_t n, const float *x, float *out);
void math_tanh_f32(int64_t n, const float *x, float *out);

#endif
