/* Tensors, scopes, state files, reading datasets by hand and metrics of the public headers. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>
#include <skiff/skiff.h>

static void test_lod(void **state)
{
    struct skiff_error err;
    struct skiff_tensor *t = skiff_tensor_create("float32", 2, (int64_t[]){5, 1}, &err);
    int64_t n;
    assert_string_equal(skiff_tensor_kind(t), "tensor");
    assert_int_equal(
        skiff_tensor_set_lod(t, 2, (int64_t[]){3, 4}, (int64_t[]){0, 2, 3, 0, 1, 3, 5}, &err),
        SKIFF_OK);
    assert_int_equal(skiff_tensor_lod_levels(t), 2);
    assert_int_equal(skiff_tensor_lod(t, 1, &n)[3], 5);
    assert_int_equal(n, 4);
    assert_true(skiff_tensor_set_lod(t, 1, (int64_t[]){2}, (int64_t[]){0, 4}, &err) < 0);
    assert_int_equal(skiff_tensor_lod_levels(t), 2);
    assert_int_equal(skiff_tensor_set_lod(t, 0, NULL, NULL, &err), SKIFF_OK);
    assert_int_equal(skiff_tensor_lod_levels(t), 0);
    skiff_tensor_destroy(t);
}

static void test_borrow_and_rows(void **state)
{
    struct skiff_error err;
    float memory[4] = {1, 2, 3, 4};
    int64_t *ids;
    size_t n;
    struct skiff_tensor *t = skiff_tensor_create("float32", 1, (int64_t[]){0}, &err);
    struct skiff_tensor *copy = skiff_tensor_create("float32", 1, (int64_t[]){0}, &err);
    assert_int_equal(skiff_tensor_borrow(t, "float32", 2, (int64_t[]){2, 2}, memory, &err),
                     SKIFF_OK);
    assert_ptr_equal(skiff_tensor_data(t), memory);
    assert_int_equal(skiff_tensor_copy(copy, t, &err), SKIFF_OK);
    memory[0] = 9;
    assert_true(((float *)skiff_tensor_data(copy))[0] == 1);
    assert_int_equal(
        skiff_tensor_resize_rows(copy, "float32", 2, (int64_t[]){2, 3}, 10, &ids, &err), SKIFF_OK);
    ids[0] = 7, ids[1] = 3;
    assert_string_equal(skiff_tensor_kind(copy), "rows");
    assert_int_equal(skiff_tensor_height(copy), 10);
    assert_int_equal(skiff_tensor_rows(copy, &n)[0], 7);
    assert_int_equal(n, 2);
    assert_int_equal(skiff_tensor_borrow(t, "float31", 1, (int64_t[]){1}, memory, &err),
                     SKIFF_DTYPE);
    skiff_tensor_destroy(t);
    skiff_tensor_destroy(copy);
}

static void count_name(void *user, const char *name)
{
    ++*(int *)user;
}

static void test_scopes(void **state)
{
    struct skiff_scope *s = skiff_scope_create(), *child = skiff_scope_create_child(s);
    int names = 0;
    assert_null(skiff_scope_peek(s, "a"));
    struct skiff_tensor *a = skiff_scope_var(s, "a");
    assert_string_equal(skiff_tensor_kind(a), "none");
    assert_null(skiff_scope_find(s, "a"));
    assert_ptr_equal(skiff_scope_var(child, "a"), a);
    skiff_scope_var(child, "b");
    assert_null(skiff_scope_peek(s, "b"));
    skiff_scope_names(child, count_name, &names);
    assert_int_equal(names, 1);
    skiff_scope_destroy(child);
    skiff_scope_destroy(s);
}

static void test_state_files(void **state)
{
    struct skiff_error err;
    char path[] = "/tmp/skiff_state_XXXXXX";
    close(mkstemp(path));
    struct skiff_tensor *t = skiff_tensor_create("float32", 1, (int64_t[]){2}, &err), *back;
    ((float *)skiff_tensor_data(t))[1] = 0.5f;
    struct skiff_state *s = skiff_state_create(), *read;
    assert_int_equal(skiff_state_set(s, "w", t, &err), SKIFF_OK);
    assert_int_equal(skiff_state_write(s, path, &err), SKIFF_OK);
    assert_int_equal(skiff_state_read(path, &read, &err), SKIFF_OK);
    assert_int_equal(skiff_state_count(read), 1);
    assert_string_equal(skiff_state_name(read, 0), "w");
    assert_int_equal(skiff_state_get(read, 0, &back, &err), SKIFF_OK);
    assert_true(((float *)skiff_tensor_data(back))[1] == 0.5f);
    skiff_tensor_destroy(back);
    assert_int_equal(skiff_tensor_write(t, path, &err), SKIFF_OK);
    assert_int_equal(skiff_tensor_read(path, &back, &err), SKIFF_OK);
    assert_int_equal(skiff_tensor_count(back), 2);
    skiff_tensor_destroy(back);
    unlink(path);
    assert_true(skiff_tensor_read(path, &back, &err) < 0);
    skiff_state_destroy(s);
    skiff_state_destroy(read);
    skiff_tensor_destroy(t);
}

static void test_batches(void **state)
{
    struct skiff_error err;
    char path[] = "/tmp/skiff_rows_XXXXXX";
    FILE *f = fdopen(mkstemp(path), "w");
    for (int i = 0; i < 5; i++)
        fprintf(f, "2 %d %d 1 %d\n", i, i + 1, i);
    fclose(f);
    struct skiff_net *net = skiff_net_create();
    struct skiff_var *vars[] = {
        skiff_data(net, "ids", SKIFF_DIMS(1), .dtype = "int64", .lod_level = 1),
        skiff_data(net, "y", SKIFF_DIMS(1))};
    struct skiff_dataset *d = skiff_dataset_create("QueueDataset", &err);
    skiff_dataset_set_vars(d, vars, 2);
    skiff_dataset_set_batch_size(d, 2);
    skiff_dataset_set_files(d, (const char *[]){path}, 1);
    const struct skiff_feed *feeds;
    int n;
    int64_t rows, total = 0;
    assert_int_equal(skiff_dataset_next(d, &feeds, &n, &rows, &err), SKIFF_STATE);
    for (int epoch = 0; epoch < 2; epoch++) {
        assert_int_equal(skiff_dataset_begin(d, &err), SKIFF_OK);
        enum skiff_status status;
        while ((status = skiff_dataset_next(d, &feeds, &n, &rows, &err)) == SKIFF_OK) {
            assert_int_equal(n, 2);
            assert_string_equal(feeds[0].name, "ids");
            assert_int_equal(skiff_tensor_lod_levels(feeds[0].tensor), 1);
            assert_int_equal(skiff_tensor_dim(feeds[0].tensor, 0), 2 * rows);
            total += rows;
        }
        assert_int_equal(status, SKIFF_END);
    }
    assert_int_equal(total, 10);
    skiff_dataset_destroy(d);
    skiff_net_destroy(net);
    unlink(path);
}

static void test_auc(void **state)
{
    struct skiff_error err;
    int64_t pos[5] = {0}, neg[5] = {0};
    const float p[] = {0.1f, 0.9f, 0.6f, 0.7f};
    assert_int_equal(skiff_auc_count(pos, neg, 5, p, 1, (int64_t[]){0, 1, 1, 0}, 4, &err),
                     SKIFF_OK);
    assert_int_equal(pos[3], 1);
    assert_true(skiff_auc_area(pos, neg, 5) == 0.875); /* 0.6 and 0.7 share a bucket */
    assert_int_equal(skiff_auc_count(pos, neg, 5, (float[]){1.5f}, 1, (int64_t[]){0}, 1, &err),
                     SKIFF_RANGE);
}

