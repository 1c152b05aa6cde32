"""Dirichlet and Beta."""
import numbers

import paddle
from paddle.distribution.base import ExponentialFamily, without_gradient


def _drawn(concentration):
    """Draws of a Dirichlet: gammas over their sum. paddle.seed decides them; they are not Paddle's."""
    import numpy
    if not paddle.in_dynamic_mode():
        raise NotImplementedError("Dirichlet.sample and Beta.sample are for eager mode: there is no op for them in programs")
    seed = int(paddle.randint(0, 2 ** 31 - 1, [1]))
    values = concentration.numpy()
    gammas = numpy.random.default_rng(seed).standard_gamma(values.astype("float64"))
    gammas = numpy.maximum(gammas, numpy.finfo("float64").tiny)
    return paddle.to_tensor((gammas / gammas.sum(-1, keepdims=True)).astype(values.dtype))


class Dirichlet(ExponentialFamily):
    def __init__(self, concentration):
        if len(concentration.shape) < 1:
            raise ValueError("`concentration` parameter must be at least one dimensional")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:])

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def variance(self):
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    @without_gradient
    def sample(self, shape=()):
        return _drawn(self.concentration.expand(list(self._extend_shape(shape))))

    def log_prob(self, value):
        c = self.concentration
        return (paddle.log(value) * (c - 1.0)).sum(-1) + paddle.lgamma(c.sum(-1)) - paddle.lgamma(c).sum(-1)

    def entropy(self):
        c, total = self.concentration, self.concentration.sum(-1)
        return paddle.lgamma(c).sum(-1) - paddle.lgamma(total) - (c.shape[-1] - total) * paddle.digamma(total) - \
            ((c - 1.0) * paddle.digamma(c)).sum(-1)

    @property
    def _natural_parameters(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return paddle.lgamma(x).sum(-1) - paddle.lgamma(x.sum(-1))


class Beta(ExponentialFamily):
    def __init__(self, alpha, beta):
        alpha, beta = [paddle.full([], float(v), paddle.get_default_dtype()) if isinstance(v, numbers.Real) else v
                       for v in (alpha, beta)]
        self.alpha, self.beta = paddle.broadcast_tensors([alpha, beta])
        self._dirichlet = Dirichlet(paddle.stack([self.alpha, self.beta], -1))
        super().__init__(self._dirichlet._batch_shape)

    @property
    def mean(self):
        return self.alpha / (self.alpha + self.beta)

    @property
    def variance(self):
        total = self.alpha + self.beta
        return self.alpha * self.beta / (total.pow(2) * (total + 1))

    def log_prob(self, value):
        return self._dirichlet.log_prob(paddle.stack([value, 1.0 - value], -1))

    def sample(self, shape=()):
        out = self._dirichlet.sample(shape)[..., 0]
        return paddle.squeeze(out, axis=-1) if out.shape and out.shape[-1] == 1 else out  # as Paddle 2.6.2 does

    def entropy(self):
        return self._dirichlet.entropy()

    @property
    def _natural_parameters(self):
        return self.alpha, self.beta

    def _log_normalizer(self, x, y):
        return paddle.lgamma(x) + paddle.lgamma(y) - paddle.lgamma(x + y)
