/* The fusing passes, in the order in which fuse.c runs them. Each works on the program of the
 * graph, replaces what it finds, and returns how many places it fused. A pass knows ops by class
 * (op_kind.fuse), never by name. */
#ifndef PASSES_FUSE_PARTS_H
#define PASSES_FUSE_PARTS_H

#include "passes/graph.h"

struct fuse_pass {
    const char *name;
    int (*run)(struct graph *g);
};

/* matmul + bias + activation, and their gradients -> fused_fc, fused_fc_grad */
int fuse_fc(struct graph *g);
/* look-ups (+ pool) + concat, and their gradients -> fused_embedding_concat(_grad) */
int fuse_embedding(struct graph *g);
/* softmax + cross entropy of hard labels, and their gradients -> fused_softmax_xent(_grad) */
int fuse_softmax_xent(struct graph *g);
/* optimizer ops of one kind with the same settings -> fused_update */
int fuse_update(struct graph *g);

#endif
