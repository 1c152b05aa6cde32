/* Work: which data comes next.
 *
 *   epochs   all files, again and again
 *   days     days and passes of online training: each pass is new data, which is waited for
 *
 * Slots are called on one thread, between two spans. */
#ifndef TRAIN_WORK_H
#define TRAIN_WORK_H

#include <stdbool.h>

#include "base/error.h"

struct train_run;

struct work_slots {
    /* The next span as run->span, its data as run->data, shuffled. *more false: all is done, or the
     * run shall end. May wait for data. */
    enum skiff_status (*next)(struct train_run *run, bool *more, struct skiff_error *err);
    /* The span is trained, and saved if it is to be. */
    void (*close_span)(struct train_run *run);
};

extern const struct work_slots work_epochs, work_days;

#endif
