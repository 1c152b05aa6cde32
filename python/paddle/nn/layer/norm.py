"""Normalization as layers."""
from paddle import _names
from paddle._op import Call
from paddle.nn import functional as F
from paddle.nn import initializer as init
from paddle.nn.functional.norm import group_norm
from paddle.nn.layer._declared import NEEDED, layer
from paddle.nn.layer.layers import Layer


class LayerNorm(Layer):
    """Over the last dimensions."""

    def __init__(self, normalized_shape, epsilon=1e-5, weight_attr=None, bias_attr=None, name=None):
        super(LayerNorm, self).__init__()
        self._normalized_shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self._epsilon, self._weight_attr, self._bias_attr = epsilon, weight_attr, bias_attr
        size = 1
        for d in self._normalized_shape:
            size *= d
        self.weight = self.create_parameter([size], weight_attr, default_initializer=init.Constant(1.0))
        self.bias = self.create_parameter([size], bias_attr, is_bias=True)

    def forward(self, input):
        return F.layer_norm(input, self._normalized_shape, self._own("weight"), self._own("bias"), self._epsilon)

    def extra_repr(self):
        return "normalized_shape=%s, epsilon=%s" % (self._normalized_shape, self._epsilon)


class GroupNorm(Layer):
    """Over groups of channels and all positions."""

    def __init__(self, num_groups, num_channels, epsilon=1e-5, weight_attr=None, bias_attr=None, data_format="NCHW", name=None):
        super(GroupNorm, self).__init__()
        if data_format not in ("NCHW", "NHWC"):
            raise ValueError("unsupported data layout:" + data_format)
        self._num_groups, self._num_channels, self._epsilon, self._data_format = num_groups, num_channels, epsilon, data_format
        self._weight_attr, self._bias_attr = weight_attr, bias_attr
        self.weight = self.create_parameter([num_channels], weight_attr, default_initializer=init.Constant(1.0))
        self.bias = self.create_parameter([num_channels], bias_attr, is_bias=True)

    def forward(self, input):
        return group_norm(input, self._num_groups, self._epsilon, self.weight, self.bias, self._data_format)

    def extra_repr(self):
        return "num_groups=%d, num_channels=%d, epsilon=%s" % (self._num_groups, self._num_channels, self._epsilon)


# ---- per row and channel ------------------------------------------------------------------------


class _InstanceNormBase(Layer):
    _ranks = (4,)

    def __init__(self, num_features, epsilon=1e-5, momentum=0.9, weight_attr=None, bias_attr=None, data_format="NCHW",
                 name=None):
        super(_InstanceNormBase, self).__init__()
        if (weight_attr is False) != (bias_attr is False):
            raise AssertionError("weight_attr and bias_attr must be set to False at the same time in InstanceNorm")
        self._num_features, self._epsilon, self._momentum, self._data_format = num_features, epsilon, momentum, data_format
        self._weight_attr, self._bias_attr = weight_attr, bias_attr
        self.scale = self.create_parameter([num_features], weight_attr, default_initializer=init.Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True, default_initializer=init.Constant(0.0))

    def forward(self, input):
        if len(input.shape) not in self._ranks:
            raise ValueError("expected %s input (got %dD input)" % (" or ".join("%dD" % r for r in self._ranks),
                                                                    len(input.shape)))
        return F.instance_norm(input, weight=self.scale, bias=self.bias, eps=self._epsilon)

    def extra_repr(self):
        return "num_features=%d, epsilon=%s" % (self._num_features, self._epsilon)


class InstanceNorm1D(_InstanceNormBase):
    """For sequences."""

    _ranks = (2, 3)

    def __init__(self, num_features, epsilon=1e-5, momentum=0.9, weight_attr=None, bias_attr=None, data_format="NCL",
                 name=None):
        super(InstanceNorm1D, self).__init__(num_features, epsilon, momentum, weight_attr, bias_attr, data_format, name)


class InstanceNorm2D(_InstanceNormBase):
    """For images."""


class InstanceNorm3D(_InstanceNormBase):
    """For volumes."""

    _ranks = (5,)

    def __init__(self, num_features, epsilon=1e-5, momentum=0.9, weight_attr=None, bias_attr=None, data_format="NCDHW",
                 name=None):
        super(InstanceNorm3D, self).__init__(num_features, epsilon, momentum, weight_attr, bias_attr, data_format, name)


