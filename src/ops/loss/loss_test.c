/* Losses, metrics and samplers: labels and probabilities out of range, nothing that counts, states
 * of another size. */
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

static void test_labels(void **state)
{
    static const char *const types[] = {"cross_entropy", "cross_entropy2", "bpr_loss"};
    for (int t = 0; t < 3; t++) {
        struct bench b;
        struct skiff_tensor v[3] = {0};
        bench_start(&b, types[t], NULL);
        bench_slots(&b, v, (const char *const[]){"X", "Label", NULL},
                    (const char *const[]){"Y", NULL});
        floats_of(&v[0], SHAPE(2, 2), (float[]){0.25f, 0.75f, 0.5f, 0.5f});
        ints_of(&v[1], SHAPE(2, 1), (int64_t[]){1, 2});
        assert_int_equal(bench_run(&b), SKIFF_RANGE);
        bench_expect(&b, "Label (Label): element 1 is 2, must be in [0, 2)");
        ints_of(&v[1], SHAPE(3, 1), (int64_t[]){1, 0, 1});
        assert_int_equal(bench_run(&b), SKIFF_SHAPE);
        tensor_of(&v[1], SHAPE(2, 1), 1);
        assert_int_equal(bench_run(&b), SKIFF_DTYPE);
        bench_finish(&b, v, 3);
    }
}

/* Paddle 1.8's backward writes out of bounds for an ignored label. */
static void test_ignored_label_has_no_gradient(void **state)
{
    struct bench b;
    struct skiff_tensor v[4] = {0};
    bench_start(&b, "softmax_with_cross_entropy_grad", NULL);
    bench_slots(&b, v, (const char *const[]){"Label", "Softmax", "Loss@GRAD", NULL},
                (const char *const[]){"Logits@GRAD", NULL});
    ints_of(&v[0], SHAPE(2, 1), (int64_t[]){-100, 1});
    floats_of(&v[1], SHAPE(2, 2), (float[]){0.5f, 0.5f, 0.25f, 0.75f});
    floats_of(&v[2], SHAPE(2, 1), (float[]){1, 2});
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_memory_equal(v[3].tensor.data, ((float[]){0, 0, 0.5f, -0.5f}), 16);
    ints_of(&v[0], SHAPE(2, 1), (int64_t[]){-1, 1});
    assert_int_equal(bench_run(&b), SKIFF_RANGE);
    bench_finish(&b, v, 4);
}

/* Paddle 1.8 gives 0/0. */
static void test_normalize_without_labels(void **state)
{
    struct bench b;
    struct skiff_tensor v[3] = {0};
    bench_start(&b, "sigmoid_cross_entropy_with_logits", NULL);
    op_set_bool(b.program, (struct skiff_op *)b.kernel.op, "normalize", true);
    op_set_int(b.program, (struct skiff_op *)b.kernel.op, "ignore_index", -1);
    bench_rebind(&b);
    bench_slots(&b, v, (const char *const[]){"X", "Label", NULL},
                (const char *const[]){"Out", NULL});
    tensor_of(&v[0], SHAPE(2, 2), 3);
    tensor_of(&v[1], SHAPE(2, 2), -1);
    assert_int_equal(bench_run(&b), SKIFF_OK);
    for (int i = 0; i < 4; i++)
        assert_true(tensor_f32(&v[2].tensor)[i] == 0);
    bench_finish(&b, v, 3);
}

static void test_bce_wants_probabilities(void **state)
{
    struct bench b;
    struct skiff_tensor v[3] = {0};
    bench_start(&b, "bce_loss", NULL);
    bench_slots(&b, v, (const char *const[]){"X", "Label", NULL},
                (const char *const[]){"Out", NULL});
    floats_of(&v[0], SHAPE(2, 1), (float[]){0.5f, 1.5f});
    tensor_of(&v[1], SHAPE(2, 1), 1);
    assert_int_equal(bench_run(&b), SKIFF_RANGE);
    bench_expect(&b, "element 1 is 1.5");
    bench_finish(&b, v, 3);
}

/* ---- metrics ---- */

static void auc_start(struct bench *b, struct skiff_tensor *v)
{
    bench_start(b, "auc", NULL);
    op_set_int(b->program, (struct skiff_op *)b->kernel.op, "num_thresholds", 3);
    op_set_int(b->program, (struct skiff_op *)b->kernel.op, "slide_steps", 0);
    bench_rebind(b);
    bench_slots(b, v, (const char *const[]){"Predict", "Label", NULL},
                (const char *const[]){"AUC", NULL});
    bench_bind(b, "StatPos", &v[3]);
    bench_bind(b, "StatNeg", &v[4]);
    ints_of(&v[1], SHAPE(2, 1), (int64_t[]){1, 0});
    ints_of(&v[3], SHAPE(1, 4), (int64_t[]){0, 0, 0, 0});
    ints_of(&v[4], SHAPE(1, 4), (int64_t[]){0, 0, 0, 0});
}

