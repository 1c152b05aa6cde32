/* Saved sparse tables for infer, predict and validation (saved_tables.h). Rows are loaded into a
 * server inside this process, so that the program looks them up as in a job. Nothing is written
 * back: lookups do not create rows, an unknown id is read as zeros. */
#include "task/saved_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "task/task_tables.h"
#include "executor/executor.h"
#include "fleet/fleet_log.h"
#include "fs/fs.h"
#include "io/io.h"
#include "store/file.h"
#include "store/folder_save.h"

struct saved_tables {
    struct task *reader; /* whose program runs as the fleet's */
    struct task trained; /* the same network with its optimizer: tables get their rules from it */
    bool opened;
    struct task_tables settings;
    struct skiff_fleet *fleet;
    uint64_t seed;
    struct buf disk; /* the folder of rows that are not in memory; "": all are */
};

void saved_tables_close(struct saved_tables *s)
{
    if (!s)
        return;
    if (s->reader->main)
        program_run_as(s->reader->main, NULL);
    skiff_fleet_destroy(s->fleet);
    if (s->disk.len)
        file_remove_tree(s->disk.data);
    buf_deinit(&s->disk);
    task_tables_deinit(&s->settings);
    if (s->opened)
        task_close(&s->trained);
    free(s);
}

/* ---- the tables ---- */

static void on_log(void *user, enum log_level level, const char *line)
{
    const struct saved_tables *s = user;
    if (level >= LOG_WARN)
        logger_line(&s->reader->logger, level, "%s", line);
}

static bool is_table(const struct saved_tables *s, const char *name)
{
    for (int i = 0; i < skiff_fleet_tables(s->fleet); i++)
        if (!strcmp(skiff_fleet_table_name(s->fleet, i), name))
            return true;
    return false;
}

static bool has_settings(const struct saved_tables *s, const char *table)
{
    for (int i = 0; i < s->settings.n; i++)
        if (!strcmp(s->settings.at[i].table, table))
            return true;
    return false;
}

/* Distributed tables without settings are saved with the dense parameters: here they are some. */
static void keep_plain(struct saved_tables *s)
{
    const struct skiff_block *b = program_root(s->trained.main);
    for (int i = 0; i < b->nops; i++) {
        const char *w = op_in1(b->ops[i], "W");
        if (w && op_attr(b->ops[i], "is_distributed") && !has_settings(s, w))
            op_set_bool(s->trained.main, b->ops[i], "is_distributed", false);
    }
}

/* Rows on disk get a folder of this process, below the one that the config has for them: servers of
 * a job that runs have theirs there. */
static void move_disk(struct saved_tables *s)
{
    struct task_tables *t = &s->settings;
    for (int i = 0; i < t->n; i++) {
        struct skiff_table_settings *x = &t->at[i];
        if (!strstr(x->settings, "memory_policy disk") && !strstr(x->settings, "SSDSparseTable"))
            continue;
        const char *name = arena_printf(&t->arena, "%s.path", x->table);
        const char *path = member_text(s->trained.config, KEY_TABLE_PARAMETERS, name, ".");
        if (!s->disk.len)
            buf_printf(&s->disk, "%s/.skiff-read-%d-%08x", path, (int)getpid(),
                       (unsigned)rng_entropy());
        x->settings = arena_printf(&t->arena, "%spath %s\n", x->settings, s->disk.data);
    }
}

static enum skiff_status open_tables(struct saved_tables *s, const char *path,
                                     struct skiff_error *err)
{
    struct skiff_role role = {.role = SKIFF_WORKER, .worker_num = 1};
    struct skiff_strategy strategy = {.mode = "async", .threads = task_threads(&s->trained)};
    TRY(task_tables_read(&s->settings, &s->trained, strategy.mode, err));
    if (!s->settings.n)
        return error_set(err, SKIFF_INVALID,
                         "%s contains sparse tables, but the config has no settings for them: add "
                         "the table_parameters of the job that saved it",
                         path);
    keep_plain(s);
    move_disk(s);
    strategy.tables = s->settings.at;
    strategy.ntables = s->settings.n;
    s->fleet = skiff_fleet_create();
    fleet_on_log(s->fleet, on_log, s);
    TRY(skiff_fleet_init_user(s->fleet, &role, err));
    s->seed = task_seed(&s->trained);
    return skiff_fleet_split(s->fleet, s->trained.main, s->trained.startup, &strategy, err);
}

