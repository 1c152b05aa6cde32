"""Losses."""
from skiff import _native

from paddle import _names
from paddle.fluid._build import net
from paddle.fluid.layer_helper import LayerHelper, check_dtype, check_variable
from paddle.fluid.param_attr import ParamAttr

_layers = _native.layers
_FLOATS = ("float16", "float32", "float64")
_attr = ParamAttr._to_attr

__all__ = ["cross_entropy", "bpr_loss", "square_error_cost", "rank_loss", "margin_rank_loss",
           "sigmoid_cross_entropy_with_logits", "teacher_student_sigmoid_loss", "huber_loss", "kldiv_loss", "mse_loss",
           "nce", "hsigmoid", "softmax_with_cross_entropy", "log_loss", "smooth_l1", "npair_loss", "dice_loss",
           "sampled_softmax_with_cross_entropy", "center_loss"]


def cross_entropy(input, label, soft_label=False, ignore_index=-100):
    """-log of the probability at the label; soft_label: -sum(label * log(input))."""
    check_dtype(input, "input", "cross_entropy", _FLOATS)
    check_variable(label, "label", "cross_entropy")
    return _layers.cross_entropy(net, input, label, soft_label=bool(soft_label), ignore_index=ignore_index)


def square_error_cost(input, label):
    """(input - label)^2"""
    check_dtype(input, "input", "square_error_cost", ("float32", "float64"))
    check_dtype(label, "label", "square_error_cost", ("float32", "float64"))
    return _layers.square_error_cost(net, input, label)


def mse_loss(input, label):
    """The mean of square_error_cost."""
    check_dtype(input, "input", "mse_loss", ("float32", "float64"))
    check_dtype(label, "label", "mse_loss", ("float32", "float64"))
    return _layers.mse_loss(net, input, label)


def log_loss(input, label, epsilon=1e-4, name=None):
    """-label * log(input + epsilon) - (1 - label) * log(1 - input + epsilon)"""
    check_dtype(input, "input", "log_loss", ("float32",))
    check_dtype(label, "label", "log_loss", ("float32",))
    return _layers.log_loss(net, input, label, epsilon, name)


def softmax_with_cross_entropy(logits, label, soft_label=False, ignore_index=-100, numeric_stable_mode=True,
                               return_softmax=False, axis=-1):
    """Cross entropy of the softmax; return_softmax: (loss, softmax)."""
    check_variable(logits, "logits", "softmax_with_cross_entropy")
    check_variable(label, "label", "softmax_with_cross_entropy")
    return _layers.softmax_with_cross_entropy(
        net, logits, label, soft_label=bool(soft_label), ignore_index=ignore_index, not_stable=not numeric_stable_mode,
        axis=axis, softmax=bool(return_softmax))


def sigmoid_cross_entropy_with_logits(x, label, ignore_index=-100, name=None, normalize=False):
    """max(x, 0) - x * label + log(1 + exp(-|x|))"""
    check_dtype(x, "input", "sigmoid_cross_entropy_with_logits", _FLOATS)
    check_variable(label, "label", "sigmoid_cross_entropy_with_logits")
    return _layers.sigmoid_cross_entropy_with_logits(net, x, label, ignore_index=ignore_index, name=name,
                                                     normalize=bool(normalize))


def bpr_loss(input, label, name=None):
    """Bayesian personalised ranking."""
    check_dtype(input, "input", "bpr_loss", _FLOATS)
    return _layers.bpr_loss(net, input, label, name)


def rank_loss(label, left, right, name=None):
    """log(1 + exp(left - right)) - label * (left - right)"""
    check_dtype(label, "label", "rank_loss", ("float32",))
    check_dtype(left, "left", "rank_loss", ("float32",))
    check_dtype(right, "right", "rank_loss", ("float32",))
    return _layers.rank_loss(net, label, left, right, name)


def margin_rank_loss(label, left, right, margin=0.1, name=None):
    """max(0, -label * (left - right) + margin)"""
    check_dtype(label, "label", "margin_rank_loss", ("float32",))
    check_dtype(left, "left", "margin_rank_loss", ("float32",))
    check_dtype(right, "right", "margin_rank_loss", ("float32",))
    return _layers.margin_rank_loss(net, label, left, right, margin, name)


def teacher_student_sigmoid_loss(input, label, soft_max_up_bound=15.0, soft_max_lower_bound=-15.0):
    check_variable(input, "input", "teacher_student_sigmoid_loss")
    return _layers.teacher_student_sigmoid_loss(net, input, label, float(soft_max_up_bound), float(soft_max_lower_bound))


