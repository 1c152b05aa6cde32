"""paddle.framework: parameters, default types, seeds, the switch to programs of 2.x."""
from contextlib import contextmanager

from skiff import _native

from paddle import _names
from paddle.fluid import core  # noqa: F401
from paddle.fluid import framework as _fluid
from paddle.fluid._build import net
from paddle.fluid.core import CPUPlace, CUDAPinnedPlace, CUDAPlace  # noqa: F401
from paddle.fluid.framework import Block, Parameter, Program, Variable, dtype_name  # noqa: F401

# ---- modes --------------------------------------------------------------------------------------

_default_dtype = "float32"
#: the Paddle whose programs these are
VERSION = "2.6.2"


def enable_static():
    """Programs are built, as Paddle 2.x means them: from now on Program() makes such programs, the default ones are, and
    paddle.__version__ says so."""
    _fluid.set_generation(2)
    import paddle
    import paddle._variable  # noqa: F401 (methods of Variables)
    paddle.__version__ = paddle.full_version = VERSION


def disable_static(place=None):
    raise NotImplementedError("paddle.disable_static: eager execution (dygraph) is not there: build a program "
                              "(paddle.enable_static()) and run it with paddle.static.Executor")


def in_dynamic_mode():
    """False: there is no eager mode."""
    return False


def get_default_dtype():
    return _default_dtype


def set_default_dtype(d):
    """The type of what is made without one."""
    global _default_dtype
    name = dtype_name(d)
    if name not in ("float16", "bfloat16", "float32", "float64"):
        raise TypeError("set_default_dtype only supports [float16, float32, float64, bfloat16], but received %s" % name)
    _default_dtype = name


class Generator(object):
    """What paddle.seed gives back."""

    def __init__(self, number):
        self._number = number

    def initial_seed(self):
        return self._number


_seed = None


def seed(seed):
    """Seeds the stream that ops without a seed of their own draw from (initializers, dropout): Paddle 2.6's."""
    global _seed
    _seed = (int(seed), 0 if _seed is None else _seed[1] + 1)
    return Generator(int(seed))


def current_seed():
    """(seed, how often it was set) or None."""
    return _seed


@contextmanager
def _no_grad():
    yield


def no_grad(func=None):
    """Gradients are only made by minimize: nothing to switch off while a program is built."""
    return func if func is not None else _no_grad()


def is_grad_enabled():
    """False while programs are built, as in Paddle: there is no tape."""
    return False


@contextmanager
def set_grad_enabled(mode):
    yield


# ---- parameters ---------------------------------------------------------------------------------


class ParamAttr(object):
    """Name, initializer, learning rate factor, regularizer and so on of a parameter."""

    def __init__(self, name=None, initializer=None, learning_rate=1.0, regularizer=None, trainable=True,
                 do_model_average=True, need_clip=True):
        if name is not None and not isinstance(name, str):
            raise TypeError("The type of 'name' in ParamAttr must be str, but received %s." % type(name))
        self.name = name
        self.initializer = initializer
        self.learning_rate = learning_rate
        self.regularizer = regularizer
        self.trainable = trainable
        self.do_model_average = do_model_average
        self.need_clip = need_clip

    def copy(self, **changes):
        """Another one with some fields changed."""
        fields = dict(self.__dict__)
        fields.update(changes)
        return ParamAttr(**fields)


class WeightNormParamAttr(ParamAttr):
    def __init__(self, *args, **kwargs):
        raise NotImplementedError("WeightNormParamAttr: Skiff does not split weights into norm and direction; use ParamAttr")


def to_attr(arg):
    """A ParamAttr of what layers accept: None, a name, an initializer, a regularizer, False."""
    if arg is None or arg is True:
        return ParamAttr()
    if arg is False or isinstance(arg, ParamAttr):
        return arg
    if isinstance(arg, str):
        return ParamAttr(name=arg)
    if hasattr(arg, "learning_rate") and hasattr(arg, "trainable"):  # fluid's
        return ParamAttr(arg.name, arg.initializer, arg.learning_rate, arg.regularizer, arg.trainable)
    kind = getattr(arg, "_spec", (None,))[0]
    if kind in ("l1", "l2"):
        return ParamAttr(regularizer=arg)
    if callable(arg):
        return ParamAttr(initializer=arg)
    if isinstance(arg, (list, tuple)):
        return [to_attr(a) for a in arg]
    raise TypeError("%s cannot be a parameter attribute" % type(arg))


def make_parameter(prefix, attr, shape, dtype, is_bias=False, default_initializer=None, stop_gradient=False,
                   is_distributed=False):
    """The parameter in the main program, and in the startup program with the op that fills it.

    prefix: what a name of its own begins with (linear_0 -> linear_0.w_0, linear_0.b_0)."""
    from paddle._op import check_static
    check_static("a parameter")
    from paddle.nn import initializer as init
    dtype = dtype_name(dtype or _default_dtype)
    shape = [int(d) for d in shape]
    if any(d <= 0 for d in shape):
        raise ValueError("each dimension of a parameter must be greater than 0, but the shape is %s" % shape)
    name = attr.name or net.name(prefix + (".b" if is_bias else ".w"))
    fill = attr.initializer or init.default_for(is_bias) or default_initializer or \
        (init.Constant(0.0) if is_bias else init.XavierUniform())
    startup = net.startup.block(0)
    fields = dict(trainable=attr.trainable, learning_rate=attr.learning_rate, regularizer=attr.regularizer,
                  do_model_average=attr.do_model_average, is_distributed=is_distributed)
    known = _native.Block.has_var(startup, name)
    twin = _native.Block.create_parameter(startup, name, shape, dtype, **fields)
    if not known:
        fill(twin, startup)
    out = _native.Block.create_parameter(net.main.block(0), name, shape, dtype,
                                         stop_gradient=stop_gradient or not attr.trainable, **fields)
    out.need_clip = attr.need_clip
    return out


# ---- files --------------------------------------------------------------------------------------


def save(obj, path, protocol=4, **configs):
    """Writes a state: {name: array} to PATH (.pdparams, .pdopt), or a program to PATH (.pdmodel)."""
    import os
    folder = os.path.dirname(path)
    if not os.path.basename(path):
        raise ValueError("The input path MUST be format of dirname/filename, but received a folder: %s" % path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    if isinstance(obj, Program):
        _native.write_program(obj, path)
    elif isinstance(obj, dict) and all(isinstance(key, str) for key in obj):
        _native.write_state(path, obj)
    else:
        raise NotImplementedError("paddle.save: a dict of names and tensors or a Program can be saved, not %s" % type(obj))


def load(path, **configs):
    """What paddle.save wrote: {name: tensor}, or a program (.pdmodel)."""
    import os
    if not os.path.exists(path) and os.path.exists(path + ".pdparams"):
        return load_state(path)
    if path.endswith(".pdmodel"):
        return _native.read_program(path)
    return _native.read_state(path)


def load_state(prefix):
    """PREFIX.pdparams and PREFIX.pdopt as one dict."""
    return _native.read_saved(prefix)


def get_flags(flags):
    return _fluid.get_flags(flags)


def set_flags(flags):
    return _fluid.set_flags(flags)


class iinfo(object):
    def __init__(self, dtype):
        import numpy
        info = numpy.iinfo(dtype_name(dtype))
        self.min, self.max, self.bits, self.dtype = int(info.min), int(info.max), info.bits, dtype_name(dtype)


__getattr__, __dir__ = _names.lazy(__name__, {}, ("io_utils",))
