/* The other recorded recommendation models: FM, DeepFM, Wide & Deep, DCN, logistic regression,
 * word2vec, SimNet. Each builds on the net's current programs and returns the loss. */
#ifndef PARITY_MODELS_REC_H
#define PARITY_MODELS_REC_H

#include <stdio.h>

#include <skiff/layers.h>
#include <skiff/optimizer.h>

enum { VOCAB = 200, FIELDS = 6, EMB = 4 };

#define TABLE(table_name, std) \
    SKIFF_PARAM(.name = table_name, .initializer = skiff_init_normal(0.0, std, 0))

static inline void auc_of(struct skiff_net *net, struct skiff_var *p, struct skiff_var *label)
{
    struct skiff_var *not_p = skiff_scale_by(net, p, .scale = -1.0, .bias = 1.0);
    struct skiff_var *two = skiff_concat(net, SKIFF_VARS(not_p, p), 1);
    skiff_layer_auc_with(net, two, label, .num_thresholds = 255, .slide_steps = SKIFF_ZERO);
}

struct idx_inputs {
    struct skiff_var *idx, *value, *label;
};

static inline struct idx_inputs idx_inputs(struct skiff_net *net)
{
    struct idx_inputs in;
    in.idx = skiff_input(net, "feat_idx", SKIFF_DIMS(-1, FIELDS), .dtype = "int64");
    in.value = skiff_input(net, "feat_value", SKIFF_DIMS(-1, FIELDS));
    in.label = skiff_input(net, "label", SKIFF_DIMS(-1, 1), .dtype = "int64");
    return in;
}

struct fm_terms {
    struct skiff_var *y1, *y2, *e;
};

static inline struct fm_terms fm_terms(struct skiff_net *net, const struct idx_inputs *in,
                                       bool sparse, struct skiff_regularizer reg)
{
    struct fm_terms t;
    struct skiff_var *val = skiff_reshape(net, in->value, SKIFF_DIMS(-1, FIELDS, 1));
    struct skiff_param_attr first_attr = {
        .name = "first", .initializer = skiff_init_normal(0.0, 0.1, 0), .regularizer = reg};
    struct skiff_param_attr second_attr = {
        .name = "second", .initializer = skiff_init_normal(0.0, 0.1, 0), .regularizer = reg};
    struct skiff_var *first =
        skiff_embedding_v2(net, in->idx, VOCAB, 1, .is_sparse = sparse, .param_attr = &first_attr);
    t.y1 = skiff_reduce(net, sum, skiff_elementwise(net, mul, first, val), .dim = SKIFF_DIMS(1));
    t.e = skiff_embedding_v2(net, in->idx, VOCAB, EMB, .is_sparse = sparse,
                             .param_attr = &second_attr);
    t.e = skiff_elementwise(net, mul, t.e, val);
    struct skiff_var *sum_sq = skiff_square(net, skiff_reduce(net, sum, t.e, .dim = SKIFF_DIMS(1)));
    struct skiff_var *sq_sum = skiff_reduce(net, sum, skiff_square(net, t.e), .dim = SKIFF_DIMS(1));
    struct skiff_var *diff = skiff_var_op(net, SKIFF_SUB, sum_sq, sq_sum);
    diff = skiff_reduce(net, sum, diff, .dim = SKIFF_DIMS(1), .keep_dim = true);
    t.y2 = skiff_scale_by(net, diff, .scale = 0.5);
    return t;
}

static inline struct skiff_var *build_fm(struct skiff_net *net)
{
    struct skiff_regularizer none = {0};
    struct idx_inputs in = idx_inputs(net);
    struct fm_terms t = fm_terms(net, &in, true, none);
    struct skiff_var *b =
        skiff_create_parameter(net, SKIFF_DIMS(1), .name = "bias", .is_bias = true);
    struct skiff_var *y = skiff_var_op(net, SKIFF_ADD, t.y1, t.y2);
    struct skiff_var *logit = skiff_elementwise(net, add, y, b);
    struct skiff_var *label = skiff_cast(net, in.label, "float32");
    struct skiff_var *loss =
        skiff_mean(net, skiff_sigmoid_cross_entropy_with_logits(net, logit, label));
    auc_of(net, skiff_sigmoid(net, logit), in.label);
    return loss;
}

