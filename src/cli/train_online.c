/* skiff train by days and passes (train_online.h). A run always resumes from the newest model that
 * donefile.txt lists, so that it can be stopped at any point and restarted with the same command.
 * A pass is evaluated before it is trained (online_pass.c), then saved by the plan
 * (online_save.c); in a job every worker trains its share of the files of a pass, and a barrier
 * ends the pass. */
#include "cli/train_online.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "save/epochs.h"
#include "train/checkpoint.h"
#include "cli/command.h"
#include "cli/console.h"
#include "train/job_tables.h"
#include "cli/interrupt.h"
#include "cli/online_parts.h"
#include "train/ranks.h"
#include "fleet/epochs.h"

bool train_online_wanted(const struct task_args *args)
{
    struct config *c;
    if (config_open(args->config, &c, NULL) < 0)
        return false;
    bool wanted = true;
    for (int i = 0; wanted && i < args->overrides.n; i++)
        wanted = config_override(c, args->overrides.at[i], NULL) == SKIFF_OK;
    wanted = wanted && online_wanted(c);
    config_close(c);
    return wanted;
}

/* Keys of other ways to train, which would have no effect. */
static void refuse_others(struct online *o)
{
    static const enum config_key keys[] = {KEY_RUNNER_VALID_DATA_DIR, KEY_RUNNER_NEED_DUMP,
                                           KEY_RUNNER_KEEP_EPOCHS, KEY_NONE};
    struct config *c = o->task.config;
    for (int i = 0; keys[i]; i++)
        if (config_has(c, keys[i]) &&
            (keys[i] != KEY_RUNNER_NEED_DUMP || config_bool(c, KEY_RUNNER_NEED_DUMP)))
            config_refuse(c, keys[i],
                          "is not supported in online training, where every pass is evaluated "
                          "before it is trained; remove it");
}

static enum skiff_status open_run(struct online *o, struct skiff_error *err)
{
    struct ranks ranks = {.size = 1};
    if (!job_wanted())
        TRY(ranks_open(&ranks, &o->task, o->args, false, err));
    int size = ranks.size;
    ranks_close(&ranks);
    if (size > 1)
        return error_set(err, SKIFF_UNSUPPORTED,
                         "online training runs with servers (skiff launch --server_num 1 "
                         "--worker_num %d) or in one process, not in ranks",
                         size);
    TRY(online_plan_read(&o->plan, o->task.config, err));
    refuse_others(o);
    o->job.stop_on_death = true;
    TRY(job_open(&o->job, &o->task, o->args, err));
    o->save_path = task_save_path(&o->task);
    online_options(o);
    return config_check(o->task.config, err);
}

/* What this process has on its disk, for all to compare. */
static void print_has(struct online *o, struct ps_begin *out)
{
    char host[256] = "?", folder[PATH_MAX];
    const struct done_line *line = o->from >= 0 ? &o->models.at[o->from] : NULL;
    gethostname(host, sizeof(host) - 1);
    *out = (struct ps_begin){.resume = true, .epoch = o->from, .complete = line != NULL};
    if (line)
        out->sum = (uint64_t)line->day * 100000 + (uint64_t)line->pass + 1;
    snprintf(out->where, sizeof(out->where), "%.100s:%.380s", host,
             realpath(o->save_path, folder) ? folder : o->save_path);
}

static enum skiff_status serve(struct online *o, struct skiff_error *err)
{
    struct ps_begin has;
    struct config *c = o->task.config;
    const char *start = o->start_path.len ? o->start_path.data : NULL;
    if (!start)
        start = config_path(c, KEY_RUNNER_MODEL_INIT_PATH);
    if (!start)
        start = config_path(c, KEY_RUNNER_WARMUP_MODEL_PATH);
    if (skiff_fleet_tables(o->job.fleet)) /* the first worker has it loaded */
        start = NULL;
    print_has(o, &has);
    has.index = (uint32_t)skiff_fleet_server_index(o->job.fleet);
    return job_serve(&o->job, &o->task, &has, start, err);
}

/* ---- a worker ---- */

static enum skiff_status claim_folder(struct online *o, struct skiff_error *err)
{
    if (!skiff_fleet_is_first_worker(o->job.fleet))
        return SKIFF_OK;
    TRY(save_epochs_prepare(o->save_path, err));
    save_new_run(&o->note);
    TRY(run_lock_take(&o->lock, o->save_path, o->note.run, err));
    TRY(done_list_repair(&o->models, o->save_path, DONE_MODEL, err));
    TRY(done_list_repair(&o->bases, o->save_path, DONE_BASE, err));
    return done_list_repair(&o->patches, o->save_path, DONE_PATCH, err);
}

static enum skiff_status join(struct online *o, struct skiff_error *err)
{
    struct ps_begin has;
    struct ps_begun job;
    TRY(skiff_fleet_init_worker(o->job.fleet, o->task.scope, err));
    control_ready(&console_control); /* a signal before ends a worker that waits for servers */
    TRY(job_startup(&o->job, &o->task, err));
    if (!skiff_fleet_server_num(o->job.fleet)) /* no other process to agree with */
        return online_load(o, err);
    print_has(o, &has);
    has.index = (uint32_t)skiff_fleet_worker_index(o->job.fleet);
    TRY(epochs_begin(o->job.fleet, &has, &job, err));
    if (job.late)
        return error_set(err, SKIFF_STATE,
                         "the job is running, and a worker cannot join online training; restart "
                         "all processes to resume from the newest model");
    return online_load(o, err);
}

