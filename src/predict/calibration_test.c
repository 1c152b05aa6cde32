/* Calibrations: what they make of probabilities that are known to be wrong, in which order rows
 * stay, and what is read of files. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "predict/calibration.h"
#include "store/file.h"

#define ROWS 40000

static double logit(double p)
{
    return log(p / (1 - p));
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

struct rows {
    float p[ROWS], label[ROWS];
};

/* Labels of a true probability t, and predictions p with logit(p) = 1.5 logit(t) + 0.7: too sure,
 * and too high. */
static struct rows *wrong_rows(uint32_t seed)
{
    struct rows *r = malloc(sizeof *r);
    struct minstd random;
    minstd_seed(&random, seed);
    for (int i = 0; i < ROWS; i++) {
        double t = 0.02 + 0.5 * minstd_double(&random);
        r->label[i] = minstd_double(&random) < t ? 1 : 0;
        r->p[i] = (float)sigmoid(1.5 * logit(t) + 0.7);
    }
    return r;
}

static struct calibration *fit(enum calibration_method method, const struct rows *r, int n)
{
    struct skiff_error err = {0};
    struct calibration *c = NULL;
    assert_int_equal(calibration_fit(method, r->p, r->label, NULL, n, &c, &err), SKIFF_OK);
    assert_int_equal(calibration_rows(c), n);
    return c;
}

static double log_loss(const struct calibration *c, const struct rows *r)
{
    double sum = 0;
    for (int i = 0; i < ROWS; i++) {
        double p = calibration_apply(c, (double)r->p[i]);
        sum -= log(r->label[i] > 0 ? p : 1 - p);
    }
    return sum / ROWS;
}

static double copc(const struct calibration *c, const struct rows *r)
{
    double positive = 0, predicted = 0;
    for (int i = 0; i < ROWS; i++) {
        positive += (double)r->label[i];
        predicted += calibration_apply(c, (double)r->p[i]);
    }
    return positive / predicted;
}

static void check_method(enum calibration_method method, double close_to)
{
    struct rows *train = wrong_rows(1), *test = wrong_rows(2);
    struct calibration *c = fit(method, train, ROWS);
    assert_true(copc(NULL, test) < 0.85);
    assert_true(fabs(copc(c, test) - 1) < 0.02);
    assert_true(log_loss(c, test) < log_loss(NULL, test) - 0.01);
    for (double t = 0.05; t < 0.5; t += 0.05) {
        double p = calibration_apply(c, sigmoid(1.5 * logit(t) + 0.7));
        assert_true(fabs(p - t) < close_to);
    }
    double last = 0;
    for (int i = 0; i <= 100000; i++) { /* no two become equal */
        double p = calibration_apply(c, 1e-6 + (1 - 2e-6) * i / 100000);
        assert_true(p > last && p < 1);
        last = p;
    }
    calibration_destroy(c);
    free(train);
    free(test);
}

static void test_isotonic(void **state)
{
    check_method(CALIBRATION_ISOTONIC, 0.03);
}

static void test_platt(void **state)
{
    check_method(CALIBRATION_PLATT, 0.01);
}

/* Two pools, whose points are known by hand: (.1 + .2 + .3 + .4) / 4 with no positive, and one of
 * two at .6 and .8, which have fallen. */
static void test_points(void **state)
{
    const float p[] = {.4f, .1f, .8f, .2f, .6f, .3f}, label[] = {0, 0, 0, 0, 1, 0};
    struct calibration *c;
    assert_int_equal(calibration_fit(CALIBRATION_ISOTONIC, p, label, NULL, 6, &c, NULL), SKIFF_OK);
    assert_true(fabs(calibration_apply(c, .25) - .25 / 5) < 1e-6);
    assert_true(fabs(calibration_apply(c, .7) - 1.7 / 3) < 1e-6);
    double middle = (logit(.25) + logit(.7)) / 2, y = (logit(.05) + logit(1.7 / 3)) / 2;
    assert_true(fabs(calibration_apply(c, sigmoid(middle)) - sigmoid(y)) < 1e-6);
    assert_true(calibration_apply(c, 0) > 0 && calibration_apply(c, 1) < 1);
    assert_true(isnan(calibration_apply(c, NAN)));
    calibration_destroy(c);
    assert_true(calibration_apply(NULL, .3) == .3);
}

/* A weight of 2 is the row twice, a weight of 0 none. */
static void test_weights(void **state)
{
    const float p[] = {.1f, .3f, .5f, .7f, .9f}, label[] = {0, 1, 0, 1, 1},
                weight[] = {2, 1, 1, 2, 0};
    const float twice[] = {.1f, .1f, .3f, .5f, .7f, .7f}, labels[] = {0, 0, 1, 0, 1, 1};
    for (int m = CALIBRATION_ISOTONIC; m <= CALIBRATION_PLATT; m++) {
        enum calibration_method method = (enum calibration_method)m;
        struct calibration *a, *b;
        assert_int_equal(calibration_fit(method, p, label, weight, 5, &a, NULL), SKIFF_OK);
        assert_int_equal(calibration_fit(method, twice, labels, NULL, 6, &b, NULL), SKIFF_OK);
        assert_int_equal(calibration_rows(a), 4);
        for (double x = .05; x < 1; x += .1)
            assert_true(fabs(calibration_apply(a, x) - calibration_apply(b, x)) < 1e-6);
        calibration_destroy(a);
        calibration_destroy(b);
    }
}

