/* Rows of distributed tables in GEO; geo_rows.h has the design. A row in `old` marks an id that
 * this trainer has; other ids are fetched at their first look-up. First look-ups run on training
 * threads, pulls of changes on the communicator's thread, and both write `old` and the rows of the
 * inner server. `lock` makes each of them one step, so that an older value never overwrites a newer
 * one. */
#include "comm/geo_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* ---- lifecycle ---- */

/* Rows by id on all servers of a plan. */
static void name_slices(struct comm_var *to, const struct job_plan *plan, const char *table,
                        const char *suffix)
{
    struct arena arena;
    arena_init(&arena);
    const char **names = arena_alloc(&arena, (size_t)plan->servers * sizeof *names);
    for (int i = 0; i < plan->servers; i++)
        names[i] = arena_printf(&arena, "%s%s", table, suffix);
    struct job_slices s = {.origin = table,
                           .n = plan->servers,
                           .names = names,
                           .endpoints = plan->endpoints,
                           .modulo = true};
    slices_copy(to, &s);
    arena_deinit(&arena);
}

static enum skiff_status add_table(struct geo_rows *g, const struct job_plan *plan,
                                   const struct job_plan *own, int i, struct skiff_error *err)
{
    struct geo_table *t = &g->tables[g->n++];
    struct accessor_options o = {.nparts = 1};
    t->width = plan->widths[i];
    o.parts[0] = (struct accessor_part){.width = plan->widths[i]};
    id_map_init(&t->met);
    id_map_init(&t->map);
    name_slices(&t->var, plan, plan->tables[i], "");
    name_slices(&t->delta, plan, plan->tables[i], ".delta");
    name_slices(&t->own_var, own, plan->tables[i], "");
    name_slices(&t->own_delta, own, plan->tables[i], ".delta");
    TRY(accessor_init(&t->accessor, &accessor_plain, &o, err));
    return table_create(&table_hash, &(struct table_options){.accessor = &t->accessor}, &t->old,
                        err);
}

enum skiff_status geo_rows_init(struct geo_rows *g, const struct job_plan *plan,
                                const struct job_plan *own, struct skiff_error *err)
{
    pthread_mutex_init(&g->lock, NULL);
    g->tables = mem_alloc_or_die((size_t)(plan->ntables + 1) * sizeof *g->tables);
    for (int i = 0; own && i < plan->ntables; i++)
        TRY(add_table(g, plan, own, i, err));
    return SKIFF_OK;
}

enum skiff_status geo_rows_bind(struct comm *c, struct geo_rows *g, struct skiff_error *err)
{
    const uint32_t pushes = PS_PUSH_DENSE | PS_PUSH_ROWS;
    for (int i = 0; i < g->n; i++) {
        struct geo_table *t = &g->tables[i];
        TRY(comm_bind(c->session, &t->var, PS_PULL_ROWS_OF, err));
        TRY(comm_bind(c->session, &t->delta, pushes, err));
        TRY(comm_bind(c->own, &t->own_var, PS_PULL_ROWS_OF, err));
        TRY(comm_bind(c->own, &t->own_delta, pushes, err));
    }
    return SKIFF_OK;
}

void geo_rows_deinit(struct geo_rows *g)
{
    for (int i = 0; i < g->n; i++) {
        struct geo_table *t = &g->tables[i];
        table_destroy(t->old);
        id_map_deinit(&t->met);
        id_map_deinit(&t->map);
        value_deinit(&t->diff);
        value_deinit(&t->back);
        comm_var_deinit(&t->var);
        comm_var_deinit(&t->delta);
        comm_var_deinit(&t->own_var);
        comm_var_deinit(&t->own_delta);
    }
    free(g->tables);
    pthread_mutex_destroy(&g->lock);
}

struct geo_table *geo_rows_find(struct geo_rows *g, const char *table)
{
    for (int i = 0; i < g->n; i++)
        if (!strcmp(g->tables[i].var.origin, table))
            return &g->tables[i];
    return NULL;
}

/* ---- ids ---- */

static void drop_known(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    bool *known = self;
    for (size_t i = 0; i < n; i++)
        known[first + i] = row_list[i] != NULL;
}

/* Keeps the ids that have a row (or that have none), in their order. */
static enum skiff_status keep(struct geo_table *t, bool with_row, int64_t *ids, size_t *n,
                              struct skiff_error *err)
{
    bool *known = mem_alloc_or_die(*n + 1);
    size_t kept = 0;
    enum skiff_status status =
        table_each(t->old, (const uint8_t *)ids, *n, TABLE_LOOK, 0, drop_known, known, err);
    for (size_t i = 0; i < *n && status == SKIFF_OK; i++)
        if (known[i] == with_row)
            ids[kept++] = ids[i];
    *n = kept;
    free(known);
    return status;
}

/* The caller frees it. */
static int64_t *list_ids(struct id_map *map, const struct job_lookup *l, size_t *out_n)
{
    size_t total = 0;
    for (int i = 0; i < l->n; i++)
        total += (size_t)tensor_numel(l->ids[i]);
    int64_t *ids = mem_alloc_or_die((total + 1) * sizeof *ids);
    id_map_reset(map, total);
    *out_n = lookup_distinct(map, l, ids);
    return ids;
}

/* ---- first look-ups of rows ---- */

static enum skiff_status push_inside(struct comm *c, struct geo_table *t, struct skiff_error *err)
{
    struct session_push push = {.to = t->own_delta.slices, .x = &t->back};
    return t->back.sel.nrows ? session_exchange(c->own, 0, 0, &push, 1, NULL, 0, err) : SKIFF_OK;
}

