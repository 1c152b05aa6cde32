"""Attention."""
from paddle import _names
from paddle.nn import functional as F
from paddle.nn.layer.common import Dropout, LayerNorm, Linear
from paddle.nn.layer.layers import Layer


def _both(attr):
    """One attribute for two places, or a pair of them."""
    return list(attr) if isinstance(attr, (list, tuple)) else [attr] * 2


class MultiHeadAttention(Layer):
    """softmax(q k^T / sqrt(d)) v in num_heads parts; inputs [batch, length, embed_dim]."""

    def __init__(self, embed_dim, num_heads, dropout=0.0, kdim=None, vdim=None, need_weights=False, weight_attr=None,
                 bias_attr=None):
        super(MultiHeadAttention, self).__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise AssertionError("embed_dim and num_heads must be greater than 0, but received %s and %s" %
                                 (embed_dim, num_heads))
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.dropout, self.need_weights = dropout, need_weights
        self.q_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)
        self.k_proj = Linear(kdim or embed_dim, embed_dim, weight_attr, bias_attr)
        self.v_proj = Linear(vdim or embed_dim, embed_dim, weight_attr, bias_attr)
        self.out_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)

    def _heads(self, x):
        from paddle.tensor.manipulation import reshape, transpose
        return transpose(reshape(x, [0, 0, self.num_heads, self.head_dim]), [0, 2, 1, 3])

    def forward(self, query, key=None, value=None, attn_mask=None, cache=None):
        from paddle.tensor.linalg import matmul
        from paddle.tensor.manipulation import reshape, transpose
        if cache is not None:
            raise NotImplementedError("MultiHeadAttention: caches of decoding are not there")
        key = query if key is None else key
        value = query if value is None else value
        q = self._heads(self.q_proj(query))
        k, v = self.k_proj(key), self.v_proj(value)
        k, v = self._heads(k), self._heads(v)
        product = matmul(q * self.head_dim ** -0.5, k, transpose_y=True)
        if attn_mask is not None:
            product = product + attn_mask
        weights = F.softmax(product)
        if self.dropout:
            weights = F.dropout(weights, self.dropout, training=self.training, mode="upscale_in_train")
        out = reshape(transpose(matmul(weights, v), [0, 2, 1, 3]), [0, 0, self.embed_dim])
        out = self.out_proj(out)
        return (out, weights) if self.need_weights else out


class TransformerEncoderLayer(Layer):
    """Attention, then two dense layers, each added to its input and normalized."""

    def __init__(self, d_model, nhead, dim_feedforward, dropout=0.1, activation="relu", attn_dropout=None, act_dropout=None,
                 normalize_before=False, weight_attr=None, bias_attr=None, layer_norm_eps=1e-5):
        super(TransformerEncoderLayer, self).__init__()
        weights, biases = _both(weight_attr), _both(bias_attr)
        self.normalize_before = normalize_before
        self.self_attn = MultiHeadAttention(d_model, nhead, dropout if attn_dropout is None else attn_dropout,
                                            weight_attr=weights[0], bias_attr=biases[0])
        self.linear1 = Linear(d_model, dim_feedforward, weights[1], biases[1])
        self.dropout = Dropout(dropout if act_dropout is None else act_dropout, mode="upscale_in_train")
        self.linear2 = Linear(dim_feedforward, d_model, weights[1], biases[1])
        self.norm1 = LayerNorm(d_model, layer_norm_eps)
        self.norm2 = LayerNorm(d_model, layer_norm_eps)
        self.dropout1 = Dropout(dropout, mode="upscale_in_train")
        self.dropout2 = Dropout(dropout, mode="upscale_in_train")
        self.activation = getattr(F, activation)

    def forward(self, src, src_mask=None, cache=None):
        if cache is not None:
            raise NotImplementedError("TransformerEncoderLayer: caches of decoding are not there")
        residual = src
        if self.normalize_before:
            src = self.norm1(src)
        src = residual + self.dropout1(self.self_attn(src, src, src, src_mask))
        if not self.normalize_before:
            src = self.norm1(src)
        residual = src
        if self.normalize_before:
            src = self.norm2(src)
        src = residual + self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(src)))))
        return src if self.normalize_before else self.norm2(src)


__getattr__ = _names.guard(__name__)
