/* Training from files through the public header alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <skiff/skiff.h>

struct linreg {
    struct skiff_net *net;
    struct skiff_var *inputs[2], *loss;
    struct skiff_scope *scope;
    struct skiff_executor *exe;
    struct skiff_dataset *data;
};

static void linreg_open(struct linreg *l, const char *kind)
{
    struct skiff_error err = {0};
    const char *file = "tests/data/trainer/linreg.txt";
    l->net = skiff_net_create();
    l->inputs[0] = skiff_data(l->net, "x", SKIFF_DIMS(13));
    l->inputs[1] = skiff_data(l->net, "y", SKIFF_DIMS(1));
    struct skiff_var *p =
        skiff_fc(l->net, l->inputs[0], 1,
                 .param_attr = SKIFF_PARAM(.initializer = skiff_init_constant(0.1)));
    l->loss = skiff_mean(l->net, skiff_square_error_cost(l->net, p, l->inputs[1]));
    assert_int_equal(skiff_minimize(l->net, l->loss, &err, "sgd", .learning_rate = 0.01), SKIFF_OK);
    l->scope = skiff_scope_create();
    l->exe = skiff_executor_create(l->scope, NULL);
    assert_int_equal(
        skiff_executor_run(l->exe, skiff_net_startup(l->net), NULL, 0, NULL, 0, NULL, &err),
        SKIFF_OK);
    l->data = skiff_dataset_create(kind, &err);
    assert_non_null(l->data);
    skiff_dataset_set_vars(l->data, l->inputs, 2);
    skiff_dataset_set_batch_size(l->data, 4);
    skiff_dataset_set_files(l->data, &file, 1);
}

static void linreg_close(struct linreg *l)
{
    skiff_dataset_destroy(l->data);
    skiff_executor_destroy(l->exe);
    skiff_scope_destroy(l->scope);
    skiff_net_destroy(l->net);
}

static double weight_sum(const struct linreg *l)
{
    const float *w = skiff_tensor_data(skiff_scope_find(l->scope, "fc_0.w_0"));
    double sum = 0;
    for (int i = 0; i < 13; i++)
        sum += (double)w[i];
    return sum;
}

struct seen {
    int prints, handled, stops;
    bool has[2];
};

static void see_print(void *user, const char *text)
{
    struct seen *s = user;
    s->prints += !strncmp(text, "loss\t", 5);
}

static void see_handler(void *user, const struct skiff_tensor *const *values)
{
    struct seen *s = user;
    s->handled++;
    s->has[0] = values[0] && skiff_tensor_count(values[0]) == 1;
    s->has[1] = values[1] != NULL;
}

static void files_train(void **state)
{
    static const char *const kinds[] = {"QueueDataset", "InMemoryDataset"};
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct linreg l;
        struct seen seen = {0};
        struct skiff_error err = {0};
        struct skiff_train_result r;
        linreg_open(&l, kinds[k]);
        const char *loss = skiff_var_name(l.loss), *info = "loss";
        const struct skiff_train_options o = {.fetch_list = &loss,
                                              .fetch_info = &info,
                                              .nfetch = 1,
                                              .print_period = 5,
                                              .print = see_print,
                                              .user = &seen};
        if (k) {
            assert_int_equal(skiff_dataset_load(l.data, &err), SKIFF_OK);
            assert_int_equal(skiff_dataset_memory_size(l.data), 80);
        }
        assert_int_equal(skiff_executor_train(l.exe, skiff_net_main(l.net), l.data, &o, &r, &err),
                         SKIFF_OK);
        assert_int_equal(r.samples, 80);
        assert_int_equal(r.batches, 20);
        assert_int_equal(seen.prints, 4);
        assert_true(fabs(weight_sum(&l) + 5.875846) < 2e-5); /* real Paddle's sum */
        double before = weight_sum(&l);
        assert_int_equal(
            skiff_executor_infer(l.exe, skiff_net_main(l.net), l.data, NULL, NULL, &err), SKIFF_OK);
        assert_true(weight_sum(&l) == before);
        linreg_close(&l);
    }
}

static void handler_is_called(void **state)
{
    (void)state;
    struct linreg l;
    struct seen seen = {0};
    struct skiff_error err = {0};
    linreg_open(&l, "QueueDataset");
    skiff_dataset_set_pipe_command(l.data, "while read -r l; do echo \"$l\"; sleep 0.005; done");
    const char *vars[2] = {skiff_var_name(l.loss), "nobody"};
    const struct skiff_train_options o = {.handler_vars = vars,
                                          .nhandler_vars = 2,
                                          .handler_period_secs = 0.1,
                                          .handler = see_handler,
                                          .user = &seen};
    assert_int_equal(skiff_executor_train(l.exe, skiff_net_main(l.net), l.data, &o, NULL, &err),
                     SKIFF_OK);
    assert_true(seen.handled >= 1);
    assert_true(seen.has[0] && !seen.has[1]);
    linreg_close(&l);
}

static bool stop_soon(void *user)
{
    return ++((struct seen *)user)->stops > 3;
}

static void mistakes_are_told(void **state)
{
    (void)state;
    struct linreg l;
    struct seen seen = {0};
    struct skiff_error err = {0};
    struct skiff_train_result r;
    assert_null(skiff_dataset_create("BoxPSDataset", &err));
    assert_non_null(strstr(err.message, "BoxPSDataset"));
    linreg_open(&l, "QueueDataset");
    const struct skiff_program *p = skiff_net_main(l.net);
    skiff_dataset_set(l.data, "formt", "criteo");
    skiff_dataset_set_batch_size(l.data, 4);
    assert_int_equal(skiff_executor_train(l.exe, p, l.data, NULL, NULL, &err), SKIFF_NOT_FOUND);
    assert_non_null(strstr(err.message, "formt"));
    const struct skiff_train_options newer = {.reserved = {0, 1}};
    assert_int_equal(skiff_executor_train(l.exe, p, l.data, &newer, NULL, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "struct skiff_train_options: a reserved field"));
    skiff_dataset_set_batch_size(l.data, 0);
    assert_int_equal(skiff_executor_train(l.exe, p, l.data, NULL, NULL, &err), SKIFF_INVALID);
    skiff_dataset_set_batch_size(l.data, 4);
    assert_int_equal(skiff_executor_train(l.exe, p, NULL, NULL, NULL, &err), SKIFF_INVALID);
    assert_int_equal(skiff_dataset_load(l.data, &err), SKIFF_STATE);
    const char *nowhere = "tests/data/trainer/nowhere";
    skiff_dataset_set_files(l.data, &nowhere, 1);
    assert_int_equal(skiff_executor_train(l.exe, p, l.data, NULL, NULL, &err), SKIFF_NOT_FOUND);
    const char *file = "tests/data/trainer/linreg.txt";
    skiff_dataset_set_files(l.data, &file, 1);
    const struct skiff_train_options o = {.wants_stop = stop_soon, .user = &seen};
    assert_int_equal(skiff_executor_train(l.exe, p, l.data, &o, &r, &err), SKIFF_OK);
    assert_true(r.stopped && r.samples < 80);
    linreg_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_train),
                                       cmocka_unit_test(handler_is_called),
                                       cmocka_unit_test(mistakes_are_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
