"""Elements moved, cut out, repeated, picked, counted; some functions of single elements."""
import builtins

from paddle import _names
from paddle.fluid import core, framework
from paddle.fluid.framework import dtype_name
from paddle.fluid.layer_helper import LayerHelper, check_dtype, check_variable, simple_op
from paddle.fluid.layers.tensor import fill_constant, numbers_of

_FLOATS = ("float16", "float32", "float64")

__all__ = ["acos", "asin", "atan", "tanh_shrink", "thresholded_relu", "hard_shrink", "soft_relu", "mish", "has_nan", "has_inf",
           "allclose", "crop", "crop_tensor", "pad", "pad2d", "pad_constant_like", "reverse", "flip", "meshgrid",
           "diag", "diag_embed", "trace", "eye", "linspace", "arange", "unfold", "pixel_shuffle", "space_to_depth",
           "shuffle_channel", "expand_as", "scatter_nd", "scatter_nd_add", "multiplex", "index_sample", "unique",
           "unique_with_counts", "cumsum", "kron", "addmm", "cross", "dist", "uniform_random_batch_size_like",
           "gaussian_random_batch_size_like", "randperm"]


def _unary(kind):
    def function(x, name=None):
        check_dtype(x, "x", kind, _FLOATS)
        return simple_op(kind, {"X": x}, name=name)

    function.__name__ = function.__qualname__ = kind
    function.__doc__ = "%s of every element." % kind
    return function


acos, asin, atan, tanh_shrink = [_unary(kind) for kind in ("acos", "asin", "atan", "tanh_shrink")]


def _with_threshold(kind, x, threshold, name=None):
    check_dtype(x, "x", kind, _FLOATS)
    return simple_op(kind, {"X": x}, {} if threshold is None else {"threshold": float(threshold)}, name=name)


def thresholded_relu(x, threshold=None):
    """x above the threshold (1), else 0."""
    return _with_threshold("thresholded_relu", x, threshold)


def hard_shrink(x, threshold=None):
    """x beyond the threshold (0.5) on either side, else 0."""
    return _with_threshold("hard_shrink", x, threshold)


def soft_relu(x, threshold=40.0, name=None):
    """log(1 + exp(x)), x kept within the threshold."""
    return _with_threshold("soft_relu", x, threshold, name)


def mish(x, threshold=20, name=None):
    """x * tanh(log(1 + exp(x)))"""
    return _with_threshold("mish", x, threshold, name)


def has_nan(x):
    """Whether any element is NaN."""
    check_variable(x, "x", "has_nan")
    return simple_op("isnan", {"X": x})


def has_inf(x):
    """Whether any element is infinite."""
    check_variable(x, "x", "has_inf")
    return simple_op("isinf", {"X": x})


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False, name=None):
    """|input - other| <= atol + rtol * |other| everywhere."""
    return simple_op("allclose", {"Input": input, "Other": other}, {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}, "bool",
                     name)


# ---- parts and borders ---------------------------------------------------------------------------


def crop_tensor(x, shape=None, offsets=None, name=None):
    """The part of `shape` that begins at `offsets`; -1 takes the rest."""
    check_variable(x, "x", "crop_tensor")
    inputs, attrs = {"X": x}, {}
    for values, names in ((list(x.shape) if shape is None else shape, ("Shape", "ShapeTensor", "shape")),
                          ([0] * len(x.shape) if offsets is None else offsets, ("Offsets", "OffsetsTensor", "offsets"))):
        more, numbers = numbers_of(values, "crop_tensor", *names)
        inputs.update(more)
        attrs.update(numbers)
    return simple_op("crop_tensor", inputs, attrs, x.dtype, name)


