/* The groups of record_layers.py that are about network layers, call for call. */
#ifndef PARITY_GROUPS_NN_H
#define PARITY_GROUPS_NN_H

#include "groups_math.h"

static inline struct skiff_var *ids_input(struct skiff_net *net, const char *name)
{
    return skiff_data(net, name, SKIFF_DIMS(1), .dtype = "int64", .lod_level = 1);
}

static inline struct skiff_var *label_input(struct skiff_net *net, const char *name, int width)
{
    return skiff_data(net, name, SKIFF_DIMS(width), .dtype = "int64");
}

static inline struct skiff_var *embeddings(struct skiff_net *net)
{
    struct parts p = {.n = 0};
    struct skiff_var *ids = ids_input(net, "ids");
    struct skiff_var *flat = skiff_input(net, "flat", SKIFF_DIMS(-1, 3), .dtype = "int64");
    put(&p, skiff_embedding(net, ids, 20, 4));
    put(&p,
        skiff_embedding(net, ids, 20, 4, .is_sparse = true, .has_padding = true, .padding_idx = 2));
    put(&p, skiff_embedding(net, ids, 20, 4, .has_padding = true, .padding_idx = -1));
    put(&p, skiff_embedding_v2(net, flat, 20, 4));
    put(&p, skiff_embedding_v2(net, flat, 20, 4, .is_sparse = true, .has_padding = true));
    put(&p, skiff_fused_embedding_seq_pool(net, ids, 20, 4, .is_sparse = true));
    for (int i = 0; i < 2; i++)
        put(&p, skiff_embedding(net, ids, 20, 4, .is_sparse = true,
                                .param_attr = SKIFF_PARAM(.name = "shared", .learning_rate = 0.1)));
    return total(net, &p);
}

static inline void sequence_rows(struct skiff_net *net, struct parts *p, struct skiff_var *ids,
                                 struct skiff_var *x, struct skiff_var *few)
{
    put(p, skiff_layer_sequence_first_step(net, x));
    put(p, skiff_layer_sequence_last_step(net, x));
    put(p, skiff_layer_sequence_softmax(net, skiff_fc(net, x, 1), NULL));
    put(p, skiff_layer_sequence_concat(net, SKIFF_VARS(x, x), NULL));
    put(p, skiff_layer_sequence_expand(net, few, x, 0, NULL));
    put(p, skiff_layer_sequence_expand_as(net, few, x, NULL));
    put(p, skiff_layer_sequence_reshape(net, x, 2));
    put(p, skiff_layer_sequence_reverse(net, x, NULL));
    struct skiff_var *off = label_input(net, "off", 1), *length = label_input(net, "length", 1);
    put(p, skiff_layer_sequence_slice(net, x, off, length, NULL));
    put(p, as_float(net, skiff_layer_sequence_enumerate(net, ids, 2, 0, NULL)));
    put(p, as_float(net, skiff_layer_sequence_mask(net, length, 5, NULL, NULL)));
    put(p, skiff_layer_sequence_mask(net, length, 0, "float32", NULL));
}

static inline struct skiff_var *sequences(struct skiff_net *net)
{
    static const char *const types[] = {"sum", "average", "sqrt", "max", "last", "first"};
    struct parts p = {.n = 0};
    struct skiff_var *ids = ids_input(net, "ids"), *tags = ids_input(net, "tags");
    struct skiff_var *few = skiff_data(net, "few", SKIFF_DIMS(4));
    struct skiff_var *x = skiff_embedding(net, ids, 20, 4);
    for (int i = 0; i < 6; i++)
        put(&p, skiff_sequence_pool(net, x, types[i]));
    sequence_rows(net, &p, ids, x, few);
    struct skiff_var *pad = skiff_fill_constant(net, SKIFF_DIMS(1), "float32", 0.0);
    struct skiff_sequence_pad padded = skiff_layer_sequence_pad(net, x, pad, 0, NULL);
    struct skiff_sequence_pad p7 = skiff_layer_sequence_pad(net, x, pad, 7, NULL);
    put(&p, padded.out);
    put(&p, p7.out);
    put(&p, skiff_layer_sequence_unpad(net, padded.out, padded.length, NULL));
    put(&p, skiff_sequence_conv(net, x, 6, .act = "relu"));
    put(&p, skiff_sequence_conv(net, x, 6, .filter_size = 5, .bias_attr = SKIFF_NO_PARAM,
                                .has_padding_start = true));
    put(&p, skiff_layer_lod_reset(net, x, ids, 0, NULL));
    put(&p, skiff_layer_lod_reset(net, few, NULL, 3, (int64_t[]){0, 2, 4}));
    struct skiff_var *cvm = skiff_data(net, "cvm", SKIFF_DIMS(2));
    put(&p, skiff_layer_continuous_value_model(net, x, cvm, true));
    put(&p, skiff_layer_continuous_value_model(net, x, cvm, false));
    struct skiff_var *filt = label_input(net, "filt", 1);
    put(&p, skiff_layer_filter_by_instag(net, x, tags, filt, true, 0).out);
    return total(net, &p);
}

