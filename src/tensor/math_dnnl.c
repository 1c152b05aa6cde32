/* GEMM by oneDNN.
 *
 * Debian's oneDNN runs on OpenMP and would start a team for every call; the calling thread is set
 * to a team of one around each call and set back afterwards (the setting is the thread's own).
 *
 * fc is the GEMM followed by one vectorised pass for bias and activation. Measured on Zen 3, one
 * thread, m 100 and 1000, k 273 and 400, n 400: GEMM alone 91-98 GFLOP/s, with the pass 90-97,
 * oneDNN's matmul and inner product with fused post-ops 87-96. So no primitives are made, and none
 * need be kept.
 *
 * The rows of a large product are shared with the thread pool that the caller was lent, if any
 * (base/thread_pool.h). In pieces of a half to an eighth they take as long as in one, within 3 %
 * (AVX-512 and AVX2, m, n, k 273 to 1000), but the last bits may differ from those of one.
 *
 * With two or three columns the GEMM kernels compute mostly padding; as many matrix-vector products
 * take half the time (m 1000, k 400, n 2: 43 us instead of 97). */
#include <oneapi/dnnl/dnnl.h>
#include <omp.h>
#include <string.h>

#include "base/thread_pool.h"
#include "tensor/math_path.h"

#define NARROW_COLS 3
#define NARROW_ROWS 32
#define MOST_PIECES 8
#define PIECE_ROWS 48
#define BLOCK_ROWS 8 /* that the kernels take at once */
#define PIECE_FLOPS 4e6

static void gemm_scale(int64_t m, int64_t n, float beta, float *c, int64_t ldc)
{
    for (int64_t i = 0; i < m; i++)
        if (beta == 0.0f)
            memset(c + i * ldc, 0, (size_t)n * sizeof *c); /* also over NaN */
        else if (beta != 1.0f)
            math_scale_f32(n, beta, c + i * ldc);
}

/* Plain loops for what oneDNN refuses (it has no memory left, or a leading dimension that it does
 * not take). */
static void gemm_plain(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                       const float *a, int64_t lda, const float *b, int64_t ldb, float beta,
                       float *c, int64_t ldc)
{
    gemm_scale(m, n, beta, c, ldc);
    for (int64_t i = 0; i < m; i++)
        for (int64_t l = 0; l < k; l++) {
            float f = alpha * (trans_a ? a[l * lda + i] : a[i * lda + l]);
            for (int64_t j = 0; j < n; j++)
                c[i * ldc + j] += f * (trans_b ? b[j * ldb + l] : b[l * ldb + j]);
        }
}

struct gemm {
    bool trans_a, trans_b;
    int64_t n, k;
    float alpha, beta;
    const float *a, *b;
    float *c;
    int64_t lda, ldb, ldc;
    int64_t m, pieces;
};

/* Pieces are equal but for BLOCK_ROWS, so that every thread's share is, too. */
static int64_t piece_begin(const struct gemm *g, int64_t piece)
{
    int64_t blocks = (g->m + BLOCK_ROWS - 1) / BLOCK_ROWS;
    int64_t row = blocks * piece / g->pieces * BLOCK_ROWS;
    return row < g->m ? row : g->m;
}

/* The rows of pieces `from` to before `to` of the result. */
static void gemm_rows(void *arg, int64_t from, int64_t to)
{
    const struct gemm *g = arg;
    int64_t i0 = piece_begin(g, from), i1 = piece_begin(g, to);
    dnnl_status_t status = dnnl_success;
    const float *a = g->a + (g->trans_a ? i0 : i0 * g->lda);
    float *c = g->c + i0 * g->ldc;
    int64_t m = i1 - i0, n = g->n, step = n <= NARROW_COLS && m >= NARROW_ROWS ? 1 : n;
    int team = omp_get_max_threads();
    if (team != 1)
        omp_set_num_threads(1);
    int64_t j = 0;
    for (; j < n && status == dnnl_success; j += step)
        status = dnnl_sgemm(g->trans_a ? 'T' : 'N', g->trans_b ? 'T' : 'N', m, step, g->k, g->alpha,
                            a, g->lda, g->trans_b ? g->b + j * g->ldb : g->b + j, g->ldb, g->beta,
                            c + j, g->ldc);
    if (team != 1)
        omp_set_num_threads(team);
    if (status != dnnl_success) { /* the columns from j - step on are not done */
        j -= step;
        gemm_plain(g->trans_a, g->trans_b, m, n - j, g->k, g->alpha, a, g->lda,
                   g->trans_b ? g->b + j * g->ldb : g->b + j, g->ldb, g->beta, c + j, g->ldc);
    }
}

/* At most MOST_PIECES, because each packs B again, and none with less than PIECE_FLOPS or
 * PIECE_ROWS, which cost more when they are computed apart. */
static int64_t gemm_pieces(int64_t m, int64_t n, int64_t k)
{
    double flops = 2.0 * (double)m * (double)n * (double)k;
    int64_t pieces = m / PIECE_ROWS < MOST_PIECES ? m / PIECE_ROWS : MOST_PIECES;
    if (flops < PIECE_FLOPS * (double)pieces)
        pieces = (int64_t)(flops / PIECE_FLOPS);
    return pieces < 1 ? 1 : pieces;
}

void math_gemm_f32(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                   const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                   int64_t ldc)
{
    if (m <= 0 || n <= 0)
        return;
    if (k <= 0 || alpha == 0.0f) {
        gemm_scale(m, n, beta, c, ldc);
        return;
    }
    struct gemm g = {.trans_a = trans_a,
                     .trans_b = trans_b,
                     .n = n,
                     .k = k,
                     .alpha = alpha,
                     .beta = beta,
                     .a = a,
                     .b = b,
                     .c = c,
                     .lda = lda,
                     .ldb = ldb,
                     .ldc = ldc,
                     .m = m,
                     .pieces = gemm_pieces(m, n, k)};
    thread_pool_split(g.pieces, 1, gemm_rows, &g);
}

struct finish {
    int64_t n;
    const float *bias;
    enum math_act act;
    float *y;
};

static void finish_rows(void *arg, int64_t i0, int64_t i1)
{
    const struct finish *f = arg;
    math_path_best()->finish(i1 - i0, f->n, f->bias, f->act, f->y + i0 * f->n);
}

void math_fc_f32(int64_t m, int64_t n, int64_t k, const float *x, const float *w, const float *bias,
                 enum math_act act, float *y)
{
    if (m <= 0 || n <= 0)
        return;
    math_gemm_f32(false, false, m, n, k, 1.0f, x, k, w, n, 0.0f, y, n);
    if (!bias && act == MATH_ACT_NONE)
        return;
    struct finish f = {n, bias, act, y};
    thread_pool_split(m, thread_pool_rows(m, n), finish_rows, &f);
}
