/* The rows of a sparse table. No block of a server program updates them: they are records of one of
 * Paddle's accessors (table/accessor.h), which itself defines what a push does. So nothing is
 * merged over trainers: the pushes of a step are applied one after the other, in trainer order. A
 * pull creates no rows.
 *
 * Admission (CountFilterEntry, ProbabilityEntry) is evaluated when a push would create a row. The
 * push carries how often the id stood in its batches (show), so that occurrences are counted
 * correctly however the worker has merged them. */
#include "sparse/sparse_parts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/file.h"

#define PAUSE (50 * 1000) /* nanoseconds: a thread that waits for the lock wakes up within it */
#define PUSH_ROWS 2048    /* are copied to an aligned buffer at once */
#define STAGE_SHARE 4     /* of the memory limit: the share of rows that are being loaded */
#define SHOW 1            /* in a pushed row: slot, show, click, gradients */

/* ---- metrics ---- */

static void name_counts(struct sparse_table *t)
{
    for (int i = 0; i < SPARSE_COUNTS; i++)
        t->metrics[i] =
            metrics_get(t->host->metrics, (enum metric_id)(METRIC_TABLE_ROWS + i), t->name);
}

/* The metrics that are known in memory. */
static void describe(struct sparse_table *t)
{
    const struct table_counts *c = &t->table->counts; /* table_stats would ask the disk, too */
    const uint64_t now[] = {table_count(t->table),
                            table_bytes(t->table),
                            c->admitted,
                            c->refused,
                            c->expired,
                            c->evicted};
    for (size_t i = 0; i < sizeof now / sizeof *now; i++)
        metric_set(t->metrics[i], (int64_t)now[i]);
}

void sparse_describe_all(struct sparse_table *t, const struct table_stats *now)
{
    const struct table_counts *c = &now->counts;
    const uint64_t values[SPARSE_COUNTS] = {
        now->rows,      now->bytes,      c->admitted,       c->refused,        c->expired,
        c->evicted,     now->waiting,    now->hits,         now->misses,       now->fetched,
        now->disk_rows, now->disk_bytes, now->rows_written, now->bytes_written};
    for (int i = 0; i < SPARSE_COUNTS; i++)
        metric_set(t->metrics[i], (int64_t)values[i]);
}

/* ---- lifecycle ---- */

static enum skiff_status check_dim(const struct sparse_table *t, struct skiff_error *err)
{
    if (t->accessor.pulled == t->config.dim && t->accessor.pushed > SHOW)
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "table %s: accessor %s gives %d numbers of a row, but its embedding has %d",
                     t->name, t->config.accessor->name, t->accessor.pulled, t->config.dim);
}

static void find_shards(struct sparse_table *t)
{
    int all = t->config.shard_num, each = table_server_shards(all, t->host->servers);
    int first = t->host->server * each, end = first + each;
    t->first_shard = first < all ? first : all;
    t->nshards = (end < all ? end : all) - t->first_shard;
}

#define OWN_FOLDER "skiff-tables"
#define LOAD ".load"
#define PREPARE_FROM ((size_t)1 << 30)

static bool has_path(const struct sparse_table *t)
{
    return t->config.path && *t->config.path;
}

/* <path>/<table>.server_<i>, or a folder in the server's working directory; with .load for a staged
 * load. */
static void disk_folder(const struct sparse_table *t, bool stage, struct buf *out)
{
    buf_printf(out, "%s/", has_path(t) ? t->config.path : OWN_FOLDER);
    for (const char *p = t->name; *p; p++)
        buf_char(out, *p == '/' ? '_' : *p);
    buf_printf(out, ".server_%d%s", t->host->server, stage ? LOAD : "");
}

bool sparse_on_disk(const struct sparse_table *t)
{
    const struct table_config *c = &t->config;
    return c->memory_limit && c->policy == MEMORY_DISK;
}

enum skiff_status sparse_make_table(struct sparse_table *t, bool stage, struct table **out,
                                    struct skiff_error *err)
{
    const struct table_config *c = &t->config;
    bool disk = sparse_on_disk(t);
    struct buf folder = BUF_INIT;
    struct table_options o = {
        .accessor = &t->accessor,
        .admission = c->admission,
        .seed = c->options.seed,
        /* a stage is not prepared ahead; small limits leave no memory for it */
        .prepared = !stage && (!c->memory_limit || c->memory_limit >= PREPARE_FROM),
        .limit = {.bytes = c->memory_limit,
                  .policy = c->policy == MEMORY_DROP_LOWEST ? TABLE_LOWEST : TABLE_OLDEST}};
    if (disk) {
        o.limit.policy = TABLE_SELDOM;
        disk_folder(t, stage, &folder);
        o.folder = folder.data;
        o.limit.bytes = stage ? c->memory_limit / STAGE_SHARE : c->memory_limit;
    }
    if (stage && disk)
        o.admission = (struct admission){0};
    enum skiff_status status = disk ? file_make_parents(folder.data, err) : SKIFF_OK;
    if (status == SKIFF_OK)
        status = table_create(disk ? &table_tiered : &table_hash, &o, out, err);
    if (status == SKIFF_INVALID && o.limit.bytes < c->memory_limit) { /* too small a share */
        o.limit.bytes = c->memory_limit;
        status = table_create(&table_tiered, &o, out, err);
    }
    if (status == SKIFF_OK && disk && !stage) { /* of a process that was killed during a load */
        buf_str(&folder, LOAD);
        file_remove_tree(folder.data);
    }
    buf_deinit(&folder);
    return status < 0 ? error_prefix(err, status, "table %s", t->name) : SKIFF_OK;
}

