"""paddle: the names that PaddlePaddle's scripts import, on Skiff.

`paddle.fluid` is Fluid 1.8 (static programs). Nothing is loaded before it is asked for: a data generator process imports
little more than itself.
"""
from paddle import _names

__version__ = "1.8.5"
full_version = __version__

_WHERE = {
    "batch": "paddle.batch:batch",
}
_SUBMODULES = ("fluid", "reader", "dataset", "compat", "distributed", "version")

_names.install_finder()
__getattr__, __dir__ = _names.lazy(__name__, _WHERE, _SUBMODULES)
