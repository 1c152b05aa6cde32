"""Normalization."""
from paddle import _names
from paddle._mode import mode
from paddle._op import Call, fill, need, one


def layer_norm(x, normalized_shape, weight=None, bias=None, epsilon=1e-5, name=None):
    """Over the last dimensions: mean 0, variance 1, times weight, plus bias."""
    need(x, "input", "LayerNorm")
    if not isinstance(normalized_shape, (int, list, tuple)):
        raise ValueError("`normalized_shape` should be int, list of ints or tuple of ints.")
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    begin = len(x.shape) - len(shape)
    if begin < 0 or list(x.shape[begin:]) != shape:
        raise ValueError("Given normalized_shape is %s, expected input with shape [*, %s, but got input shape %s" %
                         (shape, ", ".join(map(str, shape)), list(x.shape)))
    inputs = {"X": x}
    if weight is not None:
        inputs["Scale"] = weight
    if bias is not None:
        inputs["Bias"] = bias
    call = Call("layer_norm", name)
    mean, variance, out = call.var(stop_gradient=True), call.var(stop_gradient=True), call.var()
    call.op("layer_norm", inputs, {"Y": out, "Mean": mean, "Variance": variance},
            {"epsilon": epsilon, "begin_norm_axis": begin})
    return out


def batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.9, epsilon=1e-5,
               data_format="NCHW", use_global_stats=None, name=None):
    """Over the batch (training) or by the running mean and variance."""
    if len(need(x, "input", "BatchNorm").shape) < 2:
        raise AssertionError("input dim must be larger than 1")
    if data_format not in ("NC", "NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC"):
        raise ValueError("data_format must be one of 'NC', 'NCL', 'NCHW', 'NCDHW', 'NLC', 'NHWC', 'NDHWC' but receive %s" %
                         data_format)
    use_global = (not training) if use_global_stats is None else use_global_stats
    learned = use_global_stats is not None and not use_global_stats
    inputs = {"X": x, "Mean": running_mean, "Variance": running_var}
    if weight is not None:
        inputs["Scale"] = weight
    if bias is not None:
        inputs["Bias"] = bias
    call = Call("batch_norm", name)
    saved_mean, saved_variance = call.var(stop_gradient=True), call.var(stop_gradient=True)
    out = call.var()
    outputs = {"Y": out, "MeanOut": running_mean, "VarianceOut": running_var, "SavedMean": saved_mean,
               "SavedVariance": saved_variance}
    if not mode.eager and (training or learned):
        outputs["ReserveSpace"] = call.var(stop_gradient=True)
    call.op("batch_norm", inputs, outputs,
            {"momentum": momentum, "epsilon": epsilon, "is_test": not training,
             "data_layout": "NCHW" if data_format[1] == "C" else "NHWC", "use_global_stats": use_global,
             "trainable_statistics": learned, "fuse_with_relu": False})
    return out


def group_norm(x, num_groups, epsilon=1e-5, weight=None, bias=None, data_format="NCHW", name=None):
    """Over the channels of a group and all positions."""
    need(x, "input", "GroupNorm")
    inputs = {"X": x}
    if weight is not None:
        inputs["Scale"] = weight
    if bias is not None:
        inputs["Bias"] = bias
    call = Call("group_norm", name)
    mean, variance, out = call.var(stop_gradient=True), call.var(stop_gradient=True), call.var()
    call.op("group_norm", inputs, {"Y": out, "Mean": mean, "Variance": variance},
            {"epsilon": epsilon, "groups": num_groups, "data_layout": "NHWC" if data_format[-1] == "C" else "NCHW"})
    return out


def instance_norm(x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.9,
                  eps=1e-5, data_format="NCHW", name=None):
    """Over the positions of every row and channel."""
    inputs = {"X": need(x, "input", "InstanceNorm")}
    if weight is not None and bias is not None:
        inputs.update(Scale=weight, Bias=bias)
    call = Call("instance_norm", name)
    mean, variance, out = call.var(stop_gradient=True), call.var(stop_gradient=True), call.var()
    call.op("instance_norm", inputs, {"Y": out, "SavedMean": mean, "SavedVariance": variance}, {"epsilon": eps})
    return out


def local_response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0, data_format="NCHW", name=None):
    """x / (k + alpha * mean of the squares of `size` neighbouring channels) ^ beta"""
    from paddle.nn.functional.common import pad
    from paddle.nn.functional.pooling import avg_pool2d
    from paddle.tensor.manipulation import reshape
    from paddle.tensor.math import divide, multiply, pow, scale
    if data_format not in ("NCL", "NLC", "NCHW", "NHWC", "NCDHW", "NDHWC"):
        raise ValueError("data_format should be in one of [NCL, NCHW, NCDHW, NLC, NHWC, NDHWC], but got %s" % data_format)
    shape = list(need(x, "x", "local_response_norm").shape)
    if len(shape) < 3:
        raise ValueError("Expected 3D or higher dimensionality input, but got %d dimensions" % len(shape))
    last, border = data_format[-1] == "C", [size // 2, (size - 1) // 2]
    squares = reshape(multiply(x, x), [-1, 1, 1, shape[-1]] if last else [-1, 1, shape[1], _size(shape[2:])])
    squares = pad(squares, border + [0, 0] if last else [0, 0] + border)
    means = reshape(avg_pool2d(squares, [1, size] if last else [size, 1], 1), [-1] + shape[1:])
    return divide(x, pow(scale(means, alpha, k), beta), name=name)


def _size(dims):
    out = 1
    for d in dims:
        out *= d
    return out


def normalize(x, p=2, axis=1, epsilon=1e-12, name=None):
    """x / max(|x|_p, epsilon) along the axis."""
    from paddle.tensor.math import clip, divide, maximum
    need(x, "x", "normalize")
    if len(x.shape) == 1 and axis not in (0, -1):
        raise ValueError("Axis must be 0 or -1 when x is a 1-D tensor, but received axis = %s" % axis)
    size = one("p_norm", "p_norm", {"X": x}, {"axis": axis, "porder": float(p), "keepdim": True, "epsilon": epsilon})
    least = clip(size, min=epsilon) if mode.eager else maximum(size, fill([1], epsilon, size.dtype))
    return divide(x, least, name=name)


__getattr__ = _names.guard(__name__)
