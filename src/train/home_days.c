/* Online training on servers, or in one process that is a job of its own (home.h): models are those
 * that donefile.txt lists. A run always resumes from the newest one, so that it can be stopped at
 * any point and restarted with the same command. In a job every worker trains its share of the
 * files of a pass, and a barrier ends the pass; a worker that dies ends the job. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/plural.h"
#include "fleet/epochs.h"
#include "save/epochs.h"
#include "save/runs.h"
#include "train/online_parts.h"
#include "train/ranks.h"

/* ---- open ---- */

static enum skiff_status refuse_ranks(struct train_run *run, struct skiff_error *err)
{
    struct ranks ranks = {.size = 1};
    if (!job_wanted())
        TRY(ranks_open(&ranks, &run->task, run->args, false, err));
    int size = ranks.size;
    ranks_close(&ranks);
    if (size > 1)
        return error_set(err, SKIFF_UNSUPPORTED,
                         "online training runs with servers (skiff launch --server_num 1 "
                         "--worker_num %d) or in one process, not in ranks",
                         size);
    return SKIFF_OK;
}

/* Keys of other ways to train, which would have no effect. */
static void refuse_others(struct config *c)
{
    if (config_has(c, KEY_RUNNER_KEEP_EPOCHS))
        config_refuse(
            c, KEY_RUNNER_KEEP_EPOCHS,
            "is not supported in online training, whose models donefile.txt lists; remove "
            "it");
    if (config_int(c, KEY_RUNNER_VALID_INTERVAL))
        config_refuse(c, KEY_RUNNER_VALID_INTERVAL,
                      "is not supported in online training, where models are validated when they "
                      "are saved; remove it");
}

static enum skiff_status overwrite(struct train_run *run, struct skiff_error *err)
{
    if (!run->args->overwrite)
        return SKIFF_OK;
    if (skiff_fleet_server_num(online_of(run)->job.fleet))
        return error_set(err, SKIFF_UNSUPPORTED,
                         "--overwrite: servers and workers of an online job resume from the newest "
                         "model in %s; move that folder away to start anew",
                         run->save_path);
    int removed = done_remove(run->save_path);
    logger_info(&run->task.logger, "removed %d model%s of earlier runs from %s", removed,
                plural(removed), run->save_path);
    return SKIFF_OK;
}

static void fill_home(struct train_run *run)
{
    struct skiff_fleet *f = online_of(run)->job.fleet;
    struct home *home = &run->home;
    home->serves = skiff_fleet_is_server(f);
    home->index = home->serves ? skiff_fleet_server_index(f) : skiff_fleet_worker_index(f);
    home->size = skiff_fleet_worker_num(f);
    home->servers = skiff_fleet_server_num(f);
    home->first = skiff_fleet_is_first_worker(f);
    home->remote = home->shows = home->records = true;
    home->tables = skiff_fleet_tables(f) > 0;
    home->seed = online_of(run)->job.seed;
    home->tick_period = 0.25;
    home->program = skiff_fleet_main_program(f);
}

static enum skiff_status days_open(struct train_run *run, struct skiff_error *err)
{
    struct online *o = mem_alloc_or_die(sizeof *o);
    struct config *c = run->task.config;
    run->home.self = o;
    run->work = &work_days;
    o->run = run;
    o->from = -1;
    o->job.control = run->control;
    o->job.stop_on_death = true;
    TRY(refuse_ranks(run, err));
    TRY(online_plan_read(&o->plan, c, err));
    refuse_others(c);
    TRY(job_open(&o->job, &run->task, run->args, err));
    fill_home(run);
    TRY(config_check(c, err));
    TRY(overwrite(run, err));
    TRY(online_find(o, err));
    run->home.resumes = o->from >= 0;
    return SKIFF_OK;
}

/* What this process has on its disk, for all to compare. */
static void fill_has(const struct online *o, struct ps_begin *out)
{
    char host[256] = "?", folder[PATH_MAX];
    const char *path = o->run->save_path;
    const struct done_line *line = o->from >= 0 ? &o->models.at[o->from] : NULL;
    gethostname(host, sizeof(host) - 1);
    *out = (struct ps_begin){.resume = true,
                             .epoch = o->from,
                             .complete = line != NULL,
                             .index = (uint32_t)o->run->home.index};
    if (line)
        out->sum = (uint64_t)line->day * 100000 + (uint64_t)line->pass + 1;
    snprintf(out->where, sizeof(out->where), "%.100s:%.380s", host,
             realpath(path, folder) ? folder : path);
}

