/* append_backward and gradients; the order of work is in backward.h.
 *
 * What makes this longer than walking back through the ops is that the result is Fluid 1.8's, op
 * for op and name for name:
 *   - Which gradients are wanted is a set of names per block (no_grad), as in Fluid: variables with
 *     stop_gradient, what the caller leaves out, and results of the path that lead nowhere.
 *   - An op that runs a block (while) gets a gradient block, whose ops are made in the same way and
 *     which sees the variables of the forward block.
 *   - On second and later calls in one program the gradients of the first are there already: the
 *     new ones get other names (backward_again.c), and only ops that follow from this call's
 *     targets are taken, or the first call's gradient ops would be made again. Gradient ops of the
 *     first that lie on the path are differentiated by ops/grad_grad.c.
 *   - Types and shapes of new variables are those of the forward ones, whatever the gradient op's
 *     own shape rule says.
 *
 * A failure takes back the ops that were appended to block 0. */
#include "passes/backward.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "passes/backward_ops.h"
#include "passes/backward_parts.h"
#include "program/infer.h"

struct grad_writer { /* index of the op that writes a variable's gradient */
    const char *name;
    struct skiff_block *block;
};

static const char *strip_grad(struct skiff_program *p, const char *name)
{
    const char *at = strstr(name, GRAD_SUFFIX);
    return at ? arena_strndup(&p->arena, name, (size_t)(at - name)) : name;
}

static void backward_init(struct backward *b, struct skiff_program *p,
                          const struct backward_options *o)
{
    *b = (struct backward){.p = p, .o = o, .nblocks = p->nblocks};
    b->no_grad = mem_alloc_or_die((size_t)p->nblocks * sizeof *b->no_grad);
    str_map_init(&b->grad_to_var);
    str_map_init(&b->writers);
    str_map_init(&b->seeds);
    str_map_init(&b->written);
    str_map_init(&b->wanted);
    str_map_init(&b->renamed);
    for (int i = 0; i < p->nblocks; i++) {
        str_map_init(&b->no_grad[i]);
        for (size_t k = 0; k < p->blocks[i]->vars.count; k++) {
            struct skiff_var *v = p->blocks[i]->vars.entries[k].value;
            if (v->stop_gradient)
                set_add(&b->no_grad[i], with_grad(p, v->name));
        }
    }
    for (int i = 0; i < o->nno_grad; i++)
        set_add(&b->no_grad[0], with_grad(p, o->no_grad[i]));
}

static void backward_deinit(struct backward *b)
{
    for (int i = 0; i < b->nblocks; i++)
        str_map_deinit(&b->no_grad[i]);
    free(b->no_grad);
    str_map_deinit(&b->grad_to_var);
    str_map_deinit(&b->writers);
    str_map_deinit(&b->seeds);
    str_map_deinit(&b->written);
    str_map_deinit(&b->wanted);
    str_map_deinit(&b->renamed);
}

/* ---- gradient ops of one block ---- */

static bool grad_unwanted(const struct grad_build *g, const char *name)
{
    const struct backward *b = g->user;
    return set_has(&b->no_grad[g->block->idx], name);
}

static bool grad_absent(const struct grad_build *g, const char *name)
{
    struct backward *b = g->user;
    return !set_has(&b->written, b->o->times > 1 ? again_name(b, g->block, name) : name);
}

static enum skiff_status block_grads(struct backward *b, struct skiff_block *block,
                                     struct skiff_op *const *path, int npath,
                                     struct skiff_block *target, struct skiff_error *err);

