/* Values: each kind reuses its memory, kinds change without leaking, rows are appended, arrays keep
 * their items, and deferred updates are counted and flushed before a value is copied or
 * replaced. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tensor/value.h"

static int in_use_at_start(void **state)
{
    *state = (void *)mem_in_use();
    return 0;
}

static int nothing_left(void **state)
{
    return mem_in_use() != (size_t)*state;
}

static void tensor_value_reuses_memory(void **state)
{
    struct skiff_tensor v = {0};
    struct shape s = SHAPE(4, 4);
    assert_int_equal(value_as_tensor(&v, DTYPE_FP32, &s, NULL), SKIFF_OK);
    assert_int_equal(v.kind, VALUE_TENSOR);
    void *data = v.tensor.data;
    assert_int_equal(lod_build(&v.tensor.lod, 1, (int64_t[]){2}, NULL), SKIFF_OK);
    assert_int_equal(value_as_tensor(&v, DTYPE_FP32, &s, NULL), SKIFF_OK);
    assert_non_null(v.tensor.lod); /* a resize leaves the lod */
    value_clear(&v);
    assert_int_equal(v.kind, VALUE_NONE);
    assert_null(v.tensor.lod);
    assert_int_equal(value_as_tensor(&v, DTYPE_FP32, &s, NULL), SKIFF_OK);
    assert_ptr_equal(v.tensor.data, data);
    struct shape bad = SHAPE(-1);
    assert_int_equal(value_as_tensor(&v, DTYPE_FP32, &bad, NULL), SKIFF_RANGE);
    assert_true(shape_equal(&v.tensor.shape, &s));
    value_deinit(&v);
    assert_null(v.tensor.data);
}

static void rows_value(void **state)
{
    struct skiff_tensor v = {0}, copy = {0};
    assert_int_equal(value_as_rows(&v, DTYPE_FP32, 3, 4, 1001, NULL), SKIFF_OK);
    assert_int_equal(v.kind, VALUE_ROWS);
    assert_int_equal(v.sel.nrows, 3);
    assert_int_equal(v.sel.height, 1001);
    assert_true(shape_equal(&v.tensor.shape, &(struct shape){2, {3, 4}}));
    for (int i = 0; i < 3; i++)
        v.sel.rows[i] = 1000 - i;
    for (int i = 0; i < 12; i++)
        tensor_f32(&v.tensor)[i] = (float)i;
    assert_int_equal(value_copy(&copy, &v, NULL), SKIFF_OK);
    assert_int_equal(copy.kind, VALUE_ROWS);
    assert_int_equal(copy.sel.height, 1001);
    assert_memory_equal(copy.sel.rows, v.sel.rows, 3 * sizeof(int64_t));
    assert_memory_equal(copy.tensor.data, v.tensor.data, 48);

    uint64_t calls = mem_alloc_count();
    assert_int_equal(value_as_rows(&v, DTYPE_FP32, 2, 5, 7, NULL), SKIFF_OK);
    assert_int_equal(mem_alloc_count(), calls);
    assert_int_equal(value_as_rows(&v, DTYPE_FP32, 0, 5, 7, NULL), SKIFF_OK);
    assert_int_equal(v.sel.nrows, 0);
    assert_int_equal(value_copy(&copy, &v, NULL), SKIFF_OK);
    assert_int_equal(copy.sel.nrows, 0);

    struct shape deep = SHAPE(2, 3, 4);
    assert_int_equal(value_as_rows_shape(&v, DTYPE_FP64, &deep, 9, NULL), SKIFF_OK);
    assert_int_equal(v.sel.nrows, 2);
    assert_int_equal(tensor_bytes(&v.tensor), 24 * 8);
    value_deinit(&v);
    value_deinit(&copy);
}

/* Pieces of 0 to 4 rows, one behind the other: all ids and values are there, in order. */
static void rows_one_behind_the_other(void **state)
{
    struct skiff_tensor sum = {0}, piece = {0};
    assert_int_equal(value_as_rows(&sum, DTYPE_FP32, 0, 2, 100, NULL), SKIFF_OK);
    int next = 0;
    for (int round = 0; round < 50; round++) {
        int n = round % 5;
        assert_int_equal(value_as_rows(&piece, DTYPE_FP32, (size_t)n, 2, 100, NULL), SKIFF_OK);
        for (int i = 0; i < n; i++, next++) {
            piece.sel.rows[i] = next % 7;
            tensor_f32(&piece.tensor)[2 * i] = (float)next;
            tensor_f32(&piece.tensor)[2 * i + 1] = (float)-next;
        }
        assert_int_equal(value_append_rows(&sum, &piece, NULL), SKIFF_OK);
    }
    assert_int_equal(sum.sel.nrows, next);
    assert_int_equal(sum.tensor.shape.dims[0], next);
    assert_int_equal(sum.sel.height, 100);
    for (int i = 0; i < next; i++) {
        assert_int_equal(sum.sel.rows[i], i % 7);
        assert_true(tensor_f32(&sum.tensor)[2 * i] == (float)i);
        assert_true(tensor_f32(&sum.tensor)[2 * i + 1] == (float)-i);
    }
    value_deinit(&sum);
    value_deinit(&piece);
}

