/* Batch: samples as columns, one per slot, growing row by row; then tensors to feed.
 *
 * A reader writes values behind column->count and ends the row; batch_finish makes the tensors.
 * Memory is kept over batch_reset, so that a steady reader allocates nothing (a lod that somebody
 * still holds is replaced by a new one).
 * Ownership: the batch owns everything; its tensors borrow from it and hold until the next reset.
 * Threads: one user at a time. */
#ifndef DATA_BATCH_H
#define DATA_BATCH_H

#include "base/buf.h"
#include "data/slot.h"

struct column {
    union {
        void *data;
        float *f32;
        int64_t *i64;
    };
    size_t count, cap; /* values */
    int64_t *offsets;  /* ragged: rows + 1 of them, inside the tensor's lod */
    size_t width;      /* dense: values of a row */
    enum dtype dtype;
    bool ragged, keep_zeros;
} __attribute__((aligned(64))); /* readers write every column in every row: one cache line each */

/* Where a row comes from, together with its line. */
struct batch_position {
    const char *path; /* path of the file, borrowed from the list of files; NULL: not from a file */
    int64_t piece;    /* byte of the file from which lines are counted */
    bool samples;     /* the file has no lines: samples are counted */
};

struct batch {
    const struct schema *schema; /* borrowed */
    struct column *columns;      /* schema->count */
    struct tensor *tensors;      /* what is fed, made by batch_finish */
    int *ragged;                 /* positions of the ragged ones */
    int nragged;
    int64_t rows, max_rows;
    bool keep_positions; /* set by the owner before batch_reset: fill `places` */
    /* What the lines of the file became, in order, one text line each: "+" and the row's id, where
     * the format has one; or "-": a bad line that was left out. */
    struct buf positions;
    size_t positions_done; /* bytes of `places` that belong to finished lines */
    int64_t holes;         /* bad lines among them */
    int64_t *lines;        /* of each row; meaningless for rows that are not from files */
    struct batch_position first, last; /* of the first and the last row */
    int64_t in_memory; /* index of the first row among the samples in memory; -1: from files */
};

/* max_rows: the capacity in rows, at least 1. */
enum skiff_status batch_init(struct batch *b, const struct schema *schema, int64_t max_rows,
                             struct skiff_error *err);
void batch_deinit(struct batch *b);
enum skiff_status batch_reset(struct batch *b, struct skiff_error *err);

/* Reserves n more values of a ragged column; false when out of memory. */
bool column_grow(struct column *c, size_t n);
static inline bool column_reserve(struct column *c, size_t n)
{
    return __builtin_expect(c->cap - c->count >= n, 1) || column_grow(c, n);
}
/* Appends to a ragged column of this type. */
static inline bool column_add_i64(struct column *c, int64_t v)
{
    if (!column_reserve(c, 1))
        return false;
    c->i64[c->count++] = v;
    return true;
}
static inline bool column_add_f32(struct column *c, float v)
{
    if (!column_reserve(c, 1))
        return false;
    c->f32[c->count++] = v;
    return true;
}
/* The values of the current row in a dense column. */
static inline float *batch_dense_f32(struct batch *b, int slot)
{
    return b->columns[slot].f32 + (size_t)b->rows * b->columns[slot].width;
}
static inline int64_t *batch_dense_i64(struct batch *b, int slot)
{
    return b->columns[slot].i64 + (size_t)b->rows * b->columns[slot].width;
}

/* Sets the id of the current row. Line ends in it become blanks: positions are lines. */
static inline void batch_row_id(struct batch *b, const char *id, size_t n)
{
    for (size_t i = 0; b->keep_positions && i < n; i++)
        buf_char(&b->positions, id[i] == '\n' || id[i] == '\r' ? ' ' : id[i]);
}
#define BATCH_HOLES_MAX ((int64_t)1 << 19)
/* The batch is full: it has its rows, or so many bad lines that they take much memory. */
static inline bool batch_is_full(const struct batch *b, int64_t max_rows)
{
    return b->rows >= max_rows || b->holes >= BATCH_HOLES_MAX;
}
/* n bad lines were skipped here. */
void batch_holes(struct batch *b, int64_t n);

/* Ends the row. A ragged slot without a value gets one 0, as Paddle asks data to be padded. Fails
 * with NOMEM only. */
enum skiff_status batch_row_end(struct batch *b, struct skiff_error *err);
/* Discards the values of the row, not its id. */
void batch_row_empty(struct batch *b);
/* Discards everything written for the row. */
void batch_row_abort(struct batch *b);
void batch_row_zero_dense(struct batch *b); /* the row's dense values become 0 */

/* Removes the rows from `from` on whose keep[row - from] is false. */
void batch_keep(struct batch *b, int64_t from, const bool *keep);

/* Sets type, shape and lod of all tensors. Rows may be added afterwards,
 * and finish called again. */
void batch_finish(struct batch *b);
static inline const struct tensor *batch_tensor(const struct batch *b, int slot)
{
    return &b->tensors[slot];
}

#endif