/* The gradient block of an op that runs a block (while, conditional_block). */
static enum skiff_status sub_grads(struct backward *b, const struct skiff_block *block,
                                   const struct skiff_op *op, const struct skiff_block *target,
                                   struct skiff_block **out, struct skiff_error *err)
{
    const struct op_attr_value *a = op_attr(op, "sub_block");
    *out = NULL;
    if (!a || a->type != ATTR_BLOCK)
        return SKIFF_OK;
    if (a->value.i <= block->idx || a->value.i >= b->nblocks)
        return error_set(err, SKIFF_INVALID, "op %s of block %d cannot run block %d of %d",
                         op->type, block->idx, a->value.i, b->nblocks);
    struct skiff_block *sub = b->p->blocks[a->value.i];
    struct skiff_block *grad = program_add_block(b->p, target->idx);
    grad->forward_idx = sub->idx;
    bool kept = b->use_wanted;
    b->use_wanted = false;
    enum skiff_status status = block_grads(b, sub, sub->ops, sub->nops, grad, err);
    b->use_wanted = kept;
    *out = grad;
    return status;
}

static void record_vars(struct backward *b, const struct skiff_op *fwd, const struct skiff_op *grad)
{
    for (int s = 0; s < grad->nouts; s++)
        for (int k = 0; k < grad->outs[s].n; k++) {
            const char *name = grad->outs[s].names[k];
            size_t len = strlen(name), cut = strlen(GRAD_SUFFIX);
            if (len <= cut || strcmp(name + len - cut, GRAD_SUFFIX))
                continue;
            const char *var = arena_strndup(&b->p->arena, name, len - cut);
            if (op_reads(fwd, var))
                str_map_put(&b->grad_to_var, name, (void *)var);
        }
}

static enum skiff_status op_grads(struct backward *b, struct skiff_block *block,
                                  const struct skiff_op *op, const struct skiff_block *target,
                                  struct grad_ops *all, struct skiff_error *err)
{
    struct grad_build g = {.program = b->p,
                           .block = block,
                           .fwd = op,
                           .unwanted = grad_unwanted,
                           .absent = grad_absent,
                           .user = b};
    TRY(sub_grads(b, block, op, target, &g.grad_block, err));
    TRY(grad_build_ops(&g, err));
    const struct op_attr_value *device = op_attr(op, "op_device");
    for (int i = 0; i < g.nops; i++) {
        struct skiff_op *made = g.ops[i];
        op_sort_slots(made);
        if (device && device->type == ATTR_STRING)
            op_set_string(b->p, made, "op_device", device->value.s);
        record_vars(b, op, made);
        if (b->o->times > 1)
            rename_again(b, block, op, made);
    }
    if (b->use_wanted && !follows(b, g.ops, g.nops))
        return SKIFF_OK;
    for (int i = 0; i < g.nops; i++) {
        grad_ops_insert(all, -1, g.ops[i]);
        add_args(&b->written, g.ops[i]->outs, g.ops[i]->nouts, NULL);
    }
    return SKIFF_OK;
}

/* `block` is one that was there at the start; its gradient ops go to the end of `target`. */
static enum skiff_status block_grads(struct backward *b, struct skiff_block *block,
                                     struct skiff_op *const *path, int npath,
                                     struct skiff_block *target, struct skiff_error *err)
{
    struct grad_ops all = {.program = b->p};
    struct str_map known;
    str_map_init(&known);
    enum skiff_status status = SKIFF_OK;
    for (int i = npath - 1; i >= 0; i--)
        TRY_OUT(op_grads(b, block, path[i], target, &all, err));
    if (b->o->times > 1)
        rename_no_grad(b, block);
    grad_ops_add_up(&all, block->idx);
    grad_ops_drop_unwanted(&all, &b->no_grad[block->idx]);
    for (int i = 0; i < npath; i++) {
        add_args(&known, path[i]->ins, path[i]->nins, NULL);
        add_args(&known, path[i]->outs, path[i]->nouts, NULL);
    }
    for (size_t i = 0; b->use_wanted && i < b->wanted.count; i++)
        set_add(&known, b->wanted.entries[i].key);
    grad_ops_drop_rootless(&all, &known);
    for (int i = 0; i < all.n; i++) {
        struct skiff_op *op = block_insert_op(target, -1, all.ops[i]->type);
        *op = *all.ops[i];
        op_set_int(b->p, op, "op_role", ROLE_BACKWARD);
    }
out:
    str_map_deinit(&known);
    grad_ops_deinit(&all);
    return status;
}

/* ---- variables ---- */

