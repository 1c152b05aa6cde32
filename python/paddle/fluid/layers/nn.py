"""Fully connected, embeddings, products, reductions, shapes, normalisation, convolution, recurrent layers."""
import builtins

from skiff import _native

from paddle import _names
from paddle.fluid import core, framework
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


# ---- fully connected, embedding ----------------------------------------------------------------


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


# ---- activations with arguments ----------------------------------------------------------------


def relu(x, name=None):
    """max(x, 0)"""
    check_dtype(x, "x", "relu", _FLOATS)
    return _layers.relu(net, x) if name is None else simple_op("relu", {"X": x}, name=name)


def log(x, name=None):
    """Natural logarithm."""
    check_dtype(x, "x", "log", ("float32", "float64"))
    return _layers.log(net, x) if name is None else simple_op("log", {"X": x}, name=name)


def log1p(x, out=None, name=None):
    """log(1 + x)"""
    check_dtype(x, "x", "log1p", ("float32", "float64"))
    return simple_op("log1p", {"X": x}, name=name, out=out)


def sign(x):
    x = assign_array(x)
    check_dtype(x, "x", "sign", _FLOATS)
    return _layers.sign(net, x)


def leaky_relu(x, alpha=0.02, name=None):
    """x, or alpha * x below 0."""
    check_dtype(x, "x", "leaky_relu", _FLOATS)
    return _layers.leaky_relu(net, x, alpha=alpha, name=name)


def elu(x, alpha=1.0, name=None):
    """x, or alpha * (exp(x) - 1) below 0."""
    check_dtype(x, "x", "elu", _FLOATS)
    return _layers.elu(net, x, alpha=alpha, name=name)


def selu(x, scale=None, alpha=None, name=None):
    """scale * elu with fixed numbers."""
    check_dtype(x, "x", "selu", ("float32", "float64"))
    attrs = {key: value for key, value in (("scale", scale), ("alpha", alpha)) if value is not None}
    return simple_op("selu", {"X": x}, attrs, name=name)


def relu6(x, threshold=6.0, name=None):
    """Between 0 and the threshold."""
    check_dtype(x, "x", "relu6", _FLOATS)
    return _layers.relu6(net, x, threshold=threshold, name=name)


def brelu(x, t_min=0.0, t_max=24.0, name=None):
    """Between t_min and t_max."""
    check_dtype(x, "x", "brelu", _FLOATS)
    return simple_op("brelu", {"X": x}, {"t_min": float(t_min), "t_max": float(t_max)}, name=name)


def hard_sigmoid(x, slope=0.2, offset=0.5, name=None):
    """slope * x + offset between 0 and 1."""
    check_dtype(x, "x", "hard_sigmoid", _FLOATS)
    return _layers.hard_sigmoid(net, x, slope=slope, offset=offset, name=name)


def hard_swish(x, threshold=6.0, scale=6.0, offset=3.0, name=None):
    """x * min(max(x + offset, 0), threshold) / scale"""
    check_dtype(x, "x", "hard_swish", _FLOATS)
    return simple_op("hard_swish", {"X": x}, {"threshold": float(threshold), "scale": float(scale), "offset": float(offset)}, name=name)


def swish(x, beta=1.0, name=None):
    """x * sigmoid(beta * x)"""
    check_dtype(x, "x", "swish", _FLOATS)
    return _layers.swish(net, x, beta=beta, name=name)


def stanh(x, scale_a=0.67, scale_b=1.7159, name=None):
    """scale_b * tanh(scale_a * x)"""
    check_dtype(x, "x", "stanh", _FLOATS)
    return simple_op("stanh", {"X": x}, {"scale_a": float(scale_a), "scale_b": float(scale_b)}, name=name)


def softshrink(x, alpha=0.5):
    """x moved towards 0 by alpha."""
    check_dtype(x, "x", "softshrink", _FLOATS)
    return simple_op("softshrink", {"X": x}, {} if alpha is None else {"lambda": float(alpha)})


