#include "train/work.h"

#include <stdio.h>

#include "train/run.h"

static enum skiff_status epochs_next(struct train_run *run, bool *more, struct skiff_error *err)
{
    int epoch = run->span.name ? run->span.number + 1 : run->first;
    *more = epoch < run->epochs && run->data && !run->stopped && !run->early;
    if (!*more)
        return SKIFF_OK;
    snprintf(run->span_name, sizeof run->span_name, "epoch %d", epoch);
    run->span = (struct train_span){.number = epoch, .name = run->span_name};
    if (!config_bool(run->task.config, KEY_RUNNER_SHUFFLE) || !run_in_memory(run))
        return SKIFF_OK;
    for (; run->shuffled <= epoch; run->shuffled++)
        TRY(run->home.slots->shuffle(run, run->shuffled, err));
    return SKIFF_OK;
}

const struct work_slots work_epochs = {.next = epochs_next};
