/* The fusing passes, in the order in which fuse.c runs them. Each works on the program of the
 * graph, replaces the patterns that it finds, and returns their number. A pass identifies ops by
 * role (op_kind.class), not by name. */
#ifndef PASSES_FUSE_PARTS_H
#define PASSES_FUSE_PARTS_H

#include <string.h>

#include "passes/graph.h"

static inline bool same_name(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

/* Does a name occur in both lists? NULLs do not count. */
static inline bool names_meet(const char *const *a, int na, const char *const *b, int nb)
{
    for (int i = 0; i < na; i++)
        for (int j = 0; j < nb; j++)
            if (same_name(a[i], b[j]))
                return true;
    return false;
}

static inline bool attr_true(const struct skiff_op *op, const char *name)
{
    const struct op_attr_value *a = op_attr(op, name);
    return a && a->type == ATTR_BOOLEAN && a->value.b;
}

static inline int attr_int(const struct skiff_op *op, const char *name, int fallback)
{
    const struct op_attr_value *a = op_attr(op, name);
    return a && a->type == ATTR_INT ? a->value.i : fallback;
}

struct fuse_pass {
    const char *name;
    int (*run)(struct graph *g);
};

/* Look-ups of tables that servers hold -> look-ups in a small local table; also moves sends out of
 * the way of fused_fc. Runs before the others, on the program itself. */
int fuse_remote(struct skiff_program *p);
/* Moves sums over ranks down to their first reader, out of the way of the others; runs before
 * them. */
int fuse_reduce_lift(struct skiff_program *p);
/* Combines these sums into buckets that start while backward is running; runs after the others,
 * before update. */
int fuse_reduce(struct graph *g);
/* matmul + bias + activation, and their gradients -> fused_fc, fused_fc_grad */
int fuse_fc(struct graph *g);
/* look-ups (+ pool) + concat, and their gradients -> fused_embedding_concat(_grad) */
int fuse_embedding(struct graph *g);
/* softmax + cross entropy of hard labels, and their gradients -> fused_softmax_xent(_grad) */
int fuse_softmax_xent(struct graph *g);
/* optimizer ops move up to where their gradient is made; neighbours of one kind with the same
 * settings become one op */
int fuse_update(struct graph *g);

#endif
