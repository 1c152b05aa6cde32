"""Losses made of other functions: focal, hinge, cosine, triplet, margin, Poisson, Gaussian, n-pair."""
import math

from paddle import _names
from paddle._mode import mode
from paddle._op import need
from paddle.nn.functional.activation import log_sigmoid, relu, sigmoid
from paddle.nn.functional.loss import _check, _reduced, _softmax_loss, binary_cross_entropy_with_logits
from paddle.tensor.creation import zeros_like
from paddle.tensor.manipulation import cast, reshape, squeeze, tile, transpose, unsqueeze
from paddle.tensor.math import clip, divide, exp, log, minimum, multiply, pow, sqrt, square, sum
from paddle.tensor.search import where
from paddle.tensor.stat import mean


def _same_shape(*tensors):
    if any(list(t.shape) != list(tensors[0].shape) for t in tensors):
        raise ValueError("the inputs must have one shape, but they are %s" % ", ".join(str(list(t.shape)) for t in tensors))


def sigmoid_focal_loss(logit, label, normalizer=None, alpha=0.25, gamma=2.0, reduction="sum", name=None):
    """Binary cross entropy in which easy rows count little."""
    _check(reduction, "sigmoid_focal_loss")
    if normalizer is not None and len(normalizer.shape) > 1:
        raise ValueError("Expected zero or one dimension of normalizer in sigmoid_focal_loss but got %d." % len(normalizer.shape))
    loss, likely = binary_cross_entropy_with_logits(logit, label, reduction="none"), sigmoid(logit)
    right = likely * label + (1 - likely) * (1 - label)
    loss = multiply(label * alpha + (1 - label) * (1 - alpha), loss)
    loss = multiply(pow(1 - right, gamma), loss)
    if normalizer is not None:
        loss = divide(loss, normalizer)
    return _reduced(loss, reduction, name)


def hinge_embedding_loss(input, label, margin=1.0, reduction="mean", name=None):
    """input where label is 1, max(0, margin - input) where it is -1."""
    _check(reduction, "hinge_embedding_loss")
    zero = zeros_like(need(input, "input", "hinge_embedding_loss"))
    loss = where(label == 1.0, input, zero) + where(label == -1.0, relu(margin - input), zero)
    return _reduced(loss, reduction, name)


def cosine_embedding_loss(input1, input2, label, margin=0, reduction="mean", name=None):
    """1 - cos where label is 1, max(0, cos - margin) where it is -1."""
    _check(reduction, "cosine_embedding_loss")
    if len(label.shape) != 1:
        raise ValueError("1D target tensor expected, multi-target not supported")
    _same_shape(input1, input2)
    if len(input1.shape) > 2:
        raise ValueError("1D target tensor expects 1D or 2D input tensors, but found inputs with different sizes")
    lengths = (sum(square(input1), axis=-1) + 1e-11) * (sum(square(input2), axis=-1) + 1e-11)
    cos = sum(input1 * input2, axis=-1) / sqrt(lengths)
    zero = zeros_like(cos)
    loss = where(label == 1, 1 - cos, zero) + where(label == -1, clip(cos - margin, min=0), zero)
    return _reduced(loss, reduction, name)


