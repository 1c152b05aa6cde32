/* Observers that come with every run: the run recorder, the sample dump, and the reports to a
 * launcher. */
#ifndef TRAIN_WATCH_H
#define TRAIN_WATCH_H

#include "fleet/report.h"
#include "train/observer.h"
#include "train/recorder.h"

struct record_watch {
    struct train_run *run;
    struct run_recorder *recorder; /* NULL: this process keeps nothing */
    bool pauses;                   /* a pass is evaluated before it is trained */
};
struct train_observer record_observer(struct record_watch *w);

/* The dump is opened by its owner. */
struct train_observer dump_observer(struct train_run *run);

struct launcher_watch {
    struct train_run *run;
    struct report total; /* of this process */
    bool evaluates;
};
struct train_observer launcher_observer(struct launcher_watch *w, struct train_run *run);

#endif
