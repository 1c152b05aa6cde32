/* Fully connected layers and look-ups in tables. */
#include <stdlib.h>

#include "base/mem.h"
#include "layers/helper.h"

/* x times a new weight of [product of its last dims, size]. */
static struct skiff_var *fc_mul(struct layer *l, struct skiff_var *x, int flatten, int64_t size,
                                const struct skiff_param_attr *attr)
{
    char text[160];
    if (flatten < 1 || flatten >= x->shape.ndim)
        return net_fail(l->net, SKIFF_SHAPE,
                        "layer fc: num_flatten_dims %d does not fit input %s of shape %s", flatten,
                        x->name, shape_text(&x->shape, text));
    int64_t width = 1;
    for (int i = flatten; i < x->shape.ndim; i++) {
        if (x->shape.dims[i] < 0)
            return net_fail(l->net, SKIFF_SHAPE,
                            "layer fc: input %s has the shape %s; the dimensions after the first "
                            "%d must be known",
                            x->name, shape_text(&x->shape, text), flatten);
        width *= x->shape.dims[i];
    }
    struct shape shape = SHAPE(width, size);
    struct skiff_var *w = layer_param(l, attr, &shape, x->dtype, false, NULL);
    struct skiff_var *out = layer_tmp(l, x->dtype);
    layer_op(l->net, "mul", P_IN("X", x), P_IN("Y", w), P_OUT("Out", out),
             P_INT("x_num_col_dims", flatten), P_INT("y_num_col_dims", 1));
    return net_failed(l->net) ? NULL : out;
}

struct skiff_var *skiff_layer_fc(struct skiff_net *net, struct skiff_vars input, int64_t size,
                                 const struct skiff_fc_options *o)
{
    static const struct skiff_fc_options none;
    o = o ? o : &none;
    if (!net_has_all(net, "fc", "input", input.n, input.v))
        return NULL;
    if (size < 1)
        return net_fail(net, SKIFF_INVALID, "layer fc: size is %lld, it must be positive",
                        (long long)size);
    struct layer l = layer_begin(net, "fc", o->name);
    int flatten = opt_int(o->num_flatten_dims, 1);
    struct skiff_var **parts = mem_alloc_or_die((size_t)input.n * sizeof *parts), *out = NULL;
    for (int i = 0; i < input.n && !net_failed(net); i++) {
        if (flatten == -1)
            flatten = input.v[i]->shape.ndim - 1;
        if (input.v[i]->dtype != input.v[0]->dtype)
            net_fail(net, SKIFF_DTYPE, "layer fc: input %s is %s, input %s is %s", input.v[0]->name,
                     dtype_name(input.v[0]->dtype), input.v[i]->name,
                     dtype_name(input.v[i]->dtype));
        parts[i] = fc_mul(&l, input.v[i], flatten, size, o->param_attr);
    }
    if (net_failed(net))
        goto out;
    out = parts[0];
    if (input.n > 1) {
        out = layer_tmp(&l, input.v[0]->dtype);
        layer_op(net, "sum", P_INS("X", input.n, parts), P_OUT("Out", out));
    }
    out = layer_bias(&l, out, o->bias_attr, flatten, 0);
    out = layer_act(&l, out, o->act);
out:
    free(parts);
    return net_failed(net) ? NULL : out;
}

static struct skiff_var *lookup(struct skiff_net *net, const char *type, const char *helper,
                                struct skiff_var *ids, int64_t rows, int64_t width,
                                const struct skiff_embedding_options *o)
{
    static const struct skiff_embedding_options none;
    o = o ? o : &none;
    if (!net_has_type(net, "embedding", "input", ids, "int64"))
        return NULL;
    if (rows < 1 || width < 1)
        return net_fail(net, SKIFF_INVALID, "layer embedding: size [%lld, %lld] is not positive",
                        (long long)rows, (long long)width);
    int64_t padding = o->has_padding ? o->padding_idx : -1;
    if (o->has_padding && padding < 0)
        padding += rows;
    if (padding < -1 || padding >= rows)
        return net_fail(net, SKIFF_RANGE, "layer embedding: padding_idx %lld of %lld rows",
                        (long long)o->padding_idx, (long long)rows);
    struct layer l = layer_begin(net, helper, NULL);
    struct shape shape = SHAPE(rows, width);
    enum dtype dtype = net_dtype(net, "embedding", o->dtype, DTYPE_FP32);
    struct skiff_var *w = layer_param(&l, o->param_attr, &shape, dtype, false, NULL);
    struct skiff_var *out = layer_tmp(&l, dtype);
    layer_op(net, type, P_IN("Ids", ids), P_IN("W", w), P_OUT("Out", out),
             P_BOOL("is_sparse", o->is_sparse), P_BOOL("is_distributed", o->is_distributed),
             P_BOOL("remote_prefetch", o->is_sparse && !o->is_distributed),
             P_INT("padding_idx", padding), P_STR("combiner", "sum"));
    if (net_failed(net))
        return NULL;
    if (w->param) /* not one of weight_norm, which is computed */
        w->param->is_distributed = o->is_distributed;
    return out;
}

struct skiff_var *skiff_layer_embedding(struct skiff_net *net, struct skiff_var *input,
                                        int64_t rows, int64_t width,
                                        const struct skiff_embedding_options *o)
{
    return lookup(net, "lookup_table", "embedding", input, rows, width, o);
}

struct skiff_var *skiff_layer_embedding_v2(struct skiff_net *net, struct skiff_var *input,
                                           int64_t rows, int64_t width,
                                           const struct skiff_embedding_options *o)
{
    return lookup(net, "lookup_table_v2", "embedding", input, rows, width, o);
}

struct skiff_var *skiff_layer_fused_embedding_seq_pool(struct skiff_net *net,
                                                       struct skiff_var *input, int64_t rows,
                                                       int64_t width,
                                                       const struct skiff_embedding_options *o)
{
    return lookup(net, "fused_embedding_seq_pool", "fused_embedding_seq_pool", input, rows, width,
                  o);
}
