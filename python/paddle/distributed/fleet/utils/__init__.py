"""paddle.distributed.fleet.utils"""
from paddle import _names

_WHERE = {word: "paddle.distributed.fleet.utils.fs" for word in ("LocalFS", "HDFSClient")}
__getattr__, __dir__ = _names.lazy(__name__, _WHERE, ("fs",))
