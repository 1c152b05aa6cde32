/* Days and passes (work.h): waits for the data of a pass, evaluates the current model on it, and
 * gives it to be trained. All workers of a job go through the same passes; each reads its share of
 * the files. An unfinished pass does not count: a resumed run trains it from its beginning. */
#include "train/work.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "fleet/epochs.h"
#include "fs/fs.h"
#include "train/online_parts.h"

#define LOOK_SECONDS 0.1  /* between two looks at Ctrl-C */
#define ASK_SECONDS 2     /* between two questions to the servers */
#define REMIND_SECONDS 60 /* interval of the messages while it waits */

/* ---- data ---- */

static bool wants_stop(const struct online *o)
{
    return control_wants_stop(o->run->control);
}

static bool is_there(const char *path)
{
    struct fs_stat st;
    return fs_look(NULL, path, &st, NULL) == SKIFF_OK;
}

/* Says what is waited for, when that is due. */
static void print_wait(const struct online *o, const char *path, double now, double *next)
{
    if (now < *next)
        return;
    logger_info(&o->run->task.logger, "day %08d, pass %d: waiting for %s, checking every %g s",
                o->day, o->pass, path, o->plan.sleep);
    *next = now + REMIND_SECONDS;
}

/* Until the done file is there, or somebody wants to stop, or the job breaks. */
static enum skiff_status wait_for(struct online *o, const char *folder, struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    double next_look = 0, next_word = 0, next_ask = clock_seconds() + ASK_SECONDS;
    enum skiff_status status = SKIFF_OK;
    buf_printf(&path, "%s/%s", folder, o->plan.done_file);
    while (status == SKIFF_OK && !wants_stop(o)) {
        double now = clock_seconds();
        if (now >= next_look && is_there(path.data))
            break;
        if (now >= next_look)
            next_look = now + o->plan.sleep;
        print_wait(o, path.data, now, &next_word);
        if (now >= next_ask) {
            status = epochs_look(o->job.fleet, err);
            next_ask = clock_seconds() + ASK_SECONDS;
        }
        clock_sleep((int64_t)(LOOK_SECONDS * 1000) * CLOCK_MS);
    }
    buf_deinit(&path);
    return status;
}

/* Its files but the done file. */
static enum skiff_status add_folder(struct online *o, const char *folder, struct file_list *out,
                                    struct skiff_error *err)
{
    struct file_list found;
    struct fs_stat st;
    file_list_init(&found);
    enum skiff_status status = fs_look(NULL, folder, &st, err);
    if (status == SKIFF_NOT_FOUND)
        return error_set(err, SKIFF_NOT_FOUND,
                         "day %08d, pass %d: no folder %s; set runner.data_donefile to wait for "
                         "data that has not arrived",
                         o->day, o->pass, folder);
    if (status < 0)
        return status;
    status = file_list_expand(&found, folder, err);
    if (status == SKIFF_NOT_FOUND)
        status = SKIFF_OK; /* an hour without clicks has no files */
    for (int i = 0; status == SKIFF_OK && i < found.count; i++) {
        const char *name = strrchr(found.paths[i], '/');
        if (!o->plan.done_file || strcmp(name ? name + 1 : found.paths[i], o->plan.done_file) != 0)
            file_list_add(out, found.paths[i]);
    }
    file_list_deinit(&found);
    return status;
}

static enum skiff_status list_files(struct online *o, struct file_list *out,
                                    struct skiff_error *err)
{
    struct buf folder = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; status == SKIFF_OK && i < online_splits(&o->plan) && !wants_stop(o); i++) {
        online_split_path(&o->plan, o->day, o->pass, i, &folder);
        if (o->plan.done_file)
            status = wait_for(o, folder.data, err);
        if (status == SKIFF_OK && !wants_stop(o))
            status = add_folder(o, folder.data, out, err);
    }
    buf_deinit(&folder);
    return status;
}

/* This worker's share of the files. */
static enum skiff_status open_data(struct online *o, const struct file_list *all,
                                   struct skiff_error *err)
{
    struct train_run *run = o->run;
    struct task_data data = task_data_train;
    const char *const *part;
    int n;
    TRY(skiff_fleet_split_files(o->job.fleet, (const char *const *)all->paths, all->count, &part,
                                &n, err));
    enum skiff_status status = SKIFF_OK;
    if (n) {
        data.files = part;
        data.nfiles = n;
        status = task_dataset_open(&run->task, &data, &run->data, err);
    }
    if (status == SKIFF_OK && run->data && run_in_memory(run))
        status = run_load(run, err);
    free((void *)part);
    return status;
}

