/* A pass of online training: waits for its data, evaluates the current model on it, then trains on
 * it. An unfinished pass does not count: a resumed run trains it from its beginning. All workers
 * of a job go through the same passes; each reads its share of the files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "train/job_tables.h"
#include "cli/interrupt.h"
#include "cli/online_parts.h"
#include "fleet/epochs.h"
#include "fs/fs.h"

#define LOOK_SECONDS 0.1  /* between two looks at Ctrl-C */
#define ASK_SECONDS 2     /* between two questions to the servers */
#define REMIND_SECONDS 60 /* interval of the messages while it waits */

/* ---- what is reported while a pass runs ---- */

static void on_batch(void *user, int thread, int64_t rows, const struct skiff_tensor *watched)
{
    struct online *o = user;
    eval_metrics_batch(&o->accumulator, thread, rows, watched);
}

static bool wants_stop(void *user)
{
    (void)user;
    return interrupt_wanted();
}

static void print_launcher(struct online *o)
{
    struct eval_metrics_sum *sum = mem_alloc_or_die(sizeof(*sum));
    eval_metrics_read(&o->accumulator, sum);
    struct report r = {.epoch = o->pass,
                       .share = dataset_progress(o->data),
                       .samples = sum->samples,
                       .seconds = clock_seconds() - o->progress.started,
                       .loss = eval_metrics_loss(&o->accumulator, sum),
                       .auc = eval_metrics_auc(&o->accumulator, sum)};
    strcpy(r.tables, o->progress.tables.text);
    report_send(&r);
    free(sum);
}

static void on_tick(void *user)
{
    struct online *o = user;
    job_tables_look(o->job.fleet, &o->progress.tables);
    progress_tick(&o->progress);
    if (report_wanted())
        print_launcher(o);
}

void online_options(struct online *o)
{
    struct config *c = o->task.config;
    int threads = task_threads(&o->task);
    eval_metrics_init(&o->accumulator, &o->task.vars, threads);
    progress_init(&o->progress, &o->accumulator, config_int(c, KEY_RUNNER_PRINT_INTERVAL));
    o->options = (struct trainer_options){.threads = threads,
                                          .executor = {.seed = o->job.seed,
                                                       .has_seed = true,
                                                       .profile = true,
                                                       .metrics = o->task.metrics},
                                          .reset_metrics = true,
                                          .user = o,
                                          .watched = o->accumulator.watched,
                                          .nwatched = o->accumulator.nwatched,
                                          .on_batch = on_batch,
                                          .tick_period =
                                              o->progress.terminal || report_wanted() ? 0.25 : 1.0,
                                          .on_tick = on_tick,
                                          .wants_stop = wants_stop};
}

/* ---- meetings ---- */

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

/* ---- data ---- */

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
    log_info("day %08d, pass %d: waiting for %s, checking every %g s", o->day, o->pass, path,
             o->plan.sleep);
    *next = now + REMIND_SECONDS;
}

