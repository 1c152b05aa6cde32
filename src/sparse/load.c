/* Loads of sparse tables from shard files, those of Paddle too.
 *
 * Rows go to a second table first (the stage). When all servers have read theirs, COMMIT takes them
 * over, so a folder with a bad file changes nothing. An empty table is replaced by the stage.
 * Otherwise rows of the stage replace those with the same keys, and the other rows stay.
 *
 * A server reads the files of its shards: the n-th file by name is shard n. Rows in the wrong file
 * are counted, and the worker that loads may then make all servers search all files. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/pipe.h"
#include "data/stream.h"
#include "fs/fs.h"
#include "sparse/sparse_parts.h"
#include "sparse/waiting_files.h"
#include "store/file.h"
#include "store/folder_commit.h"
#include "store/stale_file.h"

#define READ_BYTES ((size_t)256 << 10)
#define TAKE_ROWS 512 /* of the stage, at once */

struct sparse_load {
    uint64_t token;
    struct table *table;
    struct table_row *row; /* of a line */
    struct waiting_list waiting;
};

void sparse_unload(struct sparse_table *t)
{
    struct sparse_load *l = t->load;
    if (!l)
        return;
    t->load = NULL;
    table_destroy(l->table);
    waiting_list_deinit(&l->waiting);
    free(l->row);
    free(l);
}

/* ---- files ---- */

struct shard_listing {
    char **paths;
    int n;
};

