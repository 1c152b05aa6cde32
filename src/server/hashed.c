/* Hash-backed embeddings: their rows are records of the table module (table/table.h), parameter and
 * states side by side. The stamps of rows with deferred updates stand in the records.
 *
 * The blocks of server programs work on variables. sgd has no states and takes rows one by one, so
 * it works on the records in place (program/kernel.h: row_home). For other rules an update uses a
 * window on the table: the rows of the gradient are copied into the table's variables, numbered 0,
 * 1, ...; the block is run; they are copied back. A rule that moves every row in every step and
 * cannot defer updates (rules/README.md) gets a window of all rows. Whether it can is unknown
 * before the first step, so that step uses a window of all rows, too. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server/hashed.h"
#include "server/server_parts.h"
#include "server/slice.h"
#include "server/snapshot.h"
#include "table/table_snapshot.h"

#define AHEAD 8 /* records are prefetched this many rows ahead */

/* ---- lifecycle ---- */

enum skiff_status hashed_create(struct param_slice *u, struct skiff_error *err)
{
    struct accessor_options o = {.nparts = u->nvars};
    for (int i = 0; i < u->nvars && i < ACCESSOR_PARTS; i++) {
        u->vars[i].first = i * (int)u->width;
        o.parts[i] = (struct accessor_part){.width = (int)u->width, .fill = u->vars[i].fill};
    }
    enum skiff_status status = accessor_init(&u->accessor, &accessor_plain, &o, err);
    if (status == SKIFF_OK)
        status = table_create(&table_hash,
                              &(struct table_options){.accessor = &u->accessor, .prepared = true},
                              &u->table, err);
    return status < 0 ? error_prefix(err, status, "table %s", u->param) : SKIFF_OK;
}

void hashed_destroy(struct param_slice *u, int trainers)
{
    table_destroy(u->table);
    for (int t = 0; u->news && t < trainers; t++)
        hashed_forget_changed(u, t);
    free(u->news);
    mem_free(u->window.row_list);
    mem_free(u->window.stamps);
}

/* ---- rows with deferred updates ---- */

/* Finds the rule's arrays in a record. */
static void deferred_rows(const struct param_slice *u, struct table_row *r,
                          float *out[DEFERRED_ARRAYS])
{
    for (int i = 0; i < DEFERRED_ARRAYS; i++)
        out[i] = u->deferred_first[i] < 0 ? NULL : r->values + u->deferred_first[i];
}

static void flush(const struct param_slice *u, struct deferred *deferred, struct table_row *r)
{
    float *rows[DEFERRED_ARRAYS];
    deferred_rows(u, r, rows);
    r->stamp = deferred->class->flush_row(deferred, r->stamp, rows);
}

/* The deferred-update state of the block's rule is created by the first step. */
static void find_deferred_rows(struct param_slice *u, const struct deferred *deferred)
{
    const float *arrays[DEFERRED_ARRAYS];
    deferred->class->arrays(deferred, arrays);
    for (int a = 0; a < DEFERRED_ARRAYS; a++) {
        u->deferred_first[a] = -1;
        for (int i = 0; arrays[a] && i < u->nvars; i++)
            if (u->vars[i].value->tensor.data == arrays[a])
                u->deferred_first[a] = u->vars[i].first;
    }
}

struct flushing {
    const struct param_slice *u;
    struct deferred *deferred;
};

static void flush_block(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    const struct flushing *x = self;
    for (size_t i = 0; i < n; i++)
        flush(x->u, x->deferred, row_list[i]);
}

enum skiff_status hashed_flush_all(struct param_slice *u, struct skiff_error *err)
{
    struct deferred *deferred = value_deferred(u->param_value);
    struct table_cursor at = {0};
    struct flushing x = {u, deferred};
    enum skiff_status status =
        table_walk(u->table, &at, SIZE_MAX, TABLE_CHANGE, flush_block, &x, err);
    if (status < 0)
        return status;
    deferred->class->set_flushed(deferred);
    return SKIFF_OK;
}

