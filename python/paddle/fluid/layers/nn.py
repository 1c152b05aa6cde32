"""Fully connected, embeddings, products, reductions, shapes, normalisation, convolution, recurrent layers.

Most functions are declared in src/calls/list_fluid.h. Here are those that rows cannot say:
- fc, with a list of parameters; embedding, conv2d, pool2d, whose sizes and paddings have many forms; data_norm, whose param_attr
  is a dictionary; label_smooth, whose dtype is that of the result and not of the operator
- sign and rank, which make a variable of an array
- reshape, expand, slice, strided_slice, gaussian_random, randn, randint, full, whose numbers may be variables: Fluid sets other
  attributes then, and in another order than rows do
- nonzero, which slices a variable
"""
import builtins

from skiff import _native

from paddle import _names
from paddle._op import declared
from paddle.fluid import framework
from paddle.fluid._build import net
from paddle.fluid.framework import dtype_name
from paddle.fluid.layer_helper import LayerHelper, check_dtype, check_variable, simple_op
from paddle.fluid.layers.tensor import _dims, assign_array, drawn, fill_constant, numbers_of
from paddle.fluid.param_attr import ParamAttr

_layers = _native.layers
_attr = ParamAttr._to_attr
_FLOATS = ("float16", "float32", "float64")

__all__ = [
    "fc", "embedding", "dynamic_lstm", "dynamic_gru", "gru_unit", "cos_sim", "dropout", "conv2d", "softmax", "pool2d",
    "batch_norm", "data_norm", "layer_norm", "reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod",
    "reduce_all", "reduce_any", "split", "l2_normalize", "matmul", "topk", "transpose", "one_hot",
    "autoincreased_step_counter", "reshape", "squeeze", "unsqueeze", "gather", "gather_nd", "scatter", "relu", "log",
    "log1p", "prelu", "brelu", "leaky_relu", "selu", "elu", "relu6", "pow", "hard_sigmoid", "swish", "flatten", "stack",
    "unstack", "expand", "scale", "elementwise_add", "elementwise_sub", "elementwise_mul", "elementwise_div",
    "elementwise_max", "elementwise_min", "elementwise_pow", "elementwise_mod", "elementwise_floordiv",
    "gaussian_random", "sampling_id", "sum", "slice", "strided_slice", "shape", "rank",
    "size", "logical_and", "logical_or", "logical_xor", "logical_not", "clip", "clip_by_norm", "mean", "mul", "hash",
    "bilinear_tensor_product", "merge_selected_rows", "get_tensor_from_selected_rows", "sign", "where",
    "label_smooth", "softshrink", "stanh", "hard_swish", "dot", "bmm", "index_select", "tril", "triu", "nonzero", "t",
    "logsumexp", "full_like", "randint", "clamp", "full", "randn"]

globals().update(declared(__name__))


def fc(input, size, num_flatten_dims=1, param_attr=None, bias_attr=None, act=None, name=None):
    """Products of the inputs with weights, summed, plus a bias, through an activation."""
    if not isinstance(input, (list, tuple, framework.Variable)):
        raise TypeError("The type of 'input' in fc must be (list, tuple, Variable), but received %s." % type(input))
    check_variable(input, "input", "fc", several=True)
    for item in input if isinstance(input, (list, tuple)) else [input]:
        check_dtype(item, "input", "fc", _FLOATS)
    attr = _attr(param_attr)
    inputs = list(input) if isinstance(input, (list, tuple)) else [input]
    if isinstance(attr, list):
        if len(attr) != len(inputs):
            raise ValueError("parameter number mismatch")
        if len(inputs) > 1:
            return _fc_with_attrs(inputs, size, num_flatten_dims, param_attr, bias_attr, act, name)
        attr = attr[0]
    return _layers.fc(net, inputs, size, num_flatten_dims=num_flatten_dims, param_attr=attr, bias_attr=_attr(bias_attr),
                      act=act, name=name)


