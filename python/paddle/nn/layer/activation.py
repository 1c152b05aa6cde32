"""Activations as layers."""
from paddle import _names
from paddle.nn import functional as F
from paddle.nn import initializer as init
from paddle.nn.layer._declared import NEEDED, layer
from paddle.nn.layer.layers import Layer


def _activation(function, class_name, *fields, **options):
    return layer(function, class_name, "nn.functional.%s as a layer." % function.__name__, fields, options.pop("prefix", "_"),
                 **options)


ReLU = _activation(F.relu, "ReLU")
ReLU6 = _activation(F.relu6, "ReLU6")
Sigmoid = _activation(F.sigmoid, "Sigmoid", prefix="")
Tanh = _activation(F.tanh, "Tanh")
Softsign = _activation(F.softsign, "Softsign")
Silu = _activation(F.silu, "Silu")
Swish = _activation(F.swish, "Swish")
Mish = _activation(F.mish, "Mish")
LogSigmoid = _activation(F.log_sigmoid, "LogSigmoid")
Hardsigmoid = _activation(F.hardsigmoid, "Hardsigmoid", prefix="")
Hardswish = _activation(F.hardswish, "Hardswish")
Tanhshrink = _activation(F.tanhshrink, "Tanhshrink")
Softmax = _activation(F.softmax, "Softmax", ("axis", -1))
LogSoftmax = _activation(F.log_softmax, "LogSoftmax", ("axis", -1))
LeakyReLU = _activation(F.leaky_relu, "LeakyReLU", ("negative_slope", 0.01))
ELU = _activation(F.elu, "ELU", ("alpha", 1.0))
CELU = _activation(F.celu, "CELU", ("alpha", 1.0))
SELU = _activation(F.selu, "SELU", ("scale", 1.0507009873554804934193349852946), ("alpha", 1.6732632423543772848170429916717))
GELU = _activation(F.gelu, "GELU", ("approximate", False))
Softplus = _activation(F.softplus, "Softplus", ("beta", 1), ("threshold", 20))
Hardtanh = _activation(F.hardtanh, "Hardtanh", ("min", -1.0), ("max", 1.0))
Hardshrink = _activation(F.hardshrink, "Hardshrink", ("threshold", 0.5))
Softshrink = _activation(F.softshrink, "Softshrink", ("threshold", 0.5))
ThresholdedReLU = _activation(F.thresholded_relu, "ThresholdedReLU", ("threshold", 1.0))
Maxout = _activation(F.maxout, "Maxout", ("groups", NEEDED), ("axis", 1))
GLU = _activation(F.glu, "GLU", ("axis", -1))


class Softmax2D(Layer):
    """softmax over the channels of [batch, channels, height, width]."""

    def __init__(self, name=None):
        super(Softmax2D, self).__init__()
        self._name = name

    def forward(self, x):
        if len(x.shape) not in (3, 4):
            raise AssertionError("Softmax2D requires a 3D or 4D tensor as input. Received: %dD." % len(x.shape))
        return F.softmax(x, axis=-3, name=self._name)

    def extra_repr(self):
        return "name=%s" % self._name if self._name else ""


class PReLU(Layer):
    """x, or a learned factor times x below zero."""

    def __init__(self, num_parameters=1, init=0.25, weight_attr=None, data_format="NCHW", name=None):
        super(PReLU, self).__init__()
        self._num_parameters, self._init, self._weight_attr = num_parameters, init, weight_attr
        self._data_format, self._name = data_format, name
        self._weight = self.create_parameter([num_parameters], weight_attr, default_initializer=_constant(init))

    def forward(self, x):
        return F.prelu(x, self._weight, self._data_format)

    def extra_repr(self):
        return "num_parameters=%s, data_format=%s, init=%s, dtype=%s%s" % (
            self._num_parameters, self._data_format, self._init, self._dtype, ", name=%s" % self._name if self._name else "")


def _constant(value):
    return init.Constant(value)


class RReLU(Layer):
    """x, or a random factor between lower and upper times x below zero."""

    def __init__(self, lower=1.0 / 8.0, upper=1.0 / 3.0, name=None):
        super(RReLU, self).__init__()
        self._lower, self._upper, self._name = lower, upper, name

    def forward(self, x):
        return F.rrelu(x, self._lower, self._upper, self.training)

    def extra_repr(self):
        return "lower=%s, upper=%s, training=%s, dtype=%s%s" % (self._lower, self._upper, self.training, self._dtype,
                                                                ", name=%s" % self._name if self._name else "")


__getattr__ = _names.guard(__name__)
