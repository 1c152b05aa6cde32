/* Tensor arrays.
 *   write_to_array          Out[I] = X; the array grows as needed
 *   read_from_array         Out = X[I]; with X_W (gradient of a write) what the array lacks is zero
 *   tensor_array_to_tensor  the items one after the other along axis, or stacked on a new axis
 *   lod_array_length        the number of items
 *   is_empty                has the tensor no elements?
 * Writing and reading are each other's gradients. */
#include <string.h>

#include "ops/ops_common.h"

static enum skiff_status item_index(struct kernel *k, int slot, size_t *out,
                                    struct skiff_error *err)
{
    const struct tensor *t = kernel_in(k, slot);
    if (!t || tensor_numel(t) != 1 || !dtype_is_index(t->dtype))
        return kernel_fail(k, SKIFF_INVALID, err, "I must be one integer");
    int64_t i = t->dtype == DTYPE_INT64 ? *tensor_i64(t) : *tensor_i32(t);
    if (i < 0)
        return kernel_fail(k, SKIFF_RANGE, err, "I is %lld; an item's number cannot be negative",
                           (long long)i);
    *out = (size_t)i;
    return SKIFF_OK;
}

/* An array with at least n items; one that was something else, or left from an earlier run, starts
 * empty. */
static enum skiff_status array_begin(struct skiff_tensor *v, size_t n, struct skiff_error *err)
{
    if (v->kind != VALUE_ARRAY)
        value_clear(v);
    return value_as_array(v, n, err);
}

/* ---- write_to_array ---- */

enum { WRITE_X, WRITE_I };

static void array_out_kind(struct infer *c)
{
    infer_out_kind(c, 0, 0, VAR_LOD_TENSOR_ARRAY);
}

/* While building, the variable of an array carries the shape of its items. */
static enum skiff_status array_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, WRITE_X, 0);
    if (!x)
        return infer_fail(c, WRITE_X, 0, err, "the input is missing");
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, WRITE_X, 0), x, err));
    infer_share_lod(c, WRITE_X, 0, 0, 0);
    return SKIFF_OK;
}

static enum skiff_status write_run(struct kernel *k, struct skiff_error *err)
{
    size_t i;
    struct skiff_tensor *out = kernel_out_value(k, 0, 0);
    TRY(item_index(k, WRITE_I, &i, err));
    TRY(array_begin(out, i + 1, err));
    return value_copy(out->array.items[i], kernel_in_value(k, WRITE_X, 0), err);
}

static enum skiff_status write_grad(struct grad_build *g, struct skiff_error *err)
{
    const char *x = op_in1(g->fwd, "X"), *i = op_in1(g->fwd, "I");
    const char *from = grad_name(g, op_out1(g->fwd, "Out")), *to = grad_name(g, x);
    if (g->unwanted(g, to))
        return SKIFF_OK;
    struct skiff_op *op = grad_op(g, "read_from_array", true);
    op_set_in(g->program, op, "I", 1, &i);
    op_set_in(g->program, op, "X", 1, &from);
    op_set_in(g->program, op, "X_W", 1, &x);
    op_set_out(g->program, op, "Out", 1, &to);
    return SKIFF_OK;
}

/* ---- read_from_array ---- */

enum { READ_X, READ_I, READ_LIKE };

static enum skiff_status read_run(struct kernel *k, struct skiff_error *err)
{
    size_t i;
    const struct skiff_tensor *x = kernel_in_value(k, READ_X, 0);
    struct skiff_tensor *out = kernel_out_value(k, 0, 0);
    const struct tensor *like = kernel_in(k, READ_LIKE);
    TRY(item_index(k, READ_I, &i, err));
    size_t count = x && x->kind == VALUE_ARRAY ? x->array.count : 0;
    if (i < count && x->array.items[i]->kind != VALUE_NONE)
        return value_copy(out, x->array.items[i], err);
    if (!like)
        return kernel_fail(k, SKIFF_RANGE, err, "item %zu of array %s: %s", i,
                           kernel_in_name(k, READ_X, 0),
                           i < count ? "it has not been written" : "the array is shorter");
    TRY(kernel_out_resize(k, 0, 0, like->dtype, &like->shape, err));
    tensor_share_lod(&out->tensor, like);
    if (tensor_bytes(&out->tensor))
        memset(out->tensor.data, 0, tensor_bytes(&out->tensor));
    return SKIFF_OK;
}

