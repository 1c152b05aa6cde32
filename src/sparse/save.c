/* Saves of sparse tables: Paddle's shard files, part-<server>-<shard>[.gz].
 *
 * The rows are those of one instant: a snapshot of the table is read a piece at a time, and lines
 * are written outside of the shard's lock. They go to a hidden folder next to the target,
 * .<folder>.skiff-save-<token>, which all servers share if they share a disk. After all servers
 * have written, COMMIT renames the hidden folder to the target: before the rename a reader sees the
 * old files, after it the new ones. (store/stale_file.h describes how hidden folders of dead
 * processes are removed.)
 *
 * The counters that a save mode changes are changed at COMMIT, so that a failed save has changed
 * nothing:
 *   1, 2  delta_score of the rows written becomes 0. Training went on meanwhile: what pushes have
 *         added since the instant stays, that is, the saved value is subtracted.
 *   5     (patch: rows that were pushed since the last one) the marks of these rows are cleared.
 *   3     a day passes: unseen_days += 1, but for rows that were pushed since the instant, as if
 *         they had been pushed after the save.
 *
 * Cache (fleet.save_cache_model): saves in modes 1 and 2 find the number of shows above which a row
 * belongs to the most requested ones; CACHE writes these rows. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "fs/fs.h"
#include "sparse/shard_files.h"
#include "sparse/sparse_parts.h"
#include "store/file.h"
#include "store/folder_commit.h"
#include "store/folder_save.h"
#include "store/stale_file.h"
#include "table/accessor_ctr.h"

#define READ_ROWS 1024   /* of the snapshot, at once */
#define WAIT_SECONDS 600 /* for another snapshot of the table to end, an epoch's */
#define MAKE_SECONDS 10  /* for creating the hidden folder */
#define LOOK_AGAIN (5 * CLOCK_MS)

struct counter_note { /* a written row, and the delta_score that was saved */
    int64_t id;
    float delta;
};

/* The largest shows of a shard, the smallest of them first (a heap). */
struct most_shown {
    float *shows;
    size_t n;
};

struct sparse_save {
    uint64_t token;
    int mode;
    bool cache, nothing; /* nothing: there is nothing to write, not even files */
    double threshold;    /* of a cache */
    struct most_shown *most;
    size_t keep;      /* of each shard */
    char *dir, *temp; /* the target folder; the folder that is written */
    char *remote;     /* target on a remote file system, to which temp is uploaded; NULL */
    int lock;         /* on temp; -1: none */
    uint32_t version; /* the instant, as a version of the table */
    struct counter_note *notes;
    size_t nnotes, notes_cap;
    struct shard_files files;
    char *line;
};

/* ---- lifecycle ---- */

static void save_free(struct sparse_save *v, int shards)
{
    for (int i = 0; v->most && i < shards; i++)
        free(v->most[i].shows);
    free(v->most);
    if (v->lock >= 0)
        lock_close(v->lock);
    shard_files_close(&v->files);
    free(v->notes);
    free(v->line);
    free(v->dir);
    free(v->temp);
    free(v->remote);
    free(v);
}

bool sparse_is_saving(const struct sparse_table *t, uint64_t token)
{
    return t->save && t->save->token == token;
}

/* Finishes interrupted renames in the target's folder. If that fails, the lock is released, so that
 * a later process can finish them. */
static void flush(struct sparse_save *v)
{
    char *parent = path_parent(v->temp);
    if (folder_commit_recover(parent, NULL) < 0) {
        lock_close(v->lock);
        v->lock = -1;
    }
    free(parent);
}

void sparse_abort(struct sparse_table *t)
{
    struct sparse_save *v = t->save;
    if (!v)
        return;
    t->save = NULL;
    if (v->lock >= 0 && !v->remote)
        flush(v); /* the worker may have died after the instant */
    if (v->lock >= 0)
        file_remove_tree(v->temp);
    if (v->remote)
        fs_remove(NULL, v->remote, NULL);
    save_free(v, t->nshards);
}

