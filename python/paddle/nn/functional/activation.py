"""Activations."""
from paddle import _names
from paddle._mode import mode
from paddle._op import declared, need
from paddle._tensor_methods import in_place
from paddle.tensor.math import sigmoid, tanh

globals().update(declared(__name__))

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


for _name in "relu tanh softmax elu leaky_relu hardtanh thresholded_relu".split():
    globals()[_name + "_"] = in_place(globals()[_name])

__getattr__ = _names.guard(__name__)
__all__ = ["sigmoid"]