static enum skiff_status read_grad(struct grad_build *g, struct skiff_error *err)
{
    const char *i = op_in1(g->fwd, "I"), *from = grad_name(g, op_out1(g->fwd, "Out"));
    const char *to = grad_name(g, op_in1(g->fwd, "X"));
    if (g->unwanted(g, to))
        return SKIFF_OK;
    struct skiff_op *op = grad_op(g, "write_to_array", true);
    op_set_in(g->program, op, "I", 1, &i);
    op_set_in(g->program, op, "X", 1, &from);
    op_set_out(g->program, op, "Out", 1, &to);
    return SKIFF_OK;
}

/* ---- tensor_array_to_tensor ---- */

enum { JOIN_AXIS, JOIN_STACK };

static enum skiff_status join_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, 0, 0);
    if (!x)
        return infer_fail(c, 0, 0, err, "the input is missing");
    bool stack = c->attr[JOIN_STACK].b;
    int axis = axis_of(c->attr[JOIN_AXIS].i, x->ndim + stack);
    if (axis < 0)
        return infer_fail(c, 0, 0, err, "axis %d is out of range", c->attr[JOIN_AXIS].i);
    struct shape out = *x, index = SHAPE(-1);
    if (stack) {
        for (int d = out.ndim++; d > axis; d--)
            out.dims[d] = out.dims[d - 1];
    }
    out.dims[axis] = -1;
    TRY(infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), &out, err));
    return infer_out(c, 1, 0, DTYPE_INT32, &index, err);
}

/* Where the items lie in the joined tensor: `outer` blocks of `row` bytes, item after item. */
struct join {
    size_t outer, inner; /* bytes below the axis */
    int axis;
    int64_t total; /* along the axis */
    struct shape out;
};

static int64_t join_len(const struct join *j, const struct tensor *item, bool stack)
{
    return stack ? 1 : item->shape.dims[j->axis];
}

static enum skiff_status join_plan(struct kernel *k, const struct skiff_tensor *x, bool stack,
                                   struct join *j, struct skiff_error *err)
{
    if (!x || x->kind != VALUE_ARRAY || !x->array.count)
        return kernel_fail(k, SKIFF_INVALID, err, "the array is empty");
    const struct tensor *first = &x->array.items[0]->tensor;
    char a[160], b[160];
    *j = (struct join){.out = first->shape};
    j->axis = axis_of(k->attr[JOIN_AXIS].i, first->shape.ndim + stack);
    if (j->axis < 0 || first->shape.ndim + stack > TENSOR_MAX_DIMS)
        return kernel_fail(k, SKIFF_SHAPE, err, "axis %d does not fit items of shape %s",
                           k->attr[JOIN_AXIS].i, shape_text(&first->shape, a));
    for (size_t i = 0; i < x->array.count; i++) {
        const struct skiff_tensor *item = x->array.items[i];
        const struct shape *s = &item->tensor.shape;
        bool fits = item->kind == VALUE_TENSOR && item->tensor.dtype == first->dtype &&
                    s->ndim == first->shape.ndim;
        for (int d = 0; fits && d < s->ndim; d++)
            fits = s->dims[d] == first->shape.dims[d] || (!stack && d == j->axis);
        if (!fits)
            return kernel_fail(k, SKIFF_SHAPE, err, "item %zu %s does not fit item 0 %s", i,
                               item->kind == VALUE_NONE ? "(not written)" : shape_text(s, a),
                               shape_text(&first->shape, b));
        j->total += join_len(j, &item->tensor, stack);
    }
    j->outer = (size_t)shape_rows(&first->shape, j->axis);
    j->inner =
        (size_t)shape_cols(&first->shape, stack ? j->axis : j->axis + 1) * dtype_size(first->dtype);
    if (stack)
        for (int d = j->out.ndim++; d > j->axis; d--)
            j->out.dims[d] = j->out.dims[d - 1];
    j->out.dims[j->axis] = j->total;
    return SKIFF_OK;
}

