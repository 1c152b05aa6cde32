/* adadelta: E = rho E + (1 - rho) g^2;  d = sqrt((U + eps) / (E + eps)) g
 *           U' = rho U + (1 - rho) d^2
 *           1.x: p -= sqrt((U' + eps) / (E + eps)) g    (with the average that is already new)
 *                where U' is written to another variable than U: p -= d
 *           2.x: p -= lr d */
#include "rules/rule.h"

#include <math.h>

static void adadelta_begin(const struct rule_params *h, float lr, bool sparse, float *scalar,
                           struct rule_step *out)
{
    *out = (struct rule_step){.lr = lr, .rate = h->second_gen ? lr : 1, .epsilon = h->epsilon};
}

RULE_LOOP static void adadelta_first(float rho, float eps, size_t n, const float *restrict g,
                                     float *restrict p, float *restrict e, float *restrict u)
{
    for (size_t i = 0; i < n; i++) {
        e[i] = rho * e[i] + (1 - rho) * (g[i] * g[i]);
        float d = sqrtf((u[i] + eps) / (e[i] + eps)) * g[i];
        u[i] = rho * u[i] + (1 - rho) * (d * d);
        p[i] -= sqrtf((u[i] + eps) / (e[i] + eps)) * g[i];
    }
}

RULE_LOOP static void adadelta_second(float rho, float eps, float rate, size_t n,
                                      const float *restrict g, float *restrict p, float *restrict e,
                                      float *restrict u)
{
    for (size_t i = 0; i < n; i++) {
        e[i] = rho * e[i] + (1 - rho) * (g[i] * g[i]);
        float d = sqrtf((u[i] + eps) / (e[i] + eps)) * g[i];
        u[i] = rho * u[i] + (1 - rho) * (d * d);
        p[i] -= rate * d;
    }
}

static void adadelta_apply(const struct rule_params *h, const struct rule_step *s, size_t n,
                           const float *g, float *p, float *const *state)
{
    if (h->second_gen || h->apart & 2)
        adadelta_second(h->decay, h->epsilon, s->rate, n, g, p, state[0], state[1]);
    else
        adadelta_first(h->decay, h->epsilon, n, g, p, state[0], state[1]);
}

const struct rule rule_adadelta = {
    .name = "adadelta", .states = 2, .begin = adadelta_begin, .apply = adadelta_apply};
