/* Sequences by their length, step by step (DynamicRNN).
 *
 *   lod_rank_table              the sequences of one lod level, longest first: [index, length] rows
 *   max_sequence_len            the length of the first
 *   lod_tensor_to_array         item t: step t of all sequences that have one, in the table's order
 *   array_to_lod_tensor         the way back; both are each other's gradients
 *   shrink_rnn_memory           the first rows: those of sequences longer than I
 *   reorder_lod_tensor_by_rank  sequences (rows without lod) in the table's order
 *
 * The table is an int64 tensor; its lod is that of the levels above the ranked one. A sequence of a
 * level is cut further by the levels below it: these go along. */
#include <stdlib.h>
#include <string.h>

#include "ops/control/control.h"
#include "ops/control/pieces.h"

struct rank { /* a row of the table */
    int64_t index, length;
};

static const struct rank *table_rows(const struct tensor *t)
{
    return (const struct rank *)t->data;
}

/* The table may be anything that a program feeds: every sequence once, the longest first. */
static enum skiff_status want_table(struct kernel *k, int slot, const struct tensor **out,
                                    struct skiff_error *err)
{
    const struct tensor *t = kernel_in(k, slot);
    if (!t || t->dtype != DTYPE_INT64 || t->shape.ndim != 2 || t->shape.dims[1] != 2)
        return kernel_fail(k, SKIFF_INVALID, err, "%s is not a rank table",
                           kernel_in_name(k, slot, 0));
    int64_t n = t->shape.dims[0];
    void *capacity;
    TRY(kernel_scratch(k, (size_t)n + 1, &capacity, err));
    bool *seen = memset(capacity, 0, (size_t)n + 1);
    for (int64_t i = 0; i < n; i++) {
        const struct rank *r = &table_rows(t)[i];
        bool fits = r->index >= 0 && r->index < n && !seen[r->index] && r->length >= 0 &&
                    (!i || r->length <= r[-1].length);
        if (!fits)
            return kernel_fail(k, SKIFF_INVALID, err,
                               "%s is not a rank table: row %lld is [%lld, %lld]",
                               kernel_in_name(k, slot, 0), (long long)i, (long long)r->index,
                               (long long)r->length);
        seen[r->index] = true;
    }
    *out = t;
    return SKIFF_OK;
}

/* ---- lod_rank_table, max_sequence_len ---- */

static void table_kind(struct infer *c)
{
    infer_out_kind(c, 0, 0, VAR_LOD_RANK_TABLE);
}

static int by_rank(const void *x, const void *y)
{
    const struct rank *a = x, *b = y;
    if (a->length != b->length)
        return a->length > b->length ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static enum skiff_status table_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0);
    int level = k->attr[0].i, levels = x->lod ? x->lod->nlevels : 0;
    if (level < 0 || level >= levels)
        return kernel_fail(k, SKIFF_SHAPE, err, "level is %d, but %s has %d lod levels", level,
                           kernel_in_name(k, 0, 0), levels);
    const struct lod_level *seq = &x->lod->level[level];
    struct shape s = SHAPE(seq->n - 1, 2);
    TRY(kernel_out_resize(k, 0, 0, DTYPE_INT64, &s, err));
    struct tensor *out = kernel_out(k, 0);
    struct rank *rows = (struct rank *)out->data;
    for (int64_t i = 0; i + 1 < seq->n; i++)
        rows[i] = (struct rank){i, seq->off[i + 1] - seq->off[i]};
    if (seq->n > 1)
        qsort(rows, (size_t)seq->n - 1, sizeof *rows, by_rank);
    tensor_drop_lod(out);
    int64_t counts[LOD_MAX_LEVELS];
    for (int l = 0; l < level; l++)
        counts[l] = x->lod->level[l].n;
    if (!level)
        return SKIFF_OK;
    TRY(lod_build(&out->lod, level, counts, err));
    for (int l = 0; l < level; l++)
        bytes_copy(out->lod->level[l].off, x->lod->level[l].off,
                   (size_t)counts[l] * sizeof(int64_t));
    return SKIFF_OK;
}

