/* fused_embedding_concat: look-ups (with or without pooling) and dense columns side by side, one
 * step.
 *
 *   Out[r] = piece_0[r] | piece_1[r] | ...
 *
 * A piece is W[Ids[r]], a pool over the ids of sequence r, or a row of X.
 *
 * Attribute pieces: 3 numbers each: kind (enum piece_kind), position in Ids or X, position in W
 * (look-ups); paddings: one id per piece (-1: none) that reads as a zero row.
 *
 * Ids are made distinct once per batch and table. Rows (distinct ids in order of first appearance)
 * and Where (per occurrence, pieces one after the other: index into Rows) go to the gradient op,
 * which then sums the occurrences of a row once and writes a gradient without duplicates. Rows that
 * have deferred updates (value.h) are flushed by distinct id.
 *
 * Gradient: sparse: SelectedRows(Rows, sums), with the rows of padding ids, as lookup_table_grad
 * keeps them; dense (attribute is_sparse false): zeros plus the sums, padding skipped. Made by
 * passes/fuse_embedding.c only. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/thread_pool.h"
#include "ops/ops_common.h"
#include "ops/seq_common.h"

enum {
    EC_W,
    EC_IDS,
    EC_X,
    EC_DOUT,
    EC_ROWS,
    EC_WHERE
}; /* the gradient op reads all, the forward op the first three */
enum { EO_OUT, EO_ROWS, EO_WHERE };
enum { EG_DW, EG_DX };
enum { EA_PIECES, EA_PADDINGS, EA_SPARSE };
enum piece_kind { PIECE_DENSE, PIECE_LOOKUP, PIECE_SUM, PIECE_MEAN, PIECE_SQRT };

#define BLOCK_ROWS 64 /* rows of Out worked on at a time, so that they stay in the near cache */
#define AHEAD 16      /* ids whose rows are prefetched */
#define ROW_COST 64   /* to read a row of a large table takes as long as so many simple elements */

struct concat_piece {
    enum piece_kind kind;
    int index, table;
    int64_t padding;
    int64_t col, width;  /* columns of Out, set per run */
    const int64_t *ids;  /* set per run, as the next three */
    const int64_t *off;  /* pools: offsets of the sequences */
    const float *from;   /* table or dense rows */
    int64_t nids, first; /* first: where its occurrences start in Where */
};

struct emb_state {
    int npieces, ntables;
    struct concat_piece *pieces;
    struct id_map *maps; /* one per table */
};

static enum skiff_status emb_prepare(struct kernel *k, struct skiff_error *err)
{
    const struct attr_value *a = &k->attr[EA_PIECES];
    struct emb_state *s = mem_alloc_or_die(sizeof(*s));
    k->state = s;
    s->npieces = a->n / 3;
    s->ntables = kernel_in_count(k, EC_W);
    s->pieces = mem_alloc_or_die((size_t)(s->npieces + 1) * sizeof(*s->pieces));
    s->maps = mem_alloc_or_die((size_t)(s->ntables + 1) * sizeof(*s->maps));
    for (int i = 0; i < s->ntables; i++)
        id_map_init(&s->maps[i]);
    for (int i = 0; i < s->npieces; i++)
        s->pieces[i] = (struct concat_piece){.kind = a->ints[3 * i],
                                             .index = a->ints[3 * i + 1],
                                             .table = a->ints[3 * i + 2],
                                             .padding = k->attr[EA_PADDINGS].longs[i]};
    return SKIFF_OK;
}

static void emb_release(struct kernel *k)
{
    struct emb_state *s = k->state;
    if (!s)
        return;
    for (int i = 0; i < s->ntables; i++)
        id_map_deinit(&s->maps[i]);
    free(s->maps);
    free(s->pieces);
    free(s);
    k->state = NULL;
}

/* ---- binding pieces to this run's tensors ---- */

