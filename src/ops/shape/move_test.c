/* Ops that move elements: joining, reshaping, cutting, picking, ordering, filling; edge cases and
 * refusals. */
#include "ops/op_try_test.h"

static float n12[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static void start_x(struct op_try *t, const char *type, enum generation g, struct shape x)
{
    op_try_start(t, type, g);
    op_try_f32(t, "X", x, n12);
    op_try_out(t, "Out");
}

static void test_concat(void **state)
{
    struct op_try t;
    start_x(&t, "concat", GEN_1X, SHAPE(2, 2));
    op_try_f32(&t, "X", SHAPE(0, 2), n12);
    op_try_f32(&t, "X", SHAPE(1, 2), n12);
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(3, 2), (float[]){0, 1, 2, 3, 0, 1});
    op_try_stop(&t);
    start_x(&t, "concat", GEN_1X, SHAPE(2, 2));
    op_try_f32(&t, "X", SHAPE(3, 2), n12);
    op_set_int(t.program, t.op, "axis", 1);
    op_try_fails(&t, SKIFF_SHAPE, "concat|in1|[3, 2]|[2, 2]|axis 1");
    start_x(&t, "concat", GEN_1X, SHAPE(2, 2));
    op_set_int(t.program, t.op, "axis", 2);
    op_try_fails(&t, SKIFF_SHAPE, "axis is 2|[-2, 2)");
    int64_t ids[4] = {0};
    start_x(&t, "concat", GEN_1X, SHAPE(2, 2));
    op_try_i64(&t, "X", SHAPE(2, 2), ids);
    op_try_fails(&t, SKIFF_DTYPE, "concat|float32|int64");
}

static void test_split(void **state)
{
    struct op_try t;
    start_x(&t, "split", GEN_1X, SHAPE(2, 5));
    op_try_out(&t, "Out");
    op_set_int(t.program, t.op, "axis", 1);
    op_set_int(t.program, t.op, "num", 2);
    op_try_fails(&t, SKIFF_SHAPE, "split|[2, 5]|2 equal parts");
    start_x(&t, "split", GEN_1X, SHAPE(2, 5));
    op_try_out(&t, "Out");
    op_set_int(t.program, t.op, "axis", 1);
    op_set_ints(t.program, t.op, "sections", 2, (int32_t[]){2, 2});
    op_try_fails(&t, SKIFF_SHAPE, "add up to 4, not 5");
    start_x(&t, "split", GEN_1X, SHAPE(2, 5));
    op_try_out(&t, "Out");
    op_set_int(t.program, t.op, "axis", -1);
    op_set_ints(t.program, t.op, "sections", 2, (int32_t[]){-1, 4});
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(2, 1), (float[]){0, 5});
    op_try_expect_f32(&t, 1, SHAPE(2, 4), (float[]){1, 2, 3, 4, 6, 7, 8, 9});
    op_try_stop(&t);
}

static void reshape(struct op_try *t, struct shape x, int n, const int32_t *shape)
{
    start_x(t, "reshape2", GEN_1X, x);
    op_set_ints(t->program, t->op, "shape", n, shape);
}

static void test_reshape(void **state)
{
    struct op_try t;
    reshape(&t, SHAPE(2, 6), 2, (int32_t[]){5, -1});
    op_try_fails(&t, SKIFF_SHAPE, "reshape2|[2, 6]|[5, -1]");
    reshape(&t, SHAPE(2, 6), 2, (int32_t[]){-1, -1});
    op_try_fails(&t, SKIFF_SHAPE, "only one dim may be -1");
    reshape(&t, SHAPE(2, 6), 3, (int32_t[]){2, 6, 0});
    op_try_fails(&t, SKIFF_SHAPE, "cannot be copied");
    reshape(&t, SHAPE(2, 6), 1, (int32_t[]){-3});
    op_try_fails(&t, SKIFF_SHAPE, "not valid");
    reshape(&t, SHAPE(0, 6), 2, (int32_t[]){-1, 3});
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(0, 3), NULL);
    op_try_stop(&t);
}

