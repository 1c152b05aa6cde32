"""Special functions, and those of two whole or broken numbers; sums by trapezoids."""
import math

from paddle import _names
from paddle._op import Value, declared, fill, is_float, need
from paddle.fluid.framework import dtype_name

globals().update(declared(__name__))


def multigammaln(x, p, name=None):
    """log of the multivariate gamma function of dimension p."""
    if p < 1:
        raise ValueError("The p must be greater than or equal to 1, But received p = %s" % p)
    out = fill([1], p * (p - 1) / 4.0 * math.log(math.pi), need(x, "x", "multigammaln").dtype)
    for j in range(p):
        out = out + lgamma(x - j / 2.0)
    return out


def rad2deg(x, name=None):
    """Degrees of angles in radians."""
    return _float(x) * (180.0 / math.pi)


def deg2rad(x, name=None):
    """Radians of angles in degrees."""
    return _float(x) * (math.pi / 180.0)


def _float(x):
    from paddle.tensor.manipulation import cast
    return x if is_float(need(x, "x", "a function of floats")) else cast(x, "float32")


def hypot(x, y, name=None):
    """sqrt(x * x + y * y)"""
    from paddle.tensor.math import sqrt
    need(x, "x", "hypot"), need(y, "y", "hypot")
    return sqrt(x * x + y * y)


def logaddexp(x, y, name=None):
    """log(exp(x) + exp(y)), without overflow."""
    from paddle.tensor.math import abs, exp, log1p, maximum
    x, y = _float(x), _float(y)
    return log1p(exp(-abs(x - y))) + maximum(x, y)


def heaviside(x, y, name=None):
    """0 below zero, 1 above, y where x is 0."""
    from paddle.tensor.math import sign
    from paddle.tensor.search import where
    side = sign(need(x, "x", "heaviside"))  # x == 0 would be true of small numbers, too
    return where(side == fill([], 0, x.dtype), need(y, "y", "heaviside"), (side + 1) * 0.5)


def _whole(x, where):
    if dtype_name(need(x, "x", where).dtype) not in ("uint8", "int8", "int16", "int32", "int64"):
        raise TypeError("The data type of 'x' in %s must be a whole number, but received %s." % (where, dtype_name(x.dtype)))
    return x


def gcd(x, y, name=None):
    """The greatest common divisor."""
    from paddle.tensor.math import abs
    from paddle.tensor.search import where
    from paddle.static.nn import while_loop
    from paddle.tensor.math import any
    x, y = _whole(x, "gcd"), _whole(y, "gcd")
    x, y = abs(x + (y - y)), abs(y + (x - x))

    def goes_on(x, y):
        return any(y != fill([], 0, y.dtype))

    def step(x, y):
        done = y == fill([], 0, y.dtype)
        return where(done, x, y), where(done, y, x % where(done, y + 1, y))

    return while_loop(goes_on, step, [x, y])[0]


