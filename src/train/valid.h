/* Validation during training on runner.valid_data_dir: when it runs, early stopping, the best
 * epoch.
 *
 * Evaluation does not change training: at the end of an epoch the model is evaluated as it was
 * saved (saving has brought all rows up to date), within an epoch on a copy. What was found is a
 * list of points; which of them is the best and how long there was no improvement follow from the
 * list alone, so a run that is resumed reads it (valid_record.c) and is where it was.
 *
 *     valid_open     keys and data; v->data is NULL when there is nothing to validate on
 *     valid_begin    memory, what an earlier part of the run has found
 *     valid_within   between two batches, while training pauses
 *     valid_epoch    behind an epoch that is saved
 *     valid_warn     the best one, and why training has ended
 *
 * Threads: one user; others may look at `stop`. */
#ifndef TRAIN_VALID_H
#define TRAIN_VALID_H

#include <stdatomic.h>

#include "train/control.h"
#include "train/epoch_row.h"
#include "task/task.h"
#include "executor/trainer.h"
#include "store/manifest.h"

#define VALID_RECORD "best.yaml" /* in runner.model_save_path */
#define VALID_MODEL "best"       /* a folder there: the best one, when it is of no epoch's end */

enum valid_metric { VALID_AUTO, VALID_AUC, VALID_LOG_LOSS, VALID_LOSS };

struct valid_point {
    int epoch;
    int64_t batch, samples;           /* of the epoch, trained on before it was evaluated */
    bool end;                         /* the epoch's end */
    bool kept;                        /* its model is on the disk */
    double auc, log_loss, copc, loss; /* NAN: there is none */
};

struct valid {
    struct task *task;
    const struct train_control *control; /* borrowed; may be NULL */
    struct dataset *data;
    struct eval_metrics accumulator;
    struct trainer_options options;
    int64_t interval; /* batches; 0: at the end of epochs alone */
    int patience;     /* runner.early_stop */
    double delta;
    enum valid_metric metric; /* AUTO until something was evaluated */
    bool keep_best;
    int keep_epochs; /* 0: all */
    const char *folder;
    bool shown;       /* points at the end of epochs: by the owner, and not here */
    const char *span; /* of the next point, instead of its epoch's number; or NULL */
    char run[40];
    struct skiff_scope *copy; /* of a model within an epoch */
    struct valid_point *points;
    int n, cap;
    int best;         /* of those whose model is kept; -1: none */
    int top;          /* of all; -1: none */
    double reference; /* what has to be improved on; NAN: nothing yet */
    int idle;         /* points since it was */
    atomic_bool stop; /* training shall end early */
    bool interrupted; /* by Ctrl-C, in the midst of evaluation */
};

enum skiff_status valid_open(struct valid *v, struct task *t, const struct train_control *control,
                             struct skiff_error *err);
void valid_close(struct valid *v);
/* Training saves to `folder` (the text stays the caller's). last: the epoch that the scope holds
 * and that the run resumes from; what was found before it counts. NULL: the run is new. */
enum skiff_status valid_begin(struct valid *v, const char *folder, const char *run,
                              const struct model_info *last, struct skiff_error *err);
/* Evaluates the values of the scope before any training; a new run begins so. */
enum skiff_status valid_check(struct valid *v, struct skiff_error *err);
/* Evaluates the values of the task's scope and prints a line. saved: they are in <folder>/<epoch>.
 * Later, epochs that runner.keep_epochs does not keep are removed. */
enum skiff_status valid_epoch(struct valid *v, int epoch, int64_t batches, int64_t samples,
                              bool saved, struct skiff_error *err);
enum skiff_status valid_within(struct valid *v, int epoch, int64_t batches, int64_t samples,
                               struct skiff_error *err);
/* The point at the end of an epoch, or NULL. */
const struct valid_point *valid_of_epoch(const struct valid *v, int epoch);
/* Puts columns into the rows of a table, and marks the best. */
void valid_fill(const struct valid *v, struct epoch_row *rows, int n);
void valid_warn(const struct valid *v);
/* Why training has ended early. */
void valid_stop_text(const struct valid *v, struct buf *out);
const char *valid_metric_name(enum valid_metric m); /* "log loss" */
double valid_value(const struct valid_point *p, enum valid_metric m);

/* For those who use saved epochs: which one is the best? model: its folder's name. */
struct valid_best {
    int epoch; /* -1: not known */
    int64_t batch;
    bool end;
    enum valid_metric metric;
    double value;
    char model[32], run[40];
};
enum skiff_status valid_best_read(const char *folder, struct valid_best *out,
                                  struct skiff_error *err);

/* ---- valid_record.c: what the files of validation share ---- */

/* What is compared, by default: the first that p has. */
void valid_choose_metric(struct valid *v, const struct valid_point *p);
/* Replays the list: best, top, reference, idle, stop. */
void valid_replay(struct valid *v);
void valid_add(struct valid *v, const struct valid_point *p);
enum skiff_status valid_record_write(const struct valid *v, struct skiff_error *err);
/* The points of the same run, all of them. */
enum skiff_status valid_record_read(struct valid *v, struct skiff_error *err);
/* Of a run that begins anew: what an earlier one has found there goes. */
void valid_record_remove(const char *folder);
/* Removes epochs of this run that are neither among the newest keep_epochs, up to this one, nor the
 * best. True: points have lost their model. */
bool valid_remove_old(struct valid *v, int epoch);
/* The folder `best` goes when an epoch's end is the best. */
void valid_remove_stale(struct valid *v);
/* Points whose model is not there any more (replaced, removed by hand) count as not kept. */
void valid_look_for_models(struct valid *v);

#endif
