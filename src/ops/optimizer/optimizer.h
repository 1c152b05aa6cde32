/* Shared by the optimizer ops: a row of rules/optimizer_list.h maps an op's slots and attributes to
 * a rule; one kernel runs them all. */
#ifndef OPS_OPTIMIZER_H
#define OPS_OPTIMIZER_H

#include "base/map.h"
#include "program/infer.h"
#include "program/kernel.h"
#include "rules/optimizer.h"

/* Positions of the slots; -1: not declared. */
struct optimizer_slots {
    int param, grad, rate, param_out;
    int state[RULE_MAX_STATES], state_out[RULE_MAX_STATES];
    int scalar[RULE_MAX_SCALARS], scalar_out[RULE_MAX_SCALARS];
    int beta1, beta2, epsilon, skip; /* optional tensors of adam and lamb */
};

/* Operands of a run: bound, checked, in place. */
struct optimizer_target {
    const struct rule *rule;
    struct rule_params params;
    struct skiff_tensor *param, *state_value[RULE_MAX_STATES];
    float *p, *state[RULE_MAX_STATES];
    int64_t rows, width;
};

struct optimizer {
    const struct optimizer_kind *row;
    struct optimizer_slots slots;
    struct rule_params params;
    struct id_map map;
};

enum skiff_status optimizer_infer(struct infer *c, struct skiff_error *err);
enum skiff_status optimizer_prepare(struct kernel *k, struct skiff_error *err);
void optimizer_detach(struct kernel *k);
enum skiff_status optimizer_run(struct kernel *k, struct skiff_error *err);

/* The learning rate of parameter i. */
enum skiff_status optimizer_rate(struct kernel *k, int i, double *out, struct skiff_error *err);
/* The step of a float64 parameter, its gradient checked (optimizer_wide.c). */
enum skiff_status optimizer_run_wide(struct kernel *k, const struct optimizer_target *t,
                                     struct skiff_tensor *g, int i, struct skiff_error *err);

/* Deferred updates (optimizer_deferred.c). The values of a target share them; they are created
 * at the first use, and again when rule parameters or sizes have changed. */
struct deferred_rows;
/* out is NULL if the rule's updates cannot be replayed: sweep then. */
enum skiff_status optimizer_deferred(const struct optimizer_target *t, struct deferred_rows **out,
                                     struct skiff_error *err);
/* Flushes and drops the deferred updates of all values of the target: before a dense update or a
 * sweep. */
void optimizer_deferred_end(const struct optimizer_target *t);

#endif
