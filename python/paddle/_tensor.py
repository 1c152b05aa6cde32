"""paddle.Tensor of eager mode: a value with, perhaps, a gradient. Its methods are the functions of paddle.tensor."""
from skiff import _native

from paddle.fluid import core

_names = {"next": 0}


class Tensor(_native.EagerTensor):
    """A tensor. paddle.to_tensor and all functions make them."""

    persistable = False
    is_parameter = False

    @property
    def dtype(self):
        return core.BY_DTYPE[self._dtype]

    @property
    def name(self):
        name = self.__dict__.get("_name")
        if name is None:
            name = self._name = "generated_tensor_%d" % _names["next"]
            _names["next"] += 1
        return name

    @name.setter
    def name(self, value):
        self._name = value

    @property
    def grad(self):
        return self._grad

    @grad.setter
    def grad(self, value):
        self._grad = value

    def numpy(self):
        """A copy as a numpy array."""
        return self._numpy()


class Parameter(Tensor):
    """A tensor that is trained. Its shape is known before an initializer has filled it."""

    persistable = True
    is_parameter = True

    def __init__(self, shape, dtype, name, attr, is_distributed=False):
        super().__init__()
        self._shape = list(shape)
        self._type = dtype
        self._name = name
        self.optimize_attr = {"learning_rate": attr.learning_rate}
        self.regularizer = attr.regularizer
        self.do_model_average = attr.do_model_average
        self.need_clip = attr.need_clip
        self.is_distributed = is_distributed
        self.stop_gradient = not attr.trainable

    @property
    def shape(self):
        return list(self._shape)

    @property
    def dtype(self):
        return core.BY_DTYPE[self._type]

    @property
    def trainable(self):
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, value):
        self.stop_gradient = not value


_native.set_classes(EagerTensor=Tensor)
