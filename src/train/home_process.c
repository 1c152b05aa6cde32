/* Parameters in this process, or in each of several ranks (home.h).
 *
 * A failed save is retried by time; if only the last epoch cannot be saved the run fails, because
 * its result would be lost. A run that is stopped saves the part of its epoch with a manifest that
 * says so, and --resume restarts that epoch. All ranks make the same calls in the same order; rank
 * 0 reads, saves, validates and decides. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/plural.h"
#include "fleet/report.h"
#include "save/epochs.h"
#include "save/runs.h"
#include "store/file.h"
#include "save/retry.h"
#include "task/task_tables.h"
#include "train/checkpoint.h"
#include "train/disk_space.h"
#include "train/ranks.h"
#include "train/run.h"

struct process {
    struct ranks ranks;
    struct model_info note;       /* of the epoch to be saved; the run's name stays */
    struct skiff_error not_saved; /* why the newest epoch is not on the disk; code OK: it is */
};

static struct process *self_of(const struct train_run *run)
{
    return run->home.self;
}

static enum skiff_status process_open(struct train_run *run, struct skiff_error *err)
{
    struct process *p = mem_alloc_or_die(sizeof *p);
    struct home *home = &run->home;
    p->ranks.size = 1;
    home->self = p;
    TRY(ranks_open(&p->ranks, &run->task, run->args, true, err));
    home->index = p->ranks.rank;
    home->size = p->ranks.size;
    home->first = home->shows = home->records = ranks_first(&p->ranks);
    home->stops_within = true;
    home->seed = (uint64_t)config_int(run->task.config, KEY_RUNNER_SEED);
    home->tick_period = 0.1;
    home->program = run->task.main;
    control_ready(run->control);
    return SKIFF_OK;
}

static enum skiff_status log_tables(struct task *task, struct skiff_error *err)
{
    bool any;
    TRY(task_tables_any(task, &any, err));
    if (any)
        logger_info(
            &task->logger,
            "table_parameters have no effect here: neither geo nor ranks have sparse tables");
    return SKIFF_OK;
}

static enum skiff_status process_open_data(struct train_run *run, struct skiff_error *err)
{
    struct task_data data = task_data_train;
    TRY(ranks_files(&self_of(run)->ranks, &run->task, false, &data, &run->files, err));
    TRY(task_dataset_open(&run->task, &data, &run->data, err));
    return log_tables(&run->task, err);
}

/* ---- the beginning ---- */

/* Where parameters come from: the newest checkpoint, a given model, or the startup program. */
static enum skiff_status load_values(struct train_run *run, struct skiff_error *err)
{
    struct process *p = self_of(run);
    struct model_info last = {.epoch = -1};
    const char *init = task_start_path(&run->task);
    save_new_run(&p->note);
    if (run->args->resume)
        TRY(checkpoint_resume(&run->task, run->save_path, &last, err));
    if (last.epoch >= 0) {
        if (last.run[0])
            memcpy(p->note.run, last.run, sizeof last.run);
        run->resumed = last;
        run->first = last.epoch + last.complete;
        if (last.complete)
            logger_info(&run->task.logger, "resuming from %s/%d, saved after epoch %d",
                        run->save_path, last.epoch, last.epoch);
        else
            logger_info(&run->task.logger,
                        "resuming from %s/%d, saved in the middle of epoch %d: the epoch restarts, "
                        "and trains %lld sample%s a second time",
                        run->save_path, last.epoch, last.epoch, (long long)last.samples,
                        plural(last.samples));
        checkpoint_print_run(&run->task.logger, &last);
        return SKIFF_OK;
    }
    if (run->args->resume)
        logger_info(&run->task.logger, "no checkpoint in %s; starting at epoch 0", run->save_path);
    return init ? checkpoint_load(&run->task, init, err) : SKIFF_OK;
}

/* Rank 0 looks at the disk; all begin with its values, in its epoch. */
static enum skiff_status start_values(struct train_run *run, struct skiff_error *err)
{
    struct process *p = self_of(run);
    TRY(task_startup(&run->task, err));
    if (run->home.first)
        TRY(load_values(run, err));
    int64_t first = run->first;
    TRY(ranks_follow(&p->ranks, &first, 1, err));
    run->first = (int)first;
    memcpy(run->id, p->note.run, sizeof run->id);
    return ranks_spread(&p->ranks, &run->task, err);
}

static void warn_earlier(const struct train_run *run)
{
    int last = save_epoch_before(run->save_path, INT_MAX);
    if (last >= 0)
        logger_warn(
            &run->task.logger,
            "%s has epochs of an earlier run, up to %d; this run replaces them one by one "
            "(--resume continues that run, --overwrite removes them now, --name NAME saves to "
            "another folder)",
            run->save_path, last);
}

