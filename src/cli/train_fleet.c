/* skiff train as one process of a job with servers (train_fleet.h).
 *
 * All processes build the same network from the same config and split it; a server then serves
 * until the job ends. All begin with the same epoch (fleet/epochs.h). At the end of each epoch the
 * workers reduce their metrics and tag the version of the servers' values; one worker then saves
 * the tagged version while the others train on. If it dies or fails, another worker saves: the
 * workers poll for this, and at the end all wait until the last epoch is saved. A worker without
 * files takes part in the start and leaves. A worker that receives a signal leaves without waiting
 * for the others. A failure is reported to the servers with its reason, so that the others learn
 * it at once and not after a timeout. */
#include "cli/train_fleet.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <skiff/fleet.h>
#include <skiff/mode.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "save/epochs.h"
#include "train/checkpoint.h"
#include "cli/command.h"
#include "cli/console.h"
#include "train/sample_dump.h"
#include "cli/interrupt.h"
#include "train/job.h"
#include "train/job_tables.h"
#include "cli/progress.h"
#include "train/disk_space.h"
#include "save/runs.h"
#include "train/valid_job.h"
#include "train/recorder.h"
#include "data/files.h"
#include "executor/executor.h"
#include "executor/trainer.h"
#include "fleet/epochs.h"
#include "fleet/fleet_log.h"
#include "fleet/report.h"
#include "fleet/role.h"
#include "fleet/settings.h"
#include "store/file.h"
#include "store/save_retry.h"

#define COUNT_SECONDS 0.5

struct fleet_training {
    const struct task_args *args;
    struct task task;
    struct train_job job;
    struct file_list files; /* of this worker */
    struct dataset *data;
    struct eval_metrics accumulator;
    struct progress progress;
    struct sample_dump sample_dump;
    struct run_recorder *recorder; /* of a worker with data */
    struct trainer_options options;
    const char *save_path, *start_path; /* start_path: what servers begin with; NULL: fresh */
    struct buf start_text;
    struct ps_begin has; /* on this disk */
    int first, epochs, epoch;
    bool shuffle, stopped, everybody; /* everybody: all workers are here and have data */
    int64_t present;                  /* workers with data in the epoch before */
    double next_count;                /* when the trained samples are next reported */
    char run[40];
    struct folder_lock lock; /* of the first worker, which saves as long as it lives */
    struct model_info save;  /* what is to be saved: the last epoch that has ended */
    bool at_end;             /* ... its files were trained to their end; else a part of them */
    bool unsaved;            /* ... and is not known to be saved */
    bool part_saved;         /* a part of an epoch, by this worker */
    bool lost;               /* no worker could */
    struct epoch_row *rows;  /* over all workers */
    int nrows;
    struct report total; /* of this worker */
    struct valid_job valid;
    bool early; /* validation says that training shall end */
};

bool train_fleet_wanted(void)
{
    return role_env_is_set(NULL, NULL);
}

bool train_fleet_alone(struct task *task)
{
    struct config *c = task->config;
    bool tables;
    return task_tables_any(task, &tables, NULL) == SKIFF_OK && tables &&
           strcasecmp(config_text(c, KEY_RUNNER_SYNC_MODE), "geo") != 0;
}

/* ---- what is reported ---- */

static void on_batch(void *user, int thread, int64_t rows, const struct skiff_tensor *watched)
{
    struct fleet_training *t = user;
    eval_metrics_batch(&t->accumulator, thread, rows, watched);
    sample_dump_batch(&t->sample_dump, t->data, thread, rows, watched);
    recorder_batch(t->recorder, thread);
}

static bool wants_stop(void *user)
{
    (void)user;
    return interrupt_wanted();
}

static void try_save(struct fleet_training *t);

/* What this worker has trained of the running epoch, for server 0's ledger. */
static enum skiff_status count_trained(struct fleet_training *t, const struct eval_metrics_sum *sum,
                                       bool done, struct ps_account *out, struct skiff_error *err)
{
    struct ps_trained x = {.epoch = t->epoch,
                           .samples = (uint64_t)sum->samples,
                           .batches = (uint64_t)sum->batches,
                           .done = done};
    t->next_count = clock_seconds() + COUNT_SECONDS;
    return epochs_trained(t->job.fleet, &x, out, err);
}

