/* Parameters on the servers of a job (home.h), or on the one inside a process that is alone with
 * its sparse tables.
 *
 * All processes build the same network from the same config and split it; a server then serves
 * until the job ends. All begin with the same epoch (fleet/epochs.h). At the end of each epoch the
 * workers reduce their metrics and tag the version of the servers' values; one worker then saves
 * the tagged version while the others train on (servers_save.c). A worker without files takes part
 * in the start and leaves. A worker that is asked to stop leaves without waiting for the others. A
 * failure is reported to the servers with its reason, so that the others learn it at once and not
 * after a timeout. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/plural.h"
#include "save/epochs.h"
#include "save/runs.h"
#include "store/file.h"
#include "train/checkpoint.h"
#include "train/servers_parts.h"

#define COUNT_SECONDS 0.5

static enum skiff_status find_start(struct train_run *run, struct skiff_error *err);

static enum skiff_status servers_open(struct train_run *run, struct skiff_error *err)
{
    struct servers *s = mem_alloc_or_die(sizeof *s);
    struct home *home = &run->home;
    home->self = s;
    s->job.control = run->control;
    job_look_for_end(&s->job, &run->task, run->args);
    TRY(job_open(&s->job, &run->task, run->args, err));
    home->serves = skiff_fleet_is_server(s->job.fleet);
    home->index = home->serves ? skiff_fleet_server_index(s->job.fleet)
                               : skiff_fleet_worker_index(s->job.fleet);
    home->size = skiff_fleet_worker_num(s->job.fleet);
    home->servers = skiff_fleet_server_num(s->job.fleet);
    home->first = skiff_fleet_is_first_worker(s->job.fleet);
    home->remote = home->shows = true;
    home->tables = skiff_fleet_tables(s->job.fleet) > 0;
    home->seed = s->job.seed;
    home->tick_period = 0.25;
    home->program = skiff_fleet_main_program(s->job.fleet);
    return find_start(run, err);
}

/* ---- what this process has on its disk ---- */

/* Host and folder, for messages of other processes. */
static void fill_where(const struct train_run *run, struct ps_begin *has)
{
    char host[256] = "?", folder[PATH_MAX];
    gethostname(host, sizeof(host) - 1);
    snprintf(has->where, sizeof(has->where), "%.100s:%.380s", host,
             realpath(run->save_path, folder) ? folder : run->save_path);
}

/* Which run has saved it, and a checksum of its manifest. */
static enum skiff_status read_identity(struct train_run *run, const char *dir, struct ps_begin *has,
                                       struct skiff_error *err)
{
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
        run->resumed = note;
        logger_info(&run->task.logger, "resuming from %s", dir);
        checkpoint_print_run(&run->task.logger, &note);
    }
    buf_deinit(&path);
    buf_deinit(&text);
    return status;
}

/* What this process has: servers begin with it, if all agree. */
static enum skiff_status find_start(struct train_run *run, struct skiff_error *err)
{
    struct servers *s = servers_of(run);
    struct checkpoint_state last = {.epoch = -1};
    bool resume = run->args->resume;
    run->home.resumes = resume;
    s->start_path = task_start_path(&run->task);
    if (resume)
        TRY(checkpoint_find(&run->task.logger, run->save_path, &last, err));
    s->has = (struct ps_begin){
        .resume = resume, .epoch = last.epoch, .complete = last.epoch >= 0 && last.complete};
    fill_where(run, &s->has);
    if (last.epoch < 0)
        return SKIFF_OK;
    buf_printf(&s->start_text, "%s/%d", run->save_path, last.epoch);
    s->start_path = s->start_text.data;
    if (!last.complete)
        logger_warn(
            &run->task.logger,
            "%s was saved in the middle of its epoch, or without files of a worker; the epoch "
            "restarts: some samples are trained a second time",
            s->start_path);
    return read_identity(run, s->start_path, &s->has, err);
}

static enum skiff_status servers_serve(struct train_run *run, struct skiff_error *err)
{
    struct servers *s = servers_of(run);
    s->has.index = (uint32_t)run->home.index;
    /* sparse tables, and all with them, are loaded by the first worker */
    const char *start = skiff_fleet_tables(s->job.fleet) ? NULL : s->start_path;
    return job_serve(&s->job, &run->task, &s->has, start, err);
}

/* ---- data ---- */

