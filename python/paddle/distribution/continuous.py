"""Normal, LogNormal, Uniform, Laplace, Cauchy, Gumbel."""
import math
import numbers
from collections.abc import Iterable

import paddle
from paddle._op import Value
from paddle.distribution.base import Distribution, real_or_tensor, same_shape, without_gradient
from paddle.distribution.transform import ExpTransform, TransformedDistribution

_EULER = 0.57721566490153286061
_TINY, _EPSILON = 1.1754943508222875e-38, 1.1920928955078125e-07


class Normal(Distribution):
    """loc, scale: numbers, lists, arrays or tensors."""

    def __init__(self, loc, scale, name=None):
        self.loc, self.scale = self._pair(name or "Normal", loc, scale)
        super().__init__(self.loc.shape)

    @property
    def mean(self):
        return self.loc

    @property
    def variance(self):
        return self.scale.pow(2)

    def _noise(self, shape, seed):
        from paddle.tensor import random
        return random.gaussian(shape, mean=0.0, std=1.0, seed=seed, dtype=self.dtype)

    @without_gradient
    def sample(self, shape=(), seed=0):
        if not isinstance(shape, Iterable):
            raise TypeError("sample shape must be Iterable object.")
        whole = list(shape) + list((self.loc + self.scale).shape)
        out = self._noise(whole, seed) * (paddle.zeros(whole, self.dtype) + self.scale) + self.loc
        return paddle.reshape(out, list(shape)) if self.all_arg_is_float else out

    def rsample(self, shape=()):
        if not isinstance(shape, Iterable):
            raise TypeError("sample shape must be Iterable object.")
        return self.loc + self._noise(list(self._extend_shape(shape)), 0) * self.scale

    def entropy(self):
        return 0.5 + (0.5 * math.log(2 * math.pi) + paddle.log(self.scale + paddle.zeros_like(self.loc + self.scale)))

    def log_prob(self, value):
        value = self._value(self.loc, value)
        off = value - self.loc
        return -1.0 * (off * off) / (2.0 * (self.scale * self.scale)) - (paddle.log(self.scale) + math.log(math.sqrt(2.0 * math.pi)))

    def probs(self, value):
        value = self._value(self.loc, value)
        off = value - self.loc
        return paddle.exp(-1.0 * (off * off) / (2.0 * (self.scale * self.scale))) / (math.sqrt(2 * math.pi) * self.scale)

    def kl_divergence(self, other):
        ratio = self.scale / other.scale
        ratio = ratio * ratio
        off = (self.loc - other.loc) / other.scale
        return 0.5 * ratio + 0.5 * (off * off - 1.0 - paddle.log(ratio))


class LogNormal(TransformedDistribution):
    """exp of a Normal."""

    def __init__(self, loc, scale):
        base = Normal(loc, scale)
        self.loc, self.scale = base.loc, base.scale
        super().__init__(base, [ExpTransform()])

    @property
    def mean(self):
        return paddle.exp(self._base.mean + self._base.variance / 2)

    @property
    def variance(self):
        return paddle.expm1(self._base.variance) * paddle.exp(2 * self._base.mean + self._base.variance)

    def entropy(self):
        return self._base.entropy() + self._base.mean

    def probs(self, value):
        return paddle.exp(self.log_prob(value))

    def kl_divergence(self, other):
        return self._base.kl_divergence(other._base)


class Uniform(Distribution):
    """low <= x < high; both ends have density 0, as in Paddle."""

    def __init__(self, low, high, name=None):
        self.low, self.high = self._pair(name or "Uniform", low, high)
        super().__init__(self.low.shape)

    @without_gradient
    def sample(self, shape=(), seed=0):
        whole = list(shape) + list((self.low + self.high).shape)
        out = paddle.uniform(whole, dtype=self.dtype, min=0.0, max=1.0, seed=seed) * (
            paddle.zeros(whole, self.dtype) + (self.high - self.low)) + self.low
        return paddle.reshape(out, list(shape)) if self.all_arg_is_float else out

    def _inside(self, value):
        return paddle.cast(self.low < value, value.dtype) * paddle.cast(value < self.high, value.dtype)

    def log_prob(self, value):
        value = self._value(self.low, value)
        return paddle.log(self._inside(value)) - paddle.log(self.high - self.low)

    def probs(self, value):
        value = self._value(self.low, value)
        return self._inside(value) / (self.high - self.low)

    def entropy(self):
        return paddle.log(self.high - self.low)


