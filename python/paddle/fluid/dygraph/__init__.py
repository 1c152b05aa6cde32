"""fluid.dygraph of 1.8: layers and functions that run at once."""
from paddle import _names
from paddle.fluid.dygraph import base, checkpoint, container, jit, layers, nn, parallel  # noqa: F401
from paddle.fluid.dygraph import learning_rate_scheduler
from paddle.fluid.dygraph.backward_strategy import BackwardStrategy  # noqa: F401
from paddle.fluid.dygraph.base import (disable_dygraph, disable_imperative, enable_dygraph, enable_imperative,  # noqa: F401
                                       enabled, grad, guard, no_grad, to_variable)
from paddle.fluid.dygraph.checkpoint import load_dygraph, save_dygraph  # noqa: F401
from paddle.fluid.dygraph.container import LayerList, ParameterList, Sequential  # noqa: F401
from paddle.fluid.dygraph.jit import ProgramTranslator, TracedLayer, declarative, dygraph_to_static_func  # noqa: F401
from paddle.fluid.dygraph.layers import Layer  # noqa: F401
from paddle.fluid.dygraph.parallel import DataParallel, ParallelEnv, prepare_context  # noqa: F401

for _module in (nn, learning_rate_scheduler):
    for _name in _module.__all__:
        globals()[_name] = getattr(_module, _name)

__getattr__ = _names.guard(__name__)
