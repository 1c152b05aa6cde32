/* Every loop on every instruction set that this machine has, against plain double arithmetic; the
 * paths against each other bit by bit. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/thread_pool.h"
#include "tensor/math_path.h"

static float *fill(int64_t n, uint32_t seed)
{
    struct minstd r;
    minstd_seed(&r, seed);
    float *x = malloc((size_t)(n ? n : 1) * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = minstd_float(&r) * 2 - 1;
    return x;
}

static void same_bits(const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i])))
            fail_msg("element %ld: %a and %a", (long)i, (double)a[i], (double)b[i]);
}

struct gemm_case {
    bool ta, tb;
    int64_t m, n, k, extra; /* extra: room at the end of each row */
    float alpha, beta;
};

static void gemm_compare(const struct gemm_case *c)
{
    int64_t lda = (c->ta ? c->m : c->k) + c->extra, ldb = (c->tb ? c->k : c->n) + c->extra;
    int64_t ldc = c->n + c->extra;
    float *a = fill((c->ta ? c->k : c->m) * lda, 1), *b = fill((c->tb ? c->n : c->k) * ldb, 2);
    float *out = fill(c->m * ldc, 3), *before = fill(c->m * ldc, 3);
    if (c->beta == 0)
        for (int64_t i = 0; i < c->m; i++)
            for (int64_t j = 0; j < c->n; j++)
                out[i * ldc + j] = NAN; /* must not be read */
    math_gemm_f32(c->ta, c->tb, c->m, c->n, c->k, c->alpha, a, lda, b, ldb, c->beta, out, ldc);
    for (int64_t i = 0; i < c->m; i++)
        for (int64_t j = 0; j < ldc; j++) {
            double want = before[i * ldc + j], size = 1;
            if (j < c->n) {
                want *= c->beta;
                for (int64_t l = 0; l < c->k; l++) {
                    double p = (double)c->alpha * (c->ta ? a[l * lda + i] : a[i * lda + l]) *
                               (c->tb ? b[j * ldb + l] : b[l * ldb + j]);
                    want += p;
                    size += fabs(p);
                }
            }
            if (!(fabs(out[i * ldc + j] - want) <= 1e-6 * size))
                fail_msg("t %d %d m %ld n %ld k %ld: [%ld,%ld] is %g, not %g", c->ta, c->tb,
                         (long)c->m, (long)c->n, (long)c->k, (long)i, (long)j,
                         (double)out[i * ldc + j], want);
        }
    free(a);
    free(b);
    free(out);
    free(before);
}

static void gemm_all_transposes(void **state)
{
    static const int64_t dims[][3] = {{1, 1, 1},    {2, 3, 4},     {7, 5, 9},     {16, 16, 16},
                                      {33, 65, 17}, {1, 400, 273}, {100, 2, 400}, {100, 3, 50},
                                      {64, 1, 100}, {1, 1, 500},   {5, 400, 1},   {400, 2, 100},
                                      {31, 2, 31},  {129, 40, 130}};
    static const float scales[][2] = {{1, 0}, {1, 1}, {0.5f, -2}, {-1, 0.25f}};
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
        for (int t = 0; t < 4; t++)
            for (int s = 0; s < 4; s++) {
                struct gemm_case c = {t & 1,      t & 2, dims[d][0],   dims[d][1],
                                      dims[d][2], s * 2, scales[s][0], scales[s][1]};
                gemm_compare(&c);
            }
}

static void gemm_of_nothing(void **state)
{
    float a[4] = {1, 2, 3, 4}, b[4] = {1, 2, 3, 4}, c[4] = {1, 2, 3, NAN};
    math_gemm_f32(false, false, 0, 2, 2, 1, a, 2, b, 2, 0, c, 2);
    math_gemm_f32(false, false, 2, 0, 2, 1, a, 2, b, 1, 0, c, 1);
    assert_true(c[0] == 1 && c[1] == 2 && c[2] == 3);
    math_gemm_f32(false, false, 1, 3, 0, 1, a, 1, b, 3, 2, c, 3);
    assert_true(c[0] == 2 && c[1] == 4 && c[2] == 6);
    math_gemm_f32(true, true, 2, 2, 2, 0, a, 2, b, 2, 1, c, 2);
    assert_true(c[0] == 2 && c[1] == 4 && c[2] == 6);
    math_gemm_f32(false, false, 2, 2, 0, 1, NULL, 1, NULL, 2, 0, c, 2);
    assert_true(c[0] == 0 && c[3] == 0);
}

