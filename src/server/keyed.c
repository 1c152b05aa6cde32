/* Tables keyed by id: their rows are records of the table room (table/table.h), param and states
 * side by side; stamps of rows that lie behind stand in the records.
 *
 * The blocks of server programs work on variables. sgd, which has no states and takes rows one by
 * one, is lent the rows where they lie (program/kernel.h: row_home). For other rules an update is a
 * window on the table: the rows that the gradient has are copied into the table's variables,
 * numbered 0, 1, ...; the block is run; they are copied back. A rule that moves every row in every
 * step and cannot leave rows behind (rules/README.md) gets a window of all rows. Nobody knows
 * before the first step whether it can, so that step has all rows, too. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "server/server_parts.h"

#define AHEAD 8 /* records are fetched this many rows ahead */

/* ---- life ---- */

enum skiff_status keyed_create(struct unit *u, struct skiff_error *err)
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

void keyed_destroy(struct unit *u, int trainers)
{
    table_destroy(u->table);
    for (int t = 0; u->news && t < trainers; t++)
        keyed_forget_changed(u, t);
    free(u->news);
    mem_free(u->window.records);
    mem_free(u->window.stamps);
}

/* ---- rows that lie behind ---- */

/* Where the lag's arrays are in a record. */
static void lag_rows(const struct unit *u, struct record *r, float *out[LAG_ARRAYS])
{
    for (int i = 0; i < LAG_ARRAYS; i++)
        out[i] = u->lag_first[i] < 0 ? NULL : r->values + u->lag_first[i];
}

static void settle(const struct unit *u, struct lag *lag, struct record *r)
{
    float *rows[LAG_ARRAYS];
    lag_rows(u, r, rows);
    r->stamp = lag->class->settle_row(lag, r->stamp, rows);
}

/* The lag of the block's rule is made by the first step. */
static void find_lag_rows(struct unit *u, const struct lag *lag)
{
    const float *arrays[LAG_ARRAYS];
    lag->class->arrays(lag, arrays);
    for (int a = 0; a < LAG_ARRAYS; a++) {
        u->lag_first[a] = -1;
        for (int i = 0; arrays[a] && i < u->nvars; i++)
            if (u->vars[i].value->tensor.data == arrays[a])
                u->lag_first[a] = u->vars[i].first;
    }
}

struct settling {
    const struct unit *u;
    struct lag *lag;
};

static void settle_block(void *self, size_t first, size_t n, struct record *const *records)
{
    const struct settling *x = self;
    for (size_t i = 0; i < n; i++)
        settle(x->u, x->lag, records[i]);
}

enum skiff_status keyed_settle_all(struct unit *u, struct skiff_error *err)
{
    struct lag *lag = value_lag(u->param_value);
    struct table_cursor at = {0};
    struct settling x = {u, lag};
    enum skiff_status status =
        table_walk(u->table, &at, SIZE_MAX, TABLE_CHANGE, settle_block, &x, err);
    if (status < 0)
        return status;
    lag->class->all_settled(lag);
    return SKIFF_OK;
}

/* A copy of the record, brought up to date. */
static void copy_settled(const struct unit *u, const struct record *from, struct record *to)
{
    struct lag *lag = value_lag(u->param_value);
    memcpy(to, from, u->table->stride);
    if (lag)
        settle(u, lag, to);
}

/* ---- reading ---- */

struct pulling {
    const struct unit *u;
    struct lag *lag;
    float *out;
};

static void pull_settled(void *self, size_t first, size_t n, struct record *const *records)
{
    const struct pulling *x = self;
    size_t width = (size_t)x->u->width;
    uint32_t now = x->lag->class->now(x->lag);
    for (size_t i = 0; i < n; i++) {
        if (records[i]->stamp != now)
            settle(x->u, x->lag, records[i]);
        record_copy(x->out + (first + i) * width, records[i]->values, width);
    }
}

enum skiff_status keyed_pull(struct unit *u, const uint8_t *ids, size_t n, float *out,
                             struct skiff_error *err)
{
    struct pulling x = {.u = u, .lag = value_lag(u->param_value), .out = out};
    if (!x.lag)
        return table_pull(u->table, ids, n, TABLE_MAKE, out, err);
    return table_each(u->table, ids, n, TABLE_MAKE | TABLE_CHANGE, u->table->stride, pull_settled,
                      &x, err);
}

