/* Metrics accumulator of training and evaluation: loss, AUC, log loss, calibration.
 *
 * Every thread accumulates under a lock of its own, which is held briefly. Sums can be read at any
 * time and are exact over all samples of finished batches. The AUC has the same buckets as the
 * models' own auc op. */
#ifndef EXECUTOR_METRICS_H
#define EXECUTOR_METRICS_H

#include <pthread.h>

#include "executor/scores.h"
#include "tensor/value.h"

#define EVAL_METRICS_BUCKETS 4097
#define EVAL_METRICS_MAX_WATCHED 6

struct eval_metrics_sum {
    int64_t batches, samples;
    double weight;                      /* of the samples; without weights their number */
    double loss;                        /* sum over the samples, by weight; as all that follows */
    double evaluated;                   /* predictions with a label */
    double log_loss, clicks, predicted; /* sums over them */
    double right;                       /* accuracy times samples */
    /* sums over evaluated ones, for PaddleRec's metric text: |p - label|, its square, sigmoid(p) */
    double abs_error, sqr_error, q;
    double pos[EVAL_METRICS_BUCKETS], neg[EVAL_METRICS_BUCKETS];
};

struct eval_metrics_thread {
    pthread_mutex_t lock;
    struct eval_metrics_sum sum;
    struct scores scores; /* if they are kept */
};

struct eval_metrics {
    struct eval_metrics_thread *thread_states;
    int threads;
    bool loss_is_sum, has_loss, has_predict, is_probability, has_accuracy, has_weight, has_group;
    bool keeps_scores; /* set by the owner: metrics that need every prediction (scores.h), */
    double threshold;  /* and which of them are positive */
    const char
        *watched[EVAL_METRICS_MAX_WATCHED]; /* names to watch, in the order of eval_metrics_batch */
    int nwatched;
    /* What becomes of a probability before it is counted, on the trainer threads; NULL: nothing. */
    double (*adjust)(const void *self, double p);
    const void *adjust_self;
};

/* Names of variables; NULL: the model has none. A prediction needs its label. */
struct eval_metrics_names {
    const char *loss, *predict, *label, *accuracy;
    const char *weight, *group; /* of samples: float32; int64, its first value */
    bool loss_is_sum, not_probability;
};

void eval_metrics_open(struct eval_metrics *t, const struct eval_metrics_names *names, int threads);
void eval_metrics_deinit(struct eval_metrics *t);
void eval_metrics_reset(struct eval_metrics *t);
/* From trainer threads. */
void eval_metrics_batch(struct eval_metrics *t, int thread, int64_t rows,
                        const struct skiff_tensor *watched);
/* From any thread. */
void eval_metrics_read(struct eval_metrics *t, struct eval_metrics_sum *out);

/* All that was kept, of all threads. scores_deinit. */
void eval_metrics_scores(struct eval_metrics *t, struct scores *out);

/* A sum as two arrays, which processes add up element by element; and the reverse. */
#define EVAL_METRICS_WHOLE 2
#define EVAL_METRICS_PART (10 + 2 * EVAL_METRICS_BUCKETS)
void eval_metrics_sum_pack(const struct eval_metrics_sum *s, int64_t *whole, double *part);
void eval_metrics_sum_unpack(struct eval_metrics_sum *s, const int64_t *whole, const double *part);

/* NAN where the model has no such number, or nothing was accumulated. */
double eval_metrics_loss(const struct eval_metrics *t, const struct eval_metrics_sum *s);
double eval_metrics_auc(const struct eval_metrics *t, const struct eval_metrics_sum *s);
/* Why a model that has predictions has no AUC: "no clicks", "nothing but clicks", "no labels";
 * NULL: it has one, or the model has no predictions. */
const char *eval_metrics_no_auc(const struct eval_metrics *t, const struct eval_metrics_sum *s);
double eval_metrics_log_loss(const struct eval_metrics *t, const struct eval_metrics_sum *s);
double eval_metrics_copc(const struct eval_metrics *t,
                         const struct eval_metrics_sum *s); /* clicks over predicted */
double eval_metrics_accuracy(const struct eval_metrics *t, const struct eval_metrics_sum *s);

#endif
