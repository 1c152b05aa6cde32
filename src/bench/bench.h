/* Limits of this machine and the speed of training, measured (`skiff bench`). The net is the
 * reference CTR-DNN, the rows are Criteo-shaped. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "data/dataset.h"

/* Wall time says how fast something is, processor time how much work it is: the latter hardly
 * depends on what else the machine does. */
struct bench_rate {
    double rate; /* samples a second */
    double cpu;  /* processor seconds a sample, over all threads of the process */
};

/* gemm.c: the GEMMs of a training step alone (forward, gradients of weights and inputs), by
 * `threads` threads at once, for about `seconds`. */
struct bench_rate bench_gemm_rate(int64_t batch, int threads, double seconds);
double bench_gemm_flops(void); /* of one sample */

/* data.c: files to measure with, in a folder of their own. */
struct bench_data {
    char dir[256];
    int64_t rows;
    struct schema schema; /* dense_input, C1..C26, label */
};
enum skiff_status bench_data_open(struct bench_data *d, int64_t rows, int files,
                                  struct skiff_error *err);
void bench_data_close(struct bench_data *d); /* removes the files */
/* format: criteo or multislot. ahead: as in dataset_config. */
enum skiff_status bench_dataset(const struct bench_data *d, const char *format, int threads,
                                int64_t batch, int prefetch, struct dataset **out,
                                struct skiff_error *err);
/* Rows a second of one thread that only reads. */
enum skiff_status bench_read_rate(const struct bench_data *d, const char *format, double *out,
                                  struct skiff_error *err);

/* train.c: one net and its scope, trained epoch by epoch. */
struct bench_net;
enum skiff_status bench_net_open(const char *optimizer, bool lazy, struct bench_net **out,
                                 struct skiff_error *err);
void bench_net_close(struct bench_net *n);
/* An epoch from text. */
enum skiff_status bench_net_rate(struct bench_net *n, struct dataset *data, struct bench_rate *out,
                                 struct skiff_error *err);

/* measure.c: medians of several rounds, 1 to BENCH_ROUNDS. */
#define BENCH_ROUNDS 100

struct bench_reading {
    double rate, best; /* rows a second */
};
enum skiff_status bench_reading_of(const struct bench_data *d, const char *format, int rounds,
                                   struct bench_reading *out, struct skiff_error *err);

struct bench_case {
    const char *optimizer;
    bool lazy;
    int64_t batch;
    int threads, rounds;
};
struct bench_training {
    double rate, limit; /* samples a second: of training, of the GEMMs alone */
    double share;       /* rate over limit */
    double work;        /* processor time of the GEMMs over that of training */
};
/* In turns with the GEMMs, so that other work on the machine disturbs both alike. */
enum skiff_status bench_training_of(const struct bench_data *d, const struct bench_case *c,
                                    struct bench_training *out, struct skiff_error *err);

#endif
