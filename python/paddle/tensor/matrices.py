"""Square matrices in batches: inverses, determinants, systems of equations, powers and chains of products."""
from paddle import _names
from paddle._op import declared, need

globals().update(declared(__name__))


def matrix_power(x, n, name=None):
    """x @ x @ .., n times; the inverse for a negative n."""
    from paddle.tensor.linalg import matmul
    from paddle.tensor.picking import eye
    rank = len(need(x, "x", "matrix_power").shape)
    if rank < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError("matrix_power: square matrices are expected; the input has the shape %s" % list(x.shape))
    if n == 0:
        return x * 0.0 + eye(x.shape[-1], dtype=x.dtype)
    base, out, left = (inverse(x) if n < 0 else x), None, abs(n)
    while left:
        if left & 1:
            out = base if out is None else matmul(out, base)
        left >>= 1
        base = matmul(base, base) if left else base
    return out


def multi_dot(x, name=None):
    """The product of all matrices, in the order that takes the fewest multiplications."""
    from paddle.tensor.linalg import matmul
    from paddle.tensor.manipulation import reshape
    parts = [need(part, "x", "multi_dot") for part in x]
    if len(parts) < 2:
        raise ValueError("multi_dot() expects at least 2 tensors but got %d" % len(parts))
    first, last = len(parts[0].shape) == 1, len(parts[-1].shape) == 1
    if first:
        parts[0] = reshape(parts[0], [1, -1])
    if last:
        parts[-1] = reshape(parts[-1], [-1, 1])
    sizes = [part.shape[0] for part in parts] + [parts[-1].shape[1]]
    best = {(i, i): (0, i) for i in range(len(parts))}
    for length in range(1, len(parts)):
        for i in range(len(parts) - length):
            j = i + length
            best[i, j] = min((best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))

    def product(i, j):
        if i == j:
            return parts[i]
        k = best[i, j][1]
        return matmul(product(i, k), product(k + 1, j))

    out = product(0, len(parts) - 1)
    if first or last:
        out = reshape(out, ([] if first else [-1]) + ([] if last else [sizes[-1]]) if not (first and last) else [])
    return out


def cond(x, p=None, name=None):
    """|x| |x^-1| by the norm p: "fro", 1, -1, inf, -inf."""
    from paddle.tensor.math import abs, max, min, sqrt, sum
    need(x, "x", "cond")
    if p not in ("fro", 1, -1, float("inf"), float("-inf")):
        raise NotImplementedError("cond: p=%r needs singular values; Skiff has p='fro', 1, -1, inf, -inf" % (p,))

    def length(v):
        if p == "fro":
            return sqrt(sum(v * v, axis=[-2, -1]))
        sums = sum(abs(v), axis=-2 if p in (1, -1) else -1)
        return max(sums, axis=-1) if p > 0 else min(sums, axis=-1)

    return length(x) * length(inverse(x))


__getattr__ = _names.guard(__name__)
