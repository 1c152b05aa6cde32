"""paddle.static.amp: names for mixed precision; programs stay in float32 on CPUs, so numbers are those without it."""
from contextlib import contextmanager

from paddle import _names
from paddle.static.amp import bf16  # noqa: F401


class AutoMixedPrecisionLists(object):
    """Which operators may be computed in half precision, which not. Nothing follows from it here."""

    def __init__(self, custom_white_list=None, custom_black_list=None, custom_black_varnames=None, dtype="float16"):
        self._white, self._black = set(custom_white_list or ()), set(custom_black_list or ())
        if self._white & self._black:
            raise ValueError("Custom white list overlap custom black list: %s" % ", ".join(sorted(self._white & self._black)))
        self.white_list, self.black_list, self.amp_dtype = self._white, self._black, dtype
        self.black_varnames = set(custom_black_varnames or ())


CustomOpLists = AutoMixedPrecisionLists


class OptimizerWithMixedPrecision(object):
    """The optimizer it was given; the loss is not scaled."""

    def __init__(self, optimizer, init_loss_scaling):
        self._optimizer, self._scale = optimizer, float(init_loss_scaling)

    def amp_init(self, place, scope=None, test_program=None, use_fp16_test=False, rewrite_master_weight=False):
        """Parameters stay in float32."""

    def get_loss_scaling(self):
        return self._scale

    def get_scaled_loss(self):
        return None

    def __getattr__(self, name):
        return getattr(self._optimizer, name)


def decorate(optimizer, amp_lists=None, init_loss_scaling=2**15, incr_every_n_steps=1000, decr_every_n_nan_or_inf=2,
             incr_ratio=2.0, decr_ratio=0.8, use_dynamic_loss_scaling=True, use_pure_fp16=False, use_fp16_guard=None,
             use_bf16=False, use_promote=False, level="O1", dtype="float16", master_weight=None, master_grad=False):
    """The optimizer with the methods that scripts for mixed precision call."""
    return OptimizerWithMixedPrecision(optimizer, 1.0)


@contextmanager
def fp16_guard():
    """What may be computed in half precision."""
    yield


def cast_model_to_fp16(program, amp_lists=None, use_fp16_guard=True, *args, **kwargs):
    """The program stays as it is."""
    return set()


def cast_parameters_to_fp16(place, program, scope=None, to_fp16_var_names=None, *args, **kwargs):
    """Parameters stay as they are."""


__getattr__ = _names.guard(__name__)
