/* Normalisation and dropout.
 *
 * Scale and bias are parameters; moving statistics are parameters without gradient, which the op
 * updates in place. Their names are drawn in Fluid's order: scale, bias, mean, variance. */
#include <string.h>

#include "layers/helper.h"

static int64_t channels(struct skiff_net *net, const char *layer, const struct skiff_var *x,
                        const char *layout)
{
    if (layout && strcmp(layout, "NCHW") && strcmp(layout, "NHWC")) {
        net_fail(net, SKIFF_INVALID, "layer %s: unknown data_layout %s (NCHW and NHWC are known)",
                 layer, layout);
        return 0;
    }
    if (x->shape.ndim < 2) {
        net_fail(net, SKIFF_SHAPE, "layer %s: %s must have at least two dimensions", layer,
                 x->name);
        return 0;
    }
    bool last = layout && !strcmp(layout, "NHWC");
    return x->shape.dims[last ? x->shape.ndim - 1 : 1];
}

/* Moving statistics: parameters that no optimizer touches. */
static struct skiff_var *statistic(struct layer *l, const char *name, const struct shape *shape,
                                   enum dtype dtype, double value, bool no_average)
{
    struct skiff_param_attr attr = {.name = name,
                                    .initializer = skiff_init_constant(value),
                                    .frozen = true,
                                    .no_model_average = no_average};
    struct skiff_var *v = layer_param(l, &attr, shape, dtype, false, NULL);
    if (v)
        v->stop_gradient = true;
    return v;
}

struct skiff_var *skiff_layer_batch_norm(struct skiff_net *net, struct skiff_var *x,
                                         const struct skiff_batch_norm_options *o)
{
    static const struct skiff_batch_norm_options none;
    o = o ? o : &none;
    if (!net_has(net, "batch_norm", "x", x))
        return NULL;
    if (attr_is_none(o->bias_attr) || attr_is_none(o->param_attr))
        return net_fail(net, SKIFF_INVALID, "layer batch_norm: scale and bias cannot be left out");
    struct shape shape = SHAPE(channels(net, "batch_norm", x, o->data_layout));
    if (net_failed(net))
        return NULL;
    struct layer l = layer_begin(net, "batch_norm", o->name);
    enum dtype t = x->dtype == DTYPE_FP16 ? DTYPE_FP32 : x->dtype;
    struct skiff_initializer one = skiff_init_constant(1.0);
    struct skiff_var *scale = layer_param(&l, o->param_attr, &shape, t, false, &one);
    struct skiff_var *bias = layer_param(&l, o->bias_attr, &shape, t, true, NULL);
    struct skiff_var *mean =
        statistic(&l, o->moving_mean_name, &shape, t, 0.0, o->no_model_average);
    struct skiff_var *variance =
        statistic(&l, o->moving_variance_name, &shape, t, 1.0, o->no_model_average);
    struct skiff_var *saved_mean = layer_tmp_no_grad(&l, t), *saved_var = layer_tmp_no_grad(&l, t);
    struct skiff_var *out = o->in_place ? x : layer_tmp(&l, t);
    layer_op(net, "batch_norm", P_IN("X", x), P_IN("Scale", scale), P_IN("Bias", bias),
             P_IN("Mean", mean), P_IN("Variance", variance),
             P_IN("MomentumTensor", o->momentum_var), P_OUT("Y", out), P_OUT("MeanOut", mean),
             P_OUT("VarianceOut", variance), P_OUT("SavedMean", saved_mean),
             P_OUT("SavedVariance", saved_var), P_FLOAT("epsilon", opt_float(o->epsilon, 1e-5)),
             P_FLOAT("momentum", opt_float(o->momentum, 0.9)), P_BOOL("is_test", o->is_test),
             P_STR("data_layout", o->data_layout ? o->data_layout : "NCHW"),
             P_BOOL("use_global_stats", o->use_global_stats));
    return net_failed(net) ? NULL : layer_act(&l, out, o->act);
}

struct skiff_var *skiff_layer_layer_norm(struct skiff_net *net, struct skiff_var *x,
                                         const struct skiff_layer_norm_options *o)
{
    static const struct skiff_layer_norm_options none;
    o = o ? o : &none;
    if (!net_has(net, "layer_norm", "x", x))
        return NULL;
    int begin = opt_int(o->begin_norm_axis, 1);
    if (begin < 0 || begin >= x->shape.ndim)
        return net_fail(net, SKIFF_SHAPE, "layer layer_norm: begin_norm_axis %d of %s with %d dims",
                        begin, x->name, x->shape.ndim);
    struct layer l = layer_begin(net, "layer_norm", o->name);
    int64_t width = 1;
    for (int i = begin; i < x->shape.ndim; i++)
        width = x->shape.dims[i] < 0 || width < 0 ? -1 : width * x->shape.dims[i];
    struct shape shape = SHAPE(width);
    struct skiff_initializer one = skiff_init_constant(1.0);
    struct skiff_var *scale = NULL, *bias = NULL;
    if (!o->no_scale)
        scale = layer_param(&l, o->param_attr, &shape, x->dtype, false, &one);
    if (!o->no_shift)
        bias = layer_param(&l, o->bias_attr, &shape, x->dtype, true, NULL);
    struct skiff_var *mean = layer_tmp_no_grad(&l, x->dtype),
                     *var = layer_tmp_no_grad(&l, x->dtype);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, "layer_norm", P_IN("X", x), P_IN("Scale", scale), P_IN("Bias", bias),
             P_OUT("Y", out), P_OUT("Mean", mean), P_OUT("Variance", var),
             P_FLOAT("epsilon", opt_float(o->epsilon, 1e-5)), P_INT("begin_norm_axis", begin));
    return net_failed(net) ? NULL : layer_act(&l, out, o->act);
}

