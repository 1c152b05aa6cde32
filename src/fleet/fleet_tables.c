/* Sparse tables: saves, loads, shrinks. Servers do the work on their parts; this worker sends the
 * requests, and writes and reads the dense parameters, which are one more table in the files.
 *
 * This worker's queued gradients are pushed first, so that no trained value is missing. */
#include "fleet/fleet_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "fleet/epochs.h"
#include "fs/fs.h"
#include "store/file.h"
#include "store/folder_commit.h"

/* ---- which tables ---- */

static const struct job_plan *plan_of(const struct skiff_fleet *f)
{
    return f->split ? split_plan(f->split) : NULL;
}

int skiff_fleet_tables(const struct skiff_fleet *f)
{
    const struct job_plan *p = plan_of(f);
    int n = 0;
    for (int i = 0; p && i < p->ntables; i++)
        n += p->sparse_table[i] != NULL;
    return n;
}

const char *skiff_fleet_table_name(const struct skiff_fleet *f, int table)
{
    const struct job_plan *p = plan_of(f);
    for (int i = 0; p && i < p->ntables; i++)
        if (p->sparse_table[i] && !table--)
            return p->tables[i];
    return NULL;
}

/* A worker of a job with servers, which has such tables; all that it has queued is pushed. */
static enum skiff_status begin(struct skiff_fleet *f, const char *call, struct session **out,
                               struct skiff_error *err)
{
    TRY(fleet_need_init(f, call, err));
    if (fleet_is_alone(f))
        return error_set(err, SKIFF_STATE,
                         "%s: this job has no servers, and sparse tables live on them", call);
    TRY(fleet_need_session(f, call, out, err));
    if (!skiff_fleet_tables(f))
        return error_set(err, SKIFF_STATE,
                         "%s: the program has no sparse table (sparse_embedding, and a "
                         "strategy with its settings)",
                         call);
    return comm_flush(f->job, err);
}

static enum skiff_status check_table(const struct skiff_fleet *f, const char *call, int table,
                                     bool dense, struct skiff_error *err)
{
    int n = skiff_fleet_tables(f);
    if (table >= 0 && (table < n || (dense && table == n && fleet_dense_any(f))))
        return SKIFF_OK;
    return error_set(err, SKIFF_RANGE, "%s: there is no table %d; sparse tables are 0 to %d%s",
                     call, table, n - 1,
                     dense && fleet_dense_any(f) ? ", dense parameters the next number" : "");
}

/* ---- folders ---- */

/* "<dir>/<number><suffix>", as this process sees it: servers may have started elsewhere. */
static enum skiff_status folder_of(const char *dir, int table, const char *suffix, char *out,
                                   size_t capacity, struct skiff_error *err)
{
    char here[4096] = "";
    if (!*dir)
        return error_set(err, SKIFF_INVALID, "the folder of a save has no name");
    if (dir[0] != '/' && !fs_is_remote(dir) && !getcwd(here, sizeof(here)))
        return error_set(err, SKIFF_IO, "the working folder is not known: %m");
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    int len = snprintf(out, capacity, "%s%s%.*s/%03d%s", here, *here ? "/" : "", (int)n, dir, table,
                       suffix);
    if (len < 0 || (size_t)len >= capacity)
        return error_set(err, SKIFF_RANGE, "the name of folder %s is longer than %zu bytes", dir,
                         capacity - 1);
    return SKIFF_OK;
}

static enum skiff_status make_call(const struct skiff_fleet *f, uint32_t what, int table,
                                   const char *dir, const char *suffix, int mode,
                                   struct ps_table *out, struct skiff_error *err)
{
    *out = (struct ps_table){.call = what, .mode = mode};
    const char *name = skiff_fleet_table_name(f, table);
    if (strlen(name) >= sizeof(out->table))
        return error_set(err, SKIFF_RANGE, "the name of table %s is too long", name);
    strcpy(out->table, name);
    return dir ? folder_of(dir, table, suffix, out->dir, sizeof(out->dir), err) : SKIFF_OK;
}

/* ---- one save at a time ---- */

enum skiff_status skiff_fleet_begin_save(struct skiff_fleet *f, const char *dir,
                                         struct skiff_error *err)
{
    char who[160], holder[512];
    struct buf file = BUF_INIT;
    if (f->nsaving++)
        return SKIFF_OK;
    snprintf(who, sizeof(who), "worker %d%s%s", f->role.id, *f->settings.job ? " of job " : "",
             f->settings.job);
    if (!fs_is_remote(dir)) {
        buf_printf(&file, "%s/" FOLDER_LOCK_FILE, dir);
        file_make_parents(file.data, NULL); /* if servers cannot write there, they tell */
        buf_deinit(&file);
    }
    if (folder_lock_take(&f->saving, dir, who, holder, NULL) != SKIFF_END)
        return SKIFF_OK; /* where this worker may not write there is no lock */
    f->nsaving--;
    return error_set(err, SKIFF_STATE,
                     "%s is being saved to by another job: %s; wait for it, end it, or save to "
                     "another folder",
                     dir, holder);
}

