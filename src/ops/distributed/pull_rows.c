/* Kernels created by passes/fuse_remote.c:
 *
 *   pull_rows   Table = the rows of the distinct ids of all lists, a small local table; Rows =
 *               these ids; Local[i] = Ids[i] as row numbers of Table. A padding id's row is zero.
 *   rows_home   the gradient of Table with the ids of the complete table
 *
 * Prefetch: the rows of the next batch may be requested while a batch is computed
 * (pull_rows_prefetch). Its ids are numbered then; if the batch has these ids, only the rows are
 * waited for. Where a mode does not allow early values, servers with rows on disk only get a hint
 * which rows to load into memory. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "ops/distributed/distributed.h"

enum { PULL_TABLE, PULL_ROWS, PULL_LOCAL };

#define AHEAD_MAX 2 /* the next batch, and the one after it */

struct numbered {                /* the ids of a batch, and their numbers */
    int64_t *ids, *local, *rows; /* all lists, concatenated; distinct ids */
    size_t total, count, cap;
    uint64_t run; /* the run that it was requested for */
    struct job *job;
    struct job_prefetch *ticket; /* NULL: announced, not requested */
};

struct pull_state {
    struct remote remote;                /* first */
    struct numbered prefetch[AHEAD_MAX]; /* the oldest first */
    int nahead;
};

enum skiff_status pull_rows_prepare(struct kernel *k, struct skiff_error *err)
{
    struct pull_state *s = mem_alloc_or_die(sizeof *s);
    remote_init(&s->remote, k);
    k->state = s;
    return SKIFF_OK;
}

/* The oldest one has been used, or never will be; its memory moves to the end of the list. */
static void forget_oldest(struct pull_state *s)
{
    struct numbered oldest = s->prefetch[0];
    if (oldest.ticket)
        oldest.job->class->lookup_drop(oldest.job, oldest.ticket);
    job_unref(oldest.job);
    oldest.job = NULL;
    oldest.ticket = NULL;
    memmove(s->prefetch, s->prefetch + 1, (AHEAD_MAX - 1) * sizeof *s->prefetch);
    s->prefetch[AHEAD_MAX - 1] = oldest;
    s->nahead--;
}

void pull_rows_destroy(struct kernel *k)
{
    struct pull_state *s = k->state;
    if (!s)
        return;
    while (s->nahead)
        forget_oldest(s);
    for (int i = 0; i < AHEAD_MAX; i++)
        free(s->prefetch[i].ids);
    id_map_deinit(&s->remote.map);
    free(s);
    k->state = NULL;
}

/* ---- prefetch ---- */

static void numbered_reserve(struct numbered *n, size_t total)
{
    if (total > n->cap) {
        n->ids = mem_grow_or_die(n->ids, 3 * total * sizeof *n->ids);
        n->cap = total;
    }
    n->local = n->ids + n->cap;
    n->rows = n->local + n->cap;
    n->total = total;
}

/* Number of possible rows: keys of a sparse table are any 64 bits. */
static uint64_t table_height(const struct kernel *k, const struct shape *w)
{
    return k->attr[TABLE_SHARDS].i > 0 ? UINT64_MAX : (uint64_t)w->dims[0];
}

/* Is the id outside a table with this many rows? Never for a sparse table: -1, its padding if no
 * other is given, is a key that is never pushed, so its row is zeros. */
static bool is_outside(int64_t id, uint64_t height, int64_t padding)
{
    return height != UINT64_MAX && (uint64_t)id >= height && (padding == -1 || id != padding);
}

/* False: an id is outside the table; the run reports it. */
static bool number_list(struct numbered *n, struct id_map *map, uint64_t height, int64_t padding,
                        size_t at, size_t count)
{
    for (size_t e = at; e < at + count; e++) {
        int64_t id = n->ids[e];
        bool fresh;
        if (is_outside(id, height, padding))
            return false;
        uint32_t number = id_map_add(map, id, &fresh);
        if (fresh)
            n->rows[number] = id;
        n->local[e] = number;
    }
    return true;
}

/* All lists of the later batch; false if some are unknown or invalid. */
static bool number_later(struct kernel *k, const struct kernel_later *later, uint64_t height,
                         struct numbered *n)
{
    struct pull_state *s = k->state;
    int lists = kernel_in_count(k, TABLE_IDS);
    size_t total = 0, at = 0;
    for (int i = 0; i < lists; i++) {
        const struct tensor *ids = later->find(later->user, kernel_in_value(k, TABLE_IDS, i));
        if (!ids || ids->dtype != DTYPE_INT64)
            return false;
        total += (size_t)tensor_numel(ids);
    }
    numbered_reserve(n, total);
    id_map_reset(&s->remote.map, total);
    for (int i = 0; i < lists; i++) {
        const struct tensor *ids = later->find(later->user, kernel_in_value(k, TABLE_IDS, i));
        size_t count = (size_t)tensor_numel(ids);
        memcpy(n->ids + at, tensor_i64(ids), count * sizeof *n->ids);
        if (!number_list(n, &s->remote.map, height, k->attr[TABLE_PADDING].l, at, count))
            return false;
        at += count;
    }
    n->count = s->remote.map.count;
    return n->count > 0;
}

