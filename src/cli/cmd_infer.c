/* skiff infer: evaluates saved epochs on test data.
 *
 * Epochs are loaded one after the other into the same program and scope. As ranks, each rank
 * evaluates its share of the files, and the counts of all ranks are added, so that AUC is exact.
 * An incomplete epoch is reported and skipped; the command fails if none is left. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "save/epochs.h"
#include "train/checkpoint.h"
#include "cli/command.h"
#include "cli/task_flags.h"
#include "train/sample_dump.h"
#include "cli/interrupt.h"
#include "task/label.h"
#include "cli/progress.h"
#include "train/ranks.h"
#include "save/runs.h"
#include "train/valid.h"
#include "config/values.h"
#include "train/recorder.h"
#include "executor/trainer.h"

struct evaluating {
    struct task task;
    struct ranks ranks;
    struct file_list files; /* this rank's, in a job of several */
    bool idle;              /* it has none */
    struct dataset *data;
    struct eval_metrics accumulator;
    struct progress progress;
    struct sample_dump sample_dump;
    struct run_recorder *recorder;
    struct trainer_options options;
    const char *load_path;
    struct run_list runs;
    struct valid_best best; /* by validation while it was trained; epoch -1: not known */
    bool best_alone;        /* evaluate nothing else */
    int first, end;
    struct epoch_row *rows;
    int nrows;
    bool stopped;
};

static void on_batch(void *user, int thread, int64_t rows, const struct skiff_tensor *watched)
{
    struct evaluating *t = user;
    eval_metrics_batch(&t->accumulator, thread, rows, watched);
    sample_dump_batch(&t->sample_dump, t->data, thread, rows, watched);
}

static bool wants_stop(void *user)
{
    (void)user;
    return interrupt_wanted();
}

static void on_tick(void *user)
{
    struct evaluating *t = user;
    progress_tick(&t->progress);
}

/* runner.infer_epoch: a number, or `best`. */
static enum skiff_status read_epoch(struct evaluating *t, struct skiff_error *err)
{
    struct config *c = t->task.config;
    const char *which = config_text(c, KEY_RUNNER_INFER_EPOCH);
    int64_t epoch = 0;
    t->best_alone = which && !strcmp(which, "best");
    if (t->best_alone && t->best.epoch < 0)
        return error_set(err, SKIFF_NOT_FOUND,
                         "%s: runner.infer_epoch is best, but %s/" VALID_RECORD
                         " names none; training with runner.valid_data_dir determines it",
                         config_name(c), t->load_path);
    if (t->best_alone)
        t->first = t->best.epoch;
    else if (which && (!value_parse_int(which, &epoch) || epoch < 0 || epoch > 1000000))
        config_refuse(c, KEY_RUNNER_INFER_EPOCH, "is %s; expected the number of an epoch, or best",
                      which);
    else if (which)
        t->first = (int)epoch;
    if (which)
        t->end = t->first + 1;
    return SKIFF_OK;
}

static enum skiff_status read_range(struct evaluating *t, const char *run, struct skiff_error *err)
{
    struct config *c = t->task.config;
    t->load_path = task_load_path(&t->task);
    TRY(run_list_read(&t->runs, t->load_path, run, err));
    run_list_warn(&t->runs, &t->task.logger, t->load_path, "--run ID selects them");
    t->first = (int)config_int(c, KEY_RUNNER_INFER_START_EPOCH);
    t->end =
        (int)config_int_or(c, KEY_RUNNER_INFER_END_EPOCH, run_list_before(&t->runs, INT_MAX) + 1);
    TRY(valid_best_read(t->load_path, &t->best, err));
    if (strcmp(t->best.run, t->runs.run) != 0) /* another run's */
        t->best = (struct valid_best){.epoch = -1};
    TRY(read_epoch(t, err));
    TRY(config_check(c, err));
    if (run_list_before(&t->runs, INT_MAX) < 0 && t->end <= t->first)
        return error_set(err, SKIFF_NOT_FOUND,
                         "%s: no saved epochs in %s (runner.infer_load_path): train first, or "
                         "correct the path",
                         config_name(c), t->load_path);
    if (t->end <= t->first)
        return error_set(err, SKIFF_NOT_FOUND, "%s: no epochs from %d up to %d in %s",
                         config_name(c), t->first, t->end, t->load_path);
    return SKIFF_OK;
}

