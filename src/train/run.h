/* A run: a model trains. Three parts are chosen independently: the home of the parameters (home.h),
 * the work (work.h: which data comes next), and the observers (observer.h).
 *
 *     home.open                          meets other processes; a server serves, and is done
 *     home.open_data, options, checks
 *     home.join                          values, the folder, the first epoch
 *     observers.start
 *     for each span of the work: an epoch, or a pass of online training
 *         observers.span_begin
 *         the executor's threads train; observers.batch, tick, pause
 *         observers.data_end
 *         home.reduce                    counts of all processes
 *         observers.span_end
 *         home.keep                      saves; observers.saved, which validates
 *     home.await_saved, observers.results, home.finish
 *     observers.end
 *
 * Threads: one owner; control.wants_stop may say yes from anywhere. */
#ifndef TRAIN_RUN_H
#define TRAIN_RUN_H

#include "data/files.h"
#include "store/folder_lock.h"
#include "task/task.h"
#include "train/control.h"
#include "train/home.h"
#include "train/job_tables.h"
#include "train/observer.h"
#include "train/sample_dump.h"
#include "train/validation.h"
#include "train/watch.h"
#include "train/work.h"

struct train_run {
    const struct task_args *args;
    const struct train_control *control;
    struct task task;
    struct home home;
    const struct work_slots *work;
    struct train_observers observers;
    struct eval_metrics metrics;
    struct trainer_options options;
    struct validation validation;
    struct sample_dump dump;
    struct record_watch record;
    struct launcher_watch launcher;
    struct file_list files; /* of this process */
    struct dataset *given;  /* by the owner, who keeps it; NULL: the config says where it is */
    struct dataset *data;   /* NULL: this process has none */
    const char *save_path;
    struct folder_lock lock;   /* of the process that saves, from the start to the end of the run */
    char id[40];               /* of the run */
    struct model_info resumed; /* known: what it resumes from */
    int first, epochs;
    int shuffled; /* epochs whose shuffle is done: also those that --resume leaves out */
    struct train_span span;
    char span_name[40];
    struct epoch_row *rows; /* over all processes */
    int nrows;
    struct job_tables_line tables;
    _Atomic double started; /* of the span; moved by pauses while ticks look at it */
    double loading;         /* seconds, of samples into memory */
    bool warned_pipe;
    int64_t expected;      /* samples of a span, once one has been through; 0: not known */
    bool stopped;          /* it was asked to stop, and did before its end */
    atomic_bool wants_end; /* validation or an observer of this process would end it early */
    bool early;            /* all processes agree on that */
    bool lost;             /* the last epoch is on no disk */
};

/* Samples are loaded before they are trained on. */
bool run_in_memory(const struct train_run *run);
enum skiff_status run_load(struct train_run *run, struct skiff_error *err);
/* Opens the config and its home. train_run_close in any case. */
enum skiff_status train_run_open(struct train_run *run, const struct task_args *args,
                                 const struct train_control *control, struct skiff_error *err);
/* Trains, or serves. Observers were added before. */
enum skiff_status train_run_run(struct train_run *run, struct skiff_error *err);
/* Adds what this process has counted in training, in the data of the config, and in its part of a
 * job. For observers, and while the run is not running. */
void train_run_snapshot(const struct train_run *run, struct metrics_snapshot *out);
/* Counts the span's data with the values as they are; observers see it as a span that evaluates. */
enum skiff_status run_evaluate_span(struct train_run *run, struct trainer_result *out,
                                    struct skiff_error *err);
/* Observers see the end. status, why: what train_run_open or train_run_run has returned. */
void train_run_end(struct train_run *run, enum skiff_status status, const struct skiff_error *why);
void train_run_close(struct train_run *run);

#endif
