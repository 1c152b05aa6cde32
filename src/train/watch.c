/* Observers that come with every run (watch.h): run recorder, sample dump, reports to a launcher.
 *
 * Each only translates: slots of struct train_observer to calls of recorder.h, sample_dump.h or
 * fleet/report.h. What they read of the run is there from start to end; ticks on the monitor thread
 * read atomics and sums that have locks of their own. */
#include "train/watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "train/run.h"

/* ---- the run recorder ---- */

/* In a job a process knows only its own, and online training has others in each pass. */
static int64_t files_of(const struct train_run *run)
{
    return run->data && !run->given && run->home.size == 1 ? dataset_files(run->data)->count : 0;
}

static enum skiff_status record_start(void *self, struct train_run *run, struct skiff_error *err)
{
    struct record_watch *w = self;
    const struct home *home = &run->home;
    (void)err;
    w->run = run;
    if (run->first >= run->epochs || !home->records)
        return SKIFF_OK;
    /* the process that saves leaves the report next to the models */
    w->recorder = recorder_open(&run->task, &run->metrics,
                                &(struct recorder_plan){.command = "train",
                                                        .folder = run->save_path,
                                                        .json = run->args->json,
                                                        .run = run->id,
                                                        .files = files_of(run),
                                                        .threads = run->options.threads,
                                                        .servers = home->servers,
                                                        .workers = home->size,
                                                        .worker = home->index,
                                                        .quiet = home->index != 0});
    if (run->args->resume || run->first) /* or joined late */
        recorder_resume(w->recorder, run->first);
    recorder_begin(w->recorder, run->first);
    return SKIFF_OK;
}

static enum skiff_status record_span(void *self, const struct train_span *span,
                                     struct skiff_error *err)
{
    struct record_watch *w = self;
    (void)err;
    w->pauses = span->evaluates;
    if (!span->evaluates)
        recorder_begin_epoch(w->recorder, span->number, w->run->data);
    return SKIFF_OK;
}

static void record_batch(void *self, int thread, int64_t rows, const struct skiff_tensor *watched)
{
    (void)rows;
    (void)watched;
    recorder_batch(((struct record_watch *)self)->recorder, thread);
}

static void record_tick(void *self)
{
    const struct record_watch *w = self;
    if (!w->pauses)
        recorder_tick(w->recorder);
}

static enum skiff_status record_pause(void *self, int64_t batches, int64_t rows,
                                      struct skiff_error *err)
{
    (void)batches;
    (void)rows;
    (void)err;
    recorder_pause(((struct record_watch *)self)->recorder);
    return SKIFF_OK;
}

static void record_profile(void *self, const struct profile *profile)
{
    recorder_profile(((struct record_watch *)self)->recorder, profile);
}

static enum skiff_status record_data_end(void *self, const struct trainer_result *r, bool ok,
                                         struct skiff_error *err)
{
    (void)err;
    const struct record_watch *w = self;
    if (ok && r->rows && !w->pauses)
        recorder_last_window(w->recorder);
    return SKIFF_OK;
}

static enum skiff_status record_span_end(void *self, const struct train_counts *c, bool *stop,
                                         struct skiff_error *err)
{
    (void)stop;
    (void)err;
    struct record_watch *w = self;
    recorder_end_epoch(w->recorder, c->row, c->sum, c->complete, w->run->span.day != 0);
    return SKIFF_OK;
}

static enum skiff_status record_saved(void *self, const struct train_saved *s,
                                      struct skiff_error *err)
{
    (void)err;
    if (s->saved || s->left_out)
        recorder_saved(((struct record_watch *)self)->recorder, s->note->epoch, s->saved,
                       s->seconds);
    return SKIFF_OK;
}

static void record_validated(void *self, int epoch, struct eval_metrics *counted)
{
    struct record_watch *w = self;
    const struct valid *v = &w->run->validation.valid;
    /* models of online training are not kept as epochs: the best of all */
    int best = v->best >= 0 ? v->best : v->top;
    struct buf text = BUF_INIT;
    recorder_valid(w->recorder, counted,
                   &(struct recorder_valid){.epoch = epoch,
                                            .best = best == v->n - 1,
                                            .metric = valid_metric_name(v->metric),
                                            .files = dataset_files(v->data)->count});
    if (v->stop) {
        valid_stop_text(v, &text);
        recorder_event(w->recorder, RUN_EARLY_STOP, "%s", text.data);
    } else if (valid_wants_lower(v)) {
        valid_lower_text(v, &text);
        recorder_event(w->recorder, RUN_PLATEAU, "%s", text.data);
    }
    buf_deinit(&text);
}

static void record_end(void *self, enum run_status how, const char *why)
{
    struct record_watch *w = self;
    struct skiff_error err;
    if (recorder_close(w->recorder, how, why, &err) < 0)
        logger_warn(&w->run->task.logger, "--json: %s", err.message);
    w->recorder = NULL;
}

