/* Metrics. Their states are persistable variables; they carry no gradient. */
#include "layers/helper.h"

struct skiff_var *skiff_layer_accuracy(struct skiff_net *net, struct skiff_var *input,
                                       struct skiff_var *label,
                                       const struct skiff_accuracy_options *o)
{
    static const struct skiff_accuracy_options none;
    o = o ? o : &none;
    if (!net_has(net, "accuracy", "input", input) || !net_has(net, "accuracy", "label", label))
        return NULL;
    struct layer l = layer_begin(net, "accuracy", NULL);
    struct skiff_topk top = skiff_layer_topk(net, input, opt_int(o->k, 1), NULL);
    struct skiff_var *acc = layer_tmp(&l, DTYPE_FP32);
    struct skiff_var *correct = o->correct ? o->correct : layer_tmp(&l, DTYPE_INT32);
    struct skiff_var *total = o->total ? o->total : layer_tmp(&l, DTYPE_INT32);
    layer_op(net, "accuracy", P_IN("Out", top.values), P_IN("Indices", top.indices),
             P_IN("Label", label), P_OUT("Accuracy", acc), P_OUT("Correct", correct),
             P_OUT("Total", total));
    return net_failed(net) ? NULL : acc;
}

static void auc_op(struct skiff_net *net, struct skiff_var *predict, struct skiff_var *label,
                   struct skiff_var *out, struct skiff_var *pos, struct skiff_var *neg,
                   const char *curve, int thresholds, int slide)
{
    layer_op(net, "auc", P_IN("Predict", predict), P_IN("Label", label), P_IN("StatPos", pos),
             P_IN("StatNeg", neg), P_OUT("AUC", out), P_OUT("StatPosOut", pos),
             P_OUT("StatNegOut", neg), P_STR("curve", curve), P_INT("num_thresholds", thresholds),
             P_INT("slide_steps", slide));
}

struct skiff_auc skiff_layer_auc(struct skiff_net *net, struct skiff_var *input,
                                 struct skiff_var *label, const struct skiff_auc_options *o)
{
    static const struct skiff_auc_options none;
    struct skiff_auc r = {0};
    o = o ? o : &none;
    if (!net_has_type(net, "auc", "input", input, "float32 float64") ||
        !net_has_type(net, "auc", "label", label, "int64 int32"))
        return r;
    struct layer l = layer_begin(net, "auc", NULL);
    int thresholds = opt_int(o->num_thresholds, 4095), slide = opt_int(o->slide_steps, 1);
    const char *curve = o->curve ? o->curve : "ROC";
    r.auc = layer_tmp(&l, DTYPE_FP64);
    r.batch_auc = layer_tmp(&l, DTYPE_FP64);
    /* per step of the window: buckets; then their sum; then the number of steps seen */
    struct shape window = SHAPE((1 + (int64_t)slide) * (thresholds + 1) + 1);
    struct shape whole = SHAPE(1, thresholds + 1);
    struct skiff_initializer zero = skiff_init_constant(0);
    for (int i = 0; i < 4; i++)
        r.states[i] = net_global_var(net, NULL, DTYPE_INT64, i < 2 ? &window : &whole, true);
    for (int i = 0; i < 4; i++)
        net_init_var(net, r.states[i], &zero);
    auc_op(net, input, label, r.batch_auc, r.states[0], r.states[1], curve, thresholds, slide);
    auc_op(net, input, label, r.auc, r.states[2], r.states[3], curve, thresholds, 0);
    return net_failed(net) ? (struct skiff_auc){0} : r;
}
