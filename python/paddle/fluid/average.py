"""fluid.average.WeightedAverage (since 1.x: use fluid.metrics)."""
import warnings

from paddle import _names

__all__ = ["WeightedAverage"]


class WeightedAverage(object):
    def __init__(self):
        warnings.warn("The %s is deprecated, please use fluid.metrics.Accuracy instead." % self.__class__.__name__, Warning)
        self.reset()

    def reset(self):
        self.numerator = self.denominator = None

    def add(self, value, weight):
        if not isinstance(value, (int, float)) and not hasattr(value, "dtype"):
            raise ValueError("The 'value' must be a number(int, float) or a numpy ndarray.")
        if not isinstance(weight, (int, float)) and getattr(weight, "size", 0) != 1:
            raise ValueError("The 'weight' must be a number(int, float).")
        if self.numerator is None or self.denominator is None:
            self.numerator, self.denominator = value * weight, weight
        else:
            self.numerator += value * weight
            self.denominator += weight

    def eval(self):
        if self.numerator is None or self.denominator is None:
            raise ValueError("There is no data to be averaged in WeightedAverage.")
        return self.numerator / self.denominator


__getattr__ = _names.guard(__name__)
