"""fluid.io: saving and loading, in Paddle's own files; readers and loaders under their older names."""
import os
import tempfile
import warnings

from skiff import _native

from paddle import _files, _names
from paddle.batch import batch
from paddle.fluid import framework
from paddle.fluid.executor import Executor, global_scope
from paddle.fluid.reader import DataLoader, PyReader, default_collate_fn
from paddle.reader import (ComposeNotAligned, buffered, cache, chain, compose, firstn, map_readers, multiprocess_reader,
                           shuffle, xmap_readers)

__all__ = ["save_vars", "save_params", "save_persistables", "load_vars", "load_params", "load_persistables",
           "save_inference_model", "load_inference_model", "batch", "save", "load", "load_program_state",
           "set_program_state", "get_program_parameter", "get_program_persistable_vars", "PyReader", "DataLoader",
           "default_collate_fn", "cache", "map_readers", "buffered", "compose", "chain", "shuffle", "ComposeNotAligned",
           "firstn", "xmap_readers", "multiprocess_reader"]

_HOLDERS = ("FEED_MINIBATCH", "FETCH_LIST", "READER")


def is_parameter(var):
    return isinstance(var, framework.Parameter)


def is_persistable(var):
    return var.kind not in _HOLDERS and var.persistable


def is_belong_to_optimizer(var):
    return is_persistable(var) and not is_parameter(var)


def get_program_parameter(program):
    return [var for var in program.list_vars() if is_parameter(var)]


def get_program_persistable_vars(program):
    return [var for var in program.list_vars() if is_persistable(var)]


def _program(main_program, what):
    from paddle.fluid.compiler import CompiledProgram
    program = framework.default_main_program() if main_program is None else main_program
    if isinstance(program, CompiledProgram):
        program = program._program
    if not isinstance(program, framework.Program):
        raise TypeError("The type of input main_program of %s is invalid, expected type is Program, but received %s." %
                        (what, type(program)))
    return program


def _check_executor(executor):
    if executor is not None and not isinstance(executor, Executor):
        raise TypeError("executor must be a fluid.Executor, but got %s" % type(executor))


def program_of_vars(main_program, vars):
    """The program that save_vars and load_vars mean: without one, that of the variables (None: the default one)."""
    if main_program is None and vars:
        for var in vars:
            if isinstance(var, framework.Variable):
                return var.block.program
    return main_program


def _chosen(program, vars, predicate):
    """Names of the variables that save_vars and load_vars mean."""
    if vars is None:
        vars = [var for var in program.list_vars() if predicate is None or predicate(var)]
    elif not all(isinstance(var, (framework.Variable, str)) for var in vars):
        raise TypeError("vars must be Variables")
    names = [var if isinstance(var, str) else var.name for var in vars
             if isinstance(var, str) or var.kind not in _HOLDERS + ("RAW",)]
    return sorted(set(names))


def _job(program):
    """The distributed job that a program is part of, or None."""
    return program.__dict__.get("_job")


# ---- variables ---------------------------------------------------------------------------------


def save_vars(executor, dirname, main_program=None, vars=None, predicate=None, filename=None):
    """The chosen variables: one file each, or all in one when filename is given."""
    _check_executor(executor)
    program = _program(program_of_vars(main_program, vars), "save_vars")
    _native.save_vars(global_scope(), program, _chosen(program, vars, predicate), _folder(dirname), filename)


def save_params(executor, dirname, main_program=None, filename=None):
    """The parameters."""
    _check_executor(executor)
    program = _program(main_program, "save_params")
    job = _job(program)
    if job is not None and filename is None:
        job.save_persistables(global_scope(), _folder(dirname))
        return
    _native.save_params(global_scope(), program, _folder(dirname), filename)


def save_persistables(executor, dirname, main_program=None, filename=None):
    """Parameters, what optimizers keep, states of metrics. On a trainer of a distributed job the values of the servers."""
    _check_executor(executor)
    program = _program(main_program, "save_persistables")
    job = _job(program)
    if job is not None:
        if filename is not None:
            raise NotImplementedError("save_persistables of a distributed job writes one file per variable: leave filename out")
        job.save_persistables(global_scope(), _folder(dirname))
        return
    _native.save_persistables(global_scope(), program, _folder(dirname), filename)


