#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "bench/bench.h"
#include "tensor/math.h"

#define LAYERS 4
static const int64_t sizes[LAYERS + 1] = {26 * 10 + 13, 400, 400, 400, 2};

double bench_gemm_flops(void)
{
    double sum = 0;
    for (int l = 0; l < LAYERS; l++)
        sum += 3 * 2.0 * (double)sizes[l] * (double)sizes[l + 1];
    return sum;
}

struct gemms {
    float *x[LAYERS + 1], *d[LAYERS + 1], *w[LAYERS], *dw[LAYERS];
    int64_t batch;
    double seconds, spent;
    int64_t samples;
    struct thread thread;
};

static float *floats(int64_t n)
{
    float *p = mem_alloc_or_die((size_t)n * sizeof(*p));
    for (int64_t i = 0; i < n; i++)
        p[i] = (float)(i % 17) * 0.01f;
    return p;
}

static void gemms_step(struct gemms *g)
{
    int64_t m = g->batch;
    for (int l = 0; l < LAYERS; l++)
        math_gemm_f32(false, false, m, sizes[l + 1], sizes[l], 1, g->x[l], sizes[l], g->w[l],
                      sizes[l + 1], 0, g->x[l + 1], sizes[l + 1]);
    for (int l = LAYERS - 1; l >= 0; l--) {
        int64_t k = sizes[l], n = sizes[l + 1];
        math_gemm_f32(true, false, k, n, m, 1, g->x[l], k, g->d[l + 1], n, 0, g->dw[l], n);
        math_gemm_f32(false, true, m, k, n, 1, g->d[l + 1], n, g->w[l], n, 0, g->d[l], k);
    }
}

static void *gemms_run(void *arg)
{
    struct gemms *g = arg;
    gemms_step(g);
    int64_t steps = 0;
    double start = clock_seconds(), now = start;
    for (; now - start < g->seconds; now = clock_seconds(), steps++)
        gemms_step(g);
    g->samples = steps * g->batch;
    g->spent = now - start;
    return NULL;
}

static void gemms_init(struct gemms *g)
{
    for (int l = 0; l <= LAYERS; l++) {
        g->x[l] = floats(g->batch * sizes[l]);
        g->d[l] = floats(g->batch * sizes[l]);
    }
    for (int l = 0; l < LAYERS; l++) {
        g->w[l] = floats(sizes[l] * sizes[l + 1]);
        g->dw[l] = floats(sizes[l] * sizes[l + 1]);
    }
}

static void gemms_deinit(struct gemms *g)
{
    for (int l = 0; l <= LAYERS; l++) {
        free(g->x[l]);
        free(g->d[l]);
    }
    for (int l = 0; l < LAYERS; l++) {
        free(g->w[l]);
        free(g->dw[l]);
    }
}

struct bench_rate bench_gemm_rate(int64_t batch, int threads, double seconds)
{
    struct gemms *g = mem_alloc_or_die((size_t)threads * sizeof(*g));
    struct bench_rate r = {0};
    int64_t samples = 0;
    int started = 0;
    for (int i = 0; i < threads; i++) {
        g[i].batch = batch;
        g[i].seconds = seconds;
        gemms_init(&g[i]);
    }
    double cpu = clock_cpu_process();
    while (started < threads &&
           thread_start(&g[started].thread, "gemm", started, gemms_run, &g[started], NULL) == 0)
        started++;
    for (int i = 0; i < threads; i++) {
        thread_join(&g[i].thread);
        samples += g[i].samples;
        r.rate += g[i].spent > 0 ? (double)g[i].samples / g[i].spent : 0.0;
        gemms_deinit(&g[i]);
    }
    r.cpu = (clock_cpu_process() - cpu) / (double)(samples ? samples : 1);
    free(g);
    return r;
}
