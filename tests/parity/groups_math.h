/* The groups of record_layers.py that are about math and shapes, call for call. Arguments of C
 * calls are evaluated in any order, so every layer whose name counts stands in a statement of its
 * own. */
#ifndef PARITY_GROUPS_MATH_H
#define PARITY_GROUPS_MATH_H

#include <skiff/layers.h>
#include <skiff/optimizer.h>

struct parts {
    struct skiff_var *v[96];
    int n;
};

static inline void put(struct parts *p, struct skiff_var *v)
{
    p->v[p->n++] = v;
}

static inline struct skiff_var *as_float(struct skiff_net *net, struct skiff_var *v)
{
    return skiff_cast(net, v, "float32");
}

/* sums([reduce_mean(p) for p in parts]) */
static inline struct skiff_var *total(struct skiff_net *net, struct parts *p)
{
    struct skiff_var *means[96];
    for (int i = 0; i < p->n; i++)
        means[i] = skiff_reduce(net, mean, p->v[i]);
    return skiff_sums(net, ((struct skiff_vars){p->n, means}));
}

static inline struct skiff_var *activations(struct skiff_net *net)
{
    typedef struct skiff_var *unary(struct skiff_net *, struct skiff_var *);
    static unary *const all[] = {
        skiff_layer_sigmoid,    skiff_layer_logsigmoid, skiff_layer_exp,      skiff_layer_tanh,
        skiff_layer_sqrt,       skiff_layer_rsqrt,      skiff_layer_abs,      skiff_layer_ceil,
        skiff_layer_floor,      skiff_layer_cos,        skiff_layer_sin,      skiff_layer_round,
        skiff_layer_reciprocal, skiff_layer_square,     skiff_layer_softplus, skiff_layer_softsign,
        skiff_layer_relu,       skiff_layer_log,        skiff_layer_sign,     skiff_layer_erf};
    struct parts p = {.n = 0};
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(8)), *h = skiff_fc(net, x, 8);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        put(&p, all[i](net, h));
    put(&p, skiff_act(net, leaky_relu, h));
    put(&p, skiff_act(net, leaky_relu, h, .alpha = 0.3));
    put(&p, skiff_act(net, hard_sigmoid, h));
    put(&p, skiff_act(net, hard_sigmoid, h, .slope = 0.1, .offset = 0.4));
    put(&p, skiff_act(net, relu6, h));
    put(&p, skiff_act(net, swish, h));
    put(&p, skiff_act(net, pow, h, .factor = 2.5));
    put(&p, skiff_act(net, gelu, h));
    put(&p, skiff_act(net, gelu, h, .approximate = true));
    put(&p, skiff_act(net, elu, h));
    put(&p, skiff_act(net, elu, h, .alpha = 0.5));
    put(&p, skiff_layer_prelu(net, h, "all", NULL, NULL));
    put(&p, skiff_layer_prelu(net, h, "element", NULL, NULL));
    put(&p, skiff_softmax(net, h));
    put(&p, skiff_softmax(net, h, .axis = 1));
    put(&p, skiff_scale_by(net, h, .scale = 2.0, .bias = 1.0, .bias_before_scale = true));
    put(&p, skiff_scale_by(net, h, .scale = 3.0, .act = "relu"));
    put(&p, skiff_layer_clip(net, h, -1.0, 1.0, NULL));
    put(&p, skiff_layer_clip_by_norm(net, h, 1.0, NULL));
    put(&p, as_float(net, skiff_cast(net, h, "float64")));
    put(&p, as_float(net, skiff_layer_isfinite(net, h)));
    struct skiff_var *image = skiff_data(net, "image", SKIFF_DIMS(3, 4, 4));
    put(&p, skiff_reduce(net, mean, skiff_layer_prelu(net, image, "channel", NULL, NULL)));
    return total(net, &p);
}

