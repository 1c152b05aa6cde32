"""paddle.nn.initializer: how parameters begin. Each is called with a variable and the block whose op shall fill it, or with
a parameter of eager mode, which is filled at once."""
import math

from skiff import _native

from paddle import _names
from paddle._tensor import Tensor
from paddle.fluid import core
from paddle.fluid._build import net


def _append(block, kind, inputs, outputs, attrs):
    if block is None:
        before = _native.eager_set_noting(False)
        try:
            _native.eager_op(kind, inputs, outputs, attrs)
        finally:
            _native.eager_set_noting(before)
    else:
        _native.Block.append_op(block, kind, inputs, outputs, attrs)


class Initializer(object):
    """Base of the initializers."""

    #: (kind, fields) for layers that are built in C
    _spec = None

    def __call__(self, var, block=None):
        if isinstance(var, Tensor):
            block = None
        elif block is None:
            block = var.block
        self._fill(var, block)

    def _fill(self, var, block):
        raise NotImplementedError()


class Constant(Initializer):
    """One value."""

    def __init__(self, value=0.0):
        self._value = value
        self._spec = ("constant", {"value": float(value)})

    def _fill(self, var, block):
        _append(block, "fill_constant", {}, {"Out": var},
                {"shape": list(var.shape), "dtype": var.dtype, "value": float(self._value), "str_value": str(float(self._value)),
                 "force_cpu": False})


class _Random(Initializer):
    """Draws with the program's seed, if that is set when it is first used."""

    _seed = 0

    def _seed_of(self, block):
        self._seed = self._seed or (net.main if block is None else block.program).random_seed
        return self._seed


class Uniform(_Random):
    """Between low and high."""

    def __init__(self, low=-1.0, high=1.0, name=None):
        if not high >= low:
            raise AssertionError("the high of Uniform must not be below its low, but they are %s and %s" % (high, low))
        self._low, self._high = low, high
        self._spec = ("uniform", {"low": float(low), "high": float(high)})

    def _fill(self, var, block):
        _append(block, "uniform_random", {}, {"Out": var},
                {"shape": list(var.shape), "dtype": var.dtype, "min": float(self._low), "max": float(self._high),
                 "seed": self._seed_of(block)})


class Normal(_Random):
    """Of the normal distribution."""

    def __init__(self, mean=0.0, std=1.0, name=None):
        self._mean, self._std = mean, std
        self._spec = ("normal", {"loc": float(mean), "scale": float(std)})

    def _fill(self, var, block):
        _append(block, "gaussian_random", {}, {"Out": var},
                {"shape": list(var.shape), "dtype": var.dtype, "mean": float(self._mean), "std": float(self._std),
                 "seed": self._seed_of(block)})


class TruncatedNormal(_Random):
    """Of the normal distribution, within two deviations."""

    def __init__(self, mean=0.0, std=1.0, name=None):
        self._mean, self._std = mean, std
        self._spec = ("truncated_normal", {"loc": float(mean), "scale": float(std)})

    def _fill(self, var, block):
        _append(block, "truncated_gaussian_random", {}, {"Out": var},
                {"shape": list(var.shape), "dtype": var.dtype, "mean": float(self._mean), "std": float(self._std),
                 "seed": self._seed_of(block)})


def fans(shape):
    """(fan_in, fan_out): rows and columns of a matrix; channels times the area of a filter."""
    shape = list(shape)
    if not shape:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    if len(shape) == 2:
        return shape[0], shape[1]
    area = 1
    for d in shape[2:]:
        area *= d
    return shape[1] * area, shape[0] * area


