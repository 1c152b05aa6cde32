/* What minimize refuses, and that a refused call leaves the program as it was. */
#include "passes/minimize.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define assert_says(err, part)                                        \
    do {                                                              \
        if (!strstr((err).message, part))                             \
            fail_msg("\"%s\" is not in \"%s\"", part, (err).message); \
    } while (0)

static struct skiff_var *tiny(struct skiff_net *net)
{
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(4)),
                     *y = skiff_data(net, "y", SKIFF_DIMS(1));
    return skiff_square_error_cost(net, skiff_fc(net, x, 1), y);
}

static void loss_must_be_one_number(void **state)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_error err = {0};
    struct skiff_var *cost = tiny(net);
    int ops = program_root(net->main)->nops;
    assert_int_equal(skiff_minimize(net, cost, &err, "sgd", .learning_rate = 0.1), SKIFF_SHAPE);
    assert_says(err, cost->name);
    assert_says(err, "[-1, 1]");
    assert_says(err, "[1]");
    assert_int_equal(program_root(net->main)->nops, ops);
    skiff_net_destroy(net);
}

static void loss_must_be_computed(void **state)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_error err = {0};
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(1), .no_batch_size = true);
    assert_int_equal(skiff_minimize(net, x, &err, "sgd", .learning_rate = 0.1), SKIFF_INVALID);
    assert_says(err, "no op");
    skiff_net_destroy(net);
}

static void optimizers_are_checked(void **state)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_error err = {0};
    struct skiff_var *loss = skiff_mean(net, tiny(net));
    assert_int_equal(skiff_minimize(net, loss, &err, "adem", .learning_rate = 0.1),
                     SKIFF_NOT_FOUND);
    assert_says(err, "adem");
    assert_says(err, "adam");
    skiff_net_forget(net);
    assert_int_equal(skiff_net_minimize(net, loss, "sgd", NULL, &err), SKIFF_INVALID);
    assert_says(err, "learning_rate");
    skiff_net_forget(net);
    assert_int_equal(skiff_minimize(net, loss, &err, "momentum", .learning_rate = 0.1),
                     SKIFF_INVALID);
    assert_says(err, "momentum is needed");
    skiff_net_forget(net);
    assert_int_equal(skiff_optimizer_minimize(NULL, loss, NULL, &err), SKIFF_INVALID);
    skiff_net_destroy(net);
}

static void same_optimizer_twice(void **state)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_error err = {0};
    struct skiff_var *loss = skiff_mean(net, tiny(net));
    struct skiff_optimizer *adam = skiff_optimizer_new(net, "adam");
    assert_int_equal(skiff_optimizer_minimize(adam, loss, NULL, &err), SKIFF_OK);
    assert_int_equal(skiff_optimizer_minimize(adam, loss, NULL, &err), SKIFF_STATE);
    assert_says(err, "exists for parameter");
    skiff_net_destroy(net);
}

static void rate_of_another_program(void **state)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_error err = {0};
    struct skiff_var *rate = skiff_lr_cosine(net, 0.1, 3, 4);
    struct skiff_optimizer *sgd = skiff_optimizer_new(net, "sgd", .learning_rate_var = rate);
    struct skiff_program *other = skiff_program_create();
    skiff_net_push_programs(net, other, NULL);
    assert_int_equal(skiff_optimizer_minimize(sgd, skiff_mean(net, tiny(net)), NULL, &err),
                     SKIFF_STATE);
    assert_says(err, "another program");
    skiff_net_pop_programs(net);
    skiff_net_destroy(net);
    skiff_program_destroy(other);
}

static void backward_and_apply_give_the_same_as_minimize(void **state)
{
    struct skiff_net *a = skiff_net_create(), *b = skiff_net_create();
    struct skiff_error err = {0};
    struct skiff_param_grad *pairs;
    struct buf text = BUF_INIT;
    int n;
    assert_int_equal(skiff_minimize(a, skiff_mean(a, tiny(a)), &err, "adam", .learning_rate = 0.1),
                     SKIFF_OK);
    struct skiff_optimizer *adam = skiff_optimizer_new(b, "adam", .learning_rate = 0.1);
    assert_int_equal(skiff_net_backward(b, skiff_mean(b, tiny(b)), NULL, &pairs, &n, &err),
                     SKIFF_OK);
    assert_int_equal(n, 2);
    assert_string_equal(skiff_var_name(pairs[0].grad), "fc_0.w_0@GRAD");
    assert_int_equal(skiff_optimizer_apply(adam, pairs, n, &err), SKIFF_OK);
    assert_int_equal(program_diff(a->main, b->main, &text), 0);
    assert_int_equal(program_diff(a->startup, b->startup, &text), 0);
    buf_deinit(&text);
    skiff_net_destroy(a);
    skiff_net_destroy(b);
}

static void clip_groups_must_agree(void **state)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_error err = {0};
    struct skiff_var *loss = skiff_mean(net, tiny(net));
    struct skiff_clip one = skiff_clip_global_norm(1), two = skiff_clip_global_norm(2);
    skiff_net_set_gradient_clip(net, &one, (const char *[]){"fc_0.w_0"}, 1);
    skiff_net_set_gradient_clip(net, &two, (const char *[]){"fc_0.b_0"}, 1);
    assert_int_equal(skiff_minimize(net, loss, &err, "sgd", .learning_rate = 0.1), SKIFF_INVALID);
    assert_says(err, "default_group");
    skiff_net_forget(net);
    skiff_net_set_gradient_clip(net, &one, (const char *[]){"nobody"}, 1);
    assert_int_equal(skiff_net_check(net, &err), SKIFF_NOT_FOUND);
    assert_says(err, "nobody");
    skiff_net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_must_be_one_number),
        cmocka_unit_test(loss_must_be_computed),
        cmocka_unit_test(optimizers_are_checked),
        cmocka_unit_test(same_optimizer_twice),
        cmocka_unit_test(rate_of_another_program),
        cmocka_unit_test(backward_and_apply_give_the_same_as_minimize),
        cmocka_unit_test(clip_groups_must_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
