/* Calls between ranks on tensors, and gradients that are averaged during backward, in three
 * processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <skiff/collective.h>

#include "collective/rings.h"
#include "eager/eager.h"
#include "tests/conformance/collective_fixture_test.h"

#define SIZE 3

static void join(struct job *j, int rank)
{
    struct skiff_world_options o = {
        .endpoints = j->endpoints, .size = j->size, .rank = rank, .insecure = true};
    CHECK_OK(skiff_world_open(&o, &err));
}

static struct skiff_tensor *numbers(const char *dtype, int n, float first)
{
    int64_t dims[1] = {n};
    struct skiff_tensor *t = skiff_tensor_create(dtype, 1, dims, NULL);
    float *f = (float *)skiff_tensor_data(t);
    for (int i = 0; i < n && !strcmp(dtype, "float32"); i++)
        f[i] = first + (float)i;
    return t;
}

static bool are(const struct skiff_tensor *t, float a, float b)
{
    const float *f = skiff_tensor_data(t);
    return skiff_tensor_count(t) == 2 && f[0] == a && f[1] == b;
}

/* ---- calls ---- */

static void reductions(int rank)
{
    struct skiff_tensor *t = numbers("float32", 2, (float)rank), *list[SIZE], *out;
    CHECK_OK(skiff_collective_all_reduce(0, t, SKIFF_SUM, &err));
    CHECK(are(t, 3, 6));
    CHECK_OK(skiff_collective_all_reduce(0, t, SKIFF_AVG, &err));
    CHECK(are(t, 3, 6));
    CHECK_OK(skiff_collective_reduce(0, t, SKIFF_MAX, 1, &err));
    CHECK(are(t, 3, 6));
    for (int i = 0; i < SIZE; i++)
        list[i] = numbers("float32", 2, (float)(10 * i + rank));
    out = numbers("int32", 5, 0);
    CHECK_OK(skiff_collective_reduce_scatter(0, (const struct skiff_tensor *const *)list, out,
                                             SKIFF_SUM, &err));
    CHECK(are(out, (float)(30 * rank + 3), (float)(30 * rank + 6)));
    for (int i = 0; i < SIZE; i++)
        skiff_tensor_destroy(list[i]);
    skiff_tensor_destroy(t);
    skiff_tensor_destroy(out);
}

static void movements(int rank)
{
    struct skiff_tensor *t = numbers("float32", 2, (float)rank), *list[SIZE], *others[SIZE];
    for (int i = 0; i < SIZE; i++)
        list[i] = numbers("int64", 1, 0), others[i] = numbers("float32", 2, (float)(10 * rank + i));
    CHECK_OK(skiff_collective_all_gather(0, t, list, &err));
    for (int i = 0; i < SIZE; i++)
        CHECK(are(list[i], (float)i, (float)i + 1));
    CHECK_OK(skiff_collective_gather(0, t, rank == 2 ? list : NULL, 2, &err));
    CHECK_OK(
        skiff_collective_all_to_all(0, (const struct skiff_tensor *const *)others, list, &err));
    for (int i = 0; i < SIZE; i++)
        CHECK(are(list[i], (float)(10 * i + rank), (float)(10 * i + rank) + 1));
    CHECK_OK(skiff_collective_scatter(
        0, rank == 1 ? (const struct skiff_tensor *const *)others : NULL, t, 1, &err));
    CHECK(are(t, (float)(10 + rank), (float)(11 + rank)));
    CHECK_OK(skiff_collective_broadcast(0, t, 2, &err));
    CHECK(are(t, 12, 13));
    CHECK_OK(skiff_collective_send(0, others[0], (rank + 1) % SIZE, &err));
    CHECK_OK(skiff_collective_recv(0, t, (rank + 2) % SIZE, &err));
    CHECK(are(t, (float)(10 * ((rank + 2) % SIZE)), (float)(10 * ((rank + 2) % SIZE) + 1)));
    for (int i = 0; i < SIZE; i++) {
        skiff_tensor_destroy(list[i]);
        skiff_tensor_destroy(others[i]);
    }
    skiff_tensor_destroy(t);
}

