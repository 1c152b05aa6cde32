"""declarative, TracedLayer, ProgramTranslator: fluid's names for tracing (paddle.jit)."""
from skiff import _native

from paddle import _files, _names
from paddle._tensor import Tensor
from paddle.jit.function import StaticFunction, _switch, to_static
from paddle.jit.translate import translated

declarative = to_static


def dygraph_to_static_func(dygraph_func):
    """The function for variables: it is called while a program is built, and its branches and loops over variables become the
    program's."""
    return translated(dygraph_func)


class TracedLayer(object):
    """A layer's program for one kind of inputs: runs without its code, can be saved for inference."""

    def __init__(self, concrete):
        self._concrete = concrete

    @staticmethod
    def trace(layer, inputs):
        """(what the layer gives for the inputs, its TracedLayer)"""
        from paddle.nn import Layer
        if not isinstance(layer, Layer):
            raise AssertionError("The type of 'layer' in fluid.dygraph.jit.TracedLayer.trace must be fluid.dygraph.Layer, but "
                                 "received %s." % type(layer))
        inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        concrete = StaticFunction(layer.forward, None, layer).trace(tuple(inputs), {}, checks_feeds=False)
        return layer(*inputs), TracedLayer(concrete)

    @property
    def program(self):
        return self._concrete.main_program

    def set_strategy(self, build_strategy=None, exec_strategy=None):
        """Accepted: there is one way to run here."""

    def __call__(self, inputs):
        """A list of results."""
        inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        out = self._concrete([v if isinstance(v, Tensor) else Tensor(v) for v in inputs])
        return list(out) if isinstance(out, (list, tuple)) else [out]

    def save_inference_model(self, dirname, feed=None, fetch=None):
        """__model__ and a file for each parameter in a folder; feed, fetch: which inputs and results, by number."""
        trace, scope = self._concrete.trace, _native.Scope()
        feeds = trace.feeds if feed is None else [trace.feeds[i] for i in feed]
        fetches = trace.fetches if fetch is None else [trace.fetches[i] for i in fetch]
        for name, tensor in trace.tensors.items():
            scope.set(name, tensor._numpy())
        _files.makedirs(dirname)
        _native.save_inference_model(scope, trace.program.clone(for_test=True), feeds, fetches, dirname)


class ProgramTranslator(object):
    """Whether declarative functions run as programs, and what programs they are. There is one."""

    _one = None

    def __new__(cls, *args, **kwargs):
        if cls._one is None:
            cls._one = object.__new__(cls)
        return cls._one

    @classmethod
    def get_instance(cls):
        return cls()

    @classmethod
    def reset(cls):
        _switch["on"] = True

    @property
    def enable_declarative(self):
        return _switch["on"]

    def enable(self, enable_declarative):
        _switch["on"] = bool(enable_declarative)

    enable_to_static = enable

    @staticmethod
    def _static(function):
        return function if isinstance(function, StaticFunction) else StaticFunction(function)

    def get_output(self, dygraph_func, *args, **kwargs):
        """What the function gives, run as a program."""
        if not callable(dygraph_func):
            raise AssertionError("Input dygraph_func is not a callable in ProgramTranslator.get_output")
        return self._static(dygraph_func)(*args, **kwargs)

    def get_func(self, dygraph_func):
        """The function that runs as a program."""
        if not callable(dygraph_func):
            raise AssertionError("Input dygraph_func is not a callable in ProgramTranslator.get_func")
        return dygraph_func

    def get_program(self, dygraph_func, *args, **kwargs):
        """(main program, startup program, inputs, outputs)"""
        from paddle.fluid.framework import Program
        static = self._static(dygraph_func)
        concrete = static.trace(_tensors(args), _tensors(kwargs))
        block = concrete.main_program.global_block()
        return concrete.main_program, Program(), [block.var(n) for n in concrete.inputs], concrete.outputs

    def get_code(self, dygraph_func):
        """The source of the function that is traced."""
        return self._static(dygraph_func).code

    def get_program_cache(self):
        """Itself: every declarative function keeps its own programs."""
        return self

    def save_inference_model(self, dirname, feed=None, fetch=None):
        """The program of the declarative function that was called last."""
        from paddle.jit import function
        if function.last_called is None:
            raise RuntimeError("ProgramTranslator.save_inference_model: no declarative function has been called yet")
        TracedLayer(function.last_called).save_inference_model(dirname, feed, fetch)


def _tensors(value):
    from paddle.jit.function import _as_tensors
    return _as_tensors(value)


__getattr__ = _names.guard(__name__)
