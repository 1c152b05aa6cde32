/* Rows of a table by id: lookup_table, lookup_table_v2, fused_embedding_seq_pool.
 *
 *   Out[i] = W[Ids[i]]           a zero row where Ids[i] == padding_idx (unless padding_idx is -1)
 *   dense  W@GRAD[id] += dO[i]   padding rows skipped
 *   sparse W@GRAD = SelectedRows(rows = Ids in order, duplicates kept; value = dO)
 *
 * v1 wants Ids with a last dimension of 1 and drops it; v2 appends the row to any shape of Ids.
 * The sparse gradient keeps the rows of padding_idx, as Paddle's does. padding_idx is tested before
 * the range, so that an id beyond the table may stand for "nothing".
 *
 * fused_embedding_seq_pool (combiner sum): lookup and sum over the sequences of Ids in one; a
 * column of ids per table slice: Ids [rows, c], Out [sequences, c * D].
 *
 * W may be a table with deferred updates (value.h): the rows of the batch are flushed first. W may
 * also be SelectedRows: the row of an id is the first one with that key. */
#include <string.h>

#include "base/map.h"
#include "base/thread_pool.h"
#include "ops/seq_common.h"

#define AHEAD 16
#define ROW_COST 64 /* to find a row of a large table takes as long as so many simple elements */

enum { IN_W, IN_IDS, IN_DOUT };
enum { AT_SPARSE = 0, AT_DISTRIBUTED = 1, AT_PADDING = 2 };

static int64_t table_height(const struct skiff_tensor *w)
{
    return w->kind == VALUE_ROWS ? w->sel.height : w->tensor.shape.dims[0];
}

/* ---- shapes ---- */

static enum skiff_status lookup_check(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_int(c, IN_IDS, err));
    const struct shape *w = infer_in(c, IN_W, 0), *ids = infer_in(c, IN_IDS, 0);
    if (w->ndim != 2)
        return infer_fail(c, IN_W, 0, err, "a table must have 2 dimensions");
    if (ids->ndim + 1 > TENSOR_MAX_DIMS)
        return infer_fail(c, IN_IDS, 0, err, "has too many dimensions");
    if (infer_in_dtype(c, IN_W, 0) != DTYPE_FP32 && infer_in_dtype(c, IN_W, 0) != DTYPE_FP64)
        return infer_want(c, IN_W, DTYPE_FP32, err);
    return SKIFF_OK;
}

static enum skiff_status lookup_infer(struct infer *c, struct skiff_error *err)
{
    TRY(lookup_check(c, err));
    struct shape out = *infer_in(c, IN_IDS, 0);
    if (out.ndim < 1 || !dims_agree(out.dims[out.ndim - 1], 1))
        return infer_fail(c, IN_IDS, 0, err, "last dimension must be 1");
    out.dims[out.ndim - 1] = infer_in(c, IN_W, 0)->dims[1];
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, IN_W, 0), &out, err));
    infer_share_lod(c, IN_IDS, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status lookup_v2_infer(struct infer *c, struct skiff_error *err)
{
    TRY(lookup_check(c, err));
    struct shape out = *infer_in(c, IN_IDS, 0);
    out.dims[out.ndim++] = infer_in(c, IN_W, 0)->dims[1];
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, IN_W, 0), &out, err));
    infer_share_lod(c, IN_IDS, 0, 0, 0);
    return SKIFF_OK;
}

/* The gradient of the table, dense or as rows. While running, W may be SelectedRows, or only
 * declared: the rows of a distributed table are elsewhere, by any id. */
static enum skiff_status table_grad_infer(struct infer *c, bool sparse, bool distributed,
                                          struct skiff_error *err)
{
    TRY(lookup_check(c, err));
    struct shape w = *infer_in(c, IN_W, 0), ids = *infer_in(c, IN_IDS, 0);
    enum dtype dtype = infer_in_dtype(c, IN_W, 0);
    if (c->running)
        w.dims[0] = table_height(kernel_in_value(c->kernel, IN_W, 0));
    if (sparse && distributed && c->running && !kernel_in(c->kernel, IN_W)->data)
        w.dims[0] = INT64_MAX;
    if (!sparse)
        return infer_out(c, 0, 0, dtype, &w, err);
    return infer_out_rows(c, 0, 0, dtype, dims_product(&ids, 0, ids.ndim), w.dims[1], w.dims[0],
                          err);
}

