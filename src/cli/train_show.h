/* What a run shows while it trains: the progress line, a line for each epoch, the table. An
 * observer (train/observer.h). */
#ifndef CLI_TRAIN_SHOW_H
#define CLI_TRAIN_SHOW_H

#include "cli/progress.h"
#include "train/run.h"

struct train_show {
    struct train_run *run;
    struct progress progress;
};

enum skiff_status train_show_add(struct train_show *show, struct train_run *run,
                                 struct skiff_error *err);
/* Where a run was stopped; to standard error. */
void train_show_stopped(const struct train_run *run);

#endif
