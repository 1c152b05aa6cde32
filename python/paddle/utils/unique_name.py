"""paddle.utils.unique_name: fluid's."""
from paddle import _names
from paddle.fluid.unique_name import generate, guard, switch  # noqa: F401

__all__ = ["generate", "guard", "switch"]
__getattr__ = _names.guard(__name__)
