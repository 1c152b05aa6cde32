/* Shapes and tensors: resizing allocates only to grow and refuses negative or overflowing sizes;
 * borrowed and planned bytes are not freed; copies; the bound on shapes from outside; bytes of
 * bools. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "tensor/tensor.h"

static void shapes(void **state)
{
    char text[160];
    struct shape s = SHAPE(32, 10);
    assert_int_equal(shape_numel(&s), 320);
    assert_string_equal(shape_text(&s, text), "[32, 10]");
    struct shape scalar = {.ndim = 0};
    assert_int_equal(shape_numel(&scalar), 1);
    assert_string_equal(shape_text(&scalar, text), "[]");
    struct shape open = SHAPE(-1, 4);
    assert_int_equal(shape_numel(&open), -1);
    assert_string_equal(shape_text(&open, text), "[-1, 4]");
    struct shape none = SHAPE(INT64_MAX, INT64_MAX, 0);
    assert_int_equal(shape_numel(&none), 0);
    struct shape huge = SHAPE(INT64_MAX, 2);
    assert_int_equal(shape_numel(&huge), INT64_MAX);
    struct shape open_and_none = SHAPE(0, -1);
    assert_int_equal(shape_numel(&open_and_none), -1);
    struct shape three = SHAPE(32, 10, 1);
    assert_false(shape_equal(&s, &three));
    assert_true(shape_equal(&s, &(struct shape){2, {32, 10}}));
    assert_false(shape_equal(&s, &open));
    assert_int_equal(shape_rows(&three, 1), 32);
    assert_int_equal(shape_cols(&three, 1), 10);
    assert_int_equal(shape_rows(&three, 0), 1);
    assert_int_equal(shape_cols(&three, 3), 1);
}

static void longest_text_fits(void **state)
{
    char text[161];
    struct shape s = {.ndim = TENSOR_MAX_DIMS};
    for (int i = 0; i < TENSOR_MAX_DIMS; i++)
        s.dims[i] = INT64_MIN;
    text[160] = '#';
    shape_text(&s, text);
    assert_true(strlen(text) < 160);
    assert_int_equal(text[strlen(text) - 1], ']');
    assert_int_equal(text[160], '#');
}

static void resize_allocates_only_to_grow(void **state)
{
    struct tensor t = {0};
    struct shape big = SHAPE(10, 10), small = SHAPE(3, 7);
    assert_int_equal(tensor_resize(&t, DTYPE_FP32, &big, NULL), SKIFF_OK);
    assert_int_equal(tensor_bytes(&t), 400);
    assert_int_equal((uintptr_t)t.data % 64, 0);
    void *data = t.data;
    uint64_t calls = mem_alloc_count();
    assert_int_equal(tensor_resize(&t, DTYPE_FP64, &small, NULL), SKIFF_OK);
    assert_int_equal(tensor_resize(&t, DTYPE_FP32, &big, NULL), SKIFF_OK);
    assert_ptr_equal(t.data, data);
    assert_int_equal(mem_alloc_count(), calls);
    assert_int_equal(tensor_resize(&t, DTYPE_FP64, &big, NULL), SKIFF_OK);
    assert_int_equal(mem_alloc_count(), calls + 1);
    memset(t.data, 1, tensor_bytes(&t));
    tensor_deinit(&t);
    assert_null(t.data);
}

static void resize_refuses(void **state)
{
    static const struct {
        enum dtype dtype;
        struct shape shape;
        enum skiff_status want;
    } c[] = {
        {DTYPE_FP32, {2, {-1, 4}}, SKIFF_RANGE},
        {DTYPE_FP32, {2, {INT64_MAX, 2}}, SKIFF_RANGE},
        {DTYPE_FP32, {1, {INT64_MAX}}, SKIFF_RANGE},
        {DTYPE_FP64, {1, {INT64_MAX / 4}}, SKIFF_RANGE},
        {DTYPE_FP64, {3, {1 << 30, 1 << 30, 1 << 30}}, SKIFF_RANGE},
        {DTYPE_FP32, {1, {(int64_t)1 << 55}}, SKIFF_RANGE},
        {DTYPE_FP32, {1, {(int64_t)1 << 45}}, SKIFF_NOMEM},
        {(enum dtype)7, {1, {4}}, SKIFF_DTYPE},
        {DTYPE_FP32, {10, {1}}, SKIFF_RANGE},
        {DTYPE_FP32, {-1, {1}}, SKIFF_RANGE},
    };
    struct tensor t = {0};
    struct shape small = SHAPE(3);
    assert_int_equal(tensor_resize(&t, DTYPE_INT64, &small, NULL), SKIFF_OK);
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct skiff_error err;
        struct tensor before = t;
        assert_int_equal(tensor_resize(&t, c[i].dtype, &c[i].shape, &err), c[i].want);
        assert_memory_equal(&t, &before, sizeof t);
        assert_true(strlen(err.message) > 0);
    }
    tensor_deinit(&t);
}

static void no_elements(void **state)
{
    struct tensor t = {0}, copy = {0};
    struct shape none = SHAPE(0, 8);
    assert_int_equal(tensor_resize(&t, DTYPE_FP32, &none, NULL), SKIFF_OK);
    assert_non_null(t.data);
    assert_int_equal(tensor_bytes(&t), 0);
    assert_int_equal(tensor_copy(&copy, &t, NULL), SKIFF_OK);
    assert_true(shape_equal(&copy.shape, &none));
    tensor_deinit(&t);
    assert_int_equal(tensor_copy(&copy, &t, NULL), SKIFF_OK); /* of one never resized */
    assert_null(copy.data);
    tensor_deinit(&copy);
}

