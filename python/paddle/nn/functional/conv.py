"""Convolution and pooling."""
from paddle import _names
from paddle._op import Call, named, need, one


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


def _conv(call, x, weight, stride, padding, dilation, groups, data_format, algorithm):
    kind = "conv2d"
    channels = x.shape[1 if data_format == "NCHW" else -1]
    if channels == groups and channels != 1 and weight.shape[0] % channels == 0:
        kind = "depthwise_conv2d"
    return call.one(kind, {"Input": x, "Filter": weight},
                    {"strides": stride, "paddings": padding, "dilations": dilation, "groups": groups, "use_cudnn": False,
                     "use_mkldnn": False, "padding_algorithm": algorithm, "data_format": data_format}, slot="Output")


def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCHW", name=None):
    """Convolution of images with filters [out, in / groups, height, width]."""
    need(x, "x", "conv2d")
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("Attr(data_format) should be 'NCHW' or 'NHWC'. Received Attr(data_format): %s." % data_format)
    sizes, algorithm = padding_of(padding, 2, data_format == "NHWC")
    call = Call("conv2d", name)
    out = _conv(call, x, weight, pair(stride, 2, "stride"), sizes, pair(dilation, 2, "dilation"), groups, data_format,
                algorithm)
    if bias is None:
        return out
    from paddle.tensor.manipulation import reshape
    shape = [1, bias.shape[0], 1, 1] if data_format == "NCHW" else [1, 1, 1, bias.shape[0]]
    return call.one("elementwise_add", {"X": out, "Y": reshape(bias, shape)}, {"axis": -1})


def conv1d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCL", name=None):
    """Convolution of sequences: conv2d over one more dimension."""
    from paddle.tensor.creation import assign
    from paddle.tensor.manipulation import squeeze, unsqueeze
    need(x, "x", "conv1d")
    if data_format not in ("NCL", "NLC"):
        raise ValueError("Attr(data_format) should be 'NCL' or 'NLC'. Received Attr(data_format): %s." % data_format)
    last = data_format == "NLC"
    sizes, algorithm = padding_of(padding, 1, last)
    sizes = [0] + sizes if len(sizes) == 1 else [0, 0] + sizes
    name_of = Call("conv2d", name)
    axis = -3 if last else -2
    weight = unsqueeze(assign(weight), -2)
    x = unsqueeze(x, axis)
    out = _conv(name_of, x, weight, [1] + pair(stride, 1, "stride"), sizes, [1] + pair(dilation, 1, "dilation"), groups,
                "NHWC" if last else "NCHW", algorithm)
    if bias is not None:
        out = named("elementwise_add", {"X": out, "Y": bias}, {"axis": -1 if last else 1})
    return squeeze(out, axis)


def _pool2d(x, how, kernel, stride, padding, ceil_mode, exclusive, data_format, name, adaptive=False):
    sizes, algorithm = padding_of(padding, 2, data_format == "NHWC")
    kernel = pair(kernel, 2, "kernel_size")
    return one("pool2d", "pool2d", {"X": x},
               {"pooling_type": how, "ksize": kernel, "adaptive": adaptive, "strides": stride, "paddings": sizes,
                "padding_algorithm": algorithm, "global_pooling": False, "use_cudnn": True, "ceil_mode": ceil_mode,
                "use_mkldnn": False, "exclusive": exclusive, "data_format": data_format}, name)


def _max_and_place(x, name, **attrs):
    """The largest values of windows, and where in x they stand."""
    call = Call("max_pool2d_with_index", name)
    out, mask = call.var(), call.var()
    call.op("max_pool2d_with_index", {"X": x}, {"Out": out, "Mask": mask}, attrs)
    return out, mask


def max_pool2d(x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, data_format="NCHW", name=None):
    """The largest value of every window."""
    need(x, "x", "max_pool2d")
    kernel = pair(kernel_size, 2, "kernel_size")
    stride = kernel if stride is None else pair(stride, 2, "stride")
    if return_mask:
        sizes, _ = padding_of(padding, 2)
        return _max_and_place(x, name, ksize=kernel, strides=stride, paddings=sizes, adaptive=False, global_pooling=False)
    return _pool2d(x, "max", kernel, stride, padding, ceil_mode, True, data_format, name)


