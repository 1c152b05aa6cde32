#include "rank/rank.h"

#include <math.h>
#include <stdio.h>

static int64_t bounded(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

struct rank_inputs rank_inputs_make(struct skiff_net *net, const struct skiff_model_config *c,
                                    struct skiff_model_net *out)
{
    struct rank_inputs in = {
        .slots =
            (int)bounded(skiff_model_integer(c, "sparse_inputs_slots", 27) - 1, 1, RANK_MAX_SLOTS),
        .dense_columns = skiff_model_integer(c, "dense_input_dim", 13),
        .rows = skiff_model_integer(c, "sparse_feature_number", 1000001),
        .width = skiff_model_integer(c, "sparse_feature_dim", 9),
        .multi_value = skiff_model_flag(c, "multi_value", false)};
    in.distributed = skiff_model_integer(c, "distributed_embedding", 0) != 0;
    skiff_model_integer(c, "num_field", 0);
    in.label = skiff_model_input(out, skiff_data(net, "label", SKIFF_DIMS(1), .dtype = "int64"));
    for (int i = 0; i < in.slots; i++) {
        char name[32];
        snprintf(name, sizeof(name), "C%d", i + 1);
        in.ids[i] = skiff_model_input(out, skiff_data(net, name, SKIFF_DIMS(1), .dtype = "int64",
                                                      .lod_level = in.multi_value));
    }
    if (in.dense_columns > 0)
        in.dense =
            skiff_model_input(out, skiff_data(net, "dense_input", SKIFF_DIMS(in.dense_columns)));
    return in;
}

struct skiff_var *rank_embeddings(struct skiff_net *net, const struct rank_inputs *in,
                                  int64_t width, const struct skiff_param_attr *attr,
                                  bool padding_zero)
{
    struct skiff_var *parts[RANK_MAX_SLOTS];
    for (int i = 0; i < in->slots; i++) {
        parts[i] = skiff_embedding(net, in->ids[i], in->rows, width, .is_sparse = true,
                                   .is_distributed = in->distributed, .has_padding = padding_zero,
                                   .param_attr = attr);
        if (in->multi_value)
            parts[i] = skiff_sequence_pool(net, parts[i], "sum");
    }
    return skiff_concat(net, ((struct skiff_vars){in->slots, parts}), 1);
}

struct skiff_var *rank_features(struct skiff_net *net, const struct rank_inputs *in,
                                const struct skiff_param_attr *attr, bool padding_zero)
{
    struct skiff_var *rows = rank_embeddings(net, in, in->width, attr, padding_zero);
    return in->dense ? skiff_concat(net, SKIFF_VARS(rows, in->dense), 1) : rows;
}

/* Truncated normal with deviation 0.1/sqrt(width), as PaddleRec's factorization machines start. */
static struct skiff_initializer small(const struct rank_inputs *in)
{
    return skiff_init_truncated_normal(0.0, 0.1 / sqrt((double)in->width), 0);
}

struct skiff_var *rank_first_order(struct skiff_net *net, const struct rank_inputs *in)
{
    struct skiff_var *rows = rank_embeddings(
        net, in, 1, SKIFF_PARAM(.name = "first_order", .initializer = small(in)), false);
    struct skiff_var *sparse = skiff_reduce(net, sum, rows, .dim = SKIFF_DIMS(1), .keep_dim = true);
    if (!in->dense)
        return sparse;
    struct skiff_var *w =
        skiff_create_parameter(net, SKIFF_DIMS(in->dense_columns, 1), .dtype = "float32",
                               .name = "dense_first_order", .default_initializer = small(in));
    return skiff_elementwise(net, add, sparse, skiff_mul(net, in->dense, w));
}

/* sum over pairs <v_i, v_j> = ((sum v_i)^2 - sum v_i^2) / 2, added over the width. */
static struct skiff_var *pairs(struct skiff_net *net, struct skiff_var *fields)
{
    struct skiff_var *of_sum =
        skiff_square(net, skiff_reduce(net, sum, fields, .dim = SKIFF_DIMS(1)));
    struct skiff_var *of_each =
        skiff_reduce(net, sum, skiff_square(net, fields), .dim = SKIFF_DIMS(1));
    struct skiff_var *twice = skiff_elementwise(net, sub, of_sum, of_each);
    return skiff_scale_by(
        net, skiff_reduce(net, sum, twice, .dim = SKIFF_DIMS(1), .keep_dim = true), .scale = 0.5);
}

/* The dense columns as fields: a row of a parameter each, times the value. */
static struct skiff_var *dense_fields(struct skiff_net *net, const struct rank_inputs *in)
{
    struct skiff_var *w =
        skiff_create_parameter(net, SKIFF_DIMS(in->dense_columns, in->width), .dtype = "float32",
                               .name = "dense_second_order", .default_initializer = small(in));
    struct skiff_var *values = skiff_reshape(net, in->dense, SKIFF_DIMS(-1, in->dense_columns, 1));
    values = skiff_layer_expand(net, values, SKIFF_DIMS(1, 1, in->width), NULL);
    return skiff_elementwise(net, mul, values, w, .axis = 1);
}

struct rank_fm rank_fm_terms(struct skiff_net *net, const struct rank_inputs *in)
{
    struct rank_fm fm = {.first = rank_first_order(net, in),
                         .nfields = in->slots + in->dense_columns};
    struct skiff_var *rows = rank_embeddings(
        net, in, in->width, SKIFF_PARAM(.name = "second_order", .initializer = small(in)), false);
    rows = skiff_reshape(net, rows, SKIFF_DIMS(-1, in->slots, in->width));
    fm.fields = in->dense ? skiff_concat(net, SKIFF_VARS(rows, dense_fields(net, in)), 1) : rows;
    fm.second = pairs(net, fm.fields);
    return fm;
}
