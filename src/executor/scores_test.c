/* Metrics of every prediction, against numbers that scikit-learn 1.9.1 gives for the same rows
 * (roc_auc_score, average_precision_score, roc_curve, log_loss, confusion_matrix,
 * precision_recall_fscore_support, each with sample_weight). Lift and grouped AUC: by their
 * definitions in NumPy. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "executor/scores.h"

#define ROWS 16

static const float predictions[ROWS] = {.9f, .8f, .8f,  .7f, .7f, .7f, .55f, .5f,
                                        .5f, .4f, .35f, .3f, .3f, .2f, .1f,  .05f};
static const bool labels[ROWS] = {1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0};
static const int groups[ROWS] = {1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 5, 5};
static const double weights[ROWS] = {1, 2, .5, 3, 1, 1, 2, .25, 4, 1, 1, 1.5, 2, 1, .5, 1};

/* The n-th row is row (n * 7) mod 16: the order does not matter. */
static void fill(struct scores *s, const double *weight)
{
    for (int n = 0; n < ROWS; n++) {
        int i = n * 7 % ROWS;
        scores_add(s, predictions[i], labels[i], weight ? weight[i] : 1, (uint64_t)groups[i]);
    }
}

static void near_to(double found, double wanted)
{
    if (!(fabs(found - wanted) < 1e-7))
        fail_msg("found %.12g, scikit-learn has %.12g", found, wanted);
}

/* auc, pr_auc, ks, log loss, normalised entropy, precision, recall, f1, tn, fp, fn, tp, grouped,
 * lifts */
static void compare(const struct score_metrics *m, const double *want)
{
    const double found[] = {
        m->auc,       m->pr_auc,  m->ks,       m->log_loss,  m->normalised_entropy, m->precision,
        m->recall,    m->f1,      m->true_neg, m->false_pos, m->false_neg,          m->true_pos,
        m->group_auc, m->lift[0], m->lift[1],  m->lift[2]};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        near_to(found[i], want[i]);
}

static const double plain[] = {0.682539682539683,
                               0.652525252525253,
                               0.349206349206349,
                               0.680692902901632,
                               0.993256663402336,
                               0.555555555555556,
                               0.714285714285714,
                               0.625,
                               5,
                               4,
                               2,
                               5,
                               0.673076923076923,
                               2.28571428571429,
                               2.28571428571429,
                               1.85714285714286};
static const double weighted[] = {0.829591836734694,
                                  0.779996737828221,
                                  0.692857142857143,
                                  0.561084382423391,
                                  0.842116968980643,
                                  0.491525423728814,
                                  0.828571428571429,
                                  0.617021276595745,
                                  6.5,
                                  7.5,
                                  1.5,
                                  7.25,
                                  0.570776255707763,
                                  2.6,
                                  2.53714285714286,
                                  2.30857142857143};

static void as_scikit_learn(void **state)
{
    (void)state;
    struct scores s = {0};
    struct score_metrics m;
    fill(&s, NULL);
    score_metrics_of(&s, 0.5, true, &m);
    compare(&m, plain);
    assert_int_equal(m.groups, 4); /* group 4 has no positive */
    scores_reset(&s);
    fill(&s, weights);
    score_metrics_of(&s, 0.5, true, &m);
    compare(&m, weighted);
    assert_true(m.weight == 22.75 && m.positives == 8.75);
    scores_deinit(&s);
}

/* Memory for four: equal ones are put together, and the metrics stay as they were. */
static void merged_scores_are_exact(void **state)
{
    (void)state;
    struct scores s = {.most = 2 * ROWS}, twice = {0};
    struct score_metrics m;
    for (int i = 0; i < 9; i++)
        fill(&s, NULL);
    assert_true(s.n <= 2 * ROWS && s.dropped == 0);
    fill(&twice, NULL);
    scores_append(&twice, &s);
    score_metrics_of(&twice, 0.5, true, &m);
    near_to(m.auc, plain[0]);
    near_to(m.pr_auc, plain[1]);
    near_to(m.group_auc, plain[12]);
    assert_true(m.weight == 160);
    scores_deinit(&s);
    scores_deinit(&twice);
}

/* More distinct predictions than there is room for. */
static void many_scores_are_rounded(void **state)
{
    (void)state;
    enum { N = 100000, CAPACITY = 8192 };
    struct scores all = {0}, few = {.most = CAPACITY};
    struct score_metrics a, b;
    uint32_t x = 1;
    for (int i = 0; i < N; i++) {
        x = x * 1664525u + 1013904223u;
        float p = (float)(x >> 8) / (float)(1 << 24);
        x = x * 1664525u + 1013904223u;
        bool click = (float)(x >> 8) / (float)(1 << 24) < p * p;
        scores_add(&all, p, click, 1, 0);
        scores_add(&few, p, click, 1, 0);
    }
    assert_true(few.n <= CAPACITY && few.dropped > 0 && all.n == N);
    score_metrics_of(&all, 0.5, false, &a);
    score_metrics_of(&few, 0.5, false, &b);
    assert_true(a.weight == b.weight && a.positives == b.positives);
    assert_true(fabs(a.auc - b.auc) < 1e-4 && fabs(a.pr_auc - b.pr_auc) < 1e-3);
    assert_true(fabs(a.ks - b.ks) < 1e-3 && fabs(a.log_loss - b.log_loss) < 1e-3);
    scores_deinit(&all);
    scores_deinit(&few);
}

static void one_class_has_no_curve(void **state)
{
    (void)state;
    struct scores s = {0};
    struct score_metrics m;
    scores_add(&s, 0.25f, false, 1, 0);
    score_metrics_of(&s, 0.5, true, &m);
    assert_true(isnan(m.auc) && isnan(m.pr_auc) && isnan(m.ks) && isnan(m.lift[0]));
    assert_true(isnan(m.group_auc) && isnan(m.normalised_entropy) && isnan(m.precision));
    near_to(m.log_loss, -log(0.75));
    scores_reset(&s);
    score_metrics_of(&s, 0.5, true, &m);
    assert_true(m.weight == 0 && isnan(m.log_loss));
    scores_deinit(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_scikit_learn),
        cmocka_unit_test(merged_scores_are_exact),
        cmocka_unit_test(many_scores_are_rounded),
        cmocka_unit_test(one_class_has_no_curve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