static void log_files(const struct train_run *run, int total, bool share)
{
    int workers = run->home.size;
    logger_info(&run->task.logger, "this worker has %d of %d file%s", run->files.count, total,
                plural(total));
    if (!share && workers > 1 && run->home.first)
        logger_info(
            &run->task.logger,
            "each of %d worker%s reads all %d file%s in its folder: if the folders are the "
            "same, a row is trained %d times an epoch; runner.split_file_list: True divides "
            "the files among workers",
            workers, plural(workers), total, plural(total), workers);
}

/* All files, or this worker's share of them. */
static enum skiff_status choose_files(struct train_run *run, struct skiff_error *err)
{
    struct skiff_fleet *f = servers_of(run)->job.fleet;
    const char *const *part;
    int n;
    struct file_list all;
    file_list_init(&all);
    enum skiff_status status = task_file_list(&run->task, &task_data_train, &all, err);
    bool share = config_bool(run->task.config, KEY_RUNNER_SPLIT_FILE_LIST);
    if (status == SKIFF_OK && share) {
        status =
            skiff_fleet_split_files(f, (const char *const *)all.paths, all.count, &part, &n, err);
        for (int i = 0; status == SKIFF_OK && i < n; i++)
            file_list_add(&run->files, part[i]);
        if (status == SKIFF_OK)
            free((void *)part);
    } else if (status == SKIFF_OK) {
        for (int i = 0; i < all.count; i++)
            file_list_add(&run->files, all.paths[i]);
    }
    if (run->home.first)
        task_warn_left_out(&run->task, &all);
    if (status == SKIFF_OK && skiff_fleet_server_num(f))
        log_files(run, all.count, share);
    file_list_deinit(&all);
    return status;
}

static enum skiff_status servers_open_data(struct train_run *run, struct skiff_error *err)
{
    struct task_data data = task_data_train;
    struct dataset_config dc;
    TRY(choose_files(run, err));
    if (!run->files.count) { /* others read: the keys of the data are known nonetheless */
        TRY(task_dataset_config(&run->task, &data, &dc, err));
        reader_config_deinit(&dc.reader);
        return SKIFF_OK;
    }
    data.files = (const char *const *)run->files.paths;
    data.nfiles = run->files.count;
    return task_dataset_open(&run->task, &data, &run->data, err);
}

static enum skiff_status servers_shuffle(struct train_run *run, int epoch, struct skiff_error *err)
{
    struct servers *s = servers_of(run);
    return job_shuffle(&s->job, run->data, s->job.seed + (uint64_t)epoch, s->everybody, err);
}

/* ---- the beginning ---- */

/* The server inside a process that is alone has nothing on disk, so it agrees with every state. */
static enum skiff_status agree(struct servers *s, struct ps_begun *out, struct skiff_error *err)
{
    struct ps_begin fresh = {.epoch = -1};
    if (skiff_fleet_server_num(s->job.fleet))
        return epochs_begin(s->job.fleet, &s->has, out, err);
    snprintf(fresh.where, sizeof(fresh.where), "%s", s->has.where);
    TRY(epochs_begin(s->job.fleet, &fresh, out, err));
    if (s->has.epoch >= 0) {
        out->epoch = s->has.epoch + s->has.complete;
        snprintf(out->run, sizeof(out->run), "%s", s->has.run);
    }
    return SKIFF_OK;
}

/* Where all begin, or where the others are. */
static enum skiff_status begin(struct train_run *run, struct skiff_error *err)
{
    struct servers *s = servers_of(run);
    struct ps_begun job;
    s->has.index = (uint32_t)run->home.index;
    s->has.idle = !run->data;
    TRY(agree(s, &job, err));
    run->first = (int)job.epoch;
    s->everybody = !job.idle && !job.late;
    s->present = run->home.size - job.idle;
    snprintf(run->id, sizeof run->id, "%.39s", job.run);
    if (!job.late)
        TRY(job_tables_begin(&s->job, &run->task, s->start_path, err));
    if (job.late) {
        run->shuffled = run->first; /* the others have shuffled without this worker */
        logger_info(&run->task.logger, "the job is running: this worker joins in epoch %d",
                    run->first);
    }
    if (!job.late && run->first)
        logger_info(&run->task.logger, "the job continues with epoch %d", run->first);
    return SKIFF_OK;
}

/* The first worker saves, as long as it lives: the folder is its own. All have begun: nobody reads
 * what earlier runs have left there. */
