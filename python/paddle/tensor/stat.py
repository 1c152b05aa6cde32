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
    count = 1
    for i in range(len(x.shape)):
        if axis is None or i in [a % len(x.shape) for a in (axis if isinstance(axis, (list, tuple)) else [axis])]:
            count *= x.shape[i]
    if unbiased and count < 0:
        raise ValueError("var: the number of elements must be known while the program is built (or unbiased=False)")
    middle = mean(x, axis, True)
    spread = mean((x - middle) ** 2, axis, keepdim, name)
    return spread * (count / (count - 1.0)) if unbiased and count > 1 else spread


def std(x, axis=None, unbiased=True, keepdim=False, name=None):
    """The square root of the variance."""
    from paddle.tensor.math import sqrt
    return sqrt(var(x, axis, unbiased, keepdim, name))


def numel(x, name=None):
    """How many elements."""
    return one("numel", "size", {"Input": need(x, "x", "numel")}, name=name, dtype="int64")


__getattr__ = _names.guard(__name__)
