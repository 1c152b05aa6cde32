/* A predictor over a model that this test has saved: what it gives, from several threads and with
 * several batch sizes at the same time. Only public calls. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <skiff/predict.h>
#include <skiff/skiff.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/file.h"

#define THREADS 4
#define RUNS 200

/* y = 2 x0 + 2 x1 + 0.5, saved as PREFIX.pdmodel and .pdiparams. */
static void save_model(const char *prefix)
{
    struct skiff_error err = {0};
    struct skiff_net *net = skiff_net_create();
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(2));
    struct skiff_var *y = skiff_fc(
        net, x, 1, .param_attr = &(struct skiff_param_attr){.initializer = skiff_init_constant(2)},
        .bias_attr = &(struct skiff_param_attr){.initializer = skiff_init_constant(0.5)});
    const char *feeds[] = {"x"}, *targets[] = {skiff_var_name(y)};
    struct skiff_scope *scope = skiff_scope_create();
    struct skiff_executor *e = skiff_executor_create(scope, NULL);
    assert_int_equal(skiff_executor_run(e, skiff_net_startup(net), NULL, 0, NULL, 0, NULL, &err),
                     SKIFF_OK);
    assert_int_equal(
        skiff_save_inference_prefix(scope, skiff_net_main(net), feeds, 1, targets, 1, prefix, &err),
        SKIFF_OK);
    skiff_executor_destroy(e);
    skiff_scope_destroy(scope);
    skiff_net_destroy(net);
}

struct user {
    struct skiff_predictor *p;
    int number, right;
    pthread_t thread;
};

/* Batches of 1 to 5 rows, whose results are all known. */
static void *predict_many(void *arg)
{
    struct user *u = arg;
    struct skiff_tensor *x = skiff_tensor_create("float32", 2, (int64_t[]){1, 2}, NULL), *y = NULL;
    for (int run = 0; run < RUNS; run++) {
        int64_t rows = 1 + (run + u->number) % 5, same = 0;
        skiff_tensor_resize(x, "float32", 2, (int64_t[]){rows, 2}, NULL);
        float *to = skiff_tensor_data(x);
        for (int64_t i = 0; i < 2 * rows; i++)
            to[i] = (float)(run + 1000 * u->number + i);
        const struct skiff_tensor *inputs[] = {x};
        if (skiff_predictor_run(u->p, inputs, &y, NULL) < 0 || skiff_tensor_count(y) != rows)
            continue;
        const float *got = skiff_tensor_data(y);
        for (int64_t i = 0; i < rows; i++)
            same += got[i] == 2 * to[2 * i] + 2 * to[2 * i + 1] + 0.5f;
        u->right += same == rows;
    }
    skiff_tensor_destroy(x);
    skiff_tensor_destroy(y);
    return NULL;
}

static void test_threads_share_a_predictor(void **state)
{
    char dir[] = "/tmp/predictor_test.XXXXXX", prefix[64];
    struct skiff_error err = {0};
    struct user users[THREADS] = {0};
    assert_non_null(mkdtemp(dir));
    snprintf(prefix, sizeof prefix, "%s/model", dir);
    save_model(prefix);
    struct skiff_predictor *p = skiff_predictor_create(prefix, NULL, NULL, &err);
    assert_non_null(p);
    assert_int_equal(skiff_predictor_inputs(p), 1);
    assert_string_equal(skiff_predictor_input(p, 0), "x");
    assert_null(skiff_predictor_input(p, 1));
    assert_int_equal(skiff_predictor_outputs(p), 1);
    assert_non_null(skiff_predictor_output(p, 0));
    assert_null(skiff_predictor_output(p, -1));
    assert_non_null(skiff_program_var(skiff_predictor_program(p), "x"));
    for (int i = 0; i < THREADS; i++) {
        users[i] = (struct user){.p = p, .number = i};
        assert_int_equal(pthread_create(&users[i].thread, NULL, predict_many, &users[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(users[i].thread, NULL);
        assert_int_equal(users[i].right, RUNS);
    }
    skiff_predictor_destroy(p);
    file_remove_tree(dir);
}

static void test_what_is_refused(void **state)
{
    char dir[] = "/tmp/predictor_test.XXXXXX", prefix[64];
    struct skiff_error err = {0};
    struct skiff_tensor *wide = skiff_tensor_create("float32", 2, (int64_t[]){2, 3}, NULL);
    struct skiff_tensor *y = NULL;
    const struct skiff_tensor *inputs[] = {wide}, *none[] = {NULL};
    assert_non_null(mkdtemp(dir));
    snprintf(prefix, sizeof prefix, "%s/model", dir);
    assert_null(skiff_predictor_create(prefix, NULL, NULL, &err));
    assert_non_null(strstr(err.message, prefix));
    assert_null(skiff_predictor_create(NULL, NULL, NULL, &err));
    assert_int_equal(err.code, SKIFF_INVALID);
    save_model(prefix);
    struct skiff_predictor *p = skiff_predictor_create(prefix, NULL, NULL, &err);
    assert_non_null(p);
    assert_true(skiff_predictor_run(p, inputs, &y, &err) < 0);
    assert_non_null(strstr(err.message, "[2, 3]"));
    assert_int_equal(skiff_predictor_run(p, none, &y, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "(x) has no tensor"));
    assert_null(y);
    skiff_tensor_resize(wide, "float32", 2, (int64_t[]){1, 2}, NULL); /* it still works */
    assert_int_equal(skiff_predictor_run(p, inputs, &y, &err), SKIFF_OK);
    assert_int_equal(skiff_tensor_count(y), 1);
    skiff_tensor_destroy(y);
    skiff_tensor_destroy(wide);
    skiff_predictor_destroy(p);
    skiff_predictor_destroy(NULL);
    file_remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_share_a_predictor),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