static void bytes_of_any_length(int rank)
{
    void *all = NULL;
    size_t sizes[SIZE];
    CHECK_OK(skiff_collective_all_gather_bytes(0, "abc", (size_t)rank, &all, sizes, &err));
    CHECK(sizes[0] == 0 && sizes[1] == 1 && sizes[2] == 2 && !memcmp(all, "aab", 3));
    skiff_collective_free(all);
}

static void started_ones(int rank)
{
    struct skiff_tensor *a = numbers("float32", 2, 1), *b = numbers("float32", 2, (float)rank);
    struct skiff_collective_work *first, *second, *third;
    CHECK_OK(skiff_collective_start_all_reduce(0, a, SKIFF_PROD, &first, &err));
    CHECK_OK(skiff_collective_start_broadcast(0, b, 2, &second, &err));
    CHECK_OK(skiff_collective_wait(second, &err));
    CHECK(skiff_collective_done(first));
    CHECK_OK(skiff_collective_wait(first, &err));
    CHECK(are(a, 1, 8) && are(b, 2, 3));
    CHECK_OK(skiff_collective_send(0, a, rank, &err));
    CHECK_OK(skiff_collective_start_recv(0, b, rank, &third, &err));
    CHECK_OK(skiff_collective_wait(third, &err));
    CHECK(are(b, 1, 8));
    skiff_tensor_destroy(a);
    skiff_tensor_destroy(b);
}

static void wrong_ones(int rank)
{
    struct skiff_tensor *t = numbers("float32", 2, 0), *other = numbers("float32", 3, 0),
                        none = {0};
    const struct skiff_tensor *list[SIZE] = {t, other, t};
    struct skiff_collective_work *w;
    CHECK_FAILS(skiff_collective_all_reduce(9, t, SKIFF_SUM, &err), "all_reduce", "no ring 9");
    CHECK_FAILS(skiff_collective_all_reduce(0, &none, SKIFF_SUM, &err), "expected a tensor",
                "nothing yet");
    CHECK_FAILS(skiff_collective_reduce_scatter(0, list, other, SKIFF_SUM, &err),
                "tensor 1 of the list is float32 [3]; expected float32 [2]");
    CHECK_FAILS(skiff_collective_start_all_reduce(0, t, (enum skiff_reduction)9, &w, &err), "op 9");
    CHECK(!w && rank >= 0);
    skiff_tensor_destroy(t);
    skiff_tensor_destroy(other);
}

static void rank_of_calls(struct job *j, int rank)
{
    join(j, rank);
    reductions(rank);
    movements(rank);
    bytes_of_any_length(rank);
    started_ones(rank);
    wrong_ones(rank);
    CHECK_OK(skiff_collective_barrier(0, &err));
    skiff_world_close();
}

/* A rank that gives up is named, with the reason, by the ranks that wait for it. */
static void rank_that_gives_up(struct job *j, int rank)
{
    struct skiff_tensor *t = numbers("float32", 2, 0);
    join(j, rank);
    CHECK_OK(skiff_collective_all_reduce(0, t, SKIFF_SUM, &err));
    if (rank == 1)
        skiff_world_abandon("has run out of rows");
    CHECK_FAILS(skiff_collective_all_reduce(0, t, SKIFF_SUM, &err), "rank 1 has run out of rows");
    skiff_tensor_destroy(t);
    skiff_world_close();
}

/* ---- gradients ---- */

typedef struct skiff_eager_tensor *tensor_p;

static tensor_p leaf(struct skiff_eager *e, int64_t rows, int64_t width, bool trained)
{
    tensor_p t = skiff_eager_tensor_create(e);
    struct shape shape = SHAPE(rows, width);
    CHECK_OK(value_as_tensor(&t->storage->value, DTYPE_FP32, &shape, &err));
    for (int64_t i = 0; i < rows * width; i++)
        tensor_f32(&t->storage->value.tensor)[i] = 1;
    skiff_eager_set_stop_gradient(t, !trained);
    return t;
}

