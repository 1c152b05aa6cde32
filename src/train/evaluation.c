/* Evaluation of saved epochs. They are loaded one after the other into the same program and scope.
 * As ranks, each rank evaluates its share of the files, and the counts of all ranks are added, so
 * that AUC is exact. An incomplete epoch is reported and skipped; it is an error if none is left.
 */
#include "train/evaluation.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config/values.h"
#include "save/epochs.h"
#include "task/label.h"
#include "train/calibrate.h"
#include "train/checkpoint.h"
#include "train/online_done.h"

/* ---- what is evaluated ---- */

/* runner.infer_epoch: a number, or `best`. */
static enum skiff_status read_epoch(struct evaluation *t, struct skiff_error *err)
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

/* Its passes are evaluated a day at a time. */
static enum skiff_status refuse_days(const struct evaluation *t, struct skiff_error *err)
{
    int day;
    struct buf newest = BUF_INIT;
    enum skiff_status status =
        done_newest(t->load_path, &newest, &day)
            ? error_set(err, SKIFF_INVALID,
                        "%s: %s holds days and passes of online training: set "
                        "runner.infer_load_path to the folder of one day, as %s/%08d",
                        config_name(t->task.config), t->load_path, t->load_path, day)
            : SKIFF_OK;
    buf_deinit(&newest);
    return status;
}