def pow(x, factor=1.0, name=None):
    """x to the factor, a number or a Variable."""
    check_dtype(x, "x", "pow", ("int32", "int64", "float32", "float64"))
    if isinstance(factor, framework.Variable):
        return _layers.pow(net, x, factor_var=factor, name=name)
    return _layers.pow(net, x, factor=factor, name=name)


def prelu(x, mode, param_attr=None, name=None):
    """leaky_relu with learned slopes; mode: all, channel, element."""
    check_dtype(x, "x", "prelu", _FLOATS)
    if mode not in ("all", "channel", "element"):
        raise ValueError("mode should be one of all, channel, element.")
    return _layers.prelu(net, x, mode, _attr(param_attr), name)


def softmax(input, use_cudnn=False, name=None, axis=-1):
    check_dtype(input, "input/x", "softmax", _FLOATS)
    return _layers.softmax(net, input, axis=axis, use_cudnn=bool(use_cudnn), name=name)


def scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None):
    """scale * x + bias, or scale * (x + bias)."""
    check_variable(x, "x", "scale")
    keys = {"scale_var": scale} if isinstance(scale, framework.Variable) else {"scale": float(scale)}
    return _layers.scale(net, x, bias=float(bias), bias_before_scale=not bias_after_scale, act=act, name=name, **keys)


def clip(x, min, max, name=None):
    """Between min and max."""
    check_dtype(x, "x", "clip", ("float32", "float64"))
    return _layers.clip(net, x, float(min), float(max), name)


def clamp(input, min=None, max=None, output=None, name=None):
    """clip with open ends."""
    if min is None and max is None:
        raise AssertionError("either min or max should be defined.")
    big = 3.4028234663852886e38
    return simple_op("clip", {"X": input}, {"min": -big if min is None else float(min),
                                            "max": big if max is None else float(max)}, name=name, out=output)


def clip_by_norm(x, max_norm, name=None):
    """Shrunk so that its norm is at most max_norm."""
    check_dtype(x, "x", "clip_by_norm", ("float32",))
    return _layers.clip_by_norm(net, x, float(max_norm), name)


def label_smooth(label, prior_dist=None, epsilon=0.1, dtype="float32", name=None):
    """(1 - epsilon) * label + epsilon * prior (None: uniform)."""
    if epsilon > 1.0 or epsilon < 0.0:
        raise ValueError("The value of epsilon must be between 0 and 1.")
    check_dtype(label, "label", "label_smooth", ("float32", "float64"))
    label.stop_gradient = True
    inputs = {"X": label} if prior_dist is None else {"X": label, "PriorDist": prior_dist}
    return simple_op("label_smooth", inputs, {"epsilon": float(epsilon)}, dtype, name)


# ---- two inputs --------------------------------------------------------------------------------


def _elementwise(kind):
    layer = getattr(_layers, "elementwise_" + kind)

    def function(x, y, axis=-1, act=None, name=None):
        check_variable(x, "x", "elementwise_" + kind)
        check_variable(y, "y", "elementwise_" + kind)
        return layer(net, x, y, axis=axis, act=act, name=name)

    function.__name__ = function.__qualname__ = "elementwise_" + kind
    function.__doc__ = "%s of two variables; the smaller one stands at `axis` of the larger (-1: at its end)." % kind
    return function


for _kind in ("add", "sub", "mul", "div", "max", "min", "pow", "mod", "floordiv"):
    globals()["elementwise_" + _kind] = _elementwise(_kind)


def _logical(kind):
    layer = getattr(_layers, "logical_" + kind)

    def function(x, y, out=None, name=None):
        check_dtype(x, "x", "logical_" + kind, ("bool",))
        check_dtype(y, "y", "logical_" + kind, ("bool",))
        return layer(net, x, y, out)

    function.__name__ = function.__qualname__ = "logical_" + kind
    function.__doc__ = "%s of two bool variables." % kind
    return function


