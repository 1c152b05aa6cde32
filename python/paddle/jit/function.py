"""paddle.jit.to_static: functions and layers that run as traced programs."""
import functools
import inspect

from paddle._mode import mode
from paddle._tensor import Tensor
from paddle.jit.run import Runner
from paddle.jit.trace import NeedsValue, Trace, flatten, pack, sorted_keys
from paddle.jit.translate import ignore, source, translated
from paddle.static.input import InputSpec

_switch = {"on": True}
#: the Concrete that ran last (fluid's ProgramTranslator saves it)
last_called = None


def enable_to_static(enable_to_static_bool):
    """Whether to_static functions run as programs; if not, as they are written."""
    if not isinstance(enable_to_static_bool, bool):
        raise TypeError("enable_to_static_bool should be a bool, but received %s" % type(enable_to_static_bool))
    _switch["on"] = enable_to_static_bool


def not_to_static(func=None):
    """The function is never traced: what it computes of variables is not possible, of tensors it is."""
    if func is None:
        return not_to_static
    func._skiff_not_to_static = True
    return func


def ignore_module(modules):
    """Functions of these modules (a list) are called as they are written."""
    ignore(modules)


class Concrete(object):
    """A function traced for one kind of arguments."""

    def __init__(self, trace):
        self.trace = trace
        self.main_program, self.inputs = trace.program, list(trace.feeds)
        self.parameters = list(trace.tensors.values())
        self.outputs = [trace.program.global_block().var(name) for name in trace.fetches]
        self._runner = None

    def __call__(self, tensors):
        if self._runner is None:
            t = self.trace
            self._runner = Runner(t.program, t.feeds, t.tensors, t.fetches)
        return pack(self.trace.form, iter(self._runner(tensors)))


def _as_tensors(value):
    """Arrays among arguments become tensors."""
    import numpy
    if isinstance(value, numpy.ndarray):
        return Tensor(value)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_as_tensors(v) for v in value)
    if isinstance(value, dict):
        return {key: _as_tensors(v) for key, v in value.items()}
    return value


def key_of(value, kept):
    """What another trace is needed for when it is another. kept: gets the objects whose ids are in it, so that these stay
    theirs."""
    if isinstance(value, Tensor):
        return "T", tuple(value.shape), value._dtype, value.stop_gradient
    if isinstance(value, (list, tuple)):
        return type(value).__name__, tuple([key_of(v, kept) for v in value])
    if isinstance(value, dict):
        return "dict", tuple([(k, key_of(v, kept)) for k, v in value.items()])
    if isinstance(value, (int, float, str, bool, bytes, type(None))):
        return type(value).__name__, value
    if hasattr(value, "tobytes") and hasattr(value, "dtype"):
        return "A", value.shape, str(value.dtype), value.tobytes()
    kept.append(value)
    return "id", id(value)


def stand_in(trace, value, name):
    """An argument with variables in place of tensors and specs."""
    if isinstance(value, InputSpec):
        return trace.input(value.name or name, value.shape, value.dtype.dtype, value.stop_gradient)
    if isinstance(value, Tensor):
        return trace.input(name, value.shape, value._dtype, value.stop_gradient)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(stand_in(trace, v, "%s_%d" % (name, i)) for i, v in enumerate(value))
    if isinstance(value, dict):
        made = {key: stand_in(trace, value[key], str(key)) for key in sorted_keys(value)}  # the order of `flatten`
        return {key: made[key] for key in value}
    return value


