"""Activations."""
from paddle import _names
from paddle._mode import mode
from paddle._op import Call, need, one, type_number
from paddle._tensor_methods import in_place
from paddle.tensor.math import sigmoid, tanh


def _plain(kind, call=None):
    def function(x, name=None):
        return one(call or kind, kind, {"X": need(x, "x", call or kind)}, name=name)

    function.__name__ = function.__qualname__ = call or kind
    function.__doc__ = "%s of every element." % (call or kind)
    return function


relu = _plain("relu")
softsign = _plain("softsign")
silu = _plain("silu")
log_sigmoid = _plain("logsigmoid", "log_sigmoid")
hardswish = _plain("hard_swish", "hardswish")
tanhshrink = _plain("tanh_shrink", "tanhshrink")


def relu6(x, name=None):
    """min(max(0, x), 6)"""
    return one("relu6", "relu6", {"X": need(x, "x", "relu6")}, {"threshold": 6.0}, name)


def swish(x, name=None):
    """x * sigmoid(x)"""
    return one("swish", "swish", {"X": need(x, "x", "swish")}, {"beta": 1.0}, name)


def mish(x, name=None):
    """x * tanh(softplus(x))"""
    return one("mish", "mish", {"X": need(x, "x", "mish")}, {"threshold": 20.0}, name)


def leaky_relu(x, negative_slope=0.01, name=None):
    """x, or negative_slope * x below zero."""
    return one("leaky_relu", "leaky_relu", {"X": need(x, "x", "leaky_relu")}, {"alpha": float(negative_slope)}, name)


def elu(x, alpha=1.0, name=None):
    """x, or alpha * (exp(x) - 1) below zero."""
    return one("elu", "elu", {"X": need(x, "x", "elu")}, {"alpha": float(alpha)}, name)


