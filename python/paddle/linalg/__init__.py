"""paddle.linalg: norms and products of matrices, inverses, systems of equations."""
from paddle import _names
from paddle.tensor.elements import cross, dist
from paddle.tensor.linalg import matmul, norm
from paddle.tensor.matrices import (cholesky, cholesky_solve, cond, det, inverse as inv, matrix_power, multi_dot, slogdet, solve,
                                    triangular_solve)
from paddle.tensor.statistics import corrcoef, cov

__getattr__ = _names.guard(__name__)
__all__ = ["cholesky", "cholesky_solve", "cond", "corrcoef", "cov", "cross", "det", "dist", "inv", "matmul", "matrix_power",
           "multi_dot", "norm", "slogdet", "solve", "triangular_solve"]