struct train_observer record_observer(struct record_watch *w)
{
    return (struct train_observer){.self = w,
                                   .start = record_start,
                                   .span_begin = record_span,
                                   .batch = record_batch,
                                   .tick = record_tick,
                                   .pause = record_pause,
                                   .profile = record_profile,
                                   .data_end = record_data_end,
                                   .span_end = record_span_end,
                                   .saved = record_saved,
                                   .validated = record_validated,
                                   .end = record_end};
}

/* ---- the sample dump ---- */

static enum skiff_status dump_span(void *self, const struct train_span *span,
                                   struct skiff_error *err)
{
    struct train_run *run = self;
    return span->evaluates ? SKIFF_OK : sample_dump_start(&run->dump, span->name, err);
}

static void dump_batch(void *self, int thread, int64_t rows, const struct skiff_tensor *watched)
{
    struct train_run *run = self;
    sample_dump_batch(&run->dump, run->data, thread, rows, watched);
}

static enum skiff_status dump_data_end(void *self, const struct trainer_result *r, bool ok,
                                       struct skiff_error *err)
{
    struct train_run *run = self;
    (void)r;
    return ok ? sample_dump_end(&run->dump, err) : SKIFF_OK;
}

struct train_observer dump_observer(struct train_run *run)
{
    return (struct train_observer){
        .self = run, .span_begin = dump_span, .batch = dump_batch, .data_end = dump_data_end};
}

/* ---- the launcher ---- */

static void report_counts(struct launcher_watch *w, const struct eval_metrics_sum *sum,
                          double share, double seconds)
{
    struct train_run *run = w->run;
    struct report r = {.epoch = run->span.day ? run->span.pass : run->span.number,
                       .day = run->span.day,
                       .share = share,
                       .samples = sum->samples,
                       .seconds = seconds,
                       .loss = eval_metrics_loss(&run->metrics, sum),
                       .auc = eval_metrics_auc(&run->metrics, sum)};
    strcpy(r.tables, run->tables.text);
    report_send(&r);
}

static enum skiff_status launcher_span(void *self, const struct train_span *span,
                                       struct skiff_error *err)
{
    (void)err;
    ((struct launcher_watch *)self)->evaluates = span->evaluates;
    return SKIFF_OK;
}

static void launcher_tick(void *self)
{
    struct launcher_watch *w = self;
    struct train_run *run = w->run;
    if (!report_wanted())
        return;
    struct eval_metrics_sum *sum = mem_alloc_or_die(sizeof *sum);
    eval_metrics_read(&run->metrics, sum);
    struct metrics_snapshot counted = {0};
    snapshot_add(&counted, run->task.metrics);
    report_metrics(&counted);
    snapshot_deinit(&counted);
    double share = run->expected > 0 ? fmin(1.0, (double)sum->samples / (double)run->expected)
                                     : dataset_progress(run->data);
    report_counts(w, sum, share, clock_seconds() - run->started);
    free(sum);
}

/* All files of this process are through; others may still train. */
static enum skiff_status launcher_data_end(void *self, const struct trainer_result *r, bool ok,
                                           struct skiff_error *err)
{
    struct launcher_watch *w = self;
    struct train_run *run = w->run;
    (void)err;
    if (!ok || !r->rows || w->evaluates)
        return SKIFF_OK;
    struct eval_metrics_sum *sum = mem_alloc_or_die(sizeof *sum);
    eval_metrics_read(&run->metrics, sum);
    w->total.samples += sum->samples;
    w->total.seconds += r->seconds;
    w->total.loss = eval_metrics_loss(&run->metrics, sum);
    w->total.auc = eval_metrics_auc(&run->metrics, sum);
    if (!r->stopped)
        report_counts(w, sum, 1, r->seconds);
    free(sum);
    return SKIFF_OK;
}

static enum skiff_status launcher_span_end(void *self, const struct train_counts *c, bool *stop,
                                           struct skiff_error *err)
{
    (void)stop;
    (void)err;
    ((struct launcher_watch *)self)->total.job_auc = c->row->auc;
    return SKIFF_OK;
}

static void launcher_results(void *self, const struct epoch_row *rows, int n)
{
    (void)rows;
    (void)n;
    report_send(&((struct launcher_watch *)self)->total);
}

struct train_observer launcher_observer(struct launcher_watch *w, struct train_run *run)
{
    *w = (struct launcher_watch){.run = run,
                                 .total = {.epoch = -1, .loss = NAN, .auc = NAN, .job_auc = NAN}};
    return (struct train_observer){.self = w,
                                   .span_begin = launcher_span,
                                   .tick = launcher_tick,
                                   .data_end = launcher_data_end,
                                   .span_end = launcher_span_end,
                                   .results = launcher_results};
}
