"""Skiff for Python: classifiers for tables, the commands on paths, and the native module under both.

Scripts written for PaddlePaddle import `paddle`, which stands on the native module, too. What needs numpy is imported when it
is first used.
"""
try:
    from skiff import _native
except ImportError as e:
    from skiff._missing import explained
    raise explained(e) from None

__version__ = _native.__version__
Trainer = _native.Trainer

_LAZY = {"Classifier": "_classifier", "init": "_paths", "train": "_paths", "infer": "_paths", "predict": "_paths", "load": None}
__all__ = ["Classifier", "Trainer", "init", "infer", "load", "predict", "train"]


def _load(folder):
    """The classifier that Classifier.save has written to a folder."""
    from skiff._classifier import Classifier

    return Classifier.load(folder)


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError("module 'skiff' has no attribute %r" % name)
    import importlib

    value = _load if name == "load" else getattr(importlib.import_module("skiff." + _LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(_LAZY))
