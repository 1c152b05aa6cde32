"""Bernoulli, Categorical, Multinomial, Geometric."""
import numbers
from collections.abc import Iterable

import paddle
import paddle.nn.functional as F
from paddle._op import Value
from paddle.distribution.base import Distribution, ExponentialFamily, without_gradient
from paddle.fluid.framework import dtype_name


class Bernoulli(ExponentialFamily):
    """1 with the probability probs."""

    def __init__(self, probs, name=None):
        self.name = name or "Bernoulli"
        probs = probs if self._validate_args(probs) else self._to_tensor(probs)[0]
        self.dtype = dtype_name(probs.dtype)
        if paddle.in_dynamic_mode() and not bool(((probs >= 0) & (probs <= 1)).all()):
            raise ValueError("The arg of `probs` must be in range [0, 1].")
        eps = 2.220446049250313e-16 if self.dtype == "float64" else 1.1920928955078125e-07
        self.probs = paddle.clip(probs, min=eps, max=1 - eps)
        self.logits = self._probs_to_logits(self.probs, True)
        super().__init__(self.probs.shape)

    @property
    def mean(self):
        return self.probs

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    @without_gradient
    def sample(self, shape=()):
        return paddle.bernoulli(self.probs.expand(list(self._extend_shape(shape))))

    def rsample(self, shape=(), temperature=1.0):
        """Numbers whose sigmoid is near 0 or 1: the log odds, with logistic noise, over the temperature."""
        shape = list(self._extend_shape(shape))
        probs, uniforms = self.probs.expand(shape), paddle.rand(shape, dtype=self.dtype)
        return ((uniforms.log() - (-uniforms).log1p()) + (probs.log() - (-probs).log1p())) / temperature

    def cdf(self, value):
        probs, value = paddle.broadcast_tensors([self.probs, self._value(self.probs, value)])
        zeros, ones = paddle.zeros_like(probs), paddle.ones_like(probs)
        return paddle.where(value < 0, zeros, paddle.where(value < 1, ones - probs, ones))

    def log_prob(self, value):
        logits, value = paddle.broadcast_tensors([self.logits, self._value(self.probs, value)])
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def kl_divergence(self, other):
        a, b = self.logits, other.logits
        one, none = F.sigmoid(a), F.sigmoid(-a)
        return (-F.softplus(-a) * one + F.softplus(-b) * one) + (-F.softplus(a) * none + F.softplus(b) * none)


class Categorical(Distribution):
    """Numbers 0 .. n - 1. As in Paddle 2.6.2 `probs` and `log_prob` take logits as weights (logits / their sum), `sample`,
    `entropy` and `kl_divergence` as logarithms (their softmax)."""

    def __init__(self, logits, name=None):
        self.name = name or "Categorical"
        self.logits = logits if self._validate_args(logits) else self._to_tensor(logits)[0]
        self.dtype = dtype_name(self.logits.dtype)
        self._prob = self.logits / paddle.sum(self.logits, axis=-1, keepdim=True)
        super().__init__(self.logits.shape[:-1])

    @without_gradient
    def sample(self, shape=()):
        shape, rows = list(shape), list(self.logits.shape)
        count = 1
        for n in shape:
            count *= n
        flat = paddle.reshape(self.logits, [-1, rows[-1]]) if len(rows) > 1 else self.logits
        index = paddle.multinomial(self._logits_to_probs(flat), count, True)
        order = list(range(len(index.shape)))
        return paddle.reshape(index.transpose([order[-1]] + order[:-1]), shape + rows[:-1])

    def _normal(self):
        """(logits less the largest, the sum of their exp)"""
        logits = self.logits - paddle.max(self.logits, axis=-1, keepdim=True)
        return logits, paddle.sum(paddle.exp(logits), axis=-1, keepdim=True)

    def kl_divergence(self, other):
        (a, z), (b, other_z) = self._normal(), other._normal()
        return paddle.sum(paddle.exp(a) / z * (a - paddle.log(z) - b + paddle.log(other_z)), axis=-1, keepdim=True)

    def entropy(self):
        logits, z = self._normal()
        return -paddle.sum(paddle.exp(logits) / z * (logits - paddle.log(z)), axis=-1)

    def probs(self, value):
        rank = len(self._prob.shape)
        if rank == 1:
            return paddle.gather(self._prob, value.reshape([-1])).reshape(list(value.shape))
        if len(value.shape) == 1:
            value = paddle.reshape(value, [1] * (rank - 1) + [-1])
            value = paddle.expand(value, list(self._prob.shape[:-1]) + [value.shape[-1]])
        return paddle.take_along_axis(self._prob, value, axis=-1)

    def log_prob(self, value):
        return paddle.log(self.probs(value))


