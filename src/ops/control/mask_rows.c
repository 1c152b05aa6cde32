/* Rows, or sequences of a level, by a mask (IfElse).
 *   split_lod_tensor  OutTrue = those where Mask holds, OutFalse = the others
 *   merge_lod_tensor  the way back: the next of InTrue where Mask holds, else the next of InFalse
 * Each is the other's gradient. */
#include "ops/control/control.h"
#include "ops/control/pieces.h"

enum { SPLIT_X, SPLIT_MASK };
enum { SPLIT_TRUE, SPLIT_FALSE };

static enum skiff_status read_mask(const struct kernel *k, int slot, int64_t units,
                                   const struct tensor **out, struct skiff_error *err)
{
    const struct tensor *mask = kernel_in(k, slot);
    if (!mask || mask->dtype != DTYPE_BOOL)
        return kernel_fail(k, SKIFF_DTYPE, err, "Mask must be bool");
    if (units >= 0 && tensor_numel(mask) != units)
        return kernel_fail(k, SKIFF_SHAPE, err, "Mask %s has %lld elements, %s has %lld rows",
                           kernel_in_name(k, slot, 0), (long long)tensor_numel(mask),
                           kernel_in_name(k, 0, 0), (long long)units);
    *out = mask;
    return SKIFF_OK;
}

static enum skiff_status split_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, SPLIT_X, 0);
    if (!x)
        return infer_fail(c, SPLIT_X, 0, err, "the input is missing");
    struct shape s = *x;
    if (s.ndim)
        s.dims[0] = -1;
    TRY(infer_out(c, SPLIT_TRUE, 0, infer_in_dtype(c, SPLIT_X, 0), &s, err));
    return infer_out(c, SPLIT_FALSE, 0, infer_in_dtype(c, SPLIT_X, 0), &s, err);
}

static enum skiff_status split_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *x = kernel_in(k, SPLIT_X), *mask = NULL;
    int level = k->attr[0].i;
    void *capacity;
    if (level < 0 || x->shape.ndim < 1 || (level && (!x->lod || level >= x->lod->nlevels)))
        return kernel_fail(k, SKIFF_SHAPE, err, "level is %d, but %s has %d lod levels", level,
                           kernel_in_name(k, SPLIT_X, 0), x->lod ? x->lod->nlevels : 0);
    int64_t units = unit_count(x, level);
    TRY(read_mask(k, SPLIT_MASK, units, &mask, err));
    TRY(kernel_scratch(k, (size_t)(units + 1) * sizeof(struct piece), &capacity, err));
    struct piece *p = capacity;
    for (int side = 0; side < 2; side++) {
        int64_t n = 0;
        for (int64_t i = 0; i < units; i++)
            if (((const bool *)mask->data)[i] == (side == SPLIT_TRUE))
                p[n++] = (struct piece){x, i};
        struct skiff_tensor *out = kernel_out_value(k, side, 0);
        if (out)
            TRY(pieces_join(k, p, n, level, x, NULL, 0, out, err));
    }
    return SKIFF_OK;
}

static enum skiff_status split_grad(struct grad_build *g, struct skiff_error *err)
{
    const char *x = op_in1(g->fwd, "X"), *mask = op_in1(g->fwd, "Mask"), *to = grad_name(g, x);
    const char *yes = grad_name(g, op_out1(g->fwd, "OutTrue"));
    const char *no = grad_name(g, op_out1(g->fwd, "OutFalse"));
    if (g->unwanted(g, to))
        return SKIFF_OK;
    struct skiff_op *op = grad_op(g, "merge_lod_tensor", true);
    op_set_in(g->program, op, "X", 1, &x);
    op_set_in(g->program, op, "Mask", 1, &mask);
    op_set_in(g->program, op, "InTrue", 1, &yes);
    op_set_in(g->program, op, "InFalse", 1, &no);
    op_set_out(g->program, op, "Out", 1, &to);
    return SKIFF_OK;
}

/* ---- merge_lod_tensor ---- */

enum { MERGE_X, MERGE_MASK, MERGE_TRUE, MERGE_FALSE };

static enum skiff_status merge_infer(struct infer *c, struct skiff_error *err)
{
    int from = infer_in(c, MERGE_TRUE, 0) ? MERGE_TRUE : MERGE_FALSE;
    const struct shape *in = infer_in(c, from, 0);
    if (!in)
        return infer_fail(c, from, 0, err, "the input is missing");
    struct shape s = *in;
    if (s.ndim)
        s.dims[0] = -1;
    return infer_out(c, 0, 0, infer_in_dtype(c, from, 0), &s, err);
}

/* A side that no row went to may have no value at all. */
static const struct tensor *side_of(const struct kernel *k, int slot)
{
    const struct skiff_tensor *v = kernel_in_value(k, slot, 0);
    return v && v->kind == VALUE_TENSOR && v->tensor.shape.ndim >= 1 ? &v->tensor : NULL;
}

