/* adam:        r = rate sqrt(1 - p2) / (1 - p1), m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2,
 *              w -= r m / (sqrt(v) + eps), p1 *= b1, p2 *= b2;   state m[n] v[n] p1 p2
 * shared_adam: one m and one v for the part: each weight computes its own, the means are kept
 * Gradients are not divided by the shows. */
#include "table/sgd_rule.h"

#include <math.h>
#include <string.h>

static int adam_states(int n)
{
    return 2 * n + 2;
}

static int shared_states(int n)
{
    return 4;
}

static void adam_start(const struct sgd_params *p, int n, float *state)
{
    memset(state, 0, 2 * (size_t)n * sizeof *state);
    state[2 * n] = p->beta1;
    state[2 * n + 1] = p->beta2;
}

static void shared_start(const struct sgd_params *p, int n, float *state)
{
    adam_start(p, 1, state);
}

static float rate_of(const struct sgd_params *p, const float *powers)
{
    return p->rate * sqrtf(1 - powers[1]) / (1 - powers[0]);
}

static void advance(const struct sgd_params *p, float *powers)
{
    powers[0] *= p->beta1;
    powers[1] *= p->beta2;
}

static void adam_update(const struct sgd_params *p, int n, float *w, float *state, const float *g,
                        float scale)
{
    float *m = state, *v = state + n, rate = rate_of(p, state + 2 * n);
    for (int i = 0; i < n; i++) {
        m[i] = p->beta1 * m[i] + (1 - p->beta1) * g[i];
        v[i] = p->beta2 * v[i] + (1 - p->beta2) * g[i] * g[i];
        w[i] = sgd_bound(p, w[i] - rate * (m[i] / (sqrtf(v[i]) + p->epsilon)));
    }
    advance(p, state + 2 * n);
}

static void shared_update(const struct sgd_params *p, int n, float *w, float *state, const float *g,
                          float scale)
{
    double sum_m = 0, sum_v = 0;
    float rate = rate_of(p, state + 2);
    for (int i = 0; i < n; i++) {
        float m = p->beta1 * state[0] + (1 - p->beta1) * g[i];
        float v = p->beta2 * state[1] + (1 - p->beta2) * g[i] * g[i];
        w[i] = sgd_bound(p, w[i] - rate * (m / (sqrtf(v) + p->epsilon)));
        sum_m += m;
        sum_v += v;
    }
    state[0] = (float)(sum_m / n);
    state[1] = (float)(sum_v / n);
    advance(p, state + 2);
}

const struct sgd_rule sgd_rule_adam = {"adam", "SparseAdamSGDRule", adam_states, adam_start,
                                       adam_update};
const struct sgd_rule sgd_rule_shared_adam = {"shared_adam", "SparseSharedAdamSGDRule",
                                              shared_states, shared_start, shared_update};