# ---- per channel --------------------------------------------------------------------------------


class _BatchNormBase(Layer):
    """Over the batch and the positions, per channel."""

    _ranks, _formats, _expected = (4,), ("NCHW", "NHWC"), "expected NCHW or NHWC for data_format input"

    def __init__(self, num_features, momentum=0.9, epsilon=1e-5, weight_attr=None, bias_attr=None, data_format="NCHW",
                 use_global_stats=None, name=None):
        super(_BatchNormBase, self).__init__()
        self._num_features, self._momentum, self._epsilon, self._name = num_features, momentum, epsilon, name
        self._use_global_stats, self._data_format = use_global_stats, data_format
        self._weight_attr, self._bias_attr = weight_attr, bias_attr
        self.weight = self.create_parameter([num_features], weight_attr, default_initializer=init.Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)
        self._mean = self._statistic(name + "_mean" if name else None, 0.0)
        self._variance = self._statistic(name + "_variance" if name else None, 1.0)

    def _statistic(self, name, value):
        from paddle.framework import ParamAttr
        attr = ParamAttr(name, init.Constant(value), trainable=False, do_model_average=True)
        var = self.create_parameter([self._num_features], attr)
        var.stop_gradient = True
        return var

    def forward(self, input):
        if self._data_format not in self._formats:
            raise ValueError(self._expected)
        if len(input.shape) not in self._ranks:
            raise ValueError("expected %s input (got %dD input)" %
                             (" or ".join("%dD" % r for r in self._ranks), len(input.shape)))
        return F.batch_norm(input, self._own("_mean"), self._own("_variance"), self._own("weight"), self._own("bias"),
                            self.training, self._momentum, self._epsilon, self._data_format, self._use_global_stats)

    def extra_repr(self):
        text = "num_features=%d, momentum=%s, epsilon=%s" % (self._num_features, self._momentum, self._epsilon)
        if self._data_format != "NCHW":
            text += ", data_format=" + self._data_format
        return text + (", name=" + self._name if self._name is not None else "")


class BatchNorm1D(_BatchNormBase):
    """For [batch, channels] and [batch, channels, length]."""

    _ranks, _formats = (2, 3), ("NC", "NCL", "NLC", "NCHW", "NHWC")
    _expected = "expected NC , NCL, NLC or None for data_format input"

    def __init__(self, num_features, momentum=0.9, epsilon=1e-5, weight_attr=None, bias_attr=None, data_format="NCL",
                 use_global_stats=None, name=None):
        super(BatchNorm1D, self).__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format,
                                          use_global_stats, name)


class BatchNorm2D(_BatchNormBase):
    """For images."""


class BatchNorm3D(_BatchNormBase):
    """For volumes."""

    _ranks, _formats = (5,), ("NCDHW", "NDHWC", "NCHW", "NHWC")
    _expected = "expected NCDHW, NDHWC or None for data_format input"

    def __init__(self, num_features, momentum=0.9, epsilon=1e-5, weight_attr=None, bias_attr=None, data_format="NCDHW",
                 use_global_stats=None, name=None):
        super(BatchNorm3D, self).__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format,
                                          use_global_stats, name)


class SyncBatchNorm(_BatchNormBase):
    """Statistics of this process alone: what Paddle's computes with one process."""

    _ranks, _formats = (2, 3, 4, 5), ("NCHW", "NCDHW", "NC", "NCL", "NHWC", "NDHWC", "NLC")
    _expected = "expected 'NCDHW', 'NDHWC', 'NCL', 'NLC', 'NC', 'NCHW', 'NHWC' for data_format"

    def __init__(self, num_features, momentum=0.9, epsilon=1e-5, weight_attr=None, bias_attr=None, data_format="NCHW",
                 name=None):
        super(SyncBatchNorm, self).__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, None, name)

    @classmethod
    def convert_sync_batchnorm(cls, layer):
        """The layer with its batch norms as SyncBatchNorm, parameters kept."""
        out = layer
        if isinstance(layer, _BatchNormBase) and not isinstance(layer, cls):
            out = cls(layer._num_features, layer._momentum, layer._epsilon, False, False, layer._data_format, layer._name)
            out.weight, out.bias, out._mean, out._variance = layer.weight, layer.bias, layer._mean, layer._variance
        for name, inner in layer.named_children():
            out.add_sublayer(name, cls.convert_sync_batchnorm(inner))
        return out


