/* Edges of plans: sub-blocks used oddly, programs that grow between runs, feeds of another type or
 * lod than declared. Programs are written in the text form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "executor/executor.h"

struct fixture {
    struct skiff_program *p;
    struct skiff_scope *scope;
    struct skiff_executor *e;
    struct skiff_error err;
};

static void fixture_open(struct fixture *r, const char *text, bool no_fuse)
{
    *r = (struct fixture){0};
    if (program_parse(text, "test", &r->p, &r->err) < 0)
        fail_msg("%s", r->err.message);
    r->scope = scope_create();
    r->e = executor_create(r->scope, &(struct executor_options){.no_fuse = no_fuse});
}

static void fixture_close(struct fixture *r)
{
    executor_destroy(r->e);
    scope_destroy(r->scope);
    program_destroy(r->p);
}

static struct tensor floats(int64_t rows, int64_t cols, float first)
{
    struct tensor t = {0};
    struct shape s = SHAPE(rows, cols);
    assert_int_equal(tensor_resize(&t, DTYPE_FP32, &s, NULL), SKIFF_OK);
    for (int64_t i = 0; i < rows * cols; i++)
        tensor_f32(&t)[i] = first + (float)i;
    return t;
}

static enum skiff_status run(struct fixture *r, const struct feed *feeds, int nfeeds,
                             const char *fetch, struct skiff_tensor *out)
{
    memset(&r->err, 0, sizeof(r->err));
    return executor_run(r->e, r->p, feeds, nfeeds, &fetch, fetch ? 1 : 0, out, &r->err);
}

static void run_fails(const char *text, enum skiff_status code, const char *part)
{
    for (int no_fuse = 0; no_fuse < 2; no_fuse++) {
        struct fixture r;
        fixture_open(&r, text, no_fuse);
        assert_int_equal(run(&r, NULL, 0, NULL, NULL), code);
        if (!strstr(r.err.message, part))
            fail_msg("no \"%s\" in: %s", part, r.err.message);
        fixture_close(&r);
    }
}

static void test_condition_without_value(void **state)
{
    run_fails("program generation=1 version=1008005\n"
              "block 0 parent=-1 {\n"
              "  var c LOD_TENSOR bool [1]\n  var x LOD_TENSOR float32 [1]\n"
              "  var s STEP_SCOPES\n"
              "  op conditional_block {Cond:[c] Input:[]} -> {Out:[x] Scope:[s]} "
              "sub_block=block(1) is_scalar_condition=True\n"
              "}\nblock 1 parent=0 {\n"
              "  op fill_constant {} -> {Out:[x]} shape=longs[1] dtype=5 value=1.0\n}\n",
              SKIFF_INVALID, "c must be one bool");
}

/* Blocks that run themselves would never end. */
static void test_blocks_in_circles(void **state)
{
    run_fails("program generation=1 version=1008005\n"
              "block 0 parent=-1 {\n"
              "  var c LOD_TENSOR bool [1]\n  var x LOD_TENSOR float32 [1]\n"
              "  var s STEP_SCOPES\n"
              "  op fill_constant {} -> {Out:[c]} shape=longs[1] dtype=0 value=1.0\n"
              "  op conditional_block {Cond:[c] Input:[]} -> {Out:[x] Scope:[s]} "
              "sub_block=block(1) is_scalar_condition=True\n"
              "}\nblock 1 parent=0 {\n"
              "  op conditional_block {Cond:[c] Input:[]} -> {Out:[x] Scope:[s]} "
              "sub_block=block(1) is_scalar_condition=True\n}\n",
              SKIFF_FORMAT, "circle");
}

/* Gradient blocks that name each other as their forward block. */
static void test_forward_blocks_in_circles(void **state)
{
    run_fails("program generation=1 version=1008005\n"
              "block 0 parent=-1 {\n"
              "  var c LOD_TENSOR bool [1]\n  var x LOD_TENSOR float32 [1]\n"
              "  var s STEP_SCOPES\n"
              "  op fill_constant {} -> {Out:[c]} shape=longs[1] dtype=0 value=1.0\n"
              "  op conditional_block {Cond:[c] Input:[]} -> {Out:[x] Scope:[s]} "
              "sub_block=block(1) is_scalar_condition=True\n"
              "}\nblock 1 parent=0 forward=2 {\n"
              "  op relu {X:[nowhere]} -> {Out:[x]}\n"
              "}\nblock 2 parent=0 forward=1 {\n}\n",
              SKIFF_STATE, "nowhere");
}

