"""Comparisons and truth values."""
from paddle import _names
from paddle._op import Value, Call, need, one
from paddle.fluid.framework import Variable


def _compare(kind):
    def function(x, y, name=None):
        need(x, "x", kind)
        if not isinstance(y, Value):
            from paddle._op import fill
            y = fill([], y, x.dtype)
        return one(kind, kind, {"X": x, "Y": y}, {"axis": -1}, name, stop_gradient=True)

    function.__name__ = function.__qualname__ = kind
    function.__doc__ = "%s, element by element." % kind
    return function


for _kind in "equal not_equal less_than less_equal greater_than greater_equal".split():
    globals()[_kind] = _compare(_kind)


def _logical(kind):
    def function(x, y, out=None, name=None):
        call = Call(kind, name)
        out = call.var() if out is None else out
        call.op(kind, {"X": need(x, "x", kind), "Y": need(y, "y", kind)}, {"Out": out})
        return out

    function.__name__ = function.__qualname__ = kind
    function.__doc__ = "%s, element by element." % kind
    return function


for _kind in "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor".split():
    globals()[_kind] = _logical(_kind)


def logical_not(x, out=None, name=None):
    """not, element by element."""
    call = Call("logical_not", name)
    out = call.var() if out is None else out
    call.op("logical_not", {"X": need(x, "x", "logical_not")}, {"Out": out})
    return out


def is_empty(x, name=None):
    """Whether x has no elements."""
    return Call("is_empty", name).one("is_empty", {"X": need(x, "x", "is_empty")}, stop_gradient=True)


def is_tensor(x):
    """Whether x is a Variable."""
    return isinstance(x, Value)


__getattr__ = _names.guard(__name__)