/* Gives new names to gradients whose names are taken; `to` maps the targets' gradients to given
 * names. */
static void rename_taken(struct backward *b, struct skiff_block *block, int start,
                         struct str_map *to)
{
    for (int i = start; i < block->nops; i++) {
        struct skiff_op *op = block->ops[i];
        for (int s = 0; s < op->nins; s++)
            for (int k = 0; k < op->ins[s].n; k++) {
                const char *other = str_map_get(to, op->ins[s].names[k]);
                if (other)
                    op->ins[s].names[k] = other;
            }
        for (int s = 0; s < op->nouts; s++)
            for (int k = 0; k < op->outs[s].n; k++) {
                const char *name = op->outs[s].names[k];
                if (!is_grad(name) || !block_own_var(block, name) || !b->o->names)
                    continue;
                const char *fresh = arena_strdup(&b->p->arena, names_next(b->o->names, name));
                op->outs[s].names[k] = fresh;
                str_map_put(to, name, (void *)fresh);
            }
    }
    for (size_t i = 0; i < to->count; i++) {
        const char *var = str_map_get(&b->grad_to_var, to->entries[i].key);
        if (!var)
            continue;
        str_map_put(&b->grad_to_var, to->entries[i].value, (void *)var);
        str_map_remove(&b->grad_to_var, to->entries[i].key);
    }
}

/* Does the op that runs this gradient block pass the gradient from one iteration to the next?
 * `runner` NULL: no. */
static bool handed_on(struct skiff_program *p, const struct skiff_op *runner, const char *grad)
{
    if (!runner)
        return false;
    const struct op_attr_value *states = op_attr(runner, "states");
    for (int i = 0; states && states->type == ATTR_STRINGS && i < states->value.n; i++)
        if (!strcmp(with_grad(p, states->value.strings[i]), grad))
            return true;
    return op_reads(runner, grad) && op_writes(runner, grad);
}

/* Declares the gradients of the previous iteration that no op has written yet. */
static void make_handed_on(struct skiff_block *block, const struct skiff_op *op,
                           const struct skiff_op *runner)
{
    for (int s = 0; s < op->nins; s++)
        for (int k = 0; k < op->ins[s].n; k++) {
            const char *name = op->ins[s].names[k];
            if (!is_grad(name) || block_find_var(block, name) ||
                !handed_on(block->program, runner, name))
                continue;
            const struct skiff_var *fwd = block_find_var(block, strip_grad(block->program, name));
            struct skiff_var *v = block_add_var(block, name);
            v->has_tensor = true;
            v->dtype = fwd ? fwd->dtype : DTYPE_FP32;
            if (fwd) {
                v->shape = fwd->shape;
                v->kind = fwd->kind;
            }
        }
}

static bool reads_missing_grads_only(const struct skiff_block *block, const struct skiff_op *op,
                                     const struct skiff_op *runner)
{
    int grads = 0, there = 0;
    for (int s = 0; s < op->nins; s++)
        for (int k = 0; k < op->ins[s].n; k++)
            if (is_grad(op->ins[s].names[k])) {
                grads++;
                there += block_find_var(block, op->ins[s].names[k]) != NULL ||
                         handed_on(block->program, runner, op->ins[s].names[k]);
            }
    return grads > 0 && there == 0;
}

/* A sum may list a term whose op has been removed because no gradient reached it: the term is
 * dropped. */
static void drop_missing_pieces(const struct skiff_block *block, struct skiff_op *op)
{
    if (!op_is(op, CLASS_SUM))
        return;
    struct op_arg *x = &op->ins[0];
    int n = 0;
    for (int k = 0; k < x->n; k++)
        if (!is_grad(x->names[k]) || block_find_var(block, x->names[k]))
            x->names[n++] = x->names[k];
    x->n = n;
}

/* Is the gradient used only by the op that runs this block? Then the block declares its own
 * variable, although an outer one of that name is visible. (Fluid uses the outer one, whose
 * gradient is then lost or doubled.) */
