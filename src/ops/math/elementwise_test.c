/* Broadcasting, integer rules and errors of elementwise ops, comparisons and activations. */
#include "ops/op_try_test.h"

#include <math.h>

static void test_bias_in_the_middle(void **state)
{
    struct op_try t;
    float x[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, y[3] = {10, 20, 30};
    float want[12] = {10, 11, 22, 23, 34, 35, 16, 17, 28, 29, 40, 41};
    op_try_start(&t, "elementwise_add", GEN_1X);
    op_try_f32(&t, "X", SHAPE(2, 3, 2), x);
    op_try_f32(&t, "Y", SHAPE(3), y);
    op_try_out(&t, "Out");
    op_set_int(t.program, t.op, "axis", 1);
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(2, 3, 2), want);
    op_try_stop(&t);
}

static void test_trailing_ones_stick_out(void **state)
{
    struct op_try t;
    float x[4] = {1, 2, 3, 4}, y[2] = {10, 100};
    op_try_start(&t, "elementwise_mul", GEN_1X);
    op_try_f32(&t, "X", SHAPE(2, 2), x);
    op_try_f32(&t, "Y", SHAPE(2, 1), y);
    op_try_out(&t, "Out");
    op_set_int(t.program, t.op, "axis", 1);
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(2, 2), (float[]){10, 20, 300, 400});
    op_try_stop(&t);
}

static void test_empty(void **state)
{
    struct op_try t;
    float y[3] = {1, 2, 3}, none[1];
    op_try_start(&t, "elementwise_add", GEN_1X);
    op_try_f32(&t, "X", SHAPE(0, 3), none);
    op_try_f32(&t, "Y", SHAPE(3), y);
    op_try_out(&t, "Out");
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(0, 3), NULL);
    op_try_stop(&t);
}

static void test_shapes_do_not_fit(void **state)
{
    struct op_try t;
    float x[6] = {0}, y[2] = {0};
    op_try_start(&t, "elementwise_sub", GEN_1X);
    op_try_f32(&t, "X", SHAPE(2, 3), x);
    op_try_f32(&t, "Y", SHAPE(2), y);
    op_try_out(&t, "Out");
    op_try_fails(&t, SKIFF_SHAPE, "elementwise_sub|in0|[2, 3]|in1|[2]|axis -1");
}

static void test_types_differ(void **state)
{
    struct op_try t;
    float x[2] = {0};
    int64_t y[2] = {0};
    op_try_start(&t, "elementwise_max", GEN_2X);
    op_try_f32(&t, "X", SHAPE(2), x);
    op_try_i64(&t, "Y", SHAPE(2), y);
    op_try_out(&t, "Out");
    op_try_fails(&t, SKIFF_DTYPE, "elementwise_max|float32|int64");
}

static void test_division_by_zero(void **state)
{
    struct op_try t;
    int64_t x[2] = {1, 2}, y[2] = {1, 0};
    op_try_start(&t, "elementwise_mod", GEN_1X);
    op_try_i64(&t, "X", SHAPE(2), x);
    op_try_i64(&t, "Y", SHAPE(2), y);
    op_try_out(&t, "Out");
    op_try_fails(&t, SKIFF_RANGE, "by zero|in1");
}

static void divide(const char *type, enum generation g, int64_t x, int64_t y, int64_t want)
{
    struct op_try t;
    op_try_start(&t, type, g);
    op_try_i64(&t, "X", SHAPE(1), &x);
    op_try_i64(&t, "Y", SHAPE(1), &y);
    op_try_out(&t, "Out");
    op_try_ok(&t);
    assert_int_equal(*tensor_i64(&t.out[0].tensor), want);
    op_try_stop(&t);
}

static void test_integer_division(void **state)
{
    divide("elementwise_floordiv", GEN_1X, -7, 2, -3);
    divide("elementwise_floordiv", GEN_2X, -7, 2, -4);
    divide("elementwise_mod", GEN_1X, -7, 2, -1);
    divide("elementwise_mod", GEN_2X, -7, 2, 1);
    divide("elementwise_mod", GEN_2X, 7, -2, -1);
    divide("elementwise_div", GEN_2X, -7, 2, -3);
    divide("elementwise_div", GEN_2X, INT64_MIN, -1, INT64_MIN);
    divide("elementwise_mod", GEN_1X, INT64_MIN, -1, 0);
}

