"""Files of distributed models."""
from paddle import _files, _names
from paddle.fluid.io import is_persistable, load_persistables, save_persistables  # noqa: F401


def load_inference_model_distributed(dirname, executor, model_filename=None, params_filename=None, pserver_endpoints=None):
    """[program, names of the inputs, results] of a folder that a distributed job saved."""
    from paddle.fluid import io
    if dirname is None:
        raise NotImplementedError("load_inference_model_distributed: models in memory (dirname=None) are not there; save it to a "
                                  "folder")
    if not _files.isdir(dirname):
        raise ValueError("There is no directory named '%s'" % dirname)
    return list(io.load_inference_model(dirname, executor, model_filename, params_filename, pserver_endpoints))


__getattr__ = _names.guard(__name__)