static void read_options(struct evaluating *t)
{
    int threads = task_threads(&t->task);
    interrupt_watch();
    eval_metrics_init(&t->accumulator, &t->task.vars, threads);
    progress_init(&t->progress, &t->accumulator,
                  config_int(t->task.config, KEY_RUNNER_PRINT_INTERVAL));
    t->options = (struct trainer_options){.threads = threads,
                                          .user = t,
                                          .watched = t->accumulator.watched,
                                          .nwatched = t->accumulator.nwatched,
                                          .on_batch = on_batch,
                                          .tick_period = t->progress.terminal ? 0.25 : 1.0,
                                          .on_tick = on_tick,
                                          .wants_stop = wants_stop};
}

static void print_line(const struct epoch_row *r)
{
    if (!log_shows(LOG_INFO))
        return;
    printf("Epoch: %d, using time: %.1f second, ips: %.0f example/sec.", r->epoch, r->seconds,
           r->seconds > 0 ? (double)r->samples / r->seconds : 0.0);
    report_print_auc(r);
    if (!isnan(r->log_loss))
        printf(" log_loss: %.4f copc: %.4f", r->log_loss, r->copc);
    if (r->interrupted)
        printf(" (interrupted: a part of the epoch was trained)");
    printf("\n");
    fflush(stdout);
}

/* A gap among the epochs that are there (a full disk at that time) is passed over; an epoch that
 * the config asks for must be there. */
static enum skiff_status no_model(const struct evaluating *t, int epoch, struct skiff_error *err)
{
    if (save_epoch_exists(t->load_path, epoch)) /* another run's: told */
        return SKIFF_OK;
    if (config_has(t->task.config, KEY_RUNNER_INFER_END_EPOCH) ||
        config_has(t->task.config, KEY_RUNNER_INFER_EPOCH))
        return error_set(err, SKIFF_NOT_FOUND,
                         "%s/%d contains no saved model (rec_static.pdparams)", t->load_path,
                         epoch);
    log_warn("%s/%d contains no saved model and is ignored", t->load_path, epoch);
    return SKIFF_OK;
}

/* *out: it is there, whole, and loaded. */
static enum skiff_status load_epoch(struct evaluating *t, int epoch, struct model_info *note,
                                    bool *out, struct skiff_error *err)
{
    bool incomplete = false;
    *out = false;
    if (t->best_alone && !t->best.end) {
        struct buf path = BUF_INIT;
        buf_printf(&path, "%s/%s", t->load_path, t->best.model);
        enum skiff_status status = checkpoint_load(&t->task, path.data, err);
        buf_deinit(&path);
        *out = true;
        return status;
    }
    if (!run_list_find(&t->runs, epoch))
        return no_model(t, epoch, err);
    TRY(checkpoint_load_whole(&t->task, t->load_path, epoch, note, &incomplete, err));
    *out = !incomplete;
    return SKIFF_OK;
}

static enum skiff_status read_all(struct evaluating *t, int epoch, struct trainer_result *out,
                                  struct skiff_error *err)
{
    TRY(sample_dump_start(&t->sample_dump, epoch, err));
    eval_metrics_reset(&t->accumulator);
    progress_start(&t->progress, t->data, epoch);
    task_warn_nan(&t->task, &t->options, "saved epoch", epoch);
    recorder_begin_epoch(t->recorder, epoch, NULL);
    enum skiff_status status =
        trainer_infer_dataset(t->task.scope, t->task.main, t->data, &t->options, out, err);
    progress_end(&t->progress, status == SKIFF_OK && !out->stopped ? out->rows : 0);
    if (status == SKIFF_OK)
        status = sample_dump_end(&t->sample_dump, err);
    return status;
}

