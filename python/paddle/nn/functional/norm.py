"""Normalization."""
from paddle import _names
from paddle._op import declared, need

globals().update(declared(__name__))


def local_response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0, data_format="NCHW", name=None):
    """x / (k + alpha * mean of the squares of `size` neighbouring channels) ^ beta"""
    from paddle.nn.functional.common import pad
    from paddle.nn.functional.pooling import avg_pool2d
    from paddle.tensor.manipulation import reshape
    from paddle.tensor.math import divide, multiply, pow, scale
    if data_format not in ("NCL", "NLC", "NCHW", "NHWC", "NCDHW", "NDHWC"):
        raise ValueError("data_format should be in one of [NCL, NCHW, NCDHW, NLC, NHWC, NDHWC], but got %s" % data_format)
    shape = list(need(x, "x", "local_response_norm").shape)
    if len(shape) < 3:
        raise ValueError("Expected 3D or higher dimensionality input, but got %d dimensions" % len(shape))
    last, border = data_format[-1] == "C", [size // 2, (size - 1) // 2]
    squares = reshape(multiply(x, x), [-1, 1, 1, shape[-1]] if last else [-1, 1, shape[1], _size(shape[2:])])
    squares = pad(squares, border + [0, 0] if last else [0, 0] + border)
    means = reshape(avg_pool2d(squares, [1, size] if last else [size, 1], 1), [-1] + shape[1:])
    return divide(x, pow(scale(means, alpha, k), beta), name=name)


def _size(dims):
    out = 1
    for d in dims:
        out *= d
    return out


__getattr__ = _names.guard(__name__)
