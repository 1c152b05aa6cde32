"""Distributions: samples, densities, entropies and divergences as layers."""
import math

from paddle import _names
from paddle.fluid.framework import Variable
from paddle.fluid.layers import nn, ops, tensor

__all__ = ["Uniform", "Normal", "Categorical", "MultivariateNormalDiag"]


def _arguments(owner, **values):
    """(variables of one shape, whether all were variables, whether all were floats)"""
    import numpy as np
    for arg, value in values.items():
        if not isinstance(value, (float, list, np.ndarray, Variable)):
            raise TypeError("The type of '%s' in %s must be float, list, numpy.ndarray or Variable, but received %s." %
                            (arg, owner, type(value)))
    given = [isinstance(value, Variable) for value in values.values()]
    if all(given):
        return list(values.values()), True, False
    if any(given):
        raise ValueError("if one argument is Variable, all arguments should be Variable")
    arrays = [np.atleast_1d(np.asarray(value, "float32")) for value in values.values()]
    return [tensor.assign(np.ascontiguousarray(a)) for a in np.broadcast_arrays(*arrays)], False, \
        all(isinstance(value, float) for value in values.values())


class Distribution(object):
    """What the others have in common."""

    def sample(self):
        raise NotImplementedError("%s.sample" % type(self).__name__)

    def entropy(self):
        raise NotImplementedError("%s.entropy" % type(self).__name__)

    def kl_divergence(self, other):
        raise NotImplementedError("%s.kl_divergence" % type(self).__name__)

    def log_prob(self, value):
        raise NotImplementedError("%s.log_prob" % type(self).__name__)

    @staticmethod
    def _drawn(draw, shape, like, batch_unknown, is_scalar, scale, shift):
        """draw(shape, like) * scale + shift, of the given shape for each element of the parameters."""
        shape, batch = list(shape), list(like.shape)
        if batch_unknown:
            zero = tensor.fill_constant_batch_size_like(like, batch + shape, like.dtype, 0.0)
            return nn.reshape(draw(None, zero) * (zero + scale) + shift, shape + batch)
        out = draw(shape + batch, None) * (tensor.zeros(shape + batch, like.dtype) + scale) + shift
        return nn.reshape(out, shape) if is_scalar else out


class Uniform(Distribution):
    """Between low and high."""

    def __init__(self, low, high):
        (self.low, self.high), self.batch_size_unknown, self.all_arg_is_float = _arguments("Uniform", low=low, high=high)

    def sample(self, shape, seed=0):
        """Samples of the shape, for each pair of low and high."""

        def draw(sizes, like):
            if like is None:
                return ops.uniform_random(sizes, min=0.0, max=1.0, seed=seed)
            return ops.uniform_random(nn.shape(like), min=0.0, max=1.0, seed=seed)

        return self._drawn(draw, shape, self.low + self.high, self.batch_size_unknown, self.all_arg_is_float,
                           self.high - self.low, self.low)

    def log_prob(self, value):
        from paddle.fluid.layers.control_flow import less_than
        inside = tensor.cast(less_than(self.low, value), value.dtype) * tensor.cast(less_than(value, self.high), value.dtype)
        return nn.log(inside) - nn.log(self.high - self.low)

    def entropy(self):
        return nn.log(self.high - self.low)


class Normal(Distribution):
    """With mean loc and standard deviation scale."""

    def __init__(self, loc, scale):
        (self.loc, self.scale), self.batch_size_unknown, self.all_arg_is_float = _arguments("Normal", loc=loc, scale=scale)

    def sample(self, shape, seed=0):
        """Samples of the shape, for each pair of loc and scale."""

        def draw(sizes, like):
            return nn.gaussian_random(sizes if like is None else nn.shape(like), mean=0.0, std=1.0, seed=seed)

        return self._drawn(draw, shape, self.loc + self.scale, self.batch_size_unknown, self.all_arg_is_float, self.scale,
                           self.loc)

    def entropy(self):
        both = self.loc + self.scale
        zero = tensor.fill_constant_batch_size_like(both, list(both.shape), self.loc.dtype, 0.0)
        return nn.log(self.scale + zero) + (0.5 + 0.5 * math.log(2 * math.pi))

    def log_prob(self, value):
        apart = value - self.loc
        return -1.0 * (apart * apart) / (2.0 * (self.scale * self.scale)) - nn.log(self.scale) - \
            math.log(math.sqrt(2.0 * math.pi))

    def kl_divergence(self, other):
        if not isinstance(other, Normal):
            raise TypeError("The type of 'other' in kl_divergence must be Normal, but received %s." % type(other))
        ratio, shift = self.scale / other.scale, (self.loc - other.loc) / other.scale
        squared = ratio * ratio
        return 0.5 * (squared + shift * shift - 1.0 - nn.log(squared))


class Categorical(Distribution):
    """Classes with the probabilities softmax(logits)."""

    def __init__(self, logits):
        (self.logits,), _, _ = _arguments("Categorical", logits=logits)

    def _parts(self):
        """(logits less their largest, sum of the exponentials, probabilities)"""
        logits = self.logits - nn.reduce_max(self.logits, dim=-1, keep_dim=True)
        powers = ops.exp(logits)
        total = nn.reduce_sum(powers, dim=-1, keep_dim=True)
        return logits, total, powers / total

    def kl_divergence(self, other):
        if not isinstance(other, Categorical):
            raise TypeError("The type of 'other' in kl_divergence must be Categorical, but received %s." % type(other))
        logits, total, chances = self._parts()
        theirs, their_total, _ = other._parts()
        return nn.reduce_sum(chances * (logits - nn.log(total) - theirs + nn.log(their_total)), dim=-1, keep_dim=True)

    def entropy(self):
        logits, total, chances = self._parts()
        return -1.0 * nn.reduce_sum(chances * (logits - nn.log(total)), dim=-1, keep_dim=True)


class MultivariateNormalDiag(Distribution):
    """Many dimensions; scale is a diagonal matrix, the covariance."""

    def __init__(self, loc, scale):
        import numpy as np
        if isinstance(loc, Variable) != isinstance(scale, Variable):
            raise ValueError("if one argument is Variable, all arguments should be Variable")
        if not isinstance(loc, Variable):
            loc, scale = (tensor.assign(np.asarray(value, "float32")) for value in (loc, scale))
        self.loc, self.scale = loc, scale

    def _ones(self, value):
        """(1 everywhere, 1 on the diagonal)"""
        import numpy as np
        n = value.shape[0]
        return tensor.assign(np.ones((n, n), "float32")), tensor.assign(np.eye(n, dtype="float32"))

    def _det(self, value):
        full, diagonal = self._ones(value)
        return nn.reduce_prod(value + full - diagonal)

    def _inv(self, value):
        full, diagonal = self._ones(value)
        return nn.elementwise_pow(value, full - 2 * diagonal)

    def entropy(self):
        return 0.5 * (self.scale.shape[0] * (1.0 + math.log(2 * math.pi)) + nn.log(self._det(self.scale)))

    def kl_divergence(self, other):
        if not isinstance(other, MultivariateNormalDiag):
            raise TypeError("The type of 'other' in kl_divergence must be MultivariateNormalDiag, but received %s." %
                            type(other))
        inverse, apart = self._inv(other.scale), other.loc - self.loc
        trace = nn.reduce_sum(inverse * self.scale)
        square = nn.matmul(nn.matmul(apart, inverse), apart)
        return 0.5 * (trace + square - list(self.scale.shape)[0] + nn.log(self._det(other.scale)) -
                      nn.log(self._det(self.scale)))


__getattr__ = _names.guard(__name__)