static void test_split(void **state)
{
    struct skiff_error err;
    struct skiff_net *net = skiff_net_create();
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(13)),
                     *y = skiff_data(net, "y", SKIFF_DIMS(1));
    struct skiff_var *cost = skiff_square_error_cost(net, skiff_fc(net, x, 1), y);
    assert_int_equal(skiff_minimize(net, skiff_mean(net, cost), &err, "sgd", .learning_rate = 0.1),
                     SKIFF_OK);
    struct skiff_split_config config = skiff_split_config_default();
    struct skiff_split_job job = {.main = skiff_net_main(net),
                                  .startup = skiff_net_startup(net),
                                  .pservers = "127.0.0.1:6170",
                                  .trainers = 2,
                                  .sync_mode = true};
    struct skiff_split *s;
    struct skiff_program *main, *startup;
    assert_int_equal(skiff_split_create(&job, &config, &s, &err), SKIFF_OK);
    assert_int_equal(skiff_split_mode_of(s), SKIFF_SPLIT_SYNC);
    assert_int_equal(skiff_split_trainer(s, &main, &startup, &err), SKIFF_OK);
    skiff_program_destroy(main);
    skiff_program_destroy(startup);
    assert_true(skiff_split_server(s, "127.0.0.1:1", &main, &startup, &err) < 0);
    assert_int_equal(skiff_split_placements(s), 2);
    assert_string_equal(skiff_split_placement(s, 0).kind, "Param");
    skiff_split_destroy(s);
    config.reserved[3] = 1;
    assert_int_equal(skiff_split_create(&job, &config, &s, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "struct skiff_split_config: a reserved field is not zero"));
    config.reserved[3] = 0;
    job.reserved[0] = 1;
    assert_int_equal(skiff_split_create(&job, &config, &s, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "struct skiff_split_job: a reserved field is not zero"));
    job.reserved[0] = 0;
    config.split_method = "Dice";
    assert_int_equal(skiff_split_create(&job, &config, &s, &err), SKIFF_INVALID);
    config = skiff_split_config_default();
    assert_int_equal(skiff_split_config_set_runtime_split_send_recv(&config, true, &err),
                     SKIFF_INVALID);
    assert_int_equal(skiff_split_config_set_sync_mode(&config, false, &err), SKIFF_OK);
    assert_int_equal(skiff_split_config_set_runtime_split_send_recv(&config, true, &err), SKIFF_OK);
    skiff_net_destroy(net);
}

