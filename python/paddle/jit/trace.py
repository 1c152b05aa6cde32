"""Tracing: a function of eager mode is run once with variables in place of tensors; what it calls is written to a program.

Tensors that it meets on the way (parameters, buffers, constants) become persistable variables and are remembered, so that the
program runs with them (paddle.jit.run). What depends on values cannot be written down: NeedsValue says where.
"""
import linecache
import os
import sys

from skiff import _native

import paddle._variable  # noqa: F401 (operators of Variables)
from paddle._mode import mode, switched
from paddle._tensor import Parameter, Tensor
from paddle.fluid._build import net
from paddle.fluid.framework import Program, Variable

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class NeedsValue(RuntimeError):
    """The function looks at a value that only a run has."""


def user_frame():
    """The innermost frame that is not Skiff's, or None."""
    frame = sys._getframe(1)
    while frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(_HERE):
        frame = frame.f_back
    return frame


def user_line():
    """file:line: `statement` of the user's frame."""
    frame = user_frame()
    if frame is None:
        return "the script"
    file, line = frame.f_code.co_filename, frame.f_lineno
    return "%s:%d: `%s`" % (file, line, linecache.getline(file, line).strip())


def _refuse(name, before):
    """A method of Variable that a trace refuses; outside of traces it is unchanged."""

    def method(self, *args, **kwargs):
        if mode.trace is not None:
            raise NeedsValue(
                "%s: %s of a tensor while its function is turned into a program (paddle.jit): the value is known when the "
                "program runs. Use paddle.where, paddle.static.nn.cond or paddle.static.nn.while_loop, or leave this function "
                "out with paddle.jit.not_to_static" % (user_line(), name))
        if before is None:
            raise TypeError("Variable %s: %s needs a value, which only a run has" % (self.name, name))
        return before(self, *args, **kwargs)

    method.__name__ = name
    return method


for _name in ("__bool__", "__float__", "__int__", "__index__", "tolist", "numpy"):
    setattr(Variable, _name, _refuse(_name, getattr(Variable, _name, None)))

_given_item = Variable.item


def _item(self, *index):
    """In a function that is traced, an element is a variable, as in Paddle."""
    if mode.trace is None:
        return _given_item(self, *index)
    from paddle.tensor import reshape
    if not index:
        return reshape(self, [])
    return self[index] if len(index) > 1 else reshape(self, [-1])[index[0]]


Variable.item = _item


# ---- sizes that a run decides ----

_given_shape = Variable.shape


def _shape(self):
    """In a function that is traced, a size that only a run knows is a number of the program, not -1; as in Paddle, where
    to_static rewrites functions. Skiff's own code sees -1 as ever."""
    dims = _given_shape.__get__(self)
    if mode.trace is None or os.path.abspath(sys._getframe(1).f_code.co_filename).startswith(_HERE):
        return dims
    return [mode.trace.size(self, i) if n < 0 else n for i, n in enumerate(dims)]


Variable.shape = property(_shape, lambda self, dims: _given_shape.__set__(self, dims), doc="Sizes; -1: any.")


# ---- nested values ----


def flatten(value, out):
    """Tensors and variables of nested lists, tuples and dicts into out; gives what `pack` puts them back with."""
    if isinstance(value, (Tensor, Variable)):
        out.append(value)
        return _PLACE
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value), [flatten(v, out) for v in value]
    if isinstance(value, (list, tuple)):
        return type(value), [flatten(v, out) for v in value]
    if isinstance(value, dict):
        parts = {key: flatten(value[key], out) for key in sorted_keys(value)}
        return dict, (list(value), parts)
    return None, value


def sorted_keys(value):
    """Keys of a dict in the order in which Paddle takes it apart."""
    try:
        return sorted(value)
    except TypeError:  # of several types
        return list(value)


_PLACE = ("place", None)
_NOTHING = object()


def pack(form, values):
    """What flatten took apart, with these values (an iterator)."""
    if form is _PLACE:
        return next(values)
    kind, parts = form
    if kind is None:
        return parts
    if kind is dict:
        order, parts = parts
        done = {key: pack(part, values) for key, part in parts.items()}
        return {key: done[key] for key in order}
    items = [pack(part, values) for part in parts]
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


# ---- a trace ----


