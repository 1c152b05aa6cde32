/* Optimizer ops as kernels: errors that name the wrong argument, merging, deferred rows against
 * swept rows, and deferred updates whose values change. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/op_bench.h"

/* ---- adam on a small table ---- */

enum { ROWS = 50, WIDTH = 3 };

struct adam {
    struct bench bench;
    struct skiff_tensor param, m, v, lr, b1, b2, grad;
};

static void adam_start(struct adam *a, bool defer)
{
    memset(a, 0, sizeof *a);
    bench_start(&a->bench, "adam", NULL);
    a->bench.env.defer_rows = defer;
    tensor_of(&a->param, SHAPE(ROWS, WIDTH), 0.5f);
    tensor_of(&a->m, SHAPE(ROWS, WIDTH), 0);
    tensor_of(&a->v, SHAPE(ROWS, WIDTH), 0);
    tensor_of(&a->lr, SHAPE(1), 0.01f);
    tensor_of(&a->b1, SHAPE(1), 0.9f);
    tensor_of(&a->b2, SHAPE(1), 0.999f);
    bench_bind(&a->bench, "Param", &a->param);
    bench_bind(&a->bench, "Grad", &a->grad);
    bench_bind(&a->bench, "LearningRate", &a->lr);
    bench_bind(&a->bench, "Moment1", &a->m);
    bench_bind(&a->bench, "Moment2", &a->v);
    bench_bind(&a->bench, "Beta1Pow", &a->b1);
    bench_bind(&a->bench, "Beta2Pow", &a->b2);
}

static void adam_stop(struct adam *a)
{
    struct skiff_tensor *all[] = {&a->param, &a->m, &a->v, &a->lr, &a->b1, &a->b2, &a->grad};
    for (int i = 0; i < 7; i++)
        value_deinit(all[i]);
    bench_stop(&a->bench);
}

static void adam_grad(struct adam *a, int step)
{
    int64_t ids[6];
    float g[6 * WIDTH];
    for (int i = 0; i < 6; i++)
        ids[i] = (step * 7 + i * i * 3) % (step % 50 == 49 ? ROWS : 20);
    for (int i = 0; i < 6 * WIDTH; i++)
        g[i] = (float)((step * 31 + i * 17) % 23 - 11) / 100;
    rows_of(&a->grad, 6, ids, WIDTH, ROWS, g);
}

static void assert_near(const struct skiff_tensor *a, const struct skiff_tensor *b)
{
    for (int64_t i = 0; i < tensor_numel(&a->tensor); i++) {
        float x = tensor_f32(&a->tensor)[i], y = tensor_f32(&b->tensor)[i];
        if (!(fabsf(x - y) <= 1e-6f + 2e-5f * fabsf(y)))
            fail_msg("element %d: got %.9g, expected %.9g", (int)i, x, y);
    }
}

static void test_deferred_equals_swept(void **state)
{
    struct adam fast, slow;
    adam_start(&fast, true);
    adam_start(&slow, false);
    for (int step = 0; step < 500; step++) {
        *tensor_f32(&fast.lr.tensor) = *tensor_f32(&slow.lr.tensor) = 0.01f / (float)(1 + step / 9);
        adam_grad(&fast, step);
        adam_grad(&slow, step);
        assert_int_equal(bench_run(&fast.bench), SKIFF_OK);
        assert_int_equal(bench_run(&slow.bench), SKIFF_OK);
        if (step == 250) { /* the complete table is read */
            value_flush(&fast.param);
            assert_near(&fast.param, &slow.param);
        }
    }
    assert_non_null(fast.param.deferred);
    assert_ptr_equal(fast.param.deferred, fast.m.deferred);
    assert_ptr_equal(fast.param.deferred, fast.v.deferred);
    assert_null(slow.param.deferred);
    value_flush(&fast.v);
    assert_near(&fast.param, &slow.param);
    assert_near(&fast.m, &slow.m);
    assert_near(&fast.v, &slow.v);
    assert_true(*tensor_f32(&fast.b1.tensor) == *tensor_f32(&slow.b1.tensor));
    adam_stop(&fast);
    adam_stop(&slow);
}

/* Settled, replaced by other bytes elsewhere (a load), trained on: as if it had
 * been so all along. */