void skiff_fleet_end_save(struct skiff_fleet *f)
{
    if (f->nsaving && !--f->nsaving)
        folder_lock_close(&f->saving);
}

/* ---- saving ---- */

static void keep_threshold(struct skiff_fleet *f, int table, double threshold)
{
    if (!f->thresholds)
        f->thresholds = mem_alloc_or_die((size_t)skiff_fleet_tables(f) * sizeof(*f->thresholds));
    f->thresholds[table] = threshold;
}

/* All is written: from the list on it is the new save, whoever dies. A worker that may not write
 * there has servers put one table after the other in its place. */
static enum skiff_status commit_here(const struct ps_table *calls, int n,
                                     struct dense_folder *dense, struct skiff_error *err)
{
    char **temps = mem_alloc_or_die((size_t)(n + 1) * sizeof(*temps));
    char *dir = path_parent(calls[0].dir);
    struct skiff_error why = {0};
    for (int i = 0; i < n; i++)
        temps[i] = folder_commit_name(calls[i].dir, calls[i].token);
    temps[n] = dense->path;
    enum skiff_status status =
        folder_commit_begin(dir, (const char *const *)temps, n + (dense->path != NULL), &why);
    if (status < 0 && !dense->path && (why.sys_errno == EACCES || why.sys_errno == EROFS)) {
        status = SKIFF_OK;
    } else if (status == SKIFF_OK) {
        status = folder_commit_recover(dir, &why);
        if (status < 0)
            fleet_dense_leave(dense);
    }
    for (int i = 0; i < n; i++)
        free(temps[i]);
    free(temps);
    free(dir);
    if (status < 0 && err)
        *err = why;
    return status;
}

/* Tables and dense parameters together; a single one is an instant by itself, and other machines'
 * folders have no locks. */
static enum skiff_status commit_all(const struct ps_table *calls, int n, struct dense_folder *dense,
                                    struct skiff_error *err)
{
    if (n + (dense->path != NULL) > 1 && !fs_is_remote(calls[0].dir))
        return commit_here(calls, n, dense, err);
    return dense->path ? fleet_dense_commit(dense, calls[n].dir, err) : SKIFF_OK;
}

/* Sparse tables first .. first + n, and the dense parameters. A save that cannot be written
 * leaves all tables as they were: their counters too, which a second try needs. */
static enum skiff_status save_tables(struct skiff_fleet *f, struct session *s, int first, int n,
                                     bool dense, const char *dir, int mode, struct skiff_error *err)
{
    struct ps_table *calls = mem_alloc_or_die((size_t)(n + 1) * sizeof(*calls)), *last = &calls[n];
    struct ps_table_state *sums = mem_alloc_or_die((size_t)(n + 1) * sizeof(*sums));
    struct dense_folder fresh = {.lock = -1};
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < n && status == SKIFF_OK; i++)
        status = make_call(f, PS_TABLE_SAVE, first + i, dir, "", mode, &calls[i], err);
    if (status == SKIFF_OK && dense)
        status = folder_of(dir, skiff_fleet_tables(f), "", last->dir, sizeof(last->dir), err);
    TRY_OUT(status);
    TRY_OUT(session_tables_write(s, calls, n, sums, err));
    if (dense)
        status = fleet_dense_write(f, s, last->dir, &fresh, err);
    if (status == SKIFF_OK)
        status = commit_all(calls, n, &fresh, err);
    fleet_dense_end(&fresh);
    enum skiff_status end = session_tables_end(s, calls, n, status == SKIFF_OK, err);
    status = status < 0 ? status : end;
    for (int i = 0; i < n && status == SKIFF_OK && (mode == 1 || mode == 2); i++)
        keep_threshold(f, first + i, sums[i].threshold);
out:
    free(calls);
    free(sums);
    return status;
}

static enum skiff_status save(struct skiff_fleet *f, struct session *s, int first, int n,
                              bool dense, const char *dir, int mode, struct skiff_error *err)
{
    TRY(skiff_fleet_begin_save(f, dir, err));
    enum skiff_status status = save_tables(f, s, first, n, dense, dir, mode, err);
    skiff_fleet_end_save(f);
    return status;
}

