/* Sparse tables: slices without a block in the server program. Their rows are records of one of
 * Paddle's accessors (table/accessor.h), which itself defines what a push does. So nothing is
 * merged over trainers: the pushes of a step are applied one after the other, in trainer order. A
 * pull creates no rows.
 *
 * Admission (CountFilterEntry, ProbabilityEntry) is evaluated when a push would create a row. The
 * push carries how often the id stood in its batches (show), so that occurrences are counted
 * correctly however the worker has merged them. */
#include "server/sparse.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/file.h"

#define PUSH_ROWS 2048 /* are copied to an aligned buffer at once */
#define STAGE_SHARE 4  /* of the memory limit: the share of rows that are being loaded */
#define SHOW 1         /* in a pushed row: slot, show, click, gradients */

/* ---- metrics ---- */

static void name_counts(struct server *s, struct param_slice *u)
{
    for (int i = 0; i < TABLE_COUNTS; i++)
        u->sparse_table->metrics[i] =
            metrics_get(s->metrics, (enum metric_id)(METRIC_TABLE_ROWS + i), u->param);
}

void sparse_describe(struct param_slice *u)
{
    const struct table_counts *c = &u->table->counts; /* table_stats would ask the disk, too */
    const uint64_t now[] = {table_count(u->table),
                            table_bytes(u->table),
                            c->admitted,
                            c->refused,
                            c->expired,
                            c->evicted};
    for (size_t i = 0; i < sizeof now / sizeof *now; i++)
        metric_set(u->sparse_table->metrics[i], (int64_t)now[i]);
}

void sparse_describe_all(struct param_slice *u, const struct table_stats *now)
{
    const struct table_counts *c = &now->counts;
    const uint64_t values[TABLE_COUNTS] = {
        now->rows,      now->bytes,      c->admitted,       c->refused,        c->expired,
        c->evicted,     now->waiting,    now->hits,         now->misses,       now->fetched,
        now->disk_rows, now->disk_bytes, now->rows_written, now->bytes_written};
    for (int i = 0; i < TABLE_COUNTS; i++)
        metric_set(u->sparse_table->metrics[i], (int64_t)values[i]);
}

/* ---- lifecycle ---- */

static enum skiff_status check_dim(const struct param_slice *u, const struct sparse_table *f,
                                   struct skiff_error *err)
{
    if (u->accessor.pulled == f->config.dim && u->accessor.pushed > SHOW)
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "table %s: accessor %s gives %d numbers of a row, but its embedding has %d",
                     u->param, f->config.accessor->name, u->accessor.pulled, f->config.dim);
}

static void find_shards(const struct server *s, struct sparse_table *f)
{
    int all = f->config.shard_num, each = table_server_shards(all, s->plan->servers);
    int first = s->index * each, end = first + each;
    f->first_shard = first < all ? first : all;
    f->nshards = (end < all ? end : all) - f->first_shard;
}

#define OWN_FOLDER "skiff-tables"
#define LOAD ".load"
#define PREPARE_FROM ((size_t)1 << 30)

static bool has_path(const struct param_slice *u)
{
    return u->sparse_table->config.path && *u->sparse_table->config.path;
}

/* <path>/<table>.server_<i>, or a folder in the server's working directory; with .load for a staged
 * load. */
static void disk_folder(const struct server *s, const struct param_slice *u, bool stage,
                        struct buf *out)
{
    buf_printf(out, "%s/", has_path(u) ? u->sparse_table->config.path : OWN_FOLDER);
    for (const char *p = u->param; *p; p++)
        buf_char(out, *p == '/' ? '_' : *p);
    buf_printf(out, ".server_%d%s", s->index, stage ? LOAD : "");
}

bool sparse_on_disk(const struct param_slice *u)
{
    const struct table_config *c = &u->sparse_table->config;
    return c->memory_limit && c->policy == MEMORY_DISK;
}

bool sparse_in_own_folder(const struct param_slice *u)
{
    return u->sparse_table && sparse_on_disk(u) && !has_path(u);
}

