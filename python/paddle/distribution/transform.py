"""Transforms of tensors with their inverses and log determinants, and distributions made by them."""
import enum
import math
from collections.abc import Sequence

import paddle
import paddle.nn.functional as F
from paddle import _names
from paddle._op import Value
from paddle.distribution.base import Distribution, Independent, sum_right

__all__ = ["Transform", "AbsTransform", "AffineTransform", "ChainTransform", "ExpTransform", "IndependentTransform",
           "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform", "StackTransform",
           "StickBreakingTransform", "TanhTransform"]


class Type(enum.Enum):
    BIJECTION = "bijection"
    INJECTION = "injection"
    SURJECTION = "surjection"
    OTHER = "other"

    @classmethod
    def is_injective(cls, kind):
        return kind in (cls.BIJECTION, cls.INJECTION)


class _Space(object):
    """What a transform takes or gives: how many dimensions at the end belong to one event."""

    def __init__(self, event_rank=0):
        self.event_rank, self.is_discrete = event_rank, False


_REAL, _VECTOR = _Space(), _Space(1)


class Transform(object):
    """Base: forward and inverse of tensors, with the logarithm of the determinant of their derivative."""

    _type = Type.INJECTION
    _domain = _codomain = _REAL

    @classmethod
    def _is_injective(cls):
        return Type.is_injective(cls._type)

    def __call__(self, input):
        if isinstance(input, Distribution):
            return TransformedDistribution(input, [self])
        if isinstance(input, Transform):
            return ChainTransform([self, input])
        return self.forward(input)

    @staticmethod
    def _checked(value, name, space):
        if not isinstance(value, Value):
            raise TypeError("Expected '%s' is a Tensor or Real, but got %s." % (name, type(value)))
        if len(value.shape) < space.event_rank:
            raise ValueError("The dimensions of %s(%d) should be grater than or equal to %d" %
                             (name, len(value.shape), space.event_rank))
        return value

    def forward(self, x):
        return self._forward(self._checked(x, "x", self._domain))

    def inverse(self, y):
        return self._inverse(self._checked(y, "y", self._codomain))

    def forward_log_det_jacobian(self, x):
        self._checked(x, "x", self._domain)
        if not self._is_injective():
            raise NotImplementedError("forward_log_det_jacobian can't be implemented for non-injectivetransforms.")
        if hasattr(self, "_forward_log_det_jacobian"):
            return self._forward_log_det_jacobian(x)
        if hasattr(self, "_inverse_log_det_jacobian"):
            return -self._inverse_log_det_jacobian(self.forward(x))
        raise NotImplementedError("Neither _forward_log_det_jacobian nor _inverse_log_det_jacobianis implemented. One of them is "
                                  "required.")

    def inverse_log_det_jacobian(self, y):
        self._checked(y, "y", self._codomain)
        if hasattr(self, "_inverse_log_det_jacobian"):
            return self._inverse_log_det_jacobian(y)
        if hasattr(self, "_forward_log_det_jacobian"):
            return -self._forward_log_det_jacobian(self._inverse(y))
        raise NotImplementedError("Neither _forward_log_det_jacobian nor _inverse_log_det_jacobian is implemented. One of them is "
                                  "required")

    @staticmethod
    def _sizes(shape):
        if not isinstance(shape, Sequence):
            raise TypeError("Expected shape is Sequence[int] type, but got %s." % type(shape))
        return shape

    def forward_shape(self, shape):
        return self._forward_shape(self._sizes(shape))

    def inverse_shape(self, shape):
        return self._inverse_shape(self._sizes(shape))

    def _forward(self, x):
        raise NotImplementedError("Forward not implemented")

    def _inverse(self, y):
        raise NotImplementedError("Inverse not implemented")

    def _forward_shape(self, shape):
        return shape

    def _inverse_shape(self, shape):
        return shape


class AbsTransform(Transform):
    """|x|; the inverse is a pair."""

    _type = Type.SURJECTION

    def _forward(self, x):
        return x.abs()

    def _inverse(self, y):
        return -y, y

    def _inverse_log_det_jacobian(self, y):
        zero = paddle.zeros([], dtype=y.dtype)
        return zero, zero


