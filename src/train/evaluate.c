/* The public face of `skiff infer` (skiff/trainer.h): an evaluation whose rows go to the caller.
 * Log lines come in the caller's thread; texts are borrowed for the call. */
#include <skiff/trainer.h>

#include "train/evaluation.h"

struct evaluating {
    const struct skiff_trainer_config *config;
    void (*end)(void *user, const struct skiff_trainer_epoch *epoch);
    void *user;
};

static void log_text(void *user, enum log_level level, const char *text)
{
    const struct skiff_trainer_config *c = user;
    if (c->on_log && level >= (c->quiet ? LOG_WARN : LOG_INFO))
        c->on_log(c->user, text);
}

static enum skiff_status see_row(void *self, const struct train_counts *counts, bool *stop,
                                 struct skiff_error *err)
{
    struct evaluating *e = self;
    const struct epoch_row *r = counts->row;
    (void)stop;
    (void)err;
    if (e->end)
        e->end(e->user, &(struct skiff_trainer_epoch){.epoch = r->epoch,
                                                      .complete = !r->interrupted,
                                                      .samples = r->samples,
                                                      .seconds = r->seconds,
                                                      .loss = r->loss,
                                                      .auc = r->auc,
                                                      .log_loss = r->log_loss,
                                                      .copc = r->copc});
    return SKIFF_OK;
}

static enum skiff_status check(const struct skiff_trainer_config *c, struct skiff_error *err)
{
    TRY(reserved_check(c->reserved, "skiff_trainer_config", err));
    if (!c->config)
        return error_set(err, SKIFF_INVALID, "an evaluation needs a config");
    if (c->resume || c->overwrite || c->net || c->dataset)
        return error_set(err, SKIFF_INVALID,
                         "an evaluation takes a config, options and a name; resume, overwrite, net "
                         "and dataset are for training");
    return SKIFF_OK;
}

enum skiff_status skiff_trainer_evaluate(const struct skiff_trainer_config *c,
                                         void (*end)(void *user,
                                                     const struct skiff_trainer_epoch *epoch),
                                         void *user, struct skiff_error *err)
{
    struct evaluation t = {0};
    struct evaluating e = {.config = c, .end = end, .user = user};
    struct skiff_error why = {0};
    const struct train_control control = {0};
    const struct train_observer rows = {.self = &e, .span_end = see_row};
    struct task_args args = {.config = c->config,
                             .overrides = {.at = (const char **)c->options, .n = c->noptions},
                             .name = c->name,
                             .json = c->json,
                             .logger = {.write = log_text, .user = (void *)c}};
    TRY(check(c, err));
    enum skiff_status status = evaluation_open(&t, &args, &control, &why);
    if (status == SKIFF_OK)
        status = observers_add(&t.observers, &rows, &why);
    if (status == SKIFF_OK)
        status = evaluation_run(&t, &why);
    status = evaluation_end(&t, status, &why);
    evaluation_close(&t);
    if (status < 0 && err)
        *err = why;
    return status;
}