static bool is_still(const char *path, int fd)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Servers that share a disk share the folder; each holds a lock on it. Between its creation and the
 * lock another process may take it for a stale temporary folder and remove it. */
static enum skiff_status make_temp(struct sparse_save *v, struct skiff_error *err)
{
    int64_t until = clock_after(clock_now(), MAKE_SECONDS * 1000);
    for (; clock_now() < until; clock_sleep(CLOCK_MS)) {
        if (mkdir(v->temp, 0777) < 0 && errno != EEXIST)
            return error_set_sys(err, "cannot write the folder %s", v->temp);
        int fd = open(v->temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 && errno != ENOENT)
            return error_set_sys(err, "cannot write the folder %s", v->temp);
        if (fd < 0)
            continue;
        bool fenced = flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
        if (fenced && is_still(v->temp, fd)) {
            v->lock = fd;
            return SKIFF_OK;
        }
        close(fd);
    }
    return error_set(err, SKIFF_STATE,
                     "the folder %s, where the new files are written, is repeatedly locked or "
                     "removed by another process",
                     v->temp);
}

/* Without trailing slashes. */
static char *clean_dir(const char *dir)
{
    char *copy = mem_strdup_or_die(dir);
    size_t n = strlen(copy);
    while (n > 1 && copy[n - 1] == '/')
        copy[--n] = '\0';
    return copy;
}

static const char *converter_of(const struct table_config *c, int mode)
{
    for (int i = 0; i < c->nconverters; i++)
        if (c->converters[i].mode == mode)
            return c->converters[i].converter;
    return NULL;
}

/* Patches have fewer files. */
static int count_files(const struct sparse_table *t, const struct sparse_save *v, int *first)
{
    int each = table_server_shards(t->config.shard_num, t->host->servers);
    *first = t->first_shard;
    if (v->cache)
        return 1;
    if (v->mode != SAVE_PATCH)
        return t->nshards;
    int n = (int)ceil(each * t->config.shard_merge_rate);
    n = n < 1 ? 1 : n;
    *first = t->host->server * n;
    return n < t->nshards ? n : t->nshards;
}

static void name_files(const struct sparse_table *t, struct sparse_save *v)
{
    char name[64];
    bool gz = !v->cache && (v->mode == SAVE_ALL || v->mode == SAVE_BATCH);
    int first, n = count_files(t, v, &first);
    const char *converter = converter_of(&t->config, v->mode);
    /* servers may append whole lines to the same file, but not convert or upload one together */
    bool alone = v->remote || (converter && *converter);
    shard_files_open(&v->files, n, gz, converter, t->host->stop);
    for (int i = 0; i < n; i++) {
        if (v->cache)
            snprintf(name, sizeof name, "part-%03d",
                     alone ? t->host->server : t->host->server % t->config.cache_files);
        else
            snprintf(name, sizeof name, "part-%03d-%05d", t->host->server, first + i);
        shard_files_name(&v->files, i, v->temp, name);
    }
}

/* Files are written here first, and then uploaded next to the target. */
static void use_remote(struct sparse_save *v)
{
    struct buf local = BUF_INIT;
    buf_printf(&local, "%s/.tables" STALE_FILE_MARK "%016llx-%ld", fs_tmpdir(),
               (unsigned long long)v->token, (long)getpid());
    v->remote = v->temp;
    v->temp = local.data;
}

