"""Comparisons and truth values."""
from paddle import _names
from paddle._op import Value, declared

globals().update(declared(__name__))


def is_tensor(x):
    """Whether x is a Variable."""
    return isinstance(x, Value)


__getattr__ = _names.guard(__name__)
