"""New tensors: constants, ranges, copies, parameters."""
from paddle import _names
from paddle._mode import mode
from paddle._op import Call, Value, check_static, declared, fill, net, one, type_number
from paddle._tensor import Tensor
from paddle.fluid import core
from paddle.fluid.framework import dtype_name
from paddle.framework import get_default_dtype

globals().update(declared(__name__))


def arange(start=0, end=None, step=1, dtype=None, name=None):
    """start, start + step, ... before end."""
    if end is None:
        start, end = 0, start
    if dtype is None:
        whole = all(isinstance(v, Value) and v.dtype.dtype in ("int32", "int64") or
                    not isinstance(v, Value) and hasattr(v, "__index__") for v in (start, end, step))
        dtype = "int64" if whole else get_default_dtype()
    ends = [_as_type(v, dtype_name(dtype)) if isinstance(v, Value) else fill([1], v, dtype, on_cpu=True)
            for v in (start, end, step)]
    out = one("range", "range", {"Start": ends[0], "End": ends[1], "Step": ends[2]}, name=name, dtype=dtype_name(dtype),
              stop_gradient=True)
    numbers = (start, end, step)
    if not mode.eager and not any(isinstance(v, Value) for v in numbers):
        import math
        out.shape = [max(0, int(math.ceil((end - start) / step)))]
    return out


def _as_type(x, name):
    from paddle.tensor.manipulation import cast
    return x if x.dtype.dtype == name else cast(x, name)


def assign(x, output=None):
    """A copy of a variable, or a constant tensor of an array, list or number."""
    if isinstance(x, Value):
        call = Call("assign")
        out = call.var() if output is None else output
        call.op("assign", {"X": x}, {"Out": out})
        return out
    if mode.eager:
        made = _eager_tensor(x, None, True)
        if output is None:
            return made
        output.set(made.numpy(), made._dtype)
        return output
    import numpy
    value = numpy.asarray(x)
    if value.dtype == numpy.float64 and not isinstance(x, (numpy.ndarray, numpy.generic)):
        value = value.astype(get_default_dtype())
    if value.size > 1024 * 1024:
        raise ValueError("The size of input is too big. Please consider saving it to file and 'load_op' to load it")
    return _constant(value, output)


def _constant(value, output=None):
    import numpy
    name = value.dtype.name
    lists = {"float32": "fp32_values", "float64": "fp64_values", "int32": "int32_values", "int64": "int64_values",
             "bool": "bool_values"}
    if name not in lists:
        raise TypeError("assign: a tensor of %s cannot be written into a program; use one of %s" %
                        (name, ", ".join(sorted(lists))))
    call = Call("assign")
    out = call.var(name, stop_gradient=True) if output is None else output
    flat = numpy.ravel(value)
    values = [bool(v) for v in flat] if name == "bool" else flat.tolist()
    call.op("assign_value", {}, {"Out": out}, {"dtype": core.BY_DTYPE[name], "shape": list(value.shape), lists[name]: values})
    return out


def _eager_array(data):
    """A numpy array; lists may hold tensors."""
    import numpy
    if isinstance(data, (list, tuple)) and any(isinstance(d, (Tensor, list, tuple)) for d in data):
        rows = [_eager_array(d) for d in data]
        try:
            array = numpy.stack(rows)
        except ValueError:
            raise ValueError("to_tensor: lists that are nested must have the same lengths, but the shapes are %s" %
                             ", ".join(str(list(d.shape)) for d in rows)) from None
        return array
    if isinstance(data, Tensor):
        return data.numpy()
    array = numpy.asarray(data)
    if array.dtype.kind not in "fiub":
        raise (TypeError if array.dtype.kind in "US" else ValueError)("to_tensor: a tensor cannot be made of %s" % (
            "elements of the type %s" % array.dtype if array.dtype.kind != "O" else type(data).__name__))
    return array


def _eager_tensor(data, dtype, stop_gradient):
    if isinstance(data, Tensor):
        out = data if dtype is None or data.dtype == type_number(dtype) else data.detach().astype(dtype)
        out = out.detach().clone()
    else:
        import numpy
        array = _eager_array(data)
        if dtype is None and array.dtype == numpy.float64 and not isinstance(data, (numpy.ndarray, numpy.generic)):
            dtype = get_default_dtype()  # of Python's floats
        half = dtype is not None and dtype_name(dtype) == "bfloat16"
        out = Tensor(array if dtype is None else array.astype("float32" if half else dtype_name(dtype), copy=False))
        if half:
            out = out.astype(dtype)
    out.stop_gradient = stop_gradient
    return out


def to_tensor(data, dtype=None, place=None, stop_gradient=True):
    """A tensor of an array, a list, a number or another tensor; in programs a constant."""
    if mode.eager:
        return _eager_tensor(data, dtype, stop_gradient)
    if isinstance(data, Value):
        return data
    import numpy
    value = numpy.asarray(data)
    if dtype is not None:
        value = value.astype(dtype_name(dtype))
    elif value.dtype == numpy.float64 and not isinstance(data, (numpy.ndarray, numpy.generic)):
        value = value.astype(get_default_dtype())
    out = _constant(value)
    out.stop_gradient = stop_gradient
    return out


def create_parameter(shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None):
    """A parameter of its own."""
    from paddle.framework import make_parameter, to_attr
    attr = to_attr(attr)
    if attr is False:
        raise ValueError("create_parameter: attr must not be False")
    if name is not None and attr.name is None:
        attr = attr.copy(name=name)
    return make_parameter(net.name("create_parameter"), attr, shape, dtype, is_bias, default_initializer)


def create_tensor(dtype, name=None, persistable=False):
    """A variable (a tensor) without a value."""
    if mode.eager:
        return Tensor()
    from paddle._op import _create_var
    return _create_var(net.block, name or net.name("create_tensor"), dtype=dtype_name(dtype), persistable=persistable)


def create_global_var(shape, value, dtype, persistable=False, force_cpu=False, name=None):
    """A variable that lives as long as the scope, filled once by the startup program."""
    out = global_state(shape, value, dtype, persistable, name)
    out.stop_gradient = True
    return out


def global_state(shape, value, dtype, persistable=True, name=None):
    """The same for the counts of metrics, which ops write."""
    check_static("create_global_var")
    from paddle.nn.initializer import Constant
    name = name or net.name("_generated_var")
    from paddle._op import _create_var
    out = _create_var(net.main.block(0), name, shape=list(shape), dtype=dtype_name(dtype), persistable=persistable)
    twin = _create_var(net.startup.block(0), name, shape=list(shape), dtype=dtype_name(dtype), persistable=True,
                       stop_gradient=True)
    Constant(float(value))(twin, net.startup.block(0))
    return out


def complex(real, imag, name=None):
    raise NotImplementedError("paddle.complex: Skiff has no complex numbers")


__getattr__ = _names.guard(__name__)
