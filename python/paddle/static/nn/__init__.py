"""paddle.static.nn: layers as functions that make their own parameters."""
import functools

from skiff import _native

from paddle import _names
from paddle._op import Call, check_static, need, need_all
from paddle.fluid._build import net
from paddle.fluid.framework import dtype_name
from paddle.fluid.layers import sequence_lod
from paddle.framework import make_parameter, to_attr
from paddle.nn import initializer as init
from paddle.static.nn import control_flow  # noqa: F401
from paddle.static.nn.control_flow import case, cond, py_func, switch_case, while_loop  # noqa: F401
from paddle.tensor.creation import create_parameter  # noqa: F401


def _parameter(call, attr, shape, dtype, is_bias=False, default=None, stop_gradient=False, is_distributed=False):
    attr = to_attr(attr)
    if attr is False:
        return None
    if hasattr(attr, "dim"):
        from paddle.static.nn.more import weight_norm
        return weight_norm(call, attr, shape, dtype, default)
    return make_parameter(call.name, attr, shape, dtype, is_bias, default, stop_gradient, is_distributed)


def _activated(call, out, act):
    return out if act is None else call.one(act, {"X": out})


def fc(x, size, num_flatten_dims=1, weight_attr=None, bias_attr=None, activation=None, name=None):
    """activation(sum of x @ weight + bias); dimensions from num_flatten_dims on count as one."""
    inputs = need_all(x, "x", "fc")
    call = Call("fc", name)
    attrs = weight_attr if isinstance(weight_attr, (list, tuple)) else [weight_attr] * len(inputs)
    products = []
    for value, attr in zip(inputs, attrs):
        rows, split = 1, num_flatten_dims if num_flatten_dims >= 0 else len(value.shape) + num_flatten_dims
        for d in value.shape[split:]:
            rows *= d
        weight = _parameter(call, attr, [rows, size], value.dtype)
        products.append(call.one("mul", {"X": value, "Y": weight}, {"x_num_col_dims": split, "y_num_col_dims": 1}))
    out = products[0] if len(products) == 1 else call.one("sum", {"X": products}, {"use_mkldnn": False})
    bias = _parameter(call, bias_attr, [size], inputs[0].dtype, is_bias=True)
    if bias is not None:
        out = call.one("elementwise_add", {"X": out, "Y": bias}, {"axis": split})
    return _activated(call, out, activation)


def embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, dtype="float32"):
    """Rows of a table by number."""
    need(input, "input", "embedding")
    call = Call("embedding")
    table = _parameter(call, param_attr, size, dtype)
    index = -1 if padding_idx is None else padding_idx if padding_idx >= 0 else size[0] + padding_idx
    return call.one("lookup_table_v2", {"Ids": input, "W": table},
                    {"is_sparse": is_sparse, "is_distributed": is_distributed,
                     "remote_prefetch": bool(is_sparse and not is_distributed), "padding_idx": index})


def sparse_embedding(input, size, padding_idx=None, is_test=False, entry=None, table_class="MemorySparseTable",
                     param_attr=None, dtype="float32", slot=None):
    """Rows of a table that the servers keep, keyed by id; rows come into being when they are first asked for.
    Without servers it is a table of size rows."""
    need(input, "input", "paddle.incubate.layers.sparse_embedding")
    if dtype_name(input.dtype) != "int64":
        raise TypeError("The data type of 'input' in paddle.incubate.layers.sparse_embedding must be ['int64'], but received "
                        "%s." % dtype_name(input.dtype))
    if table_class not in ("CommonSparseTable", "SSDSparseTable", "MemorySparseTable"):
        raise ValueError("table_class must be in [CommonSparseTable, SSDSparseTable, MemorySparseTable]")
    call = Call("sparse_embedding")
    table = _parameter(call, param_attr, size, dtype, is_distributed=True)
    index = -1 if padding_idx is None else padding_idx if padding_idx >= 0 else size[0] + padding_idx
    config = "none"
    if entry is not None:
        if not hasattr(entry, "_to_attr"):
            raise ValueError("entry must be instance in [paddle.distributed.ProbabilityEntry, "
                             "paddle.distributed.CountFilterEntry, paddle.distributed.ShowClickEntry]")
        config = entry._to_attr()
    return call.one("lookup_table", {"Ids": input, "W": table},
                    {"padding_idx": index, "is_sparse": True, "is_distributed": True, "remote_prefetch": True,
                     "is_test": is_test, "entry": config, "table_class": table_class, "slot": slot or 0})


def continuous_value_model(input, cvm, use_cvm=True):
    """Show and click counts in front of embeddings: kept as logarithms, or dropped (use_cvm=False)."""
    need(input, "input", "cvm")
    from paddle._op import _append, _create_var
    out = _create_var(net.block, net.name("_generated_var"), persistable=False)
    _append(net.block, "cvm", {"X": input, "CVM": need(cvm, "cvm", "cvm")}, {"Y": out}, {"use_cvm": use_cvm})
    return out


def layer_norm(input, scale=True, shift=True, begin_norm_axis=1, epsilon=1e-5, param_attr=None, bias_attr=None, act=None,
               name=None):
    """Over the dimensions from begin_norm_axis on."""
    need(input, "input", "layer_norm")
    call = Call("layer_norm", name)
    size = 1
    for d in input.shape[begin_norm_axis:]:
        size *= d
    inputs = {"X": input}
    if scale:
        inputs["Scale"] = _parameter(call, param_attr, [size], input.dtype, default=init.Constant(1.0))
    if shift:
        inputs["Bias"] = _parameter(call, bias_attr, [size], input.dtype, is_bias=True)
    mean, variance, out = call.var(stop_gradient=True), call.var(stop_gradient=True), call.var()
    call.op("layer_norm", inputs, {"Y": out, "Mean": mean, "Variance": variance},
            {"epsilon": epsilon, "begin_norm_axis": begin_norm_axis})
    return _activated(call, out, act)