static enum skiff_status lookup_grad_infer(struct infer *c, struct skiff_error *err)
{
    return table_grad_infer(c, c->attr[AT_SPARSE].b, c->attr[AT_DISTRIBUTED].b, err);
}

/* ---- forward ---- */

/* Position of every id's row in a SelectedRows table: written to `where`. */
static enum skiff_status rows_find(struct kernel *k, const struct skiff_tensor *w,
                                   const int64_t *ids, int64_t n, int64_t padding, int64_t *where,
                                   struct skiff_error *err)
{
    void *p;
    TRY(kernel_scratch(k, (w->sel.nrows + 1) * sizeof(int64_t), &p, err));
    int64_t *row_of = p;
    enum skiff_status status = SKIFF_OK;
    struct id_map map;
    id_map_init(&map);
    id_map_reset(&map, w->sel.nrows + (size_t)n);
    for (size_t r = 0; r < w->sel.nrows; r++) {
        bool fresh;
        uint32_t at = id_map_add(&map, w->sel.rows[r], &fresh);
        if (fresh)
            row_of[at] = (int64_t)r;
    }
    uint32_t known = map.count;
    for (int64_t i = 0; i < n && !status; i++) {
        bool fresh;
        uint32_t at = id_map_add(&map, ids[i], &fresh);
        where[i] = at < known ? row_of[at] : 0;
        if (at >= known && (padding == -1 || ids[i] != padding))
            status = kernel_fail(k, SKIFF_RANGE, err,
                                 "input Ids (%s): id %lld at position %lld has no row in W (%s), "
                                 "which holds %zu rows",
                                 kernel_in_name(k, IN_IDS, 0), (long long)ids[i], (long long)i,
                                 kernel_in_name(k, IN_W, 0), w->sel.nrows);
    }
    id_map_deinit(&map);
    return status;
}

static enum skiff_status ids_check(const struct kernel *k, const int64_t *ids, int64_t n,
                                   int64_t rows, int64_t padding, struct skiff_error *err)
{
    uint64_t bad = 0;
    for (int64_t i = 0; i < n; i++)
        bad |= (uint64_t)ids[i] >= (uint64_t)rows;
    if (!bad)
        return SKIFF_OK;
    for (int64_t i = 0; i < n; i++) {
        if ((uint64_t)ids[i] < (uint64_t)rows || (padding != -1 && ids[i] == padding))
            continue;
        return kernel_fail(
            k, SKIFF_RANGE, err,
            "input Ids (%s): id %lld at position %lld is outside the table W (%s) of "
            "%lld rows",
            kernel_in_name(k, IN_IDS, 0), (long long)ids[i], (long long)i,
            kernel_in_name(k, IN_W, 0), (long long)rows);
    }
    return SKIFF_OK;
}

/* Brings the rows that the batch reads up to date, for good if it trains. */
static enum skiff_status rows_flush(struct kernel *k, struct skiff_tensor *w, const int64_t *ids,
                                    int64_t n, int64_t padding, struct skiff_error *err)
{
    struct deferred *deferred = value_deferred(w);
    if (!deferred)
        return SKIFF_OK;
    if (padding != -1) {
        void *p;
        TRY(kernel_scratch(k, (size_t)(n + 1) * sizeof(int64_t), &p, err));
        int64_t *kept = p, m = 0;
        for (int64_t i = 0; i < n; i++)
            if (ids[i] != padding)
                kept[m++] = ids[i];
        ids = kept;
        n = m;
    }
    kernel_read_rows(k, deferred, ids, (size_t)n);
    return SKIFF_OK;
}

struct rows_copy {
    const float *w;
    int64_t width, padding;
    const int64_t *at, *ids;
    float *out;
};

static void rows_copy(void *arg, int64_t first, int64_t end)
{
    const struct rows_copy *c = arg;
    int64_t width = c->width;
    float *out = c->out + first * width;
    for (int64_t i = first; i < end; i++, out += width) {
        if (c->padding != -1 && c->ids[i] == c->padding) {
            floats_zero(out, width);
            continue;
        }
        const float *row = c->w + c->at[i] * width;
        if (i + AHEAD < end && (c->padding == -1 || c->ids[i + AHEAD] != c->padding)) {
            const float *next = c->w + c->at[i + AHEAD] * width;
            __builtin_prefetch(next);
            __builtin_prefetch(next + width - 1); /* most narrow rows lie in two cache lines */
        }
        for (int64_t d = 0; d < width; d++)
            out[d] = row[d];
    }
}

