"""fluid.contrib: Trainer with checkpoints, and some layers."""
from paddle import _names

_WHERE = {word: "paddle.fluid.contrib.trainer:" + word for word in (
    "Trainer", "CheckpointConfig", "BeginEpochEvent", "EndEpochEvent", "BeginStepEvent", "EndStepEvent")}
_WHERE["Inferencer"] = "paddle.fluid.contrib.inferencer:Inferencer"
_WHERE["fused_embedding_seq_pool"] = "paddle.fluid.contrib.layers:fused_embedding_seq_pool"
__getattr__, __dir__ = _names.lazy(__name__, _WHERE, ("trainer", "inferencer", "layers"))