static void on_tick(void *user)
{
    struct fleet_training *t = user;
    struct eval_metrics_sum *sum;
    try_save(t);
    recorder_tick(t->recorder);
    job_tables_look(t->job.fleet, &t->progress.tables);
    progress_tick(&t->progress);
    bool counts = clock_seconds() >= t->next_count;
    if (!report_wanted() && !counts)
        return;
    sum = mem_alloc_or_die(sizeof(*sum));
    eval_metrics_read(&t->accumulator, sum);
    if (counts)
        count_trained(t, sum, false, NULL, NULL);
    double share = t->progress.expected > 0
                       ? fmin(1.0, (double)sum->samples / (double)t->progress.expected)
                       : dataset_progress(t->data);
    struct report r = {.epoch = t->epoch,
                       .share = share,
                       .samples = sum->samples,
                       .seconds = clock_seconds() - t->progress.started,
                       .loss = eval_metrics_loss(&t->accumulator, sum),
                       .auc = eval_metrics_auc(&t->accumulator, sum)};
    strcpy(r.tables, t->progress.tables.text);
    report_send(&r);
    free(sum);
}

static void on_profile(void *user, const struct profile *profile)
{
    struct fleet_training *t = user;
    recorder_profile(t->recorder, profile);
}

/* ---- the config ---- */

static void read_options(struct fleet_training *t)
{
    struct config *c = t->task.config;
    int threads = task_threads(&t->task);
    t->epochs = task_epochs(&t->task);
    t->save_path = task_save_path(&t->task);
    t->shuffle = config_bool(c, KEY_RUNNER_SHUFFLE);
    eval_metrics_init(&t->accumulator, &t->task.vars, threads);
    progress_init(&t->progress, &t->accumulator, config_int(c, KEY_RUNNER_PRINT_INTERVAL));
    t->options = (struct trainer_options){
        .threads = threads,
        .executor = {.seed = t->job.seed, .has_seed = true, .profile = true},
        .reset_metrics = true,
        .user = t,
        .watched = t->accumulator.watched,
        .nwatched = t->accumulator.nwatched,
        .on_batch = on_batch,
        .tick_period = t->progress.terminal || report_wanted() ? 0.25 : 0.5,
        .on_tick = on_tick,
        .on_profile = on_profile,
        .wants_stop = wants_stop};
}

/* Host and folder, for messages of other processes. */
static void print_where(struct fleet_training *t)
{
    char host[256] = "?", folder[PATH_MAX];
    gethostname(host, sizeof(host) - 1);
    snprintf(t->has.where, sizeof(t->has.where), "%.100s:%.380s", host,
             realpath(t->save_path, folder) ? folder : t->save_path);
}

/* Which run has saved it, and a checksum of its manifest. */
static enum skiff_status read_identity(struct fleet_training *t, const char *dir,
                                       struct skiff_error *err)
{
    struct ps_begin *has = &t->has;
    struct model_info note = {0};
    struct buf path = BUF_INIT, text = BUF_INIT;
    buf_printf(&path, "%s/%s", dir, manifest_in(dir));
    enum skiff_status status = model_info_read(dir, &note, err);
    if (status == SKIFF_OK && file_exists(path.data))
        status = file_read(path.data, &text, err);
    if (status == SKIFF_OK && text.len)
        has->sum = hash_bytes(text.data, text.len);
    if (status == SKIFF_OK && note.known) {
        snprintf(has->run, sizeof(has->run), "%s", note.run);
        log_info("resuming from %s", dir);
        checkpoint_print_run(&t->task.logger, &note);
    }
    buf_deinit(&path);
    buf_deinit(&text);
    return status;
}

