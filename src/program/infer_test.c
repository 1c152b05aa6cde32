/* One shape rule in both settings (infer.c): while building it fills variables, which it creates if
 * they are missing; while running it sizes values, also in place and for selected rows. Then
 * scratch memory, and the messages of kernels (kernel.c). */
#include "program/testing.h"

#include "program/infer.h"
#include "base/mem.h"
#include "program/kernel.h"

static const struct op_slot ins[] = {{"X", SLOT_LIST}, {0}};
static const struct op_slot outs[] = {{"Out", SLOT_LIST}, {"Extra", SLOT_EXTRA}, {0}};

static enum skiff_status same_rule(struct infer *c, struct skiff_error *err)
{
    return infer_same(c, 0, 0, err);
}
static enum skiff_status rows_rule(struct infer *c, struct skiff_error *err)
{
    return infer_out_rows(c, 0, 0, DTYPE_FP32, 4, 8, 100, err);
}
static enum skiff_status failing_rule(struct infer *c, struct skiff_error *err)
{
    return infer_fail(c, 0, 0, err, "expected %d dimensions", 3);
}

static void building(void **state)
{
    struct op_kind kind = {.type = "thing", .ins = ins, .outs = outs, .infer = same_rule};
    struct skiff_program *p = program_create();
    struct skiff_block *b = program_root(p);
    struct skiff_error err;
    struct skiff_op *op = block_insert_op(b, -1, "thing");
    op->kind = &kind;
    op_set_in(p, op, "X", 1, (const char *[]){"x"});
    op_set_out(p, op, "Out", 1, (const char *[]){"y"});
    assert_int_equal(infer_op(b, op, &err), SKIFF_NOT_FOUND);
    assert_string_equal(err.message,
                        "op thing, input X: variable x is not in block 0 or its parents");
    struct skiff_var *x = block_add_var(b, "x");
    x->dtype = DTYPE_INT64;
    x->shape = SHAPE(-1, 3);
    x->lod_level = 2;
    assert_int_equal(infer_op(b, op, &err), SKIFF_OK);
    struct skiff_var *y = block_own_var(b, "y"); /* made by the rule */
    assert_non_null(y);
    assert_int_equal(y->dtype, DTYPE_INT64);
    assert_int_equal(y->shape.dims[1], 3);
    assert_int_equal(y->lod_level, 2);
    assert_ptr_equal(y->producer, op);
    kind.infer = rows_rule;
    assert_int_equal(infer_op(b, op, &err), SKIFF_OK);
    assert_int_equal(y->kind, VAR_SELECTED_ROWS);
    assert_int_equal(y->shape.dims[0], 100);
    kind.infer = failing_rule;
    assert_int_equal(infer_op(b, op, &err), SKIFF_SHAPE);
    assert_string_equal(err.message, "op thing, input X (x) [-1, 3]: expected 3 dimensions");
    kind.infer = NULL; /* every output like the first input; the absent one is left alone */
    y->kind = VAR_LOD_TENSOR;
    op_set_out(p, op, "Out", 3, (const char *[]){"y", EMPTY_VAR, "z"});
    assert_int_equal(infer_op(b, op, &err), SKIFF_OK);
    assert_int_equal(block_own_var(b, "z")->shape.ndim, 2);
    assert_null(block_own_var(b, EMPTY_VAR));
    program_destroy(p);
}

