"""Statistics."""
from paddle import _names
from paddle._op import need, one
from paddle.tensor.math import reduce


def mean(x, axis=None, keepdim=False, name=None):
    """The mean over the axes (None: over everything)."""
    return reduce("reduce_mean", "mean", x, axis, keepdim, name)


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


def numel(x, name=None):
    """How many elements."""
    return one("numel", "size", {"Input": need(x, "x", "numel")}, name=name, dtype="int64")


__getattr__ = _names.guard(__name__)
