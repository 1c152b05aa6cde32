/* Plans: values, other batch sizes, memory, messages. Programs are built by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <skiff/net.h>

#include "base/mem.h"
#include "executor/executor.h"
#include "executor/plan.h"

struct fixture {
    struct skiff_program *p;
    struct skiff_scope *scope;
    struct skiff_executor *e;
};

static void add_op(struct skiff_program *p, const char *type, const char *x, const char *y,
                   const char *out)
{
    struct skiff_op *op = block_insert_op(program_root(p), -1, type);
    op_set_in(p, op, "X", 1, &x);
    if (y)
        op_set_in(p, op, "Y", 1, &y);
    op_set_out(p, op, "Out", 1, &out);
}

static struct skiff_var *add_var(struct skiff_program *p, const char *name, bool persistable)
{
    struct skiff_var *v = block_add_var(program_root(p), name);
    v->has_tensor = true;
    v->dtype = DTYPE_FP32;
    v->shape = SHAPE(-1, 4);
    v->persistable = persistable ? PRESENCE_TRUE : PRESENCE_FALSE;
    return v;
}

/* y = relu(x - w) + x, through temporaries a, b */
static void fixture_open(struct fixture *r, bool no_fuse)
{
    r->p = program_create();
    add_var(r->p, "x", false);
    add_var(r->p, "a", false);
    add_var(r->p, "b", false);
    add_var(r->p, "c", false);
    add_var(r->p, "y", false);
    add_var(r->p, "w", true)->shape = SHAPE(4);
    add_op(r->p, "elementwise_sub", "x", "w", "a");
    add_op(r->p, "relu", "a", NULL, "b");
    add_op(r->p, "square", "b", NULL, "c");
    add_op(r->p, "elementwise_add", "c", "x", "y");
    r->scope = scope_create();
    r->e = executor_create(r->scope, &(struct executor_options){.no_fuse = no_fuse});
}

static void fixture_close(struct fixture *r)
{
    executor_destroy(r->e);
    scope_destroy(r->scope);
    program_destroy(r->p);
}

static void set_w(struct fixture *r)
{
    struct skiff_tensor *w = scope_var(r->scope, "w");
    struct shape s = SHAPE(4);
    assert_int_equal(value_as_tensor(w, DTYPE_FP32, &s, NULL), SKIFF_OK);
    for (int i = 0; i < 4; i++)
        tensor_f32(&w->tensor)[i] = (float)i;
}

static struct tensor make_x(int64_t rows)
{
    struct tensor t = {0};
    struct shape s = SHAPE(rows, 4);
    assert_int_equal(tensor_resize(&t, DTYPE_FP32, &s, NULL), SKIFF_OK);
    for (int64_t i = 0; i < rows * 4; i++)
        tensor_f32(&t)[i] = (float)(i % 7);
    return t;
}

static enum skiff_status run(struct fixture *r, const struct tensor *x, const char *fetch,
                             struct skiff_tensor *out, struct skiff_error *err)
{
    struct feed feed = {"x", x, NULL};
    return executor_run(r->e, r->p, &feed, 1, &fetch, 1, out, err);
}

static void check_y(const struct tensor *x, const struct skiff_tensor *y)
{
    assert_true(shape_equal(&x->shape, &y->tensor.shape));
    for (int64_t i = 0; i < tensor_numel(x); i++) {
        float v = tensor_f32(x)[i], a = v - (float)(i % 4);
        float expect = (a > 0 ? a * a : 0) + v;
        assert_true(tensor_f32(&y->tensor)[i] == expect);
    }
}

static void test_values_for_any_batch(void **state)
{
    static const int64_t batches[] = {3, 100, 1, 3, 0, 1000, 100};
    for (int no_fuse = 0; no_fuse < 2; no_fuse++) {
        struct fixture r;
        fixture_open(&r, no_fuse);
        set_w(&r);
        struct skiff_tensor y = {0};
        for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
            struct tensor x = make_x(batches[i]);
            struct skiff_error err = {0};
            if (run(&r, &x, "y", &y, &err) < 0)
                fail_msg("batch %lld: %s", (long long)batches[i], err.message);
            check_y(&x, &y);
            tensor_deinit(&x);
        }
        value_deinit(&y);
        fixture_close(&r);
    }
}

