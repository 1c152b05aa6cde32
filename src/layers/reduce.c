/* Sums, means and other reductions. */
#include "layers/helper.h"

struct skiff_var *skiff_layer_mean(struct skiff_net *net, struct skiff_var *x, const char *name)
{
    return layer_unary(net, "mean", name, x, NULL);
}

static struct skiff_var *reduce(struct skiff_net *net, const char *type, struct skiff_var *x,
                                const struct skiff_reduce_options *o)
{
    static const struct skiff_reduce_options none;
    o = o ? o : &none;
    if (!net_has(net, type, "x", x))
        return NULL;
    for (int i = 0; i < o->dim.n; i++)
        if (o->dim.d[i] < -x->shape.ndim || o->dim.d[i] >= x->shape.ndim) {
            char text[160];
            return net_fail(net, SKIFF_SHAPE, "layer %s: dim %lld of input %s with shape %s", type,
                            (long long)o->dim.d[i], x->name, shape_text(&x->shape, text));
        }
    bool all = o->dim.n == 0;
    const int64_t zero = 0;
    return layer_unary(net, type, o->name, x,
                       PARTS(P_LONGS("dim", all ? 1 : o->dim.n, all ? &zero : o->dim.d),
                             P_BOOL("keep_dim", o->keep_dim), P_BOOL("reduce_all", all)));
}

#define DEFINE_REDUCE(name)                                                                 \
    struct skiff_var *skiff_layer_reduce_##name(struct skiff_net *net, struct skiff_var *x, \
                                                const struct skiff_reduce_options *o)       \
    {                                                                                       \
        return reduce(net, "reduce_" #name, x, o);                                          \
    }
SKIFF_REDUCE_LAYERS(DEFINE_REDUCE)

struct skiff_var *skiff_layer_sums(struct skiff_net *net, struct skiff_vars x,
                                   struct skiff_var *out)
{
    if (!net_has_all(net, "sums", "x", x.n, x.v))
        return NULL;
    struct layer l = layer_begin(net, "sum", NULL);
    if (!out)
        out = layer_tmp(&l, x.v[0]->dtype);
    layer_op(net, "sum", P_INS("X", x.n, x.v), P_OUT("Out", out));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_l2_normalize(struct skiff_net *net, struct skiff_var *x, int axis,
                                           double epsilon, const char *name)
{
    if (!net_has(net, "l2_normalize", "x", x))
        return NULL;
    struct layer l = layer_begin(net, "l2_normalize", name);
    struct skiff_var *out = layer_tmp(&l, x->dtype), *norm = layer_tmp(&l, x->dtype);
    layer_op(net, "norm", P_IN("X", x), P_OUT("Out", out), P_OUT("Norm", norm),
             P_INT("axis", x->shape.ndim == 1 ? 0 : axis),
             P_FLOAT("epsilon", opt_float(epsilon, 1e-12)));
    return net_failed(net) ? NULL : out;
}