static void test_replaced_parameter(void **state)
{
    struct adam fast, slow;
    adam_start(&fast, true);
    adam_start(&slow, false);
    for (int step = 0; step < 60; step++) {
        if (step == 30) {
            struct skiff_tensor fresh = {0};
            tensor_of(&fresh, SHAPE(ROWS, WIDTH), -2);
            value_flush(&fast.param);
            assert_int_equal(tensor_copy(&slow.param.tensor, &fresh.tensor, NULL), SKIFF_OK);
            mem_free(fast.param.tensor.data);
            fast.param.tensor = fresh.tensor;
        }
        adam_grad(&fast, step);
        adam_grad(&slow, step);
        assert_int_equal(bench_run(&fast.bench), SKIFF_OK);
        assert_int_equal(bench_run(&slow.bench), SKIFF_OK);
    }
    value_flush(&fast.param);
    assert_near(&fast.param, &slow.param);
    assert_near(&fast.v, &slow.v);
    adam_stop(&fast);
    adam_stop(&slow);
}

/* A dense gradient, or a run that sweeps, first brings everything up to date. */
static void test_dense_after_rows(void **state)
{
    struct adam fast, slow;
    adam_start(&fast, true);
    adam_start(&slow, false);
    for (int step = 0; step < 60; step++) {
        adam_grad(&fast, step);
        adam_grad(&slow, step);
        if (step % 20 == 10) {
            value_deinit(&fast.grad);
            value_deinit(&slow.grad);
            tensor_of(&fast.grad, SHAPE(ROWS, WIDTH), 0.1f);
            tensor_of(&slow.grad, SHAPE(ROWS, WIDTH), 0.1f);
        }
        fast.bench.env.defer_rows = step % 7 != 3;
        assert_int_equal(bench_run(&fast.bench), SKIFF_OK);
        assert_int_equal(bench_run(&slow.bench), SKIFF_OK);
    }
    value_flush(&fast.param);
    assert_near(&fast.param, &slow.param);
    adam_stop(&fast);
    adam_stop(&slow);
}

/* A destroyed value drops its share of the deferred updates; the others stay usable. */
static void test_deferred_without_a_member(void **state)
{
    struct adam a;
    adam_start(&a, true);
    adam_grad(&a, 0);
    assert_int_equal(bench_run(&a.bench), SKIFF_OK);
    value_deinit(&a.param);
    value_flush(&a.m);
    tensor_of(&a.param, SHAPE(ROWS, WIDTH), 0.5f);
    adam_grad(&a, 1);
    assert_int_equal(bench_run(&a.bench), SKIFF_OK);
    assert_non_null(a.param.deferred);
    assert_ptr_equal(a.param.deferred, a.m.deferred);
    adam_stop(&a);
}

static void test_steady_step_allocates_nothing(void **state)
{
    struct adam a;
    adam_start(&a, true);
    uint64_t before = 0;
    for (int step = 0; step < 40; step++) {
        adam_grad(&a, step);
        if (step == 20)
            before = mem_alloc_count();
        assert_int_equal(bench_run(&a.bench), SKIFF_OK);
    }
    assert_int_equal(mem_alloc_count(), before);
    adam_stop(&a);
}

static void test_no_rows_change_nothing(void **state)
{
    struct adam a;
    adam_start(&a, true);
    rows_of(&a.grad, 0, NULL, WIDTH, ROWS, NULL);
    assert_int_equal(bench_run(&a.bench), SKIFF_OK);
    assert_true(*tensor_f32(&a.b1.tensor) == 0.9f);
    assert_true(*tensor_f32(&a.param.tensor) == 0.5f);
    adam_stop(&a);
}

/* Two trainers on one table, whose gradients all point one way. */
static bool hogwild_step(struct adam *mine, int step)
{
    adam_grad(mine, step);
    for (int i = 0; i < 6 * WIDTH; i++)
        tensor_f32(&mine->grad.tensor)[i] = 0.05f;
    return bench_run(&mine->bench) == SKIFF_OK;
}

static void *hogwild(void *arg)
{
    struct adam *mine = arg;
    for (int step = 0; step < 300; step++) {
        if (!hogwild_step(mine, step))
            return mine;
        value_flush(&mine->param);
    }
    return NULL;
}

static void share_table(struct adam *one, struct adam *two)
{
    adam_start(one, true);
    adam_start(two, true);
    bench_bind(&two->bench, "Param", &one->param);
    bench_bind(&two->bench, "Moment1", &one->m);
    bench_bind(&two->bench, "Moment2", &one->v);
}