/* A float64 row is moved as two float32 each: only copied, never added. */
static int64_t width_in_floats(const struct tensor *w)
{
    return w->shape.dims[1] * (int64_t)(dtype_size(w->dtype) / sizeof(float));
}

/* Checks the ids and flushes deferred rows: *at = the index of each id's row in W. */
static enum skiff_status rows_locate(struct kernel *k, int64_t padding, const int64_t **ids,
                                     const int64_t **at, struct skiff_error *err)
{
    struct skiff_tensor *w = kernel_in_value(k, IN_W, 0);
    int64_t n = tensor_numel(kernel_in(k, IN_IDS));
    TRY(kernel_ints(k, IN_IDS, ids, err));
    *at = *ids;
    if (w->kind == VALUE_ROWS) {
        void *p;
        TRY(kernel_scratch(k, (size_t)(n + 1) * sizeof(int64_t), &p, err));
        *at = p;
        return rows_find(k, w, *ids, n, padding, p, err);
    }
    TRY(ids_check(k, *ids, n, w->tensor.shape.dims[0], padding, err));
    return rows_flush(k, w, *ids, n, padding, err);
}

static enum skiff_status lookup_run(struct kernel *k, struct skiff_error *err)
{
    const int64_t *ids, *at;
    int64_t padding = k->attr[AT_PADDING].l;
    TRY(rows_locate(k, padding, &ids, &at, err));
    const struct tensor *w = kernel_in(k, IN_W);
    struct rows_copy c = {w->data, width_in_floats(w),          padding, at,
                          ids,     tensor_f32(kernel_out(k, 0))};
    int64_t n = tensor_numel(kernel_in(k, IN_IDS));
    thread_pool_split(n, thread_pool_rows(n, c.width + ROW_COST), rows_copy, &c);
    return SKIFF_OK;
}

/* ---- gradient ---- */

static void add_row_f64(double *to, const double *from, int64_t width)
{
    for (int64_t d = 0; d < width; d++)
        to[d] += from[d];
}

static enum skiff_status dense_grad(struct kernel *k, const int64_t *ids, int64_t n,
                                    int64_t padding, struct skiff_error *err)
{
    struct tensor *dw = kernel_out(k, 0);
    int64_t width = dw->shape.dims[1];
    const struct tensor *dout = kernel_in(k, IN_DOUT);
    TRY(ids_check(k, ids, n, dw->shape.dims[0], padding, err));
    memset(dw->data, 0, tensor_bytes(dw));
    for (int64_t i = 0; i < n; i++) {
        if (padding != -1 && ids[i] == padding)
            continue;
        if (dw->dtype == DTYPE_FP64) {
            add_row_f64(tensor_f64(dw) + ids[i] * width, tensor_f64(dout) + i * width, width);
            continue;
        }
        float *to = tensor_f32(dw) + ids[i] * width;
        const float *from = tensor_f32(dout) + i * width;
        for (int64_t d = 0; d < width; d++)
            to[d] += from[d];
    }
    return SKIFF_OK;
}

static enum skiff_status lookup_grad_run(struct kernel *k, struct skiff_error *err)
{
    const int64_t *ids;
    struct skiff_tensor *dw = kernel_out_value(k, 0, 0);
    if (!dw)
        return SKIFF_OK;
    const struct tensor *dout = kernel_in(k, IN_DOUT), *w = kernel_in(k, IN_W);
    int64_t n = tensor_numel(kernel_in(k, IN_IDS));
    if (dout->dtype != w->dtype || tensor_numel(dout) != n * w->shape.dims[1])
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "input Out@GRAD (%s) has %lld values of %s, must have %lld x %lld of %s",
                           kernel_in_name(k, IN_DOUT, 0), (long long)tensor_numel(dout),
                           dtype_name(dout->dtype), (long long)n, (long long)w->shape.dims[1],
                           dtype_name(w->dtype));
    TRY(kernel_ints(k, IN_IDS, &ids, err));
    if (!k->attr[AT_SPARSE].b)
        return dense_grad(k, ids, n, k->attr[AT_PADDING].l, err);
    if (n)
        memcpy(dw->sel.rows, ids, (size_t)n * sizeof(int64_t));
    if (n)
        memcpy(dw->tensor.data, dout->data, tensor_bytes(dout));
    return SKIFF_OK;
}

/* ---- fused_embedding_seq_pool ---- */

enum { FU_PADDING = 1, FU_SPARSE = 3 };