static void gemm_f64_all_transposes(void **state)
{
    enum { M = 9, N = 140, K = 131 };
    static double a[M * K], b[K * N], c[M * N];
    for (int i = 0; i < M * K; i++)
        a[i] = sin(i);
    for (int i = 0; i < K * N; i++)
        b[i] = cos(i);
    for (int t = 0; t < 4; t++) {
        bool ta = t & 1, tb = t & 2;
        for (int i = 0; i < M * N; i++)
            c[i] = t == 0 ? NAN : i;
        double beta = t == 0 ? 0 : 0.5;
        math_gemm_f64(ta, tb, M, N, K, 2, a, ta ? M : K, b, tb ? K : N, beta, c, N);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                double want = t == 0 ? 0 : 0.5 * (i * N + j);
                for (int l = 0; l < K; l++)
                    want +=
                        2 * (ta ? a[l * M + i] : a[i * K + l]) * (tb ? b[j * K + l] : b[l * N + j]);
                assert_true(fabs(c[i * N + j] - want) < 1e-11);
            }
    }
    double one[1] = {3};
    math_gemm_f64(false, false, 1, 1, 0, 1, NULL, 1, NULL, 1, 2, one, 1);
    assert_true(one[0] == 6);
}

static double act(enum math_act which, double v)
{
    switch (which) {
    case MATH_ACT_RELU:
    case MATH_ACT_RELU_2X:
        return v > 0 ? v : 0;
    case MATH_ACT_SIGMOID:
        return 1 / (1 + exp(-v));
    case MATH_ACT_TANH:
        return tanh(v);
    case MATH_ACT_NONE:
        break;
    }
    return v;
}

static void fc_with_bias_and_activation(void **state)
{
    static const int64_t dims[][3] = {{1, 1, 1}, {5, 3, 7}, {100, 2, 40}, {37, 33, 29}, {4, 70, 0}};
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
        for (int which = MATH_ACT_NONE; which <= MATH_ACT_RELU_2X; which++)
            for (int with_bias = 0; with_bias < 2; with_bias++) {
                int64_t m = dims[d][0], n = dims[d][1], k = dims[d][2];
                float *x = fill(m * k, 5), *w = fill(k * n, 6), *bias = fill(n, 7);
                float *y = malloc((size_t)(m * n) * sizeof *y);
                math_fc_f32(m, n, k, x, w, with_bias ? bias : NULL, (enum math_act)which, y);
                for (int64_t i = 0; i < m; i++)
                    for (int64_t j = 0; j < n; j++) {
                        double v = with_bias ? bias[j] : 0;
                        for (int64_t l = 0; l < k; l++)
                            v += (double)x[i * k + l] * w[l * n + j];
                        double want = act((enum math_act)which, v);
                        assert_true(fabs(y[i * n + j] - want) < 1e-5);
                    }
                free(x);
                free(w);
                free(bias);
                free(y);
            }
    float untouched = 3;
    math_fc_f32(0, 4, 4, NULL, NULL, NULL, MATH_ACT_RELU, &untouched);
    assert_true(untouched == 3);
}

static void each_path(void (*check)(const struct math_path *p, const struct math_path *plain))
{
    int n = 0;
    while (math_path_at(n))
        n++;
    const struct math_path *plain = math_path_at(n - 1);
    assert_string_equal(plain->name, "plain");
    assert_null(math_path_at(-1));
    assert_ptr_equal(math_path_best(), math_path_at(0));
    for (int i = 0; i < n; i++) {
        print_message("path %s\n", math_path_at(i)->name);
        check(math_path_at(i), plain);
    }
}

