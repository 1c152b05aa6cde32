/* Columns that grow row by row, then tensors that borrow from them (batch.h).
 *
 * Offsets of a ragged column are written straight into its tensor's lod, so that finishing a batch
 * copies nothing. A lod that is still referenced elsewhere is left alone and replaced by a new one.
 */
#include "data/batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum skiff_status batch_init(struct batch *b, const struct schema *schema, int64_t max_rows,
                             struct skiff_error *err)
{
    enum skiff_status status = SKIFF_OK;
    *b = (struct batch){.schema = schema, .max_rows = max_rows};
    if (max_rows < 1)
        return error_set(err, SKIFF_RANGE, "batch size %lld: at least 1 is needed",
                         (long long)max_rows);
    void *columns, *lines;
    size_t bytes;
    TRY(mem_alloc((size_t)schema->count * sizeof *b->columns, "columns", &columns, err));
    b->columns = memset(columns, 0, (size_t)schema->count * sizeof *b->columns);
    b->tensors = mem_alloc_or_die((size_t)schema->count * sizeof *b->tensors + 1);
    b->ragged = mem_alloc_or_die((size_t)schema->count * sizeof *b->ragged + 1);
    for (int i = 0; i < schema->count; i++) {
        struct column *c = &b->columns[i];
        const struct slot *slot = &schema->slots[i];
        c->dtype = slot->dtype;
        c->ragged = slot->ragged;
        c->keep_zeros = slot->keep_zeros;
        c->width = (size_t)slot->width;
        b->tensors[i].owner = TENSOR_BORROWED;
        if (c->ragged)
            b->ragged[b->nragged++] = i;
        if (!mem_mul((size_t)max_rows, c->width, &c->cap) ||
            !mem_mul(c->cap, dtype_size(c->dtype), &bytes)) {
            c->cap = 0;
            status = error_set(err, SKIFF_RANGE, "slot %s: a batch of %lld rows is too large",
                               slot->name, (long long)max_rows);
            goto out;
        }
        TRY_OUT(mem_alloc(bytes, slot->name, &c->data, err));
    }
    if (!mem_mul((size_t)max_rows, sizeof *b->lines, &bytes)) {
        status =
            error_set(err, SKIFF_RANGE, "a batch of %lld rows is too large", (long long)max_rows);
        goto out;
    }
    TRY_OUT(mem_alloc(bytes, "line numbers", &lines, err));
    b->lines = lines;
    status = batch_reset(b, err);
out:
    if (status < 0)
        batch_deinit(b);
    return status;
}

void batch_deinit(struct batch *b)
{
    for (int i = 0; b->columns && i < b->schema->count; i++) {
        mem_free(b->columns[i].data);
        tensor_drop_lod(&b->tensors[i]);
    }
    mem_free(b->columns);
    mem_free(b->lines);
    free(b->tensors);
    free(b->ragged);
    buf_deinit(&b->positions);
    *b = (struct batch){0};
}

/* Discards the entries of unfinished lines. */
static void positions_cut(struct batch *b)
{
    if (!b->keep_positions)
        return;
    b->positions.len = b->positions_done;
    buf_char(&b->positions, '+');
}

void batch_holes(struct batch *b, int64_t n)
{
    if (!b->keep_positions)
        return;
    b->positions.len = b->positions_done;
    for (int64_t i = 0; i < n; i++)
        buf_str(&b->positions, "-\n");
    b->positions_done = b->positions.len;
    b->holes += n;
    positions_cut(b);
}

enum skiff_status batch_reset(struct batch *b, struct skiff_error *err)
{
    int64_t offsets = b->max_rows + 1;
    b->rows = 0;
    b->positions_done = 0;
    b->holes = 0;
    positions_cut(b);
    b->first = b->last = (struct batch_position){0};
    b->in_memory = -1;
    for (int k = 0; k < b->nragged; k++) {
        struct column *c = &b->columns[b->ragged[k]];
        struct tensor *t = &b->tensors[b->ragged[k]];
        c->count = 0;
        TRY(lod_build(&t->lod, 1, &offsets, err));
        c->offsets = t->lod->level[0].off;
        c->offsets[0] = 0;
    }
    return SKIFF_OK;
}

bool column_grow(struct column *c, size_t n)
{
    size_t want, bytes, size = dtype_size(c->dtype);
    if (!mem_add(c->count, n, &want) || !mem_add(want, c->cap / 2, &want) ||
        !mem_mul(want, size, &bytes))
        return false;
    void *fresh;
    if (mem_alloc(bytes, "values of a slot", &fresh, NULL) < 0)
        return false;
    memcpy(fresh, c->data, c->count * size);
    mem_free(c->data);
    c->data = fresh;
    c->cap = want;
    return true;
}