static void test_transpose(void **state)
{
    struct op_try t;
    start_x(&t, "transpose2", GEN_1X, SHAPE(2, 3));
    op_set_ints(t.program, t.op, "axis", 2, (int32_t[]){0, 0});
    op_try_fails(&t, SKIFF_SHAPE, "transpose2|each of the 2 dims once");
    uint8_t bytes[4] = {1, 2, 3, 4};
    op_try_start(&t, "transpose2", GEN_1X);
    op_try_in(&t, "X", DTYPE_UINT8, SHAPE(2, 2), bytes);
    op_set_ints(t.program, t.op, "axis", 2, (int32_t[]){1, 0});
    op_try_out(&t, "Out");
    op_try_ok(&t);
    assert_memory_equal(t.out[0].tensor.data, ((uint8_t[]){1, 3, 2, 4}), 4);
    op_try_stop(&t);
}

static void test_expand(void **state)
{
    struct op_try t;
    start_x(&t, "expand_v2", GEN_2X, SHAPE(2, 3));
    op_set_ints(t.program, t.op, "shape", 2, (int32_t[]){2, 4});
    op_try_fails(&t, SKIFF_SHAPE, "expand_v2|[2, 3]|[2, 4]");
    start_x(&t, "expand", GEN_1X, SHAPE(2, 3));
    op_set_ints(t.program, t.op, "expand_times", 1, (int32_t[]){2});
    op_try_fails(&t, SKIFF_SHAPE, "holds 1 numbers, X has 2 dims");
    start_x(&t, "tile", GEN_2X, SHAPE(2));
    op_set_ints(t.program, t.op, "repeat_times", 1, (int32_t[]){0});
    op_try_fails(&t, SKIFF_SHAPE, "0 times");
}

static void slice(struct op_try *t, int32_t axis, int32_t from, int32_t to)
{
    op_try_start(t, "slice", GEN_1X);
    op_try_f32(t, "Input", SHAPE(3, 4), n12);
    op_set_ints(t->program, t->op, "axes", 1, &axis);
    op_set_ints(t->program, t->op, "starts", 1, &from);
    op_set_ints(t->program, t->op, "ends", 1, &to);
    op_try_out(t, "Out");
}

static void test_slice(void **state)
{
    struct op_try t;
    slice(&t, 1, -100, 2);
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(3, 2), (float[]){0, 1, 4, 5, 8, 9});
    op_try_stop(&t);
    slice(&t, 0, 2, 1);
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(0, 4), NULL);
    op_try_stop(&t);
    slice(&t, 2, 0, 1);
    op_try_fails(&t, SKIFF_SHAPE, "slice|axis is out of range");
    slice(&t, 1, 0, 2);
    op_set_ints(t.program, t.op, "decrease_axis", 1, (int32_t[]){1});
    op_try_fails(&t, SKIFF_SHAPE, "decrease_axis");
    slice(&t, 1, 0, 2);
    op_set_ints(t.program, t.op, "starts", 0, NULL);
    op_try_fails(&t, SKIFF_SHAPE, "differ in length");
}

static void test_gather(void **state)
{
    struct op_try t;
    int64_t ids[2] = {0, 3};
    start_x(&t, "gather", GEN_1X, SHAPE(3, 4));
    op_try_i64(&t, "Index", SHAPE(2), ids);
    op_try_fails(&t, SKIFF_RANGE, "gather|Index|element 1 is 3|[0, 3)");
    ids[1] = -1;
    start_x(&t, "index_select", GEN_2X, SHAPE(3, 4));
    op_try_i64(&t, "Index", SHAPE(2), ids);
    op_try_fails(&t, SKIFF_RANGE, "element 1 is -1");
    start_x(&t, "gather_nd", GEN_2X, SHAPE(3, 4));
    op_try_i64(&t, "Index", SHAPE(1, 2), ids);
    op_try_fails(&t, SKIFF_RANGE, "tuple 0");
    float f[2] = {0, 1};
    start_x(&t, "gather", GEN_1X, SHAPE(3, 4));
    op_try_f32(&t, "Index", SHAPE(2), f);
    op_try_fails(&t, SKIFF_DTYPE, "Index|float32|int32 or int64");
}

