"""paddle.incubate.hapi (1.8): what became paddle.Model and paddle.io."""
from paddle import _names

__getattr__, __dir__ = _names.lazy(__name__, {}, ("distributed",))
