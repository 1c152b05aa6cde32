"""Making variables: parameters, constants, copies."""
from skiff import _native

from paddle import _names
from paddle.fluid import core, framework
from paddle.fluid._build import net
from paddle.fluid.framework import dtype_name
from paddle.fluid.layer_helper import LayerHelper, check_variable, simple_op
from paddle.fluid.param_attr import ParamAttr

_layers = _native.layers

__all__ = ["create_tensor", "create_parameter", "create_global_var", "cast", "tensor_array_to_tensor", "concat", "sums",
           "assign", "fill_constant_batch_size_like", "fill_constant", "argmin", "argmax", "argsort", "ones", "zeros",
           "isfinite", "range", "zeros_like", "ones_like"]


def _dims(shape, layer):
    """A list of ints of a shape; what is no shape gives a TypeError."""
    if isinstance(shape, framework.Variable):
        raise NotImplementedError("%s: Skiff takes the shape as numbers, not as a Variable" % layer)
    if not isinstance(shape, (list, tuple)):
        raise TypeError("The type of 'shape' in %s must be list or tuple, but received %s." % (layer, type(shape)))
    if any(isinstance(d, framework.Variable) for d in shape):
        raise NotImplementedError("%s: Skiff takes the shape as numbers, not as Variables" % layer)
    return [-1 if d is None else int(d) for d in shape]


def numbers_of(values, layer, tensor, tensors, attr):
    """({slot: variables}, {attr: numbers}) of a Variable, or of a list that may hold some."""
    if isinstance(values, framework.Variable):
        values.stop_gradient = True
        return {tensor: values}, {}
    if not isinstance(values, (list, tuple)):
        raise TypeError("The type of '%s' in %s must be list, tuple or Variable, but received %s." % (attr, layer, type(values)))
    if not any(isinstance(v, framework.Variable) for v in values):
        return {}, {attr: list(values)}
    given = [v if isinstance(v, framework.Variable) else fill_constant([1], "int32", v, force_cpu=True) for v in values]
    return {tensors: given}, {attr: [-1 if isinstance(v, framework.Variable) else v for v in values]}


def assign_array(x):
    """A variable of an array; a variable as it is."""
    return assign(x) if hasattr(x, "__array__") and not isinstance(x, framework.Variable) else x


def drawn(kind, shape, attrs, dtype):
    """A random op whose shape is a Variable or holds some; None when it is all numbers."""
    more, numbers = numbers_of(shape, kind, "ShapeTensor", "ShapeTensorList", "shape")
    if not more:
        return None
    attrs = dict(attrs, dtype=core.BY_DTYPE[dtype_name(dtype)], shape=numbers.get("shape", []))
    return simple_op(kind, more, attrs, dtype_name(dtype), stop_gradient=True)


def create_tensor(dtype, name=None, persistable=False):
    """A variable without a writer."""
    return _layers.create_tensor(net, dtype_name(dtype), name, bool(persistable))


def create_parameter(shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None):
    """A parameter."""
    attr = ParamAttr._to_attr(attr) if attr is not None else None
    return _layers.create_parameter(net, _dims(shape, "create_parameter"), dtype=dtype_name(dtype), name=name, attr=attr,
                                    is_bias=bool(is_bias), default_initializer=default_initializer)


def create_global_var(shape, value, dtype, persistable=False, force_cpu=False, name=None):
    """A variable that the startup program sets to value."""
    return _layers.create_global_var(net, _dims(shape, "create_global_var"), float(value), dtype=dtype_name(dtype),
                                     persistable=bool(persistable), force_cpu=bool(force_cpu), name=name)


def cast(x, dtype):
    """The same values in another type."""
    check_variable(x, "x", "cast")
    return _layers.cast(net, x, dtype_name(dtype))


def concat(input, axis=0, name=None):
    """Joined along an axis."""
    check_variable(input, "input", "concat", several=True)
    if not isinstance(axis, int):
        raise TypeError("The type of 'axis' in concat must be int, but received %s." % type(axis))
    return _layers.concat(net, input if isinstance(input, (list, tuple)) else [input], axis, name)


def sums(input, out=None):
    """The sum of a list of variables."""
    check_variable(input, "input", "sums", several=True)
    return _layers.sums(net, input if isinstance(input, (list, tuple)) else [input], out)


