/* Online training: what is saved when, and from which model a run starts.
 *
 * A model is written before its line in the donefile: a run that is killed between the two repeats
 * the pass. After a pass the delta is saved before the checkpoint: a run that resumes from that
 * checkpoint has saved all deltas up to it, and the changes since the last delta are counted
 * anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/day.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/plural.h"
#include "train/checkpoint.h"
#include "train/job_tables.h"
#include "train/online_parts.h"
#include "fleet/epochs.h"
#include "fs/fs.h"
#include "store/folder_save.h"
#include "save/save.h"

static bool has_features(const struct online *o)
{
    return skiff_fleet_tables(o->job.fleet) > 0;
}

/* ---- what a run begins with ---- */

/* NOT_FOUND, FORMAT and so on: it is not there, or not whole. */
static enum skiff_status look_at(const struct online *o, const char *dir, struct skiff_error *err)
{
    struct model_info note;
    struct fs_stat st;
    struct buf part = BUF_INIT;
    TRY(fs_look(NULL, dir, &st, err));
    if (!has_features(o))
        return model_check(dir, &note, err);
    buf_printf(&part, "%s/000", dir);
    enum skiff_status status = fs_look(NULL, part.data, &st, err);
    buf_deinit(&part);
    return status < 0 ? status : folder_save_check(dir, err);
}

/* Where a line's model is: where this run would put it, or where the line says. */
static enum skiff_status folder_of(struct online *o, const struct done_line *line,
                                   struct skiff_error *err)
{
    struct fs_stat st;
    done_path(o->run->save_path, DONE_MODEL, line->day, line->pass, &o->start_path);
    enum skiff_status status = fs_look(NULL, o->start_path.data, &st, err);
    if (status == SKIFF_NOT_FOUND && fs_look(NULL, line->path, &st, NULL) == SKIFF_OK) {
        buf_reset(&o->start_path);
        buf_str(&o->start_path, line->path);
    }
    return status == SKIFF_NOT_FOUND ? SKIFF_OK : status;
}

/* *found: it is there and looks whole. */
static enum skiff_status find_model(struct online *o, const struct done_line *line, bool *found,
                                    struct skiff_error *err)
{
    struct skiff_error why = {0};
    TRY(folder_of(o, line, err));
    enum skiff_status status = look_at(o, o->start_path.data, &why);
    *found = status == SKIFF_OK;
    if (fs_no_answer(o->start_path.data, status)) {
        if (err)
            *err = why;
        return status;
    }
    if (status < 0)
        logger_warn(&o->run->task.logger, "%s is incomplete and is ignored: %s", o->start_path.data,
                    why.message);
    return SKIFF_OK;
}

/* The newest of the first n listed models that is there. Where another machine does not answer
 * nobody knows: the run does not begin with an older one, over those that are saved. */
static enum skiff_status find_newest(struct online *o, int n, struct skiff_error *err)
{
    bool found = false;
    o->key = time(NULL);
    for (o->from = n; !found && o->from-- > 0;)
        TRY(find_model(o, &o->models.at[o->from], &found, err));
    if (o->from < 0)
        buf_reset(&o->start_path);
    else
        o->key = o->models.at[o->from].key;
    o->step = o->from + 1;
    return SKIFF_OK;
}

static enum skiff_status read_list(struct online *o, struct done_list *l, enum done_kind kind,
                                   struct skiff_error *err)
{
    enum skiff_status status = done_list_read(l, o->run->save_path, kind, err);
    if (l->warning[0])
        logger_warn(&o->run->task.logger, "%s", l->warning);
    return status;
}

enum skiff_status online_find(struct online *o, struct skiff_error *err)
{
    TRY(read_list(o, &o->models, DONE_MODEL, err));
    TRY(read_list(o, &o->bases, DONE_BASE, err));
    TRY(read_list(o, &o->patches, DONE_PATCH, err));
    return find_newest(o, o->models.n, err);
}

/* Does it say something about files, not about the job or a machine? */
static bool is_damage(const char *path, enum skiff_status status)
{
    if (fs_no_answer(path, status))
        return false;
    return status == SKIFF_NOT_FOUND || status == SKIFF_FORMAT || status == SKIFF_SHAPE ||
           status == SKIFF_DTYPE || status == SKIFF_RANGE || status == SKIFF_IO;
}

/* The first worker. A load that fails has changed nothing (docs/guide/tables-servers.md), so the
 * one before it may be taken. When none can be loaded the fault is not one model's (another
 * shard_num, a folder that may not be read): the run does not begin anew, over all that is saved.
 */
