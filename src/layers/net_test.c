/* Errors while a network is built: the first one is kept, NULL flows on, the message names the
 * layer, the variable and both sides. Guards and names. */
#include "layers/helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <skiff/optimizer.h>

static struct skiff_error failure(struct skiff_net *net, enum skiff_status code)
{
    struct skiff_error err = {0};
    assert_int_equal(skiff_net_check(net, &err), code);
    assert_int_equal(err.code, code);
    return err;
}

#define assert_contains(err, part)                                    \
    do {                                                              \
        if (!strstr((err).message, part))                             \
            fail_msg("\"%s\" is not in \"%s\"", part, (err).message); \
    } while (0)

static struct skiff_net *net_with(struct skiff_var **x)
{
    struct skiff_net *net = skiff_net_create();
    *x = skiff_data(net, "x", SKIFF_DIMS(13));
    return net;
}

static void first_error_is_reported_once(void **state)
{
    struct skiff_var *x;
    struct skiff_net *net = net_with(&x);
    struct skiff_error err = {0};
    struct skiff_var *bad = skiff_fc(net, x, 4, .act = "rellu");
    assert_null(bad);
    struct skiff_var *h = skiff_fc(net, bad, 3, .act = "tanh");
    struct skiff_var *two = skiff_concat(net, SKIFF_VARS(h, x), 9);
    assert_null(h);
    assert_null(two);
    int ops = program_root(net->main)->nops;
    assert_int_equal(skiff_minimize(net, skiff_mean(net, two), &err, "sgd", .learning_rate = 0.1),
                     SKIFF_NOT_FOUND);
    assert_contains(err, "unknown activation rellu");
    assert_contains(err, "relu");
    assert_int_equal(program_root(net->main)->nops, ops);
    skiff_net_forget(net);
    assert_int_equal(skiff_net_check(net, &err), SKIFF_OK);
    assert_non_null(skiff_fc(net, x, 4));
    skiff_net_destroy(net);
}

static void null_argument_is_an_error(void **state)
{
    struct skiff_net *net = skiff_net_create();
    assert_null(skiff_layer_relu(net, NULL));
    struct skiff_error err = failure(net, SKIFF_INVALID);
    assert_contains(err, "relu");
    assert_contains(err, "NULL");
    skiff_net_destroy(net);
}

static void fc_refuses_unknown_width(void **state)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(-1, -1));
    assert_null(skiff_fc(net, x, 3));
    struct skiff_error err = failure(net, SKIFF_SHAPE);
    assert_contains(err, "fc");
    assert_contains(err, "[-1, -1]");
    skiff_net_destroy(net);
}

static void fc_refuses_flatten_beyond_rank(void **state)
{
    struct skiff_var *x;
    struct skiff_net *net = net_with(&x);
    assert_null(skiff_fc(net, x, 3, .num_flatten_dims = 2));
    assert_contains(failure(net, SKIFF_SHAPE), "num_flatten_dims 2");
    skiff_net_destroy(net);
}

static void shared_parameter_fits(void **state)
{
    struct skiff_var *x;
    struct skiff_net *net = net_with(&x);
    const struct skiff_param_attr *w = SKIFF_PARAM(.name = "w");
    assert_non_null(skiff_fc(net, x, 3, .param_attr = w));
    assert_non_null(skiff_fc(net, x, 3, .param_attr = w));
    assert_null(skiff_fc(net, x, 4, .param_attr = w));
    struct skiff_error err = failure(net, SKIFF_SHAPE);
    assert_contains(err, "[13, 3]");
    assert_contains(err, "[13, 4]");
    skiff_net_destroy(net);
}

static void shapes_that_do_not_fit_name_both(void **state)
{
    struct skiff_var *x;
    struct skiff_net *net = net_with(&x);
    struct skiff_var *y = skiff_data(net, "y", SKIFF_DIMS(7));
    int ops = program_root(net->main)->nops;
    assert_null(skiff_elementwise(net, add, x, y));
    struct skiff_error err = failure(net, SKIFF_SHAPE);
    assert_contains(err, "13");
    assert_contains(err, "7");
    assert_int_equal(program_root(net->main)->nops, ops);
    skiff_net_destroy(net);
}

static void bad_axis_and_types(void **state)
{
    struct skiff_var *x;
    struct skiff_net *net = net_with(&x);
    assert_null(skiff_concat(net, SKIFF_VARS(x, x), 2));
    assert_contains(failure(net, SKIFF_SHAPE), "axis 2");
    skiff_net_forget(net);
    assert_null(skiff_reduce(net, sum, x, .dim = SKIFF_DIMS(2)));
    assert_contains(failure(net, SKIFF_SHAPE), "dim 2");
    skiff_net_forget(net);
    assert_null(skiff_embedding(net, x, 10, 4));
    struct skiff_error err = failure(net, SKIFF_DTYPE);
    assert_contains(err, "x");
    assert_contains(err, "int64");
    skiff_net_forget(net);
    assert_null(skiff_cast(net, x, "float23"));
    assert_contains(failure(net, SKIFF_DTYPE), "float23");
    skiff_net_forget(net);
    assert_null(skiff_sequence_pool(net, x, "medium"));
    assert_contains(failure(net, SKIFF_NOT_FOUND), "medium");
    skiff_net_destroy(net);
}