/* A copy of the record with its deferred updates applied. */
static void copy_flushed(const struct param_slice *u, const struct table_row *from,
                         struct table_row *to)
{
    struct deferred *deferred = value_deferred(u->param_value);
    memcpy(to, from, u->table->stride);
    if (deferred)
        flush(u, deferred, to);
}

/* ---- reading ---- */

struct pulling {
    const struct param_slice *u;
    struct deferred *deferred;
    float *out;
};

static void pull_flushed(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    const struct pulling *x = self;
    size_t width = (size_t)x->u->width;
    uint32_t now = x->deferred->class->now(x->deferred);
    for (size_t i = 0; i < n; i++) {
        if (row_list[i]->stamp != now)
            flush(x->u, x->deferred, row_list[i]);
        row_copy(x->out + (first + i) * width, row_list[i]->values, width);
    }
}

enum skiff_status hashed_pull(struct param_slice *u, const uint8_t *ids, size_t n, float *out,
                              struct skiff_error *err)
{
    struct pulling x = {.u = u, .deferred = value_deferred(u->param_value), .out = out};
    if (!x.deferred)
        return table_pull(u->table, ids, n, TABLE_MAKE, out, err);
    return table_each(u->table, ids, n, TABLE_MAKE | TABLE_CHANGE, u->table->stride, pull_flushed,
                      &x, err);
}

struct row_listing {
    const struct param_slice *u;
    const struct row_var *var;
    int64_t *ids;
    float *rows;
    struct table_row *copy;
    size_t n;
};

static void list_block(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    struct row_listing *x = self;
    size_t width = (size_t)x->u->width;
    for (size_t i = 0; i < n; i++, x->n++) {
        copy_flushed(x->u, row_list[i], x->copy);
        x->ids[x->n] = x->copy->id;
        row_copy(x->rows + x->n * width, x->copy->values + x->var->first, width);
    }
}

enum skiff_status hashed_list(struct param_slice *u, const struct row_var *var, uint64_t *cursor,
                              size_t max, int64_t *ids, float *rows, size_t *out_n,
                              struct skiff_error *err)
{
    struct table_cursor at = {.next = *cursor};
    struct row_listing x = {u, var, ids, rows, mem_alloc_or_die(u->table->stride), 0};
    enum skiff_status status = table_walk(u->table, &at, max, TABLE_LOOK, list_block, &x, err);
    free(x.copy);
    *cursor = at.next;
    *out_n = x.n;
    return status;
}

/* ---- writing ---- */

struct putting {
    const struct row_var *var;
    const float *row;
    size_t width;
};

static void put_block(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    const struct putting *x = self;
    row_copy(row_list[0]->values + x->var->first, x->row, x->width);
}

enum skiff_status hashed_put(struct param_slice *u, const struct row_var *var, int64_t id,
                             const float *row, struct skiff_error *err)
{
    struct putting x = {var, row, (size_t)u->width};
    return table_each(u->table, (const uint8_t *)&id, 1, TABLE_MAKE | TABLE_CHANGE,
                      u->table->stride, put_block, &x, err);
}

/* ---- differences (GEO) ---- */

struct adding {
    const struct param_slice *u;
    struct deferred *deferred;
    const uint8_t *rows;
};

static void add_block(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    const struct adding *x = self;
    size_t width = (size_t)x->u->width;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *from = x->rows + (first + i) * width * sizeof(float);
        if (x->deferred)
            flush(x->u, x->deferred, row_list[i]);
        for (size_t k = 0; k < width; k++) {
            float d;
            memcpy(&d, from + k * sizeof d, sizeof d);
            row_list[i]->values[k] += d;
        }
    }
}

