/* Layers: Fluid 1.8's layers, one call for each, with the same ops, variable names, attributes and
 * shapes (docs/reference/layers.md lists Fluid name -> C name).
 *
 *     struct skiff_var *x = skiff_data(net, "x", SKIFF_DIMS(13));
 *     struct skiff_var *h = skiff_fc(net, x, 400, .act = "relu");
 *     struct skiff_var *y = skiff_fc(net, h, 1, .bias_attr = SKIFF_NO_PARAM);
 *
 * Each layer is a function skiff_layer_<name>(net, required arguments, options) and a macro
 * skiff_<name>(net, required arguments, .option = value, ...). Options left out (or a NULL options
 * pointer) mean Fluid's defaults; where the default is not 0 and 0 is meant, write SKIFF_ZERO.
 * Data types are named as in Fluid: "float32", "int64", ...
 * A failed layer returns NULL (net.h). */
#ifndef SKIFF_LAYERS_H
#define SKIFF_LAYERS_H

#include <skiff/net.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SKIFF_ZERO \
    (-2147483647 - 1) /* an option with value 0, where the default is another value */
#define SKIFF_MAX_DIMS 9
/* All zero, in C and in C++: struct skiff_clip c = SKIFF_CLEAR; */
#ifdef __cplusplus
#define SKIFF_CLEAR \
    {               \
    }
#else
#define SKIFF_CLEAR \
    {               \
        0           \
    }
#endif