def _fc_with_attrs(inputs, size, num_flatten_dims, param_attr, bias_attr, act, name):
    """fc with a parameter attribute of its own for every input."""
    helper = LayerHelper("fc", input=inputs, param_attr=param_attr, bias_attr=bias_attr, act=act, name=name)
    results = []
    for var, attr in helper.iter_inputs_and_params():
        dims = num_flatten_dims if num_flatten_dims != -1 else len(var.shape) - 1
        rows = 1
        for d in var.shape[dims:]:
            rows *= d
        weight = helper.create_parameter(attr, [rows, size], var.dtype)
        out = helper.create_variable_for_type_inference(var.dtype)
        helper.append_op(type="mul", inputs={"X": var, "Y": weight}, outputs={"Out": out},
                         attrs={"x_num_col_dims": dims, "y_num_col_dims": 1})
        results.append(out)
    total = helper.create_variable_for_type_inference(inputs[0].dtype)
    helper.append_op(type="sum", inputs={"X": results}, outputs={"Out": total}, attrs={"use_mkldnn": False})
    return helper.append_activation(helper.append_bias_op(total, dim_start=num_flatten_dims))


def _table_size(size, layer):
    if not isinstance(size, (list, tuple)) or len(size) != 2:
        raise TypeError("The 'size' of %s must be a list or tuple of two ints, but received %s" % (layer, size))
    return int(size[0]), int(size[1])


def embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, dtype="float32"):
    """Rows of a table [size[0], size[1]]; the ids end with a dimension of 1."""
    check_dtype(input, "input", "fluid.layers.embedding", ("int64",))
    if dtype_name(dtype) not in _FLOATS:
        raise TypeError("The data type of 'dtype' in fluid.layers.embedding must be %s, but received %s." %
                        (", ".join(_FLOATS), dtype))
    rows, width = _table_size(size, "embedding")
    return _layers.embedding(net, input, rows, width, is_sparse=bool(is_sparse), is_distributed=bool(is_distributed),
                             padding_idx=padding_idx, param_attr=_attr(param_attr),
                             dtype=dtype_name(dtype))


def sign(x):
    x = assign_array(x)
    check_dtype(x, "x", "sign", _FLOATS)
    return _layers.sign(net, x)


def label_smooth(label, prior_dist=None, epsilon=0.1, dtype="float32", name=None):
    """(1 - epsilon) * label + epsilon * prior (None: uniform)."""
    if epsilon > 1.0 or epsilon < 0.0:
        raise ValueError("The value of epsilon must be between 0 and 1.")
    check_dtype(label, "label", "label_smooth", ("float32", "float64"))
    label.stop_gradient = True
    inputs = {"X": label} if prior_dist is None else {"X": label, "PriorDist": prior_dist}
    return simple_op("label_smooth", inputs, {"epsilon": float(epsilon)}, dtype, name)


def reshape(x, shape, actual_shape=None, act=None, inplace=False, name=None):
    """Another shape; -1 is inferred, 0 copies the dimension."""
    check_variable(x, "x", "reshape")
    if isinstance(shape, (list, tuple)) and any(isinstance(d, framework.Variable) for d in shape):
        return _reshape_by_tensors(x, shape, act, name)
    return _layers.reshape(net, x, _dims(shape, "reshape"), actual_shape=actual_shape, act=act, inplace=bool(inplace),
                           name=name)


def _reshape_by_tensors(x, shape, act, name):
    helper = LayerHelper("reshape2", act=act, name=name)
    parts = [d if isinstance(d, framework.Variable) else framework._int_tensor(d) for d in shape]
    out = helper.create_variable_for_type_inference(x.dtype)
    xshape = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type="reshape2", inputs={"X": x, "ShapeTensor": parts}, outputs={"Out": out, "XShape": xshape},
                     attrs={"shape": [-1 if isinstance(d, framework.Variable) else int(d) for d in shape]})
    return helper.append_activation(out)


def expand(x, expand_times, name=None):
    """Repeated along each dimension."""
    check_variable(x, "x", "expand")
    inputs, attrs = numbers_of(expand_times, "expand", "ExpandTimes", "expand_times_tensor", "expand_times")
    if not inputs:
        return _layers.expand(net, x, _dims(expand_times, "expand"), name)
    if "expand_times" not in attrs:
        attrs["expand_times"] = [-1] * len(x.shape)
    inputs["X"] = x
    return simple_op("expand", inputs, attrs, x.dtype, name)


