/* Losses over many classes: noise-contrastive estimation and the hierarchical sigmoid. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "layers/helper.h"

/* Walker's alias table of a distribution: class i is drawn with alias_probs[i], else alias[i].
 * The queues are worked off from the front, as Fluid does, so that the tables are equal. */
struct alias_item {
    int i;
    double p;
};

static void alias_build(int n, const double *dist, float *probs, int32_t *alias)
{
    struct alias_item *big = mem_alloc_or_die((size_t)n * 3 * sizeof *big);
    struct alias_item *little = mem_alloc_or_die((size_t)n * 3 * sizeof *little);
    int nbig = 0, nlittle = 0, b = 0, l = 0;
    for (int i = 0; i < n; i++) {
        double p = dist[i] * n;
        if (p - 1.0 > 0)
            big[nbig++] = (struct alias_item){i, p};
        else if (1.0 - p > 0)
            little[nlittle++] = (struct alias_item){i, p};
        else
            probs[i] = (float)p, alias[i] = -1;
    }
    while (b < nbig && l < nlittle) {
        struct alias_item x = big[b++], y = little[l++];
        probs[y.i] = (float)y.p;
        alias[y.i] = x.i;
        double left = x.p + y.p - 1;
        if (left - 1.0 > 0)
            big[nbig++] = (struct alias_item){x.i, left};
        else if (1.0 - left > 0)
            little[nlittle++] = (struct alias_item){x.i, left};
        else
            probs[x.i] = (float)left, alias[x.i] = -1;
    }
    if (b < nbig)
        probs[big[b].i] = 1, alias[big[b].i] = -1;
    if (l < nlittle)
        probs[little[l].i] = 1, alias[little[l].i] = -1;
    free(big);
    free(little);
}

/* Parameters that hold the distribution and its alias table. */
static void custom_dist(struct layer *l, int classes, const double *dist, struct skiff_var *out[3])
{
    float *probs = mem_alloc_or_die((size_t)classes * sizeof *probs);
    int32_t *alias = mem_alloc_or_die((size_t)classes * sizeof *alias);
    float *own = mem_alloc_or_die((size_t)classes * sizeof *own);
    struct shape shape = SHAPE(classes);
    for (int i = 0; i < classes; i++)
        own[i] = (float)dist[i];
    alias_build(classes, dist, probs, alias);
    struct skiff_initializer init[3] = {skiff_init_values(own, (size_t)classes),
                                        skiff_init_int_values(alias, (size_t)classes),
                                        skiff_init_values(probs, (size_t)classes)};
    for (int i = 0; i < 3; i++) {
        out[i] = layer_param(l, NULL, &shape, i == 1 ? DTYPE_INT32 : DTYPE_FP32, false, &init[i]);
        if (out[i])
            out[i]->stop_gradient = true;
    }
    free(own);
    free(probs);
    free(alias);
}

static int sampler_number(struct skiff_net *net, const char *name)
{
    static const char *const known[] = {"uniform", "log_uniform", "custom_dist"};
    for (int i = 0; name && i < 3; i++)
        if (!strcmp(name, known[i]))
            return i;
    if (name)
        net_fail(net, SKIFF_NOT_FOUND,
                 "layer nce: unknown sampler %s (uniform, log_uniform and custom_dist are known)",
                 name);
    return 0;
}

