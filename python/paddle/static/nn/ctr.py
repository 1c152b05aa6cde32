"""Layers of large vocabularies and of CTR features: nce, data_norm."""
from paddle import _names
from paddle._op import Call, need
from paddle.framework import ParamAttr
from paddle.nn import initializer as init

_SAMPLERS = ("uniform", "log_uniform", "custom_dist")


def alias_table(chances):
    """(probability of keeping, other class or -1) of each class, for Walker's way of drawing."""
    keep, other = [0.0] * len(chances), [0] * len(chances)
    large, small = [], []

    def sort_in(at, value):
        if value > 1.0:
            large.append((at, value))
        elif value < 1.0:
            small.append((at, value))
        else:
            keep[at], other[at] = value, -1

    for at, chance in enumerate(chances):
        sort_in(at, chance * len(chances))
    while large and small:
        (big, much), (little, few) = large.pop(0), small.pop(0)
        keep[little], other[little] = few, big
        sort_in(big, much + few - 1)
    for rest in (large, small):
        if rest:
            keep[rest[0][0]], other[rest[0][0]] = 1.0, -1
    return keep, other


def nce(input, label, num_total_classes, sample_weight=None, param_attr=None, bias_attr=None, num_neg_samples=None, name=None,
        sampler="uniform", custom_dist=None, seed=0, is_sparse=False):
    """Noise contrastive estimation: the true classes against num_neg_samples (10) that are drawn."""
    import numpy as np
    from paddle.static.nn import _parameter
    need(input, "input", "nce")
    need(label, "label", "nce")
    if len(input.shape) != 2:
        raise ValueError("The rank of `input` must be 2, but received %d." % len(input.shape))
    if sampler not in _SAMPLERS:
        raise Exception("Unsupported sampler type.")
    call = Call("nce", name)
    inputs = {"Input": input, "Label": label,
              "Weight": _parameter(call, param_attr, [num_total_classes, input.shape[1]], input.dtype)}
    bias = _parameter(call, bias_attr, [num_total_classes, 1], input.dtype, is_bias=True)
    if bias is not None:
        inputs["Bias"] = bias
    if sample_weight is not None:
        inputs["SampleWeight"] = sample_weight
    cost, logits, labels = call.var(), call.var(), call.var("int64")
    if sampler == "custom_dist":
        if custom_dist is None or len(custom_dist) != num_total_classes:
            raise ValueError("nce: sampler 'custom_dist' needs custom_dist, one probability for each of %d classes" %
                             num_total_classes)
        keep, other = alias_table(custom_dist)
        for slot, values, dtype in (("CustomDistProbs", custom_dist, "float32"), ("CustomDistAlias", other, "int32"),
                                    ("CustomDistAliasProbs", keep, "float32")):
            inputs[slot] = _parameter(call, ParamAttr(), [num_total_classes], dtype,
                                      default=init.Assign(np.array(values, dtype)), stop_gradient=True)
    negatives = 10 if num_neg_samples is None else int(num_neg_samples)
    call.op("nce", inputs, {"Cost": cost, "SampleLogits": logits, "SampleLabels": labels},
            {"num_total_classes": int(num_total_classes), "num_neg_samples": negatives, "seed": seed,
             "sampler": _SAMPLERS.index(sampler), "is_sparse": is_sparse, "remote_prefetch": is_sparse})
    return cost / (negatives + 1)


def data_norm(input, act=None, epsilon=1e-05, param_attr=None, data_layout="NCHW", in_place=False, name=None,
              moving_mean_name=None, moving_variance_name=None, do_model_average_for_mean_and_var=True, slot_dim=-1,
              sync_stats=False, summary_decay_rate=0.9999999, enable_scale_and_shift=False):
    """Each column less its mean, over its deviation: both from counts and sums of all that was seen."""
    from paddle.static.nn import _activated, _parameter
    need(input, "input", "data_norm")
    if len(input.shape) < 2:
        raise ValueError("The shape pf Input < 2 (got %dD input, input shape is: %s)" % (len(input.shape), input.shape))
    if data_layout not in ("NCHW", "NHWC"):
        raise ValueError("unsupported data layout:" + data_layout)
    call = Call("data_norm", name)
    start = param_attr if isinstance(param_attr, dict) else {}
    width = [input.shape[1 if data_layout == "NCHW" else -1]]

    def parameter(word, key, value):
        attr = ParamAttr(name=(name or "dn") + "." + word, initializer=init.Constant(float(start.get(key, value))))
        return _parameter(call, attr, width, input.dtype)

    inputs, attrs = {"X": input}, {"epsilon": epsilon, "data_layout": data_layout, "sync_stats": sync_stats,
                                   "summary_decay_rate": summary_decay_rate}
    if enable_scale_and_shift:
        inputs["scale_w"], inputs["bias"] = parameter("scale_w", "scale_w", 1.0), parameter("bias", "bias", 0.0)
        attrs["enable_scale_and_shift"] = True
    for slot, word, key, value in (("BatchSize", "batch_size", "batch_size", 1e4), ("BatchSum", "batch_sum", "batch_sum", 0.0),
                                   ("BatchSquareSum", "batch_square_sum", "batch_square", 1e4)):
        inputs[slot] = parameter(word, key, value)
    if slot_dim > 0:
        attrs["slot_dim"] = slot_dim
    means, scales = call.var(stop_gradient=True), call.var(stop_gradient=True)
    out = input if in_place else call.var()
    call.op("data_norm", inputs, {"Y": out, "Means": means, "Scales": scales}, attrs)
    return _activated(call, out, act)


__getattr__ = _names.guard(__name__)
