"""paddle.hapi: Model, its callbacks, summary."""
from paddle import _names
from paddle.hapi import callbacks  # noqa: F401
from paddle.hapi.model import Model  # noqa: F401
from paddle.hapi.summary import summary  # noqa: F401


def flops(net, input_size, custom_ops=None, print_detail=False):
    raise NotImplementedError("paddle.flops: Skiff does not count operations; paddle.summary counts parameters")


__getattr__ = _names.guard(__name__)
