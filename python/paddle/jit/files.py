"""paddle.jit.save and load: PATH.pdmodel, PATH.pdiparams, PATH.pdiparams.info."""
import os
import pickle
import tempfile
import warnings

from skiff import _native

from paddle import _files
from paddle._tensor import Parameter, Tensor
from paddle.fluid.framework import Variable
from paddle.framework import ParamAttr
from paddle.jit.function import StaticFunction, to_static
from paddle.jit.run import Runner
from paddle.nn import Layer
from paddle.static.input import InputSpec


def _check_path(path):
    if not os.path.basename(path):
        raise ValueError("The input path MUST be format of dirname/file_prefix, but received a folder: %r" % path)
    _files.makedirs(os.path.dirname(path))


def _info(tensor, names):
    """The entry of PATH.pdiparams.info about a tensor."""
    info = {}
    if id(tensor) in names:
        info["structured_name"] = names[id(tensor)]
    info["stop_gradient"] = tensor.stop_gradient
    if isinstance(tensor, Parameter):
        info["trainable"] = tensor.trainable
    return info


def _write(concrete, path, names, output_spec):
    """One program with its parameters; {name: info} of what it holds."""
    trace, scope = concrete.trace, _native.Scope()
    fetches = trace.fetches
    if output_spec is not None:
        wanted = [spec.name for spec in output_spec]
        missing = [name for name in wanted if name not in fetches]
        if missing:
            raise ValueError("output_spec: the function gives %s, not %s" % (", ".join(fetches), ", ".join(missing)))
        fetches = wanted
    if not fetches:
        raise ValueError("%s: the function gives no tensor, so that there is nothing to save" % path)
    for name, tensor in trace.tensors.items():
        scope.set(name, tensor._numpy())
    program = trace.program.clone(for_test=True)
    folder, name = os.path.split(path)
    with tempfile.TemporaryDirectory(dir=_files.beside(path), prefix=".jit-") as place:  # completely, or not at all
        _native.save_inference_prefix(scope, program, trace.feeds, fetches, os.path.join(place, name))
        _native.remove_manifest(path, prefix=True)  # of another save: it would not fit these files
        for end in (".pdiparams", ".pdmodel"):
            made = os.path.join(place, name + end)
            if os.path.exists(made) and (end == ".pdmodel" or os.path.getsize(made)):
                _files.move(made, path + end)
            elif _files.exists(path + end):
                _files.remove(path + end)  # of another save; Paddle does not load an empty one
    kept = {var.name for var in _native.read_program(path + ".pdmodel").list_vars()}
    return {name: _info(tensor, names) for name, tensor in trace.tensors.items() if name in kept}


def save(layer, path, input_spec=None, **configs):
    """A layer or function for inference and training on: PATH.pdmodel, PATH.pdiparams and PATH.pdiparams.info."""
    inner = getattr(layer, "_layers", layer) if type(layer).__name__ == "DataParallel" else layer
    if not isinstance(inner, (Layer, StaticFunction)) and not callable(inner) or isinstance(inner, type):
        raise TypeError("The input of paddle.jit.save should be 'Layer' or 'Function', but received input type is %s." %
                        type(layer))
    _check_path(path)
    names, infos = {}, {}
    if isinstance(inner, Layer):
        names = {id(tensor): name for name, tensor in inner.state_dict().items()}
        functions = [entry for entry in _functions(inner) if entry[0] != "forward" or not configs.get("skip_forward")]
    else:
        functions = [("forward", inner if isinstance(inner, StaticFunction) else to_static(inner))]
    if isinstance(input_spec, InputSpec):
        input_spec = [input_spec]
    for name, function in functions:
        concrete = function.specified(input_spec if name == "forward" else None)
        prefix = path if name == "forward" else "%s.%s" % (path, name)
        infos.update(_write(concrete, prefix, names, configs.get("output_spec")))
    if infos:
        _files.write(path + ".pdiparams.info", pickle.dumps(infos, protocol=2))


def _functions(layer):
    """(name, StaticFunction) of a layer: forward, and methods that are decorated."""
    forward = layer.forward
    out = [("forward", forward if isinstance(forward, StaticFunction) else
            StaticFunction(forward, None, layer))]
    for name in dir(type(layer)):
        if name != "forward" and isinstance(getattr(type(layer), name, None), StaticFunction):
            out.append((name, getattr(layer, name)))
    return out


