/* Online training: what the home of its parameters (home_days.c), its work (work_days.c) and its
 * saves (online_save.c) share.
 *
 * All workers go through the same passes, with a barrier before and after each; the first one
 * saves while the others wait. One process alone does the same without barriers. */
#ifndef TRAIN_ONLINE_PARTS_H
#define TRAIN_ONLINE_PARTS_H

#include "train/job.h"
#include "train/online_done.h"
#include "train/online_plan.h"
#include "train/run.h"

#define ONLINE_METRIC 512

struct online {
    struct train_run *run;
    struct train_job job;
    struct online_plan plan;
    struct done_list models, bases, patches;
    int from; /* the line of models that this run begins with; -1: none */
    struct buf start_path;
    struct model_info note;
    struct buf saved; /* the model that was saved just now, and observers do not know; "": none */
    double save_seconds;
    int step;    /* saves so far, over all runs */
    int64_t key; /* of the base model that deltas belong to: when it was made */
    bool based, layout_logged;
    char metric[ONLINE_METRIC]; /* of the last pass */
    int at_day;                 /* of the plan */
    int day, pass;              /* that run; pass 0: the day has not begun */
    int passes_done;
};

static inline struct online *online_of(const struct train_run *run)
{
    return run->home.self;
}

/* ---- home_days.c ---- */
/* Sums over all workers, in place. */
enum skiff_status online_barrier(struct online *o, int64_t *v, size_t n, struct skiff_error *err);
/* Counts over all workers: the metric text, which is printed. r: of this process. Stopped in one:
 * in all. */
enum skiff_status online_reduce(struct online *o, const char *what, const struct trainer_result *r,
                                struct eval_metrics_sum *sum, struct skiff_error *err);
/* Is the pass behind the model that the run has begun with? */
bool online_is_due(const struct online *o, int day, int pass);

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
