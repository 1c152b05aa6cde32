"""Normalisation by groups, transposed convolution, pooling to a given size, channels."""
from paddle import _names
from paddle.fluid import initializer
from paddle.fluid.framework import dtype_name
from paddle.fluid.layer_helper import LayerHelper, check_dtype, check_variable, simple_op
from paddle.fluid.param_attr import ParamAttr

__all__ = ["group_norm", "instance_norm", "spectral_norm", "lrn", "maxout", "conv2d_transpose", "adaptive_pool2d"]


def _layout(data_format, layer):
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("Attr(data_format) of %s got wrong value: received %s but only NCHW or NHWC supported." %
                         (layer, data_format))
    return data_format == "NHWC"


def group_norm(input, groups, epsilon=1e-05, param_attr=None, bias_attr=None, act=None, data_layout="NCHW", name=None):
    """Channels in groups, each normalised for every sample by itself."""
    check_dtype(input, "input", "group_norm", ("float32", "float64"))
    helper = LayerHelper("group_norm", name=name, param_attr=param_attr, bias_attr=bias_attr, act=act)
    channels = input.shape[-1 if _layout(data_layout, "group_norm") else 1]
    inputs = {"X": input}
    if param_attr:
        inputs["Scale"] = helper.create_parameter(helper.param_attr, [channels], input.dtype,
                                                  default_initializer=initializer.Constant(1.0))
    if bias_attr:
        inputs["Bias"] = helper.create_parameter(helper.bias_attr, [channels], input.dtype, is_bias=True)
    mean, variance = [helper.create_variable_for_type_inference(input.dtype, stop_gradient=True) for _ in range(2)]
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(type="group_norm", inputs=inputs, outputs={"Y": out, "Mean": mean, "Variance": variance},
                     attrs={"epsilon": epsilon, "groups": groups, "data_layout": data_layout})
    return helper.append_activation(out)


def instance_norm(input, epsilon=1e-05, param_attr=None, bias_attr=None, name=None):
    """Every channel of every sample normalised by itself."""
    check_dtype(input, "input", "instance_norm", ("float32", "float64"))
    if bias_attr is False:
        raise AssertionError("bias_attr should not be False in instance_norm.")
    helper = LayerHelper("instance_norm", name=name, param_attr=param_attr, bias_attr=bias_attr)
    shape = [input.shape[1]]
    scale = helper.create_parameter(helper.param_attr, shape, input.dtype, default_initializer=initializer.Constant(1.0))
    bias = helper.create_parameter(helper.bias_attr, shape, input.dtype, is_bias=True,
                                   default_initializer=initializer.Constant(0.0))
    mean, variance = [helper.create_variable_for_type_inference(input.dtype, stop_gradient=True) for _ in range(2)]
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(type="instance_norm", inputs={"X": input, "Scale": scale, "Bias": bias},
                     outputs={"Y": out, "SavedMean": mean, "SavedVariance": variance}, attrs={"epsilon": epsilon})
    return out


