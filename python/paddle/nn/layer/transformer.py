"""Attention, encoders and decoders."""
import collections

from paddle import _names
from paddle.nn import functional as F
from paddle.nn.layer.common import Dropout, Linear
from paddle.nn.layer.container import LayerList
from paddle.nn.layer.layers import Layer
from paddle.nn.layer.norm import LayerNorm


def _attrs(attr, n):
    """n attributes of one, or of a list; a given name gets numbers."""
    from paddle.framework import to_attr
    if isinstance(attr, (list, tuple)):
        if len(attr) != n:
            raise AssertionError("length of param_attr should be %d when it is a list/tuple" % n)
        return [to_attr(a) for a in attr]
    if attr is None or isinstance(attr, bool):
        return [to_attr(attr) for _ in range(n)]
    attr = to_attr(attr)
    return [attr.copy(name="%s_%d" % (attr.name, i) if attr.name else None) for i in range(n)]


def _mask(mask, dtype):
    """What is added to the scores: booleans and integers select the visible positions."""
    from paddle.tensor.manipulation import cast
    if mask is None or mask.dtype == dtype:
        return mask
    kind = mask.dtype.dtype
    if kind == "bool" or "int" in kind:
        return (cast(mask, dtype) - 1.0) * 1e9
    return cast(mask, dtype)


def _positive(**sizes):
    for word, value in sizes.items():
        if value <= 0:
            raise AssertionError("Expected %s to be greater than 0, but received %s" % (word, value))


class MultiHeadAttention(Layer):
    """softmax(q k^T / sqrt(d)) v in num_heads parts; inputs [batch, length, embed_dim]."""

    Cache = collections.namedtuple("Cache", ["k", "v"])
    StaticCache = collections.namedtuple("StaticCache", ["k", "v"])

    def __init__(self, embed_dim, num_heads, dropout=0.0, kdim=None, vdim=None, need_weights=False, weight_attr=None,
                 bias_attr=None):
        super(MultiHeadAttention, self).__init__()
        _positive(embed_dim=embed_dim, num_heads=num_heads)
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.dropout, self.need_weights = dropout, need_weights
        self.q_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)
        self.k_proj = Linear(self.kdim, embed_dim, weight_attr, bias_attr)
        self.v_proj = Linear(self.vdim, embed_dim, weight_attr, bias_attr)
        self.out_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)

    def _heads(self, x):
        from paddle.tensor.manipulation import reshape, transpose
        return transpose(reshape(x, [0, 0, self.num_heads, self.head_dim]), [0, 2, 1, 3])

    def compute_kv(self, key, value):
        """Keys and values by head, as caches hold them."""
        k, v = self.k_proj(key), self.v_proj(value)
        return self._heads(k), self._heads(v)

    def gen_cache(self, key, value=None, type=Cache):
        """Cache: grows step by step, empty at first; StaticCache: of a whole memory."""
        if type == MultiHeadAttention.StaticCache:
            return self.StaticCache(*self.compute_kv(key, value))
        if value is not None:
            return self.Cache(key, value)
        from paddle.tensor.creation import full
        shape = [key.shape[0], self.num_heads, 0, self.head_dim]
        return self.Cache(full(shape, 0, key.dtype), full(shape, 0, key.dtype))

    def _with_cache(self, key, value, cache):
        """(keys, values, the cache after it)"""
        from paddle.tensor.manipulation import concat
        if isinstance(cache, self.StaticCache):
            return cache.k, cache.v, cache
        k, v = self.compute_kv(key, value)
        if isinstance(cache, self.Cache):
            if cache.k.shape[2] != 0:
                k, v = concat([cache.k, k], axis=2), concat([cache.v, v], axis=2)
            cache = self.Cache(k, v)
        return k, v, cache

    def forward(self, query, key=None, value=None, attn_mask=None, cache=None):
        from paddle.tensor.linalg import matmul
        from paddle.tensor.manipulation import reshape, transpose
        key = query if key is None else key
        value = query if value is None else value
        q = self._heads(self.q_proj(query))
        k, v, cache = self._with_cache(key, value, cache)
        product = matmul(q * self.head_dim ** -0.5, k, transpose_y=True)
        if attn_mask is not None:
            product = product + _mask(attn_mask, product.dtype)
        weights = F.softmax(product)
        if self.dropout:
            weights = F.dropout(weights, self.dropout, training=self.training, mode="upscale_in_train")
        out = reshape(transpose(matmul(weights, v), [0, 2, 1, 3]), [0, 0, self.embed_dim])
        outs = [self.out_proj(out)]
        if self.need_weights:
            outs.append(weights)
        if cache is not None:
            outs.append(cache)
        return outs[0] if len(outs) == 1 else tuple(outs)


