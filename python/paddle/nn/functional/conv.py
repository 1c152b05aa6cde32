"""Convolution."""
from paddle import _names
from paddle._op import Call, declared, named, need

globals().update(declared(__name__))


def pair(value, n, arg):
    """n ints of an int or a list."""
    if isinstance(value, int):
        return [value] * n
    out = [int(v) for v in value]
    if len(out) == 1:
        out *= n
    if len(out) != n:
        raise ValueError("%s must be an int or %d of them, but got %s" % (arg, n, value))
    return out


def padding_of(padding, n, channel_last=False):
    """(sizes, algorithm) of an int, a list, or "SAME" / "VALID"."""
    if isinstance(padding, str):
        word = padding.upper()
        if word not in ("SAME", "VALID"):
            raise ValueError("Unknown padding: '%s'. It can only be 'SAME' or 'VALID'." % padding)
        return [0] * n, word
    if isinstance(padding, (list, tuple)) and padding and isinstance(padding[0], (list, tuple)):
        pairs = padding[1:-1] if channel_last else padding[2:] if len(padding) == n + 2 else padding
        return [int(p) for both in pairs for p in both], "EXPLICIT"
    if isinstance(padding, (list, tuple)) and len(padding) == 2 * n:
        sizes = [int(p) for p in padding]
        if all(sizes[2 * i] == sizes[2 * i + 1] for i in range(n)):
            sizes = sizes[::2]
        return sizes, "EXPLICIT"
    return pair(padding, n, "padding"), "EXPLICIT"


def _check_channels(call, x, rank, last, groups):
    """How many channels x has."""
    if len(x.shape) != rank:
        raise ValueError("Input x should be %dD tensor, but received x with the shape of %s" % (rank, list(x.shape)))
    channels = x.shape[-1 if last else 1]
    if channels < 0:
        raise ValueError("The channel dimension of the input(%s) should be defined. Received: %d." % (list(x.shape), channels))
    if groups <= 0:
        raise ValueError("The groups of %s should be greater than 0. Received groups: %d" % (call, groups))
    if channels % groups:
        raise ValueError("the channel of input must be divisible by groups, received: the channel of input is %d, the shape of "
                         "input is %s, the groups is %d" % (channels, list(x.shape), groups))
    return channels


def _transposed(call, x, weight, attrs, groups, padding_algorithm, data_format):
    channels = x.shape[1 if data_format == "NCHW" else -1]
    deep = channels == groups and channels != 1 and weight.shape[1] == 1
    return call.one("depthwise_conv2d_transpose" if deep else "conv2d_transpose", {"Input": x, "Filter": weight},
                    dict(attrs, groups=groups, use_cudnn=False, padding_algorithm=padding_algorithm,
                         data_format=data_format), slot="Output")


def _output(output_padding, output_size, stride, n):
    """(output_padding, output_size) as lists; empty: not given."""
    if output_size is not None and output_padding != 0:
        raise ValueError("output_padding option is mutually exclusive with output_size")
    if output_size is not None and not isinstance(output_size, (int, list, tuple)):
        raise ValueError("output_size should be int, or list, tuple of ints")
    more = [] if output_padding == 0 else pair(output_padding, n, "output_padding")
    if more and more[0] > stride[0]:
        raise ValueError("The size of output_padding should not be greater than stride. But got output_padding=%d and "
                         "stride=%d" % (more[0], stride[0]))
    return more, [] if output_size is None else pair(output_size, n, "output_size")


def conv2d_transpose(x, weight, bias=None, stride=1, padding=0, output_padding=0, dilation=1, groups=1, output_size=None,
                     data_format="NCHW", name=None):
    """What conv2d with filters [in, out / groups, height, width] does, the other way."""
    need(x, "x", "conv2d_transpose")
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("Attr(data_format) of conv2d_transpose got wrong value: received %s, but only NCHW or NHWC are "
                         "supported." % data_format)
    _check_channels("conv2d_transpose", x, 4, data_format == "NHWC", groups)
    stride = pair(stride, 2, "stride")
    sizes, algorithm = padding_of(padding, 2, data_format == "NHWC")
    more, whole = _output(output_padding, output_size, stride, 2)
    call = Call("conv2d_transpose", name)
    out = _transposed(call, x, weight, {"strides": stride, "paddings": sizes, "dilations": pair(dilation, 2, "dilation"),
                                        "output_padding": more, "output_size": whole}, groups, algorithm, data_format)
    if bias is None:
        return out
    return named("elementwise_add", {"X": out, "Y": bias}, {"axis": 1 if data_format == "NCHW" else -1})


def conv1d_transpose(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1, output_size=None,
                     data_format="NCL", name=None):
    """conv2d_transpose over one more dimension."""
    from paddle.tensor.manipulation import squeeze, unsqueeze
    need(x, "x", "conv1d_transpose")
    if data_format not in ("NCL", "NLC"):
        raise ValueError("Attr(data_format) of conv2d_transpose got wrong value: received %s, but only 'NCL' or 'NLC' are "
                         "supported." % data_format)
    last = data_format == "NLC"
    _check_channels("conv1d_transpose", x, 3, last, groups)
    if len(weight.shape) != 3:
        raise ValueError("Input weight should be 3D tensor, but received weight with the shape of %s" % list(weight.shape))
    stride = pair(stride, 1, "stride")
    sizes, algorithm = padding_of(padding, 1, last)
    more, whole = _output(output_padding, output_size, stride, 1)
    axis = -2 if last else -1
    call = Call("conv2d_transpose", name)
    out = _transposed(call, unsqueeze(x, axis), unsqueeze(weight, -1),
                      {"strides": stride + [1], "paddings": sizes + [0] * len(sizes),
                       "dilations": pair(dilation, 1, "dilation") + [1], "output_padding": more + [0] if more else [],
                       "output_size": whole + [1] if whole else []}, groups, algorithm, "NHWC" if last else "NCHW")
    if bias is not None:
        out = named("elementwise_add", {"X": out, "Y": bias}, {"axis": -1 if last else 1})
    return squeeze(out, axis)


__getattr__ = _names.guard(__name__)