static inline struct skiff_var *build_deepfm(struct skiff_net *net)
{
    struct idx_inputs in = idx_inputs(net);
    struct fm_terms t = fm_terms(net, &in, false, skiff_l2_decay(1e-3));
    struct skiff_var *h = skiff_reshape(net, t.e, SKIFF_DIMS(-1, FIELDS * EMB));
    for (int i = 0; i < 2; i++)
        h = skiff_fc(net, h, 8, .act = "relu",
                     .param_attr =
                         SKIFF_PARAM(.initializer = skiff_init_truncated_normal(0.0, 0.3, 0)));
    struct skiff_var *y3 = skiff_fc(net, h, 1);
    struct skiff_var *y = skiff_var_op(net, SKIFF_ADD, t.y1, t.y2);
    struct skiff_var *p = skiff_sigmoid(net, skiff_var_op(net, SKIFF_ADD, y, y3));
    struct skiff_var *label = skiff_cast(net, in.label, "float32");
    struct skiff_var *loss = skiff_reduce(net, mean, skiff_log_loss(net, p, label));
    auc_of(net, p, in.label);
    return loss;
}

struct slot_inputs {
    struct skiff_var *dense, *ids[4], *label;
};

static inline struct slot_inputs slot_inputs(struct skiff_net *net, int n)
{
    struct slot_inputs in;
    char name[16];
    in.dense = skiff_data(net, "dense", SKIFF_DIMS(5));
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "s%d", i);
        in.ids[i] = skiff_data(net, name, SKIFF_DIMS(1), .dtype = "int64", .lod_level = 1);
    }
    in.label = skiff_data(net, "label", SKIFF_DIMS(1), .dtype = "int64");
    return in;
}

static inline struct skiff_var *pooled(struct skiff_net *net, struct skiff_var *ids, int width,
                                       const char *table, const char *pool)
{
    struct skiff_var *e =
        skiff_embedding(net, ids, VOCAB, width, .is_sparse = true, .param_attr = TABLE(table, 0.1));
    return skiff_sequence_pool(net, e, pool);
}

static inline struct skiff_var *build_wide_deep(struct skiff_net *net)
{
    struct slot_inputs in = slot_inputs(net, 3);
    struct skiff_var *emb[4], *wide[3];
    for (int i = 0; i < 3; i++)
        emb[i] = pooled(net, in.ids[i], EMB, "deep", "sum");
    for (int i = 0; i < 3; i++)
        wide[i] = pooled(net, in.ids[i], 1, "wide", "sum");
    emb[3] = in.dense;
    struct skiff_var *h = skiff_concat(net, ((struct skiff_vars){4, emb}), 1);
    h = skiff_fc(net, h, 8, .act = "relu");
    h = skiff_fc(net, h, 6, .act = "relu");
    struct skiff_var *deep = skiff_fc(net, h, 1);
    struct skiff_var *sum = skiff_var_op(net, SKIFF_ADD, deep, skiff_fc(net, in.dense, 1));
    struct skiff_var *logit =
        skiff_var_op(net, SKIFF_ADD, sum, skiff_sums(net, ((struct skiff_vars){3, wide})));
    struct skiff_var *p = skiff_layer_clip(net, skiff_sigmoid(net, logit), 1e-6, 1 - 1e-6, NULL);
    struct skiff_var *label = skiff_cast(net, in.label, "float32");
    struct skiff_var *loss = skiff_mean(net, skiff_log_loss(net, p, label));
    auc_of(net, p, in.label);
    return loss;
}

