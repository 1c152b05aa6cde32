/* The training loop (run.h): the order of things in a run, whatever its home, its work and its
 * observers. A failure ends the run where it is; train_run_end then tells observers and the other
 * processes why. An early stop, by validation or an observer, is an end like any other. */
#include "train/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "program/job.h"
#include "train/calibrate.h"
#include "train/disk_space.h"
#include "train/job.h"
#include "train/online_plan.h"
#include "train/ranks.h"

#define PIPE_SHARE 0.8   /* of the time: from then on a pipe command is what limits training */
#define PIPE_SECONDS 1.0 /* that a span has to take for this */

/* ---- callbacks of the executor's threads ---- */

static void on_batch(void *user, int thread, int64_t rows, const struct skiff_tensor *watched)
{
    struct train_run *run = user;
    eval_metrics_batch(&run->metrics, thread, rows, watched);
    observers_batch(&run->observers, thread, rows, watched);
}

static void on_evaluated(void *user, int thread, int64_t rows, const struct skiff_tensor *watched)
{
    struct train_run *run = user;
    eval_metrics_batch(&run->metrics, thread, rows, watched);
}

static bool wants_stop(void *user)
{
    struct train_run *run = user;
    return control_wants_stop(run->control) || (run->home.stops_within && run->wants_end);
}

static void on_tick(void *user)
{
    struct train_run *run = user;
    if (run->home.slots->tick)
        run->home.slots->tick(run);
    observers_tick(&run->observers);
}

/* The time that observers take between two batches is none of training. */
static enum skiff_status on_pause(void *user, int64_t batches, int64_t rows,
                                  struct skiff_error *err)
{
    struct train_run *run = user;
    double start = clock_seconds();
    enum skiff_status status = observers_pause(&run->observers, batches, rows, err);
    atomic_store(&run->started, atomic_load(&run->started) + clock_seconds() - start);
    return status;
}

static void on_profile(void *user, const struct profile *profile)
{
    struct train_run *run = user;
    observers_profile(&run->observers, profile);
}

static void on_debug(void *user, const char *text)
{
    const struct train_run *run = user;
    run->control->debug(run->control->user, text);
}

static void set_options(struct train_run *run)
{
    struct config *c = run->task.config;
    int threads = task_threads(&run->task);
    bool debug = config_bool(c, KEY_RUNNER_DATASET_DEBUG) && run->control && run->control->debug;
    run->epochs = (int)config_int(run->task.config, KEY_RUNNER_EPOCHS);
    eval_metrics_init(&run->metrics, &run->task.vars, threads);
    run->options = (struct trainer_options){.threads = threads,
                                            .executor = {.seed = run->home.seed,
                                                         .has_seed = true,
                                                         .profile = true,
                                                         .metrics = run->task.metrics},
                                            .reset_metrics = true,
                                            .user = run,
                                            .watched = run->metrics.watched,
                                            .nwatched = run->metrics.nwatched,
                                            .on_batch = on_batch,
                                            .tick_period = run->home.tick_period,
                                            .on_tick = on_tick,
                                            .pause_period = validation_interval(&run->validation),
                                            .on_pause = on_pause,
                                            .on_profile = on_profile,
                                            .wants_stop = wants_stop,
                                            .print_debug = debug ? on_debug : NULL};
}

/* ---- the beginning ---- */

bool run_in_memory(const struct train_run *run)
{
    return run->given ? dataset_memory_size(run->given) > 0
                      : task_in_memory((struct task *)&run->task);
}

enum skiff_status run_load(struct train_run *run, struct skiff_error *err)
{
    double start = clock_seconds();
    enum skiff_status status = dataset_load(run->data, err);
    run->loading += clock_seconds() - start;
    return status;
}

static enum skiff_status choose_home(struct train_run *run, struct skiff_error *err)
{
    bool days = online_wanted(run->task.config);
    run->save_path = task_save_path(&run->task);
    run->work = days ? &work_days : &work_epochs;
    run->home.slots = days ? &home_days : job_wanted() ? &home_servers : &home_process;
    return run->home.slots->open(run, err);
}

/* One process with sparse tables, and nobody else to hold them, is a job of its own. */
static enum skiff_status hold_tables(struct train_run *run, struct skiff_error *err)
{
    if (run->home.slots != &home_process || run->home.size > 1 || !job_is_alone(&run->task))
        return SKIFF_OK;
    home_process.close(run);
    task_close(&run->task);
    run->home = (struct home){.slots = NULL};
    TRY(task_open(&run->task, run->args, TASK_TRAINS, err));
    run->save_path = task_save_path(&run->task);
    run->home.slots = &home_servers;
    return home_servers.open(run, err);
}