def batch_norm(input, act=None, is_test=False, momentum=0.9, epsilon=1e-5, param_attr=None, bias_attr=None,
               data_layout="NCHW", in_place=False, name=None, moving_mean_name=None, moving_variance_name=None,
               do_model_average_for_mean_and_var=True, use_global_stats=False):
    """Over the batch and the positions, per channel."""
    from paddle.framework import ParamAttr
    need(input, "input", "batch_norm")
    call = Call("batch_norm", name)
    size = [input.shape[1 if data_layout == "NCHW" or len(input.shape) == 2 else -1]]
    scale = _parameter(call, param_attr, size, input.dtype, default=init.Constant(1.0))
    bias = _parameter(call, bias_attr, size, input.dtype, is_bias=True)
    average = do_model_average_for_mean_and_var
    mean = _parameter(call, ParamAttr(moving_mean_name, init.Constant(0.0), trainable=False, do_model_average=average), size,
                      input.dtype, stop_gradient=True)
    variance = _parameter(call, ParamAttr(moving_variance_name, init.Constant(1.0), trainable=False,
                                          do_model_average=average), size, input.dtype, stop_gradient=True)
    saved_mean, saved_variance, reserve = (call.var(stop_gradient=True) for _ in range(3))
    out = call.var()
    call.op("batch_norm", {"X": input, "Scale": scale, "Bias": bias, "Mean": mean, "Variance": variance},
            {"Y": out, "MeanOut": mean, "VarianceOut": variance, "SavedMean": saved_mean, "SavedVariance": saved_variance,
             "ReserveSpace": reserve},
            {"epsilon": epsilon, "is_test": is_test, "data_layout": data_layout, "use_mkldnn": False,
             "fuse_with_relu": False, "use_global_stats": use_global_stats, "momentum": momentum})
    return _activated(call, out, act)


def conv2d(input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None, bias_attr=None,
           use_cudnn=True, act=None, name=None, data_format="NCHW"):
    """Convolution of images."""
    import math
    from paddle.nn.functional import conv
    need(input, "input", "conv2d")
    call = Call("conv2d", name)
    channels, groups = input.shape[1 if data_format == "NCHW" else 3], groups or 1
    kernel = conv.pair(filter_size, 2, "filter_size")
    weight = _parameter(call, param_attr, [num_filters, channels // groups] + kernel, input.dtype,
                        default=init.Normal(0.0, math.sqrt(2.0 / (kernel[0] * kernel[1] * channels))))
    out = conv.conv2d(input, weight, None, stride, padding, dilation, groups, data_format, call.name)
    bias = _parameter(call, bias_attr, [num_filters], input.dtype, is_bias=True)
    if bias is not None:
        out = call.one("elementwise_add", {"X": out, "Y": bias}, {"axis": 1 if data_format == "NCHW" else 3})
    return _activated(call, out, act)


def _sequence(kind):
    """One of fluid's sequence layers, on programs of 2.x."""
    layer = getattr(sequence_lod, kind)

    @functools.wraps(layer)
    def function(*args, **kwargs):
        check_static(kind)
        return layer(*args, **kwargs)

    return function


def sequence_conv(input, num_filters, filter_size=3, filter_stride=1, padding=True, padding_start=None, bias_attr=None,
                  param_attr=None, act=None, name=None):
    """Convolution along each sequence."""
    check_static("sequence_conv")
    need(input, "input", "sequence_conv")
    return _native.layers.sequence_conv(net, input, num_filters, filter_size=filter_size, filter_stride=filter_stride,
                                        padding_start=padding_start, bias_attr=bias_attr, param_attr=param_attr, act=act,
                                        name=name)


def row_conv(input, future_context_size, param_attr=None, act=None):
    """Every column with weights for itself and its next steps; the input is ragged, or [n, length, width]."""
    check_static("row_conv")
    need(input, "input", "row_conv")
    return _native.layers.row_conv(net, input, int(future_context_size), param_attr=param_attr, act=act)


def sequence_pool(input, pool_type, is_test=False, pad_value=0.0):
    """sum, average, sqrt, max, last or first of every sequence."""
    need(input, "input", "sequence_pool")
    call = Call("sequence_pool")
    out, index = call.var(), call.var("int32", stop_gradient=True)
    call.op("sequence_pool", {"X": input}, {"Out": out, "MaxIndex": index},
            {"pooltype": pool_type.upper(), "is_test": is_test, "pad_value": float(pad_value)})
    return out


for _kind in ("sequence_concat sequence_enumerate sequence_expand sequence_expand_as sequence_first_step sequence_last_step "
              "sequence_pad sequence_reshape sequence_reverse sequence_slice sequence_softmax sequence_unpad "
              "sequence_scatter").split():
    globals()[_kind] = _sequence(_kind)

from paddle.static.nn.ctr import data_norm, nce  # noqa: E402,F401 (they need the names above)
from paddle.static.nn.more import (bilinear_tensor_product, conv2d_transpose, conv3d, conv3d_transpose, group_norm,  # noqa: E402,F401
                                   instance_norm, prelu, spectral_norm)

__getattr__ = _names.guard(__name__)
