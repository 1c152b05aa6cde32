/* Recording of a run (record.h). */
#include "cli/record.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/record_slots.h"
#include "cli/report_read.h"
#include "cli/valid.h"
#include "report/report.h"
#include "store/file.h"

#define FIRST_INTERVAL 0.1 /* seconds between two points, at first */
#define WRITING_SHARE 0.003

struct record {
    pthread_mutex_t lock; /* of the report and all that follows */
    struct run_report report;
    struct record_plan plan;
    struct tally *tally;
    struct tally_sum *now, *before; /* before: at the last point */
    double started, offset;         /* offset: what the run took before it was resumed */
    double point_at, interval;
    double base;    /* samples before this epoch, of all workers */
    double written; /* seconds that writing has taken */
    int epoch;
    bool writes, told;
    struct slot_sampler *slots;
};

static double seconds_of(const struct record *r)
{
    return r->offset + clock_seconds() - r->started;
}

/* ---- opening ---- */

static void on_log_line(void *user, enum log_level level, const char *text)
{
    if (level >= LOG_WARN)
        record_event(user, level == LOG_WARN ? RUN_WARNING : RUN_ERROR, "%s", text);
}

static void add_config(struct run_report *report, const struct config *c)
{
    struct buf text = BUF_INIT;
    for (int i = 0; i < config_count(c); i++) {
        const char *key, *first;
        config_at(c, i, &key, &first);
        buf_reset(&text);
        config_value(c, i, &text);
        run_add_config(report, key, text.data ? text.data : "");
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

struct record *record_open(struct task *task, struct tally *tally, const struct record_plan *plan)
{
    struct record *r = mem_must(sizeof(*r));
    struct run_report *report = &r->report;
    pthread_mutex_init(&r->lock, NULL);
    r->plan = *plan;
    r->tally = tally;
    r->now = mem_must(sizeof(*r->now));
    r->before = mem_must(sizeof(*r->before));
    r->started = clock_seconds();
    r->interval = FIRST_INTERVAL;
    r->writes = !plan->quiet;
    run_report_init(report);
    report->command = plan->command;
    report->name = run_text(report, plan->run);
    report->model = run_text(report, task->model->name);
    report->place = run_text(report, plan->place ? plan->place : plan->folder);
    report->started = time_text(report);
    report->threads = plan->threads;
    report->workers = plan->workers;
    report->worker = plan->worker;
    add_config(report, task->config);
    run_machine_read(report);
    r->slots = slot_sampler_create(&task->schema);
    log_listen(on_log_line, r);
    return r;
}

/* Everything that both have, up to the epoch. */
static void take_over(struct record *r, const struct run_report *old, int first)
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
    for (int i = 0; i < old->nevents; i++)
        run_add_event(report, old->events[i].kind, old->events[i].seconds, old->events[i].text);
    for (int i = 0; i < old->nops; i++)
        run_add_op(report, &old->ops[i]);
    report->started = run_text(report, old->started);
    report->samples = r->base;
    r->offset = old->seconds;
}

void record_resume(struct record *r, int first)
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

void record_event(struct record *r, enum run_event_kind kind, const char *format, ...)
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

void record_begin_epoch(struct record *r, int epoch, struct dataset *data)
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

void record_batch(struct record *r, int thread)
{
    if (r && thread == 0)
        slot_sampler_batch(r->slots);
}

/* What was counted since the last point. */
static void subtract(struct tally_sum *s, const struct tally_sum *before)
{
    s->batches -= before->batches;
    s->samples -= before->samples;
    s->loss -= before->loss;
    s->judged -= before->judged;
    s->log_loss -= before->log_loss;
    s->clicks -= before->clicks;
    s->predicted -= before->predicted;
    s->right -= before->right;
    for (int i = 0; i < TALLY_BUCKETS; i++) {
        s->pos[i] -= before->pos[i];
        s->neg[i] -= before->neg[i];
    }
}

static struct run_numbers numbers_of(const struct tally *t, const struct tally_sum *s)
{
    struct run_numbers n = {.loss = tally_loss(t, s),
                            .auc = tally_auc(t, s),
                            .log_loss = tally_log_loss(t, s),
                            .copc = tally_copc(t, s),
                            .accuracy = tally_accuracy(t, s)};
    if (!(s->clicks > 0 && s->clicks < (double)s->judged))
        n.auc = NAN; /* of one class */
    return n;
}

static void add_point(struct record *r, double now, bool last)
{
    struct run_report *report = &r->report;
    struct tally_sum *window = r->now;
    int had = report->points.n;
    double at = r->base + (double)window->samples;
    struct tally_sum *all = mem_must(sizeof(*all));
    *all = *window;
    subtract(window, r->before);
    *r->before = *all;
    free(all);
    double judged = (double)window->judged;
    bool means = r->tally->is_probability && judged > 0;
    struct run_point p = {.epoch = r->epoch,
                          .at_samples = at,
                          .at_seconds = seconds_of(r),
                          .samples = (double)window->samples,
                          .seconds = now - r->point_at,
                          .n = numbers_of(r->tally, window),
                          .clicks = means ? window->clicks / judged : NAN,
                          .predicted = means ? window->predicted / judged : NAN};
    (last ? run_add_last_point : run_add_point)(report, &p);
    if (had >= RUN_MAX_POINTS) /* they were merged: from now on half as many */
        r->interval *= 2;
    report->samples = at;
    r->point_at = now;
}

static void look(struct record *r, bool last)
{
    if (!r)
        return;
    double now = clock_seconds();
    pthread_mutex_lock(&r->lock);
    if (last || now - r->point_at >= r->interval) {
        tally_read(r->tally, r->now);
        if (r->now->samples > r->before->samples)
            add_point(r, now, last);
    }
    pthread_mutex_unlock(&r->lock);
}

void record_tick(struct record *r)
{
    look(r, false);
}

void record_last_window(struct record *r)
{
    look(r, true);
}

void record_profile(struct record *r, const struct profile *profile)
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

static struct run_numbers row_numbers(const struct report_row *row)
{
    return (struct run_numbers){row->loss, row->auc, row->log_loss, row->copc, row->accuracy};
}

void record_end_epoch(struct record *r, const struct report_row *row, const struct tally_sum *sum,
                      bool complete)
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
                                              .n = row_numbers(row),
                                              .read = row->read,
                                              .compute = row->compute,
                                              .update = row->update});
    if (r->tally->is_probability)
        run_bins_fill(&report->calibration, sum->pos, sum->neg, TALLY_BUCKETS);
    pthread_mutex_unlock(&r->lock);
}

