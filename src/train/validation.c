/* Validation as an observer (validation.h).
 *
 * Where the values are decides what is evaluated: in this process the task's own scope, with
 * servers a second network into which the saved values are loaded. Both end in valid.c, which
 * keeps the points and decides about the best one and early stopping. With servers a failure is
 * a warning, because the job itself is well. */
#include "train/validation.h"

#include <string.h>

#include "base/buf.h"
#include "fs/fs.h"
#include "store/model_dir.h"
#include "task/saved_tables.h"
#include "train/checkpoint.h"
#include "train/run.h"

/* ---- open ---- */

static enum skiff_status open_own(struct validation *v, struct skiff_error *err)
{
    struct train_run *run = v->run;
    if (v->own_is_open)
        return SKIFF_OK;
    TRY(task_open(&v->own, run->args, TASK_EVALUATES, err));
    v->own_is_open = true;
    return valid_open(&v->valid, &v->own, run->control, err);
}

/* A new job evaluates once before it begins: what is wrong with the data is found now. */
static enum skiff_status open_remote(struct validation *v, struct skiff_error *err)
{
    struct train_run *run = v->run;
    struct config *c = run->task.config;
    bool tables = run->home.tables;
    v->valid.best = v->valid.top = -1;
    if (config_int(c, KEY_RUNNER_VALID_INTERVAL) && tables)
        return error_set(err, SKIFF_UNSUPPORTED,
                         "%s: runner.valid_interval: a job with sparse tables is validated only "
                         "after each epoch; remove it, or train in one process without "
                         "table_parameters",
                         config_name(c));
    v->wanted = config_has(c, KEY_RUNNER_VALID_DATA_DIR) || config_has(c, KEY_RUNNER_EARLY_STOP) ||
                config_has(c, KEY_RUNNER_KEEP_EPOCHS);
    if (!v->wanted || !run->home.first)
        return SKIFF_OK;
    TRY(open_own(v, err));
    if (run->home.resumes || !v->valid.data)
        return SKIFF_OK;
    TRY(tables ? saved_tables_load(&v->own, NULL, err) : task_startup(&v->own, err));
    return valid_check(&v->valid, err);
}

enum skiff_status validation_open(struct validation *v, struct train_run *run,
                                  struct skiff_error *err)
{
    v->run = run;
    pthread_mutex_init(&v->lock, NULL);
    if (run->home.remote)
        return open_remote(v, err);
    TRY(valid_open(&v->valid, &run->task, run->control, err));
    v->valid.shown = run->control && run->control->shows_valid;
    return SKIFF_OK;
}

void validation_close(struct validation *v)
{
    if (!v->run)
        return;
    valid_close(&v->valid);
    if (v->own_is_open)
        task_close(&v->own);
    pthread_mutex_destroy(&v->lock);
    *v = (struct validation){0};
}

int64_t validation_interval(const struct validation *v)
{
    return v->run->home.first ? v->valid.interval : 0;
}

/* ---- what it decides ---- */

static void take_decision(struct validation *v)
{
    if (v->valid.stop)
        v->run->wants_end = true;
    if (!v->run->home.remote)
        v->run->stopped |= v->valid.interrupted;
}

/* The metrics of the point that was found just now, if there is one. */
static void show_point(struct validation *v, int epoch)
{
    struct valid *valid = &v->valid;
    /* interrupted: the last point is an earlier one, the metrics of a part of the data */
    if (valid->data && !valid->interrupted && valid->n &&
        valid->points[valid->n - 1].epoch == epoch)
        observers_validated(&v->run->observers, epoch, &valid->accumulator);
}

enum skiff_status validation_begin(struct validation *v, struct skiff_error *err)
{
    struct train_run *run = v->run;
    if (run->home.remote || !run->home.first)
        return SKIFF_OK;
    TRY(valid_begin(&v->valid, run->save_path, run->id, run->resumed.known ? &run->resumed : NULL,
                    err));
    take_decision(v);
    return SKIFF_OK;
}

/* ---- values of servers ---- */

/* kept: the folder stays, and counts as the epoch's model. */
static enum skiff_status evaluate_saved(struct validation *v, const struct model_info *note,
                                        const char *folder, struct skiff_error *err)
{
    bool kept = !v->run->span.day; /* online training's own list says what stays */
    if (v->valid.data)
        TRY(checkpoint_load(&v->own, folder, err));
    return valid_epoch(&v->valid, note->epoch, note->steps, note->samples, kept, err);
}

/* The epoch before was saved, and the job ended before it was evaluated. */
static enum skiff_status count_missed(struct validation *v, const struct model_info *note,
                                      struct skiff_error *err)
{
    struct model_info last = {0};
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%d", v->run->save_path, note->epoch - 1);
    bool there = model_info_read(path.data, &last, NULL) == SKIFF_OK && last.known &&
                 last.complete && !strcmp(last.run, note->run);
    enum skiff_status status = SKIFF_OK;
    if (there && v->valid.data && !valid_of_epoch(&v->valid, last.epoch))
        status = evaluate_saved(v, &last, path.data, err);
    buf_deinit(&path);
    return status;
}

