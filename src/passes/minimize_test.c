/* What minimize refuses, and that a refused call leaves the program as it was. */
#include "passes/minimize.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define assert_contains(err, part)                                    \
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

static void loss_is_one_number(void **state)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_error err = {0};
    struct skiff_var *cost = tiny(net);
    int ops = program_root(net->main)->nops;
    assert_int_equal(skiff_minimize(net, cost, &err, "sgd", .learning_rate = 0.1), SKIFF_SHAPE);
    assert_contains(err, cost->name);
    assert_contains(err, "[-1, 1]");
    assert_contains(err, "[1]");
    assert_int_equal(program_root(net->main)->nops, ops);
    skiff_net_destroy(net);
}

static void loss_is_computed(void **state)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_error err = {0};
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(1), .no_batch_size = true);
    assert_int_equal(skiff_minimize(net, x, &err, "sgd", .learning_rate = 0.1), SKIFF_INVALID);
    assert_contains(err, "no op");
    skiff_net_destroy(net);
}

static void optimizers_are_checked(void **state)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_error err = {0};
    struct skiff_var *loss = skiff_mean(net, tiny(net));
    assert_int_equal(skiff_minimize(net, loss, &err, "adem", .learning_rate = 0.1),
                     SKIFF_NOT_FOUND);
    assert_contains(err, "adem");
    assert_contains(err, "adam");
    skiff_net_forget(net);
    assert_int_equal(skiff_net_minimize(net, loss, "sgd", NULL, &err), SKIFF_INVALID);
    assert_contains(err, "learning_rate");
    skiff_net_forget(net);
    assert_int_equal(skiff_minimize(net, loss, &err, "momentum", .learning_rate = 0.1),
                     SKIFF_INVALID);
    assert_contains(err, "momentum is needed");
    skiff_net_forget(net);
    assert_int_equal(
        skiff_minimize(net, loss, &err, "sgd", .learning_rate = 0.1, .reserved = {[2] = 7}),
        SKIFF_INVALID);
    assert_contains(err, "struct skiff_optimizer_options: a reserved field is not zero");
    skiff_net_forget(net);
    assert_int_equal(skiff_optimizer_minimize(NULL, loss, NULL, &err), SKIFF_INVALID);
    skiff_net_destroy(net);
}

static struct skiff_net *net_of(enum generation generation)
{
    struct skiff_net *net = skiff_net_create();
    net->main->generation = net->startup->generation = generation;
    return net;
}

static const struct skiff_op *update_of(struct skiff_net *net, const char *param)
{
    const struct skiff_block *b = program_root(net->main);
    for (int i = 0; i < b->nops; i++)
        if (b->ops[i]->kind->flags & OP_OPTIMIZER && !strcmp(op_in1(b->ops[i], "Param"), param))
            return b->ops[i];
    fail_msg("nothing updates %s", param);
    return NULL;
}

static const struct skiff_op *writer_of(struct skiff_net *net, const char *name)
{
    const struct skiff_block *b = program_root(net->main);
    for (int i = 0; i < b->nops; i++)
        if (op_writes(b->ops[i], name))
            return b->ops[i];
    fail_msg("nothing writes %s", name);
    return NULL;
}

static double number_of(const struct skiff_op *op, const char *attr)
{
    const struct op_attr_value *a = op_attr(op, attr);
    assert_non_null(a);
    assert_true(a->type == ATTR_FLOAT || (a->type == ATTR_FLOATS && a->value.n == 1));
    return a->type == ATTR_FLOATS ? a->value.floats[0] : a->value.f;
}

