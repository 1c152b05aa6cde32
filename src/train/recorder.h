/* Run recorder: keeps a run report (report/run_report.h) while a model trains or is evaluated, and
 * leaves it as report.json and report.html next to the models.
 *
 * It costs next to nothing: a point takes one reading of the metrics accumulator, often at
 * first, so that a run of one short epoch has a curve, soon ten times a second and more rarely
 * the longer the run; slots are looked at in some batches of one thread, for at most 0.2 % of
 * its time; files are written at the start, at the end, and between epochs as long as all
 * writing has taken less than 0.3 % of the time. A disk that cannot be written to is reported in
 * a warning, and nothing else. Every call may be given NULL: nothing is kept then. Threads:
 * recorder_tick and recorder_event from any, recorder_batch from training threads, the others
 * from one. */
#ifndef TRAIN_RECORDER_H
#define TRAIN_RECORDER_H

#include "train/epoch_row.h"
#include "task/task.h"
#include "executor/executor.h"
#include "report/run_report.h"

struct run_recorder;

struct recorder_plan {
    const char *command;    /* "train" */
    const char *folder;     /* for report.html and report.json; NULL: none */
    const char *json;       /* the JSON goes there at the end, too; NULL: not */
    const char *model_path; /* of the models, when they are not in the folder; or NULL */
    const char *run;        /* its id */
    int threads, servers, workers, worker;
    enum run_part part; /* whose rows are counted: those of epochs */
    int64_t files;      /* of that part; 0: not known */
    bool quiet; /* files in the folder are written only after recorder_saved (a worker of a job) */
};

/* From here on warnings and errors that are logged are events of the run. */
struct run_recorder *recorder_open(struct task *task, struct eval_metrics *accumulator,
                                   const struct recorder_plan *plan);
/* Resumes from what is kept in the folder, if it is of the same run: epochs before `first`. */
void recorder_resume(struct run_recorder *r, int first);
void recorder_event(struct run_recorder *r, enum run_event_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The report is there from now on, so that one of an earlier run is not taken for this one's. */
void recorder_begin(struct run_recorder *r, int first);
void recorder_begin_epoch(struct run_recorder *r, int epoch, struct dataset *data);
void recorder_batch(struct run_recorder *r, int thread);
void recorder_tick(struct run_recorder *r);
/* Training waits until recorder_valid: a window ends here, and the next one begins there. */
void recorder_pause(struct run_recorder *r);
void recorder_profile(struct run_recorder *r, const struct profile *profile);
/* What this process has counted since the last tick; before others' are added. */
void recorder_last_window(struct run_recorder *r);
/* sum: over all workers. once: the same rows come again in other epochs */
void recorder_end_epoch(struct run_recorder *r, const struct epoch_row *row,
                        const struct eval_metrics_sum *sum, bool complete, bool once);
/* What validation has counted just now. */
struct recorder_valid {
    int epoch;
    bool best; /* of all so far */
    const char *metric;
    int64_t files;
};
void recorder_valid(struct run_recorder *r, struct eval_metrics *counted,
                    const struct recorder_valid *v);
/* This process has saved an epoch; or has failed to (saved false), so that in a job another one
 * does, which then leaves the report, too. */
void recorder_saved(struct run_recorder *r, int epoch, bool saved, double seconds);
/* Writes the last state. OK, or why the JSON that the plan asks for could not be
 * written. */
enum skiff_status recorder_close(struct run_recorder *r, enum run_status status, const char *why,
                                 struct skiff_error *err);

#endif
