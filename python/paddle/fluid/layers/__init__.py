"""fluid.layers: layers of networks. Every layer is a C layer (docs/reference/layers.md) or one registered operator; the
programs are Fluid 1.8.5's, operator for operator and name for name. Inside fluid.dygraph.guard they run at once."""
from paddle import _names
from paddle.fluid._at_once import at_once
from paddle.fluid.layers import (control_flow, crf, distributions, extra, host, io, learning_rate_scheduler, loss, metric_op, more,
                                 moving, nn, ops, pictures, resize, rnn, sequence_lod, tensor, volumes)

__all__ = []
for _module in (nn, io, tensor, ops, control_flow, host, rnn, loss, metric_op, sequence_lod, learning_rate_scheduler, crf, more,
                distributions, moving, pictures, extra, resize, volumes):
    for _name in _module.__all__:
        globals()[_name] = at_once(getattr(_module, _name), 2 if _module in (more, extra) else 1)
    __all__ += _module.__all__

__getattr__ = _names.guard(__name__)