static void optimizers_of_2x(void **state)
{
    struct skiff_error err = {0};
    struct skiff_net *net = net_of(GEN_1X);
    assert_int_equal(skiff_minimize(net, skiff_mean(net, tiny(net)), &err, "adamw"),
                     SKIFF_NOT_FOUND);
    assert_contains(err, "unknown optimizer adamw; known in programs of 1.x are sgd, momentum,");
    skiff_net_destroy(net);
    net = net_of(GEN_2X);
    struct skiff_optimizer *adamw = skiff_optimizer(net, "adamw", .beta1 = 0.5);
    struct skiff_program *other = skiff_program_create();
    skiff_net_push_programs(net, other, NULL); /* of 1.x */
    assert_int_equal(skiff_optimizer_minimize(adamw, skiff_mean(net, tiny(net)), NULL, &err),
                     SKIFF_NOT_FOUND);
    assert_contains(err, "adamw");
    skiff_net_pop_programs(net);
    skiff_net_forget(net);
    assert_int_equal(skiff_minimize(net, skiff_mean(net, tiny(net)), &err, "adam", .beta1 = 1.5),
                     SKIFF_INVALID);
    assert_contains(err, "optimizer adam: beta1 is 1.5; it must be in [0,1)");
    skiff_net_destroy(net);
    skiff_program_destroy(other);
}

/* An option that is not set has the default of its generation. */
static void presets_by_generation(void **state)
{
    struct skiff_error err = {0};
    struct skiff_net *net = net_of(GEN_2X);
    assert_int_equal(skiff_minimize(net, skiff_mean(net, tiny(net)), &err, "momentum"), SKIFF_OK);
    assert_float_equal(number_of(update_of(net, "fc_0.w_0"), "mu"), 0.9, 1e-7);
    assert_float_equal(number_of(update_of(net, "fc_0.w_0"), "rescale_grad"), 1, 0);
    skiff_net_destroy(net);
    net = net_of(GEN_2X);
    assert_int_equal(skiff_minimize(net, skiff_mean(net, tiny(net)), &err, "lars_momentum",
                                    .learning_rate = 0.1, .lars_weight_decay = 0.25),
                     SKIFF_OK);
    assert_float_equal(number_of(update_of(net, "fc_0.w_0"), "lars_weight_decay"), 0.25, 0);
    skiff_net_destroy(net);
}

static bool is_weight(const struct skiff_var *param, void *user)
{
    ++*(int *)user;
    return strstr(skiff_var_name(param), ".w_") != NULL;
}

static double half_for_weights(const struct skiff_var *param, void *user)
{
    return is_weight(param, user) ? 0.5 : 1;
}

/* Decay for weights only, at half the rate. */
static void adamw_by_parameter(void **state)
{
    struct skiff_error err = {0};
    struct skiff_net *net = net_of(GEN_2X);
    int asked = 0;
    assert_int_equal(skiff_minimize(net, skiff_mean(net, tiny(net)), &err, "adamw",
                                    .weight_decay = 0.25,
                                    .apply_decay_param_fun = {is_weight, &asked},
                                    .lr_ratio = {half_for_weights, &asked}),
                     SKIFF_OK);
    const struct skiff_op *weight = update_of(net, "fc_0.w_0"), *bias = update_of(net, "fc_0.b_0");
    assert_int_equal(asked, 4);
    assert_float_equal(number_of(weight, "coeff"), 0.25, 0);
    assert_true(op_attr(weight, "with_decay")->value.b);
    assert_false(op_attr(bias, "with_decay")->value.b);
    assert_string_equal(op_in1(bias, "LearningRate"), "learning_rate_0");
    const struct skiff_op *scale = writer_of(net, op_in1(weight, "LearningRate"));
    assert_string_equal(scale->type, "scale");
    assert_string_equal(op_in1(scale, "X"), "learning_rate_0");
    assert_float_equal(number_of(scale, "scale"), 0.5, 0);
    skiff_net_destroy(net);
}

static int count_ops(struct skiff_net *net, const char *type)
{
    int n = 0;
    for (int i = 0; i < program_root(net->main)->nops; i++)
        n += !strcmp(program_root(net->main)->ops[i]->type, type);
    return n;
}

