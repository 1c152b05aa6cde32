/* Record: keeps a run report (report/run_report.h) while a model trains or is judged, and leaves it
 * as report.json and report.html beside the models.
 *
 * It costs next to nothing: a point takes one reading of the tally, ten times a second at most and
 * more rarely the longer the run; slots are looked at in some batches of one thread, for at most
 * 0.2 % of its time; files are written at the start, at the end, and between epochs as long as all
 * writing has taken less than 0.3 % of the time. A disk that cannot be written to is told in a
 * warning, and nothing else.
 * Every call may be given NULL: nothing is kept then. Threads: record_tick and record_event from
 * any, record_batch from training threads, the others from one. */
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include "cli/progress.h"
#include "cli/task.h"
#include "executor/executor.h"
#include "report/run_report.h"

struct record;

struct record_plan {
    const char *command; /* "train" */
    const char *folder;  /* for report.html and report.json; NULL: none */
    const char *json;    /* the JSON goes there at the end, too; NULL: not */
    const char *place;   /* of the models, when they are not in the folder; or NULL */
    const char *run;     /* its name */
    int threads, workers, worker;
    bool quiet; /* files in the folder are written only after record_saved (a worker of a job) */
};

/* From here on warnings and errors that are logged are events of the run. */
struct record *record_open(struct task *task, struct tally *tally, const struct record_plan *plan);
/* Goes on with what is kept in the folder, if it is of the same run: epochs before `first`. */
void record_resume(struct record *r, int first);
void record_event(struct record *r, enum run_event_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The report is there from now on, so that one of an earlier run is not taken for this one's. */
void record_begin(struct record *r, int first);
void record_begin_epoch(struct record *r, int epoch, struct dataset *data);
void record_batch(struct record *r, int thread); /* in trainer_options.on_batch */
void record_tick(struct record *r);              /* in trainer_options.on_tick */
void record_profile(struct record *r, const struct profile *profile);
/* What this process has counted since the last tick; before the counts of others are added. */
void record_last_window(struct record *r);
/* sum: over all workers */
void record_end_epoch(struct record *r, const struct report_row *row, const struct tally_sum *sum,
                      bool complete);
/* What validation has found just now, if there is any. */
struct valid;
void record_valid(struct record *r, struct valid *v, int epoch);
/* This process has saved an epoch; or has failed to (saved false), so that in a job another one
 * does, which then leaves the report, too. */
void record_saved(struct record *r, int epoch, bool saved, double seconds);
/* Writes the last state. OK, or why the JSON that the plan asks for could not be
 * written. */
enum skiff_status record_close(struct record *r, enum run_status status, const char *why,
                               struct skiff_error *err);

#endif