static bool is_for_runner(struct skiff_program *p, const struct skiff_block *block,
                          const struct skiff_op *runner, const char *grad)
{
    return runner && is_grad(grad) && !block_own_var(block, grad) &&
           op_reads(runner, strip_grad(p, grad)) && !op_reads(runner, grad);
}

/* Makes the variables that the op writes; new ones take type and shape of the forward ones. */
static enum skiff_status make_vars(struct backward *b, struct skiff_block *block,
                                   const struct skiff_op *runner, struct skiff_op *op,
                                   struct skiff_error *err)
{
    struct str_map fresh;
    enum skiff_status status;
    str_map_init(&fresh);
    for (int s = 0; s < op->nouts; s++)
        for (int k = 0; k < op->outs[s].n; k++) {
            const char *name = op->outs[s].names[k];
            if (!strcmp(name, EMPTY_VAR) ||
                (block_find_var(block, name) && !is_for_runner(b->p, block, runner, name)))
                continue;
            struct skiff_var *v = block_add_var(block, name);
            v->has_tensor = true;
            str_map_put(&fresh, v->name, v);
            const char *var = str_map_get(&b->grad_to_var, name);
            if (!var)
                continue;
            struct grad_writer *writer = arena_alloc(&b->p->arena, sizeof *writer);
            *writer = (struct grad_writer){v->name, block};
            str_map_put(&b->writers, var, writer);
        }
    TRY_OUT(infer_op(block, op, err));
    for (size_t i = 0; i < fresh.count; i++) {
        struct skiff_var *v = fresh.entries[i].value;
        const struct skiff_var *fwd = grad_model(b->p, block, v->name);
        if (!is_grad(v->name)) /* x_shape: Fluid leaves its type at 0 */
            v->dtype = DTYPE_BOOL;
        else if (!strstr(v->name, SECOND_MARK) || fwd)
            v->dtype = fwd ? fwd->dtype : DTYPE_FP32;
        if (fwd)
            v->shape = fwd->shape;
    }
out:
    str_map_deinit(&fresh);
    return status;
}

/* An op that runs a block may have results that nothing reads: their gradients are zeros. Inserts
 * the op for the first such result; false if there is none. */
static bool insert_zeros(struct backward *b, struct skiff_block *block, int at)
{
    const struct skiff_op *op = block->ops[at];
    for (int s = 0; s < op->nins; s++)
        for (int k = 0; k < op->ins[s].n; k++) {
            const char *grad = op->ins[s].names[k], *var = strip_grad(b->p, grad);
            const struct skiff_var *fwd = block_find_var(block, var);
            if (!is_grad(grad) || block_find_var(block, grad) || !fwd ||
                fwd->kind != VAR_LOD_TENSOR)
                continue;
            struct skiff_op *zeros = block_insert_op(block, at, "fill_zeros_like");
            op_set_in(b->p, zeros, "X", 1, &var);
            op_set_out(b->p, zeros, "Out", 1, &grad);
            op_set_int(b->p, zeros, "op_role", ROLE_BACKWARD);
            return true;
        }
    return false;
}

/* After op `at`, which writes complete gradients: clips those of variables that ask for it. Returns
 * the number of ops added. */
static int clip_errors(struct backward *b, struct skiff_block *block, int at)
{
    const struct skiff_op *op = block->ops[at];
    int added = 0;
    for (int s = 0; b->clip_errors && s < op->nouts; s++)
        for (int k = 0; k < op->outs[s].n; k++) {
            const char *grad = op->outs[s].names[k], *name = str_map_get(&b->grad_to_var, grad);
            const struct skiff_var *v = name ? block_find_var(block, name) : NULL;
            if (!v || !v->clips_error)
                continue;
            struct skiff_op *clip = block_insert_op(block, at + ++added, "clip");
            op_set_in(b->p, clip, "X", 1, &grad);
            op_set_out(b->p, clip, "Out", 1, &grad);
            op_set_float(b->p, clip, "min", v->error_min);
            op_set_float(b->p, clip, "max", v->error_max);
            op_set_int(b->p, clip, "op_role", ROLE_BACKWARD);
        }
    return added;
}