def lcm(x, y, name=None):
    """The least common multiple."""
    from paddle.tensor.math import abs
    from paddle.tensor.search import where
    divisor = gcd(x, y)
    zero = divisor == fill([], 0, divisor.dtype)
    return where(zero, divisor, abs(x // where(zero, divisor + 1, divisor) * y))


def ldexp(x, y, name=None):
    """x * 2^y"""
    from paddle.tensor.manipulation import cast
    from paddle.tensor.math import pow
    need(x, "x", "ldexp"), need(y, "y", "ldexp")
    kind = "float64" if "float64" in (dtype_name(x.dtype), dtype_name(y.dtype)) else "float32"
    return cast(x, kind) * pow(fill([1], 2.0, kind), cast(y, kind))


def frexp(x, name=None):
    """(mantissa in [0.5, 1), exponent): x = mantissa * 2^exponent."""
    from paddle.tensor.creation import zeros_like
    from paddle.tensor.math import abs, floor, log2, pow, sign
    from paddle.tensor.search import where
    if dtype_name(need(x, "x", "frexp").dtype) not in ("float32", "float64"):
        raise TypeError("The data type of input must be one of ['float32', 'float64'], but got %s" % x.dtype)
    zero, two = sign(x) == fill([], 0, x.dtype), fill([1], 2.0, x.dtype)
    exponent = where(zero, zeros_like(x), floor(log2(where(zero, zeros_like(x) + 1, abs(x)))) + 1)
    mantissa = x / pow(two, exponent)
    # the logarithm is rounded near powers of two
    over, under = abs(mantissa) >= 1.0, abs(mantissa) < 0.5
    exponent = where(over, exponent + 1, where(under, where(zero, exponent, exponent - 1), exponent))
    return x / pow(two, exponent), exponent


def _parts(y, x, dx, axis, where):
    """The areas between neighbours along the axis."""
    from paddle.tensor.manipulation import reshape, slice
    if x is not None and dx is not None:
        raise ValueError("Not permitted to specify both x and dx input args.")
    size = need(y, "y", where).shape[axis]

    def ends(v, at, n):
        return slice(v, [at % len(v.shape)], [1], [n]), slice(v, [at % len(v.shape)], [0], [n - 1])

    high, low = ends(y, axis, size)
    if x is None:
        wide = 1.0 if dx is None else dx
    else:
        over, under = ends(x, -1 if len(x.shape) == 1 else axis, size)
        wide = over - under
        if len(x.shape) == 1:
            dims = [1] * len(y.shape)
            dims[axis] = -1
            wide = reshape(wide, dims)
    return (high + low) * wide * 0.5


def trapezoid(y, x=None, dx=None, axis=-1, name=None):
    """The area under y along the axis, at the places x or dx apart."""
    from paddle.tensor.math import sum
    return sum(_parts(y, x, dx, axis, "trapezoid"), axis)


def cumulative_trapezoid(y, x=None, dx=None, axis=-1, name=None):
    """The running areas under y along the axis."""
    from paddle.tensor.math import cumsum
    return cumsum(_parts(y, x, dx, axis, "cumulative_trapezoid"), axis)


def diff(x, n=1, axis=-1, prepend=None, append=None, name=None):
    """The n-th differences between neighbours along the axis."""
    from paddle.tensor.logic import logical_xor
    from paddle.tensor.manipulation import concat, slice
    if n < 1:
        raise ValueError("n must be greater than 0, but received n: %s" % n)
    out, at = need(x, "x", "diff"), axis % len(x.shape)
    for _ in range(n):
        if prepend is not None or append is not None:  # Paddle does so each time
            out = concat([part for part in (prepend, out, append) if part is not None], at)
        size = out.shape[at]
        high, low = slice(out, [at], [1], [size]), slice(out, [at], [0], [size - 1])
        out = logical_xor(high, low) if dtype_name(out.dtype) == "bool" else high - low
    return out


def logspace(start, stop, num, base=10.0, dtype=None, name=None):
    """num numbers whose logarithms run from start to stop."""
    from paddle.tensor.manipulation import cast
    from paddle.tensor.math import pow
    from paddle.tensor.picking import linspace
    dtype = dtype_name("float32" if dtype is None else dtype)
    base = base if isinstance(base, Value) else fill([1], base, "float64")
    return cast(pow(cast(base, "float64"), linspace(start, stop, num, "float64")), dtype)


def vander(x, n=None, increasing=False, name=None):
    """Powers of the elements as columns, the highest first."""
    from paddle.tensor.creation import ones_like
    from paddle.tensor.manipulation import stack
    if len(need(x, "x", "vander").shape) != 1:
        raise ValueError("The input of x is expected to be a 1-D Tensor. But now the dims of Input(X) is %d." % len(x.shape))
    n = x.shape[0] if n is None else n
    if n < 0:
        raise ValueError("N must be non-negative.")
    powers = [ones_like(x)]
    for _ in range(n - 1):
        powers.append(powers[-1] * x)
    return stack(powers[:n] if increasing else powers[:n][::-1], axis=-1)


__getattr__ = _names.guard(__name__)
