/* Look-ups and pools: ids, tables that are selected rows or have deferred rows, lods, and messages
 * for wrong ones. */
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
    if (x)
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

/* A table of 4 x 2 with rows (1,2) (3,4) (5,6) (7,8). */
struct lookup {
    struct bench b;
    struct skiff_tensor w, ids, out;
};

static void lookup_start(struct lookup *l, const char *type, int64_t padding)
{
    struct skiff_tensor *w = &l->w, *ids = &l->ids, *out = &l->out;
    memset(l, 0, sizeof *l);
    bench_start(&l->b, type, NULL);
    op_set_long(l->b.program, (struct skiff_op *)l->b.kernel.op, "padding_idx", padding);
    assert_int_equal(attrs_bind(l->b.kernel.op, &l->b.program->arena, &l->b.kernel.attr, &l->b.err),
                     SKIFF_OK);
    floats_of(w, SHAPE(4, 2), (float[]){1, 2, 3, 4, 5, 6, 7, 8});
    bench_in(&l->b, "W", 1, &w);
    bench_in(&l->b, "Ids", 1, &ids);
    bench_out(&l->b, "Out", 1, &out);
}

static void lookup_stop(struct lookup *l)
{
    value_deinit(&l->w);
    value_deinit(&l->ids);
    value_deinit(&l->out);
    bench_stop(&l->b);
}

static void assert_out(const struct lookup *l, int64_t n, const float *x)
{
    assert_int_equal(tensor_numel(&l->out.tensor), n);
    assert_memory_equal(l->out.tensor.data, x, (size_t)n * sizeof *x);
}

static void test_ids_out_of_range(void **state)
{
    struct lookup l;
    lookup_start(&l, "lookup_table", -1);
    ints_of(&l.ids, SHAPE(3, 1), (int64_t[]){0, 3, 4});
    assert_int_equal(bench_run(&l.b), SKIFF_RANGE);
    bench_expect(&l.b, "Ids (Ids): id 4 at position 2");
    bench_expect(&l.b, "W (W) of 4 rows");
    ints_of(&l.ids, SHAPE(1, 1), (int64_t[]){-1});
    assert_int_equal(bench_run(&l.b), SKIFF_RANGE);
    bench_expect(&l.b, "id -1 at position 0");
    ints_of(&l.ids, SHAPE(1, 1), (int64_t[]){INT64_MIN});
    assert_int_equal(bench_run(&l.b), SKIFF_RANGE);
    lookup_stop(&l);
}

static void test_padding_and_shapes(void **state)
{
    struct lookup l;
    lookup_start(&l, "lookup_table", 100);
    ints_of(&l.ids, SHAPE(3, 1), (int64_t[]){1, 100, 1});
    assert_int_equal(bench_run(&l.b), SKIFF_OK);
    assert_out(&l, 6, (float[]){3, 4, 0, 0, 3, 4});
    ints_of(&l.ids, SHAPE(3), (int64_t[]){1, 1, 1});
    assert_int_equal(bench_run(&l.b), SKIFF_SHAPE);
    bench_expect(&l.b, "last dimension must be 1");
    ints_of(&l.ids, SHAPE(0, 1), NULL);
    assert_int_equal(bench_run(&l.b), SKIFF_OK);
    assert_int_equal(tensor_numel(&l.out.tensor), 0);
    tensor_of(&l.ids, SHAPE(2, 1), 1);
    assert_int_equal(bench_run(&l.b), SKIFF_DTYPE);
    bench_expect(&l.b, "must be int64 or int32, is float32");
    lookup_stop(&l);
}

static void test_int32_ids(void **state)
{
    struct lookup l;
    struct shape s = SHAPE(2, 1);
    lookup_start(&l, "lookup_table_v2", -1);
    assert_int_equal(value_as_tensor(&l.ids, DTYPE_INT32, &s, NULL), SKIFF_OK);
    memcpy(l.ids.tensor.data, (int32_t[]){3, 0}, 8);
    assert_int_equal(bench_run(&l.b), SKIFF_OK);
    assert_int_equal(l.out.tensor.shape.ndim, 3);
    assert_out(&l, 4, (float[]){7, 8, 1, 2});
    lookup_stop(&l);
}