class Laplace(Distribution):
    def __init__(self, loc, scale):
        self.loc, self.scale = same_shape(real_or_tensor(loc, "loc"), real_or_tensor(scale, "scale"))
        super().__init__(self.loc.shape)

    @property
    def mean(self):
        return self.loc

    @property
    def stddev(self):
        return 2 ** 0.5 * self.scale

    @property
    def variance(self):
        return self.stddev.pow(2)

    def _at(self, value):
        """loc, scale and a value of one shape."""
        value = real_or_tensor(value, "value") if isinstance(value, numbers.Real) else value
        value = value if value.dtype == self.scale.dtype else paddle.cast(value, self.scale.dtype)
        return same_shape(self.loc, self.scale, value)

    def log_prob(self, value):
        loc, scale, value = self._at(value)
        return -paddle.log(2 * scale) - paddle.abs(value - loc) / scale

    def entropy(self):
        return 1 + paddle.log(2 * self.scale)

    def cdf(self, value):
        loc, scale, value = self._at(value)
        return 0.5 - 0.5 * (value - loc).sign() * paddle.expm1(-(value - loc).abs() / scale)

    def icdf(self, value):
        loc, scale, value = self._at(value)
        term = value - 0.5
        return loc - scale * term.sign() * paddle.log1p(-2 * term.abs())

    @without_gradient
    def sample(self, shape=()):
        return self.rsample(shape)

    def rsample(self, shape=()):
        eps = 2.22045e-16 if self.loc.dtype == paddle.float64 else 1.19209e-07
        low = math.nextafter(-1.0, 1.0) + eps / 2
        uniform = paddle.uniform(list(self._extend_shape(shape)), min=low, max=1.0 - eps / 2, dtype=self.loc.dtype)
        return self.loc - self.scale * uniform.sign() * paddle.log1p(-uniform.abs())

    def kl_divergence(self, other):
        off = paddle.abs(self.loc - other.loc)
        return (self.scale * paddle.exp(-off / self.scale) + off) / other.scale + paddle.log(other.scale / self.scale) - 1


class Cauchy(Distribution):
    def __init__(self, loc, scale, name=None):
        self.name = name or "Cauchy"
        self.loc, self.scale = same_shape(real_or_tensor(loc, "loc"), real_or_tensor(scale, "scale"))
        self.dtype = self.loc.dtype
        super().__init__(self.loc.shape)

    @property
    def mean(self):
        raise ValueError("Cauchy distribution has no mean.")

    @property
    def variance(self):
        raise ValueError("Cauchy distribution has no variance.")

    @property
    def stddev(self):
        raise ValueError("Cauchy distribution has no stddev.")

    @without_gradient
    def sample(self, shape, name=None):
        return self.rsample(shape)

    def rsample(self, shape, name=None):
        if not isinstance(shape, (list, tuple, Value)) and not hasattr(shape, "__array__"):
            raise TypeError("Expected type of shape is Sequence[int], but got %s" % type(shape))
        uniforms = paddle.rand(list(self._extend_shape(shape)), dtype=self.dtype)
        return self.loc + self.scale * paddle.tan(math.pi * (uniforms - 0.5))

    def _at(self, value):
        if not isinstance(value, Value):
            raise TypeError("Expected type of value is Variable, but got %s" % type(value))
        return same_shape(self.loc, self.scale, self._value(self.loc, value))

    def log_prob(self, value):
        loc, scale, value = self._at(value)
        return -paddle.square((value - loc) / scale).log1p() - (scale.log() + math.log(math.pi))

    def cdf(self, value):
        loc, scale, value = self._at(value)
        return paddle.atan((value - loc) / scale) / math.pi + 0.5

    def entropy(self):
        return self.scale.log() + math.log(4 * math.pi)

    def kl_divergence(self, other):
        if not isinstance(other, Cauchy):
            raise TypeError("Expected type of other is Cauchy, but got %s" % type(other))
        both = paddle.pow(self.scale + other.scale, 2) + paddle.pow(self.loc - other.loc, 2)
        return both.log() - (4 * (self.scale * other.scale)).log()


class Gumbel(TransformedDistribution):
    def __init__(self, loc, scale):
        self.loc, self.scale = same_shape(real_or_tensor(loc, "loc"), real_or_tensor(scale, "scale"))
        self.base_dist = Uniform(paddle.full_like(self.loc, _TINY), paddle.full_like(self.loc, 1 - _EPSILON))
        self.transforms = ()
        super().__init__(self.base_dist, self.transforms)

    @property
    def mean(self):
        return self.loc + self.scale * _EULER

    @property
    def variance(self):
        return paddle.pow(self.scale, 2) * (math.pi * math.pi) / 6

    @property
    def stddev(self):
        return paddle.sqrt(self.variance)

    def prob(self, value):
        y = (self.loc - value) / self.scale
        return paddle.exp(y - paddle.exp(y)) / self.scale

    def log_prob(self, value):
        return paddle.log(self.prob(value))

    def cdf(self, value):
        return paddle.exp(-paddle.exp(-(value - self.loc) / self.scale))

    def entropy(self):
        return paddle.log(self.scale) + 1 + _EULER

    @without_gradient
    def sample(self, shape=()):
        return self.rsample(shape)

    def rsample(self, shape=()):
        return self.loc - self.scale * paddle.log(-paddle.log(self._base.sample(list(shape))))