class BatchNorm(Layer):
    """The older form: also with an activation."""

    def __init__(self, num_channels, act=None, is_test=False, momentum=0.9, epsilon=1e-5, param_attr=None, bias_attr=None,
                 dtype="float32", data_layout="NCHW", in_place=False, moving_mean_name=None, moving_variance_name=None,
                 do_model_average_for_mean_and_var=True, use_global_stats=False, trainable_statistics=False):
        super(BatchNorm, self).__init__()
        if bias_attr is False:
            raise AssertionError("bias_attr should not be False in batch_norm.")
        from paddle.framework import ParamAttr
        self._act, self._is_test, self._data_layout = act, is_test, data_layout
        self._momentum, self._epsilon = momentum, epsilon
        self._use_global_stats, self._trainable_statistics = use_global_stats, trainable_statistics
        self.weight = self.create_parameter([num_channels], param_attr, dtype, default_initializer=init.Constant(1.0))
        self.bias = self.create_parameter([num_channels], bias_attr, dtype, is_bias=True)
        self._mean = self.create_parameter([num_channels], ParamAttr(moving_mean_name, init.Constant(0.0), trainable=False),
                                           dtype)
        self._variance = self.create_parameter([num_channels], ParamAttr(moving_variance_name, init.Constant(1.0),
                                                                         trainable=False), dtype)
        self._mean.stop_gradient = self._variance.stop_gradient = True

    def forward(self, input):
        call = Call("batch_norm", self._full_name)
        mean, variance, reserve = (call.var(stop_gradient=True) for _ in range(3))
        out = call.var()
        call.op("batch_norm", {"X": input, "Scale": self.weight, "Bias": self.bias, "Mean": self._mean,
                               "Variance": self._variance},
                {"Y": out, "MeanOut": self._mean, "VarianceOut": self._variance, "SavedMean": mean,
                 "SavedVariance": variance, "ReserveSpace": reserve},
                {"momentum": self._momentum, "epsilon": self._epsilon, "is_test": self._is_test or not self.training,
                 "data_layout": self._data_layout, "use_mkldnn": False, "fuse_with_relu": False,
                 "use_global_stats": self._use_global_stats, "trainable_statistics": self._trainable_statistics})
        return out if self._act is None else call.one(self._act, {"X": out})


class SpectralNorm(Layer):
    """A weight divided by its largest singular value, which is followed by iterations."""

    def __init__(self, weight_shape, dim=0, power_iters=1, eps=1e-12, dtype="float32"):
        super(SpectralNorm, self).__init__()
        shape, size = list(weight_shape), 1
        for d in shape:
            size *= d
        if size <= 0:
            raise AssertionError("Any dimension of `weight_shape` cannot be equal to 0.")
        if dim >= len(shape):
            raise AssertionError("The input `dim` should be less than the length of `weight_shape`, but received dim=%d" % dim)
        self._weight_shape, self._dim, self._power_iters, self._eps = shape, dim, power_iters, eps
        self.weight_u = self._start(shape[dim], dtype)
        self.weight_v = self._start(size // shape[dim], dtype)

    def _start(self, size, dtype):
        out = self.create_parameter([size], None, dtype, default_initializer=init.Normal(0.0, 1.0))
        out.stop_gradient = True
        return out

    def forward(self, x):
        return Call("spectral_norm", self._full_name).one("spectral_norm", {"Weight": x, "U": self.weight_u, "V": self.weight_v},
                                                          {"dim": self._dim, "power_iters": self._power_iters,
                                                           "eps": self._eps})


LocalResponseNorm = layer(F.local_response_norm, "LocalResponseNorm", "nn.functional.local_response_norm as a layer.",
                          (("size", NEEDED), ("alpha", 1e-4), ("beta", 0.75), ("k", 1.0), ("data_format", "NCHW")),
                          shown=("size", "alpha", "beta", "k"))

__getattr__ = _names.guard(__name__)
