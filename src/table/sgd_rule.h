/* SGD rules of Paddle's sparse tables: how a push changes the weights of one part of a row. They
 * are not the optimizers of programs (src/rules): state is kept per row, gradients are divided by
 * the number of shows, weights stay within bounds. Results equal Paddle 2.6's to float rounding.
 *
 *     g: gradient, s: scale (the shows of the push), d = g / s, n: weights of the part
 *
 * Threads: plain functions without state. */
#ifndef TABLE_SGD_RULE_H
#define TABLE_SGD_RULE_H

struct sgd_params {
    float rate;
    float initial_range; /* new weights are uniform in +- this */
    float initial_g2sum;
    float low, high; /* weights are clamped to it; a NaN becomes low */
    float beta1, beta2, epsilon;
};

struct sgd_rule {
    const char *name, *paddle; /* adagrad, SparseAdaGradSGDRule */
    int (*states)(int n);      /* floats in addition to n weights */
    void (*start)(const struct sgd_params *p, int n, float *state);
    void (*update)(const struct sgd_params *p, int n, float *w, float *state, const float *g,
                   float scale);
};

#define SGD_RULE(name) extern const struct sgd_rule sgd_rule_##name;
#include "table/sgd_rule_list.h"
#undef SGD_RULE

/* By either name; NULL: no such rule. */
const struct sgd_rule *sgd_rule_find(const char *name);
const struct sgd_rule *sgd_rule_at(int i); /* NULL: i is the number of rules */
/* Defaults of Paddle's config messages. */
struct sgd_params sgd_rule_defaults(const struct sgd_rule *r);

static inline float sgd_bound(const struct sgd_params *p, float w)
{
    if (!(w >= p->low))
        return p->low;
    return w <= p->high ? w : p->high;
}

#endif