static void running(void **state)
{
    struct op_kind kind = {.type = "thing", .ins = ins, .outs = outs, .infer = same_rule};
    struct skiff_tensor x = {0}, y = {0};
    struct skiff_tensor *in[] = {&x}, *out[] = {&y};
    struct kernel_slot in_slots[] = {{in, 1}}, out_slots[] = {{out, 1}, {NULL, 0}};
    struct kernel k = {.kind = &kind, .in = in_slots, .out = out_slots};
    struct infer c = {.kind = &kind, .running = true, .kernel = &k};
    struct skiff_error err;
    assert_int_equal(infer_run(&c, &err), SKIFF_SHAPE); /* nothing written yet */
    struct shape shape = SHAPE(2, 3);
    assert_int_equal(value_as_tensor(&x, DTYPE_FP32, &shape, &err), SKIFF_OK);
    assert_int_equal(lod_build(&x.tensor.lod, 1, (int64_t[]){2}, &err), SKIFF_OK);
    assert_int_equal(infer_run(&c, &err), SKIFF_OK);
    assert_true(shape_equal(&y.tensor.shape, &shape));
    assert_ptr_equal(y.tensor.lod, x.tensor.lod);
    /* the output of a rule that does not share has no lod */
    assert_int_equal(infer_out(&c, 0, 0, DTYPE_FP32, &shape, &err), SKIFF_OK);
    assert_null(y.tensor.lod);
    /* in place: bytes and lod stay */
    tensor_f32(&x.tensor)[5] = 42;
    out[0] = &x;
    assert_int_equal(infer_run(&c, &err), SKIFF_OK);
    assert_float_equal(tensor_f32(&x.tensor)[5], 42, 0);
    assert_non_null(x.tensor.lod);
    /* selected rows in, selected rows out */
    out[0] = &y;
    tensor_drop_lod(&x.tensor);
    assert_int_equal(value_as_rows(&x, DTYPE_FP32, 2, 5, 77, &err), SKIFF_OK);
    assert_int_equal(infer_run(&c, &err), SKIFF_OK);
    assert_int_equal(y.kind, VALUE_ROWS);
    assert_int_equal(y.sel.height, 77);
    assert_int_equal(y.tensor.shape.dims[1], 5);
    assert_false(infer_wants(&c, 1, 0));
    value_deinit(&x);
    value_deinit(&y);
}

static void scratch_pieces_stay(void **state)
{
    struct op_kind kind = {.type = "thing"};
    struct kernel_scratch_space space = {0};
    struct kernel k = {.kind = &kind, .scratch = &space};
    unsigned char *pieces[6];
    uint64_t allocations = 0;
    for (int run = 0; run < 3; run++) {
        kernel_scratch_reset(&space);
        for (int i = 0; i < 6; i++) {
            size_t n = (size_t)1 << (4 + 2 * i);
            assert_int_equal(kernel_scratch(&k, n, (void **)&pieces[i], NULL), SKIFF_OK);
            assert_int_equal((uintptr_t)pieces[i] % 64, 0);
            memset(pieces[i], i + 1, n);
        }
        for (int i = 0; i < 6; i++)
            for (size_t j = 0; j < (size_t)1 << (4 + 2 * i); j++)
                assert_int_equal(pieces[i][j], i + 1);
        if (run == 0)
            allocations = mem_alloc_count();
        assert_int_equal(mem_alloc_count(), allocations); /* one chunk serves from now on */
    }
    void *p;
    struct skiff_error err;
    assert_int_equal(kernel_scratch(&k, SIZE_MAX - 10, &p, &err), SKIFF_RANGE);
    assert_int_equal(kernel_scratch(&k, 0, &p, &err), SKIFF_OK);
    kernel_scratch_deinit(&space);
    kernel_scratch_deinit(&space);
}

static void kernel_messages(void **state)
{
    struct op_kind kind = {.type = "thing", .ins = ins, .outs = outs};
    struct skiff_program *p = program_create();
    struct skiff_op *op = block_insert_op(program_root(p), -1, "thing");
    struct skiff_error err;
    op_set_in(p, op, "X", 2, (const char *[]){"a", "b"});
    op_set_out(p, op, "Out", 1, (const char *[]){"c"});
    struct kernel k = {.kind = &kind, .op = op};
    assert_string_equal(kernel_in_name(&k, 0, 1), "b");
    assert_string_equal(kernel_in_name(&k, 0, 2), "");
    assert_string_equal(kernel_out_name(&k, 0, 0), "c");
    assert_int_equal(kernel_fail(&k, SKIFF_RANGE, &err, "id %d is outside", 7), SKIFF_RANGE);
    assert_string_equal(err.message, "op thing, input X (a, b): id 7 is outside");
    program_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(building),
        cmocka_unit_test(running),
        cmocka_unit_test(scratch_pieces_stay),
        cmocka_unit_test(kernel_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