static enum skiff_status begin_remote(struct validation *v, const struct model_info *note,
                                      struct skiff_error *err)
{
    struct model_info before = {.epoch = note->epoch}; /* what was found of earlier epochs counts */
    const struct model_info *part = &v->run->resumed;
    if (v->begun)
        return SKIFF_OK;
    if (part->known && !part->complete && part->epoch == note->epoch)
        before.steps = part->steps;
    TRY(open_own(v, err));
    TRY(valid_begin(&v->valid, v->run->save_path, note->run, &before, err));
    v->begun = true;
    return count_missed(v, note, err);
}

static enum skiff_status evaluate_remote(struct validation *v, const struct train_saved *s,
                                         struct skiff_error *err)
{
    v->valid.span = v->run->span.day ? v->run->span.name : NULL;
    TRY(begin_remote(v, s->note, err));
    return evaluate_saved(v, s->note, s->folder, err);
}

/* The servers' values of now, which go the way of saved ones. */
static enum skiff_status evaluate_now(struct validation *v, const struct model_info *note,
                                      struct skiff_error *err)
{
    struct train_run *run = v->run;
    struct buf dir = BUF_INIT;
    buf_printf(&dir, "%s/.within", run->save_path);
    enum skiff_status status = begin_remote(v, note, err);
    if (status == SKIFF_OK)
        status = run->home.slots->save_now(run, dir.data, note, err);
    if (status == SKIFF_OK)
        status = checkpoint_load(&v->own, dir.data, err);
    if (status == SKIFF_OK)
        status = valid_within(&v->valid, note->epoch, note->steps, note->samples, err);
    (void)fs_remove_all(NULL, (const char *const[]){dir.data}, 1, NULL);
    buf_deinit(&dir);
    return status;
}

static void pause_remote(struct validation *v, int64_t batches, int64_t rows)
{
    struct skiff_error why;
    struct model_info note = {
        .epoch = v->run->span.number, .steps = batches, .samples = rows, .known = true};
    memcpy(note.run, v->run->id, sizeof note.run);
    if (evaluate_now(v, &note, &why) < 0)
        logger_warn(&v->run->task.logger, "epoch %d, batch %lld was not validated: %s", note.epoch,
                    (long long)batches, why.message);
}

/* ---- the observer ---- */

static enum skiff_status pause(struct validation *v, int64_t batches, int64_t rows,
                               struct skiff_error *err)
{
    int epoch = v->run->span.number, n = v->valid.n;
    if (v->run->home.remote)
        pause_remote(v, batches, rows);
    else
        TRY(valid_within(&v->valid, epoch, batches, rows, err));
    take_decision(v);
    if (v->valid.n > n || !v->run->home.remote)
        show_point(v, epoch);
    return SKIFF_OK;
}

static enum skiff_status saved(struct validation *v, const struct train_saved *s,
                               struct skiff_error *err)
{
    const struct model_info *note = s->note;
    struct skiff_error why;
    if (!v->run->home.remote)
        TRY(valid_epoch(&v->valid, note->epoch, note->steps, note->samples, s->saved, err));
    else if (v->wanted && evaluate_remote(v, s, &why) < 0)
        logger_warn(&v->run->task.logger, "epoch %d was not validated: %s", note->epoch,
                    why.message);
    take_decision(v);
    show_point(v, note->epoch);
    return SKIFF_OK;
}

static enum skiff_status on_pause(void *self, int64_t batches, int64_t rows,
                                  struct skiff_error *err)
{
    struct validation *v = self;
    pthread_mutex_lock(&v->lock);
    enum skiff_status status = pause(v, batches, rows, err);
    pthread_mutex_unlock(&v->lock);
    return status;
}

static enum skiff_status on_saved(void *self, const struct train_saved *s, struct skiff_error *err)
{
    struct validation *v = self;
    if (!s->note->complete || s->left_out)
        return SKIFF_OK;
    pthread_mutex_lock(&v->lock);
    enum skiff_status status = saved(v, s, err);
    pthread_mutex_unlock(&v->lock);
    return status;
}

struct train_observer validation_observer(struct validation *v)
{
    return (struct train_observer){.self = v, .pause = on_pause, .saved = on_saved};
}

void validation_fill(const struct validation *v, struct epoch_row *rows, int n)
{
    valid_fill(&v->valid, rows, n);
}

void validation_print(const struct validation *v)
{
    valid_warn(&v->valid);
}

int validation_best(const struct validation *v)
{
    const struct valid *valid = &v->valid;
    return valid->points && valid->best >= 0 ? valid->points[valid->best].epoch : -1;
}