static enum skiff_status make_all_vars(struct backward *b, struct skiff_block *block, int start,
                                       const struct skiff_op *runner, struct skiff_error *err)
{
    for (int i = start; i < block->nops;) {
        struct skiff_op *op = block->ops[i];
        const struct op_attr_value *sub = op_attr(op, "sub_block");
        if (sub && sub->type == ATTR_BLOCK && sub->value.i >= b->nblocks)
            TRY(make_all_vars(b, b->p->blocks[sub->value.i], 0, op, err));
        int outs = 0;
        for (int s = 0; s < op->nouts; s++)
            for (int k = 0; k < op->outs[s].n; k++)
                outs += strcmp(op->outs[s].names[k], EMPTY_VAR) != 0;
        if (!outs || reads_missing_grads_only(block, op, runner)) {
            block_remove_ops(block, i, 1);
            continue;
        }
        make_handed_on(block, op, runner);
        if (sub && insert_zeros(b, block, i))
            continue;
        drop_missing_pieces(block, op);
        TRY(make_vars(b, block, runner, op, err));
        i += 1 + clip_errors(b, block, i);
    }
    return SKIFF_OK;
}

/* ---- append_backward ---- */

static struct skiff_op *loss_op(struct skiff_block *b, const struct skiff_var *loss)
{
    for (int i = b->nops - 1; i >= 0; i--)
        if (b->ops[i] == loss->producer || (!loss->producer && op_writes(b->ops[i], loss->name)))
            return b->ops[i];
    return NULL;
}

static void seed_loss(struct skiff_program *p, struct skiff_block *b, const struct skiff_var *loss,
                      const struct skiff_op *maker)
{
    struct skiff_op *op = block_insert_op(b, -1, "fill_constant");
    const char *out = with_grad(p, loss->name);
    const struct op_attr_value *device = op_attr(maker, "op_device");
    op_set_out(p, op, "Out", 1, &out);
    op_set_longs(p, op, "shape", loss->shape.ndim ? 1 : 0,
                 (int64_t[]){1}); /* 2.x: a scalar without dimensions */
    op_set_float(p, op, "value", 1.0f);
    op_set_int(p, op, "dtype", loss->dtype);
    op_set_bool(p, op, "force_cpu", false);
    op_set_int(p, op, "op_role", ROLE_BACKWARD | ROLE_LOSS);
    op_set_string(p, op, "op_device", device ? device->value.s : "");
}

/* Variables' names of the gradients in the set. */
static void strip_set(struct skiff_program *p, const struct str_map *grads, struct str_map *out)
{
    str_map_init(out);
    for (size_t i = 0; i < grads->count; i++)
        set_add(out, strip_grad(p, grads->entries[i].key));
}

static void grads_of_set(struct skiff_program *p, const struct str_map *vars, struct str_map *grads)
{
    for (size_t i = 0; i < vars->count; i++)
        set_add(grads, with_grad(p, vars->entries[i].key));
}

/* op_role_var of the op that writes the gradient last: [param, grad] is put before the present
 * entries. */
static void mark_writer(struct skiff_program *p, const struct skiff_var *param,
                        const struct skiff_var *grad)
{
    struct skiff_block *b = program_root(p);
    for (int i = b->nops - 1; i >= 0; i--) {
        struct skiff_op *op = b->ops[i];
        if (!op_writes(op, grad->name))
            continue;
        const struct op_attr_value *old = op_attr(op, "op_role_var");
        int n = old && old->type == ATTR_STRINGS ? old->value.n : 0;
        const char **names = mem_alloc_or_die((size_t)(n + 2) * sizeof *names);
        names[0] = param->name;
        names[1] = grad->name;
        for (int k = 0; k < n; k++)
            names[2 + k] = old->value.strings[k];
        op_set_strings(p, op, "op_role_var", n + 2, names);
        free(names);
        return;
    }
}

