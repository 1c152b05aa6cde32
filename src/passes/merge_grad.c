/* Gradient merge (merge_grad.h).
 *
 * For every pair [param, grad] of a backward op an accumulator is created in both programs, and an
 * op that adds the gradient to it. A counter is incremented in each run; when it reaches k, a
 * conditional block runs the moved ops (clipping, decay, updates) on the sums or means and resets
 * the accumulators. Row gradients are accumulated as rows. A failed check leaves the program
 * unchanged. */
#include "passes/merge_grad.h"

#include <stdlib.h>
#include <string.h>

#include <skiff/optimizer.h>

#include "base/mem.h"
#include "layers/control.h"
#include "program/op_kind.h"

#define COND "gradient_merge_cond"

/* ---- building blocks ---- */

struct skiff_op *pass_put_op(struct skiff_block *b, int at, const char *type, const char *x,
                             const char *y, const char *out, int role)
{
    struct skiff_op *op = block_insert_op(b, at, type);
    if (x)
        op_set_in(b->program, op, "X", 1, &x);
    if (y)
        op_set_in(b->program, op, "Y", 1, &y);
    if (y)
        op_set_int(b->program, op, "axis", -1);
    op_set_out(b->program, op, "Out", 1, &out);
    op_set_int(b->program, op, "op_role", role);
    return op;
}

static void put_constant(struct skiff_block *b, const char *out, const struct shape *shape,
                         enum dtype dtype, float value, int role)
{
    struct skiff_op *op = pass_put_op(b, -1, "fill_constant", NULL, NULL, out, role);
    op_set_longs(b->program, op, "shape", shape->ndim, shape->dims);
    op_set_int(b->program, op, "dtype", dtype);
    op_set_float(b->program, op, "value", value);
}

static const char *put_kept(struct skiff_program *p, const char *name, const struct shape *shape,
                            enum dtype dtype)
{
    struct skiff_var *v = block_add_var(program_root(p), name);
    v->kind = VAR_LOD_TENSOR;
    v->dtype = dtype;
    v->has_tensor = true;
    v->shape = *shape;
    v->persistable = PRESENCE_TRUE;
    v->stop_gradient = true;
    return v->name;
}

const char *pass_put_counter(struct skiff_program *main, struct skiff_program *startup,
                             const char *name, enum dtype dtype, int64_t value)
{
    struct shape one = SHAPE(1);
    put_constant(program_root(startup), put_kept(startup, name, &one, dtype), &one, dtype,
                 (float)value, ROLE_FORWARD);
    return put_kept(main, name, &one, dtype);
}

const char *pass_put_truth(struct skiff_program *p, const char *name)
{
    struct skiff_var *v = block_add_var(program_root(p), name);
    v->kind = VAR_LOD_TENSOR;
    v->dtype = DTYPE_BOOL;
    v->has_tensor = true;
    v->shape = SHAPE(1);
    v->stop_gradient = true;
    return v->name;
}

/* Those of the names that exist in the root. */
static int names_in_root(const struct skiff_program *p, const struct str_map *names,
                         const char **out)
{
    int n = 0;
    for (size_t i = 0; i < names->count; i++)
        if (block_own_var(program_root(p), names->entries[i].key))
            out[n++] = names->entries[i].key;
    return n;
}

