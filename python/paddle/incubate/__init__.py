"""paddle.incubate: layers of CTR and tree models, messages along the edges of graphs, averages of weights."""
from paddle import _names

_WHERE = {"graph_send_recv": "paddle.incubate.operators", "LookAhead": "paddle.incubate.optimizer",
          "ModelAverage": "paddle.incubate.optimizer", "softmax_mask_fuse": "paddle.incubate.operators",
          "softmax_mask_fuse_upper_triangle": "paddle.incubate.operators", "identity_loss": "paddle.incubate.operators",
          "graph_khop_sampler": "paddle.incubate.operators", "graph_sample_neighbors": "paddle.incubate.operators",
          "graph_reindex": "paddle.incubate.operators"}
_WHERE.update({"segment_" + _how: "paddle.geometric" for _how in ("sum", "mean", "max", "min")})
__getattr__, __dir__ = _names.lazy(__name__, _WHERE, ("layers", "operators", "optimizer", "autograd", "hapi",
                                                      "distributed"))