static inline void operators(struct skiff_net *net, struct parts *p, struct skiff_var *x,
                             struct skiff_var *z, struct skiff_var *w)
{
    static const enum skiff_operator math[] = {SKIFF_ADD, SKIFF_SUB, SKIFF_MUL, SKIFF_DIV,
                                               SKIFF_POW};
    static const enum skiff_operator compare[] = {SKIFF_LT, SKIFF_LE, SKIFF_GT,
                                                  SKIFF_GE, SKIFF_EQ, SKIFF_NE};
    struct skiff_var *c[9];
    for (int i = 0; i < 5; i++)
        put(p, skiff_var_op(net, math[i], x, z));
    put(p, skiff_var_op_scalar(net, SKIFF_ADD, x, 1));
    put(p, skiff_var_op_scalar(net, SKIFF_SUB, x, 2.5));
    put(p, skiff_var_op_scalar(net, SKIFF_MUL, x, 3));
    put(p, skiff_var_op_scalar(net, SKIFF_DIV, x, 4.0));
    put(p, skiff_var_op_scalar(net, SKIFF_POW, x, 2.0));
    put(p, skiff_scalar_op_var(net, SKIFF_ADD, 1, x));
    put(p, skiff_scalar_op_var(net, SKIFF_SUB, 1, x));
    put(p, skiff_scalar_op_var(net, SKIFF_MUL, 2.0, x));
    put(p, skiff_scalar_op_var(net, SKIFF_DIV, 3.0, x));
    put(p, skiff_scalar_op_var(net, SKIFF_POW, 2.0, x));
    put(p, skiff_var_neg(net, x));
    put(p, skiff_var_op(net, SKIFF_ADD, x, w));
    put(p, skiff_var_op(net, SKIFF_MUL, x, w));
    put(p, skiff_scalar_op_var(net, SKIFF_DIV, 3.0, w));
    put(p, skiff_scalar_op_var(net, SKIFF_SUB, 2.0, w));
    for (int i = 0; i < 6; i++)
        c[i] = skiff_var_op(net, compare[i], x, z);
    c[6] = skiff_var_op_scalar(net, SKIFF_LT, x, 0.5);
    c[7] = skiff_scalar_op_var(net, SKIFF_LT, 0.5, x);
    c[8] = skiff_var_op_scalar(net, SKIFF_EQ, x, 1.0);
    for (int i = 0; i < 9; i++)
        put(p, as_float(net, c[i]));
}

static inline struct skiff_var *elementwise(struct skiff_net *net)
{
    struct parts p = {.n = 0};
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(4, 5));
    struct skiff_var *y = skiff_data(net, "y", SKIFF_DIMS(4));
    struct skiff_var *z = skiff_data(net, "z", SKIFF_DIMS(4, 5));
    struct skiff_var *i = skiff_data(net, "i", SKIFF_DIMS(3), .dtype = "int64");
    struct skiff_var *j = skiff_data(net, "j", SKIFF_DIMS(3), .dtype = "int64");
    struct skiff_var *w = skiff_create_parameter(net, SKIFF_DIMS(4, 5), .name = "w"), *c[8];
    x = skiff_elementwise(net, add, x, w);
    put(&p, skiff_elementwise(net, add, x, y, .axis = SKIFF_ZERO));
    put(&p, skiff_elementwise(net, sub, x, z, .act = "relu"));
    put(&p, skiff_elementwise(net, mul, x, w, .axis = 1));
    put(&p, skiff_elementwise(net, div, x, z));
    put(&p, skiff_elementwise(net, max, x, z));
    put(&p, skiff_elementwise(net, min, x, z));
    put(&p, skiff_elementwise(net, pow, x, z));
    operators(net, &p, x, z, w);
    c[0] = skiff_var_op(net, SKIFF_ADD, i, j);
    c[1] = skiff_var_op_scalar(net, SKIFF_SUB, i, 2);
    c[2] = skiff_var_op_scalar(net, SKIFF_MUL, i, 3);
    c[3] = skiff_var_op(net, SKIFF_FLOORDIV, i, j);
    c[4] = skiff_var_op(net, SKIFF_MOD, i, j);
    c[5] = skiff_elementwise(net, mod, i, j);
    c[6] = skiff_elementwise(net, floordiv, i, j);
    for (int k = 0; k < 7; k++)
        put(&p, as_float(net, c[k]));
    struct skiff_var *a = skiff_layer_less_than(net, x, z, NULL);
    struct skiff_var *b = skiff_layer_greater_equal(net, x, z, NULL);
    c[0] = skiff_layer_logical_and(net, a, b, NULL);
    c[1] = skiff_layer_logical_or(net, a, b, NULL);
    c[2] = skiff_layer_logical_xor(net, a, b, NULL);
    c[3] = skiff_layer_logical_not(net, a, NULL);
    c[4] = skiff_layer_equal(net, x, z, NULL);
    c[5] = skiff_layer_not_equal(net, x, z, NULL);
    c[6] = skiff_layer_less_equal(net, x, z, NULL);
    c[7] = skiff_layer_greater_than(net, x, z, NULL);
    for (int k = 0; k < 8; k++)
        put(&p, as_float(net, c[k]));
    put(&p, skiff_var_astype(net, skiff_var_astype(net, x, "float64"), "float32"));
    return total(net, &p);
}

