"""fluid.regularizer: weight decay, added to gradients on the way to the optimizer."""
from paddle import _names

__all__ = ["L1Decay", "L2Decay", "L1DecayRegularizer", "L2DecayRegularizer"]


class WeightDecayRegularizer(object):
    _spec = None


class L2DecayRegularizer(WeightDecayRegularizer):
    """gradient += coeff * parameter"""

    def __init__(self, regularization_coeff=0.0):
        if regularization_coeff is None:
            raise AssertionError("L2Decay: the coefficient is None")
        self._regularization_coeff = regularization_coeff
        self._spec = ("l2", {"coeff": float(regularization_coeff)})

    def __str__(self):
        return "L2Decay, regularization_coeff=%f" % self._regularization_coeff


class L1DecayRegularizer(WeightDecayRegularizer):
    """gradient += coeff * sign(parameter)"""

    def __init__(self, regularization_coeff=0.0):
        if regularization_coeff is None:
            raise AssertionError("L1Decay: the coefficient is None")
        self._regularization_coeff = regularization_coeff
        self._spec = ("l1", {"coeff": float(regularization_coeff)})

    def __str__(self):
        return "L1Decay, regularization_coeff=%f" % self._regularization_coeff


L1Decay = L1DecayRegularizer
L2Decay = L2DecayRegularizer
__getattr__ = _names.guard(__name__)
