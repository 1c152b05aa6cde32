"""paddle: the names that PaddlePaddle's scripts import, on Skiff.

`paddle.fluid` is Fluid 1.8, the rest is Paddle 2.x in static mode (paddle.enable_static()). Nothing is loaded before it is
asked for: a data generator process imports little more than itself.
"""
from paddle import _names, _v2
from paddle.batch import batch

__version__ = "1.8.5"
full_version = __version__
#: of Paddle's source; Skiff is none
__git_commit__ = "skiff"

_SUBMODULES = ("fluid", "reader", "dataset", "compat", "distributed", "version") + _v2.SUBMODULES

_names.install_finder()
__getattr__, __dir__ = _names.lazy(__name__, _v2.WHERE, _SUBMODULES)
