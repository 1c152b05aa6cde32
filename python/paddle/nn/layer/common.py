"""Linear, Bilinear, Embedding, Dropout, Flatten, similarities."""
from paddle import _names
from paddle._mode import mode as _mode
from paddle.framework import get_default_dtype
from paddle.nn import functional as F
from paddle.nn.layer._declared import layer
from paddle.nn.layer.layers import Layer


def _named(name):
    return ", name=%s" % name if name else ""


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
        self._weight_attr, self._bias_attr, self._dtype = weight_attr, bias_attr, get_default_dtype()
        self.weight = self.create_parameter([in_features, out_features], weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)

    def forward(self, input):
        return F.linear(input, self._own("weight"), self._own("bias"), self.name)

    def extra_repr(self):
        return "in_features=%d, out_features=%d, dtype=%s%s" % (self.weight.shape[0], self.weight.shape[1], self._dtype,
                                                                _named(self.name))


class Bilinear(Layer):
    """x1 weight[k] x2 + bias[k]; weight [out_features, in1_features, in2_features]."""

    def __init__(self, in1_features, in2_features, out_features, weight_attr=None, bias_attr=None, name=None):
        super(Bilinear, self).__init__()
        self._in1_features, self._in2_features, self._out_features, self._name = in1_features, in2_features, out_features, name
        self._weight_attr, self._bias_attr, self._dtype = weight_attr, bias_attr, get_default_dtype()
        self.weight = self.create_parameter([out_features, in1_features, in2_features], weight_attr)
        self.bias = self.create_parameter([1, out_features], bias_attr, is_bias=True)

    def forward(self, x1, x2):
        return F.bilinear(x1, x2, self.weight, self.bias, self._name)

    def extra_repr(self):
        return "in1_features=%d, in2_features=%d, out_features=%d, dtype=%s%s" % (
            self._in1_features, self._in2_features, self._out_features, self._dtype, _named(self._name))


class Embedding(Layer):
    """Rows of a table; sparse: gradients touch only the rows of a batch."""

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, sparse=False, weight_attr=None, name=None):
        super(Embedding, self).__init__()
        if num_embeddings <= 0:
            raise ValueError("num_embeddings must be gather than 0")
        if embedding_dim <= 0:
            raise ValueError("embedding_dim must be gather than 0")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError("padding_idx must be within [-%d, %d)" % (num_embeddings, num_embeddings))
        self._num_embeddings, self._embedding_dim, self._sparse, self._name = num_embeddings, embedding_dim, sparse, name
        self._padding_idx, self._weight_attr, self._is_distributed = padding_idx, weight_attr, False
        self._size, self._dtype = [num_embeddings, embedding_dim], get_default_dtype()
        self.weight = self.create_parameter(self._size, weight_attr)
        if _mode.eager and padding_idx is not None:
            value = self.weight.numpy()
            value[padding_idx] = 0.0
            self.weight.set(value)

    def forward(self, x):
        return F.embedding(x, self._own("weight"), self._padding_idx, self._sparse, self._name)

    def extra_repr(self):
        text = "%d, %d" % (self._num_embeddings, self._embedding_dim)
        if self._padding_idx is not None:
            text += ", padding_idx=%d" % self._padding_idx
        return text + ", sparse=%s%s" % (self._sparse, _named(self._name))


# ---- dropout ------------------------------------------------------------------------------------


class Dropout(Layer):
    """Elements set to zero with probability p while training."""

    def __init__(self, p=0.5, axis=None, mode="upscale_in_train", name=None):
        super(Dropout, self).__init__()
        self.p, self.axis, self.mode, self.name = p, axis, mode, name

    def forward(self, input):
        return F.dropout(input, self.p, self.axis, self.training, self.mode, self.name)

    def extra_repr(self):
        return "p=%s, axis=%s, mode=%s%s" % (self.p, self.axis, self.mode, _named(self.name))


class Dropout2D(Layer):
    """Complete channels of images."""

    def __init__(self, p=0.5, data_format="NCHW", name=None):
        super(Dropout2D, self).__init__()
        self.p, self.data_format, self.name = p, data_format, name

    def forward(self, input):
        return F.dropout2d(input, self.p, self.training, self.data_format, self.name)

    def extra_repr(self):
        return "p=%s, data_format=%s%s" % (self.p, self.data_format, _named(self.name))


class Dropout3D(Dropout2D):
    """Complete channels of volumes."""

    def __init__(self, p=0.5, data_format="NCDHW", name=None):
        super(Dropout3D, self).__init__(p, data_format, name)

    def forward(self, input):
        return F.dropout3d(input, self.p, self.training, self.data_format, self.name)


class AlphaDropout(Layer):
    """Dropout that keeps mean and variance."""

    def __init__(self, p=0.5, name=None):
        super(AlphaDropout, self).__init__()
        self.p, self.name = p, name

    def forward(self, input):
        return F.alpha_dropout(input, self.p, self.training, self.name)

    def extra_repr(self):
        return "p=%s%s" % (self.p, _named(self.name))


# ---- shapes and similarities --------------------------------------------------------------------


class Flatten(Layer):
    """The dimensions from start_axis to stop_axis as one."""

    def __init__(self, start_axis=1, stop_axis=-1):
        super(Flatten, self).__init__()
        self.start_axis, self.stop_axis = start_axis, stop_axis

    def forward(self, input):
        from paddle.tensor.manipulation import flatten
        return flatten(input, self.start_axis, self.stop_axis)


class Unflatten(Layer):
    """One dimension as several."""

    def __init__(self, axis, shape, name=None):
        super(Unflatten, self).__init__()
        self.axis, self.shape, self.name = axis, shape, name

    def forward(self, input):
        from paddle.tensor.manipulation import reshape
        sizes, axis = list(input.shape), self.axis % len(input.shape)
        return reshape(input, sizes[:axis] + list(self.shape) + sizes[axis + 1:])

    def extra_repr(self):
        return "axis=%s, shape=%s%s" % (self.axis, self.shape, _named(self.name))


CosineSimilarity = layer(F.cosine_similarity, "CosineSimilarity", "nn.functional.cosine_similarity as a layer.",
                         (("axis", 1), ("eps", 1e-8)), prefix="_", named=False, inputs=2)


class PairwiseDistance(Layer):
    """The p-norm of x - y + epsilon."""

    def __init__(self, p=2.0, epsilon=1e-6, keepdim=False, name=None):
        super(PairwiseDistance, self).__init__()
        self.p, self.epsilon, self.keepdim, self.name = p, epsilon, keepdim, name

    def forward(self, x, y):
        return F.pairwise_distance(x, y, self.p, self.epsilon, self.keepdim, self.name)

    def extra_repr(self):
        text = "p=%s" % self.p
        if self.epsilon != 1e-6:
            text += ", epsilon=%s" % self.epsilon
        if self.keepdim is not False:
            text += ", keepdim=%s" % self.keepdim
        return text + _named(self.name)


__getattr__ = _names.guard(__name__)