static enum skiff_status bind_dense(struct kernel *k, struct concat_piece *p, int64_t *rows,
                                    struct skiff_error *err)
{
    const struct tensor *x = kernel_in_at(k, EC_X, p->index);
    if (x->shape.ndim != 2 || x->dtype != DTYPE_FP32)
        return kernel_fail(k, SKIFF_SHAPE, err, "dense input %s must be a float32 matrix",
                           kernel_in_name(k, EC_X, p->index));
    p->from = tensor_f32(x);
    p->width = x->shape.dims[1];
    *rows = x->shape.dims[0];
    return SKIFF_OK;
}

/* Ids of int32 are widened in scratch. */
static enum skiff_status read_ids(struct kernel *k, const struct tensor *ids, const char *name,
                                  const int64_t **out, struct skiff_error *err)
{
    void *wide;
    int64_t n = tensor_numel(ids);
    *out = tensor_i64(ids);
    if (ids->dtype == DTYPE_INT64)
        return SKIFF_OK;
    if (ids->dtype != DTYPE_INT32)
        return kernel_fail(k, SKIFF_DTYPE, err, "input Ids (%s) must be int64 or int32, found %s",
                           name, dtype_name(ids->dtype));
    TRY(kernel_scratch(k, (size_t)n * sizeof(int64_t) + 1, &wide, err));
    for (int64_t i = 0; i < n; i++)
        ((int64_t *)wide)[i] = tensor_i32(ids)[i];
    *out = wide;
    return SKIFF_OK;
}

static enum skiff_status bind_lookup(struct kernel *k, struct concat_piece *p, int64_t *rows,
                                     struct skiff_error *err)
{
    const struct tensor *w = kernel_in_at(k, EC_W, p->table),
                        *ids = kernel_in_at(k, EC_IDS, p->index);
    const char *name = kernel_in_name(k, EC_IDS, p->index);
    if (w->shape.ndim != 2 || w->dtype != DTYPE_FP32)
        return kernel_fail(k, SKIFF_SHAPE, err, "table %s must be a float32 matrix",
                           kernel_in_name(k, EC_W, p->table));
    TRY(read_ids(k, ids, name, &p->ids, err));
    p->from = tensor_f32(w);
    p->width = w->shape.dims[1];
    p->nids = *rows = tensor_numel(ids);
    if (p->kind == PIECE_LOOKUP)
        return SKIFF_OK;
    const struct lod_level *level = lod_last(ids->lod);
    if (!level || level->off[level->n - 1] != p->nids)
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "input Ids (%s) needs a lod over its %lld ids to be pooled", name,
                           (long long)p->nids);
    p->off = level->off;
    *rows = level->n - 1;
    return SKIFF_OK;
}

static enum skiff_status bind_pieces(struct kernel *k, int64_t *out_rows, int64_t *out_cols,
                                     struct skiff_error *err)
{
    struct emb_state *s = k->state;
    int64_t rows = -1, cols = 0;
    for (int i = 0; i < s->npieces; i++) {
        struct concat_piece *p = &s->pieces[i];
        int64_t n = 0;
        TRY(p->kind == PIECE_DENSE ? bind_dense(k, p, &n, err) : bind_lookup(k, p, &n, err));
        if (rows >= 0 && n != rows)
            return kernel_fail(k, SKIFF_SHAPE, err,
                               "pieces to be concatenated have %lld and %lld rows (%s)",
                               (long long)rows, (long long)n,
                               kernel_in_name(k, p->kind == PIECE_DENSE ? EC_X : EC_IDS, p->index));
        rows = n;
        p->col = cols;
        cols += p->width;
    }
    *out_rows = rows;
    *out_cols = cols;
    return SKIFF_OK;
}

/* ---- distinct ids ---- */

