"""Layers of fluid.dygraph, with the arguments of 1.8."""
from paddle import _names
from paddle._mode import mode
from paddle._op import Call, one
from paddle.fluid.dygraph._forms import dropped
from paddle.fluid.dygraph.layers import Layer
from paddle.fluid.initializer import Constant, Normal, NumpyArrayInitializer
from paddle.nn import functional as F
from paddle.nn.layer.norm import BatchNorm as _BatchNorm

__all__ = ["Conv2D", "Conv3D", "Pool2D", "Linear", "BatchNorm", "Dropout", "Embedding", "GRUUnit", "InstanceNorm", "LayerNorm",
           "NCE", "PRelu", "BilinearTensorProduct", "Conv2DTranspose", "Conv3DTranspose", "GroupNorm", "SpectralNorm",
           "TreeConv", "MSELoss", "L1Loss", "NLLLoss", "BCELoss"]


def _activated(value, act):
    if act is None:
        return value
    if not isinstance(act, str):
        raise TypeError("act should be the name of an activation, but received %s" % type(act))
    return getattr(F, act)(value)


def _several(value, n, what):
    value = list(value) if isinstance(value, (list, tuple)) else [value] * n
    if len(value) != n:
        raise ValueError("%s should be a number or %d of them, but received %s" % (what, n, value))
    return [int(v) for v in value]


def _product(sizes):
    out = 1
    for size in sizes:
        out *= size
    return out


class _Conv(Layer):
    """What all convolutions have: a filter, a bias, an activation."""

    _n = 2

    def __init__(self, shape, fan, param_attr, bias_attr, act, dtype, num_filters):
        super().__init__(dtype=dtype)
        self._act = act
        start = Normal(0.0, (2.0 / fan)**0.5) if fan else None
        self.weight = self.create_parameter(shape, param_attr, dtype, default_initializer=start)
        self.bias = self.create_parameter([num_filters], bias_attr, dtype, is_bias=True)

    def _end(self, out):
        if self.bias is not None:
            out = one("elementwise_add", "elementwise_add", {"X": out, "Y": self.bias}, {"axis": 1})
        return _activated(out, self._act)


