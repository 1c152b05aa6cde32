/* Tables of features: saves, loads, shrinks. Servers do the work on their parts; this worker says
 * what, and writes and reads the dense parameters, which are one more table in the files.
 *
 * What this worker has queued is pushed first, so that nothing that was trained is missing. */
#include "fleet/fleet_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "fs/fs.h"

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
        n += p->features[i] != NULL;
    return n;
}

const char *skiff_fleet_table_name(const struct skiff_fleet *f, int table)
{
    const struct job_plan *p = plan_of(f);
    for (int i = 0; p && i < p->ntables; i++)
        if (p->features[i] && !table--)
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
                         "%s: this job has no servers, and tables of features live on them", call);
    TRY(fleet_need_session(f, call, out, err));
    if (!skiff_fleet_tables(f))
        return error_set(err, SKIFF_STATE,
                         "%s: the program has no table of features (sparse_embedding, and a "
                         "strategy with its settings)",
                         call);
    return comm_settle(f->job, err);
}

static enum skiff_status check_table(const struct skiff_fleet *f, const char *call, int table,
                                     bool dense, struct skiff_error *err)
{
    int n = skiff_fleet_tables(f);
    if (table >= 0 && (table < n || (dense && table == n && fleet_dense_any(f))))
        return SKIFF_OK;
    return error_set(err, SKIFF_RANGE, "%s: there is no table %d; tables of features are 0 to %d%s",
                     call, table, n - 1,
                     dense && fleet_dense_any(f) ? ", dense parameters the next number" : "");
}

/* ---- folders ---- */

