/* adamax: m = b1 m + (1 - b1) g;  u = max(|g|, b2 u + eps);  p -= lr / (1 - b1pow) * m / u
 * The power of beta1 is advanced by its owner, not by the rule.
 * Idle steps: u_j = b2^j (u_0 - c) + c with c = eps / (1 - b2); the movement dies away as
 * (b1 / b2)^j, so flush walks through the steps, no further than the window. */
#include "rules/rule.h"

#include <math.h>

static void adamax_begin(const struct rule_params *h, float lr, bool sparse, float *scalar,
                         struct rule_step *out)
{
    *out = (struct rule_step){.lr = lr, .rate = lr / (1 - scalar[0]), .epsilon = h->epsilon};
}

RULE_LOOP static void adamax_apply(const struct rule_params *h, const struct rule_step *s, size_t n,
                                   const float *restrict g, float *restrict p, float *const *state)
{
    float *restrict m = state[0], *restrict u = state[1];
    const float b1 = h->beta1, b2 = h->beta2, rate = s->rate, eps = h->epsilon;
    for (size_t i = 0; i < n; i++) {
        float a = fabsf(g[i]), b = b2 * u[i] + eps;
        m[i] = b1 * m[i] + (1 - b1) * g[i];
        u[i] = a > b ? a : b;
        p[i] -= rate * (m[i] / u[i]);
    }
}

RULE_LOOP static void adamax_idle(const struct rule_params *h, const struct rule_step *s, size_t n,
                                  float *restrict p, float *const *state)
{
    float *restrict m = state[0], *restrict u = state[1];
    const float b1 = h->beta1, b2 = h->beta2, rate = s->rate, eps = h->epsilon;
    for (size_t i = 0; i < n; i++) {
        m[i] *= b1;
        u[i] = b2 * u[i] + eps;
        p[i] -= rate * (m[i] / u[i]);
    }
}

static bool adamax_plan(const struct rule_params *h, struct rule_plan *out)
{
    if (h->beta1 < 0 || !(h->beta2 > 0) || !(h->beta2 < 1) || !(h->epsilon > 0))
        return false;
    *out = (struct rule_plan){.window = rule_window((double)h->beta1 / h->beta2),
                              .base = {h->beta1, h->beta2}};
    return out->window != RULE_NO_REST;
}

static void adamax_flush(const struct rule_params *h, const struct rule_plan *plan,
                         const struct rule_gap *gap, size_t n, float *p, float *const *state)
{
    float *m = state[0], *u = state[1];
    const float b1 = h->beta1, b2 = h->beta2, eps = h->epsilon, rest = eps / (1 - b2);
    uint32_t steps = gap->steps < plan->window ? gap->steps : plan->window;
    for (size_t i = 0; i < n; i++) {
        float mi = m[i], ui = u[i], sum = 0;
        for (uint32_t j = 1; j <= steps && mi != 0; j++) {
            mi *= b1;
            ui = b2 * ui + eps;
            sum += gap->rates[(gap->first + j) & gap->mask] * (mi / ui);
        }
        p[i] -= sum;
        m[i] *= gap->power[0];
        u[i] = (u[i] - rest) * gap->power[1] + rest;
    }
}

const struct rule rule_adamax = {
    .name = "adamax",
    .states = 2,
    .scalars = 1,
    .begin = adamax_begin,
    .apply = adamax_apply,
    .idle = adamax_idle,
    .plan = adamax_plan,
    .flush = adamax_flush,
};
