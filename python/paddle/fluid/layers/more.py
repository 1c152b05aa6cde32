"""Layers of 1.8 whose operators have come with 2.x: each is one operator. Programs of 1.8 do not have them all."""
from paddle._mode import switched
from paddle._op import one
from paddle.fluid._build import net

__all__ = ["cross", "diag_embed", "dist", "index_sample", "kron", "log_softmax", "roll", "trace"]


def _appended(kind, inputs, attrs=None):
    with switched(False):
        return one(kind, kind, inputs, attrs)


def cross(input, other, dim=None):
    """Cross product of vectors of three elements."""
    return _appended("cross", {"X": input, "Y": other}, {"dim": 9 if dim is None else dim})


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Vectors as the diagonals of matrices."""
    return _appended("diag_embed", {"Input": input}, {"offset": offset, "dim1": dim1, "dim2": dim2})


def dist(x, y, p=2):
    """p-norm of the difference."""
    return _appended("dist", {"X": x, "Y": y}, {"p": float(p)})


def index_sample(x, index):
    """Elements of each row."""
    return _appended("index_sample", {"X": x, "Index": index})


def kron(x, y, out=None, name=None):
    """Kronecker product."""
    return _appended("kron", {"X": x, "Y": y})


def log_softmax(input, axis=None, dtype=None, name=None):
    """Logarithm of softmax."""
    if dtype is not None:
        from paddle.fluid.layers.tensor import cast
        input = cast(input, dtype)
    return _appended("log_softmax", {"X": input}, {"axis": -1 if axis is None else axis})


def roll(input, shifts, dims=None):
    """Elements moved round."""
    shifts = [shifts] if isinstance(shifts, int) else list(shifts)
    dims = [] if dims is None else [dims] if isinstance(dims, int) else list(dims)
    return _appended("roll", {"X": input}, {"shifts": shifts, "axis": dims})


def trace(input, offset=0, dim1=0, dim2=1, out=None, name=None):
    """Sum of diagonals."""
    names = ("dim1", "dim2") if net.main.generation == 1 else ("axis1", "axis2")
    return _appended("trace", {"Input": input}, {"offset": offset, names[0]: dim1, names[1]: dim2})