static void test_steady_step_allocates_nothing(void **state)
{
    struct fixture r;
    fixture_open(&r, false);
    set_w(&r);
    struct skiff_tensor y = {0};
    struct tensor x = make_x(64);
    for (int i = 0; i < 3; i++)
        assert_int_equal(run(&r, &x, "y", &y, NULL), SKIFF_OK);
    uint64_t before = mem_alloc_count();
    for (int i = 0; i < 10; i++)
        assert_int_equal(run(&r, &x, "y", &y, NULL), SKIFF_OK);
    assert_int_equal(mem_alloc_count(), before);
    check_y(&x, &y);
    tensor_deinit(&x);
    value_deinit(&y);
    fixture_close(&r);
}

static void test_slab_is_shared(void **state)
{
    struct fixture r;
    fixture_open(&r, true);
    set_w(&r);
    struct tensor x = make_x(1000);
    const char *feeds[] = {"x"}, *fetches[] = {"y"};
    struct plan *plan = NULL;
    struct mt64 generator;
    mt64_seed(&generator, 1);
    struct plan_options options = {.generator = &generator};
    assert_int_equal(plan_create(r.p, r.scope, &options, feeds, 1, fetches, 1, &plan, NULL),
                     SKIFF_OK);
    struct feed feed = {"x", &x, NULL};
    struct skiff_tensor y = {0};
    for (int i = 0; i < 2; i++)
        assert_int_equal(plan_run(plan, &feed, &y, NULL), SKIFF_OK);
    check_y(&x, &y);
    /* a, b, c, y are 16000 bytes each; a is dead when c is written, b when y is */
    assert_int_equal(plan->layouts, 1);
    assert_true(plan->slab_bytes >= 2 * 16000 && plan->slab_bytes < 3 * 16000);
    value_deinit(&y);
    plan_destroy(plan);
    tensor_deinit(&x);
    fixture_close(&r);
}

static void test_a_feed_is_never_written(void **state)
{
    struct fixture r;
    fixture_open(&r, false);
    set_w(&r);
    add_op(r.p, "relu", "x", NULL, "x"); /* in place on the fed variable */
    struct tensor x = make_x(2);
    tensor_f32(&x)[0] = -5;
    struct skiff_tensor got = {0};
    assert_int_equal(run(&r, &x, "x", &got, NULL), SKIFF_OK);
    assert_true(tensor_f32(&got.tensor)[0] == 0);
    assert_true(tensor_f32(&x)[0] == -5);
    value_deinit(&got);
    tensor_deinit(&x);
    fixture_close(&r);
}

static void expect_message(struct fixture *r, const struct tensor *x, const char *fetch,
                           enum skiff_status code, const char *const *parts)
{
    struct skiff_error err = {0};
    struct skiff_tensor out = {0};
    assert_int_equal(run(r, x, fetch, &out, &err), code);
    for (; *parts; parts++)
        if (!strstr(err.message, *parts))
            fail_msg("\"%s\" lacks \"%s\"", err.message, *parts);
    assert_int_equal(out.kind, VALUE_NONE);
    value_deinit(&out);
}

static void test_messages(void **state)
{
    struct fixture r;
    struct tensor x = make_x(2);
    fixture_open(&r, false);
    expect_message(&r, &x, "y", SKIFF_STATE,
                   (const char *[]){"elementwise_sub", "op 0", "Y", "w", "startup program", NULL});
    set_w(&r);
    expect_message(&r, &x, "nowhere", SKIFF_NOT_FOUND,
                   (const char *[]){"nowhere", "not in the program", NULL});
    struct skiff_error err = {0};
    struct feed wrong = {"no_such_input", &x, NULL};
    assert_int_equal(executor_run(r.e, r.p, &wrong, 1, NULL, 0, NULL, &err), SKIFF_NOT_FOUND);
    assert_non_null(strstr(err.message, "no_such_input"));
    add_op(r.p, "rellu", "y", NULL, "z");
    expect_message(&r, &x, "y", SKIFF_UNSUPPORTED, (const char *[]){"rellu", "relu", NULL});
    fixture_close(&r);
    tensor_deinit(&x);
}