/* Ids [rows, c]: the columns are looked up in one table and lie side by side. */
static enum skiff_status fused_infer(struct infer *c, struct skiff_error *err)
{
    TRY(lookup_check(c, err));
    TRY(infer_want(c, IN_W, DTYPE_FP32, err));
    TRY(infer_want_rank(c, IN_IDS, 2, err));
    TRY(infer_want_lod(c, IN_IDS, err));
    if (c->attr[0].s && strcmp(c->attr[0].s, "sum"))
        return error_set(err, SKIFF_UNSUPPORTED, "op %s: combiner is '%s', only 'sum' is known",
                         c->kind->type, c->attr[0].s);
    struct shape ids = *infer_in(c, IN_IDS, 0), out = {.ndim = 2};
    const struct lod *lod = infer_in_lod(c, IN_IDS, 0);
    out.dims[0] = lod ? lod_last(lod)->n - 1 : -1;
    out.dims[1] = ids.dims[1] < 0 ? -1 : ids.dims[1] * infer_in(c, IN_W, 0)->dims[1];
    return infer_out(c, 0, 0, DTYPE_FP32, &out, err);
}

static enum skiff_status fused_run(struct kernel *k, struct skiff_error *err)
{
    const int64_t *ids, *at;
    const struct lod_level *seq;
    int64_t padding = k->attr[FU_PADDING].l;
    TRY(kernel_lod(k, IN_IDS, 0, &seq, err));
    TRY(rows_locate(k, padding, &ids, &at, err));
    const struct tensor *w = kernel_in(k, IN_W);
    int64_t width = w->shape.dims[1], cols = kernel_in(k, IN_IDS)->shape.dims[1];
    float *out = tensor_f32(kernel_out(k, 0));
    floats_zero(out, tensor_numel(kernel_out(k, 0)));
    for (int64_t s = 0; s + 1 < seq->n; s++)
        for (int64_t i = seq->off[s] * cols; i < seq->off[s + 1] * cols; i++) {
            if (padding != -1 && ids[i] == padding)
                continue;
            const float *row = tensor_f32(w) + at[i] * width;
            float *to = out + (s * cols + i % cols) * width;
            for (int64_t d = 0; d < width; d++)
                to[d] += row[d];
        }
    return SKIFF_OK;
}

static enum skiff_status fused_grad_infer(struct infer *c, struct skiff_error *err)
{
    TRY(infer_want_lod(c, IN_IDS, err));
    return table_grad_infer(c, c->attr[FU_SPARSE].b, false, err);
}

static enum skiff_status fused_grad_run(struct kernel *k, struct skiff_error *err)
{
    const int64_t *ids;
    const struct lod_level *seq;
    struct skiff_tensor *dw = kernel_out_value(k, 0, 0);
    if (!dw)
        return SKIFF_OK;
    TRY(kernel_lod(k, IN_IDS, 0, &seq, err));
    TRY(kernel_ints(k, IN_IDS, &ids, err));
    int64_t width = kernel_in(k, IN_W)->shape.dims[1], padding = k->attr[FU_PADDING].l;
    int64_t cols = kernel_in(k, IN_IDS)->shape.dims[1], n = tensor_numel(kernel_in(k, IN_IDS));
    const float *dout = tensor_f32(kernel_in(k, IN_DOUT));
    bool sparse = k->attr[FU_SPARSE].b;
    float *to = tensor_f32(&dw->tensor);
    if (tensor_numel(kernel_in(k, IN_DOUT)) != (seq->n - 1) * cols * width)
        return kernel_fail(k, SKIFF_SHAPE, err, "input Out@GRAD (%s) does not fit %lld sequences",
                           kernel_in_name(k, IN_DOUT, 0), (long long)(seq->n - 1));
    if (sparse && n)
        memcpy(dw->sel.rows, ids, (size_t)n * sizeof(int64_t));
    if (!sparse) {
        TRY(ids_check(k, ids, n, dw->tensor.shape.dims[0], padding, err));
        floats_zero(to, tensor_numel(&dw->tensor));
    }
    for (int64_t s = 0; s + 1 < seq->n; s++)
        for (int64_t i = seq->off[s] * cols; i < seq->off[s + 1] * cols; i++) {
            const float *from = dout + (s * cols + i % cols) * width;
            if (sparse)
                memcpy(to + i * width, from, (size_t)width * sizeof(float));
            else if (padding == -1 || ids[i] != padding)
                for (int64_t d = 0; d < width; d++)
                    to[ids[i] * width + d] += from[d];
        }
    return SKIFF_OK;
}

