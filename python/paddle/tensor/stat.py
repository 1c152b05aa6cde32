"""Statistics."""
from paddle import _names
from paddle._op import declared, need

globals().update(declared(__name__))


def var(x, axis=None, unbiased=True, keepdim=False, name=None):
    """The variance over the axes."""
    need(x, "x", "var")
    middle = mean(x, axis, True)
    spread = mean((x - middle) ** 2, axis, keepdim, name)
    if not unbiased:
        return spread
    from paddle.tensor.manipulation import cast
    count = cast(numel(x), x.dtype) / cast(numel(middle), x.dtype)  # of the elements behind one result
    return spread * (count / (count - 1.0))


def std(x, axis=None, unbiased=True, keepdim=False, name=None):
    """The square root of the variance."""
    from paddle.tensor.math import sqrt
    return sqrt(var(x, axis, unbiased, keepdim, name))


__getattr__ = _names.guard(__name__)