for _kind in ("and", "or", "xor"):
    globals()["logical_" + _kind] = _logical(_kind)


def logical_not(x, out=None, name=None):
    check_dtype(x, "x", "logical_not", ("bool",))
    return _layers.logical_not(net, x, out)


def matmul(x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None):
    """Products of the last two dimensions."""
    check_dtype(x, "x", "matmul", _FLOATS)
    check_dtype(y, "y", "matmul", _FLOATS)
    return _layers.matmul(net, x, y, transpose_x=bool(transpose_x), transpose_y=bool(transpose_y), alpha=float(alpha),
                          name=name)


def mul(x, y, x_num_col_dims=1, y_num_col_dims=1, name=None):
    """Product of two matrices that x and y are flattened to."""
    check_dtype(x, "x", "mul", _FLOATS)
    check_dtype(y, "y", "mul", _FLOATS)
    return _layers.mul(net, x, y, x_num_col_dims=x_num_col_dims, y_num_col_dims=y_num_col_dims, name=name)


def dot(x, y, name=None):
    check_variable(x, "x", "dot")
    check_variable(y, "y", "dot")
    return _layers.dot(net, x, y, name)


def bmm(x, y, name=None):
    """Products of the matrices of two batches."""
    check_variable(x, "x", "bmm")
    return simple_op("bmm", {"X": x, "Y": y}, name=name)


def cos_sim(X, Y):
    """Cosine of each row of X with that of Y."""
    check_dtype(X, "X", "cos_sim", ("float32",))
    check_dtype(Y, "Y", "cos_sim", ("float32",))
    return _layers.cos_sim(net, X, Y)


def bilinear_tensor_product(x, y, size, act=None, name=None, param_attr=None, bias_attr=None):
    """x W_i y for every i below size."""
    check_variable(x, "x", "bilinear_tensor_product")
    return _layers.bilinear_tensor_product(net, x, y, size, act=act, name=name, param_attr=_attr(param_attr),
                                           bias_attr=_attr(bias_attr))


# ---- reductions --------------------------------------------------------------------------------


def mean(x, name=None):
    """The mean of everything, shape [1]."""
    check_dtype(x, "x", "mean", _FLOATS)
    return _layers.mean(net, x, name)


def _reduce(kind):
    layer = getattr(_layers, "reduce_" + kind)
    allowed = ("bool",) if kind in ("all", "any") else ("float32", "float64", "int32", "int64")

    def function(input, dim=None, keep_dim=False, name=None):
        check_dtype(input, "input", "reduce_" + kind, allowed)
        if dim is not None and not isinstance(dim, (list, tuple)):
            dim = [dim]
        return layer(net, input, dim=dim, keep_dim=bool(keep_dim), name=name)

    function.__name__ = function.__qualname__ = "reduce_" + kind
    function.__doc__ = "%s over dimensions (None: all)." % kind
    return function


for _kind in ("sum", "mean", "max", "min", "prod", "all", "any"):
    globals()["reduce_" + _kind] = _reduce(_kind)


def sum(x):
    """The sum of a list of variables."""
    from paddle.fluid.layers.tensor import sums
    check_variable(x, "x", "sum", several=True)
    return sums(x)


def l2_normalize(x, axis, epsilon=1e-12, name=None):
    """Divided by its norm along an axis."""
    check_variable(x, "x", "norm")
    return _layers.l2_normalize(net, x, axis, epsilon, name)


def logsumexp(x, dim=None, keepdim=False, out=None, name=None):
    """log of the sum of exp."""
    result = _layers.log(net, globals()["reduce_sum"](_layers.exp(net, x), dim=dim, keep_dim=keepdim))
    return result if out is None else _layers.assign(net, result, out)


# ---- shapes ------------------------------------------------------------------------------------


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


