/* Saving an epoch of a job: one worker saves the version that all have tagged while the others
 * train on. Server 0 says which one; if that one dies or fails, another worker is asked. Workers
 * poll for this, and at the end all wait until the last epoch is saved. */
#include <stdio.h>

#include "base/clock.h"
#include "store/file.h"
#include "train/checkpoint.h"
#include "train/disk_space.h"
#include "train/servers_parts.h"

/* A worker that takes over makes the folder. */
static enum skiff_status check_space(void *user, struct skiff_error *err)
{
    struct train_run *run = user;
    if (!file_is_dir(run->save_path))
        return SKIFF_OK;
    return disk_space_check(&run->task, run->save_path, servers_of(run)->save.epoch, err);
}

static bool wants_stop(void *user)
{
    const struct train_run *run = user;
    return control_wants_stop(run->control);
}

/* note: what the manifest says. tagged: the values at the end of the epoch; else those of now. */
static enum skiff_status save_dense(struct train_run *run, const char *dir,
                                    const struct model_info *note, bool tagged,
                                    const struct save_attempts *attempts, struct skiff_error *err)
{
    struct checkpoint_names names;
    bool inference = config_bool(run->task.config, KEY_RUNNER_USE_INFERENCE);
    checkpoint_inference(&run->task, &names);
    struct epochs_save what = {.dir = dir,
                               .note = *note,
                               .marked = tagged,
                               .state = SAVE_EPOCH_STEM,
                               .inference = inference ? &names.what : NULL,
                               .attempts = attempts};
    return epochs_save(servers_of(run)->job.fleet, run->task.scope, &what, err);
}

enum skiff_status servers_save_now(struct train_run *run, const char *dir,
                                   const struct model_info *note, struct skiff_error *err)
{
    return save_dense(run, dir, note, false, NULL, err);
}

static enum skiff_status save_epoch(struct train_run *run, struct skiff_error *err)
{
    struct servers *s = servers_of(run);
    struct save_attempts attempts = {check_space, wants_stop, run, &run->task.logger};
    struct buf dir = BUF_INIT;
    double start = clock_seconds();
    buf_printf(&dir, "%s/%d", run->save_path, s->save.epoch);
    enum skiff_status status =
        skiff_fleet_tables(s->job.fleet)
            ? job_tables_save_epoch(&s->job, &run->task, dir.data, &s->save, &attempts, err)
            : save_dense(run, dir.data, &s->save, s->at_end, &attempts, err);
    if (status == SKIFF_OK)
        logger_info(&run->task.logger, "saved %s in %.1f s", dir.data, clock_seconds() - start);
    s->part_saved = status == SKIFF_OK && !s->at_end;
    buf_deinit(&dir);
    return status;
}

/* What was trained at its end is validated, if it is not all. */
static enum skiff_status show_saved(struct train_run *run, bool saved, double seconds,
                                    struct skiff_error *err)
{
    struct servers *s = servers_of(run);
    struct model_info note = s->save;
    struct buf folder = BUF_INIT;
    buf_printf(&folder, "%s/%d", run->save_path, note.epoch);
    struct train_saved what = {.note = &note,
                               .folder = folder.data,
                               .seconds = seconds,
                               .saved = saved,
                               .left_out = !saved};
    note.complete = s->at_end;
    enum skiff_status status = observers_saved(&run->observers, &what, err);
    buf_deinit(&folder);
    return status;
}

/* Is it for this worker to save? A failure of it is reported, and the job continues: another
 * worker may have a disk that is not full. Errors are those of the network. */
static enum skiff_status ask_and_save(struct train_run *run, enum ps_saving_state *out,
                                      char reason[static 512], struct skiff_error *err)
{
    struct servers *s = servers_of(run);
    int epoch = s->save.epoch;
    bool complete = s->at_end;
    struct skiff_error why;
    TRY(epochs_who_saves(s->job.fleet, epoch, complete, out, reason, err));
    if (*out != PS_SAVE_YOU)
        return SKIFF_OK;
    double start = clock_seconds();
    bool failed = save_epoch(run, &why) < 0;
    double seconds = clock_seconds() - start;
    if (failed)
        WARN_ALL(run, "this worker did not save epoch %d: %s", epoch, why.message);
    TRY(epochs_saved(s->job.fleet, epoch, complete, failed ? &why : NULL, err));
    TRY(show_saved(run, !failed, seconds, err));
    bool others = skiff_fleet_server_num(s->job.fleet) > 0;
    *out = !failed ? PS_SAVE_DONE : others ? PS_SAVE_OTHER : PS_SAVE_FAILED;
    if (*out == PS_SAVE_FAILED)
        snprintf(reason, 512, "%.511s", why.message);
    return SKIFF_OK;
}

/* What is wrong with the network is noticed by those who train. */
void servers_try_save(struct train_run *run)
{
    struct servers *s = servers_of(run);
    enum ps_saving_state state;
    char reason[512];
    if (s->unsaved && ask_and_save(run, &state, reason, NULL) == SKIFF_OK)
        s->unsaved = state != PS_SAVE_DONE && state != PS_SAVE_FAILED;
}

enum skiff_status servers_keep(struct train_run *run, const struct home_counts *counts,
                               struct skiff_error *err)
{
    struct servers *s = servers_of(run);
    enum ps_saving_state state;
    char reason[512];
    bool whole = s->at_end, tables = skiff_fleet_tables(s->job.fleet) > 0;
    (void)counts;
    if (whole && !tables)
        TRY(epochs_mark(s->job.fleet, run->span.number, err));
    TRY(ask_and_save(run, &state, reason, err));
    if (whole && tables) /* which have no tags: no worker continues before they are saved */
        TRY(skiff_fleet_barrier_worker(s->job.fleet, err));
    s->unsaved = state != PS_SAVE_DONE;
    return SKIFF_OK;
}

static enum skiff_status wait_until_saved(struct train_run *run, struct skiff_error *err)
{
    struct servers *s = servers_of(run);
    enum ps_saving_state state = PS_SAVE_OTHER;
    char reason[512];
    while (s->unsaved && !run->stopped && state == PS_SAVE_OTHER) {
        run->stopped = control_wants_stop(run->control);
        TRY(ask_and_save(run, &state, reason, err));
        if (state == PS_SAVE_OTHER)
            clock_sleep(100 * CLOCK_MS);
    }
    if (state != PS_SAVE_FAILED)
        return SKIFF_OK;
    TRY(epochs_report_unsaved(s->job.fleet, reason, err));
    run->lost = true;
    logger_error(&run->task.logger, "no process saved the last epoch of the job, %d: %s",
                 s->save.epoch, reason);
    return SKIFF_OK;
}

enum skiff_status servers_await_saved(struct train_run *run, struct skiff_error *err)
{
    TRY(wait_until_saved(run, err));
    if (run->home.first)
        job_tables_print(servers_of(run)->job.fleet, &run->task.logger);
    return SKIFF_OK;
}