static enum skiff_status evaluate_epoch(struct evaluating *t, int epoch, struct skiff_error *err)
{
    struct trainer_result r = {0};
    struct eval_metrics_sum sum;
    struct model_info note = {0};
    bool there;
    TRY(load_epoch(t, epoch, &note, &there, err));
    if (!there)
        return SKIFF_OK;
    if (!t->idle)
        TRY(read_all(t, epoch, &r, err));
    TRY(ranks_any(&t->ranks, &r.stopped, err));
    if (!r.rows && !r.stopped && !t->idle)
        return task_no_samples(&t->task, &task_data_infer, t->data, err);
    t->stopped = r.stopped;
    if (r.stopped) /* numbers of a part of the data would mislead */
        return SKIFF_OK;
    eval_metrics_read(&t->accumulator, &sum);
    TRY(ranks_add_up(&t->ranks, &sum, err));
    struct epoch_row *row = &t->rows[t->nrows++];
    *row = (struct epoch_row){.epoch = epoch,
                              .seconds = r.seconds,
                              .interrupted = note.known && !note.complete,
                              .best = t->best.epoch == epoch && (t->best.end || t->best_alone)};
    epoch_row_fill(row, &t->accumulator, &sum);
    epoch_row_times(row, &r);
    recorder_end_epoch(t->recorder, row, &sum, true);
    print_line(row);
    return SKIFF_OK;
}

static void print_best(const struct evaluating *t)
{
    const struct valid_best *b = &t->best;
    const char *metric = valid_metric_name(b->metric);
    if (b->epoch < t->first || b->epoch >= t->end)
        return;
    if (b->end)
        printf("* best in validation during training: %s %.4f\n", metric, b->value);
    else
        printf("%s in validation during training: epoch %d, batch %lld (%s %.4f), in %s/%s%s\n",
               t->best_alone ? "* best" : "best", b->epoch, (long long)b->batch, metric, b->value,
               t->load_path, b->model,
               t->best_alone ? "" : " (evaluate it with -o runner.infer_epoch=best)");
}

/* Samples of one class have no AUC: often they have no labels at all. */
static void print_undefined(const struct evaluating *t)
{
    for (int i = 0; i < t->nrows; i++)
        if (t->rows[i].no_auc) {
            log_warn("auc is undefined: there are %s in runner.test_data_dir; rows without labels "
                     "can be predicted (skiff predict) but not evaluated",
                     t->rows[i].no_auc);
            return;
        }
}

/* Ranks share the files out: every row is evaluated once. */
static enum skiff_status open_data(struct evaluating *t, struct skiff_error *err)
{
    struct task_data data = task_data_infer;
    TRY(ranks_files(&t->ranks, &t->task, true, &data, &t->files, err));
    t->idle = !ranks_alone(&t->ranks) && !data.nfiles;
    if (t->idle) { /* other ranks evaluate; its own counts are not used */
        data = task_data_infer;
        log_warn("more ranks than files: this rank evaluates nothing");
    }
    return task_dataset_open(&t->task, &data, &t->data, err);
}

