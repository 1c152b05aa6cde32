/* proximal_gd:      x = p - lr g
 * proximal_adagrad: m += g^2;  x = p - lr g / sqrt(m)
 * both:             p = sign(x) max(|x| - lr l1, 0) / (1 + lr l2)
 *                   p = x / (1 + lr l2) for l1 = 0 */
#include "rules/rule.h"

#include <math.h>

static void proximal_begin(const struct rule_params *h, float lr, bool sparse, float *scalar,
                           struct rule_step *out)
{
    *out = (struct rule_step){.lr = lr, .rate = lr};
}

static inline float proximal(float x, float lr, float l1, float l2)
{
    float over = 1 + lr * l2;
    if (!(l1 > 0))
        return x / over;
    float rest = fabsf(x) - lr * l1;
    rest = rest > 0 ? rest : 0;
    return (x > 0 ? rest : x < 0 ? -rest : 0) / over;
}

static void proximal_gd_apply(const struct rule_params *h, const struct rule_step *s, size_t n,
                              const float *g, float *p, float *const *state)
{
    for (size_t i = 0; i < n; i++)
        p[i] = proximal(p[i] - s->rate * g[i], s->rate, h->l1, h->l2);
}

static void proximal_adagrad_apply(const struct rule_params *h, const struct rule_step *s, size_t n,
                                   const float *g, float *p, float *const *state)
{
    float *m = state[0];
    for (size_t i = 0; i < n; i++) {
        m[i] += g[i] * g[i];
        p[i] = proximal(p[i] - s->rate * g[i] / sqrtf(m[i]), s->rate, h->l1, h->l2);
    }
}

const struct rule rule_proximal_gd = {
    .name = "proximal_gd", .begin = proximal_begin, .apply = proximal_gd_apply};
const struct rule rule_proximal_adagrad = {.name = "proximal_adagrad",
                                           .states = 1,
                                           .begin = proximal_begin,
                                           .apply = proximal_adagrad_apply};
