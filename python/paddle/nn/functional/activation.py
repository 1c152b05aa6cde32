"""Activations."""
from paddle import _names
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
relu_ = in_place(relu)
softsign = _plain("softsign")
silu = _plain("silu")
log_sigmoid = _plain("logsigmoid", "log_sigmoid")
tanh_ = in_place(tanh)


def relu6(x, name=None):
    """min(max(0, x), 6)"""
    return one("relu6", "relu6", {"X": need(x, "x", "relu6")}, {"threshold": 6.0}, name)


def swish(x, name=None):
    """x * sigmoid(x)"""
    return one("swish", "swish", {"X": need(x, "x", "swish")}, {"beta": 1.0}, name)


def leaky_relu(x, negative_slope=0.01, name=None):
    """x, or negative_slope * x below zero."""
    return one("leaky_relu", "leaky_relu", {"X": need(x, "x", "leaky_relu")}, {"alpha": float(negative_slope)}, name)


def elu(x, alpha=1.0, name=None):
    """x, or alpha * (exp(x) - 1) below zero."""
    return one("elu", "elu", {"X": need(x, "x", "elu")}, {"alpha": float(alpha)}, name)


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


def prelu(x, weight, data_format="NCHW", name=None):
    """x, or weight * x below zero; one weight, or one per channel."""
    need(x, "x", "prelu")
    need(weight, "weight", "prelu")
    if len(weight.shape) != 1:
        raise AssertionError("The dim count of weight shape should be 1 in prelu().")
    return one("prelu", "prelu", {"X": x, "Alpha": weight},
               {"mode": "channel" if weight.shape[0] > 1 else "all", "data_format": data_format}, name)


def softmax(x, axis=-1, dtype=None, name=None):
    """exp(x) / sum(exp(x)) along the axis."""
    need(x, "x", "softmax")
    call = Call("softmax", name)
    if dtype is not None:
        x = call.one("cast", {"X": x}, {"in_dtype": x.dtype, "out_dtype": type_number(dtype)})
    return call.one("softmax", {"X": x}, {"axis": axis, "use_cudnn": True})


softmax_ = in_place(softmax)


def log_softmax(x, axis=-1, dtype=None, name=None):
    """log of softmax."""
    need(x, "x", "log_softmax")
    call = Call("log_softmax", name)
    if dtype is not None:
        x = call.one("cast", {"X": x}, {"in_dtype": x.dtype, "out_dtype": type_number(dtype)})
    return call.one("log_softmax", {"X": x}, {"axis": axis})


__getattr__ = _names.guard(__name__)
__all__ = ["sigmoid"]
