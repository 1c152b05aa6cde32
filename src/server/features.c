/* Tables of features: a unit without a block. Its rows are records of an accessor of Paddle's
 * (table/accessor.h), which knows by itself what a push does; so nothing is merged over trainers:
 * the pushes of a step are applied one after the other, in trainer order. A pull makes no rows.
 *
 * Admission (CountFilterEntry, ProbabilityEntry) is asked when a push would make a row. The push
 * says how often the id stood in its batches (show), so that ids are counted as they occur, however
 * the worker has merged them. */
#include "server/features.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/file.h"

#define PUSH_ROWS 2048 /* are copied to an aligned place at once */
#define STAGE_SHARE 4  /* of the memory limit, for rows that are being loaded */
#define SHOW 1         /* in a pushed row: slot, show, click, gradients */

/* ---- numbers for those who watch ---- */

static void name_counts(struct server *s)
{
    static const char *const names[FEATURE_COUNTS][2] = {
        {"table_rows", "rows of tables of features"},
        {"table_bytes", "memory of tables of features"},
        {"table_admitted", "rows that came"},
        {"table_refused", "times that an id was not let in"},
        {"table_expired", "rows that shrinks took away"},
        {"table_evicted", "rows that left at the memory limit"}};
    for (int i = 0; i < FEATURE_COUNTS; i++)
        s->counts.tables[i] = stats_gauge(s->stats, names[i][0], names[i][1]);
}

void features_tell(struct server *s, struct unit *u)
{
    const struct table_counts *c = &u->table->counts; /* table_stats asks the disk for more */
    const uint64_t now[FEATURE_COUNTS] = {table_count(u->table),
                                          table_bytes(u->table),
                                          c->admitted,
                                          c->refused,
                                          c->expired,
                                          c->evicted};
    for (int i = 0; i < FEATURE_COUNTS; i++) {
        metric_add(s->counts.tables[i], (int64_t)now[i] - u->features->told[i]);
        u->features->told[i] = (int64_t)now[i];
    }
}

/* ---- life ---- */

static enum skiff_status check_dim(const struct unit *u, const struct features *f,
                                   struct skiff_error *err)
{
    if (u->accessor.pulled == f->config.dim && u->accessor.pushed > SHOW)
        return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "table %s: accessor %s shows %d numbers of a row, its embedding has %d",
                     u->param, f->config.accessor->name, u->accessor.pulled, f->config.dim);
}

static void find_shards(const struct server *s, struct features *f)
{
    int all = f->config.shard_num, each = table_server_shards(all, s->plan->servers);
    int first = s->index * each, end = first + each;
    f->first_shard = first < all ? first : all;
    f->nshards = (end < all ? end : all) - f->first_shard;
}

#define OWN_FOLDER "skiff-tables"
#define LOAD ".load"
#define PREPARE_FROM ((size_t)1 << 30)

static bool has_path(const struct unit *u)
{
    return u->features->config.path && *u->features->config.path;
}

/* <path>/<table>.server_<i>, or in the folder in which the server runs; of a load: .load */
static void disk_folder(const struct server *s, const struct unit *u, bool stage, struct buf *out)
{
    buf_printf(out, "%s/", has_path(u) ? u->features->config.path : OWN_FOLDER);
    for (const char *p = u->param; *p; p++)
        buf_char(out, *p == '/' ? '_' : *p);
    buf_printf(out, ".server_%d%s", s->index, stage ? LOAD : "");
}

bool features_on_disk(const struct unit *u)
{
    const struct table_config *c = &u->features->config;
    return c->memory_limit && c->policy == MEMORY_DISK;
}

bool features_in_own_folder(const struct unit *u)
{
    return u->features && features_on_disk(u) && !has_path(u);
}

void features_leave_own_folder(void)
{
    rmdir(OWN_FOLDER); /* not while other tables or servers have rows there */
}

