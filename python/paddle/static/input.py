"""paddle.static.InputSpec: what an input looks like."""
from paddle import _names
from paddle._op import Value
from paddle.fluid import core
from paddle.fluid.framework import dtype_name


class InputSpec(object):
    """Shape (None and -1: sizes that each run decides), type and name of an input."""

    def __init__(self, shape, dtype="float32", name=None, stop_gradient=False):
        self.shape = self._verify(shape)
        self.dtype = core.BY_DTYPE[dtype_name(dtype)]
        self.name, self.stop_gradient = name, stop_gradient

    @staticmethod
    def _verify(shape):
        if not isinstance(shape, (list, tuple)):
            raise TypeError("Type of `shape` in InputSpec should be one of (tuple, list), but received %s." %
                            type(shape).__name__)
        for i, size in enumerate(shape):
            if size is not None and not hasattr(size, "__index__"):
                raise ValueError("shape[%d] should be an `int`, but received `%s`:%s." % (i, type(size).__name__, size))
        return tuple(-1 if size is None or size < -1 else size.__index__() for size in shape)

    @classmethod
    def from_tensor(cls, tensor, name=None):
        """That of a tensor."""
        if not isinstance(tensor, Value):
            raise ValueError("Input `tensor` should be a Tensor, but received %s." % type(tensor).__name__)
        return cls(list(tensor.shape), tensor.dtype, name or tensor.name)

    @classmethod
    def from_numpy(cls, ndarray, name=None):
        """That of an array."""
        return cls(ndarray.shape, ndarray.dtype, name)

    def batch(self, batch_size):
        """Another size in front."""
        if isinstance(batch_size, (list, tuple)):
            if len(batch_size) != 1:
                raise ValueError("Length of batch_size: %s shall be 1, but received %d." % (batch_size, len(batch_size)))
            batch_size = batch_size[0]
        elif not isinstance(batch_size, int):
            raise TypeError("type(batch_size) shall be `int`, but received %s." % type(batch_size).__name__)
        self.shape = self._verify([batch_size] + list(self.shape))
        return self

    def unbatch(self):
        """Without its first size."""
        if not self.shape:
            raise ValueError("Not support to unbatch a InputSpec when len(shape) == 0.")
        self.shape = self.shape[1:]
        return self

    def __repr__(self):
        return "InputSpec(shape=%s, dtype=%s, name=%s, stop_gradient=%s)" % (self.shape, self.dtype, self.name,
                                                                           self.stop_gradient)

    def __hash__(self):
        return hash((self.shape, self.dtype, self.stop_gradient))

    def __eq__(self, other):
        return type(self) is type(other) and self.__dict__ == other.__dict__


__getattr__ = _names.guard(__name__)
