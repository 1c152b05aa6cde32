/* Selected rows, sums, tensor arrays and files as kernels: values and errors. */
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

#include "ops/op_bench.h"
#include "ops/sparse/rows.h"

static void test_sort(void **state)
{
    enum { N = 3000 };
    int64_t keys[2 * N], was[N];
    uint32_t order[2 * N];
    uint64_t x = 1;
    for (int i = 0; i < N; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        keys[i] = was[i] = i % 3 ? (int64_t)x >> (i % 50) : (int64_t)(x >> 60) - 8;
    }
    rows_sort(keys, order, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(keys[i], was[order[i]]);
        assert_true(i == 0 || keys[i - 1] <= keys[i]);
    }
    rows_sort(keys, order, 0);
}

static void assert_rows(const struct skiff_tensor *v, size_t n, const int64_t *ids, const float *x)
{
    assert_int_equal(v->kind, VALUE_ROWS);
    assert_int_equal(v->sel.nrows, n);
    assert_memory_equal(v->sel.rows, ids, n * sizeof *ids);
    assert_memory_equal(v->tensor.data, x, n * (size_t)v->tensor.shape.dims[1] * sizeof *x);
}

/* Paddle: ascending as soon as one id appears twice, else in the order they came. */
static void test_sum_of_rows(void **state)
{
    struct bench b;
    struct skiff_tensor x = {0}, y = {0}, out = {0};
    struct skiff_tensor *in[] = {&x, &y}, *to = &out;
    bench_start(&b, "sum", NULL);
    rows_of(&x, 3, (int64_t[]){5, 1, 5}, 1, 9, (float[]){1, 2, 3});
    rows_of(&y, 2, (int64_t[]){0, 1}, 1, 9, (float[]){10, 20});
    bench_in(&b, "X", 2, in);
    bench_out(&b, "Out", 1, &to);
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_rows(&out, 3, (int64_t[]){0, 1, 5}, (float[]){10, 22, 4});
    assert_int_equal(out.sel.height, 9);
    rows_of(&x, 2, (int64_t[]){5, 1}, 1, 9, (float[]){1, 2});
    rows_of(&y, 2, (int64_t[]){0, 7}, 1, 9, (float[]){10, 20});
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_rows(&out, 4, (int64_t[]){5, 1, 0, 7}, (float[]){1, 2, 10, 20});
    to = &x; /* over one of its inputs */
    bench_out(&b, "Out", 1, &to);
    rows_of(&y, 1, (int64_t[]){5}, 1, 9, (float[]){10});
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_rows(&x, 2, (int64_t[]){1, 5}, (float[]){2, 11});
    value_deinit(&x);
    value_deinit(&y);
    value_deinit(&out);
    bench_stop(&b);
}

static void test_sum_mixed_and_in_place(void **state)
{
    struct bench b;
    struct skiff_tensor x = {0}, y = {0}, z = {0};
    struct skiff_tensor *in[] = {&x, &y, &z}, *to = &z;
    bench_start(&b, "sum", NULL);
    tensor_of(&x, SHAPE(3, 2), 1);
    rows_of(&y, 2, (int64_t[]){2, 2}, 2, 3, (float[]){1, 2, 3, 4});
    tensor_of(&z, SHAPE(3, 2), 10);
    bench_in(&b, "X", 3, in);
    bench_out(&b, "Out", 1, &to);
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_memory_equal(z.tensor.data, ((float[]){11, 11, 11, 11, 15, 17}), 6 * sizeof(float));
    y.sel.rows[1] = 3;
    assert_int_equal(bench_run(&b), SKIFF_RANGE);
    bench_expect(&b, "row id 3");
    y.sel.rows[1] = 2;
    tensor_of(&x, SHAPE(4, 2), 1);
    assert_int_equal(bench_run(&b), SKIFF_SHAPE);
    bench_expect(&b, "[4, 2]");
    value_deinit(&x);
    value_deinit(&y);
    value_deinit(&z);
    bench_stop(&b);
}

static void test_rows_that_do_not_fit(void **state)
{
    struct bench b;
    struct skiff_tensor x = {0}, y = {0}, out = {0};
    struct skiff_tensor *in[] = {&x, &y}, *to = &out;
    bench_start(&b, "sum", NULL);
    bench_in(&b, "X", 2, in);
    bench_out(&b, "Out", 1, &to);
    rows_of(&x, 1, (int64_t[]){5}, 1, 9, (float[]){1});
    rows_of(&y, 1, (int64_t[]){5}, 1, 8, (float[]){1});
    assert_int_equal(bench_run(&b), SKIFF_SHAPE);
    bench_expect(&b, "9 x 1");
    rows_of(&y, 1, (int64_t[]){9}, 1, 9, (float[]){1});
    assert_int_equal(bench_run(&b), SKIFF_RANGE);
    bench_expect(&b, "row id 9");
    value_deinit(&x);
    value_deinit(&y);
    value_deinit(&out);
    bench_stop(&b);
}

static void test_clip_by_norm(void **state)
{
    struct bench b;
    struct skiff_tensor x = {0}, out = {0};
    struct skiff_tensor *in = &x, *to = &out;
    bench_start(&b, "clip_by_norm", NULL); /* max_norm 0.9 */
    bench_in(&b, "X", 1, &in);
    bench_out(&b, "Out", 1, &to);
    tensor_of(&x, SHAPE(2, 2), 0);
    assert_int_equal(bench_run(&b), SKIFF_OK);
    for (int i = 0; i < 4; i++)
        assert_true(tensor_f32(&out.tensor)[i] == 0);
    tensor_of(&x, SHAPE(2, 2), 0.9f);
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_true(fabsf(tensor_f32(&out.tensor)[3] - 0.45f) < 1e-6f);
    value_deinit(&x);
    value_deinit(&out);
    bench_stop(&b);
}

