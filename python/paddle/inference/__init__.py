"""paddle.inference: saved models, loaded and run by name.

    config = Config("model.pdmodel", "model.pdiparams")     # or Config(folder of 1.x), Config("model")
    predictor = create_predictor(config)
    predictor.get_input_handle(name).copy_from_cpu(array)
    predictor.run()
    predictor.get_output_handle(name).copy_to_cpu()

Settings of other devices are refused, settings of speed are taken and have no effect: Skiff fuses what it runs by itself.
"""
import enum
import os
import tempfile

from paddle import _files, _names
from paddle.fluid import core


class PrecisionType(enum.Enum):
    Float32, Int8, Half, Bfloat16 = range(4)


class DataType(enum.Enum):
    FLOAT32, INT64, INT32, UINT8, INT8, FLOAT16, BOOL, FLOAT64 = range(8)


class PlaceType(enum.Enum):
    UNK, CPU, GPU, XPU, CUSTOM = -1, 0, 1, 2, 4


def get_version():
    import paddle
    return "version: %s\ncommit: %s\n" % (paddle.full_version, paddle.__git_commit__)


def get_num_bytes_of_data_type(dtype):
    return {"FLOAT64": 8, "INT64": 8, "FLOAT32": 4, "INT32": 4, "FLOAT16": 2}.get(dtype.name, 1)


class Config(object):
    """Where the model lies: Config(folder), Config(program, parameters)."""

    def __init__(self, model_dir=None, params_file=None):
        self._folder = self._program = self._params = ""
        self._buffers = None
        self._threads, self._flags = 1, {"ir_optim": True, "mkldnn": False, "glog": True, "memory": False, "feed_fetch": False}
        if model_dir is not None:
            self.set_model(model_dir, params_file)

    def set_model(self, model_dir, params_file=None):
        """A folder with __model__ and a file for each parameter; or a program and its parameters, two files."""
        if params_file is None:
            self._folder = os.fspath(model_dir)
        else:
            self._program, self._params = os.fspath(model_dir), os.fspath(params_file)

    def set_model_buffer(self, prog_buffer, prog_buffer_size, params_buffer, params_buffer_size):
        """The bytes of the two files instead of their paths."""
        for name, given, size in (("prog_buffer", prog_buffer, prog_buffer_size),
                                  ("params_buffer", params_buffer, params_buffer_size)):
            if not isinstance(given, (bytes, bytearray, memoryview)):
                raise TypeError("set_model_buffer: %s is %s; expected the bytes of a file" % (name, type(given).__name__))
            if len(given) != size:
                raise ValueError("set_model_buffer: %s has %d bytes, but the given size is %d" % (name, len(given), size))
        self._buffers = bytes(prog_buffer), bytes(params_buffer)

    def model_from_memory(self):
        return self._buffers is not None

    def set_prog_file(self, path):
        self._program = os.fspath(path)

    def set_params_file(self, path):
        self._params = os.fspath(path)

    def model_dir(self):
        return self._folder

    def prog_file(self):
        return self._program

    def params_file(self):
        return self._params

    def set_cpu_math_library_num_threads(self, cpu_math_library_num_threads):
        """So many threads compute a large op of a run. clone() a predictor for each thread that runs one."""
        self._threads = int(cpu_math_library_num_threads)

    def cpu_math_library_num_threads(self):
        return self._threads

    def disable_gpu(self):
        pass

    def switch_ir_optim(self, x=True):
        self._flags["ir_optim"] = bool(x)

    def ir_optim(self):
        return self._flags["ir_optim"]

    def enable_mkldnn(self):
        self._flags["mkldnn"] = True

    def disable_mkldnn(self):
        self._flags["mkldnn"] = False

    def mkldnn_enabled(self):
        return self._flags["mkldnn"]

    def disable_glog_info(self):
        self._flags["glog"] = False

    def glog_info_disabled(self):
        return not self._flags["glog"]

    def enable_memory_optim(self, x=True):
        self._flags["memory"] = bool(x)

    def switch_use_feed_fetch_ops(self, x=True):
        self._flags["feed_fetch"] = bool(x)

    def use_feed_fetch_ops_enabled(self):
        return self._flags["feed_fetch"]

    def summary(self):
        rows = [("model_dir", self._folder), ("model_file", self._program), ("params_file", self._params),
                ("cpu_math_thread", self._threads)] + sorted(self._flags.items())
        return "".join("%-20s %s\n" % row for row in rows)

    def _no_device(self, *args, **kwargs):
        raise NotImplementedError("paddle.inference.Config: Skiff runs on CPUs; leave other devices and engines out")

    def _of_speed(self, *args, **kwargs):
        """Taken, without effect."""

    def _is_off(self):
        return False


for _word in ("enable_use_gpu enable_xpu enable_custom_device enable_ipu enable_lite_engine enable_onnxruntime enable_opencl "
              "enable_tensorrt_engine").split():
    setattr(Config, _word, Config._no_device)
for _word in ("switch_ir_debug switch_specify_input_names set_mkldnn_cache_capacity enable_new_executor set_optim_cache_dir "
              "delete_pass disable_onnxruntime disable_mkldnn_fc_passes enable_save_optim_model enable_profile").split():
    setattr(Config, _word, Config._of_speed)
for _word in ("use_gpu use_xpu use_opencl tensorrt_engine_enabled lite_engine_enabled onnxruntime_enabled mkldnn_int8_enabled "
              "specify_input_name").split():
    setattr(Config, _word, Config._is_off)


