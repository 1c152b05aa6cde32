"""The dispatcher of ops for functions of Paddle 2.x: it runs them (eager mode) or appends them to the program.

Programs get names as in Paddle 2.6; shapes and types come from Skiff's op registry.
"""
from skiff import _native

from paddle._mode import mode
from paddle._tensor import Tensor
from paddle.fluid import core
from paddle.fluid._build import net
from paddle.fluid.framework import Variable, dtype_name

#: types of arguments and results: for isinstance
Value = (Tensor, Variable)
_run, _run_one = _native.eager_op, _native.eager_one

_append_op = _native.Block.append_op
_create_var = _native.Block.create_var


def _append(block, kind, inputs, outputs, attrs=None):
    """Appends an op; what is made only of variables without gradient has none either."""
    if mode.trace is not None:
        inputs, outputs = mode.trace.owned(inputs), mode.trace.owned(outputs)
    _append_op(block, kind, inputs, outputs, attrs)
    if mode.trace is not None and not mode.trace.notes():
        inputs = {}
    for value in inputs.values():
        for var in value if isinstance(value, (list, tuple)) else (value,):
            if not var.stop_gradient:
                return
    for value in outputs.values():
        for var in value if isinstance(value, (list, tuple)) else (value,):
            var.stop_gradient = True


def check_static(what):
    """For what only programs have."""
    if mode.eager:
        raise RuntimeError("%s builds programs: call paddle.enable_static() first" % what)


class Call(object):
    """One call of a function: the name that its variables begin with, and the ops it appends."""

    __slots__ = ("name",)

    def __init__(self, kind, name=None):
        self.name = kind if mode.eager else name or net.name(kind)

    def var(self, dtype=None, stop_gradient=False):
        """A variable (eager: an empty tensor) for a result; its shape and type come from the op that writes it."""
        if mode.eager:
            return Tensor()
        return _create_var(net.block, net.name(self.name + ".tmp"), dtype=dtype, stop_gradient=stop_gradient,
                           persistable=False)

    @staticmethod
    def op(kind, inputs, outputs, attrs=None):
        if mode.eager:
            return _run(kind, inputs, outputs, attrs)
        _append(net.block, kind, inputs, outputs, attrs)

    def one(self, kind, inputs, attrs=None, slot="Out", dtype=None, stop_gradient=False):
        """An op with one result."""
        if mode.eager:
            return _run_one(kind, inputs, attrs, slot)
        out = self.var(dtype, stop_gradient)
        _append(net.block, kind, inputs, {slot: out}, attrs)
        return out


def one(call, kind, inputs, attrs=None, name=None, slot="Out", dtype=None, stop_gradient=False):
    """Call(call, name).one(...)"""
    if mode.eager:
        return _run_one(kind, inputs, attrs, slot)
    return Call(call, name).one(kind, inputs, attrs, slot, dtype, stop_gradient)


def named(kind, inputs, attrs=None, name=None, dtype=None, call=None):
    """An op whose result has the call's own name (elementwise_add_0), or the given one."""
    if mode.eager:
        return _run_one(kind, inputs, attrs)
    out = _create_var(net.block, name or net.name(call or kind), dtype=dtype, persistable=False)
    _append(net.block, kind, inputs, {"Out": out}, attrs)
    return out


def need(var, arg, where):
    """TypeError unless var is a Variable; gives it back."""
    if not isinstance(var, Value):
        raise TypeError("The type of '%s' in %s must be Variable, but received %s." % (arg, where, type(var)))
    return var


def need_all(values, arg, where):
    """A list of Variables, from a list, tuple or a single one."""
    if isinstance(values, Value):
        return [values]
    if not isinstance(values, (list, tuple)):
        raise TypeError("The type of '%s' in %s must be a list or tuple of Variables, but received %s." %
                        (arg, where, type(values)))
    return [need(v, arg, where) for v in values]


def number(value, arg, where):
    """A Python number of an int, float or numpy scalar."""
    if isinstance(value, Value) or not hasattr(value, "__float__"):
        raise TypeError("The type of '%s' in %s must be a number, but received %s." % (arg, where, type(value)))
    return value.item() if hasattr(value, "item") else value


def dims(value, arg, where):
    """A list of ints of an int, list, tuple or array."""
    if isinstance(value, Value):
        return value
    if hasattr(value, "__index__"):
        return [value.__index__()]
    if not hasattr(value, "__iter__"):
        raise TypeError("The type of '%s' in %s must be an int, list or tuple, but received %s." %
                        (arg, where, type(value)))
    out = []
    for item in value:
        if isinstance(item, Value):
            out.append(item)
        elif hasattr(item, "__index__"):
            out.append(item.__index__())
        else:
            raise TypeError("The elements of '%s' in %s must be int, but received %s." % (arg, where, type(item)))
    return out


def int_tensor(value, dtype="int32", shape=()):
    """A constant for slots that take lists of tensors (ShapeTensorList)."""
    return fill(list(shape), value, dtype)


def fill(shape, value, dtype, name=None, on_cpu=False):
    """fill_constant, as paddle.full calls it: two names are taken, the second is used."""
    if not mode.eager:
        net.name("fill_constant")
    elif shape.__class__ is list and dtype.__class__ is str and dtype in core.BY_DTYPE and \
            all(d.__class__ is int for d in shape):
        attrs = {"shape": shape, "dtype": core.BY_DTYPE[dtype], "value": value}
        if dtype[0] != "f" or dtype == "float64":
            attrs["str_value"] = str(float(value)) if dtype[0] == "f" else str(int(value))
        return _run_one("fill_constant", {}, attrs)
    call = Call("fill_constant", name)
    inputs, sizes = shape_inputs(shape, "fill_constant")
    kind = dtype_name(dtype)
    text = str(int(value)) if kind in ("int64", "int32", "int16", "int8", "uint8") else str(float(value))
    return call.one("fill_constant", inputs, {"shape": sizes, "dtype": core.BY_DTYPE[kind], "value": float(value),
                                              "str_value": text, "force_cpu": on_cpu}, stop_gradient=True)


def shape_inputs(shape, where):
    """({slot: variables}, sizes with -1 for those that are known only when the program runs)."""
    shape = dims(shape, "shape", where)
    if isinstance(shape, Value):
        return {"ShapeTensor": shape}, []
    if any(isinstance(d, Value) for d in shape):
        sizes = [-1 if isinstance(d, Value) else d for d in shape]
        return {"ShapeTensorList": [d if isinstance(d, Value) else int_tensor(d) for d in shape]}, sizes
    return {}, shape


def type_number(dtype):
    """The number of a type in attributes."""
    return core.BY_DTYPE[dtype_name(dtype)]


_native.set_dispatcher(net, mode, type_number)


def declared(module):
    """{name: function} of those that src/calls declares for a module (its __name__)."""
    return _native.functions(module[len("paddle."):])


def is_float(var):
    return var.dtype is not None and var.dtype.dtype in ("float16", "bfloat16", "float32", "float64")