def slice(input, axes, starts, ends):
    """A piece along some axes."""
    check_variable(input, "input", "slice")
    if any(isinstance(v, framework.Variable) for v in list(starts) + list(ends)):
        index = [builtins.slice(None)] * (max(axes) + 1)
        for axis, start, end in zip(axes, starts, ends):
            index[axis] = builtins.slice(start, end)
        return input[tuple(index)]
    return _layers.slice(net, input, list(axes), list(starts), list(ends))


def strided_slice(input, axes, starts, ends, strides):
    """slice with steps."""
    check_variable(input, "input", "strided_slice")
    inputs, attrs, flags = {"Input": input}, {"axes": list(axes)}, [1] * len(axes)
    for values, key in ((starts, "starts"), (ends, "ends"), (strides, "strides")):
        slot = key.capitalize()
        more, numbers = numbers_of(values, "strided_slice", slot + "Tensor", slot + "TensorList", key)
        inputs.update(more)
        attrs.update(numbers)
        for i in builtins.range(len(axes) if more else 0):
            if isinstance(values, framework.Variable) or isinstance(values[i], framework.Variable):
                flags[i] = -1
    attrs["infer_flags"] = flags
    return simple_op("strided_slice", inputs, attrs, input.dtype)


def rank(input):
    """The number of dimensions as an int32 variable."""
    import numpy
    from paddle.fluid.layers.tensor import assign
    check_variable(input, "input", "rank")
    return assign(numpy.array(len(input.shape), "int32").reshape([1]))


def nonzero(input, as_tuple=False):
    """where of a numeric variable; as_tuple: one [n, 1] variable per dimension."""
    found = where(input)
    if not as_tuple:
        return found
    return tuple(slice(found, [1], [i], [i + 1]) for i in builtins.range(len(input.shape)))


def gaussian_random(shape, mean=0.0, std=1.0, seed=0, dtype="float32"):
    """New random numbers in every run."""
    made = drawn("gaussian_random", shape, {"mean": float(mean), "std": float(std), "seed": seed}, dtype)
    return made if made is not None else _layers.gaussian_random(net, _dims(shape, "gaussian_random"), mean=float(mean), std=float(std), seed=seed,
                                   dtype=dtype_name(dtype))