class _Block(Layer):
    """What encoder and decoder layers share: dense layers, and sums with what went in, normalized before or after."""

    def _dense(self, d_model, dim_feedforward, act_dropout, weight_attr, bias_attr):
        self.linear1 = Linear(d_model, dim_feedforward, weight_attr, bias_attr)
        self.dropout = Dropout(act_dropout, mode="upscale_in_train")
        self.linear2 = Linear(dim_feedforward, d_model, weight_attr, bias_attr)

    def _norms(self, d_model, dropout, n):
        for i in range(1, n + 1):
            setattr(self, "norm%d" % i, LayerNorm(d_model))
        for i in range(1, n + 1):
            setattr(self, "dropout%d" % i, Dropout(dropout, mode="upscale_in_train"))

    def _step(self, x, norm, dropout, part):
        """x + part(x), and what else part gives."""
        out = part(norm(x) if self.normalize_before else x)
        out, more = out if isinstance(out, tuple) else (out, None)
        out = x + dropout(out)
        return (out if self.normalize_before else norm(out)), more

    def _feed(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Block):
    """Attention, then two dense layers, each added to its input and normalized."""

    def __init__(self, d_model, nhead, dim_feedforward, dropout=0.1, activation="relu", attn_dropout=None, act_dropout=None,
                 normalize_before=False, weight_attr=None, bias_attr=None):
        config = {key: value for key, value in locals().items() if key not in ("self", "__class__")}
        super(TransformerEncoderLayer, self).__init__()
        self._config = config
        _positive(d_model=d_model, nhead=nhead, dim_feedforward=dim_feedforward)
        weights, biases = _attrs(weight_attr, 2), _attrs(bias_attr, 2)
        self.normalize_before = normalize_before
        self.self_attn = MultiHeadAttention(d_model, nhead, dropout if attn_dropout is None else attn_dropout,
                                            weight_attr=weights[0], bias_attr=biases[0])
        self._dense(d_model, dim_feedforward, dropout if act_dropout is None else act_dropout, weights[1], biases[1])
        self._norms(d_model, dropout, 2)
        self.activation = getattr(F, activation)

    def forward(self, src, src_mask=None, cache=None):
        mask = _mask(src_mask, src.dtype)
        src, cache_after = self._step(src, self.norm1, self.dropout1, lambda x: self.self_attn(x, x, x, mask, cache))
        src, _ = self._step(src, self.norm2, self.dropout2, self._feed)
        return src if cache is None else (src, cache_after)

    def gen_cache(self, src):
        return self.self_attn.gen_cache(src, type=self.self_attn.Cache)


class TransformerDecoderLayer(_Block):
    """Attention to what came before, attention to the encoder's memory, two dense layers."""

    def __init__(self, d_model, nhead, dim_feedforward, dropout=0.1, activation="relu", attn_dropout=None, act_dropout=None,
                 normalize_before=False, weight_attr=None, bias_attr=None):
        config = {key: value for key, value in locals().items() if key not in ("self", "__class__")}
        super(TransformerDecoderLayer, self).__init__()
        self._config = config
        _positive(d_model=d_model, nhead=nhead, dim_feedforward=dim_feedforward)
        weights, biases = _attrs(weight_attr, 3), _attrs(bias_attr, 3)
        attn_dropout = dropout if attn_dropout is None else attn_dropout
        self.normalize_before = normalize_before
        self.self_attn = MultiHeadAttention(d_model, nhead, attn_dropout, weight_attr=weights[0], bias_attr=biases[0])
        self.cross_attn = MultiHeadAttention(d_model, nhead, attn_dropout, weight_attr=weights[1], bias_attr=biases[1])
        self._dense(d_model, dim_feedforward, dropout if act_dropout is None else act_dropout, weights[2], biases[2])
        self._norms(d_model, dropout, 3)
        self.activation = getattr(F, activation)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, cache=None):
        mask, seen = _mask(tgt_mask, tgt.dtype), _mask(memory_mask, memory.dtype)
        own, fixed = (None, None) if cache is None else cache
        tgt, own_after = self._step(tgt, self.norm1, self.dropout1, lambda x: self.self_attn(x, x, x, mask, own))
        tgt, fixed_after = self._step(tgt, self.norm2, self.dropout2,
                                      lambda x: self.cross_attn(x, memory, memory, seen, fixed))
        tgt, _ = self._step(tgt, self.norm3, self.dropout3, self._feed)
        return tgt if cache is None else (tgt, (own_after, fixed_after))

    def gen_cache(self, memory):
        return (self.self_attn.gen_cache(memory, type=self.self_attn.Cache),
                self.cross_attn.gen_cache(memory, memory, type=self.cross_attn.StaticCache))


