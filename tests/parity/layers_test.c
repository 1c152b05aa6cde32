/* Every layer, and what backward and optimizers make of unusual programs, compared with what Fluid
 * 1.8.5 built for the same calls: record_layers.py recorded tests/data/parity/layers. Each group is
 * a process of its own there and a net of its own here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare.h"
#include "groups_math.h"
#include "groups_nn.h"

#define CHECK(call)                                                         \
    do {                                                                    \
        struct skiff_error err_ = {0};                                      \
        if ((call) < 0)                                                     \
            print_error("%s: %s (%s)\n", #call, err_.message, err_.origin); \
    } while (0)
#define MINIMIZE(net, loss, type, ...) CHECK(skiff_minimize(net, loss, &err_, type, __VA_ARGS__))

static struct skiff_var *two_fc_loss(struct skiff_net *net)
{
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(6));
    struct skiff_var *y = skiff_data(net, "y", SKIFF_DIMS(1));
    struct skiff_var *h = skiff_fc(net, skiff_fc(net, x, 5), 4);
    return skiff_mean(net, skiff_square_error_cost(net, skiff_fc(net, h, 1), y));
}

static struct skiff_var *attributes(struct skiff_net *net)
{
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(6));
    struct skiff_var *y = skiff_data(net, "y", SKIFF_DIMS(1));
    struct skiff_var *h = skiff_fc(net, x, 5,
                                   .param_attr = SKIFF_PARAM(.name = "a", .learning_rate = 0.5,
                                                             .regularizer = skiff_l1_decay(0.01)),
                                   .bias_attr = SKIFF_PARAM(.frozen = true));
    h = skiff_fc(net, h, 4, .param_attr = SKIFF_PARAM(.name = "b", .learning_rate = 2.0),
                 .act = "relu");
    skiff_var_set_stop_gradient(h, false);
    struct skiff_var *frozen = skiff_fc(net, x, 4, .param_attr = SKIFF_PARAM(.name = "c"));
    skiff_var_set_stop_gradient(frozen, true);
    h = skiff_elementwise(net, add, h, frozen);
    struct skiff_var *loss = skiff_mean(net, skiff_square_error_cost(net, skiff_fc(net, h, 1), y));
    struct skiff_var *rate = skiff_lr_exponential(net, 0.1, 4, 0.5, false);
    MINIMIZE(net, loss, "adam", .learning_rate_var = rate, .regularization = skiff_l2_decay(0.1),
             .name = "mine");
    return NULL;
}

static bool not_fc_1(const struct skiff_var *param, void *user)
{
    return strcmp(skiff_var_name(param), "fc_1.w_0") != 0;
}

static struct skiff_var *need_clip(struct skiff_net *net)
{
    struct skiff_clip clip = skiff_clip_global_norm(1.0);
    clip.need_clip = not_fc_1;
    MINIMIZE(net, two_fc_loss(net), "momentum", .learning_rate = 0.1, .momentum = 0.9,
             .grad_clip = clip);
    return NULL;
}

static struct skiff_var *clip_by_value_set(struct skiff_net *net)
{
    struct skiff_var *loss = two_fc_loss(net);
    struct skiff_clip clip = skiff_clip_by_value(-1.0, 1.0);
    skiff_net_set_gradient_clip(net, &clip, NULL, 0);
    MINIMIZE(net, loss, "sgd", .learning_rate = 0.1, .regularization = skiff_l2_decay(0.1));
    return NULL;
}

static struct skiff_var *two_losses(struct skiff_net *net)
{
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(6));
    struct skiff_var *y = skiff_data(net, "y", SKIFF_DIMS(1));
    struct skiff_var *h =
        skiff_fc(net, x, 5, .act = "relu", .param_attr = SKIFF_PARAM(.name = "shared"));
    struct skiff_var *a = skiff_fc(net, h, 1, .param_attr = SKIFF_PARAM(.name = "first"));
    struct skiff_var *one = skiff_mean(net, skiff_square_error_cost(net, a, y));
    struct skiff_var *two =
        skiff_mean(net, skiff_fc(net, h, 1, .param_attr = SKIFF_PARAM(.name = "second")));
    struct skiff_optimizer *sgd = skiff_optimizer(net, "sgd", .learning_rate = 0.1);
    struct skiff_optimizer *adam = skiff_optimizer(net, "adam", .learning_rate = 0.01);
    const char *first[] = {"first", "shared"}, *second[] = {"second", "shared"};
    CHECK(skiff_optimizer_minimize(
        sgd, one, &(struct skiff_minimize_options){.parameters = first, .nparameters = 2}, &err_));
    CHECK(skiff_optimizer_minimize(
        adam, two, &(struct skiff_minimize_options){.parameters = second, .nparameters = 2},
        &err_));
    return NULL;
}

static struct skiff_var *gradients(struct skiff_net *net)
{
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(6), .with_gradient = true), *g[2];
    struct skiff_var *w = skiff_create_parameter(net, SKIFF_DIMS(6, 3), .name = "w");
    struct skiff_var *a = skiff_reduce(net, sum, skiff_square(net, skiff_matmul(net, x, w)));
    CHECK(skiff_net_gradients(net, SKIFF_VARS(a), SKIFF_VARS(x, w), NULL, NULL, g, &err_));
    assert_string_equal(skiff_var_name(g[1]), "w@GRAD");
    skiff_mean(net, g[0]);
    return NULL;
}

static struct skiff_var *after_gradients(struct skiff_net *net)
{
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(6), .with_gradient = true), *g;
    struct skiff_var *h = skiff_fc(net, x, 3, .act = "sigmoid");
    struct skiff_var *sum = skiff_reduce(net, sum, h);
    CHECK(skiff_net_gradients(net, SKIFF_VARS(sum), SKIFF_VARS(x), NULL, NULL, &g, &err_));
    MINIMIZE(net, skiff_mean(net, h), "sgd", .learning_rate = 0.1);
    return NULL;
}

static struct skiff_var *shared_fc(struct skiff_net *net, struct skiff_var *x)
{
    return skiff_fc(net, x, 6, .param_attr = SKIFF_PARAM(.name = "w"), .bias_attr = SKIFF_NO_PARAM);
}

static struct skiff_var *repeated(struct skiff_net *net)
{
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(6));
    struct skiff_var *y = skiff_data(net, "y", SKIFF_DIMS(1));
    struct skiff_var *h = shared_fc(net, x);
    h = skiff_var_op(net, SKIFF_ADD, skiff_elementwise(net, mul, h, h), h);
    h = skiff_var_op(net, SKIFF_MUL, skiff_elementwise(net, add, h, h), h);
    h = shared_fc(net, h);
    h = skiff_concat(net, SKIFF_VARS(h, h, x), 1);
    h = skiff_sums(net, SKIFF_VARS(h, h));
    MINIMIZE(net, skiff_mean(net, skiff_square_error_cost(net, skiff_fc(net, h, 1), y)), "sgd",
             .learning_rate = 0.1);
    return NULL;
}

static struct skiff_var *unused_outputs(struct skiff_net *net)
{
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(6)), *ab[2];
    struct skiff_var *y = skiff_data(net, "y", SKIFF_DIMS(1)), *h = skiff_fc(net, x, 6);
    skiff_layer_split(net, h, 2, (struct skiff_dims){0}, 1, ab);
    skiff_reduce(net, sum, ab[1]);
    skiff_layer_topk(net, h, 2, NULL);
    struct skiff_var *loss =
        skiff_mean(net, skiff_square_error_cost(net, skiff_fc(net, ab[0], 1), y));
    MINIMIZE(net, loss, "adagrad", .learning_rate = 0.1, .initial_accumulator_value = 0.5);
    return NULL;
}

static struct skiff_var *while_loop(struct skiff_net *net)
{
    struct skiff_var *i = skiff_fill_constant(net, SKIFF_DIMS(1), "int64", 0);
    struct skiff_var *n = skiff_fill_constant(net, SKIFF_DIMS(1), "int64", 5);
    struct skiff_var *s = skiff_fill_constant(net, SKIFF_DIMS(1), "float32", 0.0);
    struct skiff_var *cond = skiff_layer_less_than(net, i, n, NULL);
    struct skiff_while *w = skiff_while_begin(net, cond, false);
    skiff_layer_assign(net, skiff_scale_by(net, s, .scale = 2.0, .bias = 1.0), s);
    skiff_layer_increment(net, i, 1.0, false);
    skiff_layer_less_than(net, i, n, cond);
    skiff_while_end(w);
    return NULL;
}

static struct skiff_var *scopes(struct skiff_net *net)
{
    skiff_net_push_scope(net, "a");
    struct skiff_var *h = skiff_data(net, "x", SKIFF_DIMS(6));
    for (int i = 0; i < 2; i++) {
        skiff_net_push_scope(net, "b");
        h = skiff_fc(net, h, 5);
        skiff_net_pop_scope(net);
    }
    skiff_net_pop_scope(net);
    skiff_net_push_scope(net, "a");
    skiff_net_push_names(net, "pre_");
    h = skiff_fc(net, h, 1);
    skiff_net_pop_names(net);
    skiff_net_pop_scope(net);
    MINIMIZE(net, skiff_mean(net, h), "sgd", .learning_rate = 0.1);
    return NULL;
}

static struct skiff_var *distributed_table(struct skiff_net *net)
{
    struct skiff_var *ids = ids_input(net, "ids");
    struct skiff_var *e =
        skiff_embedding(net, ids, 100, 4, .is_sparse = true, .is_distributed = true);
    struct skiff_var *h = skiff_fc(net, skiff_sequence_pool(net, e, "sum"), 1);
    MINIMIZE(net, skiff_mean(net, h), "adam", .learning_rate = 0.1);
    return NULL;
}

/* A group returns a loss that is still to be minimized by SGD 0.1, or NULL. */
static void check_group(const char *name, struct skiff_var *(*build)(struct skiff_net *))
{
    struct skiff_net *net = skiff_net_create();
    struct skiff_error err = {0};
    char path[128];
    skiff_program_set_seed(skiff_net_startup(net), 7);
    struct skiff_var *loss = build(net);
    if (loss)
        skiff_minimize(net, loss, &err, "sgd", .learning_rate = 0.1);
    if (skiff_net_check(net, &err) < 0)
        fail_msg("%s: %s (%s)", name, err.message, err.origin);
    snprintf(path, sizeof path, "layers/%s", name);
    int n = compare(skiff_net_main(net), path, "main.pb") +
            compare(skiff_net_startup(net), path, "startup.pb");
    skiff_net_destroy(net);
    assert_int_equal(n, 0);
}

/* clang-format off */
#define GROUPS(X) \
    X(activations) X(elementwise) X(products) X(reductions) X(shapes) X(creation) \
    X(initializers) X(embeddings) X(sequences) X(losses) X(metrics) X(norms) X(recurrent) \
    X(attributes) X(need_clip) X(clip_by_value_set) X(two_losses) X(gradients) \
    X(after_gradients) X(repeated) X(unused_outputs) X(while_loop) X(scopes) \
    X(distributed_table)
/* clang-format on */

#define GROUP_TEST(name)                  \
    static void test_##name(void **state) \
    {                                     \
        check_group(#name, name);         \
    }
GROUPS(GROUP_TEST)

int main(void)
{
#define GROUP_ENTRY(name) cmocka_unit_test(test_##name),
    const struct CMUnitTest tests[] = {GROUPS(GROUP_ENTRY)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
