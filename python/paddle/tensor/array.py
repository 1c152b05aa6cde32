"""Lists of tensors: variables of programs, Python lists in eager mode."""
import paddle
from paddle import _names
from paddle._op import Call, need
from paddle.fluid.layers import control_flow as _flow


def _index(i, where):
    need(i, "i", where)
    return i.item() if i.shape in ([], (), [1], (1,)) else int(i)


def create_array(dtype, initialized_list=None):
    """An array that holds the tensors of initialized_list."""
    values = list(initialized_list or [])
    for value in values:
        need(value, "initialized_list", "create_array")
    if paddle.in_dynamic_mode():
        return values
    array = _flow.create_array(dtype)
    for value in values:
        array_write(value, array_length(array), array)
    return array


def array_write(x, i, array=None):
    """x as item i of the array (None: a new one)."""
    if not paddle.in_dynamic_mode():
        return _flow.array_write(x, i, array)
    array, at = [] if array is None else array, _index(i, "array_write")
    if at > len(array):
        raise AssertionError("The index 'i' should not be greater than the length of 'array' in dygraph mode")
    array[at:at + 1] = [x]
    return array


def array_read(array, i):
    """Item i of the array."""
    return array[_index(i, "array_read")] if paddle.in_dynamic_mode() else _flow.array_read(array, i)


def array_length(array):
    """The number of items."""
    return len(array) if paddle.in_dynamic_mode() else _flow.array_length(array)


def tensor_array_to_tensor(input, axis=1, use_stack=False, name=None):
    """(the items side by side, or on a new axis; their sizes along it)"""
    if paddle.in_dynamic_mode():
        sizes = paddle.to_tensor([1 if use_stack else item.shape[axis] for item in input], "int32")
        return (paddle.stack if use_stack else paddle.concat)(input, axis=axis), sizes
    call = Call("tensor_array_to_tensor", name)
    out, index = call.var(), call.var("int32", stop_gradient=True)
    call.op("tensor_array_to_tensor", {"X": input}, {"Out": out, "OutIndex": index}, {"axis": axis, "use_stack": use_stack})
    return out, index


__getattr__ = _names.guard(__name__)