def _triplet(distance, input, positive, negative, margin, swap, reduction, where_, name):
    _check(reduction, where_)
    if margin < 0:
        raise ValueError("The margin between positive samples and negative samples should be greater than 0.")
    _same_shape(input, positive, negative)
    near, far = distance(input, positive), distance(input, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return near, far, lambda: _reduced(clip(near - far + margin, min=0.0), reduction, name)


def triplet_margin_loss(input, positive, negative, margin=1.0, p=2, epsilon=1e-6, swap=False, reduction="mean", name=None):
    """max(0, |input - positive| - |input - negative| + margin)"""
    from paddle.nn.functional.common import pairwise_distance
    return _triplet(lambda x, y: pairwise_distance(x, y, p, epsilon), input, positive, negative, margin, swap, reduction,
                    "triplet_margin_loss", name)[2]()


def triplet_margin_with_distance_loss(input, positive, negative, distance_function=None, margin=1.0, swap=False,
                                      reduction="mean", name=None):
    """The same with a custom distance."""
    from paddle.nn.functional.common import pairwise_distance
    near, far, loss = _triplet(distance_function or pairwise_distance, input, positive, negative, margin, swap, reduction,
                               "triplet_margin_with_distance_loss", name)
    if mode.eager and not ((near.numpy() > 0).all() and (far.numpy() > 0).all()):
        raise ValueError("The positive distance or negative distance should be greater than 0, The distance functions should be "
                         "checked.")
    return loss()


def soft_margin_loss(input, label, reduction="mean", name=None):
    """log(1 + exp(-label * input))"""
    _check(reduction, "soft_margin_loss")
    _same_shape(input, label)
    return _reduced(log(1 + exp(-cast(label, input.dtype) * input)), reduction, name)


def multi_label_soft_margin_loss(input, label, weight=None, reduction="mean", name=None):
    """The mean over the classes of binary cross entropies."""
    _check(reduction, "multi_label_soft_margin_loss")
    _same_shape(input, label)
    loss = -(label * log_sigmoid(input) + (1 - label) * log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduced(mean(loss, axis=-1), reduction)


def multi_margin_loss(input, label, p=1, margin=1.0, weight=None, reduction="mean", name=None):
    """The mean over the other classes of max(0, margin - input[label] + input) ^ p."""
    from paddle.nn.functional.common import one_hot
    from paddle.tensor.manipulation import gather
    _check(reduction, "multi_margin_loss")
    if input.shape[0] != label.shape[0]:
        raise ValueError("The label's shape[0] should be equal to input's shape[0], but received input's shape[0] %d and label's "
                         "shape[0]:%d. " % (input.shape[0], label.shape[0]))
    classes, label = input.shape[1], reshape(label, [-1])
    own = sum(input * cast(one_hot(label, classes), input.dtype), axis=1, keepdim=True)
    behind = margin - own + input
    if weight is None:
        loss = mean(pow(clip(behind, min=0.0), p), axis=1) - margin ** p / classes
    else:
        if classes != weight.shape[0]:
            raise ValueError("The weight's shape[0] should be equal to input's shape[1] but received weight's shape[0]: %d and "
                             "input's shape[1]: %d" % (weight.shape[0], classes))
        weight = reshape(gather(weight, label, axis=0), [-1, 1])
        loss = mean(pow(clip(weight * behind, min=0.0), p), axis=1, keepdim=False) - weight * (margin ** p / classes)
    return _reduced(loss, reduction, name)


def poisson_nll_loss(input, label, log_input=True, full=False, epsilon=1e-8, reduction="mean", name=None):
    """exp(input) - label * input; full: with Stirling's term."""
    if epsilon <= 0:
        raise ValueError("The value of `epsilon` in poisson_nll_loss should be positve, but received %f, which is not allowed" %
                         epsilon)
    _check(reduction, "poisson_nll_loss")
    _same_shape(input, label)
    label = cast(label, input.dtype)
    loss = exp(input) - label * input if log_input else input - label * log(input + epsilon)
    if full:
        more = label * log(label) - label + 0.5 * log(2 * math.pi * label)
        loss = loss + where(label > 1, more, zeros_like(more))
    return _reduced(loss, reduction)


def gaussian_nll_loss(input, label, variance, full=False, epsilon=1e-6, reduction="mean", name=None):
    """(log(variance) + (input - label)^2 / variance) / 2"""
    if list(variance.shape) != list(input.shape):
        if list(input.shape[:-1]) == list(variance.shape):
            variance = unsqueeze(variance, -1)
        elif list(input.shape[:-1]) != list(variance.shape[:-1]) or variance.shape[-1] != 1:
            raise ValueError("variance is of incorrect shape")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    if mode.eager:
        if (variance.numpy() < 0).any():
            raise ValueError("variance has negative entry/entries")
        variance = variance.detach()
    variance = clip(variance, min=epsilon)
    loss = 0.5 * (log(variance) + square(input - label) / variance)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, reduction, name)


def dice_loss(input, label, epsilon=1e-5, name=None):
    """1 - 2 |input and label| / (|input| + |label|); label: classes [.., 1]."""
    from paddle.nn.functional.common import one_hot
    if len(input.shape) < 2 or len(input.shape) != len(label.shape) or label.shape[-1] != 1 or \
            list(input.shape[:-1]) != list(label.shape[:-1]):
        raise AssertionError("dice_loss: input [.., classes] and label [.., 1] are needed, but the shapes are %s and %s" %
                             (list(input.shape), list(label.shape)))
    label = one_hot(squeeze(label, [-1]), input.shape[-1])
    axes = list(range(1, len(input.shape)))
    both = sum(input * label, axis=axes)
    return mean(1 - both * 2 / (sum(input, axis=axes) + sum(label, axis=axes) + epsilon))


def npair_loss(anchor, positive, labels, l2_reg=0.002):
    """Softmax over the products of anchors and positives, rows with the same label together."""
    from paddle.tensor.linalg import matmul
    count = labels.shape[0]
    labels = tile(reshape(labels, [count, 1]), [1, count])
    same = cast(labels == transpose(labels, [1, 0]), "float32")
    same = same / sum(same, axis=1, keepdim=True)
    size = mean(sum(square(anchor), 1)) + mean(sum(square(positive), 1))
    loss, _ = _softmax_loss(matmul(anchor, positive, transpose_y=True), same, True, -100, -1)
    return size * 0.25 * l2_reg + mean(sum(same * loss, 0))


__getattr__ = _names.guard(__name__)