enum skiff_status sparse_create(const char *name, const char *settings,
                                const struct sparse_host *host, struct sparse_table **out,
                                struct skiff_error *err)
{
    struct sparse_table *t = *out = mem_alloc_or_die(sizeof *t);
    struct table_config *c = &t->config;
    t->name = name;
    t->host = host;
    TRY(table_config_parse(name, settings, c, err));
    if (!c->memory_limit)
        c->memory_limit = host->memory;
    find_shards(t);
    enum skiff_status status = accessor_init(&t->accessor, c->accessor, &c->options, err);
    if (status < 0)
        return error_prefix(err, status, "table %s", name);
    TRY(check_dim(t, err));
    t->rows = mem_alloc_or_die(PUSH_ROWS * (size_t)t->accessor.pushed * sizeof *t->rows);
    name_counts(t);
    return sparse_make_table(t, false, &t->table, err);
}

void sparse_destroy(struct sparse_table *t)
{
    if (!t)
        return;
    sparse_abort(t);
    sparse_unload(t);
    table_destroy(t->table);
    if (t->config.accessor && sparse_on_disk(t) && !has_path(t))
        rmdir(OWN_FOLDER); /* fails while other tables or servers have rows there */
    table_config_deinit(&t->config);
    free(t->rows);
    free(t);
}

/* ---- whole tables ---- */

enum skiff_status sparse_check_stop(const struct sparse_table *t, struct skiff_error *err)
{
    if (t->host->stop && atomic_load(t->host->stop))
        return error_set(err, SKIFF_STATE, "%s is shutting down", t->host->name);
    return SKIFF_OK;
}

enum skiff_status sparse_pause(const struct sparse_table *t, struct skiff_error *err)
{
    TRY(sparse_check_stop(t, err));
    if (t->host->stop)
        clock_sleep(PAUSE);
    return SKIFF_OK;
}

enum skiff_status sparse_shrink(struct sparse_table *t, uint64_t *out_rows, struct skiff_error *err)
{
    struct table_cursor at = {0};
    enum skiff_status status = SKIFF_OK;
    uint64_t before = t->table->counts.expired; /* only shrinks change it */
    while (status == SKIFF_OK) {
        TRY(sparse_pause(t, err));
        pthread_mutex_lock(t->lock);
        status = table_shrink(t->table, &at, SPARSE_PIECE, err);
        pthread_mutex_unlock(t->lock);
    }
    *out_rows = t->table->counts.expired - before;
    return status < 0 ? status : SKIFF_OK;
}

/* ---- rows ---- */

bool sparse_owns(const struct sparse_table *t, int64_t id)
{
    return table_server_of(id, t->config.shard_num, t->host->servers) == t->host->server;
}

enum skiff_status sparse_pull(struct sparse_table *t, const uint8_t *ids, size_t n, float *out,
                              struct skiff_error *err)
{
    return table_pull(t->table, ids, n, TABLE_LOOK, out, err);
}

/* Rows of a push whose ids have no record. */
struct absentees {
    size_t at[PUSH_ROWS], n;
};

static void record_absent(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    struct absentees *x = self;
    for (size_t i = 0; i < n; i++)
        if (!row_list[i])
            x->at[x->n++] = first + i;
}

/* Counts the occurrences that the worker reports: any number. */
static enum skiff_status ask_for(struct table *t, int64_t id, float show, bool *out,
                                 struct skiff_error *err)
{
    uint32_t times = show > 1 ? show < 0x1p31f ? (uint32_t)show : UINT32_MAX : 1;
    TRY(waiting_ask(t->waiting, id, times, out, err));
    t->counts.refused += !*out;
    return SKIFF_OK;
}

