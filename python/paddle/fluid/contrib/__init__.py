"""fluid.contrib: Trainer with checkpoints, and some layers."""
from paddle import _names

_WHERE = {word: "paddle.fluid.contrib.trainer:" + word for word in (
    "Trainer", "CheckpointConfig", "BeginEpochEvent", "EndEpochEvent", "BeginStepEvent", "EndStepEvent")}
_WHERE["Inferencer"] = "paddle.fluid.contrib.inferencer:Inferencer"
for _word in ("fused_embedding_seq_pool tdm_child tdm_sampler shuffle_batch partial_concat partial_sum match_matrix_tensor "
              "sequence_topk_avg_pooling var_conv_2d rank_attention ctr_metric_bundle").split():
    _WHERE[_word] = "paddle.fluid.contrib.layers:" + _word
__getattr__, __dir__ = _names.lazy(__name__, _WHERE, ("trainer", "inferencer", "layers"))