class TranslatedLayer(Layer):
    """A saved program as a layer: its parameters are param_0 .. in the order of their names; buffers likewise. As in Paddle
    2.6.2 its parameters get no gradients, unless it was loaded with fine_tune=True."""

    def __init__(self, programs, tensors, fine_tune=False):
        super().__init__()
        self.__dict__["_fine_tune"] = fine_tune
        self.__dict__["_programs"] = programs  # {method: (program, feeds, fetches)}
        self.__dict__["_tensors"] = tensors    # {name in the program: tensor}
        self.__dict__["_runners"] = {}
        count = {"param": 0, "buffer": 0}
        for name in sorted(tensors):
            tensor = tensors[name]
            kind = "param" if isinstance(tensor, Parameter) else "buffer"
            own = "%s_%d" % (kind, count[kind])
            count[kind] += 1
            if kind == "param":
                self.add_parameter(own, tensor)
            else:
                self.register_buffer(own, tensor)
        for method in programs:
            if method != "forward":
                self.__dict__[method] = lambda *inputs, _name=method: self._call(_name, inputs)
        self.eval()

    def _call(self, method, inputs):
        key = (method, self.training)
        if key not in self._runners:
            program, feeds, fetches = self._programs[method]
            self._runners[key] = Runner(_in_mode(program, self.training), feeds, self._tensors, fetches), len(feeds)
        runner, count = self._runners[key]
        if len(inputs) != count:
            raise ValueError("%s of this model takes %d inputs (%s), but received %d" %
                             (method, count, ", ".join(self._programs[method][1]), len(inputs)))
        noting = _native.eager_set_noting(self._fine_tune and _native.eager_noting())
        try:
            outs = runner([v if isinstance(v, Tensor) else Tensor(v) for v in inputs])
        finally:
            _native.eager_set_noting(noting)
        return outs[0] if len(outs) == 1 else outs

    def forward(self, *inputs):
        return self._call("forward", inputs)

    def train(self):
        """Dropout and normalization as in training."""
        if not self._fine_tune:
            warnings.warn("a loaded model gets no gradients, as in Paddle 2.6.2: it computes as in training and does not learn. "
                          "paddle.jit.load(path, fine_tune=True) makes it learn")
        super().train()

    def program(self, method_name="forward"):
        """The program of a method."""
        return self._method(method_name)[0]

    def _method(self, name):
        if name not in self._programs:
            raise ValueError("The method `%s` does not exist in loaded TranslatedLayer." % name)
        return self._programs[name]

    def _specs(self, method, which):
        entry = self._method(method)
        found = [entry[0].global_block().var(name) for name in entry[which]]
        return [InputSpec(list(v.shape), v.dtype, v.name) for v in found]

    def _input_spec(self, method_name="forward"):
        return self._specs(method_name, 1)

    def _output_spec(self, method_name="forward"):
        return self._specs(method_name, 2)


def _in_mode(program, training):
    """The program with is_test as the layer's mode has it."""
    out = program.clone()
    for op in _native.Block.ops(out.block(0)):
        if op.has_attr("is_test"):
            op.set_attr("is_test", not training)
    return out


def _read(prefix, params, infos):
    """(program, feeds, fetches) and {name: tensor} of one saved program."""
    scope = _native.Scope()
    folder, name = os.path.split(prefix)
    if _files.exists(params):
        program, feeds, fetches = _native.load_inference_model(scope, prefix)
    else:
        program, feeds, fetches = _native.load_inference_model(None, prefix)
    tensors = {}
    for var in program.list_vars():
        if not (isinstance(var, Variable) and var.persistable) or var.kind in ("FEED_MINIBATCH", "FETCH_LIST"):
            continue
        if infos is not None and var.name not in infos:
            raise RuntimeError("%s.pdiparams.info has no entry for %s, which the program has: the model is not complete" %
                               (prefix, var.name))
        tensors[var.name] = _tensor_of(var, scope, (infos or {}).get(var.name))
    return (program, feeds, fetches), tensors


def _tensor_of(var, scope, info):
    array = scope.find(var.name).numpy()
    trained = info.get("trainable") if info is not None else True if var.dtype.dtype.startswith("float") else None
    if trained is None:
        out = Tensor(array)
        out.name, out.persistable = var.name, True
    else:
        out = Parameter(list(array.shape), str(array.dtype), var.name, ParamAttr(trainable=trained))
        out.set(array)
    out.stop_gradient = info["stop_gradient"] if info is not None else not trained
    return out


def load(path, **configs):
    """The model that jit.save or static.save_inference_model wrote, as a layer. fine_tune=True: it can be trained on."""
    if path.endswith(".pdmodel"):
        path = path[:-len(".pdmodel")]
    if not _files.exists(path + ".pdmodel"):
        raise ValueError("The ``path`` (%s) to load model not exists: there is no %s.pdmodel" % (path, path))
    infos = None
    if _files.exists(path + ".pdiparams.info"):
        with _files.open_read(path + ".pdiparams.info") as source:
            infos = _SafeUnpickler(source).load()
    programs, tensors = {}, {}
    programs["forward"], tensors = _read(path, path + ".pdiparams", infos)
    folder, name = os.path.split(path)
    for file in sorted(_files.listdir(folder)):
        if file.startswith(name + ".") and file.endswith(".pdmodel") and file != name + ".pdmodel":
            method = file[len(name) + 1:-len(".pdmodel")]
            prefix = os.path.join(folder, "%s.%s" % (name, method))
            programs[method], more = _read(prefix, prefix + ".pdiparams", infos)
            tensors.update({key: value for key, value in more.items() if key not in tensors})
    return TranslatedLayer(programs, tensors, configs.get("fine_tune", False))


class _SafeUnpickler(pickle.Unpickler):
    """Only plain values: a file of others must not run code."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError("names %s.%s; .pdiparams.info holds plain values only" % (module, name))