static bool param_listed(const struct backward_options *o, const struct skiff_var *v)
{
    if (!o->parameters)
        return v->param && v->param->trainable;
    for (int i = 0; i < o->nparameters; i++)
        if (!strcmp(o->parameters[i], v->name))
            return true;
    return false;
}

static void collect_pairs(struct backward *b, struct param_grad **out, int *nout)
{
    struct skiff_block *root = program_root(b->p);
    *out = arena_alloc(&b->p->arena, (root->vars.count + 1) * sizeof **out);
    *nout = 0;
    for (size_t i = 0; i < root->vars.count; i++) {
        struct skiff_var *v = root->vars.entries[i].value;
        const struct grad_writer *writer = str_map_get(&b->writers, v->name);
        if (!writer || !param_listed(b->o, v))
            continue;
        struct skiff_var *grad = block_own_var(writer->block, writer->name);
        (*out)[(*nout)++] = (struct param_grad){v, grad};
    }
    for (int i = 0; i < *nout; i++)
        mark_writer(b->p, (*out)[i].param, (*out)[i].grad);
}

static void add_seed(struct backward *b, const char *grad)
{
    set_add(&b->seeds, grad);
    set_add(&b->written, grad);
    set_add(&b->wanted, grad);
}

/* Does a parameter's gradient depend on a gradient op that has no gradient itself? */
static enum skiff_status check_parameters(const struct backward *b, struct skiff_block *root,
                                          const struct str_map *targets,
                                          const struct str_map *no_grad, struct skiff_error *err)
{
    struct str_map sources;
    str_map_init(&sources);
    for (size_t i = 0; i < root->vars.count; i++) {
        const struct skiff_var *v = root->vars.entries[i].value;
        if (param_listed(b->o, v))
            set_add(&sources, v->name);
    }
    enum skiff_status status = check_second_order(root, targets, &sources, no_grad, err);
    str_map_deinit(&sources);
    return status;
}

static enum skiff_status run_backward(struct backward *b, struct skiff_var *loss,
                                      struct skiff_op *maker, struct skiff_error *err)
{
    struct skiff_program *p = b->p;
    struct skiff_block *root = program_root(p);
    struct str_map outputs, no_grad, none;
    int start = root->nops, npath;
    str_map_init(&outputs);
    str_map_init(&none);
    set_add(&outputs, loss->name);
    strip_set(p, &b->no_grad[0], &no_grad);
    enum skiff_status status = check_parameters(b, root, &outputs, &no_grad, err);
    struct skiff_op **path = find_path(root, &outputs, NULL, &no_grad, &npath);
    add_dead_outputs(root, path, npath, loss->name, &no_grad);
    grads_of_set(p, &no_grad, &b->no_grad[0]);
    seed_loss(p, root, loss, maker);
    add_seed(b, with_grad(p, loss->name));
    b->use_wanted = b->o->times > 1;
    if (status == SKIFF_OK)
        status = block_grads(b, root, path, npath, root, err);
    if (status == SKIFF_OK) {
        rename_taken(b, root, start, &none);
        status = make_all_vars(b, root, start, NULL, err);
    }
    if (status < 0)
        block_remove_ops(root, start, root->nops - start);
    free(path);
    str_map_deinit(&outputs);
    str_map_deinit(&no_grad);
    str_map_deinit(&none);
    return status;
}

enum skiff_status append_backward(struct skiff_program *p, struct skiff_var *loss,
                                  const struct backward_options *o, struct param_grad **out,
                                  int *nout, struct skiff_error *err)
{
    struct skiff_block *root = program_root(p);
    if (block_own_var(root, loss->name) != loss)
        return error_set(err, SKIFF_INVALID, "loss %s is not a variable of the program's block 0",
                         loss->name);
    struct skiff_op *maker = loss_op(root, loss);
    if (!maker)
        return error_set(err, SKIFF_INVALID, "loss %s: no op of block 0 computes it", loss->name);
    op_set_int(p, maker, "op_role", ROLE_FORWARD | ROLE_LOSS);
    struct backward b;
    backward_init(&b, p, o);
    b.clip_errors = true;
    enum skiff_status status = run_backward(&b, loss, maker, err);
    if (status == SKIFF_OK)
        collect_pairs(&b, out, nout);
    backward_deinit(&b);
    return status;
}