enum skiff_status hashed_add(struct param_slice *u, const uint8_t *ids, size_t n,
                             const uint8_t *rows, struct skiff_error *err)
{
    struct adding x = {u, value_deferred(u->param_value), rows};
    return table_each(u->table, ids, n, TABLE_MAKE | TABLE_CHANGE, u->table->stride, add_block, &x,
                      err);
}

static void record_changed(struct changed_ids *c, const uint8_t *ids, size_t n)
{
    bool fresh;
    if (c->n + n > c->capacity) {
        c->capacity = 2 * (c->n + n);
        c->ids = mem_grow_or_die(c->ids, c->capacity * sizeof *c->ids);
        id_map_reset(&c->map, c->capacity);
        for (size_t i = 0; i < c->n; i++)
            id_map_add(&c->map, c->ids[i], &fresh);
    }
    for (size_t i = 0; i < n; i++) {
        int64_t id = table_id_at(ids, i);
        id_map_add(&c->map, id, &fresh);
        if (fresh)
            c->ids[c->n++] = id;
    }
}

void hashed_note_changed(struct param_slice *u, int trainer, const uint8_t *ids, size_t n)
{
    record_changed(&u->news[trainer], ids, n);
}

void hashed_forget_changed(struct param_slice *u, int trainer)
{
    struct changed_ids *c = &u->news[trainer];
    id_map_deinit(&c->map);
    free(c->ids);
    *c = (struct changed_ids){0};
    id_map_init(&c->map);
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

size_t hashed_take_changed(struct param_slice *u, int trainer, const int64_t **out)
{
    struct changed_ids *c = &u->news[trainer];
    size_t n = c->n;
    if (n) {
        qsort(c->ids, n, sizeof *c->ids, ascending);
        id_map_reset(&c->map, c->capacity);
    }
    c->n = 0;
    *out = c->ids;
    return n;
}

/* ---- rules that work on the records ---- */

struct lending {
    row_block_fn *fn;
    void *self;
};

static void lend_block(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    const struct lending *x = self;
    float *rows[TABLE_BLOCK];
    for (size_t i = 0; i < n; i++)
        rows[i] = row_list[i]->values;
    x->fn(x->self, first, n, rows);
}

static enum skiff_status lend_rows(void *user, const int64_t *ids, size_t n, row_block_fn *fn,
                                   void *self, struct skiff_error *err)
{
    struct param_slice *u = user;
    return table_each(u->table, (const uint8_t *)ids, n, TABLE_MAKE | TABLE_CHANGE,
                      u->accessor.pull_span, lend_block, &(struct lending){fn, self}, err);
}

void hashed_find_home(struct param_slice *u, const struct skiff_block *b)
{
    if (b->nops == 1 && op_has(b->ops[0], OP_ROWS_ANYWHERE))
        u->home = (struct row_home){.user = u, .each = lend_rows};
}

/* ---- windows ---- While a window is open, the stamps of its records are numbers of rows in it: a
 * record with stamp i is in the window already if the window's i-th row is this record. So an id
 * that occurs twice in a gradient is found without a map. The true stamps are in the window. */

static enum skiff_status window_reserve(struct param_slice *u, size_t n, struct skiff_error *err)
{
    struct row_window *w = &u->window;
    void *row_list, *stamps;
    if (n <= w->cap)
        return SKIFF_OK;
    size_t cap = n + n / 4 + 1024;
    TRY(mem_alloc(cap * sizeof *w->row_list, "rows of an update", &row_list, err));
    enum skiff_status status =
        mem_alloc(cap * sizeof *w->stamps, "stamps of an update", &stamps, err);
    if (status < 0) {
        mem_free(row_list);
        return status;
    }
    mem_free(w->row_list);
    mem_free(w->stamps);
    *w = (struct row_window){.row_list = row_list, .stamps = stamps, .cap = cap};
    return SKIFF_OK;
}

/* The table's variables get n rows, at least one, because variables are not empty. */
static enum skiff_status size_vars(struct param_slice *u, size_t n, struct skiff_error *err)
{
    struct shape shape = u->shape;
    shape.dims[0] = n ? (int64_t)n : 1;
    for (int i = 0; i < u->nvars; i++) {
        TRY(value_as_tensor(u->vars[i].value, DTYPE_FP32, &shape, err));
        if (!n)
            memset(u->vars[i].value->tensor.data, 0, tensor_bytes(&u->vars[i].value->tensor));
    }
    return SKIFF_OK;
}

/* The record's row in the window, added if it is new. */
static inline uint32_t take(struct param_slice *u, struct table_row *r)
{
    struct row_window *w = &u->window;
    size_t width = (size_t)u->width, at = w->n;
    if (r->stamp < at && w->row_list[r->stamp] == r)
        return r->stamp;
    for (int v = 0; v < u->nvars; v++)
        row_copy(w->to[v] + at * width, r->values + u->vars[v].first, width);
    w->row_list[at] = r;
    w->stamps[at] = r->stamp;
    r->stamp = (uint32_t)at;
    w->n++;
    return (uint32_t)at;
}

static void take_block(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    struct param_slice *u = self;
    int64_t *rows = u->grad_value->sel.rows + first;
    for (size_t i = 0; i < n; i++)
        rows[i] = take(u, row_list[i]);
}

static void take_all_block(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    for (size_t i = 0; i < n; i++)
        take(self, row_list[i]);
}

static enum skiff_status begin(struct param_slice *u, size_t most, struct skiff_error *err)
{
    TRY(window_reserve(u, most, err));
    TRY(size_vars(u, most, err));
    u->window.n = 0;
    for (int v = 0; v < u->nvars; v++)
        u->window.to[v] = tensor_f32(&u->vars[v].value->tensor);
    return SKIFF_OK;
}

/* Brings the rows of the gradient into the window, in the order of their first appearance; its ids
 * become row numbers of the window. */
static enum skiff_status take_rows(struct param_slice *u, struct skiff_error *err)
{
    struct selected_rows *sel = &u->grad_value->sel;
    TRY(table_each(u->table, (const uint8_t *)sel->rows, sel->nrows, TABLE_MAKE | TABLE_CHANGE,
                   u->table->stride, take_block, u, err));
    sel->distinct = u->window.n == sel->nrows;
    return size_vars(u, u->window.n, err);
}

static void make_block(void *self, size_t first, size_t n, struct table_row *const *row_list) {}

static enum skiff_status take_all(struct param_slice *u, struct skiff_error *err)
{
    struct selected_rows *sel = &u->grad_value->sel;
    struct table_cursor at = {0};
    enum skiff_status status =
        table_walk(u->table, &at, SIZE_MAX, TABLE_CHANGE, take_all_block, u, err);
    return status < 0 ? status
                      : table_each(u->table, (const uint8_t *)sel->rows, sel->nrows, TABLE_CHANGE,
                                   u->table->stride, take_block, u, err);
}

static enum skiff_status take_in(struct server *s, struct param_slice *u, struct skiff_error *err)
{
    struct selected_rows *sel = &u->grad_value->sel;
    if (slice_moves_rows_only(s, u)) {
        TRY(begin(u, sel->nrows, err));
        return take_rows(u, err);
    }
    u->window.all = true;
    TRY(table_each(u->table, (const uint8_t *)sel->rows, sel->nrows, TABLE_MAKE, 0, make_block,
                   NULL, err));
    TRY(begin(u, table_count(u->table), err));
    return take_all(u, err);
}

/* Passes the window's rows to the deferred-update state. */
static enum skiff_status show_deferred(struct param_slice *u, struct deferred *deferred,
                                       struct skiff_error *err)
{
    uint32_t *stamps;
    TRY(deferred->class->window(deferred, u->param_value->tensor.shape.dims[0], &stamps, err));
    stamps[0] =
        deferred->class->now(deferred); /* of the one row that exists when the window is empty */
    memcpy(stamps, u->window.stamps, u->window.n * sizeof *stamps);
    return SKIFF_OK;
}

enum skiff_status hashed_open(struct server *s, struct param_slice *u, struct skiff_error *err)
{
    struct deferred *deferred = value_deferred(u->param_value);
    enum skiff_status status;
    u->window.n = 0;
    if (deferred && deferred->class->sweeps_next(deferred))
        TRY(hashed_flush_all(u, err));
    TRY_OUT(take_in(s, u, err));
    if (deferred)
        TRY_OUT(show_deferred(u, deferred, err));
    u->grad_value->sel.height = u->param_value->tensor.shape.dims[0];
    return SKIFF_OK;
out:
    hashed_close(u, false);
    return status;
}

static void bring_back(struct param_slice *u, const struct deferred *deferred)
{
    struct row_window *w = &u->window;
    size_t width = (size_t)u->width, last = (size_t)u->accessor.width - 1;
    for (size_t i = 0; i < w->n; i++) {
        struct table_row *r = w->row_list[i];
        if (i + AHEAD < w->n) {
            __builtin_prefetch(w->row_list[i + AHEAD], 1);
            __builtin_prefetch(w->row_list[i + AHEAD]->values + last, 1);
        }
        r->stamp = deferred ? deferred->class->stamp(deferred, (int64_t)i) : w->stamps[i];
        for (int v = 0; v < u->nvars; v++)
            row_copy(r->values + u->vars[v].first, w->to[v] + i * width, width);
    }
}

void hashed_close(struct param_slice *u, bool updated)
{
    struct deferred *deferred = value_deferred(u->param_value);
    struct row_window *w = &u->window;
    if (updated)
        bring_back(u, deferred);
    for (size_t i = 0; !updated && i < w->n; i++)
        w->row_list[i]->stamp = w->stamps[i];
    if (updated && deferred) {
        find_deferred_rows(u, deferred);
        u->table->stamp = deferred->class->now(deferred);
    }
    w->n = 0;
    if (!w->all)
        return;
    for (int v = 0; v < u->nvars; v++) /* it may have been much memory */
        tensor_deinit(&u->vars[v].value->tensor);
    mem_free(w->row_list);
    mem_free(w->stamps);
    *w = (struct row_window){0};
}

/* ---- snapshots ---- */

struct row_reader {
    const struct param_slice *u;
    const struct row_var *var;
    const struct deferred_state *deferred_state;
    const uint8_t *ids;
    struct table_row *copy;
    float *out;
};

static void read_copy(void *self, size_t first, size_t n, struct table_row *const *row_list)
{
    struct row_reader *x = self;
    size_t width = (size_t)x->u->width;
    for (size_t i = 0; i < n; i++) {
        int64_t id = table_id_at(x->ids, first + i);
        const struct table_row *was = table_snapshot_was(x->u->table, id, row_list[i]);
        float *to = x->out + (first + i) * width, *rows[DEFERRED_ARRAYS];
        if (!was) { /* it had the initial values of a new row */
            fill_row(&x->var->fill, id, to, width);
            continue;
        }
        if (x->deferred_state) {
            memcpy(x->copy, was, x->u->table->stride);
            deferred_rows(x->u, x->copy, rows);
            x->deferred_state->flush(x->deferred_state, was->stamp, rows);
            was = x->copy;
        }
        row_copy(to, was->values + x->var->first, width);
    }
}

enum skiff_status hashed_read_kept(struct param_slice *u, const struct row_var *var,
                                   const struct deferred_state *deferred_state, const uint8_t *ids,
                                   size_t n, float *out, struct skiff_error *err)
{
    struct row_reader x = {u, var, deferred_state, ids, mem_alloc_or_die(u->table->stride), out};
    enum skiff_status status =
        table_each(u->table, ids, n, TABLE_LOOK, u->table->stride, read_copy, &x, err);
    free(x.copy);
    return status;
}