static enum skiff_status begin(struct sparse_table *t, const struct sparse_command *c,
                               struct skiff_error *err)
{
    sparse_abort(t); /* its worker has gone */
    struct sparse_save *v = t->save = mem_alloc_or_die(sizeof *v);
    v->lock = -1;
    v->token = c->token;
    v->mode = c->mode;
    v->cache = c->cache;
    v->nothing = v->mode == SAVE_PATCH && !v->cache && !t->config.revert;
    v->threshold = c->threshold;
    v->dir = clean_dir(c->dir);
    v->temp = folder_commit_name(v->dir, c->token);
    v->line = mem_alloc_or_die(accessor_line_max(&t->accessor));
    if (!*c->dir)
        return error_set(err, SKIFF_INVALID, "a save of table %s needs a folder", t->name);
    if (v->nothing)
        return SKIFF_OK;
    if (fs_is_remote(v->dir))
        use_remote(v);
    TRY(file_make_parents(v->temp, err));
    char *parent = path_parent(v->temp);
    enum skiff_status status = folder_commit_recover(parent, err);
    if (status == SKIFF_OK)
        stale_file_remove(parent);
    free(parent);
    TRY(status);
    TRY(make_temp(v, err));
    name_files(t, v);
    return SKIFF_OK;
}

/* ---- rows of one instant ---- */

/* As in Paddle: a fixed number of rows of each shard. */
static void begin_most(const struct sparse_table *t, struct sparse_save *v, size_t rows)
{
    if ((v->mode != SAVE_DELTA && v->mode != SAVE_BASE) || v->cache || !t->nshards ||
        !t->config.cache)
        return;
    v->keep = (size_t)((double)rows * t->config.cache_rate) / (size_t)t->nshards;
    v->keep = v->keep ? v->keep : 1;
    v->most = mem_alloc_or_die((size_t)t->nshards * sizeof *v->most);
    for (int i = 0; i < t->nshards; i++)
        v->most[i].shows = mem_alloc_or_die(v->keep * sizeof *v->most[i].shows);
}

static void sift_down(struct most_shown *m)
{
    for (size_t at = 0, child; (child = 2 * at + 1) < m->n; at = child) {
        child += child + 1 < m->n && m->shows[child + 1] < m->shows[child];
        if (m->shows[at] <= m->shows[child])
            return;
        float x = m->shows[at];
        m->shows[at] = m->shows[child];
        m->shows[child] = x;
    }
}

static void record_show(struct most_shown *m, size_t keep, float show)
{
    if (m->n == keep) {
        if (show <= m->shows[0])
            return;
        m->shows[0] = show;
        sift_down(m);
        return;
    }
    size_t at = m->n++;
    for (; at && m->shows[(at - 1) / 2] > show; at = (at - 1) / 2)
        m->shows[at] = m->shows[(at - 1) / 2];
    m->shows[at] = show;
}

static double most_threshold(const struct sparse_table *t, const struct sparse_save *v)
{
    double sum = 0;
    for (int i = 0; v->most && i < t->nshards; i++)
        sum += v->most[i].n ? v->most[i].shows[0] : 0;
    return v->most ? trunc(sum / t->nshards) : 0;
}

static enum skiff_status snapshot_begin(struct sparse_table *t, struct sparse_save *v,
                                        struct skiff_error *err)
{
    int64_t until = clock_after(clock_now(), WAIT_SECONDS * 1000);
    for (;;) {
        pthread_mutex_lock(t->lock);
        bool busy = t->table->snapshot != NULL;
        enum skiff_status status =
            busy ? SKIFF_OK : table_snapshot_begin(t->table, 0, &v->version, err);
        size_t rows = table_count(t->table);
        pthread_mutex_unlock(t->lock);
        if (!busy) {
            begin_most(t, v, rows);
            return status;
        }
        if (clock_now() > until)
            return error_set(err, SKIFF_TIMEOUT,
                             "table %s: another save has been reading it for %d s", t->name,
                             WAIT_SECONDS);
        TRY(sparse_check_stop(t, err));
        clock_sleep(LOOK_AGAIN);
    }
}

static void record_counter(const struct accessor *a, struct sparse_save *v,
                           const struct table_row *r)
{
    if ((v->mode != SAVE_DELTA && v->mode != SAVE_BASE) || v->cache || r->values[a->delta] == 0)
        return;
    if (v->nnotes == v->notes_cap) {
        v->notes_cap = v->notes_cap ? v->notes_cap + v->notes_cap / 2 : 1024;
        v->notes = mem_grow_or_die(v->notes, v->notes_cap * sizeof *v->notes);
    }
    v->notes[v->nnotes++] = (struct counter_note){r->id, r->values[a->delta]};
}