def huber_loss(input, label, delta):
    """Squares near zero, straight lines beyond delta."""
    check_dtype(input, "input", "huber_loss", ("float32", "float64"))
    check_dtype(label, "label", "huber_loss", ("float32", "float64"))
    return _layers.huber_loss(net, input, label, delta)


def smooth_l1(x, y, inside_weight=None, outside_weight=None, sigma=None):
    check_dtype(x, "X", "smooth_l1_loss", ("float32", "float64"))
    check_dtype(y, "Y", "smooth_l1_loss", ("float32", "float64"))
    return _layers.smooth_l1(net, x, y, inside_weight, outside_weight, 1.0 if sigma is None else sigma)


def kldiv_loss(x, target, reduction="mean", name=None):
    """target * (log(target) - x); reduction: none, batchmean, mean, sum."""
    check_dtype(x, "x", "kldiv_loss", ("float32", "float64"))
    check_dtype(target, "target", "kldiv_loss", ("float32", "float64"))
    if not isinstance(reduction, str):
        raise TypeError("The type of 'reduction' in kldiv_loss must be str, but received %s." % type(reduction))
    helper = LayerHelper("kldiv_loss", name=name)
    loss = helper.create_variable_for_type_inference(dtype=x.dtype)
    helper.append_op(type="kldiv_loss", inputs={"X": x, "Target": target}, outputs={"Loss": loss},
                     attrs={"reduction": reduction})
    return loss


def nce(input, label, num_total_classes, sample_weight=None, param_attr=None, bias_attr=None, num_neg_samples=None,
        name=None, sampler="uniform", custom_dist=None, seed=0, is_sparse=False):
    """Noise contrastive estimation; sampler: uniform, log_uniform, custom_dist."""
    check_dtype(input, "input", "nce", ("float32", "float64"))
    check_dtype(label, "label", "nce", ("int64",))
    if sampler not in ("uniform", "log_uniform", "custom_dist"):
        raise Exception("Unsupported sampler type.")
    if sampler == "custom_dist":
        if custom_dist is None:
            raise AssertionError("nce: sampler custom_dist needs custom_dist")
        if len(custom_dist) != num_total_classes:
            raise AssertionError("nce: custom_dist has %d numbers, not %d" % (len(custom_dist), num_total_classes))
    return _layers.nce(
        net, input, label, num_total_classes, sample_weight=sample_weight, param_attr=_attr(param_attr),
        bias_attr=_attr(bias_attr), num_neg_samples=num_neg_samples, name=name, sampler=sampler,
        custom_dist=None if custom_dist is None else [float(p) for p in custom_dist], seed=seed, is_sparse=bool(is_sparse))


def hsigmoid(input, label, num_classes, param_attr=None, bias_attr=None, name=None, path_table=None, path_code=None,
             is_custom=False, is_sparse=False):
    """Hierarchical softmax over a binary tree; is_custom: the tree is given by path_table and path_code."""
    check_dtype(input, "input", "hsigmoid", ("float32", "float64"))
    check_dtype(label, "label", "hsigmoid", ("int64",))
    if (num_classes is None or num_classes < 2) and not is_custom:
        raise ValueError("num_classes must not be less than 2 with default tree")
    if not is_custom and (path_code is not None or path_table is not None):
        raise ValueError("only num_classes should be passed without custom tree")
    if is_custom and (path_code is None or path_table is None):
        raise ValueError("path_code and path_table should be passed with custom tree")
    if is_custom and num_classes is None:
        raise ValueError("num_classes should be passed with custom tree")
    return _layers.hsigmoid(net, input, label, num_classes, param_attr=_attr(param_attr), bias_attr=_attr(bias_attr),
                            name=name, path_table=path_table, path_code=path_code, is_custom=bool(is_custom),
                            is_sparse=bool(is_sparse))


def npair_loss(anchor, positive, labels, l2_reg=0.002):
    """N-pair loss of anchors and positives with equal labels."""
    from paddle.fluid.layers import nn, ops
    check_dtype(anchor, "anchor", "npair_loss", ("float32", "float64"))
    check_dtype(positive, "positive", "positive", ("float32", "float64"))
    batch = labels.shape[0]
    labels = nn.expand(nn.reshape(labels, [batch, 1], inplace=True), [1, batch])
    same = _layers.equal(net, labels, nn.transpose(labels, [1, 0])).astype("float32")
    same = same / nn.reduce_sum(same, dim=1, keep_dim=True)
    l2loss = (nn.reduce_mean(nn.reduce_sum(ops.square(anchor), 1)) +
              nn.reduce_mean(nn.reduce_sum(ops.square(positive), 1))) * 0.25 * l2_reg
    similarity = nn.matmul(anchor, positive, transpose_y=True)
    each = softmax_with_cross_entropy(similarity, same, soft_label=True)
    return l2loss + nn.reduce_mean(nn.reduce_sum(same * each, 0))


