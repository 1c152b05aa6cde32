"""Products of matrices, norms."""
from paddle import _names
from paddle._op import declared, need, one
from paddle.tensor.manipulation import t, transpose

globals().update(declared(__name__))


def norm(x, p="fro", axis=None, keepdim=False, name=None):
    """The p-norm over the axis, or the Frobenius norm."""
    need(x, "x", "norm")
    axis = list(axis) if isinstance(axis, (list, tuple)) else axis
    if isinstance(axis, list) and len(axis) == 1:
        axis = axis[0]
    if p == "fro" and (axis is None or isinstance(axis, list)):
        attrs = {"keep_dim": keepdim, "reduce_all": axis is None}
        if axis is not None:
            attrs["dim"] = axis
        return one("frobenius_norm", "frobenius_norm", {"X": x}, attrs, name)
    order = 2.0 if p == "fro" else float(p)
    if isinstance(axis, list):
        from paddle.tensor.math import abs, max, min, pow, sum
        if order in (float("inf"), float("-inf")):
            return (max if order > 0 else min)(abs(x), axis, keepdim, name)
        return pow(sum(pow(abs(x), order), axis, keepdim=keepdim), 1.0 / order, name)
    attrs = {"axis": -1 if axis is None else axis, "porder": order, "keepdim": keepdim, "asvector": axis is None,
             "epsilon": 1e-12}
    return one("p_norm", "p_norm", {"X": x}, attrs, name)


__getattr__ = _names.guard(__name__)
__all__ = ["matmul", "mm", "bmm", "dot", "norm", "t", "transpose"]
