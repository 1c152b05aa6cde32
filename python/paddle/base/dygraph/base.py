"""paddle.base.dygraph.base: guard and to_variable."""
import contextlib

from paddle import _names
from paddle.autograd import grad
from paddle.framework import disable_static, enable_static, in_dynamic_mode, no_grad
from paddle.tensor.creation import to_tensor


@contextlib.contextmanager
def guard(place=None):
    """Inside it functions run at once."""
    was_static = not in_dynamic_mode()
    disable_static(place)
    try:
        yield
    finally:
        if was_static:
            enable_static()


def enabled():
    """Whether functions run at once."""
    return in_dynamic_mode()


def enable_dygraph(place=None):
    """Functions run at once from here on."""
    disable_static(place)


def disable_dygraph():
    """Functions are appended to programs from here on."""
    enable_static()


enable_imperative, disable_imperative = enable_dygraph, disable_dygraph


def to_variable(value, name=None, zero_copy=None, dtype=None):
    """A tensor of an array, list or number."""
    return to_tensor(value, dtype=dtype)


__all__ = ["disable_dygraph", "disable_imperative", "enable_dygraph", "enable_imperative", "enabled", "grad", "guard", "no_grad",
           "to_variable"]
__getattr__ = _names.guard(__name__)