static void rows_refuse(void **state)
{
    struct skiff_tensor v = {0};
    struct shape scalar = {0}, negative = SHAPE(-1, 3), deep = {.ndim = 12};
    assert_int_equal(value_as_rows_shape(&v, DTYPE_FP32, &scalar, 9, NULL), SKIFF_SHAPE);
    assert_int_equal(value_as_rows_shape(&v, DTYPE_FP32, &negative, 9, NULL), SKIFF_SHAPE);
    assert_int_equal(value_as_rows_shape(&v, DTYPE_FP32, &deep, 9, NULL), SKIFF_SHAPE);
    assert_int_equal(value_as_rows(&v, DTYPE_FP32, 5, -4, 9, NULL), SKIFF_RANGE);
    assert_int_equal(value_as_rows(&v, DTYPE_FP32, (size_t)1 << 55, 4, 9, NULL), SKIFF_NOMEM);
    assert_int_equal(value_as_rows(&v, DTYPE_FP32, SIZE_MAX, 4, 9, NULL), SKIFF_RANGE);
    assert_int_equal(v.kind, VALUE_NONE);
    assert_null(v.sel.rows);
    value_deinit(&v);
}

static void array_value(void **state)
{
    struct skiff_tensor v = {0}, copy = {0};
    struct shape s = SHAPE(2);
    assert_int_equal(value_as_array(&v, 3, NULL), SKIFF_OK);
    assert_int_equal(v.array.count, 3);
    struct skiff_tensor *second = v.array.items[1];
    assert_int_equal(value_as_tensor(second, DTYPE_INT32, &s, NULL), SKIFF_OK);
    tensor_i32(&second->tensor)[1] = 5;
    assert_int_equal(value_as_array(&v, 100, NULL), SKIFF_OK);
    assert_int_equal(v.array.count, 100);
    assert_ptr_equal(v.array.items[1], second); /* items never move */
    assert_int_equal(value_as_array(&v, 1, NULL), SKIFF_OK);
    assert_int_equal(v.array.count, 100);
    assert_int_equal(value_copy(&copy, &v, NULL), SKIFF_OK);
    assert_int_equal(copy.kind, VALUE_ARRAY);
    assert_int_equal(copy.array.count, 100);
    assert_int_equal(tensor_i32(&copy.array.items[1]->tensor)[1], 5);
    assert_int_equal(copy.array.items[0]->kind, VALUE_NONE);

    uint64_t calls = mem_alloc_count();
    value_clear(&v);
    assert_int_equal(v.array.count, 0);
    assert_int_equal(value_as_array(&v, 50, NULL), SKIFF_OK);
    assert_int_equal(mem_alloc_count(), calls);
    assert_int_equal(v.array.items[1]->kind, VALUE_NONE);
    assert_int_equal(value_copy(&copy, &v, NULL), SKIFF_OK);
    assert_int_equal(copy.array.count, 50);
    assert_int_equal(value_as_array(&v, (size_t)1 << 40, NULL), SKIFF_RANGE);
    value_deinit(&v);
    value_deinit(&copy);
}

static int freed;
static void count_free(struct value_keepalive *k)
{
    freed++;
    free(k);
}

