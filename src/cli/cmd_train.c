/* skiff train: from a config to a trained model.
 *
 * run() chooses between one process or a collective rank (this file), a process of a job with
 * servers (train_fleet.c) and online training (train_online.c). Here, an epoch is trained, saved,
 * validated and reported. A failed save is retried by time; if only the last epoch cannot be saved
 * the command fails, because its result would be lost. Ctrl-C sets a flag that training threads
 * read between batches: the part of the epoch is saved with a manifest that says so, and --resume
 * restarts that epoch. All ranks of a collective job make the same calls in the same order. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "save/epochs.h"
#include "train/checkpoint.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/task_flags.h"
#include "train/sample_dump.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "train/ranks.h"
#include "train/disk_space.h"
#include "save/runs.h"
#include "train/recorder.h"
#include "task/task_tables.h"
#include "cli/train_fleet.h"
#include "cli/train_online.h"
#include "train/valid.h"
#include "executor/trainer.h"
#include "store/file.h"
#include "store/save_retry.h"

struct train_run {
    struct task task;
    struct ranks ranks;
    struct file_list files; /* this rank's, in a job of several */
    struct dataset *data;
    struct eval_metrics accumulator;
    struct progress progress;
    struct sample_dump sample_dump;
    struct valid valid;
    struct run_recorder *recorder; /* NULL until there is something to train */
    struct trainer_options options;
    const char *save_path;
    int first, epochs, epoch;
    int shuffled; /* so often, once for every epoch */
    bool shuffle;
    uint64_t seed;
    struct epoch_row *rows;
    int nrows;
    bool stopped;
    struct model_info last; /* what --resume resumes from; not known: nothing */
    struct model_info note; /* of the epoch to be saved; the run's name stays */
    struct folder_lock lock;
    struct skiff_error not_saved; /* why the newest epoch is not on the disk; code OK: it is */
};

static void on_batch(void *user, int thread, int64_t rows, const struct skiff_tensor *watched)
{
    struct train_run *t = user;
    eval_metrics_batch(&t->accumulator, thread, rows, watched);
    sample_dump_batch(&t->sample_dump, t->data, thread, rows, watched);
    recorder_batch(t->recorder, thread);
}

static bool wants_stop(void *user)
{
    const struct train_run *t = user;
    return interrupt_wanted() || t->valid.stop;
}

static enum skiff_status on_pause(void *user, int64_t batches, int64_t rows,
                                  struct skiff_error *err)
{
    struct train_run *t = user;
    double start = clock_seconds();
    progress_end(&t->progress, 0);
    enum skiff_status status = valid_within(&t->valid, t->epoch, batches, rows, err);
    progress_leave_out(&t->progress, clock_seconds() - start);
    if (status == SKIFF_OK)
        valid_record_point(&t->valid, t->recorder, t->epoch);
    return status;
}

static void on_tick(void *user)
{
    struct train_run *t = user;
    recorder_tick(t->recorder);
    progress_tick(&t->progress);
}

static void on_profile(void *user, const struct profile *profile)
{
    struct train_run *t = user;
    recorder_profile(t->recorder, profile);
}

static void on_debug(void *user, const char *text)
{
    (void)user;
    fputs(text, stderr);
}

static void read_options(struct train_run *t)
{
    struct config *c = t->task.config;
    int threads = task_threads(&t->task);
    control_ready(&console_control);
    t->epochs = task_epochs(&t->task);
    t->save_path = task_save_path(&t->task);
    t->shuffle = config_bool(c, KEY_RUNNER_SHUFFLE);
    t->seed = (uint64_t)config_int(c, KEY_RUNNER_SEED);
    eval_metrics_init(&t->accumulator, &t->task.vars, threads);
    progress_init(&t->progress, &t->accumulator, config_int(c, KEY_RUNNER_PRINT_INTERVAL));
    t->options = (struct trainer_options){
        .threads = threads,
        .executor = {.seed = t->seed, .has_seed = true, .profile = true},
        .reset_metrics = true,
        .user = t,
        .watched = t->accumulator.watched,
        .nwatched = t->accumulator.nwatched,
        .on_batch = on_batch,
        .tick_period = PROGRESS_TICK,
        .on_tick = on_tick,
        .pause_period = ranks_first(&t->ranks) ? t->valid.interval : 0,
        .on_pause = on_pause,
        .on_profile = on_profile,
        .wants_stop = wants_stop,
        .print_debug = config_bool(c, KEY_RUNNER_DATASET_DEBUG) ? on_debug : NULL};
}