static enum skiff_status claim_folder(struct train_run *run, struct skiff_error *err)
{
    const struct task_args *args = run->args;
    bool anew = !run->first;
    TRY(run_lock_take(&run->lock, run->save_path, run->id, err));
    int removed = args->overwrite && anew ? runs_remove(run->save_path) : 0;
    if (args->overwrite && anew)
        valid_record_remove(run->save_path);
    if (removed)
        logger_info(&run->task.logger, "removed %d epoch%s of earlier runs from %s", removed,
                    plural(removed), run->save_path);
    else if (!args->resume && anew && save_epoch_before(run->save_path, INT_MAX) >= 0)
        logger_warn(&run->task.logger,
                    "%s has epochs of an earlier run, up to %d; this run replaces them one by one",
                    run->save_path, save_epoch_before(run->save_path, INT_MAX));
    return SKIFF_OK;
}

static enum skiff_status servers_join(struct train_run *run, struct skiff_error *err)
{
    struct servers *s = servers_of(run);
    if (run->home.first)
        TRY(save_epochs_prepare(run->save_path, err));
    if (run->data && !run->given && run_in_memory(run))
        TRY(run_load(run, err));
    run->home.records = run->data != NULL;
    if (!run->data)
        logger_warn(&run->task.logger, "more workers than files: this worker is idle");
    TRY(job_init_worker(&s->job, &run->task, err));
    control_ready(run->control); /* a signal before ends a worker that waits for servers */
    TRY(job_startup(&s->job, &run->task, err));
    TRY(begin(run, err));
    return run->home.first ? claim_folder(run, err) : SKIFF_OK;
}

/* ---- counts ---- */

/* What this worker has trained of the running epoch, for server 0's ledger. */
static enum skiff_status count_trained(struct train_run *run, const struct eval_metrics_sum *sum,
                                       bool done, struct ps_account *out, struct skiff_error *err)
{
    struct servers *s = servers_of(run);
    struct ps_trained x = {.epoch = run->span.number,
                           .samples = (uint64_t)sum->samples,
                           .batches = (uint64_t)sum->batches,
                           .done = done};
    s->next_count = clock_seconds() + COUNT_SECONDS;
    return epochs_trained(s->job.fleet, &x, out, err);
}

static void servers_tick(struct train_run *run)
{
    struct servers *s = servers_of(run);
    servers_try_save(run);
    job_tables_look(s->job.fleet, &run->tables);
    if (clock_seconds() < s->next_count)
        return;
    struct eval_metrics_sum *sum = mem_alloc_or_die(sizeof *sum);
    eval_metrics_read(&run->metrics, sum);
    count_trained(run, sum, false, NULL, NULL);
    free(sum);
}

/* Counts of all workers, in place. *out_present: how many there are. Whoever evaluates epochs says
 * whether to continue. */
static enum skiff_status add_up(struct train_run *run, struct eval_metrics_sum *sum,
                                int64_t *out_present, struct skiff_error *err)
{
    enum { PRESENT = EVAL_METRICS_WHOLE, STOP, N };
    int64_t *whole = mem_alloc_or_die(N * sizeof(*whole));
    double part[EVAL_METRICS_PART];
    eval_metrics_sum_pack(sum, whole, part);
    whole[PRESENT] = 1;
    whole[STOP] = run->wants_end;
    enum skiff_status status = epochs_barrier(servers_of(run)->job.fleet, run->span.number, whole,
                                              N, part, EVAL_METRICS_PART, err);
    eval_metrics_sum_unpack(sum, whole, part);
    *out_present = whole[PRESENT];
    run->early = whole[STOP] > 0;
    free(whole);
    return status;
}

/* The end of this worker's files: its counts go to server 0 before the reduction, which returns
 * the account of all workers. */
static enum skiff_status meet_others(struct train_run *run, struct eval_metrics_sum *sum,
                                     struct ps_account *account, struct skiff_error *err)
{
    struct servers *s = servers_of(run);
    int64_t present = 0;
    struct eval_metrics_sum *own = mem_alloc_or_die(sizeof *own);
    *own = *sum;
    enum skiff_status status = count_trained(run, own, true, account, err);
    if (status == SKIFF_OK)
        status = add_up(run, sum, &present, err);
    if (status == SKIFF_OK)
        status = count_trained(run, own, true, account, err);
    free(own);
    s->everybody = present == run->home.size;
    /* the job is stopping: others have left in the middle of their files */
    run->stopped |= control_wants_stop(run->control) && present < s->present;
    s->present = present;
    return status;
}

