/* Evaluation: saved epochs on test data, as `skiff infer` does it. Observers see each epoch as a
 * span (batch, tick, span_begin, data_end, span_end), and the results of all ranks at the end.
 *
 *     evaluation_open(&e, args, control, err); observers_add(&e.observers, ...);
 *     status = evaluation_run(&e, err); status = evaluation_end(&e, status, err);
 *     evaluation_close(&e)
 *
 * Threads: one owner, as of a run (train/run.h). */
#ifndef TRAIN_EVALUATION_H
#define TRAIN_EVALUATION_H

#include "data/files.h"
#include "predict/calibration.h"
#include "save/runs.h"
#include "task/task.h"
#include "train/control.h"
#include "train/observer.h"
#include "train/ranks.h"
#include "train/recorder.h"
#include "train/sample_dump.h"
#include "train/test_report.h"
#include "train/valid.h"

#define EVALUATION_TICK 1.0 /* seconds between two ticks, unless the owner sets others */

struct evaluation {
    const struct task_args *args;
    const struct train_control *control;
    double tick_period;
    struct train_observers observers;
    struct task task;
    struct ranks ranks;
    struct file_list files; /* this rank's, in a job of several */
    bool idle;              /* it has none */
    struct dataset *data;
    struct eval_metrics metrics;
    struct sample_dump dump;
    struct buf folder;               /* of the epoch */
    struct calibration *calibration; /* of the epoch, or NULL */
    struct run_recorder *recorder;
    struct test_report report; /* of the run that saved the epochs */
    struct trainer_options options;
    const char *load_path;
    struct run_list runs;
    struct valid_best best; /* by validation while it was trained; epoch -1: not known */
    bool best_alone;        /* nothing else is evaluated */
    int first, end;
    struct epoch_row *rows; /* over all ranks */
    int nrows;
    bool stopped; /* before its end */
};

/* Opens the config and meets the other ranks. evaluation_close in any case. */
enum skiff_status evaluation_open(struct evaluation *t, const struct task_args *args,
                                  const struct train_control *control, struct skiff_error *err);
enum skiff_status evaluation_run(struct evaluation *t, struct skiff_error *err);
/* Observers see the end, and the numbers are written if args ask for that. status, err: what came
 * before; gives the same, or why the numbers could not be written. */
enum skiff_status evaluation_end(struct evaluation *t, enum skiff_status status,
                                 struct skiff_error *err);
void evaluation_close(struct evaluation *t);

#endif
