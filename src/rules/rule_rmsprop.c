/* rmsprop: ms = rho ms + (1 - rho) g^2;  mom = mu mom + lr g / sqrt(ms + eps);  p -= mom
 * centered: mg = rho mg + (1 - rho) g, and ms - mg^2 under the root.
 * States: momentum, mean square, mean gradient (used by centered only).
 * Idle steps: mom_j = mu^j mom_0, so p -= mom_0 (mu + mu^2 + ... + mu^k), without any rate. */
#include "rules/rule.h"

#include <math.h>

static void rmsprop_begin(const struct rule_params *h, float lr, bool sparse, float *scalar,
                          struct rule_step *out)
{
    *out = (struct rule_step){.lr = lr, .rate = lr, .epsilon = h->epsilon};
}

RULE_LOOP static void rmsprop_apply(const struct rule_params *h, const struct rule_step *s,
                                    size_t n, const float *restrict g, float *restrict p,
                                    float *const *state)
{
    float *restrict mom = state[0], *restrict ms = state[1];
    const float rho = h->decay, mu = h->mu, lr = s->rate, eps = h->epsilon;
    if (h->centered) {
        float *restrict mg = state[2];
        for (size_t i = 0; i < n; i++) {
            ms[i] = rho * ms[i] + (1 - rho) * (g[i] * g[i]);
            mg[i] = rho * mg[i] + (1 - rho) * g[i];
            mom[i] = mu * mom[i] + lr * g[i] / sqrtf(ms[i] - mg[i] * mg[i] + eps);
            p[i] -= mom[i];
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            ms[i] = rho * ms[i] + (1 - rho) * (g[i] * g[i]);
            mom[i] = mu * mom[i] + lr * g[i] / sqrtf(ms[i] + eps);
            p[i] -= mom[i];
        }
    }
}

RULE_LOOP static void rmsprop_idle(const struct rule_params *h, const struct rule_step *s, size_t n,
                                   float *restrict p, float *const *state)
{
    float *restrict mom = state[0], *restrict ms = state[1];
    const float rho = h->decay, mu = h->mu;
    for (size_t i = 0; i < n; i++) {
        ms[i] *= rho;
        mom[i] *= mu;
        p[i] -= mom[i];
    }
    if (h->centered) {
        float *restrict mg = state[2];
        for (size_t i = 0; i < n; i++)
            mg[i] *= rho;
    }
}

static bool rmsprop_plan(const struct rule_params *h, struct rule_plan *out)
{
    *out = (struct rule_plan){.window = 1, .base = {h->mu, h->decay, h->decay}};
    return h->mu >= 0 && h->decay >= 0;
}

RULE_LOOP static void rmsprop_flush(const struct rule_params *h, const struct rule_plan *plan,
                                    const struct rule_gap *gap, size_t n, float *restrict p,
                                    float *const *state)
{
    float *restrict mom = state[0], *restrict ms = state[1];
    const double mu = h->mu;
    const float run = (float)(mu == 1 ? gap->steps : mu * (1 - pow(mu, gap->steps)) / (1 - mu));
    const float slow = gap->power[0], fade = gap->power[1];
    for (size_t i = 0; i < n; i++) {
        p[i] -= run * mom[i];
        ms[i] *= fade;
        mom[i] *= slow;
    }
    if (h->centered) {
        float *restrict mg = state[2];
        for (size_t i = 0; i < n; i++)
            mg[i] *= fade;
    }
}

const struct rule rule_rmsprop = {
    .name = "rmsprop",
    .states = 3,
    .begin = rmsprop_begin,
    .apply = rmsprop_apply,
    .idle = rmsprop_idle,
    .plan = rmsprop_plan,
    .flush = rmsprop_flush,
};
