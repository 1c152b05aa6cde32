"""paddle.framework: parameters, default types, seeds, the switch to programs of 2.x."""

from skiff import _native

from paddle import _names
from paddle._mode import mode
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
    mode.eager = False
    import paddle
    import paddle._variable  # noqa: F401 (methods of Variables)
    paddle.__version__ = paddle.full_version = VERSION


def disable_static(place=None):
    """Functions run at once, as at the start of Paddle 2."""
    mode.eager = True


def in_dynamic_mode():
    """Whether functions of 2.x run at once."""
    return mode.eager


def get_default_dtype():
    return _default_dtype


def set_default_dtype(d):
    """The type of what is made without one."""
    global _default_dtype
    name = dtype_name(d)
    if name not in ("float16", "bfloat16", "float32", "float64"):
        raise TypeError("set_default_dtype only supports [float16, float32, float64, bfloat16], but received %s" % name)
    _default_dtype = mode.dtype = name


class Generator(object):
    """What paddle.seed gives back: the generator that random functions draw from."""

    def __init__(self, number=0):
        self._number = number

    def initial_seed(self):
        return self._number

    def manual_seed(self, number):
        return seed(number)

    def get_state(self):
        return GeneratorState(_native.eager_generator(), self._number)

    def set_state(self, state):
        if not isinstance(state, GeneratorState):
            raise TypeError("set_state takes what get_state gave, but received %s" % type(state))
        _native.eager_set_generator(state._bytes)
        self._number = state._number


class GeneratorState(object):
    """The generator at one moment; it can be pickled."""

    def __init__(self, content, number):
        self._bytes, self._number = content, number

    def current_seed(self):
        return self._number


_generator = Generator()
_seed = None


def seed(seed):
    """Seeds the stream that ops without a seed of their own draw from (initializers, dropout): Paddle 2.6's."""
    global _seed
    _seed = (int(seed), 0 if _seed is None else _seed[1] + 1)
    _native.eager_seed(int(seed) & 0xFFFFFFFFFFFFFFFF)
    _generator._number = int(seed)
    return _generator


def current_seed():
    """(seed, how often it was set) or None."""
    return _seed


def get_rng_state(device=None):
    """The generators as they are now: a list for set_rng_state."""
    return [_generator.get_state()]


def set_rng_state(state_list, device=None):
    """Random functions continue from the state of get_rng_state."""
    if len(state_list) != 1:
        raise ValueError("Length of cpu state list shoule be equal to 1")
    _generator.set_state(state_list[0])


def get_cuda_rng_state():
    """There is no such device: an empty list."""
    return []


def set_cuda_rng_state(state_list):
    """There is no such device."""


def _traced(function):
    """The function; rewritten while it becomes part of a program (paddle.jit)."""
    if mode.trace is None:
        return function
    from paddle.jit.translate import translated
    return translated(function)


class _Noting(object):
    """A context, a decorator or, called at once, a switch: whether ops are recorded for backward."""

    __slots__ = ("_wanted", "_before")

    def __init__(self, wanted):
        self._wanted, self._before = wanted, []

    def __enter__(self):
        self._before.append(_native.eager_set_noting(self._wanted))
        return self

    def __exit__(self, *_):
        _native.eager_set_noting(self._before.pop())

    def __call__(self, function):
        import functools
        import inspect
        if inspect.isgeneratorfunction(function):
            @functools.wraps(function)
            def generate(*args, **kwargs):
                with self:
                    yield from function(*args, **kwargs)
            return generate

        @functools.wraps(function)
        def call(*args, **kwargs):
            with self:
                return _traced(function)(*args, **kwargs)
        return call


def no_grad(func=None):
    """with no_grad(): ..., @no_grad or @no_grad(): ops are not recorded for backward."""
    return _Noting(False) if func is None else _Noting(False)(func)


def enable_grad(func=None):
    """The opposite of no_grad."""
    return _Noting(True) if func is None else _Noting(True)(func)


def is_grad_enabled():
    """Whether ops are recorded for backward; False while programs are built."""
    return mode.eager and _native.eager_noting()


class set_grad_enabled(_Noting):
    """Switches at once; with `with`, only for the block."""

    __slots__ = ()

    def __init__(self, mode):
        super().__init__(bool(mode))
        self._before.append(_native.eager_set_noting(bool(mode)))

    def __enter__(self):
        return self


# ---- parameters ---------------------------------------------------------------------------------


def _check_type(value, arg, kinds, text):
    if not isinstance(value, kinds):
        raise TypeError("The type of '%s' in ParamAttr must be %s, but received %s. " % (arg, text, type(value)))