static void check_simple(const struct math_path *p, const struct math_path *plain)
{
    for (int64_t n = 0; n < 150; n += n < 40 ? 1 : 13) {
        float *x = fill(n, 1), *y = fill(n, 2), *z = fill(n, 2), *out = fill(n, 3);
        p->axpy(n, 0.3f, x, y);
        for (int64_t i = 0; i < n; i++) {
            float product = 0.3f * x[i];
            assert_true(y[i] == z[i] + product);
        }
        p->add(n, x, z, out);
        for (int64_t i = 0; i < n; i++)
            assert_true(out[i] == x[i] + z[i]);
        p->add(n, out, x, out); /* in place */
        p->scale(n, -1.5f, out);
        for (int64_t i = 0; i < n; i++)
            assert_true(out[i] == -1.5f * (x[i] + z[i] + x[i]));
        double want = 0;
        for (int64_t i = 0; i < n; i++)
            want += (double)x[i] * z[i];
        assert_true(fabs(p->dot(n, x, z) - want) < 1e-13 * (double)(n + 1));
        assert_true(p->dot(n, x, z) == plain->dot(n, x, z));
        free(x);
        free(y);
        free(z);
        free(out);
    }
}

static void check_sum_rows(const struct math_path *p, const struct math_path *plain)
{
    static const int64_t dims[][2] = {{0, 5},  {1, 1},    {3, 7},   {10, 31},
                                      {9, 32}, {100, 33}, {5, 200}, {4, 0}};
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++) {
        int64_t rows = dims[d][0], cols = dims[d][1];
        float *x = fill(rows * cols, 4), *out = fill(cols, 5);
        p->sum_rows(rows, cols, cols, x, out);
        for (int64_t c = 0; c < cols; c++) {
            float want = 0;
            for (int64_t r = 0; r < rows; r++)
                want += x[r * cols + c];
            assert_true(out[c] == want);
        }
        free(x);
        free(out);
    }
}

/* Distance in units in the last place of the wanted value; below the normal floats 0 is right. */
static double ulps(float got, double want)
{
    if (fabs(want) < FLT_MIN && got == 0)
        return 0;
    int e;
    frexp(fabs(want) < FLT_MIN ? (double)FLT_MIN : want, &e);
    return fabs(got - want) / ldexp(1, e - 24);
}

static void check_exp(const struct math_path *p, const struct math_path *plain)
{
    enum { CHUNK = 61, STEP = 4001 };
    for (uint64_t u = 0; u < (uint64_t)1 << 32; u += (uint64_t)CHUNK * STEP) {
        float x[CHUNK], e[CHUNK], s[CHUNK], t[CHUNK], other[CHUNK];
        for (int i = 0; i < CHUNK; i++) {
            uint32_t bits = (uint32_t)(u + (uint64_t)i * STEP);
            memcpy(&x[i], &bits, sizeof bits);
        }
        p->exp(CHUNK, x, e);
        p->sigmoid(CHUNK, x, s);
        p->tanh(CHUNK, x, t);
        plain->exp(CHUNK, x, other);
        same_bits(e, other, CHUNK);
        plain->sigmoid(CHUNK, x, other);
        same_bits(s, other, CHUNK);
        plain->tanh(CHUNK, x, other);
        same_bits(t, other, CHUNK);
        for (int i = 0; i < CHUNK; i++) {
            double v = x[i];
            if (isnan(v)) {
                assert_true(isnan(e[i]) && isnan(s[i]) && isnan(t[i]));
                continue;
            }
            if (exp(v) <= FLT_MAX && !(ulps(e[i], exp(v)) <= 1.5))
                fail_msg("exp(%a) is %a", v, (double)e[i]);
            if (!(ulps(s[i], 1 / (1 + exp(-v))) <= 2.5))
                fail_msg("sigmoid(%a) is %a", v, (double)s[i]);
            if (!(ulps(t[i], tanh(v)) <= 2))
                fail_msg("tanh(%a) is %a", v, (double)t[i]);
        }
    }
}

