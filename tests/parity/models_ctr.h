/* The reference CTR-DNN, in the sizes of the recorded programs. */
#ifndef PARITY_MODELS_CTR_H
#define PARITY_MODELS_CTR_H

#include <math.h>
#include <stdio.h>

#include <skiff/layers.h>
#include <skiff/optimizer.h>

struct ctr_size {
    bool dense_table, pool;
    int vocab, emb, width, slots, thresholds, slide;
};

struct ctr_net {
    struct skiff_var *loss, *predict;
};

static inline struct skiff_var *ctr_fc(struct skiff_net *net, struct skiff_var *x, int size,
                                       const char *act)
{
    double scale = 1 / sqrt((double)skiff_var_dim(x, 1));
    return skiff_fc(net, x, size, .act = act,
                    .param_attr = SKIFF_PARAM(.initializer = skiff_init_normal(0, scale, 0)));
}

static inline struct ctr_net ctr_dnn(struct skiff_net *net, const struct ctr_size *s)
{
    struct skiff_var *ids[32], *parts[33], *x;
    struct ctr_net r;
    char name[16];
    struct skiff_var *dense = skiff_data(net, "dense_input", SKIFF_DIMS(13));
    for (int i = 0; i < s->slots; i++) {
        snprintf(name, sizeof name, "C%d", i + 1);
        ids[i] = skiff_data(net, name, SKIFF_DIMS(1), .dtype = "int64", .lod_level = 1);
    }
    struct skiff_var *label = skiff_data(net, "label", SKIFF_DIMS(1), .dtype = "int64");
    for (int i = 0; i < s->slots; i++) {
        x = skiff_embedding(net, ids[i], s->vocab, s->emb, .is_sparse = !s->dense_table,
                            .param_attr = SKIFF_PARAM(.name = "SparseFeatFactors",
                                                      .initializer = skiff_init_uniform(-1, 1, 0)));
        parts[i] = s->pool ? skiff_sequence_pool(net, x, "sum") : x;
    }
    parts[s->slots] = dense;
    x = skiff_concat(net, ((struct skiff_vars){s->slots + 1, parts}), 1);
    for (int i = 0; i < 3; i++)
        x = ctr_fc(net, x, s->width, "relu");
    r.predict = ctr_fc(net, x, 2, "softmax");
    struct skiff_var *cost = skiff_cross_entropy(net, r.predict, label);
    r.loss = skiff_reduce(net, sum, cost);
    skiff_accuracy(net, r.predict, label);
    skiff_layer_auc_with(net, r.predict, label, .num_thresholds = s->thresholds,
                         .slide_steps = s->slide);
    return r;
}

static const struct ctr_size ctr_small = {
    .vocab = 1001, .emb = 4, .width = 32, .slots = 26, .thresholds = 4096, .slide = 20};
static const struct ctr_size ctr_small_dense = {.dense_table = true,
                                                .vocab = 1001,
                                                .emb = 4,
                                                .width = 32,
                                                .slots = 26,
                                                .thresholds = 4096,
                                                .slide = 20};
static const struct ctr_size ctr_multi_id = {.pool = true,
                                             .vocab = 1001,
                                             .emb = 4,
                                             .width = 32,
                                             .slots = 8,
                                             .thresholds = 4096,
                                             .slide = 20};
static const struct ctr_size ctr_full = {
    .vocab = 1000001, .emb = 10, .width = 400, .slots = 26, .thresholds = 4096, .slide = 20};
static const struct ctr_size ctr_saved = {
    .vocab = 101, .emb = 4, .width = 8, .slots = 3, .thresholds = 63, .slide = 2};

#endif
