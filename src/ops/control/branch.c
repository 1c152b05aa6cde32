/* Branches.
 *   conditional_block       runs its block if the condition holds: one bool, or (IfElse) no Input
 *                           without elements
 *   conditional_block_grad  runs the gradient block if the block ran; zeros otherwise
 *   select_input            Out = X[Mask]
 *   select_output           Out[Mask] = X, its gradient
 *
 * Scope says whether the block ran. In a block that may run several times (a loop's), it also holds
 * the variables of the branch's block as this run left them. */
#include <stdlib.h>

#include "base/mem.h"
#include "ops/control/control.h"
#include "ops/seq_common.h"

/* ---- conditional_block ---- */

enum { COND_COND, COND_INPUT };
enum { COND_OUT, COND_SCOPE };
enum { COND_BLOCK, COND_SCALAR };

struct branch {
    struct value_keepalive kept;
    void (*free_saved)(void *);
    int block;
    bool taken;
    void *saved; /* NULL: the block's variables are as the branch left them */
};

static void branch_destroy(struct value_keepalive *k)
{
    struct branch *b = (struct branch *)k;
    if (b->saved)
        b->free_saved(b->saved);
    free(b);
}

static enum skiff_status is_taken(struct kernel *k, bool scalar, bool *out, struct skiff_error *err)
{
    *out = true;
    if (scalar)
        return control_read_bool(k, COND_COND, out, err);
    for (int i = 0; i < kernel_in_count(k, COND_INPUT); i++) {
        const struct skiff_tensor *v = kernel_in_value(k, COND_INPUT, i);
        *out = *out && v && v->kind == VALUE_TENSOR && tensor_numel(&v->tensor) > 0;
    }
    return SKIFF_OK;
}

enum { KEEPS = 1, NESTED = 2 };

static enum skiff_status cond_prepare(struct kernel *k, struct skiff_error *err)
{
    TRY(control_check_block(k, k->attr[COND_BLOCK].i, err));
    int *flags = k->state = mem_alloc_or_die(sizeof *flags);
    *flags = (control_is_kept(k, "Scope") ? KEEPS : 0) | (control_is_nested(k) ? NESTED : 0);
    return SKIFF_OK;
}

static void cond_release(struct kernel *k)
{
    free(k->state);
    k->state = NULL;
}

static enum skiff_status cond_run(struct kernel *k, struct skiff_error *err)
{
    struct skiff_tensor *scope = kernel_out_value(k, COND_SCOPE, 0);
    int flags = *(const int *)k->state, block = k->attr[COND_BLOCK].i;
    bool taken;
    TRY(is_taken(k, k->attr[COND_SCALAR].b, &taken, err));
    if (taken)
        TRY(k->env->run_block(k->env, block, err));
    if (!scope || !(flags & KEEPS) || k->env->is_test)
        return SKIFF_OK;
    struct branch *b = mem_alloc_or_die(sizeof *b);
    *b = (struct branch){.kept = {0, branch_destroy},
                         .free_saved = k->env->free_saved,
                         .block = block,
                         .taken = taken};
    value_keep_alive(scope, &b->kept);
    return taken && (flags & NESTED) ? k->env->save_block(k->env, block, &b->saved, err) : SKIFF_OK;
}

static enum skiff_status cond_make_grad(struct grad_build *g, struct skiff_error *err)
{
    if (!g->grad_block)
        return error_set(err, SKIFF_UNSUPPORTED, "op conditional_block: no gradient block");
    struct skiff_op *op = grad_op(g, "conditional_block_grad", false);
    const struct op_attr_value *scalar = op_attr(g->fwd, "is_scalar_condition");
    struct attr_value block = {.i = g->grad_block->idx};
    grad_use(g, op, "Cond");
    grad_use(g, op, "Input");
    grad_use(g, op, "Out");
    grad_use_out_grad(g, op, "Out");
    grad_use(g, op, "Scope");
    grad_make_in_grad(g, op, "Input");
    op_set_attr(g->program, op, "sub_block", ATTR_BLOCK, &block);
    op_set_bool(g->program, op, "is_scalar_condition", scalar && scalar->value.b);
    return SKIFF_OK;
}

/* ---- conditional_block_grad ---- */

enum { CGRAD_COND, CGRAD_INPUT, CGRAD_OUT, CGRAD_OUT_GRAD, CGRAD_SCOPE };

