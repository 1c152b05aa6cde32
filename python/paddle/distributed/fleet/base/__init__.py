"""paddle.distributed.fleet.base"""
from paddle import _names

__getattr__, __dir__ = _names.lazy(__name__, {}, ("role_maker", "distributed_strategy"))
