"""Volumes [batch, channels, depth, height, width]: convolution and pooling made of those of images, slice by slice of the depth;
and the way back of pooling."""
from paddle import _names
from paddle._op import fill, need
from paddle.nn.functional.conv import conv2d, conv2d_transpose, padding_of, pair
from paddle.nn.functional import pooling


def _channels_first(x, data_format, where):
    """x as NCDHW, and whether it was NDHWC."""
    from paddle.tensor.linalg import transpose
    if data_format not in ("NCDHW", "NDHWC"):
        raise ValueError("Attr(data_format) should be 'NCDHW' or 'NDHWC'. Received Attr(data_format): %s." % data_format)
    if len(need(x, "x", where).shape) != 5:
        raise ValueError("Input x should be 5D tensor, but received x with the shape of %s" % list(x.shape))
    last = data_format == "NDHWC"
    return (transpose(x, [0, 4, 1, 2, 3]) if last else x), last


def _as_given(x, last):
    from paddle.tensor.linalg import transpose
    return transpose(x, [0, 2, 3, 4, 1]) if last else x


def _ends(padding, sizes, kernel, stride, dilation, last):
    """[(before, after)] for the three dims."""
    given, algorithm = padding_of(padding, 3, last)
    if algorithm == "VALID":
        return [(0, 0)] * 3
    if algorithm == "SAME":
        out = []
        for size, k, s, d in zip(sizes, kernel, stride, dilation):
            total = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
            out.append((total // 2, total - total // 2))
        return out
    return [(p, p) for p in given] if len(given) == 3 else [tuple(given[2 * i:2 * i + 2]) for i in range(3)]


def _zeros_around(x, axis, before, after):
    """x with slices of zeros at both ends of an axis; negative numbers cut slices off."""
    from paddle.tensor.manipulation import concat, slice
    size = x.shape[axis]
    parts = []
    if before > 0:
        parts.append(slice(x, [axis], [0], [1]) * 0.0)
        parts *= before
    begin, end = max(-before, 0), size - max(-after, 0)
    parts.append(x if (begin, end) == (0, size) else slice(x, [axis], [begin], [end]))
    if after > 0:
        parts += [slice(x, [axis], [0], [1]) * 0.0] * after
    return parts[0] if len(parts) == 1 else concat(parts, axis)


def _as_images(x):
    """[N, C, D, H, W] as [N D, C, H, W]"""
    from paddle.tensor.linalg import transpose
    from paddle.tensor.manipulation import reshape
    return reshape(transpose(x, [0, 2, 1, 3, 4]), [-1, x.shape[1]] + list(x.shape[3:]))


def _as_volumes(x, depth):
    from paddle.tensor.linalg import transpose
    from paddle.tensor.manipulation import reshape
    return transpose(reshape(x, [-1, depth] + list(x.shape[1:])), [0, 2, 1, 3, 4])


def _filter_at(weight, place):
    from paddle.tensor.manipulation import slice, squeeze
    return squeeze(slice(weight, [2], [place], [place + 1]), [2])


def _with_bias(out, bias):
    from paddle.tensor.manipulation import reshape
    return out if bias is None else out + reshape(bias, [1, -1, 1, 1, 1])


def conv3d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCDHW", name=None):
    """Convolution of volumes with filters [out, in / groups, depth, height, width]."""
    from paddle.tensor.manipulation import strided_slice
    x, last = _channels_first(x, data_format, "conv3d")
    kernel, stride, dilation = list(weight.shape[2:]), pair(stride, 3, "stride"), pair(dilation, 3, "dilation")
    ends = _ends(padding, x.shape[2:], kernel, stride, dilation, last)
    x = _zeros_around(x, 2, *ends[0])
    depth = (x.shape[2] - (kernel[0] - 1) * dilation[0] - 1) // stride[0] + 1
    if depth < 1:
        raise ValueError("conv3d: a filter of the depth %d does not fit %d slices" % ((kernel[0] - 1) * dilation[0] + 1, x.shape[2]))
    out = None
    for i in range(kernel[0]):
        begin = i * dilation[0]
        part = strided_slice(x, [2], [begin], [begin + (depth - 1) * stride[0] + 1], [stride[0]])
        part = conv2d(_as_images(part), _filter_at(weight, i), None, stride[1:], list(ends[1] + ends[2]), dilation[1:], groups)
        out = part if out is None else out + part
    return _as_given(_with_bias(_as_volumes(out, depth), bias), last)


def conv3d_transpose(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1, output_size=None,
                     data_format="NCDHW", name=None):
    """What conv3d does, the other way; filters [in, out / groups, depth, height, width]."""
    from paddle.tensor.manipulation import reshape, stack
    x, last = _channels_first(x, data_format, "conv3d_transpose")
    kernel, stride, dilation = list(weight.shape[2:]), pair(stride, 3, "stride"), pair(dilation, 3, "dilation")
    ends, depth = _ends(padding, x.shape[2:], kernel, stride, dilation, last), x.shape[2]
    more = pair(output_padding, 3, "output_padding")
    if output_size is not None:
        plain = [(x.shape[2 + i] - 1) * stride[i] - sum(ends[i]) + (kernel[i] - 1) * dilation[i] + 1 for i in range(3)]
        more = [wanted - size for wanted, size in zip(pair(output_size, 3, "output_size"), plain)]
        if any(not 0 <= m < max(s, d) + (s == 1) for m, s, d in zip(more, stride, dilation)):
            raise ValueError("conv3d_transpose: output_size %s does not fit; without it the size is %s" % (output_size, plain))
    out, images = None, _as_images(x)
    for i in range(kernel[0]):
        part = conv2d_transpose(images, _filter_at(weight, i), None, stride[1:], list(ends[1] + ends[2]), more[1:], dilation[1:],
                                groups)
        part = _as_volumes(part, depth)
        if stride[0] > 1:  # zeros between the slices
            part = stack([part] + [part * 0.0] * (stride[0] - 1), axis=3)
            part = reshape(part, [-1, part.shape[1], depth * stride[0]] + list(part.shape[4:]))
        before, reach = i * dilation[0], (kernel[0] - 1) * dilation[0]
        part = _zeros_around(part, 2, before, reach - before - (stride[0] - 1) + more[0])
        part = _zeros_around(part, 2, -ends[0][0], -ends[0][1])
        out = part if out is None else out + part
    return _as_given(_with_bias(out, bias), last)


# ---- pooling: over height and width, then over the depth ----


def _pool(x, function, kernel, stride, ends, ceil_mode, **more):
    from paddle.tensor.manipulation import reshape
    channels, depth = x.shape[1], x.shape[2]
    flat = function(reshape(x, [-1, channels * depth] + list(x.shape[3:])), kernel[1:], stride[1:], list(ends[1] + ends[2]),
                    ceil_mode=ceil_mode, **more)
    height, width = flat.shape[2:]
    out = function(reshape(flat, [-1, channels, depth, height * width]), [kernel[0], 1], [stride[0], 1], list(ends[0]) + [0, 0],
                   ceil_mode=ceil_mode, **more)
    return reshape(out, [-1, channels, out.shape[2], height, width])


def avg_pool3d(x, kernel_size, stride=None, padding=0, ceil_mode=False, exclusive=True, divisor_override=None,
               data_format="NCDHW", name=None):
    """The mean of every window."""
    x, last = _channels_first(x, data_format, "avg_pool3d")
    kernel = pair(kernel_size, 3, "kernel_size")
    stride = kernel if stride is None else pair(stride, 3, "stride")
    ends = _ends(padding, x.shape[2:], kernel, stride, [1] * 3, last)
    out = _pool(x, pooling.avg_pool2d, kernel, stride, ends, ceil_mode, exclusive=exclusive)
    if divisor_override is not None:
        out = out * (kernel[0] * kernel[1] * kernel[2] / float(divisor_override))
    return _as_given(out, last)


def _masked(x, flat, places, pool):
    """Values and places of the whole volume; pool(planes): the second step, over the depth."""
    from paddle.tensor.manipulation import cast, reshape
    from paddle.tensor.picking import take_along_axis
    channels, depth, plane = x.shape[1], x.shape[2], x.shape[3] * x.shape[4]
    height, width = flat.shape[2:]
    out, chosen = pool(reshape(flat, [-1, channels, depth, height * width]))
    deep = out.shape[2]
    chosen = reshape(cast(chosen, "int64"), [-1, channels, deep * height * width])
    inside = take_along_axis(reshape(cast(places, "int64"), [-1, channels, depth * height * width]), chosen, 2)
    mask = chosen // fill([1], height * width, "int64") * plane + inside
    return (reshape(out, [-1, channels, deep, height, width]),
            reshape(cast(mask, "int32"), [-1, channels, deep, height, width]))


def max_pool3d(x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, data_format="NCDHW", name=None):
    """The largest value of every window (and its place in the volume)."""
    from paddle.tensor.manipulation import reshape
    x, last = _channels_first(x, data_format, "max_pool3d")
    kernel = pair(kernel_size, 3, "kernel_size")
    stride = kernel if stride is None else pair(stride, 3, "stride")
    ends = _ends(padding, x.shape[2:], kernel, stride, [1] * 3, last)
    if not return_mask:
        return _as_given(_pool(x, pooling.max_pool2d, kernel, stride, ends, ceil_mode), last)
    if last:
        raise ValueError("When setting return_mask to true, data_format must be set to NCDHW in API:max_pool3d")
    pads = [before for before, _ in ends]
    flat, places = pooling.max_pool2d(reshape(x, [-1, x.shape[1] * x.shape[2]] + list(x.shape[3:])), kernel[1:], stride[1:],
                                      pads[1:], True)
    return _masked(x, flat, places, lambda planes: pooling.max_pool2d(planes, [kernel[0], 1], [stride[0], 1], [pads[0], 0], True))


def _three(output_size, given):
    sizes = [output_size] * 3 if output_size is None or isinstance(output_size, int) else list(output_size)
    return [old if new is None else int(new) for new, old in zip(sizes, given)]


def adaptive_avg_pool3d(x, output_size, data_format="NCDHW", name=None):
    """The means of output_size windows."""
    from paddle.tensor.manipulation import reshape
    x, last = _channels_first(x, data_format, "adaptive_avg_pool3d")
    deep, height, width = _three(output_size, x.shape[2:])
    flat = pooling.adaptive_avg_pool2d(reshape(x, [-1, x.shape[1] * x.shape[2]] + list(x.shape[3:])), [height, width])
    out = pooling.adaptive_avg_pool2d(reshape(flat, [-1, x.shape[1], x.shape[2], height * width]), [deep, height * width])
    return _as_given(reshape(out, [-1, x.shape[1], deep, height, width]), last)


def adaptive_max_pool3d(x, output_size, return_mask=False, name=None):
    """The largest values of output_size windows (and their places in the volume)."""
    from paddle.tensor.manipulation import reshape
    x, _ = _channels_first(x, "NCDHW", "adaptive_max_pool3d")
    deep, height, width = _three(output_size, x.shape[2:])
    flat, places = pooling.adaptive_max_pool2d(reshape(x, [-1, x.shape[1] * x.shape[2]] + list(x.shape[3:])), [height, width], True)
    if return_mask:
        return _masked(x, flat, places, lambda planes: pooling.adaptive_max_pool2d(planes, [deep, height * width], True))
    out = pooling.adaptive_max_pool2d(reshape(flat, [-1, x.shape[1], x.shape[2], height * width]), [deep, height * width])
    return reshape(out, [-1, x.shape[1], deep, height, width])


# ---- the way back of pooling ----


def _unpool(dims, formats):
    def function(x, indices, kernel_size, stride=None, padding=0, data_format=formats, output_size=None, name=None):
        from paddle.tensor.manipulation import cast, reshape
        from paddle.tensor.picking import put_along_axis
        where = function.__name__
        if data_format != formats:
            raise ValueError("Attr(data_format) should be '%s'. Received Attr(data_format): %s." % (formats, data_format))
        if len(need(x, "x", where).shape) != dims + 2:
            raise ValueError("The x should have %d dimensions, but received %d" % (dims + 2, len(x.shape)))
        kernel = pair(kernel_size, dims, "kernel_size")
        stride = kernel if stride is None else pair(stride, dims, "stride")
        pads = pair(padding, dims, "padding")
        plain = [(x.shape[2 + i] - 1) * stride[i] + kernel[i] - 2 * pads[i] for i in range(dims)]
        sizes = plain if output_size is None else [int(v) for v in list(output_size)[-dims:]]
        for i, (size, usual) in enumerate(zip(sizes, plain)):
            if not usual - stride[i] < size < usual + stride[i]:
                raise ValueError('invalid output_size "%s" (dim %d must be between %d and %d)' %
                                 (sizes, i, usual - stride[i], usual + stride[i]))
        count = 1
        for size in sizes:
            count *= size
        places = reshape(cast(indices, "int64"), [x.shape[0], x.shape[1], -1])
        values = reshape(x, [x.shape[0], x.shape[1], -1])
        empty = fill([x.shape[0], x.shape[1], count], 0, x.dtype)
        return reshape(put_along_axis(empty, places, values, 2, broadcast=False), [x.shape[0], x.shape[1]] + sizes)

    function.__name__ = function.__qualname__ = "max_unpool%dd" % dims
    function.__doc__ = "Every value at the place that max_pool%dd found it; 0 elsewhere." % dims
    return function


max_unpool1d, max_unpool2d, max_unpool3d = _unpool(1, "NCL"), _unpool(2, "NCHW"), _unpool(3, "NCDHW")

__getattr__ = _names.guard(__name__)