void pass_put_branch(struct skiff_block *body, int at, const char *cond)
{
    struct skiff_program *p = body->program;
    struct str_map reads, writes;
    str_map_init(&reads);
    str_map_init(&writes);
    control_uses(body, &reads, &writes);
    const char **names = mem_alloc_or_die((reads.count + writes.count + 1) * sizeof *names);
    struct skiff_var *scope =
        block_add_var(program_root(p), arena_printf(&p->arena, "%s@SCOPE", cond));
    const char *scope_name = scope->name;
    scope->kind = VAR_STEP_SCOPES;
    struct skiff_op *op = block_insert_op(program_root(p), at, "conditional_block");
    op_set_in(p, op, "Cond", 1, &cond);
    op_set_in(p, op, "Input", names_in_root(p, &reads, names), names);
    op_set_out(p, op, "Out", names_in_root(p, &writes, names), names);
    op_set_out(p, op, "Scope", 1, &scope_name);
    op_set_attr(p, op, "sub_block", ATTR_BLOCK, &(struct attr_value){.i = body->idx});
    op_set_bool(p, op, "is_scalar_condition", true);
    op_set_int(p, op, "op_role", ROLE_OPTIMIZE);
    free(names);
    str_map_deinit(&reads);
    str_map_deinit(&writes);
}

/* ---- analysis ---- */

struct skiff_block *merge_grad_block(const struct skiff_program *main)
{
    const struct skiff_block *b = program_root(main);
    for (int i = 0; i < b->nops; i++) {
        const struct op_attr_value *sub = op_attr(b->ops[i], "sub_block");
        const char *cond = sub ? op_in1(b->ops[i], "Cond") : NULL;
        if (cond && !strcmp(cond, COND) && sub->type == ATTR_BLOCK && sub->value.i > 0 &&
            sub->value.i < main->nblocks)
            return main->blocks[sub->value.i];
    }
    return NULL;
}

static bool is_update(const struct skiff_op *op)
{
    int role = op_role_of(op);
    return role != ROLE_UNSPECIFIED && (role & ROLE_OPTIMIZE);
}

struct merge {
    struct skiff_program *main, *startup;
    int k, n;
    bool avg;
    struct merged {
        const char *param, *grad, *sum; /* names; sum: the accumulator's */
        const struct skiff_var *p;
        bool rows;
    } * pairs;
};

/* ---- gradients ---- */

/* Moves the [param, grad, ..] pairs of an op to its sums. */
static void take_pairs(struct merge *m, struct skiff_op *op)
{
    const struct op_attr_value *a = op_attr(op, "op_role_var");
    if (op_role_of(op) != ROLE_BACKWARD || !a || a->type != ATTR_STRINGS || a->value.n < 2)
        return;
    for (int i = 0; i + 1 < a->value.n; i += 2) {
        const struct skiff_var *g = block_find_var(program_root(m->main), a->value.strings[i + 1]);
        struct merged *to = &m->pairs[m->n++];
        *to = (struct merged){.param = a->value.strings[i], .grad = a->value.strings[i + 1]};
        to->p = block_find_var(program_root(m->main), to->param);
        to->rows = g && g->kind == VAR_SELECTED_ROWS;
        to->sum = arena_printf(&m->main->arena, "%s@GRAD@GradientMerge", to->param);
    }
    op_remove_attr(op, "op_role_var");
}

static int count_pairs(const struct skiff_block *b)
{
    int n = 0;
    for (int i = 0; i < b->nops; i++) {
        const struct op_attr_value *a = op_attr(b->ops[i], "op_role_var");
        n += a && a->type == ATTR_STRINGS && op_role_of(b->ops[i]) == ROLE_BACKWARD ? a->value.n / 2
                                                                                    : 0;
    }
    return n;
}

static const char *put_empty(struct skiff_block *b, const struct merged *g, const char *what,
                             enum dtype dtype, const struct shape *shape, int role)
{
    struct skiff_var *v = block_add_var(b, arena_printf(&b->program->arena, "%s@%s", g->sum, what));
    v->kind = VAR_LOD_TENSOR;
    v->dtype = dtype;
    v->has_tensor = true;
    v->shape = *shape;
    put_constant(b, v->name, shape, dtype, 0, role);
    return v->name;
}

