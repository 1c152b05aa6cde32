/* Ops over rings in programs: values in every rank of a real job, gradients, errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <skiff/collective.h>

#include "executor/executor.h"
#include "program/grad.h"
#include "program/program.h"
#include "tests/conformance/collective_fixture_test.h"

/* One op: x (fed), y (fetched). */
struct one {
    struct skiff_program *p;
    struct skiff_op *op;
    struct skiff_scope *scope;
    struct skiff_tensor y;
};

static void one_start(struct one *o, const char *type)
{
    static const char *const x[] = {"x"}, *const y[] = {"y"};
    *o = (struct one){.p = program_create(), .scope = scope_create()};
    o->p->generation = GEN_2X;
    o->op = block_insert_op(program_root(o->p), -1, type);
    CHECK(o->op->kind);
    for (int i = 0; i < 2; i++)
        block_add_var(program_root(o->p), i ? *y : *x);
    op_set_in(o->p, o->op, "X", 1, (const char **)x);
    op_set_out(o->p, o->op, "Out", 1, (const char **)y);
}

static enum skiff_status one_run(struct one *o, const struct feed *feed, struct skiff_error *err)
{
    struct skiff_executor *e = executor_create(o->scope, &(struct executor_options){0});
    const char *fetch = "y";
    enum skiff_status status = executor_run(e, o->p, feed, 1, &fetch, 1, &o->y, err);
    executor_destroy(e);
    return status;
}

static void one_stop(struct one *o)
{
    value_deinit(&o->y);
    program_destroy(o->p);
    scope_destroy(o->scope);
}

/* The first floats of y are these, and there are no more. */
static void y_is(struct one *o, int n, const float *want)
{
    CHECK(o->y.kind == VALUE_TENSOR && tensor_numel(&o->y.tensor) == n);
    for (int i = 0; i < n; i++)
        CHECK(tensor_f32(&o->y.tensor)[i] == want[i]);
}

static void run_ok(struct one *o, float *x, int n, int want_n, const float *want)
{
    struct tensor t = {.dtype = DTYPE_FP32,
                       .shape = SHAPE(n),
                       .data = x,
                       .cap = (size_t)n * 4,
                       .owner = TENSOR_BORROWED};
    CHECK_OK(one_run(o, &(struct feed){.name = "x", .tensor = &t}, &err));
    y_is(o, want_n, want);
}

static void reductions(int rank)
{
    static const struct {
        const char *type;
        float want;
    } cases[] = {{"c_allreduce_sum", 6},  {"c_allreduce_max", 3},  {"c_allreduce_min", 1},
                 {"c_allreduce_prod", 6}, {"mp_allreduce_sum", 6}, {"c_reduce_sum", 6},
                 {"c_reduce_max", 3},     {"c_reduce_min", 1},     {"c_reduce_prod", 6}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct one o;
        float x[2] = {(float)rank + 1, (float)rank + 1}, want[2] = {cases[i].want, cases[i].want};
        one_start(&o, cases[i].type);
        if (!strncmp(cases[i].type, "c_reduce", 8)) {
            op_set_int(o.p, o.op, "root_id", 2);
            if (rank != 2)
                want[0] = want[1] = (float)rank + 1;
        }
        run_ok(&o, x, 2, 2, want);
        one_stop(&o);
    }
}

static void moves(int rank)
{
    struct one o;
    float r = (float)rank, x[3] = {r, r + 10, r + 20};
    one_start(&o, "c_broadcast");
    op_set_int(o.p, o.op, "root", 1);
    run_ok(&o, x, 3, 3, (float[]){1, 11, 21});
    one_stop(&o);
    one_start(&o, "c_allgather");
    op_set_int(o.p, o.op, "nranks", 3);
    run_ok(&o, x, 2, 6, (float[]){0, 10, 1, 11, 2, 12});
    one_stop(&o);
    one_start(&o, "c_reducescatter");
    op_set_int(o.p, o.op, "nranks", 3);
    run_ok(&o, x, 3, 1, &(float){3 + 30 * r});
    one_stop(&o);
    one_start(&o, "c_scatter");
    op_set_int(o.p, o.op, "nranks", 3);
    op_set_int(o.p, o.op, "root", 2);
    run_ok(&o, x, 3, 1, &(float){2 + 10 * r});
    one_stop(&o);
    one_start(&o, "alltoall");
    run_ok(&o, x, 3, 3, (float[]){10 * r, 10 * r + 1, 10 * r + 2});
    one_stop(&o);
    one_start(&o, "c_concat");
    op_set_int(o.p, o.op, "nranks", 3);
    op_set_int(o.p, o.op, "rank", rank);
    run_ok(&o, x, 1, 3, (float[]){0, 1, 2});
    one_stop(&o);
    one_start(&o, "c_split");
    op_set_int(o.p, o.op, "nranks", 3);
    op_set_int(o.p, o.op, "rank", rank);
    run_ok(&o, x, 3, 1, &(float){11 * r});
    one_stop(&o);
}

