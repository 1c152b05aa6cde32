#include "match/dssm/net.h"

#include <stdio.h>

struct tower {
    struct skiff_net *net;
    int64_t words, width;
    struct skiff_model_sizes sizes;
};

static struct skiff_var *bag(struct skiff_net *net, struct skiff_model_net *out, const char *name)
{
    return skiff_model_input(
        out, skiff_data(net, name, SKIFF_DIMS(1), .dtype = "int64", .lod_level = 1));
}

/* The vector of a bag of words. Parameters are shared by name. */
static struct skiff_var *vector_of(const struct tower *t, struct skiff_var *words)
{
    struct skiff_var *x = skiff_embedding(t->net, words, t->words, t->width, .is_sparse = true,
                                          .param_attr = SKIFF_PARAM(.name = "emb"));
    x = skiff_softsign(t->net, skiff_sequence_pool(t->net, x, "sum"));
    for (int i = 0; i < t->sizes.n; i++) {
        char w[32], b[32];
        snprintf(w, sizeof(w), "bow_%d.w", i);
        snprintf(b, sizeof(b), "bow_%d.b", i);
        x = skiff_fc(t->net, x, t->sizes.size[i], .act = "relu",
                     .param_attr = SKIFF_PARAM(.name = w), .bias_attr = SKIFF_PARAM(.name = b));
    }
    return x;
}

static struct skiff_var *constant_like(struct skiff_net *net, struct skiff_var *x,
                                       const char *dtype, double value)
{
    return skiff_fill_constant_batch_size_like(net, x, SKIFF_DIMS(-1, 1), dtype, value);
}

/* Clicked and other titles as one list of predictions: (1 + cos) / 2 lies in 0 .. 1. */
static void add_metrics(struct skiff_net *net, struct skiff_var *yes, struct skiff_var *no,
                        struct skiff_model_net *out)
{
    struct skiff_var *both = skiff_concat(net, SKIFF_VARS(yes, no), 0);
    struct skiff_var *p =
        skiff_layer_clip(net, skiff_scale_by(net, both, .scale = 0.5, .bias = 0.5), 0.0, 1.0, NULL);
    struct skiff_var *rest = skiff_scale_by(net, p, .scale = -1.0, .bias = 1.0);
    struct skiff_var *labels = skiff_concat(
        net, SKIFF_VARS(constant_like(net, yes, "int64", 1), constant_like(net, no, "int64", 0)),
        0);
    out->predict = skiff_concat(net, SKIFF_VARS(rest, p), 1);
    out->label = labels;
    out->not_probability = true;
    model_add_auc(net, out->predict, labels, out);
    struct skiff_var *right = skiff_cast(net, skiff_layer_less_than(net, no, yes, NULL), "float32");
    out->accuracy = skiff_mean(net, right);
}

static void build(struct skiff_net *net, const struct skiff_model_config *c,
                  struct skiff_model_net *out)
{
    struct tower t = {net, skiff_model_integer(c, "sparse_feature_number", 6000),
                      skiff_model_integer(c, "sparse_feature_dim", 128),
                      skiff_model_sizes_of(c, "fc_sizes", (const int64_t[]){128, 0})};
    double margin = skiff_model_real(c, "margin", 0.1);
    struct skiff_var *words[3] = {bag(net, out, "query"), bag(net, out, "pos_title"),
                                  bag(net, out, "neg_title")};
    struct skiff_var *query = vector_of(&t, words[0]), *clicked = vector_of(&t, words[1]),
                     *other = vector_of(&t, words[2]);
    struct skiff_var *yes = skiff_cos_sim(net, query, clicked),
                     *no = skiff_cos_sim(net, query, other);
    struct skiff_var *gap = skiff_elementwise(net, sub, no, yes);
    gap = skiff_elementwise(net, add, gap, constant_like(net, yes, "float32", margin));
    struct skiff_var *cost =
        skiff_elementwise(net, max, constant_like(net, yes, "float32", 0.0), gap);
    out->loss = skiff_mean(net, cost);
    add_metrics(net, yes, no, out);
}

const struct skiff_model_def model_match_dssm = MODEL_DEF("match/dssm", "SimNet-BOW (DSSM)", build);