static enum skiff_status days_serve(struct train_run *run, struct skiff_error *err)
{
    struct online *o = online_of(run);
    struct ps_begin has;
    const char *start = o->start_path.len ? o->start_path.data : task_start_path(&run->task);
    if (run->home.tables) /* the first worker has it loaded */
        start = NULL;
    fill_has(o, &has);
    return job_serve(&o->job, &run->task, &has, start, err);
}

/* ---- a worker ---- */

/* A pass brings its data; the keys of the data are known before. */
static enum skiff_status days_open_data(struct train_run *run, struct skiff_error *err)
{
    struct dataset_config dc;
    TRY(task_dataset_config(&run->task, &task_data_train, &dc, err));
    reader_config_deinit(&dc.reader);
    return SKIFF_OK;
}

static enum skiff_status claim_folder(struct online *o, struct skiff_error *err)
{
    struct train_run *run = o->run;
    save_new_run(&o->note);
    snprintf(run->id, sizeof run->id, "%.39s", o->note.run);
    if (!run->home.first)
        return SKIFF_OK;
    TRY(save_epochs_prepare(run->save_path, err));
    TRY(run_lock_take(&run->lock, run->save_path, o->note.run, err));
    TRY(done_list_repair(&o->models, run->save_path, DONE_MODEL, err));
    TRY(done_list_repair(&o->bases, run->save_path, DONE_BASE, err));
    return done_list_repair(&o->patches, run->save_path, DONE_PATCH, err);
}

/* All begin with the same model. */
static enum skiff_status agree(struct online *o, struct skiff_error *err)
{
    struct ps_begin has;
    struct ps_begun job;
    if (!skiff_fleet_server_num(o->job.fleet)) /* no other process to agree with */
        return SKIFF_OK;
    fill_has(o, &has);
    TRY(epochs_begin(o->job.fleet, &has, &job, err));
    if (job.late)
        return error_set(err, SKIFF_STATE,
                         "the job is running, and a worker cannot join online training; restart "
                         "all processes to resume from the newest model");
    return SKIFF_OK;
}

static void log_start(const struct online *o)
{
    const struct online_plan *p = &o->plan;
    if (!o->run->home.first)
        return;
    logger_info(&o->run->task.logger,
                "%s: online, days %08d to %08d, %d passes a day, data in %s, models to %s",
                o->run->task.model->name, p->days[0], p->days[p->ndays - 1], p->passes, p->data_dir,
                o->run->save_path);
    if (online_minutes_left(p))
        logger_warn(&o->run->task.logger,
                    "the last %d minutes of every day are in no pass: a day is not a multiple of "
                    "runner.split_interval x runner.split_per_pass minutes",
                    online_minutes_left(p));
    if (o->from >= 0 && o->models.at[o->from].pass == DONE_DAY_BEGINS)
        logger_info(&o->run->task.logger, "all days before %08d are trained",
                    o->models.at[o->from].day);
    else if (o->from >= 0)
        logger_info(&o->run->task.logger, "day %08d is trained up to pass %d",
                    o->models.at[o->from].day, o->models.at[o->from].pass);
}

bool online_is_due(const struct online *o, int day, int pass)
{
    const struct done_line *line = o->from >= 0 ? &o->models.at[o->from] : NULL;
    return !line || day > line->day || (day == line->day && pass > line->pass);
}

/* Passes are numbered over all days; those before this run are behind it. */
static void number_passes(struct online *o)
{
    struct train_run *run = o->run;
    run->epochs = o->plan.ndays * o->plan.passes;
    run->first = 0;
    for (int i = 0; i < o->plan.ndays; i++)
        for (int pass = 1; pass <= o->plan.passes; pass++)
            run->first += !online_is_due(o, o->plan.days[i], pass);
}

static enum skiff_status days_join(struct train_run *run, struct skiff_error *err)
{
    struct online *o = online_of(run);
    TRY(claim_folder(o, err));
    TRY(skiff_fleet_init_worker(o->job.fleet, run->task.scope, err));
    control_ready(run->control); /* a signal before ends a worker that waits for servers */
    TRY(job_startup(&o->job, &run->task, err));
    TRY(agree(o, err));
    TRY(online_load(o, err));
    number_passes(o);
    log_start(o);
    return SKIFF_OK;
}

static void days_tick(struct train_run *run)
{
    job_tables_look(online_of(run)->job.fleet, &run->tables);
}

/* ---- a pass ---- */

enum skiff_status online_barrier(struct online *o, int64_t *v, size_t n, struct skiff_error *err)
{
    return skiff_fleet_all_reduce_int64(o->job.fleet, "sum", v, n, err);
}