class Multinomial(Distribution):
    """How often each number occurs in total_count draws."""

    def __init__(self, total_count, probs):
        if not isinstance(total_count, int) or total_count < 1:
            raise ValueError("input parameter total_count must be int type and grater than zero.")
        if len(probs.shape) < 1:
            raise ValueError("probs parameter shoule not be none and over one dimension")
        self.probs, self.total_count = probs / probs.sum(-1, keepdim=True), total_count
        self._categorical = Categorical(self._probs_to_logits(probs))
        super().__init__(probs.shape[:-1], probs.shape[-1:])

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def log_prob(self, value):
        if dtype_name(value.dtype).startswith(("int", "uint")):
            value = paddle.cast(value, self.probs.dtype)
        logits, value = paddle.broadcast_tensors([paddle.log(self.probs), value])
        logits = paddle.where((value == 0) & paddle.isinf(logits), paddle.zeros_like(logits), logits)
        return paddle.lgamma(value.sum(-1) + 1) - paddle.lgamma(value + 1).sum(-1) + (value * logits).sum(-1)

    @without_gradient
    def sample(self, shape=()):
        if not isinstance(shape, Iterable):
            raise TypeError("sample shape must be Iterable object.")
        drawn = self._categorical.sample([self.total_count] + list(shape))
        return paddle.cast(F.one_hot(drawn, self.probs.shape[-1]), self.probs.dtype).sum(0)

    def entropy(self):
        n = paddle.full([], self.total_count, self.probs.dtype)
        counts = paddle.arange(1, self.total_count + 1, dtype=self.probs.dtype).reshape([-1] + [1] * len(self.probs.shape))
        chance = paddle.exp(self._binomial(n, counts))
        return n * self._categorical.entropy() - paddle.lgamma(n + 1) + (chance * paddle.lgamma(counts + 1)).sum([0, -1])

    def _binomial(self, n, counts):
        """The logarithm of the probability of that number of occurrences."""
        logits = self._probs_to_logits(self.probs, True)
        norm = n * paddle.clip(logits, min=0) + n * paddle.log1p(paddle.exp(-paddle.abs(logits))) - paddle.lgamma(n + 1)
        return counts * logits - paddle.lgamma(counts + 1) - paddle.lgamma(n - counts + 1) - norm


class Geometric(Distribution):
    """Failures before the first success, which has the probability probs."""

    def __init__(self, probs):
        if isinstance(probs, numbers.Real):
            probs = paddle.full([], float(probs), "float32")
        elif not isinstance(probs, Value):
            raise TypeError("Expected type of probs is Number.Real|Tensor|framework.Variable, but got %s" % type(probs))
        if paddle.in_dynamic_mode() and not bool(((probs > 0) & (probs <= 1)).all()):
            raise ValueError("Expected parameter probs of distribution Geometric to satisfy theconstraint "
                             "Interval(lower_bound=0.0, upper_bound=1.0)")
        self.probs = probs
        super().__init__(probs.shape)

    @property
    def mean(self):
        return 1.0 / self.probs - 1.0

    @property
    def variance(self):
        return (1.0 / self.probs - 1.0) / self.probs

    @property
    def stddev(self):
        return paddle.sqrt(self.variance)

    @staticmethod
    def _count(k):
        if not isinstance(k, (numbers.Integral, Value)):
            raise TypeError("Expected type of k is number.Real|framework.Variable, but got %s" % type(k))
        return k

    def pmf(self, k):
        return paddle.pow(1.0 - self.probs, self._count(k)) * self.probs

    def log_pmf(self, k):
        return paddle.log(self.pmf(k))

    @without_gradient
    def sample(self, shape=()):
        return self.rsample(shape)

    def rsample(self, shape=()):
        uniform = paddle.uniform(list(self._extend_shape(shape)), min=1.1754943508222875e-38, max=1.0, dtype=self.probs.dtype)
        return paddle.floor(paddle.log(uniform) / paddle.log1p(-self.probs))

    def entropy(self):
        return -((1.0 - self.probs) * paddle.log(1.0 - self.probs) + self.probs * paddle.log(self.probs)) / self.probs

    def cdf(self, k):
        return 1.0 - paddle.pow(1.0 - self.probs, self._count(k) + 1)

    def kl_divergence(self, other):
        if not isinstance(other, Geometric):
            raise TypeError("Exected type of other is geometric.Geometric, but got %s" % type(other))
        p, q = self.probs, other.probs
        return p * paddle.log(p / q) + (1.0 - p) * paddle.log((1.0 - p) / (1.0 - q))
