/* Ranks: `skiff train` and `skiff infer` as one process of a collective job.
 *
 * A job is one when its environment names several ranks and no servers (skiff launch --collective,
 * mpirun, srun, PADDLE_TRAINER_*). All ranks train in step, each on its files, with one thread;
 * rank 0 reads checkpoints, saves, validates, prints. Every call is made by all ranks; alone they
 * do nothing. */
#ifndef TRAIN_RANKS_H
#define TRAIN_RANKS_H

#include "task/task_metrics.h"
#include "task/task.h"

struct ranks {
    int rank, size; /* 0 of 1: alone */
};

/* Meets the others. train: the task's programs become collective. */
enum skiff_status ranks_open(struct ranks *r, struct task *t, const struct task_args *args,
                             bool train, struct skiff_error *err);
/* Keys of ranks in the config of a job with servers. */
enum skiff_status ranks_refuse(struct config *c, struct skiff_error *err);
static inline bool ranks_alone(const struct ranks *r)
{
    return r->size <= 1;
}
static inline bool ranks_first(const struct ranks *r)
{
    return r->rank == 0;
}
/* The rank's files, put into data->files (they live in `files`): all, or with
 * runner.split_file_list its share. always: its share, which may be none. */
enum skiff_status ranks_files(const struct ranks *r, struct task *t, bool always,
                              struct task_data *data, struct file_list *files,
                              struct skiff_error *err);
/* Counts of all ranks, in place. */
enum skiff_status ranks_add_up(const struct ranks *r, struct eval_metrics_sum *s,
                               struct skiff_error *err);
/* The scores of all ranks, in place. */
enum skiff_status ranks_gather_scores(const struct ranks *r, struct scores *s,
                                      struct skiff_error *err);
/* The n values of rank 0. */
enum skiff_status ranks_follow(const struct ranks *r, int64_t *values, int n,
                               struct skiff_error *err);
/* Is it so in one rank? */
enum skiff_status ranks_any(const struct ranks *r, bool *value, struct skiff_error *err);
/* Parameters and all that training keeps become rank 0's: it has read them from a checkpoint. */
enum skiff_status ranks_spread(const struct ranks *r, struct task *t, struct skiff_error *err);
/* Adds what the collective calls of this process have counted, if there are ranks. */
struct metrics_snapshot;
void ranks_snapshot(struct metrics_snapshot *out);
/* Leaves, and tells the other ranks which ones still wait. */
void ranks_close(struct ranks *r);

#endif