def flatten(x, axis=1, name=None):
    """A matrix: dimensions before axis are rows."""
    check_variable(x, "x", "flatten")
    if not isinstance(axis, int) or axis > len(x.shape) or axis < 0:
        raise ValueError("The axis should be a int, and in range [0, rank(x)]")
    return _layers.flatten(net, x, axis, name)


def squeeze(input, axes, name=None):
    check_variable(input, "input", "squeeze")
    return _layers.squeeze(net, input, list(axes), name)


def unsqueeze(input, axes, name=None):
    check_variable(input, "input", "unsqueeze")
    return _layers.unsqueeze(net, input, list(axes) if isinstance(axes, (list, tuple)) else [axes], name)


def transpose(x, perm, name=None):
    check_variable(x, "x", "transpose")
    if not isinstance(perm, (list, tuple)):
        raise TypeError("The type of 'perm' in transpose must be list or tuple, but received %s." % type(perm))
    if len(perm) != len(x.shape):
        raise ValueError("Input(perm) is the permutation of dimensions of Input(x), its length should be equal to "
                         "dimensions of Input(x), but received dimension of Input(x) is %s, the length of Input(perm) is %s."
                         % (len(x.shape), len(perm)))
    return _layers.transpose(net, x, list(perm), name)


def t(input, name=None):
    """The transpose of a matrix; a vector stays."""
    if len(input.shape) > 2:
        raise ValueError("Input(input) only support N-D (N<=2) tensor, but received length of Input(input) is %s." %
                         len(input.shape))
    return input if len(input.shape) < 2 else transpose(input, [1, 0], name)


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


def split(input, num_or_sections, dim=-1, name=None):
    """A list of pieces: a number of equal ones, or of given sizes."""
    check_variable(input, "input", "split")
    if not isinstance(num_or_sections, (int, list, tuple)):
        raise TypeError("The type of 'num_or_sections' in split must be int, list or tuple, but received %s." %
                        type(num_or_sections))
    if not isinstance(dim, int):
        raise TypeError("The type of 'dim' in split must be int, but received %s." % type(dim))
    if isinstance(num_or_sections, int):
        return list(_layers.split(net, input, num_or_sections, [], dim))
    return list(_layers.split(net, input, 0, _dims(num_or_sections, "split"), dim))


def stack(x, axis=0):
    """Joined along a new axis."""
    check_variable(x, "x", "stack", several=True)
    return _layers.stack(net, list(x) if isinstance(x, (list, tuple)) else [x], axis)


def unstack(x, axis=0, num=None):
    """A list of the slices along an axis."""
    check_variable(x, "x", "unstack")
    return list(_layers.unstack(net, x, axis, x.shape[axis] if num is None else num))


def shape(input):
    """The shape as an int32 variable."""
    check_variable(input, "input", "shape")
    return _layers.shape(net, input)


def rank(input):
    """The number of dimensions as an int32 variable."""
    import numpy
    from paddle.fluid.layers.tensor import assign
    check_variable(input, "input", "rank")
    return assign(numpy.array(len(input.shape), "int32").reshape([1]))


def size(input):
    """The number of elements as an int64 variable."""
    check_variable(input, "input", "size")
    return simple_op("size", {"Input": input}, dtype=core.VarType.INT64)


def gather(input, index, overwrite=True):
    """Rows by index."""
    check_variable(input, "input", "gather")
    check_dtype(index, "index", "gather", ("int32", "int64"))
    return _layers.gather(net, input, index, not overwrite)


def gather_nd(input, index, name=None):
    """Elements or slices by a list of positions."""
    check_variable(input, "input", "gather_nd")
    return _layers.gather_nd(net, input, index, name)


def scatter(input, index, updates, name=None, overwrite=True):
    """A copy with rows replaced, or added to."""
    check_variable(input, "input", "scatter")
    return _layers.scatter(net, input, index, updates, not overwrite, name)


