"""Arithmetic: element by element, reductions, sums of lists."""
from paddle import _names
from paddle._op import Value, Call, dims, fill, named, need, need_all, number, one, type_number
from paddle.fluid import core
from paddle.fluid.framework import Variable

_WHOLE = [core.BY_DTYPE[_name] for _name in ("int32", "int64")]
FLOAT_MAX = 3.4028234663852886e+38


def _unary(kind, call=None):
    def function(x, name=None):
        return one(call or kind, kind, {"X": need(x, "x", call or kind)}, name=name)

    function.__name__ = function.__qualname__ = call or kind
    function.__doc__ = "%s of every element." % (call or kind)
    return function


for _kind in ("abs ceil cos erf floor log log1p log2 reciprocal round rsqrt sigmoid sign sin sqrt square tanh").split():
    globals()[_kind] = _unary(_kind)


def exp(x, name=None):
    """exp of every element; whole numbers become floats."""
    need(x, "x", "exp")
    if x.dtype in _WHOLE:
        from paddle.tensor.manipulation import cast
        x = cast(x, "float32")
    return one("exp", "exp", {"X": x}, name=name)


def _binary(kind, call):
    def function(x, y, name=None):
        return named(kind, {"X": need(x, "x", call), "Y": need(y, "y", call)}, {"axis": -1}, name)

    function.__name__ = function.__qualname__ = call
    function.__doc__ = "%s, element by element; the smaller operand is repeated along missing or unit dimensions." % call
    return function


add = _binary("elementwise_add", "add")
subtract = _binary("elementwise_sub", "subtract")
multiply = _binary("elementwise_mul", "multiply")
divide = _binary("elementwise_div", "divide")
maximum = _binary("elementwise_max", "maximum")
minimum = _binary("elementwise_min", "minimum")
mod = remainder = floor_mod = _binary("elementwise_mod", "mod")
floor_divide = _binary("elementwise_floordiv", "floor_divide")


def pow(x, y, name=None):
    """x to the power y (a number or a Variable)."""
    need(x, "x", "pow")
    if isinstance(y, Value):
        return one("elementwise_pow", "elementwise_pow", {"X": x, "Y": y}, {"axis": -1}, name)
    return one("pow", "pow", {"X": x}, {"factor": float(number(y, "y", "pow"))}, name)


def neg(x, name=None):
    """-x"""
    return scale(x, -1.0, name=name)


def scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None):
    """scale * x + bias, or scale * (x + bias)."""
    need(x, "x", "scale")
    call = Call("scale", name)
    inputs = {"X": x}
    attrs = {"bias": float(bias), "bias_after_scale": bias_after_scale}
    if isinstance(scale, Value):
        inputs["ScaleTensor"] = scale
    else:
        attrs["scale"] = float(scale)
    out = call.one("scale", inputs, attrs)
    return out if act is None else call.one(act, {"X": out})


def clip(x, min=None, max=None, name=None):
    """Every element between min and max."""
    need(x, "x", "clip")
    inputs, attrs = {"X": x}, {"min": -FLOAT_MAX, "max": FLOAT_MAX}
    for key, value in (("min", min), ("max", max)):
        if isinstance(value, Value):
            value.stop_gradient = True
            inputs[key.capitalize()] = value
        elif value is not None:
            attrs[key] = float(value)
    return one("clip", "clip", inputs, attrs, name)


def add_n(inputs, name=None):
    """The sum of all inputs."""
    return one("add_n", "sum", {"X": need_all(inputs, "inputs", "add_n")}, {"use_mkldnn": False}, name)


def _axes(axis, where):
    if axis is None:
        return []
    found = dims(axis, "axis", where)
    if isinstance(found, Value):
        raise TypeError("%s: the axis must be known while the program is built" % where)
    return found


def reduce(kind, call, x, axis, keepdim, name, attrs=None, all_when_empty=True):
    """The shared form of the reductions."""
    need(x, "x", call)
    axes = _axes(axis, call)
    rank = len(x.shape)
    for a in axes:
        if not -rank <= a < rank and not (rank == 0 and a in (0, -1)):
            raise ValueError("%s: the axis %d is not in the range [%d, %d) of a tensor of the shape %s" %
                             (call, a, -rank, rank, list(x.shape)))
    whole = all_when_empty and (not axes or len(axes) == len(x.shape))
    more = {"dim": axes, "keep_dim": keepdim, "reduce_all": whole}
    more.update(attrs or {})
    return one(call, kind, {"X": x}, more, name)


