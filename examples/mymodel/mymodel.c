/* A model of one's own as a shared object: who clicks on what. mymodel.yaml is the same network in
 * YAML; both give the same program.
 *
 *     cc -shared -fPIC $(pkg-config --cflags skiff) -o mymodel.so mymodel.c
 *     skiff train -m config.yaml */
#include <skiff/model.h>

static struct skiff_var *embed(struct skiff_net *net, struct skiff_var *ids, int64_t width,
                               const char *name)
{
    return skiff_embedding(net, ids, 1000, width, .is_sparse = true,
                           .param_attr = SKIFF_PARAM(.name = name));
}

static void build(struct skiff_net *net, const struct skiff_model_config *config,
                  struct skiff_model_net *out)
{
    int64_t width = skiff_model_integer(config, "width", 8);
    struct skiff_model_sizes sizes =
        skiff_model_sizes_of(config, "fc_sizes", (const int64_t[]){16, 8, 0});

    struct skiff_var *click =
        skiff_model_input(out, skiff_data(net, "click", SKIFF_DIMS(1), .dtype = "int64"));
    struct skiff_var *user =
        skiff_model_input(out, skiff_data(net, "user", SKIFF_DIMS(1), .dtype = "int64"));
    struct skiff_var *item =
        skiff_model_input(out, skiff_data(net, "item", SKIFF_DIMS(1), .dtype = "int64"));
    struct skiff_var *genres = skiff_model_input(
        out, skiff_data(net, "genres", SKIFF_DIMS(1), .dtype = "int64", .lod_level = 1));
    struct skiff_var *age = skiff_model_input(out, skiff_data(net, "age", SKIFF_DIMS(1)));

    struct skiff_var *u = embed(net, user, width, "user_table");
    struct skiff_var *i = embed(net, item, width, "item_table");
    struct skiff_var *g = embed(net, genres, width, "genre_table");
    g = skiff_sequence_pool(net, g, "sum");
    struct skiff_var *x = skiff_concat(net, SKIFF_VARS(u, i, g, age), 1);
    for (int k = 0; k < sizes.n; k++)
        x = skiff_fc(net, x, sizes.size[k], .act = "relu");

    out->predict = skiff_fc(net, x, 2, .act = "softmax");
    out->label = click;
    out->loss = skiff_mean(net, skiff_cross_entropy(net, out->predict, click));
    out->auc = skiff_layer_auc_with(net, out->predict, click, .num_thresholds = 4096);
}

SKIFF_MODEL("mymodel", "who clicks on what", build)