def randn(shape, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """gaussian_random of mean 0 and deviation 1."""
    result = gaussian_random(shape, dtype=dtype or "float32")
    result.stop_gradient = stop_gradient
    return result if out is None else _layers.assign(net, result, out)


def randint(low, high=None, shape=None, out=None, dtype=None, device=None, stop_gradient=False, seed=0, name=None):
    """Integers from low (or 0) up to high (or low), which is not included."""
    if high is None:
        low, high = 0, low
    shape = [1] if shape is None else shape
    result = drawn("randint", shape, {"low": low, "high": high, "seed": seed}, dtype or "int64")
    result = _layers.randint(net, low, high, _dims(shape, "randint"), dtype_name(dtype) or "int64", seed) if result is None else result
    result.stop_gradient = stop_gradient
    return result if out is None else _layers.assign(net, result, out)


def full(shape, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """fill_constant."""
    result = fill_constant(shape, dtype or "float32", fill_value, out=out)
    result.stop_gradient = stop_gradient
    return result


def data_norm(input, act=None, epsilon=1e-05, param_attr=None, data_layout="NCHW", in_place=False, name=None,
              moving_mean_name=None, moving_variance_name=None, do_model_average_for_mean_and_var=True, slot_dim=-1,
              sync_stats=False, summary_decay_rate=0.9999999, enable_scale_and_shift=False):
    """Normalisation by sums of everything seen. param_attr: a dictionary with batch_size, batch_sum, batch_square, ..."""
    check_dtype(input, "input", "data_norm", ("float32", "float64"))
    starts = param_attr if isinstance(param_attr, dict) else {}
    return _layers.data_norm(
        net, input, act=act, epsilon=epsilon, data_layout=data_layout, in_place=bool(in_place), name=name,
        slot_dim=0 if slot_dim == -1 else slot_dim, sync_stats=bool(sync_stats), summary_decay_rate=summary_decay_rate,
        scale_and_shift=bool(enable_scale_and_shift), batch_size=starts.get("batch_size"),
        batch_sum=starts.get("batch_sum") or starts.get("batch_sum_default"),
        batch_square=starts.get("batch_square"), scale_w=starts.get("scale_w"), bias=starts.get("bias"))


def _pair(value, name):
    if isinstance(value, (list, tuple)):
        if len(value) != 2 or not all(isinstance(v, int) for v in value):
            raise ValueError("%s must be an int or two ints, but received %s" % (name, value))
        return list(value)
    return [int(value), int(value)]


def _padding(padding, name, last=False):
    """(pair, algorithm), or ([top, bottom, left, right], None)"""
    if isinstance(padding, str):
        padding = padding.upper()
        if padding not in ("SAME", "VALID"):
            raise ValueError("Unknown %s: '%s'. It can only be 'SAME' or 'VALID'." % (name, padding))
        return None, padding
    if isinstance(padding, (list, tuple)) and len(padding) == 4:
        if isinstance(padding[0], (list, tuple)):
            around = (padding[0], padding[3]) if last else padding[:2]
            if any(list(pair) != [0, 0] for pair in around):
                raise ValueError("Non-zero %s(%s) in the batch or channel dimensions is not supported." % (name, padding))
            padding = [size for pair in (padding[1:3] if last else padding[2:]) for size in pair]
        return [int(size) for size in padding], None
    return _pair(padding, name), None


def _ends(pads):
    """The options of a layer for four sizes, or for two."""
    if pads is None or len(pads) == 2:
        return {"padding": pads}
    return {"padding": pads[::2], "padding_end": pads[1::2], "has_padding_end": True}


def conv2d(input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None, bias_attr=None,
           use_cudnn=True, act=None, name=None, data_format="NCHW"):
    check_dtype(input, "input", "conv2d", _FLOATS)
    if not isinstance(use_cudnn, bool):
        raise ValueError("Attr(use_cudnn) should be True or False. Received Attr(use_cudnn): %s. " % use_cudnn)
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("Attr(data_format) should be 'NCHW' or 'NHWC'. Received Attr(data_format): %s." % data_format)
    pads, algorithm = _padding(padding, "padding", data_format == "NHWC")
    height, width = _pair(filter_size, "filter_size")
    return _layers.conv2d(
        net, input, num_filters, height, width, stride=_pair(stride, "stride"), padding_algorithm=algorithm, **_ends(pads),
        dilation=_pair(dilation, "dilation"), groups=groups, param_attr=_attr(param_attr), bias_attr=_attr(bias_attr),
        no_cudnn=not use_cudnn, act=act, name=name, data_format=data_format)


def pool2d(input, pool_size=-1, pool_type="max", pool_stride=1, pool_padding=0, global_pooling=False, use_cudnn=True,
           ceil_mode=False, name=None, exclusive=True, data_format="NCHW"):
    if pool_type not in ("max", "avg"):
        raise ValueError("Unknown Attr(pool_type): '%s'. It can only be 'max' or 'avg'." % pool_type)
    if not global_pooling and pool_size == -1:
        raise ValueError("When Attr(global_pooling) is False, Attr(pool_size) must be passed and be a valid value. "
                         "Received pool_size: %s." % pool_size)
    check_variable(input, "input", "pool2d")
    pads, algorithm = _padding(pool_padding, "pool_padding", data_format == "NHWC")
    return _layers.pool2d(
        net, input, size=_pair(pool_size, "pool_size"), type=pool_type, stride=_pair(pool_stride, "pool_stride"),
        padding_algorithm=algorithm, **_ends(pads), global_pooling=bool(global_pooling), no_cudnn=not use_cudnn,
        ceil_mode=bool(ceil_mode), name=name, inclusive=not exclusive, data_format=data_format)


__getattr__ = _names.guard(__name__)
