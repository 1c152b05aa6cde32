/* Update rules on float64 (wide.h), for parameters of that type. The formulas stand at the heads of
 * rule_<name>.c; here they are written once more on doubles, one parameter at a time.
 *
 * Paddle computes in the parameter's type, so a conversion to float32 and back would give other
 * results. Rules without a float64 form are not in the table. wide_test.c compares each rule with
 * its float32 form. */
#include "rules/wide.h"

#include <math.h>

static void plain_begin(const struct rule_params *h, double lr, bool sparse, double *scalar,
                        struct wide_step *out)
{
    *out = (struct wide_step){.lr = lr, .rate = lr, .epsilon = h->epsilon};
}

static void sgd_apply(const struct rule_params *h, const struct wide_step *s, size_t n,
                      const double *g, double *p, double *const *state)
{
    for (size_t i = 0; i < n; i++)
        p[i] -= s->rate * g[i];
}

static void momentum_apply(const struct rule_params *h, const struct wide_step *s, size_t n,
                           const double *g, double *p, double *const *state)
{
    double *v = state[0];
    const double mu = h->mu, scale = h->rescale, l2 = h->l2;
    for (size_t i = 0; i < n; i++) {
        double d = (g ? scale * g[i] : 0) + l2 * p[i];
        v[i] = mu * v[i] + d;
        p[i] -= s->rate * (h->nesterov ? d + mu * v[i] : v[i]);
    }
}

static void adagrad_apply(const struct rule_params *h, const struct wide_step *s, size_t n,
                          const double *g, double *p, double *const *state)
{
    double *m = state[0];
    for (size_t i = 0; i < n; i++) {
        m[i] += g[i] * g[i];
        p[i] -= s->rate * g[i] / (sqrt(m[i]) + s->epsilon);
    }
}

static void decayed_adagrad_apply(const struct rule_params *h, const struct wide_step *s, size_t n,
                                  const double *g, double *p, double *const *state)
{
    double *m = state[0];
    const double d = h->decay;
    for (size_t i = 0; i < n; i++) {
        m[i] = d * m[i] + (1 - d) * (g[i] * g[i]);
        p[i] -= s->rate * g[i] / (sqrt(m[i]) + s->epsilon);
    }
}

static void adadelta_begin(const struct rule_params *h, double lr, bool sparse, double *scalar,
                           struct wide_step *out)
{
    plain_begin(h, h->second_gen ? lr : 1, sparse, scalar, out);
}

static void adadelta_apply(const struct rule_params *h, const struct wide_step *s, size_t n,
                           const double *g, double *p, double *const *state)
{
    double *e = state[0], *u = state[1];
    const double rho = h->decay, eps = h->epsilon;
    for (size_t i = 0; i < n; i++) {
        e[i] = rho * e[i] + (1 - rho) * (g[i] * g[i]);
        double d = sqrt((u[i] + eps) / (e[i] + eps)) * g[i];
        u[i] = rho * u[i] + (1 - rho) * (d * d);
        p[i] -=
            h->second_gen || h->apart & 2 ? s->rate * d : sqrt((u[i] + eps) / (e[i] + eps)) * g[i];
    }
}

static void adam_begin(const struct rule_params *h, double lr, bool sparse, double *scalar,
                       struct wide_step *out)
{
    double b1 = scalar[0], b2 = scalar[1];
    scalar[0] *= h->beta1;
    scalar[1] *= h->beta2;
    if (sparse) {
        b1 = scalar[0];
        b2 = scalar[1];
    }
    double root = sqrt(1 - b2);
    *out = (struct wide_step){
        .lr = lr,
        .rate = lr * root / (1 - b1),
        .epsilon = h->second_gen ? h->epsilon * root : h->epsilon,
    };
}

static void adam_apply(const struct rule_params *h, const struct wide_step *s, size_t n,
                       const double *g, double *p, double *const *state)
{
    double *m = state[0], *v = state[1];
    const double b1 = h->beta1, b2 = h->beta2, eps = g ? s->epsilon : h->epsilon;
    for (size_t i = 0; i < n; i++) {
        double d = g ? g[i] : 0;
        m[i] = b1 * m[i] + (1 - b1) * d;
        v[i] = b2 * v[i] + (1 - b2) * (d * d);
        p[i] -= s->rate * (m[i] / (sqrt(v[i]) + eps));
    }
}