static void test_declared_feeds_are_checked(void **state)
{
    struct fixture r;
    fixture_open(&r, false);
    set_w(&r);
    block_own_var(program_root(r.p), "x")->need_check_feed = PRESENCE_TRUE;
    struct tensor x = {0};
    struct shape s = SHAPE(2, 5);
    assert_int_equal(tensor_resize(&x, DTYPE_FP32, &s, NULL), SKIFF_OK);
    expect_message(&r, &x, "y", SKIFF_SHAPE, (const char *[]){"x", "[-1, 4]", "[2, 5]", NULL});
    s = SHAPE(2, 4);
    assert_int_equal(tensor_resize(&x, DTYPE_FP64, &s, NULL), SKIFF_OK);
    expect_message(&r, &x, "y", SKIFF_DTYPE, (const char *[]){"x", "float32", "float64", NULL});
    tensor_deinit(&x);
    fixture_close(&r);
}

static float fetched(struct fixture *r, const struct tensor *x, const char *name)
{
    struct skiff_tensor out = {0};
    struct skiff_error err = {0};
    if (run(r, x, name, &out, &err) < 0)
        fail_msg("%s: %s", name, err.message);
    float first = tensor_f32(&out.tensor)[0];
    value_deinit(&out);
    return first;
}

/* y = 2 x; every edit counts from the next run on, also one that leaves the number of ops alone. */
static void test_fed_bools_are_0_or_1(void **state)
{
    struct fixture r;
    struct skiff_error err;
    struct tensor x = {0};
    fixture_open(&r, true);
    assert_int_equal(tensor_resize(&x, DTYPE_BOOL, &(struct shape){2, {1, 4}}, &err), SKIFF_OK);
    memcpy(x.data, (uint8_t[]){0, 1, 3, 1}, 4);
    struct feed feed = {"x", &x, NULL};
    assert_int_equal(executor_run(r.e, r.p, &feed, 1, NULL, 0, NULL, &err), SKIFF_INVALID);
    assert_non_null(
        strstr(err.message, "fed variable x: element 2 is the byte 3; a bool is 0 or 1"));
    tensor_deinit(&x);
    fixture_close(&r);
}

/* scale with a ScaleTensor that nobody has written. */
static void test_optional_input_without_a_value(void **state)
{
    struct fixture r;
    struct skiff_error err = {0};
    const char *scale = "s", *y = "y";
    struct skiff_tensor out = {0};
    struct tensor x = {0};
    fixture_open(&r, true);
    block_remove_ops(program_root(r.p), 0, program_root(r.p)->nops);
    add_var(r.p, "s", false);
    add_op(r.p, "scale", "x", NULL, "y");
    struct skiff_op *op = program_root(r.p)->ops[0];
    op_set_in(r.p, op, "ScaleTensor", 1, &scale);
    op_set_float(r.p, op, "scale", 2);
    assert_int_equal(tensor_resize(&x, DTYPE_FP32, &(struct shape){2, {1, 4}}, &err), SKIFF_OK);
    for (int i = 0; i < 4; i++)
        tensor_f32(&x)[i] = (float)i;
    struct feed feed = {"x", &x, NULL};
    assert_int_equal(executor_run(r.e, r.p, &feed, 1, &y, 1, &out, &err), SKIFF_STATE);
    assert_non_null(strstr(err.message, "op 0 scale: input ScaleTensor: variable s has no value"));
    value_deinit(&out);
    tensor_deinit(&x);
    fixture_close(&r);
}

static void test_outputs_are_distinct(void **state)
{
    struct fixture r;
    struct skiff_error err = {0};
    const char *x = "x", *outs[] = {"a", "b", "a"};
    fixture_open(&r, true);
    block_remove_ops(program_root(r.p), 0, program_root(r.p)->nops);
    struct skiff_op *op = block_insert_op(program_root(r.p), -1, "split");
    op_set_in(r.p, op, "X", 1, &x);
    op_set_out(r.p, op, "Out", 3, outs);
    op_set_ints(r.p, op, "sections", 3, (int32_t[]){1, 1, 2});
    op_set_int(r.p, op, "axis", 1);
    assert_int_equal(executor_run(r.e, r.p, NULL, 0, NULL, 0, NULL, &err), SKIFF_INVALID);
    assert_non_null(
        strstr(err.message, "op 0 split: output slot Out: variable a is already another output"));
    fixture_close(&r);
}

