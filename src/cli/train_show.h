/* What a run shows while it trains: the progress line, and each epoch when it has ended. An
 * observer (train/observer.h). */
#ifndef CLI_TRAIN_SHOW_H
#define CLI_TRAIN_SHOW_H

#include "cli/progress.h"
#include "train/run.h"

struct train_show {
    struct train_run *run;
    struct progress progress;
    const struct epoch_row *waits; /* for its validation, before it is printed; or NULL */
    int printed;                   /* rows of the table */
    bool rows;                     /* epochs are rows of the table, which grows */
    bool lines;                    /* epochs are PaddleRec's lines */
};

/* Rows of epochs have their validation: no lines for it are wanted (train/control.h). */
bool train_show_has_valid(const struct task_args *args);
enum skiff_status train_show_add(struct train_show *show, struct train_run *run,
                                 struct skiff_error *err);
/* Where a run was stopped; to standard error. */
void train_show_stopped(const struct train_run *run);

#endif
