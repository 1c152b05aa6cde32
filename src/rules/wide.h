/* Update rules on float64: the formulas of the rules' own files, on doubles. Tables and servers
 * hold float32, so nothing is deferred here: rows without a gradient are swept. */
#ifndef RULES_WIDE_H
#define RULES_WIDE_H

#include "rules/rule.h"

/* As struct rule_step. */
struct wide_step {
    double lr, rate, epsilon, bias1, bias2;
};

struct wide_rule {
    const struct rule *rule; /* the same on float32: states, scalars and flags are declared there */
    void (*begin)(const struct rule_params *h, double lr, bool sparse, double *scalar,
                  struct wide_step *out);
    /* g is NULL where there is no gradient; then rules without `idle` must not be called. */
    void (*apply)(const struct rule_params *h, const struct wide_step *s, size_t n, const double *g,
                  double *p, double *const *state);
};

const struct wide_rule *wide_rule_find(const struct rule *rule); /* NULL: float32 only */

#endif