/* Rows of one list of distinct ids. */
static struct job_lookup lookup_of(struct kernel *k, const struct tensor *const *ids)
{
    return (struct job_lookup){.table = table_slices(k, kernel_in_name(k, TABLE_W, 0)),
                               .n = 1,
                               .ids = ids,
                               .padding_idx = k->attr[TABLE_PADDING].l,
                               .distinct = true};
}

/* False: neither requested nor announced. */
static bool ask_or_announce(struct kernel *k, struct job *j, bool asks, bool announces,
                            struct numbered *n)
{
    struct tensor list = {.dtype = DTYPE_INT64, .shape = SHAPE((int64_t)n->count), .data = n->rows};
    const struct tensor *ids = &list;
    struct job_lookup l = lookup_of(k, &ids);
    if (asks && j->class->lookup_prefetch(j, &l, &n->ticket, NULL) < 0)
        return false;
    if (!n->ticket && announces)
        j->class->lookup_announce(j, &l);
    return n->ticket || announces;
}

void pull_rows_prefetch(struct kernel *k, const struct kernel_later *later)
{
    struct pull_state *s = k->state;
    struct job *j;
    struct shape w;
    if (s->nahead == AHEAD_MAX || kernel_job(k, &j, NULL) < 0)
        return;
    bool asks = later->trains && j->class->lookup_prefetch;
    bool announces = j->class->on_disk && j->class->on_disk(j, kernel_in_name(k, TABLE_W, 0));
    if ((!asks && !announces) || check_slices(k, NULL) < 0 || table_shape(k, &w, NULL) < 0)
        return;
    struct numbered *n = &s->prefetch[s->nahead];
    if (!number_later(k, later, table_height(k, &w), n) ||
        !ask_or_announce(k, j, asks, announces, n))
        return;
    n->job = job_ref(j);
    n->run = later->run;
    s->nahead++;
}

/* Do these ids equal the batch's? */
static bool is_this_batch(const struct kernel *k, const struct numbered *n, int64_t total)
{
    size_t at = 0;
    if (n->total != (size_t)total)
        return false;
    for (int i = 0; i < kernel_in_count(k, TABLE_IDS); i++) {
        const struct tensor *ids = kernel_in_at(k, TABLE_IDS, i);
        size_t count = (size_t)tensor_numel(ids);
        if (memcmp(n->ids + at, tensor_i64(ids), count * sizeof *n->ids))
            return false;
        at += count;
    }
    return true;
}

/* Is the oldest prefetch for this run? It must have been requested for this very run: the rows of a
 * later run with the same ids may wait for the end of this one. */
static bool find_prefetch(struct kernel *k, const struct job *j, uint64_t run, int64_t total)
{
    struct pull_state *s = k->state;
    while (s->nahead && s->prefetch[0].run < run)
        forget_oldest(s); /* its batch was never run */
    return s->nahead && s->prefetch[0].run == run && s->prefetch[0].job == j &&
           is_this_batch(k, &s->prefetch[0], total);
}

/* ---- the batch itself ---- */

static enum skiff_status size_local(struct kernel *k, int i, struct skiff_error *err)
{
    const struct tensor *ids = kernel_in_at(k, TABLE_IDS, i);
    TRY(kernel_out_resize(k, PULL_LOCAL, i, DTYPE_INT64, &ids->shape, err));
    tensor_share_lod(kernel_out_at(k, PULL_LOCAL, i), ids);
    return SKIFF_OK;
}

static enum skiff_status size_table(struct kernel *k, size_t count, int64_t width,
                                    struct skiff_error *err)
{
    struct shape list = SHAPE((int64_t)count), table = SHAPE((int64_t)count, width);
    TRY(kernel_out_resize(k, PULL_ROWS, 0, DTYPE_INT64, &list, err));
    return kernel_out_resize(k, PULL_TABLE, 0, DTYPE_FP32, &table, err);
}

/* The oldest prefetch is for this batch: takes it. */
static enum skiff_status take_prefetch(struct kernel *k, int64_t width, struct skiff_error *err)
{
    struct pull_state *s = k->state;
    struct numbered *n = &s->prefetch[0];
    size_t at = 0;
    for (int i = 0; i < kernel_in_count(k, TABLE_IDS); i++) {
        TRY(size_local(k, i, err));
        struct tensor *local = kernel_out_at(k, PULL_LOCAL, i);
        memcpy(local->data, n->local + at, tensor_bytes(local));
        at += (size_t)tensor_numel(local);
    }
    TRY(size_table(k, n->count, width, err));
    memcpy(kernel_out(k, PULL_ROWS)->data, n->rows, n->count * sizeof *n->rows);
    struct job_prefetch *ticket = n->ticket;
    struct tensor *table = kernel_out(k, PULL_TABLE);
    n->ticket = NULL;
    if (ticket)
        return n->job->class->lookup_take(n->job, ticket, table, err);
    const struct tensor *ids = kernel_out(k, PULL_ROWS);
    struct job_lookup l = lookup_of(k, &ids);
    l.out = &table;
    return n->job->class->lookup(n->job, &l, err);
}