static enum skiff_status one_int_infer(struct infer *c, struct skiff_error *err)
{
    struct shape one = SHAPE(1);
    return infer_out(c, 0, 0, DTYPE_INT64, &one, err);
}

static enum skiff_status max_len_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *table = NULL;
    TRY(want_table(k, 0, &table, err));
    struct shape one = SHAPE(1);
    TRY(kernel_out_resize(k, 0, 0, DTYPE_INT64, &one, err));
    *tensor_i64(kernel_out(k, 0)) = table->shape.dims[0] ? table_rows(table)[0].length : 0;
    return SKIFF_OK;
}

/* ---- lod_tensor_to_array, array_to_lod_tensor ---- */

static int table_level(const struct tensor *table)
{
    return table->lod ? table->lod->nlevels : 0;
}

static void array_kind(struct infer *c)
{
    infer_out_kind(c, 0, 0, VAR_LOD_TENSOR_ARRAY);
}

static enum skiff_status to_array_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, 0, 0);
    if (!x)
        return infer_fail(c, 0, 0, err, "the input is missing");
    struct shape s = *x;
    if (s.ndim)
        s.dims[0] = -1;
    return infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), &s, err);
}

/* The ranks and the lod of X must be of the same sequences. */
static enum skiff_status check_ranks(struct kernel *k, const struct tensor *x, int level,
                                     const struct tensor *table, struct skiff_error *err)
{
    int64_t n = table->shape.dims[0];
    if (!x->lod || level >= x->lod->nlevels || x->lod->level[level].n - 1 != n)
        return kernel_fail(
            k, SKIFF_SHAPE, err, "the rank table has %lld sequences, %s has %lld", (long long)n,
            kernel_in_name(k, 0, 0),
            (long long)(x->lod && level < x->lod->nlevels ? x->lod->level[level].n - 1 : 0));
    const int64_t *off = x->lod->level[level].off;
    for (int64_t i = 0; i < n; i++) {
        const struct rank *r = &table_rows(table)[i];
        if (r->index < 0 || r->index >= n || r->length != off[r->index + 1] - off[r->index])
            return kernel_fail(k, SKIFF_SHAPE, err,
                               "the length of sequence %lld of %s differs from the rank table",
                               (long long)r->index, kernel_in_name(k, 0, 0));
    }
    return SKIFF_OK;
}

static enum skiff_status to_array_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0), *table = NULL;
    struct skiff_tensor *out = kernel_out_value(k, 0, 0);
    void *capacity;
    TRY(want_table(k, 1, &table, err));
    int level = table_level(table);
    int64_t n = table->shape.dims[0], longest = n ? table_rows(table)[0].length : 0;
    TRY(check_ranks(k, x, level, table, err));
    TRY(kernel_scratch(k, (size_t)(n + 1) * sizeof(struct piece), &capacity, err));
    struct piece *p = capacity;
    value_clear(out);
    TRY(value_as_array(out, (size_t)longest, err));
    for (int64_t t = 0; t < longest; t++) {
        int64_t m = 0;
        for (; m < n && table_rows(table)[m].length > t; m++)
            p[m] = (struct piece){x, x->lod->level[level].off[table_rows(table)[m].index] + t};
        TRY(pieces_join(k, p, m, level + 1, x, NULL, 0, out->array.items[t], err));
    }
    return SKIFF_OK;
}

static enum skiff_status from_array_infer(struct infer *c, struct skiff_error *err)
{
    TRY(to_array_infer(c, err));
    if (!c->running)
        infer_lod_level(c, 0, 0, infer_in_lod_level(c, 0, 0) + 1);
    return SKIFF_OK;
}

static int by_index(const void *a, const void *b)
{
    const struct rank *x = *(const struct rank *const *)a, *y = *(const struct rank *const *)b;
    return (x->index > y->index) - (x->index < y->index);
}

