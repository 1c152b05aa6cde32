/* save, load, save_combine, load_combine: files read back equal the values written, and bad files
 * are errors. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "executor/executor.h"
#include "program/op_kind.h"
#include "store/file.h"

static char dir[] = "/tmp/skiff_file_ops_XXXXXX";

static int make_dir(void **state)
{
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char path[128];
    static const char *const names[] = {"one", "all"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
    return rmdir(dir);
}

static struct skiff_op *add_file_op(struct skiff_program *p, const char *type, const char *slot,
                                    bool is_input, int n, const char *const *vars, const char *file)
{
    char path[128];
    struct skiff_op *op = block_insert_op(program_root(p), -1, type);
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    for (int i = 0; i < n; i++)
        block_add_var(program_root(p), vars[i]);
    (is_input ? op_set_in : op_set_out)(p, op, slot, n, vars);
    op_set_string(p, op, "file_path", path);
    return op;
}

static enum skiff_status run(struct skiff_program *p, const struct feed *feeds, int nfeeds,
                             const char *const *fetches, int nfetches, struct skiff_tensor *out,
                             struct skiff_error *err)
{
    struct skiff_scope *scope = scope_create();
    struct executor_options options = {.no_fuse = true};
    struct skiff_executor *e = executor_create(scope, &options);
    enum skiff_status status = executor_run(e, p, feeds, nfeeds, fetches, nfetches, out, err);
    executor_destroy(e);
    scope_destroy(scope);
    return status;
}

static float a_data[6] = {1, -2, 3.5f, 0, 5, 6};
static int64_t b_data[4] = {7, -8, 9, 10};

static void write_files(void)
{
    struct skiff_program *p = program_create();
    struct tensor a = {.dtype = DTYPE_FP32,
                       .shape = SHAPE(2, 3),
                       .data = a_data,
                       .cap = sizeof(a_data),
                       .owner = TENSOR_BORROWED};
    struct tensor b = {.dtype = DTYPE_INT64,
                       .shape = SHAPE(4),
                       .data = b_data,
                       .cap = sizeof(b_data),
                       .owner = TENSOR_BORROWED};
    struct feed feeds[] = {{"a", &a, NULL}, {"b", &b, NULL}};
    struct skiff_error err = {0};
    add_file_op(p, "save", "X", true, 1, (const char *[]){"a"}, "one");
    add_file_op(p, "save_combine", "X", true, 2, (const char *[]){"a", "b"}, "all");
    if (run(p, feeds, 2, NULL, 0, NULL, &err) < 0)
        fail_msg("%s", err.message);
    program_destroy(p);
}

static void test_round_trip(void **state)
{
    struct skiff_program *p = program_create();
    struct skiff_tensor out[3] = {0};
    struct skiff_error err = {0};
    write_files();
    add_file_op(p, "load", "Out", false, 1, (const char *[]){"x"}, "one");
    add_file_op(p, "load_combine", "Out", false, 2, (const char *[]){"y", "z"}, "all");
    if (run(p, NULL, 0, (const char *[]){"x", "y", "z"}, 3, out, &err) < 0)
        fail_msg("%s", err.message);
    struct shape a = SHAPE(2, 3), b = SHAPE(4);
    assert_true(shape_equal(&out[0].tensor.shape, &a));
    assert_memory_equal(out[0].tensor.data, a_data, sizeof(a_data));
    assert_true(shape_equal(&out[1].tensor.shape, &a));
    assert_memory_equal(out[1].tensor.data, a_data, sizeof(a_data));
    assert_true(shape_equal(&out[2].tensor.shape, &b));
    assert_int_equal(out[2].tensor.dtype, DTYPE_INT64);
    assert_memory_equal(out[2].tensor.data, b_data, sizeof(b_data));
    for (int i = 0; i < 3; i++)
        value_deinit(&out[i]);
    program_destroy(p);
}

static void expect_failure(struct skiff_program *p, const char *part)
{
    struct skiff_error err = {0};
    assert_true(run(p, NULL, 0, NULL, 0, NULL, &err) < 0);
    if (!strstr(err.message, part))
        fail_msg("\"%s\" does not say \"%s\"", err.message, part);
    program_destroy(p);
}

static void test_missing_file(void **state)
{
    struct skiff_program *p = program_create();
    add_file_op(p, "load", "Out", false, 1, (const char *[]){"x"}, "no_such_file");
    expect_failure(p, "no_such_file");
}

static void test_wrong_count(void **state)
{
    struct skiff_program *p = program_create();
    write_files();
    add_file_op(p, "load_combine", "Out", false, 3, (const char *[]){"x", "y", "z"}, "all");
    expect_failure(p, "all");
}

static void test_no_overwrite(void **state)
{
    struct skiff_program *p = program_create();
    struct tensor a = {.dtype = DTYPE_FP32,
                       .shape = SHAPE(2, 3),
                       .data = a_data,
                       .cap = sizeof(a_data),
                       .owner = TENSOR_BORROWED};
    struct feed feeds[] = {{"a", &a, NULL}};
    struct skiff_error err = {0};
    write_files();
    struct skiff_op *op = add_file_op(p, "save", "X", true, 1, (const char *[]){"a"}, "one");
    op_set_bool(p, op, "overwrite", false);
    assert_int_equal(run(p, feeds, 1, NULL, 0, NULL, &err), SKIFF_STATE);
    assert_non_null(strstr(err.message, "overwrite"));
    program_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_wrong_count),
        cmocka_unit_test(test_no_overwrite),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
