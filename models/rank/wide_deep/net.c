#include "rank/wide_deep/net.h"

#include <math.h>

#include "rank/rank.h"

/* A weight for each dense column. */
static struct skiff_var *wide_part(struct skiff_net *net, const struct rank_inputs *in)
{
    return skiff_fc(net, in->dense, 1,
                    .param_attr = SKIFF_PARAM(.initializer = skiff_init_truncated_normal(
                                                  0.0, 1.0 / sqrt((double)in->dense_columns), 0)));
}

static void build(struct skiff_net *net, const struct skiff_model_config *c,
                  struct skiff_model_net *out)
{
    struct rank_inputs in = rank_inputs_make(net, c, out);
    struct skiff_model_sizes sizes =
        skiff_model_sizes_of(c, "fc_sizes", (const int64_t[]){512, 256, 128, 32, 0});
    struct skiff_var *wide = in.dense ? wide_part(net, &in) : NULL;
    int64_t inputs = in.slots * in.width + in.dense_columns;
    struct skiff_var *x = rank_features(
        net, &in,
        SKIFF_PARAM(.name = "SparseFeatFactors", .initializer = skiff_init_uniform(-1, 1, 0)),
        false);
    x = model_layers(net, x, inputs, &sizes, model_dropout(c));
    struct skiff_var *deep =
        model_layer(net, x, sizes.n ? sizes.size[sizes.n - 1] : inputs, 1, NULL);
    struct skiff_var *logit = wide ? skiff_elementwise(net, add, wide, deep) : deep;
    model_finish_sigmoid(net, logit, in.label, out);
}

const struct skiff_model_def model_rank_wide_deep =
    MODEL_DEF("rank/wide_deep", "Wide & Deep", build);