/* Copies between the joined bytes and those of one item. */
static void join_copy(const struct join *j, char *joined, char *item, int64_t at, int64_t len,
                      bool to_joined)
{
    size_t row = (size_t)j->total * j->inner, piece = (size_t)len * j->inner;
    for (size_t o = 0; o < j->outer && piece; o++) {
        char *a = joined + o * row + (size_t)at * j->inner, *b = item + o * piece;
        memcpy(to_joined ? a : b, to_joined ? b : a, piece);
    }
}

static enum skiff_status join_run(struct kernel *k, struct skiff_error *err)
{
    const struct skiff_tensor *x = kernel_in_value(k, 0, 0);
    bool stack = k->attr[JOIN_STACK].b;
    struct join j;
    TRY(join_plan(k, x, stack, &j, err));
    TRY(kernel_out_resize(k, 0, 0, x->array.items[0]->tensor.dtype, &j.out, err));
    struct shape sizes = SHAPE((int64_t)x->array.count);
    TRY(kernel_out_resize(k, 1, 0, DTYPE_INT32, &sizes, err));
    struct tensor *index = kernel_out(k, 1);
    int64_t at = 0;
    for (size_t i = 0; i < x->array.count; i++) {
        const struct tensor *item = &x->array.items[i]->tensor;
        int64_t len = join_len(&j, item, stack);
        join_copy(&j, kernel_out(k, 0)->data, item->data, at, len, true);
        at += len;
        if (index)
            tensor_i32(index)[i] =
                j.axis < item->shape.ndim ? (int32_t)item->shape.dims[j.axis] : 1;
    }
    return SKIFF_OK;
}

static enum skiff_status join_grad_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, 0, 0);
    return x ? infer_out(c, 0, 0, infer_in_dtype(c, 0, 0), x, err) : SKIFF_OK;
}

static enum skiff_status join_grad_run(struct kernel *k, struct skiff_error *err)
{
    const struct skiff_tensor *x = kernel_in_value(k, 0, 0);
    const struct tensor *d = kernel_in(k, 1);
    struct skiff_tensor *out = kernel_out_value(k, 0, 0);
    bool stack = k->attr[JOIN_STACK].b;
    struct join j;
    char a[160], b[160];
    if (!out)
        return SKIFF_OK;
    TRY(join_plan(k, x, stack, &j, err));
    enum dtype dtype = x->array.items[0]->tensor.dtype;
    if (d->dtype != dtype || tensor_numel(d) != shape_numel(&j.out))
        return kernel_fail(k, SKIFF_SHAPE, err, "Out@GRAD is %s %s, the joined items are %s %s",
                           dtype_name(d->dtype), shape_text(&d->shape, a), dtype_name(dtype),
                           shape_text(&j.out, b));
    value_clear(out);
    TRY(array_begin(out, x->array.count, err));
    int64_t at = 0;
    for (size_t i = 0; i < x->array.count; i++) {
        const struct tensor *item = &x->array.items[i]->tensor;
        struct skiff_tensor *to = out->array.items[i];
        TRY(value_as_tensor(to, d->dtype, &item->shape, err));
        tensor_share_lod(&to->tensor, item);
        int64_t len = join_len(&j, item, stack);
        join_copy(&j, d->data, to->tensor.data, at, len, false);
        at += len;
    }
    return SKIFF_OK;
}

/* ---- lod_array_length, is_empty ---- */

static enum skiff_status length_infer(struct infer *c, struct skiff_error *err)
{
    struct shape one = SHAPE(1);
    return infer_out(c, 0, 0, DTYPE_INT64, &one, err);
}

static enum skiff_status length_run(struct kernel *k, struct skiff_error *err)
{
    const struct skiff_tensor *x = kernel_in_value(k, 0, 0);
    struct shape one = SHAPE(1);
    TRY(kernel_out_resize(k, 0, 0, DTYPE_INT64, &one, err));
    *tensor_i64(kernel_out(k, 0)) = x->kind == VALUE_ARRAY ? (int64_t)x->array.count : 0;
    return SKIFF_OK;
}

