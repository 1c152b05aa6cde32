"""Linear maps, dropout, embeddings, padding, similarities."""
from paddle import _names
from paddle._mode import mode as _mode
from paddle._op import Call, Value, declared, need, net, one

globals().update(declared(__name__))


# ---- dropout ------------------------------------------------------------------------------------


def dropout(x, p=0.5, axis=None, training=True, mode="upscale_in_train", name=None):
    """Elements (or complete slices: axis) set to zero with probability p while training."""
    if isinstance(p, Value) and _mode.eager:
        p = float(p.numpy())
    if isinstance(p, Value) or not isinstance(p, (int, float)):
        raise TypeError("p argument should be a number")
    if p == 0:
        return x
    if p < 0 or p > 1:
        raise ValueError("p argument should between 0 and 1")
    if mode not in ("downscale_in_infer", "upscale_in_train"):
        raise ValueError("mode argument should be 'downscale_in_infer' or 'upscale_in_train'")
    need(x, "x", "dropout")
    if axis is not None:
        return _dropout_along(x, p, axis, training, mode, name)
    call, seed = Call("dropout", name), net.main.random_seed
    out, mask = call.var(), call.var("uint8", stop_gradient=True)
    call.op("dropout", {"X": x}, {"Out": out, "Mask": mask},
            {"dropout_prob": float(p), "is_test": not training, "fix_seed": seed != 0, "seed": seed,
             "dropout_implementation": "downgrade_in_infer" if mode == "downscale_in_infer" else mode})
    return out


def _dropout_along(x, p, axis, training, mode, name):
    """What is dropped is dropped for all of the axes that are not named."""
    from paddle.tensor.attribute import shape
    from paddle.tensor.manipulation import cast
    from paddle.tensor.math import multiply, scale
    from paddle.tensor.random import uniform
    if not isinstance(axis, (int, list, tuple)):
        raise TypeError("datatype of axis argument should be int or list")
    if not training:
        return scale(x, 1 - p) if mode == "downscale_in_infer" else x
    axes, rank = [axis] if isinstance(axis, int) else list(axis), len(x.shape)
    if min(axes) < 0 or max(axes) > rank - 1:
        raise ValueError("axis value should be greater than or equal to 0 and less than dimensions of x:%d, but get axis "
                         "value:%d " % (rank, max(axes)))
    if len(axes) > rank:
        raise ValueError("length of axis should not be greater than dimensions of x:%d, but get length of axis: %d" %
                         (rank, len(axes)))
    if p == 1.0:
        return scale(x, 0.0)
    sizes = x.shape if _mode.eager else [shape(x)[i] if d < 0 else d for i, d in enumerate(x.shape)]
    keep = uniform([sizes[i] if i in axes else 1 for i in range(rank)], "float32", 0.0, 1.0) >= p
    scaled = scale(x, 1 / (1 - p)) if mode == "upscale_in_train" else x
    return multiply(scaled, cast(keep, x.dtype), name=name)


def _dropout_channels(x, p, training, data_format, formats, rank, name):
    if len(x.shape) != rank:
        raise ValueError("dimensions of x should be %d, but received %d != %d" % (rank, len(x.shape), rank))
    if data_format not in formats:
        raise ValueError("Attr(data_format) should be '%s' or '%s'. Received Attr(data_format): %s." % (formats + (data_format,)))
    return dropout(x, p, [0, 1] if data_format == formats[0] else [0, rank - 1], training, "upscale_in_train", name)


def dropout2d(x, p=0.5, training=True, data_format="NCHW", name=None):
    """Complete channels of images."""
    return _dropout_channels(x, p, training, data_format, ("NCHW", "NHWC"), 4, name)


def dropout3d(x, p=0.5, training=True, data_format="NCDHW", name=None):
    """Complete channels of volumes."""
    return _dropout_channels(x, p, training, data_format, ("NCDHW", "NDHWC"), 5, name)


def alpha_dropout(x, p=0.5, training=True, name=None):
    """Dropout that keeps mean and variance (for selu)."""
    from paddle.tensor.manipulation import cast
    from paddle.tensor.math import add, multiply, scale
    from paddle.tensor.random import uniform
    if not isinstance(p, (float, int)):
        raise TypeError("p argument should be a float or int")
    if p < 0 or p > 1:
        raise ValueError("p argument should between 0 and 1")
    need(x, "x", "alpha_dropout")
    if not training:
        return x
    if p == 1:
        return scale(x, 0.0)
    lowest = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946
    a = ((1 - p) * (1 + p * lowest ** 2)) ** -0.5
    keep = cast(uniform(x.shape, "float32", 0.0, 1.0) >= p, x.dtype)
    kept = add(multiply(x, keep), scale(scale(keep, -1.0, 1.0), lowest))
    return scale(kept, a, -a * lowest * p, name=name)


# ---- embeddings and labels ----------------------------------------------------------------------


