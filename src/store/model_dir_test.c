#include "store/model_dir.h"

#include "base/mem.h"
#include "store/tensor_file.h"
#include "store/test_help.h"

static struct skiff_tensor make(float first, int n)
{
    struct skiff_tensor v = {0};
    assert_int_equal(value_as_tensor(&v, DTYPE_FP32, SHAPE_PTR(n), NULL), SKIFF_OK);
    for (int i = 0; i < n; i++)
        tensor_f32(&v.tensor)[i] = first + (float)i;
    return v;
}

static void names(void **state)
{
    struct skiff_error err;
    const char *good[] = {"fc_0.w_0", "a/b/c",  "@LR_DECAY_COUNTER@", "..a", "a..",
                          "...",      ".hidden"};
    const char *bad[] = {"", "/etc/passwd", "..", ".", "a/../b", "a/..", "a//b", "a/", "./a"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(model_name_check(good[i], &err), SKIFF_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(model_name_check(bad[i], &err), SKIFF_INVALID);
    const char *list[] = {"b", "a", "B", "_", "a.1", "\xc3\xa9"};
    int order[6];
    model_name_order(6, list, order);
    assert_memory_equal(order, ((int[]){2, 3, 1, 4, 0, 5}), sizeof order);
}

static void new_folder_appears_at_once(void **state)
{
    struct model_writer w;
    struct skiff_tensor a = make(1, 3), b = make(10, 2);
    const char *dir = temp_path("models/new");
    assert_int_equal(model_writer_open(&w, temp_path("models/new//"), NULL), SKIFF_OK);
    assert_int_equal(model_writer_value(&w, "a", &a, NULL), SKIFF_OK);
    assert_int_equal(model_writer_value(&w, "sub/dir/b", &b, NULL), SKIFF_OK);
    assert_int_equal(model_writer_bytes(&w, "__model__", "prog", 4, NULL), SKIFF_OK);
    assert_false(file_exists(dir));
    assert_int_equal(model_writer_commit(&w, NULL), SKIFF_OK);
    assert_int_equal(count_files(temp_path("models")), 1);
    assert_int_equal(count_files(dir), 3);
    const char *list[] = {"sub/dir/b", "a"};
    struct skiff_tensor out[2] = {{0}, {0}};
    assert_int_equal(model_read_separate(dir, 2, list, out, NULL), SKIFF_OK);
    assert_true(tensor_f32(&out[0].tensor)[1] == 11);
    assert_true(tensor_f32(&out[1].tensor)[2] == 3);
    struct skiff_error err;
    const char *missing[] = {"a", "nothing"};
    assert_int_equal(model_read_separate(dir, 2, missing, out, &err), SKIFF_NOT_FOUND);
    assert_message_has(&err, "variable nothing");
    assert_true(tensor_f32(&out[0].tensor)[1] == 11); /* untouched */
    const char *evil[] = {"../new/a"};
    assert_int_equal(model_read_separate(dir, 1, evil, out, &err), SKIFF_INVALID);
    for (int i = 0; i < 2; i++)
        value_deinit(&out[i]);
    value_deinit(&a);
    value_deinit(&b);
}

static void existing_folder_is_updated(void **state)
{
    const char *dir = temp_path("old");
    assert_int_equal(file_write(temp_path("old/keep"), "k", 1, NULL), SKIFF_OK);
    assert_int_equal(file_write(temp_path("old/a"), "old", 3, NULL), SKIFF_OK);
    struct model_writer w;
    struct skiff_tensor a = make(5, 1);
    assert_int_equal(model_writer_open(&w, dir, NULL), SKIFF_OK);
    assert_int_equal(model_writer_value(&w, "a", &a, NULL), SKIFF_OK);
    assert_int_equal(model_writer_value(&w, "x/y", &a, NULL), SKIFF_OK);
    struct buf b = BUF_INIT;
    assert_int_equal(file_read(temp_path("old/a"), &b, NULL), SKIFF_OK);
    assert_string_equal(b.data, "old");
    buf_deinit(&b);
    assert_int_equal(model_writer_commit(&w, NULL), SKIFF_OK);
    assert_int_equal(count_files(dir), 3);
    struct tensor t = {0};
    assert_int_equal(tensor_file_read(temp_path("old/x/y"), &t, NULL), SKIFF_OK);
    assert_true(tensor_f32(&t)[0] == 5);
    tensor_deinit(&t);
    value_deinit(&a);
}

static void failure_leaves_nothing(void **state)
{
    struct model_writer w;
    struct skiff_error err;
    struct skiff_tensor a = make(5, 1), none = {0};
    assert_int_equal(model_writer_open(&w, temp_path("fails/new"), NULL), SKIFF_OK);
    assert_int_equal(model_writer_value(&w, "a", &a, NULL), SKIFF_OK);
    assert_int_equal(model_writer_value(&w, "b/c", &a, NULL), SKIFF_OK);
    assert_int_equal(model_writer_value(&w, "none", &none, &err), SKIFF_STATE);
    assert_int_equal(model_writer_value(&w, "../out", &a, &err), SKIFF_INVALID);
    assert_int_equal(model_writer_value(&w, "a", &a, &err), SKIFF_INVALID);
    assert_message_has(&err, "file name 'a'");
    model_writer_close(&w);
    assert_int_equal(count_files(temp_path("fails")), 0);

    assert_int_equal(file_write(temp_path("plain"), "x", 1, NULL), SKIFF_OK);
    assert_true(model_writer_open(&w, temp_path("plain"), &err) < 0);
    assert_true(model_writer_open(&w, temp_path("plain/below"), &err) < 0);
    assert_message_has(&err, "plain");
    value_deinit(&a);
}

static void combined(void **state)
{
    struct skiff_tensor a = make(1, 2), b = make(10, 3), rows = {0}, out[3] = {{0}, {0}, {0}};
    const char *list[] = {"z", "a"};
    const struct skiff_tensor *values[] = {&a, &b};
    struct skiff_error err;
    const char *path = temp_path("all");
    assert_int_equal(model_write_combined(path, 2, list, values, NULL), SKIFF_OK);
    assert_int_equal(model_read_combined(path, 2, list, out, NULL), SKIFF_OK);
    assert_true(tensor_f32(&out[0].tensor)[1] == 2);
    assert_true(tensor_f32(&out[1].tensor)[2] == 12);
    struct tensor first = {0}, second = {0};
    assert_int_equal(combined_file_read(path, 2, (struct tensor *[]){&first, &second}, NULL), 0);
    assert_true(tensor_f32(&first)[0] == 10); /* a comes first */
    tensor_deinit(&first);
    tensor_deinit(&second);
    const char *three[] = {"z", "a", "q"};
    assert_int_equal(model_read_combined(path, 3, three, out, &err), SKIFF_FORMAT);
    assert_message_has(&err, "variable z");
    assert_int_equal(value_as_rows(&rows, DTYPE_FP32, 1, 1, 5, NULL), SKIFF_OK);
    values[1] = &rows;
    assert_int_equal(model_write_combined(path, 2, list, values, &err), SKIFF_STATE);
    assert_message_has(&err, "selected rows");
    for (int i = 0; i < 3; i++)
        value_deinit(&out[i]);
    value_deinit(&a);
    value_deinit(&b);
    value_deinit(&rows);
}

/* What Paddle wrote: order.txt lists the names of the combined file. */
static void combined_of_paddle(void **state)
{
    struct buf b = BUF_INIT;
    assert_int_equal(file_read(SAVED "persistables_combined/order.txt", &b, NULL), SKIFF_OK);
    const char *list[64];
    int n = 0;
    for (char *save = NULL, *s = strtok_r(b.data, "\n", &save); s; s = strtok_r(NULL, "\n", &save))
        list[n++] = s;
    assert_int_equal(n, 50);
    struct skiff_tensor *separate = mem_must(sizeof *separate * 64),
                        *all = mem_must(sizeof *all * 64);
    const struct skiff_tensor *values[64];
    assert_int_equal(model_read_separate(SAVED "persistables_separate", n, list, separate, NULL),
                     0);
    assert_int_equal(model_read_combined(SAVED "persistables_combined/all", n, list, all, NULL), 0);
    for (int i = 0; i < n; i++) {
        assert_true(shape_equal(&all[i].tensor.shape, &separate[i].tensor.shape));
        assert_memory_equal(all[i].tensor.data, separate[i].tensor.data,
                            tensor_bytes(&all[i].tensor));
        values[i] = &separate[i];
    }
    assert_int_equal(model_write_combined(temp_path("again"), n, list, values, NULL), SKIFF_OK);
    assert_files_equal(temp_path("again"), SAVED "persistables_combined/all");
    for (int i = 0; i < n; i++) {
        value_deinit(&all[i]);
        value_deinit(&separate[i]);
    }
    free(all);
    free(separate);
    buf_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(new_folder_appears_at_once),
        cmocka_unit_test(existing_folder_is_updated),
        cmocka_unit_test(failure_leaves_nothing),
        cmocka_unit_test(combined),
        cmocka_unit_test(combined_of_paddle),
    };
    return cmocka_run_group_tests(tests, NULL, temp_remove);
}
