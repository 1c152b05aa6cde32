"""paddle.base: what 2.6 calls fluid: the names of paddle.static, framework and device, and fluid's inner modules."""
from paddle import _names

_STATIC = ("Executor Program Scope Variable default_main_program default_startup_program program_guard global_scope scope_guard data "
           "BuildStrategy CompiledProgram ExecutionStrategy WeightNormParamAttr append_backward gradients cpu_places cuda_places "
           "device_guard name_scope")
_FRAMEWORK = "CPUPlace CUDAPlace CUDAPinnedPlace ParamAttr get_flags set_flags in_dynamic_or_pir_mode in_pir_mode"
_DEVICE = "is_compiled_with_cinn is_compiled_with_cuda is_compiled_with_rocm is_compiled_with_xpu"
_FLUID = ("DatasetFactory DataFeeder DataFeedDesc InMemoryDataset LoDTensorArray create_lod_tensor create_random_int_lodtensor "
          "cuda_pinned_places require_version")
_MODULES = ("compiler data_feeder dataset lod_tensor param_attr reader layer_helper unique_name executor layers io backward core "
            "data_feed_desc")
_WHERE = {"framework": "paddle.base.framework:", "initializer": "paddle.nn.initializer:", "dygraph": "paddle.base.dygraph:",
          "log_helper": "paddle.base.log_helper:", "incubate": "paddle.incubate:", "LoDTensor": "paddle.fluid.core",
          "Tensor": "paddle._tensor", "in_dygraph_mode": "paddle.base.framework"}
for _names_of, _path in ((_STATIC, "paddle.static"), (_FRAMEWORK, "paddle.framework"), (_DEVICE, "paddle.device"),
                         (_FLUID, "paddle.fluid")):
    _WHERE.update({_name: _path for _name in _names_of.split()})
_WHERE.update({_name: "paddle.fluid.%s:" % _name for _name in _MODULES.split()})
_names.same_modules(__name__, {_name: _path[:-1] for _name, _path in _WHERE.items()
                               if _path.endswith(":") and not _path.startswith(__name__)})
_WHERE.update({_name: "paddle.base.dygraph" for _name in
               "enable_dygraph disable_dygraph enable_imperative disable_imperative".split()})


def __getattr__(name):
    import importlib
    if name in _WHERE:
        path, colon, _ = _WHERE[name].partition(":")
        module = importlib.import_module(path)
        return module if colon else getattr(module, name)
    _names.missing(__name__, name, _WHERE)


def __dir__():
    return sorted(_WHERE)