def label_smooth(label, prior_dist=None, epsilon=0.1, name=None):
    """(1 - epsilon) * label + epsilon / classes"""
    if epsilon > 1.0 or epsilon < 0.0:
        raise ValueError("The value of epsilon must be between 0 and 1.")
    if prior_dist is not None:
        return label * (1.0 - epsilon) + prior_dist * epsilon
    return label * (1.0 - epsilon) + epsilon / float(label.shape[-1])


# ---- similarities -------------------------------------------------------------------------------


def cosine_similarity(x1, x2, axis=1, eps=1e-8):
    """x1 . x2 / max(|x1| |x2|, eps) along the axis."""
    from paddle.tensor.math import clip, multiply, sqrt, sum
    dots = sum(multiply(x1, x2), axis=axis)
    first = sum(multiply(x1, x1), axis=axis)
    second = sum(multiply(x2, x2), axis=axis)
    return dots / sqrt(clip(first * second, min=eps * eps))


def pairwise_distance(x, y, p=2.0, epsilon=1e-6, keepdim=False, name=None):
    """The p-norm of x - y + epsilon along the last axis."""
    from paddle.tensor.math import subtract
    apart = subtract(need(x, "x", "PairwiseDistance"), need(y, "y", "PairwiseDistance"))
    if epsilon != 0.0:
        apart = apart + epsilon
    return one("PairwiseDistance", "p_norm", {"X": apart},
               {"axis": -1, "porder": float(p), "keepdim": keepdim, "epsilon": 0.0}, name)


# ---- padding ------------------------------------------------------------------------------------


_FORMATS = {3: ("NCL", "NLC"), 4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}


def pad(x, pad, mode="constant", value=0.0, data_format="NCHW", name=None):
    """Borders around the spatial dimensions, or (2 * rank numbers) around all of them."""
    from paddle.tensor.manipulation import squeeze, unsqueeze
    need(x, "x", "pad")
    if mode not in ("reflect", "replicate", "constant", "circular"):
        raise AssertionError("mode should be one of constant, reflect, replicate, circular, but got %s." % mode)
    if isinstance(pad, Value):
        if not _mode.eager:
            raise TypeError("pad: the sizes must be known while the program is built")
        pad = pad.numpy().tolist()
    rank, sizes, data_format = len(x.shape), [int(n) for n in pad], data_format.upper()
    if mode == "constant" and len(sizes) == 2 * rank:
        return one("pad", "pad", {"X": x}, {"paddings": sizes, "pad_value": float(value)}, name)
    if rank not in _FORMATS:
        raise AssertionError("input tesor dimension must be in [3, 4, 5] but got %d" % rank)
    if data_format not in _FORMATS[rank]:
        raise AssertionError("input tensor dimension is %d, it's data format should be in %s but got %s" %
                             (rank, list(_FORMATS[rank]), data_format))
    last = data_format.endswith("C")
    new = {3: [1, 1] if last else [2, 2], 4: [1] if last else [2], 5: []}[rank]
    for axis in new:
        x = unsqueeze(x, axis)
    out = one("pad3d", "pad3d", {"X": x}, {"paddings": sizes + [0] * (6 - len(sizes)), "mode": mode, "value": float(value),
                                           "data_format": "NDHWC" if last else "NCDHW"}, name)
    for axis in new:
        out = squeeze(out, axis)
    return out


def zeropad2d(x, padding, data_format="NCHW", name=None):
    """Zeros around images: left, right, top, bottom."""
    return pad(x, padding, mode="constant", value=0.0, data_format=data_format, name=name)


def class_center_sample(label, num_classes, num_samples, group=None):
    """(labels by their number among the sampled classes, the classes: those of the labels, then others drawn at random)"""
    import numpy
    from paddle.tensor import to_tensor
    if not _mode.eager:
        raise NotImplementedError("class_center_sample is for eager mode: how many classes it gives depends on the labels")
    if group not in (None, False):
        raise NotImplementedError("class_center_sample: group=%r: classes that are spread over ranks are not there; use "
                                  "group=None or False" % (group,))
    need(label, "label", "class_center_sample")
    if len(label.shape) != 1:
        raise ValueError("Expected label_dims == 1              (got label_dims: %d)" % len(label.shape))
    if label._dtype not in ("int32", "int64"):
        raise TypeError("The data type of label in class_center_sample must be int32 or int64, but received %s" % label._dtype)
    if num_samples > num_classes:
        raise ValueError("Expected num_samples less than or equal to %d, got num_samples %d" % (num_classes, num_samples))
    values = label.numpy()
    if values.size and not 0 <= values.min() <= values.max() < num_classes:
        raise ValueError("class_center_sample: labels are from %d to %d; expected 0 to %d (num_classes - 1)" %
                         (values.min(), values.max(), num_classes - 1))
    known, places = numpy.unique(values, return_inverse=True)
    others = numpy.setdiff1d(numpy.arange(num_classes, dtype=values.dtype), known)
    more = numpy.random.default_rng().permutation(others)[:max(num_samples - known.size, 0)]  # as in Paddle, no seed decides
    return to_tensor(places.astype(values.dtype)), to_tensor(numpy.concatenate([known, more]))


__getattr__ = _names.guard(__name__)
