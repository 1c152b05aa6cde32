"""paddle.base.framework: fluid's, and the names of dynamic graphs."""
from paddle._tensor import Parameter as EagerParamBase  # noqa: F401
from paddle.fluid import framework as _fluid
from paddle.framework import in_dynamic_mode as in_dygraph_mode  # noqa: F401
from paddle.framework import in_dynamic_mode  # noqa: F401


def __getattr__(name):
    return getattr(_fluid, name)


def __dir__():
    return sorted(set(dir(_fluid)) | set(globals()))