def _stack(layer, count):
    """The layer, and new ones made as it was."""
    return LayerList([layer if i == 0 else type(layer)(**layer._config) for i in range(count)])


class TransformerEncoder(Layer):
    """num_layers encoder layers, one after the other."""

    def __init__(self, encoder_layer, num_layers, norm=None):
        super(TransformerEncoder, self).__init__()
        self.layers, self.num_layers, self.norm = _stack(encoder_layer, num_layers), num_layers, norm

    def forward(self, src, src_mask=None, cache=None):
        mask, out, after = _mask(src_mask, src.dtype), src, []
        for i, layer in enumerate(self.layers):
            if cache is None:
                out = layer(out, src_mask=mask)
            else:
                out, new = layer(out, src_mask=mask, cache=cache[i])
                after.append(new)
        out = out if self.norm is None else self.norm(out)
        return out if cache is None else (out, after)

    def gen_cache(self, src):
        return [layer.gen_cache(src) for layer in self.layers]


class TransformerDecoder(Layer):
    """num_layers decoder layers, one after the other."""

    def __init__(self, decoder_layer, num_layers, norm=None):
        super(TransformerDecoder, self).__init__()
        self.layers, self.num_layers, self.norm = _stack(decoder_layer, num_layers), num_layers, norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, cache=None):
        mask, seen, out, after = _mask(tgt_mask, tgt.dtype), _mask(memory_mask, memory.dtype), tgt, []
        for i, layer in enumerate(self.layers):
            if cache is None:
                out = layer(out, memory, tgt_mask=mask, memory_mask=seen, cache=None)
            else:
                out, new = layer(out, memory, tgt_mask=mask, memory_mask=seen, cache=cache[i])
                after.append(new)
        out = out if self.norm is None else self.norm(out)
        return out if cache is None else (out, after)

    def gen_cache(self, memory, do_zip=False):
        caches = [layer.gen_cache(memory) for layer in self.layers]
        return list(zip(*caches)) if do_zip else caches


def _for_both(attr, word):
    """(attributes of encoder layers, of decoder layers)"""
    if not isinstance(attr, (list, tuple)):
        return attr, attr
    if len(attr) not in (1, 2, 3):
        raise AssertionError("length of %s should be 1 or 2 or 3 when it is a list/tuple" % word)
    return [attr[0], attr[-1]], [attr[0], attr[1] if len(attr) == 3 else attr[0], attr[-1]]


class Transformer(Layer):
    """An encoder, and a decoder that looks at what it gives."""

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1,
                 activation="relu", attn_dropout=None, act_dropout=None, normalize_before=False, weight_attr=None,
                 bias_attr=None, custom_encoder=None, custom_decoder=None):
        super(Transformer, self).__init__()
        _positive(d_model=d_model, nhead=nhead, dim_feedforward=dim_feedforward)
        weights, biases = _for_both(weight_attr, "weight_attr"), _for_both(bias_attr, "bias_attr")
        common = (d_model, nhead, dim_feedforward, dropout, activation, attn_dropout, act_dropout, normalize_before)
        self.encoder = custom_encoder
        if custom_encoder is None:
            layer = TransformerEncoderLayer(*common, weight_attr=weights[0], bias_attr=biases[0])
            norm = LayerNorm(d_model)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm)
        self.decoder = custom_decoder
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*common, weight_attr=weights[1], bias_attr=biases[1])
            norm = LayerNorm(d_model)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, norm)
        self.d_model, self.nhead = d_model, nhead

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None):
        memory = self.encoder(src, src_mask=_mask(src_mask, src.dtype))
        return self.decoder(tgt, memory, tgt_mask=_mask(tgt_mask, tgt.dtype), memory_mask=_mask(memory_mask, memory.dtype))

    def generate_square_subsequent_mask(self, length):
        """-inf above the diagonal: what comes later is not seen."""
        import numpy
        from paddle.framework import get_default_dtype
        from paddle.tensor.creation import to_tensor
        return to_tensor(numpy.triu(numpy.full([length, length], -numpy.inf, get_default_dtype()), 1))


__getattr__ = _names.guard(__name__)
