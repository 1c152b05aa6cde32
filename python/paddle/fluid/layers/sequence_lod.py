"""Layers over sequences of different lengths (LoD)."""
from skiff import _native

from paddle import _names
from paddle.fluid import core, framework
from paddle.fluid._build import net
from paddle.fluid.framework import dtype_name
from paddle.fluid.layer_helper import check_dtype, check_variable, simple_op
from paddle.fluid.param_attr import ParamAttr

_layers = _native.layers
_attr = ParamAttr._to_attr

__all__ = ["sequence_conv", "sequence_softmax", "sequence_pool", "sequence_concat", "sequence_first_step",
           "sequence_last_step", "sequence_slice", "sequence_expand", "sequence_expand_as", "sequence_pad",
           "sequence_unpad", "sequence_reshape", "sequence_enumerate", "sequence_mask", "sequence_reverse", "lod_reset",
           "continuous_value_model", "filter_by_instag", "sequence_scatter", "lod_append", "add_position_encoding",
           "row_conv"]


def sequence_conv(input, num_filters, filter_size=3, filter_stride=1, padding=True, padding_start=None, bias_attr=None,
                  param_attr=None, act=None, name=None):
    """Convolution along each sequence."""
    check_dtype(input, "input", "sequence_conv", ("float32", "float64"))
    return _layers.sequence_conv(net, input, num_filters, filter_size=filter_size, filter_stride=filter_stride,
                                 padding_start=padding_start, bias_attr=_attr(bias_attr), param_attr=_attr(param_attr), act=act, name=name)


def row_conv(input, future_context_size, param_attr=None, act=None):
    """Every column with weights for itself and its next steps; the input is ragged, or [n, length, width]."""
    check_dtype(input, "input", "row_conv", ("float32",))
    return _layers.row_conv(net, input, int(future_context_size), param_attr=_attr(param_attr), act=act)


def sequence_softmax(input, use_cudnn=False, name=None):
    """Softmax over each sequence."""
    check_dtype(input, "input", "sequence_softmax", ("float32", "float64"))
    return _layers.sequence_softmax(net, input, name)


def sequence_pool(input, pool_type, is_test=False, pad_value=0.0):
    """One row of each sequence: sum, average, sqrt, max, last, first."""
    check_dtype(input, "input", "sequence_pool", ("float32",))
    return _layers.sequence_pool(net, input, pool_type, is_test=bool(is_test), pad_value=pad_value)


def sequence_concat(input, name=None):
    """The first sequences of all inputs joined, then the second ones, ..."""
    check_variable(input, "input", "sequence_concat", several=True)
    return _layers.sequence_concat(net, input, name)


def sequence_first_step(input):
    check_dtype(input, "input", "sequence_first_step", ("float32",))
    return _layers.sequence_first_step(net, input)


def sequence_last_step(input):
    check_dtype(input, "input", "sequence_last_step", ("float32",))
    return _layers.sequence_last_step(net, input)


def sequence_slice(input, offset, length, name=None):
    """A piece of each sequence."""
    check_variable(input, "input", "sequence_slice")
    check_dtype(offset, "offset", "sequence_slice", ("int32", "int64"))
    check_dtype(length, "length", "sequence_slice", ("int32", "int64"))
    return _layers.sequence_slice(net, input, offset, length, name)


def sequence_expand(x, y, ref_level=-1, name=None):
    """Sequences of x, repeated by y's level."""
    check_variable(x, "x", "sequence_expand")
    check_variable(y, "y", "sequence_expand")
    return _layers.sequence_expand(net, x, y, ref_level, name)


def sequence_expand_as(x, y, name=None):
    """Row i of x repeated as long as sequence i of y."""
    check_variable(x, "x", "sequence_expand_as")
    check_variable(y, "y", "sequence_expand_as")
    return _layers.sequence_expand_as(net, x, y, name)


def sequence_pad(x, pad_value, maxlen=None, name=None):
    """(sequences as rows of equal length, their lengths)"""
    check_variable(x, "x", "sequence_pad")
    check_variable(pad_value, "pad_value", "sequence_pad")
    return _layers.sequence_pad(net, x, pad_value, maxlen or 0, name)


