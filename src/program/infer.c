/* Shape rules see slots by position; here the positions are tied to variables of a block (building)
 * or to values (running).
 *
 * One rule for both: a second, static analysis could disagree with it
 * (docs/internals/decisions/0002-plans.md). While building, dims may be -1 and results go to
 * variables; while running all are known, and results size the outputs. An output that is also an
 * input keeps its contents and lod. */
#include "program/infer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "program/bind.h"
#include "program/kernel.h"

static const struct op_arg *in_arg(const struct infer *c, int slot)
{
    return op_in(c->op, c->kind->ins[slot].name);
}

static const struct op_arg *out_arg(const struct infer *c, int slot)
{
    return op_out(c->op, c->kind->outs[slot].name);
}

/* The variable of an argument; NULL when absent, empty or not in the block. */
static struct skiff_var *arg_var(const struct infer *c, const struct op_arg *a, int i)
{
    if (!a || i >= a->n || strcmp(a->names[i], EMPTY_VAR) == 0)
        return NULL;
    return block_find_var(c->block, a->names[i]);
}

static struct skiff_tensor *in_value(const struct infer *c, int slot, int i)
{
    struct skiff_tensor *v = kernel_in_value(c->kernel, slot, i);
    return v && v->kind != VALUE_NONE ? v : NULL;
}

int infer_in_count(const struct infer *c, int slot)
{
    if (c->running)
        return kernel_in_count(c->kernel, slot);
    const struct op_arg *a = in_arg(c, slot);
    return a ? a->n : 0;
}

int infer_out_count(const struct infer *c, int slot)
{
    if (c->running)
        return kernel_out_count(c->kernel, slot);
    const struct op_arg *a = out_arg(c, slot);
    return a ? a->n : 0;
}

const struct shape *infer_in(const struct infer *c, int slot, int i)
{
    if (c->running) {
        struct skiff_tensor *value = in_value(c, slot, i);
        return value ? &value->tensor.shape : NULL;
    }
    struct skiff_var *v = arg_var(c, in_arg(c, slot), i);
    return v ? &v->shape : NULL;
}

enum dtype infer_in_dtype(const struct infer *c, int slot, int i)
{
    if (c->running) {
        struct skiff_tensor *value = in_value(c, slot, i);
        return value ? value->tensor.dtype : DTYPE_FP32;
    }
    struct skiff_var *v = arg_var(c, in_arg(c, slot), i);
    return v ? v->dtype : DTYPE_FP32;
}

bool infer_in_is_rows(const struct infer *c, int slot, int i)
{
    if (c->running)
        return kernel_in_is_rows(c->kernel, slot, i);
    struct skiff_var *v = arg_var(c, in_arg(c, slot), i);
    return v && v->kind == VAR_SELECTED_ROWS;
}

int infer_in_lod_level(const struct infer *c, int slot, int i)
{
    if (c->running) {
        const struct lod *l = infer_in_lod(c, slot, i);
        return l ? l->nlevels : 0;
    }
    struct skiff_var *v = arg_var(c, in_arg(c, slot), i);
    return v ? v->lod_level : 0;
}

const struct lod *infer_in_lod(const struct infer *c, int slot, int i)
{
    struct skiff_tensor *value = c->running ? in_value(c, slot, i) : NULL;
    return value ? value->tensor.lod : NULL;
}

const char *infer_in_name(const struct infer *c, int slot, int i)
{
    if (c->running)
        return kernel_in_name(c->kernel, slot, i);
    const struct op_arg *a = in_arg(c, slot);
    return a && i < a->n ? a->names[i] : "";
}

bool infer_wants(const struct infer *c, int slot, int i)
{
    if (c->running)
        return kernel_out_value(c->kernel, slot, i) != NULL;
    const struct op_arg *a = out_arg(c, slot);
    return a && i < a->n && strcmp(a->names[i], EMPTY_VAR) != 0;
}

/* Is this output also an input of the op (in place)? Its lod and contents are then its own. */
static bool in_place(const struct kernel *k, const struct skiff_tensor *v)
{
    for (int s = 0; k->kind->ins && k->kind->ins[s].name; s++)
        for (int i = 0; i < k->in[s].n; i++)
            if (k->in[s].v[i] == v)
                return true;
    return false;
}

/* An output variable; made when the block has none of that name yet. */
static struct skiff_var *out_var(const struct infer *c, int slot, int i)
{
    if (!infer_wants(c, slot, i))
        return NULL;
    const char *name = out_arg(c, slot)->names[i];
    struct skiff_var *v = block_find_var(c->block, name);
    return v ? v : block_add_var((struct skiff_block *)c->block, name);
}

