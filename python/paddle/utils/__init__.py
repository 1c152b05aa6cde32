"""paddle.utils"""
from paddle import _names

_WHERE = {"require_version": "paddle.fluid.framework"}
_SUBMODULES = ("dlpack", "unique_name", "profiler")


def try_import(module_name, err_msg=None):
    """The module, or an ImportError that says how to get it."""
    import importlib
    try:
        return importlib.import_module(module_name)
    except ImportError:
        raise ImportError(err_msg or "Failed importing %s. This likely means that some paddle modules require additional "
                          "dependencies that have to be manually installed (usually with `pip install %s`). " %
                          (module_name, module_name))


def run_check():
    """Trains a line on one thread, and says so."""
    import numpy
    import paddle
    paddle.enable_static()
    from paddle import static
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("run_check_x", [None, 2])
        loss = paddle.mean(paddle.square(paddle.nn.Linear(2, 1)(x)))
        paddle.optimizer.SGD(0.01).minimize(loss)
    exe, scope = static.Executor(), static.Scope()
    with static.scope_guard(scope):
        exe.run(startup)
        exe.run(main, feed={"run_check_x": numpy.ones((4, 2), "float32")}, fetch_list=[loss])
    print("PaddlePaddle is installed successfully! (Skiff %s)" % paddle.full_version)


__getattr__, __dir__ = _names.lazy(__name__, _WHERE, _SUBMODULES)
