"""fluid.contrib.layers."""
from skiff import _native

from paddle import _names
from paddle.fluid._build import net
from paddle.fluid.contrib import rnn_impl
from paddle.fluid.contrib.rnn_impl import BasicGRUUnit, BasicLSTMUnit, basic_gru, basic_lstm  # noqa: F401
from paddle.fluid.framework import dtype_name
from paddle.fluid.layer_helper import check_dtype
from paddle.fluid.param_attr import ParamAttr

__all__ = ["fused_embedding_seq_pool"] + rnn_impl.__all__


def fused_embedding_seq_pool(input, size, is_sparse=False, padding_idx=None, combiner="sum", param_attr=None,
                             dtype="float32"):
    """embedding and sequence_pool(sum) in one operator."""
    from paddle.fluid.layers.nn import _table_size
    check_dtype(input, "input", "fused_embedding_seq_pool", ("int64",))
    if combiner != "sum":
        raise NotImplementedError("fused_embedding_seq_pool: only combiner 'sum', but got %r" % combiner)
    rows, width = _table_size(size, "fused_embedding_seq_pool")
    return _native.layers.fused_embedding_seq_pool(
        net, input, rows, width, is_sparse=bool(is_sparse), padding_idx=padding_idx,
        param_attr=ParamAttr._to_attr(param_attr), dtype=dtype_name(dtype))


__getattr__ = _names.guard(__name__)