/* What this process has: servers begin with it, if all agree. */
static enum skiff_status find_start(struct fleet_training *t, bool resume, struct skiff_error *err)
{
    struct config *c = t->task.config;
    struct checkpoint_state last = {.epoch = -1};
    t->start_path = config_path(c, KEY_RUNNER_MODEL_INIT_PATH);
    if (!t->start_path)
        t->start_path = config_path(c, KEY_RUNNER_WARMUP_MODEL_PATH);
    if (resume)
        TRY(checkpoint_find(&t->task.logger, t->save_path, &last, err));
    t->has = (struct ps_begin){
        .resume = resume, .epoch = last.epoch, .complete = last.epoch >= 0 && last.complete};
    print_where(t);
    if (last.epoch < 0)
        return SKIFF_OK;
    buf_printf(&t->start_text, "%s/%d", t->save_path, last.epoch);
    t->start_path = t->start_text.data;
    if (!last.complete)
        log_warn("%s was saved in the middle of its epoch, or without files of a worker; the epoch "
                 "restarts: some samples are trained a second time",
                 t->start_path);
    return read_identity(t, t->start_path, err);
}

static enum skiff_status serve(struct fleet_training *t, struct skiff_error *err)
{
    t->has.index = (uint32_t)skiff_fleet_server_index(t->job.fleet);
    /* sparse tables, and all with them, are loaded by the first worker */
    const char *start = skiff_fleet_tables(t->job.fleet) ? NULL : t->start_path;
    return job_serve(&t->job, &t->task, &t->has, start, err);
}

/* ---- worker ---- */

static void print_files(const struct fleet_training *t, int total, bool share)
{
    int workers = skiff_fleet_worker_num(t->job.fleet);
    log_info("%d of %d files are this worker's", t->files.count, total);
    if (!share && workers > 1 && skiff_fleet_is_first_worker(t->job.fleet))
        log_info("each of %d workers reads all %d files in its folder: if the folders are the "
                 "same, a row is trained %d times an epoch; runner.split_file_list: True divides "
                 "the files among workers",
                 workers, total, workers);
}

/* All files, or this worker's share of them. */
static enum skiff_status choose_files(struct fleet_training *t, struct skiff_error *err)
{
    const char *const *names, *const *part;
    int n;
    struct file_list all;
    file_list_init(&all);
    enum skiff_status status = task_files(&t->task, &task_data_train, &names, &n, err);
    for (int i = 0; status == SKIFF_OK && i < n; i++)
        status = file_list_expand(&all, names[i], err);
    bool share = config_bool(t->task.config, KEY_RUNNER_SPLIT_FILE_LIST);
    if (status == SKIFF_OK && share) {
        status = skiff_fleet_split_files(t->job.fleet, (const char *const *)all.paths, all.count,
                                         &part, &n, err);
        for (int i = 0; status == SKIFF_OK && i < n; i++)
            file_list_add(&t->files, part[i]);
        if (status == SKIFF_OK)
            free((void *)part);
    } else if (status == SKIFF_OK) {
        for (int i = 0; i < all.count; i++)
            file_list_add(&t->files, all.paths[i]);
    }
    if (skiff_fleet_is_first_worker(t->job.fleet))
        task_warn_left_out(&t->task, &all);
    int total = all.count;
    file_list_deinit(&all);
    if (status == SKIFF_OK && skiff_fleet_server_num(t->job.fleet))
        print_files(t, total, share);
    return status;
}

static enum skiff_status open_data(struct fleet_training *t, struct skiff_error *err)
{
    struct task_data data = task_data_train;
    struct dataset_config dc;
    TRY(choose_files(t, err));
    if (!t->files.count) { /* others read: the keys of the data are known nonetheless */
        TRY(task_dataset_config(&t->task, &data, &dc, err));
        reader_config_deinit(&dc.reader);
        return SKIFF_OK;
    }
    data.files = (const char *const *)t->files.paths;
    data.nfiles = t->files.count;
    TRY(task_dataset_open(&t->task, &data, &t->data, err));
    return SKIFF_OK;
}

/* Counts of all workers, in place. *out_present: how many there are. Whoever evaluates epochs says
 * whether to continue. */
static enum skiff_status add_up(struct fleet_training *t, struct eval_metrics_sum *s,
                                int64_t *out_present, struct skiff_error *err)
{
    enum { PRESENT = EVAL_METRICS_WHOLE, STOP, N };
    int64_t *whole = mem_alloc_or_die(N * sizeof(*whole));
    double part[EVAL_METRICS_PART];
    eval_metrics_sum_pack(s, whole, part);
    whole[PRESENT] = 1;
    whole[STOP] = t->valid.valid.stop;
    enum skiff_status status =
        epochs_barrier(t->job.fleet, t->epoch, whole, N, part, EVAL_METRICS_PART, err);
    eval_metrics_sum_unpack(s, whole, part);
    *out_present = whole[PRESENT];
    t->early = whole[STOP] > 0;
    free(whole);
    return status;
}

