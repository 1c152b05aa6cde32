"""What rewritten functions (paddle.jit.rewrite) call: Python's own control flow for Python's values; for variables of a program
its conditional_block, select_input and while ops.

The state of a branch or loop is the names it sets. Values are lists, tuples and dicts of leaves; a leaf that is a variable is
selected or carried, numbers become constants when they differ, everything else must stay what it is.
"""
import functools
import operator
import types

from skiff import _native

from paddle import tensor
from paddle._mode import mode
from paddle.fluid.framework import Variable
from paddle.jit import loops
from paddle.jit.merge import Branches, is_array, refuse_at, to_arrays
from paddle.jit.merge import UNDEFINED, as_bool, copied, logical
from paddle.jit.trace import user_frame
from paddle.jit.translate import translated

_depth = [0]  # how many conditional branches are being traced


def read(get):
    """The value of a name, which may have none yet."""
    try:
        return get()
    except (NameError, AttributeError):
        return UNDEFINED


def undefined(value):
    return value is UNDEFINED


def set_attribute(owner, name, value):
    """owner.name = value; as it was before when the trace ends."""
    if value is UNDEFINED:
        return
    if mode.trace is not None:
        mode.trace.keep_attribute(owner, name)
    setattr(owner, name, value)


class _Slices(object):
    """slices[a:b, c]: the index."""

    def __getitem__(self, index):
        return index


slices = _Slices()


def set_item(value, index, part):
    """value[index] = part; a variable is replaced by another one."""
    if isinstance(value, Variable) and not is_array(value):
        from paddle.tensor.picking import setitem
        return setitem(value, index, part)
    value[index] = part
    return value


# ---- choices ----


def _place(line):
    """(file, line) of the statement in the function that calls."""
    return user_frame().f_code.co_filename, line


def branch(test, true, false, get, set, names, line, grown=()):
    """if test: true() else: false()"""
    if not isinstance(test, Variable):
        true() if test else false()
        return
    _note()
    place = _place(line)
    before = to_arrays(get(), names, grown)
    set(before)
    both = Branches(as_bool(test), before, names, place)
    _depth[0] += 1
    try:
        for side, function in ((True, true), (False, false)):
            set(copied(before))
            both.side(side, function, get)
    finally:
        _depth[0] -= 1
    set(both.merged())


def choice(test, true, false, line):
    """true() if test else false()"""
    if not isinstance(test, Variable):
        return true() if test else false()
    box = [UNDEFINED]

    def put(values):
        box[0] = values[0]

    branch(test, lambda: put((true(),)), lambda: put((false(),)), lambda: (box[0],), put, ("the value",), line)
    return box[0]


def _note():
    if mode.trace is not None:
        mode.trace.flows += 1


def both(left, right):
    """left() and right()"""
    return _logical("logical_and", left(), right, lambda a: not a)


def either(left, right):
    """left() or right()"""
    return _logical("logical_or", left(), right, lambda a: a)


def _logical(kind, left, right, decided):
    if not isinstance(left, Variable):
        return left if decided(left) else right()
    other = right()
    if isinstance(other, Variable):
        return logical(kind, as_bool(left), as_bool(other))
    if kind == "logical_and":
        return left if other else other
    return other if other else left


def negated(value):
    """not value"""
    return logical("logical_not", as_bool(value)) if isinstance(value, Variable) else not value


_COMPARE = {"Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge, "Eq": operator.eq, "NotEq": operator.ne,
            "Is": operator.is_, "IsNot": operator.is_not, "In": lambda a, b: a in b, "NotIn": lambda a, b: a not in b}


def chain(left, *pairs):
    """left < b < c"""
    out = True
    for name, later in pairs:
        right = later()
        out = _logical("logical_and", out, functools.partial(_COMPARE[name], left, right), lambda a: not a)
        if not isinstance(out, Variable) and not out:
            return out
        left = right
    return out


def check(test, message, line):
    """assert test, message()"""
    if isinstance(test, Variable):
        from paddle.static.nn.control_flow import Assert
        Assert(as_bool(test))
    elif not test:
        raise AssertionError(*[m for m in (message(),) if m is not None])


def raising(line):
    """Before a raise statement: under a condition on a tensor it cannot be written to the program."""
    if _depth[0]:
        refuse_at(_place(line), "an exception is raised where a tensor decides, which is known when the program runs. "
                  "Use assert or paddle.static.nn.control_flow.Assert")


# ---- loops ----


def loop(test, body, get, set, names, kept, line, grown=()):
    """while test(): body()"""
    while True:
        go = test()
        if isinstance(go, Variable):
            _note()
            return loops.While(test, body, get, set, names, kept, _place(line), grown).build()
        if not go:
            return
        body()


def each(items, body, go, get, set, names, kept, line, grown=()):
    """for item in items: body(item), as long as go()"""
    place = _place(line)
    counted = loops.counted(items, place)
    if counted is not None:
        _note()
        loops.each(counted, body, go, get, set, names, kept, place, grown)
        return
    for item in items:
        here = go() if go is not None else True
        if isinstance(here, Variable):
            branch(here, functools.partial(body, item), lambda: None, get, set, names, line, grown)
        elif here:
            body(item)
        else:
            return


# ---- calls ----


def _cast(kind, dtype):
    def function(*args, **kwargs):
        if args and isinstance(args[0], Variable):
            from paddle.tensor.manipulation import cast
            return cast(args[0], dtype)
        return kind(*args, **kwargs)

    return function


def _length(value):
    if not isinstance(value, Variable):
        return len(value)
    return loops.length(value)


def _print(*values, **kwargs):
    """Variables are printed when the program runs, everything else now."""
    from paddle.static.nn.control_flow import Print
    for value in values:
        if isinstance(value, Variable):
            Print(value)
    if not any(isinstance(value, Variable) for value in values):
        print(*values, **kwargs)


def _joining(name, stacked):
    """paddle.concat and paddle.stack, of arrays of a program too."""
    def function(x, axis=0, name=None):
        if not is_array(x):
            return plain(x, axis, name)
        from paddle.tensor.array import tensor_array_to_tensor
        return tensor_array_to_tensor(x, axis, stacked)[0]

    plain = getattr(tensor, name)
    return plain, function


_OTHERS = {int: _cast(int, "int32"), float: _cast(float, "float32"), bool: _cast(bool, "bool"), len: _length, print: _print,
           range: loops.numbers, enumerate: loops.numbered}
_OTHERS.update([_joining("concat", False), _joining("stack", True)])


def called(function):
    """What is called in place of a function: rewritten too, unless it is a library's."""
    if isinstance(function, (type, types.BuiltinFunctionType, _native.Function)):
        return _OTHERS.get(function, function)
    if isinstance(function, (types.FunctionType, types.MethodType)):
        return translated(function)
    if isinstance(function, functools.partial):
        return functools.partial(called(function.func), *function.args, **function.keywords)
    method = getattr(type(function), "__call__", None)
    if isinstance(method, types.FunctionType) and translated(method) is not method:
        return types.MethodType(translated(method), function)
    return function


