/* The public face of a run (skiff/trainer.h).
 *
 * Settings become those of the command, observers become observers of the run; there is no logic of
 * training here. The trainer owns copies of all texts, and its log lines are given to on_log one at
 * a time, under a lock. */
#include <skiff/trainer.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <skiff/fleet.h>
#include <skiff/metrics.h>

#include "api/api_dataset.h"
#include "base/log.h"
#include "base/mem.h"
#include "program/job.h"
#include "train/run.h"

#define MOST_OBSERVERS 8

struct watcher { /* an observer of the caller's */
    struct skiff_trainer_observer o;
    struct skiff_trainer *t;
};

struct skiff_trainer {
    struct task_args args;
    char **texts; /* owned: all that args point to */
    int ntexts;
    struct train_control control;
    struct train_run run;
    struct watcher watchers[MOST_OBSERVERS];
    int nwatchers;
    atomic_bool stop;
    _Atomic(struct skiff_fleet *) serving;
    bool has_run, quiet;
    void (*on_log)(void *user, const char *line);
    void *user;
    pthread_mutex_t log_lock; /* of on_log */
};

/* ---- what the run asks ---- */

static bool wants_stop(void *user)
{
    return ((struct skiff_trainer *)user)->stop;
}

static void serving(void *user, struct skiff_fleet *server)
{
    struct skiff_trainer *t = user;
    t->serving = server;
    if (t->stop)
        skiff_fleet_stop_server(server);
}

static void print(void *user, const char *line)
{
    struct skiff_trainer *t = user;
    for (int i = 0; i < t->nwatchers; i++)
        if (t->watchers[i].o.line)
            t->watchers[i].o.line(t->watchers[i].o.user, line);
}

/* Warnings are events of the report, too. */
static void log_text(void *user, enum log_level level, const char *text)
{
    struct skiff_trainer *t = user;
    if (level >= LOG_WARN)
        recorder_event(t->run.record.recorder, level == LOG_WARN ? RUN_WARNING : RUN_ERROR, "%s",
                       text);
    if (!t->on_log || level < (t->quiet ? LOG_WARN : LOG_INFO))
        return;
    pthread_mutex_lock(&t->log_lock);
    t->on_log(t->user, text);
    pthread_mutex_unlock(&t->log_lock);
}

static void log_unknown(void *user, const char *text)
{
    log_text(user, LOG_WARN, text);
}

/* ---- create, destroy ---- */

static char *keep_text(struct skiff_trainer *t, const char *text)
{
    return text ? t->texts[t->ntexts++] = mem_strdup_or_die(text) : NULL;
}

static void set_args(struct skiff_trainer *t, const struct skiff_trainer_config *c)
{
    t->texts = mem_alloc_or_die((size_t)(c->noptions + 3) * sizeof *t->texts);
    const char **options = mem_alloc_or_die((size_t)(c->noptions + 1) * sizeof *options);
    for (int i = 0; i < c->noptions; i++)
        options[i] = keep_text(t, c->options[i]);
    t->args = (struct task_args){.config = keep_text(t, c->config),
                                 .overrides = {.at = options, .n = c->noptions},
                                 .resume = c->resume,
                                 .overwrite = c->overwrite,
                                 .name = keep_text(t, c->name),
                                 .json = keep_text(t, c->json),
                                 .net = c->net,
                                 .net_vars = c->vars,
                                 .logger = {.write = log_text, .user = t},
                                 .on_unknown = log_unknown,
                                 .on_unknown_user = t};
    pthread_mutex_init(&t->log_lock, NULL);
    t->quiet = c->quiet;
    t->on_log = c->on_log;
    t->user = c->user;
}

static enum skiff_status check(const struct skiff_trainer_config *c, struct skiff_error *err)
{
    TRY(reserved_check(c->reserved, "skiff_trainer_config", err));
    if (!c->config && !c->net)
        return error_set(err, SKIFF_INVALID, "a trainer needs a config, or a net and its vars");
    if (c->net && !c->vars)
        return error_set(err, SKIFF_INVALID,
                         "a trainer of a net needs vars: its inputs, loss and prediction");
    if (!c->net && c->dataset)
        return error_set(err, SKIFF_INVALID, "a dataset belongs to a net: the trainer has none");
    if (c->resume && c->overwrite)
        return error_set(err, SKIFF_INVALID,
                         "resume and overwrite exclude each other: the one continues the run that "
                         "the other removes");
    return SKIFF_OK;
}

struct skiff_trainer *skiff_trainer_create(const struct skiff_trainer_config *c,
                                           struct skiff_error *err)
{
    if (check(c, err) < 0)
        return NULL;
    struct skiff_trainer *t = mem_alloc_or_die(sizeof *t);
    set_args(t, c);
    t->control = (struct train_control){
        .wants_stop = wants_stop, .print = print, .serving = serving, .user = t};
    struct skiff_error why; /* of attempts that do not matter, too */
    enum skiff_status status = train_run_open(&t->run, &t->args, &t->control, &why);
    if (status == SKIFF_OK && c->dataset)
        status = api_dataset(c->dataset, &t->run.given, &why);
    if (status == SKIFF_OK)
        return t;
    if (err)
        *err = why;
    skiff_trainer_destroy(t);
    return NULL;
}

void skiff_trainer_destroy(struct skiff_trainer *t)
{
    if (!t)
        return;
    train_run_close(&t->run);
    for (int i = 0; i < t->ntexts; i++)
        free(t->texts[i]);
    free(t->texts);
    free(t->args.overrides.at);
    pthread_mutex_destroy(&t->log_lock);
    free(t);
}