class _Xavier(Initializer):
    """Variance 2 / (fan_in + fan_out)."""

    _uniform = True

    def __init__(self, fan_in=None, fan_out=None, name=None):
        self._fan_in, self._fan_out = fan_in, fan_out
        fields = {"uniform": self._uniform}
        if fan_in is not None:
            fields["fan_in"] = float(fan_in)
        if fan_out is not None:
            fields["fan_out"] = float(fan_out)
        self._spec = ("xavier", fields)

    def _fill(self, var, block):
        fan_in, fan_out = fans(var.shape)
        fan_in = fan_in if self._fan_in is None else self._fan_in
        fan_out = fan_out if self._fan_out is None else self._fan_out
        if self._uniform:
            limit = math.sqrt(6.0 / float(fan_in + fan_out))
            Uniform(-limit, limit)._fill(var, block)
        else:
            Normal(0.0, math.sqrt(2.0 / float(fan_in + fan_out)))._fill(var, block)


class XavierUniform(_Xavier):
    """Between +-sqrt(6 / (fan_in + fan_out))."""


class XavierNormal(_Xavier):
    """Normal with deviation sqrt(2 / (fan_in + fan_out))."""

    _uniform = False


def calculate_gain(nonlinearity, param=None):
    """The factor that keeps the variance behind a nonlinearity."""
    if param is not None and not isinstance(param, (bool, int, float)):
        raise AssertionError("param must be a number, but received %s" % type(param))
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + float(0.01 if param is None else param) ** 2))
    known = {"sigmoid": 1, "linear": 1, "conv1d": 1, "conv2d": 1, "conv3d": 1, "conv1d_transpose": 1,
             "conv2d_transpose": 1, "conv3d_transpose": 1, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75}
    if nonlinearity not in known:
        raise ValueError("nonlinearity function %s is not suppported now." % nonlinearity)
    return known[nonlinearity]


class _Kaiming(Initializer):
    """Variance gain^2 / fan_in."""

    _uniform = True

    def __init__(self, fan_in=None, negative_slope=0.0, nonlinearity="relu"):
        self._fan_in, self._slope, self._nonlinearity = fan_in, negative_slope, nonlinearity
        fields = {"uniform": self._uniform}
        if fan_in is not None:
            fields["fan_in"] = float(fan_in)
        self._spec = ("msra", fields)

    def _fill(self, var, block):
        fan_in = fans(var.shape)[0] if self._fan_in is None else self._fan_in
        gain = calculate_gain(self._nonlinearity, self._slope)
        if self._uniform:
            limit = gain * math.sqrt(3.0 / float(fan_in))
            Uniform(-limit, limit)._fill(var, block)
        else:
            Normal(0.0, gain / math.sqrt(float(fan_in)))._fill(var, block)


class KaimingUniform(_Kaiming):
    """Between +-gain * sqrt(3 / fan_in)."""


class KaimingNormal(_Kaiming):
    """Normal with deviation gain / sqrt(fan_in)."""

    _uniform = False


_LISTS = {"float32": "fp32_values", "int32": "int32_values", "int64": "int64_values", "float64": "fp64_values",
          "bool": "bool_values"}


class _Values(Initializer):
    """Values that are worked out here and written as a constant."""

    def _write(self, var, block, value):
        kind = var.dtype.dtype if block is None else value.dtype.name
        if block is None:
            var.set(value.astype(kind).reshape(var.shape))
            return
        if kind not in _LISTS:
            raise TypeError("%s: values of type %s cannot be written into a program" % (type(self).__name__, kind))
        _append(block, "assign_value", {}, {"Out": var},
                {"shape": list(value.shape), "dtype": core.BY_DTYPE[kind], _LISTS[kind]: value.ravel().tolist()})


class Assign(_Values):
    """Given values: an array, a list, a tuple or a tensor."""

    def __init__(self, value, name=None):
        import numpy
        if not isinstance(value, (numpy.ndarray, list, tuple, Tensor)):
            raise TypeError("The type of 'value' in Assign must be numpy.ndarray, list, tuple or Tensor, but received %s." %
                            type(value))
        self._value = value.numpy() if isinstance(value, Tensor) else numpy.asarray(value)
        if self._value.size > 1024 * 1024 * 1024:
            raise ValueError("The size of input is too big. Please consider saving it to file and 'load_op' to load it")
        self._spec = ("values", {"values": self._of_type("float32")})

    def _fill(self, var, block):
        if block is None and list(var.shape) != list(self._value.shape):
            var._shape = list(self._value.shape)  # Paddle's parameters, too, take the shape of the values
        self._write(var, block, self._of_type(var.dtype))

    def _of_type(self, dtype):
        """float64 values for a parameter of float64, else rounded, as in Paddle."""
        rounded = self._value.dtype.name == "float64" and "float64" not in str(dtype)
        return self._value.astype("float32") if rounded else self._value