/* An impossible shape is passed on: tensor_resize refuses it with a message. */
static void supply(const struct infer *c, struct tensor *t, enum dtype dtype,
                   const struct shape *shape)
{
    size_t bytes = dtype_size(dtype);
    if (!c->supply || t->data || shape->ndim < 0 || shape->ndim > TENSOR_MAX_DIMS)
        return;
    int64_t n = shape_numel(shape);
    if (n > 0 && shape_is_bounded(shape) && mem_mul(bytes, (size_t)n, &bytes))
        c->supply(c->supplier, t, bytes);
}

enum skiff_status infer_out(struct infer *c, int slot, int i, enum dtype dtype,
                            const struct shape *shape, struct skiff_error *err)
{
    if (c->running) {
        struct skiff_tensor *value = kernel_out_value(c->kernel, slot, i);
        if (!value)
            return SKIFF_OK;
        if (!in_place(c->kernel, value))
            tensor_drop_lod(&value->tensor);
        struct shape copy = *shape; /* may be the shape of the value itself */
        supply(c, &value->tensor, dtype, &copy);
        return value_as_tensor(value, dtype, &copy, err);
    }
    struct skiff_var *v = out_var(c, slot, i);
    if (v) {
        v->dtype = dtype;
        v->shape = *shape;
        v->has_tensor = true;
    }
    return SKIFF_OK;
}

enum skiff_status infer_out_rows(struct infer *c, int slot, int i, enum dtype dtype, int64_t nrows,
                                 int64_t width, int64_t height, struct skiff_error *err)
{
    if (c->running) {
        struct skiff_tensor *value = kernel_out_value(c->kernel, slot, i);
        if (!value)
            return SKIFF_OK;
        if (nrows < 0)
            return infer_fail(c, -1, 0, err, "output %s has %lld rows", c->kind->outs[slot].name,
                              (long long)nrows);
        struct shape rows = SHAPE(nrows, width);
        tensor_drop_lod(&value->tensor);
        supply(c, &value->tensor, dtype, &rows);
        return value_as_rows(value, dtype, (size_t)nrows, width, height, err);
    }
    struct shape whole = SHAPE(height, width);
    infer_out_kind(c, slot, i, VAR_SELECTED_ROWS);
    return infer_out(c, slot, i, dtype, &whole, err);
}

void infer_out_kind(struct infer *c, int slot, int i, enum var_kind kind)
{
    struct skiff_var *v = c->running ? NULL : out_var(c, slot, i);
    if (v)
        v->kind = kind;
}

void infer_share_lod(struct infer *c, int in_slot, int in_i, int out_slot, int out_i)
{
    if (c->running) {
        struct skiff_tensor *from = in_value(c, in_slot, in_i);
        struct skiff_tensor *to = kernel_out_value(c->kernel, out_slot, out_i);
        if (from && to && from != to)
            tensor_share_lod(&to->tensor, &from->tensor);
        return;
    }
    struct skiff_var *from = arg_var(c, in_arg(c, in_slot), in_i);
    if (from)
        infer_lod_level(c, out_slot, out_i, from->lod_level);
}

void infer_lod_level(struct infer *c, int out_slot, int out_i, int level)
{
    struct skiff_var *v = c->running ? NULL : out_var(c, out_slot, out_i);
    if (v)
        v->lod_level = level;
}

/* Output i of a slot takes type, shape and lod of the first variable of an input slot. */
static enum skiff_status same_at(struct infer *c, int in_slot, int out_slot, int i,
                                 struct skiff_error *err)
{
    if (!infer_wants(c, out_slot, i))
        return SKIFF_OK;
    const struct shape *in = infer_in(c, in_slot, 0);
    if (!in)
        return infer_fail(c, in_slot, 0, err, "the input is missing");
    enum dtype dtype = infer_in_dtype(c, in_slot, 0);
    if (!infer_in_is_rows(c, in_slot, 0)) {
        TRY(infer_out(c, out_slot, i, dtype, in, err));
        infer_share_lod(c, in_slot, 0, out_slot, i);
        return SKIFF_OK;
    }
    if (!c->running) {
        infer_out_kind(c, out_slot, i, VAR_SELECTED_ROWS);
        return infer_out(c, out_slot, i, dtype, in, err);
    }
    struct skiff_tensor *from = in_value(c, in_slot, 0),
                        *to = kernel_out_value(c->kernel, out_slot, i);
    struct shape copy = *in;
    return from == to ? SKIFF_OK : value_as_rows_shape(to, dtype, &copy, from->sel.height, err);
}

