/* Every rule against its formula in double precision, over several steps. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rules/rule.h"

enum { N = 37, STEPS = 6 };

struct exact { /* the same state in double */
    double p[N], s[RULE_MAX_STATES][N], scalar[RULE_MAX_SCALARS];
};

typedef void exact_fn(const struct rule_params *h, double lr, const double *g, struct exact *x);

static uint32_t noise_state = 1;
static float noise(void)
{
    noise_state = noise_state * 1664525u + 1013904223u;
    return (float)(noise_state >> 8) / (1 << 23) - 1;
}

static double norm(const double *v)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += v[i] * v[i];
    return sqrt(sum);
}

static void exact_sgd(const struct rule_params *h, double lr, const double *g, struct exact *x)
{
    for (int i = 0; i < N; i++)
        x->p[i] -= lr * g[i];
}

static void exact_momentum(const struct rule_params *h, double lr, const double *g, struct exact *x)
{
    for (int i = 0; i < N; i++) {
        double d = h->rescale * g[i] + h->l2 * x->p[i];
        x->s[0][i] = h->mu * x->s[0][i] + d;
        x->p[i] -= lr * (h->nesterov ? d + h->mu * x->s[0][i] : x->s[0][i]);
    }
}

static void exact_adagrad(const struct rule_params *h, double lr, const double *g, struct exact *x)
{
    for (int i = 0; i < N; i++) {
        x->s[0][i] += g[i] * g[i];
        x->p[i] -= lr * g[i] / (sqrt(x->s[0][i]) + h->epsilon);
    }
}

static void exact_decayed(const struct rule_params *h, double lr, const double *g, struct exact *x)
{
    for (int i = 0; i < N; i++) {
        x->s[0][i] = h->decay * x->s[0][i] + (1 - (double)h->decay) * g[i] * g[i];
        x->p[i] -= lr * g[i] / (sqrt(x->s[0][i]) + h->epsilon);
    }
}

static void exact_adam(const struct rule_params *h, double lr, const double *g, struct exact *x)
{
    double root = sqrt(1 - x->scalar[1]), rate = lr * root / (1 - x->scalar[0]);
    double eps = h->second_gen ? h->epsilon * root : h->epsilon, b1 = h->beta1, b2 = h->beta2;
    for (int i = 0; i < N; i++) {
        x->s[0][i] = b1 * x->s[0][i] + (1 - b1) * g[i];
        x->s[1][i] = b2 * x->s[1][i] + (1 - b2) * g[i] * g[i];
        x->p[i] -= rate * x->s[0][i] / (sqrt(x->s[1][i]) + eps);
    }
    x->scalar[0] *= b1;
    x->scalar[1] *= b2;
}

static void exact_adamw(const struct rule_params *h, double lr, const double *g, struct exact *x)
{
    for (int i = 0; i < N && h->decoupled; i++)
        x->p[i] *= 1 - lr * h->lr_ratio * h->coeff;
    exact_adam(h, lr, g, x);
}

static void exact_d2sum(const struct rule_params *h, double lr, const double *g, struct exact *x)
{
    double d = x->scalar[0] = x->scalar[0] * h->decay + 1, eps = h->epsilon;
    for (int i = 0; i < N; i++) {
        double *mom = &x->s[0][i], *g2 = &x->s[1][i];
        *g2 = *g2 * h->decay + g[i] * g[i];
        *mom = (*mom + g[i]) * h->beta1 - g[i];
        x->p[i] += lr * *mom * sqrt((d + d * eps) / (*g2 + d * eps));
    }
}

static void exact_adamax(const struct rule_params *h, double lr, const double *g, struct exact *x)
{
    double b1 = h->beta1;
    for (int i = 0; i < N; i++) {
        x->s[0][i] = b1 * x->s[0][i] + (1 - b1) * g[i];
        x->s[1][i] = fmax(fabs(g[i]), h->beta2 * x->s[1][i] + h->epsilon);
        x->p[i] -= lr / (1 - x->scalar[0]) * x->s[0][i] / x->s[1][i];
    }
}

static void exact_adadelta(const struct rule_params *h, double lr, const double *g, struct exact *x)
{
    double rho = h->decay, eps = h->epsilon;
    for (int i = 0; i < N; i++) {
        double *e = &x->s[0][i], *u = &x->s[1][i];
        *e = rho * *e + (1 - rho) * g[i] * g[i];
        double d = sqrt((*u + eps) / (*e + eps)) * g[i];
        *u = rho * *u + (1 - rho) * d * d;
        x->p[i] -= h->second_gen ? lr * d : sqrt((*u + eps) / (*e + eps)) * g[i];
    }
}