static enum skiff_status know_keys(struct online *o, struct skiff_error *err)
{
    struct dataset_config dc;
    TRY(task_dataset_config(&o->task, &task_data_train, &dc, err));
    reader_config_deinit(&dc.reader);
    return task_check(&o->task, err);
}

static void print_start(struct online *o)
{
    const struct online_plan *p = &o->plan;
    if (!skiff_fleet_is_first_worker(o->job.fleet))
        return;
    log_info("%s: online, days %08d to %08d, %d passes a day, data in %s, models to %s",
             o->task.model->name, p->days[0], p->days[p->ndays - 1], p->passes, p->data_dir,
             o->save_path);
    if (online_minutes_left(p))
        log_warn("the last %d minutes of every day are in no pass: a day is not a multiple of "
                 "runner.split_interval x runner.split_per_pass minutes",
                 online_minutes_left(p));
    if (o->from >= 0 && o->models.at[o->from].pass == DONE_DAY_BEGINS)
        log_info("all days before %08d are trained", o->models.at[o->from].day);
    else if (o->from >= 0)
        log_info("day %08d is trained up to pass %d", o->models.at[o->from].day,
                 o->models.at[o->from].pass);
}

/* Is it behind the model that the run has begun with? */
static bool is_due(const struct online *o, int day, int pass)
{
    const struct done_line *line = o->from >= 0 ? &o->models.at[o->from] : NULL;
    return !line || day > line->day || (day == line->day && pass > line->pass);
}

static enum skiff_status train_day(struct online *o, struct skiff_error *err)
{
    for (o->pass = 1; o->pass <= o->plan.passes; o->pass++) {
        if (!is_due(o, o->day, o->pass))
            continue;
        TRY(online_first_base(o, err));
        TRY(online_pass(o, err));
        if (o->stopped)
            return SKIFF_OK;
        o->passes_done++;
        TRY(online_save_pass(o, err));
    }
    return online_end_day(o, err);
}

static enum skiff_status work(struct online *o, struct skiff_error *err)
{
    TRY(know_keys(o, err));
    TRY(claim_folder(o, err));
    TRY(join(o, err));
    print_start(o);
    for (int i = 0; i < o->plan.ndays && !o->stopped; i++) {
        o->day = o->plan.days[i];
        if (is_due(o, o->day, INT_MAX))
            TRY(train_day(o, err));
    }
    o->total.epoch = -1;
    report_send(&o->total);
    if (!o->stopped && skiff_fleet_is_first_worker(o->job.fleet))
        log_info(o->passes_done ? "%d passes are trained, up to the end of %08d"
                                : "%d passes to train: everything up to %08d is trained",
                 o->passes_done, o->plan.days[o->plan.ndays - 1]);
    return skiff_fleet_stop_worker(o->job.fleet, err);
}

/* ---- the command ---- */

static void online_close(struct online *o)
{
    job_close(&o->job);
    dataset_destroy(o->data);
    if (o->accumulator.thread_states)
        eval_metrics_deinit(&o->accumulator);
    done_list_deinit(&o->models);
    done_list_deinit(&o->bases);
    done_list_deinit(&o->patches);
    online_plan_deinit(&o->plan);
    buf_deinit(&o->start_path);
    folder_lock_close(&o->lock);
    task_close(&o->task);
}

static enum skiff_status run_part(struct online *o, struct skiff_error *err)
{
    TRY(open_run(o, err));
    if (o->args->overwrite && !skiff_fleet_server_num(o->job.fleet))
        log_info("removed %d models of earlier runs from %s", done_remove(o->save_path),
                 o->save_path);
    else if (o->args->overwrite)
        return error_set(err, SKIFF_UNSUPPORTED,
                         "--overwrite: servers and workers of an online job resume from the newest "
                         "model in %s; move that folder away to start anew",
                         o->save_path);
    TRY(online_find(o, err));
    return skiff_fleet_is_server(o->job.fleet) ? serve(o, err) : work(o, err);
}

int train_online(const struct task_args *args)
{
    struct skiff_error err = {0};
    struct online o = {.args = args, .job.control = &console_control, .from = -1};
    o.total = (struct report){.loss = NAN, .auc = NAN, .job_auc = NAN};
    if (task_open(&o.task, args, true, &err) < 0)
        return command_fail("train", &err);
    enum skiff_status status = run_part(&o, &err);
    if (status < 0 && o.job.fleet) {
        char reason[sizeof err.message + 16];
        snprintf(reason, sizeof reason, "has failed: %s", err.message);
        skiff_fleet_abandon_worker(o.job.fleet, reason);
    }
    int code = status < 0 ? command_fail("train", &err) : 0;
    if (!code && o.stopped) {
        fflush(stdout);
        fprintf(stderr,
                "skiff train: stopped in pass %d of %08d; when restarted, it resumes from the "
                "newest model in donefile.txt\n",
                o.pass, o.day);
        code = 1;
    }
    online_close(&o);
    return code;
}
