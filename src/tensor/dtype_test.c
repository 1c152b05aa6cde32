#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tensor/dtype.h"

static void sizes_and_names(void **state)
{
    static const struct {
        enum dtype type;
        size_t size;
        const char *name;
    } all[] = {
        {DTYPE_BOOL, 1, "bool"},
        {DTYPE_INT16, 2, "int16"},
        {DTYPE_INT32, 4, "int32"},
        {DTYPE_INT64, 8, "int64"},
        {DTYPE_FP16, 2, "float16"},
        {DTYPE_FP32, 4, "float32"},
        {DTYPE_FP64, 8, "float64"},
        {DTYPE_SIZE_T, 8, "size_t"},
        {DTYPE_UINT8, 1, "uint8"},
        {DTYPE_INT8, 1, "int8"},
        {DTYPE_BF16, 2, "bfloat16"},
        {DTYPE_COMPLEX64, 8, "complex64"},
        {DTYPE_COMPLEX128, 16, "complex128"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        enum dtype back;
        assert_int_equal(dtype_size(all[i].type), all[i].size);
        assert_string_equal(dtype_name(all[i].type), all[i].name);
        assert_true(dtype_parse(all[i].name, &back));
        assert_int_equal(back, all[i].type);
    }
}

static void unknown_types(void **state)
{
    static const int bad[] = {7, 8, 9, 13, 17, 18, 25, -1, 1000};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(dtype_size((enum dtype)bad[i]), 0);
        assert_string_equal(dtype_name((enum dtype)bad[i]), "?");
    }
    enum dtype t = DTYPE_INT8;
    assert_false(dtype_parse("float33", &t));
    assert_false(dtype_parse("", &t));
    assert_int_equal(t, DTYPE_INT8);
}

static void other_spellings(void **state)
{
    static const struct {
        const char *name;
        enum dtype type;
    } c[] = {{"fp32", DTYPE_FP32},   {"FP32", DTYPE_FP32},   {"Float32", DTYPE_FP32},
             {"float", DTYPE_FP32},  {"double", DTYPE_FP64}, {"FP64", DTYPE_FP64},
             {"INT64", DTYPE_INT64}, {"bf16", DTYPE_BF16},   {"int", DTYPE_INT32},
             {"BOOL", DTYPE_BOOL},   {"fp16", DTYPE_FP16},   {"UINT8", DTYPE_UINT8}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        enum dtype t;
        assert_true(dtype_parse(c[i].name, &t));
        assert_int_equal(t, c[i].type);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_names),
        cmocka_unit_test(unknown_types),
        cmocka_unit_test(other_spellings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
