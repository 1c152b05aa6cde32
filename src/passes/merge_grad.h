/* Gradient merge: the effect of GradientMergeOptimizer of Paddle 2.x on a training program, in
 * place.
 *
 *    main     gradients are added to accumulators; clipping, decay and updates move into a block
 *             that runs in every k-th run, with the sums (or their means) as gradients
 *    startup  accumulators start at zero
 *
 * Gradients that are rows stay rows (Paddle refuses them). Must run before collective_transpile,
 * which then sums over ranks only in the k-th run. */
#ifndef PASSES_MERGE_GRAD_H
#define PASSES_MERGE_GRAD_H

#include "program/program.h"

/* The block of every k-th run; NULL: gradients are not merged. */
struct skiff_block *merge_grad_block(const struct skiff_program *main);

/* ---- parts, for passes that write such ops ---- */

struct skiff_op *pass_put_op(struct skiff_block *b, int at, const char *type, const char *x,
                             const char *y, const char *out, int role);
/* A persistable number of one element in both programs, which startup sets. */
const char *pass_put_counter(struct skiff_program *main, struct skiff_program *startup,
                             const char *name, enum dtype dtype, int64_t value);
/* The op that runs `body` if `cond` holds, at position `place` of the root. */
void pass_put_branch(struct skiff_block *body, int at, const char *cond);
/* A variable of the root that holds one bool. */
const char *pass_put_truth(struct skiff_program *p, const char *name);

#endif