static enum skiff_status fetch(struct comm *c, struct geo_table *t, const int64_t *ids, size_t n,
                               struct skiff_error *err)
{
    TRY(value_as_rows(&t->back, DTYPE_FP32, n, t->width, 0, err));
    memcpy(t->back.sel.rows, ids, n * sizeof *ids);
    float *rows = tensor_f32(&t->back.tensor);
    TRY(session_pull_rows(c->session, &t->var.slices, ids, n, t->width, rows, err));
    TRY(push_inside(c, t, err));
    return table_scatter(t->old, (const uint8_t *)ids, n, TABLE_MAKE | TABLE_CHANGE, 0,
                         (int)t->width, rows, err);
}

enum skiff_status geo_rows_merge(struct comm *c, struct geo_rows *g, const struct job_lookup *l,
                                 struct skiff_error *err)
{
    struct geo_table *t = geo_rows_find(g, l->table.origin);
    size_t n;
    if (!t)
        return error_set(err, SKIFF_NOT_FOUND, "GEO: %s is not a distributed table of this job",
                         l->table.origin);
    pthread_mutex_lock(&g->lock);
    int64_t *ids = list_ids(&t->met, l, &n);
    enum skiff_status status = keep(t, false, ids, &n, err);
    if (status == SKIFF_OK && n)
        status = fetch(c, t, ids, n, err);
    pthread_mutex_unlock(&g->lock);
    free(ids);
    return status;
}

/* ---- pushing differences ---- */

static enum skiff_status subtract(struct geo_table *t, const float *train, float share,
                                  struct skiff_error *err)
{
    size_t n = t->diff.sel.nrows, all = n * (size_t)t->width;
    const uint8_t *ids = (const uint8_t *)t->diff.sel.rows;
    float *diff = tensor_f32(&t->diff.tensor), *old = mem_alloc_or_die((all + 1) * sizeof *old);
    enum skiff_status status = table_gather(t->old, ids, n, TABLE_LOOK, 0, (int)t->width, old, err);
    for (size_t i = 0; i < all && status == SKIFF_OK; i++) {
        diff[i] = (train[i] - old[i]) * share;
        old[i] += diff[i];
    }
    if (status == SKIFF_OK)
        status = table_scatter(t->old, ids, n, TABLE_CHANGE, 0, (int)t->width, old, err);
    free(old);
    return status;
}

enum skiff_status geo_rows_diff(struct comm *c, struct geo_rows *g, struct geo_table *t,
                                const int64_t *ids, size_t n, float share, struct skiff_error *err)
{
    float *train = NULL;
    TRY(value_as_rows(&t->diff, DTYPE_FP32, n, t->width, 0, err));
    memcpy(t->diff.sel.rows, ids, n * sizeof *ids);
    pthread_mutex_lock(&g->lock); /* a padding id has no row */
    enum skiff_status status = keep(t, true, t->diff.sel.rows, &n, err);
    pthread_mutex_unlock(&g->lock);
    t->diff.sel.nrows = n;
    t->diff.tensor.shape.dims[0] = (int64_t)n;
    t->diff.sel.distinct = true;
    if (status < 0 || !n)
        return status;
    train = mem_alloc_or_die(n * (size_t)t->width * sizeof *train);
    status =
        session_pull_rows(c->own, &t->own_var.slices, t->diff.sel.rows, n, t->width, train, err);
    if (status == SKIFF_OK) {
        pthread_mutex_lock(&g->lock);
        status = subtract(t, train, share, err);
        pthread_mutex_unlock(&g->lock);
    }
    free(train);
    return status;
}

/* ---- changes by other trainers ---- */

/* Rows that this trainer has: back = p - old, old = p. */
static enum skiff_status compare(struct geo_table *t, const int64_t *ids, const float *rows,
                                 size_t n, struct skiff_error *err)
{
    size_t width = (size_t)t->width, kept = 0;
    bool *known = mem_alloc_or_die(n + 1);
    float *old = mem_alloc_or_die((n * width + 1) * sizeof *old);
    enum skiff_status status;
    TRY_OUT(value_as_rows(&t->back, DTYPE_FP32, n, t->width, 0, err));
    TRY_OUT(table_each(t->old, (const uint8_t *)ids, n, TABLE_LOOK, 0, drop_known, known, err));
    TRY_OUT(table_gather(t->old, (const uint8_t *)ids, n, TABLE_LOOK, 0, (int)width, old, err));
    for (size_t i = 0; i < n; i++) {
        float *to = tensor_f32(&t->back.tensor) + kept * width;
        bool other = false;
        for (size_t k = 0; k < width && known[i]; k++) {
            to[k] = rows[i * width + k] - old[i * width + k];
            other |= to[k] != 0;
        }
        if (other)
            t->back.sel.rows[kept++] = ids[i];
    }
    TRY_OUT(table_scatter(t->old, (const uint8_t *)ids, n, TABLE_CHANGE, 0, (int)width, rows, err));
    t->back.sel.nrows = kept;
    t->back.tensor.shape.dims[0] = (int64_t)kept;
out:
    free(known);
    free(old);
    return status;
}

enum skiff_status geo_rows_replay(struct comm *c, struct geo_rows *g, struct geo_table *t,
                                  struct skiff_error *err)
{
    int64_t *ids = NULL;
    float *rows = NULL;
    size_t n = 0;
    pthread_mutex_lock(&g->lock);
    enum skiff_status status =
        session_pull_changed(c->session, &t->var.slices, t->width, &ids, &rows, &n, err);
    if (status == SKIFF_OK && n)
        status = compare(t, ids, rows, n, err);
    if (status == SKIFF_OK && n)
        status = push_inside(c, t, err);
    pthread_mutex_unlock(&g->lock);
    free(ids);
    free(rows);
    return status;
}
