#include "rank/logistic_regression/net.h"

#include "rank/rank.h"

static void build(struct skiff_net *net, const struct skiff_model_config *c,
                  struct skiff_model_net *out)
{
    struct rank_inputs in = rank_inputs_make(net, c, out);
    struct skiff_var *bias = skiff_create_parameter(net, SKIFF_DIMS(1), .dtype = "float32",
                                                    .name = "bias", .is_bias = true);
    struct skiff_var *logit = skiff_elementwise(net, add, rank_first_order(net, &in), bias);
    model_finish_sigmoid(net, logit, in.label, out);
}

const struct skiff_model_def model_rank_logistic_regression =
    MODEL_DEF("rank/logistic_regression", "logistic regression", build);