static enum skiff_status check_ids(struct kernel *k, const struct concat_piece *p,
                                   struct skiff_error *err)
{
    int64_t height = kernel_in_at(k, EC_W, p->table)->shape.dims[0];
    for (int64_t i = 0; i < p->nids; i++)
        if ((uint64_t)p->ids[i] >= (uint64_t)height &&
            (p->padding == -1 || p->ids[i] != p->padding))
            return kernel_fail(
                k, SKIFF_RANGE, err,
                "input Ids (%s): id %lld at position %lld is outside the table W (%s) of %lld rows",
                kernel_in_name(k, EC_IDS, p->index), (long long)p->ids[i], (long long)i,
                kernel_in_name(k, EC_W, p->table), (long long)height);
    return SKIFF_OK;
}

/* The distinct ids of one table so far: by hash, or, when the table is hardly larger than the batch
 * (the rows of a batch that servers have sent, small vocabularies), by a number per row. */
struct distinct_ids {
    struct id_map *map;
    uint32_t *number; /* per row of the table, NOT_SEEN at first; NULL: by hash */
    int64_t *rows;    /* the ids */
    uint32_t count;
};

#define NOT_SEEN UINT32_MAX

static uint32_t number_of(struct distinct_ids *d, int64_t id, const float *row)
{
    bool fresh;
    uint32_t at;
    if (d->number) {
        at = d->number[id];
        fresh = at == NOT_SEEN;
        if (fresh)
            at = d->number[id] = d->count;
    } else {
        at = id_map_add(d->map, id, &fresh);
    }
    if (fresh) {
        d->rows[at] = id;
        d->count++;
        __builtin_prefetch(row);
    }
    return at;
}

static void number_piece(const struct concat_piece *p, int64_t height, struct distinct_ids *d,
                         uint32_t *where)
{
    for (int64_t j = 0; j < p->nids; j++) {
        int64_t id = p->ids[j];
        if (!d->number && j + AHEAD < p->nids)
            id_map_prefetch(d->map, p->ids[j + AHEAD]);
        where[j] = (uint64_t)id < (uint64_t)height ? number_of(d, id, p->from + id * p->width)
                                                   : UINT32_MAX;
    }
}

/* Where is filled with indices into rows; a padding id beyond the table gets UINT32_MAX. */
static void make_distinct(const struct emb_state *s, int table, int64_t height,
                          struct distinct_ids *d, uint32_t *where)
{
    for (int i = 0; i < s->npieces; i++) {
        const struct concat_piece *p = &s->pieces[i];
        if (p->kind == PIECE_DENSE || p->table != table)
            continue;
        number_piece(p, height, d, where);
        where += p->nids;
    }
}

/* Makes the list that holds the numbers seen so far. */
static enum skiff_status distinct_init(struct kernel *k, int table, int64_t height, int64_t total,
                                       int64_t *rows, struct distinct_ids *d,
                                       struct skiff_error *err)
{
    struct emb_state *s = k->state;
    void *number;
    *d = (struct distinct_ids){.map = &s->maps[table], .rows = rows};
    if (height > total) {
        id_map_reset(d->map, (size_t)total);
        return SKIFF_OK;
    }
    TRY(kernel_scratch(k, (size_t)height * sizeof(*d->number) + 1, &number, err));
    d->number = number;
    memset(number, 0xff, (size_t)height * sizeof(*d->number));
    return SKIFF_OK;
}

