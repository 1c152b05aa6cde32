"""paddle.device.cuda: there is none."""
from paddle import _names


def device_count():
    return 0


def synchronize(device=None):
    raise RuntimeError("paddle.device.cuda.synchronize: Skiff has no CUDA")


def empty_cache():
    """Nothing to empty."""


__getattr__ = _names.guard(__name__)