/* Where parameters come from: the newest checkpoint, a given model, or
 * the startup program alone. */
static enum skiff_status load_values(struct train_run *t, bool resume, struct skiff_error *err)
{
    struct model_info last = {.epoch = -1};
    const char *init = config_path(t->task.config, KEY_RUNNER_MODEL_INIT_PATH);
    save_new_run(&t->note);
    if (resume)
        TRY(checkpoint_resume(&t->task, t->save_path, &last, err));
    if (last.epoch >= 0) {
        if (last.run[0])
            memcpy(t->note.run, last.run, sizeof last.run);
        t->last = last;
        t->first = last.epoch + last.complete;
        if (last.complete)
            log_info("resuming from %s/%d, saved after epoch %d", t->save_path, last.epoch,
                     last.epoch);
        else
            log_info("resuming from %s/%d, saved in the middle of epoch %d: the epoch restarts, "
                     "and %lld samples are trained a second time",
                     t->save_path, last.epoch, last.epoch, (long long)last.samples);
        checkpoint_print_run(&t->task.logger, &last);
        return SKIFF_OK;
    }
    if (resume)
        log_info("no checkpoint in %s; starting at epoch 0", t->save_path);
    return init ? checkpoint_load(&t->task, init, err) : SKIFF_OK;
}

/* Rank 0 looks at the disk; all begin with its values, in its epoch. */
static enum skiff_status start_values(struct train_run *t, bool resume, struct skiff_error *err)
{
    TRY(task_startup(&t->task, err));
    if (ranks_first(&t->ranks))
        TRY(load_values(t, resume, err));
    int64_t first = t->first;
    TRY(ranks_follow(&t->ranks, &first, 1, err));
    t->first = (int)first;
    return ranks_spread(&t->ranks, &t->task, err);
}

static enum skiff_status load_memory(struct train_run *t, struct skiff_error *err)
{
    if (dataset_memory_size(t->data) == 0) {
        double start = clock_seconds();
        TRY(dataset_load(t->data, err));
        log_info("%lld samples in memory after %.1f s", (long long)dataset_memory_size(t->data),
                 clock_seconds() - start);
    }
    return SKIFF_OK;
}

static void finish_row(struct train_run *t, int epoch, const struct trainer_result *r,
                       const struct eval_metrics_sum *whole)
{
    struct eval_metrics_sum sum = *whole;
    struct epoch_row *row = &t->rows[t->nrows++];
    *row = (struct epoch_row){.epoch = epoch, .seconds = r->seconds, .interrupted = r->stopped};
    epoch_row_fill(row, &t->accumulator, &sum);
    epoch_row_times(row, r);
    recorder_end_epoch(t->recorder, row, &sum, !r->stopped);
    if (!log_shows(LOG_INFO))
        return;
    printf("Epoch: %d, using time: %.1f second, ips: %.0f example/sec.", epoch, r->seconds,
           r->seconds > 0 ? (double)sum.samples / r->seconds : 0.0);
    report_print_auc(row);
    printf("\n");
    fflush(stdout);
}

/* ---- saving ---- */

static enum skiff_status save_note(void *user, struct skiff_error *err)
{
    struct train_run *t = user;
    TRY(disk_space_check(&t->task, t->save_path, t->note.epoch, err));
    return checkpoint_save(&t->task, t->save_path, &t->note, err);
}

static bool save_pausing(void *user, const struct skiff_error *why, double seconds)
{
    (void)user;
    log_warn("saving failed, retrying in %g s: %s", seconds, why->message);
    return !interrupt_wanted();
}

