/* What the optimizer ops share: a row of rules/optimizer_list.h says how an op's slots and
 * attributes map onto a rule; one kernel runs them all. */
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

/* What a run works on: bound, checked, in place. */
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
void optimizer_release(struct kernel *k);
enum skiff_status optimizer_run(struct kernel *k, struct skiff_error *err);

/* The learning rate of parameter i. */
enum skiff_status optimizer_rate(struct kernel *k, int i, double *out, struct skiff_error *err);
/* The step of a float64 parameter, its gradient checked (optimizer_wide.c). */
enum skiff_status optimizer_run_wide(struct kernel *k, const struct optimizer_target *t,
                                     struct skiff_tensor *g, int i, struct skiff_error *err);

/* Lags (optimizer_lag.c). The values share one lag; it is made at the first use, and made anew when
 * rule parameters or sizes have changed. */
struct catch_up;
/* *out is NULL when the rule cannot be caught up: sweep then. */
enum skiff_status optimizer_lag(const struct optimizer_target *t, struct catch_up **out,
                                struct skiff_error *err);
/* Settles and drops the lags of all values of the target: before a dense update or a sweep. */
void optimizer_lag_end(const struct optimizer_target *t);

#endif
