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

#include "base/mem.h"

#define PUSH_ROWS 2048 /* are copied to an aligned place at once */
#define SHOW 1         /* in a pushed row: slot, show, click, gradients */

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
    struct table_options o = {
        .accessor = &u->accessor, .admission = c->admission, .seed = c->options.seed};
    return table_create(&table_hash, &o, &u->table, err);
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

struct absentees {
    const uint8_t *ids;
    const float *rows;
    size_t pushed;
    size_t at[PUSH_ROWS], n;
};

static void note_absent(void *self, size_t first, size_t n, struct record *const *records)
{
    struct absentees *x = self;
    for (size_t i = 0; i < n; i++)
        if (!records[i])
            x->at[x->n++] = first + i;
}

static void make_block(void *self, size_t first, size_t n, struct record *const *records) {}

/* Asks as often as the id has occurred. */
static enum skiff_status ask_for(struct table *t, int64_t id, float show, bool *out,
                                 struct skiff_error *err)
{
    int64_t times = t->options.admission.kind == ADMIT_COUNT && show > 1 ? (int64_t)show : 1;
    *out = false;
    for (int64_t i = 0; i < times && !*out; i++)
        TRY(waiting_ask(t->waiting, id, out, err));
    t->counts.refused += !*out;
    return SKIFF_OK;
}

/* Rows for those ids without one that may come in. */
static enum skiff_status admit(struct unit *u, const uint8_t *ids, size_t n, const float *rows,
                               struct skiff_error *err)
{
    struct absentees x = {.ids = ids, .rows = rows, .pushed = (size_t)u->pushed};
    TRY(table_each(u->table, ids, n, TABLE_LOOK, 0, note_absent, &x, err));
    for (size_t i = 0; i < x.n; i++) {
        const uint8_t *id = ids + 8 * x.at[i];
        bool comes;
        TRY(ask_for(u->table, table_id_at(id, 0), rows[x.at[i] * x.pushed + SHOW], &comes, err));
        if (comes)
            TRY(table_each(u->table, id, 1, TABLE_MAKE | TABLE_ANYWAY, 0, make_block, NULL, err));
    }
    return SKIFF_OK;
}

static enum skiff_status push_rows(struct unit *u, const uint8_t *ids, size_t n, const float *rows,
                                   struct skiff_error *err)
{
    if (!u->table->waiting)
        return table_push(u->table, ids, n, TABLE_MAKE, rows, err);
    TRY(admit(u, ids, n, rows, err));
    return table_push(u->table, ids, n, TABLE_LOOK, rows, err);
}

enum skiff_status features_push(struct unit *u, const struct ps_item *item, struct skiff_error *err)
{
    size_t width = (size_t)u->pushed, row = width * sizeof(float);
    for (size_t at = 0; at < (size_t)item->nrows; at += PUSH_ROWS) {
        size_t n = (size_t)item->nrows - at < PUSH_ROWS ? (size_t)item->nrows - at : PUSH_ROWS;
        memcpy(u->features->rows, item->data + at * row, n * row);
        enum skiff_status status = push_rows(u, item->rows + 8 * at, n, u->features->rows, err);
        if (status < 0)
            return error_prefix(err, status, "update of %s", u->param);
    }
    return SKIFF_OK;
}