def celu(x, alpha=1.0, name=None):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))"""
    if alpha == 0:
        raise ZeroDivisionError("alpha cannot be 0 for celu")
    return one("celu", "celu", {"X": need(x, "x", "celu")}, {"alpha": float(alpha)}, name)


def selu(x, scale=1.0507009873554804934193349852946, alpha=1.6732632423543772848170429916717, name=None):
    """scale * elu(x, alpha)"""
    if scale <= 1.0:
        raise ValueError("The scale must be greater than 1.0. Received: %s." % scale)
    if alpha < 0:
        raise ValueError("The alpha must be no less than zero. Received: %s." % alpha)
    return one("selu", "selu", {"X": need(x, "x", "selu")}, {"scale": scale, "alpha": alpha}, name)


def gelu(x, approximate=False, name=None):
    """x * Phi(x); approximate: by tanh."""
    return one("gelu", "gelu", {"X": need(x, "x", "gelu")}, {"approximate": approximate}, name)


def softplus(x, beta=1, threshold=20, name=None):
    """log(1 + exp(beta * x)) / beta"""
    return one("softplus", "softplus", {"X": need(x, "x", "softplus")},
               {"beta": float(beta), "threshold": float(threshold)}, name)


def hardsigmoid(x, slope=0.1666667, offset=0.5, name=None):
    """slope * x + offset, between 0 and 1."""
    return one("hardsigmoid", "hard_sigmoid", {"X": need(x, "x", "hardsigmoid")},
               {"slope": float(slope), "offset": float(offset)}, name)


def hardtanh(x, min=-1.0, max=1.0, name=None):
    """x between min and max."""
    return one("hardtanh", "brelu", {"X": need(x, "x", "hardtanh")}, {"t_min": float(min), "t_max": float(max)}, name)


def hardshrink(x, threshold=0.5, name=None):
    """x, or 0 within +-threshold."""
    return one("hardshrink", "hard_shrink", {"X": need(x, "x", "hardshrink")}, {"threshold": float(threshold)}, name)


def softshrink(x, threshold=0.5, name=None):
    """x drawn to zero by threshold."""
    if threshold < 0:
        raise ValueError("The threshold must be no less than zero. Received: %s." % threshold)
    return one("softshrink", "softshrink", {"X": need(x, "x", "softshrink")}, {"lambda": float(threshold)}, name)


def thresholded_relu(x, threshold=1.0, name=None):
    """x above the threshold, else 0."""
    return one("thresholded_relu", "thresholded_relu", {"X": need(x, "x", "thresholded_relu")},
               {"threshold": float(threshold)}, name)


def prelu(x, weight, data_format="NCHW", name=None):
    """x, or weight * x below zero; one weight, or one per channel."""
    need(x, "x", "prelu")
    need(weight, "weight", "prelu")
    if len(weight.shape) != 1:
        raise AssertionError("The dim count of weight shape should be 1 in prelu().")
    known = ("NC", "NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC")
    if data_format not in known:
        raise ValueError("data_format must be one of 'NC', 'NCL', 'NCHW', 'NCDHW', 'NLC', 'NHWC', 'NDHWC' but receive "
                         + str(data_format))
    layout = "NCHW" if data_format[1] == "C" else "NHWC"
    if weight.shape[0] > 1 and weight.shape[0] != x.shape[1 if layout == "NCHW" else -1]:
        raise AssertionError("The weight size should be equal to x input channel in prelu() when weight shape is not [1].")
    return one("prelu", "prelu", {"X": x, "Alpha": weight},
               {"mode": "channel" if weight.shape[0] > 1 else "all", "data_format": layout}, name)


def rrelu(x, lower=1.0 / 8.0, upper=1.0 / 3.0, training=True, name=None):
    """x, or a random factor between lower and upper times x below zero; without training their mean."""
    from paddle.tensor.math import multiply
    if not isinstance(lower, float) or not isinstance(upper, float):
        raise TypeError("The lower and upper values must be float type. Received: lower %s, upper %s." % (lower, upper))
    if lower < 0 or lower > 1:
        raise ValueError("The lower value must be no less than zero or greater than one. Received: %s." % lower)
    if upper < lower:
        raise ValueError("The upper value must be greater than lower value. Received: lower %s, upper %s." % (lower, upper))
    if upper > 1:
        raise ValueError("The upper value must be no greater than one. Received: %s." % upper)
    need(x, "x", "rrelu")
    if not training:
        return leaky_relu(x, (lower + upper) / 2.0, name)
    return multiply(x, _factors(x, lower, upper))


def _factors(x, lower, upper):
    """1, or below zero a random factor; in eager mode drawn for what is below zero only, as in Paddle."""
    from paddle.tensor.creation import ones_like, to_tensor
    from paddle.tensor.random import uniform
    from paddle.tensor.search import where
    if not mode.eager:
        return where(x < 0, uniform(x.shape, x.dtype, lower, upper), ones_like(x))
    import numpy
    value = x.numpy()
    below, out = value < 0, numpy.ones_like(value)
    if below.any():
        out[below] = uniform([int(below.sum())], x.dtype, lower, upper).numpy()
    return to_tensor(out)


def maxout(x, groups, axis=1, name=None):
    """The largest of every `groups` neighbouring channels; of equal ones the first learns."""
    need(x, "x", "maxout")
    if axis not in (1, -1, 3):
        raise ValueError("Attr(axis) should be 1 when data format is NCHW, -1 or 3 when data format is NHWC. Received "
                         "Attr(axis): %s." % axis)
    return one("maxout", "maxout", {"X": x}, {"groups": groups, "axis": axis % len(x.shape)}, name)


def glu(x, axis=-1, name=None):
    """The first half times sigmoid of the second."""
    from paddle.tensor.manipulation import chunk
    from paddle.tensor.math import multiply
    rank = len(need(x, "input", "glu").shape)
    if not -rank <= axis < rank:
        raise ValueError("Expected value range of `axis` is [%d, %d), but received axis: %d" % (-rank, rank, axis))
    first, second = chunk(x, 2, axis=axis)
    return multiply(first, sigmoid(second), name=name)


def softmax(x, axis=-1, dtype=None, name=None):
    """exp(x) / sum(exp(x)) along the axis."""
    need(x, "x", "softmax")
    if dtype is None and mode.eager:
        return one("softmax", "softmax", {"X": x}, {"axis": axis})
    call = Call("softmax", name)
    if dtype is not None:
        x = call.one("cast", {"X": x}, {"in_dtype": x.dtype, "out_dtype": type_number(dtype)})
    return call.one("softmax", {"X": x}, {"axis": axis, "use_cudnn": True})


def log_softmax(x, axis=-1, dtype=None, name=None):
    """log of softmax."""
    need(x, "x", "log_softmax")
    call = Call("log_softmax", name)
    if dtype is not None:
        x = call.one("cast", {"X": x}, {"in_dtype": x.dtype, "out_dtype": type_number(dtype)})
    return call.one("log_softmax", {"X": x}, {"axis": axis})


def gumbel_softmax(x, temperature=1.0, hard=False, axis=-1, name=None):
    """softmax of x with Gumbel noise, by the temperature; hard: a one at the largest."""
    return one("gumbel_softmax", "gumbel_softmax", {"X": need(x, "x", "gumbel_softmax")},
               {"temperature": float(temperature), "hard": hard, "axis": axis}, name)


relu_, tanh_, softmax_, elu_ = (in_place(function) for function in (relu, tanh, softmax, elu))
leaky_relu_, hardtanh_, thresholded_relu_ = (in_place(f) for f in (leaky_relu, hardtanh, thresholded_relu))

__getattr__ = _names.guard(__name__)
__all__ = ["sigmoid"]