static inline struct skiff_var *build_dcn(struct skiff_net *net)
{
    struct slot_inputs in = slot_inputs(net, 2);
    struct skiff_var *emb0 = pooled(net, in.ids[0], EMB, "emb0", "average");
    struct skiff_var *emb1 = pooled(net, in.ids[1], EMB, "emb1", "average");
    struct skiff_var *x0 = skiff_concat(net, SKIFF_VARS(emb0, emb1, in.dense), 1), *x = x0;
    const int d = 2 * EMB + 5;
    for (int i = 0; i < 2; i++) {
        struct skiff_var *w =
            skiff_create_parameter(net, SKIFF_DIMS(d, 1), .name = i ? "cross_w1" : "cross_w0");
        struct skiff_var *b = skiff_create_parameter(
            net, SKIFF_DIMS(d), .name = i ? "cross_b1" : "cross_b0", .is_bias = true);
        struct skiff_var *cross =
            skiff_elementwise(net, mul, x0, skiff_matmul(net, x, w), .axis = SKIFF_ZERO);
        x = skiff_elementwise(net, add, skiff_var_op(net, SKIFF_ADD, cross, x), b);
    }
    struct skiff_var *h = skiff_fc(net, x0, 8, .bias_attr = SKIFF_NO_PARAM);
    h = skiff_batch_norm(net, h, .act = "relu");
    h = skiff_dropout(net, h, 0.3, .seed = 5, .implementation = "upscale_in_train");
    h = skiff_fc(net, h, 6, .act = "relu");
    struct skiff_var *logit = skiff_fc(net, skiff_concat(net, SKIFF_VARS(x, h), 1), 1);
    struct skiff_var *label = skiff_cast(net, in.label, "float32");
    struct skiff_var *loss =
        skiff_mean(net, skiff_sigmoid_cross_entropy_with_logits(net, logit, label));
    auc_of(net, skiff_sigmoid(net, logit), in.label);
    return loss;
}