def avg_pool2d(x, kernel_size, stride=None, padding=0, ceil_mode=False, exclusive=True, divisor_override=None,
               data_format="NCHW", name=None):
    """The mean of every window."""
    need(x, "x", "avg_pool2d")
    kernel = pair(kernel_size, 2, "kernel_size")
    stride = kernel if stride is None else pair(stride, 2, "stride")
    out = _pool2d(x, "avg", kernel, stride, padding, ceil_mode, exclusive, data_format, name)
    return out if divisor_override is None else out * (kernel[0] * kernel[1] / divisor_override)


def _pool1d(x, how, kernel_size, stride, padding, ceil_mode, exclusive, name):
    from paddle.tensor.manipulation import squeeze, unsqueeze
    kernel = [1] + pair(kernel_size, 1, "kernel_size")
    stride = kernel if stride is None else [1] + pair(stride, 1, "stride")
    sizes, algorithm = padding_of(padding, 1)
    x = unsqueeze(x, [2])
    out = _pool2d(x, how, kernel, stride, algorithm if algorithm != "EXPLICIT" else [0] + sizes, ceil_mode, exclusive,
                  "NCHW", name)
    return squeeze(out, [2])


def max_pool1d(x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, name=None):
    """The largest value of every window of sequences [batch, channels, length]."""
    need(x, "x", "max_pool1d")
    if return_mask:
        from paddle.tensor.manipulation import squeeze, unsqueeze
        kernel = [1] + pair(kernel_size, 1, "kernel_size")
        stride = kernel if stride is None else [1] + pair(stride, 1, "stride")
        out, mask = max_pool2d(unsqueeze(x, [2]), kernel, stride, [0] + pair(padding, 1, "padding"), True, name=name)
        return squeeze(out, [2]), squeeze(mask, [2])
    return _pool1d(x, "max", kernel_size, stride, padding, ceil_mode, True, name)


def avg_pool1d(x, kernel_size, stride=None, padding=0, exclusive=True, ceil_mode=False, name=None):
    """The mean of every window of sequences."""
    return _pool1d(need(x, "x", "avg_pool1d"), "avg", kernel_size, stride, padding, ceil_mode, exclusive, name)


def adaptive_avg_pool2d(x, output_size, data_format="NCHW", name=None):
    """The means of output_size windows."""
    need(x, "x", "adaptive_avg_pool2d")
    return _pool2d(x, "avg", output_size, [1, 1], 0, False, True, data_format, name, True)


def adaptive_max_pool2d(x, output_size, return_mask=False, name=None):
    """The largest values of output_size windows."""
    need(x, "x", "adaptive_max_pool2d")
    out = _max_and_place(x, name, ksize=pair(output_size, 2, "output_size"), adaptive=True)
    return out if return_mask else out[0]


def adaptive_max_pool1d(x, output_size, return_mask=False, name=None):
    """The largest values of output_size windows of sequences."""
    from paddle.tensor.manipulation import squeeze, unsqueeze
    need(x, "x", "adaptive_max_pool1d")
    out, mask = _max_and_place(unsqueeze(x, [2]), name, ksize=[1] + pair(output_size, 1, "output_size"), adaptive=True)
    return (squeeze(out, [2]), squeeze(mask, [2])) if return_mask else squeeze(out, [2])


def adaptive_avg_pool1d(x, output_size, name=None):
    """The means of output_size windows of sequences."""
    from paddle.tensor.manipulation import squeeze, unsqueeze
    need(x, "x", "adaptive_avg_pool1d")
    return squeeze(adaptive_avg_pool2d(unsqueeze(x, [2]), [1] + pair(output_size, 1, "output_size"), name=name), [2])


__getattr__ = _names.guard(__name__)
