/* Collective training: the effect of GradAllReduce of Paddle's collective transpilers on a training
 * program, in place.
 *
 *    main     the gradient of the loss is scaled by 1 / ranks (or weighted by rows); every
 *             parameter's gradient is summed over the ranks (c_allreduce_sum) as soon as it is
 *             computed; updates wait for all sums (c_sync_comm_stream)
 *    startup  rings are opened (c_gen_nccl_id, c_comm_init), parameters come from rank 0
 *
 * Clipping, decay and updates therefore see the gradient of all rows, the same in every rank. The
 * order and bundling of sums is decided when a program runs (fuse_reduce.c). */
#ifndef PASSES_COLLECTIVE_H
#define PASSES_COLLECTIVE_H

#include "program/program.h"

struct collective_pass {
    int nranks, rank;
    const char *const *endpoints; /* nranks endpoints, or NULL */
    bool sync_batch_norm;         /* statistics of the rows of all ranks */
    bool by_rows; /* JOB_WEIGHT (program/job.h), which is fed, instead of 1 / nranks */
    /* local SGD with this interval (local_sgd.c); 0: gradients are summed */
    int local_steps, local_begin;
};

/* startup may be NULL: then parameters are the same in all ranks already. */
enum skiff_status collective_transpile(struct skiff_program *main, struct skiff_program *startup,
                                       const struct collective_pass *o, struct skiff_error *err);
/* The part of it that local SGD has in place of sums of gradients. */
void collective_local(struct skiff_program *main, struct skiff_program *startup,
                      const struct collective_pass *o);
/* Position in the root where that part begins, or the root's length if there is none. */
int collective_local_at(const struct skiff_block *root);
/* gen_nccl_id alone, as mode "nccl2" of DistributeTranspiler has it. */
void collective_gen(struct skiff_program *startup, const struct collective_pass *o);
/* Does the program have collective ops? */
bool collective_in(const struct skiff_program *p);
/* The program of a rank that has no rows left while others have: the sums, with zeros of its own,
 * and the updates. `main` is a program after collective_transpile. */
enum skiff_status collective_idle(const struct skiff_program *main, struct skiff_program **out,
                                  struct skiff_error *err);
/* Equal for programs that make the same collective calls in the same order. */
uint64_t collective_hash(const struct skiff_program *p);
/* Constants of the program that must be equal on all ranks, one per line: rates, settings of
 * optimizers and schedules. */
void collective_numbers(const struct skiff_program *p, struct buf *out);

#endif
