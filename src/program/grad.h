/* Building gradient ops. passes/backward drives it; an op kind's make_grad (or its grad line, which
 * the default maker follows) describes the gradient ops of one forward op. The ops made are loose
 * (not in a block yet), owned by the program's arena. */
#ifndef PROGRAM_GRAD_H
#define PROGRAM_GRAD_H

#include "program/op_kind.h"

/* In the names of what second-order makers compute on the way: no variable's gradient. */
#define SECOND_MARK "@SECOND@"

struct grad_build {
    struct skiff_program *program;
    struct skiff_block *block;
    const struct skiff_op *fwd;
    /* Is the gradient of this variable unwanted? (no_grad set) */
    bool (*unwanted)(const struct grad_build *g, const char *grad_name);
    /* Is there no gradient of this output of fwd, because nothing that is differentiated reads it?
     * NULL: all are there. Second-order makers leave out their terms. */
    bool (*absent)(const struct grad_build *g, const char *grad_name);
    void *user;
    struct skiff_op **ops; /* result, in order */
    int nops, cap;
    /* for ops with a sub-block (while): the gradient block that backward has made
     * for it, or NULL */
    struct skiff_block *grad_block;
};

struct skiff_op *grad_op(struct grad_build *g, const char *type,
                         bool copy_attrs); /* new loose op, no slots */
/* Copy a forward slot (input or output) to an input slot of the same name. Absent slots stay
 * absent. */
void grad_use(struct grad_build *g, struct skiff_op *op, const char *slot);
/* Input slot "<slot>@GRAD" = gradients of the forward output slot. */
void grad_use_out_grad(struct grad_build *g, struct skiff_op *op, const char *slot);
/* Output slot "<slot>@GRAD" = gradients of the forward input slot; unwanted: empty list for a
 * single-variable slot, @EMPTY@ in a list slot. Returns false when none is wanted. */
bool grad_make_in_grad(struct grad_build *g, struct skiff_op *op, const char *slot);
/* "x" -> "x@GRAD" in the arena */
const char *grad_name(struct grad_build *g, const char *name);

/* Fills g->ops for g->fwd by its kind's line or function. No gradient: leaves nops 0 and returns
 * OK. */
enum skiff_status grad_build_ops(struct grad_build *g, struct skiff_error *err);

#endif
