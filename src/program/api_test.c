/* <skiff/build.h>: programs from the inside. */
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>
#include <skiff/build.h>

static struct skiff_op *scale_op(struct skiff_block *b, double scale, struct skiff_error *err)
{
    struct skiff_op *op = skiff_block_insert_op(b, -1, "scale");
    skiff_op_set_in(b, op, "X", 1, (const char *[]){"x"});
    skiff_op_set_out(b, op, "Out", 1, (const char *[]){"y"});
    struct skiff_attr a = {.type = SKIFF_ATTR_FLOAT64, .f = scale};
    assert_int_equal(skiff_op_set_attr(b, op, "scale", &a, err), SKIFF_OK);
    return op;
}

static struct skiff_block *with_x(struct skiff_program *p)
{
    struct skiff_block *b = skiff_program_block(p, 0);
    struct skiff_var *x = skiff_block_add_var(b, "x");
    skiff_var_set_dtype(x, "float32");
    skiff_var_set_shape(x, 2, (int64_t[]){-1, 4});
    return b;
}

static void test_append(void **state)
{
    struct skiff_error err;
    struct skiff_program *p = skiff_program_create();
    struct skiff_block *b = with_x(p);
    struct skiff_attr a;
    skiff_program_set_role(p, 1, 2, (const char *[]){"w", "w@GRAD"});
    struct skiff_op *op = scale_op(b, 2, &err);
    assert_int_equal(skiff_op_finish(b, op, 0, &err), SKIFF_OK);
    const struct skiff_var *y = skiff_block_own_var(b, "y");
    assert_int_equal(skiff_var_ndim(y), 2);
    assert_int_equal(skiff_var_dim(y, 1), 4);
    assert_string_equal(skiff_var_dtype(y), "float32");
    assert_ptr_equal(skiff_var_producer(y), op);
    assert_true(skiff_op_attr(b, op, "scale", &a));
    assert_int_equal(a.type, SKIFF_ATTR_FLOAT);
    assert_true(a.f == 2);
    assert_true(skiff_op_attr(b, op, "op_role_var", &a));
    assert_int_equal(a.n, 2);
    assert_string_equal(a.strings[1], "w@GRAD");
    char *text = skiff_op_text(op);
    assert_non_null(strstr(text, "op scale {X:[x]"));
    free(text);
    skiff_program_destroy(p);
}

static void test_failures(void **state)
{
    struct skiff_error err;
    struct skiff_program *p = skiff_program_create();
    struct skiff_block *b = with_x(p);
    struct skiff_op *op = skiff_block_insert_op(b, -1, "relu");
    skiff_op_set_out(b, op, "Out", 1, (const char *[]){"y"});
    assert_int_equal(skiff_op_finish(b, op, 0, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, "input X is missing"));
    op = skiff_block_insert_op(b, -1, "rellu");
    assert_int_equal(skiff_op_finish(b, op, 0, &err), SKIFF_NOT_FOUND);
    assert_int_equal(skiff_block_ops(b), 0);
    op = skiff_block_insert_op(b, -1, "scale");
    struct skiff_attr text = {.type = SKIFF_ATTR_STRING, .s = "two"};
    assert_int_equal(skiff_op_set_attr(b, op, "scale", &text, &err), SKIFF_DTYPE);
    struct skiff_attr half = {.type = SKIFF_ATTR_FLOAT, .f = 0.5};
    op = skiff_block_insert_op(b, -1, "concat");
    assert_int_equal(skiff_op_set_attr(b, op, "axis", &half, &err), SKIFF_DTYPE);
    assert_null(skiff_program_add_block(p, 7, -1));
    skiff_program_destroy(p);
}

static void test_lists(void **state)
{
    struct skiff_error err;
    struct skiff_program *p = skiff_program_create();
    struct skiff_block *b = skiff_program_block(p, 0);
    struct skiff_op *op = skiff_block_insert_op(b, -1, "of_nobody");
    struct skiff_attr a = {.type = SKIFF_ATTR_INTS, .n = 2, .longs = (int64_t[]){3, -4}};
    assert_int_equal(skiff_op_set_attr(b, op, "ints", &a, &err), SKIFF_OK);
    a = (struct skiff_attr){.type = SKIFF_ATTR_FLOATS, .n = 1, .floats = (double[]){0.5}};
    assert_int_equal(skiff_op_set_attr(b, op, "floats", &a, &err), SKIFF_OK);
    a = (struct skiff_attr){.type = SKIFF_ATTR_BOOLEANS, .n = 2, .longs = (int64_t[]){1, 0}};
    assert_int_equal(skiff_op_set_attr(b, op, "bools", &a, &err), SKIFF_OK);
    assert_int_equal(skiff_op_attrs(op), 3);
    struct skiff_attr got;
    assert_true(skiff_op_attr(b, op, "ints", &got));
    assert_int_equal(got.longs[1], -4);
    assert_true(skiff_op_attr(b, op, "floats", &got));
    assert_true(got.floats[0] == 0.5);
    assert_true(skiff_op_attr(b, op, "bools", &got));
    assert_int_equal(got.longs[0] + 10 * got.longs[1], 1);
    a = (struct skiff_attr){.type = SKIFF_ATTR_INTS, .n = 1, .longs = (int64_t[]){1LL << 40}};
    assert_int_equal(skiff_op_set_attr(b, op, "ints", &a, &err), SKIFF_DTYPE);
    assert_false(skiff_op_known(op));
    skiff_op_remove_attr(op, "ints");
    assert_false(skiff_op_attr(b, op, "ints", &got));
    skiff_program_destroy(p);
}

