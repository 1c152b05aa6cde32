"""paddle: the names that PaddlePaddle's scripts import, on Skiff.

`paddle.fluid` is Fluid 1.8, the rest is Paddle 2.x, in eager mode until paddle.enable_static(). Nothing is loaded before it is
asked for: a data generator process imports little more than itself.
"""
import sys

from paddle import _names, _v2, _which
from paddle.batch import batch

#: of Paddle's source; Skiff is none
__git_commit__ = "skiff"

_SUBMODULES = ("fluid", "reader", "dataset", "compat", "distributed", "version") + _v2.SUBMODULES

_names.install_finder()
_find, __dir__ = _names.lazy(__name__, _v2.WHERE, _SUBMODULES, 4)


def __getattr__(name):
    if name in ("__version__", "full_version"):
        return _which.version()
    if name == "fluid":
        _which.asked_for_fluid(sys._getframe(1))
    return _find(name)
