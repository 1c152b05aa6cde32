/* Layers of two inputs, element by element, and products of matrices.
 *
 * Arithmetic layers broadcast Y along `axis` and accept an activation. Comparisons and logic may
 * write to a given variable and carry no gradient. The result's type is the one that the Fluid
 * layer declares, even where the op's shape rule would give another. */
#include "layers/helper.h"

static struct skiff_var *elementwise(struct skiff_net *net, const char *type, struct skiff_var *x,
                                     struct skiff_var *y, const struct skiff_elementwise_options *o)
{
    static const struct skiff_elementwise_options none;
    o = o ? o : &none;
    if (!net_has(net, type, "x", x) || !net_has(net, type, "y", y))
        return NULL;
    struct layer l = layer_begin(net, type, o->name);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, type, P_IN("X", x), P_IN("Y", y), P_OUT("Out", out),
             P_INT("axis", opt_int(o->axis, -1)));
    return net_failed(net) ? NULL : layer_act(&l, out, o->act);
}

#define DEFINE_ELEMENTWISE(name)                                                                 \
    struct skiff_var *skiff_layer_elementwise_##name(struct skiff_net *net, struct skiff_var *x, \
                                                     struct skiff_var *y,                        \
                                                     const struct skiff_elementwise_options *o)  \
    {                                                                                            \
        return elementwise(net, "elementwise_" #name, x, y, o);                                  \
    }
SKIFF_ELEMENTWISE_LAYERS(DEFINE_ELEMENTWISE)

/* Results are boolean and carry no gradient. */
static struct skiff_var *compare(struct skiff_net *net, const char *type, struct skiff_var *x,
                                 struct skiff_var *y, struct skiff_var *out)
{
    if (!net_has(net, type, "x", x) || !net_has(net, type, "y", y))
        return NULL;
    struct layer l = layer_begin(net, type, NULL);
    if (!out)
        out = layer_tmp_no_grad(&l, DTYPE_BOOL);
    layer_op(net, type, P_IN("X", x), P_IN("Y", y), P_OUT("Out", out));
    return net_failed(net) ? NULL : out;
}

#define DEFINE_COMPARE(name)                                                         \
    struct skiff_var *skiff_layer_##name(struct skiff_net *net, struct skiff_var *x, \
                                         struct skiff_var *y, struct skiff_var *out) \
    {                                                                                \
        return compare(net, #name, x, y, out);                                       \
    }
SKIFF_COMPARE_LAYERS(DEFINE_COMPARE)

static struct skiff_var *logical(struct skiff_net *net, const char *type, struct skiff_var *x,
                                 struct skiff_var *y, struct skiff_var *out)
{
    if (!net_has_type(net, type, "x", x, "bool") || (y && !net_has_type(net, type, "y", y, "bool")))
        return NULL;
    struct layer l = layer_begin(net, type, NULL);
    if (!out)
        out = layer_tmp(&l, x->dtype);
    if (y)
        layer_op(net, type, P_IN("X", x), P_IN("Y", y), P_OUT("Out", out));
    else
        layer_op(net, type, P_IN("X", x), P_OUT("Out", out));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_logical_and(struct skiff_net *net, struct skiff_var *x,
                                          struct skiff_var *y, struct skiff_var *out)
{
    return logical(net, "logical_and", x, y, out);
}

struct skiff_var *skiff_layer_logical_or(struct skiff_net *net, struct skiff_var *x,
                                         struct skiff_var *y, struct skiff_var *out)
{
    return logical(net, "logical_or", x, y, out);
}

struct skiff_var *skiff_layer_logical_xor(struct skiff_net *net, struct skiff_var *x,
                                          struct skiff_var *y, struct skiff_var *out)
{
    return logical(net, "logical_xor", x, y, out);
}

struct skiff_var *skiff_layer_logical_not(struct skiff_net *net, struct skiff_var *x,
                                          struct skiff_var *out)
{
    return logical(net, "logical_not", x, NULL, out);
}

struct skiff_var *skiff_layer_matmul(struct skiff_net *net, struct skiff_var *x,
                                     struct skiff_var *y, const struct skiff_matmul_options *o)
{
    static const struct skiff_matmul_options none;
    o = o ? o : &none;
    if (!net_has(net, "matmul", "x", x) || !net_has(net, "matmul", "y", y))
        return NULL;
    struct layer l = layer_begin(net, "matmul", o->name);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, "matmul", P_IN("X", x), P_IN("Y", y), P_OUT("Out", out),
             P_BOOL("transpose_X", o->transpose_x), P_BOOL("transpose_Y", o->transpose_y),
             P_FLOAT("alpha", opt_float(o->alpha, 1.0)));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_mul(struct skiff_net *net, struct skiff_var *x, struct skiff_var *y,
                                  const struct skiff_mul_options *o)
{
    static const struct skiff_mul_options none;
    o = o ? o : &none;
    if (!net_has(net, "mul", "x", x) || !net_has(net, "mul", "y", y))
        return NULL;
    struct layer l = layer_begin(net, "mul", o->name);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, "mul", P_IN("X", x), P_IN("Y", y), P_OUT("Out", out),
             P_INT("x_num_col_dims", opt_int(o->x_num_col_dims, 1)),
             P_INT("y_num_col_dims", opt_int(o->y_num_col_dims, 1)));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_dot(struct skiff_net *net, struct skiff_var *x, struct skiff_var *y,
                                  const char *name)
{
    if (!net_has(net, "dot", "x", x) || !net_has(net, "dot", "y", y))
        return NULL;
    struct layer l = layer_begin(net, "dot", name);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, "dot", P_IN("X", x), P_IN("Y", y), P_OUT("Out", out));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_cos_sim(struct skiff_net *net, struct skiff_var *x,
                                      struct skiff_var *y)
{
    if (!net_has(net, "cos_sim", "x", x) || !net_has(net, "cos_sim", "y", y))
        return NULL;
    struct layer l = layer_begin(net, "cos_sim", NULL);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    struct skiff_var *xnorm = layer_tmp(&l, x->dtype), *ynorm = layer_tmp(&l, x->dtype);
    layer_op(net, "cos_sim", P_IN("X", x), P_IN("Y", y), P_OUT("Out", out), P_OUT("XNorm", xnorm),
             P_OUT("YNorm", ynorm));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_bilinear_tensor_product(struct skiff_net *net, struct skiff_var *x,
                                                      struct skiff_var *y, int64_t size,
                                                      const struct skiff_fc_options *o)
{
    static const struct skiff_fc_options none;
    o = o ? o : &none;
    if (!net_has(net, "bilinear_tensor_product", "x", x) ||
        !net_has(net, "bilinear_tensor_product", "y", y))
        return NULL;
    if (x->shape.ndim != 2 || y->shape.ndim != 2)
        return net_fail(net, SKIFF_SHAPE,
                        "layer bilinear_tensor_product: %s and %s must have two dimensions",
                        x->name, y->name);
    struct layer l = layer_begin(net, "bilinear_tensor_product", o->name);
    struct shape ws = SHAPE(size, x->shape.dims[1], y->shape.dims[1]), bs = SHAPE(1, size);
    struct skiff_var *w = layer_param(&l, o->param_attr, &ws, x->dtype, false, NULL);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    struct skiff_var *b = layer_param(&l, o->bias_attr, &bs, x->dtype, true, NULL);
    layer_op(net, "bilinear_tensor_product", P_IN("X", x), P_IN("Y", y), P_IN("Weight", w),
             P_IN("Bias", b), P_OUT("Out", out));
    return net_failed(net) ? NULL : layer_act(&l, out, o->act);
}
