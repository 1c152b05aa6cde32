"""What Variables can do in programs of 2.x: the tensor functions as methods, operators and indexing as Paddle 2.6 writes them.

Programs of 1.x keep Fluid's operators: each method looks at the generation of the variable's program.
"""
from skiff import _native

from paddle import _state, tensor
from paddle._op import _append, _create_var, dtype_name, is_float, net
from paddle.fluid import core, framework
from paddle.fluid.framework import Variable, _tensor_op
from paddle.tensor.manipulation import getitem

_OPS = {"+": "elementwise_add", "-": "elementwise_sub", "*": "elementwise_mul", "/": "elementwise_div",
        "**": "elementwise_pow", "//": "elementwise_floordiv", "%": "elementwise_mod", "==": "equal", "!=": "not_equal",
        "<": "less_than", "<=": "less_equal", ">": "greater_than", ">=": "greater_equal"}


def _result(kind, inputs, attrs=None, stop_gradient=False):
    out = _create_var(net.block, net.name("tmp"), persistable=False, stop_gradient=stop_gradient)
    _append(net.block, kind, inputs, {"Out": out}, attrs)
    return out


@_tensor_op
def astype(self, dtype):
    """A cast of it."""
    return _result("cast", {"X": self}, {"in_dtype": self.dtype, "out_dtype": core.BY_DTYPE[dtype_name(dtype)]},
                   self.stop_gradient)


def _scaled(var, scale, bias):
    return _result("scale", {"X": var}, {"scale": float(scale), "bias": float(bias)}, var.stop_gradient)


def _constant_like(var, value):
    """A tensor of one value in the shape of var, whose batch size is known only when the program runs."""
    shape = list(var.shape)
    batch = [i for i, size in enumerate(shape) if size < 0]
    if not batch:
        return _result("fill_constant", {}, {"shape": shape, "value": float(value), "dtype": var.dtype}, True)
    return _result("fill_constant_batch_size_like", {"Input": var},
                   {"shape": shape, "value": float(value), "input_dim_idx": batch[0], "output_dim_idx": batch[0],
                    "dtype": var.dtype}, True)


def _with_number(op, var, value, reverse):
    whole = isinstance(value, int) or hasattr(value, "__index__")
    if not is_float(var) and (not whole or op == "/") and op not in ("==", "!=", "<", "<=", ">", ">="):
        var = astype(var, "float32")
    value = float(value)
    if op == "+":
        return _scaled(var, 1.0, value)
    if op == "-":
        return _scaled(var, -1.0, value) if reverse else _scaled(var, 1.0, -value)
    if op == "*":
        return _scaled(var, value, 0.0)
    if op == "/" and not reverse:
        return _scaled(var, 1.0 / value, 0.0)
    if reverse:
        return _binary(op, _constant_like(var, value), var)
    return _binary(op, var, _result("fill_constant", {}, {"shape": [], "value": value, "dtype": var.dtype}, True))


def _binary(op, left, right):
    if left.dtype != right.dtype:
        right = astype(right, left.dtype)
    if op == "/" and not is_float(left):
        left, right = astype(left, "float32"), astype(right, "float32")
    return _result(_OPS[op], {"X": left, "Y": right}, {"axis": -1},
                   op in ("==", "!=", "<", "<=", ">", ">="))


def _operator(op, before, reverse=False):
    """Fluid's operator for programs of 1.x, this one for 2.x."""

    @_tensor_op
    def append(self, other):
        if isinstance(other, Variable):
            return _binary(op, other, self) if reverse else _binary(op, self, other)
        if isinstance(other, (bool, int, float)) or hasattr(other, "__float__") and getattr(other, "ndim", 0) == 0:
            return _with_number(op, self, other, reverse)
        if hasattr(other, "__array__"):
            import numpy
            value = tensor.to_tensor(numpy.asarray(other))
            return _binary(op, value, self) if reverse else _binary(op, self, value)
        return NotImplemented

    def method(self, other):
        return append(self, other) if self.program.generation == 2 else before(self, other)

    return method