/* Momentum of 2.x decays in its op; a parameter's own L1 stays outside. */
static void decay_inside_the_op(void **state)
{
    struct skiff_error err = {0};
    struct skiff_net *net = net_of(GEN_2X);
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(4));
    struct skiff_param_attr own = {.regularizer = skiff_l1_decay(0.5)};
    struct skiff_var *loss = skiff_mean(net, skiff_fc(net, x, 1, .bias_attr = &own));
    assert_int_equal(
        skiff_minimize(net, loss, &err, "momentum", .regularization = skiff_l2_decay(0.25)),
        SKIFF_OK);
    const struct skiff_op *weight = update_of(net, "fc_0.w_0"), *bias = update_of(net, "fc_0.b_0");
    assert_string_equal(op_attr(weight, "regularization_method")->value.s, "l2_decay");
    assert_float_equal(number_of(weight, "regularization_coeff"), 0.25, 0);
    assert_string_equal(op_attr(bias, "regularization_method")->value.s, "");
    assert_int_equal(count_ops(net, "sign"), 1);
    assert_int_equal(count_ops(net, "sum"), 1);
    skiff_net_destroy(net);
}

static void same_optimizer_twice(void **state)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_error err = {0};
    struct skiff_var *loss = skiff_mean(net, tiny(net));
    struct skiff_optimizer *adam = skiff_optimizer(net, "adam");
    assert_int_equal(skiff_optimizer_minimize(adam, loss, NULL, &err), SKIFF_OK);
    assert_int_equal(skiff_optimizer_minimize(adam, loss, NULL, &err), SKIFF_STATE);
    assert_contains(err, "exists for parameter");
    skiff_net_destroy(net);
}

static void rate_of_another_program(void **state)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_error err = {0};
    struct skiff_var *rate = skiff_lr_cosine(net, 0.1, 3, 4);
    struct skiff_optimizer *sgd = skiff_optimizer(net, "sgd", .learning_rate_var = rate);
    struct skiff_program *other = skiff_program_create();
    skiff_net_push_programs(net, other, NULL);
    assert_int_equal(skiff_optimizer_minimize(sgd, skiff_mean(net, tiny(net)), NULL, &err),
                     SKIFF_STATE);
    assert_contains(err, "another program");
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
    struct skiff_optimizer *adam = skiff_optimizer(b, "adam", .learning_rate = 0.1);
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

static void clip_groups_agree(void **state)
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_error err = {0};
    struct skiff_var *loss = skiff_mean(net, tiny(net));
    struct skiff_clip one = skiff_clip_global_norm(1), two = skiff_clip_global_norm(2);
    skiff_net_set_gradient_clip(net, &one, (const char *[]){"fc_0.w_0"}, 1);
    skiff_net_set_gradient_clip(net, &two, (const char *[]){"fc_0.b_0"}, 1);
    assert_int_equal(skiff_minimize(net, loss, &err, "sgd", .learning_rate = 0.1), SKIFF_INVALID);
    assert_contains(err, "default_group");
    skiff_net_forget(net);
    skiff_net_set_gradient_clip(net, &one, (const char *[]){"nobody"}, 1);
    assert_int_equal(skiff_net_check(net, &err), SKIFF_NOT_FOUND);
    assert_contains(err, "nobody");
    skiff_net_destroy(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_is_one_number),
        cmocka_unit_test(loss_is_computed),
        cmocka_unit_test(optimizers_are_checked),
        cmocka_unit_test(optimizers_of_2x),
        cmocka_unit_test(presets_by_generation),
        cmocka_unit_test(adamw_by_parameter),
        cmocka_unit_test(decay_inside_the_op),
        cmocka_unit_test(same_optimizer_twice),
        cmocka_unit_test(rate_of_another_program),
        cmocka_unit_test(backward_and_apply_give_the_same_as_minimize),
        cmocka_unit_test(clip_groups_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