static enum skiff_status distinct_table(struct kernel *k, int table, struct skiff_error *err)
{
    struct emb_state *s = k->state;
    struct skiff_tensor *w = kernel_in_value(k, EC_W, table);
    struct deferred *deferred = value_deferred(w);
    int64_t total = 0;
    for (int i = 0; i < s->npieces; i++)
        if (s->pieces[i].kind != PIECE_DENSE && s->pieces[i].table == table) {
            s->pieces[i].first = total;
            total += s->pieces[i].nids;
        }
    if (!kernel_out_count(k, EO_WHERE) && !deferred)
        return SKIFF_OK;
    struct shape shape = SHAPE(total);
    struct distinct_ids d;
    int64_t *rows;
    uint32_t *where;
    void *scratch;
    if (kernel_out_count(k, EO_WHERE)) {
        TRY(kernel_out_resize(k, EO_ROWS, table, DTYPE_INT64, &shape, err));
        TRY(kernel_out_resize(k, EO_WHERE, table, DTYPE_INT32, &shape, err));
        rows = kernel_out_at(k, EO_ROWS, table)->data;
        where = kernel_out_at(k, EO_WHERE, table)->data;
    } else {
        TRY(kernel_scratch(k, (size_t)total * (sizeof(*rows) + sizeof(*where)) + 1, &scratch, err));
        rows = scratch;
        where = (uint32_t *)(rows + total);
    }
    TRY(distinct_init(k, table, w->tensor.shape.dims[0], total, rows, &d, err));
    make_distinct(s, table, w->tensor.shape.dims[0], &d, where);
    if (kernel_out_count(k, EO_ROWS)) {
        shape = SHAPE((int64_t)d.count);
        TRY(kernel_out_resize(k, EO_ROWS, table, DTYPE_INT64, &shape, err));
    }
    if (deferred)
        kernel_read_rows(k, deferred, rows, d.count);
    return SKIFF_OK;
}

/* ---- forward ---- */

static void copy_floats(float *to, const float *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = from[i];
}

static float pool_factor(enum piece_kind kind, int64_t n)
{
    if (kind == PIECE_MEAN)
        return 1.0f / (float)n;
    return kind == PIECE_SQRT ? 1.0f / sqrtf((float)n) : 1.0f;
}

static bool is_padding(const struct concat_piece *p, int64_t id)
{
    return p->padding != -1 && id == p->padding;
}

static void pool_row(const struct concat_piece *p, int64_t r, float *to)
{
    memset(to, 0, (size_t)p->width * sizeof(*to));
    int64_t begin = p->off[r], end = p->off[r + 1];
    for (int64_t i = begin; i < end; i++) {
        if (is_padding(p, p->ids[i]))
            continue;
        const float *from = p->from + p->ids[i] * p->width;
        for (int64_t j = 0; j < p->width; j++)
            to[j] += from[j];
    }
    if (p->kind == PIECE_SUM || begin == end)
        return;
    float f = pool_factor(p->kind, end - begin);
    for (int64_t j = 0; j < p->width; j++)
        to[j] *= f;
}

static void fill_piece(const struct concat_piece *p, int64_t begin, int64_t end, float *out,
                       int64_t cols)
{
    for (int64_t r = begin; r < end; r++) {
        float *to = out + r * cols + p->col;
        if (p->kind == PIECE_DENSE)
            copy_floats(to, p->from + r * p->width, p->width);
        else if (p->kind != PIECE_LOOKUP)
            pool_row(p, r, to);
        else if (is_padding(p, p->ids[r]))
            memset(to, 0, (size_t)p->width * sizeof(*to));
        else
            copy_floats(to, p->from + p->ids[r] * p->width, p->width);
    }
}

struct rows_fill { /* shared with the thread pool, by rows */
    const struct emb_state *s;
    float *out;
    int64_t cols;
};

static void fill_rows(void *arg, int64_t from, int64_t to)
{
    const struct rows_fill *f = arg;
    for (int64_t begin = from; begin < to; begin += BLOCK_ROWS) {
        int64_t end = begin + BLOCK_ROWS < to ? begin + BLOCK_ROWS : to;
        for (int i = 0; i < f->s->npieces; i++)
            fill_piece(&f->s->pieces[i], begin, end, f->out, f->cols);
    }
}

/* concat gives the lod of its first input: a plain look-up has that of its ids, a pool loses the
 * lowest level. */
static enum skiff_status share_first_lod(struct kernel *k, struct tensor *out,
                                         struct skiff_error *err)
{
    const struct concat_piece *p = &((struct emb_state *)k->state)->pieces[0];
    if (p->kind == PIECE_DENSE)
        tensor_share_lod(out, kernel_in_at(k, EC_X, p->index));
    else if (p->kind == PIECE_LOOKUP)
        tensor_share_lod(out, kernel_in_at(k, EC_IDS, p->index));
    else
        return kernel_lod_without_last(out, kernel_in_at(k, EC_IDS, p->index), err);
    return SKIFF_OK;
}

