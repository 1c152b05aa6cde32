"""fluid.data, fluid.embedding, fluid.one_hot: the newer forms of three layers."""
from skiff import _native

from paddle import _names
from paddle.fluid import framework
from paddle.fluid._at_once import at_once
from paddle.fluid._build import net
from paddle.fluid.layer_helper import check_dtype
from paddle.fluid.param_attr import ParamAttr

__all__ = ["data", "one_hot", "embedding"]


def data(name, shape, dtype="float32", lod_level=0):
    """An input with the shape as it is (None or -1: any size); feeds are checked against it."""
    if not isinstance(name, str):
        raise TypeError("The type of 'name' in data must be str, but received %s." % type(name))
    if not isinstance(shape, (list, tuple)):
        raise TypeError("The type of 'shape' in data must be list or tuple, but received %s." % type(shape))
    var = _native.layers.input(net, name, [-1 if d is None else int(d) for d in shape],
                               dtype=framework.checked_dtype(dtype, "data"), lod_level=lod_level)
    var.is_data = True
    return var


def one_hot(input, depth, allow_out_of_range=False):
    """Rows with a 1 at the id; ids of any shape."""
    check_dtype(input, "input", "one_hot_v2", ("int32", "int64"))
    return _native.layers.one_hot_v2(net, input, depth, bool(allow_out_of_range))


def embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, dtype="float32"):
    """Rows of a table; ids of any shape."""
    from paddle.fluid.layers.nn import _table_size
    check_dtype(input, "input", "fluid.embedding", ("int64",))
    rows, width = _table_size(size, "embedding")
    return _native.layers.embedding_v2(
        net, input, rows, width, is_sparse=bool(is_sparse), is_distributed=bool(is_distributed),
        padding_idx=padding_idx, param_attr=ParamAttr._to_attr(param_attr),
        dtype=framework.dtype_name(dtype))


one_hot, embedding = at_once(one_hot), at_once(embedding)

__getattr__ = _names.guard(__name__)