static void nothing_to_do(void)
{
    static const char *const types[] = {"c_identity",  "c_sync_calc_stream", "c_sync_comm_stream",
                                        "c_wait_comm", "c_wait_compute",     "barrier"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct one o;
        float x[2] = {4, 5};
        one_start(&o, types[i]);
        run_ok(&o, x, 2, 2, (float[]){4, 5});
        one_stop(&o);
    }
}

/* 0 -> 1 -> 2 -> 0 */
static void messages(int rank)
{
    struct one o;
    float x[2] = {(float)rank, 7};
    one_start(&o, "send_v2");
    op_set_out(o.p, o.op, "Out", 0, NULL);
    op_set_int(o.p, o.op, "peer", (rank + 1) % 3);
    struct skiff_op *op = block_insert_op(program_root(o.p), -1, "recv_v2");
    op_set_out(o.p, op, "Out", 1, (const char *[]){"y"});
    op_set_int(o.p, op, "peer", (rank + 2) % 3);
    op_set_ints(o.p, op, "out_shape", 1, (int32_t[]){2});
    run_ok(&o, x, 2, 2, (float[]){(float)((rank + 2) % 3), 7});
    one_stop(&o);
}

/* Rank r sends rows r and 0 (0 twice, in rank 1), rank 2 sends none. */
static void rows(int rank)
{
    struct one o;
    int64_t ids[3] = {rank, 0, 0};
    float values[6] = {1, 2, 3, 4, 5, 6};
    int64_t n = rank == 0 ? 1 : rank == 1 ? 3 : 0;
    one_start(&o, "c_allreduce_sum");
    for (int i = 0; i < 2; i++)
        block_find_var(program_root(o.p), i ? "x" : "y")->kind = VAR_SELECTED_ROWS;
    struct tensor t = {.dtype = DTYPE_FP32,
                       .shape = SHAPE(n, 2),
                       .data = values,
                       .cap = sizeof values,
                       .owner = TENSOR_BORROWED};
    struct selected_rows sel = {.rows = ids, .nrows = (size_t)n, .rows_cap = 3, .height = 9};
    CHECK_OK(one_run(&o, &(struct feed){.name = "x", .tensor = &t, .rows = &sel}, &err));
    static const int64_t want_ids[] = {0, 1, 0};
    static const float want[] = {1, 2, 1, 2, 8, 10};
    CHECK(o.y.kind == VALUE_ROWS && o.y.sel.nrows == 3 && o.y.sel.height == 9);
    CHECK(!memcmp(o.y.sel.rows, want_ids, sizeof want_ids));
    CHECK(!memcmp(o.y.tensor.data, want, sizeof want));
    one_stop(&o);
}

static void refused(int rank)
{
    struct one o;
    float x[2] = {1, 2};
    struct tensor t = {
        .dtype = DTYPE_FP32, .shape = SHAPE(2), .data = x, .cap = 8, .owner = TENSOR_BORROWED};
    const struct feed feed = {.name = "x", .tensor = &t};
    one_start(&o, "c_allreduce_sum");
    op_set_int(o.p, o.op, "ring_id", 3);
    CHECK_FAILS(one_run(&o, &feed, &err), "c_allreduce_sum", "no ring 3");
    one_stop(&o);
    one_start(&o, "c_allgather");
    op_set_int(o.p, o.op, "nranks", 2);
    CHECK_FAILS(one_run(&o, &feed, &err), "made for 2 ranks", "ring 0 has 3");
    one_stop(&o);
    one_start(&o, "c_broadcast");
    op_set_int(o.p, o.op, "root", 3);
    CHECK_FAILS(one_run(&o, &feed, &err), "the root is rank 3", "ranks 0 to 2");
    one_stop(&o);
    one_start(&o, "c_comm_init");
    op_set_out(o.p, o.op, "Out", 0, NULL);
    op_set_int(o.p, o.op, "nranks", 2);
    op_set_int(o.p, o.op, "rank", rank);
    CHECK_FAILS(one_run(&o, &feed, &err), "was made for rank", "of 3", "PADDLE_TRAINER_ID");
    one_stop(&o);
}