def load_vars(executor, dirname, main_program=None, vars=None, predicate=None, filename=None):
    """The counterpart of save_vars."""
    _check_executor(executor)
    program = _program(program_of_vars(main_program, vars), "load_vars")
    _native.load_vars(global_scope(), program, _chosen(program, vars, predicate), _folder(dirname), filename)


def load_params(executor, dirname, main_program=None, filename=None):
    """The counterpart of save_params."""
    _check_executor(executor)
    _native.load_params(global_scope(), _program(main_program, "load_params"), _folder(dirname), filename)


def load_persistables(executor, dirname, main_program=None, filename=None):
    """The counterpart of save_persistables."""
    _check_executor(executor)
    _native.load_persistables(global_scope(), _program(main_program, "load_persistables"), _folder(dirname), filename)


def _folder(dirname):
    """Not made here: saving makes it when all files are written, at once."""
    if not isinstance(dirname, (str, os.PathLike)):
        raise TypeError("dirname must be a str, but got %s" % type(dirname))
    return os.fspath(dirname) or "."


# ---- inference models --------------------------------------------------------------------------


def save_inference_model(dirname, feeded_var_names, target_vars, executor, main_program=None, model_filename=None,
                         params_filename=None, export_for_deployment=True, program_only=False):
    """What the targets need of the feeds: __model__ and the parameters. Gives the names of the targets."""
    _check_executor(executor)
    if isinstance(feeded_var_names, str):
        feeded_var_names = [feeded_var_names]
    if export_for_deployment and feeded_var_names and not all(isinstance(name, str) for name in feeded_var_names):
        raise ValueError("'feed_var_names' should be a list of str.")
    if isinstance(target_vars, framework.Variable):
        target_vars = [target_vars]
    if not target_vars or not all(isinstance(var, framework.Variable) for var in target_vars):
        raise ValueError("'target_vars' should be a list of Variable.")
    program = _program(main_program, "save_inference_model")
    feeds, targets = list(feeded_var_names or []), [var.name for var in target_vars]
    dirname = _folder(dirname)
    model_filename = None if model_filename is None else os.path.basename(model_filename)
    params_filename = None if params_filename is None else os.path.basename(params_filename)
    job = _job(program)
    if job is not None:
        job.save_inference_model(global_scope(), feeds, targets, dirname)
        return targets
    if program_only:
        with tempfile.TemporaryDirectory() as work:
            _native.save_inference_model(global_scope(), program, feeds, targets, work, "__model__", "__params__")
            pruned = _native.read_program(os.path.join(work, "__model__"))
            _native.write_program(pruned, os.path.join(dirname, model_filename or "__model__"))
        return targets
    _native.save_inference_model(global_scope(), program, feeds, targets, dirname, model_filename, params_filename)
    if not export_for_deployment:
        _native.write_program(program, os.path.join(dirname, (model_filename or "__model__") + ".main_program"))
    return targets


def load_inference_model(dirname, executor, model_filename=None, params_filename=None, pserver_endpoints=None):
    """[program, names to feed, variables to fetch]; the parameters are in the global scope."""
    _check_executor(executor)
    if pserver_endpoints:
        raise NotImplementedError("load_inference_model: a model of Skiff runs without servers; leave pserver_endpoints out")
    if not isinstance(dirname, (str, os.PathLike)) or not _files.isdir(dirname):
        raise ValueError("There is no directory named '%s'" % (dirname,))
    program, feeds, targets = _native.load_inference_model(global_scope(), os.fspath(dirname), model_filename,
                                                           params_filename)
    block = program.global_block()
    return [program, feeds, [block.var(name) for name in targets]]


# ---- fluid.save, fluid.load --------------------------------------------------------------------


def save(program, model_path):
    """model_path.pdparams, .pdopt and .pdmodel."""
    if not isinstance(program, framework.Program):
        raise TypeError("save: program must be a Program, but got %s" % type(program))
    if os.path.basename(model_path) == "":
        raise AssertionError("The input model_path MUST be format of dirname/filename [dirname\\filename in Windows "
                             "system], but received model_path is empty string.")
    _files.makedirs(os.path.dirname(model_path))
    _native.save(global_scope(), program, model_path)


