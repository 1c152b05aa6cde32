"""Linear, Embedding, Dropout, norms, convolutions, pooling."""
import math

from paddle import _names
from paddle._op import Call
from paddle.nn import functional as F
from paddle.nn import initializer as init
from paddle.nn.functional.conv import pair
from paddle.nn.layer.layers import Layer


class Identity(Layer):
    """Gives back what it gets."""

    def __init__(self, *args, **kwargs):
        super(Identity, self).__init__()

    def forward(self, input):
        return input


class Linear(Layer):
    """x @ weight + bias; weight [in_features, out_features]."""

    def __init__(self, in_features, out_features, weight_attr=None, bias_attr=None, name=None):
        super(Linear, self).__init__()
        self.in_features, self.out_features, self.name = in_features, out_features, name
        self.weight = self.create_parameter([in_features, out_features], weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias, self.name)

    def extra_repr(self):
        return "in_features=%d, out_features=%d" % (self.in_features, self.out_features)


class Embedding(Layer):
    """Rows of a table; sparse: gradients touch only the rows of a batch."""

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, sparse=False, weight_attr=None, name=None):
        super(Embedding, self).__init__()
        if num_embeddings <= 0:
            raise ValueError("num_embeddings must be gather than 0")
        if embedding_dim <= 0:
            raise ValueError("embedding_dim must be gather than 0")
        index = -1 if padding_idx is None else padding_idx if padding_idx >= 0 else num_embeddings + padding_idx
        if index >= num_embeddings or index < -1:
            raise ValueError("padding_idx must be within [-%d, %d)" % (num_embeddings, num_embeddings))
        self._num_embeddings, self._embedding_dim, self._sparse, self._name = num_embeddings, embedding_dim, sparse, name
        self._padding_idx = index
        self.weight = self.create_parameter([num_embeddings, embedding_dim], weight_attr)

    def forward(self, x):
        return F.embedding(x, self.weight, None if self._padding_idx == -1 else self._padding_idx, self._sparse, self._name)

    def extra_repr(self):
        return "%d, %d, sparse=%s" % (self._num_embeddings, self._embedding_dim, self._sparse)


class Dropout(Layer):
    """Elements set to zero with probability p while training."""

    def __init__(self, p=0.5, axis=None, mode="upscale_in_train", name=None):
        super(Dropout, self).__init__()
        self.p, self.axis, self.mode, self.name = p, axis, mode, name

    def forward(self, input):
        return F.dropout(input, self.p, self.axis, self.training, self.mode, self.name)

    def extra_repr(self):
        return "p=%s, axis=%s, mode=%s" % (self.p, self.axis, self.mode)


class Flatten(Layer):
    """The dimensions from start_axis to stop_axis as one."""

    def __init__(self, start_axis=1, stop_axis=-1):
        super(Flatten, self).__init__()
        self.start_axis, self.stop_axis = start_axis, stop_axis

    def forward(self, input):
        from paddle.tensor.manipulation import flatten
        return flatten(input, self.start_axis, self.stop_axis)


class CosineSimilarity(Layer):
    """x1 . x2 / max(|x1| |x2|, eps) along the axis."""

    def __init__(self, axis=1, eps=1e-8):
        super(CosineSimilarity, self).__init__()
        self._axis, self._eps = axis, eps

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, axis=self._axis, eps=self._eps)


# ---- norms --------------------------------------------------------------------------------------


class LayerNorm(Layer):
    """Over the last dimensions."""

    def __init__(self, normalized_shape, epsilon=1e-5, weight_attr=None, bias_attr=None, name=None):
        super(LayerNorm, self).__init__()
        self._shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self._epsilon = epsilon
        size = 1
        for d in self._shape:
            size *= d
        self.weight = self.create_parameter([size], weight_attr, default_initializer=init.Constant(1.0))
        self.bias = self.create_parameter([size], bias_attr, is_bias=True)

    def forward(self, input):
        return F.layer_norm(input, self._shape, self.weight, self.bias, self._epsilon)


class _BatchNormBase(Layer):
    """Over the batch and the positions, per channel."""

    _ranks = None

    def __init__(self, num_features, momentum=0.9, epsilon=1e-5, weight_attr=None, bias_attr=None, data_format="NCHW",
                 use_global_stats=None, name=None):
        super(_BatchNormBase, self).__init__()
        self._num_features, self._momentum, self._epsilon, self._name = num_features, momentum, epsilon, name
        self._use_global_stats, self._data_format = use_global_stats, data_format
        self.weight = self.create_parameter([num_features], weight_attr, default_initializer=init.Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)
        if self.weight is not None and use_global_stats:
            self.weight.stop_gradient = True
        if self.bias is not None and use_global_stats:
            self.bias.stop_gradient = True
        from paddle.framework import ParamAttr
        self._mean = self._statistic(ParamAttr(name + "_mean" if name else None, init.Constant(0.0), trainable=False,
                                               do_model_average=True))
        self._variance = self._statistic(ParamAttr(name + "_variance" if name else None, init.Constant(1.0),
                                                   trainable=False, do_model_average=True))

    def _statistic(self, attr):
        var = self.create_parameter([self._num_features], attr)
        var.stop_gradient = True
        return var

    def forward(self, input):
        if self._ranks is not None and len(input.shape) not in self._ranks:
            raise ValueError("expected %s input (got %dD input)" %
                             (" or ".join("%dD" % r for r in self._ranks), len(input.shape)))
        return F.batch_norm(input, self._mean, self._variance, self.weight, self.bias, self.training, self._momentum,
                            self._epsilon, self._data_format, self._use_global_stats
                            if self._use_global_stats is not None or not self.training else False)


