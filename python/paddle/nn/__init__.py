"""paddle.nn: layers, in programs."""
from paddle import _names
from paddle.nn import functional, initializer, layer, utils  # noqa: F401
from paddle.nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue  # noqa: F401

from paddle.nn import utils  # noqa: F401
from paddle.nn.layer import loss  # noqa: F401

for _classes in layer.LAYERS.values():
    for _name in _classes.split():
        globals()[_name] = getattr(layer, _name)

__getattr__ = _names.guard(__name__)