static void print_unsaved(int epoch, const struct skiff_error *why)
{
    log_warn("EPOCH %d NOT SAVED: %s", epoch, why->message);
    report_warning("epoch %d not saved: %s", epoch, why->message);
}

/* A disk that stays full does not end the run: the next epoch is saved again. */
static enum skiff_status save_epoch(struct train_run *t, int epoch, const struct trainer_result *r,
                                    struct skiff_error *err)
{
    struct save_retry saving = {.save = save_note, .pausing = save_pausing, .user = t};
    t->note.steps = r->batches;
    t->note.samples = r->rows;
    t->note.epoch = epoch;
    t->note.complete = !r->stopped;
    t->note.known = true;
    t->not_saved = (struct skiff_error){0};
    double start = clock_seconds();
    enum skiff_status status = save_retry(&saving, &t->not_saved);
    if (status == SKIFF_OK)
        recorder_saved(t->recorder, epoch, true, clock_seconds() - start);
    if (status == SKIFF_OK || save_may_pass(&t->not_saved)) {
        if (status < 0)
            print_unsaved(epoch, &t->not_saved);
        return SKIFF_OK;
    }
    if (err)
        *err = t->not_saved;
    return status;
}

/* A run whose result is not on the disk has failed. */
static enum skiff_status need_saved(const struct train_run *t, struct skiff_error *err)
{
    if (t->not_saved.code == SKIFF_OK)
        return SKIFF_OK;
    return error_set(err, t->not_saved.code, "the last epoch, %d, could not be saved: %s",
                     t->note.epoch, t->not_saved.message);
}

/* Counts of all ranks; all have stopped, or none. */
static enum skiff_status add_up(struct train_run *t, struct trainer_result *r,
                                struct eval_metrics_sum *sum, struct skiff_error *err)
{
    eval_metrics_read(&t->accumulator, sum);
    recorder_last_window(t->recorder);
    TRY(ranks_any(&t->ranks, &r->stopped, err));
    TRY(ranks_add_up(&t->ranks, sum, err));
    if (!ranks_alone(&t->ranks)) {
        r->batches = sum->batches;
        r->rows = sum->samples;
    }
    return SKIFF_OK;
}

/* Rank 0 saves and evaluates; whether training continues is for it to say. */
static enum skiff_status keep_epoch(struct train_run *t, int epoch, const struct trainer_result *r,
                                    struct skiff_error *err)
{
    if (ranks_first(&t->ranks)) {
        TRY(save_epoch(t, epoch, r, err));
        if (!r->stopped) {
            TRY(valid_epoch(&t->valid, epoch, r->batches, r->rows, t->not_saved.code == SKIFF_OK,
                            err));
            valid_record_point(&t->valid, t->recorder, epoch);
            t->stopped = t->valid.interrupted;
        }
    }
    int64_t on_log[] = {t->stopped, t->valid.stop};
    TRY(ranks_follow(&t->ranks, on_log, 2, err));
    t->stopped = on_log[0];
    t->valid.stop = on_log[1];
    return SKIFF_OK;
}

