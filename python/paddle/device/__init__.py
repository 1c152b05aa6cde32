"""paddle.device: the CPU."""
from paddle import _names
from paddle.device import cuda  # noqa: F401
from paddle.fluid import core

_device = "cpu"


def set_device(device):
    """Only "cpu"; gives its place."""
    if not isinstance(device, str):
        raise TypeError("set_device: a str such as 'cpu' is needed, but received %s" % type(device))
    if device != "cpu":
        raise ValueError("paddle.set_device(%r): Skiff computes on the CPU; use 'cpu' (PaddleRec: runner.use_gpu: False)" %
                         device)
    return core.CPUPlace()


def get_device():
    return _device


def get_all_device_type():
    return ["cpu"]


get_available_device = get_all_device_type


def get_all_custom_device_type():
    return []


def is_compiled_with_cuda():
    return False


def is_compiled_with_rocm():
    return False


def is_compiled_with_ipu():
    return False


def get_available_custom_device():
    return []


def is_compiled_with_xpu():
    return False


def is_compiled_with_npu():
    return False


def is_compiled_with_cinn():
    return False


def is_compiled_with_distribute():
    return True


def is_compiled_with_custom_device(device_type):
    return False


def get_cudnn_version():
    return None


__getattr__ = _names.guard(__name__)
