/* Recording of a run (recorder.h): fills a report (report/run_report.h) and writes it.
 *
 * The cost is bounded: once the points are full, they are merged and taken half as often, and slots
 * are sampled within a budget (recorder_slots.c). Files are written at the start, after a saved
 * epoch while writing has taken less than WRITING_SHARE of the run, and at the end. Events come
 * from any thread and are guarded by a lock; a failed write is a warning, printed once, and never
 * ends a run. */
#include "train/recorder.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "train/recorder_slots.h"
#include "train/quality.h"
#include "report/report.h"
#include "store/file.h"

#define FIRST_INTERVAL 0.001 /* seconds between two points, at first */
#define USUAL_INTERVAL 0.1   /* soon */
#define EARLY_POINTS 48      /* until then: so many are merged, and the interval doubled */
#define WRITING_SHARE 0.003

struct run_recorder {
    pthread_mutex_t lock; /* of the report and all that follows */
    struct run_report report;
    struct recorder_plan plan;
    struct logger log;
    struct eval_metrics *accumulator;
    struct eval_metrics_sum *now, *before; /* before: at the last point */
    double started, offset;                /* offset: what the run took before it was resumed */
    double point_at, interval;
    double base;    /* samples before this epoch, of all workers */
    double written; /* seconds that writing has taken */
    int epoch;
    bool writes, reported;
    bool paused;       /* training waits, and the time is none of it */
    atomic_bool early; /* the interval is shorter than that of ticks */
    struct slot_sampler *slots;
};

static double seconds_of(const struct run_recorder *r)
{
    return r->offset + clock_seconds() - r->started;
}

/* ---- opening ---- */

static void on_log_line(void *user, enum log_level level, const char *text)
{
    if (level >= LOG_WARN)
        recorder_event(user, level == LOG_WARN ? RUN_WARNING : RUN_ERROR, "%s", text);
}

static void add_config(struct run_report *report, const struct config *c)
{
    struct buf text = BUF_INIT;
    for (int i = 0; i < config_count(c); i++) {
        buf_reset(&text);
        config_print_at(c, i, &text);
        run_add_config(report, config_at(c, i), text.len ? text.data : "");
    }
    buf_deinit(&text);
}