static enum skiff_status check_mode(const char *call, int mode, struct skiff_error *err)
{
    if (mode >= 0)
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "%s: mode is %d; expected 0 (all), 1 (delta), 2 (base), 3 (batch model) or 5 "
                     "(patch)",
                     call, mode);
}

enum skiff_status skiff_fleet_save_model(struct skiff_fleet *f, const char *dir, int mode,
                                         struct skiff_error *err)
{
    struct session *s;
    TRY(check_mode("save_model", mode, err));
    TRY(begin(f, "save_model", &s, err));
    if (!fleet_writes(f, "save_model"))
        return SKIFF_OK;
    return save(f, s, 0, skiff_fleet_tables(f), fleet_dense_any(f), dir, mode, err);
}

enum skiff_status skiff_fleet_save_table(struct skiff_fleet *f, int table, const char *dir,
                                         int mode, struct skiff_error *err)
{
    struct session *s;
    TRY(check_mode("save_table", mode, err));
    TRY(begin(f, "save_table", &s, err));
    if (table != -1)
        TRY(check_table(f, "save_table", table, true, err));
    if (!fleet_writes(f, "save_table"))
        return SKIFF_OK;
    int all = skiff_fleet_tables(f);
    bool dense = table == all;
    return save(f, s, table < 0 ? 0 : table, table < 0 ? all : !dense, dense, dir, mode, err);
}

enum skiff_status skiff_fleet_save_cache(struct skiff_fleet *f, int table, const char *dir,
                                         int mode, int64_t *out_rows, struct skiff_error *err)
{
    struct session *s;
    struct ps_table call;
    struct ps_table_state sum;
    if (out_rows)
        *out_rows = 0;
    TRY(begin(f, "save_cache", &s, err));
    TRY(check_table(f, "save_cache", table, false, err));
    if (!fleet_writes(f, "save_cache"))
        return SKIFF_OK;
    TRY(make_call(f, PS_TABLE_CACHE, table, dir, "_cache", mode, &call, err));
    call.threshold = f->thresholds ? f->thresholds[table] : 0;
    TRY(skiff_fleet_begin_save(f, dir, err));
    enum skiff_status status = session_table_save(s, &call, &sum, err);
    skiff_fleet_end_save(f);
    TRY(status);
    if (out_rows)
        *out_rows = (int64_t)sum.done;
    return SKIFF_OK;
}

/* ---- loading ---- */

struct table_load_plan {
    const char *dir;
    int mode;
    int first, n;              /* sparse tables */
    bool dense;                /* ... and the dense parameters, of their folder, or */
    struct skiff_scope *scope; /* of this scope; NULL: of their folder */
};

static enum skiff_status read_tables(struct skiff_fleet *f, struct session *s,
                                     const struct table_load_plan *l, uint64_t token,
                                     struct skiff_error *err)
{
    struct ps_table *calls = mem_alloc_or_die((size_t)(l->n + 1) * sizeof(*calls));
    enum skiff_status status = SKIFF_OK;
    for (int i = 0; i < l->n && status == SKIFF_OK; i++)
        status = make_call(f, PS_TABLE_LOAD, l->first + i, l->dir, "", l->mode, &calls[i], err);
    if (status == SKIFF_OK)
        status = session_tables_read(s, calls, l->n, token, err);
    free(calls);
    return status;
}

static enum skiff_status read_dense(struct skiff_fleet *f, struct session *s,
                                    const struct table_load_plan *l, uint64_t token,
                                    struct dense **out, struct skiff_error *err)
{
    char dir[4096];
    if (!l->dense)
        return SKIFF_OK;
    TRY(folder_of(l->dir, skiff_fleet_tables(f), "", dir, sizeof(dir), err));
    TRY(fleet_dense_read(f, s, l->scope ? NULL : dir, l->scope, out, err));
    return fleet_dense_put(*out, token, err);
}

/* Everything is read and checked on all servers, then taken over as a whole. */
static enum skiff_status load(struct skiff_fleet *f, struct session *s,
                              const struct table_load_plan *l, struct skiff_error *err)
{
    const char *table = skiff_fleet_table_name(f, 0);
    uint64_t token;
    struct dense *dense = NULL;
    enum skiff_status status = session_load_begin(s, table, &token, err);
    if (status == SKIFF_OK)
        status = read_tables(f, s, l, token, err);
    if (status == SKIFF_OK)
        status = read_dense(f, s, l, token, &dense, err);
    bool good = status == SKIFF_OK;
    enum skiff_status end = session_load_end(s, table, token, good, good ? err : NULL);
    status = good ? end : status;
    if (status == SKIFF_OK && dense)
        status = fleet_dense_take(dense, err);
    fleet_dense_close(dense);
    return status;
}