static enum skiff_status load_newest(struct online *o, struct skiff_error *err)
{
    struct skiff_error newest;
    for (int tried = 0;; tried++) {
        enum skiff_status status = job_tables_load(&o->job, o->start_path.data, err);
        if (!is_damage(o->start_path.data, status))
            return status;
        if (!tried)
            newest = *err;
        char *left_out = mem_strdup_or_die(o->start_path.data);
        struct skiff_error damage = *err;
        status = find_newest(o, o->from, err);
        if (status == SKIFF_OK && o->from >= 0)
            logger_warn(&o->run->task.logger, "%s is damaged and is ignored, trying %s: %s",
                        left_out, o->start_path.data, damage.message);
        free(left_out);
        TRY(status);
        if (o->from < 0) {
            *err = newest;
            return tried ? error_prefix(err, err->code,
                                        "%d model%s in donefile.txt cannot be loaded; the newest",
                                        tried + 1, plural(tried + 1))
                         : err->code;
        }
    }
}

/* All workers: the model that the first one could have loaded is where all continue. */
static enum skiff_status load_listed(struct online *o, struct skiff_error *err)
{
    bool first = skiff_fleet_is_first_worker(o->job.fleet);
    if (first)
        TRY(load_newest(o, err));
    int64_t lines = first ? o->from + 1 : 0;
    TRY(online_barrier(o, &lines, 1, err));
    if (lines != o->from + 1)
        TRY(find_newest(o, (int)lines, err));
    return job_tables_share(&o->job, &o->run->task, err);
}

enum skiff_status online_load(struct online *o, struct skiff_error *err)
{
    bool first = skiff_fleet_is_first_worker(o->job.fleet), sparse_table = has_features(o);
    const char *init = task_start_path(&o->run->task);
    const char *path = o->start_path.len ? o->start_path.data : init;
    if (path && !skiff_fleet_server_num(o->job.fleet) && !sparse_table)
        TRY(checkpoint_load(&o->run->task, path, err));
    TRY(sparse_table && o->from >= 0 ? load_listed(o, err)
                                     : job_tables_begin(&o->job, &o->run->task, path, err));
    path = o->start_path.len ? o->start_path.data : init;
    if (sparse_table && first && o->from >= 0 && o->models.at[o->from].pass == DONE_DAY_BEGINS)
        TRY(epochs_pass_day(o->job.fleet, err));
    if (path && first)
        logger_info(&o->run->task.logger, "resuming from %s", path);
    return SKIFF_OK;
}

/* ---- saving ---- */

struct saving {
    struct online *o;
    enum done_kind kind;
    int day, pass;
    struct buf dir;
    const struct save_attempts *attempts;
};

/* What servers have now, marked: all of it is of one instant. */
static enum skiff_status save_checkpoint(struct saving *s, const struct io_inference *what,
                                         struct skiff_error *err)
{
    struct online *o = s->o;
    o->note.epoch = o->step;
    o->note.complete = o->note.known = true;
    TRY(epochs_mark(o->job.fleet, o->step, err));
    TRY(epochs_save(
        o->job.fleet, o->run->task.scope,
        &(struct epochs_save){
            .dir = s->dir.data, .note = o->note, .inference = what, .attempts = s->attempts},
        err));
    return epochs_saved(o->job.fleet, o->step++, true, NULL, err);
}

static enum skiff_status save_whole(struct saving *s, struct skiff_error *err)
{
    struct online *o = s->o;
    struct checkpoint_names names;
    checkpoint_inference(&o->run->task, &names);
    const struct io_inference *what = &names.what;
    if (s->kind == DONE_MODEL)
        return save_checkpoint(s, what, err);
    buf_str(&s->dir, "/000");
    struct epochs_inference to = {s->dir.data, false, s->attempts};
    enum skiff_status status =
        epochs_save_inference(o->job.fleet, o->run->task.scope, what, &to, err);
    s->dir.data[s->dir.len -= strlen("/000")] = 0;
    return status;
}

static enum skiff_status save_model(struct saving *s, struct skiff_error *err)
{
    int mode = s->kind == DONE_PATCH        ? 1
               : s->kind == DONE_BASE       ? 2
               : s->pass == DONE_DAY_BEGINS ? 3
                                            : 0;
    if (has_features(s->o))
        return job_tables_save(&s->o->job, &s->o->run->task, s->dir.data, mode, s->attempts, err);
    return save_whole(s, err);
}

static bool wants_stop(void *user)
{
    const struct online *o = user;
    return control_wants_stop(o->run->control);
}

static struct done_list *list_of(struct online *o, enum done_kind kind)
{
    return kind == DONE_MODEL ? &o->models : kind == DONE_BASE ? &o->bases : &o->patches;
}

