/* Sparse tables of a running job: loading and saving them with the model, shrinking, and printing
 * their state. Rows are on the servers, so every save and load is a request to all of them; one
 * worker sends it. The tables of an epoch appear together with its dense parameters (checkpoint.h)
 * or not at all. */
#include "train/job_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "train/checkpoint.h"
#include "fleet/epochs.h"
#include "net/ps.h"
#include "program/op_kind.h"
#include "save/contents.h"
#include "store/file.h"
#include "store/folder_save.h"
#include "save/sources.h"

#define ASK_SECONDS 2

/* ---- how they are ---- */

/* Of one table, or of all (-1). */
static enum skiff_status ask(struct skiff_fleet *f, int table, struct ps_table_state *out,
                             struct skiff_error *err)
{
    int first = table < 0 ? 0 : table, end = table < 0 ? skiff_fleet_tables(f) : table + 1;
    memset(out, 0, sizeof *out);
    for (int i = first; i < end; i++) {
        struct skiff_table_state s = {0};
        TRY(skiff_fleet_table_state(f, i, &s, err));
        struct ps_table_state one = {.rows = s.rows, /* those on disk, too */
                                     .bytes = s.bytes,
                                     .admitted = s.admitted,
                                     .refused = s.refused,
                                     .expired = s.expired,
                                     .evicted = s.evicted,
                                     .hits = s.hits,
                                     .misses = s.misses,
                                     .disk_rows = s.disk_rows,
                                     .disk_bytes = s.disk_bytes,
                                     .written_bytes = s.written_bytes,
                                     .limit = s.limit,
                                     .waiting = s.waiting,
                                     .fetched = s.fetched,
                                     .written_rows = s.written_rows};
        ps_table_state_add(out, &one);
    }
    return SKIFF_OK;
}

void job_tables_look(struct skiff_fleet *f, struct job_tables_line *line)
{
    struct ps_table_state sum;
    struct buf text = BUF_INIT;
    double now = clock_seconds();
    if (!skiff_fleet_tables(f) || now < line->due)
        return;
    line->due = now + ASK_SECONDS;
    if (ask(f, -1, &sum, NULL) < 0)
        return; /* what is wrong with the network is noticed by those who train */
    buf_str(&text, "tables ");
    ps_table_state_text(&sum, true, &text);
    snprintf(line->text, sizeof line->text, "%s", text.data);
    buf_deinit(&text);
}

void job_tables_print(struct skiff_fleet *f, const struct logger *log)
{
    struct ps_table_state state;
    for (int i = 0; i < skiff_fleet_tables(f) && ask(f, i, &state, NULL) == SKIFF_OK; i++) {
        struct buf text = BUF_INIT;
        ps_table_state_text(&state, false, &text);
        logger_info(log, "table %s: %s", skiff_fleet_table_name(f, i), text.data);
        buf_deinit(&text);
    }
}

/* What shard files do not have, for `skiff inspect table`: a line per table, "000 name: ...". */
static enum skiff_status save_states(struct skiff_fleet *f, const char *dir,
                                     struct skiff_error *err)
{
    struct buf path = BUF_INIT, text = BUF_INIT;
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; status == SKIFF_OK && i < skiff_fleet_tables(f); i++) {
        struct ps_table_state s;
        status = ask(f, i, &s, err);
        buf_printf(&text, "%03d %s: ", i, skiff_fleet_table_name(f, i));
        ps_table_state_text(&s, false, &text);
        buf_str(&text, "\n");
    }
    buf_printf(&path, "%s/" SAVE_TABLE_STATES, dir);
    if (status == SKIFF_OK)
        status = file_write(path.data, text.data, text.len, err);
    buf_deinit(&path);
    buf_deinit(&text);
    return status;
}

/* ---- saves ---- */

static bool is_table(struct skiff_fleet *f, const char *name)
{
    for (int i = 0; name && i < skiff_fleet_tables(f); i++)
        if (!strcmp(skiff_fleet_table_name(f, i), name))
            return true;
    return false;
}

static bool reads(const struct skiff_op *op, const char *name)
{
    const struct op_arg *ids = op_in(op, "Ids");
    for (int i = 0; ids && i < ids->n; i++)
        if (!strcmp(ids->names[i], name))
            return true;
    return false;
}

/* The network behind the tables: it takes the rows that are looked up, and inputs that are no ids
 * of them. */
