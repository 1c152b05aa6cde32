#include "rank/fm/net.h"

#include "rank/rank.h"

static void build(struct skiff_net *net, const struct skiff_model_config *c,
                  struct skiff_model_net *out)
{
    struct rank_inputs in = rank_inputs_make(net, c, out);
    struct rank_fm fm = rank_fm_terms(net, &in);
    struct skiff_var *bias = skiff_create_parameter(net, SKIFF_DIMS(1), .dtype = "float32",
                                                    .name = "bias", .is_bias = true);
    struct skiff_var *logit =
        skiff_elementwise(net, add, skiff_elementwise(net, add, fm.first, fm.second), bias);
    model_finish_sigmoid(net, logit, in.label, out);
}

const struct skiff_model_def model_rank_fm = MODEL_DEF("rank/fm", "factorization machine", build);
