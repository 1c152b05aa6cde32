"""Pooling."""
from paddle import _names
from paddle._op import Call, declared, need, one
from paddle.nn.functional.conv import pair, padding_of

globals().update(declared(__name__))


def _check_format(data_format):
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("Attr(data_format) should be 'NCHW' or 'NHWC'. Received Attr(data_format): %s." % data_format)


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


def _sizes(output_size, given):
    """Two sizes; None: as it is."""
    sizes = [output_size] * 2 if output_size is None else pair(output_size, 2, "output_size") \
        if isinstance(output_size, int) or None not in output_size else list(output_size)
    return [old if new is None else int(new) for new, old in zip(sizes, given)]


def adaptive_avg_pool2d(x, output_size, data_format="NCHW", name=None):
    """The means of output_size windows."""
    need(x, "x", "adaptive_avg_pool2d")
    _check_format(data_format)
    output_size = _sizes(output_size, x.shape[2:4] if data_format == "NCHW" else x.shape[1:3])
    return _pool2d(x, "avg", output_size, [1, 1], 0, False, True, data_format, name, True)


def adaptive_max_pool2d(x, output_size, return_mask=False, name=None):
    """The largest values of output_size windows."""
    need(x, "x", "adaptive_max_pool2d")
    out = _max_and_place(x, name, ksize=_sizes(output_size, x.shape[2:4]), adaptive=True)
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
