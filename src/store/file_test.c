#include "store/test_help.h"

static void write_and_read(void **state)
{
    const char *path = temp_path("a/b/c.txt");
    assert_int_equal(file_write(path, "hello", 5, NULL), SKIFF_OK);
    struct buf b = BUF_INIT;
    assert_int_equal(file_read(path, &b, NULL), SKIFF_OK);
    assert_int_equal(b.len, 5);
    assert_string_equal(b.data, "hello");
    assert_int_equal(file_write(path, "x", 1, NULL), SKIFF_OK);
    assert_int_equal(file_read(path, &b, NULL), SKIFF_OK);
    assert_string_equal(b.data, "x");
    assert_int_equal(file_write(path, "", 0, NULL), SKIFF_OK);
    assert_int_equal(file_read(path, &b, NULL), SKIFF_OK);
    assert_int_equal(b.len, 0);
    buf_deinit(&b);
    assert_int_equal(count_files(temp_path("a/b")), 1);
    assert_true(file_exists(path));
    assert_false(file_is_dir(path));
    assert_true(file_is_dir(temp_path("a/b")));
}

static void missing_file(void **state)
{
    struct skiff_error err = {0};
    struct buf b = BUF_INIT;
    assert_int_equal(file_read(temp_path("nothing"), &b, &err), SKIFF_NOT_FOUND);
    assert_message_has(&err, "nothing");
    assert_int_equal(file_read(temp_root(), &b, &err), SKIFF_IO);
    assert_message_has(&err, "folder");
    assert_null(b.data);
}

static void below_a_regular_file(void **state)
{
    struct skiff_error err = {0};
    assert_int_equal(file_write(temp_path("plain"), "x", 1, NULL), SKIFF_OK);
    assert_true(file_write(temp_path("plain/sub/f"), "y", 1, &err) < 0);
    assert_message_has(&err, "plain");
    struct buf b = BUF_INIT;
    assert_int_equal(file_read(temp_path("plain"), &b, NULL), SKIFF_OK);
    assert_string_equal(b.data, "x");
    buf_deinit(&b);
}

static void abandoned_writer_leaves_nothing(void **state)
{
    struct file_writer w;
    const char *dir = temp_path("abandoned");
    assert_int_equal(file_writer_open(&w, temp_path("abandoned/f"), NULL), SKIFF_OK);
    assert_int_equal(file_writer_add(&w, "abc", 3, NULL), SKIFF_OK);
    assert_int_equal(count_files(dir), 1);
    file_writer_close(&w);
    assert_int_equal(count_files(dir), 0);
}

static void cannot_replace_folder(void **state)
{
    struct skiff_error err = {0};
    assert_int_equal(file_write(temp_path("folder/inside"), "x", 1, NULL), SKIFF_OK);
    assert_true(file_write(temp_path("folder"), "y", 1, &err) < 0);
    assert_int_equal(count_files(temp_path("folder")), 1);
    char list[200];
    snprintf(list, sizeof list, "ls %s | grep -q tmp", temp_root());
    assert_int_not_equal(system(list), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write_and_read),        cmocka_unit_test(missing_file),
        cmocka_unit_test(below_a_regular_file),  cmocka_unit_test(abandoned_writer_leaves_nothing),
        cmocka_unit_test(cannot_replace_folder),
    };
    return cmocka_run_group_tests(tests, NULL, temp_remove);
}
