/* Second half of layers.h: losses, metrics, sequences, normalisation, convolution, recurrent
 * layers, control flow and learning-rate schedules. Include <skiff/layers.h>. */
#ifndef SKIFF_LAYERS_NN_H
#define SKIFF_LAYERS_NN_H

#include <skiff/layers.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- losses ---- */

struct skiff_xent_options {
    bool soft_label;
    int ignore_index;           /* -100 */
    bool not_stable;            /* numeric_stable_mode=False */
    int axis;                   /* -1 */
    struct skiff_var **softmax; /* softmax_with_cross_entropy: where to put the softmax; or NULL */
    bool normalize;             /* sigmoid_cross_entropy_with_logits */
    const char *name;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_cross_entropy(struct skiff_net *net, struct skiff_var *x,
                                                      struct skiff_var *label,
                                                      const struct skiff_xent_options *o);
#define skiff_cross_entropy(net, x, label, ...) \
    skiff_layer_cross_entropy(net, x, label, &(struct skiff_xent_options){__VA_ARGS__})
SKIFF_API struct skiff_var *
skiff_layer_softmax_with_cross_entropy(struct skiff_net *net, struct skiff_var *logits,
                                       struct skiff_var *label, const struct skiff_xent_options *o);
#define skiff_softmax_with_cross_entropy(net, logits, label, ...) \
    skiff_layer_softmax_with_cross_entropy(net, logits, label,    \
                                           &(struct skiff_xent_options){__VA_ARGS__})
SKIFF_API struct skiff_var *
skiff_layer_sigmoid_cross_entropy_with_logits(struct skiff_net *net, struct skiff_var *x,
                                              struct skiff_var *label,
                                              const struct skiff_xent_options *o);
#define skiff_sigmoid_cross_entropy_with_logits(net, x, label, ...) \
    skiff_layer_sigmoid_cross_entropy_with_logits(net, x, label,    \
                                                  &(struct skiff_xent_options){__VA_ARGS__})
SKIFF_API struct skiff_var *
skiff_layer_square_error_cost(struct skiff_net *net, struct skiff_var *x, struct skiff_var *label);
#define skiff_square_error_cost skiff_layer_square_error_cost
SKIFF_API struct skiff_var *skiff_layer_log_loss(struct skiff_net *net, struct skiff_var *x,
                                                 struct skiff_var *label,
                                                 double epsilon /* 0: 1e-4 */, const char *name);
#define skiff_log_loss(net, x, label) skiff_layer_log_loss(net, x, label, 0, NULL)
SKIFF_API struct skiff_var *skiff_layer_bpr_loss(struct skiff_net *net, struct skiff_var *x,
                                                 struct skiff_var *label, const char *name);
SKIFF_API struct skiff_var *skiff_layer_huber_loss(struct skiff_net *net, struct skiff_var *x,
                                                   struct skiff_var *label, double delta);
SKIFF_API struct skiff_var *skiff_layer_rank_loss(struct skiff_net *net, struct skiff_var *label,
                                                  struct skiff_var *left, struct skiff_var *right,
                                                  const char *name);
SKIFF_API struct skiff_var *
skiff_layer_margin_rank_loss(struct skiff_net *net, struct skiff_var *label, struct skiff_var *left,
                             struct skiff_var *right, double margin /* 0: 0.1 */, const char *name);
SKIFF_API struct skiff_var *skiff_layer_smooth_l1(struct skiff_net *net, struct skiff_var *x,
                                                  struct skiff_var *y,
                                                  struct skiff_var *inside_weight,
                                                  struct skiff_var *outside_weight,
                                                  double sigma /* 0: 1.0 */);
SKIFF_API struct skiff_var *skiff_layer_mse_loss(struct skiff_net *net, struct skiff_var *x,
                                                 struct skiff_var *label);
SKIFF_API struct skiff_var *
skiff_layer_teacher_student_sigmoid_loss(struct skiff_net *net, struct skiff_var *x,
                                         struct skiff_var *label, double up_bound /* 0: 15 */,
                                         double lower_bound /* 0: -15 */);

struct skiff_nce_options {
    struct skiff_var *sample_weight;
    const struct skiff_param_attr *param_attr, *bias_attr;
    int num_neg_samples;       /* 10 */
    const char *sampler;       /* uniform, log_uniform, custom_dist */
    const double *custom_dist; /* num_total_classes probabilities */
    int seed;
    bool is_sparse;
    const char *name;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_nce(struct skiff_net *net, struct skiff_var *input,
                                            struct skiff_var *label, int num_total_classes,
                                            const struct skiff_nce_options *o);
#define skiff_nce(net, input, label, classes, ...) \
    skiff_layer_nce(net, input, label, classes, &(struct skiff_nce_options){__VA_ARGS__})
struct skiff_hsigmoid_options {
    const struct skiff_param_attr *param_attr, *bias_attr;
    struct skiff_var *path_table, *path_code;
    bool is_custom, is_sparse;
    const char *name;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_hsigmoid(struct skiff_net *net, struct skiff_var *input,
                                                 struct skiff_var *label, int num_classes,
                                                 const struct skiff_hsigmoid_options *o);
#define skiff_hsigmoid(net, input, label, classes, ...) \
    skiff_layer_hsigmoid(net, input, label, classes, &(struct skiff_hsigmoid_options){__VA_ARGS__})

/* ---- metrics ---- */

struct skiff_accuracy_options {
    int k;                             /* 1 */
    struct skiff_var *correct, *total; /* NULL: new */
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_accuracy(struct skiff_net *net, struct skiff_var *input,
                                                 struct skiff_var *label,
                                                 const struct skiff_accuracy_options *o);
#define skiff_accuracy(net, input, label, ...) \
    skiff_layer_accuracy(net, input, label, &(struct skiff_accuracy_options){__VA_ARGS__})
struct skiff_auc_options {
    const char *curve;  /* ROC */
    int num_thresholds; /* 4095 */
    int slide_steps;    /* 1; SKIFF_ZERO: 0 */
    uint64_t reserved[4];
};
struct skiff_auc {
    struct skiff_var *auc, *batch_auc;
    struct skiff_var *states[4]; /* batch_stat_pos, batch_stat_neg, stat_pos, stat_neg */
};
SKIFF_API struct skiff_auc skiff_layer_auc(struct skiff_net *net, struct skiff_var *input,
                                           struct skiff_var *label,
                                           const struct skiff_auc_options *o);
#define skiff_layer_auc_with(net, input, label, ...) \
    skiff_layer_auc(net, input, label, &(struct skiff_auc_options){__VA_ARGS__})

/* ---- sequences ---- */

struct skiff_sequence_pool_options {
    bool is_test;
    double pad_value;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_sequence_pool(struct skiff_net *net, struct skiff_var *x,
                                                      const char *pool_type,
                                                      const struct skiff_sequence_pool_options *o);
#define skiff_sequence_pool(net, x, type, ...) \
    skiff_layer_sequence_pool(net, x, type, &(struct skiff_sequence_pool_options){__VA_ARGS__})
SKIFF_API struct skiff_var *skiff_layer_sequence_first_step(struct skiff_net *net,
                                                            struct skiff_var *x);
SKIFF_API struct skiff_var *skiff_layer_sequence_last_step(struct skiff_net *net,
                                                           struct skiff_var *x);
SKIFF_API struct skiff_var *skiff_layer_sequence_softmax(struct skiff_net *net, struct skiff_var *x,
                                                         const char *name);
SKIFF_API struct skiff_var *skiff_layer_sequence_concat(struct skiff_net *net, struct skiff_vars x,
                                                        const char *name);
SKIFF_API struct skiff_var *skiff_layer_sequence_expand(struct skiff_net *net, struct skiff_var *x,
                                                        struct skiff_var *y,
                                                        int ref_level /* -1: the last */,
                                                        const char *name);
SKIFF_API struct skiff_var *skiff_layer_sequence_expand_as(struct skiff_net *net,
                                                           struct skiff_var *x, struct skiff_var *y,
                                                           const char *name);
SKIFF_API struct skiff_var *skiff_layer_sequence_reshape(struct skiff_net *net, struct skiff_var *x,
                                                         int new_dim);
SKIFF_API struct skiff_var *skiff_layer_sequence_reverse(struct skiff_net *net, struct skiff_var *x,
                                                         const char *name);
SKIFF_API struct skiff_var *skiff_layer_sequence_slice(struct skiff_net *net, struct skiff_var *x,
                                                       struct skiff_var *offset,
                                                       struct skiff_var *length, const char *name);
SKIFF_API struct skiff_var *skiff_layer_sequence_enumerate(struct skiff_net *net,
                                                           struct skiff_var *x, int win_size,
                                                           int pad_value, const char *name);
SKIFF_API struct skiff_var *skiff_layer_sequence_erase(struct skiff_net *net, struct skiff_var *x,
                                                       struct skiff_dims tokens);
SKIFF_API struct skiff_var *skiff_layer_sequence_mask(struct skiff_net *net, struct skiff_var *x,
                                                      int maxlen /* 0: from the data */,
                                                      const char *dtype /* NULL: int64 */,
                                                      const char *name);
struct skiff_sequence_pad {
    struct skiff_var *out, *length;
};
SKIFF_API struct skiff_sequence_pad
skiff_layer_sequence_pad(struct skiff_net *net, struct skiff_var *x, struct skiff_var *pad_value,
                         int maxlen /* 0: the longest */, const char *name);
SKIFF_API struct skiff_var *skiff_layer_sequence_unpad(struct skiff_net *net, struct skiff_var *x,
                                                       struct skiff_var *length, const char *name);
struct skiff_sequence_conv_options {
    int filter_size;   /* 3 */
    int filter_stride; /* 1 */
    bool has_padding_start;
    int padding_start; /* with has_padding_start; otherwise -filter_size / 2 */
    const struct skiff_param_attr *param_attr, *bias_attr;
    const char *act, *name;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_sequence_conv(struct skiff_net *net, struct skiff_var *x,
                                                      int num_filters,
                                                      const struct skiff_sequence_conv_options *o);
#define skiff_sequence_conv(net, x, filters, ...) \
    skiff_layer_sequence_conv(net, x, filters, &(struct skiff_sequence_conv_options){__VA_ARGS__})
/* Every column of a sequence with weights for itself and its future_context_size next steps. */
struct skiff_row_conv_options {
    const struct skiff_param_attr *param_attr;
    const char *act;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_row_conv(struct skiff_net *net, struct skiff_var *x,
                                                 int future_context_size,
                                                 const struct skiff_row_conv_options *o);
#define skiff_row_conv(net, x, future, ...) \
    skiff_layer_row_conv(net, x, future, &(struct skiff_row_conv_options){__VA_ARGS__})
/* y NULL: target_lod, the offsets of one level. */
SKIFF_API struct skiff_var *skiff_layer_lod_reset(struct skiff_net *net, struct skiff_var *x,
                                                  struct skiff_var *y, int n,
                                                  const int64_t *target_lod);
SKIFF_API struct skiff_var *skiff_layer_continuous_value_model(struct skiff_net *net,
                                                               struct skiff_var *x,
                                                               struct skiff_var *cvm, bool use_cvm);
struct skiff_filtered {
    struct skiff_var *out, *loss_weight;
};
SKIFF_API struct skiff_filtered skiff_layer_filter_by_instag(struct skiff_net *net,
                                                             struct skiff_var *ins,
                                                             struct skiff_var *ins_tag,
                                                             struct skiff_var *filter_tag,
                                                             bool is_lod, int64_t out_val_if_empty);

/* ---- normalisation ---- */

struct skiff_batch_norm_options {
    const char *act;
    bool is_test;
    double momentum, epsilon; /* 0.9, 1e-5 */
    const struct skiff_param_attr *param_attr, *bias_attr;
    const char *data_layout; /* NCHW */
    bool in_place;
    const char *name, *moving_mean_name, *moving_variance_name;
    bool no_model_average;
    bool use_global_stats;
    struct skiff_var *momentum_var; /* instead of momentum: a variable of one number */
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_batch_norm(struct skiff_net *net, struct skiff_var *x,
                                                   const struct skiff_batch_norm_options *o);
#define skiff_batch_norm(net, x, ...) \
    skiff_layer_batch_norm(net, x, &(struct skiff_batch_norm_options){__VA_ARGS__})
struct skiff_layer_norm_options {
    bool no_scale, no_shift;
    int begin_norm_axis; /* 1; SKIFF_ZERO: 0 */
    double epsilon;      /* 1e-5 */
    const struct skiff_param_attr *param_attr, *bias_attr;
    const char *act, *name;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_layer_norm(struct skiff_net *net, struct skiff_var *x,
                                                   const struct skiff_layer_norm_options *o);
#define skiff_layer_norm(net, x, ...) \
    skiff_layer_layer_norm(net, x, &(struct skiff_layer_norm_options){__VA_ARGS__})
struct skiff_data_norm_options {
    const char *act;
    double epsilon;                             /* 1e-5 */
    double batch_size, batch_sum, batch_square; /* 1e4, 0, 1e4 */
    double scale_w, bias;                       /* with scale_and_shift: 1, 0 */
    const char *data_layout;                    /* NCHW */
    bool in_place;
    const char *name;
    int slot_dim; /* 0: none */
    bool sync_stats;
    double summary_decay_rate; /* 0.9999999 */
    bool scale_and_shift;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_data_norm(struct skiff_net *net, struct skiff_var *x,
                                                  const struct skiff_data_norm_options *o);
#define skiff_data_norm(net, x, ...) \
    skiff_layer_data_norm(net, x, &(struct skiff_data_norm_options){__VA_ARGS__})
struct skiff_dropout_options {
    bool is_test;
    bool has_seed;
    int seed;                   /* with has_seed, or when it is not 0 */
    const char *implementation; /* downgrade_in_infer, upscale_in_train */
    const char *name;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_dropout(struct skiff_net *net, struct skiff_var *x,
                                                double prob, const struct skiff_dropout_options *o);
#define skiff_dropout(net, x, prob, ...) \
    skiff_layer_dropout(net, x, prob, &(struct skiff_dropout_options){__VA_ARGS__})

/* ---- convolution ---- */

struct skiff_conv2d_options {
    int stride[2], padding[2], dilation[2]; /* 1, 0, 1 each */
    const char *padding_algorithm;          /* NULL, "SAME", "VALID" */
    int groups;
    const struct skiff_param_attr *param_attr, *bias_attr;
    bool no_cudnn;
    const char *act, *name, *data_format; /* NCHW */
    bool has_padding_end;
    int padding_end[2]; /* bottom, right; with has_padding_end, otherwise as padding */
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_conv2d(struct skiff_net *net, struct skiff_var *x,
                                               int num_filters, int filter_h, int filter_w,
                                               const struct skiff_conv2d_options *o);
#define skiff_conv2d(net, x, filters, h, w, ...) \
    skiff_layer_conv2d(net, x, filters, h, w, &(struct skiff_conv2d_options){__VA_ARGS__})
struct skiff_pool2d_options {
    int size[2];      /* needed unless global_pooling */
    const char *type; /* max, avg */
    int stride[2], padding[2];
    const char *padding_algorithm; /* NULL, "SAME", "VALID" */
    bool global_pooling, no_cudnn, ceil_mode;
    bool inclusive; /* exclusive=False */
    const char *name, *data_format;
    bool has_padding_end;
    int padding_end[2]; /* as conv2d's */
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_pool2d(struct skiff_net *net, struct skiff_var *x,
                                               const struct skiff_pool2d_options *o);
#define skiff_pool2d(net, x, ...) \
    skiff_layer_pool2d(net, x, &(struct skiff_pool2d_options){__VA_ARGS__})

/* ---- recurrent ---- */

struct skiff_rnn_options {
    const struct skiff_param_attr *param_attr, *bias_attr;
    bool is_reverse;
    const char *gate_activation, *cell_activation, *candidate_activation; /* sigmoid, tanh, tanh */
    struct skiff_var *h_0, *c_0;
    bool origin_mode;
    bool no_peepholes; /* use_peepholes=False */
    const char *dtype, *name;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_dynamic_gru(struct skiff_net *net, struct skiff_var *x,
                                                    int size, const struct skiff_rnn_options *o);
#define skiff_dynamic_gru(net, x, size, ...) \
    skiff_layer_dynamic_gru(net, x, size, &(struct skiff_rnn_options){__VA_ARGS__})
struct skiff_gru_step {
    struct skiff_var *hidden, *reset_hidden, *gate;
};
SKIFF_API struct skiff_gru_step skiff_layer_gru_unit(struct skiff_net *net, struct skiff_var *x,
                                                     struct skiff_var *hidden, int size,
                                                     const struct skiff_rnn_options *o);
struct skiff_lstm {
    struct skiff_var *hidden, *cell;
};
SKIFF_API struct skiff_lstm skiff_layer_dynamic_lstm(struct skiff_net *net, struct skiff_var *x,
                                                     int size, const struct skiff_rnn_options *o);

/* ---- control flow ---- */

/* Switch: case, body, end; case, body, end; ... default, body, end.
 *     struct skiff_switch *s = skiff_switch_begin(net);
 *     skiff_switch_case(s, cond);  layers...  skiff_switch_end(s);
 *     skiff_switch_default(s);     layers...  skiff_switch_end(s); */
struct skiff_switch;
SKIFF_API struct skiff_switch *skiff_switch_begin(struct skiff_net *net); /* the net's */
SKIFF_API void skiff_switch_case(struct skiff_switch *s, struct skiff_var *condition);
SKIFF_API void skiff_switch_default(struct skiff_switch *s);
SKIFF_API void skiff_switch_end(struct skiff_switch *s);

/* While: the body must write `condition` again (e.g. skiff_layer_less_than(..., condition)). */
struct skiff_while;
SKIFF_API struct skiff_while *skiff_while_begin(struct skiff_net *net, struct skiff_var *condition,
                                                bool is_test);
SKIFF_API void skiff_while_end(struct skiff_while *w);

/* ---- learning rates ---- */

/* @STEP_COUNTER@ by default; counts from begin by step. */
SKIFF_API struct skiff_var *skiff_layer_autoincreased_step_counter(struct skiff_net *net,
                                                                   const char *name, int64_t begin,
                                                                   int64_t step);
SKIFF_API struct skiff_var *skiff_lr_noam(struct skiff_net *net, double d_model,
                                          double warmup_steps, double learning_rate);
SKIFF_API struct skiff_var *skiff_lr_exponential(struct skiff_net *net, double learning_rate,
                                                 double decay_steps, double decay_rate,
                                                 bool staircase);
SKIFF_API struct skiff_var *skiff_lr_natural_exp(struct skiff_net *net, double learning_rate,
                                                 double decay_steps, double decay_rate,
                                                 bool staircase);
SKIFF_API struct skiff_var *skiff_lr_inverse_time(struct skiff_net *net, double learning_rate,
                                                  double decay_steps, double decay_rate,
                                                  bool staircase);
SKIFF_API struct skiff_var *skiff_lr_polynomial(struct skiff_net *net, double learning_rate,
                                                double decay_steps, double end_learning_rate,
                                                double power, bool cycle);
/* nvalues = nboundaries + 1 */
SKIFF_API struct skiff_var *skiff_lr_piecewise(struct skiff_net *net, int nboundaries,
                                               const double *boundaries, const double *values);
SKIFF_API struct skiff_var *skiff_lr_cosine(struct skiff_net *net, double learning_rate,
                                            double step_each_epoch, double epochs);
/* rate NULL: learning_rate. */
SKIFF_API struct skiff_var *skiff_lr_linear_warmup(struct skiff_net *net, struct skiff_var *rate,
                                                   double learning_rate, double warmup_steps,
                                                   double start_lr, double end_lr);

#ifdef __cplusplus
}
#endif
#endif
