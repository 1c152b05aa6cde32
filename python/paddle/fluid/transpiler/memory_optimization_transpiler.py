"""fluid.memory_optimize: kept for old scripts; as in Paddle 1.8 it only warns."""
import warnings

from paddle import _names

__all__ = ["memory_optimize", "release_memory"]


def memory_optimize(input_program, skip_opt_set=None, print_log=False, level=0, skip_grads=True):
    """Does nothing: variables of a run share one planned piece of memory anyway."""
    warnings.warn("Caution! paddle.fluid.memory_optimize() is deprecated and not maintained any more, since it is not stable! "
                  "Skiff plans the memory of every program by itself; the call changes nothing.")


def release_memory(input_program, skip_opt_set=None):
    """Does nothing."""
    warnings.warn("paddle.fluid.release_memory() is deprecated, it would not take any memory release.")


__getattr__ = _names.guard(__name__)