/* In the log, and on the launcher's screen. */
#define WARN_ALL(...) (log_warn(__VA_ARGS__), report_warning(__VA_ARGS__))

/* An epoch that lacks files of a worker is not complete; what was trained is counted. */
static void take_account(struct fleet_training *t, const struct ps_account *a,
                         struct epoch_row *row)
{
    t->save.samples = row->samples = (int64_t)a->samples;
    t->save.steps = (int64_t)a->batches;
    t->save.complete &= !a->nlost;
    if (a->twice && t->at_end)
        WARN_ALL("epoch %d: %llu samples were trained twice, by a worker that died and by its "
                 "replacement",
                 t->epoch, (unsigned long long)a->twice);
    if (!a->nlost || !t->at_end) /* a worker that was stopped has lost nothing */
        return;
    snprintf(row->lost, sizeof row->lost, "%.47s", a->lost);
    WARN_ALL("epoch %d is incomplete: worker %s has not trained all of its files; %llu samples "
             "were trained in all",
             t->epoch, a->lost, (unsigned long long)a->samples);
}

/* The end of this worker's files: its counts go to server 0 before the reduction, which returns
 * the account of all workers. */
static enum skiff_status meet_others(struct fleet_training *t, struct eval_metrics_sum *sum,
                                     struct ps_account *account, struct skiff_error *err)
{
    int64_t present = 0;
    struct eval_metrics_sum *own = mem_alloc_or_die(sizeof *own);
    *own = *sum;
    enum skiff_status status = count_trained(t, own, true, account, err);
    if (status == SKIFF_OK)
        status = add_up(t, sum, &present, err);
    if (status == SKIFF_OK)
        status = count_trained(t, own, true, account, err);
    free(own);
    t->everybody = present == skiff_fleet_worker_num(t->job.fleet);
    /* the job is stopping: others have left in the middle of their files */
    t->stopped |= interrupt_wanted() && present < t->present;
    t->present = present;
    return status;
}

static void send_end(const struct fleet_training *t, const struct eval_metrics_sum *sum,
                     double seconds)
{
    struct report r = {.epoch = t->epoch,
                       .share = 1,
                       .samples = sum->samples,
                       .seconds = seconds,
                       .loss = eval_metrics_loss(&t->accumulator, sum),
                       .auc = eval_metrics_auc(&t->accumulator, sum)};
    strcpy(r.tables, t->progress.tables.text);
    report_send(&r);
}

static void print_epoch(const struct fleet_training *t, const struct epoch_row *row,
                        const struct trainer_result *r)
{
    if (!log_shows(LOG_INFO))
        return;
    printf("Epoch: %d, using time: %.1f second, ips: %.0f example/sec.", t->epoch, r->seconds,
           r->seconds > 0 ? (double)r->rows / r->seconds : 0.0);
    report_print_auc(row);
    printf("\n");
    fflush(stdout);
}

static enum skiff_status finish_row(struct fleet_training *t, const struct trainer_result *r,
                                    struct skiff_error *err)
{
    struct eval_metrics_sum *sum = mem_alloc_or_die(sizeof(*sum));
    struct epoch_row *row = &t->rows[t->nrows++];
    struct ps_account account = {0};
    eval_metrics_read(&t->accumulator, sum);
    t->total.samples += sum->samples;
    t->total.seconds += r->seconds;
    t->total.loss = eval_metrics_loss(&t->accumulator, sum);
    t->total.auc = eval_metrics_auc(&t->accumulator, sum);
    if (!t->stopped)
        send_end(t, sum, r->seconds);
    recorder_last_window(t->recorder); /* of this worker alone */
    enum skiff_status status = SKIFF_OK;
    if (!t->stopped)
        status = meet_others(t, sum, &account, err);
    else /* does not wait for the others, which may take hours: their last reports count */
        count_trained(t, sum, false, &account, NULL);
    t->at_end = !t->stopped;
    t->save = (struct model_info){.epoch = t->epoch, .complete = t->at_end, .known = true};
    snprintf(t->save.run, sizeof(t->save.run), "%s", t->run);
    *row = (struct epoch_row){.epoch = t->epoch, .seconds = r->seconds, .interrupted = t->stopped};
    epoch_row_fill(row, &t->accumulator, sum);
    if (status == SKIFF_OK)
        take_account(t, &account, row);
    t->total.job_auc = row->auc;
    epoch_row_times(row, r);
    recorder_end_epoch(t->recorder, row, sum, t->save.complete);
    free(sum);
    print_epoch(t, row, r);
    return status;
}