enum skiff_status train_run_open(struct train_run *run, const struct task_args *args,
                                 const struct train_control *control, struct skiff_error *err)
{
    *run = (struct train_run){.args = args, .control = control};
    file_list_init(&run->files);
    TRY(task_open(&run->task, args, TASK_TRAINS, err));
    TRY(choose_home(run, err));
    return hold_tables(run, err);
}

static enum skiff_status add_observers(struct train_run *run, struct skiff_error *err)
{
    struct train_observer record = record_observer(&run->record), dump = dump_observer(run),
                          valid = validation_observer(&run->validation),
                          launcher = launcher_observer(&run->launcher, run);
    TRY(observers_add(&run->observers, &record, err));
    TRY(observers_add(&run->observers, &dump, err));
    TRY(observers_add(&run->observers, &valid, err));
    return run->home.remote ? observers_add(&run->observers, &launcher, err) : SKIFF_OK;
}

static enum skiff_status begin(struct train_run *run, struct skiff_error *err)
{
    const struct home_slots *home = run->home.slots;
    run->data = run->given;
    if (!run->given)
        TRY(home->open_data(run, err));
    TRY(validation_open(&run->validation, run, err));
    set_options(run);
    TRY(sample_dump_init(&run->dump, &run->task, &run->options, false,
                         run->home.remote ? run->home.index : 0, err));
    TRY(task_check(&run->task, err));
    TRY(home->join(run, err));
    TRY(add_observers(run, err));
    TRY(observers_start(&run->observers, run, err));
    if (home->ready)
        TRY(home->ready(run, err));
    TRY(validation_begin(&run->validation, err));
    run->rows = mem_alloc_or_die((size_t)(run->epochs + 1) * sizeof *run->rows);
    return home->agree ? home->agree(run, err) : SKIFF_OK;
}

/* ---- an epoch ---- */

static enum skiff_status read_data(struct train_run *run, struct trainer_result *r,
                                   struct skiff_error *err)
{
    struct skiff_error why;
    const struct train_span *span = &run->span;
    eval_metrics_reset(&run->metrics);
    if (!run->data)
        return SKIFF_OK;
    run->started = clock_seconds();
    task_warn_nan(&run->task, &run->options, span->day ? "pass" : "epoch",
                  span->day ? span->pass : span->number);
    TRY(observers_span_begin(&run->observers, span, err));
    enum skiff_status status =
        trainer_train_dataset(run->task.scope, run->home.program, run->data, &run->options, r, err);
    bool ok = status == SKIFF_OK;
    if (ok && !r->stopped && !span->day) /* passes have different sizes */
        run->expected = r->rows;
    enum skiff_status ended = observers_data_end(&run->observers, r, ok, &why);
    if (ok && ended < 0 && err)
        *err = why;
    return ok ? ended : status;
}

enum skiff_status run_evaluate_span(struct train_run *run, struct trainer_result *out,
                                    struct skiff_error *err)
{
    struct train_span span = run->span;
    struct trainer_options options = run->options;
    span.evaluates = true;
    options.on_batch = on_evaluated;
    options.nwatched = run->metrics.nwatched; /* dumps name gradients, which there are not */
    options.pause_period = 0;
    eval_metrics_reset(&run->metrics);
    if (!run->data)
        return SKIFF_OK;
    run->started = clock_seconds();
    TRY(observers_span_begin(&run->observers, &span, err));
    struct skiff_scope *front = scope_create_child(run->task.scope); /* for states of metrics */
    enum skiff_status status =
        trainer_infer_dataset(front, run->home.program, run->data, &options, out, err);
    scope_destroy(front);
    (void)observers_data_end(&run->observers, out, status == SKIFF_OK, NULL);
    return status;
}

/* Once, behind a span that tells: reading is waiting for the command. */
static void warn_pipe(struct train_run *run, const struct epoch_row *row,
                      const struct trainer_result *r)
{
    double all = run->loading + r->seconds, reading = run->loading + row->read * r->seconds;
    if (run->warned_pipe || !run->data || !run->task.pipe.len || all < PIPE_SECONDS ||
        reading < PIPE_SHARE * all)
        return;
    run->warned_pipe = true;
    const struct file_list *files = dataset_files(run->data);
    task_warn_pipe(&run->task, reading / all, files->count ? files->paths[0] : NULL);
}

static enum skiff_status end_span(struct train_run *run, struct home_counts *counts,
                                  struct skiff_error *err)
{
    bool stop = false;
    struct epoch_row *row = &run->rows[run->nrows++];
    struct train_counts all = {.row = row, .sum = &counts->sum, .result = &counts->result};
    *row = (struct epoch_row){.epoch = run->span.number, .seconds = counts->result.seconds};
    TRY(run->home.slots->reduce(run, counts, row, err));
    if (counts->empty) {
        run->nrows--;
        return SKIFF_OK;
    }
    row->interrupted = run->stopped;
    epoch_row_times(row, &counts->result);
    warn_pipe(run, row, &counts->result);
    all.complete = counts->complete;
    TRY(observers_span_end(&run->observers, &all, &stop, err));
    if (stop)
        run->wants_end = true;
    TRY(run->home.slots->keep(run, counts, err));
    return run->home.slots->agree ? run->home.slots->agree(run, err) : SKIFF_OK;
}

