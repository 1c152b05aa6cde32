/* skiff bench: limits of this machine, and the share of them that training from text reaches. */
#include <stdio.h>
#include <unistd.h>

#include "bench/bench.h"
#include "cli/command.h"

struct bench_flags {
    int64_t rows, threads, rounds;
};

static enum skiff_status measure_reading(const struct bench_data *d, const struct bench_flags *f,
                                         struct skiff_error *err)
{
    static const char *const formats[] = {"criteo", "multislot"};
    printf("\nreading alone, one thread, from the page cache:\n");
    for (int k = 0; k < 2; k++) {
        struct bench_reading r;
        TRY(bench_reading_of(d, formats[k], (int)f->rounds, &r, err));
        printf("  %-10s %6.2f million rows/s (best %.2f)\n", formats[k], 1e-6 * r.rate,
               1e-6 * r.best);
    }
    return SKIFF_OK;
}

static enum skiff_status measure_net(const struct bench_data *d, const char *name,
                                     const struct bench_case *c, struct skiff_error *err)
{
    struct bench_training t;
    TRY(bench_training_of(d, c, &t, err));
    printf("  %5lld  %-10s %9.0f %16.0f %8.0f %% %8.0f %%\n", (long long)c->batch, name, t.rate,
           t.limit, 100 * t.share, 100 * t.work);
    fflush(stdout);
    return SKIFF_OK;
}

static enum skiff_status measure_training(const struct bench_data *d, const struct bench_flags *f,
                                          struct skiff_error *err)
{
    static const struct {
        const char *name, *optimizer;
        bool lazy;
    } rules[] = {{"SGD", "sgd", false}, {"Adam", "adam", false}, {"Adam lazy", "adam", true}};
    static const int64_t batches[] = {1000, 100};
    printf("\ntraining the reference CTR-DNN from Criteo text, %lld threads:\nshare: speed "
           "relative to the GEMMs alone; work: processor time of the GEMMs over that of training\n"
           "  batch  optimizer  samples/s  the GEMMs alone      share       work\n",
           (long long)f->threads);
    for (int b = 0; b < 2; b++)
        for (int k = 0; k < 3; k++)
            TRY(measure_net(d, rules[k].name,
                            &(struct bench_case){rules[k].optimizer, rules[k].lazy, batches[b],
                                                 (int)f->threads, (int)f->rounds},
                            err));
    return SKIFF_OK;
}

static enum skiff_status bench(const struct bench_flags *f, struct skiff_error *err)
{
    struct bench_data data;
    double one = bench_gemm_rate(1000, 1, 0.5).rate;
    double all = bench_gemm_rate(1000, (int)f->threads, 0.5).rate;
    printf("GEMMs of the reference CTR-DNN (%.2f MFLOP a sample), batch 1000: %.0f samples/s on "
           "one thread (%.0f GFLOP/s), %.0f on %lld\n",
           1e-6 * bench_gemm_flops(), one, 1e-9 * one * bench_gemm_flops(), all,
           (long long)f->threads);
    fflush(stdout);
    TRY(bench_data_open(&data, f->rows, (int)f->threads, err));
    enum skiff_status status = measure_reading(&data, f, err);
    if (status == SKIFF_OK)
        status = measure_training(&data, f, err);
    bench_data_close(&data);
    return status;
}

static int run(const struct command_call *call)
{
    struct bench_flags *f = call->args;
    struct skiff_error err = {0};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (!f->threads)
        f->threads = cores > 0 ? cores : 1;
    return bench(f, &err) < 0 ? command_fail(call->name, &err) : 0;
}

#define AT(field) offsetof(struct bench_flags, field)

static const struct option rows[] = {
    {"rows", OPTION_LONG, AT(rows), .low = 1, .high = INT64_MAX, .value = "N", .standard = "100000",
     .help = "measure with N rows"},
    {"threads", OPTION_LONG, AT(threads), .low = 1, .high = 1024, .value = "N",
     .help = "train with N threads", .default_text = "one for each core"},
    {"rounds", OPTION_LONG, AT(rounds), .low = 1, .high = BENCH_ROUNDS, .value = "N",
     .standard = "5", .help = "measure N times and report the median"},
    {0}};

const struct command command_bench = {
    .name = "bench",
    .summary = "measure this machine, and training as a share of its speed",
    .usage = "[--rows N] [--threads N] [--rounds N]",
    .text = "Measures the GEMMs of the reference CTR-DNN alone, the readers alone, and training "
            "from text as a share of the speed of the GEMMs. The parts are measured in turns "
            "within one "
            "run: figures of different runs or machines are not comparable.",
    .examples = "skiff bench --rows 200000 --threads 4",
    .group = COMMAND_OPERATE,
    .options = &(const struct options){.rows = rows},
    .args_size = sizeof(struct bench_flags),
    .run = run};
