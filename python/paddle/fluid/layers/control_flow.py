"""Loops and choices."""
from contextlib import contextmanager

from skiff import _native

from paddle import _names
from paddle.fluid import core, framework
from paddle.fluid._build import net
from paddle.fluid.layer_helper import LayerHelper, check_dtype, check_variable

_layers = _native.layers
COMPARE = ["less_than", "less_equal", "greater_than", "greater_equal", "equal", "not_equal"]

__all__ = COMPARE + ["While", "Switch", "increment", "array_write", "create_array", "array_read", "while_loop"]


def _compare(kind):
    layer = getattr(_layers, kind)

    if kind == "less_than":
        def function(x, y, force_cpu=None, cond=None):
            check_variable(x, "x", kind)
            check_variable(y, "y", kind)
            return layer(net, x, y, cond)
    else:
        def function(x, y, cond=None):
            check_variable(x, "x", kind)
            check_variable(y, "y", kind)
            return layer(net, x, y, cond)

    function.__name__ = function.__qualname__ = kind
    function.__doc__ = "%s, element by element; cond: the variable to write." % kind
    return function


for _kind in COMPARE:
    globals()[_kind] = _compare(_kind)


def increment(x, value=1.0, in_place=True):
    """x + value, in x itself unless in_place is False."""
    check_variable(x, "x", "increment")
    return _layers.increment(net, x, value, not in_place)


class While(object):
    """with While(cond).block(): ... - the body must write cond again."""

    def __init__(self, cond, is_test=False, name=None):
        check_dtype(cond, "cond", "fluid.layers.While", ("bool",))
        size = 1
        for d in cond.shape:
            size *= abs(d)
        if size != 1:
            raise TypeError("condition expected shape as [1], but given shape as {0}.".format(list(cond.shape)))
        self._cond, self._is_test = cond, is_test

    @contextmanager
    def block(self):
        loop = net.while_begin(self._cond, bool(self._is_test))
        yield
        loop.end()


class Switch(object):
    """with Switch() as switch: with switch.case(cond): ... with switch.default(): ..."""

    def __init__(self, name=None):
        self._switch, self._open, self._seen_default = None, False, False

    def __enter__(self):
        self._switch, self._open, self._seen_default = net.switch_begin(), True, False
        return self

    def __exit__(self, kind, value, trace):
        self._open = False
        return False

    @contextmanager
    def case(self, condition):
        if not self._open:
            raise ValueError("case should be called inside with")
        check_dtype(condition, "condition", "the member function case of fluid.layers.Switch", ("bool",))
        if self._seen_default:
            raise ValueError("case should come before default")
        self._switch.case(condition)
        yield
        self._switch.end()

    @contextmanager
    def default(self):
        if not self._open:
            raise ValueError("default should be called inside with")
        self._switch.default()
        self._seen_default = True
        yield
        self._switch.end()


def while_loop(cond, body, loop_vars, is_test=False, name=None):
    """loop_vars while cond(*loop_vars), by body(*loop_vars)."""
    if not callable(cond):
        raise TypeError("cond in while_loop should be callable")
    if not callable(body):
        raise TypeError("body in while_loop should be callable")
    if not isinstance(loop_vars, (list, tuple)):
        raise TypeError("The type of 'loop_vars' in fluid.layers.while_loop must be list or tuple, but received %s." %
                        type(loop_vars))
    if not loop_vars:
        raise ValueError("loop_vars in while_loop should not be empty")
    pred = cond(*loop_vars)
    check_dtype(pred, "var of cond returned", "fluid.layers.while_loop", ("bool",))
    if tuple(pred.shape) != (1,):
        raise TypeError("the shape of the variable returned by cond should be [1],but given shape as {0}.".format(
            list(pred.shape)))
    with While(pred, is_test, name).block():
        results = body(*loop_vars)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        if len(results) != len(loop_vars):
            raise ValueError("body in while_loop should return the same arity (length and structure) and types as loop_vars")
        for new, old in zip(results, loop_vars):
            if new is not old:
                _layers.assign(net, new, old)
        _layers.assign(net, cond(*loop_vars), pred)
    return loop_vars


def create_array(dtype):
    """A list of tensors."""
    helper = LayerHelper("array")
    return helper.create_variable(name="{0}.out".format(helper.name), type=core.VarType.LOD_TENSOR_ARRAY, dtype=dtype)


def array_write(x, i, array=None):
    """x as item i (an int64 Variable) of an array (None: a new one)."""
    check_variable(x, "x", "array_write")
    check_dtype(i, "i", "array_write", ("int64",))
    helper = LayerHelper("array_write")
    if array is None:
        array = helper.create_variable(name="{0}.out".format(helper.name), type=core.VarType.LOD_TENSOR_ARRAY,
                                       dtype=x.dtype)
    elif not isinstance(array, framework.Variable) or array.type != core.VarType.LOD_TENSOR_ARRAY:
        raise TypeError("array should be tensor array vairable in array_write Op")
    helper.append_op(type="write_to_array", inputs={"X": [x], "I": [i]}, outputs={"Out": [array]})
    return array


def array_read(array, i):
    """Item i of an array."""
    check_dtype(i, "i", "array_read", ("int64",))
    if not isinstance(array, framework.Variable) or array.type != core.VarType.LOD_TENSOR_ARRAY:
        raise TypeError("array should be tensor array vairable in array_read Op")
    helper = LayerHelper("array_read")
    out = helper.create_variable_for_type_inference(dtype=array.dtype)
    helper.append_op(type="read_from_array", inputs={"X": [array], "I": [i]}, outputs={"Out": [out]})
    return out


__getattr__ = _names.guard(__name__)