/* ---- saving ---- */

static enum skiff_status save_once(void *user, struct skiff_error *err)
{
    struct fleet_training *t = user;
    struct checkpoint_names names;
    struct buf dir = BUF_INIT;
    double start = clock_seconds();
    if (file_is_dir(t->save_path)) /* a worker that takes over makes it */
        TRY(disk_space_check(&t->task, t->save_path, t->save.epoch, err));
    buf_printf(&dir, "%s/%d", t->save_path, t->save.epoch);
    checkpoint_inference(&t->task, &names);
    struct epochs_save what = {.dir = dir.data,
                               .note = t->save,
                               .marked = t->at_end,
                               .feeds = names.what.feeds,
                               .nfeeds = names.what.nfeeds,
                               .targets = names.what.targets,
                               .ntargets = names.what.ntargets};
    enum skiff_status status =
        skiff_fleet_tables(t->job.fleet)
            ? job_tables_save_epoch(&t->job, &t->task, dir.data, &t->save, err)
            : epochs_save(t->job.fleet, t->task.scope, &what, err);
    if (status == SKIFF_OK)
        log_info("saved %s in %.1f s", dir.data, clock_seconds() - start);
    t->part_saved = status == SKIFF_OK && !t->at_end;
    buf_deinit(&dir);
    return status;
}

static bool save_pausing(void *user, const struct skiff_error *why, double seconds)
{
    (void)user;
    log_warn("saving failed, retrying in %g s: %s", seconds, why->message);
    return !interrupt_wanted();
}

static enum skiff_status save_epoch(struct fleet_training *t, struct skiff_error *err)
{
    struct save_retry saving = {.save = save_once, .pausing = save_pausing, .user = t};
    return save_retry(&saving, err);
}

/* Is it for this worker to save? A failure of it is reported, and the job continues: another
 * worker may have a disk that is not full. Errors are those of the network. */
static enum skiff_status ask_and_save(struct fleet_training *t, enum ps_saving_state *out,
                                      char reason[static 512], struct skiff_error *err)
{
    int epoch = t->save.epoch;
    bool complete = t->at_end;
    struct skiff_error why;
    TRY(epochs_who_saves(t->job.fleet, epoch, complete, out, reason, err));
    if (*out != PS_SAVE_YOU)
        return SKIFF_OK;
    double start = clock_seconds();
    bool failed = save_epoch(t, &why) < 0;
    if (failed)
        WARN_ALL("this worker did not save epoch %d: %s", epoch, why.message);
    recorder_saved(t->recorder, epoch, !failed, clock_seconds() - start);
    TRY(epochs_saved(t->job.fleet, epoch, complete, failed ? &why : NULL, err));
    if (!failed) {
        struct model_info note = t->save;
        note.complete = t->at_end; /* what was trained at its end is validated, if it is not all */
        valid_job_saved(&t->valid, &note);
        valid_record_point(&t->valid.valid, t->recorder, epoch);
    }
    bool others = skiff_fleet_server_num(t->job.fleet) > 0;
    *out = !failed ? PS_SAVE_DONE : others ? PS_SAVE_OTHER : PS_SAVE_FAILED;
    if (*out == PS_SAVE_FAILED)
        snprintf(reason, 512, "%.511s", why.message);
    return SKIFF_OK;
}

/* While training continues; on the thread next to it. What is wrong with the network is noticed by
 * those who train. */
