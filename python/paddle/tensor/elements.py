"""Functions of single elements, comparisons, sums of products: what is not in math and logic."""
from paddle import _names
from paddle._op import Value, fill, need, need_all, number, one
from paddle.tensor.math import multiply, subtract



def _unary(kind, call=None):
    def function(x, name=None):
        return one(call or kind, kind, {"X": need(x, "x", call or kind)}, name=name)

    function.__name__ = function.__qualname__ = call or kind
    return function


for _kind in "acos asin atan sinh cosh tan asinh acosh atanh expm1 log10 trunc bitwise_not".split():
    globals()[_kind] = _unary(_kind)


def stanh(x, scale_a=0.67, scale_b=1.7159, name=None):
    """scale_b * tanh(scale_a * x)"""
    return one("stanh", "stanh", {"X": need(x, "x", "stanh")}, {"scale_a": scale_a, "scale_b": scale_b}, name)


def logit(x, eps=None, name=None):
    """log(x / (1 - x)), x kept within [eps, 1 - eps]."""
    return one("logit", "logit", {"X": need(x, "x", "logit")}, {"eps": 0.0 if eps is None else float(eps)}, name)


def _test(kind, what):
    def function(x, name=None):
        return one(kind + "_v2", kind + "_v2", {"X": need(x, "x", kind)}, name=name, stop_gradient=True)

    function.__name__ = function.__qualname__ = kind
    function.__doc__ = "Whether every element is %s." % what
    return function


isnan, isinf, isfinite = _test("isnan", "NaN"), _test("isinf", "infinite"), _test("isfinite", "finite")


def _near(kind):
    def function(x, y, rtol=1e-05, atol=1e-08, equal_nan=False, name=None):
        return one(kind, kind, {"Input": need(x, "x", kind), "Other": need(y, "y", kind)},
                   {"rtol": str(rtol), "atol": str(atol), "equal_nan": bool(equal_nan)}, name, stop_gradient=True)

    function.__name__ = function.__qualname__ = kind
    function.__doc__ = "|x - y| <= atol + rtol * |y|, %s." % ("element by element" if kind == "isclose" else "everywhere")
    return function


isclose, allclose = _near("isclose"), _near("allclose")


def equal_all(x, y, name=None):
    """Whether shapes and all values are equal."""
    return one("equal_all", "equal_all", {"X": need(x, "x", "equal_all"), "Y": need(y, "y", "equal_all")}, name=name,
               stop_gradient=True)


def _pair(kind, call, slots=("X", "Y")):
    def function(x, y, name=None):
        return one(kind, kind, {slots[0]: need(x, "x", call), slots[1]: need(y, "y", call)}, name=name)

    function.__name__ = function.__qualname__ = call
    function.__doc__ = "%s of two tensors." % call
    return function


fmax, fmin = _pair("elementwise_fmax", "fmax"), _pair("elementwise_fmin", "fmin")
atan2 = _pair("atan2", "atan2", ("X1", "X2"))
kron, mv = _pair("kron", "kron"), _pair("mv", "mv", ("X", "Vec"))


def lerp(x, y, weight, name=None):
    """x + weight * (y - x)"""
    need(x, "x", "lerp")
    weight = weight if isinstance(weight, Value) else fill([1], weight, x.dtype)
    return one("lerp", "lerp", {"X": x, "Y": need(y, "y", "lerp"), "Weight": weight}, name=name)


def addmm(input, x, y, beta=1.0, alpha=1.0, name=None):
    """beta * input + alpha * x @ y"""
    return one("addmm", "addmm", {"Input": need(input, "input", "addmm"), "X": need(x, "x", "addmm"),
                                  "Y": need(y, "y", "addmm")}, {"Alpha": float(alpha), "Beta": float(beta)}, name)


def inner(x, y, name=None):
    """Sums of products over the last dimensions."""
    from paddle.tensor.manipulation import reshape, transpose
    if not x.shape or not y.shape:
        return multiply(x, y)
    left = reshape(x, [-1, x.shape[-1]])
    right = transpose(reshape(y, [-1, y.shape[-1]]), [1, 0])
    out = one("inner", "matmul_v2", {"X": left, "Y": right}, name=name)
    return reshape(out, list(x.shape[:-1]) + list(y.shape[:-1]))


def cross(x, y, axis=9, name=None):
    """The vector product along a dimension of 3 (9: the first such)."""
    return one("cross", "cross", {"X": need(x, "x", "cross"), "Y": need(y, "y", "cross")}, {"dim": axis}, name)


def dist(x, y, p=2, name=None):
    """The p-norm of x - y."""
    return one("dist", "dist", {"X": need(x, "x", "dist"), "Y": need(y, "y", "dist")},
               {"p": float(number(p, "p", "dist"))}, name)


def frac(x, name=None):
    """x without its whole part."""
    return subtract(x, trunc(x), name=name)  # noqa: F821 (made above)


def _running(kind, axis, x, attrs, dtype, name):
    if dtype is not None:
        from paddle.tensor.manipulation import cast
        x = cast(x, dtype)
    return one(kind, kind, {"X": need(x, "x", kind)}, attrs, name)


def cumprod(x, dim=None, dtype=None, name=None):
    """Running products along a dimension."""
    if dim is None:
        from paddle.tensor.manipulation import flatten
        dim, x = 0, flatten(x)
    return _running("cumprod", dim, x, {"dim": dim}, dtype, name)


def logcumsumexp(x, axis=None, dtype=None, name=None):
    """Running log(sum(exp(x))) along the axis (None: of the flattened input)."""
    attrs = {"flatten": True} if axis is None else {"axis": axis, "flatten": False}
    return _running("logcumsumexp", axis, x, attrs, dtype, name)


def multiplex(inputs, index, name=None):
    """Row i of tensor index[i] of the inputs."""
    return one("multiplex", "multiplex", {"X": need_all(inputs, "inputs", "multiplex"),
                                          "Ids": need(index, "index", "multiplex")}, name=name)


def bincount(x, weights=None, minlength=0, name=None):
    """How often every number occurs, or the sums of its weights."""
    inputs = {"X": need(x, "x", "bincount")}
    if weights is not None:
        inputs["Weights"] = need(weights, "weights", "bincount")
    return one("bincount", "bincount", inputs, {"minlength": minlength}, name, stop_gradient=True)


def histogram(input, bins=100, min=0, max=0, name=None):
    """Counts in equal parts of [min, max]; both 0: of the input's own range."""
    return one("histogram", "histogram", {"X": need(input, "input", "histogram")},
               {"bins": bins, "min": min, "max": max}, name, dtype="int64", stop_gradient=True)


def count_nonzero(x, axis=None, keepdim=False, name=None):
    """How many elements are not zero."""
    from paddle.tensor.manipulation import cast
    from paddle.tensor.math import sum
    return sum(cast(cast(x, "bool"), "int64"), axis=axis, keepdim=keepdim, name=name)


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