def _dispatch(new, before):
    def method(self, *args, **kwargs):
        if before is not None and self.program.generation != 2:
            return before(self, *args, **kwargs)
        return new(self, *args, **kwargs)

    method.__name__ = new.__name__
    method.__doc__ = new.__doc__
    return method


def _no_value(name):
    def method(self, *args, **kwargs):
        raise RuntimeError("Variable %s: %s is for Tensors of eager mode; a Variable has no value while the program is built: "
                           "fetch it with Executor.run" % (self.name, name))

    method.__name__ = name
    return method


def _append_item(self, item):
    """item behind the last one of an array (Paddle: LOD_TENSOR_ARRAY)."""
    if self.kind != "LOD_TENSOR_ARRAY":
        raise TypeError("Only support append operation in LoDTensorArray, but received %s" % self.kind)
    from paddle.tensor.array import array_length, array_write
    array_write(item, array_length(self), self)


def _rows(self):
    """Its rows, where it is known how many there are."""
    size = self.shape[0] if self.shape else -1
    if not isinstance(size, int) or size < 0:
        raise TypeError("a Variable of unknown size cannot be iterated: its rows are known when the program runs")
    return iter([self[i] for i in range(size)])


@_tensor_op
def _neg(self):
    return _scaled(self, -1.0, 0.0)


def _matmul(self, other):
    return tensor.matmul(self, other)


def _length(self):
    size = self.shape[0] if self.shape else -1
    if size < 0:
        raise TypeError("len() of %s is known only when the program runs" % self.name)
    return size


def _detach(self):
    """Its value, through which no gradient goes."""
    out = tensor.assign(self)
    out.stop_gradient = True
    return out


def _same(self, *_, **__):
    """A copy: everything is on the CPU."""
    return tensor.assign(self)


def _element_size(self):
    """Bytes of an element."""
    return {"bool": 1, "uint8": 1, "int8": 1, "int16": 2, "float16": 2, "bfloat16": 2, "int32": 4, "float32": 4}.get(
        self.dtype.dtype, 8)


def install():
    """Puts the methods on Variable; called once."""
    for name in tensor.METHODS:
        setattr(Variable, name, _dispatch(getattr(tensor, name), getattr(Variable, name, None)))
    Variable.astype = _dispatch(astype, Variable.astype)
    for op, name in (("+", "add"), ("-", "sub"), ("*", "mul"), ("/", "truediv"), ("**", "pow"), ("//", "floordiv"),
                     ("%", "mod")):
        setattr(Variable, "__%s__" % name, _operator(op, getattr(Variable, "__%s__" % name)))
        before = getattr(Variable, "__r%s__" % name, None)
        if before is not None:
            setattr(Variable, "__r%s__" % name, _operator(op, before, True))
    for op, name in (("==", "eq"), ("!=", "ne"), ("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge")):
        setattr(Variable, "__%s__" % name, _operator(op, getattr(Variable, "__%s__" % name)))
    Variable.__neg__ = _dispatch(_neg, Variable.__neg__)
    Variable.__matmul__ = _matmul
    Variable.__getitem__ = _dispatch(getitem, Variable.__getitem__)
    Variable.__len__ = _length
    Variable.__iter__ = _dispatch(_rows, Variable.__iter__)
    Variable.append = _append_item
    Variable.__hash__ = _native.Var.__hash__
    Variable.T = property(lambda self: tensor.transpose(self, list(range(len(self.shape)))[::-1]))
    Variable.dim = Variable.ndimension = lambda self: len(self.shape)
    Variable.place = property(lambda self: core.CPUPlace())
    Variable.detach, Variable.cpu, Variable.cuda, Variable.element_size = _detach, _same, _same, _element_size
    for kind in (Variable, framework.Operator, framework.Block, framework.Program):
        kind._to_readable_code = lambda self, skip_op_callstack=True: self.to_string(False)
    Variable.is_leaf = property(lambda self: self.op is None)
    for name in ("item", "tolist", "backward", "clear_grad", "cuda", "register_hook"):
        if not hasattr(Variable, name):
            setattr(Variable, name, _no_value(name))
    _state.install()


install()
