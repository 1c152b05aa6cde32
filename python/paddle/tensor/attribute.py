"""What tensors are."""
from paddle import _names
from paddle._op import declared, need
from paddle.fluid.framework import Variable  # noqa: F401 (named here by Paddle)

globals().update(declared(__name__))


def rank(input):
    """The number of dimensions, as a tensor."""
    from paddle.tensor.creation import assign
    import numpy
    return assign(numpy.array(len(need(input, "input", "rank").shape), "int32"))


def is_floating_point(x):
    from paddle._op import is_float
    return is_float(x)


def is_integer(x):
    return need(x, "x", "is_integer").dtype.dtype in ("uint8", "int8", "int16", "int32", "int64")


__getattr__ = _names.guard(__name__)
