"""paddle.distribution: distributions, their transforms and divergences. In eager mode and in programs."""
from paddle import _names
from paddle.distribution import transform  # noqa: F401
from paddle.distribution.base import Distribution, ExponentialFamily, Independent  # noqa: F401
from paddle.distribution.continuous import Cauchy, Gumbel, Laplace, LogNormal, Normal, Uniform  # noqa: F401
from paddle.distribution.discrete import Bernoulli, Categorical, Geometric, Multinomial  # noqa: F401
from paddle.distribution.kl import kl_divergence, register_kl  # noqa: F401
from paddle.distribution.simplex import Beta, Dirichlet  # noqa: F401
from paddle.distribution.transform import *  # noqa: F401,F403
from paddle.distribution.transform import TransformedDistribution  # noqa: F401

__getattr__ = _names.guard(__name__)