def load(program, model_path, executor=None, var_list=None):
    """The counterpart of save; also a folder of save_params or save_persistables, or one combined file with var_list."""
    _check_executor(executor)
    parts, prefix = _native.saved_parts(model_path)
    if prefix and "state" in parts:
        _native.load(global_scope(), program, prefix)
        return
    wanted = [var for var in program.list_vars() if is_persistable(var)]
    if var_list is not None:
        wanted = list(var_list)
    if _files.isdir(model_path):
        found = [var for var in wanted if _files.isfile(os.path.join(model_path, var.name))]
        unused = [name for name in _files.listdir(model_path)
                  if name not in {var.name for var in found} and not _native.is_manifest(name)]
        if unused:
            warnings.warn("variable file [ %s ] not used" % " ".join(sorted(unused)))
        load_vars(executor, model_path, program, found)
        return
    if not _files.isfile(model_path):
        raise ValueError("Model path %s does not exist" % model_path)
    if var_list is None:
        raise ValueError("var_list is required when loading model file saved with [ save_params, save_persistables, "
                         "save_vars ]")
    load_vars(executor, os.path.dirname(model_path) or ".", program, wanted, filename=os.path.basename(model_path))


def _saved_names(folder):
    """Variables that have a file of their own in the folder; folders of saves that are being written are left out."""
    for path in _files.walk(folder):
        if os.path.basename(path) != "__model__" and not _native.is_manifest(os.path.basename(path)):
            yield path


def load_program_state(model_path, var_list=None):
    """{name: numpy array} of a saved model: fluid.save's files, or a folder of files."""
    names, (parts, prefix) = None, _native.saved_parts(model_path)
    if var_list is not None:
        names = {var if isinstance(var, str) else var.name for var in var_list}
    if prefix and "state" in parts:
        state = _native.read_saved(prefix)
    elif _files.isdir(model_path):
        state = _native.read_saved(model_path, [name for name in _saved_names(model_path) if names is None or name in names])
    else:
        raise ValueError("model_path %s does not exist: neither %s.pdparams nor a folder" % (model_path, model_path))
    return {name: tensor.numpy() for name, tensor in state.items() if names is None or name in names}


def set_program_state(program, state_dict):
    """Values for the program's variables; their shapes and types must fit."""
    import numpy
    used, scope = set(), global_scope()
    for var in get_program_persistable_vars(program):
        if var.name not in state_dict:
            continue
        holder = scope.find_var(var.name)
        if holder is None:
            raise AssertionError("Variable [ %s ] Not found, Please make sure run startup program" % var.name)
        array = numpy.asarray(state_dict[var.name])
        tensor = holder.get_tensor()
        if tensor._is_initialized():
            if list(array.shape) != tensor.shape():
                raise AssertionError("Parameter's shape does not match, the Program requires a parameter with the shape of "
                                     "(%s), while the loaded parameter (namely [ %s ]) has a shape of (%s)." %
                                     (tensor.shape(), var.name, list(array.shape)))
            if array.dtype.name != framework.dtype_name(tensor._dtype()):
                raise AssertionError("Parameter [ %s ] has the type %s, the program's is %s" %
                                     (var.name, array.dtype, framework.dtype_name(tensor._dtype())))
        tensor.set(array)
        used.add(var.name)
    unused = sorted(set(state_dict) - used)
    if unused:
        warnings.warn("This list is not set, Because of Paramerter not found in program. There are: {}".format(
            " ".join(unused)))


def get_parameter_value(para, executor):
    """The value of a parameter as a numpy array."""
    if not is_parameter(para):
        raise AssertionError("get_parameter_value takes a Parameter, but got %s" % type(para))
    import numpy
    return numpy.array(global_scope().find_var(para.name).get_tensor())


def get_parameter_value_by_name(name, executor, program=None):
    return get_parameter_value(_program(program, "get_parameter_value_by_name").global_block().var(name), executor)


__getattr__ = _names.guard(__name__)
