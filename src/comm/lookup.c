/* Rows of a table for lists of ids: every id is asked for once. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "comm/mode.h"

struct wanted {
    struct id_map map;
    int64_t *ids; /* distinct, without the padding id */
    float *rows;
    size_t n;
};

static void collect(struct wanted *w, const struct job_lookup *l)
{
    for (int i = 0; i < l->n; i++)
        for (int64_t e = 0; e < tensor_numel(l->ids[i]); e++) {
            int64_t id = tensor_i64(l->ids[i])[e];
            bool fresh;
            if (l->padding_idx != -1 && id == l->padding_idx)
                continue;
            id_map_add(&w->map, id, &fresh);
            if (fresh)
                w->ids[w->n++] = id;
        }
}

static void spread(const struct wanted *w, const struct job_lookup *l, int64_t width)
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

static bool has_padding(const struct job_lookup *l)
{
    const int64_t *ids = tensor_i64(l->ids[0]);
    int64_t n = tensor_numel(l->ids[0]);
    for (int64_t e = 0; e < n && l->padding_idx != -1; e++)
        if (ids[e] == l->padding_idx)
            return true;
    return false;
}

enum skiff_status comm_job_lookup(struct job *j, const struct job_lookup *l,
                                  struct skiff_error *err)
{
    struct session *s;
    struct wanted w = {0};
    size_t total = 0;
    enum skiff_status status;
    void *p;
    TRY(comm_open((struct comm *)j, &s, err));
    if (!l->n)
        return SKIFF_OK;
    int64_t width = l->out[0]->shape.dims[l->out[0]->shape.ndim - 1];
    if (l->distinct && l->n == 1 && !has_padding(l))
        return session_pull_rows(s, &l->table, tensor_i64(l->ids[0]),
                                 (size_t)tensor_numel(l->ids[0]), width, tensor_f32(l->out[0]),
                                 err);
    for (int i = 0; i < l->n; i++)
        total += (size_t)tensor_numel(l->ids[i]);
    TRY(mem_alloc(total * sizeof *w.ids + total * (size_t)width * sizeof *w.rows + 1,
                  "rows of a batch", &p, err));
    w.ids = p;
    w.rows = (float *)(w.ids + total);
    id_map_init(&w.map);
    id_map_reset(&w.map, total);
    collect(&w, l);
    status = w.n ? session_pull_rows(s, &l->table, w.ids, w.n, width, w.rows, err) : SKIFF_OK;
    if (status == SKIFF_OK)
        spread(&w, l, width);
    id_map_deinit(&w.map);
    mem_free(p);
    return status;
}
