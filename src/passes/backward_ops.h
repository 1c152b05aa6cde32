/* The list of gradient ops while it is being shaped (backward_ops.c). Internal to backward. */
#ifndef PASSES_BACKWARD_OPS_H
#define PASSES_BACKWARD_OPS_H

#include "program/program.h"

struct grad_ops {
    struct skiff_program *program;
    struct skiff_op **ops; /* loose ops, owned by the program's arena */
    int n, cap;
};

void grad_ops_deinit(struct grad_ops *g);
void grad_ops_insert(struct grad_ops *g, int at, struct skiff_op *op); /* at -1: the end */
/* A loose op with one input and one output slot and the attributes op_role and op_device. */
struct skiff_op *grad_ops_create(struct skiff_program *p, const char *type, const char *in_slot,
                                 int nin, const char *const *in, const char *out);

/* Slots in the order of their names, as Paddle walks them. */
void op_sort_slots(struct skiff_op *op);

/* Step 4: renames repeated gradients and inserts sums. */
void grad_ops_add_up(struct grad_ops *g, int block_idx);
/* Step 5: drops ops for unwanted gradients, fills needed ones with zeros. no_grad grows. */
void grad_ops_drop_unwanted(struct grad_ops *g, struct str_map *no_grad);
/* Step 5: drops chains of ops that start from nothing. `known`: the forward variables. */
void grad_ops_drop_rootless(struct grad_ops *g, const struct str_map *known);

#endif