/* What skiff_scope_find did not find may be asked. */
static void test_no_tensor(void **state)
{
    struct skiff_scope *scope = skiff_scope_create();
    struct skiff_tensor *t = skiff_scope_find(scope, "nothing");
    size_t n = 7;
    int64_t m = 7;
    assert_null(t);
    assert_null(skiff_tensor_data(t));
    assert_null(skiff_tensor_dtype(t));
    assert_null(skiff_tensor_rows(t, &n));
    assert_null(skiff_tensor_lod(t, 0, &m));
    assert_null(skiff_tensor_item(t, 0));
    assert_string_equal(skiff_tensor_kind(t), "none");
    assert_int_equal(n, 0);
    assert_int_equal(m, 0);
    assert_int_equal(skiff_tensor_ndim(t), 0);
    assert_int_equal(skiff_tensor_dim(t, 0), -1);
    assert_int_equal(skiff_tensor_count(t), 0);
    assert_int_equal(skiff_tensor_lod_levels(t), 0);
    assert_int_equal(skiff_tensor_height(t), 0);
    assert_int_equal(skiff_tensor_items(t), 0);
    assert_null(skiff_scope_find(scope, NULL));
    skiff_scope_destroy(scope);
}

/* Functions that change a tensor, or need its values, refuse it with a message. */
static void test_no_tensor_to_change(void **state)
{
    int64_t dims[] = {2}, *ids;
    struct skiff_tensor *t = skiff_tensor_create("int64", 1, dims, NULL);
    struct skiff_error err = {0};
    const char *why = "expected a tensor, found NULL";
    assert_int_equal(skiff_tensor_resize(NULL, "int64", 1, dims, &err), SKIFF_INVALID);
    assert_string_equal(err.message, why);
    assert_int_equal(skiff_tensor_set_lengths(NULL, dims, 1, NULL), SKIFF_INVALID);
    assert_int_equal(skiff_tensor_borrow(NULL, "int64", 1, dims, dims, NULL), SKIFF_INVALID);
    assert_int_equal(skiff_tensor_copy(NULL, t, NULL), SKIFF_INVALID);
    assert_int_equal(skiff_tensor_copy(t, NULL, NULL), SKIFF_INVALID);
    assert_int_equal(skiff_tensor_set_lod(NULL, 0, NULL, NULL, NULL), SKIFF_INVALID);
    assert_int_equal(skiff_tensor_resize_rows(NULL, "int64", 1, dims, 9, &ids, NULL),
                     SKIFF_INVALID);
    err.message[0] = '\0';
    assert_int_equal(skiff_tensor_write(NULL, "/nowhere/t", &err), SKIFF_INVALID);
    assert_string_equal(err.message, why);
    skiff_tensor_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_tensor), cmocka_unit_test(test_no_tensor_to_change),
        cmocka_unit_test(test_lod),       cmocka_unit_test(test_borrow_and_rows),
        cmocka_unit_test(test_scopes),    cmocka_unit_test(test_state_files),
        cmocka_unit_test(test_batches),   cmocka_unit_test(test_auc),
        cmocka_unit_test(test_split),
    };
    return cmocka_run_group_tests_name("api_values", tests, NULL, NULL);
}
