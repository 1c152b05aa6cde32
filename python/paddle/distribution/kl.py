"""kl_divergence of two distributions, by their classes."""
import warnings

from paddle import _names
from paddle.distribution.base import Distribution, ExponentialFamily, sum_right
from paddle.distribution.continuous import Cauchy, Laplace, LogNormal, Normal, Uniform
from paddle.distribution.discrete import Bernoulli, Categorical, Geometric
from paddle.distribution.simplex import Beta, Dirichlet

_REGISTER_TABLE = {}


def register_kl(cls_p, cls_q):
    """A decorator: the function computes kl_divergence(p, q) of these classes and of those derived from them."""
    if not issubclass(cls_p, Distribution) or not issubclass(cls_q, Distribution):
        raise TypeError("cls_p and cls_q must be subclass of Distribution")

    def decorator(function):
        _REGISTER_TABLE[cls_p, cls_q] = function
        return function

    return decorator


def _nearest(cls_p, cls_q, first, second):
    """The pair of the table that is nearest: `first` of its classes counts before `second`."""
    pairs = [pair for pair in _REGISTER_TABLE if issubclass(cls_p, pair[0]) and issubclass(cls_q, pair[1])]
    if not pairs:
        raise NotImplementedError("kl_divergence(%s, %s): register_kl has no function for them" %
                                  (cls_p.__name__, cls_q.__name__))
    lines = cls_p.__mro__, cls_q.__mro__
    return min(pairs, key=lambda pair: (lines[first].index(pair[first]), lines[second].index(pair[second])))


def kl_divergence(p, q):
    """The Kullback-Leibler divergence of p from q."""
    left, right = _nearest(type(p), type(q), 0, 1), _nearest(type(p), type(q), 1, 0)
    if _REGISTER_TABLE[left] is not _REGISTER_TABLE[right]:
        warnings.warn("Ambiguous kl_divergence(%s, %s). Please register_kl(%s, %s)" %
                      (type(p).__name__, type(q).__name__, left[0].__name__, right[1].__name__), RuntimeWarning)
    return _REGISTER_TABLE[left](p, q)


for _class in (Bernoulli, Categorical, Cauchy, Normal, Uniform, Laplace, Geometric, LogNormal):
    register_kl(_class, _class)(lambda p, q: p.kl_divergence(q))


@register_kl(Beta, Beta)
def _beta(p, q):
    both, other = p.alpha + p.beta, q.alpha + q.beta
    return (q.alpha.lgamma() + q.beta.lgamma() + both.lgamma()) - (p.alpha.lgamma() + p.beta.lgamma() + other.lgamma()) + \
        (p.alpha - q.alpha) * p.alpha.digamma() + (p.beta - q.beta) * p.beta.digamma() + (other - both) * both.digamma()


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    a, b = p.concentration, q.concentration
    return a.sum(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1) + \
        ((a - b) * (a.digamma() - a.sum(-1).digamma().unsqueeze(-1))).sum(-1)


@register_kl(ExponentialFamily, ExponentialFamily)
def _family(p, q):
    """Of one family: the Bregman divergence of the logarithm of its sum."""
    if type(p) is not type(q):
        raise NotImplementedError("kl_divergence(%s, %s): two families" % (type(p).__name__, type(q).__name__))
    leaves, others = p._leaves(), q._natural_parameters
    norm = p._log_normalizer(*leaves)
    try:
        grads = p._gradients(norm, leaves)
    except RuntimeError as error:
        raise TypeError("Cann't compute kl_divergence(%s, %s) use bregman divergence. Please register_kl(%s, %s)." %
                        ((type(p).__name__, type(q).__name__) * 2)) from error
    out = q._log_normalizer(*others) - norm
    for leaf, other, grad in zip(leaves, others, grads):
        out = out - sum_right((other - leaf) * grad, len(q.event_shape))
    return out


__all__ = ["kl_divergence", "register_kl"]
__getattr__ = _names.guard(__name__)
