"""paddle.incubate.hapi.distributed (1.8)."""
from paddle import _names
from paddle.io import DistributedBatchSampler

__all__ = ["DistributedBatchSampler"]
__getattr__ = _names.guard(__name__)