/* Counts of all workers, in place. */
static enum skiff_status add_up(struct online *o, struct eval_metrics_sum *s,
                                struct skiff_error *err)
{
    int64_t *whole = mem_alloc_or_die(EVAL_METRICS_WHOLE * sizeof(*whole));
    double part[EVAL_METRICS_PART];
    eval_metrics_sum_pack(s, whole, part);
    enum skiff_status status = online_barrier(o, whole, EVAL_METRICS_WHOLE, err);
    if (status == SKIFF_OK)
        status = skiff_fleet_all_reduce_double(o->job.fleet, "sum", part, EVAL_METRICS_PART, err);
    eval_metrics_sum_unpack(s, whole, part);
    free(whole);
    return status;
}

enum skiff_status online_reduce(struct online *o, const char *what, const struct trainer_result *r,
                                struct eval_metrics_sum *sum, struct skiff_error *err)
{
    struct train_run *run = o->run;
    int64_t stop[] = {r->stopped, run->wants_end};
    if (run->data)
        eval_metrics_read(&run->metrics, sum);
    TRY(online_barrier(o, stop, 2, err));
    TRY(add_up(o, sum, err));
    run->stopped = stop[0] > 0;
    run->early = stop[1] > 0;
    if (run->stopped)
        return SKIFF_OK;
    online_metric(&run->metrics, sum, o->metric);
    if (run->home.first)
        control_print(run->control, "Day:%08d, Pass: %d, %s Global Metric: %s", o->day, o->pass,
                      what, o->metric);
    return SKIFF_OK;
}

/* An unfinished pass does not count. */
static enum skiff_status days_reduce(struct train_run *run, struct home_counts *counts,
                                     struct epoch_row *row, struct skiff_error *err)
{
    TRY(online_reduce(online_of(run), "Train", &counts->result, &counts->sum, err));
    counts->empty = run->stopped;
    counts->complete = true;
    epoch_row_fill(row, &run->metrics, &counts->sum);
    return SKIFF_OK;
}

static enum skiff_status days_keep(struct train_run *run, const struct home_counts *counts,
                                   struct skiff_error *err)
{
    struct online *o = online_of(run);
    o->note.steps = counts->sum.batches;
    o->note.samples = counts->sum.samples;
    o->passes_done++;
    return online_save_pass(o, err);
}

/* ---- the end ---- */

static void log_end(const struct online *o)
{
    struct logger *log = &o->run->task.logger;
    int last = o->plan.days[o->plan.ndays - 1];
    if (!o->passes_done)
        logger_info(log, "0 passes to train: everything up to %08d is trained", last);
    else if (o->run->early && o->pass < o->plan.passes)
        logger_info(log, "%d passes are trained, up to pass %d of %08d", o->passes_done, o->pass,
                    o->day);
    else
        logger_info(log, "%d passes are trained, up to the end of %08d", o->passes_done,
                    o->run->early ? o->day : last);
}

static enum skiff_status days_finish(struct train_run *run, struct skiff_error *err)
{
    const struct online *o = online_of(run);
    if (!run->stopped && run->home.first)
        log_end(o);
    return skiff_fleet_stop_worker(o->job.fleet, err);
}

static void days_abort(struct train_run *run, const char *reason)
{
    struct online *o = online_of(run);
    if (o && o->job.fleet)
        skiff_fleet_abandon_worker(o->job.fleet, reason);
}

static void days_print_stopped(const struct train_run *run, struct buf *out)
{
    const struct online *o = online_of(run);
    buf_printf(out,
               "stopped in pass %d of %08d; when restarted, it resumes from the newest model in "
               "donefile.txt",
               o->pass, o->day);
}

static void days_close(struct train_run *run)
{
    struct online *o = online_of(run);
    if (!o)
        return;
    job_close(&o->job);
    done_list_deinit(&o->models);
    done_list_deinit(&o->bases);
    done_list_deinit(&o->patches);
    online_plan_deinit(&o->plan);
    buf_deinit(&o->start_path);
    buf_deinit(&o->saved);
    free(o);
    run->home.self = NULL;
}

const struct home_slots home_days = {.open = days_open,
                                     .serve = days_serve,
                                     .open_data = days_open_data,
                                     .join = days_join,
                                     .tick = days_tick,
                                     .reduce = days_reduce,
                                     .keep = days_keep,
                                     .finish = days_finish,
                                     .abort = days_abort,
                                     .print_stopped = days_print_stopped,
                                     .close = days_close};