static inline struct skiff_var *products(struct skiff_net *net)
{
    struct parts p = {.n = 0};
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(6));
    struct skiff_var *y = skiff_data(net, "y", SKIFF_DIMS(7));
    struct skiff_var *q = skiff_data(net, "q", SKIFF_DIMS(3, 6));
    struct skiff_var *k = skiff_data(net, "k", SKIFF_DIMS(5, 6));
    struct skiff_var *w = skiff_create_parameter(net, SKIFF_DIMS(6, 7));
    put(&p, skiff_matmul(net, x, w));
    put(&p, skiff_matmul(net, q, k, .transpose_y = true, .alpha = 0.5));
    put(&p, skiff_mul(net, x, w));
    put(&p, skiff_fc_list(net, SKIFF_VARS(x, y), 4, .act = "tanh"));
    put(&p, skiff_fc(net, q, 3, .num_flatten_dims = 2));
    put(&p, skiff_fc(net, q, 3, .num_flatten_dims = -1, .bias_attr = SKIFF_NO_PARAM));
    put(&p, skiff_fc(net, q, 2, .name = "mine"));
    put(&p, skiff_cos_sim(net, x, skiff_fc(net, y, 6)));
    put(&p, skiff_layer_bilinear_tensor_product(net, x, y, 3,
                                                &(struct skiff_fc_options){.act = "relu"}));
    put(&p, skiff_layer_bilinear_tensor_product(
                net, x, y, 2, &(struct skiff_fc_options){.bias_attr = SKIFF_NO_PARAM}));
    return total(net, &p);
}

static inline struct skiff_var *reductions(struct skiff_net *net)
{
    struct parts p = {.n = 0};
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(4, 5));
    struct skiff_var *w = skiff_create_parameter(net, SKIFF_DIMS(4, 5));
    x = skiff_var_op(net, SKIFF_MUL, x, w);
    put(&p, skiff_reduce(net, sum, x));
    put(&p, skiff_reduce(net, sum, x, .dim = SKIFF_DIMS(1)));
    put(&p, skiff_reduce(net, sum, x, .dim = SKIFF_DIMS(1, 2), .keep_dim = true));
    put(&p, skiff_reduce(net, mean, x, .dim = SKIFF_DIMS(-1)));
    put(&p, skiff_reduce(net, max, x, .dim = SKIFF_DIMS(1)));
    put(&p, skiff_reduce(net, min, x, .dim = SKIFF_DIMS(2)));
    put(&p, skiff_reduce(net, prod, x, .dim = SKIFF_DIMS(1), .keep_dim = true));
    put(&p, skiff_mean(net, x));
    put(&p, skiff_sums(net, SKIFF_VARS(x, x)));
    put(&p, skiff_layer_l2_normalize(net, x, 1, 0, NULL));
    put(&p, skiff_layer_l2_normalize(net, x, -1, 1e-6, NULL));
    struct skiff_var *b = skiff_cast(net, x, "bool");
    put(&p, as_float(net, skiff_reduce(net, all, b, .dim = SKIFF_DIMS(1))));
    put(&p, as_float(net, skiff_reduce(net, any, b)));
    return total(net, &p);
}