static void test_table_of_rows(void **state)
{
    struct lookup l;
    lookup_start(&l, "lookup_table", 9);
    value_deinit(&l.w);
    rows_of(&l.w, 3, (int64_t[]){50, 20, 50}, 2, 100, (float[]){1, 2, 3, 4, 5, 6});
    ints_of(&l.ids, SHAPE(3, 1), (int64_t[]){20, 50, 9});
    assert_int_equal(bench_run(&l.b), SKIFF_OK);
    assert_out(&l, 6, (float[]){3, 4, 1, 2, 0, 0});
    ints_of(&l.ids, SHAPE(2, 1), (int64_t[]){20, 21});
    assert_int_equal(bench_run(&l.b), SKIFF_RANGE);
    bench_expect(&l.b, "id 21 at position 1 has no row");
    lookup_stop(&l);
}

/* Deferred updates that write 9 into the rows that they flush. */
struct deferred_spy {
    struct deferred deferred;
    struct skiff_tensor *w;
    int64_t ids[8];
    size_t n;
};

static void spy_flush(struct deferred *deferred, const int64_t *ids, size_t n)
{
    struct deferred_spy *spy = (struct deferred_spy *)deferred;
    spy->n = n;
    for (size_t i = 0; i < n; i++) {
        spy->ids[i] = ids[i];
        tensor_f32(&spy->w->tensor)[2 * ids[i]] = 9;
    }
}

static void spy_all(struct deferred *deferred)
{
    fail_msg("a look-up flushes its rows only");
}

static void spy_destroy(struct deferred *deferred) {}

static void test_deferred_rows(void **state)
{
    static const struct deferred_class class = {.flush_rows = spy_flush,
                                                .flush_all = spy_all,
                                                .show_rows = spy_flush,
                                                .show_all = spy_all,
                                                .destroy = spy_destroy};
    struct lookup l;
    lookup_start(&l, "lookup_table", 100);
    struct deferred_spy spy = {.deferred = {&class, 1}, .w = &l.w};
    value_set_deferred(&l.w, &spy.deferred);
    ints_of(&l.ids, SHAPE(3, 1), (int64_t[]){2, 100, 0});
    assert_int_equal(bench_run(&l.b), SKIFF_OK);
    assert_int_equal(spy.n, 2);
    assert_int_equal(spy.ids[0], 2);
    assert_int_equal(spy.ids[1], 0);
    assert_out(&l, 6, (float[]){9, 6, 0, 0, 9, 2});
    spy.n = 0;
    ints_of(&l.ids, SHAPE(2, 1), (int64_t[]){2, 4});
    assert_int_equal(bench_run(&l.b), SKIFF_RANGE);
    assert_int_equal(spy.n, 0);
    value_set_deferred(&l.w, NULL);
    lookup_stop(&l);
}

static void test_gradients(void **state)
{
    struct bench b;
    struct skiff_tensor w = {0}, ids = {0}, dout = {0}, dw = {0};
    struct skiff_tensor *pw = &w, *pids = &ids, *pdout = &dout, *pdw = &dw;
    bench_start(&b, "lookup_table_grad", NULL);
    tensor_of(&w, SHAPE(3, 1), 0);
    ints_of(&ids, SHAPE(3, 1), (int64_t[]){2, 0, 2});
    floats_of(&dout, SHAPE(3, 1), (float[]){1, 10, 100});
    bench_in(&b, "W", 1, &pw);
    bench_in(&b, "Ids", 1, &pids);
    bench_in(&b, "Out@GRAD", 1, &pdout);
    bench_out(&b, "W@GRAD", 1, &pdw);
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_memory_equal(dw.tensor.data, ((float[]){10, 0, 101}), 12);
    op_set_bool(b.program, (struct skiff_op *)b.kernel.op, "is_sparse", true);
    assert_int_equal(attrs_bind(b.kernel.op, &b.program->arena, &b.kernel.attr, &b.err), SKIFF_OK);
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_int_equal(dw.kind, VALUE_ROWS);
    assert_int_equal(dw.sel.height, 3);
    assert_memory_equal(dw.sel.rows, ((int64_t[]){2, 0, 2}), 24);
    assert_memory_equal(dw.tensor.data, ((float[]){1, 10, 100}), 12);
    tensor_of(&dout, SHAPE(2, 1), 0);
    assert_int_equal(bench_run(&b), SKIFF_SHAPE);
    bench_expect(&b, "Out@GRAD");
    value_deinit(&w);
    value_deinit(&ids);
    value_deinit(&dout);
    value_deinit(&dw);
    bench_stop(&b);
}

