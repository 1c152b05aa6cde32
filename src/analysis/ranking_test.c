/* AUC, log loss and their variances by rows, against scikit-learn 1.9.1 (roc_auc_score, log_loss)
 * and DeLong's variance computed from all pairs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/ranking.h"

#define ROWS 16

static const float predictions[ROWS] = {.9f, .8f, .8f,  .7f, .7f, .7f, .55f, .5f,
                                        .5f, .4f, .35f, .3f, .3f, .2f, .1f,  .05f};
static const bool labels[ROWS] = {1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0};
static const float weights[ROWS] = {1, 2, .5f, 3, 1, 1, 2, .25f, 4, 1, 1, 1.5f, 2, 1, .5f, 1};

static double order_of(float a, float b)
{
    return a > b ? 1 : a == b ? 0.5 : 0;
}

/* The share of the other class that row i is on the right side of, from all pairs. */
static double place_of(int i)
{
    double sum = 0, n = 0;
    for (int k = 0; k < ROWS; k++) {
        if (labels[k] == labels[i])
            continue;
        sum += labels[i] ? order_of(predictions[i], predictions[k])
                         : order_of(predictions[k], predictions[i]);
        n++;
    }
    return sum / n;
}

static void as_all_pairs_say(void **state)
{
    (void)state;
    struct ranked_rows r;
    struct ranked_row sorted[ROWS];
    double place[ROWS], loss[ROWS], squares[2] = {0}, mean = 0.682539682539683;
    ranked_rows_init(&r, labels, NULL, ROWS);
    assert_true(r.pos == 7 && r.neg == 9);
    ranking_places(&r, predictions, sorted, place);
    for (int i = 0; i < ROWS; i++) {
        assert_true(fabs(place[i] - place_of(i)) < 1e-12);
        squares[labels[i]] += (place[i] - mean) * (place[i] - mean);
    }
    struct ranking_mean m = ranking_of_places(&r, place);
    assert_true(fabs(m.mean - mean) < 1e-12);
    assert_true(fabs(m.variance - squares[1] / 49 - squares[0] / 81) < 1e-12);
    ranking_losses(&r, predictions, loss);
    assert_true(fabs(ranking_of_losses(&r, loss).mean - 0.680692902901632) < 1e-7);
}

static void weights_count(void **state)
{
    (void)state;
    struct ranked_rows r;
    struct ranked_row sorted[ROWS];
    double place[ROWS], loss[ROWS];
    ranked_rows_init(&r, labels, weights, ROWS);
    ranking_places(&r, predictions, sorted, place);
    ranking_losses(&r, predictions, loss);
    assert_true(fabs(ranking_of_places(&r, place).mean - 0.829591836734694) < 1e-12);
    assert_true(fabs(ranking_of_losses(&r, loss).mean - 0.561084382423391) < 1e-7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_all_pairs_say),
                                       cmocka_unit_test(weights_count)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