/* Selects the ids that may get a row now. */
static enum skiff_status admit(struct sparse_table *t, const uint8_t *ids, const float *rows,
                               struct absentees *x, struct skiff_error *err)
{
    size_t come = 0;
    for (size_t i = 0; i < x->n; i++) {
        size_t at = x->at[i];
        bool comes;
        TRY(ask_for(t->table, table_id_at(ids, at), rows[at * (size_t)t->accessor.pushed + SHOW],
                    &comes, err));
        if (comes)
            x->at[come++] = at;
    }
    x->n = come;
    return SKIFF_OK;
}

/* A new row learns in the call that creates it: without shows it would be the first to be evicted
 * at the table's limit. `rows` is used up. */
static enum skiff_status push_new(struct sparse_table *t, const uint8_t *ids, float *rows,
                                  const struct absentees *x, struct skiff_error *err)
{
    int64_t fresh[PUSH_ROWS];
    size_t width = (size_t)t->accessor.pushed;
    for (size_t i = 0; i < x->n; i++) {
        fresh[i] = table_id_at(ids, x->at[i]);
        memmove(rows + i * width, rows + x->at[i] * width, width * sizeof *rows);
    }
    return table_push(t->table, (const uint8_t *)fresh, x->n, TABLE_MAKE | TABLE_SKIP_ADMISSION,
                      rows, err);
}

static enum skiff_status push_rows(struct sparse_table *t, const uint8_t *ids, size_t n,
                                   float *rows, struct skiff_error *err)
{
    struct absentees x = {.n = 0};
    if (!t->table->waiting)
        return table_push(t->table, ids, n, TABLE_MAKE, rows, err);
    TRY(table_each(t->table, ids, n, TABLE_LOOK, 0, record_absent, &x, err));
    TRY(admit(t, ids, rows, &x, err));
    TRY(table_push(t->table, ids, n, TABLE_LOOK, rows, err));
    return push_new(t, ids, rows, &x, err);
}

enum skiff_status sparse_push(struct sparse_table *t, const uint8_t *ids, const uint8_t *rows,
                              size_t n, struct skiff_error *err)
{
    size_t row = (size_t)t->accessor.pushed * sizeof(float);
    for (size_t at = 0, some; at < n; at += some) {
        some = n - at < PUSH_ROWS ? n - at : PUSH_ROWS;
        memcpy(t->rows, rows + at * row, some * row);
        enum skiff_status status = push_rows(t, ids + 8 * at, some, t->rows, err);
        if (status < 0)
            return error_prefix(err, status, "update of %s", t->name);
    }
    describe(t);
    return SKIFF_OK;
}

/* ---- our own saves ---- */

int64_t sparse_record_width(const struct sparse_table *t)
{
    return 1 + (int64_t)t->accessor.width;
}

enum skiff_status sparse_list_kept(struct sparse_table *t, uint64_t *cursor, size_t max,
                                   int64_t *ids, float *rows, size_t *out_n,
                                   struct skiff_error *err)
{
    size_t width = (size_t)t->accessor.width;
    void *row_list;
    TRY(mem_alloc(max * t->table->stride, "rows of a snapshot", &row_list, err));
    enum skiff_status status = table_snapshot_list(t->table, cursor, max, row_list, out_n, err);
    for (size_t i = 0; status >= 0 && i < *out_n; i++) {
        const struct table_row *r = (void *)((char *)row_list + i * t->table->stride);
        ids[i] = r->id;
        rows[i * (width + 1)] = (float)r->stamp; /* flags: a few bits */
        memcpy(rows + i * (width + 1) + 1, r->values, width * sizeof *rows);
    }
    mem_free(row_list);
    return status;
}

enum skiff_status sparse_list_waiting(struct sparse_table *t, uint64_t *cursor, size_t max,
                                      int64_t *ids, float *rows, size_t *out_n,
                                      struct skiff_error *err)
{
    void *list;
    TRY(mem_alloc((max + 1) * sizeof(struct waiting_id), "ids that wait for admission", &list,
                  err));
    const struct waiting_id *x = list;
    enum skiff_status status = table_snapshot_waiting(t->table, cursor, max, list, out_n, err);
    for (size_t i = 0; status >= 0 && i < *out_n; i++) {
        ids[i] = x[i].id;
        waiting_pack(&x[i], rows + i * WAITING_WIDTH);
    }
    mem_free(list);
    return status;
}

enum skiff_status sparse_put(struct sparse_table *t, int64_t id, const float *row,
                             struct skiff_error *err)
{
    struct table_row *r = mem_alloc_or_die(t->table->stride);
    r->id = id;
    /* a file may hold any value */
    r->stamp = row[0] > 0 && row[0] < 0x1p24f ? (uint32_t)row[0] : 0;
    memcpy(r->values, row + 1, (size_t)t->accessor.width * sizeof *row);
    enum skiff_status status = table_put(t->table, r, err);
    free(r);
    return status;
}