static enum skiff_status read_range(struct evaluation *t, const char *run, struct skiff_error *err)
{
    struct config *c = t->task.config;
    t->load_path = task_load_path(&t->task);
    TRY(run_list_read(&t->runs, t->load_path, run, err));
    run_list_warn(&t->runs, &t->task.logger, t->load_path, "--run ID selects them");
    if (run_list_before(&t->runs, INT_MAX) < 0)
        TRY(refuse_days(t, err));
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

/* A gap among the epochs that are there (a full disk at that time) is passed over; an epoch that
 * the config asks for must be there. */
static enum skiff_status no_model(const struct evaluation *t, int epoch, struct skiff_error *err)
{
    if (save_epoch_exists(t->load_path, epoch)) /* another run's: reported */
        return SKIFF_OK;
    if (config_has(t->task.config, KEY_RUNNER_INFER_END_EPOCH) ||
        config_has(t->task.config, KEY_RUNNER_INFER_EPOCH))
        return error_set(err, SKIFF_NOT_FOUND,
                         "%s/%d contains no saved model (rec_static.pdparams)", t->load_path,
                         epoch);
    logger_warn(&t->task.logger, "%s/%d contains no saved model and is ignored", t->load_path,
                epoch);
    return SKIFF_OK;
}

static enum skiff_status load_calibration(struct evaluation *t, struct skiff_error *err)
{
    calibration_destroy(t->calibration);
    TRY(calibrate_load(&t->task, t->folder.data, &t->calibration, err));
    t->metrics.adjust = t->calibration ? calibrate_apply : NULL;
    t->metrics.adjust_self = t->calibration;
    return SKIFF_OK;
}

/* *out: it is there, whole, and loaded. */
static enum skiff_status load_epoch(struct evaluation *t, int epoch, struct model_info *note,
                                    bool *out, struct skiff_error *err)
{
    bool incomplete = false;
    *out = false;
    buf_reset(&t->folder);
    if (t->best_alone && !t->best.end)
        buf_printf(&t->folder, "%s/%s", t->load_path, t->best.model);
    else
        buf_printf(&t->folder, "%s/%d", t->load_path, epoch);
    if (t->best_alone && !t->best.end) {
        TRY(checkpoint_load(&t->task, t->folder.data, err));
    } else {
        if (!run_list_find(&t->runs, epoch))
            return no_model(t, epoch, err);
        TRY(checkpoint_load_whole(&t->task, t->load_path, epoch, note, &incomplete, err));
    }
    *out = !incomplete;
    return incomplete ? SKIFF_OK : load_calibration(t, err);
}

/* ---- an epoch ---- */

static void on_batch(void *user, int thread, int64_t rows, const struct skiff_tensor *watched)
{
    struct evaluation *t = user;
    eval_metrics_batch(&t->metrics, thread, rows, watched);
    sample_dump_batch(&t->dump, t->data, thread, rows, watched);
    observers_batch(&t->observers, thread, rows, watched);
}

static bool wants_stop(void *user)
{
    const struct evaluation *t = user;
    return control_wants_stop(t->control);
}

static void on_tick(void *user)
{
    struct evaluation *t = user;
    observers_tick(&t->observers);
}

static void set_options(struct evaluation *t)
{
    int threads = task_threads(&t->task);
    eval_metrics_init(&t->metrics, &t->task.vars, threads);
    t->metrics.keeps_scores = t->metrics.is_probability;
    t->metrics.threshold = config_real(t->task.config, KEY_RUNNER_THRESHOLD);
    t->options = (struct trainer_options){.threads = threads,
                                          .executor = {.metrics = t->task.metrics},
                                          .user = t,
                                          .watched = t->metrics.watched,
                                          .nwatched = t->metrics.nwatched,
                                          .on_batch = on_batch,
                                          .tick_period = t->tick_period,
                                          .on_tick = on_tick,
                                          .wants_stop = wants_stop};
}

static enum skiff_status read_all(struct evaluation *t, int epoch, struct trainer_result *out,
                                  struct skiff_error *err)
{
    char name[24];
    struct train_span span = {.number = epoch, .name = name};
    snprintf(name, sizeof name, "epoch %d", epoch);
    TRY(sample_dump_start(&t->dump, name, err));
    eval_metrics_reset(&t->metrics);
    TRY(observers_span_begin(&t->observers, &span, err));
    task_warn_nan(&t->task, &t->options, "saved epoch", epoch);
    recorder_begin_epoch(t->recorder, epoch, NULL);
    enum skiff_status status =
        trainer_infer_dataset(t->task.scope, t->task.main, t->data, &t->options, out, err);
    bool ok = status == SKIFF_OK;
    enum skiff_status ended = observers_data_end(&t->observers, out, ok, ok ? err : NULL);
    if (ok && ended == SKIFF_OK)
        ended = sample_dump_end(&t->dump, err);
    return ok ? ended : status;
}

/* Metrics that need every prediction, of all ranks. */
static enum skiff_status add_quality(struct evaluation *t, struct epoch_row *row,
                                     struct skiff_error *err)
{
    struct scores all = {0};
    row->has_quality = t->metrics.keeps_scores;
    if (!row->has_quality)
        return SKIFF_OK;
    eval_metrics_scores(&t->metrics, &all);
    enum skiff_status status = ranks_gather_scores(&t->ranks, &all, err);
    if (status == SKIFF_OK)
        score_metrics_of(&all, t->metrics.threshold, t->metrics.has_group, &row->quality);
    scores_deinit(&all);
    return status;
}

/* Over all ranks. */
static enum skiff_status add_row(struct evaluation *t, int epoch, const struct model_info *note,
                                 const struct trainer_result *r, struct skiff_error *err)
{
    struct eval_metrics_sum sum;
    struct epoch_row *row = &t->rows[t->nrows];
    struct train_counts counts = {.row = row, .sum = &sum, .result = r, .complete = true};
    bool stop = false;
    eval_metrics_read(&t->metrics, &sum);
    TRY(ranks_add_up(&t->ranks, &sum, err));
    t->nrows++;
    *row =
        (struct epoch_row){.epoch = epoch,
                           .seconds = r->seconds,
                           .interrupted = note->known && !note->complete,
                           .calibrated = t->calibration ? calibration_name(t->calibration) : NULL,
                           .best = t->best.epoch == epoch && (t->best.end || t->best_alone)};
    epoch_row_fill(row, &t->metrics, &sum);
    epoch_row_times(row, r);
    TRY(add_quality(t, row, err));
    recorder_end_epoch(t->recorder, row, &sum, true, false);
    test_report_add(&t->report, row, &t->metrics, &sum);
    TRY(observers_span_end(&t->observers, &counts, &stop, err));
    t->stopped = stop;
    return SKIFF_OK;
}

static enum skiff_status evaluate_epoch(struct evaluation *t, int epoch, struct skiff_error *err)
{
    struct trainer_result r = {0};
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
    /* numbers of a part of the data would mislead */
    return r.stopped ? SKIFF_OK : add_row(t, epoch, &note, &r, err);
}

/* ---- the run ---- */

enum skiff_status evaluation_open(struct evaluation *t, const struct task_args *args,
                                  const struct train_control *control, struct skiff_error *err)
{
    *t = (struct evaluation){
        .args = args, .control = control, .ranks.size = 1, .tick_period = EVALUATION_TICK};
    file_list_init(&t->files);
    TRY(task_open(&t->task, args, TASK_EVALUATES, err));
    return ranks_open(&t->ranks, &t->task, args, false, err);
}

/* Ranks share the files out: every row is evaluated once. */
static enum skiff_status open_data(struct evaluation *t, struct skiff_error *err)
{
    struct task_data data = task_data_infer;
    TRY(ranks_files(&t->ranks, &t->task, true, &data, &t->files, err));
    t->idle = !ranks_alone(&t->ranks) && !data.nfiles;
    if (t->idle) { /* other ranks evaluate; its own counts are not used */
        data = task_data_infer;
        logger_warn(&t->task.logger, "more ranks than files: this rank evaluates nothing");
    }
    return task_dataset_open(&t->task, &data, &t->data, err);
}

static enum skiff_status evaluate(struct evaluation *t, struct skiff_error *err)
{
    TRY(read_range(t, t->args->run, err));
    TRY(open_data(t, err));
    control_ready(t->control);
    set_options(t);
    TRY(sample_dump_init(&t->dump, &t->task, &t->options, true, 0, err));
    TRY(observers_start(&t->observers, NULL, err));
    TRY(task_check(&t->task, err));
    if (task_in_memory(&t->task) && !t->idle)
        TRY(dataset_load(t->data, err));
    t->rows = mem_alloc_or_die((size_t)(t->end - t->first) * sizeof(*t->rows));
    if (ranks_alone(&t->ranks))
        t->report.data.files = dataset_files(t->data)->count;
    if (t->args->json && ranks_first(&t->ranks))
        t->recorder = recorder_open(&t->task, &t->metrics,
                                    &(struct recorder_plan){.command = "infer",
                                                            .part = RUN_TEST,
                                                            .files = t->report.data.files,
                                                            .json = t->args->json,
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
    observers_results(&t->observers, t->rows, t->nrows);
    if (!t->stopped)
        test_report_write(&t->report, t->load_path, t->runs.run, &t->task.logger);
    return SKIFF_OK;
}

enum skiff_status evaluation_run(struct evaluation *t, struct skiff_error *err)
{
    enum skiff_status status = evaluate(t, err);
    if (status < 0)
        label_explain(&t->task, &task_data_infer, err);
    return status;
}

enum skiff_status evaluation_end(struct evaluation *t, enum skiff_status status,
                                 struct skiff_error *err)
{
    bool failed = status < 0;
    enum run_status how = failed ? RUN_FAILED : t->stopped ? RUN_STOPPED : RUN_DONE;
    observers_end(&t->observers, how, failed ? err->message : NULL);
    enum skiff_status written =
        recorder_close(t->recorder, how, failed ? err->message : NULL, failed ? NULL : err);
    t->recorder = NULL;
    return failed ? status : written;
}

void evaluation_close(struct evaluation *t)
{
    ranks_close(&t->ranks);
    dataset_destroy(t->data);
    file_list_deinit(&t->files);
    if (t->metrics.thread_states)
        eval_metrics_deinit(&t->metrics);
    calibration_destroy(t->calibration);
    buf_deinit(&t->folder);
    free(t->rows);
    test_report_deinit(&t->report);
    sample_dump_deinit(&t->dump);
    run_list_deinit(&t->runs);
    task_close(&t->task);
}
