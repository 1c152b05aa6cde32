"""paddle.fluid as in PaddlePaddle 1.8, on Skiff. docs/reference/python.md lists the differences."""
import sys

from paddle import _names, _which

_F = "paddle.fluid."
_WHERE = {}
for _module, _words in (
        ("framework", "Program default_startup_program default_main_program program_guard name_scope cuda_places cpu_places "
                      "cuda_pinned_places in_dygraph_mode is_compiled_with_cuda Variable require_version device_guard "
                      "set_flags get_flags"),
        ("executor", "Executor global_scope scope_guard"),
        ("compiler", "CompiledProgram BuildStrategy ExecutionStrategy"),
        ("parallel_executor", "ParallelExecutor"),
        ("core", "CPUPlace CUDAPlace CUDAPinnedPlace LoDTensor LoDTensorArray Scope Tensor"),
        ("param_attr", "ParamAttr WeightNormParamAttr"),
        ("data_feeder", "DataFeeder"), ("data_feed_desc", "DataFeedDesc"),
        ("dataset", "DatasetFactory InMemoryDataset QueueDataset"),
        ("lod_tensor", "create_lod_tensor create_random_int_lodtensor"),
        ("input", "data embedding one_hot"),
        ("io", "save load load_program_state set_program_state"),
        ("backward", "gradients"),
        ("transpiler", "DistributeTranspiler DistributeTranspilerConfig memory_optimize release_memory"),
        ("clip", "ErrorClipByValue"),
        ("contrib.trainer", "Trainer CheckpointConfig BeginEpochEvent EndEpochEvent BeginStepEvent EndStepEvent"),
        ("contrib.inferencer", "Inferencer"),
        ("dygraph.base", "enable_dygraph disable_dygraph enable_imperative disable_imperative"),
        ("dygraph.checkpoint", "save_dygraph load_dygraph"), ("dygraph.layers", "Layer"),
        ("dygraph.nn", "Conv2D Conv3D Pool2D Linear BatchNorm Dropout Embedding GRUUnit InstanceNorm LayerNorm NCE PRelu "
                       "BilinearTensorProduct Conv2DTranspose Conv3DTranspose GroupNorm SpectralNorm TreeConv MSELoss L1Loss "
                       "NLLLoss BCELoss")):
    for _word in _words.split():
        _WHERE[_word] = _F + _module + ":" + _word
_SUBMODULES = ("framework", "executor", "compiler", "parallel_executor", "core", "param_attr", "data_feeder", "data_feed_desc", "dataset",
               "lod_tensor", "input", "io", "backward", "transpiler", "communicator", "clip", "contrib", "incubate",
               "initializer", "layers", "layer_helper", "metrics", "nets", "optimizer", "profiler", "reader", "regularizer", "unique_name", "average",
               "dygraph")

__all__ = sorted(_WHERE)
_find, __dir__ = _names.lazy(__name__, _WHERE, _SUBMODULES, 4)
_which.asked_for_fluid(sys._getframe(1))


def __getattr__(name):
    _which.asked_for_fluid(sys._getframe(1))
    return _find(name)