static void test_gather_gradient_along_axis_1(void **state)
{
    struct op_try t;
    int64_t ids[2] = {2, 0};
    op_try_start(&t, "gather_grad", GEN_2X);
    op_try_f32(&t, "X", SHAPE(2, 3), n12);
    op_try_i64(&t, "Index", SHAPE(2), ids);
    op_try_f32(&t, "Out@GRAD", SHAPE(2, 2), n12);
    op_set_int(t.program, t.op, "axis", 1);
    op_try_out(&t, "X@GRAD");
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(2, 3), (float[]){1, 0, 0, 3, 0, 2});
    op_try_stop(&t);
}

static void test_scatter(void **state)
{
    struct op_try t;
    int64_t ids[2] = {1, 1};
    start_x(&t, "scatter", GEN_1X, SHAPE(3, 2));
    op_try_i64(&t, "Ids", SHAPE(2), ids);
    op_try_f32(&t, "Updates", SHAPE(2, 2), n12);
    op_set_bool(t.program, t.op, "overwrite", false);
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(3, 2), (float[]){0, 1, 2, 4, 4, 5});
    op_try_stop(&t);
    start_x(&t, "scatter", GEN_1X, SHAPE(3, 2));
    op_try_i64(&t, "Ids", SHAPE(2), ids);
    op_try_f32(&t, "Updates", SHAPE(2, 3), n12);
    op_try_fails(&t, SKIFF_SHAPE, "scatter|Updates|[2, 3]");
}

static void test_one_hot(void **state)
{
    struct op_try t;
    int64_t ids[2] = {0, 7};
    op_try_start(&t, "one_hot", GEN_1X);
    op_try_i64(&t, "X", SHAPE(2, 1), ids);
    op_set_int(t.program, t.op, "depth", 4);
    op_try_out(&t, "Out");
    op_try_fails(&t, SKIFF_RANGE, "one_hot|element 1 is 7|[0, 4)");
    op_try_start(&t, "one_hot", GEN_1X);
    op_try_i64(&t, "X", SHAPE(2), ids);
    op_set_int(t.program, t.op, "depth", 4);
    op_try_out(&t, "Out");
    op_try_fails(&t, SKIFF_SHAPE, "last dim must be 1");
}

static void test_top_k(void **state)
{
    struct op_try t;
    start_x(&t, "top_k", GEN_1X, SHAPE(3, 4));
    op_try_out(&t, "Indices");
    op_set_int(t.program, t.op, "k", 5);
    op_try_fails(&t, SKIFF_SHAPE, "top_k|k is 5|[1, 4]");
    start_x(&t, "top_k_v2", GEN_2X, SHAPE(2, 3));
    op_try_out(&t, "Indices");
    op_set_int(t.program, t.op, "k", 2);
    op_set_bool(t.program, t.op, "largest", false);
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(2, 2), (float[]){0, 1, 3, 4});
    op_try_stop(&t);
    start_x(&t, "arg_max", GEN_2X, SHAPE(2, 0));
    op_set_long(t.program, t.op, "axis", 1);
    op_try_fails(&t, SKIFF_SHAPE, "arg_max|no elements");
}