static void exact_rmsprop(const struct rule_params *h, double lr, const double *g, struct exact *x)
{
    double rho = h->decay;
    for (int i = 0; i < N; i++) {
        double *mom = &x->s[0][i], *ms = &x->s[1][i], *mg = &x->s[2][i];
        *ms = rho * *ms + (1 - rho) * g[i] * g[i];
        if (h->centered)
            *mg = rho * *mg + (1 - rho) * g[i];
        double mean = h->centered ? *mg : 0;
        *mom = h->mu * *mom + lr * g[i] / sqrt(*ms - mean * mean + h->epsilon);
        x->p[i] -= *mom;
    }
}

static void exact_ftrl(const struct rule_params *h, double lr, const double *g, struct exact *x)
{
    for (int i = 0; i < N; i++) {
        double *sq = &x->s[0][i], *lin = &x->s[1][i], n = *sq + g[i] * g[i];
        double a = pow(n, -h->lr_power), b = pow(*sq, -h->lr_power);
        *lin += g[i] - (a - b) / lr * x->p[i];
        double sign = *lin > 0 ? 1 : -1;
        x->p[i] = fabs(*lin) > h->l1 ? (h->l1 * sign - *lin) / (a / lr + 2 * h->l2) : 0;
        *sq = n;
    }
}

static void exact_lamb(const struct rule_params *h, double lr, const double *g, struct exact *x)
{
    double b1 = h->beta1, b2 = h->beta2, r[N];
    double c1 = h->second_gen ? 1 - x->scalar[0] : 1, c2 = h->second_gen ? 1 - x->scalar[1] : 1;
    for (int i = 0; i < N; i++) {
        x->s[0][i] = b1 * x->s[0][i] + (1 - b1) * g[i];
        x->s[1][i] = b2 * x->s[1][i] + (1 - b2) * g[i] * g[i];
        r[i] = x->s[0][i] / c1 / (sqrt(x->s[1][i] / c2) + h->epsilon) + h->weight_decay * x->p[i];
    }
    double ratio = norm(x->p) / norm(r);
    for (int i = 0; i < N; i++)
        x->p[i] -= lr * ratio * r[i];
    x->scalar[0] *= h->second_gen ? b1 : 1;
    x->scalar[1] *= h->second_gen ? b2 : 1;
}

static void exact_lars(const struct rule_params *h, double lr, const double *g, struct exact *x)
{
    double p = norm(x->p), local = lr * h->coeff * p / (norm(g) + h->weight_decay * p);
    for (int i = 0; i < N; i++) {
        x->s[0][i] = h->mu * x->s[0][i] + local * (g[i] + h->weight_decay * x->p[i]);
        x->p[i] -= x->s[0][i];
    }
}

/* without noise */
static void exact_dpsgd(const struct rule_params *h, double lr, const double *g, struct exact *x)
{
    double scale = fmax(norm(g) / h->clip, 1);
    for (int i = 0; i < N; i++)
        x->p[i] -= lr * g[i] / scale;
}

static double prox(const struct rule_params *h, double lr, double v)
{
    double rest = fmax(fabs(v) - lr * h->l1, 0);
    return (v > 0 ? rest : -rest) / (1 + lr * h->l2);
}

static void exact_prox_gd(const struct rule_params *h, double lr, const double *g, struct exact *x)
{
    for (int i = 0; i < N; i++)
        x->p[i] = prox(h, lr, x->p[i] - lr * g[i]);
}

static void exact_prox_ada(const struct rule_params *h, double lr, const double *g, struct exact *x)
{
    for (int i = 0; i < N; i++) {
        x->s[0][i] += g[i] * g[i];
        x->p[i] = prox(h, lr, x->p[i] - lr * g[i] / sqrt(x->s[0][i]));
    }
}

#define ADAM_LIKE .beta1 = 0.9f, .beta2 = 0.999f

