/* Online training, the run and its parts: passes (online_pass.c), what is saved (online_save.c),
 * days (train_online.c).
 *
 * All workers go through the same passes, with a barrier before and after each; the first one
 * saves while the others wait. One process alone does the same without meetings. */
#ifndef CLI_ONLINE_PARTS_H
#define CLI_ONLINE_PARTS_H

#include "train/job.h"
#include "cli/online_done.h"
#include "train/online_plan.h"
#include "cli/progress.h"
#include "save/runs.h"
#include "data/files.h"
#include "executor/trainer.h"
#include "fleet/report.h"

#define ONLINE_METRIC 512

struct online {
    const struct task_args *args;
    struct task task;
    struct train_job job;
    struct online_plan plan;
    struct done_list models, bases, patches;
    int from; /* the line of models that this run begins with; -1: none */
    struct buf start_path;
    const char *save_path;
    struct folder_lock lock;
    struct model_info note;
    int step;    /* saves so far, over all runs */
    int64_t key; /* of the base model that deltas belong to: when it was made */
    bool stopped, based, layout_logged;
    char metric[ONLINE_METRIC]; /* of the last pass */
    /* the pass that runs */
    int day, pass;
    struct dataset *data; /* NULL: none for this worker */
    struct eval_metrics accumulator;
    struct progress progress;
    struct trainer_options options;
    struct report total; /* of this worker */
    int passes_done;
    int64_t samples;
};

/* ---- online_pass.c ---- */
void online_options(struct online *o);
/* Waits for the data of o->day, o->pass, evaluates the model on it, trains. o->stopped: by signal;
 * the pass does not count. */
enum skiff_status online_pass(struct online *o, struct skiff_error *err);
/* Sums over all workers, in place. */
enum skiff_status online_barrier(struct online *o, int64_t *v, size_t n, struct skiff_error *err);

/* ---- online_metric.c ---- */
/* PaddleRec's text: " global AUC=0.500000 BUCKET_ERROR=..". */
void online_metric(const struct eval_metrics *t, const struct eval_metrics_sum *s,
                   char out[static ONLINE_METRIC]);

/* ---- online_save.c ---- */
/* Donefiles, and the newest model that is complete. */
enum skiff_status online_find(struct online *o, struct skiff_error *err);
/* Of a worker that is in the job: values of that model. */
enum skiff_status online_load(struct online *o, struct skiff_error *err);
enum skiff_status online_first_base(struct online *o, struct skiff_error *err);
enum skiff_status online_save_pass(struct online *o, struct skiff_error *err);
enum skiff_status online_end_day(struct online *o, struct skiff_error *err);

#endif