def crop(x, shape=None, offsets=None, name=None):
    """The part of `shape` (or as large as another variable) that begins at `offsets`."""
    check_variable(x, "x", "crop")
    if not isinstance(shape, (list, tuple, framework.Variable)):
        raise ValueError("The shape should be a list, tuple or Variable.")
    offsets = [0] * len(x.shape) if offsets is None else offsets
    inputs, attrs = {"X": x}, {}
    for value, slot, attr in ((shape, "Y", "shape"), (offsets, "Offsets", "offsets")):
        if isinstance(value, framework.Variable):
            inputs[slot] = value
        else:
            attrs[attr] = list(value)
    return simple_op("crop", inputs, attrs, x.dtype, name)


def pad(x, paddings, pad_value=0.0, name=None):
    """Borders of one value; paddings: before and after, for every dimension."""
    check_variable(x, "x", "pad")
    return simple_op("pad", {"X": x}, {"paddings": list(paddings), "pad_value": float(pad_value)}, name=name)


def pad2d(input, paddings=(0, 0, 0, 0), mode="constant", pad_value=0.0, data_format="NCHW", name=None):
    """Borders of pictures: top, bottom, left, right."""
    check_variable(input, "input", "pad2d")
    inputs, attrs = {"X": input}, {"mode": mode, "pad_value": float(pad_value), "data_format": data_format}
    if isinstance(paddings, framework.Variable):
        inputs["Paddings"] = paddings
        attrs["paddings"] = []
    else:
        attrs["paddings"] = list(paddings)
    return simple_op("pad2d", inputs, attrs, name=name)


def pad_constant_like(x, y, pad_value=0.0, name=None):
    """y with borders at its ends, as large as x."""
    check_variable(x, "x", "pad_constant_like")
    return simple_op("pad_constant_like", {"X": x, "Y": y}, {"pad_value": float(pad_value)}, name=name)


def reverse(x, axis):
    """Elements in opposite order along the axes."""
    check_variable(x, "x", "reverse")
    return simple_op("reverse", {"X": x}, {"axis": [axis] if isinstance(axis, int) else list(axis)})


def flip(input, dims, name=None):
    """Elements in opposite order along the dimensions."""
    check_variable(input, "X", "flip")
    return simple_op("reverse", {"X": input}, {"axis": list(dims)}, name=name, layer="flip")


def meshgrid(input, name=None):
    """Vectors repeated to a common grid."""
    check_variable(input, "input", "meshgrid", several=True)
    helper = LayerHelper("meshgrid", name=name)
    outs = [helper.create_variable_for_type_inference(dtype=v.dtype) for v in input]
    helper.append_op(type="meshgrid", inputs={"X": list(input)}, outputs={"Out": outs})
    return outs


def unfold(x, kernel_sizes, strides=1, paddings=0, dilations=1, name=None):
    """The pixels under a filter at every position, as columns."""
    check_variable(x, "x", "unfold")
    pads = [paddings] * 4 if isinstance(paddings, int) else list(paddings) * (2 if len(paddings) == 2 else 1)
    two = [[v, v] if isinstance(v, int) else list(v) for v in (kernel_sizes, strides, dilations)]
    if len(pads) != 4 or any(len(v) != 2 for v in two):
        raise ValueError("unfold: kernel_sizes, strides and dilations are 2 numbers, paddings 2 or 4")
    return simple_op("unfold", {"X": x}, {"kernel_sizes": two[0], "strides": two[1], "paddings": pads, "dilations": two[2]},
                     name=name, slot="Y")


def pixel_shuffle(x, upscale_factor):
    """Channels as pixels of a larger picture."""
    check_variable(x, "x", "pixel_shuffle")
    if not isinstance(upscale_factor, int):
        raise TypeError("upscale factor must be int type")
    return simple_op("pixel_shuffle", {"X": x}, {"upscale_factor": upscale_factor})


def _regroup(x, shape, order, last):
    from paddle.fluid.layers.nn import reshape, transpose
    return reshape(transpose(reshape(x, shape), order), last)


