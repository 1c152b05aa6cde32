/* Runs updates as early as possible, and many tensors in one step.
 *
 * An optimizer op moves up to the op that computes its gradient or reads its parameter last. With
 * one thread the bits stay the same. Several threads that share parameters (Hogwild) see each
 * other's updates sooner: a layer's update is visible when its gradient is ready, not when the
 * gradients of all layers are. With updates at the end of the step, two threads learnt worse from
 * Criteo rows and reached NaN more often (bench/README.md). The gradient is also still in the
 * cache.
 *
 * Then adjacent optimizer ops of the same kind and settings become one op whose slots list all
 * their variables (the kernels loop over them). Only adjacent ops are joined, so that no op in
 * between can read their outputs. A variable that one of them writes, no other one touches: the
 * joined op sizes all its outputs before it computes anything. */
#include <string.h>

#include "passes/fuse_parts.h"

/* Attributes that do not affect the computation. */
static bool is_label(const char *name)
{
    return !strncmp(name, "op_", 3);
}

/* Every attribute of a is one of b, with the same value. */
static bool attrs_within(const struct skiff_op *a, const struct skiff_op *b)
{
    for (int i = 0; i < a->nattrs; i++) {
        const struct op_attr_value *x = &a->attrs[i], *y = op_attr(b, x->name);
        if (!is_label(x->name) &&
            (!y || y->type != x->type || !attr_value_equal(x->type, &x->value, &y->value)))
            return false;
    }
    return true;
}

static bool same_settings(const struct skiff_op *a, const struct skiff_op *b)
{
    return a->kind == b->kind && a->nins == b->nins && a->nouts == b->nouts && attrs_within(a, b) &&
           attrs_within(b, a);
}

/* Every slot holds one variable, or none in all of them. */
static bool same_slots(const struct skiff_op *a, const struct skiff_op *b)
{
    for (int side = 0; side < 2; side++) {
        const struct op_arg *args = side ? a->outs : a->ins;
        int n = side ? a->nouts : a->nins;
        for (int i = 0; i < n; i++) {
            const struct op_arg *other = side ? op_out(b, args[i].slot) : op_in(b, args[i].slot);
            if (!other || args[i].n != other->n || args[i].n > 1)
                return false;
        }
    }
    return true;
}

/* Optional tensors of hyper-parameters belong to one op; ops that have them stay alone. */
static bool joinable(const struct skiff_op *op)
{
    for (int i = 0; i < op->nins; i++) {
        int slot = op_kind_slot(op->kind->ins, op->ins[i].slot);
        if (slot < 0 || (op->ins[i].n && (op->kind->ins[slot].flags & SLOT_OPTIONAL)))
            return false;
    }
    return true;
}

/* What the ops of a group touch. */
struct touched {
    struct str_map read, written;
};

/* Adds the op's names; false if it writes a variable that others touch, or touches one that others
 * write. */
static bool touched_add(struct touched *t, const struct skiff_op *op)
{
    for (int side = 0; side < 2; side++) {
        const struct op_arg *args = side ? op->outs : op->ins;
        for (int i = 0; i < (side ? op->nouts : op->nins); i++)
            for (int j = 0; j < args[i].n; j++)
                if (str_map_has(&t->written, args[i].names[j]) ||
                    (side && str_map_has(&t->read, args[i].names[j])))
                    return false;
    }
    for (int side = 0; side < 2; side++) {
        const struct op_arg *args = side ? op->outs : op->ins;
        for (int i = 0; i < (side ? op->nouts : op->nins); i++)
            for (int j = 0; j < args[i].n; j++)
                str_map_put(side ? &t->written : &t->read, args[i].names[j], t);
    }
    return true;
}

/* The number of ops from position `first` that can be joined. */
static int count_joinable(const struct graph *g, int first)
{
    const struct skiff_op *op = g->block->ops[first];
    struct touched t;
    int n = 1;
    str_map_init(&t.read);
    str_map_init(&t.written);
    touched_add(&t, op);
    for (; first + n < g->block->nops; n++) {
        const struct skiff_op *next = g->block->ops[first + n];
        if (!same_settings(op, next) || !same_slots(op, next) || !joinable(next) ||
            !touched_add(&t, next))
            break;
    }
    str_map_deinit(&t.read);
    str_map_deinit(&t.written);
    return n;
}

static void join(struct graph *g, int first, int n)
{
    struct skiff_op *op = g->block->ops[first];
    for (int side = 0; side < 2; side++) {
        int nargs = side ? op->nouts : op->nins;
        for (int i = 0; i < nargs; i++) {
            const struct op_arg arg = side ? op->outs[i] : op->ins[i];
            if (!arg.n)
                continue;
            const char **names = arena_alloc(&g->arena, (size_t)n * sizeof(*names));
            for (int j = 0; j < n; j++) {
                const struct skiff_op *from = g->block->ops[first + j];
                names[j] = (side ? op_out(from, arg.slot) : op_in(from, arg.slot))->names[0];
            }
            (side ? op_set_out : op_set_in)(g->program, op, arg.slot, n, names);
        }
    }
    for (int j = 1; j < n; j++)
        g->block->ops[first + j] = NULL;
}

#define STAYS_BEHIND (OP_RUNS_BLOCK | OP_SIDE_EFFECT | OP_DISTRIBUTED | OP_FILES)

/* May `later` be run before `first`, with the same results? */
static bool may_pass(const struct skiff_op *later, const struct skiff_op *first)
{
    if (!first->kind || (first->kind->flags & STAYS_BEHIND))
        return false;
    for (int side = 0; side < 2; side++) {
        const struct op_arg *args = side ? later->outs : later->ins;
        for (int i = 0; i < (side ? later->nouts : later->nins); i++)
            for (int j = 0; j < args[i].n; j++)
                if (op_writes(first, args[i].names[j]) ||
                    (side && op_reads(first, args[i].names[j])))
                    return false;
    }
    return true;
}

static bool move_up(struct graph *g, int at)
{
    struct skiff_op **ops = g->block->ops, *op = ops[at];
    int to = at;
    while (to > 0 && may_pass(op, ops[to - 1]))
        to--;
    memmove(&ops[to + 1], &ops[to], (size_t)(at - to) * sizeof(*ops));
    ops[to] = op;
    return to < at;
}

int fuse_update(struct graph *g)
{
    int fused = 0;
    for (int i = 0; i < g->block->nops; i++) {
        const struct skiff_op *op = g->block->ops[i];
        if (op->kind && op->kind->class == CLASS_UPDATE)
            fused += move_up(g, i);
    }
    for (int i = 0; i < g->block->nops; i++) {
        struct skiff_op *op = g->block->ops[i];
        if (!op || !op->kind || op->kind->class != CLASS_UPDATE || !joinable(op))
            continue;
        int n = count_joinable(g, i);
        if (n > 1) {
            join(g, i, n);
            fused++;
        }
        i += n - 1;
    }
    return fused;
}
