"""Functions of single elements, comparisons, sums of products: what is not in math and logic."""
from paddle import _names
from paddle._op import declared, one
from paddle.tensor.math import multiply

globals().update(declared(__name__))


def inner(x, y, name=None):
    """Sums of products over the last dimensions."""
    from paddle.tensor.manipulation import reshape, transpose
    if not x.shape or not y.shape:
        return multiply(x, y)
    left = reshape(x, [-1, x.shape[-1]])
    right = transpose(reshape(y, [-1, y.shape[-1]]), [1, 0])
    out = one("inner", "matmul_v2", {"X": left, "Y": right}, name=name)
    return reshape(out, list(x.shape[:-1]) + list(y.shape[:-1]))


def nan_to_num(x, nan=0.0, posinf=None, neginf=None, name=None):
    """Numbers in place of NaN and infinities."""
    from paddle.tensor.creation import full_like
    from paddle.tensor.logic import logical_and
    from paddle.tensor.search import where
    most = 3.4028234663852886e+38 if x.dtype.dtype == "float32" else 1.7976931348623157e+308
    ends = (most if posinf is None else posinf, -most if neginf is None else neginf)
    out, zero = where(isnan(x), full_like(x, nan), x), full_like(x, 0)
    out = where(logical_and(isinf(x), x > zero), full_like(x, ends[0]), out)
    return where(logical_and(isinf(x), x < zero), full_like(x, ends[1]), out)


__getattr__ = _names.guard(__name__)
