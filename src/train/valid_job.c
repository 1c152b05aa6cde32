#include "train/valid_job.h"

#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "train/checkpoint.h"
#include "task/saved_tables.h"
#include "store/model_dir.h"

static enum skiff_status open_task(struct valid_job *v, struct skiff_error *err)
{
    if (v->open)
        return SKIFF_OK;
    TRY(task_open(&v->task, v->args, false, err));
    v->open = true;
    return valid_open(&v->valid, &v->task, v->control, err);
}

enum skiff_status valid_job_open(struct valid_job *v, struct task *t, const struct task_args *args,
                                 const struct train_control *control, const char *folder, bool here,
                                 bool tables, struct skiff_error *err)
{
    struct config *c = t->config;
    *v = (struct valid_job){
        .args = args, .control = control, .folder = folder, .valid = {.best = -1, .top = -1}};
    if (config_int(c, KEY_RUNNER_VALID_INTERVAL))
        return error_set(err, SKIFF_UNSUPPORTED,
                         "%s: runner.valid_interval: a job is validated only after each epoch; "
                         "remove it, or train in one process%s",
                         config_name(c), tables ? " without table_parameters" : "");
    v->wanted = config_has(c, KEY_RUNNER_VALID_DATA_DIR) || config_has(c, KEY_RUNNER_EARLY_STOP) ||
                config_has(c, KEY_RUNNER_KEEP_EPOCHS);
    if (!v->wanted || !here)
        return SKIFF_OK;
    TRY(open_task(v, err));
    if (args->resume || !v->valid.data)
        return SKIFF_OK;
    TRY(tables ? saved_tables_load(&v->task, NULL, err) : task_startup(&v->task, err));
    return valid_check(&v->valid, err);
}

void valid_job_close(struct valid_job *v)
{
    valid_close(&v->valid);
    if (v->open)
        task_close(&v->task);
    *v = (struct valid_job){0};
}

static enum skiff_status evaluate_epoch(struct valid_job *v, const struct model_info *note,
                                        struct skiff_error *err)
{
    if (v->valid.data)
        TRY(checkpoint_load_epoch(&v->task, v->folder, note->epoch, err));
    return valid_epoch(&v->valid, note->epoch, note->steps, note->samples, true, err);
}

/* The epoch before was saved, and the job ended before it was evaluated. */
static enum skiff_status count_missed(struct valid_job *v, const struct model_info *note,
                                      struct skiff_error *err)
{
    struct model_info last = {0};
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%d", v->folder, note->epoch - 1);
    bool there = model_info_read(path.data, &last, NULL) == SKIFF_OK && last.known &&
                 last.complete && !strcmp(last.run, note->run);
    buf_deinit(&path);
    if (!there || !v->valid.data || valid_of_epoch(&v->valid, last.epoch))
        return SKIFF_OK;
    return evaluate_epoch(v, &last, err);
}

static enum skiff_status begin(struct valid_job *v, const struct model_info *note,
                               struct skiff_error *err)
{
    struct model_info before = {.epoch = note->epoch}; /* what was found of earlier epochs counts */
    if (v->begun)
        return SKIFF_OK;
    TRY(open_task(v, err));
    TRY(valid_begin(&v->valid, v->folder, note->run, &before, err));
    v->begun = true;
    return count_missed(v, note, err);
}

static enum skiff_status evaluate(struct valid_job *v, const struct model_info *note,
                                  struct skiff_error *err)
{
    TRY(begin(v, note, err));
    return evaluate_epoch(v, note, err);
}

void valid_job_saved(struct valid_job *v, const struct model_info *note)
{
    struct skiff_error why;
    if (v->wanted && note->complete && evaluate(v, note, &why) < 0)
        log_warn("epoch %d was not validated: %s", note->epoch, why.message);
}