enum skiff_status skiff_fleet_load_model(struct skiff_fleet *f, const char *dir, int mode,
                                         struct skiff_error *err)
{
    struct session *s;
    TRY(check_mode("load_model", mode, err));
    TRY(begin(f, "load_model", &s, err));
    struct table_load_plan l = {dir, mode, 0, skiff_fleet_tables(f), fleet_dense_any(f), NULL};
    return fleet_writes(f, "load_model") ? load(f, s, &l, err) : SKIFF_OK;
}

enum skiff_status skiff_fleet_load_features(struct skiff_fleet *f, const char *dir, int mode,
                                            struct skiff_scope *dense, struct skiff_error *err)
{
    struct session *s;
    TRY(check_mode("load_features", mode, err));
    TRY(begin(f, "load_features", &s, err));
    struct table_load_plan l = {dir,  mode, 0, skiff_fleet_tables(f), dense && fleet_dense_any(f),
                                dense};
    return fleet_writes(f, "load_features") ? load(f, s, &l, err) : SKIFF_OK;
}

enum skiff_status skiff_fleet_load_table(struct skiff_fleet *f, int table, const char *dir,
                                         int mode, struct skiff_error *err)
{
    struct session *s;
    TRY(check_mode("load_table", mode, err));
    TRY(begin(f, "load_table", &s, err));
    TRY(check_table(f, "load_table", table, true, err));
    bool dense = table == skiff_fleet_tables(f);
    struct table_load_plan l = {dir, mode, table, !dense, dense, NULL};
    return fleet_writes(f, "load_table") ? load(f, s, &l, err) : SKIFF_OK;
}

/* ---- the rest ---- */

enum skiff_status skiff_fleet_flush(struct skiff_fleet *f, struct skiff_error *err)
{
    TRY(fleet_need_init(f, "flush", err));
    return f->job && f->role.kind == SKIFF_WORKER ? comm_flush(f->job, err) : SKIFF_OK;
}

/* One table, or all of them (-1). */
static enum skiff_status each(struct skiff_fleet *f, const char *name, uint32_t what, int table,
                              struct skiff_error *err)
{
    struct session *s;
    struct ps_table call;
    struct ps_table_state sum;
    TRY(begin(f, name, &s, err));
    if (table != -1)
        TRY(check_table(f, name, table, false, err));
    if (!fleet_writes(f, name))
        return SKIFF_OK;
    for (int i = 0; i < skiff_fleet_tables(f); i++) {
        if (table != -1 && table != i)
            continue;
        TRY(make_call(f, what, i, NULL, "", 0, &call, err));
        TRY(session_table_sum(s, &call, &sum, err));
    }
    return SKIFF_OK;
}

enum skiff_status skiff_fleet_shrink(struct skiff_fleet *f, int table, struct skiff_error *err)
{
    return each(f, "shrink", PS_TABLE_SHRINK, table, err);
}

enum skiff_status skiff_fleet_revert(struct skiff_fleet *f, struct skiff_error *err)
{
    return each(f, "revert", PS_TABLE_REVERT, -1, err);
}

enum skiff_status epochs_pass_day(struct skiff_fleet *f, struct skiff_error *err)
{
    return each(f, "pass_day", PS_TABLE_DAY, -1, err);
}

enum skiff_status skiff_fleet_table_state(struct skiff_fleet *f, int table,
                                          struct skiff_table_state *out, struct skiff_error *err)
{
    struct session *s;
    struct ps_table call;
    struct ps_table_state sum;
    TRY(fleet_need_session(f, "table_state", &s, err)); /* looks only: nothing is pushed first */
    TRY(check_table(f, "table_state", table, false, err));
    TRY(make_call(f, PS_TABLE_STAT, table, NULL, "", 0, &call, err));
    TRY(session_table_sum(s, &call, &sum, err));
    *out = (struct skiff_table_state){.rows = sum.rows,
                                      .bytes = sum.bytes,
                                      .admitted = sum.admitted,
                                      .refused = sum.refused,
                                      .expired = sum.expired,
                                      .evicted = sum.evicted,
                                      .hits = sum.hits,
                                      .misses = sum.misses,
                                      .disk_rows = sum.disk_rows,
                                      .disk_bytes = sum.disk_bytes,
                                      .written_bytes = sum.written_bytes,
                                      .limit = sum.limit,
                                      .waiting = sum.waiting,
                                      .fetched = sum.fetched,
                                      .written_rows = sum.written_rows};
    return SKIFF_OK;
}
