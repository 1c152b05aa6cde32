#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "task/task_metrics.h"

struct numbers {
    struct skiff_net *net;
    struct skiff_model_net vars;
};

static void numbers_open(struct numbers *n)
{
    n->net = skiff_net_create();
    n->vars = (struct skiff_model_net){.loss = skiff_data(n->net, "loss", SKIFF_DIMS(1)),
                                       .predict = skiff_data(n->net, "predict", SKIFF_DIMS(2)),
                                       .label = skiff_data(n->net, "label", SKIFF_DIMS(1))};
}

/* A batch of 4: loss 0.5, predictions and labels as given. */
static void add(struct eval_metrics *t, int thread, const float *p, const int64_t *l)
{
    struct skiff_tensor v[3] = {0};
    struct shape one = SHAPE(1), two = SHAPE(4, 2), label = SHAPE(4, 1);
    assert_int_equal(value_as_tensor(&v[0], DTYPE_FP32, &one, NULL), SKIFF_OK);
    assert_int_equal(value_as_tensor(&v[1], DTYPE_FP32, &two, NULL), SKIFF_OK);
    assert_int_equal(value_as_tensor(&v[2], DTYPE_INT64, &label, NULL), SKIFF_OK);
    tensor_f32(&v[0].tensor)[0] = 0.5f;
    for (int i = 0; i < 4; i++) {
        tensor_f32(&v[1].tensor)[2 * i] = 1 - p[i];
        tensor_f32(&v[1].tensor)[2 * i + 1] = p[i];
        tensor_i64(&v[2].tensor)[i] = l[i];
    }
    eval_metrics_batch(t, thread, 4, v);
    for (int i = 0; i < 3; i++)
        value_deinit(&v[i]);
}

static void sums_are_exact(void **state)
{
    (void)state;
    struct numbers n;
    struct eval_metrics t;
    struct eval_metrics_sum s;
    numbers_open(&n);
    eval_metrics_init(&t, &n.vars, 2);
    assert_int_equal(t.nwatched, 3);
    assert_string_equal(t.watched[1], "predict");
    eval_metrics_read(&t, &s);
    assert_true(isnan(eval_metrics_auc(&t, &s)) && isnan(eval_metrics_loss(&t, &s)));
    add(&t, 0, (const float[]){0.9f, 0.6f, 0.4f, 0.1f}, (const int64_t[]){1, 0, 1, 0});
    add(&t, 1, (const float[]){0.8f, 0.5f, 0.3f, 0.2f}, (const int64_t[]){1, 1, 0, 0});
    eval_metrics_read(&t, &s);
    assert_int_equal(s.samples, 8);
    assert_int_equal(s.batches, 2);
    assert_true(fabs(eval_metrics_loss(&t, &s) - 0.5) < 1e-9);
    /* 16 pairs; wrong: 0.4 and 0.5 below 0.6 */
    assert_true(fabs(eval_metrics_auc(&t, &s) - 14.0 / 16) < 1e-9);
    double sum =
        -(log(0.9) + log(0.4) + log(0.4) + log(0.9) + log(0.8) + log(0.5) + log(0.7) + log(0.8));
    assert_true(fabs(eval_metrics_log_loss(&t, &s) - sum / 8) < 1e-6);
    assert_true(fabs(eval_metrics_copc(&t, &s) - 4 / 3.8) < 1e-6);
    assert_true(isnan(eval_metrics_accuracy(&t, &s)));
    eval_metrics_reset(&t);
    eval_metrics_read(&t, &s);
    assert_int_equal(s.samples, 0);
    eval_metrics_deinit(&t);
    skiff_net_destroy(n.net);
}

static void certain_predictions_are_finite(void **state)
{
    (void)state;
    struct numbers n;
    struct eval_metrics t;
    struct eval_metrics_sum s;
    numbers_open(&n);
    eval_metrics_init(&t, &n.vars, 1);
    add(&t, 0, (const float[]){1, 0, 1, NAN}, (const int64_t[]){1, 1, 0, 1});
    eval_metrics_read(&t, &s);
    assert_int_equal(s.evaluated, 3);
    /* one right, two wrong; 1e-7 is as sure as a prediction can be */
    assert_float_equal(eval_metrics_log_loss(&t, &s), -2 * log(1e-7) / 3, 0.1);
    assert_true(fabs(eval_metrics_auc(&t, &s) - 0.25) <
                1e-9); /* a tie counts half, the other is wrong */
    eval_metrics_deinit(&t);
    skiff_net_destroy(n.net);
}

/* An AUC needs both classes: without them there is none, not one of 0. */
static void one_class_has_no_auc(void **state)
{
    (void)state;
    struct numbers n;
    struct eval_metrics t;
    struct eval_metrics_sum s;
    numbers_open(&n);
    eval_metrics_init(&t, &n.vars, 1);
    eval_metrics_read(&t, &s);
    assert_string_equal(eval_metrics_no_auc(&t, &s), "no labels");
    add(&t, 0, (const float[]){0.1f, 0.2f, 0.3f, 0.4f}, (const int64_t[]){0, 0, 0, 0});
    eval_metrics_read(&t, &s);
    assert_true(isnan(eval_metrics_auc(&t, &s)));
    assert_string_equal(eval_metrics_no_auc(&t, &s), "no clicks");
    assert_true(eval_metrics_log_loss(&t, &s) > 0 && eval_metrics_copc(&t, &s) == 0);
    eval_metrics_reset(&t);
    add(&t, 0, (const float[]){0.1f, 0.2f, 0.3f, 0.4f}, (const int64_t[]){1, 1, 1, 1});
    eval_metrics_read(&t, &s);
    assert_true(isnan(eval_metrics_auc(&t, &s)));
    assert_string_equal(eval_metrics_no_auc(&t, &s), "nothing but clicks");
    add(&t, 0, (const float[]){0.1f, 0.2f, 0.3f, 0.4f}, (const int64_t[]){1, 0, 1, 1});
    eval_metrics_read(&t, &s);
    assert_null(eval_metrics_no_auc(&t, &s));
    assert_false(isnan(eval_metrics_auc(&t, &s)));
    eval_metrics_deinit(&t);
    skiff_net_destroy(n.net);
}

static void sums_of_losses_count_once(void **state)
{
    (void)state;
    struct numbers n;
    struct eval_metrics t;
    struct eval_metrics_sum s;
    numbers_open(&n);
    n.vars.loss_is_sum = true;
    n.vars.not_probability = true;
    eval_metrics_init(&t, &n.vars, 1);
    add(&t, 0, (const float[]){1, 0, 1, 0}, (const int64_t[]){1, 0, 1, 0});
    eval_metrics_read(&t, &s);
    assert_true(fabs(eval_metrics_loss(&t, &s) - 0.125) < 1e-9);
    assert_true(eval_metrics_auc(&t, &s) == 1.0);
    assert_true(isnan(eval_metrics_log_loss(&t, &s)) && isnan(eval_metrics_copc(&t, &s)));
    eval_metrics_deinit(&t);
    skiff_net_destroy(n.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact), cmocka_unit_test(certain_predictions_are_finite),
        cmocka_unit_test(one_class_has_no_auc), cmocka_unit_test(sums_of_losses_count_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
