#include "rank/dnn/net.h"

#include <stdio.h>
#include <string.h>

#include "rank/rank.h"

const struct rank_dnn_config rank_dnn_documents = {.sparse_slots = 26,
                                                   .dense_columns = 13,
                                                   .table_rows = 1000001,
                                                   .table_width = 10,
                                                   .layer_sizes = {400, 400, 400}};

/* The documents declare their inputs in this order. */
static struct rank_inputs documents_inputs(struct skiff_net *net, const struct rank_dnn_config *c,
                                           struct skiff_model_net *out)
{
    struct rank_inputs in = {.slots = c->sparse_slots < RANK_MAX_SLOTS ? c->sparse_slots
                                                                       : RANK_MAX_SLOTS,
                             .dense_columns = c->dense_columns,
                             .rows = c->table_rows,
                             .width = c->table_width};
    if (c->dense_columns > 0)
        in.dense =
            skiff_model_input(out, skiff_data(net, "dense_input", SKIFF_DIMS(c->dense_columns)));
    for (int i = 0; i < in.slots; i++) {
        char name[32];
        snprintf(name, sizeof(name), "C%d", i + 1);
        in.ids[i] = skiff_model_input(
            out, skiff_data(net, name, SKIFF_DIMS(1), .dtype = "int64", .lod_level = 1));
    }
    in.label = skiff_model_input(out, skiff_data(net, "label", SKIFF_DIMS(1), .dtype = "int64"));
    return in;
}

static struct skiff_var *first_input(struct skiff_net *net, const struct rank_inputs *in)
{
    struct skiff_var *parts[RANK_MAX_SLOTS + 1];
    for (int i = 0; i < in->slots; i++) {
        parts[i] = skiff_embedding(
            net, in->ids[i], in->rows, in->width, .is_sparse = true,
            .is_distributed = in->distributed,
            .param_attr = SKIFF_PARAM(.name = "SparseFeatFactors",
                                      .initializer = skiff_init_uniform(-1.0, 1.0, 0)));
        if (in->multi_value)
            parts[i] = skiff_sequence_pool(net, parts[i], "sum");
    }
    parts[in->slots] = in->dense;
    return skiff_concat(net, ((struct skiff_vars){in->slots + (in->dense ? 1 : 0), parts}), 1);
}

static struct skiff_var *predict_of(struct skiff_net *net, const struct rank_inputs *in,
                                    const struct skiff_model_sizes *sizes, double dropout)
{
    int64_t inputs = in->slots * in->width + in->dense_columns;
    struct skiff_var *x = model_layers(net, first_input(net, in), inputs, sizes, dropout);
    return model_layer(net, x, sizes->n ? sizes->size[sizes->n - 1] : inputs, 2, "softmax");
}

static void documents_build(struct skiff_net *net, const struct rank_dnn_config *c,
                            struct skiff_model_net *out)
{
    struct rank_inputs in = documents_inputs(net, c, out);
    struct skiff_model_sizes sizes = {0};
    for (; sizes.n < 8 && c->layer_sizes[sizes.n]; sizes.n++)
        sizes.size[sizes.n] = c->layer_sizes[sizes.n];
    out->label = in.label;
    out->predict = predict_of(net, &in, &sizes, 0);
    out->loss = skiff_reduce(net, sum, skiff_cross_entropy(net, out->predict, in.label));
    out->loss_is_sum = true;
    out->accuracy = skiff_accuracy(net, out->predict, in.label);
    model_add_auc(net, out->predict, in.label, out);
}

struct rank_dnn rank_dnn_build(struct skiff_net *net, const struct rank_dnn_config *c)
{
    struct skiff_model_net out = {0};
    documents_build(net, c, &out);
    return (struct rank_dnn){.loss = out.loss,
                             .predict = out.predict,
                             .accuracy = out.accuracy,
                             .auc = out.auc.auc,
                             .batch_auc = out.auc.batch_auc};
}

static void build_documents(struct skiff_net *net, const struct skiff_model_config *c,
                            struct skiff_model_net *out)
{
    struct rank_dnn_config d = {
        .sparse_slots = (int)skiff_model_integer(c, "sparse_inputs_slots", 27) - 1,
        .dense_columns = (int)skiff_model_integer(c, "dense_input_dim", 13),
        .table_rows = skiff_model_integer(c, "sparse_feature_number", 1000001),
        .table_width = skiff_model_integer(c, "sparse_feature_dim", 10)};
    struct skiff_model_sizes sizes =
        skiff_model_sizes_of(c, "fc_sizes", (const int64_t[]){400, 400, 400, 0});
    for (int i = 0; i < sizes.n && i < 7; i++)
        d.layer_sizes[i] = sizes.size[i];
    documents_build(net, &d, out);
}

static void build(struct skiff_net *net, const struct skiff_model_config *c,
                  struct skiff_model_net *out)
{
    if (!strcmp(skiff_model_text(c, "network", "paddlerec"), "documents")) {
        build_documents(net, c, out);
        return;
    }
    struct rank_inputs in = rank_inputs_make(net, c, out);
    struct skiff_model_sizes sizes =
        skiff_model_sizes_of(c, "fc_sizes", (const int64_t[]){512, 256, 128, 32, 0});
    out->label = in.label;
    out->predict = predict_of(net, &in, &sizes, model_dropout(c));
    out->loss = skiff_mean(net, skiff_cross_entropy(net, out->predict, in.label));
    model_add_auc(net, out->predict, in.label, out);
}

const struct skiff_model_def model_rank_dnn = MODEL_DEF("rank/dnn", "CTR-DNN", build);
