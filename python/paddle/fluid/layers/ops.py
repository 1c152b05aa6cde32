"""Activations and other functions of one variable."""
from skiff import _native

from paddle import _names
from paddle.fluid._build import net
from paddle.fluid.layer_helper import check_dtype, simple_op

_layers = _native.layers
_FLOATS = ("float16", "float32", "float64")

UNARY = ["sigmoid", "logsigmoid", "exp", "tanh", "sqrt", "rsqrt", "abs", "ceil", "floor", "cos", "sin", "round", "reciprocal",
         "square", "softplus", "softsign"]

__all__ = UNARY + ["uniform_random", "gelu", "erf"]


def _unary(kind):
    layer = getattr(_layers, kind)

    def function(x, name=None):
        check_dtype(x, "x", kind, _FLOATS + (("int32", "int64") if kind in ("abs", "square") else ()))
        if name is None:
            return layer(net, x)
        return simple_op(kind, {"X": [x]}, name=name)

    function.__name__ = function.__qualname__ = kind
    function.__doc__ = "%s of every element." % kind
    return function


for _kind in UNARY:
    globals()[_kind] = _unary(_kind)


def erf(x):
    """Error function of every element."""
    check_dtype(x, "x", "erf", _FLOATS)
    return _layers.erf(net, x)


def gelu(x, approximate=False):
    """x * Phi(x); approximate: by tanh."""
    check_dtype(x, "x", "gelu", _FLOATS)
    return _layers.gelu(net, x, approximate=approximate)


def uniform_random(shape, dtype="float32", min=-1.0, max=1.0, seed=0):
    """New random numbers in every run."""
    from paddle.fluid.layers.tensor import _dims, drawn
    from paddle.fluid.framework import dtype_name
    made = drawn("uniform_random", shape, {"min": float(min), "max": float(max), "seed": seed}, dtype)
    return made if made is not None else _layers.uniform_random(net, _dims(shape, "uniform_random"), dtype=dtype_name(dtype), min=min, max=max, seed=seed)


__getattr__ = _names.guard(__name__)