static void test_auc(void **state)
{
    struct bench b;
    struct skiff_tensor v[5] = {0};
    auc_start(&b, v);
    floats_of(&v[0], SHAPE(2, 1), (float[]){0.9f, 1.5f});
    assert_int_equal(bench_run(&b), SKIFF_RANGE);
    bench_expect(&b, "row 1 has probability 1.5");
    floats_of(&v[0], SHAPE(2, 1), (float[]){0.9f, NAN});
    assert_int_equal(bench_run(&b), SKIFF_RANGE);
    assert_memory_equal(v[3].tensor.data, ((int64_t[]){0, 0, 0, 0}), 32);
    floats_of(&v[0], SHAPE(2, 1), (float[]){1.0f, 0.1f});
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_memory_equal(v[3].tensor.data, ((int64_t[]){0, 0, 0, 1}), 32);
    assert_memory_equal(v[4].tensor.data, ((int64_t[]){1, 0, 0, 0}), 32);
    assert_true(*tensor_f64(&v[2].tensor) == 1.0);
    ints_of(&v[3], SHAPE(1, 3), (int64_t[]){0, 0, 0});
    assert_int_equal(bench_run(&b), SKIFF_SHAPE);
    bench_expect(&b, "StatPos (StatPos)");
    bench_expect(&b, "4 counts");
    bench_finish(&b, v, 5);
}

static void test_accuracy(void **state)
{
    struct bench b;
    struct skiff_tensor v[6] = {0};
    bench_start(&b, "accuracy", NULL);
    bench_slots(&b, v, (const char *const[]){"Out", "Indices", "Label", NULL},
                (const char *const[]){"Accuracy", "Correct", "Total", NULL});
    tensor_of(&v[0], SHAPE(2, 2), 0);
    ints_of(&v[1], SHAPE(2, 2), (int64_t[]){3, 1, 0, 2});
    ints_of(&v[2], SHAPE(2, 1), (int64_t[]){1, 1});
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_true(*tensor_f32(&v[3].tensor) == 0.5f);
    assert_int_equal(*tensor_i32(&v[4].tensor), 1);
    ints_of(&v[2], SHAPE(2, 1), (int64_t[]){1, -7});
    assert_int_equal(bench_run(&b), SKIFF_RANGE);
    bench_expect(&b, "element 1 is -7");
    bench_finish(&b, v, 6);
}

/* ---- samplers and streams ---- */

static void test_nce_labels(void **state)
{
    struct bench b;
    struct skiff_tensor v[6] = {0};
    bench_start(&b, "nce", NULL);
    op_set_int(b.program, (struct skiff_op *)b.kernel.op, "num_total_classes", 3);
    op_set_int(b.program, (struct skiff_op *)b.kernel.op, "num_neg_samples", 2);
    op_set_int(b.program, (struct skiff_op *)b.kernel.op, "seed", 1);
    bench_rebind(&b);
    bench_slots(&b, v, (const char *const[]){"Input", "Label", "Weight", NULL},
                (const char *const[]){"Cost", "SampleLogits", "SampleLabels", NULL});
    tensor_of(&v[0], SHAPE(1, 2), 1);
    tensor_of(&v[2], SHAPE(3, 2), 0);
    ints_of(&v[1], SHAPE(1, 1), (int64_t[]){2});
    assert_int_equal(bench_run(&b), SKIFF_OK);
    for (int i = 0; i < 3; i++)
        assert_true(tensor_f32(&v[4].tensor)[i] == 0.5f);
    ints_of(&v[1], SHAPE(1, 1), (int64_t[]){3});
    assert_int_equal(bench_run(&b), SKIFF_RANGE);
    bench_expect(&b, "Label (Label): element 0 is 3, must be in [0, 3)");
    tensor_of(&v[2], SHAPE(4, 2), 0);
    assert_int_equal(bench_run(&b), SKIFF_SHAPE);
    bench_expect(&b, "Weight (Weight)");
    bench_finish(&b, v, 6);
}

