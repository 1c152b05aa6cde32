"""Losses."""
from paddle import _names
from paddle._op import Call, fill, named, need, one
from paddle.tensor.math import abs, square, subtract, sum
from paddle.tensor.stat import mean


def _check(reduction, where):
    if reduction not in ("mean", "sum", "none"):
        raise ValueError("The value of 'reduction' in %s should be 'sum', 'mean' or 'none', but received %s, which is not "
                         "allowed." % (where, reduction))


def _reduced(loss, reduction, name=None):
    if reduction == "none":
        return loss
    return mean(loss, name=name) if reduction == "mean" else sum(loss, name=name)


def log_loss(input, label, epsilon=1e-4, name=None):
    """-label * log(input + eps) - (1 - label) * log(1 - input + eps)"""
    return one("log_loss", "log_loss", {"Predicted": need(input, "input", "log_loss"),
                                        "Labels": need(label, "label", "log_loss")}, {"epsilon": float(epsilon)}, name,
               slot="Loss")


def _softmax_loss(logits, label, soft_label, ignore_index, axis, numeric_stable_mode=True, use_softmax=True):
    call = Call("softmax_with_cross_entropy")
    softmax, loss = call.var(), call.var()
    call.op("softmax_with_cross_entropy", {"Logits": logits, "Label": label}, {"Softmax": softmax, "Loss": loss},
            {"soft_label": soft_label, "ignore_index": ignore_index, "numeric_stable_mode": numeric_stable_mode,
             "axis": axis, "use_softmax": use_softmax})
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
    """softmax_with_cross_entropy, reduced."""
    need(input, "input", "cross_entropy")
    need(label, "label", "cross_entropy")
    _check(reduction, "cross_entropy")
    if weight is not None:
        raise NotImplementedError("cross_entropy: weights of classes; multiply the loss (reduction='none') by them instead")
    if label_smoothing > 0:
        from paddle.nn.functional.common import label_smooth, one_hot
        from paddle.tensor.manipulation import squeeze
        if not soft_label:
            flat = squeeze(label, axis) if len(label.shape) == len(input.shape) else label
            label = one_hot(flat, input.shape[-1])
        label, soft_label = label_smooth(label, epsilon=label_smoothing), True
    same_rank = len(label.shape) == len(input.shape)
    label = _with_label_dim(input, label, axis, "cross_entropy")
    loss, _ = _softmax_loss(input, label, soft_label, ignore_index, axis, use_softmax=use_softmax)
    if reduction == "mean" and not soft_label and ignore_index >= 0:
        return _mean_of_counted(loss, label, ignore_index)
    if reduction == "none" and not same_rank:
        from paddle.tensor.manipulation import squeeze
        return squeeze(loss, axis)
    return _reduced(loss, reduction, name)


def _mean_of_counted(loss, label, ignore_index):
    """The mean over the rows whose label is not ignore_index."""
    from paddle.tensor.manipulation import cast
    from paddle.tensor.math import clip
    counted = cast(label != ignore_index, loss.dtype)
    return sum(loss) / clip(sum(counted), min=1.0)


def binary_cross_entropy(input, label, weight=None, reduction="mean", name=None):
    """-label * log(input) - (1 - label) * log(1 - input)"""
    _check(reduction, "binary_cross_entropy")
    call = Call("binary_cross_entropy", name if reduction == "none" and weight is None else None)
    loss = call.one("bce_loss", {"X": need(input, "input", "binary_cross_entropy"),
                                 "Label": need(label, "label", "binary_cross_entropy")})
    if weight is not None:
        from paddle.tensor.math import multiply
        loss = multiply(loss, weight)
    return _reduced(loss, reduction)


def binary_cross_entropy_with_logits(logit, label, weight=None, reduction="mean", pos_weight=None, name=None):
    """binary_cross_entropy of sigmoid(logit)."""
    from paddle.tensor.math import add, multiply
    _check(reduction, "binary_cross_entropy_with_logits")
    need(logit, "logit", "binary_cross_entropy_with_logits")
    need(label, "label", "binary_cross_entropy_with_logits")
    one_ = fill([1], 1.0, logit.dtype)
    loss = one("sigmoid_cross_entropy_with_logits", "sigmoid_cross_entropy_with_logits", {"X": logit, "Label": label},
               {"ignore_index": -100, "normalize": False})
    if pos_weight is not None:
        loss = multiply(loss, add(multiply(label, subtract(pos_weight, one_)), one_))
    if weight is not None:
        loss = multiply(loss, weight)
    return _reduced(loss, reduction)


def square_error_cost(input, label):
    """(input - label)^2"""
    call = Call("square_error_cost")
    apart = call.one("elementwise_sub", {"X": need(input, "input", "square_error_cost"),
                                         "Y": need(label, "label", "square_error_cost")})
    return call.one("square", {"X": apart})


def mse_loss(input, label, reduction="mean", name=None):
    """(input - label)^2, reduced."""
    _check(reduction, "mse_loss")
    return _reduced(square(subtract(input, label)), reduction, name)


def l1_loss(input, label, reduction="mean", name=None):
    """|input - label|, reduced."""
    _check(reduction, "L1Loss")
    return _reduced(abs(subtract(input, label)), reduction, name)


def smooth_l1_loss(input, label, reduction="mean", delta=1.0, name=None):
    """Huber's loss."""
    _check(reduction, "smooth_l1_loss")
    call = Call("huber_loss")
    residual, loss = call.var(), call.var()
    call.op("huber_loss", {"X": need(input, "input", "smooth_l1_loss"), "Y": need(label, "label", "smooth_l1_loss")},
            {"Out": loss, "Residual": residual}, {"delta": float(delta)})
    return _reduced(loss, reduction)


def kl_div(input, label, reduction="mean", name=None):
    """label * (log(label) - input)"""
    loss = one("kl_div", "kldiv_loss", {"X": need(input, "input", "kl_div"), "Target": need(label, "label", "kl_div")},
               {"reduction": "none"}, slot="Loss")
    if reduction == "batchmean":
        return sum(loss) / input.shape[0]
    return _reduced(loss, reduction)


def nll_loss(input, label, weight=None, ignore_index=-100, reduction="mean", name=None):
    """-input[label]"""
    _check(reduction, "nll_loss")
    inputs = {"X": need(input, "input", "nll_loss"), "Label": need(label, "label", "nll_loss")}
    if weight is not None:
        inputs["Weight"] = weight
    call = Call("nll_loss", name)
    out, total = call.var(), call.var()
    call.op("nll_loss", inputs, {"Out": out, "Total_weight": total}, {"reduction": reduction, "ignore_index": ignore_index})
    return out


def margin_ranking_loss(input, other, label, margin=0.0, reduction="mean", name=None):
    """max(0, -label * (input - other) + margin)"""
    from paddle.nn.functional.activation import relu
    from paddle.tensor.math import multiply, neg
    _check(reduction, "MarginRankingLoss")
    apart = subtract(input, other)
    out = multiply(neg(label), apart)
    if margin != 0.0:
        out = named("elementwise_add", {"X": out, "Y": fill([1], margin, out.dtype)}, {"axis": -1})
    out = relu(out)
    if reduction == "none":
        return out
    if reduction == "sum":
        return one("margin_ranking_loss", "reduce_sum", {"X": out}, {"dim": [0], "keep_dim": False, "reduce_all": True}, name)
    return one("margin_ranking_loss", "mean", {"X": out}, name=name)


__getattr__ = _names.guard(__name__)