static void test_blocks_and_forms(void **state)
{
    struct skiff_error err;
    struct skiff_program *p = skiff_program_create(), *again;
    struct skiff_block *b = with_x(p), *sub = skiff_program_add_block(p, 0, -1);
    struct skiff_op *op = scale_op(b, 3, &err);
    assert_int_equal(skiff_op_finish(b, op, 0, &err), SKIFF_OK);
    assert_ptr_equal(skiff_block_find_var(sub, "x"), skiff_block_own_var(b, "x"));
    assert_null(skiff_block_own_var(sub, "x"));
    assert_non_null(skiff_block_rename_var(b, "y", "z"));
    assert_null(skiff_block_rename_var(b, "z", "x"));
    const char *const *names;
    assert_int_equal(skiff_op_out(op, "Out", &names), 1);
    assert_string_equal(names[0], "z");
    size_t n;
    void *bytes = skiff_program_bytes(p, &n);
    assert_int_equal(skiff_program_parse(bytes, n, "test", &again, &err), SKIFF_OK);
    char *diff = skiff_program_differences(p, again);
    assert_string_equal(diff, "");
    free(diff);
    free(bytes);
    skiff_program_destroy(again);
    char *text = skiff_program_text(p);
    assert_int_equal(skiff_program_parse(text, strlen(text), "test", &again, &err), SKIFF_OK);
    skiff_program_destroy(again);
    free(text);
    skiff_program_set_generation(p, 2);
    assert_int_equal(skiff_program_generation(p), 2);
    skiff_program_destroy(p);
}

static void test_registry(void **state)
{
    struct skiff_slot_info s;
    struct skiff_attr_info a;
    assert_true(skiff_registry_has("concat", 1));
    assert_false(skiff_registry_has("concatt", 1));
    assert_string_equal(skiff_registry_nearest("concatt"), "concat");
    assert_true(skiff_registry_in("concat", 1, 0, &s));
    assert_string_equal(s.name, "X");
    assert_true(s.list);
    assert_false(s.optional);
    bool axis = false;
    for (int i = 0; skiff_registry_attr("concat", 1, i, &a); i++)
        axis |= !strcmp(a.name, "axis") && a.def.type == SKIFF_ATTR_INT && a.def.i == 0;
    assert_true(axis);
    enum skiff_attr_type t;
    assert_true(skiff_attr_type_parse("FLOATS", &t));
    assert_int_equal(t, SKIFF_ATTR_FLOATS);
    assert_false(skiff_attr_type_parse("FLOTS", &t));
    assert_int_equal(skiff_dtype_number("int64"), 3);
}

static void test_net(void **state)
{
    struct skiff_error err;
    struct skiff_net *net = skiff_net_create();
    struct skiff_program *main = skiff_program_create(), *startup = skiff_program_create();
    skiff_net_set_programs(net, main, startup);
    assert_ptr_equal(skiff_net_main(net), main);
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(4));
    skiff_fc(net, x, 2);
    struct skiff_var *w = skiff_program_var(main, "fc_0.w_0");
    assert_true(skiff_var_is_parameter(w));
    struct skiff_param_info info = skiff_var_param(w);
    assert_true(info.trainable && info.learning_rate == 1.0);
    info.trainable = false;
    info.regularizer = skiff_l2_decay(0.5);
    skiff_var_set_param(main, w, &info);
    info = skiff_var_param(w);
    assert_false(info.trainable);
    assert_true(info.regularizer.coeff == 0.5);
    assert_false(skiff_var_is_parameter(x));

    struct skiff_names *names = skiff_names_create(NULL);
    skiff_net_swap_names(net, names);
    assert_string_equal(skiff_net_name(net, "fc"), "fc_0");
    skiff_net_swap_names(net, names);
    assert_string_equal(skiff_net_name(net, "fc"), "fc_1");
    skiff_names_destroy(names);

    struct skiff_block *sub = skiff_net_enter_block(net);
    assert_int_equal(skiff_block_parent(sub), 0);
    assert_ptr_equal(skiff_net_block(net), sub);
    assert_int_equal(skiff_block_index(skiff_net_leave_block(net)), 0);
    skiff_net_set_block(net, skiff_program_block(startup, 0));
    assert_int_equal(skiff_net_check(net, &err), SKIFF_INVALID);
    skiff_net_forget(net);
    skiff_net_forget_program(net, main);
    skiff_net_destroy(net);
    skiff_program_destroy(main);
    skiff_program_destroy(startup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append),   cmocka_unit_test(test_failures),
        cmocka_unit_test(test_lists),    cmocka_unit_test(test_blocks_and_forms),
        cmocka_unit_test(test_registry), cmocka_unit_test(test_net),
    };
    return cmocka_run_group_tests_name("api", tests, NULL, NULL);
}