static bool is_cached(const struct accessor *a, const struct sparse_save *v, struct table_row *r)
{
    float delta = r->values[a->delta];
    if (!a->class->cached) /* Paddle's SparseAccessor: never */
        return false;
    bool wanted = a->class->save(a, r, SAVE_BASE) && ctr_stat(a, r, a->show) > v->threshold;
    r->values[a->delta] = delta;
    return wanted;
}

static enum skiff_status write_rows(struct sparse_table *t, struct sparse_save *v, char *row_list,
                                    size_t n, uint64_t *done, struct skiff_error *err)
{
    const struct accessor *a = &t->accessor;
    for (size_t i = 0; i < n; i++) {
        struct table_row *r = (struct table_row *)(void *)(row_list + i * t->table->stride);
        int shard = table_shard_of(r->id, t->config.shard_num) - t->first_shard;
        float delta = r->values[a->delta];
        if (v->most)
            record_show(&v->most[shard], v->keep, (float)ctr_stat(a, r, a->show));
        if (v->cache ? !is_cached(a, v, r) : !a->class->save(a, r, v->mode))
            continue;
        size_t length = accessor_print(a, r, v->line);
        TRY(shard_files_add(&v->files, shard % v->files.n, v->line, length, err));
        r->values[a->delta] = delta;
        record_counter(a, v, r);
        ++*done;
    }
    return SKIFF_OK;
}

static enum skiff_status write_table(struct sparse_table *t, struct sparse_save *v, uint64_t *done,
                                     struct skiff_error *err)
{
    char *row_list = mem_alloc_or_die(READ_ROWS * t->table->stride);
    enum skiff_status status = SKIFF_OK;
    while (status == SKIFF_OK) {
        size_t n = 0;
        TRY_OUT(sparse_pause(t, err));
        pthread_mutex_lock(t->lock);
        status = table_snapshot_next(t->table, READ_ROWS, row_list, &n, err);
        pthread_mutex_unlock(t->lock);
        if (status < 0)
            break;
        enum skiff_status written = write_rows(t, v, row_list, n, done, err);
        status = written < 0 ? written : status;
    }
out:
    free(row_list);
    pthread_mutex_lock(t->lock);
    table_snapshot_end(t->table, true);
    pthread_mutex_unlock(t->lock);
    return status < 0 ? status : SKIFF_OK;
}

static enum skiff_status save(struct sparse_table *t, const struct sparse_command *c,
                              struct sparse_result *out, struct skiff_error *err)
{
    TRY(begin(t, c, err));
    struct sparse_save *v = t->save;
    if (v->nothing)
        return SKIFF_OK;
    TRY(snapshot_begin(t, v, err));
    TRY(write_table(t, v, &out->rows, err));
    out->threshold = most_threshold(t, v);
    TRY(shard_files_finish(&v->files, err));
    return v->remote ? fs_copy(NULL, v->temp, v->remote, NULL, err) : SKIFF_OK;
}

enum skiff_status sparse_save(struct sparse_table *t, const struct sparse_command *c,
                              struct sparse_result *out, struct skiff_error *err)
{
    enum skiff_status status = save(t, c, out, err);
    if (status < 0)
        sparse_abort(t);
    return status < 0 ? error_prefix(err, status, "save of table %s", t->name) : SKIFF_OK;
}

/* ---- commit: the folder ---- */

/* When the upload fails, the worker has all that was written removed. An interrupted rename leaves
 * the files next to the target, or (S3) an incomplete set, which a load detects by the number of
 * files. */