static enum skiff_status emb_run(struct kernel *k, struct skiff_error *err)
{
    struct emb_state *s = k->state;
    int64_t rows, cols;
    TRY(bind_pieces(k, &rows, &cols, err));
    for (int i = 0; i < s->npieces; i++)
        if (s->pieces[i].kind != PIECE_DENSE)
            TRY(check_ids(k, &s->pieces[i], err));
    for (int t = 0; t < s->ntables; t++)
        TRY(distinct_table(k, t, err));
    struct shape shape = SHAPE(rows, cols);
    TRY(kernel_out_resize(k, EO_OUT, 0, DTYPE_FP32, &shape, err));
    struct tensor *out = kernel_out(k, EO_OUT);
    TRY(share_first_lod(k, out, err));
    struct rows_fill fill = {s, tensor_f32(out), cols};
    thread_pool_split(rows, thread_pool_rows(rows, cols + s->npieces * ROW_COST), fill_rows, &fill);
    return SKIFF_OK;
}

/* ---- gradient ---- */

/* Adds the gradient of rows [begin, end) of one piece to the sums of its table. */
static void add_piece(const struct concat_piece *p, const uint32_t *where, int64_t begin,
                      int64_t end, const float *dout, int64_t cols, float *sums)
{
    for (int64_t r = begin; r < end; r++) {
        const float *d = dout + r * cols + p->col;
        int64_t from = p->kind == PIECE_LOOKUP ? r : p->off[r],
                to = p->kind == PIECE_LOOKUP ? r + 1 : p->off[r + 1];
        float f = pool_factor(p->kind, to - from);
        for (int64_t i = from; i < to; i++) {
            uint32_t at = where[p->first + i];
            if (at == UINT32_MAX)
                continue;
            float *sum = sums + (int64_t)at * p->width;
            if (f == 1.0f)
                for (int64_t j = 0; j < p->width; j++)
                    sum[j] += d[j];
            else
                for (int64_t j = 0; j < p->width; j++)
                    sum[j] += f * d[j];
        }
    }
}

static void sum_table(struct emb_state *s, int table, const uint32_t *where, int64_t rows,
                      const float *dout, int64_t cols, float *sums)
{
    for (int64_t begin = 0; begin < rows; begin += BLOCK_ROWS) {
        int64_t end = begin + BLOCK_ROWS < rows ? begin + BLOCK_ROWS : rows;
        for (int i = 0; i < s->npieces; i++)
            if (s->pieces[i].kind != PIECE_DENSE && s->pieces[i].table == table)
                add_piece(&s->pieces[i], where, begin, end, dout, cols, sums);
    }
}

/* All look-ups of one table have the same padding id (the pass makes sure). */
static int64_t table_padding(const struct emb_state *s, int table)
{
    for (int i = 0; i < s->npieces; i++)
        if (s->pieces[i].kind != PIECE_DENSE && s->pieces[i].table == table)
            return s->pieces[i].padding;
    return -1;
}

static enum skiff_status spread_dense(struct kernel *k, int table, const int64_t *ids, int64_t n,
                                      const float *sums, struct skiff_error *err)
{
    const struct tensor *w = kernel_in_at(k, EC_W, table);
    TRY(kernel_out_resize(k, EG_DW, table, DTYPE_FP32, &w->shape, err));
    float *dw = tensor_f32(kernel_out_at(k, EG_DW, table));
    int64_t width = w->shape.dims[1], padding = table_padding(k->state, table);
    memset(dw, 0, tensor_bytes(w));
    for (int64_t i = 0; i < n; i++)
        if (padding == -1 || ids[i] != padding)
            copy_floats(dw + ids[i] * width, sums + i * width, width);
    return SKIFF_OK;
}