static enum skiff_status get_data(struct online *o, struct skiff_error *err)
{
    struct file_list all;
    file_list_init(&all);
    enum skiff_status status = list_files(o, &all, err);
    if (status == SKIFF_OK && !wants_stop(o))
        status = open_data(o, &all, err);
    if (status == SKIFF_OK && !wants_stop(o) && !all.count && o->run->home.first)
        logger_warn(&o->run->task.logger, "day %08d, pass %d: no files", o->day, o->pass);
    file_list_deinit(&all);
    return status;
}

static enum skiff_status shuffle(struct online *o, bool everybody, struct skiff_error *err)
{
    struct train_run *run = o->run;
    uint64_t seed = o->job.seed + (uint64_t)o->day * 10000 + (uint64_t)o->pass;
    if (!run->data || !run_in_memory(run) || !config_bool(run->task.config, KEY_RUNNER_SHUFFLE))
        return SKIFF_OK;
    return job_shuffle(&o->job, run->data, seed, everybody, err);
}

/* ---- evaluation ---- */

static enum skiff_status evaluate(struct online *o, struct eval_metrics_sum *sum,
                                  struct skiff_error *err)
{
    struct trainer_result r = {0};
    TRY(run_evaluate_span(o->run, &r, err));
    return online_reduce(o, "Infer", &r, sum, err);
}

/* Every pass is evaluated before it is trained. */
static enum skiff_status evaluate_pass(struct online *o, struct skiff_error *err)
{
    struct eval_metrics_sum *sum = mem_alloc_or_die(sizeof *sum);
    enum skiff_status status = evaluate(o, sum, err);
    free(sum);
    return status;
}

/* ---- which pass ---- */

static void name_pass(struct online *o)
{
    struct train_run *run = o->run;
    snprintf(run->span_name, sizeof run->span_name, "%08d pass %d", o->day, o->pass);
    run->span = (struct train_span){.number = o->at_day * o->plan.passes + o->pass - 1,
                                    .day = o->day,
                                    .pass = o->pass,
                                    .name = run->span_name};
    run->expected = 0; /* passes have different sizes */
}

/* Days and passes that are not trained yet, in order; a day that is through is saved as such. */
static enum skiff_status find_pass(struct online *o, bool *more, struct skiff_error *err)
{
    for (*more = false; o->at_day < o->plan.ndays; o->at_day++, o->pass = 0) {
        o->day = o->plan.days[o->at_day];
        if (!online_is_due(o, o->day, INT_MAX))
            continue;
        while (o->pass++ < o->plan.passes)
            if (online_is_due(o, o->day, o->pass)) {
                *more = true;
                return SKIFF_OK;
            }
        TRY(online_end_day(o, err));
    }
    return SKIFF_OK;
}

static enum skiff_status open_pass(struct online *o, struct skiff_error *err)
{
    struct train_run *run = o->run;
    TRY(online_first_base(o, err));
    name_pass(o);
    TRY(get_data(o, err));
    int64_t all[] = {wants_stop(o), run->data != NULL};
    TRY(online_barrier(o, all, 2, err));
    run->stopped = all[0] > 0;
    if (run->stopped)
        return SKIFF_OK;
    TRY(shuffle(o, all[1] == run->home.size, err));
    return evaluate_pass(o, err);
}

static enum skiff_status days_next(struct train_run *run, bool *more, struct skiff_error *err)
{
    struct online *o = online_of(run);
    *more = false;
    if (run->stopped)
        return SKIFF_OK;
    if (run->early) /* the model of a day that is through is saved at its end */
        return o->pass == o->plan.passes ? online_end_day(o, err) : SKIFF_OK;
    TRY(find_pass(o, more, err));
    if (*more)
        TRY(open_pass(o, err));
    *more &= !run->stopped;
    return SKIFF_OK;
}

static void days_close_span(struct train_run *run)
{
    dataset_destroy(run->data);
    run->data = NULL;
}

const struct work_slots work_days = {.next = days_next, .close_span = days_close_span};