def spectral_norm(weight, dim=0, power_iters=1, eps=1e-12, name=None):
    """weight divided by its largest singular value, found by power iterations."""
    check_dtype(weight, "weight", "spectral_norm", ("float32", "float64"))
    helper = LayerHelper("spectral_norm", name=name)
    size = 1
    for d in weight.shape:
        size *= d
    vectors = []
    for n in (weight.shape[dim], size // weight.shape[dim]):
        vectors.append(helper.create_parameter(ParamAttr(), [n], weight.dtype, default_initializer=initializer.Normal(0.0, 1.0),
                                               stop_gradient=True))
    return simple_op("spectral_norm", {"Weight": weight, "U": vectors[0], "V": vectors[1]},
                     {"dim": dim, "power_iters": power_iters, "eps": eps}, helper=helper)


def lrn(input, n=5, k=1.0, alpha=1e-4, beta=0.75, name=None, data_format="NCHW"):
    """Divided by the squares of the channels around."""
    check_dtype(input, "input", "lrn", ("float32",))
    if len(input.shape) != 4:
        raise ValueError("Input's dimension size of Op(lrn) must be 4, but received %d." % len(input.shape))
    _layout(data_format, "lrn")
    helper = LayerHelper("lrn", name=name)
    middle = helper.create_variable_for_type_inference(input.dtype, stop_gradient=True)
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(type="lrn", inputs={"X": input}, outputs={"Out": out, "MidOut": middle},
                     attrs={"n": n, "k": float(k), "alpha": alpha, "beta": beta, "data_format": data_format})
    return out


def maxout(x, groups, name=None, axis=1):
    """The largest of every `groups` channels."""
    check_dtype(x, "x", "maxout", ("float32", "float64"))
    if axis not in (1, -1, 3):
        raise ValueError("Attr(axis) should be 1 when data format is NCHW, -1 or 3 when data format is NHWC. Received "
                         "Attr(axis): %s." % axis)
    return simple_op("maxout", {"X": x}, {"groups": groups, "axis": 3 if axis == -1 else axis}, name=name)


def conv2d_transpose(input, num_filters, output_size=None, filter_size=None, padding=0, stride=1, dilation=1, groups=None,
                     param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None, data_format="NCHW"):
    """A convolution's way back: from maps to the pictures that give them."""
    from paddle.fluid.layers.nn import _padding, _pair
    check_variable(input, "input", "conv2d_transpose")
    if param_attr is False:
        raise AssertionError("param_attr should not be False in conv2d_transpose.")
    last = _layout(data_format, "conv2d_transpose")
    channels, groups = input.shape[-1 if last else 1], 1 if groups is None else groups
    alone = channels == groups == num_filters and not use_cudnn
    helper = LayerHelper("depthwise_conv2d_transpose" if alone else "conv2d_transpose", name=name, param_attr=param_attr,
                         bias_attr=bias_attr, act=act)
    stride, dilation = _pair(stride, "stride"), _pair(dilation, "dilation")
    pads, algorithm = _padding(padding, "padding", last)
    pads = [0, 0] if pads is None else pads
    four = list(pads) if len(pads) == 4 else [pads[0], pads[0], pads[1], pads[1]]
    size = [] if output_size is None else _pair(output_size, "output_size")
    if filter_size is None:
        if not size:
            raise ValueError("output_size must be set when filter_size is None")
        given = input.shape[1:3] if last else input.shape[2:4]
        filter_size = [(size[i] - (given[i] - 1) * stride[i] + four[2 * i] + four[2 * i + 1] - 1) // dilation[i] + 1
                       for i in range(2)]
    pads = [four[0], four[2]] if four[0] == four[1] and four[2] == four[3] else four
    weight = helper.create_parameter(helper.param_attr, [channels, num_filters // groups] + list(_pair(filter_size, "filter_size")),
                                     input.dtype)
    out = simple_op(helper.layer_type, {"Input": [input], "Filter": [weight]},
                    {"output_size": list(size), "strides": list(stride), "paddings": pads, "padding_algorithm": algorithm or "EXPLICIT",
                     "dilations": list(dilation), "groups": groups, "use_cudnn": use_cudnn, "data_format": data_format},
                    helper=helper, slot="Output")
    biased = helper.append_bias_op(out, dim_start=3, dim_end=4) if last else helper.append_bias_op(out, dim_start=1, dim_end=2)
    return helper.append_activation(biased)


def adaptive_pool2d(input, pool_size, pool_type="max", require_index=False, name=None):
    """Pooling to a given size; require_index: the places of the largest too."""
    from paddle.fluid.layers.nn import _pair
    check_variable(input, "input", "adaptive_pool2d")
    if pool_type not in ("max", "avg"):
        raise ValueError("Unknown pool_type: '%s'. It can only be 'max' or 'avg'." % pool_type)
    if pool_type == "avg" and require_index:
        raise ValueError("invalid setting 'require_index' true when 'pool_type' is 'avg'.")
    kind = "max_pool2d_with_index" if pool_type == "max" else "pool2d"
    helper = LayerHelper(kind, name=name)
    out = helper.create_variable_for_type_inference(input.dtype)
    outputs, attrs = {"Out": out}, {"ksize": list(_pair(pool_size, "pool_size")), "adaptive": True}
    if pool_type == "max":
        outputs["Mask"] = helper.create_variable_for_type_inference(dtype_name("int32"))
    else:
        attrs["pooling_type"] = pool_type
    helper.append_op(type=kind, inputs={"X": input}, outputs=outputs, attrs=attrs)
    return (out, outputs["Mask"]) if require_index else out


__getattr__ = _names.guard(__name__)
