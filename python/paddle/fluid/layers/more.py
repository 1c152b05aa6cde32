"""Layers of 1.8 whose operators came with 2.x."""
from paddle._mode import switched

__all__ = ["log_softmax", "roll"]


def _appended(path, *args, **kwargs):
    """Appends what the function of 2.x would."""
    import importlib
    module, _, name = path.rpartition(".")
    with switched(False):
        return getattr(importlib.import_module(module), name)(*args, **kwargs)


def log_softmax(input, axis=None, dtype=None, name=None):
    """Logarithm of softmax."""
    return _appended("paddle.nn.functional.log_softmax", input, -1 if axis is None else axis, dtype)


def roll(input, shifts, dims=None):
    """Elements moved round."""
    return _appended("paddle.tensor.roll", input, shifts, dims)