static void test_double_and_int32(void **state)
{
    struct op_try t;
    double x[2] = {1, 2}, y[1] = {1e-12};
    op_try_start(&t, "elementwise_add", GEN_1X);
    op_try_in(&t, "X", DTYPE_FP64, SHAPE(2), x);
    op_try_in(&t, "Y", DTYPE_FP64, SHAPE(1), y);
    op_try_out(&t, "Out");
    op_try_ok(&t);
    assert_true(tensor_f64(&t.out[0].tensor)[1] - 2 > 0.9e-12);
    op_try_stop(&t);
    int32_t a[2] = {3, -4}, b[2] = {5, 6};
    op_try_start(&t, "elementwise_mul", GEN_1X);
    op_try_in(&t, "X", DTYPE_INT32, SHAPE(2), a);
    op_try_in(&t, "Y", DTYPE_INT32, SHAPE(2), b);
    op_try_out(&t, "Out");
    op_try_ok(&t);
    assert_int_equal(tensor_i32(&t.out[0].tensor)[1], -24);
    op_try_stop(&t);
}

static void test_gradient_of_another_shape(void **state)
{
    struct op_try t;
    float x[4] = {0}, d[2] = {0};
    op_try_start(&t, "elementwise_mul_grad", GEN_1X);
    op_try_f32(&t, "X", SHAPE(2, 2), x);
    op_try_f32(&t, "Y", SHAPE(2, 2), x);
    op_try_f32(&t, "Out@GRAD", SHAPE(2), d);
    op_try_out(&t, "X@GRAD");
    op_try_fails(&t, SKIFF_SHAPE, "elementwise_mul_grad|Out@GRAD|in2");
}

static void test_compare(void **state)
{
    struct op_try t;
    uint8_t x[3] = {1, 200, 3}, y[1] = {3};
    op_try_start(&t, "greater_equal", GEN_2X);
    op_try_in(&t, "X", DTYPE_UINT8, SHAPE(3), x);
    op_try_in(&t, "Y", DTYPE_UINT8, SHAPE(1), y);
    op_try_out(&t, "Out");
    op_try_ok(&t);
    const bool *got = t.out[0].tensor.data;
    assert_true(!got[0] && got[1] && got[2]);
    op_try_stop(&t);
    float f[1] = {1};
    op_try_start(&t, "bitwise_and", GEN_2X);
    op_try_f32(&t, "X", SHAPE(1), f);
    op_try_f32(&t, "Y", SHAPE(1), f);
    op_try_out(&t, "Out");
    op_try_fails(&t, SKIFF_DTYPE, "bitwise_and|float32|integer");
}

static void test_activation_of_integers(void **state)
{
    struct op_try t;
    int64_t x[2] = {-3, 4};
    op_try_start(&t, "square", GEN_1X);
    op_try_i64(&t, "X", SHAPE(2), x);
    op_try_out(&t, "Out");
    op_try_ok(&t);
    assert_int_equal(tensor_i64(&t.out[0].tensor)[0], 9);
    op_try_stop(&t);
    op_try_start(&t, "sigmoid", GEN_1X);
    op_try_i64(&t, "X", SHAPE(2), x);
    op_try_out(&t, "Out");
    op_try_fails(&t, SKIFF_DTYPE, "sigmoid|in0|int64|float32");
}

static void test_relu_keeps_nan(void **state)
{
    struct op_try t;
    float x[3] = {NAN, -1, 2};
    op_try_start(&t, "relu", GEN_1X);
    op_try_f32(&t, "X", SHAPE(3), x);
    op_try_out(&t, "Out");
    op_try_ok(&t);
    assert_true(isnan(tensor_f32(&t.out[0].tensor)[0]));
    assert_float_equal(tensor_f32(&t.out[0].tensor)[1], 0, 0);
    op_try_stop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bias_in_the_middle),
        cmocka_unit_test(test_trailing_ones_stick_out),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_shapes_do_not_fit),
        cmocka_unit_test(test_types_differ),
        cmocka_unit_test(test_division_by_zero),
        cmocka_unit_test(test_integer_division),
        cmocka_unit_test(test_double_and_int32),
        cmocka_unit_test(test_gradient_of_another_shape),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_activation_of_integers),
        cmocka_unit_test(test_relu_keeps_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