static const struct trial {
    const char *name;
    exact_fn *exact;
    struct rule_params h;
} trials[] = {
    {"sgd", exact_sgd, {.rescale = 1}},
    {"momentum", exact_momentum, {.mu = 0.9f, .rescale = 1}},
    {"momentum", exact_momentum, {.mu = 0.9f, .rescale = 0.5f, .nesterov = true, .l2 = 0.1f}},
    {"adagrad", exact_adagrad, {.epsilon = 1e-6f}},
    {"decayed_adagrad", exact_decayed, {.decay = 0.95f, .epsilon = 1e-6f}},
    {"adam", exact_adam, {ADAM_LIKE, .epsilon = 1e-8f}},
    {"adam", exact_adam, {ADAM_LIKE, .epsilon = 0.1f, .second_gen = true}},
    {"adamw",
     exact_adamw,
     {ADAM_LIKE, .epsilon = 1e-8f, .second_gen = true, .decoupled = true, .coeff = 0.2f,
      .lr_ratio = 0.5f}},
    {"adamax", exact_adamax, {ADAM_LIKE, .epsilon = 1e-8f}},
    {"adadelta", exact_adadelta, {.decay = 0.95f, .epsilon = 1e-6f}},
    {"adadelta", exact_adadelta, {.decay = 0.95f, .epsilon = 1e-6f, .second_gen = true}},
    {"rmsprop", exact_rmsprop, {.decay = 0.95f, .epsilon = 1e-6f, .mu = 0.3f}},
    {"rmsprop", exact_rmsprop, {.decay = 0.9f, .epsilon = 0.01f, .mu = 0.5f, .centered = true}},
    {"ftrl", exact_ftrl, {.l1 = 0.1f, .l2 = 0.2f, .lr_power = -0.5f}},
    {"ftrl", exact_ftrl, {.l1 = 0.1f, .l2 = 0.2f, .lr_power = -0.7f}},
    {"lamb", exact_lamb, {ADAM_LIKE, .epsilon = 1e-6f, .weight_decay = 0.01f}},
    {"lamb", exact_lamb, {ADAM_LIKE, .epsilon = 1e-6f, .weight_decay = 0.01f, .second_gen = true}},
    {"lars_momentum",
     exact_lars,
     {.mu = 0.9f, .coeff = 0.01f, .weight_decay = 0.0005f, .rescale = 1}},
    {"adam_d2sum", exact_d2sum, {.beta1 = 0.99f, .decay = 0.9999f, .epsilon = 1e-8f}},
    {"dpsgd", exact_dpsgd, {.clip = 0.5f, .batch_size = 4, .seed = 3}},
    {"dpsgd", exact_dpsgd, {.clip = 1000, .batch_size = 4, .seed = 3}},
    {"proximal_gd", exact_prox_gd, {.l1 = 0.05f, .l2 = 0.1f}},
    {"proximal_adagrad", exact_prox_ada, {.l1 = 0.05f, .l2 = 0.1f}},
};

static void assert_near(const char *name, const char *what, double got, double want)
{
    if (!(fabs(got - want) <= 1e-6 + 2e-5 * fabs(want)))
        fail_msg("%s, %s: got %.9g, expected %.9g", name, what, got, want);
}

static void run_trial(const struct trial *t)
{
    const struct rule *rule = rule_find(t->name);
    assert_non_null(rule);
    float p[N], s[RULE_MAX_STATES][N], scalar[RULE_MAX_SCALARS] = {0.9f, 0.999f}, g[N];
    float *state[RULE_MAX_STATES] = {s[0], s[1], s[2]};
    struct exact x = {.scalar = {0.9f, 0.999f}};
    for (int i = 0; i < N; i++) {
        x.p[i] = p[i] = noise();
        for (int j = 0; j < RULE_MAX_STATES; j++)
            x.s[j][i] = s[j][i] = j < 2 ? fabsf(noise()) + 0.1f : 0.1f * noise();
    }
    for (int step = 0; step < STEPS; step++) {
        double exact_g[N];
        float lr = 0.05f / (float)(step + 1);
        for (int i = 0; i < N; i++)
            exact_g[i] = g[i] = noise();
        struct rule_step scalars;
        rule->begin(&t->h, lr, false, scalar, &scalars);
        rule->apply(&t->h, &scalars, N, g, p, state);
        t->exact(&t->h, lr, exact_g, &x);
    }
    for (int i = 0; i < N; i++) {
        assert_near(t->name, "parameter", p[i], x.p[i]);
        for (int j = 0; j < rule->states; j++)
            assert_near(t->name, "state", s[j][i], x.s[j][i]);
    }
    for (int j = 0; j < rule->scalars; j++)
        assert_near(t->name, "scalar", scalar[j], x.scalar[j]);
}