static const char *time_text(struct run_report *report)
{
    char text[40];
    struct timespec now = clock_timespec(clock_real());
    struct tm tm;
    gmtime_r(&now.tv_sec, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    return run_text(report, text);
}

struct run_recorder *recorder_open(struct task *task, struct eval_metrics *accumulator,
                                   const struct recorder_plan *plan)
{
    struct run_recorder *r = mem_alloc_or_die(sizeof(*r));
    struct run_report *report = &r->report;
    pthread_mutex_init(&r->lock, NULL);
    r->plan = *plan;
    r->log = task->logger;
    r->accumulator = accumulator;
    r->now = mem_alloc_or_die(sizeof(*r->now));
    r->before = mem_alloc_or_die(sizeof(*r->before));
    r->started = clock_seconds();
    r->interval = FIRST_INTERVAL;
    atomic_init(&r->early, true);
    r->writes = !plan->quiet;
    run_report_init(report);
    report->command = plan->command;
    report->name = run_text(report, plan->run);
    report->model = run_text(report, task->model->name);
    report->model_path = run_text(report, plan->model_path ? plan->model_path : plan->folder);
    report->started = time_text(report);
    report->threads = plan->threads;
    report->workers = plan->workers;
    report->servers = plan->servers;
    report->data[plan->part].files = plan->files;
    report->worker = plan->worker;
    add_config(report, task->config);
    run_machine_read(report);
    r->slots = slot_sampler_create(&task->schema);
    log_listen(on_log_line, r);
    return r;
}

/* Everything that both have, up to the epoch. */
static void take_over(struct run_recorder *r, const struct run_report *old, int first)
{
    struct run_report *report = &r->report;
    for (int i = 0; i < old->nepochs; i++)
        if (old->epochs[i].epoch < first) {
            run_add_epoch(report, &old->epochs[i]);
            r->base = old->epochs[i].at_samples;
        }
    for (int i = 0; i < old->points.n; i++)
        if (old->points.at[i].epoch < first)
            run_add_point(report, &old->points.at[i]);
    for (int i = 0; i < old->valid.n; i++)
        if (old->valid.at[i].epoch < first)
            run_add_valid(report, &old->valid.at[i]);
    for (int i = 0; i < old->nquality; i++)
        if (old->quality[i].epoch < first)
            run_add_quality(report, &old->quality[i]);
    for (int i = 0; i < old->ntests; i++)
        if (old->tests[i].epoch < first)
            run_add_test(report, &old->tests[i]);
    for (int i = 0; i < old->nevents; i++)
        run_add_event(report, old->events[i].kind, old->events[i].seconds, old->events[i].text);
    for (int i = 0; i < old->nops; i++)
        run_add_op(report, &old->ops[i]);
    memcpy(report->data, old->data, sizeof report->data);
    report->valid_calibration = old->valid_calibration;
    report->test_calibration = old->test_calibration;
    report->valid_metric = run_text(report, old->valid_metric);
    report->started = run_text(report, old->started);
    report->samples = r->base;
    r->offset = old->seconds;
}

void recorder_resume(struct run_recorder *r, int first)
{
    struct buf path = BUF_INIT;
    struct run_report old;
    if (!r || !r->plan.folder)
        return;
    buf_printf(&path, "%s/" REPORT_JSON, r->plan.folder);
    run_report_init(&old);
    pthread_mutex_lock(&r->lock);
    /* one that is not there, broken, or of another run: the report begins here */
    if (report_read(path.data, &old, NULL) == SKIFF_OK && !strcmp(old.name, r->report.name))
        take_over(r, &old, first);
    pthread_mutex_unlock(&r->lock);
    run_report_deinit(&old);
    buf_deinit(&path);
}

/* ---- while it runs ---- */

void recorder_event(struct run_recorder *r, enum run_event_kind kind, const char *format, ...)
{
    char text[1024];
    va_list args;
    if (!r)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    pthread_mutex_lock(&r->lock);
    run_add_event(&r->report, kind, seconds_of(r), text);
    pthread_mutex_unlock(&r->lock);
}

void recorder_begin_epoch(struct run_recorder *r, int epoch, struct dataset *data)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->epoch = epoch;
    r->point_at = clock_seconds();
    memset(r->before, 0, sizeof(*r->before));
    slot_sampler_begin(r->slots, data);
    pthread_mutex_unlock(&r->lock);
}

/* What was counted since the last point. */
static void subtract(struct eval_metrics_sum *s, const struct eval_metrics_sum *before)
{
    s->batches -= before->batches;
    s->samples -= before->samples;
    s->weight -= before->weight;
    s->loss -= before->loss;
    s->evaluated -= before->evaluated;
    s->log_loss -= before->log_loss;
    s->clicks -= before->clicks;
    s->predicted -= before->predicted;
    s->right -= before->right;
    for (int i = 0; i < EVAL_METRICS_BUCKETS; i++) {
        s->pos[i] -= before->pos[i];
        s->neg[i] -= before->neg[i];
    }
}

static struct run_numbers numbers_of(const struct eval_metrics *t, const struct eval_metrics_sum *s)
{
    struct run_numbers n = {.loss = eval_metrics_loss(t, s),
                            .auc = eval_metrics_auc(t, s),
                            .log_loss = eval_metrics_log_loss(t, s),
                            .copc = eval_metrics_copc(t, s),
                            .accuracy = eval_metrics_accuracy(t, s)};
    if (!(s->clicks > 0 && s->clicks < s->evaluated))
        n.auc = NAN; /* of one class */
    return n;
}

static void add_point(struct run_recorder *r, double now, bool last)
{
    struct run_report *report = &r->report;
    struct eval_metrics_sum *window = r->now;
    int had = report->points.n;
    double at = r->base + (double)window->samples;
    struct eval_metrics_sum *all = mem_alloc_or_die(sizeof(*all));
    *all = *window;
    subtract(window, r->before);
    *r->before = *all;
    free(all);
    double evaluated = window->evaluated;
    bool means = r->accumulator->is_probability && evaluated > 0;
    struct run_point p = {.epoch = r->epoch,
                          .at_samples = at,
                          .at_seconds = seconds_of(r),
                          .samples = (double)window->samples,
                          .seconds = now - r->point_at,
                          .n = numbers_of(r->accumulator, window),
                          .clicks = means ? window->clicks / evaluated : NAN,
                          .predicted = means ? window->predicted / evaluated : NAN};
    (last ? run_add_last_point : run_add_point)(report, &p);
    if (had >= RUN_MAX_POINTS) /* they were merged: from now on half as many */
        r->interval *= 2;
    if (r->interval < USUAL_INTERVAL && report->points.n >= EARLY_POINTS) {
        report->points.n =
            run_merge_points(report->points.at, report->points.n, EARLY_POINTS * 3 / 4);
        r->interval *= 2;
        atomic_store(&r->early, r->interval < USUAL_INTERVAL);
    }
    report->samples = at;
    r->point_at = now;
}

