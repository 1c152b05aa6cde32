"""paddle.save and paddle.load: states, tensors, and numbers, texts, lists and dicts with tensors in them.

Files are pickles, as real Paddle writes and reads them; reading executes nothing, and a file is written whole or not at all.
"""
import os

from skiff import _native

from paddle import _files
from paddle._mode import mode
from paddle._tensor import Tensor
from paddle.fluid.core import Tensor as _ScopeTensor
from paddle.fluid.framework import Program

NAMES = "StructuredToParameterName@@"
#: paddle.save under protocol 2 and 3 cuts what is beyond 1 GiB into slices
_SLICES = "UnpackBigParamInfor@@"


def _is_path(path):
    return isinstance(path, (str, os.PathLike))


# ---- saving -------------------------------------------------------------------------------------


def _holds_tensor(value):
    if isinstance(value, dict):
        return any(_holds_tensor(v) for v in value.values())
    if isinstance(value, (list, tuple)):
        return any(_holds_tensor(v) for v in value)
    return isinstance(value, (Tensor, _ScopeTensor))


def _is_state(obj):
    """A dict of tensors, and of dicts without (LR_Scheduler)."""
    return isinstance(obj, dict) and all(
        not _holds_tensor(value) if isinstance(value, dict) else isinstance(value, (Tensor, _ScopeTensor))
        for value in obj.values())


def _is_arrays(obj):
    return isinstance(obj, dict) and bool(obj) and all(isinstance(k, str) and hasattr(v, "__array__") for k, v in obj.items())


def _check_save(path, protocol, configs):
    for name in configs:
        if name not in ("use_binary_format", "pickle_protocol"):
            raise ValueError("The additional config (%s) of `paddle.save` is not supported." % name)
    if _is_path(path):
        if not os.path.basename(path):
            raise ValueError("The input path MUST be format of dirname/filename, but received a folder: %s" % path)
    elif not hasattr(path, "write"):
        raise ValueError("only supports saving objects to file and `BytesIO`, but got %s" % type(path))
    if isinstance(protocol, bool) or not isinstance(protocol, int):
        raise ValueError("The 'protocol' MUST be `int`, but received %s" % type(protocol))
    if not 1 < protocol < 5:
        raise ValueError("Expected 1<'protocol'<5, but received protocol=%d" % protocol)


def save(obj, path, protocol=4, **configs):
    """Writes the state of a layer or optimizer, a tensor, or an object with tensors in it to the file PATH, or into a BytesIO;
    a Program to PATH (.pdmodel). use_binary_format=True: one tensor in the form of static graphs."""
    protocol = configs.get("pickle_protocol") or protocol
    _check_save(path, protocol, configs)
    if _is_path(path):
        _files.makedirs(os.path.dirname(path))
    if isinstance(obj, Program):
        return _native.write_program(obj, path)
    if configs.get("use_binary_format"):
        if not isinstance(obj, (Tensor, _ScopeTensor)):
            raise NotImplementedError("When use_binary_format = True, `paddle.save`  expected Tensor, but received %s." %
                                      type(obj))
        return _native.write_tensor(path, obj)
    names = True
    if not mode.eager and _is_path(path) and protocol == 4 and _is_arrays(obj):
        return _native.write_state(path, obj)  # as paddle.static.save
    if mode.eager and _is_state(obj):
        table = {key: value.name for key, value in obj.items() if isinstance(value, Tensor)}
        obj, names = dict(obj, **{NAMES: table}), False
    bytes_ = _native.write_object(path if _is_path(path) else None, obj, protocol, names)
    if bytes_ is not None:
        path.write(bytes_)


# ---- loading ------------------------------------------------------------------------------------


def _is_named(value):
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], Tensor)


def _holds_named(value):
    if _is_named(value):
        return True
    if isinstance(value, dict):
        return any(_holds_named(v) for v in value.values())
    return isinstance(value, (list, tuple)) and any(_holds_named(v) for v in value)


