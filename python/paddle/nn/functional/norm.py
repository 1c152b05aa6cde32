"""Normalization."""
from paddle import _names
from paddle._op import Call, fill, need


def layer_norm(x, normalized_shape, weight=None, bias=None, epsilon=1e-5, name=None):
    """Over the last dimensions: mean 0, variance 1, times weight, plus bias."""
    need(x, "input", "LayerNorm")
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    begin = len(x.shape) - len(shape)
    if begin < 0 or [d for d in x.shape[begin:]] != shape:
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
    need(x, "input", "BatchNorm")
    use_global = (not training) if use_global_stats is None else use_global_stats
    layout = "NHWC" if data_format[-1] == "C" and len(data_format) > 1 and data_format[1] != "C" else "NCHW"
    inputs = {"X": x, "Mean": running_mean, "Variance": running_var}
    if weight is not None:
        inputs["Scale"] = weight
    if bias is not None:
        inputs["Bias"] = bias
    call = Call("batch_norm", name)
    saved_mean, saved_variance = call.var(stop_gradient=True), call.var(stop_gradient=True)
    out, reserve = call.var(), call.var(stop_gradient=True)
    call.op("batch_norm", inputs,
            {"Y": out, "MeanOut": running_mean, "VarianceOut": running_var, "SavedMean": saved_mean,
             "SavedVariance": saved_variance, "ReserveSpace": reserve},
            {"momentum": momentum, "epsilon": epsilon, "is_test": not training, "data_layout": layout,
             "use_global_stats": use_global, "trainable_statistics": False, "fuse_with_relu": False})
    return out


def normalize(x, p=2, axis=1, epsilon=1e-12, name=None):
    """x / max(|x|_p, epsilon) along the axis."""
    from paddle.tensor.math import divide, maximum
    from paddle._op import one
    need(x, "x", "normalize")
    if len(x.shape) == 1 and axis not in (0, -1):
        raise ValueError("Axis must be 0 or -1 when x is a 1-D tensor, but received axis = %s" % axis)
    size = one("p_norm", "p_norm", {"X": x}, {"axis": axis, "porder": float(p), "keepdim": True, "epsilon": epsilon})
    return divide(x, maximum(size, fill([1], epsilon, size.dtype)), name=name)


__getattr__ = _names.guard(__name__)
