"""Linear maps, dropout, embeddings, padding."""
from paddle import _names
from paddle._op import Value, Call, need, net, one, type_number


def linear(x, weight, bias=None, name=None):
    """x @ weight + bias"""
    need(x, "x", "linear")
    call = Call("linear", name)
    out = call.one("matmul_v2", {"X": x, "Y": need(weight, "weight", "linear")}, {"trans_x": False, "trans_y": False})
    if bias is None:
        return out
    return call.one("elementwise_add", {"X": out, "Y": bias}, {"axis": -1})


def dropout(x, p=0.5, axis=None, training=True, mode="upscale_in_train", name=None):
    """Elements set to zero with probability p while training."""
    if isinstance(p, Value) or not isinstance(p, (int, float)):
        raise TypeError("p argument should be a number")
    if p < 0 or p > 1:
        raise ValueError("p argument should between 0 and 1")
    if mode not in ("downscale_in_infer", "upscale_in_train"):
        raise ValueError("mode argument should be 'downscale_in_infer' or 'upscale_in_train'")
    if axis is not None:
        raise NotImplementedError("dropout: dropping along an axis; Skiff drops element by element (axis=None)")
    if p == 0:
        return x
    need(x, "x", "dropout")
    call, seed = Call("dropout", name), net.main.random_seed
    out, mask = call.var(), call.var("uint8", stop_gradient=True)
    call.op("dropout", {"X": x}, {"Out": out, "Mask": mask},
            {"dropout_prob": float(p), "is_test": not training, "fix_seed": seed != 0, "seed": seed,
             "dropout_implementation": "downgrade_in_infer" if mode == "downscale_in_infer" else mode})
    return out


def embedding(x, weight, padding_idx=None, sparse=False, name=None):
    """Rows of weight by number; rows of padding_idx are zero."""
    need(x, "input", "embedding")
    need(weight, "weight", "embedding")
    rows = weight.shape[0]
    index = -1 if padding_idx is None else padding_idx if padding_idx >= 0 else rows + padding_idx
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise ValueError("padding_idx must be within [-%d, %d)" % (rows, rows))
    return one("embedding", "lookup_table_v2", {"Ids": x, "W": weight},
               {"is_sparse": sparse, "is_distributed": False, "remote_prefetch": sparse, "padding_idx": index}, name)


def one_hot(x, num_classes, name=None):
    """A row with a one at x."""
    need(x, "input", "one_hot_v2")
    inputs, attrs = {"X": x}, {"allow_out_of_range": False}
    if isinstance(num_classes, Value):
        inputs["depth_tensor"] = num_classes
    else:
        attrs["depth"] = num_classes
    return one("one_hot_v2", "one_hot_v2", inputs, attrs, name, dtype="float32", stop_gradient=True)


def cosine_similarity(x1, x2, axis=1, eps=1e-8):
    """x1 . x2 / max(|x1| |x2|, eps) along the axis."""
    from paddle.tensor.math import clip, multiply, sqrt, sum
    dots = sum(multiply(x1, x2), axis=axis)
    first = sum(multiply(x1, x1), axis=axis)
    second = sum(multiply(x2, x2), axis=axis)
    return dots / sqrt(clip(first * second, min=eps * eps))


def label_smooth(label, prior_dist=None, epsilon=0.1, name=None):
    """(1 - epsilon) * label + epsilon / classes"""
    if prior_dist is not None:
        return label * (1.0 - epsilon) + prior_dist * epsilon
    return label * (1.0 - epsilon) + epsilon / float(label.shape[-1])


def pad(x, pad, mode="constant", value=0.0, data_format="NCHW", name=None):
    """Borders around the spatial dimensions, or (2 * rank numbers) around all of them."""
    from paddle.tensor.manipulation import squeeze, unsqueeze
    need(x, "x", "pad")
    if isinstance(pad, Value):
        raise TypeError("pad: the sizes must be known while the program is built")
    rank, sizes = len(x.shape), list(pad)
    around = {3: (["NCL", "NLC"], [3, 2] if data_format == "NCL" else [2, 1]),
              4: (["NCHW", "NHWC"], [2] if data_format == "NCHW" else [1]), 5: (["NCDHW", "NDHWC"], [])}
    if rank not in around or len(sizes) != 2 * (rank - 2):
        raise NotImplementedError("pad: Skiff pads the spatial dimensions of tensors of rank 3 to 5; got rank %d and %d sizes"
                                  % (rank, len(sizes)))
    last = "NDHWC" if data_format.endswith("C") else "NCDHW"
    new = {3: [2, 2], 4: [2], 5: []}[rank] if last == "NCDHW" else {3: [1, 1], 4: [1], 5: []}[rank]
    if rank == 3:
        raise NotImplementedError("pad: rank 3; unsqueeze to rank 4 first")
    for axis in new:
        x = unsqueeze(x, axis)
    out = one("pad3d", "pad3d", {"X": x}, {"paddings": sizes + [0] * (6 - len(sizes)), "mode": mode, "value": float(value),
                                           "data_format": last}, name)
    for axis in new:
        out = squeeze(out, axis)
    return out


def sequence_mask(x, maxlen=None, dtype="int64", name=None):
    """Rows that begin with x ones."""
    need(x, "x", "sequence_mask")
    inputs, attrs = {"X": x}, {"out_dtype": type_number(dtype)}
    if isinstance(maxlen, Value):
        inputs["MaxLenTensor"] = maxlen
    else:
        attrs["maxlen"] = -1 if maxlen is None else maxlen
    return one("sequence_mask", "sequence_mask", inputs, attrs, name, slot="Y", stop_gradient=True)


__getattr__ = _names.guard(__name__)
