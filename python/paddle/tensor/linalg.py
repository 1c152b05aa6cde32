"""Products of matrices, norms."""
from paddle import _names
from paddle._mode import mode
from paddle._op import Value, need, one
from paddle.tensor.manipulation import t, transpose


def matmul(x, y, transpose_x=False, transpose_y=False, name=None):
    """The product of matrices; batches are repeated where they fit."""
    if mode.eager and isinstance(x, Value) and x._dtype in ("int32", "int64") and isinstance(y, Value) and y._dtype == x._dtype:
        return matmul(x.astype("float64"), y.astype("float64"), transpose_x, transpose_y).astype(x.dtype)
    return one("matmul_v2", "matmul_v2", {"X": need(x, "x", "matmul"), "Y": need(y, "y", "matmul")},
               {"trans_x": transpose_x, "trans_y": transpose_y}, name)


def mm(input, mat2, name=None):
    """matmul under the name mm."""
    return one("mm", "matmul_v2", {"X": need(input, "x", "mm"), "Y": need(mat2, "y", "mm")}, name=name)


def bmm(x, y, name=None):
    """Products of two batches of matrices."""
    return one("bmm", "bmm", {"X": need(x, "x", "bmm"), "Y": need(y, "y", "bmm")}, name=name)


def dot(x, y, name=None):
    """Inner products of vectors."""
    return one("dot", "dot", {"X": need(x, "x", "dot"), "Y": need(y, "y", "dot")}, name=name)


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