class Bilinear(_Values):
    """Filters [out, in, n, n] of a transposed convolution that interpolates."""

    def _fill(self, var, block):
        import numpy
        shape = list(var.shape)
        if len(shape) != 4:
            raise ValueError("the length of shape must be 4.")
        if shape[2] != shape[3]:
            raise ValueError("shape[2] must be equal to shape[3].")
        size = shape[3]
        half = math.ceil(size / 2.0)
        center = (2 * half - 1 - half % 2) / (2.0 * half)
        place = numpy.arange(int(numpy.prod(shape)))
        x, y = place % size, place / size % size
        value = (1 - abs(x / half - center)) * (1 - abs(y / half - center))
        self._write(var, block, value.astype("float32").reshape(shape))


class Dirac(_Values):
    """Filters that give back their input: ones in the middle of the diagonal."""

    def __init__(self, groups=1, name=None):
        if not isinstance(groups, int) or groups <= 0:
            raise AssertionError(" 'groups' must be a positive integer. ")
        self._groups = groups

    def _fill(self, var, block):
        import numpy
        shape = list(var.shape)
        if len(shape) not in (3, 4, 5):
            raise AssertionError("Only Tensor with 3/4/5 dimensions can be initialized by Dirac")
        if shape[0] % self._groups:
            raise AssertionError("Tensor 0-dimension must be divisible by groups")
        value, count = numpy.zeros(shape, "float32"), shape[0] // self._groups
        for group in range(self._groups):
            for i in range(min(count, shape[1])):
                value[(group * count + i, i) + tuple(d // 2 for d in shape[2:])] = 1.0
        self._write(var, block, value)


class Orthogonal(_Values, _Random):
    """Rows or columns that stand at right angles, times gain."""

    def __init__(self, gain=1.0, name=None):
        if gain is None:
            raise AssertionError("gain should not be None")
        self._gain = gain

    def _fill(self, var, block):
        import numpy
        shape = list(var.shape)
        if len(shape) < 2:
            raise AssertionError("Only Tensor with 2 or more dimensions can be initialized by Orthogonal")
        if block is not None:
            raise NotImplementedError("Orthogonal in a program: Skiff has no op qr; nearest: XavierNormal, or set the value after "
                                      "the startup program has run")
        rows, columns = shape[0], int(numpy.prod(shape[1:]))
        drawn = _native.eager_one("gaussian_random", {}, {"shape": [max(rows, columns), min(rows, columns)], "mean": 0.0,
                                                          "std": 1.0, "seed": self._seed_of(block), "dtype": var.dtype})
        q, r = numpy.linalg.qr(drawn.numpy())
        q = q * numpy.sign(numpy.diag(r))
        self._write(var, block, (q.T if rows < columns else q).reshape(shape) * numpy.asarray(self._gain, q.dtype))


# Paddle's other names for them
ConstantInitializer, UniformInitializer, NormalInitializer = Constant, Uniform, Normal
TruncatedNormalInitializer, NumpyArrayInitializer = TruncatedNormal, Assign

_global = [None, None]


def set_global_initializer(weight_init, bias_init=None):
    """For parameters whose attribute names no initializer; None: Paddle's own again."""
    for arg, value in (("weight_init", weight_init), ("bias_init", bias_init)):
        if value is not None and not isinstance(value, Initializer):
            raise TypeError("The type of '%s' in set_global_initializer must be Initializer or None, but received %s." %
                            (arg, type(value)))
    _global[:] = [weight_init, bias_init]


def default_for(is_bias):
    return _global[1 if is_bias else 0]


__getattr__ = _names.guard(__name__)