static void test_fill(void **state)
{
    struct op_try t;
    op_try_start(&t, "fill_constant", GEN_1X);
    op_set_longs(t.program, t.op, "shape", 2, (int64_t[]){2, -1});
    op_try_out(&t, "Out");
    op_try_fails(&t, SKIFF_SHAPE, "fill_constant|dim 1|-1");
    op_try_start(&t, "fill_constant", GEN_1X);
    op_set_longs(t.program, t.op, "shape", 1, (int64_t[]){2});
    op_set_string(t.program, t.op, "str_value", "seven");
    op_try_out(&t, "Out");
    op_try_fails(&t, SKIFF_INVALID, "seven");
    op_try_start(&t, "fill_constant", GEN_2X);
    op_set_longs(t.program, t.op, "shape", 1, (int64_t[]){1});
    op_set_int(t.program, t.op, "dtype", DTYPE_INT64);
    op_set_string(t.program, t.op, "str_value", "9007199254740993");
    op_try_out(&t, "Out");
    op_try_ok(&t);
    assert_int_equal(*tensor_i64(&t.out[0].tensor), 9007199254740993);
    op_try_stop(&t);
    op_try_start(&t, "assign_value", GEN_1X);
    op_set_ints(t.program, t.op, "shape", 1, (int32_t[]){3});
    op_set_int(t.program, t.op, "dtype", DTYPE_INT32);
    op_set_ints(t.program, t.op, "int32_values", 2, (int32_t[]){1, 2});
    op_try_out(&t, "Out");
    op_try_fails(&t, SKIFF_SHAPE, "int32_values has 2 numbers|asks for 3");
}

static void test_cast(void **state)
{
    struct op_try t;
    float x[4] = {1e30f, -1.9f, 255.5f, -1e30f};
    op_try_start(&t, "cast", GEN_1X);
    op_try_f32(&t, "X", SHAPE(4), x);
    op_set_int(t.program, t.op, "in_dtype", DTYPE_FP32);
    op_set_int(t.program, t.op, "out_dtype", DTYPE_INT32);
    op_try_out(&t, "Out");
    op_try_ok(&t);
    assert_memory_equal(t.out[0].tensor.data, ((int32_t[]){INT32_MIN, -1, 255, INT32_MIN}), 16);
    op_try_stop(&t);
    op_try_start(&t, "cast", GEN_1X);
    op_try_f32(&t, "X", SHAPE(4), x);
    op_set_int(t.program, t.op, "in_dtype", DTYPE_FP32);
    op_set_int(t.program, t.op, "out_dtype", DTYPE_COMPLEX64);
    op_try_out(&t, "Out");
    op_try_fails(&t, SKIFF_UNSUPPORTED, "cast|complex64");
}

static void test_clip_and_increment(void **state)
{
    struct op_try t;
    start_x(&t, "clip", GEN_1X, SHAPE(3));
    op_set_float(t.program, t.op, "min", 2);
    op_set_float(t.program, t.op, "max", 1);
    op_try_fails(&t, SKIFF_INVALID, "clip|min 2|max 1");
    start_x(&t, "increment", GEN_1X, SHAPE(3));
    op_try_fails(&t, SKIFF_SHAPE, "increment|one element, found 3");
}

static void test_masked_select(void **state)
{
    struct op_try t;
    bool mask[4] = {false, true, true, false};
    op_try_start(&t, "masked_select", GEN_2X);
    op_try_f32(&t, "X", SHAPE(2, 2), n12);
    op_try_in(&t, "Mask", DTYPE_BOOL, SHAPE(4), mask);
    op_try_out(&t, "Y");
    op_try_fails(&t, SKIFF_SHAPE, "masked_select|in0|in1");
    op_try_start(&t, "masked_select", GEN_2X);
    op_try_f32(&t, "X", SHAPE(2, 2), n12);
    op_try_in(&t, "Mask", DTYPE_BOOL, SHAPE(2, 2), mask);
    op_try_out(&t, "Y");
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(2), (float[]){1, 2});
    op_try_stop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_concat),        cmocka_unit_test(test_split),
        cmocka_unit_test(test_reshape),       cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_expand),        cmocka_unit_test(test_slice),
        cmocka_unit_test(test_gather),        cmocka_unit_test(test_gather_gradient_along_axis_1),
        cmocka_unit_test(test_scatter),       cmocka_unit_test(test_one_hot),
        cmocka_unit_test(test_top_k),         cmocka_unit_test(test_fill),
        cmocka_unit_test(test_cast),          cmocka_unit_test(test_clip_and_increment),
        cmocka_unit_test(test_masked_select),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