/* Until the done file is there, or somebody wants to stop, or the job breaks. */
static enum skiff_status wait_for(struct online *o, const char *folder, struct skiff_error *err)
{
    struct buf path = BUF_INIT;
    double next_look = 0, next_word = 0, next_ask = clock_seconds() + ASK_SECONDS;
    enum skiff_status status = SKIFF_OK;
    buf_printf(&path, "%s/%s", folder, o->plan.done_file);
    while (status == SKIFF_OK && !interrupt_wanted()) {
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
    for (int i = 0; status == SKIFF_OK && i < online_splits(&o->plan) && !interrupt_wanted(); i++) {
        online_split_path(&o->plan, o->day, o->pass, i, &folder);
        if (o->plan.done_file)
            status = wait_for(o, folder.data, err);
        if (status == SKIFF_OK && !interrupt_wanted())
            status = add_folder(o, folder.data, out, err);
    }
    buf_deinit(&folder);
    return status;
}

/* This worker's share of the files. */
static enum skiff_status open_data(struct online *o, const struct file_list *all,
                                   struct skiff_error *err)
{
    struct task_data data = task_data_train;
    const char *const *part;
    int n;
    TRY(skiff_fleet_split_files(o->job.fleet, (const char *const *)all->paths, all->count, &part,
                                &n, err));
    enum skiff_status status = SKIFF_OK;
    if (n) {
        data.files = part;
        data.nfiles = n;
        status = task_dataset_open(&o->task, &data, &o->data, err);
    }
    if (status == SKIFF_OK && o->data && task_in_memory(&o->task))
        status = dataset_load(o->data, err);
    free((void *)part);
    return status;
}

static enum skiff_status get_data(struct online *o, struct skiff_error *err)
{
    struct file_list all;
    file_list_init(&all);
    enum skiff_status status = list_files(o, &all, err);
    if (status == SKIFF_OK && !interrupt_wanted())
        status = open_data(o, &all, err);
    if (status == SKIFF_OK && !interrupt_wanted() && !all.count &&
        skiff_fleet_is_first_worker(o->job.fleet))
        log_warn("day %08d, pass %d: no files", o->day, o->pass);
    file_list_deinit(&all);
    return status;
}

/* Samples change workers, when every worker has some; otherwise each shuffles its own. */
static enum skiff_status shuffle(struct online *o, bool everybody, struct skiff_error *err)
{
    struct skiff_exchange exchange;
    uint64_t seed = o->job.seed + (uint64_t)o->day * 10000 + (uint64_t)o->pass;
    if (!o->data || !task_in_memory(&o->task) ||
        !config_bool_or(o->task.config, KEY_RUNNER_SHUFFLE, true))
        return SKIFF_OK;
    if (!everybody)
        return dataset_local_shuffle(o->data, seed, err);
    TRY(skiff_fleet_exchange(o->job.fleet, &exchange, err));
    return dataset_global_shuffle(o->data, &exchange, seed, err);
}

/* ---- evaluation, training ---- */

static void start_progress(struct online *o, const char *what)
{
    eval_metrics_reset(&o->accumulator);
    progress_start(&o->progress, o->data, o->pass);
    snprintf(o->progress.what_text, sizeof o->progress.what_text, "%s%08d pass %d", what, o->day,
             o->pass);
    o->progress.expected = 0;
}

static enum skiff_status infer(struct online *o, struct trainer_result *r, struct skiff_error *err)
{
    if (!o->data)
        return SKIFF_OK;
    start_progress(o, "evaluating ");
    struct skiff_scope *front = scope_create_child(o->task.scope); /* for states of metrics */
    enum skiff_status status = trainer_infer_dataset(front, skiff_fleet_main_program(o->job.fleet),
                                                     o->data, &o->options, r, err);
    scope_destroy(front);
    progress_end(&o->progress, 0);
    return status;
}

static enum skiff_status train(struct online *o, struct trainer_result *r, struct skiff_error *err)
{
    if (!o->data)
        return SKIFF_OK;
    start_progress(o, "");
    task_warn_nan(&o->task, &o->options, "pass", o->pass);
    enum skiff_status status = trainer_train_dataset(
        o->task.scope, skiff_fleet_main_program(o->job.fleet), o->data, &o->options, r, err);
    progress_end(&o->progress, 0);
    if (status == SKIFF_OK && dataset_bad_lines(o->data))
        log_warn("%lld bad lines were skipped", (long long)dataset_bad_lines(o->data));
    return status;
}

/* The metrics of one of them over all workers; all have stopped, or none. */
static enum skiff_status finish(struct online *o, const char *what, const struct trainer_result *r,
                                struct skiff_error *err)
{
    int64_t stop = r->stopped;
    struct eval_metrics_sum *sum = mem_alloc_or_die(sizeof(*sum));
    if (o->data)
        eval_metrics_read(&o->accumulator, sum);
    enum skiff_status status = online_barrier(o, &stop, 1, err);
    if (status == SKIFF_OK)
        status = add_up(o, sum, err);
    o->stopped = stop > 0;
    if (status == SKIFF_OK && !o->stopped) {
        online_metric(&o->accumulator, sum, o->metric);
        o->total.samples += r->rows;
        o->total.seconds += r->seconds;
        o->total.loss = eval_metrics_loss(&o->accumulator, sum);
        o->total.auc = o->total.job_auc = eval_metrics_auc(&o->accumulator, sum);
        if (skiff_fleet_is_first_worker(o->job.fleet))
            printf("Day:%08d, Pass: %d, %s Global Metric: %s\n", o->day, o->pass, what, o->metric);
        fflush(stdout);
    }
    free(sum);
    return status;
}

static enum skiff_status run(struct online *o, struct skiff_error *err)
{
    struct trainer_result evaluated = {0}, trained = {0};
    TRY(infer(o, &evaluated, err));
    evaluated.rows = 0; /* they are counted when they are learned from */
    evaluated.seconds = 0;
    TRY(finish(o, "Infer", &evaluated, err));
    if (o->stopped)
        return SKIFF_OK;
    TRY(train(o, &trained, err));
    TRY(finish(o, "Train", &trained, err));
    if (!o->stopped && log_shows(LOG_INFO)) {
        printf("Day:%08d, Pass: %d, using time: %.1f second, ips: %.0f example/sec.\n", o->day,
               o->pass, trained.seconds,
               trained.seconds > 0 ? (double)trained.rows / trained.seconds : 0.0);
        fflush(stdout);
    }
    o->samples += trained.rows;
    return SKIFF_OK;
}

enum skiff_status online_pass(struct online *o, struct skiff_error *err)
{
    TRY(get_data(o, err));
    int64_t all[] = {interrupt_wanted(), o->data != NULL};
    enum skiff_status status = online_barrier(o, all, 2, err);
    o->stopped = all[0] > 0;
    if (status == SKIFF_OK && !o->stopped)
        status = shuffle(o, all[1] == skiff_fleet_worker_num(o->job.fleet), err);
    if (status == SKIFF_OK && !o->stopped)
        status = run(o, err);
    dataset_destroy(o->data);
    o->data = NULL;
    return status;
}
