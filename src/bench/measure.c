#include <stdlib.h>

#include "bench/bench.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), by_value);
    return v[n / 2];
}

enum skiff_status bench_reading_of(const struct bench_data *d, const char *format, int rounds,
                                   struct bench_reading *out, struct skiff_error *err)
{
    double rates[BENCH_ROUNDS];
    for (int i = 0; i < rounds; i++)
        TRY(bench_read_rate(d, format, &rates[i], err));
    out->rate = median(rates, rounds);
    out->best = rates[rounds - 1];
    return SKIFF_OK;
}

enum skiff_status bench_training_of(const struct bench_data *d, const struct bench_case *c,
                                    struct bench_training *out, struct skiff_error *err)
{
    double share[BENCH_ROUNDS], rate[BENCH_ROUNDS], limit[BENCH_ROUNDS], work[BENCH_ROUNDS];
    struct dataset *data = NULL;
    struct bench_net *net;
    TRY(bench_net_open(c->optimizer, c->lazy, &net, err));
    enum skiff_status status = bench_dataset(d, "criteo", c->threads, c->batch, 0, &data, err);
    for (int i = -1; status == SKIFF_OK && i < c->rounds; i++) { /* the first one warms up */
        int at = i < 0 ? 0 : i;
        struct bench_rate own, gemm = bench_gemm_rate(c->batch, c->threads, 0.5);
        status = bench_net_rate(net, data, &own, err);
        limit[at] = gemm.rate;
        rate[at] = own.rate;
        share[at] = own.rate / gemm.rate;
        work[at] = gemm.cpu / own.cpu;
    }
    if (status == SKIFF_OK)
        *out = (struct bench_training){.rate = median(rate, c->rounds),
                                       .limit = median(limit, c->rounds),
                                       .share = median(share, c->rounds),
                                       .work = median(work, c->rounds)};
    dataset_destroy(data);
    bench_net_close(net);
    return status;
}