class Conv2D(_Conv):
    """Convolution of images [rows, channels, height, width]."""

    def __init__(self, num_channels, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None, param_attr=None,
                 bias_attr=None, use_cudnn=True, act=None, dtype="float32"):
        if param_attr is False:
            raise AssertionError("param_attr should not be False here.")
        n, self_groups = self._n, groups or 1
        if num_channels % self_groups:
            raise ValueError("num_channels must be divisible by groups.")
        sizes = _several(filter_size, n, "filter_size")
        super().__init__([num_filters, num_channels // self_groups] + sizes, _product(sizes) * num_channels, param_attr,
                         bias_attr, act, dtype, num_filters)
        self._attrs = {"strides": _several(stride, n, "stride"), "paddings": _several(padding, n, "padding"),
                       "dilations": _several(dilation, n, "dilation"), "groups": self_groups}
        self._op = "depthwise_conv2d" if n == 2 and num_channels == groups and num_filters % num_channels == 0 and groups > 1 \
            else "conv%dd" % n

    def forward(self, input):
        return self._end(one(self._op, self._op, {"Input": input, "Filter": self.weight}, self._attrs, slot="Output"))


class Conv3D(Conv2D):
    """Convolution of [rows, channels, depth, height, width]."""

    _n = 3

    def forward(self, input):
        from paddle.nn.functional.volume import conv3d
        at = self._attrs
        return self._end(conv3d(input, self.weight, None, at["strides"], at["paddings"], at["dilations"], at["groups"]))


class Conv2DTranspose(_Conv):
    """Transposed convolution of images."""

    def __init__(self, num_channels, num_filters, filter_size, output_size=None, padding=0, stride=1, dilation=1, groups=None,
                 param_attr=None, bias_attr=None, use_cudnn=True, act=None, dtype="float32"):
        n, groups = self._n, groups or 1
        super().__init__([num_channels, num_filters // groups] + _several(filter_size, n, "filter_size"), None, param_attr,
                         bias_attr, act, dtype, num_filters)
        self._attrs = {"strides": _several(stride, n, "stride"), "paddings": _several(padding, n, "padding"),
                       "dilations": _several(dilation, n, "dilation"), "groups": groups,
                       "output_size": [] if output_size is None else _several(output_size, n, "output_size")}

    def forward(self, input):
        kind = "conv%dd_transpose" % self._n
        return self._end(one(kind, kind, {"Input": input, "Filter": self.weight}, self._attrs, slot="Output"))


class Conv3DTranspose(Conv2DTranspose):
    """Transposed convolution of volumes."""

    _n = 3

    def __init__(self, num_channels, num_filters, filter_size, padding=0, stride=1, dilation=1, groups=None, param_attr=None,
                 bias_attr=None, use_cudnn=True, act=None, dtype="float32"):
        super().__init__(num_channels, num_filters, filter_size, None, padding, stride, dilation, groups, param_attr, bias_attr,
                         use_cudnn, act, dtype)

    def forward(self, input):
        from paddle.nn.functional.volume import conv3d_transpose
        at = self._attrs
        return self._end(conv3d_transpose(input, self.weight, None, at["strides"], at["paddings"], 0, at["groups"],
                                          at["dilations"]))


class Pool2D(Layer):
    """Maximum or mean of windows."""

    def __init__(self, pool_size=-1, pool_type="max", pool_stride=1, pool_padding=0, global_pooling=False, use_cudnn=True,
                 ceil_mode=False, exclusive=True):
        super().__init__()
        if pool_type not in ("max", "avg"):
            raise ValueError("Unknown pool_type: '%s'. It can only be 'max' or 'avg'." % pool_type)
        if global_pooling is False and pool_size == -1:
            raise ValueError("When the global_pooling is False, pool_size must be passed and be a valid value. Received "
                             "pool_size: %s" % pool_size)
        self._attrs = {"pooling_type": pool_type, "ksize": _several(pool_size, 2, "pool_size"),
                       "strides": _several(pool_stride, 2, "pool_stride"),
                       "paddings": _several(pool_padding, 2, "pool_padding"), "global_pooling": bool(global_pooling),
                       "ceil_mode": bool(ceil_mode), "exclusive": bool(exclusive)}

    def forward(self, input):
        return one("pool2d", "pool2d", {"X": input}, self._attrs)


class Linear(Layer):
    """input x weight + bias, over the last dimension."""

    def __init__(self, input_dim, output_dim, param_attr=None, bias_attr=None, act=None, dtype="float32"):
        super().__init__(dtype=dtype)
        self._act = act
        self.weight = self.create_parameter([input_dim, output_dim], param_attr, dtype)
        self.bias = self.create_parameter([output_dim], bias_attr, dtype, is_bias=True)

    def forward(self, input):
        return _activated(F.linear(input, self.weight, self.bias), self._act)


class BatchNorm(_BatchNorm, Layer):
    """Normalization by the batch, running means kept."""


class Dropout(Layer):
    """Elements set to 0 at random."""

    def __init__(self, p=0.5, seed=None, dropout_implementation="downgrade_in_infer", is_test=False):
        super().__init__()
        if not isinstance(p, (float, int)) or not 0 <= p <= 1:
            raise AssertionError("p argument should between 0 and 1")
        if seed is not None and not isinstance(seed, int):
            raise AssertionError("seed argument should be None or a integer")
        if dropout_implementation not in ("downgrade_in_infer", "upscale_in_train"):
            raise AssertionError("dropout_implementation argument should be 'downgrade_in_infer' or 'upscale_in_train'")
        self._p, self._seed, self._how, self._is_test = p, seed, dropout_implementation, is_test

    def forward(self, input):
        test = not self.training if mode.eager or mode.trace is not None else self._is_test
        return dropped(input, self._p, test, self._seed, dropout_implementation=self._how)


class Embedding(Layer):
    """Rows of a table."""

    def __init__(self, size, is_sparse=False, is_distributed=False, padding_idx=None, param_attr=None, dtype="float32"):
        super().__init__(dtype=dtype)
        self._size, self._is_sparse = size, is_sparse
        self._padding_idx = -1 if padding_idx is None else padding_idx if padding_idx >= 0 else size[0] + padding_idx
        self.weight = self.create_parameter(size, param_attr, dtype)

    def forward(self, input):
        return one("embedding", "lookup_table_v2", {"Ids": input, "W": self.weight},
                   {"is_sparse": bool(self._is_sparse), "is_distributed": False, "padding_idx": self._padding_idx,
                    "remote_prefetch": False})


class LayerNorm(Layer):
    """Normalization over the last dimensions."""

    def __init__(self, normalized_shape, scale=True, shift=True, epsilon=1e-05, param_attr=None, bias_attr=None, act=None,
                 dtype="float32"):
        super().__init__(dtype=dtype)
        self._shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        self._epsilon, self._act, size = epsilon, act, _product(self._shape)
        self.weight = self.create_parameter([size], param_attr, dtype, default_initializer=Constant(1.0)) if scale else None
        self.bias = self.create_parameter([size], bias_attr, dtype, is_bias=True) if shift else None

    def forward(self, input):
        if list(input.shape[-len(self._shape):]) != self._shape:
            raise ValueError("Given normalized_shape is %s, expected input with shape [*, %s, but got input shape %s" %
                             (self._shape, str(self._shape)[1:], list(input.shape)))
        return _activated(F.layer_norm(input, self._shape, self.weight, self.bias, self._epsilon), self._act)


class InstanceNorm(Layer):
    """Normalization of every channel of every row."""

    def __init__(self, num_channels, epsilon=1e-5, param_attr=None, bias_attr=None, dtype="float32"):
        super().__init__(dtype=dtype)
        if bias_attr is False and param_attr is not False or bias_attr is not False and param_attr is False:
            raise AssertionError("param_attr and bias_attr must be set to False at the same time in InstanceNorm")
        self._epsilon = epsilon
        self.scale = self.create_parameter([num_channels], param_attr, dtype, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_channels], bias_attr, dtype, is_bias=True)

    def forward(self, input):
        return F.instance_norm(input, weight=self.scale, bias=self.bias, eps=self._epsilon)


class GroupNorm(Layer):
    """Normalization of groups of channels."""

    def __init__(self, channels, groups, epsilon=1e-05, param_attr=None, bias_attr=None, act=None, data_layout="NCHW",
                 dtype="float32"):
        super().__init__(dtype=dtype)
        if data_layout != "NCHW":
            raise ValueError("unsupported data layout:" + data_layout)
        self._groups, self._epsilon, self._act = groups, epsilon, act
        self.weight = self.create_parameter([channels], param_attr, dtype, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([channels], bias_attr, dtype, is_bias=True)

    def forward(self, input):
        from paddle.nn.functional.norm import group_norm
        return _activated(group_norm(input, self._groups, self._epsilon, self.weight, self.bias), self._act)


class SpectralNorm(Layer):
    """A weight divided by its largest singular value."""

    def __init__(self, weight_shape, dim=0, power_iters=1, eps=1e-12, dtype="float32"):
        super().__init__(dtype=dtype)
        self._attrs = {"dim": dim, "power_iters": power_iters, "eps": eps}
        height = weight_shape[dim]
        self.weight_u = self.create_parameter([height], None, dtype, default_initializer=Normal(0.0, 1.0))
        self.weight_v = self.create_parameter([_product(weight_shape) // height], None, dtype,
                                              default_initializer=Normal(0.0, 1.0))
        self.weight_u.stop_gradient = self.weight_v.stop_gradient = True

    def forward(self, weight):
        return one("spectral_norm", "spectral_norm", {"Weight": weight, "U": self.weight_u, "V": self.weight_v}, self._attrs)


class GRUUnit(Layer):
    """One step of a GRU; size: three times the hidden size."""

    _ACTIVATIONS = {"identity": 0, "sigmoid": 1, "tanh": 2, "relu": 3}

    def __init__(self, size, param_attr=None, bias_attr=None, activation="tanh", gate_activation="sigmoid", origin_mode=False,
                 dtype="float32"):
        super().__init__(dtype=dtype)
        self._attrs = {"activation": self._ACTIVATIONS[activation], "gate_activation": self._ACTIVATIONS[gate_activation],
                       "origin_mode": origin_mode}
        self.weight = self.create_parameter([size // 3, size], param_attr, dtype)
        self.bias = self.create_parameter([1, size], bias_attr, dtype, is_bias=True)

    def forward(self, input, hidden):
        call = Call("gru_unit")
        gate, reset, updated = call.var(), call.var(), call.var()
        inputs = {"Input": input, "HiddenPrev": hidden, "Weight": self.weight}
        if self.bias is not None:
            inputs["Bias"] = self.bias
        call.op("gru_unit", inputs, {"Gate": gate, "ResetHiddenPrev": reset, "Hidden": updated}, self._attrs)
        return updated, reset, gate


class NCE(Layer):
    """Noise-contrastive estimation: a loss of classes, against some drawn ones."""

    def __init__(self, num_total_classes, dim, sample_weight=None, param_attr=None, bias_attr=None, num_neg_samples=None,
                 sampler="uniform", custom_dist=None, seed=0, is_sparse=False, dtype="float32"):
        super().__init__(dtype=dtype)
        kinds = ("uniform", "log_uniform", "custom_dist")
        if sampler not in kinds:
            raise Exception("Unsupported sampler type.")
        self._samples = 10 if num_neg_samples is None else int(num_neg_samples)
        self._attrs = {"num_total_classes": int(num_total_classes), "num_neg_samples": self._samples, "seed": seed,
                       "sampler": kinds.index(sampler), "is_sparse": is_sparse, "remote_prefetch": False}
        if sampler == "custom_dist":
            self._draw_from(custom_dist)
        self.weight = self.create_parameter([num_total_classes, dim], param_attr, dtype)
        self.bias = self.create_parameter([num_total_classes, 1], bias_attr, dtype, is_bias=True) if bias_attr else None

    def _draw_from(self, shares):
        """Tables for drawing by shares (Walker's alias method)."""
        import numpy
        if shares is None:
            raise AssertionError("custom_dist is needed by the sampler custom_dist")
        n = len(shares)
        scaled = [share * n for share in shares]
        alias, chance = [-1] * n, [1.0] * n
        small, large = [i for i in range(n) if scaled[i] < 1.0], [i for i in range(n) if scaled[i] > 1.0]
        while small and large:
            low, high = small.pop(0), large[0]
            chance[low], alias[low] = scaled[low], high
            scaled[high] += scaled[low] - 1.0
            if scaled[high] <= 1.0:
                large.pop(0)
                if scaled[high] < 1.0:
                    small.append(high)
        for name, values, dtype in (("_probs", shares, "float32"), ("_alias", alias, "int32"), ("_chance", chance, "float32")):
            array = numpy.array(values, dtype)
            made = self.create_parameter([n], None, dtype, default_initializer=NumpyArrayInitializer(array))
            made.stop_gradient = True
            setattr(self, name, made)

    def forward(self, input, label, sample_weight=None):
        inputs = {"Input": input, "Label": label, "Weight": self.weight}
        for slot, value in (("Bias", self.bias), ("SampleWeight", sample_weight)):
            if value is not None:
                inputs[slot] = value
        if self._attrs["sampler"] == 2:
            inputs.update(CustomDistProbs=self._probs, CustomDistAlias=self._alias, CustomDistAliasProbs=self._chance)
        call = Call("nce")
        cost, logits, labels = call.var(), call.var(), call.var("int64", stop_gradient=True)
        call.op("nce", inputs, {"Cost": cost, "SampleLogits": logits, "SampleLabels": labels}, self._attrs)
        return cost / (self._samples + 1)


class PRelu(Layer):
    """x where x > 0, else x times a learned number."""

    def __init__(self, mode, channel=None, input_shape=None, param_attr=None, dtype="float32"):
        super().__init__("prelu", dtype)
        if mode == "channel" and not isinstance(channel, int):
            raise AssertionError("channel argument is required when mode is 'channel'.")
        if mode == "element" and not isinstance(input_shape, (list, tuple)):
            raise AssertionError("input_shape argument is required when mode is 'element'.")
        if mode not in ("all", "channel", "element"):
            raise ValueError("mode should be one of all, channel, element.")
        shape = [1] if mode == "all" else [1, channel, 1, 1] if mode == "channel" else [1] + list(input_shape)[1:]
        self._mode = mode
        self.weight = self.create_parameter(shape, param_attr, dtype, default_initializer=Constant(1.0))

    def forward(self, input):
        return one("prelu", "prelu", {"X": input, "Alpha": self.weight}, {"mode": self._mode})


class BilinearTensorProduct(Layer):
    """x W_i y for each i."""

    def __init__(self, input1_dim, input2_dim, output_dim, name=None, act=None, param_attr=None, bias_attr=None,
                 dtype="float32"):
        super().__init__(dtype=dtype)
        self._act = act
        self.weight = self.create_parameter([output_dim, input1_dim, input2_dim], param_attr, dtype)
        self.bias = self.create_parameter([1, output_dim], bias_attr, dtype, is_bias=True)

    def forward(self, x, y):
        inputs = {"X": x, "Y": y, "Weight": self.weight}
        if self.bias is not None:
            inputs["Bias"] = self.bias
        return _activated(one("bilinear_tensor_product", "bilinear_tensor_product", inputs), self._act)


class TreeConv(Layer):
    """Convolution over trees."""

    def __init__(self, feature_size, output_size, num_filters=1, max_depth=2, act="tanh", param_attr=None, bias_attr=None,
                 name=None, dtype="float32"):
        super().__init__(dtype=dtype)
        self._depth, self._act = max_depth, act
        self.weight = self.create_parameter([feature_size, 3, output_size, num_filters], param_attr, dtype)
        self.bias = self.create_parameter([num_filters], bias_attr, dtype, is_bias=True) if bias_attr else None

    def forward(self, nodes_vector, edge_set):
        out = one("tree_conv", "tree_conv", {"NodesVector": nodes_vector, "EdgeSet": edge_set, "Filter": self.weight},
                  {"max_depth": self._depth})
        if self.bias is not None:
            out = one("elementwise_add", "elementwise_add", {"X": out, "Y": self.bias}, {"axis": -1})
        return _activated(out, self._act)


class _Loss(Layer):
    """Base of the losses."""

    def __init__(self, reduction="mean"):
        super().__init__()
        if reduction not in ("sum", "mean", "none"):
            raise ValueError("The value of 'reduction' should be 'sum', 'mean' or 'none', but received %s." % reduction)
        self.reduction = reduction


class MSELoss(_Loss):
    """Squared error."""

    def forward(self, input, label):
        return F.mse_loss(input, label, self.reduction)


class L1Loss(_Loss):
    """Absolute error."""

    def forward(self, input, label):
        return F.l1_loss(input, label, self.reduction)


class BCELoss(_Loss):
    """Log loss of probabilities."""

    def __init__(self, weight=None, reduction="mean"):
        super().__init__(reduction)
        self.weight = weight

    def forward(self, input, label):
        return F.binary_cross_entropy(input, label, self.weight, self.reduction)


class NLLLoss(_Loss):
    """Negative log likelihood of log probabilities."""

    def __init__(self, weight=None, reduction="mean", ignore_index=-100):
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, ignore_index

    def forward(self, input, label):
        return F.nll_loss(input, label, self.weight, self.ignore_index, self.reduction)


__getattr__ = _names.guard(__name__)
