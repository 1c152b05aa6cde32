#include "rank/dcn/net.h"

#include <math.h>
#include <stdio.h>

#include "rank/rank.h"

struct cross {
    struct skiff_net *net;
    struct skiff_var *x0;
    int64_t inputs;
    struct skiff_initializer init;
    double l2;
};

static struct skiff_var *cross_layer(const struct cross *c, struct skiff_var *x, int i)
{
    char w_name[32], b_name[32];
    snprintf(w_name, sizeof(w_name), "cross_w_%d", i);
    snprintf(b_name, sizeof(b_name), "cross_b_%d", i);
    struct skiff_var *w =
        skiff_create_parameter(c->net, SKIFF_DIMS(c->inputs, 1), .dtype = "float32",
                               .attr = SKIFF_PARAM(.name = w_name, .initializer = c->init,
                                                   .regularizer = skiff_l2_decay(c->l2)));
    struct skiff_var *b = skiff_create_parameter(c->net, SKIFF_DIMS(c->inputs), .dtype = "float32",
                                                 .name = b_name, .is_bias = true);
    struct skiff_var *scale = skiff_mul(c->net, x, w);
    struct skiff_var *y = skiff_elementwise(c->net, mul, c->x0, scale, .axis = SKIFF_ZERO);
    y = skiff_elementwise(c->net, add, y, b, .axis = 1);
    return skiff_elementwise(c->net, add, y, x);
}

static void build(struct skiff_net *net, const struct skiff_model_config *c,
                  struct skiff_model_net *out)
{
    struct rank_inputs in = rank_inputs_make(net, c, out);
    struct skiff_model_sizes sizes =
        skiff_model_sizes_of(c, "fc_sizes", (const int64_t[]){512, 256, 128, 0});
    int layers = (int)skiff_model_integer(c, "cross_num", 2);
    skiff_model_flag(c, "is_sparse", true);
    struct cross cross = {.net = net,
                          .inputs = in.slots * in.width + in.dense_columns,
                          .init = skiff_init_truncated_normal(0.0, 0.1 / sqrt((double)in.width), 0),
                          .l2 = skiff_model_real(c, "l2_reg_cross", 0.00005)};
    cross.x0 = rank_features(
        net, &in, SKIFF_PARAM(.name = "SparseFeatFactors", .initializer = cross.init), true);
    struct skiff_var *x = cross.x0;
    for (int i = 0; i < layers; i++)
        x = cross_layer(&cross, x, i);
    struct skiff_var *deep = model_layers(net, cross.x0, cross.inputs, &sizes, model_dropout(c));
    int64_t inputs = cross.inputs + (sizes.n ? sizes.size[sizes.n - 1] : cross.inputs);
    struct skiff_var *last = skiff_concat(net, SKIFF_VARS(deep, x), 1);
    model_finish_sigmoid(net, model_layer(net, last, inputs, 1, NULL), in.label, out);
}

const struct skiff_model_def model_rank_dcn = MODEL_DEF("rank/dcn", "Deep & Cross", build);
