"""Channels and pictures: shuffling, windows, other sizes."""
import numpy

from paddle import _names
from paddle._op import Value, need, one
from paddle.nn.functional.conv import pair


def _first(data_format, where, formats=("NCHW", "NHWC")):
    if data_format not in formats:
        raise ValueError("Attr(data_format) should be %s. But receive Attr(data_format): %s " %
                         (" or ".join("'%s'" % f for f in formats), data_format))
    return data_format == formats[0]


def _rank4(x, where):
    if len(need(x, "x", where).shape) != 4:
        raise ValueError("Input x should be 4D tensor, but received x with the shape of %s" % list(x.shape))


def _pieces(x, sizes, order, back):
    """x seen as sizes, its axes in another order, and seen as back."""
    from paddle.tensor.manipulation import reshape, transpose
    return reshape(transpose(reshape(x, sizes), order), back)


def pixel_shuffle(x, upscale_factor, data_format="NCHW", name=None):
    """Channels become places: [N, C r^2, H, W] -> [N, C, H r, W r]."""
    _rank4(x, "pixel_shuffle")
    if not isinstance(upscale_factor, int):
        raise TypeError("upscale factor must be int type")
    _first(data_format, "pixel_shuffle")
    return one("pixel_shuffle", "pixel_shuffle", {"X": x}, {"upscale_factor": upscale_factor, "data_format": data_format}, name)


