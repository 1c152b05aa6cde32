"""paddle.utils.dlpack: tensors of other libraries and to them, by DLPack's capsules, without a copy where both sides can."""
import paddle
from paddle import _names
from paddle._tensor import Tensor


def _array(x):
    """The tensor's memory as a numpy array; bools as bytes, which every library takes."""
    import numpy
    if x._dtype == "bfloat16":
        raise TypeError("to_dlpack: a tensor of bfloat16 cannot be given away; cast it to float32 first")
    array = numpy.asarray(x)
    return array.view("uint8") if array.dtype == numpy.bool_ else array


def to_dlpack(x):
    """A capsule "dltensor" with the memory of a tensor."""
    if not isinstance(x, Tensor):
        raise TypeError("The type of 'x' in to_dlpack must be paddle.Tensor, but received %s." % type(x))
    return _array(x).__dlpack__()


class _Holder(object):
    """What numpy takes a capsule from."""

    def __init__(self, capsule):
        self._capsule = capsule

    def __dlpack__(self, **_):
        return self._capsule

    def __dlpack_device__(self):
        return 1, 0


def from_dlpack(dlpack):
    """A tensor with the values of a capsule, or of an object that has __dlpack__ (numpy arrays, tensors of other libraries)."""
    import numpy
    if type(dlpack).__name__ == "PyCapsule" and type(dlpack).__module__ == "builtins":
        dlpack = _Holder(dlpack)
    elif not hasattr(dlpack, "__dlpack__"):
        raise TypeError("The type of 'dlpack' in from_dlpack must be PyCapsule object, but received %s." % type(dlpack))
    elif dlpack.__dlpack_device__()[0] != 1:
        raise ValueError("from_dlpack: the memory is on device type %d; only that of CPUs (1) can be read" %
                         dlpack.__dlpack_device__()[0])
    try:
        return paddle.to_tensor(numpy.from_dlpack(dlpack))
    except ValueError as error:
        raise ValueError("from_dlpack received an invalid capsule. Note that a DLPack tensor can be consumed only once. (%s)" %
                         error) from None


def _dlpack(self, stream=None):
    """For numpy.from_dlpack and its like."""
    return to_dlpack(self.detach() if not self.stop_gradient else self)


Tensor.__dlpack__, Tensor.__dlpack_device__ = _dlpack, lambda self: (1, 0)
__getattr__ = _names.guard(__name__)