static int find_feeds(struct train_job *j, struct task *task, const struct io_inference *what,
                      const char **feeds)
{
    const struct skiff_block *b = program_root(task->main);
    int inputs = checkpoint_feeds(task, what->targets, what->ntargets, false, feeds), n = 0;
    for (int i = 0; i < inputs; i++) {
        bool id = false;
        for (int k = 0; k < b->nops && !id; k++)
            id = is_table(j->fleet, op_in1(b->ops[k], "W")) && reads(b->ops[k], feeds[i]);
        if (!id)
            feeds[n++] = feeds[i];
    }
    for (int k = 0; k < b->nops && n < SKIFF_MODEL_MAX_INPUTS; k++)
        if (op_is(b->ops[k], CLASS_LOOKUP) && is_table(j->fleet, op_in1(b->ops[k], "W")))
            feeds[n++] = op_out1(b->ops[k], "Out");
    return n;
}

static enum skiff_status save_network(struct train_job *j, struct task *task, const char *dir,
                                      struct skiff_error *err)
{
    struct checkpoint_names names;
    const char **feeds = mem_alloc_or_die((SKIFF_MODEL_MAX_INPUTS + 1) * sizeof *feeds);
    struct buf path = BUF_INIT;
    checkpoint_inference(task, &names);
    int n = find_feeds(j, task, &names.what, feeds);
    buf_printf(&path, "%s/dnn_plugin", dir);
    enum skiff_status status =
        skiff_fleet_save_inference_model(j->fleet, task->scope, feeds, n, names.what.targets,
                                         names.what.ntargets, path.data, false, err);
    buf_deinit(&path);
    free(feeds);
    return status;
}

struct tables_saving {
    struct train_job *job;
    struct task *task;
    int mode;
    bool network;
};

/* Tables come last: a delta that was written counts, and nothing behind it may fail for want of
 * room, or a second try would lack its rows. */
static enum skiff_status write_model(void *user, struct save *s, struct skiff_error *err)
{
    const struct tables_saving *w = user;
    const char *dir = s->folder.path;
    bool whole = w->mode == 0 || w->mode == 3;
    if (w->network)
        TRY(save_network(w->job, w->task, dir, err));
    TRY(save_states(w->job->fleet, dir, err));
    if (!whole)
        return skiff_fleet_save_table(w->job->fleet, -1, dir, w->mode, err);
    TRY(epochs_save_waiting(w->job->fleet, dir, err));
    return skiff_fleet_save_model(w->job->fleet, dir, w->mode, err);
}

/* All of it appears atomically, instead of what is there. note: NULL, or what its manifest
 * says. */
static enum skiff_status save(struct tables_saving *w, const char *dir,
                              const struct model_info *note, const struct save_attempts *attempts,
                              struct skiff_error *err)
{
    struct save_source sources[] = {{write_model, w},
                                    {save_write_position, (void *)note},
                                    {epochs_write_members, w->job->fleet},
                                    {epochs_write_rpc, w->job->fleet}};
    return save_write(&(struct save_plan){.path = dir,
                                          .layout = SAVE_LAYOUT_TABLES,
                                          .info = note,
                                          .sources = sources,
                                          .nsources = note ? 4 : 1,
                                          .attempts = attempts},
                      err);
}

enum skiff_status job_tables_save(struct train_job *j, struct task *task, const char *dir, int mode,
                                  const struct save_attempts *attempts, struct skiff_error *err)
{
    struct tables_saving w = {j, task, mode, mode == 1 || mode == 2};
    return save(&w, dir, NULL, attempts, err);
}

enum skiff_status job_tables_save_epoch(struct train_job *j, struct task *task, const char *dir,
                                        const struct model_info *note,
                                        const struct save_attempts *attempts,
                                        struct skiff_error *err)
{
    struct tables_saving w = {j, task, 0, true};
    return save(&w, dir, note, attempts, err);
}

enum skiff_status job_tables_load(struct train_job *j, const char *dir, struct skiff_error *err)
{
    TRY(folder_save_check(dir, err));
    return skiff_fleet_load_model(j->fleet, dir, 0, err);
}

enum skiff_status job_tables_begin(struct train_job *j, struct task *task, const char *dir,
                                   struct skiff_error *err)
{
    if (!dir || !skiff_fleet_tables(j->fleet))
        return SKIFF_OK;
    if (skiff_fleet_is_first_worker(j->fleet))
        TRY(job_tables_load(j, dir, err));
    return job_tables_share(j, task, err);
}

enum skiff_status job_tables_share(struct train_job *j, struct task *task, struct skiff_error *err)
{
    TRY(skiff_fleet_barrier_worker(j->fleet, err));
    /* what servers have now; one process alone has loaded its own, which startup would undo */
    return skiff_fleet_server_num(j->fleet) ? job_startup(j, task, err) : SKIFF_OK;
}