def index_select(input, index, dim=0):
    """Slices by index along a dimension."""
    check_variable(input, "x", "index_select")
    return simple_op("index_select", {"X": input, "Index": index}, {"dim": dim})


def where(condition):
    """Positions of the true elements (int64 [n, rank])."""
    check_dtype(condition, "condition", "where", ("bool", "int32", "int64", "float32", "float64"))
    return simple_op("where_index", {"Condition": condition}, dtype=core.VarType.INT64, layer="where_index")


def nonzero(input, as_tuple=False):
    """where of a numeric variable; as_tuple: one [n, 1] variable per dimension."""
    found = where(input)
    if not as_tuple:
        return found
    return tuple(slice(found, [1], [i], [i + 1]) for i in builtins.range(len(input.shape)))


def one_hot(input, depth, allow_out_of_range=False):
    """Rows with a 1 at the id; the ids end with a dimension of 1."""
    check_dtype(input, "input", "one_hot", ("int32", "int64"))
    return _layers.one_hot(net, input, depth, bool(allow_out_of_range))


def topk(input, k, name=None):
    """(the k largest of each row, their positions)"""
    check_variable(input, "input", "topk")
    if not isinstance(k, framework.Variable):
        return _layers.topk(net, input, k, name)
    helper = LayerHelper("top_k", name=name)
    values = helper.create_variable_for_type_inference(dtype=input.dtype)
    ids = helper.create_variable_for_type_inference(dtype="int64", stop_gradient=True)
    helper.append_op(type="top_k", inputs={"X": [input], "K": [k]}, outputs={"Out": [values], "Indices": [ids]})
    return values, ids


def tril(input, diagonal=0, name=None):
    """The lower triangle."""
    return simple_op("tril_triu", {"X": input}, {"diagonal": diagonal, "lower": True}, name=name)


def triu(input, diagonal=0, name=None):
    """The upper triangle."""
    return simple_op("tril_triu", {"X": input}, {"diagonal": diagonal, "lower": False}, name=name)


def get_tensor_from_selected_rows(x, name=None):
    check_variable(x, "x", "get_tensor_from_selected_rows")
    return _layers.get_tensor_from_selected_rows(net, x, name)


def merge_selected_rows(x, name=None):
    """Repeated rows of SelectedRows added up."""
    check_variable(x, "x", "merge_selected_rows")
    return _layers.merge_selected_rows(net, x, name)


# ---- random numbers and constants --------------------------------------------------------------


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


def sampling_id(x, min=0.0, max=1.0, seed=0, dtype="float32"):
    """One position per row, drawn by the row's probabilities."""
    check_variable(x, "x", "sampling_id")
    return _layers.sampling_id(net, x, min=float(min), max=float(max), seed=seed, dtype=dtype_name(dtype))


