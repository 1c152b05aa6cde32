/* Collective training: what GradAllReduce of Paddle's collective transpilers makes of a training
 * program, in place.
 *
 *   main     the gradient of the loss is scaled by 1 / ranks (or weighed by rows); every gradient
 *            of a parameter is summed over the ranks (c_allreduce_sum) as soon as it is made;
 *            updates wait for all sums (c_sync_comm_stream)
 *   startup  rings are opened (c_gen_nccl_id, c_comm_init), parameters come from rank 0
 *
 * So clipping, decay and updates see the gradient of all rows, in every rank the same. What is
 * summed when, and in which bundles, is decided when a program is run (fuse_reduce.c). */
#ifndef PASSES_COLLECTIVE_H
#define PASSES_COLLECTIVE_H

#include "program/program.h"

struct collective_pass {
    int nranks, rank;
    const char *const *endpoints; /* nranks of them, or NULL */
    bool sync_batch_norm;         /* statistics of the rows of all ranks */
    bool by_rows; /* JOB_WEIGHT (program/job.h), which is fed, instead of 1 / nranks */
    int local_steps, local_begin; /* local SGD (local_sgd.c); 0: gradients are summed */
};

/* startup may be NULL: then parameters are the same in all ranks already. */
enum skiff_status collective_transpile(struct skiff_program *main, struct skiff_program *startup,
                                       const struct collective_pass *o, struct skiff_error *err);
/* The part of it that local SGD has in place of sums of gradients. */
void collective_local(struct skiff_program *main, struct skiff_program *startup,
                      const struct collective_pass *o);
/* Where that begins in the root; its length: there is none. */
int collective_local_at(const struct skiff_block *root);
/* gen_nccl_id alone, as mode "nccl2" of DistributeTranspiler has it. */
void collective_gen(struct skiff_program *startup, const struct collective_pass *o);
/* Does the program hold ops that ranks do together? */
bool collective_in(const struct skiff_program *p);
/* What a rank runs that has no rows left while others have: the sums with zeros of its own, and the
 * updates. `main` after collective_transpile. */
enum skiff_status collective_idle(const struct skiff_program *main, struct skiff_program **out,
                                  struct skiff_error *err);
/* The same for programs that make the same calls over ranks, in the same order. */
uint64_t collective_hash(const struct skiff_program *p);
/* Numbers of the program by which all ranks must update, a line each: rates, settings of
 * optimizers and schedules. */
void collective_numbers(const struct skiff_program *p, struct buf *out);

#endif
