"""Volumes, and small layers made of others."""
from paddle import _names
from paddle._mode import switched
from paddle.fluid import initializer
from paddle.fluid.layer_helper import LayerHelper, check_dtype, check_variable, simple_op

__all__ = ["addcmul", "elementwise_equal", "conv3d", "conv3d_transpose", "pool3d", "adaptive_pool3d", "temporal_shift",
           "affine_channel", "fsp_matrix", "inplace_abn"]

_FLOATS = ("float32", "float64")


def _appended(function, *args):
    """Appends what the function of 2.x would."""
    with switched(False):
        return function(*args)


def addcmul(input, tensor1, tensor2, value=1.0, out=None, name=None):
    """input + value * tensor1 * tensor2"""
    from paddle.fluid.layers.nn import elementwise_add, elementwise_mul, scale
    from paddle.fluid.layers.tensor import assign
    check_variable(input, "input", "addcmul")
    result = elementwise_add(input, scale(elementwise_mul(tensor2, tensor1), float(value)))
    return result if out is None else assign(result, out)


def elementwise_equal(x, y, name=None):
    """x == y, element by element."""
    from paddle.fluid.layers.control_flow import equal
    return equal(x, y)


def _bias(helper, out, size, dtype, last):
    from paddle.fluid.layers.nn import elementwise_add
    if helper.bias_attr is False:
        return out
    bias = helper.create_parameter(helper.bias_attr, [size], dtype, is_bias=True)
    return elementwise_add(out, bias, axis=4 if last else 1)