/* ---- gradients ---- */

/* Gradient 1 for a target without one: shape -> fill_constant. */
static void seed_target(struct backward *b, struct skiff_block *block, const struct skiff_var *t)
{
    struct skiff_program *p = b->p;
    const char *shape = arena_printf(&p->arena, "%s_shape", t->name);
    const char *grad = with_grad(p, t->name);
    struct skiff_op *op = block_insert_op(block, -1, "shape");
    *op = *grad_ops_create(p, "shape", "Input", 1, &t->name, shape);
    op = block_insert_op(block, -1, "fill_constant");
    *op = *grad_ops_create(p, "fill_constant", "ShapeTensor", 1, &shape, grad);
    op_set_longs(p, op, "shape", t->shape.ndim, t->shape.dims);
    op_set_float(p, op, "value", 1.0f);
    op_set_int(p, op, "dtype", t->dtype);
    set_add(&b->wanted, shape);
    add_seed(b, grad);
}

static enum skiff_status check_target(const struct skiff_var *t, const struct skiff_var *g,
                                      struct skiff_error *err)
{
    char a[160], c[160];
    if (!g || shape_equal(&t->shape, &g->shape))
        return SKIFF_OK;
    return error_set(err, SKIFF_SHAPE, "target %s has the shape %s, its gradient %s has %s",
                     t->name, shape_text(&t->shape, a), g->name, shape_text(&g->shape, c));
}

enum skiff_status append_gradients(struct skiff_program *p, struct skiff_var *const *targets,
                                   int ntargets, struct skiff_var *const *target_grads,
                                   struct skiff_var *const *inputs, int ninputs,
                                   const struct backward_options *o, struct skiff_var **out,
                                   struct skiff_error *err)
{
    struct skiff_block *root = program_root(p);
    struct backward b;
    struct str_map outputs, from, no_grad, given;
    for (int i = 0; i < ntargets; i++)
        TRY(check_target(targets[i], target_grads ? target_grads[i] : NULL, err));
    backward_init(&b, p, o);
    str_map_init(&outputs);
    str_map_init(&from);
    str_map_init(&given);
    strip_set(p, &b.no_grad[0], &no_grad);
    int start = root->nops, npath;
    for (int i = 0; i < ninputs; i++)
        set_add(&from, inputs[i]->name);
    for (int i = 0; i < ntargets; i++)
        set_add(&outputs, targets[i]->name);
    enum skiff_status status = check_second_order(root, &outputs, &from, &no_grad, err);
    struct skiff_op **path = find_path(root, &outputs, &from, &no_grad, &npath);
    for (int i = 0; i < ntargets; i++) {
        const struct skiff_var *g = target_grads ? target_grads[i] : NULL;
        if (!g) {
            seed_target(&b, root, targets[i]);
        } else {
            const char *grad = with_grad(p, targets[i]->name);
            str_map_put(&given, grad, (void *)g->name);
            add_seed(&b, grad);
            set_add(&b.wanted, g->name);
        }
    }
    b.use_wanted = o->times > 1;
    grads_of_set(p, &no_grad, &b.no_grad[0]);
    if (status == SKIFF_OK)
        status = block_grads(&b, root, path, npath, root, err);
    if (status == SKIFF_OK) {
        rename_taken(&b, root, start, &given);
        status = make_all_vars(&b, root, start, NULL, err);
    }
    if (status < 0)
        block_remove_ops(root, start, root->nops - start);
    for (int i = 0; i < ninputs && status == SKIFF_OK; i++) {
        const struct grad_writer *writer = str_map_get(&b.writers, inputs[i]->name);
        out[i] = writer ? block_own_var(writer->block, writer->name) : NULL;
    }
    free(path);
    str_map_deinit(&outputs);
    str_map_deinit(&from);
    str_map_deinit(&no_grad);
    str_map_deinit(&given);
    backward_deinit(&b);
    return status;
}
