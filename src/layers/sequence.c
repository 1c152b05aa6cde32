/* Layers on sequences (variables with LoD).
 *
 * The lod level of a result is declared when the network is built; the offsets exist only when it
 * runs. So layers check ranks and words here, and the ops check lods. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "layers/helper.h"

struct skiff_var *skiff_layer_sequence_pool(struct skiff_net *net, struct skiff_var *x,
                                            const char *pool_type,
                                            const struct skiff_sequence_pool_options *o)
{
    static const struct skiff_sequence_pool_options none;
    o = o ? o : &none;
    if (!net_has(net, "sequence_pool", "x", x))
        return NULL;
    char type[32];
    snprintf(type, sizeof type, "%s", pool_type ? pool_type : "");
    for (char *c = type; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    if (!*type || !strstr(" AVERAGE SUM SQRT MAX LAST FIRST ", type))
        return net_fail(net, SKIFF_NOT_FOUND,
                        "layer sequence_pool: unknown type %s (average, sum, sqrt, max, last and "
                        "first are known)",
                        pool_type ? pool_type : "NULL");
    struct layer l = layer_begin(net, "sequence_pool", NULL);
    struct skiff_var *out = layer_tmp(&l, x->dtype), *index = layer_tmp(&l, x->dtype);
    layer_op(net, "sequence_pool", P_IN("X", x), P_OUT("Out", out), P_OUT("MaxIndex", index),
             P_STR("pooltype", type), P_BOOL("is_test", o->is_test),
             P_FLOAT("pad_value", o->pad_value));
    if (net_failed(net))
        return NULL;
    if (!strcmp(pool_type, "max"))
        index->stop_gradient = true;
    return out;
}

struct skiff_var *skiff_layer_sequence_first_step(struct skiff_net *net, struct skiff_var *x)
{
    return skiff_layer_sequence_pool(net, x, "first", NULL);
}

struct skiff_var *skiff_layer_sequence_last_step(struct skiff_net *net, struct skiff_var *x)
{
    return skiff_layer_sequence_pool(net, x, "last", NULL);
}

struct skiff_var *skiff_layer_sequence_softmax(struct skiff_net *net, struct skiff_var *x,
                                               const char *name)
{
    return layer_unary(net, "sequence_softmax", name, x, PARTS(P_BOOL("use_cudnn", false)));
}

struct skiff_var *skiff_layer_sequence_concat(struct skiff_net *net, struct skiff_vars x,
                                              const char *name)
{
    if (!net_has_all(net, "sequence_concat", "x", x.n, x.v))
        return NULL;
    struct layer l = layer_begin(net, "sequence_concat", name);
    struct skiff_var *out = layer_tmp(&l, x.v[0]->dtype);
    layer_op(net, "sequence_concat", P_INS("X", x.n, x.v), P_OUT("Out", out));
    return net_failed(net) ? NULL : out;
}

static struct skiff_var *expand_by(struct skiff_net *net, const char *type, const char *name,
                                   struct skiff_var *x, struct skiff_var *y, struct part attr)
{
    if (!net_has(net, type, "x", x) || !net_has(net, type, "y", y))
        return NULL;
    struct layer l = layer_begin(net, type, name);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, type, P_IN("X", x), P_IN("Y", y), P_OUT("Out", out), attr);
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_sequence_expand(struct skiff_net *net, struct skiff_var *x,
                                              struct skiff_var *y, int ref_level, const char *name)
{
    return expand_by(net, "sequence_expand", name, x, y,
                     (struct part)P_INT("ref_level", ref_level));
}

struct skiff_var *skiff_layer_sequence_expand_as(struct skiff_net *net, struct skiff_var *x,
                                                 struct skiff_var *y, const char *name)
{
    return expand_by(net, "sequence_expand_as", name, x, y, (struct part){.kind = PART_END});
}

struct skiff_var *skiff_layer_sequence_reshape(struct skiff_net *net, struct skiff_var *x,
                                               int new_dim)
{
    return layer_unary(net, "sequence_reshape", NULL, x, PARTS(P_INT("new_dim", new_dim)));
}

struct skiff_var *skiff_layer_sequence_reverse(struct skiff_net *net, struct skiff_var *x,
                                               const char *name)
{
    if (!net_has(net, "sequence_reverse", "x", x))
        return NULL;
    struct layer l = layer_begin(net, "sequence_reverse", name);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, "sequence_reverse", P_IN("X", x), P_OUT("Y", out));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_sequence_slice(struct skiff_net *net, struct skiff_var *x,
                                             struct skiff_var *offset, struct skiff_var *length,
                                             const char *name)
{
    if (!net_has(net, "sequence_slice", "x", x) ||
        !net_has(net, "sequence_slice", "offset", offset) ||
        !net_has(net, "sequence_slice", "length", length))
        return NULL;
    struct layer l = layer_begin(net, "sequence_slice", name);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    offset->stop_gradient = length->stop_gradient = true;
    layer_op(net, "sequence_slice", P_IN("X", x), P_IN("Offset", offset), P_IN("Length", length),
             P_OUT("Out", out));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_sequence_enumerate(struct skiff_net *net, struct skiff_var *x,
                                                 int win_size, int pad_value, const char *name)
{
    struct skiff_var *out =
        layer_unary(net, "sequence_enumerate", name, x,
                    PARTS(P_INT("win_size", win_size), P_INT("pad_value", pad_value)));
    if (out)
        out->stop_gradient = true;
    return out;
}

struct skiff_var *skiff_layer_sequence_erase(struct skiff_net *net, struct skiff_var *x,
                                             struct skiff_dims tokens)
{
    return layer_unary(net, "sequence_erase", NULL, x,
                       PARTS(P_LONGS("tokens", tokens.n, tokens.d)));
}

struct skiff_var *skiff_layer_sequence_mask(struct skiff_net *net, struct skiff_var *x, int maxlen,
                                            const char *dtype, const char *name)
{
    if (!net_has(net, "sequence_mask", "x", x))
        return NULL;
    struct layer l = layer_begin(net, "sequence_mask", name);
    enum dtype type = net_dtype(net, "sequence_mask", dtype, DTYPE_INT64);
    struct skiff_var *out = layer_tmp_no_grad(&l, type);
    struct part maxlen_part = {.kind = PART_END};
    if (maxlen > 0)
        maxlen_part = (struct part)P_INT("maxlen", maxlen);
    layer_op(net, "sequence_mask", P_IN("X", x), P_OUT("Y", out), P_INT("out_dtype", type),
             maxlen_part);
    return net_failed(net) ? NULL : out;
}

struct skiff_sequence_pad skiff_layer_sequence_pad(struct skiff_net *net, struct skiff_var *x,
                                                   struct skiff_var *pad_value, int maxlen,
                                                   const char *name)
{
    struct skiff_sequence_pad r = {0};
    if (!net_has(net, "sequence_pad", "x", x) ||
        !net_has(net, "sequence_pad", "pad_value", pad_value))
        return r;
    struct layer l = layer_begin(net, "sequence_pad", name);
    struct skiff_var *out = layer_tmp(&l, x->dtype), *length = layer_tmp_no_grad(&l, DTYPE_INT64);
    pad_value->stop_gradient = true;
    if (layer_op(net, "sequence_pad", P_IN("X", x), P_IN("PadValue", pad_value), P_OUT("Out", out),
                 P_OUT("Length", length), P_INT("padded_length", maxlen > 0 ? maxlen : -1)))
        r = (struct skiff_sequence_pad){out, length};
    return r;
}

struct skiff_var *skiff_layer_sequence_unpad(struct skiff_net *net, struct skiff_var *x,
                                             struct skiff_var *length, const char *name)
{
    if (!net_has(net, "sequence_unpad", "x", x) ||
        !net_has(net, "sequence_unpad", "length", length))
        return NULL;
    struct layer l = layer_begin(net, "sequence_unpad", name);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    length->stop_gradient = true;
    layer_op(net, "sequence_unpad", P_IN("X", x), P_IN("Length", length), P_OUT("Out", out));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_sequence_conv(struct skiff_net *net, struct skiff_var *x,
                                            int num_filters,
                                            const struct skiff_sequence_conv_options *o)
{
    static const struct skiff_sequence_conv_options none;
    o = o ? o : &none;
    if (!net_has(net, "sequence_conv", "x", x))
        return NULL;
    if (x->shape.ndim != 2)
        return net_fail(net, SKIFF_SHAPE, "layer sequence_conv: %s must have two dimensions",
                        x->name);
    struct layer l = layer_begin(net, "sequence_conv", o->name);
    int size = opt_int(o->filter_size, 3);
    struct shape shape = SHAPE(size * x->shape.dims[1], num_filters);
    struct skiff_var *w = layer_param(&l, o->param_attr, &shape, x->dtype, false, NULL);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, "sequence_conv", P_IN("X", x), P_IN("Filter", w), P_OUT("Out", out),
             P_INT("contextStride", opt_int(o->filter_stride, 1)),
             P_INT("contextStart", o->has_padding_start ? o->padding_start : -(size / 2)),
             P_INT("contextLength", size));
    if (net_failed(net))
        return NULL;
    return layer_act(&l, layer_bias(&l, out, o->bias_attr, 1, 0), o->act);
}

struct skiff_var *skiff_layer_row_conv(struct skiff_net *net, struct skiff_var *x,
                                       int future_context_size,
                                       const struct skiff_row_conv_options *o)
{
    static const struct skiff_row_conv_options none;
    o = o ? o : &none;
    if (!net_has(net, "row_conv", "x", x))
        return NULL;
    if (future_context_size < 0 || x->shape.ndim < 1)
        return net_fail(net, SKIFF_INVALID,
                        "layer row_conv: future_context_size %d of %s with %d dims; expected 0 or "
                        "more, and at least one dim",
                        future_context_size, x->name, x->shape.ndim);
    struct layer l = layer_begin(net, "row_conv", NULL);
    struct shape shape = SHAPE(future_context_size + 1, x->shape.dims[x->shape.ndim - 1]);
    struct skiff_var *w = layer_param(&l, o->param_attr, &shape, x->dtype, false, NULL);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, "row_conv", P_IN("X", x), P_IN("Filter", w), P_OUT("Out", out));
    return net_failed(net) ? NULL : layer_act(&l, out, o->act);
}

struct skiff_var *skiff_layer_lod_reset(struct skiff_net *net, struct skiff_var *x,
                                        struct skiff_var *y, int n, const int64_t *target_lod)
{
    if (!net_has(net, "lod_reset", "x", x))
        return NULL;
    if (!y && n < 1)
        return net_fail(net, SKIFF_INVALID, "layer lod_reset: neither y nor target_lod is given");
    struct layer l = layer_begin(net, "lod_reset", NULL);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    if (y)
        layer_op(net, "lod_reset", P_IN("X", x), P_IN("Y", y), P_OUT("Out", out));
    else
        layer_op(net, "lod_reset", P_IN("X", x), P_OUT("Out", out),
                 P_LONGS("target_lod", n, target_lod));
    return net_failed(net) ? NULL : out;
}

struct skiff_var *skiff_layer_continuous_value_model(struct skiff_net *net, struct skiff_var *x,
                                                     struct skiff_var *cvm, bool use_cvm)
{
    if (!net_has(net, "continuous_value_model", "x", x) ||
        !net_has(net, "continuous_value_model", "cvm", cvm))
        return NULL;
    layer_begin(net, "cvm", NULL);
    struct skiff_var *out = block_new_var(net, net->frame->block, NULL, x->dtype);
    layer_op(net, "cvm", P_IN("X", x), P_IN("CVM", cvm), P_OUT("Y", out),
             P_BOOL("use_cvm", use_cvm));
    return net_failed(net) ? NULL : out;
}

struct skiff_filtered skiff_layer_filter_by_instag(struct skiff_net *net, struct skiff_var *ins,
                                                   struct skiff_var *ins_tag,
                                                   struct skiff_var *filter_tag, bool is_lod,
                                                   int64_t out_val_if_empty)
{
    struct skiff_filtered r = {0};
    if (!net_has(net, "filter_by_instag", "ins", ins) ||
        !net_has(net, "filter_by_instag", "ins_tag", ins_tag) ||
        !net_has(net, "filter_by_instag", "filter_tag", filter_tag))
        return r;
    struct layer l = layer_begin(net, "filter_by_instag", NULL);
    struct skiff_var *out = layer_tmp(&l, ins->dtype), *weight = layer_tmp(&l, DTYPE_FP64);
    struct skiff_var *map = layer_tmp(&l, ins_tag->dtype);
    if (layer_op(net, "filter_by_instag", P_IN("Ins", ins), P_IN("Ins_tag", ins_tag),
                 P_IN("Filter_tag", filter_tag), P_OUT("Out", out), P_OUT("LossWeight", weight),
                 P_OUT("IndexMap", map), P_BOOL("is_lod", is_lod),
                 P_INT("out_val_if_empty", out_val_if_empty)))
        r = (struct skiff_filtered){out, weight};
    return r;
}
