/* Rows of a table for lists of ids: every id is requested once.
 *
 * Batches repeat ids (about half of them in Criteo data), and a row costs the same each time, so
 * lists are made distinct first and the rows are copied to all their positions afterwards. If the
 * caller has distinct ids already (fused programs), rows are written straight to their positions,
 * and may be prefetched. A padding id is never requested: its row is zero. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "comm/mode.h"

/* ---- one list of distinct ids ---- */

struct job_prefetch {
    struct session_rows *rows; /* NULL: no id but the padding one */
    int64_t padding;           /* index of the padding id; -1: there is none */
};

static int64_t padding_index(const struct job_lookup *l)
{
    const int64_t *ids = tensor_i64(l->ids[0]);
    int64_t n = tensor_numel(l->ids[0]);
    for (int64_t e = 0; e < n && l->padding_idx != -1; e++)
        if (ids[e] == l->padding_idx)
            return e;
    return -1;
}

static enum skiff_status ask(struct comm *c, struct session *s, const struct job_lookup *l,
                             bool prefetch, uint64_t after, struct job_prefetch *out,
                             struct skiff_error *err)
{
    const struct job_slices *table;
    const int64_t *ids = tensor_i64(l->ids[0]);
    size_t n = (size_t)tensor_numel(l->ids[0]);
    *out = (struct job_prefetch){.padding = padding_index(l)};
    TRY(comm_table(c, s, &l->table, &table, err));
    if (out->padding < 0)
        return session_rows_ask(s, table, ids, n, prefetch, after, &out->rows, err);
    if (n == 1)
        return SKIFF_OK;
    size_t before = (size_t)out->padding;
    int64_t *others = mem_alloc_or_die(n * sizeof *others);
    memcpy(others, ids, before * sizeof *others);
    memcpy(others + before, ids + before + 1, (n - before - 1) * sizeof *others);
    enum skiff_status status =
        session_rows_ask(s, table, others, n - 1, prefetch, after, &out->rows, err);
    free(others);
    return status;
}

static enum skiff_status take(struct job_prefetch *a, struct tensor *out, struct skiff_error *err)
{
    int64_t width = shape_cols(&out->shape, 1);
    float *rows = tensor_f32(out), *zero = rows + a->padding * width;
    size_t row = (size_t)width * sizeof *rows;
    if (a->rows)
        TRY(session_rows_take(a->rows, width, rows, err));
    if (a->padding < 0)
        return SKIFF_OK;
    memmove(zero + width, zero, (size_t)(out->shape.dims[0] - a->padding - 1) * row);
    memset(zero, 0, row);
    return SKIFF_OK;
}

enum skiff_status comm_job_lookup_prefetch(struct job *j, const struct job_lookup *l,
                                           struct job_prefetch **out, struct skiff_error *err)
{
    struct comm *c = (struct comm *)j;
    struct session *s;
    uint64_t after;
    *out = NULL;
    if (!atomic_load(&c->running) || !c->mode->prefetch(c, &after))
        return SKIFF_OK;
    TRY(comm_open(c, &s, err));
    struct job_prefetch *a = mem_alloc_or_die(sizeof *a);
    enum skiff_status status = ask(c, s, l, true, after, a, err);
    if (status < 0)
        free(a);
    else
        *out = a;
    return status;
}

enum skiff_status comm_job_lookup_take(struct job *j, struct job_prefetch *a, struct tensor *out,
                                       struct skiff_error *err)
{
    (void)j;
    enum skiff_status status = take(a, out, err);
    free(a);
    return status;
}

void comm_job_lookup_drop(struct job *j, struct job_prefetch *a)
{
    (void)j;
    if (a->rows)
        session_rows_drop(a->rows);
    free(a);
}

bool comm_job_on_disk(struct job *j, const char *table)
{
    return job_plan_has_disk(((const struct comm *)j)->options.plan, table);
}

/* Padding ids are included: servers find no row for them. */
void comm_job_lookup_announce(struct job *j, const struct job_lookup *l)
{
    struct comm *c = (struct comm *)j;
    const struct job_slices *table;
    struct session *s;
    if (comm_open(c, &s, NULL) == SKIFF_OK && comm_table(c, s, &l->table, &table, NULL) == SKIFF_OK)
        session_prefetch_rows(s, table, tensor_i64(l->ids[0]), (size_t)tensor_numel(l->ids[0]));
}

/* ---- any lists ---- */

struct lookup_ids {
    struct id_map map;
    int64_t *ids; /* distinct, without the padding id */
    float *rows;
    size_t n;
};

size_t lookup_distinct(struct id_map *map, const struct job_lookup *l, int64_t *out)
{
    size_t n = 0;
    for (int i = 0; i < l->n; i++)
        for (int64_t e = 0; e < tensor_numel(l->ids[i]); e++) {
            int64_t id = tensor_i64(l->ids[i])[e];
            bool fresh;
            if (l->padding_idx != -1 && id == l->padding_idx)
                continue;
            id_map_add(map, id, &fresh);
            if (fresh)
                out[n++] = id;
        }
    return n;
}

static void spread(const struct lookup_ids *w, const struct job_lookup *l, int64_t width)
{
    for (int i = 0; i < l->n; i++) {
        float *to = tensor_f32(l->out[i]);
        for (int64_t e = 0; e < tensor_numel(l->ids[i]); e++, to += width) {
            uint32_t at;
            if (id_map_find(&w->map, tensor_i64(l->ids[i])[e], &at))
                memcpy(to, w->rows + (size_t)at * (size_t)width, (size_t)width * sizeof *to);
            else
                memset(to, 0, (size_t)width * sizeof *to);
        }
    }
}

enum skiff_status comm_lookup(struct comm *c, struct session *s, const struct job_lookup *l,
                              struct skiff_error *err)
{
    const struct job_slices *table;
    struct lookup_ids w = {0};
    struct job_prefetch one;
    size_t total = 0;
    enum skiff_status status;
    void *p;
    if (!l->n)
        return SKIFF_OK;
    if (l->distinct && l->n == 1) {
        TRY(ask(c, s, l, false, 0, &one, err));
        return take(&one, l->out[0], err);
    }
    TRY(comm_table(c, s, &l->table, &table, err));
    int64_t width = l->out[0]->shape.dims[l->out[0]->shape.ndim - 1];
    for (int i = 0; i < l->n; i++)
        total += (size_t)tensor_numel(l->ids[i]);
    TRY(mem_alloc(total * sizeof *w.ids + total * (size_t)width * sizeof *w.rows + 1,
                  "rows of a batch", &p, err));
    w.ids = p;
    w.rows = (float *)(w.ids + total);
    id_map_init(&w.map);
    id_map_reset(&w.map, total);
    w.n = lookup_distinct(&w.map, l, w.ids);
    status = w.n ? session_pull_rows(s, table, w.ids, w.n, width, w.rows, err) : SKIFF_OK;
    if (status == SKIFF_OK)
        spread(&w, l, width);
    id_map_deinit(&w.map);
    mem_free(p);
    return status;
}

enum skiff_status comm_job_lookup(struct job *j, const struct job_lookup *l,
                                  struct skiff_error *err)
{
    struct comm *c = (struct comm *)j;
    struct session *s;
    TRY(comm_open(c, &s, err));
    return c->mode->lookup ? c->mode->lookup(c, l, err) : comm_lookup(c, s, l, err);
}