static void check_exp_edges(const struct math_path *p, const struct math_path *plain)
{
    static const float x[] = {0.0f,    -0.0f,      INFINITY, -INFINITY, 88.72283f, 88.7229f,
                              89.5f,   -87.33654f, -87.34f,  -104.0f,   -1000.0f,  1e-30f,
                              FLT_MIN, -FLT_MAX,   FLT_MAX,  1e-45f};
    enum { N = sizeof x / sizeof *x };
    float e[N], s[N], t[N];
    p->exp(N, x, e);
    p->sigmoid(N, x, s);
    p->tanh(N, x, t);
    assert_true(e[0] == 1 && e[1] == 1 && isinf(e[2]) && e[3] == 0);
    assert_true(e[4] <= FLT_MAX && e[4] > 3.4e38f && isinf(e[5]) && isinf(e[6]));
    assert_true(e[7] >= FLT_MIN && e[8] == 0 && e[9] == 0 && e[10] == 0); /* no denormals */
    assert_true(e[11] == 1 && e[13] == 0 && isinf(e[14]));
    assert_true(s[0] == 0.5f && s[2] == 1 && s[3] == 0 && s[8] == 0 && s[10] == 0 && s[14] == 1);
    assert_true(t[0] == 0 && !signbit(t[0]) && signbit(t[1]) && t[2] == 1 && t[3] == -1);
    assert_true(t[11] == 1e-30f && t[12] == FLT_MIN && t[13] == -1 && t[14] == 1 &&
                t[15] == 1e-45f);
}

static void check_finish(const struct math_path *p, const struct math_path *plain)
{
    for (int which = MATH_ACT_NONE; which <= MATH_ACT_RELU_2X; which++)
        for (int with_bias = 0; with_bias < 2; with_bias++) {
            float *y = fill(3 * 37, 8), *z = fill(3 * 37, 8), *bias = fill(37, 9);
            y[5] = z[5] = NAN;
            p->finish(3, 37, with_bias ? bias : NULL, (enum math_act)which, y);
            plain->finish(3, 37, with_bias ? bias : NULL, (enum math_act)which, z);
            same_bits(y, z, 3 * 37);
            assert_true(which == MATH_ACT_RELU_2X ? y[5] == 0 : isnan(y[5]));
            free(y);
            free(z);
            free(bias);
        }
}

static double act_slope(enum math_act which, double out)
{
    switch (which) {
    case MATH_ACT_RELU:
    case MATH_ACT_RELU_2X:
        return out > 0;
    case MATH_ACT_SIGMOID:
        return out * (1 - out);
    case MATH_ACT_TANH:
        return 1 - out * out;
    case MATH_ACT_NONE:
        break;
    }
    return 1;
}

static void check_act_grad(const struct math_path *p, const struct math_path *plain)
{
    for (int which = MATH_ACT_NONE; which <= MATH_ACT_RELU_2X; which++)
        for (int64_t n = 0; n < 60; n += 7) {
            float *out = fill(n, 8), *dout = fill(n, 9), *dx = fill(n, 10), *other = fill(n, 11);
            p->act_grad(n, (enum math_act)which, out, dout, dx);
            plain->act_grad(n, (enum math_act)which, out, dout, other);
            same_bits(dx, other, n);
            for (int64_t i = 0; i < n; i++)
                assert_true(fabs(dx[i] - dout[i] * act_slope((enum math_act)which, out[i])) < 1e-6);
            p->act_grad(n, (enum math_act)which, out, dout, dout);
            same_bits(dout, other, n);
            free(out);
            free(dout);
            free(dx);
            free(other);
        }
}

static void simple_loops(void **state)
{
    each_path(check_simple);
}

static void sums_of_rows(void **state)
{
    each_path(check_sum_rows);
}

static void exponentials(void **state)
{
    each_path(check_exp);
}

static void exponentials_at_the_edges(void **state)
{
    each_path(check_exp_edges);
}

static void bias_and_activation(void **state)
{
    each_path(check_finish);
}

static void gradients_of_activations(void **state)
{
    each_path(check_act_grad);
}

