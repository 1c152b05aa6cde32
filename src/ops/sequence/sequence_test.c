/* Sequence ops, normalisation, convolution and recurrence: lods, ranges and shapes that do not fit,
 * and edges that recorded cases do not have. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ops/op_bench.h"

static void ints_of(struct skiff_tensor *v, struct shape shape, const int64_t *x)
{
    assert_int_equal(value_as_tensor(v, DTYPE_INT64, &shape, NULL), SKIFF_OK);
    memcpy(v->tensor.data, x, tensor_bytes(&v->tensor));
}

static void floats_of(struct skiff_tensor *v, struct shape shape, const float *x)
{
    assert_int_equal(value_as_tensor(v, DTYPE_FP32, &shape, NULL), SKIFF_OK);
    memcpy(v->tensor.data, x, tensor_bytes(&v->tensor));
}

static void lod_of(struct skiff_tensor *v, int64_t n, const int64_t *off)
{
    assert_int_equal(lod_build(&v->tensor.lod, 1, &n, NULL), SKIFF_OK);
    memcpy(v->tensor.lod->level[0].off, off, (size_t)n * sizeof *off);
}

static void assert_lod(const struct skiff_tensor *v, int64_t n, const int64_t *off)
{
    assert_non_null(v->tensor.lod);
    const struct lod_level *l = lod_last(v->tensor.lod);
    assert_int_equal(l->n, n);
    assert_memory_equal(l->off, off, (size_t)n * sizeof *off);
}

static void test_concat_of_unequal_batches(void **state)
{
    struct bench b;
    struct skiff_tensor v[3] = {0}, *in[] = {&v[0], &v[1]}, *out = &v[2];
    bench_start(&b, "sequence_concat", NULL);
    bench_in(&b, "X", 2, in);
    bench_out(&b, "Out", 1, &out);
    tensor_of(&v[0], SHAPE(3, 1), 1);
    tensor_of(&v[1], SHAPE(2, 1), 2);
    lod_of(&v[0], 3, (int64_t[]){0, 1, 3});
    lod_of(&v[1], 2, (int64_t[]){0, 2});
    assert_int_equal(bench_run(&b), SKIFF_SHAPE);
    bench_expect(&b, "has 1 sequences");
    lod_of(&v[1], 3, (int64_t[]){0, 0, 2});
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_memory_equal(v[2].tensor.data, ((float[]){1, 1, 1, 2, 2}), 20);
    assert_lod(&v[2], 3, (int64_t[]){0, 1, 5});
    bench_finish(&b, v, 3);
}

static void test_slice_range(void **state)
{
    struct bench b;
    struct skiff_tensor v[4] = {0};
    bench_start(&b, "sequence_slice", NULL);
    bench_slots(&b, v, (const char *const[]){"X", "Offset", "Length", NULL},
                (const char *const[]){"Out", NULL});
    floats_of(&v[0], SHAPE(3, 1), (float[]){1, 2, 3});
    lod_of(&v[0], 3, (int64_t[]){0, 2, 3});
    ints_of(&v[1], SHAPE(2, 1), (int64_t[]){1, 0});
    ints_of(&v[2], SHAPE(2, 1), (int64_t[]){1, 2});
    assert_int_equal(bench_run(&b), SKIFF_RANGE);
    bench_expect(&b, "sequence 1 of X has 1 rows; offset 0 and length 2");
    ints_of(&v[2], SHAPE(2, 1), (int64_t[]){1, INT64_MAX});
    assert_int_equal(bench_run(&b), SKIFF_RANGE);
    ints_of(&v[2], SHAPE(2, 1), (int64_t[]){1, 0});
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_true(*tensor_f32(&v[3].tensor) == 2);
    assert_lod(&v[3], 3, (int64_t[]){0, 1, 1});
    bench_finish(&b, v, 4);
}

static void test_unpad_and_mask(void **state)
{
    struct bench b;
    struct skiff_tensor v[3] = {0};
    bench_start(&b, "sequence_unpad", NULL);
    bench_slots(&b, v, (const char *const[]){"X", "Length", NULL},
                (const char *const[]){"Out", NULL});
    floats_of(&v[0], SHAPE(2, 2), (float[]){1, 2, 3, 4});
    ints_of(&v[1], SHAPE(2), (int64_t[]){3, 0});
    assert_int_equal(bench_run(&b), SKIFF_RANGE);
    bench_expect(&b, "Length (Length): element 0 is 3, must be in [0, 3)");
    ints_of(&v[1], SHAPE(2), (int64_t[]){1, 2});
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_memory_equal(v[2].tensor.data, ((float[]){1, 3, 4}), 12);
    bench_finish(&b, v, 3);

    struct skiff_tensor m[2] = {0};
    bench_start(&b, "sequence_mask", NULL);
    op_set_int(b.program, (struct skiff_op *)b.kernel.op, "out_dtype", DTYPE_BOOL);
    bench_rebind(&b);
    bench_slots(&b, m, (const char *const[]){"X", NULL}, (const char *const[]){"Y", NULL});
    ints_of(&m[0], SHAPE(2), (int64_t[]){-5, 2});
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_memory_equal(m[1].tensor.data, ((uint8_t[]){0, 0, 1, 1}), 4);
    bench_finish(&b, m, 2);
}

static void test_lod_reset_offsets(void **state)
{
    struct bench b;
    struct skiff_tensor v[3] = {0};
    bench_start(&b, "lod_reset", NULL);
    bench_slots(&b, v, (const char *const[]){"X", "Y", NULL}, (const char *const[]){"Out", NULL});
    tensor_of(&v[0], SHAPE(4, 1), 1);
    ints_of(&v[1], SHAPE(3), (int64_t[]){0, 3, 5});
    assert_int_equal(bench_run(&b), SKIFF_SHAPE);
    bench_expect(&b, "ends with 5, but there are 4 rows");
    tensor_of(&v[1], SHAPE(3), 0);
    assert_int_equal(bench_run(&b), SKIFF_DTYPE);
    ints_of(&v[1], SHAPE(3), (int64_t[]){0, 3, 4});
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_lod(&v[2], 3, (int64_t[]){0, 3, 4});
    op_set_bool(b.program, (struct skiff_op *)b.kernel.op, "append", true);
    bench_rebind(&b);
    lod_of(&v[0], 2, (int64_t[]){0, 2}); /* two groups of the new sequences */
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_int_equal(v[2].tensor.lod->nlevels, 2);
    assert_lod(&v[2], 3, (int64_t[]){0, 3, 4});
    bench_finish(&b, v, 3);
}