static inline struct skiff_var *shapes(struct skiff_net *net)
{
    struct parts p = {.n = 0};
    struct skiff_var *out[4];
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(4, 6));
    struct skiff_var *idx = skiff_data(net, "idx", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *w = skiff_create_parameter(net, SKIFF_DIMS(4, 6));
    struct skiff_var *h = skiff_var_op(net, SKIFF_MUL, x, w);
    put(&p, skiff_reshape(net, h, SKIFF_DIMS(-1, 24)));
    put(&p, skiff_reshape(net, h, SKIFF_DIMS(0, 2, 2, 6), .act = "relu"));
    put(&p, skiff_layer_flatten(net, h, 1, NULL));
    put(&p, skiff_layer_transpose(net, h, SKIFF_DIMS(0, 2, 1), NULL));
    put(&p, skiff_layer_unsqueeze(net, h, SKIFF_DIMS(1), NULL));
    struct skiff_var *u = skiff_layer_unsqueeze(net, h, SKIFF_DIMS(1), NULL);
    put(&p, skiff_layer_squeeze(net, u, SKIFF_DIMS(1), NULL));
    put(&p, skiff_layer_expand(net, h, SKIFF_DIMS(1, 2, 1), NULL));
    put(&p, skiff_layer_slice(net, h, SKIFF_DIMS(1, 2), SKIFF_DIMS(0, 1), SKIFF_DIMS(2, 4)));
    put(&p, skiff_layer_stack(net, SKIFF_VARS(h, h), 1));
    put(&p, skiff_concat(net, SKIFF_VARS(h, h), 2));
    put(&p, skiff_layer_gather(net, h, idx, false));
    put(&p, skiff_layer_gather_nd(net, h, idx, NULL));
    skiff_layer_split(net, h, 2, (struct skiff_dims){0}, 1, out);
    put(&p, out[0]);
    put(&p, out[1]);
    skiff_layer_split(net, h, 0, SKIFF_DIMS(1, 2, -1), -1, out);
    for (int i = 0; i < 3; i++)
        put(&p, out[i]);
    skiff_layer_unstack(net, h, 1, 0, out);
    for (int i = 0; i < 4; i++)
        put(&p, out[i]);
    struct skiff_var *row = skiff_input(net, "row", SKIFF_DIMS(-1), .dtype = "int64");
    put(&p, skiff_layer_scatter(net, h, row, h, false, NULL));
    put(&p, as_float(net, skiff_layer_shape(net, h)));
    put(&p, skiff_layer_one_hot(net, idx, 7, false));
    put(&p, skiff_layer_one_hot_v2(net, idx, 7, false));
    put(&p, as_float(net, skiff_layer_argmax(net, h, 1)));
    struct skiff_topk top = skiff_layer_topk(net, h, 2, NULL);
    put(&p, top.values);
    put(&p, as_float(net, top.indices));
    return total(net, &p);
}