/* Item t must have a unit for every sequence longer than t. */
static enum skiff_status check_items(struct kernel *k, const struct skiff_tensor *x,
                                     const struct tensor *table, struct skiff_error *err)
{
    int64_t n = table->shape.dims[0], longest = n ? table_rows(table)[0].length : 0, m = n;
    for (int64_t t = 0; t < longest; t++) {
        while (m && table_rows(table)[m - 1].length <= t)
            m--;
        const struct skiff_tensor *item = (size_t)t < x->array.count ? x->array.items[t] : NULL;
        if (!item || item->kind != VALUE_TENSOR || item->tensor.shape.ndim < 1 ||
            unit_count(&item->tensor, 0) != m)
            return kernel_fail(
                k, SKIFF_SHAPE, err,
                "item %lld of %s has %lld rows or sequences, the rank table says %lld",
                (long long)t, kernel_in_name(k, 0, 0),
                (long long)(item && item->kind == VALUE_TENSOR && item->tensor.shape.ndim
                                ? unit_count(&item->tensor, 0)
                                : 0),
                (long long)m);
        const struct tensor *a = &item->tensor, *b = &x->array.items[0]->tensor;
        if (a->dtype != b->dtype || shape_cols(&a->shape, 1) != shape_cols(&b->shape, 1) ||
            (a->lod ? a->lod->nlevels : 0) != (b->lod ? b->lod->nlevels : 0))
            return kernel_fail(k, SKIFF_SHAPE, err, "item %lld of %s is not like item 0",
                               (long long)t, kernel_in_name(k, 0, 0));
    }
    return SKIFF_OK;
}

/* The lod of the result above its items' own: the table's, and the ranked level itself. */
static enum skiff_status lod_above(const struct tensor *table, const struct rank *const *order,
                                   struct lod **out, struct skiff_error *err)
{
    int level = table_level(table);
    int64_t n = table->shape.dims[0], counts[LOD_MAX_LEVELS];
    for (int l = 0; l < level; l++)
        counts[l] = table->lod->level[l].n;
    counts[level] = n + 1;
    TRY(lod_build(out, level + 1, counts, err));
    for (int l = 0; l < level; l++)
        bytes_copy((*out)->level[l].off, table->lod->level[l].off,
                   (size_t)counts[l] * sizeof(int64_t));
    int64_t *off = (*out)->level[level].off;
    off[0] = 0;
    for (int64_t i = 0; i < n; i++)
        off[i + 1] = off[i] + order[i]->length;
    return SKIFF_OK;
}

static enum skiff_status from_array_run(struct kernel *k, struct skiff_error *err)
{
    const struct skiff_tensor *x = kernel_in_value(k, 0, 0);
    const struct tensor *table = NULL;
    void *capacity, *room2;
    struct lod *above = NULL;
    TRY(want_table(k, 1, &table, err));
    if (x->kind != VALUE_ARRAY || !x->array.count)
        return kernel_fail(k, SKIFF_INVALID, err, "array %s is empty", kernel_in_name(k, 0, 0));
    TRY(check_items(k, x, table, err));
    int64_t n = table->shape.dims[0], steps = 0, at = 0;
    for (int64_t i = 0; i < n; i++)
        steps += table_rows(table)[i].length;
    TRY(kernel_scratch(k, (size_t)(n + 1) * sizeof(struct rank *), &capacity, err));
    TRY(kernel_scratch(k, (size_t)(steps + 1) * sizeof(struct piece), &room2, err));
    const struct rank **order = capacity;
    struct piece *p = room2;
    for (int64_t i = 0; i < n; i++)
        order[i] = &table_rows(table)[i];
    if (n)
        qsort(order, (size_t)n, sizeof *order, by_index);
    for (int64_t i = 0; i < n; i++)
        for (int64_t t = 0; t < order[i]->length; t++)
            p[at++] = (struct piece){&x->array.items[t]->tensor, order[i] - table_rows(table)};
    TRY(lod_above(table, order, &above, err));
    enum skiff_status status = pieces_join(k, p, at, 0, &x->array.items[0]->tensor, above,
                                           above->nlevels, kernel_out_value(k, 0, 0), err);
    lod_unref(above);
    return status;
}