static inline void many_classes(struct skiff_net *net, struct parts *p, struct skiff_var *h,
                                struct skiff_var *label)
{
    put(p, skiff_nce(net, h, label, 20));
    put(p, skiff_nce(net, h, label, 20, .sampler = "log_uniform", .num_neg_samples = 4,
                     .bias_attr = SKIFF_NO_PARAM));
    put(p, skiff_nce(net, h, label, 4, .sampler = "custom_dist",
                     .custom_dist = (double[]){0.1, 0.5, 0.25, 0.15}, .seed = 3));
    put(p, skiff_hsigmoid(net, h, label, 10));
    put(p, skiff_hsigmoid(net, h, label, 10, .bias_attr = SKIFF_NO_PARAM));
    struct skiff_var *table = label_input(net, "table", 3), *code = label_input(net, "code", 3);
    put(p, skiff_hsigmoid(net, h, label, 10, .is_custom = true, .path_table = table,
                          .path_code = code, .is_sparse = true));
}

static inline struct skiff_var *losses(struct skiff_net *net)
{
    struct parts p = {.n = 0};
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(6));
    struct skiff_var *y = skiff_data(net, "y", SKIFF_DIMS(1)),
                     *label = label_input(net, "label", 1);
    struct skiff_var *soft = skiff_data(net, "soft", SKIFF_DIMS(5)), *sm;
    struct skiff_var *h = skiff_fc(net, x, 5), *prob = skiff_softmax(net, h);
    struct skiff_var *one = skiff_fc(net, x, 1);
    put(&p, skiff_cross_entropy(net, prob, label));
    put(&p, skiff_cross_entropy(net, prob, label, .ignore_index = 3));
    put(&p, skiff_cross_entropy(net, prob, soft, .soft_label = true));
    put(&p, skiff_softmax_with_cross_entropy(net, h, label));
    put(&p, skiff_softmax_with_cross_entropy(net, h, soft, .soft_label = true));
    put(&p, skiff_softmax_with_cross_entropy(net, h, label, .softmax = &sm, .not_stable = true));
    put(&p, sm);
    put(&p, skiff_sigmoid_cross_entropy_with_logits(net, one, y));
    put(&p, skiff_sigmoid_cross_entropy_with_logits(net, one, y, .ignore_index = -1,
                                                    .normalize = true));
    put(&p, skiff_square_error_cost(net, one, y));
    put(&p, skiff_layer_mse_loss(net, one, y));
    put(&p, skiff_log_loss(net, skiff_sigmoid(net, one), y));
    put(&p, skiff_layer_log_loss(net, skiff_sigmoid(net, one), y, 1e-7, NULL));
    put(&p, skiff_layer_bpr_loss(net, prob, label, NULL));
    put(&p, skiff_layer_huber_loss(net, one, y, 1.5));
    put(&p, skiff_layer_rank_loss(net, y, one, skiff_fc(net, x, 1), NULL));
    put(&p, skiff_layer_margin_rank_loss(net, y, one, skiff_fc(net, x, 1), 0, NULL));
    put(&p, skiff_layer_margin_rank_loss(net, y, one, skiff_fc(net, x, 1), 0.3, NULL));
    put(&p, skiff_layer_smooth_l1(net, h, soft, NULL, NULL, 0));
    put(&p, skiff_layer_smooth_l1(net, h, soft, NULL, NULL, 2.0));
    put(&p, skiff_layer_teacher_student_sigmoid_loss(net, one, y, 0, 0));
    many_classes(net, &p, h, label);
    return total(net, &p);
}