struct listing {
    const struct unit *u;
    const struct row_var *var;
    int64_t *ids;
    float *rows;
    struct record *copy;
    size_t n;
};

static void list_block(void *self, size_t first, size_t n, struct record *const *records)
{
    struct listing *x = self;
    size_t width = (size_t)x->u->width;
    for (size_t i = 0; i < n; i++, x->n++) {
        copy_settled(x->u, records[i], x->copy);
        x->ids[x->n] = x->copy->id;
        record_copy(x->rows + x->n * width, x->copy->values + x->var->first, width);
    }
}

enum skiff_status keyed_list(struct unit *u, const struct row_var *var, uint64_t *cursor,
                             size_t max, int64_t *ids, float *rows, size_t *out_n,
                             struct skiff_error *err)
{
    struct table_cursor at = {.next = *cursor};
    struct listing x = {u, var, ids, rows, mem_must(u->table->stride), 0};
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

static void put_block(void *self, size_t first, size_t n, struct record *const *records)
{
    const struct putting *x = self;
    record_copy(records[0]->values + x->var->first, x->row, x->width);
}

enum skiff_status keyed_put(struct unit *u, const struct row_var *var, int64_t id, const float *row,
                            struct skiff_error *err)
{
    struct putting x = {var, row, (size_t)u->width};
    return table_each(u->table, (const uint8_t *)&id, 1, TABLE_MAKE | TABLE_CHANGE,
                      u->table->stride, put_block, &x, err);
}

/* ---- differences (GEO) ---- */

struct adding {
    const struct unit *u;
    struct lag *lag;
    const uint8_t *rows;
};

static void add_block(void *self, size_t first, size_t n, struct record *const *records)
{
    const struct adding *x = self;
    size_t width = (size_t)x->u->width;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *from = x->rows + (first + i) * width * sizeof(float);
        if (x->lag)
            settle(x->u, x->lag, records[i]);
        for (size_t k = 0; k < width; k++) {
            float d;
            memcpy(&d, from + k * sizeof d, sizeof d);
            records[i]->values[k] += d;
        }
    }
}

enum skiff_status keyed_add(struct unit *u, const uint8_t *ids, size_t n, const uint8_t *rows,
                            struct skiff_error *err)
{
    struct adding x = {u, value_lag(u->param_value), rows};
    return table_each(u->table, ids, n, TABLE_MAKE | TABLE_CHANGE, u->table->stride, add_block, &x,
                      err);
}