struct skiff_dims {
    int n;
    int64_t d[SKIFF_MAX_DIMS];
};
#define SKIFF_DIMS(...) \
    ((struct skiff_dims){(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})

struct skiff_vars {
    int n;
    struct skiff_var *const *v;
};
#define SKIFF_VARS(...)                                                                       \
    ((struct skiff_vars){(int)(sizeof((struct skiff_var *[]){__VA_ARGS__}) / sizeof(void *)), \
                         (struct skiff_var *[]){__VA_ARGS__}})

/* ---- parameters ---- */

enum skiff_initializer_kind {
    SKIFF_INIT_DEFAULT = 0, /* Xavier for weights, 0 for biases */
    SKIFF_INIT_CONSTANT,
    SKIFF_INIT_UNIFORM,
    SKIFF_INIT_NORMAL,
    SKIFF_INIT_TRUNCATED_NORMAL,
    SKIFF_INIT_XAVIER,
    SKIFF_INIT_MSRA,
    SKIFF_INIT_BILINEAR,
    SKIFF_INIT_VALUES,
};

/* Made by the functions below. */
struct skiff_initializer {
    enum skiff_initializer_kind kind;
    double a, b;  /* value; low, high; loc, scale; fan_in, fan_out (0: from the shape) */
    bool uniform; /* Xavier, MSRA */
    bool force_cpu;
    int seed; /* 0: the startup program's random_seed */
    int diag_num, diag_step;
    double diag_val;
    const float *floats; /* VALUES: borrowed until the parameter is made */
    const int32_t *ints;
    size_t count;
};

static inline struct skiff_initializer skiff_init_constant(double value)
{
    struct skiff_initializer i = SKIFF_CLEAR;
    i.kind = SKIFF_INIT_CONSTANT;
    i.a = value;
    return i;
}
static inline struct skiff_initializer skiff_init_uniform(double low, double high, int seed)
{
    struct skiff_initializer i = SKIFF_CLEAR;
    i.kind = SKIFF_INIT_UNIFORM;
    i.a = low, i.b = high, i.seed = seed, i.diag_val = 1.0;
    return i;
}
static inline struct skiff_initializer skiff_init_normal(double loc, double scale, int seed)
{
    struct skiff_initializer i = SKIFF_CLEAR;
    i.kind = SKIFF_INIT_NORMAL;
    i.a = loc, i.b = scale, i.seed = seed;
    return i;
}
static inline struct skiff_initializer skiff_init_truncated_normal(double loc, double scale,
                                                                   int seed)
{
    struct skiff_initializer i = SKIFF_CLEAR;
    i.kind = SKIFF_INIT_TRUNCATED_NORMAL;
    i.a = loc, i.b = scale, i.seed = seed;
    return i;
}
static inline struct skiff_initializer skiff_init_xavier(bool uniform, double fan_in,
                                                         double fan_out, int seed)
{
    struct skiff_initializer i = SKIFF_CLEAR;
    i.kind = SKIFF_INIT_XAVIER;
    i.a = fan_in, i.b = fan_out, i.uniform = uniform, i.seed = seed;
    return i;
}
static inline struct skiff_initializer skiff_init_msra(bool uniform, double fan_in, int seed)
{
    struct skiff_initializer i = SKIFF_CLEAR;
    i.kind = SKIFF_INIT_MSRA;
    i.a = fan_in, i.uniform = uniform, i.seed = seed;
    return i;
}
static inline struct skiff_initializer skiff_init_bilinear(void)
{
    struct skiff_initializer i = SKIFF_CLEAR;
    i.kind = SKIFF_INIT_BILINEAR;
    return i;
}
/* NumpyArrayInitializer for a float32 parameter. */
static inline struct skiff_initializer skiff_init_values(const float *values, size_t count)
{
    struct skiff_initializer i = SKIFF_CLEAR;
    i.kind = SKIFF_INIT_VALUES;
    i.floats = values, i.count = count;
    return i;
}
static inline struct skiff_initializer skiff_init_int_values(const int32_t *values, size_t count)
{
    struct skiff_initializer i = SKIFF_CLEAR;
    i.kind = SKIFF_INIT_VALUES;
    i.ints = values, i.count = count;
    return i;
}

enum skiff_regularizer_kind { SKIFF_REG_NONE = 0, SKIFF_REG_L1, SKIFF_REG_L2 };
struct skiff_regularizer {
    enum skiff_regularizer_kind kind;
    double coeff;
};
static inline struct skiff_regularizer skiff_l1_decay(double coeff)
{
    struct skiff_regularizer r = {SKIFF_REG_L1, coeff};
    return r;
}
static inline struct skiff_regularizer skiff_l2_decay(double coeff)
{
    struct skiff_regularizer r = {SKIFF_REG_L2, coeff};
    return r;
}

enum skiff_clip_kind {
    SKIFF_CLIP_NONE = 0,
    SKIFF_CLIP_VALUE,
    SKIFF_CLIP_NORM,
    SKIFF_CLIP_GLOBAL_NORM,
};
struct skiff_clip {
    enum skiff_clip_kind kind;
    double max, min;   /* VALUE */
    double norm;       /* NORM, GLOBAL_NORM */
    const char *group; /* GLOBAL_NORM set per parameter; NULL: "default_group" */
    bool (*need_clip)(const struct skiff_var *param, void *user); /* NULL: all parameters */
    void *user;
};
static inline struct skiff_clip skiff_clip_by_value(double min, double max)
{
    struct skiff_clip c = SKIFF_CLEAR;
    c.kind = SKIFF_CLIP_VALUE;
    c.min = min, c.max = max;
    return c;
}
static inline struct skiff_clip skiff_clip_norm(double norm)
{
    struct skiff_clip c = SKIFF_CLEAR;
    c.kind = SKIFF_CLIP_NORM;
    c.norm = norm;
    return c;
}
static inline struct skiff_clip skiff_clip_global_norm(double norm)
{
    struct skiff_clip c = SKIFF_CLEAR;
    c.kind = SKIFF_CLIP_GLOBAL_NORM;
    c.norm = norm;
    return c;
}

struct skiff_param_attr {
    const char *name; /* NULL: fc_0.w_0 and the like */
    struct skiff_initializer initializer;
    double learning_rate; /* factor; 0: 1.0 */
    struct skiff_regularizer regularizer;
    struct skiff_clip gradient_clip;
    bool frozen; /* trainable=False */
    bool no_model_average;
    /* WeightNormParamAttr: the layer's weight is <name>_v g / |v|, with g = <name>_g; |v| is the
     * norm over all dimensions, or over all but norm_dim. */
    bool weight_norm, has_norm_dim;
    int64_t norm_dim;
    uint64_t reserved[4];
};
#define SKIFF_PARAM(...) (&(struct skiff_param_attr){__VA_ARGS__})
/* bias_attr=False: the parameter does not exist. */
SKIFF_API extern const struct skiff_param_attr skiff_param_none;
#define SKIFF_NO_PARAM (&skiff_param_none)

/* ---- inputs and variables ---- */

struct skiff_data_options {
    const char *dtype; /* float32 */
    int lod_level;
    bool no_batch_size; /* append_batch_size=False */
    bool with_gradient; /* stop_gradient=False */
    uint64_t reserved[4];
};
/* layers.data: a leading -1 is put in front unless some dim is -1 already. */
SKIFF_API struct skiff_var *skiff_layer_data(struct skiff_net *net, const char *name,
                                             struct skiff_dims shape,
                                             const struct skiff_data_options *o);
#define skiff_data(net, name, shape, ...) \
    skiff_layer_data(net, name, shape, &(struct skiff_data_options){__VA_ARGS__})
/* fluid.data: the shape as it is (-1 for None); feeds are checked against it. */
SKIFF_API struct skiff_var *skiff_layer_input(struct skiff_net *net, const char *name,
                                              struct skiff_dims shape,
                                              const struct skiff_data_options *o);
#define skiff_input(net, name, shape, ...) \
    skiff_layer_input(net, name, shape, &(struct skiff_data_options){__VA_ARGS__})

struct skiff_create_parameter_options {
    const char *dtype;
    const char *name;
    const struct skiff_param_attr *attr;
    bool is_bias;
    struct skiff_initializer default_initializer;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *
skiff_layer_create_parameter(struct skiff_net *net, struct skiff_dims shape,
                             const struct skiff_create_parameter_options *o);
#define skiff_create_parameter(net, shape, ...) \
    skiff_layer_create_parameter(net, shape, &(struct skiff_create_parameter_options){__VA_ARGS__})

struct skiff_global_var_options {
    const char *dtype, *name;
    bool persistable, force_cpu;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_create_global_var(struct skiff_net *net,
                                                          struct skiff_dims shape, double value,
                                                          const struct skiff_global_var_options *o);
#define skiff_create_global_var(net, shape, value, ...) \
    skiff_layer_create_global_var(net, shape, value,    \
                                  &(struct skiff_global_var_options){__VA_ARGS__})
SKIFF_API struct skiff_var *skiff_layer_create_tensor(struct skiff_net *net, const char *dtype,
                                                      const char *name, bool persistable);

/* ---- fully connected, embedding ---- */

struct skiff_fc_options {
    int num_flatten_dims; /* 1; -1: all but the last */
    const struct skiff_param_attr *param_attr, *bias_attr;
    const char *act, *name;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_fc(struct skiff_net *net, struct skiff_vars input,
                                           int64_t size, const struct skiff_fc_options *o);
#define skiff_fc(net, input, size, ...) \
    skiff_layer_fc(net, SKIFF_VARS(input), size, &(struct skiff_fc_options){__VA_ARGS__})
#define skiff_fc_list(net, inputs, size, ...) \
    skiff_layer_fc(net, inputs, size, &(struct skiff_fc_options){__VA_ARGS__})

struct skiff_embedding_options {
    bool is_sparse, is_distributed;
    bool has_padding;
    int64_t padding_idx; /* with has_padding; negative: from the end */
    const struct skiff_param_attr *param_attr;
    const char *dtype;
    uint64_t reserved[4];
};
/* layers.embedding (ids end with a dimension of 1) and fluid.embedding (ids of any shape). */
SKIFF_API struct skiff_var *skiff_layer_embedding(struct skiff_net *net, struct skiff_var *input,
                                                  int64_t rows, int64_t width,
                                                  const struct skiff_embedding_options *o);
#define skiff_embedding(net, input, rows, width, ...) \
    skiff_layer_embedding(net, input, rows, width, &(struct skiff_embedding_options){__VA_ARGS__})
SKIFF_API struct skiff_var *skiff_layer_embedding_v2(struct skiff_net *net, struct skiff_var *input,
                                                     int64_t rows, int64_t width,
                                                     const struct skiff_embedding_options *o);
#define skiff_embedding_v2(net, input, rows, width, ...) \
    skiff_layer_embedding_v2(net, input, rows, width,    \
                             &(struct skiff_embedding_options){__VA_ARGS__})
/* contrib.layers.fused_embedding_seq_pool; combiner sum. */
SKIFF_API struct skiff_var *
skiff_layer_fused_embedding_seq_pool(struct skiff_net *net, struct skiff_var *input, int64_t rows,
                                     int64_t width, const struct skiff_embedding_options *o);
#define skiff_fused_embedding_seq_pool(net, input, rows, width, ...) \
    skiff_layer_fused_embedding_seq_pool(net, input, rows, width,    \
                                         &(struct skiff_embedding_options){__VA_ARGS__})

/* ---- one input, one output of the same shape ---- */

/* clang-format off */
#define SKIFF_UNARY_LAYERS(X) \
    X(sigmoid) X(logsigmoid) X(exp) X(tanh) X(sqrt) X(rsqrt) X(abs) X(ceil) X(floor) \
    X(cos) X(sin) X(round) X(reciprocal) X(square) X(softplus) X(softsign) X(relu) X(log) \
    X(sign) X(erf)
/* clang-format on */
#define SKIFF_DECLARE_UNARY(name) \
    SKIFF_API struct skiff_var *skiff_layer_##name(struct skiff_net *net, struct skiff_var *x);
SKIFF_UNARY_LAYERS(SKIFF_DECLARE_UNARY)
#undef SKIFF_DECLARE_UNARY
#define skiff_sigmoid skiff_layer_sigmoid
#define skiff_tanh skiff_layer_tanh
#define skiff_exp skiff_layer_exp
#define skiff_sqrt skiff_layer_sqrt
#define skiff_square skiff_layer_square
#define skiff_softsign skiff_layer_softsign
#define skiff_relu skiff_layer_relu
#define skiff_log skiff_layer_log
#define skiff_abs skiff_layer_abs
#define skiff_floor skiff_layer_floor
#define skiff_ceil skiff_layer_ceil

/* Arguments as in Fluid; 0 means Fluid's default. */
struct skiff_act_options {
    double alpha, slope, offset, threshold, beta, factor;
    struct skiff_var *factor_var; /* pow */
    bool approximate;             /* gelu */
    const char *name;
    uint64_t reserved[4];
};
#define SKIFF_ACT_LAYERS(X) X(leaky_relu) X(hard_sigmoid) X(relu6) X(swish) X(pow) X(gelu) X(elu)
#define SKIFF_DECLARE_ACT(name)                                                                \
    SKIFF_API struct skiff_var *skiff_layer_##name(struct skiff_net *net, struct skiff_var *x, \
                                                   const struct skiff_act_options *o);
SKIFF_ACT_LAYERS(SKIFF_DECLARE_ACT)
#undef SKIFF_DECLARE_ACT
#define skiff_act(net, layer, x, ...) \
    skiff_layer_##layer(net, x, &(struct skiff_act_options){__VA_ARGS__})

SKIFF_API struct skiff_var *skiff_layer_prelu(struct skiff_net *net, struct skiff_var *x,
                                              const char *mode,
                                              const struct skiff_param_attr *param_attr,
                                              const char *name);
struct skiff_softmax_options {
    int axis; /* -1 */
    bool use_cudnn;
    const char *name;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_softmax(struct skiff_net *net, struct skiff_var *x,
                                                const struct skiff_softmax_options *o);
#define skiff_softmax(net, x, ...) \
    skiff_layer_softmax(net, x, &(struct skiff_softmax_options){__VA_ARGS__})

struct skiff_scale_options {
    double scale;                /* 1.0 */
    struct skiff_var *scale_var; /* instead of scale */
    double bias;
    bool bias_before_scale; /* bias_after_scale=False */
    const char *act, *name;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_scale(struct skiff_net *net, struct skiff_var *x,
                                              const struct skiff_scale_options *o);
/* The macro's name leaves skiff_scale to the option: skiff_scale_by(net, x, .scale = 0.5). */
#define skiff_scale_by(net, x, ...) \
    skiff_layer_scale(net, x, &(struct skiff_scale_options){__VA_ARGS__})

SKIFF_API struct skiff_var *skiff_layer_clip(struct skiff_net *net, struct skiff_var *x, double min,
                                             double max, const char *name);
SKIFF_API struct skiff_var *skiff_layer_clip_by_norm(struct skiff_net *net, struct skiff_var *x,
                                                     double max_norm, const char *name);
SKIFF_API struct skiff_var *skiff_layer_cast(struct skiff_net *net, struct skiff_var *x,
                                             const char *dtype);
#define skiff_cast skiff_layer_cast

/* ---- two inputs ---- */

struct skiff_elementwise_options {
    int axis; /* -1; SKIFF_ZERO: 0 */
    const char *act, *name;
    uint64_t reserved[4];
};
#define SKIFF_ELEMENTWISE_LAYERS(X) \
    X(add) X(sub) X(mul) X(div) X(max) X(min) X(pow) X(mod) X(floordiv)
#define SKIFF_DECLARE_ELEMENTWISE(name)                                  \
    SKIFF_API struct skiff_var *skiff_layer_elementwise_##name(          \
        struct skiff_net *net, struct skiff_var *x, struct skiff_var *y, \
        const struct skiff_elementwise_options *o);
SKIFF_ELEMENTWISE_LAYERS(SKIFF_DECLARE_ELEMENTWISE)
#undef SKIFF_DECLARE_ELEMENTWISE
/* skiff_elementwise(net, add, x, y, .axis = 1) */
#define skiff_elementwise(net, op, x, y, ...) \
    skiff_layer_elementwise_##op(net, x, y, &(struct skiff_elementwise_options){__VA_ARGS__})

#define SKIFF_COMPARE_LAYERS(X) \
    X(equal) X(not_equal) X(less_than) X(less_equal) X(greater_than) X(greater_equal)
/* out NULL: a new variable. */
#define SKIFF_DECLARE_COMPARE(name)                                                            \
    SKIFF_API struct skiff_var *skiff_layer_##name(struct skiff_net *net, struct skiff_var *x, \
                                                   struct skiff_var *y, struct skiff_var *out);
SKIFF_COMPARE_LAYERS(SKIFF_DECLARE_COMPARE)
SKIFF_DECLARE_COMPARE(logical_and)
SKIFF_DECLARE_COMPARE(logical_or)
SKIFF_DECLARE_COMPARE(logical_xor)
#undef SKIFF_DECLARE_COMPARE
SKIFF_API struct skiff_var *skiff_layer_logical_not(struct skiff_net *net, struct skiff_var *x,
                                                    struct skiff_var *out);

/* Operators on variables, as Python writes them: a + b, a * 2.0, 1.0 - a, a ** b, ... */
enum skiff_operator {
    SKIFF_ADD,
    SKIFF_SUB,
    SKIFF_MUL,
    SKIFF_DIV,
    SKIFF_POW,
    SKIFF_FLOORDIV,
    SKIFF_MOD,
    SKIFF_EQ,
    SKIFF_NE,
    SKIFF_LT,
    SKIFF_LE,
    SKIFF_GT,
    SKIFF_GE,
};
SKIFF_API struct skiff_var *skiff_var_op(struct skiff_net *net, enum skiff_operator op,
                                         struct skiff_var *a, struct skiff_var *b); /* a op b */
SKIFF_API struct skiff_var *skiff_var_op_scalar(struct skiff_net *net, enum skiff_operator op,
                                                struct skiff_var *a, double b); /* a op 2.0 */
SKIFF_API struct skiff_var *skiff_scalar_op_var(struct skiff_net *net, enum skiff_operator op,
                                                double a, struct skiff_var *b); /* 2.0 op b */
SKIFF_API struct skiff_var *skiff_var_neg(struct skiff_net *net, struct skiff_var *a);
SKIFF_API struct skiff_var *skiff_var_astype(struct skiff_net *net, struct skiff_var *a,
                                             const char *dtype);

struct skiff_matmul_options {
    bool transpose_x, transpose_y;
    double alpha; /* 1.0 */
    const char *name;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_matmul(struct skiff_net *net, struct skiff_var *x,
                                               struct skiff_var *y,
                                               const struct skiff_matmul_options *o);
#define skiff_matmul(net, x, y, ...) \
    skiff_layer_matmul(net, x, y, &(struct skiff_matmul_options){__VA_ARGS__})
struct skiff_mul_options {
    int x_num_col_dims, y_num_col_dims; /* 1, 1 */
    const char *name;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_mul(struct skiff_net *net, struct skiff_var *x,
                                            struct skiff_var *y, const struct skiff_mul_options *o);
#define skiff_mul(net, x, y, ...) \
    skiff_layer_mul(net, x, y, &(struct skiff_mul_options){__VA_ARGS__})
SKIFF_API struct skiff_var *skiff_layer_dot(struct skiff_net *net, struct skiff_var *x,
                                            struct skiff_var *y, const char *name);
SKIFF_API struct skiff_var *skiff_layer_cos_sim(struct skiff_net *net, struct skiff_var *x,
                                                struct skiff_var *y);
#define skiff_cos_sim skiff_layer_cos_sim
SKIFF_API struct skiff_var *skiff_layer_bilinear_tensor_product(struct skiff_net *net,
                                                                struct skiff_var *x,
                                                                struct skiff_var *y, int64_t size,
                                                                const struct skiff_fc_options *o);

/* ---- reductions and sums ---- */

SKIFF_API struct skiff_var *skiff_layer_mean(struct skiff_net *net, struct skiff_var *x,
                                             const char *name);
#define skiff_mean(net, x) skiff_layer_mean(net, x, NULL)
struct skiff_reduce_options {
    struct skiff_dims dim; /* empty: over everything */
    bool keep_dim;
    const char *name;
    uint64_t reserved[4];
};
#define SKIFF_REDUCE_LAYERS(X) X(sum) X(mean) X(max) X(min) X(prod) X(all) X(any)
#define SKIFF_DECLARE_REDUCE(name)                         \
    SKIFF_API struct skiff_var *skiff_layer_reduce_##name( \
        struct skiff_net *net, struct skiff_var *x, const struct skiff_reduce_options *o);
SKIFF_REDUCE_LAYERS(SKIFF_DECLARE_REDUCE)
#undef SKIFF_DECLARE_REDUCE
/* skiff_reduce(net, sum, x, .dim = SKIFF_DIMS(1), .keep_dim = true) */
#define skiff_reduce(net, op, x, ...) \
    skiff_layer_reduce_##op(net, x, &(struct skiff_reduce_options){__VA_ARGS__})
SKIFF_API struct skiff_var *skiff_layer_sums(struct skiff_net *net, struct skiff_vars x,
                                             struct skiff_var *out); /* out NULL: new */
#define skiff_sums(net, x) skiff_layer_sums(net, x, NULL)
SKIFF_API struct skiff_var *skiff_layer_isfinite(struct skiff_net *net, struct skiff_var *x);
SKIFF_API struct skiff_var *skiff_layer_l2_normalize(struct skiff_net *net, struct skiff_var *x,
                                                     int axis, double epsilon /* 0: 1e-12 */,
                                                     const char *name);

/* ---- shapes ---- */

SKIFF_API struct skiff_var *skiff_layer_concat(struct skiff_net *net, struct skiff_vars input,
                                               int axis, const char *name);
#define skiff_concat(net, input, axis) skiff_layer_concat(net, input, axis, NULL)
struct skiff_reshape_options {
    struct skiff_var *actual_shape;
    bool inplace;
    const char *act, *name;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_reshape(struct skiff_net *net, struct skiff_var *x,
                                                struct skiff_dims shape,
                                                const struct skiff_reshape_options *o);
#define skiff_reshape(net, x, shape, ...) \
    skiff_layer_reshape(net, x, shape, &(struct skiff_reshape_options){__VA_ARGS__})
SKIFF_API struct skiff_var *skiff_layer_flatten(struct skiff_net *net, struct skiff_var *x,
                                                int axis, const char *name);
SKIFF_API struct skiff_var *skiff_layer_squeeze(struct skiff_net *net, struct skiff_var *x,
                                                struct skiff_dims axes, const char *name);
SKIFF_API struct skiff_var *skiff_layer_unsqueeze(struct skiff_net *net, struct skiff_var *x,
                                                  struct skiff_dims axes, const char *name);
SKIFF_API struct skiff_var *skiff_layer_transpose(struct skiff_net *net, struct skiff_var *x,
                                                  struct skiff_dims perm, const char *name);
SKIFF_API struct skiff_var *skiff_layer_expand(struct skiff_net *net, struct skiff_var *x,
                                               struct skiff_dims times, const char *name);
SKIFF_API struct skiff_var *skiff_layer_slice(struct skiff_net *net, struct skiff_var *x,
                                              struct skiff_dims axes, struct skiff_dims starts,
                                              struct skiff_dims ends);
/* num > 0: equal parts; otherwise sections. outs has room for that many; false on failure. */
SKIFF_API bool skiff_layer_split(struct skiff_net *net, struct skiff_var *x, int num,
                                 struct skiff_dims sections, int dim, struct skiff_var **outs);
SKIFF_API struct skiff_var *skiff_layer_stack(struct skiff_net *net, struct skiff_vars x, int axis);
SKIFF_API bool skiff_layer_unstack(struct skiff_net *net, struct skiff_var *x, int axis, int num,
                                   struct skiff_var **outs);
SKIFF_API struct skiff_var *skiff_layer_shape(struct skiff_net *net, struct skiff_var *x);
SKIFF_API struct skiff_var *skiff_layer_gather(struct skiff_net *net, struct skiff_var *x,
                                               struct skiff_var *index, bool add_duplicates);
SKIFF_API struct skiff_var *skiff_layer_gather_nd(struct skiff_net *net, struct skiff_var *x,
                                                  struct skiff_var *index, const char *name);
SKIFF_API struct skiff_var *skiff_layer_scatter(struct skiff_net *net, struct skiff_var *x,
                                                struct skiff_var *index, struct skiff_var *updates,
                                                bool add, const char *name);
SKIFF_API struct skiff_var *skiff_layer_where(struct skiff_net *net, struct skiff_var *condition,
                                              struct skiff_var *x, struct skiff_var *y,
                                              const char *name);
SKIFF_API struct skiff_var *skiff_layer_one_hot(struct skiff_net *net, struct skiff_var *x,
                                                int depth, bool allow_out_of_range);
SKIFF_API struct skiff_var *skiff_layer_one_hot_v2(struct skiff_net *net, struct skiff_var *x,
                                                   int depth, bool allow_out_of_range);
SKIFF_API struct skiff_var *skiff_layer_argmax(struct skiff_net *net, struct skiff_var *x,
                                               int axis);
struct skiff_topk {
    struct skiff_var *values, *indices;
};
SKIFF_API struct skiff_topk skiff_layer_topk(struct skiff_net *net, struct skiff_var *x, int k,
                                             const char *name);
SKIFF_API struct skiff_var *skiff_layer_get_tensor_from_selected_rows(struct skiff_net *net,
                                                                      struct skiff_var *x,
                                                                      const char *name);
SKIFF_API struct skiff_var *skiff_layer_merge_selected_rows(struct skiff_net *net,
                                                            struct skiff_var *x, const char *name);

/* ---- new tensors and random numbers ---- */

struct skiff_fill_options {
    bool force_cpu;
    struct skiff_var *out; /* NULL: new */
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_fill_constant(struct skiff_net *net,
                                                      struct skiff_dims shape, const char *dtype,
                                                      double value,
                                                      const struct skiff_fill_options *o);
#define skiff_fill_constant(net, shape, dtype, value, ...) \
    skiff_layer_fill_constant(net, shape, dtype, value, &(struct skiff_fill_options){__VA_ARGS__})
struct skiff_batch_like_options {
    int input_dim_idx, output_dim_idx;
    bool force_cpu;
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *
skiff_layer_fill_constant_batch_size_like(struct skiff_net *net, struct skiff_var *input,
                                          struct skiff_dims shape, const char *dtype, double value,
                                          const struct skiff_batch_like_options *o);
#define skiff_fill_constant_batch_size_like(net, input, shape, dtype, value, ...) \
    skiff_layer_fill_constant_batch_size_like(net, input, shape, dtype, value,    \
                                              &(struct skiff_batch_like_options){__VA_ARGS__})
SKIFF_API struct skiff_var *skiff_layer_zeros_like(struct skiff_net *net, struct skiff_var *x,
                                                   struct skiff_var *out);
SKIFF_API struct skiff_var *skiff_layer_ones_like(struct skiff_net *net, struct skiff_var *x,
                                                  struct skiff_var *out);
SKIFF_API struct skiff_var *skiff_layer_assign(struct skiff_net *net, struct skiff_var *input,
                                               struct skiff_var *output); /* NULL: new */
/* assign of an array; dtype ("float32", "int32", "int64" or "bool") is the type of values. */
SKIFF_API struct skiff_var *skiff_layer_assign_value(struct skiff_net *net, struct skiff_dims shape,
                                                     const char *dtype, const void *values,
                                                     struct skiff_var *output);
SKIFF_API struct skiff_var *skiff_layer_increment(struct skiff_net *net, struct skiff_var *x,
                                                  double value, bool new_variable);
struct skiff_random_options {
    const char *dtype; /* float32 */
    double min, max;   /* uniform: -1, 1 */
    double mean, std;  /* gaussian: 0, 1 */
    int seed;
    int input_dim_idx, output_dim_idx; /* *_batch_size_like */
    uint64_t reserved[4];
};
SKIFF_API struct skiff_var *skiff_layer_uniform_random(struct skiff_net *net,
                                                       struct skiff_dims shape,
                                                       const struct skiff_random_options *o);
SKIFF_API struct skiff_var *skiff_layer_gaussian_random(struct skiff_net *net,
                                                        struct skiff_dims shape,
                                                        const struct skiff_random_options *o);
SKIFF_API struct skiff_var *
skiff_layer_uniform_random_batch_size_like(struct skiff_net *net, struct skiff_var *input,
                                           struct skiff_dims shape,
                                           const struct skiff_random_options *o);
SKIFF_API struct skiff_var *skiff_layer_randint(struct skiff_net *net, int64_t low, int64_t high,
                                                struct skiff_dims shape, const char *dtype,
                                                int seed);
SKIFF_API struct skiff_var *skiff_layer_sampling_id(struct skiff_net *net, struct skiff_var *x,
                                                    const struct skiff_random_options *o);
SKIFF_API struct skiff_var *skiff_layer_hash(struct skiff_net *net, struct skiff_var *x,
                                             int64_t hash_size, int num_hash, const char *name);
#ifdef __cplusplus
}
#endif

#include <skiff/layers_nn.h>

#endif