static void test_internal_ops(void **state)
{
    run_fails("program generation=1 version=1008005\n"
              "block 0 parent=-1 {\n"
              "  var w LOD_TENSOR float32 [4,2] persistable=True\n"
              "  var ids LOD_TENSOR int64 [-1,1]\n  var y LOD_TENSOR float32 [-1,2]\n"
              "  op fused_embedding_concat {W:[w] Ids:[ids]} -> {Out:[y]} pieces=ints[1,77,9] "
              "paddings=longs[]\n}\n",
              SKIFF_UNSUPPORTED, "fused_embedding_concat");
}

/* One block run by two ops: what it reads must live until the second one, though others could use
 * the room in between. */
static void test_block_with_two_owners(void **state)
{
    static const char text[] =
        "program generation=1 version=1008005\n"
        "block 0 parent=-1 {\n"
        "  var c LOD_TENSOR bool [1]\n  var x LOD_TENSOR float32 [-1,4]\n"
        "  var a LOD_TENSOR float32 [-1,4]\n  var b LOD_TENSOR float32 [-1,4]\n"
        "  var d LOD_TENSOR float32 [-1,4]\n  var y LOD_TENSOR float32 [-1,4]\n"
        "  var s STEP_SCOPES\n"
        "  op fill_constant {} -> {Out:[c]} shape=longs[1] dtype=0 value=1.0\n"
        "  op scale {X:[x]} -> {Out:[a]} scale=2.0\n"
        "  op conditional_block {Cond:[c] Input:[a]} -> {Out:[y] Scope:[s]} "
        "sub_block=block(1) is_scalar_condition=True\n"
        "  op scale {X:[x]} -> {Out:[b]} scale=3.0\n"
        "  op scale {X:[b]} -> {Out:[d]} scale=3.0\n"
        "  op conditional_block {Cond:[c] Input:[]} -> {Out:[y] Scope:[s]} "
        "sub_block=block(1) is_scalar_condition=True\n"
        "}\nblock 1 parent=0 {\n"
        "  op scale {X:[a]} -> {Out:[y]} scale=10.0\n}\n";
    struct fixture r;
    struct skiff_tensor y = {0};
    fixture_open(&r, text, false);
    for (int step = 0; step < 3; step++) {
        struct tensor x = floats(5, 4, (float)step);
        assert_int_equal(run(&r, &(struct feed){"x", &x, NULL}, 1, "y", &y), SKIFF_OK);
        for (int i = 0; i < 20; i++)
            assert_true(tensor_f32(&y.tensor)[i] == 20 * (float)(i + step));
        tensor_deinit(&x);
    }
    value_deinit(&y);
    fixture_close(&r);
}

/* Ops and blocks appended after a run are run the next time. */
static void test_program_that_grows(void **state)
{
    for (int no_fuse = 0; no_fuse < 2; no_fuse++) {
        struct fixture r;
        struct skiff_tensor y = {0};
        fixture_open(&r,
                     "program generation=1 version=1008005\nblock 0 parent=-1 {\n"
                     "  var x LOD_TENSOR float32 [-1,4]\n  var y LOD_TENSOR float32 [-1,4]\n"
                     "  op scale {X:[x]} -> {Out:[y]} scale=2.0\n}\n",
                     no_fuse);
        struct tensor x = floats(1, 4, 1);
        struct feed feed = {"x", &x, NULL};
        const char *name = "y";
        assert_int_equal(run(&r, &feed, 1, "y", &y), SKIFF_OK);
        assert_true(tensor_f32(&y.tensor)[0] == 2);
        struct skiff_op *op = block_insert_op(program_root(r.p), -1, "scale");
        op_set_in(r.p, op, "X", 1, &name);
        op_set_out(r.p, op, "Out", 1, &name);
        op_set_float(r.p, op, "scale", 5);
        program_add_block(r.p, 0);
        assert_int_equal(run(&r, &feed, 1, "y", &y), SKIFF_OK);
        assert_true(tensor_f32(&y.tensor)[0] == 10);
        tensor_deinit(&x);
        value_deinit(&y);
        fixture_close(&r);
    }
}