class _Converter(object):
    """What the reader gives (arrays as Tensors) as what the caller gets."""

    def __init__(self, return_numpy, only_named=False):
        self.return_numpy, self.only_named = return_numpy, only_named

    def tensor(self, value, name=None):
        if self.return_numpy:
            return value.numpy()
        if not mode.eager:
            out = _ScopeTensor()
            out.set(value.numpy(), None)
            return out
        if name:
            value.name = name
        return value

    def __call__(self, value):
        if _is_named(value):
            return self.tensor(value[1], value[0])
        if isinstance(value, Tensor):
            return value.numpy() if self.only_named else self.tensor(value)
        if isinstance(value, dict):
            return {self(key): self(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self(item) for item in value)
        return value


def _join_slices(state):
    import numpy
    for key, info in state.pop(_SLICES).items():
        slices = [state.pop(name).numpy() for name in info["slices"]]
        state[key] = Tensor(numpy.concatenate(slices).reshape(info["OriginShape"]))


def _state(state, return_numpy, keep_names):
    convert = _Converter(return_numpy)
    names = state.pop(NAMES)
    out = {key: convert.tensor(value, names.get(key)) if isinstance(value, Tensor) and key in names else
           value.numpy() if isinstance(value, Tensor) else value for key, value in state.items()}
    if keep_names:
        out[NAMES] = names
    return out


def _from_file(path, obj, return_numpy, keep_names):
    if isinstance(obj, dict) and isinstance(obj.get(_SLICES), dict):
        _join_slices(obj)
    if isinstance(obj, dict) and isinstance(obj.get(NAMES), dict):
        return _state(obj, return_numpy, keep_names)
    return _Converter(return_numpy, _holds_named(obj))(obj)


def _starts(path):
    return _native.fs_start(os.fspath(path))


def _no_pickle(path, return_numpy):
    """A tensor of use_binary_format, or a program."""
    try:
        found = _native.read_tensor(path)
    except (ValueError, OSError):
        try:
            return _native.read_program(path)
        except (ValueError, OSError):
            raise ValueError("`paddle.load` can not parse the file:%s." % path) from None
    return _Converter(return_numpy)(Tensor(found.numpy()))


def _check_load(path, configs):
    for name in configs:
        if name not in ("model_filename", "params_filename", "keep_name_table", "return_numpy"):
            raise ValueError("The additional config (%s) of `paddle.load` is not supported." % name)
    if not _is_path(path) or _files.isfile(path):
        return
    if _files.isdir(path):
        raise ValueError("%s is a folder: paddle.load reads files; for a folder of variables, paddle.static.load_vars" % path)
    hint = ""
    if _files.exists(str(path) + ".pdparams") or _files.exists(str(path) + ".pdopt"):
        hint = " please specify the full file name, not just the file name prefix: paddle.load('%s.pdparams')" % path
    raise ValueError("The ``path`` (%s) to load model not exists.%s" % (path, hint))


def _next_pickle(buffer):
    """The bytes of the pickle at the buffer's position, which moves behind it: several saves may follow one another."""
    import pickletools
    start = buffer.tell()
    try:
        for _ in pickletools.genops(buffer):
            pass
        end = buffer.tell()
    except ValueError:  # the reader names the fault
        end = None
    buffer.seek(start)
    return buffer.read() if end is None else buffer.read(end - start)


def load(path, **configs):
    """What paddle.save wrote to the file PATH or a BytesIO. return_numpy=True: arrays instead of tensors."""
    if not mode.eager and _is_path(path) and not _files.exists(path) and _files.exists(path + ".pdparams"):
        return load_state(path)
    _check_load(path, configs)
    return_numpy, keep_names = bool(configs.get("return_numpy")), bool(configs.get("keep_name_table"))
    if not _is_path(path):
        return _from_file(path, _native.read_object(_next_pickle(path)), return_numpy, keep_names)
    if str(path).endswith(".pdmodel"):
        return _native.read_program(path)
    if _starts(path)[:1] != b"\x80":
        return _no_pickle(path, return_numpy)
    return _from_file(path, _native.read_object(path), return_numpy, keep_names)


def load_state(prefix):
    """PREFIX.pdparams and PREFIX.pdopt as one dict."""
    return _native.read_saved(prefix)
