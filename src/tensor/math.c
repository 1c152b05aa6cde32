/* Vector loops for several instruction sets (math.h, math_path.h).
 *
 * math_loops.h is compiled once for each set, and the best one of the machine is chosen at the
 * first call. Each loop computes an element in the same way in all of them, so the bits do not
 * depend on the machine. Loops over many elements are cut into parts for the thread pool that the
 * caller was lent; a part's bounds do not change an element's value. */
#include "tensor/math.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/thread_pool.h"
#include "tensor/math_path.h"

/* The pragmas are gcc's: what clang compiles has the plain loops only. */
#if defined(__x86_64__) && !defined(__clang__)
#define WIDE_LOOPS
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#define LOOP(name) name##_avx512
#define LOOP_NAME "avx512"
#include "tensor/math_loops.h"
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2")
#define LOOP(name) name##_avx2
#define LOOP_NAME "avx2"
#include "tensor/math_loops.h"
#pragma GCC pop_options
#endif

#define LOOP(name) name##_plain
#define LOOP_NAME "plain"
#include "tensor/math_loops.h"

const struct math_path *math_path_at(int i)
{
    const struct math_path *have[3];
    int n = 0;
#ifdef WIDE_LOOPS
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        have[n++] = &path_avx512;
    if (__builtin_cpu_supports("avx2"))
        have[n++] = &path_avx2;
#endif
    have[n++] = &path_plain;
    return i >= 0 && i < n ? have[i] : NULL;
}

/* Chosen at the first call; threads that race choose the same. */
const struct math_path *math_path_best(void)
{
    static const struct math_path *chosen;
    const struct math_path *p = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (!p) {
        p = math_path_at(0);
        __atomic_store_n(&chosen, p, __ATOMIC_RELAXED);
    }
    return p;
}

/* ---- loops over elements: large ones are shared with the caller's thread pool ---- */

struct elements {
    const struct math_path *path;
    const float *x, *y;
    float *out;
    float factor;
    enum math_act act;
};

static void axpy_part(void *arg, int64_t from, int64_t to)
{
    const struct elements *e = arg;
    e->path->axpy(to - from, e->factor, e->x + from, e->out + from);
}

static void scale_part(void *arg, int64_t from, int64_t to)
{
    const struct elements *e = arg;
    e->path->scale(to - from, e->factor, e->out + from);
}

static void add_part(void *arg, int64_t from, int64_t to)
{
    const struct elements *e = arg;
    e->path->add(to - from, e->x + from, e->y + from, e->out + from);
}

static void copy_part(void *arg, int64_t from, int64_t to)
{
    const struct elements *e = arg;
    memcpy(e->out + from, e->x + from, (size_t)(to - from) * sizeof *e->out);
}

static void exp_part(void *arg, int64_t from, int64_t to)
{
    const struct elements *e = arg;
    e->path->exp(to - from, e->x + from, e->out + from);
}

static void sigmoid_part(void *arg, int64_t from, int64_t to)
{
    const struct elements *e = arg;
    e->path->sigmoid(to - from, e->x + from, e->out + from);
}

static void tanh_part(void *arg, int64_t from, int64_t to)
{
    const struct elements *e = arg;
    e->path->tanh(to - from, e->x + from, e->out + from);
}

static void act_grad_part(void *arg, int64_t from, int64_t to)
{
    const struct elements *e = arg;
    e->path->act_grad(to - from, e->act, e->x + from, e->y + from, e->out + from);
}

void math_act_grad_f32(int64_t n, enum math_act act, const float *out, const float *dout, float *dx)
{
    struct elements e = {math_path_best(), .x = out, .y = dout, .out = dx, .act = act};
    thread_pool_split(n, thread_pool_elements(n), act_grad_part, &e);
}

void math_axpy_f32(int64_t n, float a, const float *x, float *y)
{
    struct elements e = {math_path_best(), .x = x, .out = y, .factor = a};
    thread_pool_split(n, thread_pool_elements(n), axpy_part, &e);
}

void math_scale_f32(int64_t n, float a, float *x)
{
    struct elements e = {math_path_best(), .out = x, .factor = a};
    thread_pool_split(n, thread_pool_elements(n), scale_part, &e);
}

void math_add_f32(int64_t n, const float *x, const float *y, float *out)
{
    struct elements e = {math_path_best(), .x = x, .y = y, .out = out};
    thread_pool_split(n, thread_pool_elements(n), add_part, &e);
}

void math_copy_f32(int64_t n, const float *x, float *out)
{
    struct elements e = {.x = x, .out = out};
    thread_pool_split(n, thread_pool_elements(n), copy_part, &e);
}

void math_exp_f32(int64_t n, const float *x, float *out)
{
    struct elements e = {math_path_best(), .x = x, .out = out};
    thread_pool_split(n, thread_pool_elements(n), exp_part, &e);
}

void math_sigmoid_f32(int64_t n, const float *x, float *out)
{
    struct elements e = {math_path_best(), .x = x, .out = out};
    thread_pool_split(n, thread_pool_elements(n), sigmoid_part, &e);
}

void math_tanh_f32(int64_t n, const float *x, float *out)
{
    struct elements e = {math_path_best(), .x = x, .out = out};
    thread_pool_split(n, thread_pool_elements(n), tanh_part, &e);
}

/* ---- sums ---- */

struct column_sums {
    int64_t rows, cols;
    const float *x;
    float *out;
};

/* Blocks of 32 columns, as the loop takes them. */
static void columns_part(void *arg, int64_t from, int64_t to)
{
    const struct column_sums *c = arg;
    int64_t first = 32 * from, last = 32 * to < c->cols ? 32 * to : c->cols;
    math_path_best()->sum_rows(c->rows, last - first, c->cols, c->x + first, c->out + first);
}

void math_sum_rows_f32(int64_t rows, int64_t cols, const float *x, float *out)
{
    struct column_sums c = {rows, cols, x, out};
    int64_t blocks = (cols + 31) / 32;
    thread_pool_split(blocks, thread_pool_rows(blocks, 32 * rows), columns_part, &c);
}

double math_dot_f32(int64_t n, const float *x, const float *y)
{
    return math_path_best()->dot(n, x, y);
}

double math_norm2_f32(int64_t n, const float *x)
{
    return math_path_best()->dot(n, x, x);
}

/* Blocks of k and n, so that the part of B in use stays in the cache; strides take care of the
 * transposes. */
void math_gemm_f64(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha,
                   const double *a, int64_t lda, const double *b, int64_t ldb, double beta,
                   double *c, int64_t ldc)
{
    const int64_t block = 128;
    const int64_t a_row = trans_a ? 1 : lda, a_col = trans_a ? lda : 1;
    const int64_t b_row = trans_b ? 1 : ldb, b_col = trans_b ? ldb : 1;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            c[i * ldc + j] = beta == 0 ? 0 : beta * c[i * ldc + j]; /* 0 also over NaN */
    if (alpha == 0)
        return;
    for (int64_t k0 = 0; k0 < k; k0 += block)
        for (int64_t j0 = 0; j0 < n; j0 += block) {
            int64_t k1 = k0 + block < k ? k0 + block : k, j1 = j0 + block < n ? j0 + block : n;
            for (int64_t i = 0; i < m; i++)
                for (int64_t l = k0; l < k1; l++) {
                    double f = alpha * a[i * a_row + l * a_col];
                    for (int64_t j = j0; j < j1; j++)
                        c[i * ldc + j] += f * b[l * b_row + j * b_col];
                }
        }
}