static enum skiff_status grad_table(struct kernel *k, int table, int64_t rows, int64_t cols,
                                    struct skiff_error *err)
{
    struct emb_state *s = k->state;
    const struct tensor *w = kernel_in_at(k, EC_W, table), *ids = kernel_in_at(k, EC_ROWS, table);
    const uint32_t *where = kernel_in_at(k, EC_WHERE, table)->data;
    const float *dout = tensor_f32(kernel_in(k, EC_DOUT));
    int64_t n = ids->shape.dims[0], width = w->shape.dims[1];
    struct skiff_tensor *dw = kernel_out_value(k, EG_DW, table);
    if (!dw)
        return SKIFF_OK;
    if (!k->attr[EA_SPARSE].b) {
        void *sums;
        TRY(kernel_scratch(k, (size_t)(n * width) * sizeof(float) + 1, &sums, err));
        memset(sums, 0, (size_t)(n * width) * sizeof(float));
        sum_table(s, table, where, rows, dout, cols, sums);
        return spread_dense(k, table, tensor_i64(ids), n, sums, err);
    }
    TRY(value_as_rows(dw, DTYPE_FP32, (size_t)n, width, w->shape.dims[0], err));
    tensor_drop_lod(&dw->tensor);
    memcpy(dw->sel.rows, ids->data, (size_t)n * sizeof(int64_t));
    dw->sel.distinct = true;
    memset(dw->tensor.data, 0, (size_t)(n * width) * sizeof(float));
    sum_table(s, table, where, rows, dout, cols, tensor_f32(&dw->tensor));
    return SKIFF_OK;
}

static enum skiff_status grad_dense(struct kernel *k, const struct concat_piece *p, int64_t rows,
                                    int64_t cols, struct skiff_error *err)
{
    if (!kernel_out_value(k, EG_DX, p->index))
        return SKIFF_OK;
    const struct tensor *x = kernel_in_at(k, EC_X, p->index);
    TRY(kernel_out_resize(k, EG_DX, p->index, DTYPE_FP32, &x->shape, err));
    struct tensor *dx = kernel_out_at(k, EG_DX, p->index);
    tensor_share_lod(dx, x);
    for (int64_t r = 0; r < rows; r++)
        copy_floats(tensor_f32(dx) + r * p->width,
                    tensor_f32(kernel_in(k, EC_DOUT)) + r * cols + p->col, p->width);
    return SKIFF_OK;
}

static enum skiff_status emb_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct emb_state *s = k->state;
    int64_t rows, cols;
    TRY(bind_pieces(k, &rows, &cols, err));
    const struct tensor *dout = kernel_in(k, EC_DOUT);
    char found[160];
    if (dout->shape.ndim != 2 || dout->shape.dims[0] != rows || dout->shape.dims[1] != cols)
        return kernel_fail(k, SKIFF_SHAPE, err, "gradient %s is %s, expected [%lld, %lld]",
                           kernel_in_name(k, EC_DOUT, 0), shape_text(&dout->shape, found),
                           (long long)rows, (long long)cols);
    for (int t = 0; t < s->ntables; t++) {
        int64_t total = 0;
        for (int i = 0; i < s->npieces; i++)
            if (s->pieces[i].kind != PIECE_DENSE && s->pieces[i].table == t) {
                s->pieces[i].first = total;
                total += s->pieces[i].nids;
            }
        if (tensor_numel(kernel_in_at(k, EC_WHERE, t)) != total)
            return kernel_fail(k, SKIFF_STATE, err,
                               "the ids of table %s have changed since they were looked up",
                               kernel_in_name(k, EC_W, t));
        TRY(grad_table(k, t, rows, cols, err));
    }
    for (int i = 0; i < s->npieces; i++)
        if (s->pieces[i].kind == PIECE_DENSE)
            TRY(grad_dense(k, &s->pieces[i], rows, cols, err));
    return SKIFF_OK;
}

/* ---- shapes, while building ---- */

