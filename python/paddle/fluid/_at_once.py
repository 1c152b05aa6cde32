"""Functions of fluid that run at once: inside fluid.dygraph.guard.

A call is traced into a program of its own, as it would be appended outside of the guard, and that program is run in eager mode
(skiff._native.Replay). The next call with such arguments runs it again.
"""
import functools
import inspect

from skiff import _native

from paddle._mode import mode, switched

#: calls that are remembered for a function; beyond that all are forgotten
_MOST = 256


def at_once(function, generation=1):
    """The function; inside a guard it runs, by the operators of that generation."""
    if not inspect.isfunction(function) and not isinstance(function, _native.Function):
        return function
    cache = {}

    @functools.wraps(function)
    def call(*args, **kwargs):
        if not mode.guard or mode.trace is not None:
            return function(*args, **kwargs)
        return _run(function, generation, cache, args, kwargs)

    return call


#: what calls need of paddle.jit and fluid.dygraph, which are loaded by the first one
_late = []


def _load():
    from paddle.fluid.dygraph._forms import FORMS
    from paddle.jit.function import key_of
    from paddle.jit.trace import flatten
    _late.extend((FORMS, key_of, flatten))


def _run(function, generation, cache, args, kwargs):
    if not _late:
        _load()
    forms, key_of, flatten = _late
    if function.__name__ in forms:
        return forms[function.__name__](*args, **kwargs)
    kept = []
    key = (key_of(args, kept), key_of(kwargs, kept))
    found = cache.get(key)
    if found is None:
        if len(cache) >= _MOST:
            cache.clear()
        found = cache[key] = _traced(function, generation, args, kwargs), kept
    tensors = []
    flatten((args, kwargs), tensors)
    return found[0](tensors)


def _traced(function, generation, args, kwargs):
    from paddle.jit.function import Concrete, stand_in
    from paddle.jit.trace import Trace
    trace = Trace(generation)
    args = tuple(stand_in(trace, value, "x%d" % i) for i, value in enumerate(args))
    kwargs = stand_in(trace, kwargs, "")
    trace.run(function, args, kwargs)
    _own_parameters(trace)
    if function.__name__ in _OPEN:
        _open_outputs(trace)
    return Concrete(trace)


#: functions through whose results gradients go in a guard, though programs mark them as such without
_OPEN = ("argsort",)


def _open_outputs(trace):
    for op in _native.Block.ops(trace.block):
        for name in op.output_arg_names:
            var = _native.Block.find_var(trace.block, name)
            if var is not None and name not in trace.tensors:
                var.stop_gradient = False


def _own_parameters(trace):
    """What the function has made by itself and the startup program fills (tables of fluid.embedding, counters)."""
    block = trace.startup.block(0)
    names = [name for name in _native.Block.var_names(block) if name not in trace.tensors]
    if not names or not _native.Block.ops(block):
        return
    for name, tensor in zip(names, _native.Replay(trace.startup, [], names).run([])):
        tensor.stop_gradient = _native.Block.find_var(trace.block, name) is None or \
            _native.Block.find_var(trace.block, name).stop_gradient
        trace.tensors[name] = tensor


def fill(parameter, initializer):
    """Fills a parameter of eager mode as an initializer of fluid would in a startup program."""
    from paddle.fluid._build import net
    from paddle.fluid.framework import Program
    main, startup = Program(), Program()
    startup.random_seed = net.main.random_seed  # Paddle 1.8 looks at the main program's
    net.push_programs(main, startup)
    try:
        with switched(False):
            var = _native.Block.create_parameter(main.block(0), "filled", list(parameter.shape), parameter.dtype.dtype)
            net.init_var(var, initializer)
    finally:
        net.pop_programs()
    (value,) = _native.Replay(startup, [], ["filled"]).run([])
    stop = parameter.stop_gradient
    parameter._become(value)
    parameter.stop_gradient = stop