static inline struct skiff_var *metrics(struct skiff_net *net)
{
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(6)),
                     *label = label_input(net, "label", 1);
    struct skiff_var *p = skiff_fc(net, x, 2, .act = "softmax");
    skiff_accuracy(net, p, label);
    skiff_accuracy(net, p, label, .k = 2);
    skiff_layer_auc(net, p, label, NULL);
    skiff_layer_auc_with(net, p, label, .curve = "PR", .num_thresholds = 99, .slide_steps = 3);
    return skiff_mean(net, skiff_cross_entropy(net, p, label));
}

static inline void convolutions(struct skiff_net *net, struct parts *p, struct skiff_var *image)
{
    struct skiff_var *c = skiff_conv2d(net, image, 4, 3, 3, .act = "relu");
    put(p, c);
    put(p, skiff_conv2d(net, c, 4, 3, 2, .stride = {2, 2}, .padding = {1, 1}, .groups = 2,
                        .bias_attr = SKIFF_NO_PARAM));
    put(p, skiff_conv2d(net, c, 2, 1, 1, .no_cudnn = true, .act = "relu"));
    put(p, skiff_pool2d(net, c, .size = {2, 2}, .stride = {2, 2}));
    put(p,
        skiff_pool2d(net, c, .size = {2, 2}, .type = "avg", .padding = {1, 1}, .inclusive = true));
    put(p, skiff_pool2d(net, c, .global_pooling = true, .type = "avg"));
    put(p, skiff_batch_norm(net, c));
}

static inline struct skiff_var *norms(struct skiff_net *net)
{
    struct parts p = {.n = 0};
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(6));
    struct skiff_var *image = skiff_data(net, "image", SKIFF_DIMS(3, 8, 8));
    struct skiff_var *h = skiff_fc(net, x, 6);
    put(&p, skiff_batch_norm(net, h));
    put(&p, skiff_batch_norm(net, h, .act = "relu", .momentum = 0.8, .epsilon = 1e-3,
                             .moving_mean_name = "mm", .moving_variance_name = "mv"));
    put(&p, skiff_batch_norm(net, h, .is_test = true, .use_global_stats = true));
    put(&p, skiff_layer_norm(net, h));
    put(&p, skiff_layer_norm(net, h, .no_scale = true, .no_shift = true, .act = "tanh"));
    struct skiff_var *r = skiff_reshape(net, h, SKIFF_DIMS(-1, 2, 3));
    put(&p, skiff_layer_norm(net, r, .begin_norm_axis = 1, .epsilon = 1e-3));
    put(&p, skiff_data_norm(net, h));
    put(&p, skiff_data_norm(net, h, .name = "d2", .act = "relu", .epsilon = 1e-4));
    put(&p, skiff_dropout(net, h, 0.5));
    put(&p, skiff_dropout(net, h, 0.2, .implementation = "upscale_in_train"));
    put(&p, skiff_dropout(net, h, 0.1, .has_seed = true));
    convolutions(net, &p, image);
    return total(net, &p);
}

static inline struct skiff_var *recurrent(struct skiff_net *net)
{
    struct parts p = {.n = 0};
    struct skiff_var *ids = ids_input(net, "ids"), *e = skiff_embedding(net, ids, 20, 4);
    struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(12));
    struct skiff_var *h0 = skiff_data(net, "h0", SKIFF_DIMS(4));
    put(&p, skiff_dynamic_gru(net, skiff_fc(net, e, 12), 4));
    put(&p, skiff_dynamic_gru(net, skiff_fc(net, e, 12), 4, .is_reverse = true, .origin_mode = true,
                              .candidate_activation = "relu"));
    struct skiff_lstm l = skiff_layer_dynamic_lstm(net, skiff_fc(net, e, 16), 16, NULL);
    put(&p, l.hidden);
    put(&p, l.cell);
    l = skiff_layer_dynamic_lstm(
        net, skiff_fc(net, e, 16), 16,
        &(struct skiff_rnn_options){.no_peepholes = true, .is_reverse = true});
    put(&p, l.hidden);
    put(&p, skiff_layer_gru_unit(net, x, skiff_fc(net, h0, 4), 12, NULL).hidden);
    return total(net, &p);
}

#endif