/* Columns of piece i, -1: not known. */
static int64_t piece_width(const struct infer *c, int i)
{
    const int32_t *piece = c->attr[EA_PIECES].ints + 3 * i;
    const struct shape *s =
        piece[0] == PIECE_DENSE ? infer_in(c, EC_X, piece[1]) : infer_in(c, EC_W, piece[2]);
    return s && s->ndim == 2 ? s->dims[1] : -1;
}

static enum skiff_status emb_infer(struct infer *c, struct skiff_error *err)
{
    struct shape out = SHAPE(-1, 0), list = SHAPE(-1);
    for (int i = 0; i < c->attr[EA_PIECES].n / 3; i++) {
        int64_t width = piece_width(c, i);
        out.dims[1] = width < 0 || out.dims[1] < 0 ? -1 : out.dims[1] + width;
    }
    TRY(infer_out(c, EO_OUT, 0, DTYPE_FP32, &out, err));
    for (int t = 0; t < infer_out_count(c, EO_ROWS); t++)
        TRY(infer_out(c, EO_ROWS, t, DTYPE_INT64, &list, err));
    for (int t = 0; t < infer_out_count(c, EO_WHERE); t++)
        TRY(infer_out(c, EO_WHERE, t, DTYPE_INT32, &list, err));
    return SKIFF_OK;
}

static enum skiff_status emb_grad_infer(struct infer *c, struct skiff_error *err)
{
    for (int t = 0; t < infer_out_count(c, EG_DW); t++) {
        struct shape w = *infer_in(c, EC_W, t);
        if (c->attr[EA_SPARSE].b)
            TRY(infer_out_rows(c, EG_DW, t, DTYPE_FP32, -1, w.dims[1], w.dims[0], err));
        else
            TRY(infer_out(c, EG_DW, t, DTYPE_FP32, &w, err));
    }
    for (int i = 0; i < infer_out_count(c, EG_DX); i++) {
        struct shape x = *infer_in(c, EC_X, i);
        TRY(infer_out(c, EG_DX, i, DTYPE_FP32, &x, err));
    }
    return SKIFF_OK;
}

static const struct op_slot emb_ins[] = {
    {"W", SLOT_LIST | SLOT_ROWWISE}, {"Ids", SLOT_LIST}, {"X", SLOT_LIST | SLOT_OPTIONAL}, {0}};
static const struct op_slot emb_outs[] = {
    {"Out", 0}, {"Rows", SLOT_LIST | SLOT_OPTIONAL}, {"Where", SLOT_LIST | SLOT_OPTIONAL}, {0}};
static const struct op_slot emb_grad_ins[] = {{"W", SLOT_LIST | SLOT_ROWWISE},
                                              {"Ids", SLOT_LIST},
                                              {"X", SLOT_LIST | SLOT_OPTIONAL},
                                              {"Out@GRAD", 0},
                                              {"Rows", SLOT_LIST},
                                              {"Where", SLOT_LIST},
                                              {0}};
static const struct op_slot emb_grad_outs[] = {
    {"W@GRAD", SLOT_LIST}, {"X@GRAD", SLOT_LIST | SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec emb_attrs[] = {
    A_INTS("pieces"), A_LONGS("paddings"), A_BOOL("is_sparse", false), {0}};

const struct op_kind ops_fused_embedding[] = {
    {.type = "fused_embedding_concat",
     .flags = OP_INTERNAL | OP_OWN_SHAPE,
     .ins = emb_ins,
     .outs = emb_outs,
     .attrs = emb_attrs,
     .infer = emb_infer,
     .prepare = emb_prepare,
     .release = emb_release,
     .run = emb_run},
    {.type = "fused_embedding_concat_grad",
     .flags = OP_INTERNAL | OP_OWN_SHAPE,
     .ins = emb_grad_ins,
     .outs = emb_grad_outs,
     .attrs = emb_attrs,
     .infer = emb_grad_infer,
     .prepare = emb_prepare,
     .release = emb_release,
     .run = emb_grad_run},
    {0},
};