def conv3d(input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None, bias_attr=None,
           use_cudnn=True, act=None, name=None, data_format="NCDHW"):
    """Convolution of volumes."""
    from paddle.nn.functional import volume
    from paddle.nn.functional.conv import pair
    check_dtype(input, "input", "conv3d", _FLOATS)
    helper = LayerHelper("conv3d", name=name, param_attr=param_attr, bias_attr=bias_attr, act=act)
    last, groups, kernel = data_format == "NDHWC", groups or 1, pair(filter_size, 3, "filter_size")
    channels = input.shape[4 if last else 1]
    if channels % groups:
        raise ValueError("The number of input channels must be divisible by Attr(groups). Received: number of channels(%d), "
                         "groups(%d)." % (channels, groups))
    spread = (2.0 / (kernel[0] * kernel[1] * kernel[2] * channels)) ** 0.5
    weight = helper.create_parameter(helper.param_attr, [num_filters, channels // groups] + kernel, input.dtype,
                                     default_initializer=initializer.Normal(0.0, spread))
    out = _appended(volume.conv3d, input, weight, None, stride, padding, dilation, groups, data_format)
    return helper.append_activation(_bias(helper, out, num_filters, input.dtype, last))


def conv3d_transpose(input, num_filters, output_size=None, filter_size=None, padding=0, stride=1, dilation=1, groups=None,
                     param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None, data_format="NCDHW"):
    """What conv3d does, the other way."""
    from paddle.nn.functional import volume
    from paddle.nn.functional.conv import pair
    check_dtype(input, "input", "conv3d_transpose", _FLOATS)
    helper = LayerHelper("conv3d_transpose", name=name, param_attr=param_attr, bias_attr=bias_attr, act=act)
    last, groups = data_format == "NDHWC", groups or 1
    channels = input.shape[4 if last else 1]
    if filter_size is None:
        if output_size is None:
            raise ValueError("output_size must be set when filter_size is None")
        given, sizes = input.shape[1:4] if last else input.shape[2:5], pair(output_size, 3, "output_size")
        steps, apart, pads = pair(stride, 3, "stride"), pair(dilation, 3, "dilation"), pair(padding, 3, "padding")
        filter_size = [(sizes[i] - (given[i] - 1) * steps[i] + 2 * pads[i] - 1) // apart[i] + 1 for i in range(3)]
    weight = helper.create_parameter(helper.param_attr, [channels, num_filters // groups] + pair(filter_size, 3, "filter_size"),
                                     input.dtype)
    out = _appended(volume.conv3d_transpose, input, weight, None, stride, padding, 0, groups, dilation, output_size, data_format)
    return helper.append_activation(_bias(helper, out, num_filters, input.dtype, last))


def pool3d(input, pool_size=-1, pool_type="max", pool_stride=1, pool_padding=0, global_pooling=False, use_cudnn=True,
           ceil_mode=False, name=None, exclusive=True, data_format="NCDHW"):
    """The largest value, or the mean, of every window."""
    from paddle.nn.functional import volume
    if pool_type not in ("max", "avg"):
        raise ValueError("Attr(pool_type): '%s'. It can only be 'max' or 'avg'." % pool_type)
    if global_pooling:
        pool_size, pool_padding = list(input.shape[1:4] if data_format == "NDHWC" else input.shape[2:5]), 0
    if pool_type == "max":
        return _appended(volume.max_pool3d, input, pool_size, pool_stride, pool_padding, False, ceil_mode, data_format)
    return _appended(volume.avg_pool3d, input, pool_size, pool_stride, pool_padding, ceil_mode, exclusive, None, data_format)


def adaptive_pool3d(input, pool_size, pool_type="max", require_index=False, name=None):
    """The largest values, or the means, of pool_size windows."""
    from paddle.nn.functional import volume
    if pool_type not in ("max", "avg"):
        raise ValueError("Unknown pool_type: '%s'. It can only be 'max' or 'avg'." % pool_type)
    if require_index and pool_type == "avg":
        raise ValueError("invalid setting 'require_index' true when 'pool_type' is 'avg'.")
    if pool_type == "avg":
        return _appended(volume.adaptive_avg_pool3d, input, pool_size)
    return _appended(volume.adaptive_max_pool3d, input, pool_size, require_index)


def temporal_shift(x, seg_num, shift_ratio=0.25, name=None):
    """Parts of the channels of frames moved to the frame before and behind."""
    from paddle.nn.functional import steps
    return _appended(steps.temporal_shift, x, seg_num, shift_ratio)


def affine_channel(x, scale=None, bias=None, data_layout="NCHW", name=None, act=None):
    """scale * x + bias, of each channel."""
    from paddle.fluid.layers.nn import elementwise_add, elementwise_mul
    helper = LayerHelper("affine_channel", name=name, act=act)
    axis = 1 if data_layout == "NCHW" else len(x.shape) - 1
    return helper.append_activation(elementwise_add(elementwise_mul(x, scale, axis=axis), bias, axis=axis))


def fsp_matrix(x, y):
    """The mean products of the channels of x and of y over all positions."""
    from paddle.fluid.layers.nn import matmul, reshape, scale
    size = x.shape[2] * x.shape[3]
    left, right = reshape(x, [0, 0, -1]), reshape(y, [0, 0, -1])
    return scale(matmul(left, right, transpose_y=True), 1.0 / size)


def inplace_abn(input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, bias_attr=None, data_layout="NCHW",
                name=None, moving_mean_name=None, moving_variance_name=None, do_model_average_for_mean_and_var=True,
                use_global_stats=False, act_alpha=1.0):
    """batch_norm, then the activation: None, identity, leaky_relu or elu."""
    from paddle.fluid.layers.nn import batch_norm
    if act not in (None, "identity", "leaky_relu", "elu"):
        raise AssertionError("act must be None, identity, leaky_relu or elu in inplace_abn, but received %r" % (act,))
    out = batch_norm(input, None, is_test, momentum, epsilon, param_attr, bias_attr, data_layout, False, name, moving_mean_name,
                     moving_variance_name, do_model_average_for_mean_and_var, use_global_stats)
    return out if act in (None, "identity") else simple_op(act, {"X": out}, {"alpha": float(act_alpha)})


__getattr__ = _names.guard(__name__)
