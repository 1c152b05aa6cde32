/* naive: w -= rate g */
#include "table/sgd_rule.h"

static int naive_states(int n)
{
    return 0;
}

static void naive_start(const struct sgd_params *p, int n, float *state) {}

static void naive_update(const struct sgd_params *p, int n, float *w, float *state, const float *g,
                         float scale)
{
    for (int i = 0; i < n; i++)
        w[i] = sgd_bound(p, w[i] - p->rate * g[i]);
}

const struct sgd_rule sgd_rule_naive = {"naive", "SparseNaiveSGDRule", naive_states, naive_start,
                                        naive_update};