static void test_an_edited_program_is_compiled_anew(void **state)
{
    for (int no_fuse = 0; no_fuse < 2; no_fuse++) {
        struct fixture r = {program_create(), scope_create(), NULL};
        struct tensor x = make_x(2);
        tensor_f32(&x)[0] = 3;
        r.e = executor_create(r.scope, &(struct executor_options){.no_fuse = no_fuse});
        add_var(r.p, "x", false);
        add_var(r.p, "z", false);
        add_var(r.p, "y", false);
        add_op(r.p, "scale", "x", NULL, "y");
        struct skiff_op *op = program_root(r.p)->ops[0];
        op_set_float(r.p, op, "scale", 2);
        assert_true(fetched(&r, &x, "y") == 6);
        op_set_float(r.p, op, "scale", 5);
        assert_true(fetched(&r, &x, "y") == 15);
        op_remove_attr(op, "scale");
        assert_true(fetched(&r, &x, "y") == 3); /* the default, 1 */
        op_set_out(r.p, op, "Out", 1, (const char *[]){"z"});
        add_op(r.p, "square", "z", NULL, "y");
        assert_true(fetched(&r, &x, "y") == 9);
        block_remove_ops(program_root(r.p), 1, 1);
        op_rename_out(r.p, op, "z", "y");
        assert_true(fetched(&r, &x, "y") == 3);
        skiff_var_set_persistable(block_own_var(program_root(r.p), "y"), true);
        assert_true(fetched(&r, &x, "y") == 3);
        assert_true(tensor_f32(&scope_find(r.scope, "y")->tensor)[0] == 3);
        tensor_deinit(&x);
        fixture_close(&r);
    }
}

/* Programs may go after a run; others at the same address are others, and memory does not grow. */
static void test_programs_come_and_go(void **state)
{
    struct fixture r;
    struct tensor x = make_x(1);
    size_t early = 0;
    fixture_open(&r, true);
    program_destroy(r.p);
    tensor_f32(&x)[0] = 3;
    for (int i = 1; i <= 100; i++) {
        r.p = program_create();
        add_var(r.p, "x", false);
        add_var(r.p, "y", false);
        add_op(r.p, "scale", "x", NULL, "y");
        op_set_float(r.p, program_root(r.p)->ops[0], "scale", (float)i);
        assert_true(fetched(&r, &x, "y") == (float)(3 * i));
        program_destroy(r.p);
        if (i == 10)
            early = mem_in_use();
    }
    assert_true(mem_in_use() <= early);
    r.p = NULL;
    tensor_deinit(&x);
    fixture_close(&r);
}

/* Whoever runs one program runs the other. */
static void test_runs_as(void **state)
{
    struct fixture r, other;
    struct tensor x = make_x(3);
    fixture_open(&r, false);
    fixture_open(&other, false);
    set_w(&r);
    op_set_float(other.p, block_insert_op(program_root(other.p), -1, "scale"), "scale", 10);
    struct skiff_op *ten = program_root(other.p)->ops[program_root(other.p)->nops - 1];
    op_set_in(other.p, ten, "X", 1, (const char *[]){"y"});
    op_set_out(other.p, ten, "Out", 1, (const char *[]){"y"});
    float plain = fetched(&r, &x, "y");
    program_run_as(r.p, other.p);
    assert_true(fetched(&r, &x, "y") == 10 * plain);
    struct skiff_program *copy = skiff_program_clone(r.p);
    assert_int_equal(program_root(copy)->nops, program_root(other.p)->nops);
    program_destroy(copy);
    program_run_as(r.p, NULL);
    assert_true(fetched(&r, &x, "y") == plain);
    program_run_as(r.p, other.p);
    fixture_close(&other); /* a reference is left */
    assert_true(fetched(&r, &x, "y") == 10 * plain);
    tensor_deinit(&x);
    fixture_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_for_any_batch),
        cmocka_unit_test(test_steady_step_allocates_nothing),
        cmocka_unit_test(test_slab_is_shared),
        cmocka_unit_test(test_a_feed_is_never_written),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_declared_feeds_are_checked),
        cmocka_unit_test(test_fed_bools_are_0_or_1),
        cmocka_unit_test(test_optional_input_without_a_value),
        cmocka_unit_test(test_outputs_are_distinct),
        cmocka_unit_test(test_an_edited_program_is_compiled_anew),
        cmocka_unit_test(test_programs_come_and_go),
        cmocka_unit_test(test_runs_as),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
