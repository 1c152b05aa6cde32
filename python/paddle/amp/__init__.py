"""paddle.amp on CPUs: scripts written for mixed precision run, in float32, as with Paddle's CPU build."""
import warnings

from paddle import _names
from paddle.amp.grad_scaler import AmpScaler, GradScaler, OptimizerState  # noqa: F401

_warned = set()


def _warn(text):
    """Once per text."""
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text)


class auto_cast(object):
    """with paddle.amp.auto_cast(): ... - float32 as before, after a warning."""

    def __init__(self, enable=True, custom_white_list=None, custom_black_list=None, level="O1", dtype="float16",
                 use_promote=True):
        if level not in ("O0", "OD", "O1", "O2"):
            raise ValueError("level should be O0, OD, O1 or O2.")
        if dtype not in ("float16", "bfloat16"):
            raise ValueError("If enable amp, dtype should be 'float16' or 'bfloat16'.")
        both = set(custom_white_list or ()) & set(custom_black_list or ())
        if both:
            raise ValueError("Custom white list overlap custom black list: %s" % ", ".join(sorted(both)))
        if enable and level != "O0":
            _warn("amp.auto_cast: everything is computed in float32 on this machine's CPUs, as without it")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def __call__(self, function):
        return function


amp_guard = auto_cast


def decorate(models, optimizers=None, level="O1", dtype="float16", master_weight=None, save_dtype=None, master_grad=False,
             excluded_layers=None):
    """The models and optimizers as they are."""
    if level not in ("O1", "O2"):
        raise ValueError("level should be O1 or O2, O1 represent AMP train mode, O2 represent Pure fp16 train mode.")
    if save_dtype is not None and save_dtype not in ("float16", "bfloat16", "float32", "float64"):
        raise ValueError("save_dtype can only be float16 float32 or float64, but your input save_dtype is %s." % save_dtype)
    if level == "O2":
        _warn("amp.decorate: parameters stay in float32 on this machine's CPUs")
    return models if optimizers is None else (models, optimizers)


amp_decorate = decorate


def is_float16_supported(device=None):
    """False: kernels for float16 are for GPUs."""
    return False


def is_bfloat16_supported(device=None):
    """False: what is computed is float32."""
    return False


__getattr__, __dir__ = _names.lazy(__name__, {}, ("debugging",))
