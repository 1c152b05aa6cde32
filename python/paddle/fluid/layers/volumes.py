"""Convolution and pooling of volumes [rows, channels, depth, height, width]."""
from paddle import _names
from paddle.fluid import initializer
from paddle.fluid.framework import dtype_name
from paddle.fluid.layer_helper import LayerHelper, check_dtype, check_variable, simple_op

__all__ = ["conv3d", "conv3d_transpose", "pool3d", "adaptive_pool3d"]


def _three(value, name):
    if isinstance(value, (list, tuple)):
        if len(value) != 3:
            raise ValueError("%s must be an int or 3 of them, but got %s" % (name, value))
        return [int(v) for v in value]
    return [int(value)] * 3


def _layout(data_format, layer):
    if data_format not in ("NCDHW", "NDHWC"):
        raise ValueError("Attr(data_format) of %s got wrong value: received %s but only NCDHW or NDHWC supported." %
                         (layer, data_format))
    return data_format == "NDHWC"


def _padding(padding, last, name="padding"):
    """(3 or 6 sizes, algorithm)"""
    if isinstance(padding, str):
        word = padding.upper()
        if word not in ("SAME", "VALID"):
            raise ValueError("Unknown %s: '%s'. It can only be 'SAME' or 'VALID'." % (name, padding))
        return [0, 0, 0], word
    if isinstance(padding, (list, tuple)) and len(padding) == 5:
        around, padding = (padding[0], padding[4]) if last else padding[:2], padding[1:4] if last else padding[2:]
        if any(list(pair) != [0, 0] for pair in around):
            raise ValueError("Non-zero %s in the batch or channel dimensions is not supported." % name)
        padding = [size for pair in padding for size in pair]
    if isinstance(padding, (list, tuple)) and len(padding) == 6:
        sizes = [int(size) for size in padding]
        return (sizes[::2] if sizes[::2] == sizes[1::2] else sizes), "EXPLICIT"
    return _three(padding, name), "EXPLICIT"


def _finish(helper, out, last):
    return helper.append_activation(helper.append_bias_op(out, dim_start=4, dim_end=5) if last else
                                    helper.append_bias_op(out, dim_start=1, dim_end=2))


