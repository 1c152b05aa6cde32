"""paddle.base: what 2.6 calls fluid's inner modules."""
from paddle import _names

_WHERE = {
    "core": "paddle.fluid.core:", "framework": "paddle.base.framework:", "unique_name": "paddle.fluid.unique_name:",
    "executor": "paddle.fluid.executor:", "initializer": "paddle.nn.initializer:", "layers": "paddle.fluid.layers:",
    "io": "paddle.fluid.io:", "backward": "paddle.fluid.backward:",
    "DatasetFactory": "paddle.fluid", "Executor": "paddle.static", "Program": "paddle.static", "Scope": "paddle.static",
    "Variable": "paddle.static", "CPUPlace": "paddle.framework", "CUDAPlace": "paddle.framework",
    "ParamAttr": "paddle.framework", "LoDTensor": "paddle.fluid.core", "default_main_program": "paddle.static",
    "default_startup_program": "paddle.static", "program_guard": "paddle.static", "global_scope": "paddle.static",
    "scope_guard": "paddle.static", "data": "paddle.static", "DataFeeder": "paddle.fluid",
    "create_lod_tensor": "paddle.fluid",
}


def __getattr__(name):
    import importlib
    if name in _WHERE:
        path, colon, _ = _WHERE[name].partition(":")
        module = importlib.import_module(path)
        return module if colon else getattr(module, name)
    _names.missing(__name__, name, _WHERE)


def __dir__():
    return sorted(_WHERE)