struct skiff_var *skiff_layer_nce(struct skiff_net *net, struct skiff_var *input,
                                  struct skiff_var *label, int num_total_classes,
                                  const struct skiff_nce_options *o)
{
    static const struct skiff_nce_options none;
    o = o ? o : &none;
    if (!net_has(net, "nce", "input", input) || !net_has(net, "nce", "label", label))
        return NULL;
    if (input->shape.ndim < 2)
        return net_fail(net, SKIFF_SHAPE, "layer nce: input %s has no second dimension",
                        input->name);
    int sampler = sampler_number(net, o->sampler), negatives = opt_int(o->num_neg_samples, 10);
    if (sampler == 2 && !o->custom_dist)
        return net_fail(net, SKIFF_INVALID, "layer nce: sampler custom_dist needs custom_dist");
    struct layer l = layer_begin(net, "nce", o->name);
    struct shape ws = SHAPE(num_total_classes, input->shape.dims[1]);
    struct shape bs = SHAPE(num_total_classes, 1);
    struct skiff_var *dist[3] = {NULL};
    struct skiff_var *w = layer_param(&l, o->param_attr, &ws, input->dtype, false, NULL);
    struct skiff_var *b = layer_param(&l, o->bias_attr, &bs, input->dtype, true, NULL);
    struct skiff_var *cost = layer_tmp(&l, input->dtype), *logits = layer_tmp(&l, input->dtype);
    struct skiff_var *labels = layer_tmp(&l, label->dtype);
    if (sampler == 2)
        custom_dist(&l, num_total_classes, o->custom_dist, dist);
    layer_op(net, "nce", P_IN("Input", input), P_IN("Label", label), P_IN("Weight", w),
             P_IN("Bias", b), P_IN("SampleWeight", o->sample_weight),
             P_IN("CustomDistProbs", dist[0]), P_IN("CustomDistAlias", dist[1]),
             P_IN("CustomDistAliasProbs", dist[2]), P_OUT("Cost", cost),
             P_OUT("SampleLogits", logits), P_OUT("SampleLabels", labels),
             P_INT("num_total_classes", num_total_classes), P_INT("num_neg_samples", negatives),
             P_INT("seed", o->seed), P_INT("sampler", sampler), P_BOOL("is_sparse", o->is_sparse),
             P_BOOL("remote_prefetch", o->is_sparse));
    if (net_failed(net))
        return NULL;
    return skiff_var_op_scalar(net, SKIFF_DIV, cost, negatives + 1);
}

struct skiff_var *skiff_layer_hsigmoid(struct skiff_net *net, struct skiff_var *input,
                                       struct skiff_var *label, int num_classes,
                                       const struct skiff_hsigmoid_options *o)
{
    static const struct skiff_hsigmoid_options none;
    o = o ? o : &none;
    if (!net_has(net, "hsigmoid", "input", input) || !net_has(net, "hsigmoid", "label", label))
        return NULL;
    if (!o->is_custom && num_classes < 2)
        return net_fail(net, SKIFF_INVALID, "layer hsigmoid: num_classes is %d, at least 2 needed",
                        num_classes);
    if (o->is_custom != (o->path_table && o->path_code))
        return net_fail(net, SKIFF_INVALID,
                        "layer hsigmoid: path_table and path_code go with is_custom");
    struct layer l = layer_begin(net, "hierarchical_sigmoid", o->name);
    bool sparse = o->is_sparse && o->is_custom; /* the default tree has no sparse form */
    int rows = o->is_custom ? num_classes : num_classes - 1;
    struct shape ws = SHAPE(rows, input->shape.dims[1]), bs = SHAPE(rows, 1);
    struct skiff_var *out = layer_tmp(&l, input->dtype), *pre = layer_tmp(&l, input->dtype);
    struct skiff_var *w = layer_param(&l, o->param_attr, &ws, input->dtype, false, NULL);
    struct skiff_var *b = layer_param(&l, o->bias_attr, &bs, input->dtype, true, NULL);
    layer_op(net, "hierarchical_sigmoid", P_IN("X", input), P_IN("W", w), P_IN("Label", label),
             P_IN("PathTable", o->path_table), P_IN("PathCode", o->path_code), P_IN("Bias", b),
             P_OUT("Out", out), P_OUT("PreOut", pre), P_OUT("W_Out", w),
             P_INT("num_classes", num_classes), P_BOOL("is_sparse", sparse),
             P_BOOL("remote_prefetch", sparse));
    return net_failed(net) ? NULL : out;
}