static void test_threads_share_deferred_rows(void **state)
{
    struct adam one, two, first, second;
    pthread_t a, b;
    void *failed;
    share_table(&one, &two);
    share_table(&first, &second); /* the same in turns, by one thread */
    for (int step = 0; step < 300; step++)
        assert_true(hogwild_step(&first, step) && hogwild_step(&second, step));
    value_flush(&first.param);
    assert_int_equal(pthread_create(&a, NULL, hogwild, &one), 0);
    assert_int_equal(pthread_create(&b, NULL, hogwild, &two), 0);
    pthread_join(a, &failed);
    assert_null(failed);
    pthread_join(b, &failed);
    assert_null(failed);
    value_flush(&one.param);
    for (int i = 0; i < ROWS * WIDTH; i++) {
        float moved = 0.5f - tensor_f32(&one.param.tensor)[i];
        float in_turns = 0.5f - tensor_f32(&first.param.tensor)[i];
        if (!(moved >= 0.5f * in_turns && moved <= 2 * in_turns)) /* who writes last wins */
            fail_msg("element %d has moved by %g, in turns by %g", i, moved, in_turns);
    }
    adam_stop(&two);
    adam_stop(&one);
    adam_stop(&second);
    adam_stop(&first);
}

/* Two adam ops joined into one: every parameter has its own powers. */
static void test_joined(void **state)
{
    struct adam a, b, both;
    adam_start(&a, true);
    adam_start(&b, true);
    adam_start(&both, true);
    struct skiff_tensor other[7] = {0};
    tensor_of(&b.b1, SHAPE(1), 0.81f);
    for (int i = 0; i < 7; i++) {
        struct skiff_tensor *from[] = {&b.param, &b.m, &b.v, &b.lr, &b.b1, &b.b2, &b.grad};
        if (i < 6)
            assert_int_equal(value_copy(&other[i], from[i], NULL), SKIFF_OK);
    }
    const char *slots[] = {"Param",    "Moment1",  "Moment2", "LearningRate",
                           "Beta1Pow", "Beta2Pow", "Grad"};
    struct skiff_tensor *first[] = {&both.param, &both.m,  &both.v,   &both.lr,
                                    &both.b1,    &both.b2, &both.grad};
    for (int i = 0; i < 7; i++) {
        char out[64];
        struct skiff_tensor *pair[] = {first[i], &other[i]};
        bench_in(&both.bench, slots[i], 2, pair);
        strcat(strcpy(out, slots[i]), "Out");
        if (op_kind_slot(both.bench.kernel.kind->outs, out) >= 0)
            bench_out(&both.bench, out, 2, pair);
    }
    for (int step = 0; step < 5; step++) {
        adam_grad(&a, step);
        adam_grad(&b, step + 100);
        assert_int_equal(value_copy(&both.grad, &a.grad, NULL), SKIFF_OK);
        assert_int_equal(value_copy(&other[6], &b.grad, NULL), SKIFF_OK);
        assert_int_equal(bench_run(&a.bench), SKIFF_OK);
        assert_int_equal(bench_run(&b.bench), SKIFF_OK);
        assert_int_equal(bench_run(&both.bench), SKIFF_OK);
    }
    value_flush(&a.param);
    value_flush(&b.param);
    value_flush(&both.param);
    value_flush(&other[0]);
    assert_near(&both.param, &a.param);
    assert_near(&other[0], &b.param);
    assert_near(&both.b1, &a.b1);
    assert_near(&other[4], &b.b1);
    for (int i = 0; i < 7; i++)
        value_deinit(&other[i]);
    adam_stop(&a);
    adam_stop(&b);
    adam_stop(&both);
}

/* ---- errors ---- */

static void assert_fails(struct adam *a, enum skiff_status code, const char *part1,
                         const char *part2)
{
    assert_int_equal(bench_run(&a->bench), code);
    if (!strstr(a->bench.err.message, part1) || !strstr(a->bench.err.message, part2))
        fail_msg("message '%s' lacks '%s' or '%s'", a->bench.err.message, part1, part2);
    for (int i = 0; i < ROWS * WIDTH; i++)
        assert_true(tensor_f32(&a->param.tensor)[i] == 0.5f);
}