static enum skiff_status cond_grad_prepare(struct kernel *k, struct skiff_error *err)
{
    int block = k->attr[COND_BLOCK].i;
    TRY(control_check_block(k, block, err));
    k->state = control_inner(k, block, op_in(k->op, "Input"), GRAD_SUFFIX, &k->out[0], true);
    return SKIFF_OK;
}

/* A variable that the block overwrites has one gradient, before and after: left alone when the
 * block did not run. */
static bool passes_through(const struct kernel *k, const struct skiff_tensor *v)
{
    for (int i = 0; i < kernel_in_count(k, CGRAD_OUT_GRAD); i++)
        if (kernel_in_value(k, CGRAD_OUT_GRAD, i) == v)
            return true;
    return false;
}

static enum skiff_status cond_grad_zeros(struct kernel *k, struct skiff_error *err)
{
    for (int i = 0; i < kernel_out_count(k, 0); i++)
        if (!passes_through(k, kernel_out_value(k, 0, i)))
            TRY(control_zeros(kernel_out_value(k, 0, i), kernel_in_value(k, CGRAD_INPUT, i), err));
    return SKIFF_OK;
}

static enum skiff_status cond_grad_run(struct kernel *k, struct skiff_error *err)
{
    struct skiff_tensor **inner = k->state;
    const struct skiff_tensor *scope = kernel_in_value(k, CGRAD_SCOPE, 0);
    const struct branch *b =
        scope && scope->kind == VALUE_SCOPES ? (const struct branch *)scope->kept : NULL;
    bool taken = b && b->taken;
    if (!b)
        TRY(is_taken(k, k->attr[COND_SCALAR].b, &taken, err));
    if (!taken)
        return cond_grad_zeros(k, err);
    if (b && b->saved)
        TRY(k->env->restore_block(k->env, b->block, b->saved, err));
    for (int i = 0; i < kernel_out_count(k, 0); i++)
        if (inner[i])
            value_clear(inner[i]);
    TRY(k->env->run_block(k->env, k->attr[COND_BLOCK].i, err));
    for (int i = 0; i < kernel_out_count(k, 0); i++) {
        struct skiff_tensor *out = kernel_out_value(k, 0, i);
        if (inner[i] && inner[i]->kind != VALUE_NONE)
            TRY(value_copy(out, inner[i], err));
        else if (out && out->kind == VALUE_NONE)
            TRY(control_zeros(out, kernel_in_value(k, CGRAD_INPUT, i), err));
    }
    return SKIFF_OK;
}

/* ---- select_input, select_output ---- */

static enum skiff_status read_mask(struct kernel *k, int n, int *out, struct skiff_error *err)
{
    const struct tensor *mask = kernel_in(k, 1);
    if (!mask || tensor_numel(mask) != 1 || !dtype_is_index(mask->dtype))
        return kernel_fail(k, SKIFF_INVALID, err, "Mask must be one integer");
    int64_t i = (int64_t)tensor_read_number(mask);
    if (i < 0 || i >= n)
        return kernel_fail(k, SKIFF_RANGE, err, "Mask is %lld, but there are %d %s", (long long)i,
                           n, kernel_in_count(k, 0) == n ? "inputs" : "outputs");
    *out = (int)i;
    return SKIFF_OK;
}

static enum skiff_status select_infer(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, 0, 0, err);
}

static enum skiff_status select_run(struct kernel *k, struct skiff_error *err)
{
    int i;
    TRY(read_mask(k, kernel_in_count(k, 0), &i, err));
    const struct skiff_tensor *x = kernel_in_value(k, 0, i);
    if (!x || x->kind == VALUE_NONE)
        return kernel_fail(k, SKIFF_STATE, err, "the chosen input %s has no value",
                           kernel_in_name(k, 0, i));
    return value_copy(kernel_out_value(k, 0, 0), x, err);
}

static enum skiff_status select_make_grad(struct grad_build *g, struct skiff_error *err)
{
    const struct op_arg *x = op_in(g->fwd, "X");
    const char *mask = op_in1(g->fwd, "Mask"), *from = grad_name(g, op_out1(g->fwd, "Out"));
    const char **to = arena_alloc(&g->program->arena, (size_t)(x->n + 1) * sizeof *to);
    for (int i = 0; i < x->n; i++)
        to[i] = grad_name(g, x->names[i]);
    struct skiff_op *op = grad_op(g, "select_output", false);
    op_set_in(g->program, op, "Mask", 1, &mask);
    op_set_in(g->program, op, "X", 1, &from);
    op_set_out(g->program, op, "Out", x->n, to);
    return SKIFF_OK;
}

