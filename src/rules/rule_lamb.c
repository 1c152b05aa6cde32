/* lamb: m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
 *       1.x: r = m / (sqrt(v) + eps) + wd p, powers of beta not used
 *       2.x: r = (m / (1 - b1pow)) / (sqrt(v / (1 - b2pow)) + eps) + wd p, powers then advanced
 *       p -= lr * (|p| / |r|, 1 if either is 0) * r
 * The norms are those of the whole tensor. */
#include "rules/rule.h"

#include <math.h>

static void lamb_begin(const struct rule_params *h, float lr, bool sparse, float *scalar,
                       struct rule_step *out)
{
    *out = (struct rule_step){.lr = lr, .rate = lr, .epsilon = h->epsilon, .bias1 = 1, .bias2 = 1};
    if (!h->second_gen)
        return;
    out->bias1 = 1 - scalar[0];
    out->bias2 = 1 - scalar[1];
    scalar[0] *= h->beta1;
    scalar[1] *= h->beta2;
}

RULE_LOOP static void lamb_moments(const struct rule_params *h, size_t n, const float *restrict g,
                                   float *restrict m, float *restrict v)
{
    const float b1 = h->beta1, b2 = h->beta2;
    for (size_t i = 0; i < n; i++) {
        m[i] = b1 * m[i] + (1 - b1) * g[i];
        v[i] = b2 * v[i] + (1 - b2) * (g[i] * g[i]);
    }
}

static inline float lamb_direction(const struct rule_params *h, const struct rule_step *s, float p,
                                   float m, float v)
{
    return (m / s->bias1) / (sqrtf(v / s->bias2) + s->epsilon) + h->weight_decay * p;
}

static void lamb_apply(const struct rule_params *h, const struct rule_step *s, size_t n,
                       const float *g, float *p, float *const *state)
{
    float *m = state[0], *v = state[1];
    lamb_moments(h, n, g, m, v);
    double norm_p = 0, norm_r = 0;
    for (size_t i = 0; i < n; i++) {
        float r = lamb_direction(h, s, p[i], m[i], v[i]);
        norm_p += (double)p[i] * p[i];
        norm_r += (double)r * r;
    }
    float ratio = norm_p > 0 && norm_r > 0 ? (float)sqrt(norm_p / norm_r) : 1;
    if (h->second_gen && h->weight_decay <= 0 && !h->always_adapt)
        ratio = 1;
    float rate = s->rate * ratio;
    for (size_t i = 0; i < n; i++)
        p[i] -= rate * lamb_direction(h, s, p[i], m[i], v[i]);
}

const struct rule rule_lamb = {.name = "lamb",
                               .flags = RULE_WHOLE,
                               .states = 2,
                               .scalars = 2,
                               .begin = lamb_begin,
                               .apply = lamb_apply};
