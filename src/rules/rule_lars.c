/* lars_momentum: g' = rescale g
 *                l = lr coeff |p| / (|g'| + wd |p| + eps)
 *                v = mu v + l (g' + wd p);  p -= v
 * l is lr itself where that has no meaning: 1.x, when the lower part is 0; 2.x, when wd or one of
 * the norms is 0. The norms are those of the whole tensor. */
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
    bool plain = h->second_gen ? !(wd > 0 && norm_p > 0 && norm_g > 0) : !(below > 0);
    float local = plain ? s->rate : (float)(s->rate * h->coeff * norm_p / below);
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