static enum skiff_status train_epoch(struct train_run *t, int epoch, bool in_memory,
                                     struct skiff_error *err)
{
    struct trainer_result r;
    struct eval_metrics_sum sum;
    t->epoch = epoch;
    /* with --resume those of earlier epochs, too: each begins with the order that the last left */
    for (; in_memory && t->shuffle && t->shuffled <= epoch; t->shuffled++)
        TRY(dataset_local_shuffle(t->data, t->seed + (uint64_t)t->shuffled, err));
    if (ranks_first(&t->ranks))
        disk_space_warn(&t->task, t->save_path, epoch);
    TRY(sample_dump_start(&t->sample_dump, epoch, err));
    eval_metrics_reset(&t->accumulator);
    progress_start(&t->progress, t->data, epoch);
    task_warn_nan(&t->task, &t->options, "epoch", epoch);
    recorder_begin_epoch(t->recorder, epoch, t->data);
    enum skiff_status status =
        trainer_train_dataset(t->task.scope, t->task.main, t->data, &t->options, &r, err);
    progress_end(&t->progress, status == SKIFF_OK && !r.stopped ? r.rows : 0);
    if (status == SKIFF_OK)
        status = sample_dump_end(&t->sample_dump, err);
    if (status < 0)
        return status;
    TRY(add_up(t, &r, &sum, err));
    if (!r.rows && !r.stopped)
        return task_no_samples(&t->task, &task_data_train, t->data, err);
    t->stopped = r.stopped;
    if (!r.rows) {
        log_warn("stopped before the first sample of epoch %d: nothing was saved, %s is unchanged",
                 epoch, t->save_path);
        return SKIFF_OK;
    }
    finish_row(t, epoch, &r, &sum);
    const char *cache = dataset_cache_error(t->data);
    if (cache)
        log_warn("no cache was written: %s", cache);
    if (dataset_bad_lines(t->data))
        log_warn("%lld bad lines were skipped", (long long)dataset_bad_lines(t->data));
    /* a run that resumes from this epoch begins with no row behind: so does the next epoch here,
     * on every rank, whichever of them saves */
    scope_flush(t->task.scope);
    return keep_epoch(t, epoch, &r, err);
}

static void print_earlier(const struct train_run *t)
{
    int last = save_epoch_before(t->save_path, INT_MAX);
    if (last >= 0)
        log_warn("%s has epochs of an earlier run, up to %d; this run replaces them one by one "
                 "(--resume continues that run, --overwrite removes them now, --name NAME saves to "
                 "another folder)",
                 t->save_path, last);
}

/* Nothing to train: removes stale temporary files, unless another run writes there. */
static void tidy_folder(struct train_run *t)
{
    if (file_is_dir(t->save_path) &&
        run_lock_take(&t->lock, t->save_path, t->note.run, NULL) == SKIFF_OK)
        (void)save_epochs_prepare(t->save_path, NULL);
    folder_lock_close(&t->lock);
}

/* What is there is another run's: this one saves over it, or, when asked to, instead of it. */
static enum skiff_status claim_folder(struct train_run *t, const struct task_args *args,
                                      struct skiff_error *err)
{
    if (!ranks_first(&t->ranks))
        return SKIFF_OK;
    if (t->first >= t->epochs) {
        tidy_folder(t);
        return SKIFF_OK;
    }
    TRY(save_epochs_prepare(t->save_path, err));
    TRY(run_lock_take(&t->lock, t->save_path, t->note.run, err));
    TRY(save_epochs_check(t->save_path, t->first, t->epochs, err));
    int removed = args->overwrite ? runs_remove(t->save_path) : 0;
    if (args->overwrite)
        valid_record_remove(t->save_path);
    if (removed)
        log_info("removed %d epochs of earlier runs from %s", removed, t->save_path);
    else if (!args->resume)
        print_earlier(t);
    return SKIFF_OK;
}

static void print_start(struct train_run *t)
{
    int files = (int)dataset_file_count(t->data), threads = t->options.threads;
    log_info("%s: %d file%s, %d thread%s, %d epoch%s, models to %s", t->task.model->name, files,
             files == 1 ? "" : "s", threads, threads == 1 ? "" : "s", t->epochs,
             t->epochs == 1 ? "" : "s", t->save_path);
}

static void print_idle(struct train_run *t)
{
    int threads = t->options.threads, used = dataset_usable_threads(t->data);
    if (used < threads)
        log_warn("%d of %d threads are idle: a QueueDataset splits only plain files without "
                 "pipe_command, header or cache, and there are %lld; use more files, or set "
                 "runner.reader_type to InmemoryDataset",
                 threads - used, threads, (long long)dataset_file_count(t->data));
}

static void start_recorder(struct train_run *t, const struct task_args *args)
{
    if (!ranks_first(&t->ranks))
        return;
    t->recorder = recorder_open(&t->task, &t->accumulator,
                                &(struct recorder_plan){.command = "train",
                                                        .folder = t->save_path,
                                                        .json = args->json,
                                                        .run = t->note.run,
                                                        .threads = t->options.threads,
                                                        .workers = t->ranks.size});
    if (args->resume)
        recorder_resume(t->recorder, t->first);
    recorder_begin(t->recorder, t->first);
}

