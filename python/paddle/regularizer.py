"""paddle.regularizer: decay of weights."""
from paddle import _names


class WeightDecayRegularizer(object):
    """Base of the regularizers."""


class L1Decay(WeightDecayRegularizer):
    """coeff * sign(weight) is added to the gradient."""

    def __init__(self, coeff=0.0):
        self._coeff = self._regularization_coeff = coeff
        self._spec = ("l1", {"coeff": float(coeff)})

    def __str__(self):
        return "L1Decay, coeff=%f" % self._coeff


class L2Decay(WeightDecayRegularizer):
    """coeff * weight is added to the gradient."""

    def __init__(self, coeff=0.0):
        self._coeff = self._regularization_coeff = coeff
        self._spec = ("l2", {"coeff": float(coeff)})

    def __str__(self):
        return "L2Decay, coeff=%f" % self._coeff


__getattr__ = _names.guard(__name__)
