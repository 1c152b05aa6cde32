/* The path of backward: the ops between the targets and the sources of a differentiation.
 *
 * An op without gradient ends the path, as in Fluid: that is how metrics, comparisons and integers
 * drop out. A gradient op of an earlier call that has no gradient itself is an error instead: the
 * result would silently lack a term that the program asked for (Fluid 1.8 omits it without a
 * message). */
#include <stdlib.h>

#include "base/mem.h"
#include "passes/backward_parts.h"

static bool any_in(const struct op_arg *args, int n, const struct str_map *set)
{
    for (int s = 0; s < n; s++)
        for (int k = 0; k < args[s].n; k++)
            if (set_has(set, args[s].names[k]))
                return true;
    return false;
}

void add_args(struct str_map *to, const struct op_arg *args, int n, const struct str_map *but)
{
    for (int s = 0; s < n; s++)
        for (int k = 0; k < args[s].n; k++)
            if (!but || !set_has(but, args[s].names[k]))
                set_add(to, args[s].names[k]);
}

static bool has_grad(const struct skiff_op *op)
{
    return op->kind && (op->kind->grad || op->kind->make_grad || op_kind_second(op->kind));
}

struct skiff_op **find_path(struct skiff_block *b, struct str_map *outputs, struct str_map *inputs,
                            struct str_map *no_grad, int *n)
{
    struct skiff_op **path = mem_alloc_or_die((size_t)(b->nops + 1) * sizeof *path);
    bool *on = mem_alloc_or_die((size_t)(b->nops + 1) * sizeof *on);
    for (int i = 0; i < b->nops; i++) {
        struct skiff_op *op = b->ops[i];
        on[i] = !inputs || (any_in(op->ins, op->nins, inputs) && has_grad(op));
        if (inputs && on[i])
            add_args(inputs, op->outs, op->nouts, no_grad);
    }
    for (int i = b->nops - 1; i >= 0; i--) {
        struct skiff_op *op = b->ops[i];
        if (any_in(op->outs, op->nouts, outputs) && has_grad(op))
            add_args(outputs, op->ins, op->nins, no_grad);
        else
            on[i] = false;
    }
    *n = 0;
    for (int i = 0; i < b->nops; i++)
        if (on[i])
            path[(*n)++] = b->ops[i];
    free(on);
    for (int i = 0; inputs && i < *n; i++)
        for (int s = 0; s < path[i]->nins; s++)
            for (int k = 0; k < path[i]->ins[s].n; k++) {
                const char *name = path[i]->ins[s].names[k];
                struct skiff_var *v = block_find_var(b, name);
                if (!set_has(inputs, name) && v && v->stop_gradient)
                    set_add(no_grad, name);
            }
    return path;
}

void add_dead_outputs(const struct skiff_block *b, struct skiff_op *const *path, int n,
                      const char *target, struct str_map *no_grad)
{
    struct str_map used, dead;
    str_map_init(&used);
    str_map_init(&dead);
    set_add(&used, target);
    for (int i = n - 1; i >= 0; i--) {
        const struct skiff_op *op = path[i];
        for (int s = 0; s < op->nouts && !op_attr(op, "sub_block"); s++)
            for (int k = 0; k < op->outs[s].n; k++) {
                const char *name = op->outs[s].names[k];
                const struct skiff_var *v = block_find_var(b, name);
                if (!set_has(&used, name) && !op_reads(op, name) && v && !v->stop_gradient)
                    set_add(&dead, name);
            }
        add_args(&used, op->ins, op->nins, no_grad);
    }
    for (size_t i = 0; i < dead.count; i++)
        set_add(no_grad, dead.entries[i].key);
    str_map_deinit(&used);
    str_map_deinit(&dead);
}

/* Variables that depend on the sources through ops that have a gradient or are gradient ops. */
static void reach(const struct skiff_block *b, const struct str_map *sources,
                  const struct str_map *no_grad, struct str_map *reached)
{
    for (size_t i = 0; i < sources->count; i++)
        if (!set_has(no_grad, sources->entries[i].key))
            set_add(reached, sources->entries[i].key);
    for (int i = 0; i < b->nops; i++) {
        const struct skiff_op *op = b->ops[i];
        bool through = has_grad(op) || (op->kind && op_kind_is_gradient(op->kind));
        if (through && any_in(op->ins, op->nins, reached))
            add_args(reached, op->outs, op->nouts, no_grad);
    }
}

/* Names on which the targets depend with a slope; a dependency through ops such as sign is constant
 * nearly everywhere. */
static void lead_back(const struct skiff_block *b, const struct str_map *no_grad,
                      struct str_map *live)
{
    for (int i = b->nops - 1; i >= 0; i--) {
        const struct skiff_op *op = b->ops[i];
        if (any_in(op->outs, op->nouts, live) && has_grad(op) && !(op->kind->flags & OP_ZERO_GRAD))
            add_args(live, op->ins, op->nins, no_grad);
    }
}

static const char *first_in(const struct op_arg *args, int n, const struct str_map *set)
{
    for (int s = 0; s < n; s++)
        for (int k = 0; k < args[s].n; k++)
            if (set_has(set, args[s].names[k]))
                return args[s].names[k];
    return NULL;
}

enum skiff_status check_second_order(struct skiff_block *b, const struct str_map *targets,
                                     const struct str_map *sources, const struct str_map *no_grad,
                                     struct skiff_error *err)
{
    struct str_map reached, live;
    enum skiff_status status = SKIFF_OK;
    str_map_init(&reached);
    str_map_init(&live);
    reach(b, sources, no_grad, &reached);
    for (size_t i = 0; i < targets->count; i++)
        set_add(&live, targets->entries[i].key);
    lead_back(b, no_grad, &live);
    for (int i = b->nops - 1; i >= 0 && status == SKIFF_OK; i--) {
        const struct skiff_op *op = b->ops[i];
        const char *result = first_in(op->outs, op->nouts, &live);
        const char *from = first_in(op->ins, op->nins, &reached);
        if (result && from && op->kind && op_kind_is_gradient(op->kind) && !has_grad(op))
            status = error_set(
                err, SKIFF_UNSUPPORTED,
                "op %s, which gives %s from %s, has no gradient: derivatives of second order do "
                "not go through it. Build the part that is differentiated twice of other ops; or, "
                "to take %s as a constant, set stop_gradient of a copy of it (assign)",
                op->type, result, from, result);
    }
    str_map_deinit(&reached);
    str_map_deinit(&live);
    return status;
}
