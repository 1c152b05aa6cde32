/* Convolution and pooling of images. */
#include <math.h>
#include <string.h>

#include "layers/helper.h"

struct conv_padding {
    const char *algorithm;
    int n;
    int64_t sizes[4];
};

/* Explicit padding, [h, w] or [top, bottom, left, right] when the ends (may be NULL) differ, or the
 * algorithm's name and zeros. */
static bool padding_of(struct skiff_net *net, const char *layer, const char *algorithm,
                       const int given[2], const int *ends, struct conv_padding *out)
{
    *out = (struct conv_padding){algorithm ? algorithm : "EXPLICIT", 2, {0}};
    if (algorithm && strcmp(algorithm, "SAME") && strcmp(algorithm, "VALID")) {
        net_fail(net, SKIFF_INVALID, "layer %s: unknown padding %s (SAME and VALID are known)",
                 layer, algorithm);
        return false;
    }
    if (algorithm)
        return true;
    if (ends && (ends[0] != given[0] || ends[1] != given[1]))
        out->n = 4;
    for (int i = 0; i < out->n; i++)
        out->sizes[i] = out->n == 2 ? given[i] : i % 2 ? ends[i / 2] : given[i / 2];
    return true;
}

struct skiff_var *skiff_layer_conv2d(struct skiff_net *net, struct skiff_var *x, int num_filters,
                                     int filter_h, int filter_w,
                                     const struct skiff_conv2d_options *o)
{
    static const struct skiff_conv2d_options none;
    o = o ? o : &none;
    if (!net_has(net, "conv2d", "x", x))
        return NULL;
    const char *format = o->data_format ? o->data_format : "NCHW";
    bool last = !strcmp(format, "NHWC");
    int64_t stride[2], dilation[2];
    struct conv_padding padding;
    if (!padding_of(net, "conv2d", o->padding_algorithm, o->padding,
                    o->has_padding_end ? o->padding_end : NULL, &padding))
        return NULL;
    if (x->shape.ndim != 4 || x->shape.dims[last ? 3 : 1] < 0)
        return net_fail(net, SKIFF_SHAPE,
                        "layer conv2d: %s must have four dimensions and known channels", x->name);
    int64_t in_channels = x->shape.dims[last ? 3 : 1];
    int groups = o->groups ? o->groups : 1;
    if (groups < 0 || in_channels % groups)
        return net_fail(net, SKIFF_SHAPE, "layer conv2d: %lld channels cannot be cut in %d groups",
                        (long long)in_channels, groups);
    for (int i = 0; i < 2; i++) {
        stride[i] = opt_int(o->stride[i], 1);
        dilation[i] = opt_int(o->dilation[i], 1);
    }
    bool depthwise = o->groups == in_channels && num_filters % in_channels == 0 && o->no_cudnn;
    struct layer l = layer_begin(net, depthwise ? "depthwise_conv2d" : "conv2d", o->name);
    l.act_cudnn = !o->no_cudnn;
    struct shape shape = SHAPE(num_filters, in_channels / groups, filter_h, filter_w);
    struct skiff_initializer init =
        skiff_init_normal(0.0, sqrt(2.0 / ((double)filter_h * filter_w * (double)in_channels)), 0);
    struct skiff_var *w = layer_param(&l, o->param_attr, &shape, x->dtype, false, &init);
    struct skiff_var *out = layer_tmp(&l, x->dtype);
    layer_op(net, l.type, P_IN("Input", x), P_IN("Filter", w), P_OUT("Output", out),
             P_LONGS("strides", 2, stride), P_LONGS("paddings", padding.n, padding.sizes),
             P_LONGS("dilations", 2, dilation), P_INT("groups", groups),
             P_BOOL("use_cudnn", !o->no_cudnn), P_STR("padding_algorithm", padding.algorithm),
             P_STR("data_format", format));
    if (net_failed(net))
        return NULL;
    return layer_act(&l, layer_bias(&l, out, o->bias_attr, last ? 3 : 1, last ? 4 : 2), o->act);
}

struct skiff_var *skiff_layer_pool2d(struct skiff_net *net, struct skiff_var *x,
                                     const struct skiff_pool2d_options *o)
{
    static const struct skiff_pool2d_options none;
    o = o ? o : &none;
    if (!net_has(net, "pool2d", "x", x))
        return NULL;
    const char *type = o->type ? o->type : "max";
    int64_t stride[2], size[2];
    struct conv_padding padding;
    if (strcmp(type, "max") && strcmp(type, "avg"))
        return net_fail(net, SKIFF_NOT_FOUND, "layer pool2d: unknown type %s (max, avg)", type);
    if (!o->global_pooling && (o->size[0] < 1 || o->size[1] < 1))
        return net_fail(net, SKIFF_INVALID,
                        "layer pool2d: size is needed unless global_pooling is set");
    if (!padding_of(net, "pool2d", o->padding_algorithm, o->padding,
                    o->has_padding_end ? o->padding_end : NULL, &padding))
        return NULL;
    for (int i = 0; i < 2; i++) {
        stride[i] = opt_int(o->stride[i], 1);
        size[i] = o->size[i] ? o->size[i] : -1;
    }
    return layer_unary(
        net, "pool2d", o->name, x,
        PARTS(P_STR("pooling_type", type), P_LONGS("ksize", 2, size),
              P_BOOL("global_pooling", o->global_pooling), P_LONGS("strides", 2, stride),
              P_LONGS("paddings", padding.n, padding.sizes),
              P_STR("padding_algorithm", padding.algorithm), P_BOOL("use_cudnn", !o->no_cudnn),
              P_BOOL("ceil_mode", o->ceil_mode), P_BOOL("exclusive", !o->inclusive),
              P_STR("data_format", o->data_format ? o->data_format : "NCHW")));
}