/* No rows: the gradient of a look-up of no ids. */
static void put_no_rows(struct skiff_block *b, const struct merged *g, int role)
{
    struct skiff_program *p = b->program;
    struct shape none = SHAPE(0, 1), out = SHAPE(0, g->p->shape.dims[1]);
    const char *ids = put_empty(b, g, "ids", DTYPE_INT64, &none, role);
    const char *from = put_empty(b, g, "out", g->p->dtype, &out, role);
    struct skiff_op *op = block_insert_op(b, -1, "lookup_table_grad");
    op_set_in(p, op, "W", 1, &g->param);
    op_set_in(p, op, "Ids", 1, &ids);
    op_set_in(p, op, "Out@GRAD", 1, &from);
    op_set_out(p, op, "W@GRAD", 1, &g->sum);
    op_set_bool(p, op, "is_sparse", true);
    op_set_long(p, op, "padding_idx", -1);
    op_set_int(p, op, "op_role", role);
}

static void put_nothing(struct skiff_block *b, const struct merged *g, int role)
{
    if (g->rows)
        put_no_rows(b, g, role);
    else
        put_constant(b, g->sum, &g->p->shape, g->p->dtype, 0, role);
}

static void declare_sum(struct skiff_program *p, const struct merged *g)
{
    put_kept(p, g->sum, &g->p->shape, g->p->dtype);
    if (g->rows)
        block_own_var(program_root(p), g->sum)->kind = VAR_SELECTED_ROWS;
}

/* sum += gradient, at `at` */
static void add_up(struct merge *m, int at, const struct merged *g)
{
    const char *pair[] = {g->param, g->sum}, *both[] = {g->sum, g->grad};
    struct skiff_op *op =
        pass_put_op(program_root(m->main), at, g->rows ? "sum" : "elementwise_add",
                    g->rows ? NULL : g->grad, g->rows ? NULL : g->sum, g->sum, ROLE_BACKWARD);
    if (g->rows)
        op_set_in(m->main, op, "X", 2, both);
    op_set_strings(m->main, op, "op_role_var", 2, pair);
}

/* ---- the block ---- */

static void rename_in_pair(struct skiff_program *p, struct skiff_op *op, const struct merged *g)
{
    const struct op_attr_value *a = op_attr(op, "op_role_var");
    const char *pair[] = {g->param, g->sum};
    if (a && a->type == ATTR_STRINGS && a->value.n == 2 && !strcmp(a->value.strings[1], g->grad))
        op_set_strings(p, op, "op_role_var", 2, pair);
}

static void use_sums(struct merge *m, struct skiff_op *op)
{
    for (int i = 0; i < m->n; i++) {
        op_rename_in(m->main, op, m->pairs[i].grad, m->pairs[i].sum);
        op_rename_out(m->main, op, m->pairs[i].grad, m->pairs[i].sum);
        rename_in_pair(m->main, op, &m->pairs[i]);
    }
}

/* Moves updates into the block; returns the position of the first one. */
static int move_updates(struct merge *m, struct skiff_block *body)
{
    struct skiff_block *root = program_root(m->main);
    int first = -1;
    for (int i = 0; i < root->nops; i++) {
        if (!is_update(root->ops[i]))
            continue;
        first = first < 0 ? i : first;
        block_put_op(body, -1, root->ops[i]);
        use_sums(m, root->ops[i]);
        block_remove_ops(root, i--, 1);
    }
    return first;
}

static void put_means(struct merge *m, struct skiff_block *body)
{
    for (int i = 0; m->avg && i < m->n; i++) {
        const char *sum = m->pairs[i].sum;
        struct skiff_op *op = pass_put_op(body, -1, "scale", sum, NULL, sum, ROLE_BACKWARD);
        op_set_float(m->main, op, "scale", 1.0f / (float)m->k);
        op_set_float(m->main, op, "bias", 0.0f);
        op_set_bool(m->main, op, "bias_after_scale", false);
    }
}

