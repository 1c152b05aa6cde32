"""fluid.transpiler: one program becomes a trainer's and a server's."""
from paddle import _names

_WHERE = {"DistributeTranspiler": "paddle.fluid.transpiler.distribute_transpiler:DistributeTranspiler",
          "DistributeTranspilerConfig": "paddle.fluid.transpiler.distribute_transpiler:DistributeTranspilerConfig",
          "memory_optimize": "paddle.fluid.transpiler.memory_optimization_transpiler:memory_optimize",
          "release_memory": "paddle.fluid.transpiler.memory_optimization_transpiler:release_memory",
          "HashName": "paddle.fluid.transpiler.ps_dispatcher:HashName",
          "RoundRobin": "paddle.fluid.transpiler.ps_dispatcher:RoundRobin"}
__getattr__, __dir__ = _names.lazy(__name__, _WHERE, ("distribute_transpiler", "geo_sgd_transpiler",
                                                      "ps_dispatcher", "memory_optimization_transpiler"))
