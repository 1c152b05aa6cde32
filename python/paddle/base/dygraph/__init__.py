"""paddle.base.dygraph: eager mode under the names that 2.6 keeps from fluid."""
from paddle import _names
from paddle.base.dygraph import base
from paddle.base.dygraph.base import (disable_dygraph, disable_imperative, enable_dygraph, enable_imperative, enabled, grad, guard,
                                      no_grad, to_variable)

__all__ = ["base", "disable_dygraph", "disable_imperative", "enable_dygraph", "enable_imperative", "enabled", "grad", "guard",
           "no_grad", "to_variable"]
__getattr__ = _names.guard(__name__)
