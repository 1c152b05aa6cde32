"""Layers of paddle.static.nn that are fluid's: their parameters and ops are the same in programs of 2.x."""
import functools

from paddle import _names
from paddle._op import check_static
from paddle.fluid.layers import nn as _nn
from paddle.fluid.layers import pictures as _pictures
from paddle.fluid.layers import volumes as _volumes


def _fluid_attr(value):
    """fluid's ParamAttr of one of 2.x; anything else as it is."""
    from paddle.fluid.initializer import Initializer
    from paddle.fluid.param_attr import ParamAttr
    from paddle.framework import ParamAttr as New
    if not isinstance(value, New):
        return value
    fill = None
    if value.initializer is not None:
        if getattr(value.initializer, "_spec", None) is None:
            raise NotImplementedError("%s as the initializer of this layer; give Constant, Normal, Uniform, Xavier or Kaiming" %
                                      type(value.initializer).__name__)
        fill = Initializer()
        fill._spec = value.initializer._spec
    return ParamAttr(value.name, fill, value.learning_rate, value.regularizer, value.trainable, value.do_model_average)


def _of_fluid(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        check_static(function.__name__)
        return function(*[_fluid_attr(v) for v in args], **{k: _fluid_attr(v) for k, v in kwargs.items()})

    return call


group_norm, instance_norm, conv2d_transpose, spectral_norm = (
    _of_fluid(getattr(_pictures, _kind)) for _kind in "group_norm instance_norm conv2d_transpose spectral_norm".split())
bilinear_tensor_product = _of_fluid(_nn.bilinear_tensor_product)
conv3d, conv3d_transpose = _of_fluid(_volumes.conv3d), _of_fluid(_volumes.conv3d_transpose)


def prelu(x, mode, param_attr=None, data_format="NCHW", name=None):
    """x above 0, a learned part of it below: one weight (all), one of each channel, or of each element."""
    from paddle.framework import make_parameter, to_attr
    from paddle._op import Call, need
    from paddle.nn import initializer
    check_static("prelu")
    shape = list(need(x, "x", "prelu").shape)
    if mode not in ("all", "channel", "element"):
        raise ValueError("mode should be one of all, channel, element.")
    last = mode == "channel" and data_format[-1] == "C"
    size = {"all": [1], "channel": [1] + [1] * (len(shape) - 2) + [shape[-1]] if last else [1, shape[1]] + [1] * (len(shape) - 2),
            "element": [1] + shape[1:]}[mode]
    call = Call("prelu", name)
    weight = make_parameter(call.name, to_attr(param_attr), size, x.dtype, False, initializer.Constant(0.25), False, False)
    return call.one("prelu", {"X": x, "Alpha": weight}, {"mode": mode, "data_format": "NHWC" if last else "NCHW"})


def _length(v, dim):
    """The norm over all dimensions but dim, which are kept."""
    from paddle.tensor.math import sqrt, sum
    rank = len(v.shape)
    return sqrt(sum(v * v, axis=[d for d in range(rank) if dim is None or d != dim % rank], keepdim=True))


def weight_norm(call, attr, shape, dtype, default):
    """The weight of a WeightNormParamAttr: parameters <name>_v and <name>_g; at the start g is the length of v."""
    from paddle._op import Call
    from paddle.fluid._build import net
    from paddle.framework import ParamAttr, make_parameter
    from paddle.nn import initializer
    from paddle.static import default_startup_program, program_guard
    from paddle.tensor.manipulation import reshape
    name = attr.name or net.name(call.name + ".w")

    def part(end, sizes, fill):
        about = ParamAttr(name + end, fill, attr.learning_rate, attr.regularizer, attr.trainable, attr.do_model_average,
                          attr.need_clip)
        return make_parameter(call.name, about, sizes, dtype, False, default, False, False)

    v = part("_v", shape, attr.initializer)
    g = part("_g", [1] * len(shape) if attr.dim is None else [shape[attr.dim]], initializer.Constant(1.0))
    kept = [1 if attr.dim is None or d != attr.dim % len(shape) else size for d, size in enumerate(shape)]
    startup = default_startup_program()
    with program_guard(startup):
        block = startup.global_block()
        Call("weight_norm").op("assign", {"X": reshape(_length(block.var(v.name), attr.dim), list(g.shape))},
                               {"Out": block.var(g.name)})
    return v * (reshape(g, kept) / _length(v, attr.dim))


__getattr__ = _names.guard(__name__)