class Tensor(object):
    """An input or a result of a predictor."""

    def __init__(self, name, dtype, shape, is_input):
        self._name, self._dtype, self._declared, self._is_input = name, dtype, list(shape), is_input
        self._array, self._lod = None, []

    def name(self):
        return self._name

    def type(self):
        name = self._dtype if self._array is None else str(self._array.dtype)
        return DataType[name.upper()]

    def shape(self):
        return list(self._declared if self._array is None else self._array.shape)

    def reshape(self, shape):
        """The shape of what copy_from_cpu will give; taken, and not needed."""
        self._declared = list(shape)

    def copy_from_cpu(self, data):
        import numpy
        if not self._is_input:
            raise ValueError("paddle.inference: %s is a result; it cannot be given" % self._name)
        if not isinstance(data, numpy.ndarray):
            raise TypeError("In copy_from_cpu, we only support numpy ndarray and list[str], but received %s" % type(data))
        self._array = numpy.array(data, copy=True)

    share_external_data = copy_from_cpu

    def copy_to_cpu(self):
        if self._array is None:
            raise ValueError("paddle.inference: %s has no value; call %s first" %
                             (self._name, "copy_from_cpu" if self._is_input else "predictor.run()"))
        return self._array.copy()

    def set_lod(self, lod):
        """Offsets of each level."""
        self._lod = [list(map(int, level)) for level in lod]

    def lod(self):
        return self._lod

    def _feed(self):
        if self._array is None:
            raise ValueError("paddle.inference: input %s has no value; call get_input_handle(%r).copy_from_cpu(array) before run()" %
                             (self._name, self._name))
        if not self._lod:
            return self._array
        tensor = core.LoDTensor()
        tensor.set(self._array, core.CPUPlace())
        tensor.set_lod(self._lod)
        return tensor

    def _take(self, value):
        self._array, self._lod = value.numpy(), value.lod()


def _load_buffers(config, threads):
    """Through files: what reads models reads files, with their checks."""
    with tempfile.TemporaryDirectory(prefix="skiff-model-") as folder:
        paths = [os.path.join(folder, "model" + ending) for ending in (".pdmodel", ".pdiparams")]
        for path, content in zip(paths, config._buffers):
            with open(path, "wb") as f:
                f.write(content)
        return _load(Config(*paths), threads)


def _load(config, threads):
    from skiff import _native
    if config.model_from_memory():
        return _load_buffers(config, threads)
    folder = config.model_dir()
    if not config.prog_file() and not _files.isdir(folder) and "program" in _native.saved_parts(folder)[0]:
        config = Config(folder + ".pdmodel", folder + ".pdiparams")
    if config.prog_file():
        for path in (config.prog_file(), config.params_file()):
            if not _files.isfile(path):
                raise ValueError("paddle.inference: there is no file %r; Config takes a program and its parameters" % path)
        folder = os.path.dirname(config.prog_file()) or "."
        where = (folder, os.path.basename(config.prog_file()), os.path.relpath(config.params_file(), folder))
    else:
        if not _files.isdir(config.model_dir()):
            raise ValueError("paddle.inference: there is no folder %r; Config takes a folder with __model__, or a program and its "
                             "parameters" % config.model_dir())
        where = (config.model_dir(), None, None)
    return _native.Predictor(*where, threads=threads)


class Predictor(object):
    """A model that is ready to run, with handles for its values. One thread at a time; clone() gives one more over the same
    parameters."""

    def __init__(self, config, _loaded=None):
        self._config, self._loaded = config, _loaded or _load(config, config.cpu_math_library_num_threads())
        self._feeds, self._targets = self._loaded.inputs, self._loaded.outputs
        block = self._loaded.program.global_block()
        self._checks = any(block.var(name).need_check_feed for name in self._feeds)

        def handles(names, is_input):
            return {name: Tensor(name, block.var(name).dtype.dtype, block.var(name).shape, is_input) for name in names}

        self._inputs, self._results = handles(self._feeds, True), handles(self._targets, False)

    def get_input_names(self):
        return list(self._feeds)

    def get_output_names(self):
        return list(self._targets)

    def _handle(self, name, handles, what):
        if name not in handles:
            raise ValueError("paddle.inference: there is no %s %r; there are %s" % (what, name, ", ".join(handles)))
        return handles[name]

    def get_input_handle(self, name):
        return self._handle(name, self._inputs, "input")

    def get_output_handle(self, name):
        return self._handle(name, self._results, "output")

    get_input_tensor, get_output_tensor = get_input_handle, get_output_handle

    def get_input_tensor_shape(self):
        return {name: handle._declared for name, handle in self._inputs.items()}

    def run(self, inputs=None):
        """True, with the results in their handles. inputs: arrays in the order of the inputs; the results are given back then."""
        if inputs is not None:
            if len(inputs) != len(self._feeds):
                raise ValueError("paddle.inference: run was given %d inputs, the model has %d" % (len(inputs), len(self._feeds)))
            for name, value in zip(self._feeds, inputs):
                self._inputs[name].copy_from_cpu(value.numpy() if hasattr(value, "numpy") else getattr(value, "_array", value))
        try:
            values = self._loaded.run([self._inputs[name]._feed() for name in self._feeds])
        except TypeError as error:
            raise ValueError(str(error)) if self._checks else error
        for name, value in zip(self._targets, values):
            self._results[name]._take(value)
        return True if inputs is None else [self._results[name] for name in self._targets]

    def clone(self, stream=None):
        return Predictor(self._config, self._loaded)

    def clear_intermediate_tensor(self):
        """Results between ops are not kept."""

    def try_shrink_memory(self):
        return 0


def create_predictor(config):
    return Predictor(config)


class PredictorPool(object):
    """Several predictors over one model: retrieve(i)."""

    def __init__(self, config, size=1):
        first = Predictor(config)
        self._predictors = [first] + [first.clone() for _ in range(size - 1)]

    def retrieve(self, idx):
        return self._predictors[idx]


__getattr__ = _names.guard(__name__)
