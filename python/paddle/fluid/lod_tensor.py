"""fluid.create_lod_tensor: tensors with sequence lengths."""
from paddle import _names
from paddle.fluid import core

__all__ = ["create_lod_tensor", "create_random_int_lodtensor"]


def create_lod_tensor(data, recursive_seq_lens, place):
    """Of a numpy array, a list of lists of ids, or another LoDTensor."""
    import numpy
    if isinstance(data, core.LoDTensor):
        return create_lod_tensor(data.numpy(), recursive_seq_lens, place)
    if isinstance(data, list):
        lengths = [len(seq) for seq in data]
        if [lengths] != [list(level) for level in recursive_seq_lens[-1:]]:
            raise AssertionError("data and recursive_seq_lens do not match")
        flat = [item for seq in data for item in seq]
        array = numpy.array(flat)
        array = array.astype("int64").reshape(-1, 1) if array.dtype.kind in "iu" else array.astype("float32").reshape(-1, 1)
        data = array
    if not isinstance(data, numpy.ndarray):
        raise TypeError("data should be either a LoDTensor, a Numpy array or a list, but you pass type %s instead" %
                        type(data))
    tensor = core.LoDTensor(data)
    try:
        tensor.set_recursive_sequence_lengths([list(level) for level in recursive_seq_lens])
    except ValueError as error:
        raise AssertionError("the provided lod info is invalid: %s" % error)
    if not tensor.has_valid_recursive_sequence_lengths():
        raise AssertionError("the provided lod info is invalid")
    return tensor


def create_random_int_lodtensor(recursive_seq_lens, base_shape, place, low, high):
    """Random ids from low to high."""
    import numpy
    if not isinstance(base_shape, list):
        raise AssertionError("base_shape should be a list")
    rows = sum(recursive_seq_lens[-1])
    data = numpy.random.randint(low, high + 1, [rows] + base_shape)
    return create_lod_tensor(data.astype("int64"), recursive_seq_lens, place)


__getattr__ = _names.guard(__name__)
