"""Operators of Tensors, with Paddle 2.6's types.

Of two tensors the left one decides, but + - * of two float types give the wider one. A Python float turns a tensor of whole
numbers into the default float type, a Python int or bool never changes a type, and whole numbers divide to float32.
"""
from skiff import _native

from paddle import framework
from paddle._tensor import Tensor
from paddle.fluid import core

_one, _scalar = _native.eager_one, _native.eager_scalar
_FLOATS = {"float16": 0, "bfloat16": 1, "float32": 2, "float64": 3}
_NUMBERS = (int, float)


def cast(x, name):
    """x as the type of that name; itself if it is."""
    kind = x._dtype
    return x if kind == name else _one("cast", {"X": x}, {"in_dtype": core.BY_DTYPE[kind], "out_dtype": core.BY_DTYPE[name]})


def constant(value, like):
    """A number as a tensor without dimensions, in the type of `like`."""
    name = like._dtype
    if name in ("float32", "float64", "int32", "int64", "bool"):
        return _scalar(value, name)
    return cast(_scalar(value, "float32"), name)


def _with_float(x):
    """x, as a Python float wants it."""
    return x if x._dtype in _FLOATS else cast(x, framework._default_dtype)


def operand(x, other, sign):
    """(x, other as a tensor); None: it cannot be one."""
    if isinstance(other, Tensor):
        return x, other
    if isinstance(other, float):
        x = _with_float(x)
        return x, constant(other, x)
    if isinstance(other, int):
        return x, constant(other, x)
    if hasattr(other, "__array__"):
        import numpy
        array = numpy.asarray(other)
        if array.dtype.kind in "fiub":
            return x, Tensor(array) if array.ndim else constant(array.item(), x)
    if other is None or isinstance(other, (list, tuple, dict, set)):
        raise ValueError("%s: the other operand must be int, float, bool or Tensor, but got %s" % (sign, type(other).__name__))
    return None


def _wider(x, y):
    """Both in one type, for + - *."""
    left, right = x._dtype, y._dtype
    if left == right:
        return x, y
    if left in _FLOATS and right in _FLOATS and _FLOATS[right] > _FLOATS[left]:
        return cast(x, right), y
    return x, cast(y, left)


def _left(x, y):
    """Both in the type of the left one."""
    return x, cast(y, x._dtype)


def _real(x, y):
    """Both in the type of the left one, or float32."""
    if x._dtype not in _FLOATS:
        return cast(x, "float32"), cast(cast(y, x._dtype), "float32")
    return x, cast(y, x._dtype)


def _scaled(x, scale, bias):
    return _one("scale", {"X": x}, {"scale": scale, "bias": bias})


def _operator(sign, kind, unify, number="", reverse=False):
    """A method. number: float32 and a Python number in one op (python/native/operator.c)."""
    def method(self, other):
        whole = unify is _real and self._dtype not in _FLOATS and not isinstance(other, Tensor) and \
            (isinstance(other, float) or hasattr(other, "__index__"))
        both = operand(cast(self, "float32") if whole else self, other, sign)
        if both is None:
            return NotImplemented
        x, y = unify(both[1], both[0]) if reverse else unify(*both)
        if x._dtype == "bool" and unify is _wider:
            return _one(_truth_kind(kind, other), {"X": x, "Y": y})
        return _one(kind, {"X": x, "Y": y})

    method.__name__ = method.__qualname__ = sign
    return _native.operator(kind, method, 2 if unify is _real else 1 if unify is _wider else 0, reverse, number)


def _truth_kind(kind, other):
    """Truth values are multiplied, and an int is added to them; nothing else."""
    if kind == "elementwise_mul":
        return "logical_and"
    return "logical_or" if not isinstance(other, (bool, Tensor)) and hasattr(other, "__index__") else kind