static void note_changed(struct changed_ids *c, const uint8_t *ids, size_t n)
{
    bool fresh;
    if (c->n + n > c->room) {
        c->room = 2 * (c->n + n);
        c->ids = mem_must_grow(c->ids, c->room * sizeof *c->ids);
        id_map_reset(&c->map, c->room);
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

void keyed_note_changed(struct unit *u, int trainer, const uint8_t *ids, size_t n)
{
    note_changed(&u->news[trainer], ids, n);
}

void keyed_forget_changed(struct unit *u, int trainer)
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

size_t keyed_take_changed(struct unit *u, int trainer, const int64_t **out)
{
    struct changed_ids *c = &u->news[trainer];
    size_t n = c->n;
    if (n) {
        qsort(c->ids, n, sizeof *c->ids, ascending);
        id_map_reset(&c->map, c->room);
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

static void lend_block(void *self, size_t first, size_t n, struct record *const *records)
{
    const struct lending *x = self;
    float *rows[TABLE_BLOCK];
    for (size_t i = 0; i < n; i++)
        rows[i] = records[i]->values;
    x->fn(x->self, first, n, rows);
}

static enum skiff_status lend_rows(void *user, const int64_t *ids, size_t n, row_block_fn *fn,
                                   void *self, struct skiff_error *err)
{
    struct unit *u = user;
    return table_each(u->table, (const uint8_t *)ids, n, TABLE_MAKE | TABLE_CHANGE,
                      u->accessor.pull_span, lend_block, &(struct lending){fn, self}, err);
}

void keyed_find_home(struct unit *u, const struct skiff_block *b)
{
    if (b->nops == 1 && !strcmp(b->ops[0]->type, "sgd"))
        u->home = (struct row_home){.user = u, .each = lend_rows};
}

/* ---- windows ----
 * While a window is open, the stamps of its records are numbers of rows in it: a record with stamp
 * i is in the window already if the window's i-th is this one. So an id that stands twice in a
 * gradient is found without a map. The true stamps are in the window. */

static enum skiff_status window_room(struct unit *u, size_t n, struct skiff_error *err)
{
    struct window *w = &u->window;
    void *records, *stamps;
    if (n <= w->cap)
        return SKIFF_OK;
    size_t cap = n + n / 4 + 1024;
    TRY(mem_alloc(cap * sizeof *w->records, "rows of an update", &records, err));
    enum skiff_status status =
        mem_alloc(cap * sizeof *w->stamps, "stamps of an update", &stamps, err);
    if (status < 0) {
        mem_free(records);
        return status;
    }
    mem_free(w->records);
    mem_free(w->stamps);
    *w = (struct window){.records = records, .stamps = stamps, .cap = cap};
    return SKIFF_OK;
}

/* The table's variables have n rows; one at least, because variables are not empty. */
static enum skiff_status size_vars(struct unit *u, size_t n, struct skiff_error *err)
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

/* The record's row in the window. */
static inline uint32_t take(struct unit *u, struct record *r)
{
    struct window *w = &u->window;
    size_t width = (size_t)u->width, at = w->n;
    if (r->stamp < at && w->records[r->stamp] == r)
        return r->stamp;
    for (int v = 0; v < u->nvars; v++)
        record_copy(w->to[v] + at * width, r->values + u->vars[v].first, width);
    w->records[at] = r;
    w->stamps[at] = r->stamp;
    r->stamp = (uint32_t)at;
    w->n++;
    return (uint32_t)at;
}

static void take_block(void *self, size_t first, size_t n, struct record *const *records)
{
    struct unit *u = self;
    int64_t *rows = u->grad_value->sel.rows + first;
    for (size_t i = 0; i < n; i++)
        rows[i] = take(u, records[i]);
}

static void take_all_block(void *self, size_t first, size_t n, struct record *const *records)
{
    for (size_t i = 0; i < n; i++)
        take(self, records[i]);
}

static enum skiff_status begin(struct unit *u, size_t most, struct skiff_error *err)
{
    TRY(window_room(u, most, err));
    TRY(size_vars(u, most, err));
    u->window.n = 0;
    for (int v = 0; v < u->nvars; v++)
        u->window.to[v] = tensor_f32(&u->vars[v].value->tensor);
    return SKIFF_OK;
}

/* The rows of the gradient, in the order of their first appearance; ids become rows of the window.
 */
static enum skiff_status take_rows(struct unit *u, struct skiff_error *err)
{
    struct selected_rows *sel = &u->grad_value->sel;
    TRY(table_each(u->table, (const uint8_t *)sel->rows, sel->nrows, TABLE_MAKE | TABLE_CHANGE,
                   u->table->stride, take_block, u, err));
    sel->distinct = u->window.n == sel->nrows;
    return size_vars(u, u->window.n, err);
}

static void make_block(void *self, size_t first, size_t n, struct record *const *records) {}

static enum skiff_status take_all(struct unit *u, struct skiff_error *err)
{
    struct selected_rows *sel = &u->grad_value->sel;
    struct table_cursor at = {0};
    enum skiff_status status =
        table_walk(u->table, &at, SIZE_MAX, TABLE_CHANGE, take_all_block, u, err);
    return status < 0 ? status
                      : table_each(u->table, (const uint8_t *)sel->rows, sel->nrows, TABLE_CHANGE,
                                   u->table->stride, take_block, u, err);
}

static enum skiff_status take_in(struct server *s, struct unit *u, struct skiff_error *err)
{
    struct selected_rows *sel = &u->grad_value->sel;
    if (unit_moves_rows_only(s, u)) {
        TRY(begin(u, sel->nrows, err));
        return take_rows(u, err);
    }
    u->window.all = true;
    TRY(table_each(u->table, (const uint8_t *)sel->rows, sel->nrows, TABLE_MAKE, 0, make_block,
                   NULL, err));
    TRY(begin(u, table_count(u->table), err));
    return take_all(u, err);
}

/* The lag is told about the window's rows. */
static enum skiff_status show_lag(struct unit *u, struct lag *lag, struct skiff_error *err)
{
    uint32_t *stamps;
    TRY(lag->class->window(lag, u->param_value->tensor.shape.dims[0], &stamps, err));
    stamps[0] = lag->class->now(lag); /* of the row that is there when there are none */
    memcpy(stamps, u->window.stamps, u->window.n * sizeof *stamps);
    return SKIFF_OK;
}

enum skiff_status keyed_open(struct server *s, struct unit *u, struct skiff_error *err)
{
    struct lag *lag = value_lag(u->param_value);
    enum skiff_status status;
    u->window.n = 0;
    if (lag && lag->class->sweeps_next(lag))
        TRY(keyed_settle_all(u, err));
    TRY_OUT(take_in(s, u, err));
    if (lag)
        TRY_OUT(show_lag(u, lag, err));
    u->grad_value->sel.height = u->param_value->tensor.shape.dims[0];
    return SKIFF_OK;
out:
    keyed_close(u, false);
    return status;
}

static void bring_back(struct unit *u, const struct lag *lag)
{
    struct window *w = &u->window;
    size_t width = (size_t)u->width, last = (size_t)u->accessor.width - 1;
    for (size_t i = 0; i < w->n; i++) {
        struct record *r = w->records[i];
        if (i + AHEAD < w->n) {
            __builtin_prefetch(w->records[i + AHEAD], 1);
            __builtin_prefetch(w->records[i + AHEAD]->values + last, 1);
        }
        r->stamp = lag ? lag->class->stamp(lag, (int64_t)i) : w->stamps[i];
        for (int v = 0; v < u->nvars; v++)
            record_copy(r->values + u->vars[v].first, w->to[v] + i * width, width);
    }
}

void keyed_close(struct unit *u, bool updated)
{
    struct lag *lag = value_lag(u->param_value);
    struct window *w = &u->window;
    if (updated)
        bring_back(u, lag);
    for (size_t i = 0; !updated && i < w->n; i++)
        w->records[i]->stamp = w->stamps[i];
    if (updated && lag) {
        find_lag_rows(u, lag);
        u->table->stamp = lag->class->now(lag);
    }
    w->n = 0;
    if (!w->all)
        return;
    for (int v = 0; v < u->nvars; v++) /* it may have been much */
        tensor_deinit(&u->vars[v].value->tensor);
    mem_free(w->records);
    mem_free(w->stamps);
    *w = (struct window){0};
}

/* ---- snapshots ---- */

struct reading {
    const struct unit *u;
    const struct row_var *var;
    const struct lag_moment *moment;
    const uint8_t *ids;
    struct record *copy;
    float *out;
};

static void read_kept(void *self, size_t first, size_t n, struct record *const *records)
{
    struct reading *x = self;
    size_t width = (size_t)x->u->width;
    for (size_t i = 0; i < n; i++) {
        int64_t id = table_id_at(x->ids, first + i);
        const struct record *was = table_snapshot_was(x->u->table, id, records[i]);
        float *to = x->out + (first + i) * width, *rows[LAG_ARRAYS];
        if (!was) { /* it had what a new row gets */
            fill_row(&x->var->fill, id, to, width);
            continue;
        }
        if (x->moment) {
            memcpy(x->copy, was, x->u->table->stride);
            lag_rows(x->u, x->copy, rows);
            x->moment->settle(x->moment, was->stamp, rows);
            was = x->copy;
        }
        record_copy(to, was->values + x->var->first, width);
    }
}

enum skiff_status keyed_read_kept(struct unit *u, const struct row_var *var,
                                  const struct lag_moment *moment, const uint8_t *ids, size_t n,
                                  float *out, struct skiff_error *err)
{
    struct reading x = {u, var, moment, ids, mem_must(u->table->stride), out};
    enum skiff_status status =
        table_each(u->table, ids, n, TABLE_LOOK, u->table->stride, read_kept, &x, err);
    free(x.copy);
    return status;
}
