#include "rank/dlrm/net.h"

#include <math.h>
#include <stdlib.h>

#include "rank/rank.h"

static struct skiff_var *layer(struct skiff_net *net, struct skiff_var *x, int64_t inputs,
                               int64_t size, const char *act)
{
    return skiff_fc(net, x, size, .act = act,
                    .param_attr = SKIFF_PARAM(.initializer = skiff_init_truncated_normal(
                                                  0.0, 1.0 / sqrt((double)inputs), 0)));
}

static struct skiff_var *layers(struct skiff_net *net, struct skiff_var *x, int64_t inputs,
                                const struct skiff_model_sizes *sizes, const char *last_act)
{
    for (int i = 0; i < sizes->n; i++) {
        x = layer(net, x, inputs, sizes->size[i], i + 1 < sizes->n ? "relu" : last_act);
        inputs = sizes->size[i];
    }
    return x;
}

/* Places of the pairs i < j (or i <= j) of an n x n matrix, row by row. */
static struct skiff_var *pair_positions(struct skiff_net *net, int64_t n, bool self, int64_t *count)
{
    int32_t *at = malloc((size_t)(n * n) * sizeof(*at));
    struct skiff_var *positions = NULL;
    *count = 0;
    for (int64_t i = 0; at && i < n; i++)
        for (int64_t j = i + !self; j < n; j++)
            at[(*count)++] = (int32_t)(i * n + j);
    if (at)
        positions = skiff_layer_assign_value(net, SKIFF_DIMS(*count), "int32", at, NULL);
    free(at);
    return positions;
}

/* Products of all pairs of the vectors [batch, n, width]: [batch, pairs]. */
static struct skiff_var *products(struct skiff_net *net, struct skiff_var *vectors, int64_t n,
                                  bool self, int64_t *count)
{
    struct skiff_var *z = skiff_matmul(net, vectors, vectors, .transpose_y = true);
    z = skiff_layer_transpose(net, skiff_reshape(net, z, SKIFF_DIMS(-1, n * n)), SKIFF_DIMS(1, 0),
                              NULL);
    struct skiff_var *positions = pair_positions(net, n, self, count);
    return skiff_layer_transpose(net, skiff_layer_gather(net, z, positions, false),
                                 SKIFF_DIMS(1, 0), NULL);
}

static void build(struct skiff_net *net, const struct skiff_model_config *c,
                  struct skiff_model_net *out)
{
    struct rank_inputs in = rank_inputs_make(net, c, out);
    struct skiff_model_sizes bottom =
        skiff_model_sizes_of(c, "bot_layer_sizes", (const int64_t[]){512, 256, 64, in.width, 0});
    struct skiff_model_sizes top =
        skiff_model_sizes_of(c, "top_layer_sizes", (const int64_t[]){512, 256, 2, 0});
    bool self = skiff_model_flag(c, "self_interaction", false);
    struct skiff_var *x =
        in.dense ? layers(net, in.dense, in.dense_columns, &bottom, "relu") : NULL;
    struct skiff_var *rows = rank_embeddings(
        net, &in, in.width,
        SKIFF_PARAM(.name = "SparseFeatFactors", .initializer = skiff_init_truncated_normal(
                                                     0.0, 1.0 / sqrt((double)in.width), 0)),
        false);
    int64_t n = in.slots + (x ? 1 : 0), pairs;
    struct skiff_var *vectors = x ? skiff_concat(net, SKIFF_VARS(rows, x), 1) : rows;
    vectors = skiff_reshape(net, vectors, SKIFF_DIMS(-1, n, in.width));
    /* without dense columns a vector alone has no pair but with itself */
    struct skiff_var *z = products(net, vectors, n, self || n == 1, &pairs);
    if (x)
        z = skiff_concat(net, SKIFF_VARS(x, z), 1);
    struct skiff_var *logits = layers(net, z, (x ? in.width : 0) + pairs, &top, NULL);
    out->label = in.label;
    struct skiff_var *cost =
        skiff_softmax_with_cross_entropy(net, logits, in.label, .softmax = &out->predict);
    out->loss = skiff_mean(net, cost);
    model_add_auc(net, out->predict, in.label, out);
}

const struct skiff_model_def model_rank_dlrm = MODEL_DEF("rank/dlrm", "DLRM", build);
