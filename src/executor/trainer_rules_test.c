/* Rules from programs; what the trainer says of data that breaks them, and of lost learning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <skiff/skiff.h>

#include "data/dataset.h"
#include "executor/data_rules.h"
#include "executor/trainer.h"

struct job {
    struct skiff_net *net;
    struct skiff_var *loss;
    struct skiff_scope *scope;
    struct schema schema;
    char path[64];
};

static void add_slot(struct job *j, const char *name, enum dtype dtype, int64_t width)
{
    struct shape shape = SHAPE(-1, width);
    assert_int_equal(schema_add(&j->schema, name, dtype, 0, &shape, NULL), SKIFF_OK);
}

/* Two ids side by side looked up in a table of 10, a table of 6 for the second; three classes. */
static void job_open(struct job *j, const char *text, double rate)
{
    struct skiff_error err = {0};
    j->net = skiff_net_create();
    struct skiff_var *a = skiff_data(j->net, "a", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *b = skiff_data(j->net, "b", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *y = skiff_data(j->net, "y", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *both = skiff_concat(j->net, SKIFF_VARS(a, b), 1);
    struct skiff_var *e = skiff_embedding(j->net, skiff_reshape(j->net, both, SKIFF_DIMS(-1, 2, 1)),
                                          10, 4, .param_attr = SKIFF_PARAM(.name = "ten"));
    struct skiff_var *f =
        skiff_embedding(j->net, b, 6, 8, .param_attr = SKIFF_PARAM(.name = "six"));
    struct skiff_var *x =
        skiff_elementwise(j->net, add, skiff_reshape(j->net, e, SKIFF_DIMS(-1, 8)), f);
    struct skiff_var *p = skiff_fc(j->net, x, 3, .act = "softmax");
    j->loss = skiff_mean(j->net, skiff_cross_entropy(j->net, p, y));
    if (skiff_minimize(j->net, j->loss, &err, "sgd", .learning_rate = rate) < 0)
        fail_msg("%s", err.message);
    j->scope = scope_create();
    struct skiff_executor *x0 = executor_create(j->scope, &(struct executor_options){.seed = 1});
    assert_int_equal(executor_run(x0, skiff_net_startup(j->net), NULL, 0, NULL, 0, NULL, &err),
                     SKIFF_OK);
    executor_destroy(x0);
    schema_init(&j->schema);
    add_slot(j, "a", DTYPE_INT64, 1);
    add_slot(j, "b", DTYPE_INT64, 1);
    add_slot(j, "y", DTYPE_INT64, 1);
    strcpy(j->path, "/tmp/skiff-rules-XXXXXX");
    int fd = mkstemp(j->path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void job_close(struct job *j)
{
    unlink(j->path);
    schema_deinit(&j->schema);
    scope_destroy(j->scope);
    skiff_net_destroy(j->net);
}

static void programs_have_rules(void **state)
{
    struct job j;
    struct data_rules r;
    job_open(&j, "", 0.1);
    data_rules_of(skiff_net_main(j.net), &j.schema, &r);
    assert_int_equal(r.slots[0].limit, 10);
    assert_string_equal(r.slots[0].why, "table \"ten\" has 10 rows");
    assert_int_equal(r.slots[1].limit, 6);
    assert_string_equal(r.slots[1].why, "table \"six\" has 6 rows");
    assert_false(r.slots[1].label);
    assert_int_equal(r.slots[2].limit, 3);
    assert_true(r.slots[2].label);
    assert_int_equal(r.slots[2].also, -100);
    rules_deinit(&r);
    job_close(&j);
}

static void train(struct job *j, const struct trainer_options *options, enum skiff_status want,
                  struct skiff_error *err)
{
    struct dataset_config dc;
    struct dataset *d;
    struct trainer_result r;
    const char *path = j->path;
    dataset_config_init(&dc);
    dc.schema = &j->schema;
    dc.batch_size = 2;
    assert_int_equal(dataset_create(&dc, &d, err), SKIFF_OK);
    assert_int_equal(dataset_set_files(d, &path, 1, err), SKIFF_OK);
    assert_int_equal(trainer_train_dataset(j->scope, skiff_net_main(j->net), d, options, &r, err),
                     want);
    dataset_destroy(d);
}

static void says(const struct skiff_error *err, const char *want)
{
    if (!strstr(err->message, want))
        fail_msg("expected %s, found %s", want, err->message);
}

static void bad_values_have_lines(void **state)
{
    struct job j;
    struct skiff_error err = {0};
    struct trainer_options o = {.threads = 1};
    job_open(&j, "1 1 1 2 1 0\n1 1 1 2 1 -100\n1 9 1 5 1 2\n1 1 1 7 1 1\n", 0.1);
    train(&j, &o, SKIFF_RANGE, &err);
    says(&err, ":4: slot \"b\" (2 of 3): expected an id from 0 to 5 (table \"six\" has 6 rows), "
               "found 7");
    job_close(&j);
    job_open(&j, "1 1 1 2 1 3\n", 0.1);
    train(&j, &o, SKIFF_RANGE, &err);
    says(&err, ":1: slot \"y\" (3 of 3): expected a class from 0 to 2 (\"");
    says(&err, "has 3 classes), found 3");
    job_close(&j);
}

/* The loss is watched, or an op refuses a nan: both say that learning has failed, and where. */
static void lost_learning_is_reported(void **state)
{
    struct job j;
    struct skiff_error err = {0};
    const char *text = "1 1 1 2 1 0\n1 1 1 2 1 1\n1 9 1 5 1 2\n1 1 1 2 1 1\n1 1 1 2 1 0\n"
                       "1 1 1 2 1 1\n1 1 1 2 1 0\n1 1 1 2 1 1\n1 1 1 2 1 0\n1 1 1 2 1 1\n";
    job_open(&j, text, 1e38);
    struct trainer_options o = {
        .threads = 1, .loss = skiff_var_name(j.loss), .about = "epoch 7", .advice = "do this"};
    train(&j, &o, SKIFF_RANGE, &err);
    says(&err, "training diverged to NaN in epoch 7, batch ");
    says(&err, " lines ");
    says(&err, "; do this");
    job_close(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_have_rules),
        cmocka_unit_test(bad_values_have_lines),
        cmocka_unit_test(lost_learning_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