/* Local ids of list i; the distinct ids of the complete table are appended to rows. */
static enum skiff_status number_ids(struct kernel *k, int i, uint64_t height, int64_t *rows,
                                    struct skiff_error *err)
{
    struct id_map *map = &((struct pull_state *)k->state)->remote.map;
    const struct tensor *ids = kernel_in_at(k, TABLE_IDS, i);
    int64_t padding = k->attr[TABLE_PADDING].l, n = tensor_numel(ids);
    TRY(size_local(k, i, err));
    struct tensor *local = kernel_out_at(k, PULL_LOCAL, i);
    for (int64_t e = 0; e < n; e++) {
        int64_t id = tensor_i64(ids)[e];
        bool fresh;
        if (is_outside(id, height, padding))
            return kernel_fail(k, SKIFF_RANGE, err,
                               "input Ids (%s): id %lld at position %lld is outside the table W "
                               "(%s) of %lld rows",
                               kernel_in_name(k, TABLE_IDS, i), (long long)id, (long long)e,
                               kernel_in_name(k, TABLE_W, 0), (long long)height);
        uint32_t at = id_map_add(map, id, &fresh);
        if (fresh)
            rows[at] = id;
        tensor_i64(local)[e] = at;
    }
    return SKIFF_OK;
}

static enum skiff_status pull_now(struct kernel *k, struct job *j, const struct shape *w,
                                  int64_t total, struct skiff_error *err)
{
    struct id_map *map = &((struct pull_state *)k->state)->remote.map;
    struct shape all = SHAPE(total);
    TRY(kernel_out_resize(k, PULL_ROWS, 0, DTYPE_INT64, &all, err));
    struct tensor *rows = kernel_out(k, PULL_ROWS), *table = kernel_out(k, PULL_TABLE);
    id_map_reset(map, (size_t)total);
    for (int i = 0; i < kernel_in_count(k, TABLE_IDS); i++)
        TRY(number_ids(k, i, table_height(k, w), tensor_i64(rows), err));
    TRY(size_table(k, map->count, w->dims[1], err));
    const struct tensor *ids = rows;
    struct job_lookup l = lookup_of(k, &ids);
    l.out = &table;
    return map->count ? j->class->lookup(j, &l, err) : SKIFF_OK;
}

enum skiff_status pull_rows_run(struct kernel *k, struct skiff_error *err)
{
    struct pull_state *s = k->state;
    struct job *j;
    struct shape w;
    int64_t total;
    TRY(lookup_begin(k, &j, &w, &total, err));
    if (find_prefetch(k, j, k->env->run, total)) {
        enum skiff_status status = take_prefetch(k, w.dims[1], NULL);
        forget_oldest(s);
        if (status == SKIFF_OK)
            return status;
    }
    /* also if the prefetch failed: this call gives the reason */
    return pull_now(k, j, &w, total, err);
}

/* Out = X with the ids of the complete table. A padding id outside the table has no row there. */
enum skiff_status rows_home_run(struct kernel *k, struct skiff_error *err)
{
    const struct skiff_tensor *x = kernel_in_value(k, 0, 0);
    struct skiff_tensor *out = kernel_out_value(k, 0, 0);
    const struct tensor *ids = kernel_in(k, 1);
    int64_t height = k->attr[0].l;
    if (!x || x->kind != VALUE_ROWS)
        return kernel_fail(k, SKIFF_SHAPE, err, "SelectedRows are needed");
    TRY(value_as_rows_shape(out, x->tensor.dtype, &x->tensor.shape, height, err));
    size_t width = row_bytes(&x->tensor), n = 0;
    for (size_t r = 0; r < x->sel.nrows; r++) {
        int64_t local = x->sel.rows[r];
        if ((uint64_t)local >= (uint64_t)tensor_numel(ids))
            return kernel_fail(k, SKIFF_RANGE, err, "row %lld of a table of %lld", (long long)local,
                               (long long)tensor_numel(ids));
        int64_t id = tensor_i64(ids)[local];
        if ((uint64_t)id >= (uint64_t)height)
            continue;
        out->sel.rows[n] = id;
        memcpy((char *)out->tensor.data + n++ * width, (const char *)x->tensor.data + r * width,
               width);
    }
    out->sel.nrows = n;
    out->tensor.shape.dims[0] = (int64_t)n;
    out->sel.distinct = x->sel.distinct;
    return SKIFF_OK;
}