static void try_save(struct fleet_training *t)
{
    enum ps_saving_state state;
    char reason[512];
    if (t->unsaved && ask_and_save(t, &state, reason, NULL) == SKIFF_OK)
        t->unsaved = state != PS_SAVE_DONE && state != PS_SAVE_FAILED;
}

/* The end of an epoch: its values are marked, and somebody saves them. */
static enum skiff_status end_epoch(struct fleet_training *t, struct skiff_error *err)
{
    enum ps_saving_state state;
    char reason[512];
    bool whole = t->at_end, tables = skiff_fleet_tables(t->job.fleet) > 0;
    if (whole && !tables)
        TRY(epochs_mark(t->job.fleet, t->epoch, err));
    TRY(ask_and_save(t, &state, reason, err));
    if (whole && tables) /* which have no marks: no worker continues before they are saved */
        TRY(skiff_fleet_barrier_worker(t->job.fleet, err));
    t->unsaved = state != PS_SAVE_DONE;
    return SKIFF_OK;
}

/* Nobody leaves before the last epoch is saved: the one who saves it may die. */
static enum skiff_status await_saved(struct fleet_training *t, struct skiff_error *err)
{
    enum ps_saving_state state = PS_SAVE_OTHER;
    char reason[512];
    while (t->unsaved && !t->stopped && state == PS_SAVE_OTHER) {
        t->stopped = interrupt_wanted();
        TRY(ask_and_save(t, &state, reason, err));
        if (state == PS_SAVE_OTHER)
            clock_sleep(100 * CLOCK_MS);
    }
    if (state != PS_SAVE_FAILED)
        return SKIFF_OK;
    TRY(epochs_report_unsaved(t->job.fleet, reason, err));
    t->lost = true;
    log_error("no process saved the last epoch of the job, %d: %s", t->save.epoch, reason);
    return SKIFF_OK;
}

/* Samples change workers, when every worker has some; otherwise each shuffles its own. */
static enum skiff_status shuffle(struct fleet_training *t, struct skiff_error *err)
{
    struct skiff_exchange exchange;
    uint64_t seed = t->job.seed + (uint64_t)t->epoch;
    if (!t->everybody)
        return dataset_local_shuffle(t->data, seed, err);
    TRY(skiff_fleet_exchange(t->job.fleet, &exchange, err));
    return dataset_global_shuffle(t->data, &exchange, seed, err);
}

static enum skiff_status train_epoch(struct fleet_training *t, struct skiff_error *err)
{
    struct trainer_result r = {0};
    const struct skiff_program *p = skiff_fleet_main_program(t->job.fleet);
    enum skiff_status status = SKIFF_OK;
    if (t->data && t->shuffle && task_in_memory(&t->task))
        TRY(shuffle(t, err));
    if (skiff_fleet_is_first_worker(t->job.fleet))
        disk_space_warn(&t->task, t->save_path, t->epoch);
    eval_metrics_reset(&t->accumulator);
    if (t->data) {
        TRY(sample_dump_start(&t->sample_dump, t->epoch, err));
        progress_start(&t->progress, t->data, t->epoch);
        task_warn_nan(&t->task, &t->options, "epoch", t->epoch);
        recorder_begin_epoch(t->recorder, t->epoch, t->data);
        status = trainer_train_dataset(t->task.scope, p, t->data, &t->options, &r, err);
        progress_end(&t->progress, status == SKIFF_OK && !r.stopped ? r.rows : 0);
    }
    if (status == SKIFF_OK)
        status = sample_dump_end(&t->sample_dump, err);
    if (status < 0)
        return status;
    if (t->data && !r.rows && !r.stopped)
        return error_prefix(err, task_no_samples(&t->task, &task_data_train, t->data, err),
                            "worker %d", skiff_fleet_worker_index(t->job.fleet));
    t->stopped = r.stopped;
    if (t->stopped && !r.rows) {
        log_warn("stopped before the first sample of epoch %d on this worker: nothing to save",
                 t->epoch);
        return SKIFF_OK;
    }
    TRY(finish_row(t, &r, err));
    return end_epoch(t, err);
}