/* ---- arrays ---- */

static void index_of(struct skiff_tensor *v, int64_t i)
{
    struct shape one = SHAPE(1);
    assert_int_equal(value_as_tensor(v, DTYPE_INT64, &one, NULL), SKIFF_OK);
    *tensor_i64(&v->tensor) = i;
}

static void test_arrays(void **state)
{
    struct bench w, r;
    struct skiff_tensor x = {0}, i = {0}, array = {0}, out = {0};
    struct skiff_tensor *px = &x, *pi = &i, *pa = &array, *po = &out;
    bench_start(&w, "write_to_array", NULL);
    bench_start(&r, "read_from_array", NULL);
    bench_in(&w, "X", 1, &px);
    bench_in(&w, "I", 1, &pi);
    bench_out(&w, "Out", 1, &pa);
    bench_in(&r, "X", 1, &pa);
    bench_in(&r, "I", 1, &pi);
    bench_out(&r, "Out", 1, &po);
    tensor_of(&x, SHAPE(2), 7);
    index_of(&i, 2);
    assert_int_equal(bench_run(&w), SKIFF_OK);
    assert_int_equal(array.array.count, 3);
    assert_int_equal(bench_run(&r), SKIFF_OK);
    assert_true(tensor_f32(&out.tensor)[1] == 7);
    index_of(&i, 1);
    assert_int_equal(bench_run(&r), SKIFF_RANGE);
    bench_expect(&r, "item 1");
    index_of(&i, 3);
    assert_int_equal(bench_run(&r), SKIFF_RANGE);
    bench_in(&r, "X_W", 1, &px);
    assert_int_equal(bench_run(&r), SKIFF_OK);
    assert_true(tensor_f32(&out.tensor)[1] == 0);
    index_of(&i, -1);
    assert_int_equal(bench_run(&w), SKIFF_RANGE);
    array.kind = VALUE_NONE; /* as a plan leaves it between runs */
    index_of(&i, 0);
    assert_int_equal(bench_run(&w), SKIFF_OK);
    assert_int_equal(array.array.count, 1);
    value_deinit(&x);
    value_deinit(&i);
    value_deinit(&array);
    value_deinit(&out);
    bench_stop(&w);
    bench_stop(&r);
}

static void test_join_refuses_unequal_items(void **state)
{
    struct bench b;
    struct skiff_tensor array = {0}, out = {0}, index = {0};
    struct skiff_tensor *pa = &array, *po = &out, *pi = &index;
    bench_start(&b, "tensor_array_to_tensor", NULL);
    bench_in(&b, "X", 1, &pa);
    bench_out(&b, "Out", 1, &po);
    bench_out(&b, "OutIndex", 1, &pi);
    assert_int_equal(value_as_array(&array, 2, NULL), SKIFF_OK);
    tensor_of(array.array.items[0], SHAPE(2, 2), 1);
    tensor_of(array.array.items[1], SHAPE(1, 2), 2);
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_int_equal(out.tensor.shape.dims[0], 3);
    assert_int_equal(tensor_i32(&index.tensor)[1], 1);
    tensor_of(array.array.items[1], SHAPE(1, 3), 2);
    assert_int_equal(bench_run(&b), SKIFF_SHAPE);
    bench_expect(&b, "item 1 [1, 3]");
    value_deinit(&array);
    value_deinit(&out);
    value_deinit(&index);
    bench_stop(&b);
}

/* ---- files ---- */

static void test_save_and_load(void **state)
{
    char path[] = "/tmp/skiff_rows_test_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    struct bench s, l;
    struct skiff_tensor x = {0}, y = {0};
    struct skiff_tensor *px = &x, *py = &y;
    bench_start(&s, "save", path);
    bench_start(&l, "load", path);
    bench_in(&s, "X", 1, &px);
    bench_out(&l, "Out", 1, &py);
    tensor_of(&x, SHAPE(3, 2), 4);
    assert_int_equal(bench_run(&s), SKIFF_OK);
    assert_int_equal(bench_run(&l), SKIFF_OK);
    assert_int_equal(y.tensor.shape.dims[0], 3);
    assert_true(tensor_f32(&y.tensor)[5] == 4);
    value_deinit(&x);
    rows_of(&x, 2, (int64_t[]){8, 3}, 1, 9, (float[]){1, 2});
    assert_int_equal(bench_run(&s), SKIFF_OK);
    assert_int_equal(bench_run(&l), SKIFF_OK);
    assert_rows(&y, 2, (int64_t[]){8, 3}, (float[]){1, 2});
    unlink(path);
    value_deinit(&y);
    assert_int_equal(bench_run(&l), SKIFF_NOT_FOUND);
    bench_expect(&l, path);
    value_deinit(&x);
    bench_stop(&s);
    bench_stop(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_sum_of_rows),
        cmocka_unit_test(test_sum_mixed_and_in_place),
        cmocka_unit_test(test_rows_that_do_not_fit),
        cmocka_unit_test(test_clip_by_norm),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_join_refuses_unequal_items),
        cmocka_unit_test(test_save_and_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