static void look(struct run_recorder *r, bool last)
{
    if (!r)
        return;
    double now = clock_seconds();
    pthread_mutex_lock(&r->lock);
    if (last || now - r->point_at >= r->interval) {
        eval_metrics_read(r->accumulator, r->now);
        if (r->now->samples > r->before->samples)
            add_point(r, now, last);
    }
    pthread_mutex_unlock(&r->lock);
}

/* Ticks of the monitor thread are too rare for the first points. */
void recorder_batch(struct run_recorder *r, int thread)
{
    if (!r || thread != 0)
        return;
    slot_sampler_batch(r->slots);
    if (atomic_load_explicit(&r->early, memory_order_relaxed))
        look(r, false);
}

void recorder_tick(struct run_recorder *r)
{
    look(r, false);
}

void recorder_last_window(struct run_recorder *r)
{
    look(r, true);
}

void recorder_pause(struct run_recorder *r)
{
    look(r, true);
    if (r)
        r->paused = true;
}

void recorder_profile(struct run_recorder *r, const struct profile *profile)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    for (int i = 0; i < profile->count; i++) {
        const struct profile_step *s = &profile->steps[i];
        run_add_op(&r->report, &(struct run_op){s->type, s->update, (int64_t)s->calls, s->seconds});
    }
    pthread_mutex_unlock(&r->lock);
}

/* Rows that come once are added up; others are those of one epoch that was complete. */
static void count_rows(struct run_recorder *r, const struct eval_metrics_sum *sum, double samples,
                       bool complete, bool once)
{
    struct run_data *d = &r->report.data[r->plan.part];
    double positives = r->accumulator->is_probability ? sum->clicks : NAN;
    if (once) {
        d->positives = d->rows > 0 ? d->positives + positives : positives;
        d->rows += samples;
    } else if (complete) {
        d->rows = samples;
        d->positives = positives;
    }
}

void recorder_end_epoch(struct run_recorder *r, const struct epoch_row *row,
                        const struct eval_metrics_sum *sum, bool complete, bool once)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    struct run_report *report = &r->report;
    double own = report->samples - r->base;
    if (own > 0 && (double)row->samples != own)
        run_scale_epoch(report, r->epoch, r->base, (double)row->samples / own);
    r->base += (double)row->samples;
    report->samples = r->base;
    run_add_epoch(report, &(struct run_epoch){.epoch = row->epoch,
                                              .complete = complete,
                                              .at_samples = r->base,
                                              .at_seconds = seconds_of(r),
                                              .samples = row->samples,
                                              .seconds = row->seconds,
                                              .n = epoch_row_numbers(row),
                                              .read = row->read,
                                              .compute = row->compute,
                                              .update = row->update});
    if (row->has_quality)
        quality_add(report, "test", row->epoch, &row->quality);
    count_rows(r, sum, (double)row->samples, complete, once);
    if (r->accumulator->is_probability)
        run_bins_fill(&report->calibration, sum->pos, sum->neg, EVAL_METRICS_BUCKETS);
    pthread_mutex_unlock(&r->lock);
}

/* Samples of the run at the end of the epoch, or now, if that has not ended: a job validates an
 * epoch that is saved while the next one runs. */
static double samples_at(struct run_recorder *r, int epoch)
{
    const struct run_epoch *last = run_last_epoch(&r->report);
    if (last && last->epoch >= epoch)
        return last->at_samples;
    eval_metrics_read(r->accumulator, r->now);
    return r->base + (double)r->now->samples;
}

