"""Layers of 1.8 that 2.x calls otherwise: the same operators."""
from paddle._mode import switched

__all__ = ["cross", "diag_embed", "dist", "index_sample", "kron", "log_softmax", "roll", "trace"]


def _appended(path, *args, **kwargs):
    """Appends what the function of 2.x would."""
    import importlib
    module, _, name = path.rpartition(".")
    with switched(False):
        return getattr(importlib.import_module(module), name)(*args, **kwargs)


def cross(input, other, dim=None):
    """Cross product of vectors of three elements."""
    return _appended("paddle.tensor.cross", input, other, **({} if dim is None else {"axis": dim}))


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """Vectors as the diagonals of matrices."""
    return _appended("paddle.nn.functional.diag_embed", input, offset, dim1, dim2)


def dist(x, y, p=2):
    """p-norm of the difference."""
    return _appended("paddle.tensor.dist", x, y, p)


def index_sample(x, index):
    """Elements of each row."""
    return _appended("paddle.tensor.index_sample", x, index)


def kron(x, y, out=None, name=None):
    """Kronecker product."""
    return _appended("paddle.tensor.kron", x, y)


def log_softmax(input, axis=None, dtype=None, name=None):
    """Logarithm of softmax."""
    return _appended("paddle.nn.functional.log_softmax", input, -1 if axis is None else axis, dtype)


def roll(input, shifts, dims=None):
    """Elements moved round."""
    return _appended("paddle.tensor.roll", input, shifts, dims)


def trace(input, offset=0, dim1=0, dim2=1, out=None, name=None):
    """Sum of diagonals."""
    return _appended("paddle.tensor.trace", input, offset, dim1, dim2)
