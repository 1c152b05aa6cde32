#include "ops/control/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum skiff_status control_no_shapes(struct infer *c, struct skiff_error *err)
{
    return SKIFF_OK;
}

enum skiff_status control_check_block(const struct kernel *k, int block, struct skiff_error *err)
{
    if (block > 0 && block < k->env->program->nblocks)
        return SKIFF_OK;
    return kernel_fail(k, SKIFF_FORMAT, err, "sub_block is %d of %d blocks", block,
                       k->env->program->nblocks);
}

enum skiff_status control_read_bool(struct kernel *k, int slot, bool *out, struct skiff_error *err)
{
    const struct skiff_tensor *v = kernel_in_value(k, slot, 0);
    if (!v || v->kind != VALUE_TENSOR || v->tensor.dtype != DTYPE_BOOL ||
        tensor_numel(&v->tensor) != 1)
        return kernel_fail(k, SKIFF_INVALID, err, "the condition %s must be one bool%s",
                           kernel_in_name(k, slot, 0),
                           v && v->kind == VALUE_NONE ? "; it has no value" : "");
    *out = *(const bool *)v->tensor.data;
    return SKIFF_OK;
}

bool control_is_kept(const struct kernel *k, const char *slot)
{
    const struct skiff_program *p = k->env->program;
    const char *name = op_out1(k->op, slot);
    for (int b = 0; name && b < p->nblocks; b++)
        for (int i = 0; i < p->blocks[b]->nops; i++)
            if (op_reads(p->blocks[b]->ops[i], name))
                return true;
    return false;
}

bool control_is_nested(const struct kernel *k)
{
    const struct skiff_block *root = k->env->program->blocks[0];
    for (int i = 0; i < root->nops; i++)
        if (root->ops[i] == k->op)
            return false;
    return true;
}

static struct skiff_tensor *find(struct kernel *k, int block, const char *name, const char *suffix,
                                 bool own)
{
    size_t capacity = strlen(name) + strlen(suffix) + 1;
    char *full = mem_alloc_or_die(capacity);
    snprintf(full, capacity, "%s%s", name, suffix);
    bool there = !own || block_own_var(k->env->program->blocks[block], full);
    struct skiff_tensor *v = there ? k->env->find(k->env, block, full) : NULL;
    free(full);
    return v;
}

struct skiff_tensor **control_inner(struct kernel *k, int block, const struct op_arg *names,
                                    const char *suffix, const struct kernel_slot *outer, bool own)
{
    struct skiff_tensor **out = mem_alloc_or_die((size_t)(outer->n + 1) * sizeof *out);
    for (int i = 0; names && i < outer->n && i < names->n; i++) {
        if (outer->v[i])
            out[i] = find(k, block, names->names[i], suffix, own);
        if (out[i] == outer->v[i])
            out[i] = NULL;
    }
    return out;
}

struct skiff_tensor **control_named(struct kernel *k, int block, const struct attr_value *names,
                                    const char *suffix)
{
    struct skiff_tensor **out = mem_alloc_or_die((size_t)(names->n + 1) * sizeof *out);
    for (int i = 0; i < names->n; i++)
        out[i] = find(k, block, names->strings[i], suffix, false);
    return out;
}

enum skiff_status control_add(struct kernel *k, const char *name, struct skiff_tensor *to,
                              const struct skiff_tensor *from, bool first, struct skiff_error *err)
{
    char a[160], b[160];
    if (!from || from->kind == VALUE_NONE)
        return SKIFF_OK;
    if (first || to->kind == VALUE_NONE || from->kind == VALUE_ARRAY)
        return value_copy(to, from, err);
    const struct tensor *x = &from->tensor, *y = &to->tensor;
    if (from->kind == VALUE_ROWS && to->kind == VALUE_ROWS && x->dtype == y->dtype &&
        shape_cols(&x->shape, 1) == shape_cols(&y->shape, 1))
        return value_append_rows(to, from, err);
    if (from->kind != VALUE_TENSOR || to->kind != VALUE_TENSOR || !dtype_is_float(x->dtype) ||
        x->dtype != y->dtype)
        return kernel_fail(k, SKIFF_UNSUPPORTED, err,
                           "gradient %s: only float32 and float64 tensors are added up over runs",
                           name);
    if (tensor_numel(x) != tensor_numel(y))
        return kernel_fail(k, SKIFF_SHAPE, err, "gradient %s is %s in one iteration, %s in another",
                           name, shape_text(&x->shape, a), shape_text(&y->shape, b));
    int64_t n = tensor_numel(y);
    DISPATCH_FLOAT(x->dtype, T, {
        const T *add = x->data;
        T *sum = y->data;
        for (int64_t i = 0; i < n; i++)
            sum[i] += add[i];
    })
    return SKIFF_OK;
}

enum skiff_status control_zeros(struct skiff_tensor *to, const struct skiff_tensor *like,
                                struct skiff_error *err)
{
    if (!to || !like || like->kind != VALUE_TENSOR)
        return SKIFF_OK;
    TRY(value_as_tensor(to, like->tensor.dtype, &like->tensor.shape, err));
    tensor_share_lod(&to->tensor, &like->tensor);
    tensor_clear(&to->tensor);
    return SKIFF_OK;
}