void recorder_valid(struct run_recorder *r, struct eval_metrics *counted,
                    const struct recorder_valid *v)
{
    struct eval_metrics_sum sum;
    struct epoch_row row = {.epoch = v->epoch};
    if (!r)
        return;
    eval_metrics_read(counted, &sum);
    epoch_row_fill(&row, counted, &sum);
    pthread_mutex_lock(&r->lock);
    run_add_valid(&r->report, &(struct run_point){.epoch = v->epoch,
                                                  .at_samples = samples_at(r, v->epoch),
                                                  .at_seconds = seconds_of(r),
                                                  .samples = (double)row.samples,
                                                  .seconds = row.seconds,
                                                  .n = epoch_row_numbers(&row),
                                                  .clicks = NAN,
                                                  .predicted = NAN,
                                                  .best = v->best});
    r->report.valid_metric = v->metric; /* a constant */
    if (r->paused)
        r->point_at = clock_seconds();
    r->paused = false;
    r->report.data[RUN_VALID] =
        (struct run_data){.files = v->files,
                          .rows = (double)row.samples,
                          .positives = counted->is_probability ? sum.clicks : NAN};
    quality_add_counted(&r->report, "valid", v->epoch, counted);
    if (counted->is_probability && v->best)
        run_bins_fill(&r->report.valid_calibration, sum.pos, sum.neg, EVAL_METRICS_BUCKETS);
    pthread_mutex_unlock(&r->lock);
}

/* ---- writing ---- */

static void make_texts(struct run_recorder *r, struct buf *json, struct buf *html)
{
    const struct run_report *one = &r->report;
    pthread_mutex_lock(&r->lock);
    r->report.seconds = seconds_of(r);
    run_machine_read(&r->report);
    run_sort_ops(&r->report);
    slot_sampler_fill(r->slots, &r->report);
    report_json(&r->report, json);
    report_html(&one, 1, html);
    pthread_mutex_unlock(&r->lock);
}

static void write_files(struct run_recorder *r, const struct buf *json, const struct buf *html)
{
    struct skiff_error err = {0};
    enum skiff_status status = SKIFF_OK;
    if (!r->writes || !r->plan.folder)
        return;
    status = report_write_texts(r->plan.folder, json, html, &err);
    if (status < 0 && !r->reported)
        logger_warn(&r->log, "the report of the run could not be written: %s", err.message);
    r->reported |= status < 0;
}

static void write_report(struct run_recorder *r, bool last, struct buf *json)
{
    struct buf html = BUF_INIT;
    double start = clock_seconds();
    bool due = last || r->written <= WRITING_SHARE * (start - r->started);
    if (!due || (!last && !r->writes))
        return;
    make_texts(r, json, &html);
    write_files(r, json, &html);
    r->written += clock_seconds() - start;
    buf_deinit(&html);
}

void recorder_begin(struct run_recorder *r, int first)
{
    struct buf json = BUF_INIT;
    if (first)
        recorder_event(r, RUN_RESUME, "with epoch %d", first);
    else
        recorder_event(r, RUN_START, "%s", r->report.model);
    write_report(r, true, &json);
    buf_deinit(&json);
}

void recorder_saved(struct run_recorder *r, int epoch, bool saved, double seconds)
{
    struct buf json = BUF_INIT;
    if (!r)
        return;
    r->writes = saved;
    if (!saved)
        return;
    recorder_event(r, RUN_SAVED, "epoch %d in %.1f s", epoch, seconds);
    write_report(r, false, &json);
    buf_deinit(&json);
}

enum skiff_status recorder_close(struct run_recorder *r, enum run_status status, const char *why,
                                 struct skiff_error *err)
{
    static const enum run_event_kind kinds[] = {RUN_END, RUN_END, RUN_INTERRUPT, RUN_ERROR};
    enum skiff_status written = SKIFF_OK;
    struct buf json = BUF_INIT;
    if (!r)
        return SKIFF_OK;
    log_listen(NULL, NULL);
    recorder_event(r, kinds[status], "%s", why ? why : run_status_word(status));
    r->report.status = status;
    write_report(r, true, &json);
    if (r->plan.json && (r->writes || !r->plan.quiet))
        written = file_write(r->plan.json, json.data, json.len, err);
    buf_deinit(&json);
    slot_sampler_destroy(r->slots);
    run_report_deinit(&r->report);
    pthread_mutex_destroy(&r->lock);
    free(r->now);
    free(r->before);
    free(r);
    return written;
}
