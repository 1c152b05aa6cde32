#include "rank/deepfm/net.h"

#include "rank/rank.h"

static void build(struct skiff_net *net, const struct skiff_model_config *c,
                  struct skiff_model_net *out)
{
    struct rank_inputs in = rank_inputs_make(net, c, out);
    struct skiff_model_sizes sizes =
        skiff_model_sizes_of(c, "fc_sizes", (const int64_t[]){512, 256, 128, 32, 0});
    struct rank_fm fm = rank_fm_terms(net, &in);
    int64_t inputs = fm.nfields * in.width;
    struct skiff_var *x = skiff_reshape(net, fm.fields, SKIFF_DIMS(-1, inputs));
    x = model_layers(net, x, inputs, &sizes, model_dropout(c));
    struct skiff_var *deep =
        model_layer(net, x, sizes.n ? sizes.size[sizes.n - 1] : inputs, 1, NULL);
    struct skiff_var *logit = skiff_sums(net, SKIFF_VARS(fm.first, fm.second, deep));
    model_finish_sigmoid(net, logit, in.label, out);
}

const struct skiff_model_def model_rank_deepfm = MODEL_DEF("rank/deepfm", "DeepFM", build);