/* Nothing to train: removes stale temporary files, unless another run writes there. */
static void tidy_folder(struct train_run *run)
{
    if (file_is_dir(run->save_path) &&
        run_lock_take(&run->lock, run->save_path, run->id, NULL) == SKIFF_OK)
        (void)save_epochs_prepare(run->save_path, NULL);
    folder_lock_close(&run->lock);
}

/* What is there is another run's: this one saves over it, or, when asked to, instead of it. */
static enum skiff_status claim_folder(struct train_run *run, struct skiff_error *err)
{
    if (run->first >= run->epochs) {
        tidy_folder(run);
        return SKIFF_OK;
    }
    TRY(save_epochs_prepare(run->save_path, err));
    TRY(run_lock_take(&run->lock, run->save_path, run->id, err));
    TRY(save_epochs_check(run->save_path, run->first, run->epochs, err));
    int removed = run->args->overwrite ? runs_remove(run->save_path) : 0;
    if (run->args->overwrite)
        valid_record_remove(run->save_path);
    if (removed)
        logger_info(&run->task.logger, "removed %d epoch%s of earlier runs from %s", removed,
                    plural(removed), run->save_path);
    else if (!run->args->resume)
        warn_earlier(run);
    return SKIFF_OK;
}

static enum skiff_status process_join(struct train_run *run, struct skiff_error *err)
{
    TRY(start_values(run, err));
    return run->home.first ? claim_folder(run, err) : SKIFF_OK;
}

static void log_start(struct train_run *run)
{
    int files = (int)dataset_file_count(run->data), threads = run->options.threads;
    int used = dataset_usable_threads(run->data);
    logger_info(&run->task.logger, "%s: %d file%s, %d thread%s, %d epoch%s, models to %s",
                run->task.model->name, files, plural(files), threads, plural(threads), run->epochs,
                plural(run->epochs), run->save_path);
    if (used < threads)
        logger_warn(&run->task.logger,
                    "%d of %d thread%s are idle: a QueueDataset splits only plain files without "
                    "pipe_command, header or cache, and there are %lld; use more files, or set "
                    "runner.reader_type to InmemoryDataset",
                    threads - used, threads, plural(threads),
                    (long long)dataset_file_count(run->data));
}

static enum skiff_status process_ready(struct train_run *run, struct skiff_error *err)
{
    log_start(run);
    if (!run_in_memory(run) || dataset_memory_size(run->data))
        return SKIFF_OK;
    double start = clock_seconds();
    TRY(run_load(run, err));
    logger_info(&run->task.logger, "%lld sample%s in memory after %.1f s",
                (long long)dataset_memory_size(run->data), plural(dataset_memory_size(run->data)),
                clock_seconds() - start);
    return SKIFF_OK;
}

static enum skiff_status process_shuffle(struct train_run *run, int epoch, struct skiff_error *err)
{
    return dataset_local_shuffle(run->data, run->home.seed + (uint64_t)epoch, err);
}

/* ---- the end of an epoch ---- */

/* Counts of all ranks; all have stopped, or none. */
static enum skiff_status process_reduce(struct train_run *run, struct home_counts *counts,
                                        struct epoch_row *row, struct skiff_error *err)
{
    struct process *p = self_of(run);
    struct trainer_result *r = &counts->result;
    eval_metrics_read(&run->metrics, &counts->sum);
    TRY(ranks_any(&p->ranks, &r->stopped, err));
    TRY(ranks_add_up(&p->ranks, &counts->sum, err));
    if (!ranks_alone(&p->ranks)) {
        r->batches = counts->sum.batches;
        r->rows = counts->sum.samples;
    }
    if (!r->rows && !r->stopped)
        return task_no_samples(&run->task, &task_data_train, run->data, err);
    run->stopped = r->stopped;
    counts->complete = !r->stopped;
    counts->empty = !r->rows;
    if (counts->empty)
        logger_warn(&run->task.logger,
                    "stopped before the first sample of %s: nothing was saved, %s is unchanged",
                    run->span.name, run->save_path);
    else
        epoch_row_fill(row, &run->metrics, &counts->sum);
    return SKIFF_OK;
}

static enum skiff_status check_space(void *user, struct skiff_error *err)
{
    struct train_run *run = user;
    return disk_space_check(&run->task, run->save_path, self_of(run)->note.epoch, err);
}

static bool wants_stop(void *user)
{
    const struct train_run *run = user;
    return control_wants_stop(run->control);
}

