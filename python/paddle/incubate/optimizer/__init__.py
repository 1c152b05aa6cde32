"""paddle.incubate.optimizer: averages of weights around another optimizer, quasi-Newton steps, what programs have of fluid."""
from paddle import _names
from paddle.incubate.optimizer import functional
from paddle.incubate.optimizer.averages import LookAhead, ModelAverage
from paddle.incubate.optimizer.gradient_merge import GradientMergeOptimizer
from paddle.optimizer import LBFGS

_FLUID = {"LarsMomentumOptimizer": "paddle.fluid.optimizer", "RecomputeOptimizer": "paddle.fluid.optimizer"}
__getattr__, __dir__ = _names.lazy(__name__, _FLUID)
__all__ = ["GradientMergeOptimizer", "LBFGS", "LookAhead", "ModelAverage", "functional"]