class Trace(object):
    """The program of one function: `feeds` (names of its inputs), `tensors` (name: what else it needs), `fetches` (names of
    its results), `form` (how results are nested)."""

    def __init__(self, generation=2):
        self.program, self.startup = Program(), Program()
        self.program.generation = self.startup.generation = generation
        self.block = self.program.block(0)
        self.feeds, self.fetches, self.tensors, self.form = [], [], {}, None
        self.checks_feeds = True  # whether saved programs refuse feeds of another shape
        self._known = {}  # id of a tensor: its variable
        self._kept = []   # so that ids stay theirs
        self.flows = 0    # branches and loops over variables (paddle.jit.flow)
        self._attributes = []  # (object, name, value before) that branches have set

    @staticmethod
    def notes():
        """Whether gradients go through what is appended now (paddle.no_grad)."""
        return _native.eager_noting()

    def input(self, name, shape, dtype, stop_gradient):
        """A variable for an argument."""
        unique, count = name, 0
        while unique in self.feeds:
            count += 1
            unique = "%s_%d" % (name, count)
        self.feeds.append(unique)
        return _native.Block.create_var(self.block, unique, shape=list(shape), dtype=dtype, lod_level=0, persistable=False,
                                        stop_gradient=stop_gradient, need_check_feed=self.checks_feeds or None)

    def variable(self, tensor):
        """The variable that stands for a tensor of eager mode."""
        var = self._known.get(id(tensor))
        if var is None:
            var = self._known[id(tensor)] = self._new(tensor)
            self._kept.append(tensor)
        return var

    def _new(self, tensor):
        name, count = tensor.name, 0
        while name in self.tensors:
            count += 1
            name = "%s_%d" % (tensor.name, count)
        self.tensors[name] = tensor
        dtype = tensor.dtype.dtype
        if isinstance(tensor, Parameter):
            return _native.Block.create_parameter(self.block, name, tensor.shape, dtype, trainable=tensor.trainable,
                                                  stop_gradient=tensor.stop_gradient)
        return _native.Block.create_var(self.block, name, shape=tensor.shape, dtype=dtype, persistable=True,
                                        stop_gradient=tensor.stop_gradient)

    def keep_attribute(self, owner, name):
        """owner.name is as now when the trace ends."""
        if not any(o is owner and n == name for o, n, _ in self._attributes):
            self._attributes.append((owner, name, owner.__dict__.get(name, _NOTHING)))

    def _restore_attributes(self):
        for owner, name, value in self._attributes:
            if value is not _NOTHING:
                owner.__dict__[name] = value
            else:
                owner.__dict__.pop(name, None)

    def size(self, var, axis):
        """Size `axis` of a variable, as a variable without dimensions. Not kept: a block of another one may ask next."""
        from paddle.tensor import shape
        return shape(var)[axis]

    def owned(self, slots):
        """Slots of an op with variables for tensors."""
        out = {}
        for slot, value in slots.items():
            if isinstance(value, Tensor):
                value = self.variable(value)
            elif isinstance(value, (list, tuple)):
                value = [self.variable(v) if isinstance(v, Tensor) else v for v in value]
            out[slot] = value
        return out

    def _result(self, value):
        """The name of a result; what is given back as it came is copied, so that a program has an op for it."""
        var = self.variable(value) if isinstance(value, Tensor) else value
        if var.name in self.feeds or var.name in self.tensors:
            from paddle._op import one
            var = one("assign", "assign", {"X": var})
        return var.name

    def run(self, function, args, kwargs, layers=()):
        """Runs the function with variables; layers: those whose parameters are variables meanwhile."""
        net.push_programs(self.program, self.startup)
        net.push_names()
        before, mode.trace = mode.trace, self
        swapped = _Swapped(self, layers)
        try:
            with switched(False):
                result = function(*args, **kwargs)
                swapped.write_back()
                found = []
                self.form = flatten(result, found)
                self.fetches = [self._result(v) for v in found]
        finally:
            self._restore_attributes()
            swapped.undo()
            mode.trace = before
            net.pop_names()
            net.pop_programs()


class _Swapped(object):
    """Parameters and buffers of layers are variables as long as a trace runs: what is computed of them is traced too."""

    def __init__(self, trace, layers):
        self._trace, self._before = trace, []
        seen = set()
        for layer in layers:
            for one in layer.sublayers(include_self=True):
                if id(one) in seen:
                    continue
                seen.add(id(one))
                for group in (one._parameters, one._buffers):
                    self._swap(group)

    def _swap(self, group):
        for name, value in group.items():
            if isinstance(value, Tensor):
                self._before.append((group, name, value))
        for name in [name for name, value in group.items() if isinstance(value, Tensor)]:
            group[name] = self._trace.variable(group[name])

    def write_back(self):
        """A buffer that the function has set gets its new value in every run."""
        from paddle._op import Call
        for group, name, tensor in self._before:
            now, was = group.get(name), self._trace.variable(tensor)
            if isinstance(now, (Variable, Tensor)) and now is not was and now is not tensor:
                Call.op("assign", {"X": now}, {"Out": was})

    def undo(self):
        for group, name, tensor in self._before:
            group[name] = tensor