static enum skiff_status evaluate(struct evaluating *t, const struct task_args *args,
                                  struct skiff_error *err)
{
    TRY(read_range(t, args->run, err));
    TRY(open_data(t, err));
    read_options(t);
    TRY(sample_dump_init(&t->sample_dump, &t->task, &t->options, true, 0, err));
    TRY(task_check(&t->task, err));
    if (task_in_memory(&t->task) && !t->idle)
        TRY(dataset_load(t->data, err));
    t->rows = mem_alloc_or_die((size_t)(t->end - t->first) * sizeof(*t->rows));
    if (args->json && ranks_first(&t->ranks))
        t->recorder = recorder_open(&t->task, &t->accumulator,
                                    &(struct recorder_plan){.command = "infer",
                                                            .json = args->json,
                                                            .model_path = t->load_path,
                                                            .threads = t->options.threads,
                                                            .workers = t->ranks.size});
    for (int epoch = t->first; epoch < t->end && !t->stopped; epoch++)
        TRY(evaluate_epoch(t, epoch, err));
    if (!t->nrows && !t->stopped)
        return error_set(err, SKIFF_NOT_FOUND, "no epoch from %d up to %d in %s is complete%s",
                         t->first, t->end, t->load_path,
                         t->runs.run[0] ? " and of the newest run" : "");
    if (!ranks_first(&t->ranks))
        return SKIFF_OK;
    if (t->nrows)
        report_print(t->rows, t->nrows, false);
    print_best(t);
    fflush(stdout);
    print_undefined(t);
    return SKIFF_OK;
}

static int run(const struct command_call *call)
{
    const struct task_args *args = call->args;
    struct skiff_error err = {0};
    int status = task_args_check(call->args, call->name);
    if (status)
        return status;
    struct evaluating t = {.ranks.size = 1};
    file_list_init(&t.files);
    if (task_open(&t.task, args, false, &err) < 0)
        return command_fail("infer", &err);
    enum skiff_status evaluated = ranks_open(&t.ranks, &t.task, args, false, &err);
    if (evaluated == SKIFF_OK)
        evaluated = evaluate(&t, args, &err);
    if (evaluated < 0)
        label_explain(&t.task, &task_data_infer, &err);
    enum run_status how = evaluated < 0 ? RUN_FAILED : t.stopped ? RUN_STOPPED : RUN_DONE;
    enum skiff_status written = recorder_close(t.recorder, how, evaluated < 0 ? err.message : NULL,
                                               evaluated < 0 ? NULL : &err);
    if (evaluated < 0 || written < 0) {
        status = command_fail("infer", &err);
    } else if (t.stopped) {
        fprintf(stderr, "skiff infer: stopped before the end\n");
        status = 1;
    }
    ranks_close(&t.ranks);
    dataset_destroy(t.data);
    file_list_deinit(&t.files);
    if (t.accumulator.thread_states)
        eval_metrics_deinit(&t.accumulator);
    free(t.rows);
    sample_dump_deinit(&t.sample_dump);
    run_list_deinit(&t.runs);
    task_close(&t.task);
    return status;
}

static const struct option rows[] = {
    TASK_OPTIONS, TASK_NAME, TASK_RUN, TASK_TALK(.group = "output"), TASK_JSON, {0}};

const struct command command_infer = {
    .name = "infer",
    .summary = "evaluate saved epochs on test data: AUC, log loss, calibration",
    .usage = "-m config.yaml [-o key=value ...] [-q|-v] [--json FILE] [--name NAME] [--run ID]",
    .text =
        "Evaluates saved epochs on the data of runner.test_data_dir: loss, AUC, log loss, COPC. "
        "It reads them from runner.infer_load_path: the epochs from runner.infer_start_epoch up "
        "to, "
        "but not including, runner.infer_end_epoch; without an end, all that exist. If the folder "
        "has epochs of several runs, the newest run is evaluated. runner.infer_epoch selects one "
        "epoch, or "
        "`best`: the best epoch of validation during training, which has a star in the table.\n\n"
        "Rows without labels cannot be evaluated; skiff predict writes predictions for them.",
    .examples = "skiff infer -m config.yaml\n"
                "skiff infer -m config.yaml -o runner.infer_epoch=best",
    .group = COMMAND_TRAIN,
    .options = &(const struct options){.rows = rows},
    .args_size = sizeof(struct task_args),
    .run = run};