def _power(sign, reverse):
    kinds = _operator(sign, "elementwise_pow", _left, "", reverse)
    if reverse:
        return kinds

    def method(self, other):
        if other.__class__ in _NUMBERS:
            x = _with_float(self) if other.__class__ is float else self
            if x._dtype == "float32" or x._dtype == "float64":
                return _one("pow", {"X": x}, {"factor": other})
            if x._dtype != "bool" and other < 0:
                raise ValueError("integers to the power %d: convert them with astype('float32') first" % other)
        return kinds(self, other)

    method.__name__ = method.__qualname__ = sign
    return method


def _compared(x, y):
    return x, cast(y, x._dtype)


def _bits(kind, sign):
    def method(self, other):
        if isinstance(other, Tensor):
            return _one(kind, {"X": self, "Y": cast(other, self._dtype)})
        both = operand(self, other, sign)
        return NotImplemented if both is None else _one(kind, {"X": self, "Y": cast(both[1], self._dtype)})

    method.__name__ = method.__qualname__ = sign
    return method


def _matmul(self, other):
    if isinstance(other, Tensor) and self._dtype in _FLOATS:
        return _one("matmul_v2", {"X": self, "Y": other})
    from paddle.tensor.linalg import matmul
    both = operand(self, other, "__matmul__")
    return NotImplemented if both is None else matmul(*both)


def _rmatmul(self, other):
    from paddle.tensor.linalg import matmul
    both = operand(self, other, "__rmatmul__")
    return NotImplemented if both is None else matmul(both[1], both[0])


def _negative(self):
    if self._dtype in ("float32", "float16", "bfloat16", "float64"):
        return _scaled(self, -1.0, 0.0)
    return _one("elementwise_mul", {"X": self, "Y": constant(-1, self)})


def _inverted(self):
    if self._dtype == "bool":
        return _one("logical_not", {"X": self})
    if self._dtype in _FLOATS:
        raise RuntimeError("~ is for bool and integers, but the tensor has the type %s" % self._dtype)
    return _one("elementwise_sub", {"X": constant(-1, self), "Y": self})  # -1 - x: all bits turned


def install():
    """Puts the operators on Tensor; called once."""
    from paddle.tensor.math import abs
    table = (
        ("add", "elementwise_add", _wider, "+", False),
        ("radd", "elementwise_add", _wider, "+", True),
        ("sub", "elementwise_sub", _wider, "-", False),
        ("rsub", "elementwise_sub", _wider, "r", True),
        ("mul", "elementwise_mul", _wider, "*", False),
        ("rmul", "elementwise_mul", _wider, "*", True),
        ("truediv", "elementwise_div", _real, "/", False),
        ("rtruediv", "elementwise_div", _real, "", True),
        ("floordiv", "elementwise_floordiv", _left, "", False),
        ("rfloordiv", "elementwise_floordiv", _left, "", True),
        ("mod", "elementwise_mod", _left, "", False), ("rmod", "elementwise_mod", _left, "", True),
        ("eq", "equal", _compared, "", False), ("ne", "not_equal", _compared, "", False),
        ("lt", "less_than", _compared, "", False), ("le", "less_equal", _compared, "", False),
        ("gt", "greater_than", _compared, "", False), ("ge", "greater_equal", _compared, "", False))
    for name, kind, unify, number, reverse in table:
        setattr(Tensor, "__%s__" % name, _operator("__%s__" % name, kind, unify, number, reverse))
    Tensor.__pow__, Tensor.__rpow__ = _power("__pow__", False), _power("__rpow__", True)
    for name, kind in (("and", "bitwise_and"), ("or", "bitwise_or"), ("xor", "bitwise_xor")):
        method = _bits(kind, "__%s__" % name)
        setattr(Tensor, "__%s__" % name, method)
        setattr(Tensor, "__r%s__" % name, method)
    Tensor.__matmul__, Tensor.__rmatmul__ = _matmul, _rmatmul
    Tensor.__neg__, Tensor.__invert__, Tensor.__abs__ = _negative, _inverted, abs
    Tensor.__pos__ = lambda self: self
