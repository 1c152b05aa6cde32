#include "recall/word2vec/net.h"

struct tables {
    struct skiff_net *net;
    int64_t words, width;
};

static struct skiff_var *row_of(const struct tables *t, struct skiff_var *ids, const char *name,
                                int64_t width, struct skiff_initializer init)
{
    return skiff_embedding(t->net, ids, t->words, width, .is_sparse = true,
                           .param_attr = SKIFF_PARAM(.name = name, .initializer = init));
}

static struct skiff_var *constant_like(struct skiff_net *net, struct skiff_var *x, int64_t columns,
                                       const char *dtype, double value)
{
    return skiff_fill_constant_batch_size_like(net, x, SKIFF_DIMS(-1, columns), dtype, value);
}

/* Sum over the columns of the cross entropies with a constant label. */
static struct skiff_var *cost_of(struct skiff_net *net, struct skiff_var *logits, int64_t columns,
                                 double label)
{
    struct skiff_var *wanted = constant_like(net, logits, columns, "float32", label);
    return skiff_reduce(net, sum, skiff_sigmoid_cross_entropy_with_logits(net, logits, wanted),
                        .dim = SKIFF_DIMS(1), .keep_dim = true);
}

static void add_auc(struct skiff_net *net, struct skiff_var *yes, struct skiff_var *no,
                    int64_t negatives, struct skiff_model_net *out)
{
    struct skiff_var *logits = skiff_concat(net, SKIFF_VARS(yes, no), 1);
    struct skiff_var *p = skiff_reshape(net, skiff_sigmoid(net, logits), SKIFF_DIMS(-1, 1));
    struct skiff_var *rest = skiff_scale_by(net, p, .scale = -1.0, .bias = 1.0);
    struct skiff_var *ones = constant_like(net, yes, 1, "int64", 1);
    struct skiff_var *zeros = constant_like(net, yes, negatives, "int64", 0);
    out->label =
        skiff_reshape(net, skiff_concat(net, SKIFF_VARS(ones, zeros), 1), SKIFF_DIMS(-1, 1));
    out->predict = skiff_concat(net, SKIFF_VARS(rest, p), 1);
    model_add_auc(net, out->predict, out->label, out);
}

static void build(struct skiff_net *net, const struct skiff_model_config *c,
                  struct skiff_model_net *out)
{
    struct tables t = {net, skiff_model_integer(c, "sparse_feature_number", 85),
                       skiff_model_integer(c, "sparse_feature_dim", 300)};
    int64_t negatives = skiff_model_integer(c, "neg_num", 5);
    skiff_model_integer(c, "window_size", 5);
    skiff_model_flag(c, "with_shuffle_batch", false);
    double near = 0.5 / (double)t.width;
    struct skiff_initializer zero = skiff_init_constant(0.0);
    struct skiff_var *word =
        skiff_model_input(out, skiff_data(net, "input_word", SKIFF_DIMS(1), .dtype = "int64"));
    struct skiff_var *target =
        skiff_model_input(out, skiff_data(net, "true_label", SKIFF_DIMS(1), .dtype = "int64"));
    struct skiff_var *drawn = skiff_model_input(
        out, skiff_data(net, "neg_label", SKIFF_DIMS(negatives), .dtype = "int64"));
    drawn = skiff_reshape(net, drawn, SKIFF_DIMS(-1, negatives, 1));
    struct skiff_var *x = row_of(&t, word, "emb", t.width, skiff_init_uniform(-near, near, 0));
    struct skiff_var *y = row_of(&t, target, "emb_w", t.width, zero);
    struct skiff_var *z = row_of(&t, drawn, "emb_w", t.width, zero);
    struct skiff_var *yes = skiff_reduce(net, sum, skiff_elementwise(net, mul, x, y),
                                         .dim = SKIFF_DIMS(1), .keep_dim = true);
    yes = skiff_elementwise(net, add, yes, row_of(&t, target, "emb_b", 1, zero));
    struct skiff_var *no = skiff_matmul(net, skiff_reshape(net, x, SKIFF_DIMS(-1, 1, t.width)), z,
                                        .transpose_y = true);
    struct skiff_var *no_bias = row_of(&t, drawn, "emb_b", 1, zero);
    no = skiff_elementwise(net, add, skiff_reshape(net, no, SKIFF_DIMS(-1, negatives)),
                           skiff_reshape(net, no_bias, SKIFF_DIMS(-1, negatives)));
    out->loss = skiff_mean(net, skiff_elementwise(net, add, cost_of(net, yes, 1, 1.0),
                                                  cost_of(net, no, negatives, 0.0)));
    add_auc(net, yes, no, negatives, out);
}

const struct skiff_model_def model_recall_word2vec =
    MODEL_DEF("recall/word2vec", "skip-gram with negative sampling", build);
