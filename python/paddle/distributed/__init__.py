"""paddle.distributed: launchers."""
from paddle import _names

__getattr__, __dir__ = _names.lazy(__name__, {}, ("launch", "launch_ps"))
