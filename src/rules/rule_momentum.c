/* momentum: g' = rescale * g + l2 * p
 *           v = mu * v + g'; p -= lr * v, or with nesterov p -= lr * (g' + mu * v)
 * Idle steps (without l2): v_j = mu^j v_0, so p -= v_0 * sum_j lr_j mu^j (nesterov: mu^(j+1)). */
#include "rules/rule.h"

#include <math.h>

static void momentum_begin(const struct rule_params *h, float lr, bool sparse, float *scalar,
                           struct rule_step *out)
{
    *out = (struct rule_step){.lr = lr, .rate = lr};
}

RULE_LOOP static void momentum_apply(const struct rule_params *h, const struct rule_step *s,
                                     size_t n, const float *restrict g, float *restrict p,
                                     float *const *state)
{
    float *restrict v = state[0];
    const float mu = h->mu, lr = s->rate, scale = h->rescale, l2 = h->l2;
    if (h->nesterov) {
        for (size_t i = 0; i < n; i++) {
            float d = scale * g[i] + l2 * p[i];
            v[i] = mu * v[i] + d;
            p[i] -= lr * (d + mu * v[i]);
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            v[i] = mu * v[i] + (scale * g[i] + l2 * p[i]);
            p[i] -= lr * v[i];
        }
    }
}

RULE_LOOP static void momentum_idle(const struct rule_params *h, const struct rule_step *s,
                                    size_t n, float *restrict p, float *const *state)
{
    float *restrict v = state[0];
    const float mu = h->mu, lr = s->rate, l2 = h->l2;
    if (h->nesterov) {
        for (size_t i = 0; i < n; i++) {
            float d = l2 * p[i];
            v[i] = mu * v[i] + d;
            p[i] -= lr * (d + mu * v[i]);
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            v[i] = mu * v[i] + l2 * p[i];
            p[i] -= lr * v[i];
        }
    }
}

static bool momentum_plan(const struct rule_params *h, struct rule_plan *out)
{
    /* with l2 an idle parameter feeds its own velocity: no closed form */
    if (h->l2 != 0 || h->mu < 0)
        return false;
    *out = (struct rule_plan){.window = rule_window(h->mu), .terms = 1, .base = {h->mu}};
    return out->window != RULE_NO_REST;
}

static void momentum_weights(const struct rule_params *h, const struct rule_plan *plan, double *w)
{
    double factor = h->nesterov ? h->mu : 1;
    for (uint32_t j = 0; j <= plan->window; j++)
        w[j] = factor * pow(h->mu, j);
}

RULE_LOOP static void momentum_flush(const struct rule_params *h, const struct rule_plan *plan,
                                     const struct rule_gap *gap, size_t n, float *restrict p,
                                     float *const *state)
{
    float *restrict v = state[0];
    const float move = (float)gap->sums[0], power = gap->power[0];
    for (size_t i = 0; i < n; i++) {
        p[i] -= move * v[i];
        v[i] *= power;
    }
}

const struct rule rule_momentum = {
    .name = "momentum",
    .states = 1,
    .begin = momentum_begin,
    .apply = momentum_apply,
    .idle = momentum_idle,
    .plan = momentum_plan,
    .weights = momentum_weights,
    .flush = momentum_flush,
};
