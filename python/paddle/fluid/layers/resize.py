"""Images and volumes of another size, as products with matrices of shares."""
from paddle import _names
from paddle.fluid import framework
from paddle.fluid.layer_helper import check_variable

__all__ = ["image_resize", "image_resize_short", "resize_bilinear", "resize_nearest", "resize_trilinear"]

_RANKS = {"BILINEAR": 4, "TRILINEAR": 5, "NEAREST": 4, "LINEAR": 3}
_FORMATS = {3: ("NCW", "NWC"), 4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}


def _shares(old, new, method, align_corners, align_mode):
    """[old, new]: what every old place gives to every new one."""
    import numpy
    from paddle.nn.functional import vision
    if method != "NEAREST":
        return vision._weights(old, new, None, "linear", align_corners, align_mode).T
    step = (old - 1) / (new - 1.0) if align_corners and new > 1 else 0.0 if align_corners else old / new
    at = numpy.arange(new) * numpy.float32(step) + (0.5 if align_corners else 0.0)
    out = numpy.zeros((old, new))
    out[numpy.minimum(at.astype(int), old - 1), numpy.arange(new)] = 1
    return out


def _along(x, axis, shares):
    from paddle.fluid.layers.nn import mul, transpose
    from paddle.fluid.layers.tensor import assign
    rank = len(x.shape)
    weight = assign(shares.astype("float32"))
    if axis == rank - 1:
        return mul(x, weight, x_num_col_dims=rank - 1)
    order = [i for i in range(rank) if i != axis] + [axis]
    out = mul(transpose(x, order), weight, x_num_col_dims=rank - 1)
    return transpose(out, [order.index(i) for i in range(rank)])


def image_resize(input, out_shape=None, scale=None, name=None, resample="BILINEAR", actual_shape=None, align_corners=True,
                 align_mode=1, data_format="NCHW"):
    """resample: BILINEAR, NEAREST, TRILINEAR (of volumes) or LINEAR (of sequences), to a size or by a scale."""
    check_variable(input, "input", "image_resize")
    method, rank = resample.upper(), len(input.shape)
    if method not in _RANKS:
        raise ValueError("The 'resample' of image_resize can only be 'BILINEAR', 'TRILINEAR', 'NEAREST' or 'LINEAR' currently.")
    if rank != _RANKS[method] and not (method == "NEAREST" and rank == 5):
        raise ValueError("image_resize: %s takes tensors of %d dimensions, but received %d" % (method, _RANKS[method], rank))
    if data_format not in _FORMATS[rank]:
        raise ValueError("Got wrong value for param `data_format`: %s received but only `%s` or `%s` supported for %d-D input." %
                         ((data_format,) + _FORMATS[rank] + (rank,)))
    if out_shape is None and scale is None:
        raise ValueError("One of out_shape and scale must not be None.")
    given = [out_shape, scale, actual_shape] + (list(out_shape) if isinstance(out_shape, (list, tuple)) else [])
    if any(isinstance(v, framework.Variable) for v in given):
        raise NotImplementedError("image_resize: Skiff takes sizes and scales as numbers, not as Variables")
    first = 2 if data_format == _FORMATS[rank][0] else 1
    scale = None if out_shape is not None else float(scale)
    sizes = [int(input.shape[first + i] * scale) for i in range(rank - 2)] if scale else [int(n) for n in out_shape]
    if len(sizes) != rank - 2 or min(sizes) <= 0:
        raise ValueError("image_resize: the size %s does not fit a tensor of %d dimensions" % (sizes, rank))
    for i, size in enumerate(sizes):
        old = input.shape[first + i]
        input = _along(input, first + i, _shares(old, size, method, align_corners, align_mode))
    return input


def resize_bilinear(input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True, align_mode=1,
                    data_format="NCHW"):
    """image_resize(resample="BILINEAR")"""
    return image_resize(input, out_shape, scale, name, "BILINEAR", actual_shape, align_corners, align_mode, data_format)


def resize_trilinear(input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True, align_mode=1,
                     data_format="NCDHW"):
    """image_resize(resample="TRILINEAR")"""
    return image_resize(input, out_shape, scale, name, "TRILINEAR", actual_shape, align_corners, align_mode, data_format)


def resize_nearest(input, out_shape=None, scale=None, name=None, actual_shape=None, align_corners=True, data_format="NCHW"):
    """image_resize(resample="NEAREST")"""
    return image_resize(input, out_shape, scale, name, "NEAREST", actual_shape, align_corners, 1, data_format)


def image_resize_short(input, out_short_len, resample="BILINEAR"):
    """The shorter side gets this length, the other one keeps the ratio."""
    check_variable(input, "input", "image_resize_short")
    if len(input.shape) != 4:
        raise ValueError("The rank of input must be 4 (num_batches, channels, in_h, in_w).")
    sides = list(input.shape[2:4])
    short = min(sides)
    sizes = [out_short_len if side == short else int(side * (float(out_short_len) / short) + 0.5) for side in sides]
    return image_resize(input, sizes, resample=resample)


__getattr__ = _names.guard(__name__)