def pixel_unshuffle(x, downscale_factor, data_format="NCHW", name=None):
    """Places become channels."""
    _rank4(x, "pixel_unshuffle")
    if not isinstance(downscale_factor, int):
        raise TypeError("Downscale factor must be int type")
    if downscale_factor <= 0:
        raise ValueError("Downscale factor must be positive")
    r = downscale_factor
    if _first(data_format, "pixel_unshuffle"):
        c, h, w = x.shape[1:]
        return _pieces(x, [-1, c, h // r, r, w // r, r], [0, 1, 3, 5, 2, 4], [-1, c * r * r, h // r, w // r])
    h, w, c = x.shape[1:]
    return _pieces(x, [-1, h // r, r, w // r, r, c], [0, 1, 3, 5, 2, 4], [-1, h // r, w // r, c * r * r])


def channel_shuffle(x, groups, data_format="NCHW", name=None):
    """Channels of all groups in turn."""
    _rank4(x, "channel_shuffle")
    if not isinstance(groups, int):
        raise TypeError("groups must be int type")
    if groups <= 0:
        raise ValueError("groups must be positive")
    if _first(data_format, "channel_shuffle"):
        c, h, w = x.shape[1:]
        return _pieces(x, [-1, groups, c // groups, h, w], [0, 2, 1, 3, 4], [-1, c, h, w])
    h, w, c = x.shape[1:]
    return _pieces(x, [-1, h, w, groups, c // groups], [0, 1, 2, 4, 3], [-1, h, w, c])


def _window_filter(kernel, dtype):
    from paddle.tensor.creation import to_tensor
    count = kernel[0] * kernel[1]
    return to_tensor(numpy.eye(count, dtype="float32").reshape([count, 1] + kernel), dtype)


def _border(paddings):
    sizes = [paddings] * 4 if isinstance(paddings, int) else list(paddings)
    if len(sizes) not in (2, 4):
        raise ValueError("paddings should either be an integer or a list/tuple of 2 or 4 integers")
    top, left, bottom, right = sizes if len(sizes) == 4 else sizes * 2
    return [top, bottom, left, right]


def unfold(x, kernel_sizes, strides=1, paddings=0, dilations=1, name=None):
    """Every window of images as a column: [N, C kh kw, windows]."""
    if len(need(x, "x", "unfold").shape) != 4:
        raise AssertionError("input should be the format of [N, C, H, W]")
    top, bottom, left, right = _border(paddings)
    return one("unfold", "unfold", {"X": x},
               {"kernel_sizes": pair(kernel_sizes, 2, "kernel_sizes"), "strides": pair(strides, 2, "strides"),
                "paddings": [top, left, bottom, right], "dilations": pair(dilations, 2, "dilations")}, name, slot="Y")


def fold(x, output_sizes, kernel_sizes, strides=1, paddings=0, dilations=1, name=None):
    """Windows put together to images, added where they overlap."""
    from paddle.nn.functional.conv import conv2d_transpose
    from paddle.tensor.manipulation import reshape
    from paddle.tensor.manipulation import slice as cut
    if len(need(x, "x", "fold").shape) != 3:
        raise AssertionError("input should be the format of [N, C, L]")
    size, kernel = pair(output_sizes, 2, "output_sizes"), pair(kernel_sizes, 2, "kernel_sizes")
    stride, dilation, border = pair(strides, 2, "strides"), pair(dilations, 2, "dilations"), _border(paddings)
    area, (channels, length) = kernel[0] * kernel[1], x.shape[1:]
    counts = [(size[i] + border[2 * i] + border[2 * i + 1] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in (0, 1)]
    if channels % area or length != counts[0] * counts[1]:
        raise ValueError("fold: windows of %s in images of %s need [N, C * %d, %d], but the shape is %s" %
                         (kernel, size, area, counts[0] * counts[1], list(x.shape)))
    whole = [size[i] + border[2 * i] + border[2 * i + 1] for i in (0, 1)]
    full = [(counts[i] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1 for i in (0, 1)]
    out = conv2d_transpose(reshape(x, [-1, area] + counts), _window_filter(kernel, x.dtype), None, stride, 0, 0, dilation,
                           output_size=None if full == whole else whole)
    out = cut(out, [2, 3], [border[0], border[2]], [border[0] + size[0], border[2] + size[1]])
    return reshape(out, [-1, channels // area] + size)


# ---- other sizes --------------------------------------------------------------------------------


def _sources(old, new, scale, method, align_corners, align_mode):
    """Where each of new places lies among old ones."""
    places = numpy.arange(new, dtype="float64")
    if align_corners:
        return places * ((old - 1) / (new - 1) if new > 1 else 0.0)
    ratio = 1.0 / scale if scale else old / float(new)
    if method == "nearest" or align_mode == 1 and method != "bicubic":
        return places * ratio
    return (places + 0.5) * ratio - 0.5


def _weights(old, new, scale, method, align_corners, align_mode):
    """A matrix [new, old] that interpolates."""
    at = _sources(old, new, scale, method, align_corners, align_mode)
    out = numpy.zeros((new, old))
    rows = numpy.arange(new)
    if method == "bicubic":
        low, a = numpy.floor(at).astype(int), -0.75
        t = at - low
        near = lambda d: ((a + 2) * d - (a + 3)) * d * d + 1  # noqa: E731
        far = lambda d: ((a * d - 5 * a) * d + 8 * a) * d - 4 * a  # noqa: E731
        for shift, part in ((-1, far(t + 1)), (0, near(t)), (1, near(1 - t)), (2, far(2 - t))):
            numpy.add.at(out, (rows, numpy.clip(low + shift, 0, old - 1)), part)
        return out
    at = numpy.maximum(at, 0.0)
    low = numpy.minimum(at.astype(int), old - 1)
    share = at - low
    numpy.add.at(out, (rows, low), 1 - share)
    numpy.add.at(out, (rows, numpy.minimum(low + 1, old - 1)), share)
    return out


def _resized(x, axis, new, scale, method, align_corners, align_mode):
    from paddle.tensor.creation import to_tensor
    from paddle.tensor.linalg import matmul
    from paddle.tensor.manipulation import transpose
    from paddle.tensor.search import index_select
    old, rank = x.shape[axis], len(x.shape)
    if method == "nearest":
        at = numpy.minimum(_sources(old, new, scale, method, False, 1).astype("int64"), old - 1)
        return index_select(x, to_tensor(at), axis)
    weight = to_tensor(_weights(old, new, scale, method, align_corners, align_mode).astype("float32"), x.dtype)
    if axis == rank - 1:
        return matmul(x, weight, transpose_y=True)
    order = [i for i in range(rank) if i != axis] + [axis]
    back = list(numpy.argsort(order))
    return transpose(matmul(transpose(x, order), weight, transpose_y=True), [int(i) for i in back])


def _numbers(value, n, what):
    if isinstance(value, Value):
        value = value.numpy().tolist()
    if isinstance(value, (int, float)):
        return [value] * n
    out = [v.item() if hasattr(v, "item") else v for v in value]
    if len(out) != n:
        raise ValueError("interpolate: %s must be one number or %d, but got %s" % (what, n, out))
    return out


_METHODS = {"linear": (3,), "nearest": (4, 5), "bilinear": (4,), "bicubic": (4,), "trilinear": (5,), "area": (3, 4)}


def interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=False, align_mode=0, data_format="NCHW",
                name=None):
    """Images (sequences, volumes) of another size."""
    rank, method = len(need(x, "x", "interpolate").shape), mode.lower()
    if method not in _METHODS:
        raise ValueError("The 'resample' of image_resize can only be 'area', 'linear', 'bilinear', 'trilinear',  'bicubic' or "
                         "'nearest' currently.")
    if rank not in _METHODS[method]:
        raise ValueError("'%s' only support %s tensor." % (method, " or ".join("%d-D" % r for r in _METHODS[method])))
    if size is None and scale_factor is None:
        raise ValueError("One of size and scale_factor must not be None.")
    if size is not None and scale_factor is not None:
        raise ValueError("Only one of size or scale_factor should be defined.")
    if align_corners and method == "nearest":
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
                         "trilinear")
    if method == "area":
        from paddle.nn.functional.pooling import adaptive_avg_pool1d, adaptive_avg_pool2d
        return adaptive_avg_pool1d(x, size) if rank == 3 else adaptive_avg_pool2d(x, size)
    formats = {3: ("NCW", "NWC"), 4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}[rank]
    if data_format.upper() not in formats:
        raise ValueError("Got wrong value for param `data_format`: %s received but only `%s` or `%s` supported for %d-D input."
                         % ((data_format,) + formats + (rank,)))
    first = 2 if data_format.upper() == formats[0] else 1
    scales = [None] * (rank - 2) if scale_factor is None else _numbers(scale_factor, rank - 2, "scale_factor")
    sizes = [int(x.shape[first + i] * s) for i, s in enumerate(scales)] if size is None else \
        [int(n) for n in _numbers(size, rank - 2, "size")]
    if min(sizes) <= 0:
        raise ValueError("Each dimension size given in out_shape must be greater than 0.")
    for i, new in enumerate(sizes):
        x = _resized(x, first + i, new, scales[i], method, align_corners, align_mode)
    return x


upsample = interpolate

__getattr__ = _names.guard(__name__)
