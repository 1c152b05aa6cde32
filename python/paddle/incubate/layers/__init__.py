"""paddle.incubate.layers"""
from paddle import _names

_WORDS = ("tdm_child tdm_sampler shuffle_batch partial_concat partial_sum rank_attention batch_fc fused_seqpool_cvm "
          "fused_embedding_seq_pool")
_WHERE = {word: "paddle.incubate.layers.nn" for word in _WORDS.split()}
__getattr__, __dir__ = _names.lazy(__name__, _WHERE, ("nn",))
