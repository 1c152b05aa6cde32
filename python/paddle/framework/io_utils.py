"""Which variables of a program are saved."""
from paddle import _names
from paddle.fluid.framework import Parameter, Variable  # noqa: F401
from paddle.fluid.io import is_belong_to_optimizer, is_parameter, is_persistable  # noqa: F401

__getattr__ = _names.guard(__name__)
