/* Sums of several threads' values, and threads that wait for each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "comm/mode.h"

static void make_rows(struct skiff_tensor *v, const int64_t *ids, const float *rows, size_t n)
{
    assert_int_equal(value_as_rows(v, DTYPE_FP32, n, 2, 100, NULL), SKIFF_OK);
    memcpy(v->sel.rows, ids, n * sizeof *ids);
    memcpy(v->tensor.data, rows, n * 2 * sizeof *rows);
}

/* Rows with the same id are summed; the mean is over the inputs, not over an id's hits. */
static void rows_are_merged(void **state)
{
    static const int64_t one[] = {7, 3}, two[] = {3, 9};
    static const float a[] = {1, 2, 3, 4}, b[] = {10, 20, 30, 40};
    static const float want[] = {0.5f, 1, 6.5f, 12, 15, 20};
    struct skiff_tensor x = {0}, y = {0}, sum = {0};
    make_rows(&x, one, a, 2);
    make_rows(&y, two, b, 2);
    assert_int_equal(sum_add(&sum, 0, &x, "x", NULL), SKIFF_OK);
    assert_int_equal(sum_add(&sum, 1, &y, "x", NULL), SKIFF_OK);
    assert_int_equal(sum_finish(&sum, 2, true, NULL), SKIFF_OK);
    assert_int_equal(sum.sel.nrows, 3);
    assert_int_equal(sum.sel.rows[0], 7);
    assert_int_equal(sum.sel.rows[1], 3);
    assert_int_equal(sum.sel.rows[2], 9);
    assert_memory_equal(sum.tensor.data, want, sizeof want);
    value_deinit(&x);
    value_deinit(&y);
    value_deinit(&sum);
}

static void shapes_agree(void **state)
{
    struct skiff_tensor x = {0}, sum = {0};
    struct skiff_error err;
    struct shape two = SHAPE(2), three = SHAPE(3);
    assert_int_equal(value_as_tensor(&sum, DTYPE_FP32, &two, NULL), SKIFF_OK);
    assert_int_equal(value_as_tensor(&x, DTYPE_FP32, &three, NULL), SKIFF_OK);
    assert_int_equal(sum_add(&sum, 1, &x, "fc_0.w_0", &err), SKIFF_SHAPE);
    assert_non_null(strstr(err.message, "fc_0.w_0"));
    value_deinit(&x);
    value_deinit(&sum);
}

/* ---- waiting for each other ---- */

#define THREADS 3
#define ROUNDS 50

static struct gather gather;
static int exchanges, failing_round;
static float seen[ROUNDS * THREADS];

static enum skiff_status exchange(struct comm *c, const struct session_push *pushes, int n,
                                  struct skiff_error *err)
{
    assert_int_equal(n, 2);
    seen[exchanges++] = *tensor_f32(&pushes[0].x->tensor);
    if (exchanges == failing_round)
        return error_set(err, SKIFF_PEER, "server 1 is dead");
    return SKIFF_OK;
}

static const char *const one_name[] = {"g"}, *const one_server[] = {"s"};

struct thread {
    pthread_t thread;
    int index, rounds, failures;
};

static void *work(void *arg)
{
    struct thread *t = arg;
    struct skiff_tensor x = {0};
    struct shape one = SHAPE(1);
    struct skiff_error err;
    struct job_slices mean = {.origin = "g", .n = 1, .names = one_name, .endpoints = one_server};
    struct job_slices count = {
        .origin = "counter", .n = 1, .names = one_name, .endpoints = one_server};
    value_as_tensor(&x, DTYPE_FP32, &one, NULL);
    for (int r = 0; r < t->rounds; r++) {
        *tensor_f32(&x.tensor) = (float)(t->index + r);
        gather_add(&gather, NULL, &mean, &x, false, NULL);
        gather_add(&gather, NULL, &count, &x, true, NULL);
        t->failures += gather_barrier(&gather, NULL, exchange, &err) < 0;
    }
    gather_end(&gather);
    value_deinit(&x);
    return NULL;
}

/* Thread 2 has fewer batches: the others continue, with the mean over those that are left. */
static void threads_barrier(void **state)
{
    struct thread t[THREADS] = {{.index = 0, .rounds = ROUNDS},
                                {.index = 1, .rounds = ROUNDS},
                                {.index = 2, .rounds = ROUNDS / 2}};
    gather_init(&gather);
    exchanges = 0;
    failing_round = 10;
    gather_begin(&gather, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i].thread, NULL, work, &t[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i].thread, NULL);
    assert_int_equal(exchanges, ROUNDS);
    for (int r = 0; r < ROUNDS; r++)
        assert_float_equal(seen[r], r < ROUNDS / 2 ? (float)r + 1 : (float)r + 0.5f, 1e-5f);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(t[i].failures, 1); /* all of them get the error */
    gather_deinit(&gather);
}

/* Pushes to a sparse table: the first one's slot stays, the rest is summed, never averaged. */
static void marked_rows(void **state)
{
    struct skiff_tensor sum = {0}, x = {0};
    (void)state;
    assert_int_equal(value_as_rows(&x, DTYPE_FP32, 2, 3, 10, NULL), SKIFF_OK);
    x.sel.marks = 1;
    for (int i = 0; i < 3; i++) {
        x.sel.rows[0] = 7;
        x.sel.rows[1] = 8 + i;
        for (int d = 0; d < 6; d++)
            tensor_f32(&x.tensor)[d] = (float)(d + i);
        assert_int_equal(sum_add(&sum, i, &x, "x", NULL), SKIFF_OK);
    }
    assert_int_equal(sum_finish(&sum, 3, true, NULL), SKIFF_OK);
    static const float want[] = {0, 6, 9, 3, 4, 5, 4, 5, 6, 5, 6, 7};
    assert_int_equal(sum.sel.nrows, 4);
    assert_int_equal(sum.sel.marks, 1);
    for (int i = 0; i < 4; i++)
        assert_int_equal(sum.sel.rows[i], 7 + i);
    for (int i = 0; i < 12; i++)
        assert_true(tensor_f32(&sum.tensor)[i] == want[i]);
    value_deinit(&sum);
    value_deinit(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_merged),
        cmocka_unit_test(shapes_agree),
        cmocka_unit_test(marked_rows),
        cmocka_unit_test(threads_barrier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