static struct skiff_var *norm_param(struct layer *l, const char *base, const char *what,
                                    const struct shape *shape, enum dtype dtype, double value)
{
    struct skiff_param_attr attr = {.name = arena_printf(&l->net->arena, "%s.%s", base, what),
                                    .initializer = skiff_init_constant(value)};
    return layer_param(l, &attr, shape, dtype, false, NULL);
}

struct skiff_var *skiff_layer_data_norm(struct skiff_net *net, struct skiff_var *x,
                                        const struct skiff_data_norm_options *o)
{
    static const struct skiff_data_norm_options none;
    o = o ? o : &none;
    if (!net_has(net, "data_norm", "x", x))
        return NULL;
    struct shape shape = SHAPE(channels(net, "data_norm", x, o->data_layout));
    if (net_failed(net))
        return NULL;
    struct layer l = layer_begin(net, "data_norm", o->name);
    const char *base = o->name ? o->name : "dn";
    enum dtype t = x->dtype;
    struct skiff_var *scale = NULL, *bias = NULL;
    if (o->scale_and_shift) {
        scale = norm_param(&l, base, "scale_w", &shape, t, opt_float(o->scale_w, 1.0));
        bias = norm_param(&l, base, "bias", &shape, t, o->bias);
    }
    struct skiff_var *size =
        norm_param(&l, base, "batch_size", &shape, t, opt_float(o->batch_size, 1e4));
    struct skiff_var *sum = norm_param(&l, base, "batch_sum", &shape, t, o->batch_sum);
    struct skiff_var *square =
        norm_param(&l, base, "batch_square_sum", &shape, t, opt_float(o->batch_square, 1e4));
    struct skiff_var *means = block_new_var(net, net->frame->block, NULL, t);
    struct skiff_var *scales = block_new_var(net, net->frame->block, NULL, t);
    struct skiff_var *out = o->in_place ? x : block_new_var(net, net->frame->block, NULL, t);
    if (net_failed(net))
        return NULL;
    means->stop_gradient = scales->stop_gradient = true;
    struct part more[2] = {{.kind = PART_END}, {.kind = PART_END}};
    int n = 0;
    if (o->slot_dim > 0)
        more[n++] = (struct part)P_INT("slot_dim", o->slot_dim);
    if (o->scale_and_shift)
        more[n++] = (struct part)P_BOOL("enable_scale_and_shift", true);
    layer_op(net, "data_norm", P_IN("X", x), P_IN("BatchSize", size), P_IN("BatchSum", sum),
             P_IN("BatchSquareSum", square), P_IN("scale_w", scale), P_IN("bias", bias),
             P_OUT("Y", out), P_OUT("Means", means), P_OUT("Scales", scales),
             P_OUT("BatchSize", size), P_OUT("BatchSum", sum), P_OUT("BatchSquareSum", square),
             P_FLOAT("epsilon", opt_float(o->epsilon, 1e-5)), P_BOOL("sync_stats", o->sync_stats),
             P_FLOAT("summary_decay_rate", opt_float(o->summary_decay_rate, 0.9999999)), more[0],
             more[1]);
    return net_failed(net) ? NULL : layer_act(&l, out, o->act);
}

struct skiff_var *skiff_layer_dropout(struct skiff_net *net, struct skiff_var *x, double prob,
                                      const struct skiff_dropout_options *o)
{
    static const struct skiff_dropout_options none;
    o = o ? o : &none;
    if (!net_has(net, "dropout", "x", x))
        return NULL;
    if (!(prob >= 0 && prob <= 1))
        return net_fail(net, SKIFF_RANGE, "layer dropout: dropout_prob %g is not in [0, 1]", prob);
    struct layer l = layer_begin(net, "dropout", o->name);
    struct skiff_var *out = layer_tmp(&l, x->dtype), *mask = layer_tmp_no_grad(&l, DTYPE_UINT8);
    int seed = o->seed, program_seed = net->frame->main->random_seed;
    bool fixed = o->has_seed || seed;
    if (!seed && program_seed) {
        seed = program_seed;
        fixed = true;
    }
    layer_op(net, "dropout", P_IN("X", x), P_OUT("Out", out), P_OUT("Mask", mask),
             P_FLOAT("dropout_prob", prob), P_BOOL("is_test", o->is_test),
             P_BOOL("fix_seed", fixed), P_INT("seed", seed),
             P_STR("dropout_implementation",
                   o->implementation ? o->implementation : "downgrade_in_infer"));
    return net_failed(net) ? NULL : out;
}
