"""The mode of functions of 2.x. Paddle 2 starts in eager mode; paddle.enable_static() ends it."""
from skiff import _native

#: `eager`: functions run at once and give Tensors; otherwise they append to programs and give Variables.
#: `trace`: the trace that records the ops of a function of eager mode (paddle.jit), or None.
#: `guard`: whether functions of fluid run at once too (fluid.dygraph.guard).
#: `dtype`: paddle.set_default_dtype; None: float32.
mode = _native.Mode()


class switched(object):
    """with switched(eager): ... - the mode during a block (tracing, fluid.dygraph.guard)."""

    __slots__ = ("_eager", "_before")

    def __init__(self, eager):
        self._eager = eager

    def __enter__(self):
        self._before, mode.eager = mode.eager, self._eager

    def __exit__(self, *_):
        mode.eager = self._before