/* ---- sequence_pool ---- */

static void pool_start(struct bench *b, struct skiff_tensor **x, struct skiff_tensor **out,
                       const char *type)
{
    bench_start(b, "sequence_pool", NULL);
    op_set_string(b->program, (struct skiff_op *)b->kernel.op, "pooltype", type);
    assert_int_equal(attrs_bind(b->kernel.op, &b->program->arena, &b->kernel.attr, &b->err),
                     SKIFF_OK);
    bench_in(b, "X", 1, x);
    bench_out(b, "Out", 1, out);
}

/* Paddle refuses this batch; it is a plain one. */
static void test_pool_fewer_rows_than_sequences(void **state)
{
    struct bench b;
    struct skiff_tensor x = {0}, out = {0}, *px = &x, *pout = &out;
    pool_start(&b, &px, &pout, "SUM");
    floats_of(&x, SHAPE(2, 2), (float[]){1, 2, 3, 4});
    lod_of(&x, 5, (int64_t[]){0, 0, 2, 2, 2});
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_int_equal(out.tensor.shape.dims[0], 4);
    assert_memory_equal(out.tensor.data, ((float[]){0, 0, 4, 6, 0, 0, 0, 0}), 32);
    assert_null(out.tensor.lod);
    lod_of(&x, 4, (int64_t[]){0, 0, 0, 0});
    floats_of(&x, SHAPE(0, 2), (float[]){0});
    assert_int_equal(bench_run(&b), SKIFF_OK);
    assert_int_equal(out.tensor.shape.dims[0], 3);
    value_deinit(&x);
    value_deinit(&out);
    bench_stop(&b);
}

static void test_pool_refuses(void **state)
{
    struct bench b;
    struct skiff_tensor x = {0}, out = {0}, *px = &x, *pout = &out;
    pool_start(&b, &px, &pout, "AVERAGE");
    tensor_of(&x, SHAPE(3, 2), 1);
    assert_int_equal(bench_run(&b), SKIFF_SHAPE);
    bench_expect(&b, "X (X)");
    bench_expect(&b, "has no LoD");
    lod_of(&x, 3, (int64_t[]){0, 2, 4});
    assert_int_equal(bench_run(&b), SKIFF_SHAPE);
    bench_expect(&b, "ends with 4, but there are 3 rows");
    lod_of(&x, 3, (int64_t[]){0, 4, 3});
    assert_int_equal(bench_run(&b), SKIFF_SHAPE);
    bench_expect(&b, "decreases");
    op_set_string(b.program, (struct skiff_op *)b.kernel.op, "pooltype", "MEDIAN");
    assert_int_equal(attrs_bind(b.kernel.op, &b.program->arena, &b.kernel.attr, &b.err), SKIFF_OK);
    lod_of(&x, 2, (int64_t[]){0, 3});
    assert_int_equal(bench_run(&b), SKIFF_INVALID);
    bench_expect(&b, "MEDIAN");
    value_deinit(&x);
    value_deinit(&out);
    bench_stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_out_of_range),
        cmocka_unit_test(test_padding_and_shapes),
        cmocka_unit_test(test_int32_ids),
        cmocka_unit_test(test_table_of_rows),
        cmocka_unit_test(test_deferred_rows),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_pool_fewer_rows_than_sequences),
        cmocka_unit_test(test_pool_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