class ParamAttr(object):
    """Name, initializer, learning rate factor, regularizer and so on of a parameter."""

    def __init__(self, name=None, initializer=None, learning_rate=1.0, regularizer=None, trainable=True,
                 do_model_average=True, need_clip=True):
        _check_type(name, "name", (str, type(None)), "str or None")
        _check_type(learning_rate, "learning_rate", (int, float), "float or int")
        for arg, value in (("trainable", trainable), ("do_model_average", do_model_average), ("need_clip", need_clip)):
            _check_type(value, arg, bool, "bool")
        if initializer is not None and not callable(initializer):
            _check_type(initializer, "initializer", (), "Initializer or None")
        if regularizer is not None and (getattr(regularizer, "_spec", None) or (None,))[0] not in ("l1", "l2"):
            _check_type(regularizer, "regularizer", (), "WeightDecayRegularizer or None")
        if name == "":
            raise ValueError("name of ParamAttr can not be empty str")
        self.name = name
        self.initializer = initializer
        self.learning_rate = learning_rate
        self.regularizer = regularizer
        self.trainable = trainable
        self.do_model_average = do_model_average
        self.need_clip = need_clip

    @staticmethod
    def _to_attr(arg):
        return to_attr(arg)

    def copy(self, **changes):
        """Another one with some fields changed."""
        fields = dict(self.__dict__)
        fields.update(changes)
        return ParamAttr(**fields)


class WeightNormParamAttr(ParamAttr):
    """A weight of paddle.static.nn as direction v and length g: g v / |v|, the norm over all dimensions but dim."""

    def __init__(self, dim=None, name=None, initializer=None, learning_rate=1.0, regularizer=None, trainable=True,
                 do_model_average=False, need_clip=True):
        super(WeightNormParamAttr, self).__init__(name, initializer, learning_rate, regularizer, trainable, do_model_average,
                                                  need_clip)
        self.dim = dim


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
    kind = (getattr(arg, "_spec", None) or (None,))[0]
    if kind in ("l1", "l2"):
        return ParamAttr(regularizer=arg)
    if callable(arg):
        return ParamAttr(initializer=arg)
    if isinstance(arg, (list, tuple)):
        return [to_attr(a) for a in arg]
    raise TypeError("%s cannot be a parameter attribute" % type(arg))


def make_parameter(prefix, attr, shape, dtype, is_bias=False, default_initializer=None, stop_gradient=False,
                   is_distributed=False):
    """The parameter in the main program, and in the startup program with the op that fills it; eager: filled at once.

    prefix: how a generated name begins (linear_0 -> linear_0.w_0, linear_0.b_0)."""
    from paddle.nn import initializer as init
    dtype = dtype_name(dtype or _default_dtype)
    shape = [int(d) for d in shape]
    if any(d <= 0 for d in shape):
        raise ValueError("Each dimension of shape for Parameter must be greater than 0, but received %s" % shape)
    name = attr.name or net.name(prefix + (".b" if is_bias else ".w"))
    fill = attr.initializer or init.default_for(is_bias) or default_initializer or \
        (init.Constant(0.0) if is_bias else init.XavierUniform())
    if mode.eager:
        from paddle._tensor import Parameter as EagerParameter
        from paddle.fluid.unique_name import take_parameter
        if not take_parameter(name):
            raise ValueError("parameter name [%s] have be been used. In dygraph mode, the name of parameter can't be same. Please "
                             "check the parameter attr value passed to self.create_parameter or constructor of dygraph Layers" %
                             name)
        out = EagerParameter(shape, dtype, name, attr, is_distributed)
        fill(out)
        out.stop_gradient = stop_gradient or not attr.trainable
        return out
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

from paddle.framework.io import load, load_state, save  # noqa: E402, F401


def disable_signal_handler():
    """Nothing to do: Skiff's Python installs no handlers."""


class LazyGuard(object):
    """Parameters made inside it could wait for initialize(); here they have their values at once."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def in_dynamic_or_pir_mode():
    """in_dynamic_mode: there is one kind of program here."""
    return in_dynamic_mode()


def in_pir_mode():
    """False: programs are those of ProgramDesc."""
    return False


def get_flags(flags):
    return _fluid.get_flags(flags)


def set_flags(flags):
    return _fluid.set_flags(flags)


class iinfo(object):
    def __init__(self, dtype):
        import numpy
        info = numpy.iinfo(dtype_name(dtype))
        self.min, self.max, self.bits, self.dtype = int(info.min), int(info.max), info.bits, dtype_name(dtype)

    def __repr__(self):
        return "paddle.iinfo(min=%d, max=%d, bits=%d, dtype=%s)" % (self.min, self.max, self.bits, self.dtype)


__getattr__, __dir__ = _names.lazy(__name__, {}, ("io_utils",))
