/* adam_d2sum: Paddle's rule of dense tables on servers (strategy.adam_d2sum):
 *   d = decay d + 1;  v = decay v + g^2;  m = (m + g) b1 - g
 *   p += lr m sqrt((d + d eps) / (v + d eps))
 * d is one number for the tensor, from 0; m runs against the gradient. */
#include "rules/rule.h"

#include <math.h>

static void begin(const struct rule_params *h, float lr, bool sparse, float *scalar,
                  struct rule_step *out)
{
    scalar[0] = scalar[0] * h->decay + 1;
    *out = (struct rule_step){.lr = lr, .rate = lr, .bias1 = scalar[0]};
}

RULE_LOOP static void apply(const struct rule_params *h, const struct rule_step *s, size_t n,
                            const float *restrict g, float *restrict p, float *const *state)
{
    float *restrict m = state[0], *restrict v = state[1];
    const float b1 = h->beta1, decay = h->decay, rate = s->rate;
    const float low = s->bias1 * h->epsilon, d = s->bias1 + low;
    for (size_t i = 0; i < n; i++) {
        v[i] = v[i] * decay + g[i] * g[i];
        m[i] = (m[i] + g[i]) * b1 - g[i];
        p[i] += rate * m[i] * sqrtf(d / (v[i] + low));
    }
}

const struct rule rule_adam_d2sum = {
    .name = "adam_d2sum", .states = 2, .scalars = 1, .begin = begin, .apply = apply};