/* An epoch that lacks files of a worker is not complete; what was trained is counted. */
static void take_account(struct train_run *run, const struct ps_account *a, struct epoch_row *row)
{
    struct servers *s = servers_of(run);
    int epoch = run->span.number;
    s->save.samples = row->samples = (int64_t)a->samples;
    s->save.steps = (int64_t)a->batches;
    s->save.complete &= !a->nlost;
    if (a->twice && s->at_end)
        WARN_ALL(run,
                 "epoch %d: %llu samples were trained twice, by a worker that died and by its "
                 "replacement",
                 epoch, (unsigned long long)a->twice);
    if (!a->nlost || !s->at_end) /* a worker that was stopped has lost nothing */
        return;
    snprintf(row->lost, sizeof row->lost, "%.47s", a->lost);
    WARN_ALL(run,
             "epoch %d is incomplete: worker %s has not trained all of its files; %llu samples "
             "were trained in all",
             epoch, a->lost, (unsigned long long)a->samples);
}

static enum skiff_status servers_reduce(struct train_run *run, struct home_counts *counts,
                                        struct epoch_row *row, struct skiff_error *err)
{
    struct servers *s = servers_of(run);
    const struct trainer_result *r = &counts->result;
    struct ps_account account = {0};
    if (!r->rows && !r->stopped)
        return error_prefix(err, task_no_samples(&run->task, &task_data_train, run->data, err),
                            "worker %d", run->home.index);
    run->stopped = r->stopped;
    counts->empty = !r->rows;
    if (counts->empty) {
        logger_warn(&run->task.logger,
                    "stopped before the first sample of %s on this worker: nothing to save",
                    run->span.name);
        return SKIFF_OK;
    }
    eval_metrics_read(&run->metrics, &counts->sum);
    if (!run->stopped)
        TRY(meet_others(run, &counts->sum, &account, err));
    else /* does not wait for the others, which may take hours: their last reports count */
        count_trained(run, &counts->sum, false, &account, NULL);
    s->at_end = !run->stopped;
    s->save = (struct model_info){.epoch = run->span.number, .complete = s->at_end, .known = true};
    memcpy(s->save.run, run->id, sizeof s->save.run);
    epoch_row_fill(row, &run->metrics, &counts->sum);
    take_account(run, &account, row);
    counts->complete = s->save.complete;
    return SKIFF_OK;
}

/* ---- the end ---- */

static enum skiff_status servers_finish(struct train_run *run, struct skiff_error *err)
{
    if (run->early && !run->wants_end)
        logger_info(&run->task.logger, "early stop: validation found no improvement");
    return skiff_fleet_stop_worker(servers_of(run)->job.fleet, err);
}

static void servers_abort(struct train_run *run, const char *reason)
{
    struct servers *s = servers_of(run);
    if (s && s->job.fleet)
        skiff_fleet_abandon_worker(s->job.fleet, reason);
}

/* In the midst of an epoch, or behind one that is complete. */
static void servers_print_stopped(const struct train_run *run, struct buf *out)
{
    const struct servers *s = servers_of(run);
    int epoch = s->save.epoch;
    if (s->part_saved)
        buf_printf(out, "stopped in epoch %d; the part is saved in %s/%d", epoch, run->save_path,
                   epoch);
    else if (s->save.known && s->at_end && !s->save.complete)
        buf_printf(out,
                   "stopped after epoch %d, which is incomplete: files of a worker are missing; "
                   "--resume trains it again",
                   epoch);
    else if (s->save.known && s->at_end)
        buf_printf(out,
                   "stopped after epoch %d, which is complete; --resume continues with epoch %d",
                   epoch, epoch + 1);
    else
        buf_printf(out, "stopped in epoch %d; --resume continues", run->span.number);
}

static void servers_close(struct train_run *run)
{
    struct servers *s = servers_of(run);
    if (!s)
        return;
    job_close(&s->job);
    buf_deinit(&s->start_text);
    free(s);
    run->home.self = NULL;
}

const struct home_slots home_servers = {.open = servers_open,
                                        .serve = servers_serve,
                                        .open_data = servers_open_data,
                                        .join = servers_join,
                                        .shuffle = servers_shuffle,
                                        .tick = servers_tick,
                                        .reduce = servers_reduce,
                                        .keep = servers_keep,
                                        .save_now = servers_save_now,
                                        .await_saved = servers_await_saved,
                                        .finish = servers_finish,
                                        .abort = servers_abort,
                                        .print_stopped = servers_print_stopped,
                                        .close = servers_close};
