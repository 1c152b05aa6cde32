/* Training from files through the public header alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* The text has these lines. */
static void expect_lines(const struct skiff_metrics_sources *from, const char *const *lines, int n)
{
    char *text = skiff_metrics_text(from);
    for (int i = 0; i < n; i++)
        if (!strstr(text, lines[i]))
            fail_msg("expected %sin:\n%s", lines[i], text);
    free(text);
}

static void counts_what_it_does(void **state)
{
    static const char *const trained[] = {"\nskiff_train_batches_total{work=\"train\"} 40\n",
                                          "\nskiff_train_samples_total{work=\"train\"} 160\n",
                                          "\nskiff_train_samples_total{work=\"evaluate\"} 80\n",
                                          "\nskiff_step_seconds_count{part=\"read\"} 40\n",
                                          "\nskiff_step_seconds_count{part=\"compute\"} 40\n",
                                          "\nskiff_data_files_total 3\n",
                                          "\nskiff_data_samples_total 240\n",
                                          "\nskiff_data_bad_lines_total{kind=\"form\"} 0\n",
                                          "\nskiff_memory_peak_bytes "};
    (void)state;
    struct linreg l;
    struct skiff_error err = {0};
    linreg_open(&l, "QueueDataset");
    const struct skiff_program *main = skiff_net_main(l.net);
    struct skiff_metrics_sources from = {.executor = l.exe, .program = main, .dataset = l.data};
    for (int epoch = 0; epoch < 2; epoch++)
        assert_int_equal(skiff_executor_train(l.exe, main, l.data, NULL, NULL, &err), SKIFF_OK);
    skiff_dataset_set(l.data, "drop_last", "1"); /* it is made anew, and goes on counting */
    assert_int_equal(skiff_executor_infer(l.exe, main, l.data, NULL, NULL, &err), SKIFF_OK);
    expect_lines(&from, trained, sizeof trained / sizeof *trained);
    char *memory = skiff_metrics_text(NULL);
    assert_non_null(strstr(memory, "\nskiff_memory_bytes "));
    assert_null(strstr(memory, "skiff_train"));
    free(memory);
    linreg_close(&l);
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

static void mistakes_are_reported(void **state)
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
    const char *unwritable = "tests/data/trainer/nowhere";
    skiff_dataset_set_files(l.data, &unwritable, 1);
    assert_int_equal(skiff_executor_train(l.exe, p, l.data, NULL, NULL, &err), SKIFF_NOT_FOUND);
    const char *file = "tests/data/trainer/linreg.txt";
    skiff_dataset_set_files(l.data, &file, 1);
    const struct skiff_train_options o = {.wants_stop = stop_soon, .user = &seen};
    assert_int_equal(skiff_executor_train(l.exe, p, l.data, &o, &r, &err), SKIFF_OK);
    assert_true(r.stopped && r.samples < 80);
    linreg_close(&l);
}

/* 40 rows of two numbers: the first says the click, but for 4 that have none. */
static void write_clicks(const char *path)
{
    FILE *f = fopen(path, "w");
    for (int i = 0; i < 40; i++)
        fprintf(f, "2 %d 0 1 %d\n", i % 2, i % 2 && i % 10 != 9);
    fclose(f);
}

/* The numbers of a pass: those of the result, of the scope, and by hand from predictions. */
static void test_metrics(void **state)
{
    struct skiff_error err = {0};
    char path[] = "/tmp/skiff-api-XXXXXX";
    close(mkstemp(path));
    write_clicks(path);
    struct skiff_net *net = skiff_net_create();
    struct skiff_var *in[2] = {skiff_data(net, "x", SKIFF_DIMS(2)),
                               skiff_data(net, "click", SKIFF_DIMS(1), .dtype = "int64")};
    struct skiff_var *p = skiff_fc(net, in[0], 2, .act = "softmax");
    struct skiff_var *loss = skiff_mean(net, skiff_cross_entropy(net, p, in[1]));
    struct skiff_auc auc = skiff_layer_auc(net, p, in[1], NULL);
    assert_int_equal(skiff_minimize(net, loss, &err, "sgd", .learning_rate = 0.5), SKIFF_OK);
    struct skiff_scope *scope = skiff_scope_create();
    struct skiff_executor *exe = skiff_executor_create(scope, NULL);
    assert_int_equal(skiff_executor_run(exe, skiff_net_startup(net), NULL, 0, NULL, 0, NULL, &err),
                     SKIFF_OK);
    const char *files[] = {path, path};
    struct skiff_dataset *data = skiff_dataset_create("QueueDataset", &err);
    skiff_dataset_set_vars(data, in, 2);
    skiff_dataset_set_batch_size(data, 8);
    skiff_dataset_set_threads(data, 2);
    skiff_dataset_set_files(data, files, 2);
    assert_null(skiff_scope_find(scope, skiff_var_name(auc.auc)));
    struct skiff_train_result first, last, evaluated;
    const struct skiff_program *main = skiff_net_main(net);
    assert_int_equal(skiff_executor_train(exe, main, data, NULL, &first, &err), SKIFF_OK);
    for (int i = 0; i < 20; i++)
        assert_int_equal(skiff_executor_train(exe, main, data, NULL, &last, &err), SKIFF_OK);
    assert_int_equal(last.samples, 80);
    assert_true(last.loss < first.loss);
    assert_true(last.auc > 0.8);                         /* the model changes from batch to batch */
    assert_true(fabs(last.loss - last.log_loss) < 1e-4); /* cross entropy is the log loss */
    assert_true(last.copc > 0.8 && last.copc < 1.25);

    /* evaluation counts afresh: the scope's metric is that of the pass, as the result's */
    assert_int_equal(skiff_executor_infer(exe, main, data, NULL, &evaluated, &err), SKIFF_OK);
    const struct skiff_tensor *found = skiff_scope_find(scope, skiff_var_name(auc.auc));
    assert_non_null(found);
    assert_string_equal(skiff_tensor_dtype(found), "float64");
    assert_true(fabs(*(const double *)skiff_tensor_data(found) - evaluated.auc) < 1e-3);
    assert_true(fabs(evaluated.auc - 22.0 / 24) < 1e-3); /* 16 clicks above 20 rows, beside 4 */

    skiff_dataset_destroy(data);
    skiff_executor_destroy(exe);
    skiff_scope_destroy(scope);
    skiff_net_destroy(net);
    unlink(path);
}

/* A program without an auc op, and without a loss, has no such numbers. */
static void test_no_metrics(void **state)
{
    struct linreg l;
    struct skiff_train_result r;
    struct skiff_error err = {0};
    linreg_open(&l, "QueueDataset");
    assert_int_equal(skiff_executor_train(l.exe, skiff_net_main(l.net), l.data, NULL, &r, &err),
                     SKIFF_OK);
    assert_true(r.loss > 0 && isnan(r.auc) && isnan(r.log_loss) && isnan(r.copc));
    linreg_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_train),       cmocka_unit_test(counts_what_it_does),
        cmocka_unit_test(test_metrics),      cmocka_unit_test(test_no_metrics),
        cmocka_unit_test(handler_is_called), cmocka_unit_test(mistakes_are_reported)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
