#include "rank/dnn/net.h"

#include <math.h>
#include <stdio.h>

#define MAX_SLOTS 128

const struct rank_dnn_config rank_dnn_documents = {.sparse_slots = 26,
                                                   .dense_columns = 13,
                                                   .table_rows = 1000001,
                                                   .table_width = 10,
                                                   .layer_sizes = {400, 400, 400}};

static struct skiff_var *ids_of_slot(struct skiff_net *net, int slot)
{
    char name[32];
    snprintf(name, sizeof(name), "C%d", slot);
    return skiff_data(net, name, SKIFF_DIMS(1), .dtype = "int64", .lod_level = 1);
}

static struct skiff_var *embed(struct skiff_net *net, const struct rank_dnn_config *c,
                               struct skiff_var *ids)
{
    return skiff_embedding(net, ids, c->table_rows, c->table_width, .is_sparse = true,
                           .param_attr =
                               SKIFF_PARAM(.name = "SparseFeatFactors",
                                           .initializer = skiff_init_uniform(-1.0, 1.0, 0)));
}

/* Normal with deviation 1/sqrt(inputs), as the documents have it. */
static struct skiff_var *layer(struct skiff_net *net, struct skiff_var *x, int64_t inputs,
                               int64_t size, const char *act)
{
    return skiff_fc(net, x, size, .act = act,
                    .param_attr = SKIFF_PARAM(.initializer = skiff_init_normal(
                                                  0.0, 1.0 / sqrt((double)inputs), 0)));
}

struct rank_dnn rank_dnn_build(struct skiff_net *net, const struct rank_dnn_config *c)
{
    struct skiff_var *parts[MAX_SLOTS + 1];
    int slots = c->sparse_slots < MAX_SLOTS ? c->sparse_slots : MAX_SLOTS;
    struct skiff_var *dense = skiff_data(net, "dense_input", SKIFF_DIMS(c->dense_columns));
    for (int i = 0; i < slots; i++)
        parts[i] = ids_of_slot(net, i + 1);
    struct skiff_var *label = skiff_data(net, "label", SKIFF_DIMS(1), .dtype = "int64");
    for (int i = 0; i < slots; i++)
        parts[i] = embed(net, c, parts[i]);
    parts[slots] = dense;
    struct skiff_var *x = skiff_concat(net, ((struct skiff_vars){slots + 1, parts}), 1);
    int64_t inputs = slots * c->table_width + c->dense_columns;
    for (int i = 0; i < 8 && c->layer_sizes[i]; i++) {
        x = layer(net, x, inputs, c->layer_sizes[i], "relu");
        inputs = c->layer_sizes[i];
    }
    struct rank_dnn out = {.predict = layer(net, x, inputs, 2, "softmax")};
    out.loss = skiff_reduce(net, sum, skiff_cross_entropy(net, out.predict, label));
    out.accuracy = skiff_accuracy(net, out.predict, label);
    struct skiff_auc auc =
        skiff_layer_auc_with(net, out.predict, label, .num_thresholds = 4096, .slide_steps = 20);
    out.auc = auc.auc;
    out.batch_auc = auc.batch_auc;
    return out;
}