static enum skiff_status empty_infer_1x(struct infer *c, struct skiff_error *err)
{
    struct shape one = SHAPE(1);
    return infer_out(c, 0, 0, DTYPE_BOOL, &one, err);
}

static enum skiff_status empty_infer_2x(struct infer *c, struct skiff_error *err)
{
    return infer_out(c, 0, 0, DTYPE_BOOL, &(struct shape){0}, err);
}

static enum skiff_status empty_run(struct kernel *k, struct skiff_error *err)
{
    *(bool *)kernel_out(k, 0)->data = tensor_numel(kernel_in(k, 0)) == 0;
    return SKIFF_OK;
}

/* ---- table ---- */

static const struct op_slot write_ins[] = {{"X", 0}, {"I", 0}, {0}};
static const struct op_slot read_ins[] = {{"X", 0}, {"I", 0}, {"X_W", SLOT_OPTIONAL}, {0}};
static const struct op_slot out_only[] = {{"Out", 0}, {0}};
static const struct op_slot join_ins[] = {{"X", 0}, {0}};
static const struct op_slot join_outs[] = {{"Out", 0}, {"OutIndex", 0}, {0}};
static const struct op_slot join_grad_ins[] = {{"X", 0}, {"Out@GRAD", 0}, {0}};
static const struct op_slot join_grad_outs[] = {{"X@GRAD", 0}, {0}};
static const struct op_attr_spec join_attrs[] = {A_INT("axis", 0), A_BOOL("use_stack", false), {0}};
static const struct op_attr_spec no_attrs[] = {{0}};

#define ARRAYS (OP_OWN_SHAPE | OP_ARRAY_OK)

const struct op_kind ops_array[] = {{.type = "write_to_array",
                                     .flags = ARRAYS | OP_ROWS_OK,
                                     .ins = write_ins,
                                     .outs = out_only,
                                     .attrs = no_attrs,
                                     .make_grad = write_grad,
                                     .infer = array_infer,
                                     .run = write_run,
                                     .infer_kind = array_out_kind},
                                    {.type = "read_from_array",
                                     .flags = ARRAYS | OP_EMPTY_OK,
                                     .ins = read_ins,
                                     .outs = out_only,
                                     .attrs = no_attrs,
                                     .make_grad = read_grad,
                                     .infer = array_infer,
                                     .run = read_run},
                                    {.type = "tensor_array_to_tensor",
                                     .flags = ARRAYS,
                                     .ins = join_ins,
                                     .outs = join_outs,
                                     .attrs = join_attrs,
                                     .grad = "X Out@GRAD -> X@GRAD",
                                     .infer = join_infer,
                                     .run = join_run},
                                    {.type = "tensor_array_to_tensor_grad",
                                     .flags = ARRAYS,
                                     .ins = join_grad_ins,
                                     .outs = join_grad_outs,
                                     .attrs = join_attrs,
                                     .infer = join_grad_infer,
                                     .run = join_grad_run,
                                     .infer_kind = array_out_kind},
                                    {.type = "lod_array_length",
                                     .flags = ARRAYS | OP_EMPTY_OK | OP_NO_GRAD_NEEDED,
                                     .ins = join_ins,
                                     .outs = out_only,
                                     .attrs = no_attrs,
                                     .infer = length_infer,
                                     .run = length_run},
                                    {.type = "is_empty",
                                     .generations = GEN_1X,
                                     .flags = OP_NO_GRAD_NEEDED,
                                     .ins = join_ins,
                                     .outs = out_only,
                                     .attrs = no_attrs,
                                     .infer = empty_infer_1x,
                                     .run = empty_run},
                                    {.type = "is_empty",
                                     .generations = GEN_2X,
                                     .flags = OP_NO_GRAD_NEEDED,
                                     .ins = join_ins,
                                     .outs = out_only,
                                     .attrs = no_attrs,
                                     .infer = empty_infer_2x,
                                     .run = empty_run},
                                    {0}};