/* A disk that stays full does not end the run: the next epoch is saved again. */
static enum skiff_status save_epoch(struct train_run *run, struct train_saved *s,
                                    struct skiff_error *err)
{
    struct process *p = self_of(run);
    struct save_attempts attempts = {check_space, wants_stop, run, &run->task.logger};
    double start = clock_seconds();
    p->not_saved = (struct skiff_error){0};
    enum skiff_status status =
        checkpoint_save(&run->task, run->save_path, &p->note, &attempts, &p->not_saved);
    s->saved = status == SKIFF_OK;
    s->seconds = clock_seconds() - start;
    if (s->saved)
        return SKIFF_OK;
    if (!save_may_pass(&p->not_saved)) {
        if (err)
            *err = p->not_saved;
        return status;
    }
    logger_warn(&run->task.logger, "EPOCH %d NOT SAVED: %s", p->note.epoch, p->not_saved.message);
    report_warning("epoch %d not saved: %s", p->note.epoch, p->not_saved.message);
    return SKIFF_OK;
}

static void warn_data(const struct train_run *run)
{
    const char *cache = dataset_cache_error(run->data);
    if (cache)
        logger_warn(&run->task.logger, "no cache was written: %s", cache);
    if (dataset_bad_lines(run->data))
        logger_warn(&run->task.logger, "skipped %lld bad line%s",
                    (long long)dataset_bad_lines(run->data), plural(dataset_bad_lines(run->data)));
}

static enum skiff_status process_keep(struct train_run *run, const struct home_counts *counts,
                                      struct skiff_error *err)
{
    struct model_info *note = &self_of(run)->note;
    struct train_saved saved = {.note = note};
    struct buf folder = BUF_INIT;
    warn_data(run);
    /* a run that resumes from this epoch begins with no row behind: so does the next epoch here,
     * on every rank, whichever of them saves */
    scope_flush(run->task.scope);
    if (!run->home.first)
        return SKIFF_OK;
    note->steps = counts->result.batches;
    note->samples = counts->result.rows;
    note->epoch = run->span.number;
    note->complete = counts->complete;
    note->known = true;
    buf_printf(&folder, "%s/%d", run->save_path, note->epoch);
    saved.folder = folder.data;
    enum skiff_status status = save_epoch(run, &saved, err);
    if (status == SKIFF_OK)
        status = observers_saved(&run->observers, &saved, err);
    buf_deinit(&folder);
    return status;
}

/* Rank 0 evaluates; whether training continues is for it to say. */
static enum skiff_status process_agree(struct train_run *run, struct skiff_error *err)
{
    int64_t first[] = {run->stopped, run->wants_end};
    TRY(ranks_follow(&self_of(run)->ranks, first, 2, err));
    run->stopped = first[0];
    run->wants_end = run->early = first[1];
    return SKIFF_OK;
}

/* ---- the end ---- */

static enum skiff_status process_await_saved(struct train_run *run, struct skiff_error *err)
{
    (void)err;
    if (run->home.first && !run->nrows && !run->early && !run->stopped)
        logger_info(&run->task.logger,
                    "epoch %d is already trained, and runner.epochs is %d: nothing to do",
                    run->first - 1, run->epochs);
    return SKIFF_OK;
}

/* A run whose result is not on the disk has failed. */
static enum skiff_status process_finish(struct train_run *run, struct skiff_error *err)
{
    const struct process *p = self_of(run);
    if (p->not_saved.code == SKIFF_OK)
        return SKIFF_OK;
    return error_set(err, p->not_saved.code, "the last epoch, %d, could not be saved: %s",
                     p->note.epoch, p->not_saved.message);
}

static void process_print_stopped(const struct train_run *run, struct buf *out)
{
    const struct epoch_row *last = run->nrows ? &run->rows[run->nrows - 1] : NULL;
    int epoch = last ? last->epoch : run->resumed.epoch;
    if (!last && !run->resumed.known)
        buf_str(out, "stopped before training");
    else if (last && !last->interrupted)
        buf_printf(out,
                   "stopped after epoch %d, which is complete and saved in %s/%d; --resume "
                   "continues with epoch %d",
                   epoch, run->save_path, epoch, epoch + 1);
    else
        buf_printf(out, "stopped in epoch %d; the model is saved in %s/%d, --resume continues",
                   epoch, run->save_path, epoch);
}

static void process_close(struct train_run *run)
{
    struct process *p = self_of(run);
    if (!p)
        return;
    ranks_close(&p->ranks);
    free(p);
    run->home.self = NULL;
}

const struct home_slots home_process = {.open = process_open,
                                        .open_data = process_open_data,
                                        .join = process_join,
                                        .ready = process_ready,
                                        .shuffle = process_shuffle,
                                        .reduce = process_reduce,
                                        .keep = process_keep,
                                        .agree = process_agree,
                                        .await_saved = process_await_saved,
                                        .finish = process_finish,
                                        .print_stopped = process_print_stopped,
                                        .close = process_close};
