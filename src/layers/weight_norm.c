/* WeightNormParamAttr: a weight whose length is a parameter of its own.
 *
 *   w = v g / |v|, where |v| is the norm over all dimensions, or over all but one (g has its size)
 *
 * v begins as the weight would, g as its length, so that w begins as the weight would. */
#include "layers/helper.h"

/* A variable of that block for one step of a norm. */
static struct skiff_var *step(struct layer *l, struct skiff_block *b, const char *what,
                              enum dtype dtype)
{
    const char *key = arena_printf(&l->net->arena, "%s.weight_norm_%s", l->name, what);
    struct skiff_var *v = block_new_var(l->net, b, names_next(l->net->names, key), dtype);
    if (v)
        v->persistable = PRESENCE_FALSE;
    return v;
}

/* Into `out`: the norm of v over all dimensions but `dim` (-1: over all), which keep the size 1. */
static void put_norm(struct layer *l, struct skiff_block *b, struct skiff_var *v, int dim,
                     struct skiff_var *out)
{
    int64_t axes[TENSOR_MAX_DIMS];
    int n = 0;
    for (int i = 0; i < v->shape.ndim; i++)
        if (i != dim)
            axes[n++] = i;
    struct skiff_var *size = step(l, b, "abs", v->dtype);
    struct skiff_var *square = step(l, b, "pow", v->dtype);
    struct skiff_var *sum = n ? step(l, b, "sum", v->dtype) : square;
    if (net_failed(l->net))
        return;
    net_put_op(l->net, b, -1, "abs", PARTS(P_IN("X", v), P_OUT("Out", size)));
    net_put_op(l->net, b, -1, "pow",
               PARTS(P_IN("X", size), P_OUT("Out", square), P_FLOAT("factor", 2)));
    if (n)
        net_put_op(l->net, b, -1, "reduce_sum",
                   PARTS(P_IN("X", square), P_OUT("Out", sum), P_LONGS("dim", n, axes),
                         P_BOOL("keep_dim", true)));
    net_put_op(l->net, b, -1, "pow",
               PARTS(P_IN("X", sum), P_OUT("Out", out), P_FLOAT("factor", 0.5)));
}

/* The parameter `name` with the suffix, and the rest of the attribute. */
static struct skiff_var *part_of(struct layer *l, const struct skiff_param_attr *attr,
                                 const char *name, const char *suffix, const struct shape *shape,
                                 enum dtype dtype, const struct skiff_initializer *init)
{
    struct skiff_param_attr own = *attr;
    own.name = arena_printf(&l->net->arena, "%s%s", name, suffix);
    own.initializer = *init;
    own.weight_norm = false;
    return layer_param(l, &own, shape, dtype, false, NULL);
}

/* g of the startup program becomes the length of v, once. */
static void start_length(struct layer *l, const struct skiff_var *g, const struct skiff_var *v,
                         int dim)
{
    struct skiff_block *b = program_root(l->net->frame->startup);
    struct skiff_var *start = block_own_var(b, g->name);
    int writers = 0;
    for (int i = 0; i < b->nops; i++)
        writers += op_writes(b->ops[i], g->name);
    if (start && writers == 1) /* its initializer alone */
        put_norm(l, b, block_own_var(b, v->name), dim, start);
}

struct skiff_var *layer_weight_norm(struct layer *l, const struct skiff_param_attr *attr,
                                    const char *name, const struct shape *shape, enum dtype dtype,
                                    const struct skiff_initializer *init)
{
    struct skiff_net *net = l->net;
    struct skiff_initializer ones = skiff_init_constant(1);
    struct shape length = *shape;
    int64_t want = attr->has_norm_dim ? attr->norm_dim : -1;
    int dim = (int)want;
    if (want < -1 || want >= shape->ndim || (attr->has_norm_dim && want < 0))
        return net_fail(net, SKIFF_INVALID,
                        "layer %s: weight_norm of parameter %s by dimension %lld; it has %d",
                        l->type, name, (long long)want, shape->ndim);
    for (int i = 0; i < shape->ndim; i++)
        length.dims[i] = i == dim ? shape->dims[i] : 1;
    struct skiff_var *g = part_of(l, attr, name, "_g", &length, dtype, &ones);
    struct skiff_var *v = part_of(l, attr, name, "_v", shape, dtype, init);
    if (net_failed(net))
        return NULL;
    start_length(l, g, v, dim);
    struct skiff_var *norm = step(l, net->frame->block, "norm", dtype);
    put_norm(l, net->frame->block, v, dim, norm);
    struct layer division = layer_begin(net, "elementwise_div", NULL);
    struct skiff_var *scale = layer_tmp(&division, dtype);
    layer_op(net, "elementwise_div", P_IN("X", g), P_IN("Y", norm), P_OUT("Out", scale),
             P_INT("axis", -1));
    if (dim >= 0)
        scale = skiff_reshape(net, scale, SKIFF_DIMS(shape->dims[dim]));
    struct layer product = layer_begin(net, "elementwise_mul", NULL);
    struct skiff_var *w = layer_tmp(&product, dtype);
    layer_op(net, "elementwise_mul", P_IN("X", v), P_IN("Y", scale), P_OUT("Out", w),
             P_INT("axis", dim));
    return net_failed(net) ? NULL : w;
}