static enum skiff_status run_startup(struct saved_tables *s, struct skiff_error *err)
{
    struct skiff_executor *e = executor_create(
        s->reader->scope, &(struct executor_options){.seed = s->seed, .has_seed = true});
    enum skiff_status status =
        executor_run(e, skiff_fleet_startup_program(s->fleet), NULL, 0, NULL, 0, NULL, err);
    executor_destroy(e);
    return status;
}

/* The job's servers had a limit each; here all of their rows are in one process. */
static void log_dropped(const struct saved_tables *s, int table)
{
    struct skiff_table_state state = {0};
    if (skiff_fleet_table_state(s->fleet, table, &state, NULL) < 0)
        return;
    if (state.evicted)
        logger_warn(&s->reader->logger,
                    "table %s: %llu rows were dropped for memory and are read as zeros; raise its "
                    "memory_limit (or runner.memory_limit), or set memory_policy: disk",
                    skiff_fleet_table_name(s->fleet, table), (unsigned long long)state.evicted);
    logger_info(&s->reader->logger, "table %s: %llu rows are loaded",
                skiff_fleet_table_name(s->fleet, table), (unsigned long long)state.rows);
}

/* ---- the network behind them ---- */

/* Has the saved network all parameters of ours? One for other targets may lack some. */
static bool has_all(const struct saved_tables *s, const struct skiff_program *network)
{
    const struct skiff_block *b = program_root(s->reader->main), *n = program_root(network);
    for (size_t i = 0; i < b->vars.count; i++) {
        const struct skiff_var *v = b->vars.entries[i].value;
        if (v->param && !is_table(s, v->name) && !block_find_var(n, v->name))
            return false;
    }
    return true;
}

static enum skiff_status load_dense(struct saved_tables *s, const char *path,
                                    struct skiff_error *err)
{
    struct buf plugin = BUF_INIT;
    struct skiff_model network = {0};
    enum skiff_status status = SKIFF_OK;
    bool all = false;
    buf_printf(&plugin, "%s/dnn_plugin", path);
    if (file_is_dir(plugin.data)) {
        status = io_load_inference(s->reader->scope, plugin.data, NULL, NULL, &network, err);
        all = status == SKIFF_OK && has_all(s, network.program);
        io_model_deinit(&network);
    }
    buf_deinit(&plugin);
    if (status < 0 || all)
        return status;
    return skiff_fleet_load_table(s->fleet, skiff_fleet_tables(s->fleet), path, 0, err);
}

/* ---- all together ---- */

/* Deltas and bases of days went through the converter of their mode, and come back through its
 * deconverter; their folders' names tell which it was (docs/guide/online.md). */
static int mode_of(const char *path)
{
    size_t n;
    const char *name = path_last(path, &n);
    if (n == 4 && !strncmp(name, "base", 4))
        return 2;
    return n > 6 && !strncmp(name, "delta-", 6) ? 1 : 0;
}

static enum skiff_status load_all(struct saved_tables *s, const char *path, struct skiff_error *err)
{
    if (path)
        TRY(folder_save_check(path, err));
    TRY(task_open(&s->trained, s->reader->args, TASK_TRAINS, err));
    s->opened = true;
    TRY(open_tables(s, path, err));
    TRY(run_startup(s, err));
    for (int i = 0; path && i < skiff_fleet_tables(s->fleet); i++) {
        TRY(skiff_fleet_load_table(s->fleet, i, path, mode_of(path), err));
        log_dropped(s, i);
    }
    if (path)
        TRY(load_dense(s, path, err));
    program_run_as(s->reader->main, skiff_fleet_main_program(s->fleet));
    return SKIFF_OK;
}

enum skiff_status saved_tables_load(struct task *j, const char *path, struct skiff_error *err)
{
    struct saved_tables *s = mem_alloc_or_die(sizeof(*s));
    saved_tables_close(j->saved_tables);
    *s = (struct saved_tables){.reader = j};
    j->saved_tables = s;
    enum skiff_status status = load_all(s, path, err);
    if (status < 0) {
        saved_tables_close(s);
        j->saved_tables = NULL;
    }
    return status;
}
