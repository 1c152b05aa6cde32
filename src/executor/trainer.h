/* Trainer: one epoch of batches through a program by several threads, without locks on parameters
 * (Hogwild): what train_from_dataset and infer_from_dataset do.
 *
 * Every thread has an executor of its own; they share the scope and the program. Non-persistable
 * variables belong to the executors. States of metrics (in/out variables of ops flagged OP_METRIC)
 * are kept per thread and added up into the scope at the end, so that they count every sample once
 * however many threads there are: thread 0 resumes from the values of the scope, the others start
 * at zero.
 *
 * Threads: callbacks are called from the trainer's threads as each of them says; trainer_run
 * returns when all threads are joined. One thread: same batches, same numbers, bit for bit. */
#ifndef EXECUTOR_TRAINER_H
#define EXECUTOR_TRAINER_H

#include "base/buf.h"
#include "executor/executor.h"

struct trainer_batch {
    const struct feed *feeds;
    int nfeeds;
    int64_t rows; /* samples */
};

/* Where batches come from. */
struct trainer_source {
    void *self;
    /* The next batch for the thread, or END. May block; called by that thread without locks held.
     * The batch is borrowed until the thread's next call. */
    enum skiff_status (*next)(void *self, int thread, struct trainer_batch *out,
                              struct skiff_error *err);
    /* The batch that the thread's next call of next will return; false: not known yet, or none.
     * Does not wait. Borrowed like that batch. May be NULL. */
    bool (*peek)(void *self, int thread, struct trainer_batch *out);
    /* Makes blocked calls of next return END, from another thread; may be NULL. */
    void (*interrupt)(void *self);
    /* Appends the files and lines of the thread's batch. May be NULL. */
    void (*position)(void *self, int thread, struct buf *out);
};

struct trainer_options {
    int threads;                      /* at least 1 */
    struct executor_options executor; /* the trainer counts in its registry, too */
    bool reset_metrics;               /* states of metrics start at zero */
    bool evaluates;                   /* counted as such; set by trainer_infer_dataset */
    void *user;                       /* passed to all callbacks */

    /* Printed by thread 0 at every print_period-th of its batches, in Paddle's form. */
    const char *const *fetches, *const *fetch_info;
    int nfetches;
    int print_period; /* 0: 100 */
    void (*print)(void *user, const char *text);
    /* Every 100 batches of thread 0: mean time of every op, of reading, samples per second. */
    void (*print_debug)(void *user, const char *text);

    /* After every batch, on the thread that ran it: values of `watched`, borrowed for the call. */
    const char *const *watched;
    int nwatched;
    void (*on_batch)(void *user, int thread, int64_t rows, const struct skiff_tensor *watched);

    /* A variable that must stay finite, or NULL: when it is nan or infinite, training fails with a
     * message that says where and what may help; `about` is put into the message ("epoch 3"). */
    const char *loss;
    const char *about, *advice;

    /* Fetch handler: every handler_period seconds, on a thread of its own, with the values that
     * thread 0 had after a batch (a copy; kind NONE for a variable that nobody writes). Not called
     * before the first period is over. */
    const char *const *handled;
    int nhandled;
    double handler_period; /* 0: 60 */
    void (*handler)(void *user, const struct skiff_tensor *values);

    /* Every tick_period seconds, on the same thread as the handler. */
    double tick_period;
    void (*on_tick)(void *user);

    /* After every pause_period batches (of all threads together) all threads stop behind their
     * running batch, and one of them calls on_pause: nothing is read or written meanwhile. With one
     * thread that is exactly every pause_period batches. An error of on_pause is an error of the
     * run. */
    int64_t pause_period; /* 0: never */
    enum skiff_status (*on_pause)(void *user, int64_t batches, int64_t rows,
                                  struct skiff_error *err);
    /* At the end, on the caller's thread: the time of each thread's steps (with executor.profile).
     */
    void (*on_profile)(void *user, const struct profile *profile);

    /* Threads end after their running batch once it returns true; all of them call it. */
    bool (*wants_stop)(void *user);
};

struct trainer_result {
    int64_t batches, rows;
    double seconds; /* without pauses */
    /* Summed over the threads. Update is measured only with executor.profile. */
    double read_seconds, compute_seconds, update_seconds;
    bool stopped; /* wants_stop gave true */
};

/* A failure of one thread ends the others after their running batch; the first one is returned.
 * Metric states are added up in any case. */
enum skiff_status trainer_run(struct skiff_scope *scope, const struct skiff_program *program,
                              const struct trainer_source *source,
                              const struct trainer_options *options, struct trainer_result *result,
                              struct skiff_error *err);

struct dataset;
/* train_from_dataset: starts the dataset, trains, stops it. options.threads 0 takes the dataset's;
 * with more threads than get batches the others have nothing to do. */
enum skiff_status trainer_train_dataset(struct skiff_scope *scope,
                                        const struct skiff_program *program,
                                        struct dataset *dataset,
                                        const struct trainer_options *options,
                                        struct trainer_result *result, struct skiff_error *err);
/* infer_from_dataset: the program without its backward and optimizer ops,
 * and with fresh metrics. */
enum skiff_status trainer_infer_dataset(struct skiff_scope *scope,
                                        const struct skiff_program *program,
                                        struct dataset *dataset,
                                        const struct trainer_options *options,
                                        struct trainer_result *result, struct skiff_error *err);

#endif