enum skiff_status infer_same(struct infer *c, int in_slot, int out_slot, struct skiff_error *err)
{
    return same_at(c, in_slot, out_slot, 0, err);
}

/* The rule of a kind without one: every output is like the first input. */
static enum skiff_status infer_default(struct infer *c, struct skiff_error *err)
{
    if (!c->kind->ins || !c->kind->ins[0].name || !c->kind->outs)
        return SKIFF_OK;
    for (int s = 0; c->kind->outs[s].name; s++)
        for (int i = 0; i < infer_out_count(c, s); i++)
            TRY(same_at(c, 0, s, i, err));
    return SKIFF_OK;
}

enum skiff_status infer_run(struct infer *c, struct skiff_error *err)
{
    return c->kind->infer ? c->kind->infer(c, err) : infer_default(c, err);
}

enum skiff_status infer_fail(const struct infer *c, int slot, int i, struct skiff_error *err,
                             const char *format, ...)
{
    char text[512], shape[160] = "", position[256] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (slot >= 0) {
        const struct shape *s = infer_in(c, slot, i);
        const char *name = infer_in_name(c, slot, i);
        snprintf(position, sizeof(position), ", input %s (%s)%s%s", c->kind->ins[slot].name,
                 *name ? name : "absent", s ? " " : "", s ? shape_text(s, shape) : "");
    }
    return error_set(err, SKIFF_SHAPE, "op %s%s: %s", c->kind->type, position, text);
}

bool op_grad_may_lack(const struct skiff_block *b, const struct skiff_op *op, int slot,
                      const char *name)
{
    int at = op->kind ? op_kind_slot(op->kind->ins, op->ins[slot].slot) : -1;
    return b->forward_idx >= 0 && at >= 0 && op->kind->ins[at].flags & SLOT_OPTIONAL &&
           strstr(name, GRAD_SUFFIX);
}

static enum skiff_status check_inputs(const struct skiff_block *b, const struct skiff_op *op,
                                      struct skiff_error *err)
{
    char text[160];
    for (int s = 0; s < op->nins; s++)
        for (int i = 0; i < op->ins[s].n; i++) {
            const char *name = op->ins[s].names[i];
            const struct skiff_var *v = block_find_var(b, name);
            if (v && !shape_is_bounded(&v->shape))
                return error_set(err, SKIFF_SHAPE,
                                 "op %s, input %s: variable %s %s has more than 2^48 elements",
                                 op->type, op->ins[s].slot, name, shape_text(&v->shape, text));
            if (strcmp(name, EMPTY_VAR) != 0 && !v && !op_grad_may_lack(b, op, s, name))
                return error_set(err, SKIFF_NOT_FOUND,
                                 "op %s, input %s: variable %s is not in block %d or its parents",
                                 op->type, op->ins[s].slot, name, b->idx);
        }
    return SKIFF_OK;
}

/* Shape rules rely on required inputs being there. */
static enum skiff_status check_required(const struct infer *c, struct skiff_error *err)
{
    for (int s = 0; c->kind->ins && c->kind->ins[s].name; s++) {
        int n = infer_in_count(c, s);
        if (c->kind->ins[s].flags & SLOT_OPTIONAL)
            continue;
        for (int i = 0; i < (n ? n : 1); i++)
            if (!infer_in(c, s, i))
                return infer_fail(c, s, i, err, "the input is missing");
    }
    return SKIFF_OK;
}

enum skiff_status infer_op(struct skiff_block *b, struct skiff_op *op, struct skiff_error *err)
{
    if (!op->kind)
        return error_set(err, SKIFF_UNSUPPORTED, "op %s: no such op", op->type);
    TRY(check_inputs(b, op, err));
    struct infer c = {.kind = op->kind, .block = b, .op = op};
    TRY(attrs_bind(op, &b->program->arena, &c.attr, err));
    if (op->kind->infer_kind)
        op->kind->infer_kind(&c);
    TRY(check_required(&c, err));
    TRY(infer_run(&c, err));
    for (int s = 0; s < op->nouts; s++)
        for (int i = 0; i < op->outs[s].n; i++) {
            struct skiff_var *v = block_find_var(b, op->outs[s].names[i]);
            if (v)
                v->producer = op;
        }
    return SKIFF_OK;
}
