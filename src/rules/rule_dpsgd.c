/* dpsgd: s = |g| / clip where |g| > clip, otherwise 1;  x: one Gaussian number of deviation sigma
 *        p -= lr (g / s + x / batch_size)
 * The norm is that of the whole tensor. x is drawn once a step by the polar method from minstd
 * numbers; as in Paddle, a seed gives the same x in every step. */
#include <math.h>

#include "base/rng.h"
#include "rules/rule.h"

static float gaussian(uint32_t seed)
{
    struct minstd r;
    float v1, v2, s;
    minstd_seed(&r, seed);
    do {
        v1 = 2 * minstd_float(&r) - 1;
        v2 = 2 * minstd_float(&r) - 1;
        s = v1 * v1 + v2 * v2;
    } while (s >= 1 || s == 0);
    return v1 * (float)sqrt(-2 * log((double)s) / (double)s);
}

static void dpsgd_begin(const struct rule_params *h, float lr, bool sparse, float *scalar,
                        struct rule_step *out)
{
    uint32_t seed = h->seed ? (uint32_t)h->seed : (uint32_t)rng_entropy();
    *out = (struct rule_step){.lr = lr, .rate = lr, .noise = gaussian(seed) * h->sigma};
}

static void dpsgd_apply(const struct rule_params *h, const struct rule_step *s, size_t n,
                        const float *restrict g, float *restrict p, float *const *state)
{
    float sum = 0, scale = 1;
    for (size_t i = 0; i < n; i++)
        sum += g[i] * g[i];
    if (sqrtf(sum) > h->clip)
        scale = sqrtf(sum) / h->clip;
    for (size_t i = 0; i < n; i++)
        p[i] -= s->rate * (g[i] / scale + s->noise / h->batch_size);
}

const struct rule rule_dpsgd = {
    .name = "dpsgd", .flags = RULE_WHOLE, .begin = dpsgd_begin, .apply = dpsgd_apply};