/* Last of all: the ring is unusable afterwards. */
static void different(int rank)
{
    struct one o;
    float x[3] = {1, 2, 3};
    struct tensor t = {.dtype = DTYPE_FP32,
                       .shape = SHAPE(rank == 1 ? 3 : 2),
                       .data = x,
                       .cap = 12,
                       .owner = TENSOR_BORROWED};
    one_start(&o, "c_allreduce_sum");
    CHECK_FAILS(one_run(&o, &(struct feed){.name = "x", .tensor = &t}, &err), "variable x, rank",
                "of 3", rank == 1 ? "rank" : "rank 1");
    one_stop(&o);
}

static void in_a_job(struct job *j, int rank)
{
    struct skiff_world_options o = {
        .endpoints = j->endpoints, .size = j->size, .rank = rank, .insecure = true};
    CHECK_OK(skiff_world_open(&o, &err));
    reductions(rank);
    moves(rank);
    nothing_to_do();
    messages(rank);
    rows(rank);
    refused(rank);
    different(rank);
    skiff_world_close();
}

static void three_ranks(void **state)
{
    (void)state;
    struct job j;
    job_init(&j, 3);
    for (int i = 0; i < 3; i++)
        job_start_rank(&j, i, in_a_job);
    for (int i = 0; i < 3; i++)
        CHECK(job_wait(&j, i) == 0);
}

static void alone(struct job *j, int rank)
{
    struct one o;
    float x[2] = {1, 2};
    struct tensor t = {
        .dtype = DTYPE_FP32, .shape = SHAPE(2), .data = x, .cap = 8, .owner = TENSOR_BORROWED};
    one_start(&o, "c_allreduce_sum");
    CHECK_FAILS(one_run(&o, &(struct feed){.name = "x", .tensor = &t}, &err), "c_allreduce_sum",
                "not connected", "init_parallel_env");
    CHECK_OK(skiff_world_open(NULL, &err));
    run_ok(&o, x, 2, 2, (float[]){1, 2});
    one_stop(&o);
    skiff_world_close();
}

static void one_rank(void **state)
{
    (void)state;
    struct job j;
    job_init(&j, 1);
    job_start_rank(&j, 0, alone);
    CHECK(job_wait(&j, 0) == 0);
}

/* The op that computes X@GRAD from Out@GRAD. */
static void gradient_ops(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"c_allreduce_sum", "c_allreduce_sum"},
                                           {"mp_allreduce_sum", "c_identity"},
                                           {"c_identity", "c_allreduce_sum"},
                                           {"c_allgather", "c_reducescatter"},
                                           {"c_reducescatter", "c_allgather"},
                                           {"alltoall", "alltoall"},
                                           {"c_concat", "c_split"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct one o;
        one_start(&o, pairs[i][0]);
        op_set_int(o.p, o.op, "ring_id", 2);
        struct grad_build g = {.program = o.p, .block = program_root(o.p), .fwd = o.op};
        CHECK_OK(grad_build_ops(&g, &err));
        assert_int_equal(g.nops, 1);
        assert_string_equal(g.ops[0]->type, pairs[i][1]);
        assert_string_equal(op_in(g.ops[0], "X")->names[0], "y@GRAD");
        assert_string_equal(op_out(g.ops[0], "Out")->names[0], "x@GRAD");
        assert_int_equal(op_attr(g.ops[0], "ring_id")->value.i, 2);
        one_stop(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(three_ranks), cmocka_unit_test(one_rank),
                                       cmocka_unit_test(gradient_ops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