static enum skiff_status open_data(struct train_run *t, struct skiff_error *err)
{
    struct task_data data = task_data_train;
    TRY(ranks_files(&t->ranks, &t->task, false, &data, &t->files, err));
    return task_dataset_open(&t->task, &data, &t->data, err);
}

static void print_end(struct train_run *t)
{
    if (t->valid.stop && !interrupt_wanted())
        t->stopped = false; /* an early stop is an end */
    valid_fill(&t->valid, t->rows, t->nrows);
    if (!ranks_first(&t->ranks))
        return;
    if (t->nrows)
        report_print(t->rows, t->nrows, true);
    else if (!t->valid.stop && !t->stopped)
        log_info("epoch %d is already trained, and runner.epochs is %d: nothing to do",
                 t->first - 1, t->epochs);
    valid_warn(&t->valid);
}

/* What validation has found so far; rank 0 evaluates. */
static enum skiff_status begin_valid(struct train_run *t, struct skiff_error *err)
{
    if (ranks_first(&t->ranks))
        TRY(valid_begin(&t->valid, t->save_path, t->note.run, t->last.known ? &t->last : NULL,
                        err));
    int64_t on_log[] = {t->valid.interrupted, t->valid.stop};
    TRY(ranks_follow(&t->ranks, on_log, 2, err));
    t->stopped = on_log[0];
    t->valid.stop = on_log[1];
    return SKIFF_OK;
}

static enum skiff_status print_tables(struct task *task, struct skiff_error *err)
{
    bool any;
    TRY(task_tables_any(task, &any, err));
    if (any)
        log_info("table_parameters have no effect here: neither geo nor ranks have sparse tables");
    return SKIFF_OK;
}

static enum skiff_status train(struct train_run *t, const struct task_args *args,
                               struct skiff_error *err)
{
    bool in_memory = task_in_memory(&t->task);
    TRY(open_data(t, err));
    TRY(valid_open(&t->valid, &t->task, &console_control, err));
    read_options(t);
    TRY(sample_dump_init(&t->sample_dump, &t->task, &t->options, false, 0, err));
    TRY(print_tables(&t->task, err));
    TRY(task_check(&t->task, err));
    TRY(start_values(t, args->resume, err));
    TRY(claim_folder(t, args, err));
    if (t->first < t->epochs)
        start_recorder(t, args);
    print_start(t);
    print_idle(t);
    if (in_memory)
        TRY(load_memory(t, err));
    TRY(begin_valid(t, err));
    t->rows = mem_alloc_or_die((size_t)(t->epochs + 1) * sizeof(*t->rows));
    for (int epoch = t->first; epoch < t->epochs && !t->stopped && !t->valid.stop; epoch++)
        TRY(train_epoch(t, epoch, in_memory, err));
    print_end(t);
    return need_saved(t, err);
}

static void end_recorder(struct train_run *t, enum skiff_status trained,
                         const struct skiff_error *why)
{
    struct skiff_error err;
    enum run_status status = trained < 0 ? RUN_FAILED : t->stopped ? RUN_STOPPED : RUN_DONE;
    if (recorder_close(t->recorder, status, trained < 0 ? why->message : NULL, &err) < 0)
        log_warn("--json: %s", err.message);
}

static void training_close(struct train_run *t)
{
    ranks_close(&t->ranks);
    dataset_destroy(t->data);
    file_list_deinit(&t->files);
    valid_close(&t->valid);
    if (t->accumulator.thread_states)
        eval_metrics_deinit(&t->accumulator);
    free(t->rows);
    sample_dump_deinit(&t->sample_dump);
    folder_lock_close(&t->lock);
    task_close(&t->task);
}