static enum skiff_status spread_infer(struct infer *c, struct skiff_error *err)
{
    const struct shape *x = infer_in(c, 0, 0);
    for (int i = 0; x && i < infer_out_count(c, 0); i++) {
        struct shape s = *x;
        TRY(infer_out(c, 0, i, infer_in_dtype(c, 0, 0), &s, err));
    }
    return SKIFF_OK;
}

static enum skiff_status spread_run(struct kernel *k, struct skiff_error *err)
{
    int chosen, n = kernel_out_count(k, 0);
    TRY(read_mask(k, n, &chosen, err));
    struct skiff_tensor *to = kernel_out_value(k, 0, chosen);
    if (to)
        TRY(value_copy(to, kernel_in_value(k, 0, 0), err));
    for (int i = 0; i < n; i++)
        if (i != chosen && kernel_out_value(k, 0, i) && kernel_out_value(k, 0, i) != to)
            value_clear(kernel_out_value(k, 0, i));
    return SKIFF_OK;
}

/* ---- table ---- */

static const struct op_slot cond_ins[] = {
    {"Cond", SLOT_LIST | SLOT_OPTIONAL}, {"Input", SLOT_LIST | SLOT_OPTIONAL}, {0}};
static const struct op_slot cond_outs[] = {
    {"Out", SLOT_LIST | SLOT_OPTIONAL}, {"Scope", SLOT_OPTIONAL}, {0}};
static const struct op_attr_spec cond_attrs[] = {
    A_BLOCK("sub_block"),
    A_BOOL("is_scalar_condition", false),
    AF_LIST("skip_eager_deletion_vars", ATTR_STRINGS, ATTR_ONLY_1X),
    {0}};
static const struct op_slot cond_grad_ins[] = {{"Cond", SLOT_LIST | SLOT_OPTIONAL},
                                               {"Input", SLOT_LIST | SLOT_OPTIONAL},
                                               {"Out", SLOT_LIST | SLOT_OPTIONAL},
                                               {"Out@GRAD", SLOT_LIST | SLOT_OPTIONAL},
                                               {"Scope", SLOT_OPTIONAL},
                                               {0}};
static const struct op_slot cond_grad_outs[] = {{"Input@GRAD", SLOT_LIST}, {0}};
static const struct op_slot select_ins[] = {{"X", SLOT_LIST}, {"Mask", 0}, {0}};
static const struct op_slot select_outs[] = {{"Out", 0}, {0}};
static const struct op_slot spread_ins[] = {{"X", 0}, {"Mask", 0}, {0}};
static const struct op_slot spread_outs[] = {{"Out", SLOT_LIST}, {0}};
static const struct op_attr_spec no_attrs[] = {{0}};

const struct op_kind ops_branch[] = {
    {.type = "conditional_block",
     .flags = CONTROL,
     .ins = cond_ins,
     .outs = cond_outs,
     .attrs = cond_attrs,
     .make_grad = cond_make_grad,
     .infer = control_no_shapes,
     .prepare = cond_prepare,
     .release = cond_release,
     .run = cond_run},
    {.type = "conditional_block_grad",
     .flags = CONTROL,
     .ins = cond_grad_ins,
     .outs = cond_grad_outs,
     .attrs = cond_attrs,
     .infer = control_no_shapes,
     .prepare = cond_grad_prepare,
     .release = cond_release,
     .run = cond_grad_run},
    {.type = "select_input",
     .flags = OP_OWN_SHAPE | OP_ROWS_OK | OP_ARRAY_OK | OP_EMPTY_OK,
     .ins = select_ins,
     .outs = select_outs,
     .attrs = no_attrs,
     .make_grad = select_make_grad,
     .infer = select_infer,
     .run = select_run},
    {.type = "select_output",
     .flags = OP_OWN_SHAPE | OP_ROWS_OK | OP_ARRAY_OK | OP_EMPTY_OK,
     .ins = spread_ins,
     .outs = spread_outs,
     .attrs = no_attrs,
     .infer = spread_infer,
     .run = spread_run},
    {0}};