/* The noise classes that Paddle 1.8.5 and 2.6.2 drew with seed 3 from this distribution. */
static void test_nce_custom_distribution(void **state)
{
    static const int64_t drawn[2][6] = {{2, 5, 8, 5, 4, 1}, {2, 5, 5, 5, 7, 7}};
    static const float alias_probs[10] = {0.3934785f,  0.88491845f, 1.0f,       0.34839743f,
                                          0.809454f,   0.9745565f,  0.8327886f, 0.5165136f,
                                          0.31302005f, 0.60772663f};
    for (int g = 0; g < 2; g++) {
        struct bench b;
        struct skiff_tensor v[9] = {0};
        bench_start(&b, "nce", NULL);
        b.kernel.kind = op_kind_find("nce", g ? GEN_2X : GEN_1X);
        op_set_int(b.program, (struct skiff_op *)b.kernel.op, "num_total_classes", 10);
        op_set_int(b.program, (struct skiff_op *)b.kernel.op, "num_neg_samples", 5);
        op_set_int(b.program, (struct skiff_op *)b.kernel.op, "sampler", 2);
        op_set_int(b.program, (struct skiff_op *)b.kernel.op, "seed", 3);
        bench_rebind(&b);
        bench_slots(&b, v,
                    (const char *const[]){"Input", "Label", "Weight", "CustomDistProbs",
                                          "CustomDistAlias", "CustomDistAliasProbs", NULL},
                    (const char *const[]){"Cost", "SampleLogits", "SampleLabels", NULL});
        tensor_of(&v[0], SHAPE(1, 1), 1);
        ints_of(&v[1], SHAPE(1, 1), (int64_t[]){2});
        tensor_of(&v[2], SHAPE(10, 1), 0);
        tensor_of(&v[3], SHAPE(10), 0.1f);
        ints_of(&v[4], SHAPE(10), (int64_t[]){1, 6, -1, 7, 2, 2, 2, 6, 3, 5});
        floats_of(&v[5], SHAPE(10), alias_probs);
        assert_int_equal(bench_run(&b), SKIFF_OK);
        assert_memory_equal(v[8].tensor.data, drawn[g], sizeof drawn[g]);
        bench_finish(&b, v, 9);
    }
}

static void test_random_streams(void **state)
{
    struct bench b;
    struct skiff_tensor out = {0}, *to = &out;
    float first[4];
    bench_start(&b, "uniform_random", NULL);
    op_set_longs(b.program, (struct skiff_op *)b.kernel.op, "shape", 1, (int64_t[]){4});
    op_set_int(b.program, (struct skiff_op *)b.kernel.op, "seed", 5);
    bench_rebind(&b);
    bench_out(&b, "Out", 1, &to);
    assert_int_equal(bench_run(&b), SKIFF_OK);
    memcpy(first, out.tensor.data, sizeof first);
    assert_int_equal(bench_run(&b), SKIFF_OK); /* a seed starts the stream anew */
    assert_memory_equal(out.tensor.data, first, sizeof first);
    op_set_int(b.program, (struct skiff_op *)b.kernel.op, "seed", 0);
    bench_rebind(&b);
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_true(memcmp(out.tensor.data, first, sizeof first) != 0);
    op_set_longs(b.program, (struct skiff_op *)b.kernel.op, "shape", 2, (int64_t[]){4, -1});
    bench_rebind(&b);
    assert_int_equal(bench_run(&b), SKIFF_RANGE);
    op_set_int(b.program, (struct skiff_op *)b.kernel.op, "dtype", DTYPE_INT64);
    bench_rebind(&b);
    assert_int_equal(bench_run(&b), SKIFF_DTYPE);
    bench_finish(&b, &out, 1);
}

static void test_randint_range(void **state)
{
    struct bench b;
    struct skiff_tensor out = {0}, *to = &out;
    bench_start(&b, "randint", NULL);
    op_set_longs(b.program, (struct skiff_op *)b.kernel.op, "shape", 1, (int64_t[]){1000});
    op_set_int(b.program, (struct skiff_op *)b.kernel.op, "low", -2);
    op_set_int(b.program, (struct skiff_op *)b.kernel.op, "high", 3);
    bench_rebind(&b);
    bench_out(&b, "Out", 1, &to);
    assert_int_equal(bench_run(&b), SKIFF_OK);
    int seen[5] = {0};
    for (int i = 0; i < 1000; i++) {
        int64_t v = tensor_i64(&out.tensor)[i];
        assert_true(v >= -2 && v < 3);
        seen[v + 2]++;
    }
    for (int i = 0; i < 5; i++)
        assert_true(seen[i] > 100);
    op_set_int(b.program, (struct skiff_op *)b.kernel.op, "high", -2);
    bench_rebind(&b);
    assert_int_equal(bench_run(&b), SKIFF_INVALID);
    bench_expect(&b, "low is -2, must be below high -2");
    bench_finish(&b, &out, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_ignored_label_has_no_gradient),
        cmocka_unit_test(test_normalize_without_labels),
        cmocka_unit_test(test_bce_wants_probabilities),
        cmocka_unit_test(test_auc),
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_nce_labels),
        cmocka_unit_test(test_nce_custom_distribution),
        cmocka_unit_test(test_random_streams),
        cmocka_unit_test(test_randint_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