void sparse_leave_own_folder(void)
{
    rmdir(OWN_FOLDER); /* fails while other tables or servers have rows there */
}

enum skiff_status sparse_table(struct server *s, struct param_slice *u, bool stage,
                               struct table **out, struct skiff_error *err)
{
    const struct table_config *c = &u->sparse_table->config;
    bool disk = sparse_on_disk(u);
    struct buf folder = BUF_INIT;
    struct table_options o = {
        .accessor = &u->accessor,
        .admission = c->admission,
        .seed = c->options.seed,
        /* a stage is not prepared ahead; small limits leave no memory for it */
        .prepared = !stage && (!c->memory_limit || c->memory_limit >= PREPARE_FROM),
        .limit = {.bytes = c->memory_limit,
                  .policy = c->policy == MEMORY_DROP_LOWEST ? TABLE_LOWEST : TABLE_OLDEST}};
    if (disk) {
        o.limit.policy = TABLE_SELDOM;
        disk_folder(s, u, stage, &folder);
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
    return status < 0 ? error_prefix(err, status, "table %s", u->param) : SKIFF_OK;
}

/* The table's share of the server's memory for tables. */
static void share_memory(const struct server *s, struct table_config *c)
{
    int n = 0;
    for (int i = 0; i < s->plan->ntables; i++)
        n += s->plan->sparse_table[i] != NULL;
    if (!c->memory_limit && n)
        c->memory_limit = s->options.table_memory / (size_t)n;
}

enum skiff_status sparse_create(struct server *s, struct param_slice *u, const char *settings,
                                struct skiff_error *err)
{
    struct sparse_table *f = u->sparse_table = mem_alloc_or_die(sizeof *f);
    const struct table_config *c = &f->config;
    TRY(table_config_parse(u->param, settings, &f->config, err));
    share_memory(s, &f->config);
    find_shards(s, f);
    enum skiff_status status = accessor_init(&u->accessor, c->accessor, &c->options, err);
    if (status < 0)
        return error_prefix(err, status, "table %s", u->param);
    TRY(check_dim(u, f, err));
    u->width = c->dim;
    u->pushed = u->accessor.pushed;
    u->shape = SHAPE(-1, c->dim);
    u->sparse = true;
    f->rows = mem_alloc_or_die(PUSH_ROWS * (size_t)u->pushed * sizeof *f->rows);
    name_counts(s, u);
    return sparse_table(s, u, false, &u->table, err);
}

void sparse_destroy(struct param_slice *u)
{
    if (!u->sparse_table)
        return;
    sparse_abort(u);
    sparse_unload(u);
    table_config_deinit(&u->sparse_table->config);
    free(u->sparse_table->rows);
    free(u->sparse_table);
}

/* ---- rows ---- */

bool sparse_owns(const struct server *s, const struct param_slice *u, int64_t id)
{
    return table_server_of(id, u->sparse_table->config.shard_num, s->plan->servers) == s->index;
}

enum skiff_status sparse_pull(struct param_slice *u, const uint8_t *ids, size_t n, float *out,
                              struct skiff_error *err)
{
    return table_pull(u->table, ids, n, TABLE_LOOK, out, err);
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
static enum skiff_status admit(struct param_slice *u, const uint8_t *ids, const float *rows,
                               struct absentees *x, struct skiff_error *err)
{
    size_t come = 0;
    for (size_t i = 0; i < x->n; i++) {
        size_t at = x->at[i];
        bool comes;
        TRY(ask_for(u->table, table_id_at(ids, at), rows[at * (size_t)u->pushed + SHOW], &comes,
                    err));
        if (comes)
            x->at[come++] = at;
    }
    x->n = come;
    return SKIFF_OK;
}

/* A new row learns in the call that creates it: without shows it would be the first to be evicted
 * at the table's limit. `rows` is used up. */
static enum skiff_status push_new(struct param_slice *u, const uint8_t *ids, float *rows,
                                  const struct absentees *x, struct skiff_error *err)
{
    int64_t fresh[PUSH_ROWS];
    size_t width = (size_t)u->pushed;
    for (size_t i = 0; i < x->n; i++) {
        fresh[i] = table_id_at(ids, x->at[i]);
        memmove(rows + i * width, rows + x->at[i] * width, width * sizeof *rows);
    }
    return table_push(u->table, (const uint8_t *)fresh, x->n, TABLE_MAKE | TABLE_SKIP_ADMISSION,
                      rows, err);
}

static enum skiff_status push_rows(struct param_slice *u, const uint8_t *ids, size_t n, float *rows,
                                   struct skiff_error *err)
{
    struct absentees x = {.n = 0};
    if (!u->table->waiting)
        return table_push(u->table, ids, n, TABLE_MAKE, rows, err);
    TRY(table_each(u->table, ids, n, TABLE_LOOK, 0, record_absent, &x, err));
    TRY(admit(u, ids, rows, &x, err));
    TRY(table_push(u->table, ids, n, TABLE_LOOK, rows, err));
    return push_new(u, ids, rows, &x, err);
}

enum skiff_status sparse_push(struct server *s, struct param_slice *u, const struct ps_item *item,
                              struct skiff_error *err)
{
    size_t width = (size_t)u->pushed, row = width * sizeof(float);
    for (size_t at = 0; at < (size_t)item->nrows; at += PUSH_ROWS) {
        size_t n = (size_t)item->nrows - at < PUSH_ROWS ? (size_t)item->nrows - at : PUSH_ROWS;
        memcpy(u->sparse_table->rows, item->data + at * row, n * row);
        enum skiff_status status = push_rows(u, item->rows + 8 * at, n, u->sparse_table->rows, err);
        if (status < 0)
            return error_prefix(err, status, "update of %s", u->param);
    }
    sparse_describe(u);
    return SKIFF_OK;
}

/* ---- our own saves ---- */

int64_t sparse_record_width(const struct param_slice *u)
{
    return 1 + (int64_t)u->accessor.width;
}

enum skiff_status sparse_list_kept(struct param_slice *u, uint64_t *cursor, size_t max,
                                   int64_t *ids, float *rows, size_t *out_n,
                                   struct skiff_error *err)
{
    size_t width = (size_t)u->accessor.width;
    void *row_list;
    TRY(mem_alloc(max * u->table->stride, "rows of a snapshot", &row_list, err));
    enum skiff_status status = table_snapshot_list(u->table, cursor, max, row_list, out_n, err);
    for (size_t i = 0; status >= 0 && i < *out_n; i++) {
        const struct table_row *r = (void *)((char *)row_list + i * u->table->stride);
        ids[i] = r->id;
        rows[i * (width + 1)] = (float)r->stamp; /* flags: a few bits */
        memcpy(rows + i * (width + 1) + 1, r->values, width * sizeof *rows);
    }
    mem_free(row_list);
    return status;
}

enum skiff_status sparse_list_waiting(struct param_slice *u, uint64_t *cursor, size_t max,
                                      int64_t *ids, float *rows, size_t *out_n,
                                      struct skiff_error *err)
{
    void *list;
    TRY(mem_alloc((max + 1) * sizeof(struct waiting_id), "ids that wait for admission", &list,
                  err));
    const struct waiting_id *x = list;
    enum skiff_status status = table_snapshot_waiting(u->table, cursor, max, list, out_n, err);
    for (size_t i = 0; status >= 0 && i < *out_n; i++) {
        ids[i] = x[i].id;
        waiting_pack(&x[i], rows + i * WAITING_WIDTH);
    }
    mem_free(list);
    return status;
}

enum skiff_status sparse_put(struct param_slice *u, int64_t id, const float *row,
                             struct skiff_error *err)
{
    struct table_row *r = mem_alloc_or_die(u->table->stride);
    r->id = id;
    /* a file may hold any value */
    r->stamp = row[0] > 0 && row[0] < 0x1p24f ? (uint32_t)row[0] : 0;
    memcpy(r->values, row + 1, (size_t)u->accessor.width * sizeof *row);
    enum skiff_status status = table_put(u->table, r, err);
    free(r);
    return status;
}
