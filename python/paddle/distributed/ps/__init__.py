"""paddle.distributed.ps: what scripts reach for behind fleet."""
from paddle import _names

__getattr__, __dir__ = _names.lazy(__name__, {}, ("utils",))