static enum skiff_status commit_remote(const struct sparse_save *v, struct skiff_error *err)
{
    struct fs_stat st;
    enum skiff_status status = fs_look(NULL, v->remote, &st, err);
    if (status == SKIFF_NOT_FOUND) /* another server was first */
        return SKIFF_OK;
    TRY(status);
    return folder_move(v->remote, v->dir, NULL, err);
}

static enum skiff_status target(const struct sparse_save *v, struct skiff_error *err)
{
    if (v->remote) {
        enum skiff_status status = commit_remote(v, err);
        if (status == SKIFF_OK)
            file_remove_tree(v->temp);
        return status;
    }
    if (!file_exists(v->temp)) /* the worker or another server was first */
        return file_is_dir(v->dir)
                   ? SKIFF_OK
                   : error_set(err, SKIFF_STATE, "the save for %s is lost: %s does not exist",
                               v->dir, v->temp);
    TRY(file_sync_dir(v->temp, err));
    return folder_move(v->temp, v->dir, "part-", err);
}

/* ---- commit: the counters ---- */

struct counting {
    const struct accessor *a;
    const struct counter_note *notes;
    int64_t ids[READ_ROWS];
};

/* A row may have been evicted since and created again (or loaded). A row with a smaller value than
 * the saved one is a new one, of which nothing is saved yet. */
static void subtract(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    const struct counting *x = self;
    for (size_t i = 0; i < n; i++) {
        float saved = x->notes[first + i].delta;
        float *delta = row_list[i] ? &row_list[i]->values[x->a->delta] : NULL;
        if (delta && *delta >= saved)
            *delta -= saved;
    }
}

static enum skiff_status flush_deltas(struct sparse_table *t, struct sparse_save *v,
                                      struct skiff_error *err)
{
    struct counting x = {.a = &t->accessor};
    for (size_t at = 0; at < v->nnotes; at += READ_ROWS) {
        size_t n = v->nnotes - at < READ_ROWS ? v->nnotes - at : READ_ROWS;
        x.notes = v->notes + at;
        for (size_t i = 0; i < n; i++)
            x.ids[i] = x.notes[i].id;
        TRY(sparse_pause(t, err));
        pthread_mutex_lock(t->lock);
        enum skiff_status status =
            table_each(t->table, (const uint8_t *)x.ids, n, TABLE_LOOK | TABLE_CHANGE,
                       t->table->stride, subtract, &x, err);
        pthread_mutex_unlock(t->lock);
        TRY(status);
    }
    return SKIFF_OK;
}

/* Records that have not changed after the snapshot's version. */
static enum skiff_status flush_rest(struct sparse_table *t, int mode, uint32_t version,
                                    struct skiff_error *err)
{
    struct table_cursor at = {0};
    enum skiff_status status = SKIFF_OK;
    while (status == SKIFF_OK) {
        TRY(sparse_pause(t, err));
        pthread_mutex_lock(t->lock);
        status = table_saved(t->table, mode, version, &at, SPARSE_PIECE, err);
        pthread_mutex_unlock(t->lock);
    }
    return status < 0 ? status : SKIFF_OK;
}

enum skiff_status sparse_commit(struct sparse_table *t, struct skiff_error *err)
{
    struct sparse_save *v = t->save;
    if (!v->nothing)
        TRY(target(v, err));
    t->save = NULL;
    enum skiff_status status = SKIFF_OK;
    if (v->mode == SAVE_DELTA || v->mode == SAVE_BASE)
        status = flush_deltas(t, v, err);
    else if (!v->nothing && !v->cache && (v->mode == SAVE_BATCH || v->mode == SAVE_PATCH))
        status = flush_rest(t, v->mode, v->version, err);
    save_free(v, t->nshards);
    return status;
}

enum skiff_status sparse_revert(struct sparse_table *t, struct skiff_error *err)
{
    return flush_rest(t, SAVE_PATCH, UINT32_MAX, err);
}

enum skiff_status sparse_day(struct sparse_table *t, struct skiff_error *err)
{
    return flush_rest(t, SAVE_BATCH, UINT32_MAX, err);
}
