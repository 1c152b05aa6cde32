/* Validation in a job: the worker that has saved an epoch evaluates what it has saved, as one
 * process with a network of its own; no other worker waits for it. It reports an early stop in
 * the reduction at the end of the next epoch: a job ends one epoch later than one process
 * would.
 *
 * Within epochs nothing is evaluated. Threads: one user at a time. */
#ifndef TRAIN_VALID_JOB_H
#define TRAIN_VALID_JOB_H

#include "train/valid.h"

struct valid_job {
    const struct task_args *args;
    const struct train_control *control;
    const char *folder;
    struct task task; /* for evaluation; made when it is first needed */
    struct valid valid;
    bool wanted; /* the config has something for it to do */
    bool open, begun;
};

/* Looks at the keys. here: this worker will evaluate, so the data must be there now. tables: the
 * job has sparse tables. */
enum skiff_status valid_job_open(struct valid_job *v, struct task *t, const struct task_args *args,
                                 const struct train_control *control, const char *folder, bool here,
                                 bool tables, struct skiff_error *err);
void valid_job_close(struct valid_job *v);
/* <folder>/<note->epoch> is saved. What goes wrong is reported: the job continues without. */
void valid_job_saved(struct valid_job *v, const struct model_info *note);

#endif
