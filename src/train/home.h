/* Home: where the parameters of a run live, and what its processes do together.
 *
 *   process   in this process, or in each of several ranks that train in step (train/ranks.h)
 *   servers   on the servers of a job, or on one inside a process that is alone with its sparse
 *             tables
 *   days      the same with the models of online training (online_done.h)
 *
 * A slot returns when all processes that it needs have answered; a process that is missing is an
 * error after the deadlines of the fleet (docs/internals/consistency.md). Slots are called on one
 * thread but for tick, which the monitor thread calls while training continues. */
#ifndef TRAIN_HOME_H
#define TRAIN_HOME_H

#include "executor/trainer.h"
#include "store/manifest.h"
#include "train/epoch_row.h"

struct train_run;
struct home_slots;

struct home {
    const struct home_slots *slots;
    void *self;
    int index, size;   /* of this process among those that train */
    int servers;       /* of the job; 0: none */
    bool first;        /* of the processes that train: the folder of the models is its own */
    bool serves;       /* it does not train: serve, then close */
    bool remote;       /* values are on servers */
    bool tables;       /* ... in sparse tables, too */
    bool resumes;      /* values are those of an earlier run */
    bool records;      /* it keeps what the report shows */
    bool shows;        /* it prints the table at the end */
    bool stops_within; /* an early stop ends the running epoch, not only the next one */
    uint64_t seed;
    double tick_period;
    const struct skiff_program *program;
};

/* What a span has counted: this process's at first, all processes' behind reduce. */
struct home_counts {
    struct trainer_result result;
    struct eval_metrics_sum sum;
    bool complete;
    bool empty; /* stopped before the first sample: there is nothing to save */
};

struct home_slots {
    /* The task is open. Meets the others, gives the programs their form; fills struct home. */
    enum skiff_status (*open)(struct train_run *run, struct skiff_error *err);
    enum skiff_status (*serve)(struct train_run *run, struct skiff_error *err);
    /* This process's part of the files, as run->data; NULL: none. */
    enum skiff_status (*open_data)(struct train_run *run, struct skiff_error *err);
    /* Values, the folder, and where to begin: run->first. */
    enum skiff_status (*join)(struct train_run *run, struct skiff_error *err);
    /* Observers have started; data is loaded now at the latest. */
    enum skiff_status (*ready)(struct train_run *run, struct skiff_error *err);
    /* Before an epoch on data in memory; each begins with the order that the last one left. */
    enum skiff_status (*shuffle)(struct train_run *run, int epoch, struct skiff_error *err);
    void (*tick)(struct train_run *run);
    /* Adds up counts over all processes; fills the row; run->stopped, run->early. */
    enum skiff_status (*reduce)(struct train_run *run, struct home_counts *counts,
                                struct epoch_row *row, struct skiff_error *err);
    /* Saves the span, or sees that another process does; observers learn of it. */
    enum skiff_status (*keep)(struct train_run *run, const struct home_counts *counts,
                              struct skiff_error *err);
    /* Saves the values of now, while threads of this process wait; NULL: not possible. */
    enum skiff_status (*save_now)(struct train_run *run, const char *dir,
                                  const struct model_info *note, struct skiff_error *err);
    /* run->stopped and run->early become the same in all processes; NULL: reduce does it. */
    enum skiff_status (*agree)(struct train_run *run, struct skiff_error *err);
    /* The last span has ended: waits until it is saved. */
    enum skiff_status (*await_saved)(struct train_run *run, struct skiff_error *err);
    /* Results are printed. */
    enum skiff_status (*finish)(struct train_run *run, struct skiff_error *err);
    /* This process has failed: others shall know at once. */
    void (*abort)(struct train_run *run, const char *reason);
    /* Where a run that was stopped is, and the command that resumes it. */
    void (*print_stopped)(const struct train_run *run, struct buf *out);
    void (*close)(struct train_run *run);
};

extern const struct home_slots home_process, home_servers, home_days;

#endif
