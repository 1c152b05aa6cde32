"""What a classifier inherits: scikit-learn's own classes where it is installed, otherwise parameters alone."""
import inspect

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.exceptions import DataConversionWarning, NotFittedError
except ImportError:

    class NotFittedError(ValueError, AttributeError):
        """predict before fit."""

    class DataConversionWarning(UserWarning):
        """y had two dimensions."""

    class BaseEstimator:
        """get_params and set_params, as scikit-learn has them."""

        @classmethod
        def _names(cls):
            return sorted(p for p in inspect.signature(cls.__init__).parameters if p != "self")

        def get_params(self, deep=True):
            return {name: getattr(self, name) for name in self._names()}

        def set_params(self, **params):
            for name, value in params.items():
                if name not in self._names():
                    raise ValueError("Invalid parameter %r for estimator %s. Valid parameters are: %r." % (name, self, self._names()))
                setattr(self, name, value)
            return self

        def __repr__(self):
            defaults = {n: p.default for n, p in inspect.signature(type(self).__init__).parameters.items()}
            changed = ["%s=%r" % (n, v) for n, v in self.get_params().items() if v != defaults[n]]
            return "%s(%s)" % (type(self).__name__, ", ".join(changed))

    class ClassifierMixin:
        """score: the share of rows whose class is right."""

        _estimator_type = "classifier"

        def score(self, X, y, sample_weight=None):
            import numpy as np

            return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))