/* A ragged column that got nothing in this row: one 0. */
static bool pad_empty(struct batch *b, struct column *c)
{
    if ((int64_t)c->count != c->offsets[b->rows])
        return true;
    return c->dtype == DTYPE_FP32 ? column_add_f32(c, 0) : column_add_i64(c, 0);
}

enum skiff_status batch_row_end(struct batch *b, struct skiff_error *err)
{
    int64_t row = b->rows;
    bool empty = false;
    for (int k = 0; k < b->nragged; k++) {
        struct column *c = &b->columns[b->ragged[k]];
        empty |= (int64_t)c->count == c->offsets[row];
        c->offsets[row + 1] = (int64_t)c->count;
    }
    for (int k = 0; __builtin_expect(empty, 0) && k < b->nragged; k++) {
        struct column *c = &b->columns[b->ragged[k]];
        if (!pad_empty(b, c)) {
            batch_row_abort(b);
            return error_set(err, SKIFF_NOMEM, "no memory for a value of slot %s",
                             b->schema->slots[b->ragged[k]].name);
        }
        c->offsets[row + 1] = (int64_t)c->count;
    }
    b->rows = row + 1;
    if (__builtin_expect(b->keep_positions, 0)) {
        buf_char(&b->positions, '\n');
        b->positions_done = b->positions.len;
        positions_cut(b);
    }
    return SKIFF_OK;
}

void batch_row_empty(struct batch *b)
{
    for (int k = 0; k < b->nragged; k++) {
        struct column *c = &b->columns[b->ragged[k]];
        c->count = (size_t)c->offsets[b->rows];
    }
}

void batch_row_abort(struct batch *b)
{
    batch_row_empty(b);
    positions_cut(b);
}

void batch_row_zero_dense(struct batch *b)
{
    for (int i = 0; i < b->schema->count; i++) {
        struct column *c = &b->columns[i];
        size_t size = dtype_size(c->dtype) * c->width;
        if (!c->ragged)
            memset((char *)c->data + (size_t)b->rows * size, 0, size);
    }
}

/* Row `row` of a column becomes row `to`, which is not behind it. */
static void column_move(struct column *c, int64_t row, int64_t to)
{
    size_t size = dtype_size(c->dtype), at = (size_t)row * c->width, goal = (size_t)to * c->width;
    size_t n = c->width;
    if (c->ragged) {
        at = (size_t)c->offsets[row];
        goal = (size_t)c->offsets[to];
        n = (size_t)(c->offsets[row + 1] - c->offsets[row]);
        c->offsets[to + 1] = (int64_t)(goal + n);
        c->count = goal + n;
    }
    memmove((char *)c->data + goal * size, (char *)c->data + at * size, n * size);
}

/* Places of rows that are left out become those of bad lines. */
static void positions_drop(struct batch *b, int64_t from, const bool *keep)
{
    size_t to = 0;
    int64_t row = 0;
    char *p = b->positions.data;
    for (size_t at = 0, n; b->keep_positions && at < b->positions_done; at += n) {
        n = (size_t)((char *)memchr(p + at, '\n', b->positions_done - at) - (p + at)) + 1;
        bool drop = p[at] == '+' && row >= from && !keep[row - from];
        row += p[at] == '+';
        if (drop) {
            p[to++] = '-';
            p[to++] = '\n';
            b->holes++;
        } else {
            memmove(p + to, p + at, n);
            to += n;
        }
    }
    b->positions_done = to;
}

void batch_keep(struct batch *b, int64_t from, const bool *keep)
{
    positions_drop(b, from, keep);
    int64_t to = from;
    for (int64_t row = from; row < b->rows; row++) {
        if (!keep[row - from])
            continue;
        for (int i = 0; i < b->schema->count && to < row; i++)
            column_move(&b->columns[i], row, to);
        b->lines[to++] = b->lines[row];
    }
    b->rows = to;
    batch_row_abort(b); /* what ragged columns have behind the last row */
}

void batch_finish(struct batch *b)
{
    for (int i = 0; i < b->schema->count; i++) {
        struct column *c = &b->columns[i];
        struct tensor *t = &b->tensors[i];
        t->dtype = c->dtype;
        t->shape = b->schema->slots[i].shape;
        t->data = c->data;
        t->cap = c->cap * dtype_size(c->dtype);
        t->shape.dims[0] = c->ragged ? (int64_t)c->count : b->rows;
        if (c->ragged)
            t->lod->level[0].n = b->rows + 1;
    }
}
