/* adagrad:         m += g^2;                    p -= lr * g / (sqrt(m) + eps)
 * decayed_adagrad: m = d * m + (1 - d) * g^2;   p -= lr * g / (sqrt(m) + eps) */
#include "rules/rule.h"

#include <math.h>

static void adagrad_begin(const struct rule_params *h, float lr, bool sparse, float *scalar,
                          struct rule_step *out)
{
    *out = (struct rule_step){.lr = lr, .rate = lr, .epsilon = h->epsilon};
}

RULE_LOOP static void adagrad_apply(const struct rule_params *h, const struct rule_step *s,
                                    size_t n, const float *restrict g, float *restrict p,
                                    float *const *state)
{
    float *restrict m = state[0];
    const float lr = s->rate, eps = s->epsilon;
    for (size_t i = 0; i < n; i++) {
        m[i] += g[i] * g[i];
        p[i] -= lr * g[i] / (sqrtf(m[i]) + eps);
    }
}

RULE_LOOP static void decayed_apply(const struct rule_params *h, const struct rule_step *s,
                                    size_t n, const float *restrict g, float *restrict p,
                                    float *const *state)
{
    float *restrict m = state[0];
    const float lr = s->rate, eps = s->epsilon, d = h->decay;
    for (size_t i = 0; i < n; i++) {
        m[i] = d * m[i] + (1 - d) * (g[i] * g[i]);
        p[i] -= lr * g[i] / (sqrtf(m[i]) + eps);
    }
}

const struct rule rule_adagrad = {
    .name = "adagrad", .states = 1, .begin = adagrad_begin, .apply = adagrad_apply};
const struct rule rule_decayed_adagrad = {
    .name = "decayed_adagrad", .states = 1, .begin = adagrad_begin, .apply = decayed_apply};
