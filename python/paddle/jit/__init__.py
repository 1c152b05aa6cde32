"""paddle.jit: functions and layers as programs, by tracing; branches and loops over tensors by rewriting functions first."""
from paddle import _names
from paddle.jit.files import TranslatedLayer, load, save  # noqa: F401
from paddle.jit.function import StaticFunction, enable_to_static, ignore_module, not_to_static, to_static  # noqa: F401


def set_code_level(level=100, also_to_stdout=False):
    """Accepted: StaticFunction.code has the rewritten code."""


def set_verbosity(level=0, also_to_stdout=False):
    """Accepted without effect: tracing logs nothing."""


__getattr__ = _names.guard(__name__)
