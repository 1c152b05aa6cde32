"""fluid.initializer: how parameters begin."""
from paddle import _names

__all__ = ["Constant", "Uniform", "Normal", "TruncatedNormal", "Xavier", "Bilinear", "MSRA", "ConstantInitializer",
           "UniformInitializer", "NormalInitializer", "TruncatedNormalInitializer", "XavierInitializer",
           "BilinearInitializer", "MSRAInitializer", "NumpyArrayInitializer"]


class Initializer(object):
    """Base of all; `_spec` is what the native module reads."""

    _spec = None

    def __call__(self, var, block=None):
        """Puts the operator that fills var into a startup block; a parameter of eager mode is filled at once."""
        from paddle.fluid._build import net
        if block is None:
            from paddle.fluid._at_once import fill
            return fill(var, self)
        net.push_programs(net.main, block.program)
        try:
            net.init_var(var, self)
        finally:
            net.pop_programs()


class ConstantInitializer(Initializer):
    def __init__(self, value=0.0, force_cpu=False):
        if value is None:
            raise AssertionError("value of Constant is None")
        self._spec = ("constant", {"value": float(value), "force_cpu": bool(force_cpu)})


class UniformInitializer(Initializer):
    def __init__(self, low=-1.0, high=1.0, seed=0, diag_num=0, diag_step=0, diag_val=1.0):
        if low is None or high is None or seed is None:
            raise AssertionError("Uniform: low, high and seed must be numbers")
        if high < low:
            raise AssertionError("Uniform: high (%s) is below low (%s)" % (high, low))
        self._spec = ("uniform", {"low": float(low), "high": float(high), "seed": int(seed), "diag_num": diag_num,
                                  "diag_step": diag_step, "diag_val": float(diag_val)})


class NormalInitializer(Initializer):
    def __init__(self, loc=0.0, scale=1.0, seed=0):
        if loc is None or scale is None or seed is None:
            raise AssertionError("Normal: loc, scale and seed must be numbers")
        self._spec = ("normal", {"loc": float(loc), "scale": float(scale), "seed": int(seed)})


class TruncatedNormalInitializer(Initializer):
    def __init__(self, loc=0.0, scale=1.0, seed=0):
        if loc is None or scale is None or seed is None:
            raise AssertionError("TruncatedNormal: loc, scale and seed must be numbers")
        self._spec = ("truncated_normal", {"loc": float(loc), "scale": float(scale), "seed": int(seed)})


class XavierInitializer(Initializer):
    def __init__(self, uniform=True, fan_in=None, fan_out=None, seed=0):
        if uniform is None or seed is None:
            raise AssertionError("Xavier: uniform and seed must be given")
        self._spec = ("xavier", {"uniform": bool(uniform), "fan_in": fan_in, "fan_out": fan_out, "seed": int(seed)})


class MSRAInitializer(Initializer):
    def __init__(self, uniform=True, fan_in=None, seed=0):
        if uniform is None or seed is None:
            raise AssertionError("MSRA: uniform and seed must be given")
        self._spec = ("msra", {"uniform": bool(uniform), "fan_in": fan_in, "seed": int(seed)})


class BilinearInitializer(Initializer):
    def __init__(self):
        self._spec = ("bilinear", {})


class NumpyArrayInitializer(Initializer):
    def __init__(self, value):
        import numpy
        if not isinstance(value, numpy.ndarray):
            raise AssertionError("NumpyArrayInitializer takes a numpy array, but got %s" % type(value))
        if value.dtype not in ("float32", "int32", "float64", "int64"):
            raise ValueError("Unsupported dtype %s" % value.dtype)
        kind = "int32" if value.dtype.kind == "i" else "float32"
        self._spec = ("values", {"values": numpy.ascontiguousarray(value, kind)})


Constant = ConstantInitializer
Uniform = UniformInitializer
Normal = NormalInitializer
TruncatedNormal = TruncatedNormalInitializer
Xavier = XavierInitializer
MSRA = MSRAInitializer
Bilinear = BilinearInitializer
_force_init_on_cpu_ = False


def force_init_on_cpu():
    """Everything is on the CPU here."""
    return _force_init_on_cpu_


__getattr__ = _names.guard(__name__)