class BatchNorm1D(_BatchNormBase):
    """For [batch, channels] and [batch, channels, length]."""

    _ranks = (2, 3)

    def __init__(self, num_features, momentum=0.9, epsilon=1e-5, weight_attr=None, bias_attr=None, data_format="NCL",
                 use_global_stats=None, name=None):
        super(BatchNorm1D, self).__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format,
                                          use_global_stats, name)


class BatchNorm2D(_BatchNormBase):
    """For images."""

    _ranks = (4,)


class BatchNorm(Layer):
    """The older form: also with an activation."""

    def __init__(self, num_channels, act=None, is_test=False, momentum=0.9, epsilon=1e-5, param_attr=None, bias_attr=None,
                 dtype="float32", data_layout="NCHW", in_place=False, moving_mean_name=None, moving_variance_name=None,
                 do_model_average_for_mean_and_var=True, use_global_stats=False, trainable_statistics=False):
        super(BatchNorm, self).__init__()
        from paddle.framework import ParamAttr
        self._act, self._is_test, self._layout = act, is_test, data_layout
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
                 "data_layout": self._layout, "use_mkldnn": False, "fuse_with_relu": False,
                 "use_global_stats": self._use_global_stats, "trainable_statistics": self._trainable_statistics})
        return out if self._act is None else call.one(self._act, {"X": out})


# ---- convolution and pooling --------------------------------------------------------------------


class _Conv(Layer):
    _dims = 2

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1,
                 padding_mode="zeros", weight_attr=None, bias_attr=None, data_format="NCHW"):
        super(_Conv, self).__init__()
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups.")
        if padding_mode != "zeros":
            raise NotImplementedError("padding_mode=%s: Skiff pads convolutions with zeros; use F.pad before" % padding_mode)
        kernel = pair(kernel_size, self._dims, "kernel_size")
        self._stride, self._padding, self._dilation, self._groups = stride, padding, dilation, groups
        self._data_format = data_format
        area = 1
        for k in kernel:
            area *= k
        self.weight = self.create_parameter([out_channels, in_channels // groups] + kernel, weight_attr,
                                            default_initializer=init.Normal(0.0, math.sqrt(2.0 / (area * in_channels))))
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)


class Conv1D(_Conv):
    """Convolution of sequences."""

    _dims = 1

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1,
                 padding_mode="zeros", weight_attr=None, bias_attr=None, data_format="NCL"):
        super(Conv1D, self).__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                                     padding_mode, weight_attr, bias_attr, data_format)

    def forward(self, x):
        return F.conv1d(x, self.weight, self.bias, self._stride, self._padding, self._dilation, self._groups,
                        self._data_format)


class Conv2D(_Conv):
    """Convolution of images."""

    def forward(self, x):
        return F.conv2d(x, self.weight, self.bias, self._stride, self._padding, self._dilation, self._groups,
                        self._data_format)


def _pool(function, class_name):
    class Pool(Layer):
        def __init__(self, *args, **kwargs):
            super(Pool, self).__init__()
            kwargs.pop("name", None)
            self._args, self._kwargs = args, kwargs

        def forward(self, x):
            return function(x, *self._args, **self._kwargs)

    Pool.__name__ = Pool.__qualname__ = class_name
    Pool.__doc__ = "nn.functional.%s as a layer, with its arguments." % function.__name__
    return Pool


MaxPool1D = _pool(F.max_pool1d, "MaxPool1D")
MaxPool2D = _pool(F.max_pool2d, "MaxPool2D")
AvgPool1D = _pool(F.avg_pool1d, "AvgPool1D")
AvgPool2D = _pool(F.avg_pool2d, "AvgPool2D")
AdaptiveMaxPool1D = _pool(F.adaptive_max_pool1d, "AdaptiveMaxPool1D")
AdaptiveMaxPool2D = _pool(F.adaptive_max_pool2d, "AdaptiveMaxPool2D")
AdaptiveAvgPool1D = _pool(F.adaptive_avg_pool1d, "AdaptiveAvgPool1D")
AdaptiveAvgPool2D = _pool(F.adaptive_avg_pool2d, "AdaptiveAvgPool2D")

__getattr__ = _names.guard(__name__)
