"""paddle.static.amp.bf16: the same for bfloat16."""
from contextlib import contextmanager

from paddle import _names


class AutoMixedPrecisionListsBF16(object):
    """Which operators may be computed in bfloat16. Nothing follows from it here."""

    def __init__(self, custom_bf16_list=None, custom_fp32_list=None, custom_fp32_varnames=None):
        self.bf16_list, self.fp32_list = set(custom_bf16_list or ()), set(custom_fp32_list or ())
        if self.bf16_list & self.fp32_list:
            raise ValueError("Custom bf16 list overlap custom fp32 list")
        self.fp32_varnames = custom_fp32_varnames


def decorate_bf16(optimizer, amp_lists=None, use_pure_bf16=False, use_bf16_guard=None):
    """The optimizer with the methods that scripts for mixed precision call."""
    from paddle.static.amp import OptimizerWithMixedPrecision
    return OptimizerWithMixedPrecision(optimizer, 1.0)


@contextmanager
def bf16_guard():
    """What may be computed in bfloat16."""
    yield


def rewrite_program_bf16(main_prog, amp_lists=None):
    """The program stays as it is."""


def cast_model_to_bf16(program, startup_prog=None, amp_lists=None, use_bf16_guard=True):
    """The program stays as it is."""
    return set()


def cast_parameters_to_bf16(place, program, scope=None, to_bf16_var_names=None):
    """Parameters stay as they are."""


__getattr__ = _names.guard(__name__)
