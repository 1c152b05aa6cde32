/* Tally: what is counted while a model trains or is judged: loss, AUC, log loss, calibration.
 *
 * Every thread counts for itself under a lock of its own that nobody else holds for long, and sums
 * are taken at any time: exact over all samples whose batch is through. The AUC has the buckets of
 * the models' own auc op. */
#ifndef EXECUTOR_TALLY_H
#define EXECUTOR_TALLY_H

#include <pthread.h>

#include "tensor/value.h"

#define TALLY_BUCKETS 4097
#define TALLY_MAX_WATCHED 4

struct tally_sum {
    int64_t batches, samples;
    double loss;                        /* sum over the samples */
    int64_t judged;                     /* predictions with a label */
    double log_loss, clicks, predicted; /* sums over them */
    double right;                       /* accuracy times samples */
    /* sums over judged ones, for PaddleRec's metric text: |p - label|, its square, sigmoid(p) */
    double abs_error, sqr_error, q;
    int64_t pos[TALLY_BUCKETS], neg[TALLY_BUCKETS];
};

struct tally_lane {
    pthread_mutex_t lock;
    struct tally_sum sum;
};

struct tally {
    struct tally_lane *lanes;
    int threads;
    bool loss_is_sum, has_loss, has_predict, is_probability, has_accuracy;
    const char *watched[TALLY_MAX_WATCHED]; /* names to watch, in the order of tally_batch */
    int nwatched;
};

/* Names of variables; NULL: the model has none. A prediction needs its label. */
struct tally_names {
    const char *loss, *predict, *label, *accuracy;
    bool loss_is_sum, not_probability;
};

void tally_open(struct tally *t, const struct tally_names *names, int threads);
void tally_deinit(struct tally *t);
void tally_reset(struct tally *t);
/* From trainer threads. */
void tally_batch(struct tally *t, int thread, int64_t rows, const struct skiff_tensor *watched);
/* From any thread. */
void tally_read(struct tally *t, struct tally_sum *out);

/* A sum as two arrays, which processes add up element by element; and back. */
#define TALLY_WHOLE (3 + 2 * TALLY_BUCKETS)
#define TALLY_PART 8
void tally_sum_pack(const struct tally_sum *s, int64_t *whole, double *part);
void tally_sum_unpack(struct tally_sum *s, const int64_t *whole, const double *part);

/* NAN where the model has no such number, or nothing was counted. */
double tally_loss(const struct tally *t, const struct tally_sum *s);
double tally_auc(const struct tally *t, const struct tally_sum *s);
/* Why there is no AUC, of a model that has predictions: "no clicks", "nothing but clicks", "no
 * labels"; NULL: there is one, or the model has no predictions. */
const char *tally_no_auc(const struct tally *t, const struct tally_sum *s);
double tally_log_loss(const struct tally *t, const struct tally_sum *s);
double tally_copc(const struct tally *t, const struct tally_sum *s); /* clicks over predicted */
double tally_accuracy(const struct tally *t, const struct tally_sum *s);

#endif