class AffineTransform(Transform):
    """loc + scale * x"""

    _type = Type.BIJECTION

    def __init__(self, loc, scale):
        for name, value in (("loc", loc), ("scale", scale)):
            if not isinstance(value, Value):
                raise TypeError("Expected '%s' is a Tensor, but got %s" % (name, type(value)))
        self.loc, self.scale = loc, scale

    def _forward(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def _forward_log_det_jacobian(self, x):
        return paddle.abs(self.scale).log()

    def _forward_shape(self, shape):
        shape = paddle.broadcast_shape(list(shape), list(self.loc.shape))
        return tuple(paddle.broadcast_shape(shape, list(self.scale.shape)))

    _inverse_shape = _forward_shape


class ExpTransform(Transform):
    _type = Type.BIJECTION

    def _forward(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def _forward_log_det_jacobian(self, x):
        return x


class PowerTransform(Transform):
    """x ** power"""

    _type = Type.BIJECTION

    def __init__(self, power):
        if not isinstance(power, Value):
            raise TypeError("Expected 'power' is a tensor, but got %s" % type(power))
        self.power = power

    def _forward(self, x):
        return x.pow(self.power)

    def _inverse(self, y):
        return y.pow(1 / self.power)

    def _forward_log_det_jacobian(self, x):
        return (self.power * x.pow(self.power - 1)).abs().log()

    def _forward_shape(self, shape):
        return tuple(paddle.broadcast_shape(list(shape), list(self.power.shape)))

    _inverse_shape = _forward_shape


class SigmoidTransform(Transform):
    def _forward(self, x):
        return F.sigmoid(x)

    def _inverse(self, y):
        return y.log() - (-y).log1p()

    def _forward_log_det_jacobian(self, x):
        return -F.softplus(-x) - F.softplus(x)


class TanhTransform(Transform):
    _type = Type.BIJECTION

    def _forward(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def _forward_log_det_jacobian(self, x):
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


class SoftmaxTransform(Transform):
    """Of the last dimension."""

    _type = Type.OTHER
    _domain = _codomain = _VECTOR

    def _forward(self, x):
        x = (x - x.max(-1, keepdim=True)[0]).exp()
        return x / x.sum(-1, keepdim=True)

    def _inverse(self, y):
        return y.log()

    def _forward_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("Expected length of shape is grater than 1, but got %d" % len(shape))
        return shape

    _inverse_shape = _forward_shape


class StickBreakingTransform(Transform):
    """n numbers to n + 1 shares of one."""

    _type = Type.BIJECTION
    _domain = _codomain = _VECTOR

    @staticmethod
    def _logs(count, dtype):
        """log(count), log(count - 1) ..: what makes equal shares of zeros."""
        return paddle.arange(count, 0, -1, dtype=dtype).log()

    def _forward(self, x):
        n, before = x.shape[-1], [0] * 2 * (len(x.shape) - 1)
        z = F.sigmoid(x - self._logs(n, x.dtype))
        return F.pad(z, before + [0, 1], value=1.0) * F.pad((1 - z).cumprod(-1), before + [1, 0], value=1.0)

    def _inverse(self, y):
        part = y[..., :-1]
        return part.log() - (1 - part.cumsum(-1)).log() + self._logs(part.shape[-1], y.dtype)

    def _forward_log_det_jacobian(self, x):
        y = self.forward(x)
        x = x - self._logs(x.shape[-1], x.dtype)
        return (-x + F.log_sigmoid(x) + y[..., :-1].log()).sum(-1)

    @staticmethod
    def _grown(shape, by):
        if not shape:
            raise ValueError("Expected 'shape' is not empty, but got %s" % (shape,))
        return tuple(shape[:-1]) + (shape[-1] + by,)

    def _forward_shape(self, shape):
        return self._grown(shape, 1)

    def _inverse_shape(self, shape):
        return self._grown(shape, -1)


class ReshapeTransform(Transform):
    """The last dimensions in another shape."""

    _type = Type.BIJECTION

    def __init__(self, in_event_shape, out_event_shape):
        for shape in (in_event_shape, out_event_shape):
            if not isinstance(shape, Sequence):
                raise TypeError("Expected type of 'in_event_shape' and 'out_event_shape' is Squence[int], but got "
                                "'in_event_shape': %s, 'out_event_shape': %s" % (in_event_shape, out_event_shape))
        sizes = math.prod(in_event_shape), math.prod(out_event_shape)
        if sizes[0] != sizes[1]:
            raise ValueError("The numel of 'in_event_shape' should be 'out_event_shape', but got %d!=%d" % sizes)
        self.in_event_shape, self.out_event_shape = tuple(in_event_shape), tuple(out_event_shape)
        self._domain, self._codomain = _Space(len(self.in_event_shape)), _Space(len(self.out_event_shape))

    def _forward(self, x):
        return x.reshape(list(x.shape[:len(x.shape) - len(self.in_event_shape)]) + list(self.out_event_shape))

    def _inverse(self, y):
        return y.reshape(list(y.shape[:len(y.shape) - len(self.out_event_shape)]) + list(self.in_event_shape))

    @staticmethod
    def _changed(shape, old, new):
        shape, cut = tuple(shape), len(shape) - len(old)
        if cut < 0:
            raise ValueError("Expected length of 'shape' is not less than %d, but got %d" % (len(old), len(shape)))
        if shape[cut:] != old:
            raise ValueError("Event shape mismatch, expected: %s, but got %s" % (old, shape[cut:]))
        return shape[:cut] + new

    def _forward_shape(self, shape):
        return self._changed(shape, self.in_event_shape, self.out_event_shape)

    def _inverse_shape(self, shape):
        return self._changed(shape, self.out_event_shape, self.in_event_shape)

    def _forward_log_det_jacobian(self, x):
        return paddle.zeros(list(x.shape[:len(x.shape) - len(self.in_event_shape)]), dtype=x.dtype)


class IndependentTransform(Transform):
    """Another transform whose last batch dimensions belong to the event: their log determinants are added up."""

    def __init__(self, base, reinterpreted_batch_rank):
        if not isinstance(base, Transform):
            raise TypeError("Expected 'base' is Transform type, but get %s" % type(base))
        if reinterpreted_batch_rank <= 0:
            raise ValueError("Expected 'reinterpreted_batch_rank' is grater than zero, but got %d" % reinterpreted_batch_rank)
        self._base, self._reinterpreted_batch_rank = base, reinterpreted_batch_rank
        self._domain = _Space(base._domain.event_rank + reinterpreted_batch_rank)
        self._codomain = _Space(base._codomain.event_rank + reinterpreted_batch_rank)

    def _is_injective(self):
        return self._base._is_injective()

    def _forward(self, x):
        return self._base.forward(x)

    def _inverse(self, y):
        return self._base.inverse(y)

    def _forward_log_det_jacobian(self, x):
        return sum_right(self._base.forward_log_det_jacobian(x), self._reinterpreted_batch_rank)

    def _forward_shape(self, shape):
        return self._base.forward_shape(shape)

    def _inverse_shape(self, shape):
        return self._base.inverse_shape(shape)


def _transforms(given, name):
    if not isinstance(given, Sequence):
        raise TypeError("Expected type of '%s' is Sequence[Transform] or Chain, but got %s." % (name, type(given)))
    if not all(isinstance(t, Transform) for t in given):
        raise TypeError("All element of transforms must be Transform type.")
    return given


class ChainTransform(Transform):
    """One after the other."""

    def __init__(self, transforms):
        self.transforms = _transforms(transforms, "transforms")

    def _is_injective(self):
        return all(t._is_injective() for t in self.transforms)

    def _forward(self, x):
        for t in self.transforms:
            x = t.forward(x)
        return x

    def _inverse(self, y):
        for t in reversed(self.transforms):
            y = t.inverse(y)
        return y

    def _forward_log_det_jacobian(self, x):
        value, rank = 0.0, self._domain.event_rank
        for t in self.transforms:
            value = value + sum_right(t.forward_log_det_jacobian(x), rank - t._domain.event_rank)
            x = t.forward(x)
            rank += t._codomain.event_rank - t._domain.event_rank
        return value

    def _forward_shape(self, shape):
        for t in self.transforms:
            shape = t.forward_shape(shape)
        return shape

    def _inverse_shape(self, shape):
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        return shape

    @property
    def _domain(self):
        rank = self.transforms[-1]._codomain.event_rank if self.transforms else 0
        for t in reversed(self.transforms):
            rank = max(rank - t._codomain.event_rank + t._domain.event_rank, t._domain.event_rank)
        return _Space(rank)

    @property
    def _codomain(self):
        rank = self.transforms[0]._domain.event_rank if self.transforms else 0
        for t in self.transforms:
            rank = max(rank - t._domain.event_rank + t._codomain.event_rank, t._codomain.event_rank)
        return _Space(rank)


class StackTransform(Transform):
    """A transform for each slice along an axis."""

    def __init__(self, transforms, axis=0):
        if not transforms:
            raise TypeError("Expected 'transforms' is Sequence[Transform], but got %s." % type(transforms))
        if not isinstance(axis, int):
            raise TypeError("Expected 'axis' is int, but got%s." % type(axis))
        self.transforms, self.axis = _transforms(transforms, "transforms"), axis

    def _is_injective(self):
        return all(t._is_injective() for t in self.transforms)

    def _each(self, value, method):
        rank = len(value.shape)
        if not -rank <= self.axis < rank:
            raise ValueError("Input dimensions %d should be grater than stack transform axis %d." % (rank, self.axis))
        if value.shape[self.axis] != len(self.transforms):
            raise ValueError("Input size along %d should be equal to the length of transforms." % self.axis)
        parts = paddle.unstack(value, self.axis)
        return paddle.stack([getattr(t, method)(v) for v, t in zip(parts, self.transforms)], self.axis)

    def _forward(self, x):
        return self._each(x, "forward")

    def _inverse(self, y):
        return self._each(y, "inverse")

    def _forward_log_det_jacobian(self, x):
        return self._each(x, "forward_log_det_jacobian")

    def _space(self, name):
        rank = max(getattr(t, name).event_rank for t in self.transforms)
        return _Space(rank + 1 if self.axis + rank < 0 else rank)

    @property
    def _domain(self):
        return self._space("_domain")

    @property
    def _codomain(self):
        return self._space("_codomain")


class TransformedDistribution(Distribution):
    """Draws of another distribution, transformed."""

    def __init__(self, base, transforms):
        if not isinstance(base, Distribution):
            raise TypeError("Expected type of 'base' is Distribution, but got %s." % type(base))
        self._base, self._transforms = base, _transforms(transforms, "transforms")
        shape = base.batch_shape + base.event_shape
        if not transforms:
            super().__init__(base.batch_shape, base.event_shape)
            return
        chain = ChainTransform(transforms)
        need = chain._domain.event_rank
        if len(shape) < need:
            raise ValueError("'base' needs to have shape with size at least %d, bug got %d." % (need, len(shape)))
        if need > len(base.event_shape):
            base = self._base = Independent(base, need - len(base.event_shape))
        made = tuple(chain.forward_shape(shape))
        cut = len(made) - chain._codomain.event_rank - max(len(base.event_shape) - need, 0)
        super().__init__(made[:cut], made[cut:])

    def _forward(self, x):
        for t in self._transforms:
            x = t.forward(x)
        return x

    def sample(self, shape=()):
        return self._forward(self._base.sample(shape))

    def rsample(self, shape=()):
        return self._forward(self._base.rsample(shape))

    def log_prob(self, value):
        out, rank = 0.0, len(self.event_shape)
        for t in reversed(self._transforms):
            x = t.inverse(value)
            rank += t._domain.event_rank - t._codomain.event_rank
            out = out - sum_right(t.forward_log_det_jacobian(x), rank - t._domain.event_rank)
            value = x
        return out + sum_right(self._base.log_prob(value), rank - len(self._base.event_shape))


__getattr__ = _names.guard(__name__)