def full(shape, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """fill_constant."""
    result = fill_constant(shape, dtype or "float32", fill_value, out=out)
    result.stop_gradient = stop_gradient
    return result


def full_like(input, fill_value, out=None, dtype=None, device=None, stop_gradient=True, name=None):
    """The input's shape full of one value."""
    kind = dtype_name(dtype) or dtype_name(input.dtype)
    return simple_op("fill_any_like", {"X": input}, {"value": float(fill_value), "dtype": int(core.BY_DTYPE[kind])},
                     dtype=kind, out=out, layer="full_like", stop_gradient=stop_gradient)


def hash(input, hash_size, num_hash=1, name=None):
    """XXH64 of every row of ids, num_hash times, modulo hash_size."""
    check_dtype(input, "input", "hash", ("int32", "int64"))
    return _layers.hash(net, input, hash_size, num_hash, name)


def autoincreased_step_counter(counter_name=None, begin=1, step=1):
    """A variable that counts the runs of the program."""
    return _layers.autoincreased_step_counter(net, counter_name, begin, step)


# ---- normalisation, convolution, recurrent -----------------------------------------------------


def dropout(x, dropout_prob, is_test=False, seed=None, name=None, dropout_implementation="downgrade_in_infer"):
    """Elements set to 0 with a probability, in training."""
    check_dtype(x, "x", "dropout", _FLOATS)
    return _layers.dropout(net, x, float(dropout_prob), is_test=bool(is_test), seed=seed,
                           name=name, implementation=dropout_implementation)


def batch_norm(input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, bias_attr=None,
               data_layout="NCHW", in_place=False, name=None, moving_mean_name=None, moving_variance_name=None,
               do_model_average_for_mean_and_var=True, use_global_stats=False):
    check_dtype(input, "input", "batch_norm", _FLOATS)
    moving = isinstance(momentum, framework.Variable)
    if bias_attr is False:
        raise AssertionError("bias_attr should not be False in batch_norm.")
    return _layers.batch_norm(
        net, input, act=act, is_test=bool(is_test), momentum=None if moving else momentum,
        momentum_var=momentum if moving else None, epsilon=epsilon, param_attr=_attr(param_attr),
        bias_attr=_attr(bias_attr), data_layout=data_layout, in_place=bool(in_place), name=name,
        moving_mean_name=moving_mean_name, moving_variance_name=moving_variance_name,
        no_model_average=not do_model_average_for_mean_and_var, use_global_stats=bool(use_global_stats))


def layer_norm(input, scale=True, shift=True, begin_norm_axis=1, epsilon=1e-05, param_attr=None, bias_attr=None,
               act=None, name=None):
    check_dtype(input, "input", "layer_norm", ("float32", "float64"))
    return _layers.layer_norm(net, input, no_scale=not scale, no_shift=not shift, begin_norm_axis=begin_norm_axis,
                              epsilon=epsilon, param_attr=_attr(param_attr), bias_attr=_attr(bias_attr), act=act,
                              name=name)


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


def dynamic_gru(input, size, param_attr=None, bias_attr=None, is_reverse=False, gate_activation="sigmoid",
                candidate_activation="tanh", h_0=None, origin_mode=False):
    """A GRU over each sequence; input has 3 * size columns."""
    check_dtype(input, "input", "dynamic_gru", ("float32", "float64"))
    return _layers.dynamic_gru(net, input, size, param_attr=_attr(param_attr), bias_attr=_attr(bias_attr),
                               is_reverse=bool(is_reverse), gate_activation=gate_activation,
                               candidate_activation=candidate_activation, h_0=h_0, origin_mode=bool(origin_mode))


def gru_unit(input, hidden, size, param_attr=None, bias_attr=None, activation="tanh", gate_activation="sigmoid",
             origin_mode=False):
    """One step: (hidden, reset hidden, gates)."""
    check_variable(input, "input", "gru_unit")
    return _layers.gru_unit(net, input, hidden, size, param_attr=_attr(param_attr), bias_attr=_attr(bias_attr),
                            candidate_activation=activation, gate_activation=gate_activation,
                            origin_mode=bool(origin_mode))


def dynamic_lstm(input, size, h_0=None, c_0=None, param_attr=None, bias_attr=None, use_peepholes=True, is_reverse=False,
                 gate_activation="sigmoid", cell_activation="tanh", candidate_activation="tanh", dtype="float32",
                 name=None):
    """An LSTM over each sequence: (hidden, cell); input has `size` = 4 * hidden columns."""
    check_dtype(input, "input", "dynamic_lstm", ("float32", "float64"))
    if bias_attr is False:
        raise AssertionError("bias_attr should not be False in dynamic_lstm.")
    return _layers.dynamic_lstm(
        net, input, size, h_0=h_0, c_0=c_0, param_attr=_attr(param_attr), bias_attr=_attr(bias_attr),
        no_peepholes=not use_peepholes, is_reverse=bool(is_reverse), gate_activation=gate_activation,
        cell_activation=cell_activation, candidate_activation=candidate_activation, dtype=dtype_name(dtype), name=name)


__getattr__ = _names.guard(__name__)