/* Its backward gives the parameter x (times a factor of the rank) as its gradient. */
static void learn(struct skiff_eager *e, tensor_p parameter, float factor)
{
    tensor_p out = skiff_eager_tensor_create(e);
    struct skiff_op_arg in = {"X", 1, &parameter}, to = {"Out", 1, &out};
    struct skiff_op_setting scale = {"scale", {.type = SKIFF_ATTR_FLOAT, .f = factor}};
    struct skiff_op_call c = {"scale", &in, &to, 1, 1, &scale, 1};
    CHECK_OK(skiff_eager_op(e, &c, &err));
    CHECK_OK(skiff_eager_backward(e, 1, &out, NULL, false, &err));
    skiff_eager_tensor_unref(out);
}

/* A lookup of two rows, sparse. */
static void look_up(struct skiff_eager *e, tensor_p table, int64_t first, int64_t second)
{
    tensor_p ids = skiff_eager_tensor_create(e), out = skiff_eager_tensor_create(e);
    struct shape shape = SHAPE(2);
    CHECK_OK(value_as_tensor(&ids->storage->value, DTYPE_INT64, &shape, &err));
    tensor_i64(&ids->storage->value.tensor)[0] = first;
    tensor_i64(&ids->storage->value.tensor)[1] = second;
    struct skiff_op_arg ins[2] = {{"W", 1, &table}, {"Ids", 1, &ids}}, to = {"Out", 1, &out};
    struct skiff_op_setting sparse = {"is_sparse", {.type = SKIFF_ATTR_BOOLEAN, .i = 1}};
    struct skiff_op_call c = {"lookup_table_v2", ins, &to, 2, 1, &sparse, 1};
    CHECK_OK(skiff_eager_op(e, &c, &err));
    CHECK_OK(skiff_eager_backward(e, 1, &out, NULL, false, &err));
    skiff_eager_tensor_unref(ids);
    skiff_eager_tensor_unref(out);
}

static float first_of(tensor_p t)
{
    CHECK(t->grad && t->grad->storage->value.kind == VALUE_TENSOR);
    return tensor_f32(&t->grad->storage->value.tensor)[0];
}

static void rank_of_gradients(struct job *j, int rank)
{
    struct skiff_eager *e = skiff_eager_create();
    tensor_p a = leaf(e, 3, 2, true), b = leaf(e, 1, 1, true), unused = leaf(e, 2, 2, true);
    tensor_p params[3] = {a, b, unused};
    struct skiff_eager_reducer *r;
    struct skiff_eager_reducer_options o = {.first_bucket_bytes = 8, .bucket_bytes = 8};
    CHECK_FAILS(skiff_eager_reducer_create(e, 3, params, &o, &r, &err), "DataParallel",
                "not connected");
    join(j, rank);
    CHECK_OK(skiff_eager_reducer_create(e, 3, params, &o, &r, &err));
    for (int step = 1; step <= 3; step++) { /* the order changes after the first one */
        learn(e, rank == 1 ? b : a, (float)rank + 1);
        CHECK(first_of(a) == (1.0f + 3.0f) * (1.0f / 3) * (float)step || step > 1);
        CHECK(first_of(b) == 2.0f * (1.0f / 3) * (float)step || step > 1);
        CHECK(!unused->grad);
    }
    skiff_eager_clear_grad(a, false);
    skiff_eager_clear_grad(b, false);
    skiff_eager_reducer_set_sync(r, false);
    learn(e, a, (float)rank);
    CHECK(first_of(a) == (float)rank && !b->grad);
    skiff_eager_reducer_set_sync(r, true);
    learn(e, b, 3);
    CHECK(first_of(b) == 3 && first_of(a) == 1); /* the accumulated gradient is averaged, too */
    CHECK_FAILS(skiff_eager_reducer_create(e, 2, (tensor_p[]){a, a}, &o, &r, &err),
                "is listed twice");
    skiff_eager_reducer_destroy(r);
    learn(e, b, 1); /* the other ranks do not see it */
    skiff_world_close();
    for (int i = 0; i < 3; i++)
        skiff_eager_tensor_unref(params[i]);
    skiff_eager_destroy(e);
}

