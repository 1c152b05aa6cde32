/* The table of models, and the pieces that several of them are made of. */
#include "model.h"

#include <math.h>
#include <string.h>

const struct skiff_model_def *const *model_all(void)
{
    static const struct skiff_model_def *const all[] = {
#define MODEL(symbol) &symbol,
#include "model_list.h"
#undef MODEL
        NULL};
    return all;
}

const struct skiff_model_def *model_find(const char *name)
{
    for (const struct skiff_model_def *const *m = model_all(); *m; m++) {
        const char *last = strrchr((*m)->name, '/');
        if (!strcmp(name, (*m)->name) || !strcmp(name, last + 1))
            return *m;
    }
    return NULL;
}

struct skiff_var *model_layer(struct skiff_net *net, struct skiff_var *x, int64_t inputs,
                              int64_t size, const char *act)
{
    return skiff_fc(net, x, size, .act = act,
                    .param_attr = SKIFF_PARAM(.initializer = skiff_init_normal(
                                                  0.0, 1.0 / sqrt((double)inputs), 0)));
}

double model_dropout(const struct skiff_model_config *c)
{
    return skiff_model_real(c, "dropout", 0);
}

struct skiff_var *model_layers(struct skiff_net *net, struct skiff_var *x, int64_t inputs,
                               const struct skiff_model_sizes *sizes, double dropout)
{
    for (int i = 0; i < sizes->n; i++) {
        x = model_layer(net, x, inputs, sizes->size[i], "relu");
        inputs = sizes->size[i];
        if (dropout > 0)
            x = skiff_dropout(net, x, dropout, .implementation = "upscale_in_train");
    }
    return x;
}

void model_add_auc(struct skiff_net *net, struct skiff_var *predict, struct skiff_var *label,
                   struct skiff_model_net *out)
{
    out->auc = skiff_layer_auc_with(net, predict, label, .num_thresholds = 4096, .slide_steps = 20);
}

void model_finish_sigmoid(struct skiff_net *net, struct skiff_var *logit, struct skiff_var *label,
                          struct skiff_model_net *out)
{
    struct skiff_var *p = skiff_sigmoid(net, logit);
    struct skiff_var *rest = skiff_scale_by(net, p, .scale = -1.0, .bias = 1.0);
    out->predict = skiff_concat(net, SKIFF_VARS(rest, p), 1);
    out->label = label;
    struct skiff_var *wanted = skiff_cast(net, label, "float32");
    out->loss = skiff_mean(net, skiff_sigmoid_cross_entropy_with_logits(net, logit, wanted));
    model_add_auc(net, out->predict, label, out);
}
