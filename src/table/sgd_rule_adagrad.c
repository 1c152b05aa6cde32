/* adagrad:     w -= rate d sqrt(g0 / (g0 + g2sum)); then g2sum += mean(d^2); one g2sum a part
 * std_adagrad: the same with a g2sum for each weight
 * adagrad_v2:  g2sum += mean(d^2) first; w -= rate d / (sqrt(g2sum) + 1e-8)
 * A scale of 0 makes d infinite or NaN, and the weight a bound. With n = 0 (an embedx part of no
 * weights) the mean is 0 / 0: Paddle keeps the NaN, and so do we. */
#include "table/sgd_rule.h"

#include <math.h>
#include <string.h>

static int one_state(int n)
{
    return 1;
}

static int n_states(int n)
{
    return n;
}

static void zero_one(const struct sgd_params *p, int n, float *state)
{
    state[0] = 0;
}

static void zero_n(const struct sgd_params *p, int n, float *state)
{
    memset(state, 0, (size_t)n * sizeof *state);
}

/* Doubles where Paddle has them. */
static float step(const struct sgd_params *p, float w, double d, float g2sum)
{
    double ratio = sqrt(p->initial_g2sum / (p->initial_g2sum + g2sum));
    return sgd_bound(p, (float)(w - p->rate * d * ratio));
}

static void adagrad_update(const struct sgd_params *p, int n, float *w, float *state,
                           const float *g, float scale)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double d = g[i] / scale;
        w[i] = step(p, w[i], d, state[0]);
        sum += d * d;
    }
    state[0] += (float)(sum / n);
}

static void std_update(const struct sgd_params *p, int n, float *w, float *state, const float *g,
                       float scale)
{
    for (int i = 0; i < n; i++) {
        double d = g[i] / scale;
        w[i] = step(p, w[i], d, state[i]);
        state[i] += (float)(d * d);
    }
}

static void v2_update(const struct sgd_params *p, int n, float *w, float *state, const float *g,
                      float scale)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (double)(g[i] / scale) * (g[i] / scale);
    state[0] += (float)(sum / n);
    double root = sqrt(state[0]) + 1e-8;
    for (int i = 0; i < n; i++)
        w[i] = sgd_bound(p, (float)(w[i] - p->rate * (double)(g[i] / scale) / root));
}

const struct sgd_rule sgd_rule_adagrad = {"adagrad", "SparseAdaGradSGDRule", one_state, zero_one,
                                          adagrad_update};
const struct sgd_rule sgd_rule_std_adagrad = {"std_adagrad", "StdAdaGradSGDRule", n_states, zero_n,
                                              std_update};
const struct sgd_rule sgd_rule_adagrad_v2 = {"adagrad_v2", "SparseAdaGradV2SGDRule", one_state,
                                             zero_one, v2_update};