static enum skiff_status swap_grad(struct grad_build *g, const char *type)
{
    const char *from = grad_name(g, op_out1(g->fwd, "Out")),
               *to = grad_name(g, op_in1(g->fwd, "X"));
    const char *table = op_in1(g->fwd, "RankTable");
    if (g->unwanted(g, to))
        return SKIFF_OK;
    struct skiff_op *op = grad_op(g, type, true);
    op_set_in(g->program, op, "RankTable", 1, &table);
    op_set_in(g->program, op, "X", 1, &from);
    op_set_out(g->program, op, "Out", 1, &to);
    return SKIFF_OK;
}

static enum skiff_status to_array_grad(struct grad_build *g, struct skiff_error *err)
{
    return swap_grad(g, "array_to_lod_tensor");
}

static enum skiff_status from_array_grad(struct grad_build *g, struct skiff_error *err)
{
    return swap_grad(g, "lod_tensor_to_array");
}

/* ---- shrink_rnn_memory ---- */

static enum skiff_status shrink_infer(struct infer *c, struct skiff_error *err)
{
    return to_array_infer(c, err);
}

static enum skiff_status shrink_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, 0), *i = kernel_in(k, 2), *table = NULL;
    void *capacity;
    TRY(want_table(k, 1, &table, err));
    if (!i || tensor_numel(i) != 1 || !dtype_is_index(i->dtype))
        return kernel_fail(k, SKIFF_INVALID, err, "I must be one integer");
    int64_t n = 0, t = tensor_int_at(i, 0), units = unit_count(x, 0);
    while (n < table->shape.dims[0] && table_rows(table)[n].length > t)
        n++;
    if (n > units)
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "%lld sequences are longer than %lld, but %s has %lld rows",
                           (long long)n, (long long)t, kernel_in_name(k, 0, 0), (long long)units);
    TRY(kernel_scratch(k, (size_t)(n + 1) * sizeof(struct piece), &capacity, err));
    struct piece *p = capacity;
    for (int64_t u = 0; u < n; u++)
        p[u] = (struct piece){x, u};
    return pieces_join(k, p, n, 0, x, NULL, 0, kernel_out_value(k, 0, 0), err);
}

static enum skiff_status shrink_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct skiff_tensor *d = kernel_in_value(k, 1, 0);
    struct skiff_tensor *out = kernel_out_value(k, 0, 0);
    TRY(control_zeros(out, kernel_in_value(k, 0, 0), err));
    if (!out || !d || d->kind != VALUE_TENSOR)
        return SKIFF_OK;
    if (d->tensor.dtype != out->tensor.dtype ||
        tensor_numel(&d->tensor) > tensor_numel(&out->tensor))
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD has more elements than X");
    bytes_copy(out->tensor.data, d->tensor.data, tensor_bytes(&d->tensor));
    return SKIFF_OK;
}

/* ---- reorder_lod_tensor_by_rank ---- */

static enum skiff_status reorder(struct kernel *k, int x_slot, int table_slot, bool back,
                                 struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, x_slot), *table = NULL;
    void *capacity;
    TRY(want_table(k, table_slot, &table, err));
    int64_t n = table->shape.dims[0];
    if (unit_count(x, 0) != n)
        return kernel_fail(k, SKIFF_SHAPE, err,
                           "%s has %lld sequences (or rows), the rank table has %lld",
                           kernel_in_name(k, x_slot, 0), (long long)unit_count(x, 0), (long long)n);
    TRY(kernel_scratch(k, (size_t)(n + 1) * sizeof(struct piece), &capacity, err));
    struct piece *p = capacity;
    for (int64_t i = 0; i < n; i++) {
        int64_t index = table_rows(table)[i].index;
        p[back ? index : i] = (struct piece){x, back ? i : index};
    }
    return pieces_join(k, p, n, 0, x, NULL, 0, kernel_out_value(k, 0, 0), err);
}

