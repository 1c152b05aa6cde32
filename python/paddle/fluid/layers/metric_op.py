"""Metrics that are computed by operators of the program."""
from skiff import _native

from paddle import _names
from paddle.fluid._build import net
from paddle.fluid.layer_helper import check_variable

__all__ = ["accuracy", "auc"]


def accuracy(input, label, k=1, correct=None, total=None):
    """Share of rows whose label is among the k largest."""
    check_variable(input, "input", "accuracy")
    check_variable(label, "label", "accuracy")
    return _native.layers.accuracy(net, input, label, k=k, correct=correct, total=total)


def auc(input, label, curve="ROC", num_thresholds=2 ** 12 - 1, topk=1, slide_steps=1):
    """(auc of all rows so far, auc of the last slide_steps batches, [batch_stat_pos, batch_stat_neg, stat_pos, stat_neg])"""
    check_variable(input, "input", "auc")
    check_variable(label, "label", "auc")
    auc_out, batch_auc_out, states = _native.layers.auc(
        net, input, label, curve=curve, num_thresholds=num_thresholds, slide_steps=slide_steps)
    return auc_out, batch_auc_out, list(states)


__getattr__ = _names.guard(__name__)
