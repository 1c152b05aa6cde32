"""Losses."""
from paddle import _names
from paddle._mode import mode
from paddle._op import Call, declared, is_float, need, one
from paddle.tensor.math import multiply, sum
from paddle.tensor.stat import mean

globals().update(declared(__name__))


def _check(reduction, where):
    if reduction not in ("mean", "sum", "none"):
        raise ValueError("The value of 'reduction' in %s should be 'sum', 'mean' or 'none', but received %s, which is not "
                         "allowed." % (where, reduction))


def _reduced(loss, reduction, name=None):
    if reduction == "none":
        return loss
    return mean(loss, name=name) if reduction == "mean" else sum(loss, name=name)


def _softmax_loss(logits, label, soft_label, ignore_index, axis, numeric_stable_mode=True, use_softmax=True):
    call = Call("softmax_with_cross_entropy")
    softmax, loss = call.var(), call.var()
    try:
        call.op("softmax_with_cross_entropy", {"Logits": logits, "Label": label}, {"Softmax": softmax, "Loss": loss},
                {"soft_label": soft_label, "ignore_index": ignore_index, "numeric_stable_mode": numeric_stable_mode,
                 "axis": axis, "use_softmax": use_softmax})
    except ValueError as error:
        if "classes of the logits" in str(error):
            raise IndexError(str(error)) from None
        raise
    return loss, softmax


def _with_label_dim(input, label, axis, where):
    rank, labels = len(input.shape), len(label.shape)
    if rank == 0:
        raise ValueError("The dimention of input should be larger than zero!")
    if rank == labels:
        return label
    if rank - 1 != labels:
        raise ValueError("Expected nput_dims - 1 = label_dims or input_dims == label_dims (got nput_dims%d, label_dims%d)" %
                         (rank, labels))
    from paddle.tensor.manipulation import unsqueeze
    return unsqueeze(label, axis)


def softmax_with_cross_entropy(logits, label, soft_label=False, ignore_index=-100, numeric_stable_mode=True,
                               return_softmax=False, axis=-1):
    """-log(softmax(logits)[label])"""
    need(logits, "logits", "softmax_with_cross_entropy")
    need(label, "label", "softmax_with_cross_entropy")
    label = _with_label_dim(logits, label, axis, "softmax_with_cross_entropy")
    loss, softmax = _softmax_loss(logits, label, soft_label, ignore_index, axis, numeric_stable_mode)
    return (loss, softmax) if return_softmax else loss


def cross_entropy(input, label, weight=None, ignore_index=-100, reduction="mean", soft_label=False, axis=-1,
                  use_softmax=True, label_smoothing=0.0, name=None):
    """softmax_with_cross_entropy, reduced; weight: of every class."""
    need(input, "input", "cross_entropy")
    need(label, "label", "cross_entropy")
    _check(reduction, "softmax_cross_entropy")
    if ignore_index > 0 and soft_label:
        raise ValueError("When soft_label == True, the value of 'ignore_index' in softmax_cross_entropy should be '-100', but "
                         "received %s, which is not allowed." % ignore_index)
    narrow = len(label.shape) == len(input.shape) - 1
    label = _with_label_dim(input, label, axis, "cross_entropy")
    if label_smoothing > 0:
        label, soft_label = _smoothed(input, label, axis, label_smoothing, narrow), True
    loss, _ = _softmax_loss(input, label, soft_label, ignore_index, axis, use_softmax=use_softmax)
    weights = None
    if weight is not None:
        weights = _class_weights(input, label, weight, soft_label, ignore_index, axis, loss)
        loss = multiply(loss, weights)
    if reduction == "mean":
        return _mean_of_counted(loss, label, weights, soft_label, ignore_index, name)
    if reduction == "none" and narrow:
        from paddle.tensor.manipulation import squeeze
        return squeeze(loss, axis)
    return _reduced(loss, reduction, name)


def _smoothed(input, label, axis, smoothing, narrow):
    from paddle.nn.functional.common import label_smooth, one_hot
    from paddle.tensor.manipulation import cast, squeeze
    if narrow or not is_float(label) and label.shape[axis] == 1:
        label = one_hot(squeeze(label, axis), input.shape[-1])
    return cast(label_smooth(label, epsilon=smoothing), input.dtype)


def _class_weights(input, label, weight, soft_label, ignore_index, axis, loss):
    """The weight of every row's class, in the shape of the loss."""
    from paddle.tensor.linalg import matmul
    from paddle.tensor.manipulation import cast, gather_nd, reshape, transpose
    if soft_label:
        shape = list(loss.shape)
        return reshape(matmul(cast(label, weight.dtype), weight), [-1] + shape[1:])
    if input.shape[axis] != weight.shape[-1]:
        raise ValueError("input's class_dimension(%d) must equal to weight's class_dimension(%d) when weight is provided" %
                         (input.shape[axis], weight.shape[-1]))
    seen = label != ignore_index
    valid, rank = multiply(cast(seen, label.dtype), label), len(label.shape)
    if axis % rank != rank - 1:
        valid = transpose(valid, [i for i in range(rank) if i != axis % rank] + [axis % rank])
    gathered = reshape(gather_nd(weight, valid), [-1] + list(label.shape[1:]))
    return multiply(gathered, cast(seen, weight.dtype))


def _ignores(label, ignore_index):
    """Whether rows are left out: looked up in eager mode, in programs what the number allows."""
    if mode.eager:
        return bool((label.numpy() == ignore_index).any())
    return ignore_index >= 0


def _mean_of_counted(loss, label, weights, soft_label, ignore_index, name):
    """The mean over the rows whose label is not ignore_index, or by the weights of classes."""
    from paddle.tensor.manipulation import cast
    if weights is not None:
        total = sum(weights)
        return sum(loss) / (total + cast(total == 0.0, total.dtype))
    if soft_label or not _ignores(label, ignore_index):
        return mean(loss, name=name)
    count = sum(cast(label != ignore_index, loss.dtype))
    return sum(loss) / (count + cast(count == 0.0, count.dtype))


def kl_div(input, label, reduction="mean", name=None):
    """label * (log(label) - input)"""
    from paddle.tensor.manipulation import cast
    need(input, "input", "kl_div")
    need(label, "label", "kl_div")
    if is_float(input) and is_float(label) and input.dtype != label.dtype:
        input, label = cast(input, "float64"), cast(label, "float64")
    loss = one("kl_div", "kldiv_loss", {"X": input, "Target": label}, {"reduction": "none"}, slot="Loss")
    if reduction == "batchmean":
        if mode.eager or input.shape[0] > 0:
            return sum(loss) / input.shape[0] if input.shape else sum(loss)
        from paddle.tensor.attribute import shape
        return sum(loss) / cast(shape(input)[0], loss.dtype)
    return _reduced(loss, reduction)


__getattr__ = _names.guard(__name__)
