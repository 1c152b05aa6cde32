/* Shared by the files of the trainer: trainer.c, trainer_metric.c, trainer_pause.c,
 * trainer_print.c. */
#ifndef EXECUTOR_TRAINER_PARTS_H
#define EXECUTOR_TRAINER_PARTS_H

#include <pthread.h>

#include "base/buf.h"
#include "executor/trainer.h"

/* The point at which all threads of a trainer pause (trainer_pause.c). Between pause_init and
 * pause_deinit; threads that never pass count as running until they leave. */
struct pause {
    const struct trainer_options *options;
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t over;
    int running, waiting; /* threads */
    uint64_t held;        /* pauses so far */
    bool wanted, failed;
    int64_t batches, rows, next; /* next: the number of batches at which the next pause is wanted */
    double seconds;              /* nanoseconds spent in pauses */
};
void pause_init(struct pause *p, const struct trainer_options *o);
void pause_deinit(struct pause *p);
/* A thread has finished a batch. */
enum skiff_status pause_pass(struct pause *p, int64_t rows, struct skiff_error *err);
/* A thread ends, successfully or not (skip: later pauses are dropped). */
enum skiff_status pause_leave(struct pause *p, bool skip, struct skiff_error *err);

/* Names of the metric states of the program, each once; keys belong to the program. */
void metric_states(const struct skiff_program *p, struct str_map *out);
/* Gives `own` copies of its parent's values, or zeros. */
enum skiff_status metric_states_split(struct skiff_scope *own, const struct skiff_scope *root,
                                      const struct str_map *names, bool zero,
                                      struct skiff_error *err);
/* root = sum of the threads' values. */
enum skiff_status metric_states_merge(struct skiff_scope *root, struct skiff_scope *const *own,
                                      int threads, const struct str_map *names,
                                      struct skiff_error *err);
/* Computes the results of metric ops (auc) from the states in the scope, into the scope: what the
 * threads have computed covers only their own batches. */
enum skiff_status metric_results(struct skiff_scope *root, const struct skiff_program *p,
                                 struct skiff_error *err);

/* Looks for a parameter that is nan or implausibly large; false: there is none. Its description
 * goes to out. */
bool trainer_diverged(const struct skiff_scope *scope, const struct skiff_program *program,
                      char out[static 160]);

/* "info\tname\t\tlod: {}\n\tdim: 1\n..." as Paddle 1.8 prints a fetched variable. */
void print_fetched(struct buf *out, const char *info, const char *name,
                   const struct skiff_tensor *v);
/* 2.6 prints one line, "time: [...], batch: [1], info[1]:[0.5]": its beginning, a variable. */
void print_time(struct buf *out, int64_t batch);
void print_fetched_2x(struct buf *out, const char *info, const struct skiff_tensor *v);
void print_profile(struct buf *out, const struct profile *p, int64_t batches, int64_t rows,
                   double read_seconds, double seconds);

#endif
