/* Observers of a run: what is kept, written, printed or decided while a model trains, and does not
 * train it. Run recorder, sample dump, validation, reports to a launcher and the command's progress
 * line are observers; so is what a program adds (skiff_trainer_add_observer).
 *
 *     start        the run has its values and its folder
 *     span_begin   an epoch (or a pass) begins on this process's data
 *     batch        behind every batch, on the thread that ran it; must not block
 *     tick         every fraction of a second, on the monitor thread
 *     pause        between two batches, while all training threads wait
 *     profile      the time of each step of the plan, when all threads have ended
 *     data_end     all threads have ended; ok: without a failure
 *     span_end     the counts of all processes are added up
 *     saved        a span is saved, or could not be
 *     validated    validation has counted a model
 *     results      the run has ended well: all its rows
 *     end          always, at last
 *
 * Every slot may be NULL. Slots are called in the order of the list, those of the owner first.
 * Threads: batch on training threads, tick and sometimes saved and validated on the monitor thread,
 * the others on one thread. */
#ifndef TRAIN_OBSERVER_H
#define TRAIN_OBSERVER_H

#include "executor/trainer.h"
#include "report/run_report.h"
#include "store/manifest.h"
#include "train/epoch_row.h"

struct train_run;

struct train_span {
    int number;       /* of the epoch, or of the pass among those of all days; from 0 */
    int day, pass;    /* of online training: yyyymmdd, from 1; day 0: an epoch */
    const char *name; /* "epoch 3", "20190720 pass 2" */
    bool evaluates;   /* a pass before it is trained: neither batch nor span_end follow */
};

struct train_counts {
    const struct epoch_row *row;         /* over all processes */
    const struct eval_metrics_sum *sum;  /* the same */
    const struct trainer_result *result; /* of this process; of ranks: batches and rows of all */
    bool complete;                       /* all files of all processes were trained to their end */
};

struct train_saved {
    const struct model_info *note;
    const char *folder;
    double seconds;
    bool saved;    /* by this process, now */
    bool left_out; /* not saved, and another process will try */
};

struct train_observer {
    void *self;
    enum skiff_status (*start)(void *self, struct train_run *run, struct skiff_error *err);
    enum skiff_status (*span_begin)(void *self, const struct train_span *span,
                                    struct skiff_error *err);
    void (*batch)(void *self, int thread, int64_t rows, const struct skiff_tensor *watched);
    void (*tick)(void *self);
    enum skiff_status (*pause)(void *self, int64_t batches, int64_t rows, struct skiff_error *err);
    void (*profile)(void *self, const struct profile *profile);
    enum skiff_status (*data_end)(void *self, const struct trainer_result *r, bool ok,
                                  struct skiff_error *err);
    /* *stop: training shall end behind this span. */
    enum skiff_status (*span_end)(void *self, const struct train_counts *counts, bool *stop,
                                  struct skiff_error *err);
    enum skiff_status (*saved)(void *self, const struct train_saved *s, struct skiff_error *err);
    void (*validated)(void *self, int epoch, struct eval_metrics *counted);
    void (*results)(void *self, const struct epoch_row *rows, int n);
    void (*end)(void *self, enum run_status how, const char *why);
};

#define TRAIN_OBSERVERS 16

struct train_observers {
    struct train_observer at[TRAIN_OBSERVERS];
    int n;
};

/* One more at the end; SKIFF_RANGE when there are too many. */
enum skiff_status observers_add(struct train_observers *l, const struct train_observer *o,
                                struct skiff_error *err);
enum skiff_status observers_start(struct train_observers *l, struct train_run *run,
                                  struct skiff_error *err);
enum skiff_status observers_span_begin(struct train_observers *l, const struct train_span *span,
                                       struct skiff_error *err);
void observers_batch(struct train_observers *l, int thread, int64_t rows,
                     const struct skiff_tensor *watched);
void observers_tick(struct train_observers *l);
enum skiff_status observers_pause(struct train_observers *l, int64_t batches, int64_t rows,
                                  struct skiff_error *err);
void observers_profile(struct train_observers *l, const struct profile *profile);
/* All of them are called; the first error is returned. */
enum skiff_status observers_data_end(struct train_observers *l, const struct trainer_result *r,
                                     bool ok, struct skiff_error *err);
enum skiff_status observers_span_end(struct train_observers *l, const struct train_counts *counts,
                                     bool *stop, struct skiff_error *err);
enum skiff_status observers_saved(struct train_observers *l, const struct train_saved *s,
                                  struct skiff_error *err);
void observers_validated(struct train_observers *l, int epoch, struct eval_metrics *counted);
void observers_results(struct train_observers *l, const struct epoch_row *rows, int n);
void observers_end(struct train_observers *l, enum run_status how, const char *why);

#endif