/* A model that orders rows the wrong way round: calibration does not turn them. */
static void test_reversed(void **state)
{
    const float p[] = {.1f, .2f, .8f, .9f}, label[] = {1, 1, 0, 0};
    for (int m = CALIBRATION_ISOTONIC; m <= CALIBRATION_PLATT; m++) {
        struct calibration *c;
        assert_int_equal(calibration_fit((enum calibration_method)m, p, label, NULL, 4, &c, NULL),
                         SKIFF_OK);
        assert_true(calibration_apply(c, .9) > calibration_apply(c, .1));
        assert_true(fabs(calibration_apply(c, .5) - .5) < .05);
        calibration_destroy(c);
    }
}

static void refused(const float *p, const float *label, const float *weight, int64_t n,
                    const char *text)
{
    struct skiff_error err = {0};
    struct calibration *c = NULL;
    assert_int_equal(calibration_fit(CALIBRATION_PLATT, p, label, weight, n, &c, &err),
                     SKIFF_INVALID);
    assert_string_equal(err.message, text);
    assert_null(c);
}

static void test_refused(void **state)
{
    const float p[] = {.1f, 1.5f}, good[] = {.1f, .2f}, label[] = {0, 1}, zeros[] = {0, 0},
                weight[] = {1, -1};
    refused(p, label, NULL, 2,
            "calibration: row 2 has prediction 1.5; expected a probability from 0 to 1");
    refused(good, zeros, NULL, 2,
            "calibration needs rows of both labels: 0 of 2 rows are positive");
    refused(good, label, weight, 2, "calibration: row 2 has weight -1; expected 0 or more");
}

/* ---- the file ---- */

static void test_file(void **state)
{
    char folder[] = "/tmp/calibration-XXXXXX";
    struct rows *r = wrong_rows(3);
    struct skiff_error err = {0};
    struct calibration *c, *again;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(calibration_load(folder, &c, &err), SKIFF_OK);
    assert_null(c);
    for (int m = CALIBRATION_ISOTONIC; m <= CALIBRATION_PLATT; m++) {
        c = fit((enum calibration_method)m, r, 2000);
        assert_int_equal(calibration_save(c, folder, &err), SKIFF_OK);
        assert_int_equal(calibration_load(folder, &again, &err), SKIFF_OK);
        assert_string_equal(calibration_name(again), calibration_name(c));
        assert_int_equal(calibration_rows(again), 2000);
        for (double x = .001; x < 1; x += .001)
            assert_true(calibration_apply(again, x) == calibration_apply(c, x));
        calibration_destroy(again);
        calibration_destroy(c);
    }
    free(r);
    file_remove_tree(folder);
}

static void bad_file(const char *text, const char *message)
{
    char folder[] = "/tmp/calibration-XXXXXX", path[64];
    struct skiff_error err = {0};
    struct calibration *c = NULL;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/" CALIBRATION_FILE, folder);
    assert_int_equal(file_write(path, text, strlen(text), NULL), SKIFF_OK);
    assert_true(calibration_load(folder, &c, &err) < 0);
    assert_null(c);
    assert_non_null(strstr(err.message, path));
    if (!strstr(err.message, message))
        fail_msg("%s", err.message);
    file_remove_tree(folder);
}

static void test_bad_files(void **state)
{
    bad_file("rows: 3\n", "method is not set; expected isotonic or platt");
    bad_file("method: magic\n", "method");
    bad_file("method: platt\nslope: -1\nshift: 0\n", ":2: slope is -1; expected a positive number");
    bad_file("method: isotonic\nrows: 2\n", "raw has 0 numbers; expected 1 to 100000");
    bad_file("method: isotonic\nraw: [1, 2]\ncalibrated: [1]\n",
             ":3: calibrated has 1 numbers and raw has 2; expected as many");
    bad_file("method: isotonic\nraw: [1, 1]\ncalibrated: [1, 2]\n",
             ":2: raw has 1 after 1; expected ascending numbers");
    bad_file("method: isotonic\nraw: [1, x]\ncalibrated: [1, 2]\n",
             ":2: raw has x; expected a number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_isotonic), cmocka_unit_test(test_platt),
        cmocka_unit_test(test_points),   cmocka_unit_test(test_weights),
        cmocka_unit_test(test_reversed), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_file),     cmocka_unit_test(test_bad_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