static inline struct skiff_var *build_logistic(struct skiff_net *net)
{
    struct skiff_var *ids = skiff_data(net, "ids", SKIFF_DIMS(1), .dtype = "int64", .lod_level = 1);
    struct skiff_var *label = skiff_data(net, "label", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *w =
        skiff_embedding(net, ids, VOCAB, 1, .is_sparse = true, .param_attr = TABLE("weight", 0.1));
    struct skiff_var *b =
        skiff_create_parameter(net, SKIFF_DIMS(1), .name = "bias", .is_bias = true);
    struct skiff_var *sum = skiff_sequence_pool(net, w, "sum");
    struct skiff_var *p = skiff_sigmoid(net, skiff_elementwise(net, add, sum, b));
    struct skiff_var *loss =
        skiff_mean(net, skiff_log_loss(net, p, skiff_cast(net, label, "float32")));
    auc_of(net, p, label);
    return loss;
}

static inline struct skiff_var *build_word2vec_nce(struct skiff_net *net)
{
    struct skiff_var *word = skiff_data(net, "word", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *target = skiff_data(net, "target", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *e =
        skiff_embedding(net, word, 50, EMB, .is_sparse = true, .param_attr = TABLE("emb", 0.5));
    struct skiff_var *cost =
        skiff_nce(net, e, target, 50, .param_attr = TABLE("nce_w", 0.5),
                  .bias_attr = SKIFF_PARAM(.name = "nce_b"), .num_neg_samples = 5,
                  .sampler = "uniform", .seed = 9, .is_sparse = true);
    return skiff_mean(net, cost);
}

static inline struct skiff_var *table50(struct skiff_net *net, struct skiff_var *ids, int width,
                                        const char *name, double std)
{
    return skiff_embedding(net, ids, 50, width, .is_sparse = true, .param_attr = TABLE(name, std));
}

static inline struct skiff_var *build_word2vec_negative(struct skiff_net *net)
{
    struct skiff_var *word = skiff_data(net, "word", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *target = skiff_data(net, "target", SKIFF_DIMS(1), .dtype = "int64");
    struct skiff_var *neg = skiff_data(net, "negative", SKIFF_DIMS(4, 1), .dtype = "int64");
    struct skiff_var *w = table50(net, word, EMB, "emb", 0.5);
    struct skiff_var *t = table50(net, target, EMB, "emb_w", 0.5);
    struct skiff_var *n = table50(net, neg, EMB, "emb_w", 0.5);
    struct skiff_var *tb = table50(net, target, 1, "emb_b", 0.1);
    struct skiff_var *nb = table50(net, neg, 1, "emb_b", 0.1);
    struct skiff_var *dot = skiff_reduce(net, sum, skiff_elementwise(net, mul, w, t),
                                         .dim = SKIFF_DIMS(1), .keep_dim = true);
    struct skiff_var *pos_logit = skiff_elementwise(net, add, dot, tb);
    struct skiff_var *neg_logit =
        skiff_matmul(net, skiff_reshape(net, w, SKIFF_DIMS(-1, 1, EMB)), n, .transpose_y = true);
    neg_logit = skiff_reshape(net, neg_logit, SKIFF_DIMS(-1, 4));
    neg_logit = skiff_var_op(net, SKIFF_ADD, neg_logit, skiff_reshape(net, nb, SKIFF_DIMS(-1, 4)));
    struct skiff_var *one =
        skiff_fill_constant_batch_size_like(net, pos_logit, SKIFF_DIMS(-1, 1), "float32", 1.0);
    struct skiff_var *zero =
        skiff_fill_constant_batch_size_like(net, pos_logit, SKIFF_DIMS(-1, 4), "float32", 0.0);
    struct skiff_var *a =
        skiff_reduce(net, sum, skiff_sigmoid_cross_entropy_with_logits(net, pos_logit, one),
                     .dim = SKIFF_DIMS(1));
    struct skiff_var *b =
        skiff_reduce(net, sum, skiff_sigmoid_cross_entropy_with_logits(net, neg_logit, zero),
                     .dim = SKIFF_DIMS(1));
    return skiff_reduce(net, mean, skiff_elementwise(net, add, a, b));
}

static inline struct skiff_var *bow(struct skiff_net *net, struct skiff_var *x)
{
    struct skiff_var *e =
        skiff_embedding(net, x, VOCAB, EMB, .is_sparse = true, .param_attr = TABLE("emb", 0.5));
    return skiff_fc(net, skiff_softsign(net, skiff_sequence_pool(net, e, "sum")), 6, .act = "relu",
                    .param_attr = SKIFF_PARAM(.name = "fc.w"),
                    .bias_attr = SKIFF_PARAM(.name = "fc.b_0"));
}

static inline struct skiff_var *build_simnet(struct skiff_net *net)
{
    const char *names[] = {"query", "pos_title", "neg_title"};
    struct skiff_var *ids[3], *v[3];
    for (int i = 0; i < 3; i++)
        ids[i] = skiff_data(net, names[i], SKIFF_DIMS(1), .dtype = "int64", .lod_level = 1);
    for (int i = 0; i < 3; i++)
        v[i] = bow(net, ids[i]);
    struct skiff_var *pos = skiff_cos_sim(net, v[0], v[1]), *neg = skiff_cos_sim(net, v[0], v[2]);
    struct skiff_var *margin =
        skiff_fill_constant_batch_size_like(net, pos, SKIFF_DIMS(-1, 1), "float32", 0.3);
    struct skiff_var *zero =
        skiff_fill_constant_batch_size_like(net, pos, SKIFF_DIMS(-1, 1), "float32", 0.0);
    struct skiff_var *diff = skiff_elementwise(net, sub, neg, pos);
    return skiff_mean(net,
                      skiff_elementwise(net, max, zero, skiff_elementwise(net, add, diff, margin)));
}

#endif
