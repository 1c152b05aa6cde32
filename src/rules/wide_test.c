/* Rules on float64 against the same rules on float32: some steps from the same values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rules/wide.h"

enum { N = 7, STEPS = 5 };

static const struct rule_params settings = {
    .beta1 = 0.9f,
    .beta2 = 0.99f,
    .epsilon = 1e-6f,
    .mu = 0.8f,
    .decay = 0.9f,
    .l2 = 0.01f,
    .coeff = 0.02f,
    .lr_ratio = 1,
    .weight_decay = 0.1f,
    .rescale = 0.5f,
    .decoupled = true,
    .centered = true,
};

static void both(const struct wide_rule *w, const struct rule_params *h, bool sparse)
{
    const struct rule *r = w->rule;
    float p[N], s[RULE_MAX_STATES][N] = {{0}}, scalar[RULE_MAX_SCALARS] = {h->beta1, h->beta2};
    double q[N], t[RULE_MAX_STATES][N] = {{0}}, number[RULE_MAX_SCALARS] = {h->beta1, h->beta2};
    float *state[RULE_MAX_STATES] = {s[0], s[1], s[2]};
    double *wide[RULE_MAX_STATES] = {t[0], t[1], t[2]};
    for (int i = 0; i < N; i++)
        q[i] = p[i] = sinf((float)i + 1);
    for (int step = 0; step < STEPS; step++) {
        struct rule_step one;
        struct wide_step other;
        float g[N];
        double d[N];
        for (int i = 0; i < N; i++)
            d[i] = g[i] = cosf((float)(i * STEPS + step));
        r->begin(h, 0.05f, sparse, scalar, &one);
        w->begin(h, 0.05f, sparse, number, &other);
        bool idle = r->idle && step == STEPS - 1;
        if (idle)
            r->idle(h, &one, N, p, state);
        else
            r->apply(h, &one, N, g, p, state);
        w->apply(h, &other, N, idle ? NULL : d, q, wide);
    }
    double moved = 0;
    for (int i = 0; i < N; i++) {
        moved += fabs(p[i] - sin(i + 1));
        if (!(fabs(p[i] - q[i]) < 2e-5))
            fail_msg("%s element %d is %.9g, on float32 %.9g", r->name, i, q[i], p[i]);
        for (int j = 0; j < r->states; j++)
            assert_true(fabs(s[j][i] - t[j][i]) < 2e-5);
    }
    assert_true(moved > 1e-3);
    for (int j = 0; j < r->scalars; j++)
        assert_true(fabs(scalar[j] - number[j]) < 1e-6);
}

static void as_on_float32(void **state)
{
    int found = 0;
    for (int i = 0; i < rule_count(); i++) {
        const struct wide_rule *w = wide_rule_find(rule_at(i));
        if (!w)
            continue;
        found++;
        for (int way = 0; way < 8; way++) {
            struct rule_params h = settings;
            h.second_gen = way & 1;
            h.nesterov = way & 2;
            both(w, &h, way & 4);
        }
    }
    assert_int_equal(found, 10);
    assert_null(wide_rule_find(&rule_ftrl));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_on_float32)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
