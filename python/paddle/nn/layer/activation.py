"""Activations and losses as layers."""
from paddle import _names
from paddle.nn import functional as F
from paddle.nn import initializer as init
from paddle.nn.layer.layers import Layer


def _layer(function, class_name, *names, **defaults):
    """function as a layer; names: its arguments after the tensor, with their defaults."""

    class Activation(Layer):
        def __init__(self, *args, **kwargs):
            super(Activation, self).__init__()
            kwargs.pop("name", None)
            values = dict(defaults)
            if len(args) > len(names) + 1:
                raise TypeError("%s takes at most %d arguments" % (class_name, len(names) + 1))
            values.update(zip(names, args))
            for key, value in kwargs.items():
                if key not in names:
                    raise TypeError("%s got an unexpected keyword argument '%s'" % (class_name, key))
                values[key] = value
            self._values = values

        def forward(self, x):
            return function(x, **self._values)

    Activation.__name__ = Activation.__qualname__ = class_name
    Activation.__doc__ = "nn.functional.%s as a layer." % function.__name__
    return Activation


ReLU = _layer(F.relu, "ReLU")
ReLU6 = _layer(F.relu6, "ReLU6")
Sigmoid = _layer(F.sigmoid, "Sigmoid")
Tanh = _layer(F.tanh, "Tanh")
Softsign = _layer(F.softsign, "Softsign")
Silu = _layer(F.silu, "Silu")
Swish = _layer(F.swish, "Swish")
LogSigmoid = _layer(F.log_sigmoid, "LogSigmoid")
Softmax = _layer(F.softmax, "Softmax", "axis", axis=-1)
LogSoftmax = _layer(F.log_softmax, "LogSoftmax", "axis", axis=-1)
LeakyReLU = _layer(F.leaky_relu, "LeakyReLU", "negative_slope", negative_slope=0.01)
ELU = _layer(F.elu, "ELU", "alpha", alpha=1.0)
SELU = _layer(F.selu, "SELU", "scale", "alpha")
GELU = _layer(F.gelu, "GELU", "approximate", approximate=False)
Softplus = _layer(F.softplus, "Softplus", "beta", "threshold", beta=1, threshold=20)
Hardsigmoid = _layer(F.hardsigmoid, "Hardsigmoid")


class PReLU(Layer):
    """x, or a learned factor times x below zero."""

    def __init__(self, num_parameters=1, init=0.25, weight_attr=None, data_format="NCHW", name=None):
        super(PReLU, self).__init__()
        self._data_format, self._name = data_format, name
        self._weight = self.create_parameter([num_parameters], weight_attr, default_initializer=_constant(init))

    def forward(self, x):
        return F.prelu(x, self._weight, self._data_format)


def _constant(value):
    return init.Constant(value)


class _Loss(Layer):
    def __init__(self, reduction="mean", name=None, **more):
        super(_Loss, self).__init__()
        if reduction not in ("sum", "mean", "none"):
            raise ValueError("The value of 'reduction' in %s should be 'sum', 'mean' or 'none', but received %s, which is not "
                             "allowed." % (type(self).__name__, reduction))
        self.reduction, self.name, self._more = reduction, name, more


class CrossEntropyLoss(_Loss):
    """nn.functional.cross_entropy as a layer."""

    def __init__(self, weight=None, ignore_index=-100, reduction="mean", soft_label=False, axis=-1, use_softmax=True,
                 label_smoothing=0.0, name=None):
        super(CrossEntropyLoss, self).__init__(reduction, name, weight=weight, ignore_index=ignore_index,
                                               soft_label=soft_label, axis=axis, use_softmax=use_softmax,
                                               label_smoothing=label_smoothing)

    def forward(self, input, label):
        return F.cross_entropy(input, label, reduction=self.reduction, name=self.name, **self._more)


class BCELoss(_Loss):
    """nn.functional.binary_cross_entropy as a layer."""

    def __init__(self, weight=None, reduction="mean", name=None):
        super(BCELoss, self).__init__(reduction, name, weight=weight)

    def forward(self, input, label):
        return F.binary_cross_entropy(input, label, self._more["weight"], self.reduction, self.name)


class BCEWithLogitsLoss(_Loss):
    """nn.functional.binary_cross_entropy_with_logits as a layer."""

    def __init__(self, weight=None, reduction="mean", pos_weight=None, name=None):
        super(BCEWithLogitsLoss, self).__init__(reduction, name, weight=weight, pos_weight=pos_weight)

    def forward(self, logit, label):
        return F.binary_cross_entropy_with_logits(logit, label, self._more["weight"], self.reduction,
                                                  self._more["pos_weight"], self.name)


class MSELoss(Layer):
    """(input - label)^2, reduced."""

    def __init__(self, reduction="mean"):
        super(MSELoss, self).__init__()
        self.reduction = reduction

    def forward(self, input, label):
        return F.mse_loss(input, label, self.reduction)


class L1Loss(_Loss):
    """|input - label|, reduced."""

    def forward(self, input, label):
        return F.l1_loss(input, label, self.reduction, self.name)


class SmoothL1Loss(_Loss):
    """Huber's loss."""

    def __init__(self, reduction="mean", delta=1.0, name=None):
        super(SmoothL1Loss, self).__init__(reduction, name, delta=delta)

    def forward(self, input, label):
        return F.smooth_l1_loss(input, label, self.reduction, self._more["delta"], self.name)


class KLDivLoss(Layer):
    """label * (log(label) - input), reduced."""

    def __init__(self, reduction="mean"):
        super(KLDivLoss, self).__init__()
        self.reduction = reduction

    def forward(self, input, label):
        return F.kl_div(input, label, self.reduction)


class NLLLoss(_Loss):
    """-input[label]"""

    def __init__(self, weight=None, ignore_index=-100, reduction="mean", name=None):
        super(NLLLoss, self).__init__(reduction, name, weight=weight, ignore_index=ignore_index)

    def forward(self, input, label):
        return F.nll_loss(input, label, self._more["weight"], self._more["ignore_index"], self.reduction, self.name)


class MarginRankingLoss(Layer):
    """max(0, -label * (input - other) + margin)"""

    def __init__(self, margin=0.0, reduction="mean", name=None):
        super(MarginRankingLoss, self).__init__()
        self.margin, self.reduction, self.name = margin, reduction, name

    def forward(self, input, other, label):
        return F.margin_ranking_loss(input, other, label, self.margin, self.reduction, self.name)


__getattr__ = _names.guard(__name__)