static void kinds_change(void **state)
{
    struct skiff_tensor v = {0}, other = {0};
    struct shape s = SHAPE(2);
    assert_int_equal(value_as_array(&v, 2, NULL), SKIFF_OK);
    assert_int_equal(value_as_tensor(&v, DTYPE_FP32, &s, NULL), SKIFF_OK);
    assert_int_equal(v.kind, VALUE_TENSOR);
    assert_int_equal(v.array.count, 0);
    assert_int_equal(value_as_rows(&v, DTYPE_FP32, 2, 2, 2, NULL), SKIFF_OK);
    assert_int_equal(value_as_array(&v, 1, NULL), SKIFF_OK);
    assert_int_equal(v.array.count, 1);
    assert_int_equal(v.sel.nrows, 0);
    value_clear(&v);

    freed = 0;
    struct value_keepalive *kept = malloc(sizeof *kept);
    *kept = (struct value_keepalive){0, count_free};
    value_keep_alive(&v, kept);
    assert_int_equal(v.kind, VALUE_SCOPES);
    assert_int_equal(value_copy(&other, &v, NULL), SKIFF_OK);
    assert_ptr_equal(other.kept, kept);
    assert_int_equal(value_copy(&other, &v, NULL), SKIFF_OK);
    assert_int_equal(kept->refs, 2);
    assert_int_equal(value_as_tensor(&v, DTYPE_FP32, &s, NULL), SKIFF_OK);
    assert_int_equal(freed, 0);
    value_clear(&other);
    assert_int_equal(freed, 1);
    value_deinit(&v);
    assert_int_equal(freed, 1);
    assert_int_equal(value_copy(&other, &v, NULL), SKIFF_OK);
    assert_int_equal(other.kind, VALUE_NONE);
    value_deinit(&other);
}

static void copy_of_a_tensor_over_other_kinds(void **state)
{
    struct skiff_tensor from = {0}, to = {0};
    struct shape s = SHAPE(2);
    assert_int_equal(value_as_tensor(&from, DTYPE_FP32, &s, NULL), SKIFF_OK);
    tensor_f32(&from.tensor)[0] = 1;
    tensor_f32(&from.tensor)[1] = 2;
    assert_int_equal(lod_build(&from.tensor.lod, 1, (int64_t[]){2}, NULL), SKIFF_OK);
    assert_int_equal(value_as_rows(&to, DTYPE_FP32, 2, 2, 2, NULL), SKIFF_OK);
    assert_int_equal(value_copy(&to, &from, NULL), SKIFF_OK);
    assert_int_equal(to.kind, VALUE_TENSOR);
    assert_ptr_equal(to.tensor.lod, from.tensor.lod);
    assert_true(tensor_f32(&to.tensor)[1] == 2);
    assert_int_equal(value_copy(&to, &to, NULL), SKIFF_OK);
    value_deinit(&from);
    value_deinit(&to);
}

struct test_deferred {
    struct deferred deferred;
    int flushed, shown, destroyed;
};

static void deferred_flush_all(struct deferred *deferred)
{
    ((struct test_deferred *)deferred)->flushed++;
}

static void deferred_show_all(struct deferred *deferred)
{
    ((struct test_deferred *)deferred)->shown++;
}

static void deferred_destroy(struct deferred *deferred)
{
    ((struct test_deferred *)deferred)->destroyed++;
}

static void deferred_is_counted_and_flushed(void **state)
{
    static const struct deferred_class class = {.flush_all = deferred_flush_all,
                                                .show_all = deferred_show_all,
                                                .destroy = deferred_destroy};
    struct test_deferred deferred = {.deferred = {.class = &class}};
    struct skiff_tensor param = {0}, deferred_state = {0}, copy = {0};
    struct shape s = SHAPE(2);
    assert_int_equal(value_as_tensor(&param, DTYPE_FP32, &s, NULL), SKIFF_OK);
    memset(param.tensor.data, 0, 8);
    value_flush(&param); /* nothing behind */
    value_set_deferred(&param, &deferred.deferred);
    value_set_deferred(&param, &deferred.deferred);
    value_set_deferred(&deferred_state, &deferred.deferred);
    assert_int_equal(deferred.deferred.refs, 2);
    value_flush(&deferred_state);
    assert_int_equal(deferred.flushed, 1);
    assert_int_equal(value_copy(&copy, &param, NULL), SKIFF_OK);
    assert_int_equal(deferred.flushed, 1);
    assert_int_equal(deferred.shown, 1);
    assert_null(copy.deferred);
    assert_int_equal(value_copy(&param, &copy, NULL), SKIFF_OK);
    assert_int_equal(deferred.flushed, 2);
    value_set_deferred(&param, NULL);
    assert_int_equal(deferred.destroyed, 0);
    value_deinit(&deferred_state);
    assert_int_equal(deferred.destroyed, 1);
    value_deinit(&param);
    value_deinit(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_value_reuses_memory),
        cmocka_unit_test(rows_value),
        cmocka_unit_test(rows_one_behind_the_other),
        cmocka_unit_test(rows_refuse),
        cmocka_unit_test(array_value),
        cmocka_unit_test(kinds_change),
        cmocka_unit_test(copy_of_a_tensor_over_other_kinds),
        cmocka_unit_test(deferred_is_counted_and_flushed),
    };
    return cmocka_run_group_tests(tests, in_use_at_start, nothing_left);
}