static void test_expand_counts(void **state)
{
    struct bench b;
    struct skiff_tensor v[3] = {0};
    bench_start(&b, "sequence_expand", NULL);
    bench_slots(&b, v, (const char *const[]){"X", "Y", NULL}, (const char *const[]){"Out", NULL});
    tensor_of(&v[0], SHAPE(3, 1), 1);
    tensor_of(&v[1], SHAPE(4, 1), 0);
    lod_of(&v[1], 3, (int64_t[]){0, 2, 4});
    assert_int_equal(bench_run(&b), SKIFF_SHAPE);
    bench_expect(&b, "X (X) has 3 sequences, level 0 of Y (Y) has 2");
    op_set_int(b.program, (struct skiff_op *)b.kernel.op, "ref_level", 1);
    bench_rebind(&b);
    assert_int_equal(bench_run(&b), SKIFF_RANGE);
    bench_expect(&b, "ref_level is 1");
    bench_finish(&b, v, 3);
}

/* Nothing is kept: one row that does not count. */
static void test_filter_keeps_nothing(void **state)
{
    struct bench b;
    struct skiff_tensor v[6] = {0};
    bench_start(&b, "filter_by_instag", NULL);
    op_set_long(b.program, (struct skiff_op *)b.kernel.op, "out_val_if_empty", 7);
    bench_rebind(&b);
    bench_slots(&b, v, (const char *const[]){"Ins", "Ins_tag", "Filter_tag", NULL},
                (const char *const[]){"Out", "LossWeight", "IndexMap", NULL});
    tensor_of(&v[0], SHAPE(2, 2), 1);
    ints_of(&v[1], SHAPE(2, 1), (int64_t[]){1, 2});
    lod_of(&v[1], 3, (int64_t[]){0, 1, 2});
    ints_of(&v[2], SHAPE(1), (int64_t[]){9});
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_memory_equal(v[3].tensor.data, ((float[]){7, 7}), 8);
    assert_true(*tensor_f32(&v[4].tensor) == 0);
    lod_of(&v[1], 2, (int64_t[]){0, 2});
    assert_int_equal(bench_run(&b), SKIFF_SHAPE);
    bench_expect(&b, "has 2 samples");
    bench_finish(&b, v, 6);
}

