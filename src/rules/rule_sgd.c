/* sgd: p -= lr * g */
#include "rules/rule.h"

static void sgd_begin(const struct rule_params *h, float lr, bool sparse, float *scalar,
                      struct rule_step *out)
{
    *out = (struct rule_step){.lr = lr, .rate = lr};
}

RULE_LOOP static void sgd_apply(const struct rule_params *h, const struct rule_step *s, size_t n,
                                const float *restrict g, float *restrict p, float *const *state)
{
    float lr = s->rate;
    for (size_t i = 0; i < n; i++)
        p[i] -= lr * g[i];
}

const struct rule rule_sgd = {.name = "sgd", .begin = sgd_begin, .apply = sgd_apply};