class StaticFunction(object):
    """A function that is traced when it is called with a new kind of arguments, and then run as a program. Where values decide (if
    tensor: ...) a call runs it as it is written, one op after the other, which gives the same numbers and gradients; the program
    with its branches and loops is what paddle.jit.save writes."""

    def __init__(self, function, input_spec=None, layer=None, **options):
        self._function, self._input_spec, self._layer = function, input_spec, layer
        self._options, self._cache, self._as_written = options, {}, False
        self._last = None
        functools.update_wrapper(self, function, updated=())

    def __get__(self, instance, owner):
        """A method: every instance has a StaticFunction of its own."""
        if instance is None:
            return self
        name = "_static_" + self._function.__name__
        found = instance.__dict__.get(name)
        if found is None:
            found = StaticFunction(self._function.__get__(instance, owner), self._input_spec, instance, **self._options)
            instance.__dict__[name] = found
        return found

    @property
    def dygraph_function(self):
        return self._function

    @property
    def program_cache(self):
        return self._cache

    def rollback(self):
        """The function as it was written."""
        if self._layer is not None and self._layer.__dict__.get("forward") is self:
            del self._layer.__dict__["forward"]
        return self._function

    def __call__(self, *args, **kwargs):
        if mode.trace is not None or not mode.eager:
            return translated(self._function)(*args, **kwargs)
        if not _switch["on"] or self._as_written:
            return self._function(*args, **kwargs)
        args, kwargs = _as_tensors(args), _as_tensors(kwargs)
        training = self._layer.training if self._layer is not None else None
        kept = []
        key = (key_of(args, kept), key_of(kwargs, kept), training)
        concrete = self._cache.get(key)
        if concrete is None:
            try:
                concrete = self.trace(args, kwargs)
            except Exception as error:
                # both sides of a branch are traced: one that would not run here may fail
                if not isinstance(error, NeedsValue) and not getattr(error, "_skiff_flows", 0):
                    raise
                self._as_written = True
                return self._function(*args, **kwargs)
            concrete.kept = kept
            self._cache[key] = concrete
        global last_called
        self._last = last_called = concrete
        if concrete.trace.flows:
            return self._function(*args, **kwargs)
        tensors = []
        flatten((args, kwargs), tensors)
        return concrete(tensors)

    # ---- tracing ----

    def _layers(self):
        from paddle.nn import Layer
        owner = self._layer if self._layer is not None else getattr(self._function, "__self__", None)
        return [owner] if isinstance(owner, Layer) else []

    def _names(self):
        """Names of the positional parameters."""
        try:
            return [p.name for p in inspect.signature(self._function).parameters.values()
                    if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        except (TypeError, ValueError):
            return []

    def trace(self, args, kwargs, checks_feeds=True):
        """The program for such arguments: Tensors, InputSpecs and other values, nested."""
        trace, names = Trace(), self._names()
        trace.checks_feeds = checks_feeds
        args = tuple(stand_in(trace, v, names[i] if i < len(names) else "input_%d" % i) for i, v in enumerate(args))
        kwargs = stand_in(trace, kwargs, "")
        try:
            trace.run(translated(self._function), args, kwargs, self._layers())
        except Exception as error:
            error._skiff_flows = trace.flows
            raise
        return Concrete(trace)

    def specified(self, input_spec=None):
        """The program for the given specs, for those of to_static, or of the last call."""
        spec = input_spec if input_spec is not None else self._input_spec
        if spec is not None:
            return self.trace(tuple(_specs(spec)), {})
        if self._last is not None:
            return self._last
        if not self._names():
            return self.trace((), {})
        raise ValueError("%s has not been called, so that its inputs are not known: give input_spec to paddle.jit.save or "
                         "paddle.jit.to_static" % getattr(self._function, "__name__", "the function"))

    @property
    def concrete_program(self):
        return self.specified()

    @property
    def main_program(self):
        return self.specified().main_program

    @property
    def inputs(self):
        concrete = self.specified()
        return [concrete.main_program.global_block().var(name) for name in concrete.inputs]

    @property
    def outputs(self):
        return self.specified().outputs

    @property
    def code(self):
        """The source of the function that is traced."""
        return source(self._function)


def _specs(spec):
    """Tensors among specs become specs."""
    if isinstance(spec, (list, tuple)):
        return type(spec)(_specs(s) for s in spec)
    if isinstance(spec, dict):
        return {key: _specs(s) for key, s in spec.items()}
    if isinstance(spec, Tensor):
        return InputSpec(spec.shape, spec.dtype, None, spec.stop_gradient)
    return spec


def to_static(function=None, input_spec=None, build_strategy=None, backend=None, **kwargs):
    """A function, method or layer that runs as a program: a decorator, with or without arguments, or a call."""
    def decorated(function):
        from paddle.nn import Layer
        if isinstance(function, Layer):
            if isinstance(function.forward, StaticFunction):
                function.forward._input_spec = input_spec or function.forward._input_spec
            else:
                function.__dict__["forward"] = StaticFunction(function.forward, input_spec, function, **kwargs)
            return function
        if isinstance(function, StaticFunction):
            return function
        if not callable(function):
            raise TypeError("paddle.jit.to_static takes a function or a Layer, but received %s" % type(function))
        if getattr(function, "_skiff_not_to_static", False):
            return function
        owner = getattr(function, "__self__", None)
        made = StaticFunction(function, input_spec, owner if isinstance(owner, Layer) else None, **kwargs)
        return made

    return decorated if function is None else decorated(function)