/* XXH64 of the eight bytes of id 0, and of 40 bytes, which take the wide loop. */
static void test_hash(void **state)
{
    struct bench b;
    struct skiff_tensor v[2] = {0};
    bench_start(&b, "hash", NULL);
    op_set_long(b.program, (struct skiff_op *)b.kernel.op, "mod_by", INT64_MAX);
    bench_rebind(&b);
    bench_slots(&b, v, (const char *const[]){"X", NULL}, (const char *const[]){"Out", NULL});
    ints_of(&v[0], SHAPE(1, 1), (int64_t[]){0});
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_int_equal(*tensor_i64(&v[1].tensor), 0x34c96acdcadb1bbb % INT64_MAX);
    ints_of(&v[0], SHAPE(1, 5), (int64_t[]){1, 2, 3, 4, 5});
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_int_equal(*tensor_i64(&v[1].tensor), (int64_t)(0xbc50ebd6bc8fa148u % INT64_MAX));
    op_set_long(b.program, (struct skiff_op *)b.kernel.op, "mod_by", 0);
    bench_rebind(&b);
    assert_int_equal(bench_run(&b), SKIFF_SHAPE);
    bench_expect(&b, "mod_by 0");
    bench_finish(&b, v, 2);
}

static void test_shapes_that_do_not_fit(void **state)
{
    struct bench b;
    struct skiff_tensor v[8] = {0};
    bench_start(&b, "batch_norm", NULL);
    bench_slots(&b, v, (const char *const[]){"X", "Scale", "Bias", "Mean", "Variance", NULL},
                (const char *const[]){"Y", NULL});
    tensor_of(&v[0], SHAPE(2, 3), 1);
    for (int i = 1; i < 5; i++)
        tensor_of(&v[i], SHAPE(3), 1);
    assert_int_equal(bench_run(&b), SKIFF_OK);
    tensor_of(&v[3], SHAPE(2), 1);
    assert_int_equal(bench_run(&b), SKIFF_SHAPE);
    bench_expect(&b, "Mean (Mean) [2]: must have one value for each of 3 channels");
    bench_finish(&b, v, 8);

    struct skiff_tensor c[3] = {0};
    bench_start(&b, "conv2d", NULL);
    bench_slots(&b, c, (const char *const[]){"Input", "Filter", NULL},
                (const char *const[]){"Output", NULL});
    tensor_of(&c[0], SHAPE(1, 2, 2, 2), 1);
    tensor_of(&c[1], SHAPE(1, 2, 3, 3), 1);
    assert_int_equal(bench_run(&b), SKIFF_SHAPE);
    bench_expect(&b, "is smaller than the filter (2 of 3)");
    tensor_of(&c[1], SHAPE(1, 3, 1, 1), 1);
    assert_int_equal(bench_run(&b), SKIFF_SHAPE);
    bench_expect(&b, "Filter (Filter)");
    bench_finish(&b, c, 3);

    struct skiff_tensor g[4] = {0};
    bench_start(&b, "gru", NULL);
    bench_slots(&b, g, (const char *const[]){"Input", "H0", "Weight", NULL},
                (const char *const[]){"Hidden", NULL});
    tensor_of(&g[0], SHAPE(3, 6), 0);
    lod_of(&g[0], 3, (int64_t[]){0, 1, 3});
    tensor_of(&g[1], SHAPE(3, 2), 0);
    tensor_of(&g[2], SHAPE(2, 6), 0);
    assert_int_equal(bench_run(&b), SKIFF_SHAPE);
    bench_expect(&b, "H0 (H0) [3, 2]: must have one row per sequence");
    tensor_of(&g[1], SHAPE(2, 2), 1);
    assert_int_equal(bench_run(&b), SKIFF_OK);
    /* all gates 1/2, candidate 0: the state halves with each step */
    assert_memory_equal(g[3].tensor.data, ((float[]){0.5f, 0.5f, 0.5f, 0.5f, 0.25f, 0.25f}), 24);
    bench_finish(&b, g, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_concat_of_unequal_batches),
        cmocka_unit_test(test_slice_range),
        cmocka_unit_test(test_unpad_and_mask),
        cmocka_unit_test(test_lod_reset_offsets),
        cmocka_unit_test(test_expand_counts),
        cmocka_unit_test(test_filter_keeps_nothing),
        cmocka_unit_test(test_hash),
        cmocka_unit_test(test_shapes_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