/* The model, then its line. By the first worker. */
static enum skiff_status save(struct online *o, enum done_kind kind, int day, int pass,
                              struct skiff_error *err)
{
    struct save_attempts attempts = {
        .wants_stop = wants_stop, .user = o, .log = &o->run->task.logger};
    struct saving s = {.o = o, .kind = kind, .day = day, .pass = pass, .attempts = &attempts};
    struct done_list *list = list_of(o, kind);
    double start = clock_seconds();
    done_path(o->run->save_path, kind, day, pass, &s.dir);
    enum skiff_status status = save_model(&s, err);
    if (status == SKIFF_OK && !(kind == DONE_MODEL && done_list_has(list, day, pass)))
        status =
            done_list_add(list, o->run->save_path, kind,
                          &(struct done_add){.day = day,
                                             .pass = pass,
                                             .key = o->key,
                                             .id = kind == DONE_BASE ? o->key : (int64_t)time(NULL),
                                             .monitor = o->metric},
                          err);
    if (status == SKIFF_OK && kind == DONE_MODEL) {
        buf_reset(&o->saved);
        buf_str(&o->saved, s.dir.data);
        o->save_seconds = clock_seconds() - start;
    }
    if (status == SKIFF_OK)
        logger_info(&o->run->task.logger, "saved %s in %.1f s", s.dir.data,
                    clock_seconds() - start);
    else
        error_prefix(err, status, "%s", s.dir.data);
    buf_deinit(&s.dir);
    return status;
}

static void log_layout(struct online *o)
{
    if (!has_features(o) && !o->layout_logged && skiff_fleet_is_first_worker(o->job.fleet))
        logger_info(&o->run->task.logger,
                    "no sparse table: base and delta saves are complete models");
    o->layout_logged = true;
}

/* All workers are here, and all that they have learned is with the servers. */
static enum skiff_status begin_saves(struct online *o, struct skiff_error *err)
{
    log_layout(o);
    TRY(skiff_fleet_flush(o->job.fleet, err));
    return skiff_fleet_barrier_worker(o->job.fleet, err);
}

static enum skiff_status end_saves(struct online *o, struct skiff_error *err)
{
    struct train_run *run = o->run;
    struct model_info note = o->note;
    TRY(skiff_fleet_barrier_worker(o->job.fleet, err));
    if (!o->saved.len || !run->span.name) /* a run that has not trained shows nothing */
        return SKIFF_OK;
    struct train_saved what = {
        .note = &note, .folder = o->saved.data, .seconds = o->save_seconds, .saved = true};
    note.epoch = run->span.number;
    note.complete = note.known = true;
    enum skiff_status status = observers_saved(&run->observers, &what, err);
    buf_reset(&o->saved);
    return status;
}

/* Is a line of that day and pass, or a later one, there? */
static bool is_past(const struct done_list *l, int day, int pass)
{
    const struct done_line *last = done_list_last(l);
    return last && (last->day > day || (last->day == day && last->pass >= pass));
}

static enum skiff_status save_base(struct online *o, int day, struct skiff_error *err)
{
    const struct done_line *last = done_list_last(&o->bases);
    if (last && last->day >= day) {
        o->key = last->key;
        return SKIFF_OK;
    }
    o->key = time(NULL);
    return save(o, DONE_BASE, day, DONE_DAY_BEGINS, err);
}

enum skiff_status online_first_base(struct online *o, struct skiff_error *err)
{
    const struct done_line *last = done_list_last(&o->bases);
    if (o->based || !o->plan.first_base)
        return SKIFF_OK;
    o->based = true;
    if (last && last->day > o->day)
        return SKIFF_OK;
    TRY(begin_saves(o, err));
    if (skiff_fleet_is_first_worker(o->job.fleet))
        TRY(save_base(o, o->day, err));
    return end_saves(o, err);
}

enum skiff_status online_save_pass(struct online *o, struct skiff_error *err)
{
    bool last = o->run->early; /* nothing of a run that ends early is trained again */
    bool checkpoint = (last || o->pass % o->plan.checkpoint == 0) && o->pass != o->plan.passes;
    bool delta = o->pass % o->plan.delta == 0;
    if (!checkpoint && !delta)
        return SKIFF_OK;
    TRY(begin_saves(o, err));
    if (skiff_fleet_is_first_worker(o->job.fleet)) {
        if (delta && !is_past(&o->patches, o->day, o->pass))
            TRY(save(o, DONE_PATCH, o->day, o->pass, err));
        if (checkpoint)
            TRY(save(o, DONE_MODEL, o->day, o->pass, err));
    }
    return end_saves(o, err);
}

enum skiff_status online_end_day(struct online *o, struct skiff_error *err)
{
    int next = day_next(o->day);
    bool first = skiff_fleet_is_first_worker(o->job.fleet);
    if (has_features(o)) {
        TRY(begin_saves(o, err));
        if (first)
            TRY(skiff_fleet_shrink(o->job.fleet, -1, err));
        if (first)
            job_tables_print(o->job.fleet, &o->run->task.logger);
    }
    TRY(begin_saves(o, err));
    if (first) {
        TRY(save_base(o, next, err));
        TRY(save(o, DONE_MODEL, next, DONE_DAY_BEGINS, err));
    }
    return end_saves(o, err);
}