static void variable_of_another_program(void **state)
{
    struct skiff_var *x;
    struct skiff_net *net = net_with(&x);
    struct skiff_program *other = skiff_program_create();
    skiff_net_push_programs(net, other, NULL);
    assert_null(skiff_fc(net, x, 3));
    assert_contains(failure(net, SKIFF_INVALID), "not a variable of the current main program");
    skiff_net_pop_programs(net);
    skiff_net_forget(net);
    assert_non_null(skiff_fc(net, x, 3));
    skiff_net_destroy(net);
    skiff_program_destroy(other);
}

static void data_twice(void **state)
{
    struct skiff_var *x;
    struct skiff_net *net = net_with(&x);
    assert_ptr_equal(skiff_data(net, "x", SKIFF_DIMS(13)), x);
    assert_null(skiff_data(net, "x", SKIFF_DIMS(12)));
    assert_contains(failure(net, SKIFF_INVALID), "[-1, 12]");
    skiff_net_destroy(net);
}

static void guards_nest(void **state)
{
    struct skiff_net *net = skiff_net_create();
    assert_string_equal(skiff_net_name(net, "fc"), "fc_0");
    skiff_net_push_names(net, "a_");
    assert_string_equal(skiff_net_name(net, "fc"), "a_fc_0");
    skiff_net_push_names(net, NULL);
    assert_string_equal(skiff_net_name(net, "fc"), "fc_0");
    skiff_net_pop_names(net);
    assert_string_equal(skiff_net_name(net, "fc"), "a_fc_1");
    skiff_net_pop_names(net);
    skiff_net_pop_names(net); /* one too many does no harm */
    assert_string_equal(skiff_net_name(net, "fc"), "fc_1");
    skiff_net_push_scope(net, "s");
    skiff_net_push_scope(net, "t");
    assert_string_equal(net->scope->path, "/s/t/");
    skiff_net_pop_scope(net);
    skiff_net_push_scope(net, "t");
    assert_string_equal(net->scope->path, "/s/t_1/");
    skiff_net_pop_scope(net);
    skiff_net_pop_scope(net);
    skiff_net_pop_scope(net);
    skiff_net_push_scope(net, "s");
    assert_string_equal(net->scope->path, "/s_1/");
    skiff_net_destroy(net);
}

static void zero_can_be_given(void **state)
{
    assert_int_equal(opt_int(0, 7), 7);
    assert_int_equal(opt_int(SKIFF_ZERO, 7), 0);
    assert_int_equal(opt_int(3, 7), 3);
    assert_true(opt_float(0, 0.5) == 0.5);
    assert_true(opt_float(SKIFF_ZERO, 0.5) == 0);
}

static void floats_as_python_writes_them(void **state)
{
    static const struct {
        double v;
        const char *text;
    } cases[] = {{0, "0.0"},
                 {1, "1.0"},
                 {0.3, "0.3"},
                 {-2.5, "-2.5"},
                 {1e-7, "1e-07"},
                 {1e16, "1e+16"},
                 {123456.789, "123456.789"},
                 {0.0001, "0.0001"},
                 {1e-5, "1e-05"},
                 {1e15, "1000000000000000.0"},
                 {1.5e300, "1.5e+300"},
                 {1.0 / 3, "0.3333333333333333"}};
    char text[32];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(python_float(cases[i].v, text), cases[i].text);
}

static void switch_needs_a_case(void **state)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_switch *s = skiff_switch_begin(net);
    skiff_switch_default(s);
    skiff_switch_end(s);
    assert_contains(failure(net, SKIFF_STATE), "default");
    skiff_net_destroy(net);
}

static void while_needs_one_bool(void **state)
{
    struct skiff_var *x;
    struct skiff_net *net = net_with(&x);
    skiff_while_end(skiff_while_begin(net, x, false));
    assert_contains(failure(net, SKIFF_DTYPE), "bool");
    assert_int_equal(net->main->nblocks, 1);
    skiff_net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_error_is_reported_once),
        cmocka_unit_test(null_argument_is_an_error),
        cmocka_unit_test(fc_refuses_unknown_width),
        cmocka_unit_test(fc_refuses_flatten_beyond_rank),
        cmocka_unit_test(shared_parameter_fits),
        cmocka_unit_test(shapes_that_do_not_fit_name_both),
        cmocka_unit_test(bad_axis_and_types),
        cmocka_unit_test(variable_of_another_program),
        cmocka_unit_test(data_twice),
        cmocka_unit_test(guards_nest),
        cmocka_unit_test(zero_can_be_given),
        cmocka_unit_test(floats_as_python_writes_them),
        cmocka_unit_test(switch_needs_a_case),
        cmocka_unit_test(while_needs_one_bool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