/* Samples of the run at the end of the epoch, or now, if that has not ended: a job validates an
 * epoch that is saved while the next one runs. */
static double samples_at(struct record *r, int epoch)
{
    const struct run_epoch *last = run_last_epoch(&r->report);
    if (last && last->epoch >= epoch)
        return last->at_samples;
    tally_read(r->tally, r->now);
    return r->base + (double)r->now->samples;
}

void record_valid(struct record *r, struct valid *v, int epoch)
{
    struct tally_sum sum;
    struct report_row row = {.epoch = epoch};
    if (!r || !v->data || v->interrupted || !v->n || v->points[v->n - 1].epoch != epoch)
        return; /* interrupted: the last point is an earlier one, the tally of a part of the data */
    tally_read(&v->tally, &sum);
    report_row_fill(&row, &v->tally, &sum);
    pthread_mutex_lock(&r->lock);
    run_add_valid(&r->report, &(struct run_point){.epoch = epoch,
                                                  .at_samples = samples_at(r, epoch),
                                                  .at_seconds = seconds_of(r),
                                                  .samples = (double)row.samples,
                                                  .seconds = row.seconds,
                                                  .n = row_numbers(&row),
                                                  .clicks = NAN,
                                                  .predicted = NAN});
    if (v->tally.is_probability)
        run_bins_fill(&r->report.valid_calibration, sum.pos, sum.neg, TALLY_BUCKETS);
    pthread_mutex_unlock(&r->lock);
}

/* ---- writing ---- */

static void make_texts(struct record *r, struct buf *json, struct buf *html)
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

static enum skiff_status write_text(const char *folder, const char *name, const struct buf *text,
                                    struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/%s", folder, name);
    enum skiff_status status = file_write(path.data, text->data, text->len, err);
    buf_deinit(&path);
    return status;
}

static void write_files(struct record *r, const struct buf *json, const struct buf *html)
{
    struct skiff_error err = {0};
    enum skiff_status status = SKIFF_OK;
    if (!r->writes || !r->plan.folder)
        return;
    status = write_text(r->plan.folder, REPORT_JSON, json, &err);
    if (status == SKIFF_OK)
        status = write_text(r->plan.folder, REPORT_HTML, html, &err);
    if (status < 0 && !r->told)
        log_warn("the run's report could not be written: %s", err.message);
    r->told |= status < 0;
}

static void write_report(struct record *r, bool last, struct buf *json)
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

void record_begin(struct record *r, int first)
{
    struct buf json = BUF_INIT;
    if (first)
        record_event(r, RUN_RESUME, "with epoch %d", first);
    else
        record_event(r, RUN_START, "%s", r->report.model);
    write_report(r, true, &json);
    buf_deinit(&json);
}

void record_saved(struct record *r, int epoch, bool saved, double seconds)
{
    struct buf json = BUF_INIT;
    if (!r)
        return;
    r->writes = saved;
    if (!saved)
        return;
    record_event(r, RUN_SAVED, "epoch %d in %.1f s", epoch, seconds);
    write_report(r, false, &json);
    buf_deinit(&json);
}

enum skiff_status record_close(struct record *r, enum run_status status, const char *why,
                               struct skiff_error *err)
{
    static const enum run_event_kind kinds[] = {RUN_END, RUN_END, RUN_INTERRUPT, RUN_ERROR};
    enum skiff_status written = SKIFF_OK;
    struct buf json = BUF_INIT;
    if (!r)
        return SKIFF_OK;
    log_listen(NULL, NULL);
    record_event(r, kinds[status], "%s", why ? why : run_status_word(status));
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
