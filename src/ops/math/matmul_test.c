/* Shapes that matrix products and reductions accept and refuse. */
#include "ops/op_try_test.h"

static float ones[64] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                         1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static void start(struct op_try *t, const char *type, enum generation g, struct shape x,
                  struct shape y)
{
    op_try_start(t, type, g);
    op_try_f32(t, "X", x, ones);
    op_try_f32(t, "Y", y, ones);
    op_try_out(t, "Out");
}

static void test_mul(void **state)
{
    struct op_try t;
    start(&t, "mul", GEN_1X, SHAPE(2, 3), SHAPE(4, 5));
    op_try_fails(&t, SKIFF_SHAPE, "op mul|in0|[2, 3]|in1|[4, 5]");
    start(&t, "mul", GEN_1X, SHAPE(2, 3), SHAPE(3, 5));
    op_set_int(t.program, t.op, "x_num_col_dims", 2);
    op_try_fails(&t, SKIFF_SHAPE, "x_num_col_dims is 2|[1, 2)");
    start(&t, "mul", GEN_1X, SHAPE(0, 3), SHAPE(3, 2));
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(0, 2), NULL);
    op_try_stop(&t);
}

static void test_matmul(void **state)
{
    struct op_try t;
    start(&t, "matmul", GEN_1X, SHAPE(2, 2, 3), SHAPE(3, 3, 2));
    op_try_fails(&t, SKIFF_SHAPE, "matmul|batch|in1");
    start(&t, "matmul", GEN_1X, SHAPE(2, 3), SHAPE(2, 3));
    op_try_fails(&t, SKIFF_SHAPE, "matmul|[2, 3]");
    start(&t, "matmul", GEN_1X, SHAPE(2, 3), SHAPE(2, 3));
    op_set_bool(t.program, t.op, "transpose_Y", true);
    op_set_float(t.program, t.op, "alpha", 0.5f);
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(2, 2), (float[]){1.5f, 1.5f, 1.5f, 1.5f});
    op_try_stop(&t);
    start(&t, "matmul_v2", GEN_2X, SHAPE(2, 1, 2, 3), SHAPE(2, 3, 1));
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(2, 2, 2, 1), (float[]){3, 3, 3, 3, 3, 3, 3, 3});
    op_try_stop(&t);
    start(&t, "bmm", GEN_2X, SHAPE(2, 3), SHAPE(3, 1));
    op_try_fails(&t, SKIFF_SHAPE, "bmm|[2, 3]");
}

static void test_no_product_of_integers(void **state)
{
    struct op_try t;
    int64_t x[4] = {1, 2, 3, 4};
    op_try_start(&t, "mul", GEN_1X);
    op_try_i64(&t, "X", SHAPE(2, 2), x);
    op_try_i64(&t, "Y", SHAPE(2, 2), x);
    op_try_out(&t, "Out");
    op_try_fails(&t, SKIFF_DTYPE, "mul|int64|float32");
}

static void test_zero_inner_dim(void **state)
{
    struct op_try t;
    start(&t, "matmul_v2", GEN_2X, SHAPE(2, 0), SHAPE(0, 2));
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(2, 2), (float[]){0, 0, 0, 0});
    op_try_stop(&t);
}

static void einsum(struct op_try *t, const char *equation)
{
    op_try_start(t, "einsum", GEN_2X);
    op_try_f32(t, "Operands", SHAPE(2, 3), ones);
    op_try_f32(t, "Operands", SHAPE(3, 2), ones);
    op_set_string(t->program, t->op, "equation", equation);
    op_try_out(t, "Out");
}

static void test_einsum(void **state)
{
    struct op_try t;
    einsum(&t, "ij,jk->ki");
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(2, 2), (float[]){3, 3, 3, 3});
    op_try_stop(&t);
    einsum(&t, "ij, ji");
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, (struct shape){0}, (float[]){6});
    op_try_stop(&t);
    einsum(&t, "ij,ij->i");
    op_try_fails(&t, SKIFF_SHAPE, "ij,ij->i");
    einsum(&t, "ij,jk->il");
    op_try_fails(&t, SKIFF_SHAPE, "ij,jk->il");
    einsum(&t, "...j,jk->k");
    op_try_fails(&t, SKIFF_SHAPE, "not supported");
}

static void reduce(struct op_try *t, const char *type, enum generation g, int n,
                   const int32_t *dims)
{
    static float x[6] = {1, 5, 3, 4, 2, 6};
    op_try_start(t, type, g);
    op_try_f32(t, "X", SHAPE(2, 3), x);
    op_set_ints(t->program, t->op, "dim", n, dims);
    op_try_out(t, "Out");
}

static void test_reduce(void **state)
{
    struct op_try t;
    reduce(&t, "reduce_max", GEN_1X, 2, (int32_t[]){0, -1});
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(1), (float[]){6});
    op_try_stop(&t);
    reduce(&t, "reduce_mean", GEN_2X, 2, (int32_t[]){0, 1});
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, (struct shape){0}, (float[]){3.5f});
    op_try_stop(&t);
    reduce(&t, "reduce_sum", GEN_1X, 1, (int32_t[]){2});
    op_try_fails(&t, SKIFF_SHAPE, "reduce_sum|dim|[-2, 2)");
    reduce(&t, "reduce_prod", GEN_1X, 1, (int32_t[]){-3});
    op_try_fails(&t, SKIFF_SHAPE, "reduce_prod|dim");
}

static void test_reduce_of_nothing(void **state)
{
    struct op_try t;
    op_try_start(&t, "reduce_max", GEN_1X);
    op_try_f32(&t, "X", SHAPE(2, 0), ones);
    op_set_ints(t.program, t.op, "dim", 1, (int32_t[]){1});
    op_try_out(&t, "Out");
    op_try_fails(&t, SKIFF_SHAPE, "reduce_max|no elements");
    op_try_start(&t, "reduce_sum", GEN_1X);
    op_try_f32(&t, "X", SHAPE(2, 0), ones);
    op_set_ints(t.program, t.op, "dim", 1, (int32_t[]){1});
    op_try_out(&t, "Out");
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(2), (float[]){0, 0});
    op_try_stop(&t);
}

static void test_reduce_prod_gradient_at_zero(void **state)
{
    struct op_try t;
    float x[3] = {0, 2, 3}, out[1] = {0}, d[1] = {10};
    op_try_start(&t, "reduce_prod_grad", GEN_2X);
    op_try_f32(&t, "X", SHAPE(3), x);
    op_try_f32(&t, "Out", (struct shape){0}, out);
    op_try_f32(&t, "Out@GRAD", (struct shape){0}, d);
    op_set_bool(t.program, t.op, "reduce_all", true);
    op_try_out(&t, "X@GRAD");
    op_try_ok(&t);
    op_try_expect_f32(&t, 0, SHAPE(3), (float[]){60, 0, 0});
    op_try_stop(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mul),
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_no_product_of_integers),
        cmocka_unit_test(test_zero_inner_dim),
        cmocka_unit_test(test_einsum),
        cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_reduce_of_nothing),
        cmocka_unit_test(test_reduce_prod_gradient_at_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