static enum skiff_status train_span(struct train_run *run, struct skiff_error *err)
{
    struct home_counts *counts = mem_alloc_or_die(sizeof *counts); /* histograms are large */
    if (run->home.first && !run->span.day)
        disk_space_warn(&run->task, run->save_path, run->span.number);
    enum skiff_status status = read_data(run, &counts->result, err);
    if (status == SKIFF_OK)
        status = end_span(run, counts, err);
    if (run->work->close_span)
        run->work->close_span(run);
    free(counts);
    return status;
}

/* ---- the run ---- */

/* With a task of its own, and the best model as it was saved. A failure does not undo training. */
static void calibrate_best(struct train_run *run)
{
    struct task_args args = *run->args;
    const struct predict_wish wish = {.folder = run->save_path, .run = run->id};
    struct calibrate_result result;
    struct skiff_error why;
    struct buf text = BUF_INIT;
    args.logger = (struct logger){.write = NULL}; /* both were given by the run itself */
    args.on_unknown = NULL;
    if (calibrate_model(&args, &wish, run->control, &result, &why) < 0)
        logger_warn(&run->task.logger, "the model is not calibrated: %s", why.message);
    else if (!result.stopped) {
        calibrate_text(&result, &text);
        control_print(run->control, "%s", text.data);
        recorder_event(run->record.recorder, RUN_CALIBRATED, "%s", text.data);
    }
    buf_deinit(&text);
    buf_deinit(&result.path);
}

static bool wants_calibration(struct train_run *run)
{
    return run->home.first && run->nrows && !run->stopped &&
           validation_best(&run->validation) >= 0 &&
           config_word(run->task.config, KEY_RUNNER_CALIBRATE) != CALIBRATION_NONE;
}

static enum skiff_status print_results(struct train_run *run, struct skiff_error *err)
{
    const struct home_slots *home = run->home.slots;
    if (home->await_saved)
        TRY(home->await_saved(run, err));
    if (run->early && !control_wants_stop(run->control))
        run->stopped = false; /* an early stop is an end */
    validation_fill(&run->validation, run->rows, run->nrows);
    if (run->home.shows) {
        observers_results(&run->observers, run->rows, run->nrows);
        validation_print(&run->validation);
    }
    if (wants_calibration(run))
        calibrate_best(run);
    return home->finish(run, err);
}

enum skiff_status train_run_run(struct train_run *run, struct skiff_error *err)
{
    if (run->home.serves)
        return run->home.slots->serve(run, err);
    TRY(begin(run, err));
    for (bool more = true; more;) {
        TRY(run->work->next(run, &more, err));
        if (more)
            TRY(train_span(run, err));
    }
    return print_results(run, err);
}

void train_run_snapshot(const struct train_run *run, struct metrics_snapshot *out)
{
    snapshot_add(out, run->task.metrics);
    if (run->home.program)
        job_snapshot(run->home.program, out);
    ranks_snapshot(out);
}

static void log_counts(const struct train_run *run)
{
    struct metrics_snapshot now = {0};
    struct buf text = BUF_INIT;
    train_run_snapshot(run, &now);
    snapshot_add_memory(&now, NULL);
    snapshot_text(&now, &text);
    logger_debug(&run->task.logger, "counted: %s", text.data ? text.data : "nothing");
    snapshot_deinit(&now);
    buf_deinit(&text);
}

void train_run_end(struct train_run *run, enum skiff_status status, const struct skiff_error *why)
{
    bool failed = status < 0;
    enum run_status how = failed || run->lost ? RUN_FAILED : run->stopped ? RUN_STOPPED : RUN_DONE;
    if (run->task.metrics && log_shows(LOG_DEBUG))
        log_counts(run);
    observers_end(&run->observers, how, failed ? why->message : NULL);
    folder_lock_close(&run->lock);
    if (failed && run->home.slots && run->home.slots->abort) {
        char reason[sizeof why->message + 16];
        snprintf(reason, sizeof reason, "has failed: %s", why->message);
        run->home.slots->abort(run, reason);
    }
}

void train_run_close(struct train_run *run)
{
    if (run->home.slots)
        run->home.slots->close(run);
    folder_lock_close(&run->lock);
    if (run->data != run->given)
        dataset_destroy(run->data);
    validation_close(&run->validation);
    file_list_deinit(&run->files);
    if (run->metrics.thread_states)
        eval_metrics_deinit(&run->metrics);
    free(run->rows);
    sample_dump_deinit(&run->dump);
    task_close(&run->task);
}