/* "<dir>/<number><suffix>", as this process sees it: servers may have started elsewhere. */
static enum skiff_status folder_of(const char *dir, int table, const char *suffix, char *out,
                                   size_t room, struct skiff_error *err)
{
    char here[4096] = "";
    if (!*dir)
        return error_set(err, SKIFF_INVALID, "the folder of a save has no name");
    if (dir[0] != '/' && !fs_is_remote(dir) && !getcwd(here, sizeof(here)))
        return error_set(err, SKIFF_IO, "the working folder is not known: %m");
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    int len =
        snprintf(out, room, "%s%s%.*s/%03d%s", here, *here ? "/" : "", (int)n, dir, table, suffix);
    if (len < 0 || (size_t)len >= room)
        return error_set(err, SKIFF_RANGE, "the name of folder %s is longer than %zu bytes", dir,
                         room - 1);
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

/* The call to all servers; their states added up. */
static enum skiff_status ask(struct skiff_fleet *f, struct session *s, const struct ps_table *call,
                             struct ps_table_state *sum, struct skiff_error *err)
{
    int n = plan_of(f)->servers;
    struct ps_table_state *states = mem_must((size_t)n * sizeof(*states));
    enum skiff_status status = session_table(s, call, states, err);
    if (sum)
        memset(sum, 0, sizeof(*sum));
    for (int i = 0; i < n && sum && status == SKIFF_OK; i++) {
        sum->rows += states[i].rows;
        sum->bytes += states[i].bytes;
        sum->admitted += states[i].admitted;
        sum->refused += states[i].refused;
        sum->expired += states[i].expired;
        sum->evicted += states[i].evicted;
        sum->hits += states[i].hits;
        sum->misses += states[i].misses;
        sum->disk_rows += states[i].disk_rows;
        sum->disk_bytes += states[i].disk_bytes;
        sum->written_bytes += states[i].written_bytes;
    }
    free(states);
    return status;
}

/* ---- saving ---- */

static void keep_threshold(struct skiff_fleet *f, int table, double threshold)
{
    if (!f->thresholds)
        f->thresholds = mem_must((size_t)skiff_fleet_tables(f) * sizeof(*f->thresholds));
    f->thresholds[table] = threshold;
}

/* Of tables of features; the call remembers the threshold of a cache. */
static enum skiff_status write_one(struct skiff_fleet *f, struct session *s, int table,
                                   const char *dir, int mode, struct ps_table *call,
                                   struct skiff_error *err)
{
    struct ps_table_state sum;
    TRY(make_call(f, PS_TABLE_SAVE, table, dir, "", mode, call, err));
    TRY(session_table_write(s, call, &sum, err));
    call->threshold = sum.threshold;
    return SKIFF_OK;
}

static enum skiff_status place_one(struct skiff_fleet *f, struct session *s, int table,
                                   struct ps_table *call, struct skiff_error *err)
{
    TRY(session_table_place(s, call, err));
    if (call->mode == 1 || call->mode == 2)
        keep_threshold(f, table, call->threshold);
    return SKIFF_OK;
}

static enum skiff_status save_dense(struct skiff_fleet *f, struct session *s, const char *dir,
                                    struct skiff_error *err)
{
    char folder[sizeof((struct ps_table *)0)->dir];
    TRY(folder_of(dir, skiff_fleet_tables(f), "", folder, sizeof(folder), err));
    return fleet_dense_save(f, s, folder, err);
}

/* All is written before anything comes to its place, so that a save that fails or is cut short
 * leaves the model as it was, not one table of each. */
static enum skiff_status save_tables(struct skiff_fleet *f, struct session *s, int first, int n,
                                     const char *dir, int mode, bool dense, struct skiff_error *err)
{
    struct ps_table *calls = mem_must((size_t)(n + 1) * sizeof(*calls));
    enum skiff_status status = SKIFF_OK;
    int written = 0, placed = 0;
    while (written < n && status == SKIFF_OK) {
        status = write_one(f, s, first + written, dir, mode, &calls[written], err);
        written += status == SKIFF_OK;
    }
    if (status == SKIFF_OK && dense)
        status = save_dense(f, s, dir, err);
    for (; placed < written && status == SKIFF_OK; placed++)
        status = place_one(f, s, first + placed, &calls[placed], err);
    for (; placed < written; placed++)
        session_table_abort(s, &calls[placed]);
    free(calls);
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
    return save_tables(f, s, 0, skiff_fleet_tables(f), dir, mode, fleet_dense_any(f), err);
}

enum skiff_status skiff_fleet_save_table(struct skiff_fleet *f, int table, const char *dir,
                                         int mode, struct skiff_error *err)
{
    struct session *s;
    TRY(check_mode("save_table", mode, err));
    TRY(begin(f, "save_table", &s, err));
    TRY(check_table(f, "save_table", table, true, err));
    if (!fleet_writes(f, "save_table"))
        return SKIFF_OK;
    if (table == skiff_fleet_tables(f))
        return save_dense(f, s, dir, err);
    return save_tables(f, s, table, 1, dir, mode, false, err);
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
    TRY(session_table_save(s, &call, &sum, err));
    if (out_rows)
        *out_rows = (int64_t)sum.done;
    return SKIFF_OK;
}

/* ---- loading ---- */

static enum skiff_status load_one(struct skiff_fleet *f, struct session *s, int table,
                                  const char *dir, int mode, struct skiff_error *err)
{
    struct ps_table call;
    if (table == skiff_fleet_tables(f)) {
        TRY(folder_of(dir, table, "", call.dir, sizeof(call.dir), err));
        return fleet_dense_load(f, s, call.dir, err);
    }
    TRY(make_call(f, PS_TABLE_LOAD, table, dir, "", mode, &call, err));
    return ask(f, s, &call, NULL, err);
}

enum skiff_status skiff_fleet_load_model(struct skiff_fleet *f, const char *dir, int mode,
                                         struct skiff_error *err)
{
    struct session *s;
    TRY(check_mode("load_model", mode, err));
    TRY(begin(f, "load_model", &s, err));
    int n = skiff_fleet_tables(f) + fleet_dense_any(f);
    for (int i = 0; i < n && fleet_writes(f, "load_model"); i++)
        TRY(load_one(f, s, i, dir, mode, err));
    return SKIFF_OK;
}

enum skiff_status skiff_fleet_load_table(struct skiff_fleet *f, int table, const char *dir,
                                         int mode, struct skiff_error *err)
{
    struct session *s;
    TRY(check_mode("load_table", mode, err));
    TRY(begin(f, "load_table", &s, err));
    TRY(check_table(f, "load_table", table, true, err));
    return fleet_writes(f, "load_table") ? load_one(f, s, table, dir, mode, err) : SKIFF_OK;
}

/* ---- the rest ---- */

enum skiff_status skiff_fleet_flush(struct skiff_fleet *f, struct skiff_error *err)
{
    TRY(fleet_need_init(f, "flush", err));
    return f->job && f->role.kind == SKIFF_WORKER ? comm_settle(f->job, err) : SKIFF_OK;
}

/* One table, or all of them (-1). */
static enum skiff_status each(struct skiff_fleet *f, const char *name, uint32_t what, int table,
                              struct skiff_error *err)
{
    struct session *s;
    struct ps_table call;
    TRY(begin(f, name, &s, err));
    if (table != -1)
        TRY(check_table(f, name, table, false, err));
    if (!fleet_writes(f, name))
        return SKIFF_OK;
    for (int i = 0; i < skiff_fleet_tables(f); i++) {
        if (table != -1 && table != i)
            continue;
        TRY(make_call(f, what, i, NULL, "", 0, &call, err));
        TRY(ask(f, s, &call, NULL, err));
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

enum skiff_status skiff_fleet_table_state(struct skiff_fleet *f, int table,
                                          struct skiff_table_state *out, struct skiff_error *err)
{
    struct session *s;
    struct ps_table call;
    struct ps_table_state sum;
    TRY(fleet_need_session(f, "table_state", &s, err)); /* looks only: nothing is pushed first */
    TRY(check_table(f, "table_state", table, false, err));
    TRY(make_call(f, PS_TABLE_STAT, table, NULL, "", 0, &call, err));
    TRY(ask(f, s, &call, &sum, err));
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
                                      .written_bytes = sum.written_bytes};
    return SKIFF_OK;
}
