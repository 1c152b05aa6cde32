/* Shared by the files of a plan: plan_build.c, plan_run.c, plan_env.c. */
#ifndef EXECUTOR_PLAN_PARTS_H
#define EXECUTOR_PLAN_PARTS_H

#include "executor/plan.h"

/* The value behind a name as seen from a block; made when absent. *out_var: NULL when it lives in
 * the scope. */
struct skiff_tensor *plan_resolve(struct plan *plan, int block, const char *name,
                                  struct plan_var **out_var);
void plan_env_init(struct plan *plan, const struct plan_options *options);
enum skiff_status plan_run_block(struct plan *plan, int block, struct skiff_error *err);

#endif
