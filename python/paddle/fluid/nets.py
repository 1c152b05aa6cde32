"""fluid.nets: small groups of layers."""
from paddle import _names
from paddle.fluid import layers
from paddle.fluid.layer_helper import check_variable

__all__ = ["simple_img_conv_pool", "sequence_conv_pool", "glu", "scaled_dot_product_attention", "img_conv_group"]


def simple_img_conv_pool(input, num_filters, filter_size, pool_size, pool_stride, pool_padding=0, pool_type="max",
                         global_pooling=False, conv_stride=1, conv_padding=0, conv_dilation=1, conv_groups=1,
                         param_attr=None, bias_attr=None, act=None, use_cudnn=True):
    """conv2d, then pool2d."""
    conv = layers.conv2d(input, num_filters, filter_size, stride=conv_stride, padding=conv_padding,
                         dilation=conv_dilation, groups=conv_groups, param_attr=param_attr, bias_attr=bias_attr, act=act,
                         use_cudnn=use_cudnn)
    return layers.pool2d(conv, pool_size, pool_type, pool_stride, pool_padding, global_pooling=global_pooling,
                         use_cudnn=use_cudnn)


def img_conv_group(input, conv_num_filter, pool_size, conv_padding=1, conv_filter_size=3, conv_act=None, param_attr=None,
                   conv_with_batchnorm=False, conv_batchnorm_drop_rate=0.0, pool_stride=1, pool_type="max",
                   use_cudnn=True):
    """Several conv2d (with batch_norm and dropout where asked), then pool2d."""
    if not isinstance(conv_num_filter, (list, tuple)):
        raise AssertionError("conv_num_filter must be a list or tuple")
    count = len(conv_num_filter)

    def each(value):
        if isinstance(value, (list, tuple)):
            if len(value) != count:
                raise AssertionError("%d values for %d convolutions" % (len(value), count))
            return list(value)
        return [value] * count

    padding, size, attr = each(conv_padding), each(conv_filter_size), each(param_attr)
    norm, drop = each(conv_with_batchnorm), each(conv_batchnorm_drop_rate)
    for i in range(count):
        input = layers.conv2d(input, conv_num_filter[i], size[i], padding=padding[i], param_attr=attr[i],
                              act=None if norm[i] else conv_act, use_cudnn=use_cudnn)
        if norm[i]:
            input = layers.batch_norm(input, act=conv_act)
            if abs(drop[i]) > 1e-5:
                input = layers.dropout(input, drop[i])
    return layers.pool2d(input, pool_size, pool_type, pool_stride, use_cudnn=use_cudnn)


def sequence_conv_pool(input, num_filters, filter_size, param_attr=None, act="sigmoid", pool_type="max", bias_attr=None):
    """sequence_conv, then sequence_pool."""
    check_variable(input, "input", "sequence_conv_pool")
    conv = layers.sequence_conv(input, num_filters, filter_size, param_attr=param_attr, bias_attr=bias_attr, act=act)
    return layers.sequence_pool(conv, pool_type)


def glu(input, dim=-1):
    """One half times the sigmoid of the other."""
    check_variable(input, "input", "glu")
    a, b = layers.split(input, 2, dim)
    return layers.elementwise_mul(a, layers.sigmoid(b))


def scaled_dot_product_attention(queries, keys, values, num_heads=1, dropout_rate=0.0):
    """softmax(q k' / sqrt(d)) v, for each head."""
    for name, var in (("queries", queries), ("keys", keys), ("values", values)):
        check_variable(var, name, "scaled_dot_product_attention")
        if len(var.shape) != 3:
            raise ValueError("Inputs queries, keys and values should all be 3-D tensors.")
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError("The hidden size of queries and keys should be the same.")
    if keys.shape[-2] != values.shape[-2]:
        raise ValueError("The max sequence length in value batch and in key batch should be the same.")
    if keys.shape[-1] % num_heads or values.shape[-1] % num_heads:
        raise ValueError("The hidden size of keys (%d) and values (%d) must be divisible by the number of attention heads "
                         "(%d)." % (keys.shape[-1], values.shape[-1], num_heads))

    def projected(q, k, v):
        if num_heads == 1:
            return q, k, v
        return [layers.fc(x, x.shape[-1], num_flatten_dims=2) for x in (q, k, v)]

    def heads(x):
        if num_heads == 1:
            return x
        x = layers.reshape(x, [0, 0, num_heads, x.shape[-1] // num_heads], inplace=True)
        return layers.transpose(x, [0, 2, 1, 3])

    q, k, v = [heads(x) for x in projected(queries, keys, values)]
    product = layers.matmul(layers.scale(q, (keys.shape[-1] // num_heads) ** -0.5), k, transpose_y=True)
    weights = layers.softmax(product)
    if dropout_rate:
        weights = layers.dropout(weights, dropout_rate, is_test=False)
    result = layers.matmul(weights, v)
    if num_heads == 1:
        return result
    result = layers.transpose(result, [0, 2, 1, 3])
    return layers.reshape(result, [0, 0, result.shape[2] * result.shape[3]], inplace=True)


__getattr__ = _names.guard(__name__)