enum skiff_status features_table(struct server *s, struct unit *u, bool stage, struct table **out,
                                 struct skiff_error *err)
{
    const struct table_config *c = &u->features->config;
    bool disk = features_on_disk(u);
    struct buf folder = BUF_INIT;
    struct table_options o = {
        .accessor = &u->accessor,
        .admission = c->admission,
        .seed = c->options.seed,
        /* nobody prepares what is loaded beside; small limits leave no room for it */
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
    if (status == SKIFF_OK && disk && !stage) { /* of a process that was killed while it loaded */
        buf_str(&folder, LOAD);
        file_remove_tree(folder.data);
    }
    buf_deinit(&folder);
    return status < 0 ? error_prefix(err, status, "table %s", u->param) : SKIFF_OK;
}

/* Its part of what the server has for tables. */
static void share_memory(const struct server *s, struct table_config *c)
{
    int n = 0;
    for (int i = 0; i < s->plan->ntables; i++)
        n += s->plan->features[i] != NULL;
    if (!c->memory_limit && n)
        c->memory_limit = s->options.table_memory / (size_t)n;
}

enum skiff_status features_create(struct server *s, struct unit *u, const char *settings,
                                  struct skiff_error *err)
{
    struct features *f = u->features = mem_must(sizeof *f);
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
    f->rows = mem_must(PUSH_ROWS * (size_t)u->pushed * sizeof *f->rows);
    if (!s->counts.tables[0])
        name_counts(s);
    return features_table(s, u, false, &u->table, err);
}

void features_destroy(struct unit *u)
{
    if (!u->features)
        return;
    features_abort(u);
    features_unload(u);
    table_config_deinit(&u->features->config);
    free(u->features->rows);
    free(u->features);
}

/* ---- rows ---- */

bool features_owns(const struct server *s, const struct unit *u, int64_t id)
{
    return table_server_of(id, u->features->config.shard_num, s->plan->servers) == s->index;
}

enum skiff_status features_pull(struct unit *u, const uint8_t *ids, size_t n, float *out,
                                struct skiff_error *err)
{
    return table_pull(u->table, ids, n, TABLE_LOOK, out, err);
}

/* Rows of a push whose ids have no record. */
struct absentees {
    size_t at[PUSH_ROWS], n;
};

static void note_absent(void *self, size_t first, size_t n, struct record *const *records)
{
    struct absentees *x = self;
    for (size_t i = 0; i < n; i++)
        if (!records[i])
            x->at[x->n++] = first + i;
}

/* As often as the id has occurred, by what the worker says: any number. */
static enum skiff_status ask_for(struct table *t, int64_t id, float show, bool *out,
                                 struct skiff_error *err)
{
    uint32_t times = show > 1 ? show < 0x1p31f ? (uint32_t)show : UINT32_MAX : 1;
    TRY(waiting_ask(t->waiting, id, times, out, err));
    t->counts.refused += !*out;
    return SKIFF_OK;
}

/* Those of them that may come in now. */
static enum skiff_status admit(struct unit *u, const uint8_t *ids, const float *rows,
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

/* A new row learns in the call that makes it: without shows it would be the first to leave at the
 * table's limit. `rows` is used up. */
static enum skiff_status push_new(struct unit *u, const uint8_t *ids, float *rows,
                                  const struct absentees *x, struct skiff_error *err)
{
    int64_t fresh[PUSH_ROWS];
    size_t width = (size_t)u->pushed;
    for (size_t i = 0; i < x->n; i++) {
        fresh[i] = table_id_at(ids, x->at[i]);
        memmove(rows + i * width, rows + x->at[i] * width, width * sizeof *rows);
    }
    return table_push(u->table, (const uint8_t *)fresh, x->n, TABLE_MAKE | TABLE_ANYWAY, rows, err);
}

static enum skiff_status push_rows(struct unit *u, const uint8_t *ids, size_t n, float *rows,
                                   struct skiff_error *err)
{
    struct absentees x = {.n = 0};
    if (!u->table->waiting)
        return table_push(u->table, ids, n, TABLE_MAKE, rows, err);
    TRY(table_each(u->table, ids, n, TABLE_LOOK, 0, note_absent, &x, err));
    TRY(admit(u, ids, rows, &x, err));
    TRY(table_push(u->table, ids, n, TABLE_LOOK, rows, err));
    return push_new(u, ids, rows, &x, err);
}

enum skiff_status features_push(struct server *s, struct unit *u, const struct ps_item *item,
                                struct skiff_error *err)
{
    size_t width = (size_t)u->pushed, row = width * sizeof(float);
    for (size_t at = 0; at < (size_t)item->nrows; at += PUSH_ROWS) {
        size_t n = (size_t)item->nrows - at < PUSH_ROWS ? (size_t)item->nrows - at : PUSH_ROWS;
        memcpy(u->features->rows, item->data + at * row, n * row);
        enum skiff_status status = push_rows(u, item->rows + 8 * at, n, u->features->rows, err);
        if (status < 0)
            return error_prefix(err, status, "update of %s", u->param);
    }
    features_tell(s, u);
    return SKIFF_OK;
}

/* ---- our own saves ---- */

int64_t features_record_width(const struct unit *u)
{
    return 1 + (int64_t)u->accessor.width;
}

enum skiff_status features_list_kept(struct unit *u, uint64_t *cursor, size_t max, int64_t *ids,
                                     float *rows, size_t *out_n, struct skiff_error *err)
{
    size_t width = (size_t)u->accessor.width;
    void *records;
    TRY(mem_alloc(max * u->table->stride, "rows of a snapshot", &records, err));
    enum skiff_status status = table_snapshot_list(u->table, cursor, max, records, out_n, err);
    for (size_t i = 0; status >= 0 && i < *out_n; i++) {
        const struct record *r = (void *)((char *)records + i * u->table->stride);
        ids[i] = r->id;
        rows[i * (width + 1)] = (float)r->stamp; /* flags: a few bits */
        memcpy(rows + i * (width + 1) + 1, r->values, width * sizeof *rows);
    }
    mem_free(records);
    return status;
}

enum skiff_status features_list_waiting(struct unit *u, uint64_t *cursor, size_t max, int64_t *ids,
                                        float *rows, size_t *out_n, struct skiff_error *err)
{
    void *list;
    TRY(mem_alloc((max + 1) * sizeof(struct waiting_id), "ids that wait", &list, err));
    const struct waiting_id *x = list;
    enum skiff_status status = table_snapshot_waiting(u->table, cursor, max, list, out_n, err);
    for (size_t i = 0; status >= 0 && i < *out_n; i++) {
        ids[i] = x[i].id;
        waiting_pack(&x[i], rows + i * WAITING_WIDTH);
    }
    mem_free(list);
    return status;
}

enum skiff_status features_put(struct unit *u, int64_t id, const float *row,
                               struct skiff_error *err)
{
    struct record *r = mem_must(u->table->stride);
    r->id = id;
    r->stamp = row[0] > 0 && row[0] < 0x1p24f ? (uint32_t)row[0] : 0; /* a file may say anything */
    memcpy(r->values, row + 1, (size_t)u->accessor.width * sizeof *row);
    enum skiff_status status = table_put(u->table, r, err);
    free(r);
    return status;
}
