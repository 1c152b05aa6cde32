"""paddle.incubate.distributed"""
from paddle import _names

__getattr__, __dir__ = _names.lazy(__name__, {}, ("fleet",))