def dice_loss(input, label, epsilon=0.00001, name=None):
    """1 - 2 * overlap / (sum of both)"""
    from paddle.fluid.layers import nn
    label = nn.one_hot(label, depth=input.shape[-1])
    dims = list(range(1, len(input.shape)))
    overlap = nn.reduce_sum(input * label, dim=dims)
    both = nn.reduce_sum(input, dim=dims) + nn.reduce_sum(label, dim=dims)
    return nn.reduce_mean(1 - overlap * 2 / (both + epsilon))


def sampled_softmax_with_cross_entropy(logits, label, num_samples, num_true=1, remove_accidental_hits=True,
                                       use_customized_samples=False, customized_samples=None,
                                       customized_probabilities=None, seed=0):
    """Cross entropy of the softmax over the true classes and num_samples others, drawn log-uniformly or given."""
    check_dtype(logits, "logits", "sampled_softmax_with_cross_entropy", ("float32",))
    check_dtype(label, "label", "sampled_softmax_with_cross_entropy", ("int64",))
    helper = LayerHelper("sample_logits")

    def var(dtype):
        return helper.create_variable_for_type_inference(dtype=dtype)

    given = use_customized_samples
    samples = customized_samples if given else var("int64")
    chances = customized_probabilities if given else var(logits.dtype)
    sampled, sampled_label, soft = var(logits.dtype), var("int64"), var(logits.dtype)
    inputs = {"Logits": [logits], "Labels": [label]}
    if given:
        inputs.update(CustomizedSamples=[samples], CustomizedProbabilities=[chances])
    helper.append_op(type="sample_logits", inputs=inputs,
                     outputs={"Samples": [samples], "Probabilities": [chances], "SampledLabels": [sampled_label],
                              "SampledLogits": [sampled], "LogitsDim": [var(logits.dtype)], "LabelsDim": [var("int64")]},
                     attrs={"use_customized_samples": given, "uniq": True, "num_samples": num_samples, "seed": seed,
                            "remove_accidental_hits": remove_accidental_hits})
    loss, softmax = var(logits.dtype), var(logits.dtype)
    helper.append_op(type="one_hot", inputs={"X": [sampled_label]}, outputs={"Out": [soft]}, attrs={"depth": num_samples + 1})
    helper.append_op(type="softmax_with_cross_entropy", inputs={"Logits": [sampled], "Label": [soft]},
                     outputs={"Softmax": [softmax], "Loss": [loss]},
                     attrs={"soft_label": True, "ignore_index": 0, "numeric_stable_mode": False})
    return loss / num_true


def center_loss(input, label, num_classes, alpha, param_attr, update_center=True):
    """Half the squared distance to the center of the row's class; centers follow by alpha."""
    from paddle.fluid.framework import Variable
    check_dtype(input, "input", "center_loss", ("float32", "float64"))
    check_dtype(label, "label", "center_loss", ("int32", "int64"))
    helper = LayerHelper("center_loss")
    centers = helper.create_parameter(param_attr, [num_classes, input.shape[1]], input.dtype)
    centers.stop_gradient = True
    if not isinstance(alpha, Variable):
        rate = helper.create_global_variable(True, name="centerloss_alpha", shape=[1], dtype="float32", stop_gradient=True)
        helper.append_op(type="fill_constant", outputs={"Out": [rate]},
                         attrs={"shape": [1], "dtype": int(rate.dtype), "value": float(alpha)})
        alpha = rate
    apart = helper.create_variable_for_type_inference(dtype=input.dtype)
    loss = helper.create_variable_for_type_inference(dtype=input.dtype)
    helper.append_op(type="center_loss",
                     inputs={"X": [input], "Label": [label], "Centers": [centers], "CenterUpdateRate": [alpha]},
                     outputs={"SampleCenterDiff": [apart], "Loss": [loss], "CentersOut": [centers]},
                     attrs={"cluster_num": num_classes, "need_update": update_center})
    return loss


__getattr__ = _names.guard(__name__)