static bool sides_alike(const struct tensor *a, const struct tensor *b)
{
    return !a || !b || !a->shape.dims[0] || !b->shape.dims[0] ||
           (a->dtype == b->dtype && shape_cols(&a->shape, 1) == shape_cols(&b->shape, 1) &&
            (a->lod ? a->lod->nlevels : 0) == (b->lod ? b->lod->nlevels : 0));
}

static enum skiff_status merge_run(struct kernel *k, struct skiff_error *err)
{
    const struct tensor *side[2] = {side_of(k, MERGE_FALSE), side_of(k, MERGE_TRUE)};
    const struct tensor *x = side_of(k, MERGE_X), *mask = NULL;
    int level = k->attr[0].i, levels = x && x->lod ? x->lod->nlevels : 0;
    int64_t used[2] = {0, 0};
    void *capacity;
    TRY(read_mask(k, MERGE_MASK, -1, &mask, err));
    int64_t n = tensor_numel(mask);
    if ((!side[0] && !side[1]) || !sides_alike(side[0], side[1]))
        return kernel_fail(k, SKIFF_SHAPE, err, "InTrue (%s) and InFalse (%s) do not fit",
                           kernel_in_name(k, MERGE_TRUE, 0), kernel_in_name(k, MERGE_FALSE, 0));
    if (level < 0 || (level && level >= levels))
        return kernel_fail(k, SKIFF_SHAPE, err, "level is %d, but %s has %d lod levels", level,
                           kernel_in_name(k, MERGE_X, 0), levels);
    TRY(kernel_scratch(k, (size_t)(n + 1) * sizeof(struct piece), &capacity, err));
    struct piece *p = capacity;
    for (int64_t i = 0; i < n; i++) {
        int from = ((const bool *)mask->data)[i];
        int64_t have = side[from] ? unit_count(side[from], 0) : 0;
        if (used[from] >= have)
            return kernel_fail(k, SKIFF_SHAPE, err, "Mask wants more than the %lld rows of %s",
                               (long long)have,
                               kernel_in_name(k, from ? MERGE_TRUE : MERGE_FALSE, 0));
        p[i] = (struct piece){side[from], used[from]++};
    }
    const struct tensor *like = n ? p[0].from : side[0] ? side[0] : side[1];
    return pieces_join(k, p, n, 0, like, x ? x->lod : NULL, level, kernel_out_value(k, 0, 0), err);
}

static enum skiff_status merge_grad(struct grad_build *g, struct skiff_error *err)
{
    const char *mask = op_in1(g->fwd, "Mask"), *from = grad_name(g, op_out1(g->fwd, "Out"));
    const char *yes = grad_name(g, op_in1(g->fwd, "InTrue"));
    const char *no = grad_name(g, op_in1(g->fwd, "InFalse"));
    struct skiff_op *op = grad_op(g, "split_lod_tensor", true);
    op_set_in(g->program, op, "X", 1, &from);
    op_set_in(g->program, op, "Mask", 1, &mask);
    op_set_out(g->program, op, "OutTrue", 1, &yes);
    op_set_out(g->program, op, "OutFalse", 1, &no);
    return SKIFF_OK;
}

/* ---- table ---- */

static const struct op_slot split_ins[] = {{"X", 0}, {"Mask", 0}, {0}};
static const struct op_slot split_outs[] = {{"OutTrue", 0}, {"OutFalse", 0}, {0}};
static const struct op_slot merge_ins[] = {
    {"X", 0}, {"Mask", 0}, {"InTrue", 0}, {"InFalse", 0}, {0}};
static const struct op_slot merge_outs[] = {{"Out", 0}, {0}};
static const struct op_attr_spec level_attrs[] = {A_INT("level", 0), {0}};

const struct op_kind ops_mask_rows[] = {{.type = "split_lod_tensor",
                                         .flags = OP_OWN_SHAPE,
                                         .ins = split_ins,
                                         .outs = split_outs,
                                         .attrs = level_attrs,
                                         .make_grad = split_grad,
                                         .infer = split_infer,
                                         .run = split_run},
                                        {.type = "merge_lod_tensor",
                                         .flags = OP_OWN_SHAPE | OP_EMPTY_OK,
                                         .ins = merge_ins,
                                         .outs = merge_outs,
                                         .attrs = level_attrs,
                                         .make_grad = merge_grad,
                                         .infer = merge_infer,
                                         .run = merge_run},
                                        {.type = "merge_lod_tensor_infer",
                                         .flags = OP_OWN_SHAPE | OP_EMPTY_OK,
                                         .ins = merge_ins,
                                         .outs = merge_outs,
                                         .attrs = level_attrs,
                                         .infer = merge_infer,
                                         .run = merge_run},
                                        {0}};
