"""fluid.dygraph.Layer."""
from skiff import _native

from paddle import _names
from paddle._mode import mode, switched
from paddle.fluid.initializer import Constant, Xavier
from paddle.nn.layer.layers import Layer as _Layer


class Layer(_Layer):
    """Base of layers: outside of a guard, calling one appends to the program."""

    def __init__(self, name_scope=None, dtype="float32"):
        from paddle.fluid.framework import dtype_name
        super().__init__(name_scope, dtype_name(dtype))

    def __call__(self, *inputs, **kwargs):
        if mode.guard or mode.trace is not None or not mode.eager:
            return super().__call__(*inputs, **kwargs)
        with switched(False):
            return super().__call__(*inputs, **kwargs)

    def create_parameter(self, shape, attr=None, dtype=None, is_bias=False, default_initializer=None):
        """A parameter, described by a fluid.ParamAttr or what makes one; attr False: none."""
        start = default_initializer or (Constant(0.0) if is_bias else Xavier())
        with switched(mode.eager and mode.guard):
            return super().create_parameter(shape, attr, dtype, is_bias, start)

    def train(self):
        """Dropout and normalization as in training; gradients are kept track of again."""
        super().train()
        if mode.guard:
            _native.eager_set_noting(True)

    def eval(self):
        """Dropout and normalization as in inference. As in Paddle 1.8 this holds for the complete guard: there are no gradients
        until some layer's train()."""
        super().eval()
        if mode.guard:
            _native.eager_set_noting(False)


__getattr__ = _names.guard(__name__)
