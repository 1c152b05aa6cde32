/* merge_by_lineid: samples with the same line id become one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/dataset.h"
#include "data/test_help.h"

static char dir[256];

static void test_merge_by_lineid(void **state)
{
    static const char text[] = "1 x 1 5 1 0 2 0 0\n1 y 1 9 1 9 2 1 1\n1 w 1 3 1 0 2 1 2\n"
                               "1 x 1 0 1 7 2 0.5 0.25\n1 z 1 4 1 0 2 0 0\n1 z 1 6 1 8 2 0 0\n"
                               "1 w 1 0 2 2 8 2 0 0\n";
    const struct shape one = SHAPE(-1, 1), two = SHAPE(-1, 2);
    struct schema s;
    struct skiff_error err;
    struct dataset_config c;
    struct dataset *d;
    const struct batch *b;
    const char *files[] = {temp_text(dir, "merge", text)};
    int threads;
    schema_init(&s);
    schema_add(&s, "a", DTYPE_INT64, 1, &one, &err);
    schema_add(&s, "b", DTYPE_INT64, 1, &one, &err);
    schema_add(&s, "d", DTYPE_FP32, 0, &two, &err);
    for (int size = 0; size < 4; size += 2) {
        dataset_config_init(&c);
        c.kind = DATASET_MEMORY;
        c.schema = &s;
        c.merge_by_lineid = true;
        c.merge_size = size;
        assert_int_equal(dataset_create(&c, &d, &err), SKIFF_OK);
        assert_int_equal(dataset_schema(d)->count, 3);
        assert_int_equal(dataset_set_files(d, files, 1, &err), SKIFF_OK);
        assert_int_equal(dataset_load(d, &err), SKIFF_OK);
        assert_int_equal(dataset_memory_size(d), 7);
        assert_int_equal(dataset_global_shuffle(d, NULL, 4, &err), SKIFF_OK);
        /* y is alone, z has two values of slot a */
        assert_int_equal(dataset_memory_size(d), size ? 2 : 3);
        assert_int_equal(dataset_merge_dropped(d), size ? 3 : 2);
        assert_int_equal(dataset_start(d, &threads, &err), SKIFF_OK);
        assert_int_equal(dataset_next(d, 0, &b, &err), SKIFF_OK);
        const int64_t *a = tensor_i64(batch_tensor(b, 0)), *id = tensor_i64(batch_tensor(b, 1));
        const float *dense = tensor_f32(batch_tensor(b, 2));
        for (int64_t row = 0, at = 0; row < b->rows; row++) {
            if (a[row] == 5) {
                assert_int_equal(id[at], 7);
                assert_true(dense[2 * row] == 0.5f && dense[2 * row + 1] == 0.25f);
            } else if (a[row] == 3) {
                assert_true(id[at] == 2 && id[at + 1] == 8);
                assert_true(dense[2 * row] == 1 && dense[2 * row + 1] == 2);
                at++;
            } else
                assert_true(size == 0 && a[row] == 9 && id[at] == 9);
            at++;
        }
        dataset_destroy(d);
    }
    dataset_config_init(&c);
    c.schema = &s;
    c.merge_by_lineid = true;
    assert_int_equal(dataset_create(&c, &d, &err), SKIFF_INVALID);
    schema_deinit(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_merge_by_lineid)};
    temp_create(dir);
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    temp_remove(dir);
    return failures;
}