static void test_errors(void **state)
{
    const float g[4 * WIDTH] = {1};
    for (int defer = 0; defer < 2; defer++) {
        struct adam a;
        adam_start(&a, defer);
        rows_of(&a.grad, 2, (int64_t[]){3, ROWS}, WIDTH, ROWS, g);
        assert_fails(&a, SKIFF_RANGE, "row id 50", "height 50");
        rows_of(&a.grad, 2, (int64_t[]){3, -7}, WIDTH, ROWS, g);
        assert_fails(&a, SKIFF_RANGE, "row id -7", "Grad");
        rows_of(&a.grad, 2, (int64_t[]){3, 4}, WIDTH, ROWS + 1, g);
        assert_fails(&a, SKIFF_SHAPE, "height 51", "50 rows");
        rows_of(&a.grad, 2, (int64_t[]){3, 4}, WIDTH - 1, ROWS, g);
        assert_fails(&a, SKIFF_SHAPE, "Grad", "[50, 3]");
        value_deinit(&a.grad);
        tensor_of(&a.grad, SHAPE(ROWS, WIDTH + 1), 0);
        assert_fails(&a, SKIFF_SHAPE, "[50, 4]", "[50, 3]");
        adam_grad(&a, 0);
        tensor_of(&a.lr, SHAPE(2), 0.01f);
        assert_fails(&a, SKIFF_SHAPE, "LearningRate", "one number");
        tensor_of(&a.lr, SHAPE(1), 0.01f);
        tensor_of(&a.m, SHAPE(ROWS, WIDTH + 2), 0);
        assert_fails(&a, SKIFF_SHAPE, "Moment1", "[50, 3]");
        value_clear(&a.m);
        assert_fails(&a, SKIFF_SHAPE, "Moment1", "missing");
        adam_stop(&a);
    }
}

/* ---- sgd, momentum ---- */

static void test_sgd_adds_duplicates(void **state)
{
    struct bench b;
    struct skiff_tensor param = {0}, lr = {0}, grad = {0};
    bench_start(&b, "sgd", NULL);
    tensor_of(&param, SHAPE(4, 2), 1);
    tensor_of(&lr, SHAPE(1), 0.5f);
    rows_of(&grad, 3, (int64_t[]){2, 0, 2}, 2, 4, (float[]){1, 2, 3, 4, 5, 6});
    bench_bind(&b, "Param", &param);
    bench_bind(&b, "LearningRate", &lr);
    bench_bind(&b, "Grad", &grad);
    assert_int_equal(bench_run(&b), SKIFF_OK);
    const float want[] = {-0.5f, -1, 1, 1, -2, -3, 1, 1};
    assert_memory_equal(param.tensor.data, want, sizeof want);
    assert_null(param.deferred);
    value_deinit(&param);
    value_deinit(&lr);
    value_deinit(&grad);
    bench_stop(&b);
}

/* Paddle loses gradients here: distinct rows that do not ascend. */
static void test_momentum_keeps_unsorted_rows(void **state)
{
    for (int defer = 0; defer < 2; defer++) {
        struct bench b;
        struct skiff_tensor param = {0}, v = {0}, lr = {0}, grad = {0};
        bench_start(&b, "momentum", NULL);
        b.env.defer_rows = defer;
        tensor_of(&param, SHAPE(4, 1), 0);
        tensor_of(&v, SHAPE(4, 1), 0);
        tensor_of(&lr, SHAPE(1), 1);
        rows_of(&grad, 3, (int64_t[]){3, 1, 0}, 1, 4, (float[]){1, 2, 4});
        bench_bind(&b, "Param", &param);
        bench_bind(&b, "Velocity", &v);
        bench_bind(&b, "LearningRate", &lr);
        bench_bind(&b, "Grad", &grad);
        assert_int_equal(bench_run(&b), SKIFF_OK);
        const float want[] = {-4, -2, 0, -1};
        assert_memory_equal(param.tensor.data, want, sizeof want);
        value_deinit(&param);
        value_deinit(&v);
        value_deinit(&lr);
        value_deinit(&grad);
        bench_stop(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deferred_equals_swept),
        cmocka_unit_test(test_replaced_parameter),
        cmocka_unit_test(test_dense_after_rows),
        cmocka_unit_test(test_deferred_without_a_member),
        cmocka_unit_test(test_steady_step_allocates_nothing),
        cmocka_unit_test(test_no_rows_change_nothing),
        cmocka_unit_test(test_threads_share_deferred_rows),
        cmocka_unit_test(test_joined),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_sgd_adds_duplicates),
        cmocka_unit_test(test_momentum_keeps_unsorted_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
