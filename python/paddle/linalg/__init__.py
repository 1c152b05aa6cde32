"""paddle.linalg: norms and products of matrices."""
from paddle import _names
from paddle.tensor.elements import cross, dist
from paddle.tensor.linalg import matmul, norm

__getattr__ = _names.guard(__name__)
__all__ = ["cross", "dist", "matmul", "norm"]
