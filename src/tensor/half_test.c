/* Half-precision numbers against what Paddle 2.6.2 gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tensor/half.h"

static void test_float16(void **unused)
{
    static const struct {
        float value;
        uint16_t half;
    } cases[] = {
        {0.0f, 0x0000},     {-0.0f, 0x8000},         {1.0f, 0x3c00},      {-2.5f, 0xc100},
        {65504.0f, 0x7bff}, {65519.0f, 0x7c00},      {65520.0f, 0x7c00},  {1e30f, 0x7c00},
        {0.1f, 0x2e66},     {6.1035156e-05f, 0x400}, {5.9604645e-08f, 1}, {2.9802322e-08f, 0},
        {3.1e-08f, 0},      {6.0975552e-05f, 1023},  {2049.0f, 0x6800},   {2051.0f, 0x6801},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(half_of(DTYPE_FP16, cases[i].value), cases[i].half);
    for (uint32_t h = 0; h < 0x7c00; h++) /* there and back */
        assert_int_equal(half_of(DTYPE_FP16, half_value(DTYPE_FP16, (uint16_t)h)), h);
    assert_true(isnan(half_value(DTYPE_FP16, half_of(DTYPE_FP16, NAN))));
    assert_true(isinf(half_value(DTYPE_FP16, 0xfc00)));
}

static void test_bfloat16(void **unused)
{
    assert_int_equal(half_of(DTYPE_BF16, 1.0f), 0x3f80);
    assert_int_equal(half_of(DTYPE_BF16, 1.00390625f), 0x3f80); /* cut off */
    assert_int_equal(half_of(DTYPE_BF16, 1.01171875f), 0x3f81);
    assert_int_equal(half_of(DTYPE_BF16, -3.0f), 0xc040);
    assert_true(half_value(DTYPE_BF16, 0x3fc0) == 1.5f);
    assert_true(isnan(half_value(DTYPE_BF16, half_of(DTYPE_BF16, NAN))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float16),
        cmocka_unit_test(test_bfloat16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
