"""paddle.inference: a saved model that predicts. Settings of other machines are accepted and change nothing."""
from skiff import _native

from paddle import _names


class PrecisionType(object):
    Float32, Int8, Half, Bfloat16 = 0, 1, 2, 3


class PlaceType(object):
    UNK, CPU, GPU, XPU = -1, 0, 1, 2


class DataType(object):
    FLOAT32, INT64, INT32, UINT8, INT8, FLOAT16, BOOL = range(7)


class Config(object):
    """Config(folder), Config(model file, parameters file) or Config(prefix)."""

    def __init__(self, prog_file=None, params_file=None):
        self._model, self._params = prog_file, params_file
        self._threads = 1

    def set_model(self, prog_file, params_file=None):
        self._model, self._params = prog_file, params_file

    def set_prog_file(self, path):
        self._model = path

    def set_params_file(self, path):
        self._params = path

    def prog_file(self):
        return self._model

    def params_file(self):
        return self._params

    def model_dir(self):
        return self._model if self._params is None else ""

    def use_gpu(self):
        return False

    def set_cpu_math_library_num_threads(self, threads):
        self._threads = threads

    def cpu_math_library_num_threads(self):
        return self._threads

    def enable_use_gpu(self, *args, **kwargs):
        raise RuntimeError("Config.enable_use_gpu: there is no GPU here; leave it out")

    def summary(self):
        return "model: %s\nparameters: %s\ndevice: CPU" % (self._model, self._params)

    def __getattr__(self, name):
        if name.startswith(("enable_", "disable_", "switch_", "set_", "delete_", "exp_")):
            return lambda *args, **kwargs: None
        raise AttributeError("paddle.inference.Config has no %s" % name)


class Handle(object):
    """An input or output of a predictor."""

    def __init__(self, name, dtype=None):
        self._name, self._dtype, self._shape, self._value, self._lod = name, dtype, None, None, []

    def name(self):
        return self._name

    def reshape(self, shape):
        self._shape = [int(d) for d in shape]

    def copy_from_cpu(self, data):
        import numpy
        array = numpy.ascontiguousarray(data)
        self._value = array if self._shape is None or list(array.shape) == self._shape else array.reshape(self._shape)

    share_external_data = copy_from_cpu

    def copy_to_cpu(self):
        import numpy
        if self._value is None:
            raise RuntimeError("output %s has no value yet: call run() first" % self._name)
        return numpy.array(self._value)

    def set_lod(self, lod):
        self._lod = lod

    def lod(self):
        return self._lod

    def shape(self):
        return list(self._value.shape) if self._value is not None else list(self._shape or [])

    def type(self):
        return self._dtype


class Predictor(object):
    """Runs a saved model: inputs by handle, run(), outputs by handle."""

    def __init__(self, config):
        import os
        model, params = config.prog_file(), config.params_file()
        if model is None:
            raise ValueError("paddle.inference.Config: no model was given")
        self._scope = _native.Scope()
        if params is None:
            prefix = model[:-len(".pdmodel")] if model.endswith(".pdmodel") else model
            found = _native.load_inference_model(self._scope, prefix)
        elif model.endswith(".pdmodel") and params == model[:-len(".pdmodel")] + ".pdiparams":
            found = _native.load_inference_model(self._scope, model[:-len(".pdmodel")])
        else:
            found = _native.load_inference_model(self._scope, os.path.dirname(model) or ".", os.path.basename(model),
                                                 os.path.abspath(params))
        self._program, self._feeds, self._fetches = found
        self._executor = _native.Executor(self._scope, is_test=True)
        self._ins = {name: Handle(name) for name in self._feeds}
        self._outs = {name: Handle(name) for name in self._fetches}

    def get_input_names(self):
        return list(self._feeds)

    def get_output_names(self):
        return list(self._fetches)

    def get_input_handle(self, name):
        return self._handle(self._ins, name, "input")

    def get_output_handle(self, name):
        return self._handle(self._outs, name, "output")

    get_input_tensor, get_output_tensor = get_input_handle, get_output_handle

    @staticmethod
    def _handle(handles, name, what):
        if name not in handles:
            raise KeyError("the model has no %s %s; it has %s" % (what, name, ", ".join(handles)))
        return handles[name]

    def run(self, inputs=None):
        """With a list of arrays: gives the list of outputs too."""
        if inputs is not None:
            for name, value in zip(self._feeds, inputs):
                self._ins[name].copy_from_cpu(value.numpy() if hasattr(value, "numpy") else value)
        missing = [name for name in self._feeds if self._ins[name]._value is None]
        if missing:
            raise RuntimeError("the model's input %s has no value: get_input_handle(name).copy_from_cpu(array)" %
                               ", ".join(missing))
        feed = {name: _fed(handle) for name, handle in self._ins.items()}
        for name, value in zip(self._fetches, self._executor.run(self._program, feed, self._fetches)):
            self._outs[name]._value, self._outs[name]._lod = value.numpy(), value.lod()
        return [self._outs[name].copy_to_cpu() for name in self._fetches] if inputs is not None else True

    def clone(self):
        import copy
        other = copy.copy(self)
        other._executor = _native.Executor(self._scope, is_test=True)
        other._ins, other._outs = {n: Handle(n) for n in self._feeds}, {n: Handle(n) for n in self._fetches}
        return other

    def clear_intermediate_tensor(self):
        """Nothing is kept between runs."""

    def try_shrink_memory(self):
        """Nothing is kept between runs."""


def _fed(handle):
    if not handle._lod:
        return handle._value
    from paddle.fluid import core
    tensor = core.LoDTensor()
    tensor.set(handle._value, core.CPUPlace())
    tensor.set_lod(handle._lod)
    return tensor


def create_predictor(config):
    """The predictor of a config."""
    return Predictor(config)


def get_version():
    return "version: 2.6.2 (Skiff)"


__getattr__ = _names.guard(__name__)