def sum(x, axis=None, dtype=None, keepdim=False, name=None):
    """The sum over the axes (None: over everything)."""
    need(x, "x", "sum")
    attrs = {}
    if dtype is not None:
        attrs = {"in_dtype": x.dtype, "out_dtype": type_number(dtype)}
    axes = _axes(axis, "sum")
    attrs["reduce_all"] = bool(axes) and len(axes) == len(x.shape)
    if axis is not None and not axes:
        attrs["reduce_all"] = True
    return reduce("reduce_sum", "sum", x, axis, keepdim, name, attrs)


def max(x, axis=None, keepdim=False, name=None):
    """The largest value over the axes."""
    return reduce("reduce_max", "max", x, axis, keepdim, name)


def min(x, axis=None, keepdim=False, name=None):
    """The smallest value over the axes."""
    return reduce("reduce_min", "min", x, axis, keepdim, name)




def amax(x, axis=None, keepdim=False, name=None):
    """The largest value over the axes; equal ones share its gradient."""
    return reduce("reduce_amax", "amax", x, axis, keepdim, name)


def amin(x, axis=None, keepdim=False, name=None):
    """The smallest value over the axes; equal ones share its gradient."""
    return reduce("reduce_amin", "amin", x, axis, keepdim, name)


def prod(x, axis=None, keepdim=False, dtype=None, name=None):
    """The product over the axes."""
    if dtype is not None and type_number(dtype) != x.dtype:
        from paddle.tensor.manipulation import cast
        x = cast(x, dtype)
    return reduce("reduce_prod", "reduce_prod", x, axis, keepdim, name)


def all(x, axis=None, keepdim=False, name=None):
    """Whether all values over the axes are true."""
    return reduce("reduce_all", "all", x, axis, keepdim, name)


def any(x, axis=None, keepdim=False, name=None):
    """Whether any value over the axes is true."""
    return reduce("reduce_any", "any", x, axis, keepdim, name)


def logsumexp(x, axis=None, keepdim=False, name=None):
    """log(sum(exp(x))) over the axes."""
    axes = _axes(axis, "logsumexp")
    whole = not axes or len(axes) == len(x.shape)
    return one("logsumexp", "logsumexp", {"X": need(x, "x", "logsumexp")},
               {"axis": axes or [0], "keepdim": keepdim, "reduce_all": whole}, name)


def cumsum(x, axis=None, dtype=None, name=None):
    """Running sums along the axis (None: of the flattened input)."""
    need(x, "x", "cumsum")
    if dtype is not None and type_number(dtype) != x.dtype:
        from paddle.tensor.manipulation import cast
        x = cast(x, dtype)
    attrs = {"flatten": axis is None}
    if axis is not None:
        attrs["axis"] = axis
    return one("cumsum", "cumsum", {"X": x}, attrs, name)


def increment(x, value=1.0, name=None):
    """x += value, in place."""
    need(x, "x", "increment")
    call = Call("increment", name)
    call.op("increment", {"X": x}, {"Out": x}, {"step": float(value)})
    return x


def outer(x, y, name=None):
    """The product of every element of x with every element of y."""
    from paddle.tensor.manipulation import reshape
    left, right = reshape(x, [-1, 1]), reshape(y, [1, -1])
    return one("outer", "matmul_v2", {"X": left, "Y": right}, name=name)


def einsum(equation, *operands):
    """Sums of products by Einstein's notation."""
    operands = need_all(list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple))
                        else list(operands), "operands", "einsum")
    if "..." in equation or len(operands) > 2:
        from paddle.tensor import equation as spelling
        equation = spelling.spelled(equation, operands)
        if len(operands) > 2:
            return spelling.pairs(equation, operands, einsum)
    call = Call("einsum")
    out = call.var()
    caches = [call.var() for _ in operands]
    shapes = [call.var() for _ in operands]
    call.op("einsum", {"Operands": operands}, {"Out": out, "InnerCache": caches, "XShape": shapes},
            {"equation": equation})
    return out


__getattr__ = _names.guard(__name__)