static void test_formulas(void **unused)
{
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
        run_trial(&trials[i]);
}

static void test_every_rule_has_a_trial(void **unused)
{
    for (int r = 0; r < rule_count(); r++) {
        int found = 0;
        for (size_t i = 0; i < sizeof trials / sizeof *trials; i++)
            found += rule_find(trials[i].name) == rule_at(r);
        if (!found)
            fail_msg("rule %s has no trial", rule_at(r)->name);
    }
    assert_null(rule_find("no such rule"));
}

/* A step with a gradient of zero and an idle step are the same (apart from the epsilon of 2.x). */
static void test_idle_is_zero_gradient(void **unused)
{
    for (size_t t = 0; t < sizeof trials / sizeof *trials; t++) {
        const struct rule *rule = rule_find(trials[t].name);
        struct rule_params h = trials[t].h;
        if (!rule->idle)
            continue;
        h.second_gen = false;
        float a[4][N], b[4][N], zero[N] = {0}, scalar[2] = {0.9f, 0.999f};
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < N; i++)
                a[j][i] = b[j][i] = fabsf(noise()) * (j == 3 ? 0.1f : 1);
        float *sa[] = {a[1], a[2], a[3]}, *sb[] = {b[1], b[2], b[3]};
        struct rule_step s;
        rule->begin(&h, 0.01f, true, scalar, &s);
        rule->apply(&h, &s, N, zero, a[0], sa);
        rule->idle(&h, &s, N, b[0], sb);
        for (int j = 0; j <= rule->states; j++)
            for (int i = 0; i < N && !(j == 3 && !h.centered); i++)
                assert_near(rule->name, "idle", b[j][i], a[j][i]);
    }
}

/* Adam with a sparse gradient takes the powers after their multiplication, dense before. */
static void test_adam_powers(void **unused)
{
    struct rule_params h = {ADAM_LIKE, .epsilon = 1e-8f};
    float dense[] = {0.9f, 0.999f}, sparse[] = {0.9f, 0.999f};
    struct rule_step d, s;
    rule_adam.begin(&h, 1, false, dense, &d);
    rule_adam.begin(&h, 1, true, sparse, &s);
    assert_near("adam", "dense rate", d.rate, sqrt(1 - 0.999f) / (1 - 0.9f));
    assert_near("adam", "sparse rate", s.rate, sqrt(1 - 0.999f * 0.999f) / (1 - 0.81));
    assert_near("adam", "power", dense[0], 0.81);
    assert_near("adam", "power", sparse[1], 0.998001);
}

/* lars adapts the rate where both norms are above 0 (2.x: and there is decay); otherwise the rate
 * itself holds, so that a bias that starts at 0 moves. */
static void test_lars_rate(void **unused)
{
    static const struct {
        bool second_gen;
        float decay, p, g;
        double want; /* p after one step of rate 0.5, coeff 0.1, mu 0 */
    } cases[] = {
        {false, 0.05f, 0, 2, -0.5 * 2},
        {true, 0.05f, 0, 2, -0.5 * 2},
        {false, 0.05f, 3, 0, 3 - 0.5 * 0.05 * 3},
        {false, 0.05f, 3, 2, 3 - 0.5 * 0.1 * 3 / (2 + 0.05 * 3) * (2 + 0.05 * 3)},
        {true, 0.05f, 3, 2, 3 - 0.5 * 0.1 * 3 / (2 + 0.05 * 3) * (2 + 0.05 * 3)},
        {false, 0, 3, 2, 3 - 0.5 * 0.1 * 3 / 2 * 2},
        {true, 0, 3, 2, 3 - 0.5 * 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rule_params h = {.coeff = 0.1f,
                                .weight_decay = cases[i].decay,
                                .rescale = 1,
                                .second_gen = cases[i].second_gen};
        float p = cases[i].p, velocity = 0, *state[] = {&velocity};
        struct rule_step s;
        rule_lars_momentum.begin(&h, 0.5f, false, NULL, &s);
        rule_lars_momentum.apply(&h, &s, 1, &cases[i].g, &p, state);
        assert_near("lars_momentum", "p", p, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lars_rate),
        cmocka_unit_test(test_formulas),
        cmocka_unit_test(test_every_rule_has_a_trial),
        cmocka_unit_test(test_idle_is_zero_gradient),
        cmocka_unit_test(test_adam_powers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