static void rank_of_rows(struct job *j, int rank)
{
    struct skiff_eager *e = skiff_eager_create();
    tensor_p table = leaf(e, 5, 2, true), dense = leaf(e, 5, 2, true), params[2] = {table, dense};
    struct skiff_eager_reducer *r;
    struct skiff_eager_reducer_options o = {.sparse = (bool[]){true, false}};
    join(j, rank);
    CHECK_OK(skiff_eager_reducer_create(e, 2, params, &o, &r, &err));
    look_up(e, table, rank, 4);
    const struct skiff_tensor *g = &table->grad->storage->value;
    static const int64_t want[6] = {0, 4, 1, 4, 2, 4};
    CHECK(g->kind == VALUE_ROWS && g->sel.nrows == 6 && g->sel.height == 5);
    CHECK(!memcmp(g->sel.rows, want, sizeof want));
    for (int i = 0; i < 12; i++)
        CHECK(tensor_f32(&g->tensor)[i] == 1.0f / 3);
    look_up(e, dense, rank, 4); /* it was not declared sparse */
    CHECK(first_of(dense) == 1.0f / 3);
    CHECK(tensor_f32(&dense->grad->storage->value.tensor)[8] == 1);
    CHECK(tensor_f32(&dense->grad->storage->value.tensor)[6] == 0);
    skiff_eager_reducer_destroy(r);
    skiff_world_close();
    skiff_eager_tensor_unref(table);
    skiff_eager_tensor_unref(dense);
    skiff_eager_destroy(e);
}

static void rank_with_another_model(struct job *j, int rank)
{
    struct skiff_eager *e = skiff_eager_create();
    tensor_p a = leaf(e, 1, 2 + rank, true);
    struct skiff_eager_reducer *r;
    struct skiff_eager_reducer_options o = {0};
    join(j, rank);
    CHECK_OK(skiff_eager_reducer_create(e, 1, &a, &o, &r, &err));
    tensor_p out = skiff_eager_tensor_create(e);
    struct skiff_op_arg in = {"X", 1, &a}, to = {"Out", 1, &out};
    struct skiff_op_call c = {"scale", &in, &to, 1, 1, NULL, 0};
    CHECK_OK(skiff_eager_op(e, &c, &err));
    CHECK_FAILS(skiff_eager_backward(e, 1, &out, NULL, false, &err),
                "the gradients of all ranks could not be averaged", "rank 1 calls all_reduce(avg)",
                "where rank 0 calls");
    skiff_eager_tensor_unref(out);
    skiff_eager_reducer_destroy(r);
    skiff_world_close();
    skiff_eager_tensor_unref(a);
    skiff_eager_destroy(e);
}

static void run(void (*rank)(struct job *, int))
{
    struct job j;
    job_init(&j, SIZE);
    for (int i = 0; i < SIZE; i++)
        job_start_rank(&j, i, rank);
    for (int i = 0; i < SIZE; i++)
        CHECK(job_wait(&j, i) == 0);
}

#define CASE(name, rank)           \
    static void name(void **state) \
    {                              \
        (void)state;               \
        run(rank);                 \
    }
CASE(calls_on_tensors, rank_of_calls)
CASE(a_rank_gives_up, rank_that_gives_up)
CASE(gradients_are_averaged, rank_of_gradients)
CASE(rows_are_gathered, rank_of_rows)
CASE(another_model, rank_with_another_model)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_on_tensors),       cmocka_unit_test(a_rank_gives_up),
        cmocka_unit_test(gradients_are_averaged), cmocka_unit_test(rows_are_gathered),
        cmocka_unit_test(another_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