/* The server inside a process that is alone has nothing on disk, so it agrees with every state. */
static enum skiff_status agree(struct fleet_training *t, struct ps_begun *out,
                               struct skiff_error *err)
{
    struct ps_begin fresh = {.epoch = -1};
    if (skiff_fleet_server_num(t->job.fleet))
        return epochs_begin(t->job.fleet, &t->has, out, err);
    snprintf(fresh.where, sizeof(fresh.where), "%s", t->has.where);
    TRY(epochs_begin(t->job.fleet, &fresh, out, err));
    if (t->has.epoch >= 0) {
        out->epoch = t->has.epoch + t->has.complete;
        snprintf(out->run, sizeof(out->run), "%s", t->has.run);
    }
    return SKIFF_OK;
}

/* Where all begin, or where the others are. */
static enum skiff_status begin(struct fleet_training *t, struct skiff_error *err)
{
    struct ps_begun job;
    t->has.index = (uint32_t)skiff_fleet_worker_index(t->job.fleet);
    t->has.idle = !t->data;
    TRY(agree(t, &job, err));
    t->first = (int)job.epoch;
    t->everybody = !job.idle && !job.late;
    t->present = skiff_fleet_worker_num(t->job.fleet) - job.idle;
    snprintf(t->run, sizeof(t->run), "%.39s", job.run);
    if (!job.late)
        TRY(job_tables_begin(&t->job, &t->task, t->start_path, err));
    if (job.late)
        log_info("the job is running: this worker joins in epoch %d", t->first);
    else if (t->first)
        log_info("the job continues with epoch %d", t->first);
    return SKIFF_OK;
}

/* The first worker saves, as long as it lives: the folder is its own. All have begun: nobody reads
 * what earlier runs have left there. */
static enum skiff_status claim_folder(struct fleet_training *t, const struct task_args *args,
                                      struct skiff_error *err)
{
    if (!skiff_fleet_is_first_worker(t->job.fleet))
        return SKIFF_OK;
    TRY(run_lock_take(&t->lock, t->save_path, t->run, err));
    int removed = args->overwrite && !t->first ? runs_remove(t->save_path) : 0;
    if (args->overwrite && !t->first)
        valid_record_remove(t->save_path);
    if (removed)
        log_info("removed %d epochs of earlier runs from %s", removed, t->save_path);
    else if (!args->resume && !t->first && save_epoch_before(t->save_path, INT_MAX) >= 0)
        log_warn("%s has epochs of an earlier run, up to %d; this run replaces them one by one",
                 t->save_path, save_epoch_before(t->save_path, INT_MAX));
    return SKIFF_OK;
}

/* The worker that saves leaves the report next to the models. */
static void start_recorder(struct fleet_training *t, const struct task_args *args)
{
    int worker = skiff_fleet_worker_index(t->job.fleet);
    t->recorder =
        recorder_open(&t->task, &t->accumulator,
                      &(struct recorder_plan){.command = "train",
                                              .folder = t->save_path,
                                              .json = args->json,
                                              .run = t->run,
                                              .threads = t->options.threads,
                                              .workers = skiff_fleet_worker_num(t->job.fleet),
                                              .worker = worker,
                                              .quiet = worker != 0});
    if (t->first) /* resumed, or joined late */
        recorder_resume(t->recorder, t->first);
    recorder_begin(t->recorder, t->first);
}

static void end_recorder(struct fleet_training *t, enum skiff_status worked,
                         const struct skiff_error *why)
{
    struct skiff_error err;
    enum run_status status = worked < 0 || t->lost ? RUN_FAILED
                             : t->stopped          ? RUN_STOPPED
                                                   : RUN_DONE;
    if (recorder_close(t->recorder, status, worked < 0 ? why->message : NULL, &err) < 0)
        log_warn("--json: %s", err.message);
}