static inline struct skiff_var *creation(struct skiff_net *net)
{
    struct parts p = {.n = 0};
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(4));
    struct skiff_var *w = skiff_create_parameter(
        net, SKIFF_DIMS(4),
        .attr = SKIFF_PARAM(.name = "w", .initializer = skiff_init_constant(0.5)));
    struct skiff_var *g = skiff_create_global_var(net, SKIFF_DIMS(2, 3), 1.5, .dtype = "float32",
                                                  .persistable = true, .name = "g");
    skiff_create_global_var(net, SKIFF_DIMS(1), 3.0, .dtype = "int64", .force_cpu = true);
    put(&p, skiff_var_op(net, SKIFF_MUL, x, w));
    put(&p, g);
    put(&p, skiff_fill_constant(net, SKIFF_DIMS(2), "float32", 1e-7));
    put(&p, skiff_fill_constant(net, SKIFF_DIMS(2), "float32", 0.1));
    put(&p, as_float(net, skiff_fill_constant(net, SKIFF_DIMS(2, 1), "int64", 7)));
    struct skiff_var *two =
        skiff_fill_constant(net, SKIFF_DIMS(1), "float64", 2.0, .force_cpu = true);
    put(&p, skiff_var_astype(net, two, "float32"));
    put(&p, skiff_fill_constant_batch_size_like(net, x, SKIFF_DIMS(-1, 3), "float32", 123456.789));
    put(&p, as_float(net, skiff_fill_constant_batch_size_like(net, x, SKIFF_DIMS(3, -1), "int64", 2,
                                                              .output_dim_idx = 1)));
    put(&p, skiff_layer_zeros_like(net, x, NULL));
    put(&p, skiff_layer_ones_like(net, x, NULL));
    put(&p, skiff_layer_assign(net, x, NULL));
    put(&p,
        skiff_layer_assign_value(net, SKIFF_DIMS(2, 2), "float32", (float[]){1, 2, 3, 4}, NULL));
    put(&p, as_float(net, skiff_layer_assign_value(net, SKIFF_DIMS(2), "int32", (int32_t[]){5, 6},
                                                   NULL)));
    put(&p, skiff_layer_uniform_random(net, SKIFF_DIMS(3, 4), NULL));
    put(&p, skiff_layer_uniform_random(
                net, SKIFF_DIMS(3, 4),
                &(struct skiff_random_options){.min = -0.5, .max = 0.25, .seed = 3}));
    put(&p, skiff_layer_gaussian_random(
                net, SKIFF_DIMS(3),
                &(struct skiff_random_options){.mean = 1.0, .std = 2.0, .seed = 4}));
    struct skiff_var *c = skiff_fill_constant(net, SKIFF_DIMS(1), "float32", 0.0);
    put(&p, skiff_layer_increment(net, c, 1.0, false));
    put(&p, skiff_layer_increment(net, c, 2.0, true));
    put(&p, as_float(net, skiff_layer_sampling_id(
                              net, skiff_softmax(net, x),
                              &(struct skiff_random_options){.max = 0.9, .seed = 5})));
    skiff_layer_create_tensor(net, "float32", "t0", false);
    skiff_layer_autoincreased_step_counter(net, NULL, 1, 1);
    return total(net, &p);
}

static inline struct skiff_var *param_with(struct skiff_net *net, struct skiff_initializer init,
                                           struct skiff_dims shape)
{
    return skiff_create_parameter(net, shape, .attr = SKIFF_PARAM(.initializer = init));
}

static inline struct skiff_var *initializers(struct skiff_net *net)
{
    const struct skiff_initializer all[] = {
        skiff_init_constant(0.25),          skiff_init_uniform(-1, 1, 0),
        skiff_init_uniform(-0.1, 0.2, 7),   skiff_init_normal(0, 1, 0),
        skiff_init_normal(0.5, 0.1, 8),     skiff_init_truncated_normal(0.0, 0.3, 0),
        skiff_init_xavier(true, 0, 0, 0),   skiff_init_xavier(false, 0, 0, 0),
        skiff_init_xavier(true, 10, 20, 9), skiff_init_msra(true, 0, 0),
        skiff_init_msra(false, 0, 0),       skiff_init_msra(true, 12, 2)};
    enum { N = sizeof all / sizeof *all };
    struct parts p = {.n = 0};
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(6)), *w[N];
    for (int i = 0; i < N; i++)
        w[i] = param_with(net, all[i], SKIFF_DIMS(6, 5));
    for (int i = 0; i < N; i++)
        put(&p, skiff_matmul(net, x, w[i]));
    put(&p, param_with(net, skiff_init_xavier(true, 0, 0, 0), SKIFF_DIMS(7)));
    put(&p, param_with(net, skiff_init_msra(false, 0, 0), SKIFF_DIMS(4, 3, 2, 2)));
    put(&p, param_with(net, skiff_init_bilinear(), SKIFF_DIMS(2, 1, 4, 4)));
    put(&p, param_with(net, skiff_init_values((float[]){0, 1, 2, 3, 4, 5}, 6), SKIFF_DIMS(6)));
    put(&p, skiff_create_parameter(net, SKIFF_DIMS(3, 2),
                                   .default_initializer = skiff_init_normal(0.0, 2.0, 0)));
    put(&p, skiff_create_parameter(net, SKIFF_DIMS(3), .is_bias = true));
    return total(net, &p);
}

#endif