def conv3d(input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None, bias_attr=None,
           use_cudnn=True, act=None, name=None, data_format="NCDHW"):
    """Convolution of volumes."""
    check_dtype(input, "input", "conv3d", ("float32", "float64"))
    if param_attr is False:
        raise AssertionError("param_attr should not be False here.")
    last, groups = _layout(data_format, "conv3d"), 1 if groups is None else groups
    channels = input.shape[4 if last else 1]
    if channels % groups:
        raise ValueError("The number of input channels must be divisible by Attr(groups). Received: number of channels(%d), "
                         "groups(%d)." % (channels, groups))
    helper = LayerHelper("conv3d", name=name, param_attr=param_attr, bias_attr=bias_attr, act=act)
    size, (pads, algorithm) = _three(filter_size, "filter_size"), _padding(padding, last)
    spread = (2.0 / (size[0] * size[1] * size[2] * channels)) ** 0.5
    weight = helper.create_parameter(helper.param_attr, [num_filters, channels // groups] + size, input.dtype,
                                     default_initializer=initializer.Normal(0.0, spread, 0))
    out = simple_op("conv3d", {"Input": input, "Filter": weight},
                    {"strides": _three(stride, "stride"), "paddings": pads, "dilations": _three(dilation, "dilation"),
                     "groups": groups, "use_cudnn": use_cudnn, "use_mkldnn": False, "padding_algorithm": algorithm,
                     "data_format": data_format}, helper=helper, slot="Output")
    return _finish(helper, out, last)


def conv3d_transpose(input, num_filters, output_size=None, filter_size=None, padding=0, stride=1, dilation=1, groups=None,
                     param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None, data_format="NCDHW"):
    """What conv3d does, the other way."""
    check_variable(input, "input", "conv3d_transpose")
    if param_attr is False:
        raise AssertionError("param_attr should not be False in conv3d_transpose.")
    last, groups = _layout(data_format, "conv3d_transpose"), 1 if groups is None else groups
    helper = LayerHelper("conv3d_transpose", name=name, param_attr=param_attr, bias_attr=bias_attr, act=act)
    stride, dilation, (pads, algorithm) = _three(stride, "stride"), _three(dilation, "dilation"), _padding(padding, last)
    size = [] if output_size is None else _three(output_size, "output_size")
    if filter_size is None:
        if not size:
            raise ValueError("output_size must be set when filter_size is None")
        given, both = input.shape[1:4] if last else input.shape[2:5], pads if len(pads) == 6 else [p for p in pads for _ in "ab"]
        filter_size = [(size[i] - (given[i] - 1) * stride[i] + both[2 * i] + both[2 * i + 1] - 1) // dilation[i] + 1
                       for i in range(3)]
    weight = helper.create_parameter(helper.param_attr, [input.shape[4 if last else 1], num_filters // groups] +
                                     _three(filter_size, "filter_size"), input.dtype)
    out = simple_op("conv3d_transpose", {"Input": [input], "Filter": [weight]},
                    {"output_size": size, "strides": stride, "paddings": pads, "padding_algorithm": algorithm, "dilations": dilation,
                     "groups": groups, "use_cudnn": use_cudnn, "data_format": "NHWC" if last else "NCHW"}, helper=helper, slot="Output")
    return _finish(helper, out, last)


def _check_type(pool_type):
    if pool_type not in ("max", "avg"):
        raise ValueError("Unknown Attr(pool_type): '%s'. It can only be 'max' or 'avg'." % pool_type)


def pool3d(input, pool_size=-1, pool_type="max", pool_stride=1, pool_padding=0, global_pooling=False, use_cudnn=True,
           ceil_mode=False, name=None, exclusive=True, data_format="NCDHW"):
    """Maximum or mean of windows of volumes."""
    _check_type(pool_type)
    if not global_pooling and pool_size == -1:
        raise ValueError("When Attr(global_pooling) is False, Attr(pool_size) must be passed and be a valid value. "
                         "Received Attr(pool_size): %s." % pool_size)
    check_variable(input, "input", "pool3d")
    pads, algorithm = _padding(pool_padding, _layout(data_format, "pool3d"), "pool_padding")
    return simple_op("pool3d", {"X": input},
                     {"pooling_type": pool_type, "ksize": _three(pool_size, "pool_size"), "global_pooling": bool(global_pooling),
                      "strides": _three(pool_stride, "pool_stride"), "paddings": pads, "padding_algorithm": algorithm,
                      "use_cudnn": use_cudnn, "ceil_mode": bool(ceil_mode), "use_mkldnn": False, "exclusive": bool(exclusive),
                      "data_format": data_format}, name=name)


def adaptive_pool3d(input, pool_size, pool_type="max", require_index=False, name=None):
    """Pooling to a given size; require_index: the places of the largest too."""
    check_variable(input, "input", "adaptive_pool3d")
    _check_type(pool_type)
    if pool_type == "avg" and require_index:
        raise ValueError("invalid setting 'require_index' true when 'pool_type' is 'avg'.")
    kind = "max_pool3d_with_index" if pool_type == "max" else "pool3d"
    helper = LayerHelper(kind, name=name)
    out = helper.create_variable_for_type_inference(input.dtype)
    outputs, attrs = {"Out": out}, {"ksize": _three(pool_size, "pool_size"), "adaptive": True}
    if pool_type == "max":
        outputs["Mask"] = helper.create_variable_for_type_inference(dtype_name("int32"))
    else:
        attrs["pooling_type"] = pool_type
    helper.append_op(type=kind, inputs={"X": input}, outputs=outputs, attrs=attrs)
    return (out, outputs["Mask"]) if require_index else out


__getattr__ = _names.guard(__name__)