/* ---- look-ups with feeds that differ from what was declared ---- */

static const char lookups[] =
    "program generation=1 version=1008005\n"
    "block 0 parent=-1 {\n"
    "  var ids LOD_TENSOR int64 [-1,1] lod=1\n  var w LOD_TENSOR float32 [4,2] persistable=True\n"
    "  var e LOD_TENSOR float32 [-1,2] lod=1\n  var p LOD_TENSOR float32 [-1,2]\n"
    "  var x LOD_TENSOR float32 [-1,1]\n  var y LOD_TENSOR float32 [-1,3]\n"
    "  op lookup_table {W:[w] Ids:[ids]} -> {Out:[e]} is_sparse=True padding_idx=-1L\n"
    "  op sequence_pool {X:[e]} -> {Out:[p]} pooltype=\"SUM\" pad_value=0.0\n"
    "  op concat {X:[p,x]} -> {Out:[y]} axis=1\n"
    "}\n";

static void set_table(struct fixture *r)
{
    struct skiff_tensor *w = scope_var(r->scope, "w");
    struct tensor t = floats(4, 2, 0);
    struct skiff_tensor v = {.kind = VALUE_TENSOR, .tensor = t};
    assert_int_equal(value_copy(w, &v, NULL), SKIFF_OK);
    tensor_deinit(&t);
}

static struct tensor ids_of(enum dtype dtype, int levels)
{
    struct tensor t = {0};
    struct shape s = SHAPE(5, 1);
    const int64_t counts[] = {2, 4}; /* one sequence of three; those of 2, 0, 3 ids */
    assert_int_equal(tensor_resize(&t, dtype, &s, NULL), SKIFF_OK);
    for (int i = 0; i < 5; i++)
        if (dtype == DTYPE_INT64)
            tensor_i64(&t)[i] = i % 4;
        else
            tensor_i32(&t)[i] = i % 4;
    assert_int_equal(lod_build(&t.lod, levels, counts + 2 - levels, NULL), SKIFF_OK);
    static const int64_t off[] = {0, 2, 2, 5};
    memcpy(t.lod->level[levels - 1].off, off, sizeof(off));
    if (levels == 2)
        memcpy(t.lod->level[0].off, (int64_t[]){0, 3}, 2 * sizeof(int64_t));
    return t;
}

static void test_undeclared_feeds(void **state)
{
    struct fixture plain, fused;
    struct tensor x = floats(3, 1, 7);
    fixture_open(&plain, lookups, true);
    fixture_open(&fused, lookups, false);
    set_table(&plain);
    set_table(&fused);
    for (int k = 0; k < 8; k++) { /* one after the other, in one plan */
        struct tensor ids = ids_of(k & 1 ? DTYPE_INT32 : DTYPE_INT64, k & 2 ? 2 : 1);
        struct feed feeds[] = {{"ids", &ids, NULL}, {"x", &x, NULL}};
        struct skiff_tensor a = {0}, b = {0};
        if (run(&plain, feeds, 2, "y", &a) < 0 || run(&fused, feeds, 2, "y", &b) < 0)
            fail_msg("%s%s", plain.err.message, fused.err.message);
        assert_true(shape_equal(&a.tensor.shape, &b.tensor.shape));
        assert_memory_equal(a.tensor.data, b.tensor.data, tensor_bytes(&a.tensor));
        assert_true(lod_equal(a.tensor.lod, b.tensor.lod));
        assert_int_equal(a.tensor.lod ? a.tensor.lod->nlevels : 0, k & 2 ? 1 : 0);
        value_deinit(&a);
        value_deinit(&b);
        tensor_deinit(&ids);
    }
    tensor_deinit(&x);
    fixture_close(&plain);
    fixture_close(&fused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_condition_without_value),   cmocka_unit_test(test_blocks_in_circles),
        cmocka_unit_test(test_forward_blocks_in_circles), cmocka_unit_test(test_internal_ops),
        cmocka_unit_test(test_block_with_two_owners),     cmocka_unit_test(test_program_that_grows),
        cmocka_unit_test(test_undeclared_feeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
