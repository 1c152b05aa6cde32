"""Which mode functions of 2.x work in. Eager is Paddle 2's own start; paddle.enable_static() ends it."""


class _Mode(object):
    """`eager`: functions run at once and give Tensors; otherwise they append to programs and give Variables.
    `trace`: who writes down what a function of eager mode does (paddle.jit), or None.
    `guard`: whether functions of fluid run at once too (fluid.dygraph.guard)."""

    __slots__ = ("eager", "trace", "guard")

    def __init__(self):
        self.eager = True
        self.trace = None
        self.guard = False


mode = _Mode()


class switched(object):
    """with switched(eager): ... - the mode during a block (tracing, fluid.dygraph.guard)."""

    __slots__ = ("_eager", "_before")

    def __init__(self, eager):
        self._eager = eager

    def __enter__(self):
        self._before, mode.eager = mode.eager, self._eager

    def __exit__(self, *_):
        mode.eager = self._before