/* ---- observers ---- */

static enum skiff_status watch_begin(void *self, const struct train_span *span,
                                     struct skiff_error *err)
{
    struct watcher *w = self;
    (void)err;
    if (w->o.begin && !span->evaluates)
        w->o.begin(w->o.user, span->number);
    return SKIFF_OK;
}

static void watch_batch(void *self, int thread, int64_t rows, const struct skiff_tensor *watched)
{
    struct watcher *w = self;
    (void)watched;
    if (w->o.batch)
        w->o.batch(w->o.user, thread, rows);
}

static void watch_tick(void *self)
{
    struct watcher *w = self;
    if (w->o.tick)
        w->o.tick(w->o.user);
}

static enum skiff_status watch_end(void *self, const struct train_counts *c, bool *stop,
                                   struct skiff_error *err)
{
    struct watcher *w = self;
    (void)err;
    if (w->o.end)
        w->o.end(w->o.user,
                 &(struct skiff_trainer_epoch){.epoch = c->row->epoch,
                                               .complete = c->complete,
                                               .samples = c->row->samples,
                                               .seconds = c->row->seconds,
                                               .loss = c->row->loss,
                                               .auc = c->row->auc,
                                               .log_loss = c->row->log_loss,
                                               .copc = c->row->copc},
                 stop);
    return SKIFF_OK;
}

static enum skiff_status watch_saved(void *self, const struct train_saved *s,
                                     struct skiff_error *err)
{
    struct watcher *w = self;
    (void)err;
    if (w->o.saved && s->saved)
        w->o.saved(w->o.user, s->note->epoch, s->folder);
    return SKIFF_OK;
}

enum skiff_status skiff_trainer_add_observer(struct skiff_trainer *t,
                                             const struct skiff_trainer_observer *observer,
                                             struct skiff_error *err)
{
    TRY(reserved_check(observer->reserved, "skiff_trainer_observer", err));
    if (t->has_run)
        return error_set(err, SKIFF_STATE, "the trainer has run: add observers before");
    if (t->nwatchers == MOST_OBSERVERS)
        return error_set(err, SKIFF_RANGE, "a trainer has at most %d observers", MOST_OBSERVERS);
    struct watcher *w = &t->watchers[t->nwatchers++];
    *w = (struct watcher){.o = *observer, .t = t};
    return observers_add(&t->run.observers,
                         &(struct train_observer){.self = w,
                                                  .span_begin = watch_begin,
                                                  .batch = watch_batch,
                                                  .tick = watch_tick,
                                                  .span_end = watch_end,
                                                  .saved = watch_saved},
                         err);
}

/* ---- run ---- */

enum skiff_status skiff_trainer_run(struct skiff_trainer *t, struct skiff_error *err)
{
    struct skiff_error why = {0};
    if (t->has_run)
        return error_set(err, SKIFF_STATE, "the trainer has run; create another one");
    t->has_run = true;
    enum skiff_status status = train_run_run(&t->run, &why);
    t->serving = NULL;
    train_run_end(&t->run, status, &why);
    if (status == SKIFF_OK && t->run.lost)
        status = error_set(&why, SKIFF_IO, "no process saved the last epoch of the job");
    if (status < 0 && err)
        *err = why;
    return status;
}

void skiff_trainer_stop(struct skiff_trainer *t)
{
    atomic_store(&t->stop, true);
    struct skiff_fleet *server = atomic_load(&t->serving);
    if (server)
        skiff_fleet_stop_server(server);
}

void skiff_trainer_result(const struct skiff_trainer *t, struct skiff_trainer_result *out)
{
    const struct train_run *run = &t->run;
    const struct epoch_row *last = run->nrows ? &run->rows[run->nrows - 1] : NULL;
    bool evaluated = last && last->evaluated;
    *out = (struct skiff_trainer_result){.epochs = run->nrows,
                                         .loss = last ? last->loss : NAN,
                                         .auc = last ? last->auc : NAN,
                                         .log_loss = last ? last->log_loss : NAN,
                                         .copc = last ? last->copc : NAN,
                                         .valid_auc = evaluated ? last->valid_auc : NAN,
                                         .valid_log_loss = evaluated ? last->valid_log_loss : NAN,
                                         .best_epoch = validation_best(&run->validation),
                                         .stopped = run->stopped};
    for (int i = 0; i < run->nrows; i++) {
        out->samples += run->rows[i].samples;
        out->seconds += run->rows[i].seconds;
    }
}

struct skiff_scope *skiff_trainer_scope(struct skiff_trainer *t)
{
    return t->run.task.scope;
}

/* ---- what was counted ---- */

char *skiff_metrics_text(const struct skiff_metrics_sources *sources)
{
    static const struct skiff_metrics_sources none;
    const struct skiff_metrics_sources *from = sources ? sources : &none;
    struct metrics_snapshot now = {0};
    struct executor_options executor;
    struct buf text = BUF_INIT;
    if (from->executor) {
        executor_settings(from->executor, &executor);
        snapshot_add(&now, executor.metrics);
    }
    if (from->program)
        job_snapshot(from->program, &now);
    if (from->dataset)
        snapshot_add(&now, api_dataset_metrics(from->dataset));
    if (from->trainer)
        train_run_snapshot(&from->trainer->run, &now);
    snapshot_add_memory(&now, NULL);
    snapshot_prometheus(&now, &text);
    snapshot_deinit(&now);
    return text.data;
}