/* Inserts ops at `at` that count runs and test for the k-th one; returns their number. */
static int put_condition(struct merge *m, int at)
{
    struct skiff_block *root = program_root(m->main);
    const char *k = pass_put_counter(m->main, m->startup, "gradient_merge_k", DTYPE_INT32, m->k);
    const char *zero = pass_put_counter(m->main, m->startup, "gradient_merge_zero", DTYPE_INT32, 0);
    const char *step = pass_put_counter(m->main, m->startup, "gradient_merge_step", DTYPE_INT32, 0);
    const char *cond = pass_put_truth(m->main, COND);
    struct skiff_op *op = pass_put_op(root, at, "increment", step, NULL, step, ROLE_OPTIMIZE);
    op_set_float(m->main, op, "step", 1.0f);
    pass_put_op(root, at + 1, "elementwise_mod", step, k, step, ROLE_OPTIMIZE);
    pass_put_op(root, at + 2, "equal", step, zero, cond, ROLE_OPTIMIZE);
    return 3;
}

static void merge(struct merge *m)
{
    struct skiff_block *root = program_root(m->main);
    for (int i = 0; i < root->nops; i++)
        take_pairs(m, root->ops[i]);
    struct skiff_block *body = program_add_block(m->main, 0);
    put_means(m, body);
    int at = move_updates(m, body);
    at += put_condition(m, at);
    for (int i = 0; i < m->n; i++) {
        declare_sum(m->main, &m->pairs[i]);
        declare_sum(m->startup, &m->pairs[i]);
        put_nothing(program_root(m->startup), &m->pairs[i], ROLE_FORWARD);
        put_nothing(body, &m->pairs[i], ROLE_OPTIMIZE);
        add_up(m, at++, &m->pairs[i]);
    }
    pass_put_branch(body, at, COND);
}

/* ---- entry points ---- */

/* A second minimize would put gradients among the updates. */
static bool has_gradients_between_updates(const struct skiff_block *b)
{
    bool updated = false;
    for (int i = 0; i < b->nops; i++) {
        updated |= is_update(b->ops[i]);
        if (updated && op_role_of(b->ops[i]) == ROLE_BACKWARD)
            return true;
    }
    return false;
}

static enum skiff_status check(const struct skiff_program *main, int k, struct skiff_error *err)
{
    const struct skiff_block *b = program_root(main);
    bool updates = false, summed = false;
    for (int i = 0; i < b->nops; i++) {
        updates |= is_update(b->ops[i]);
        summed |= b->ops[i]->kind && b->ops[i]->kind->flags & OP_RANKS;
    }
    if (k < 1)
        return error_set(err, SKIFF_RANGE, "gradient merge: k_steps is %d; it must be at least 1",
                         k);
    if (merge_grad_block(main))
        return error_set(err, SKIFF_STATE,
                         "gradient merge: the program merges gradients already; leave the second "
                         "one out");
    if (!updates || !count_pairs(b))
        return error_set(err, SKIFF_INVALID,
                         "gradient merge: the program has no gradients and updates of parameters; "
                         "call minimize before");
    if (summed)
        return error_set(err, SKIFF_STATE,
                         "gradient merge: the program sums over ranks already; merge gradients "
                         "before it is made collective");
    if (has_gradients_between_updates(b))
        return error_set(err, SKIFF_UNSUPPORTED,
                         "gradient merge: the program has gradients behind updates (two calls of "
                         "minimize); give each optimizer a program of its own");
    return SKIFF_OK;
}

enum skiff_status skiff_gradient_merge(struct skiff_program *main, struct skiff_program *startup,
                                       int k_steps, bool avg, struct skiff_error *err)
{
    TRY(check(main, k_steps, err));
    if (k_steps == 1)
        return SKIFF_OK;
    struct merge m = {.main = main, .startup = startup, .k = k_steps, .avg = avg};
    m.pairs = mem_alloc_or_die((size_t)count_pairs(program_root(main)) * sizeof *m.pairs);
    merge(&m);
    free(m.pairs);
    program_changed(main);
    program_changed(startup);
    enum skiff_status status = program_verify(main, err);
    return status < 0 ? error_prefix(err, status, "after gradient merge") : status;
}
