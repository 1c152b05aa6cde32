/* Activations and other layers of one input X and one output Out of the same shape.
 *
 * Most are one call of layer_unary with the op's name and attributes. Where Fluid's layer passes
 * something else than its documentation says (beta of swish), the layer here does the same,
 * because programs must equal Fluid's (tests/parity). */
#include <string.h>

#include "layers/helper.h"

#define DEFINE_UNARY(name)                                                           \
    struct skiff_var *skiff_layer_##name(struct skiff_net *net, struct skiff_var *x) \
    {                                                                                \
        return layer_unary(net, #name, NULL, x, NULL);                               \
    }
SKIFF_UNARY_LAYERS(DEFINE_UNARY)

static const struct skiff_act_options act_defaults;

struct skiff_var *skiff_layer_leaky_relu(struct skiff_net *net, struct skiff_var *x,
                                         const struct skiff_act_options *o)
{
    o = o ? o : &act_defaults;
    return layer_unary(net, "leaky_relu", o->name, x,
                       PARTS(P_FLOAT("alpha", opt_float(o->alpha, 0.02))));
}

struct skiff_var *skiff_layer_hard_sigmoid(struct skiff_net *net, struct skiff_var *x,
                                           const struct skiff_act_options *o)
{
    o = o ? o : &act_defaults;
    return layer_unary(net, "hard_sigmoid", o->name, x,
                       PARTS(P_FLOAT("slope", opt_float(o->slope, 0.2)),
                             P_FLOAT("offset", opt_float(o->offset, 0.5))));
}

struct skiff_var *skiff_layer_relu6(struct skiff_net *net, struct skiff_var *x,
                                    const struct skiff_act_options *o)
{
    o = o ? o : &act_defaults;
    return layer_unary(net, "relu6", o->name, x,
                       PARTS(P_FLOAT("threshold", opt_float(o->threshold, 6.0))));
}

/* Fluid passes beta as `slope`, which the op does not declare: beta stays 1. */
struct skiff_var *skiff_layer_swish(struct skiff_net *net, struct skiff_var *x,
                                    const struct skiff_act_options *o)
{
    o = o ? o : &act_defaults;
    return layer_unary(net, "swish", o->name, x, PARTS(P_FLOAT("slope", opt_float(o->beta, 1.0))));
}

struct skiff_var *skiff_layer_pow(struct skiff_net *net, struct skiff_var *x,
                                  const struct skiff_act_options *o)
{
    o = o ? o : &act_defaults;
    if (!o->factor_var)
        return layer_unary(net, "pow", o->name, x,
                           PARTS(P_FLOAT("factor", opt_float(o->factor, 1.0))));
    if (!net_has(net, "pow", "factor_var", o->factor_var))
        return NULL;
    o->factor_var->stop_gradient = true;
    return layer_unary(net, "pow", o->name, x, PARTS(P_IN("FactorTensor", o->factor_var)));
}

struct skiff_var *skiff_layer_gelu(struct skiff_net *net, struct skiff_var *x,
                                   const struct skiff_act_options *o)
{
    o = o ? o : &act_defaults;
    return layer_unary(net, "gelu", o->name, x, PARTS(P_BOOL("approximate", o->approximate)));
}

struct skiff_var *skiff_layer_elu(struct skiff_net *net, struct skiff_var *x,
                                  const struct skiff_act_options *o)
{
    o = o ? o : &act_defaults;
    return layer_unary(net, "elu", o->name, x, PARTS(P_FLOAT("alpha", opt_float(o->alpha, 1.0))));
}

struct skiff_var *skiff_layer_prelu(struct skiff_net *net, struct skiff_var *x, const char *mode,
                                    const struct skiff_param_attr *param_attr, const char *name)
{
    if (!net_has(net, "prelu", "x", x))
        return NULL;
    struct layer l = layer_begin(net, "prelu", name);
    struct shape alpha = SHAPE(1);
    if (!strcmp(mode, "channel")) {
        if (x->shape.ndim < 2)
            return net_fail(net, SKIFF_SHAPE, "layer prelu: %s has one dimension, no channels",
                            x->name);
        alpha = SHAPE(1, x->shape.dims[1], 1, 1);
    } else if (!strcmp(mode, "element")) {
        alpha = x->shape;
        alpha.dims[0] = 1;
    } else if (strcmp(mode, "all")) {
        return net_fail(net, SKIFF_INVALID,
                        "layer prelu: unknown mode %s (all, channel and element are known)", mode);
    }
    struct skiff_initializer quarter = skiff_init_constant(0.25);
    struct skiff_var *a = layer_param(&l, param_attr, &alpha, DTYPE_FP32, false, &quarter);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, "prelu", P_IN("X", x), P_IN("Alpha", a), P_OUT("Out", out), P_STR("mode", mode));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_softmax(struct skiff_net *net, struct skiff_var *x,
                                      const struct skiff_softmax_options *o)
{
    static const struct skiff_softmax_options none;
    o = o ? o : &none;
    return layer_unary(
        net, "softmax", o->name, x,
        PARTS(P_INT("axis", opt_int(o->axis, -1)), P_BOOL("use_cudnn", o->use_cudnn)));
}

struct skiff_var *skiff_layer_scale(struct skiff_net *net, struct skiff_var *x,
                                    const struct skiff_scale_options *o)
{
    static const struct skiff_scale_options none;
    o = o ? o : &none;
    if (!net_has(net, "scale", "x", x))
        return NULL;
    if (o->scale_var && !net_has(net, "scale", "scale_var", o->scale_var))
        return NULL;
    struct layer l = layer_begin(net, "scale", o->name);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    struct part scale = o->scale_var ? (struct part)P_IN("ScaleTensor", o->scale_var)
                                     : (struct part)P_FLOAT("scale", opt_float(o->scale, 1.0));
    layer_op(net, "scale", P_IN("X", x), scale, P_OUT("Out", out), P_FLOAT("bias", o->bias),
             P_BOOL("bias_after_scale", !o->bias_before_scale));
    return net_failed(net) ? NULL : layer_act(&l, out, o->act);
}

/* clip and clip_by_norm keep the kind of their input: a sparse gradient stays sparse. */
static struct skiff_var *clip_like(struct skiff_net *net, const char *type, const char *name,
                                   struct skiff_var *x, const struct part *attrs)
{
    if (!net_has(net, type, "x", x))
        return NULL;
    struct layer l = layer_begin(net, type, name);
    const char *out_name =
        name ? name : names_next(net->names, arena_printf(&net->arena, "%s.tmp", l.name));
    struct skiff_var *out = block_new_var(net, net->frame->block, out_name, x->dtype);
    out->kind = x->kind;
    out->persistable = PRESENCE_FALSE;
    struct part parts[5] = {P_IN("X", x), P_OUT("Out", out), attrs[0], attrs[1]};
    return net_put_op(net, net->frame->block, -1, type, parts) ? out : NULL;
}

struct skiff_var *skiff_layer_clip(struct skiff_net *net, struct skiff_var *x, double min,
                                   double max, const char *name)
{
    return clip_like(net, "clip", name, x, PARTS(P_FLOAT("min", min), P_FLOAT("max", max)));
}

struct skiff_var *skiff_layer_clip_by_norm(struct skiff_net *net, struct skiff_var *x,
                                           double max_norm, const char *name)
{
    return clip_like(net, "clip_by_norm", name, x, PARTS(P_FLOAT("max_norm", max_norm)));
}

struct skiff_var *skiff_layer_cast(struct skiff_net *net, struct skiff_var *x, const char *dtype)
{
    if (!net_has(net, "cast", "x", x))
        return NULL;
    struct layer l = layer_begin(net, "cast", NULL);
    struct skiff_var *out = layer_tmp(&l, net_dtype(net, "cast", dtype, x->dtype));
    if (!out)
        return NULL;
    layer_op(net, "cast", P_IN("X", x), P_OUT("Out", out), P_INT("in_dtype", x->dtype),
             P_INT("out_dtype", out->dtype));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_isfinite(struct skiff_net *net, struct skiff_var *x)
{
    if (!net_has(net, "isfinite", "x", x))
        return NULL;
    struct layer l = layer_begin(net, "isfinite", NULL);
    struct skiff_var *out = layer_tmp(&l, DTYPE_BOOL);
    layer_op(net, "isfinite", P_IN("X", x), P_OUT("Out", out));
    return net_failed(net) ? NULL : out;
}
