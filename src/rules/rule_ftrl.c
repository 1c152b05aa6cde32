/* ftrl: n = sq + g^2;  sigma = (n^-lp - sq^-lp) / lr;  lin += g - sigma p
 *       p = |lin| > l1 ? (l1 sign(lin) - lin) / (n^-lp / lr + 2 l2) : 0;  sq = n
 * lp is lr_power; -0.5 makes the powers square roots. */
#include "rules/rule.h"

#include <math.h>

static void ftrl_begin(const struct rule_params *h, float lr, bool sparse, float *scalar,
                       struct rule_step *out)
{
    *out = (struct rule_step){.lr = lr, .rate = lr};
}

static float ftrl_shrink(float lin, float root, float lr, float l1, float l2)
{
    if (!(fabsf(lin) > l1))
        return 0;
    return ((lin > 0 ? l1 : -l1) - lin) / (root / lr + 2 * l2);
}

static void ftrl_apply(const struct rule_params *h, const struct rule_step *s, size_t n,
                       const float *g, float *p, float *const *state)
{
    float *sq = state[0], *lin = state[1];
    const float lr = s->rate;
    const bool root = h->lr_power == -0.5f;
    for (size_t i = 0; i < n; i++) {
        float now = sq[i] + g[i] * g[i];
        float a = root ? sqrtf(now) : powf(now, -h->lr_power);
        float b = root ? sqrtf(sq[i]) : powf(sq[i], -h->lr_power);
        lin[i] += g[i] - (a - b) / lr * p[i];
        p[i] = ftrl_shrink(lin[i], a, lr, h->l1, h->l2);
        sq[i] = now;
    }
}

const struct rule rule_ftrl = {
    .name = "ftrl", .states = 2, .begin = ftrl_begin, .apply = ftrl_apply};