def sequence_unpad(x, length, name=None):
    """What sequence_pad was given."""
    check_variable(x, "x", "sequence_unpad")
    check_dtype(length, "length", "sequence_unpad", ("int64",))
    return _layers.sequence_unpad(net, x, length, name)


def sequence_reshape(input, new_dim):
    """The same numbers in rows of new_dim."""
    check_variable(input, "input", "sequence_reshape")
    return _layers.sequence_reshape(net, input, new_dim)


def sequence_enumerate(input, win_size, pad_value=0, name=None):
    """Windows of win_size ids."""
    check_dtype(input, "input", "sequence_enumerate", ("int32", "int64"))
    return _layers.sequence_enumerate(net, input, win_size, pad_value, name)


def sequence_mask(x, maxlen=None, dtype="int64", name=None):
    """1 before the length, 0 after."""
    check_variable(x, "x", "sequence_mask")
    if isinstance(maxlen, framework.Variable):
        return simple_op("sequence_mask", {"X": [x], "MaxLenTensor": [maxlen]},
                         {"out_dtype": core.BY_DTYPE[dtype_name(dtype)]}, dtype=dtype, name=name, slot="Y",
                         stop_gradient=True)
    return _layers.sequence_mask(net, x, maxlen or 0, dtype_name(dtype), name)


def sequence_reverse(x, name=None):
    check_variable(x, "x", "sequence_reverse")
    return _layers.sequence_reverse(net, x, name)


def lod_reset(x, y=None, target_lod=None):
    """x with the lengths of y, or with the offsets target_lod."""
    check_variable(x, "x", "lod_reset")
    if y is None and target_lod is None:
        raise ValueError("y and target_lod should not be both none.")
    return _layers.lod_reset(net, x, y, [int(v) for v in target_lod or []])


def continuous_value_model(input, cvm, use_cvm=True):
    """Show and click in front of embeddings: their logarithms, or without them."""
    check_variable(input, "input", "cvm")
    return _layers.continuous_value_model(net, input, cvm, bool(use_cvm))


def filter_by_instag(ins, ins_tag, filter_tag, is_lod, out_val_if_empty=0):
    """(rows whose tags are among filter_tag, weights of the loss)"""
    check_variable(ins, "ins", "filter_by_instag")
    return _layers.filter_by_instag(net, ins, ins_tag, filter_tag, bool(is_lod), out_val_if_empty)


def sequence_scatter(input, index, updates, name=None):
    """input with sequence i of updates added to row i, each at the column that index gives."""
    check_dtype(input, "input", "sequence_scatter", ("float32", "float64", "int32", "int64"))
    check_dtype(index, "index", "sequence_scatter", ("int32", "int64"))
    check_dtype(updates, "updates", "sequence_scatter", ("float32", "float64", "int32", "int64"))
    return simple_op("sequence_scatter", {"X": [input], "Ids": [index], "Updates": [updates]}, name=name)


def lod_append(x, level):
    """x with one more level of lengths below: the offsets of a list, or of a variable."""
    from paddle.fluid.framework import Variable
    check_dtype(x, "x", "lod_append", ("float32", "float64", "int32", "int64"))
    if isinstance(level, Variable):
        return simple_op("lod_reset", {"X": [x], "Y": [level]}, {"append": True}, layer="lod_append")
    if not hasattr(level, "__iter__"):
        raise ValueError("Input(level) must be list, tuple or Variable.")
    return simple_op("lod_reset", {"X": [x]}, {"append": True, "target_lod": [int(v) for v in level]}, layer="lod_append")


def add_position_encoding(input, alpha, beta, name=None):
    """alpha * input + beta * the sines and cosines of the places in the sequence."""
    check_dtype(input, "input", "add_position_encoding", ("float32", "float64"))
    return simple_op("add_position_encoding", {"X": [input]}, {"alpha": alpha, "beta": beta}, name=name)


__getattr__ = _names.guard(__name__)