static void borrowed_and_planned_bytes_are_not_freed(void **state)
{
    static const enum tensor_owner owners[] = {TENSOR_PLANNED, TENSOR_BORROWED};
    for (int i = 0; i < 2; i++) {
        float slab[8] = {1, 2, 3, 4, 5, 6, 7, 8};
        struct tensor t = {
            .dtype = DTYPE_FP32, .data = slab, .cap = sizeof slab, .owner = owners[i]};
        struct shape fits = SHAPE(2, 4), more = SHAPE(3, 4);
        assert_int_equal(tensor_resize(&t, DTYPE_FP32, &fits, NULL), SKIFF_OK);
        assert_ptr_equal(t.data, slab);
        assert_int_equal(t.owner, owners[i]);
        assert_int_equal(tensor_resize(&t, DTYPE_FP32, &more, NULL), SKIFF_OK);
        assert_ptr_not_equal(t.data, slab);
        assert_int_equal(t.owner, TENSOR_HEAP);
        tensor_deinit(&t);
        assert_true(slab[7] == 8);
        struct tensor view = {.dtype = DTYPE_FP32,
                              .shape = fits,
                              .data = slab,
                              .cap = sizeof slab,
                              .owner = owners[i]};
        tensor_deinit(&view);
        assert_true(slab[0] == 1);
    }
}

static void copies(void **state)
{
    struct tensor a = {0}, b = {0}, c = {0};
    struct shape s = SHAPE(2, 3);
    assert_int_equal(tensor_resize(&a, DTYPE_INT64, &s, NULL), SKIFF_OK);
    for (int i = 0; i < 6; i++)
        tensor_i64(&a)[i] = i * i;
    assert_int_equal(lod_build(&a.lod, 1, (int64_t[]){2}, NULL), SKIFF_OK);
    a.lod->level[0].off[0] = 0;
    a.lod->level[0].off[1] = 2;
    assert_int_equal(tensor_copy(&b, &a, NULL), SKIFF_OK);
    assert_int_equal(b.dtype, DTYPE_INT64);
    assert_true(shape_equal(&a.shape, &b.shape));
    assert_memory_equal(a.data, b.data, 48);
    assert_ptr_equal(a.lod, b.lod);
    assert_int_equal(a.lod->refs, 2);
    assert_int_equal(tensor_copy_data(&c, &a, NULL), SKIFF_OK);
    assert_null(c.lod);
    assert_int_equal(tensor_copy(&a, &a, NULL), SKIFF_OK);
    assert_int_equal(a.lod->refs, 2);
    tensor_share_lod(&b, &c);
    assert_null(b.lod);
    assert_int_equal(a.lod->refs, 1);
    tensor_share_lod(&c, &a);
    tensor_drop_lod(&a);
    assert_null(a.lod);
    assert_int_equal(c.lod->refs, 1);
    tensor_deinit(&a);
    tensor_deinit(&b);
    tensor_deinit(&c);
}

static void shapes_to_compute_with(void **state)
{
    struct shape most = SHAPE(1 << 24, -1, 0, 1 << 24), more = SHAPE(1 << 24, 0, 1 << 24, 2);
    struct shape overflow = SHAPE(0, INT64_MAX, INT64_MAX), low = SHAPE(INT64_MIN, 1);
    struct tensor t = {0};
    struct skiff_error err;
    assert_true(shape_is_bounded(&most));
    assert_false(shape_is_bounded(&more));
    assert_false(shape_is_bounded(&overflow));
    assert_false(shape_is_bounded(&low));
    assert_int_equal(tensor_resize(&t, DTYPE_FP32, &overflow, &err), SKIFF_RANGE);
}

static void bools_are_0_or_1(void **state)
{
    struct tensor t = {0};
    const uint8_t given[] = {0, 1, 1, 2, 0, 255, 1}, wanted[] = {0, 1, 1, 1, 0, 1, 1};
    assert_int_equal(tensor_resize(&t, DTYPE_BOOL, &(struct shape){1, {7}}, NULL), SKIFF_OK);
    memcpy(t.data, given, sizeof(given));
    assert_int_equal(tensor_bad_bool(&t), 3);
    tensor_normalise_bools(&t);
    assert_memory_equal(t.data, wanted, sizeof(wanted));
    assert_int_equal(tensor_bad_bool(&t), -1);
    memcpy(t.data, given, sizeof(given));
    t.dtype = DTYPE_UINT8;
    assert_int_equal(tensor_bad_bool(&t), -1);
    tensor_normalise_bools(&t);
    assert_memory_equal(t.data, given, sizeof(given));
    tensor_deinit(&t);
}

int main(void)
{
    size_t before = mem_in_use();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),
        cmocka_unit_test(longest_text_fits),
        cmocka_unit_test(resize_allocates_only_to_grow),
        cmocka_unit_test(resize_refuses),
        cmocka_unit_test(no_elements),
        cmocka_unit_test(borrowed_and_planned_bytes_are_not_freed),
        cmocka_unit_test(copies),
        cmocka_unit_test(shapes_to_compute_with),
        cmocka_unit_test(bools_are_0_or_1),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed || mem_in_use() != before;
}
