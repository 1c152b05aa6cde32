"""paddle.distributed.ps.utils"""
from paddle import _names

__getattr__, __dir__ = _names.lazy(__name__, {}, ("public",))