def assign(input, output=None):
    """A copy of a variable, or of a numpy array."""
    if isinstance(input, framework.Variable):
        return _layers.assign(net, input, output)
    import numpy
    if isinstance(input, (list, tuple, int, float, bool)):
        input = numpy.array(input)
    if not isinstance(input, numpy.ndarray):
        raise TypeError("The type of 'input' in assign must be Variable or numpy.ndarray, but received %s." % type(input))
    if input.dtype == numpy.float64:
        input = input.astype("float32")
    if input.dtype.name not in ("float32", "int32", "int64", "bool"):
        raise TypeError("When the type of 'input' in assign is numpy.ndarray, the data type of 'input' must be bool, "
                        "float32, int32 or int64, but received %s." % input.dtype)
    if input.size > 1024 * 1024:
        raise ValueError("The size of input is too big. Please consider saving it to file and 'load_op' to load it")
    return _layers.assign_value(net, list(input.shape), input.dtype.name, numpy.ascontiguousarray(input), output)


def fill_constant(shape, dtype, value, force_cpu=False, out=None):
    """A tensor of equal values."""
    more, numbers = numbers_of(shape, "fill_constant", "ShapeTensor", "ShapeTensorList", "shape")
    if isinstance(value, framework.Variable):
        more, value = dict(more, ValueTensor=value), 0
    if more:
        attrs = {"value": float(value), "str_value": str(float(value)), "dtype": core.BY_DTYPE[dtype_name(dtype)],
                 "force_cpu": bool(force_cpu), "shape": numbers.get("shape", [])}
        return simple_op("fill_constant", more, attrs, dtype_name(dtype), out=out, stop_gradient=True)
    return _layers.fill_constant(net, _dims(shape, "fill_constant"), dtype_name(dtype), float(value),
                                 force_cpu=bool(force_cpu), out=out)


def fill_constant_batch_size_like(input, shape, dtype, value, input_dim_idx=0, output_dim_idx=0, force_cpu=False):
    """fill_constant with one dimension taken from input."""
    check_variable(input, "input", "fill_constant_batch_size_like")
    return _layers.fill_constant_batch_size_like(
        net, input, _dims(shape, "fill_constant_batch_size_like"), dtype_name(dtype), float(value),
        input_dim_idx=input_dim_idx, output_dim_idx=output_dim_idx, force_cpu=bool(force_cpu))


def ones(shape, dtype, force_cpu=False):
    return fill_constant(shape, dtype, 1.0, force_cpu)


def zeros(shape, dtype, force_cpu=False):
    return fill_constant(shape, dtype, 0.0, force_cpu)


def zeros_like(x, out=None):
    check_variable(x, "x", "zeros_like")
    return _layers.zeros_like(net, x, out)


def ones_like(x, out=None):
    check_variable(x, "x", "ones_like")
    return _layers.ones_like(net, x, out)


def argmax(x, axis=0):
    """Position of the largest along an axis."""
    check_variable(x, "x", "argmax")
    return _layers.argmax(net, x, axis)


def argmin(x, axis=0):
    """Position of the smallest along an axis."""
    check_variable(x, "x", "argmin")
    return simple_op("arg_min", {"X": x}, {"axis": axis}, core.VarType.INT64)


def argsort(input, axis=-1, descending=False, name=None):
    """(sorted values, positions)"""
    check_variable(input, "input", "argsort")
    helper = LayerHelper("argsort", name=name)
    out = helper.create_variable_for_type_inference(dtype=input.dtype, stop_gradient=True)
    ids = helper.create_variable_for_type_inference(core.VarType.INT64, stop_gradient=True)
    helper.append_op(type="argsort", inputs={"X": input}, outputs={"Out": out, "Indices": ids},
                     attrs={"axis": axis, "descending": bool(descending)})
    return out, ids


def isfinite(x):
    """Whether all values are finite."""
    check_variable(x, "x", "isfinite")
    return _layers.isfinite(net, x)


def range(start, end, step, dtype):
    """start, start + step, ... below end."""
    dtype = dtype_name(dtype)
    values = [v if isinstance(v, framework.Variable) else fill_constant([1], dtype, v) for v in (start, end, step)]
    helper = LayerHelper("range")
    out = helper.create_variable_for_type_inference(dtype=dtype)
    helper.append_op(type="range", inputs={"Start": values[0], "End": values[1], "Step": values[2]},
                     outputs={"Out": [out]})
    out.stop_gradient = True
    return out


def tensor_array_to_tensor(input, axis=1, name=None, use_stack=False):
    """(the items of a tensor array joined or stacked, their sizes)"""
    check_variable(input, "input", "tensor_array_to_tensor")
    helper = LayerHelper("tensor_array_to_tensor", name=name)
    out = helper.create_variable_for_type_inference(dtype=input.dtype)
    sizes = helper.create_variable_for_type_inference(dtype="int32")
    helper.append_op(type="tensor_array_to_tensor", inputs={"X": input}, outputs={"Out": [out], "OutIndex": [sizes]},
                     attrs={"axis": axis, "use_stack": bool(use_stack)})
    return out, sizes


__getattr__ = _names.guard(__name__)