static void public_names_reach_the_loops(void **state)
{
    float x[3] = {1, 2, 3}, y[3] = {10, 20, 30}, out[3];
    math_axpy_f32(3, 2, x, y);
    assert_true(y[0] == 12 && y[1] == 24 && y[2] == 36);
    math_scale_f32(3, 0.5f, y);
    math_add_f32(3, x, y, out);
    assert_true(out[0] == 7 && out[1] == 14 && out[2] == 21);
    math_sum_rows_f32(3, 1, x, out);
    assert_true(out[0] == 6);
    assert_true(math_dot_f32(3, x, y) == 84);
    assert_true(math_norm2_f32(3, x) == 14);
    math_exp_f32(3, x, out);
    assert_true(fabs(out[2] - exp(3)) < 2e-6);
    math_sigmoid_f32(3, x, out);
    assert_true(fabs(out[0] - 1 / (1 + exp(-1))) < 1e-7);
    math_tanh_f32(3, x, out);
    assert_true(fabs(out[1] - tanh(2)) < 1e-7);
    math_act_grad_f32(3, MATH_ACT_RELU, x, y, out);
    assert_true(out[0] == y[0] && out[2] == y[2]);
}

/* Several threads at once, each with math of its own, give what one thread gives. */
static void *gemm_thread(void *arg)
{
    float *out = arg;
    float *a = fill(64 * 96, 1), *b = fill(96 * 80, 2);
    for (int i = 0; i < 20; i++)
        math_gemm_f32(false, false, 64, 80, 96, 1, a, 96, b, 80, 0, out, 80);
    free(a);
    free(b);
    return NULL;
}

static void threads_do_not_meet(void **state)
{
    enum { THREADS = 4, N = 64 * 80 };
    pthread_t t[THREADS];
    float *out = malloc((THREADS + 1) * N * sizeof *out);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, gemm_thread, out + i * N), 0);
    gemm_thread(out + THREADS * N);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        same_bits(out + i * N, out + THREADS * N, N);
    }
    free(out);
}

/* Pools of 2 and of 5 threads give the same bits; those of one thread up to rounding. */
static void gemm_with_a_thread_pool(void **state)
{
    struct {
        bool ta, tb;
        int64_t m, n, k;
    } cases[] = {{false, false, 1000, 80, 70}, {true, false, 201, 130, 300},
                 {false, true, 333, 100, 90},  {true, true, 97, 200, 250},
                 {false, false, 3001, 2, 700}, {false, false, 100, 300, 400}};
    struct skiff_thread_pool *pools[] = {NULL, skiff_thread_pool_create(2),
                                         skiff_thread_pool_create(5)};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t m = cases[i].m, n = cases[i].n, k = cases[i].k;
        float *a = fill(m * k, 1), *b = fill(k * n, 2), *out[3];
        for (int p = 0; p < 3; p++) {
            out[p] = fill(m * n, 3);
            thread_pool_use(pools[p]);
            math_gemm_f32(cases[i].ta, cases[i].tb, m, n, k, 0.5f, a, cases[i].ta ? m : k, b,
                          cases[i].tb ? k : n, 2, out[p], n);
            thread_pool_use(NULL);
        }
        same_bits(out[1], out[2], m * n);
        for (int64_t j = 0; j < m * n; j++)
            assert_true(fabsf(out[0][j] - out[1][j]) < 2e-5f);
        for (int p = 0; p < 3; p++)
            free(out[p]);
        free(a);
        free(b);
    }
    for (int p = 0; p < 3; p++)
        skiff_thread_pool_destroy(pools[p]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_all_transposes),
        cmocka_unit_test(gemm_of_nothing),
        cmocka_unit_test(gemm_f64_all_transposes),
        cmocka_unit_test(fc_with_bias_and_activation),
        cmocka_unit_test(simple_loops),
        cmocka_unit_test(sums_of_rows),
        cmocka_unit_test(exponentials),
        cmocka_unit_test(exponentials_at_the_edges),
        cmocka_unit_test(bias_and_activation),
        cmocka_unit_test(gradients_of_activations),
        cmocka_unit_test(public_names_reach_the_loops),
        cmocka_unit_test(threads_do_not_meet),
        cmocka_unit_test(gemm_with_a_thread_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
