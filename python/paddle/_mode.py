"""Which mode functions of 2.x work in. Eager is Paddle 2's own start; paddle.enable_static() ends it."""


class _Mode(object):
    """`eager`: functions run at once and give Tensors; otherwise they append to programs and give Variables."""

    __slots__ = ("eager",)

    def __init__(self):
        self.eager = True


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
