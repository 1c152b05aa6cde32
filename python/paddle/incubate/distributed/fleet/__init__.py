"""paddle.incubate.distributed.fleet: helpers of scripts that train day by day."""
from paddle import _names

__getattr__, __dir__ = _names.lazy(__name__, {}, ("fleet_util",))