static enum skiff_status work(struct fleet_training *t, const struct task_args *args,
                              struct skiff_error *err)
{
    TRY(open_data(t, err));
    TRY(sample_dump_init(&t->sample_dump, &t->task, &t->options, false,
                         skiff_fleet_worker_index(t->job.fleet), err));
    TRY(valid_job_open(&t->valid, &t->task, t->args, &console_control, t->save_path,
                       skiff_fleet_is_first_worker(t->job.fleet),
                       skiff_fleet_tables(t->job.fleet) > 0, err));
    TRY(task_check(&t->task, err));
    if (skiff_fleet_is_first_worker(t->job.fleet))
        TRY(save_epochs_prepare(t->save_path, err));
    if (t->data && task_in_memory(&t->task))
        TRY(dataset_load(t->data, err));
    if (!t->data)
        log_warn("more workers than files: this worker is idle");
    TRY(job_init_worker(&t->job, &t->task, err));
    control_ready(&console_control); /* a signal before ends a worker that waits for servers */
    TRY(job_startup(&t->job, &t->task, err));
    TRY(begin(t, err));
    TRY(claim_folder(t, args, err));
    if (t->data && t->first < t->epochs)
        start_recorder(t, args);
    t->rows = mem_alloc_or_die((size_t)(t->epochs + 1) * sizeof(*t->rows));
    for (t->epoch = t->first; t->epoch < t->epochs && !t->stopped && !t->early && t->data;
         t->epoch++)
        TRY(train_epoch(t, err));
    TRY(await_saved(t, err));
    t->total.epoch = -1;
    report_send(&t->total);
    valid_fill(&t->valid.valid, t->rows, t->nrows);
    if (skiff_fleet_is_first_worker(t->job.fleet))
        job_tables_print(t->job.fleet);
    if (t->nrows)
        report_print(t->rows, t->nrows, true);
    valid_warn(&t->valid.valid);
    if (t->early && !t->valid.valid.stop)
        log_info("early stop: validation found no improvement");
    return skiff_fleet_stop_worker(t->job.fleet, err);
}

static void fleet_training_close(struct fleet_training *t)
{
    job_close(&t->job);
    dataset_destroy(t->data);
    valid_job_close(&t->valid);
    file_list_deinit(&t->files);
    if (t->accumulator.thread_states)
        eval_metrics_deinit(&t->accumulator);
    free(t->rows);
    sample_dump_deinit(&t->sample_dump);
    folder_lock_close(&t->lock);
    buf_deinit(&t->start_text);
    task_close(&t->task);
}

/* Where it has stopped: in the midst of an epoch, or behind one that is complete. */
static void print_stopped(const struct fleet_training *t)
{
    if (t->part_saved)
        fprintf(stderr, "skiff train: stopped in epoch %d; the part is saved in %s/%d\n",
                t->save.epoch, t->save_path, t->save.epoch);
    else if (t->save.known && t->at_end && !t->save.complete)
        fprintf(stderr,
                "skiff train: stopped after epoch %d, which is incomplete: files of a worker are "
                "missing; --resume trains it again\n",
                t->save.epoch);
    else if (t->save.known && t->at_end)
        fprintf(stderr,
                "skiff train: stopped after epoch %d, which is complete; --resume continues with "
                "epoch %d\n",
                t->save.epoch, t->save.epoch + 1);
    else
        fprintf(stderr, "skiff train: stopped in epoch %d; --resume continues\n", t->epoch - 1);
}

int train_fleet(const struct task_args *args)
{
    struct skiff_error err = {0};
    struct fleet_training t = {.args = args,
                               .job.control = &console_control,
                               .total = {.loss = NAN, .auc = NAN, .job_auc = NAN}};
    file_list_init(&t.files);
    if (task_open(&t.task, args, true, &err) < 0)
        return command_fail("train", &err);
    job_look_for_end(&t.job, &t.task, args);
    enum skiff_status status = job_open(&t.job, &t.task, args, &err);
    if (status == SKIFF_OK)
        read_options(&t);
    if (status == SKIFF_OK)
        status = find_start(&t, args->resume, &err);
    if (status == SKIFF_OK)
        status = skiff_fleet_is_server(t.job.fleet) ? serve(&t, &err) : work(&t, args, &err);
    end_recorder(&t, status, &err);
    if (status < 0 && t.job.fleet) {
        char reason[sizeof err.message + 16];
        snprintf(reason, sizeof reason, "has failed: %s", err.message);
        skiff_fleet_abandon_worker(t.job.fleet, reason);
    }
    int code = status < 0 ? command_fail("train", &err) : 0;
    if (!code && t.stopped) {
        print_stopped(&t);
        code = 1;
    }
    if (t.lost)
        code = 1;
    fleet_training_close(&t);
    return code;
}
