"""Convolution and pooling of volumes [rows, channels, depth, height, width]."""
from paddle import _names
from paddle._op import Call, named, need, one
from paddle.nn.functional.conv import _check_channels, _output, conv3d, pair, padding_of  # noqa: F401 (conv3d: for others)


def _last(data_format):
    """Whether the channels come last."""
    if data_format not in ("NCDHW", "NDHWC"):
        raise ValueError("Attr(data_format) should be 'NCDHW' or 'NDHWC'. Received Attr(data_format): %s." % data_format)
    return data_format == "NDHWC"


def _with_bias(out, bias, last):
    return out if bias is None else named("elementwise_add", {"X": out, "Y": bias}, {"axis": -1 if last else 1})


def conv3d_transpose(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1, output_size=None,
                     data_format="NCDHW", name=None):
    """What conv3d with filters [in, out / groups, depth, height, width] does, the other way."""
    need(x, "x", "conv3d_transpose")
    last = _last(data_format)
    _check_channels("conv3d_transpose", x, 5, last, groups)
    stride, (sizes, algorithm) = pair(stride, 3, "stride"), padding_of(padding, 3, last)
    more, whole = _output(output_padding, output_size, stride, 3)
    out = one("conv3d_transpose", "conv3d_transpose", {"Input": x, "Filter": need(weight, "weight", "conv3d_transpose")},
              {"strides": stride, "paddings": sizes, "dilations": pair(dilation, 3, "dilation"), "output_padding": more,
               "output_size": whole, "groups": groups, "padding_algorithm": algorithm, "data_format": "NHWC" if last else "NCHW"},
              name, slot="Output")
    return _with_bias(out, bias, last)


def _pool(x, how, kernel, stride, padding, ceil_mode, exclusive, data_format, name, adaptive=False):
    sizes, algorithm = padding_of(padding, 3, _last(data_format))
    return one("pool3d", "pool3d", {"X": x},
               {"pooling_type": how, "ksize": kernel, "adaptive": adaptive, "strides": stride, "paddings": sizes,
                "padding_algorithm": algorithm, "global_pooling": False, "use_cudnn": True, "ceil_mode": ceil_mode,
                "exclusive": exclusive, "data_format": data_format}, name)


def _max_and_place(x, name, **attrs):
    """The largest values of windows, and where in x they stand."""
    call = Call("max_pool3d_with_index", name)
    out, mask = call.var(), call.var()
    call.op("max_pool3d_with_index", {"X": x}, {"Out": out, "Mask": mask}, attrs)
    return out, mask


def _sizes(output_size, given):
    """Three sizes; None: as it is."""
    sizes = list(output_size) if isinstance(output_size, (list, tuple)) else [output_size] * 3
    if len(sizes) != 3:
        raise ValueError("output_size must be an int or 3 of them, but got %s" % (output_size,))
    return [old if new is None else int(new) for new, old in zip(sizes, given)]


def adaptive_avg_pool3d(x, output_size, data_format="NCDHW", name=None):
    """The means of output_size windows."""
    need(x, "x", "adaptive_avg_pool3d")
    sizes = _sizes(output_size, x.shape[1:4] if _last(data_format) else x.shape[2:5])
    return _pool(x, "avg", sizes, [1, 1, 1], 0, False, True, data_format, name, True)


def adaptive_max_pool3d(x, output_size, return_mask=False, name=None):
    """The largest values of output_size windows."""
    need(x, "x", "adaptive_max_pool3d")
    out = _max_and_place(x, name, ksize=_sizes(output_size, x.shape[2:5]), adaptive=True)
    return out if return_mask else out[0]


__getattr__ = _names.guard(__name__)