static void print_stopped(const struct train_run *t)
{
    int epoch = t->nrows ? t->rows[t->nrows - 1].epoch : t->last.epoch;
    fflush(stdout);
    if (!t->nrows && !t->last.known)
        fprintf(stderr, "skiff train: stopped before training\n");
    else if (t->nrows && !t->rows[t->nrows - 1].interrupted)
        fprintf(stderr,
                "skiff train: stopped after epoch %d, which is complete and saved in %s/%d; "
                "--resume continues with epoch %d\n",
                epoch, t->save_path, epoch, epoch + 1);
    else
        fprintf(
            stderr,
            "skiff train: stopped in epoch %d; the model is saved in %s/%d, --resume continues\n",
            epoch, t->save_path, epoch);
}

static int run(const struct command_call *call)
{
    const struct task_args *args = call->args;
    struct skiff_error err = {0};
    int status = task_args_check(call->args, call->name);
    if (!status && args->resume && args->overwrite)
        status = command_usage(call->name, "--resume and --overwrite exclude each other: the one "
                                           "continues the run that the other removes");
    if (status)
        return status;
    if (train_online_wanted(args))
        return train_online(args);
    if (train_fleet_wanted())
        return train_fleet(args);
    struct train_run t = {.ranks.size = 1};
    file_list_init(&t.files);
    if (task_open(&t.task, args, true, &err) < 0)
        return command_fail("train", &err);
    enum skiff_status trained = ranks_open(&t.ranks, &t.task, args, true, &err);
    if (trained == SKIFF_OK && ranks_alone(&t.ranks) && train_fleet_alone(&t.task)) {
        training_close(&t);
        return train_fleet(args);
    }
    if (trained == SKIFF_OK)
        trained = train(&t, args, &err);
    end_recorder(&t, trained, &err);
    if (trained < 0)
        status = command_fail("train", &err);
    else if (t.stopped) {
        print_stopped(&t);
        status = 1;
    }
    training_close(&t);
    return status;
}

static void list_models(struct buf *out)
{
    buf_str(out, "\nmodels:\n");
    for (const struct skiff_model_def *const *m = model_all(); *m; m++)
        buf_printf(out, "  %-26s %s\n", (*m)->name, (*m)->summary);
    buf_printf(out, "  %-26s %s\n", "./mynet.yaml, ./mymodel.so",
               "a network of your own: docs/guide/networks.md");
}

static const struct option rows[] = {
    TASK_OPTIONS,
    {"resume", OPTION_BOOL, offsetof(struct task_args, resume),
     .help = "resume from the newest complete epoch of the newest run in runner.model_save_path",
     .group = "epochs of earlier runs"},
    {"overwrite", OPTION_BOOL, offsetof(struct task_args, overwrite),
     .help = "remove the epochs of earlier runs from that folder before training"},
    TASK_NAME,
    TASK_TALK(.group = "output"),
    TASK_JSON,
    TASK_TRANSPORT(.group = "as one process of a job"),
    {0}};

const struct command command_train = {
    .name = "train",
    .summary = "train a model from a config and save it after every epoch",
    .usage = "-m config.yaml [-o key=value ...] [-q|-v] [--resume | --overwrite] [--name NAME] "
             "[--json FILE] [--transport NAME]",
    .text =
        "Trains the model that the config names, epoch after epoch, and saves it after each. "
        "Configs have the form of PaddleRec's; docs/reference/configuration.md lists the keys.\n\n"
        "When the environment names a role (skiff launch sets it), this is one process of a job of "
        "servers and workers: docs/guide/distributed.md.\n\n"
        "report.html in the folder of the models shows the run (docs/guide/report.md); skiff "
        "report compares "
        "several runs.\n\n"
        "With runner.start_day or runner.days it trains online, by days and passes, and resumes "
        "from the newest model that donefile.txt lists: docs/guide/online.md.\n\n"
        "Ctrl-C stops after the running batch and saves; a second Ctrl-C ends at once.",
    .examples = "skiff train -m config.yaml\n"
                "skiff train -m config.yaml -o runner.epochs=3 "
                "hyper_parameters.optimizer.learning_rate=0.0005\n"
                "skiff train -m config.yaml --resume",
    .group = COMMAND_TRAIN,
    .options = &(const struct options){.rows = rows},
    .args_size = sizeof(struct task_args),
    .more = list_models,
    .run = run};