static enum skiff_status reorder_run(struct kernel *k, struct skiff_error *err)
{
    return reorder(k, 0, 1, false, err);
}

static enum skiff_status reorder_grad(struct grad_build *g, struct skiff_error *err)
{
    return swap_grad(g, "reorder_lod_tensor_by_rank_grad");
}

static enum skiff_status reorder_grad_run(struct kernel *k, struct skiff_error *err)
{
    return reorder(k, 0, 1, true, err);
}

/* ---- table ---- */

static const struct op_slot x_only[] = {{"X", 0}, {0}};
static const struct op_slot table_only[] = {{"RankTable", 0}, {0}};
static const struct op_slot x_table[] = {{"X", 0}, {"RankTable", 0}, {0}};
static const struct op_slot out_only[] = {{"Out", 0}, {0}};
static const struct op_slot x_grad[] = {{"X@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_slot shrink_ins[] = {{"X", 0}, {"RankTable", 0}, {"I", 0}, {0}};
static const struct op_slot shrink_grad_ins[] = {{"X", 0}, {"Out@GRAD", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec table_attrs[] = {A_INT("level", 0), {0}};
static const struct op_attr_spec no_attrs[] = {{0}};

const struct op_kind ops_rank_table[] = {{.type = "lod_rank_table",
                                          .flags = OP_OWN_SHAPE | OP_NO_GRAD_NEEDED,
                                          .ins = x_only,
                                          .outs = out_only,
                                          .attrs = table_attrs,
                                          .infer = control_no_shapes,
                                          .run = table_run,
                                          .infer_kind = table_kind},
                                         {.type = "max_sequence_len",
                                          .flags = OP_OWN_SHAPE | OP_NO_GRAD_NEEDED,
                                          .ins = table_only,
                                          .outs = out_only,
                                          .attrs = no_attrs,
                                          .infer = one_int_infer,
                                          .run = max_len_run},
                                         {.type = "lod_tensor_to_array",
                                          .flags = OP_OWN_SHAPE | OP_ARRAY_OK,
                                          .ins = x_table,
                                          .outs = out_only,
                                          .attrs = no_attrs,
                                          .make_grad = to_array_grad,
                                          .infer = to_array_infer,
                                          .run = to_array_run,
                                          .infer_kind = array_kind},
                                         {.type = "array_to_lod_tensor",
                                          .flags = OP_OWN_SHAPE | OP_ARRAY_OK,
                                          .ins = x_table,
                                          .outs = out_only,
                                          .attrs = no_attrs,
                                          .make_grad = from_array_grad,
                                          .infer = from_array_infer,
                                          .run = from_array_run},
                                         {.type = "shrink_rnn_memory",
                                          .flags = OP_OWN_SHAPE,
                                          .ins = shrink_ins,
                                          .outs = out_only,
                                          .attrs = no_attrs,
                                          .grad = "X Out@GRAD -> X@GRAD",
                                          .infer = shrink_infer,
                                          .run = shrink_run},
                                         {.type = "shrink_rnn_memory_grad",
                                          .flags = OP_OWN_SHAPE | OP_EMPTY_OK,
                                          .ins = shrink_grad_ins,
                                          .outs = x_grad,
                                          .attrs = no_attrs,
                                          .run = shrink_grad_run},
                                         {.type = "reorder_lod_tensor_by_rank",
                                          .flags = OP_OWN_SHAPE,
                                          .ins = x_table,
                                          .outs = out_only,
                                          .attrs = no_attrs,
                                          .make_grad = reorder_grad,
                                          .run = reorder_run},
                                         {.type = "reorder_lod_tensor_by_rank_grad",
                                          .flags = OP_OWN_SHAPE,
                                          .ins = x_table,
                                          .outs = out_only,
                                          .attrs = no_attrs,
                                          .run = reorder_grad_run},
                                         {0}};