static void adamw_apply(const struct rule_params *h, const struct wide_step *s, size_t n,
                        const double *g, double *p, double *const *state)
{
    if (h->decoupled)
        for (size_t i = 0; i < n; i++)
            p[i] *= 1 - s->lr * h->lr_ratio * h->coeff;
    adam_apply(h, s, n, g, p, state);
}

static void adamax_begin(const struct rule_params *h, double lr, bool sparse, double *scalar,
                         struct wide_step *out)
{
    plain_begin(h, lr / (1 - scalar[0]), sparse, scalar, out);
}

static void adamax_apply(const struct rule_params *h, const struct wide_step *s, size_t n,
                         const double *g, double *p, double *const *state)
{
    double *m = state[0], *u = state[1];
    const double b1 = h->beta1, b2 = h->beta2, eps = h->epsilon;
    for (size_t i = 0; i < n; i++) {
        double d = g ? g[i] : 0;
        m[i] = b1 * m[i] + (1 - b1) * d;
        u[i] = fmax(fabs(d), b2 * u[i] + eps);
        p[i] -= s->rate * (m[i] / u[i]);
    }
}

static void rmsprop_apply(const struct rule_params *h, const struct wide_step *s, size_t n,
                          const double *g, double *p, double *const *state)
{
    double *mom = state[0], *ms = state[1], *mg = state[2];
    const double rho = h->decay, mu = h->mu;
    for (size_t i = 0; i < n; i++) {
        double d = g ? g[i] : 0, mean = 0;
        ms[i] = rho * ms[i] + (1 - rho) * (d * d);
        if (h->centered)
            mean = mg[i] = rho * mg[i] + (1 - rho) * d;
        mom[i] = mu * mom[i] + (g ? s->rate * d / sqrt(ms[i] - mean * mean + s->epsilon) : 0);
        p[i] -= mom[i];
    }
}

static void lamb_begin(const struct rule_params *h, double lr, bool sparse, double *scalar,
                       struct wide_step *out)
{
    *out = (struct wide_step){.lr = lr, .rate = lr, .epsilon = h->epsilon, .bias1 = 1, .bias2 = 1};
    if (!h->second_gen)
        return;
    out->bias1 = 1 - scalar[0];
    out->bias2 = 1 - scalar[1];
    scalar[0] *= h->beta1;
    scalar[1] *= h->beta2;
}

static double lamb_direction(const struct rule_params *h, const struct wide_step *s, double p,
                             double m, double v)
{
    return (m / s->bias1) / (sqrt(v / s->bias2) + s->epsilon) + h->weight_decay * p;
}

static void lamb_apply(const struct rule_params *h, const struct wide_step *s, size_t n,
                       const double *g, double *p, double *const *state)
{
    double *m = state[0], *v = state[1], norm_p = 0, norm_r = 0;
    const double b1 = h->beta1, b2 = h->beta2;
    for (size_t i = 0; i < n; i++) {
        m[i] = b1 * m[i] + (1 - b1) * g[i];
        v[i] = b2 * v[i] + (1 - b2) * (g[i] * g[i]);
        double r = lamb_direction(h, s, p[i], m[i], v[i]);
        norm_p += p[i] * p[i];
        norm_r += r * r;
    }
    double ratio = norm_p > 0 && norm_r > 0 ? sqrt(norm_p / norm_r) : 1;
    if (h->second_gen && h->weight_decay <= 0 && !h->always_adapt)
        ratio = 1;
    for (size_t i = 0; i < n; i++)
        p[i] -= s->rate * ratio * lamb_direction(h, s, p[i], m[i], v[i]);
}

static const struct wide_rule wide_rules[] = {
    {&rule_sgd, plain_begin, sgd_apply},
    {&rule_momentum, plain_begin, momentum_apply},
    {&rule_adagrad, plain_begin, adagrad_apply},
    {&rule_decayed_adagrad, plain_begin, decayed_adagrad_apply},
    {&rule_adadelta, adadelta_begin, adadelta_apply},
    {&rule_adam, adam_begin, adam_apply},
    {&rule_adamw, adam_begin, adamw_apply},
    {&rule_adamax, adamax_begin, adamax_apply},
    {&rule_rmsprop, plain_begin, rmsprop_apply},
    {&rule_lamb, lamb_begin, lamb_apply},
};

const struct wide_rule *wide_rule_find(const struct rule *rule)
{
    for (size_t i = 0; i < sizeof wide_rules / sizeof *wide_rules; i++)
        if (wide_rules[i].rule == rule)
            return &wide_rules[i];
    return NULL;
}
