"""Attention as a function."""
from paddle import _names
from paddle.nn.functional.activation import softmax
from paddle.nn.functional.common import dropout


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, training=True, name=None):
    """softmax(q k^T / sqrt(d)) v; tensors [batch, length, heads, d]. A mask is added, or (booleans) selects the visible positions."""
    from paddle.tensor.creation import full, tril
    from paddle.tensor.linalg import matmul
    from paddle.tensor.manipulation import cast, transpose
    q, k, v = (transpose(x, [0, 2, 1, 3]) for x in (query, key, value))
    scores = matmul(q * query.shape[-1] ** -0.5, k, transpose_y=True)
    if attn_mask is not None:
        if attn_mask.dtype.dtype == "bool":
            attn_mask = (cast(attn_mask, scores.dtype) - 1.0) * 1e9
        scores = scores + attn_mask
    if is_causal:
        seen = tril(full([query.shape[1], key.shape[1]], 1.0, scores.dtype))
        scores = scores + (seen - 1.0) * 1e9
    weights = softmax(scores)
    if dropout_p:
        weights = dropout(weights, dropout_p, training=training, mode="upscale_in_train")
    return transpose(matmul(weights, v), [0, 2, 1, 3])


__getattr__ = _names.guard(__name__)