/* ---- tables ---- */

static const struct op_slot table_ins[] = {{"W", SLOT_ROWWISE}, {"Ids", 0}, {0}};
static const struct op_slot table_outs[] = {{"Out", 0}, {0}};
static const struct op_slot grad_ins[] = {
    {"W", SLOT_ROWWISE | SLOT_SHAPE_ONLY}, {"Ids", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot grad_outs[] = {{"W@GRAD", 0}, {0}};

static const struct op_attr_spec lookup_attrs[] = {A_BOOL("is_sparse", false),
                                                   A_BOOL("is_distributed", false),
                                                   A_LONG("padding_idx", -1),
                                                   A_BOOL("grad_inplace", false),
                                                   A_BOOL("remote_prefetch", false),
                                                   A_INT("trainer_id", 0),
                                                   A_LONGS("height_sections"),
                                                   A_STRS("epmap"),
                                                   A_STRS("table_names"),
                                                   AF_STR("entry_config", "", ATTR_ONLY_2X),
                                                   AF_BOOL("is_test", false, ATTR_ONLY_2X),
                                                   AF_STR("entry", "none", ATTR_ONLY_2X),
                                                   AF_STR("table_class", "none", ATTR_ONLY_2X),
                                                   AF_INT("slot", 0, ATTR_ONLY_2X),
                                                   {0}};

static const struct op_attr_spec lookup_v2_attrs[] = {A_BOOL("is_sparse", false),
                                                      A_BOOL("is_distributed", false),
                                                      A_LONG("padding_idx", -1),
                                                      A_BOOL("remote_prefetch", false),
                                                      A_INT("trainer_id", 0),
                                                      A_LONGS("height_sections"),
                                                      A_STRS("epmap"),
                                                      A_STRS("table_names"),
                                                      AF_INT("slot", 0, ATTR_ONLY_2X),
                                                      {0}};

static const struct op_attr_spec fused_attrs[] = {
    A_STR("combiner", "sum"),
    A_LONG("padding_idx", -1),
    A_BOOL("grad_inplace", false),
    A_BOOL("is_sparse", false),
    A_BOOL("@ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE@", true),
    {0}};

const struct op_kind ops_lookup[] = {{.type = "lookup_table",
                                      .flags = OP_ROWS_OK | OP_TRANSPILED_LOOKUP,
                                      .class = CLASS_LOOKUP,
                                      .ins = table_ins,
                                      .outs = table_outs,
                                      .attrs = lookup_attrs,
                                      .grad = "W Ids Out@GRAD -> W@GRAD",
                                      .infer = lookup_infer,
                                      .run = lookup_run},
                                     {.type = "lookup_table_grad",
                                      .flags = OP_ROWS_OK,
                                      .class = CLASS_LOOKUP_GRAD,
                                      .ins = grad_ins,
                                      .outs = grad_outs,
                                      .attrs = lookup_attrs,
                                      .infer = lookup_grad_infer,
                                      .run = lookup_grad_run},
                                     {.type = "lookup_table_v2",
                                      .flags = OP_ROWS_OK,
                                      .class = CLASS_LOOKUP,
                                      .ins = table_ins,
                                      .outs = table_outs,
                                      .attrs = lookup_v2_attrs,
                                      .grad = "W Ids Out@GRAD -> W@GRAD",
                                      .infer = lookup_v2_infer,
                                      .run = lookup_run},
                                     {.type = "lookup_table_v2_grad",
                                      .flags = OP_ROWS_OK,
                                      .class = CLASS_LOOKUP_GRAD,
                                      .ins = grad_ins,
                                      .outs = grad_outs,
                                      .attrs = lookup_v2_attrs,
                                      .infer = lookup_grad_infer,
                                      .run = lookup_grad_run},
                                     {.type = "fused_embedding_seq_pool",
                                      .flags = OP_ROWS_OK,
                                      .ins = table_ins,
                                      .outs = table_outs,
                                      .attrs = fused_attrs,
                                      .grad = "W Ids Out@GRAD -> W@GRAD",
                                      .infer = fused_infer,
                                      .run = fused_run},
                                     {.type = "fused_embedding_seq_pool_grad",
                                      .flags = OP_ROWS_OK,
                                      .ins = grad_ins,
                                      .outs = grad_outs,
                                      .attrs = fused_attrs,
                                      .infer = fused_grad_infer,
                                      .run = fused_grad_run},
                                     {0}};
