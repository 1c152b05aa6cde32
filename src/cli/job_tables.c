#include "cli/job_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/checkpoint.h"
#include "fs/fs.h"
#include "store/file.h"

#define ASK_SECONDS 2

/* ---- how they are ---- */

static const char *bytes_text(uint64_t n, char out[static 32])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double v = (double)n;
    int u = 0;
    for (; v >= 1000 && u < 4; u++)
        v /= 1000;
    snprintf(out, 32, u ? "%.3g %s" : "%.0f %s", v, units[u]);
    return out;
}

void job_tables_progress(struct skiff_fleet *f, struct progress *p)
{
    uint64_t rows = 0, bytes = 0;
    char text[32];
    int n = skiff_fleet_tables(f);
    double now = clock_seconds();
    if (!n || now < p->tables_due)
        return;
    p->tables_due = now + ASK_SECONDS;
    for (int i = 0; i < n; i++) {
        struct skiff_table_state s = {0};
        if (skiff_fleet_table_state(f, i, &s, NULL) < 0)
            return;     /* what is wrong with the network is noticed by those who train */
        rows += s.rows; /* those on disk, too */
        bytes += s.bytes;
    }
    snprintf(p->tables, sizeof p->tables, "tables %llu rows, %s", (unsigned long long)rows,
             bytes_text(bytes, text));
}

void job_tables_say(struct skiff_fleet *f)
{
    for (int i = 0; i < skiff_fleet_tables(f); i++) {
        struct skiff_table_state s = {0};
        char text[32];
        if (skiff_fleet_table_state(f, i, &s, NULL) < 0)
            return;
        log_info("table %s: %llu rows, %s, %llu admitted, %llu refused, %llu expired, %llu "
                 "dropped for memory",
                 skiff_fleet_table_name(f, i), (unsigned long long)s.rows,
                 bytes_text(s.bytes, text), (unsigned long long)s.admitted,
                 (unsigned long long)s.refused, (unsigned long long)s.expired,
                 (unsigned long long)s.evicted);
        if (s.disk_rows || s.misses)
            log_info("table %s: %llu rows on disk, hit rate %.1f %%", skiff_fleet_table_name(f, i),
                     (unsigned long long)s.disk_rows,
                     s.hits + s.misses ? 100.0 * (double)s.hits / (double)(s.hits + s.misses) : 0);
    }
}

/* ---- saves ---- */

enum skiff_status job_tables_check_place(struct skiff_fleet *f, const char *folder,
                                         struct skiff_error *err)
{
    if (!skiff_fleet_tables(f) || !fs_is_remote(folder))
        return SKIFF_OK;
    return error_set(err, SKIFF_UNSUPPORTED,
                     "runner.model_save_path: %s: tables of features (table_parameters) are saved "
                     "into folders of this machine alone; save there, and copy",
                     folder);
}

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
static int find_feeds(struct job *j, struct task *task, const struct io_inference *what,
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
        if (!strncmp(b->ops[k]->type, "lookup_table", 12) && !strstr(b->ops[k]->type, "grad") &&
            is_table(j->fleet, op_in1(b->ops[k], "W")))
            feeds[n++] = op_out1(b->ops[k], "Out");
    return n;
}

static enum skiff_status save_network(struct job *j, struct task *task, const char *dir,
                                      struct skiff_error *err)
{
    struct checkpoint_names names;
    const char **feeds = mem_must((SKIFF_MODEL_MAX_INPUTS + 1) * sizeof *feeds);
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

enum skiff_status job_tables_save(struct job *j, struct task *task, const char *dir, int mode,
                                  struct skiff_error *err)
{
    if (mode == 0 || mode == 3)
        return skiff_fleet_save_model(j->fleet, dir, mode, err);
    TRY(save_network(j, task, dir, err)); /* changes nothing when it fails: first */
    return skiff_fleet_save_table(j->fleet, -1, dir, mode, err);
}

enum skiff_status job_tables_save_epoch(struct job *j, struct task *task, const char *dir,
                                        const struct model_note *note, struct skiff_error *err)
{
    struct model_writer w;
    struct buf old = BUF_INIT;
    buf_printf(&old, "%s/" MANIFEST_FILE, dir);
    file_remove_tree(old.data); /* of an earlier run: it would vouch for what is being written */
    buf_deinit(&old);
    TRY(job_tables_save(j, task, dir, 0, err));
    TRY(save_network(j, task, dir, err));
    TRY(model_writer_open(&w, dir, err));
    model_writer_describe(&w, note);
    return model_writer_commit(&w, err);
}

enum skiff_status job_tables_begin(struct job *j, struct task *task, const char *dir,
                                   struct skiff_error *err)
{
    if (!dir || !skiff_fleet_tables(j->fleet))
        return SKIFF_OK;
    if (skiff_fleet_is_first_worker(j->fleet))
        TRY(skiff_fleet_load_model(j->fleet, dir, 0, err));
    TRY(skiff_fleet_barrier_worker(j->fleet, err));
    /* what servers have now; one process alone has loaded its own, which startup would undo */
    return skiff_fleet_server_num(j->fleet) ? job_startup(j, task, err) : SKIFF_OK;
}