static void listing_free(struct shard_listing *l)
{
    for (int i = 0; i < l->n; i++)
        free(l->paths[i]);
    free(l->paths);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Was a commit interrupted that could not exchange folders (save.c)? */
static enum skiff_status no_folder(const char *dir, struct skiff_error *err)
{
    const char *slash = strrchr(dir, '/'), *base = slash ? slash + 1 : dir;
    struct buf start = BUF_INIT;
    enum skiff_status status = error_set_sys(err, "cannot read the folder %s", dir);
    char *parent = path_parent(dir);
    DIR *d = opendir(parent);
    buf_printf(&start, ".%s" STALE_FILE_MARK, base);
    for (struct dirent *e; d && (e = readdir(d));)
        if (!strncmp(e->d_name, start.data, start.len))
            status =
                error_set(err, SKIFF_FORMAT,
                          "%s is not there, but %s/%s is: a save was interrupted while it replaced "
                          "it; find out which of these folders is the right one and rename "
                          "it, or load another save",
                          dir, parent, e->d_name);
    if (d)
        closedir(d);
    free(parent);
    buf_deinit(&start);
    return status;
}

/* part-*, on any file system (fs/fs.h). */
static enum skiff_status list_files(const char *dir, struct shard_listing *l,
                                    struct skiff_error *err)
{
    struct fs_list found = {0};
    if (!fs_is_remote(dir)) {
        char *parent = path_parent(dir);
        enum skiff_status status = folder_commit_recover(parent, err);
        free(parent);
        TRY(status);
        if (!file_is_dir(dir))
            return no_folder(dir, err);
    }
    TRY(fs_list(NULL, dir, &found, err));
    l->paths = mem_alloc_or_die((size_t)(found.count + 1) * sizeof *l->paths);
    for (int i = 0; i < found.count; i++) {
        const char *path = found.entries[i].path, *slash = strrchr(path, '/');
        if (!found.entries[i].stat.folder && !strncmp(slash ? slash + 1 : path, "part-", 5))
            l->paths[l->n++] = mem_strdup_or_die(path);
    }
    fs_list_deinit(&found);
    if (l->n)
        qsort(l->paths, (size_t)l->n, sizeof *l->paths, by_name);
    return SKIFF_OK;
}

static enum skiff_status check_count(const struct sparse_table *t, const char *dir, int mode,
                                     int found, struct skiff_error *err)
{
    int expected = t->config.shard_num;
    if (found == expected || (mode == SAVE_PATCH && found))
        return SKIFF_OK;
    return error_set(
        err, SKIFF_FORMAT,
        "%s has %d files part-*, table %s has shard_num %d: there must be one file for "
        "each shard; load it with the shard_num that it was saved with",
        dir, found, t->name, expected);
}

/* ---- lines ---- */

struct shard_reader {
    struct sparse_table *t;
    struct sparse_load *load;
    const char *path;
    uint64_t line, rows, elsewhere;
};

static enum skiff_status take_line(struct shard_reader *r, const char *line, size_t n,
                                   struct skiff_error *err)
{
    struct table_row *row = r->load->row;
    r->line++;
    enum skiff_status status = accessor_parse(&r->t->accessor, line, n, row, err);
    if (status < 0)
        return error_prefix(err, status, "%s:%llu", r->path, (unsigned long long)r->line);
    if (!sparse_owns(r->t, row->id)) {
        r->elsewhere++;
        return SKIFF_OK;
    }
    r->rows++;
    return table_put(r->load->table, row, err);
}

/* Takes all complete lines of b; an incomplete last one moves to its front. */
static enum skiff_status take_lines(struct shard_reader *r, struct buf *b, bool end,
                                    struct skiff_error *err)
{
    size_t at = 0;
    for (;;) {
        const char *stop = b->len > at ? memchr(b->data + at, '\n', b->len - at) : NULL;
        if (!stop)
            break;
        size_t n = (size_t)(stop - b->data) - at;
        TRY(take_line(r, b->data + at, n, err));
        at += n + 1;
    }
    if (end && at < b->len) {
        TRY(take_line(r, b->data + at, b->len - at, err));
        at = b->len;
    }
    memmove(b->data, b->data + at, b->len - at);
    b->len -= at;
    return SKIFF_OK;
}

static enum skiff_status read_stream(struct shard_reader *r, struct stream *in,
                                     struct skiff_error *err)
{
    struct buf b = BUF_INIT;
    size_t got = 1;
    enum skiff_status status = SKIFF_OK;
    while (got && status == SKIFF_OK) {
        buf_reserve(&b, READ_BYTES);
        status = stream_read(in, b.data + b.len, READ_BYTES, &got, err);
        if (status < 0)
            break;
        b.len += got;
        status = take_lines(r, &b, got == 0, err);
        if (status == SKIFF_OK)
            status = sparse_check_stop(r->t, err);
    }
    buf_deinit(&b);
    return status;
}

static const char *deconverter_of(const struct table_config *c, int mode)
{
    for (int i = 0; i < c->nconverters; i++)
        if (c->converters[i].mode == mode && c->converters[i].deconverter &&
            *c->converters[i].deconverter)
            return c->converters[i].deconverter;
    return NULL;
}

static enum skiff_status read_file(struct shard_reader *r, int mode, struct skiff_error *err)
{
    const char *command = deconverter_of(&r->t->config, mode);
    struct stream *in;
    r->line = 0;
    TRY(command ? pipe_open(command, r->path, r->t->host->stop, &in, err)
                : stream_open(r->path, NULL, &in, err));
    enum skiff_status status = read_stream(r, in, err);
    stream_close(in);
    return status;
}

/* ---- reading and taking over ---- */

static enum skiff_status begin(struct sparse_table *t, uint64_t token, struct skiff_error *err)
{
    sparse_unload(t);
    struct sparse_load *l = t->load = mem_alloc_or_die(sizeof *l);
    l->token = token;
    l->row = mem_alloc_or_die(t->table->stride);
    return sparse_make_table(t, true, &l->table, err);
}

static enum skiff_status read_all(struct shard_reader *r, const struct sparse_command *c,
                                  const struct shard_listing *l, struct skiff_error *err)
{
    const struct sparse_table *t = r->t;
    bool all = c->all || c->mode == SAVE_PATCH;
    TRY(check_count(r->t, c->dir, c->mode, l->n, err));
    int first = all ? 0 : t->first_shard, end = all ? l->n : first + t->nshards;
    for (int i = first; i < end; i++) {
        r->path = l->paths[i];
        TRY(read_file(r, c->mode, err));
    }
    return SKIFF_OK;
}

/* Our own saves have them next to the table's folder. */
static enum skiff_status read_waiting(struct shard_reader *r, const char *dir,
                                      struct skiff_error *err)
{
    char *parent = path_parent(dir);
    enum skiff_status status = waiting_files_read(r->t, parent, &r->load->waiting, err);
    free(parent);
    return status;
}

enum skiff_status sparse_load(struct sparse_table *t, const struct sparse_command *c,
                              struct sparse_result *out, struct skiff_error *err)
{
    struct shard_listing files = {0};
    enum skiff_status status = begin(t, c->token, err);
    struct shard_reader r = {.t = t, .load = t->load};
    if (status == SKIFF_OK)
        status = list_files(c->dir, &files, err);
    if (status == SKIFF_OK)
        status = read_all(&r, c, &files, err);
    if (status == SKIFF_OK && (c->mode == SAVE_ALL || c->mode == SAVE_BATCH))
        status = read_waiting(&r, c->dir, err);
    listing_free(&files);
    out->rows = r.rows;
    out->elsewhere = c->all || c->mode == SAVE_PATCH ? 0 : r.elsewhere;
    if (status < 0)
        sparse_unload(t);
    return status < 0 ? error_prefix(err, status, "load of table %s", t->name) : SKIFF_OK;
}

struct taking {
    struct table *to;
    struct skiff_error *err;
    enum skiff_status status;
};

static void take_block(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    struct taking *x = self;
    for (size_t i = 0; i < n && x->status == SKIFF_OK; i++)
        x->status = table_put(x->to, row_list[i], x->err);
}

static void exchange(struct sparse_table *t, struct table **other)
{
    struct table *old = t->table;
    if (t->host->prepares)
        pthread_mutex_lock(t->host->prepares);
    t->table = *other;
    *other = old;
    if (t->host->prepares)
        pthread_mutex_unlock(t->host->prepares);
}

/* Replaces the table by the stage, which is safe while it is empty: no pull has returned a row of
 * it. */
static bool take_whole(struct sparse_table *t, struct sparse_load *l)
{
    struct table *old = t->table;
    if (sparse_on_disk(t) || table_count(old) || old->snapshot || old->version != 1 ||
        (old->waiting && waiting_count(old->waiting)))
        return false;
    l->table->counts = (struct table_counts){.admitted = l->table->counts.admitted,
                                             .refused = old->counts.refused,
                                             .evicted = l->table->counts.evicted};
    exchange(t, &l->table);
    return true;
}

static enum skiff_status take_waiting(struct sparse_table *t, const struct sparse_load *l,
                                      struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    for (size_t at = 0; at < l->waiting.n && status == SKIFF_OK; at += TAKE_ROWS) {
        TRY(sparse_pause(t, err));
        pthread_mutex_lock(t->lock);
        status = waiting_list_put(t, &l->waiting, at, TAKE_ROWS, err);
        pthread_mutex_unlock(t->lock);
    }
    return status;
}

enum skiff_status sparse_take(struct sparse_table *t, struct skiff_error *err)
{
    struct sparse_load *l = t->load;
    struct table_cursor at = {0};
    struct taking x = {.err = err};
    pthread_mutex_lock(t->lock);
    enum skiff_status status = take_whole(t, l) ? SKIFF_END : SKIFF_OK;
    pthread_mutex_unlock(t->lock);
    while (status == SKIFF_OK) {
        TRY(sparse_pause(t, err));
        pthread_mutex_lock(t->lock);
        x.to = t->table;
        status = table_walk(l->table, &at, TAKE_ROWS, TABLE_LOOK, take_block, &x, err);
        pthread_mutex_unlock(t->lock);
        status = x.status < 0 ? x.status : status;
    }
    status = status < 0 ? status : take_waiting(t, l, err);
    sparse_unload(t);
    return status;
}

bool sparse_is_loading(const struct sparse_table *t, uint64_t token)
{
    return t->load && t->load->token == token;
}