def space_to_depth(x, blocksize, name=None):
    """Blocks of pixels as channels."""
    check_variable(x, "x", "space_to_depth")
    n, c, h, w = x.shape
    b = blocksize
    return _regroup(x, [n, c, h // b, b, w // b, b], [0, 3, 5, 1, 2, 4], [n, c * b * b, h // b, w // b])


def shuffle_channel(x, group, name=None):
    """Channels of the groups one by one."""
    check_variable(x, "x", "shuffle_channel")
    n, c, h, w = x.shape
    return _regroup(x, [n, group, c // group, h, w], [0, 2, 1, 3, 4], [n, c, h, w])


def expand_as(x, target_tensor, name=None):
    """x repeated to the size of another variable."""
    check_variable(x, "x", "expand_as")
    check_variable(target_tensor, "target_tensor", "expand_as")
    return simple_op("expand_as", {"X": x, "target_tensor": target_tensor}, name=name)


# ---- diagonals, numbers --------------------------------------------------------------------------


def diag(diagonal):
    """A matrix with a vector on its diagonal."""
    if not isinstance(diagonal, framework.Variable):
        from paddle.fluid.layers.tensor import assign
        diagonal = assign(diagonal)
    return simple_op("diag", {"Diagonal": diagonal}, stop_gradient=True)


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """The last dimension on the diagonal of two new ones."""
    from paddle.fluid.layers.tensor import assign_array
    return simple_op("diag_embed", {"Input": assign_array(input)}, {"offset": offset, "dim1": dim1, "dim2": dim2})


def trace(input, offset=0, dim1=0, dim2=1, out=None, name=None):
    """The sum of a diagonal."""
    return simple_op("trace", {"Input": input}, {"offset": offset, "dim1": dim1, "dim2": dim2}, name=name, out=out)


def eye(num_rows, num_columns=None, batch_shape=None, dtype="float32"):
    """Ones on the diagonal."""
    if not isinstance(num_rows, int) or num_rows < 0:
        raise TypeError("num_rows should be a non-negative int")
    out = simple_op("eye", {}, {"num_rows": num_rows, "num_columns": num_rows if num_columns is None else num_columns,
                                "dtype": core.BY_DTYPE[dtype_name(dtype)]}, dtype_name(dtype), stop_gradient=True)
    if batch_shape is None:
        return out
    from paddle.fluid.layers.nn import expand, stack
    for size in reversed(batch_shape):
        out = stack([out], axis=0)
        out = expand(out, [size] + [1] * (len(out.shape) - 1))
    return out


def linspace(start, stop, num, dtype):
    """num numbers from start to stop."""
    dtype = dtype_name(dtype)
    helper = LayerHelper("linspace")
    ends = [v if isinstance(v, framework.Variable) else fill_constant([1], dtype, v) for v in (start, stop)]
    count = num if isinstance(num, framework.Variable) else fill_constant([1], "int32", num)
    return simple_op("linspace", {"Start": ends[0], "Stop": ends[1], "Num": count}, dtype=dtype, helper=helper)


def arange(start, end=None, step=1, dtype=None, name=None):
    """start, start + step, ... below end."""
    from paddle.fluid.layers.tensor import range as numbers
    start, end = (0, start) if end is None else (start, end)
    return numbers(start, end, step, "int64" if dtype is None else dtype)


def randperm(n, out=None, dtype="int64", device=None, stop_gradient=True, seed=0):
    """0 .. n-1 in random order."""
    return simple_op("randperm", {}, {"n": n, "dtype": core.BY_DTYPE[dtype_name(dtype)], "seed": seed}, dtype_name(dtype), out=out,
                     stop_gradient=stop_gradient)


def _random_like(kind, input, shape, more, seed, input_dim_idx, output_dim_idx, dtype):
    check_variable(input, "input", kind)
    attrs = {"shape": list(shape), "input_dim_idx": input_dim_idx, "output_dim_idx": output_dim_idx, "seed": seed,
             "dtype": core.BY_DTYPE[dtype_name(dtype)]}
    attrs.update(more)
    return simple_op(kind, {"Input": input}, attrs, dtype_name(dtype))


def uniform_random_batch_size_like(input, shape, dtype="float32", input_dim_idx=0, output_dim_idx=0, min=-1.0, max=1.0, seed=0):
    """Uniform random numbers, with one dimension taken from input."""
    return _random_like("uniform_random_batch_size_like", input, shape, {"min": float(min), "max": float(max)}, seed, input_dim_idx,
                        output_dim_idx, dtype)


def gaussian_random_batch_size_like(input, shape, input_dim_idx=0, output_dim_idx=0, mean=0.0, std=1.0, seed=0, dtype="float32"):
    """Normal random numbers, with one dimension taken from input."""
    return _random_like("gaussian_random_batch_size_like", input, shape, {"mean": float(mean), "std": float(std)}, seed,
                        input_dim_idx, output_dim_idx, dtype)


# ---- picked and counted --------------------------------------------------------------------------


def scatter_nd_add(ref, index, updates, name=None):
    """ref with updates added at coordinates."""
    if ref.dtype != updates.dtype:
        raise ValueError("ref and updates must have same data type.")
    return simple_op("scatter_nd_add", {"X": ref, "Index": index, "Updates": updates}, name=name)


def scatter_nd(index, updates, shape, name=None):
    """Zeros of a shape with updates added at coordinates."""
    from paddle.fluid.layers.tensor import zeros
    return scatter_nd_add(zeros(shape, updates.dtype), index, updates, name)


def multiplex(inputs, index):
    """Row i of variable index[i] of the inputs."""
    if not isinstance(inputs, list) or len(inputs) < 2:
        raise ValueError("inputs should be a list object with at least 2 elements.")
    return simple_op("multiplex", {"X": inputs, "Ids": index})


def index_sample(x, index):
    """Elements of every row by number."""
    check_variable(x, "x", "index_sample")
    return simple_op("index_sample", {"X": x, "Index": index})


def _unique(kind, x, dtype, slots):
    check_variable(x, "x", kind)
    helper = LayerHelper(kind)
    outs = [helper.create_variable_for_type_inference(dtype=x.dtype)]
    outs += [helper.create_variable_for_type_inference(dtype=dtype_name(dtype)) for _ in slots]
    helper.append_op(type=kind, inputs={"X": x}, outputs=dict(builtins.zip(["Out"] + slots, ([out] for out in outs))),
                     attrs={"dtype": core.BY_DTYPE[dtype_name(dtype)]})
    return tuple(outs)


def unique(x, dtype="int32"):
    """(the different elements as they are met, which of them every element is)"""
    return _unique("unique", x, dtype, ["Index"])


def unique_with_counts(x, dtype="int32"):
    """(the different elements as they are met, which of them every element is, how often each occurs)"""
    return _unique("unique_with_counts", x, dtype, ["Index", "Count"])


def cumsum(x, axis=None, exclusive=None, reverse=None):
    """Running sums along the axis."""
    check_variable(x, "x", "cumsum")
    given = (("axis", axis), ("exclusive", exclusive), ("reverse", reverse))
    return simple_op("cumsum", {"X": x}, {key: value for key, value in given if value is not None})


def kron(x, y, out=None, name=None):
    """Every element of x times all of y."""
    return simple_op("kron", {"X": x, "Y": y}, name=name, out=out)


def addmm(input, x, y, alpha=1.0, beta=1.0, name=None):
    """beta * input + alpha * x @ y"""
    return simple_op("addmm", {"Input": input, "X": x, "Y": y}, {"Alpha": float(alpha), "Beta": float(beta)}, name=name)


def cross(input, other, dim=None):
    """The vector product along a dimension of 3 (None: the first such)."""
    return simple_op("cross", {"X": input, "Y": other}, {} if dim is None else {"dim": dim})


def dist(x, y, p=2):
    """The p-norm of x - y."""
    return simple_op("dist", {"X": x, "Y": y}, {"p": float(p)})


__getattr__ = _names.guard(__name__)
