/* lars_momentum: g' = rescale g
 *                l = lr coeff |p| / (|g'| + wd |p| + eps)
 *                v = mu v + l (g' + wd p);  p -= v
 * l is lr itself when one of the norms is 0, and in 2.x also without decay. The norms are those of
 * the whole tensor. */
#include "rules/rule.h"

#include <math.h>

static void lars_begin(const struct rule_params *h, float lr, bool sparse, float *scalar,
                       struct rule_step *out)
{
    *out = (struct rule_step){.lr = lr, .rate = lr, .epsilon = h->epsilon};
}

static double norm_of(size_t n, const float *x)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    return sqrt(sum);
}

static void lars_apply(const struct rule_params *h, const struct rule_step *s, size_t n,
                       const float *restrict g, float *restrict p, float *const *state)
{
    float *restrict v = state[0];
    const float wd = h->weight_decay, scale = h->rescale, mu = h->mu;
    double norm_p = norm_of(n, p), norm_g = scale * norm_of(n, g);
    double below = norm_g + wd * norm_p + h->epsilon;
    bool adapts = norm_p > 0 && norm_g > 0 && (wd > 0 || !h->second_gen);
    float local = adapts ? (float)(s->rate * h->coeff * norm_p / below) : s->rate;
    for (size_t i = 0; i < n; i++) {
        v[i] = mu * v[i] + local * (scale * g[i] + wd * p[i]);
        p[i] -= v[i];
    }
}

const struct rule rule_lars_momentum = {.name = "lars_momentum",
                                        .flags = RULE_WHOLE,
                                        .states = 1,
                                        .begin = lars_begin,
                                        .apply = lars_apply};
