"""Files of 2.x: PREFIX.pdparams, .pdopt, .pdmodel, .pdiparams."""
import os

from skiff import _native

from paddle import _files, _names
from paddle.distributed.fleet import _local
from paddle.fluid import executor as _executor
from paddle.fluid.framework import Program, Variable, default_main_program
from paddle.fluid.io import _saved_names, program_of_vars


def _scope():
    return _executor.global_scope()


def _program(program):
    program = default_main_program() if program is None else getattr(program, "_program", program)
    if not isinstance(program, Program):
        raise TypeError("The type of input program is invalid, expected type is Program, but received %s" % type(program))
    return program


def _folder_of(prefix):
    _files.makedirs(os.path.dirname(prefix))


def _check_prefix(prefix):
    if not isinstance(prefix, str):
        raise TypeError("'path_prefix' should be a string.")
    if prefix.endswith("/") or not os.path.basename(prefix):
        raise ValueError("'path_prefix' should not be a directory")


def _names_of(variables, what):
    variables = variables if isinstance(variables, (list, tuple)) else [variables]
    if not all(isinstance(v, (Variable, str)) for v in variables):
        raise ValueError("'%s' should be a Variable or a list of Variable." % what)
    return [v if isinstance(v, str) else v.name for v in variables]


def is_persistable(var):
    """Whether the variable outlives a run."""
    return var.persistable and var.kind not in ("FEED_MINIBATCH", "FETCH_LIST", "READER")


def get_program_persistable_vars(program):
    """What lives longer than a run."""
    return [var for var in program.list_vars() if is_persistable(var)]


def save(program, model_path, protocol=4, **configs):
    """PREFIX.pdparams (parameters), PREFIX.pdopt (the optimizer's state), PREFIX.pdmodel (the program)."""
    if not os.path.basename(model_path):
        raise AssertionError("The input model_path MUST be format of dirname/filename [dirname\\filename in Windows system], "
                             "but received model_path is empty string.")
    _folder_of(model_path)
    _local.save_own(_program(program), model_path, lambda own: _native.save(_scope(), own, model_path))


def load(program, model_path, executor=None, var_list=None):
    """What save wrote, into the scope."""
    if var_list is not None:
        set_program_state(program, load_program_state(model_path, var_list))
        return
    prefix = _native.saved_parts(model_path)[1] or model_path
    _local.load_own(_program(program), prefix, lambda own: _native.load(_scope(), own, prefix))


def load_program_state(model_path, var_list=None):
    """{name: array} of PREFIX.pdparams and PREFIX.pdopt, or of a folder with one file per variable."""
    parts, prefix = _native.saved_parts(model_path)
    if prefix and "state" in parts:
        state = _native.read_saved(prefix)
    elif _files.isdir(model_path):
        state = _native.read_saved(model_path, sorted(name for name in _saved_names(model_path) if not name.startswith("__")))
    else:
        raise FileNotFoundError("%s.pdparams does not exist, and %s is no folder of parameters" % (prefix or model_path, model_path))
    if var_list is not None:
        wanted = [v.name for v in var_list]
        missing = [name for name in wanted if name not in state]
        if missing:
            raise ValueError("%s: no variable %s in it" % (model_path, ", ".join(missing)))
        state = {name: state[name] for name in wanted}
    return {name: value.numpy() for name, value in state.items()}


def set_program_state(program, state_dict):
    """Values for the program's variables; those that the state does not have stay as they are."""
    program = _program(program)
    scope, unused = _scope(), dict(state_dict)
    for var in program.list_vars():
        if var.persistable and var.name in unused:
            value = unused.pop(var.name)
            found = scope.find_var(var.name)
            if found is None or not found.get_tensor()._is_initialized():
                raise AssertionError("Variable [ %s ] Not found, Please make sure run startup program" % var.name)
            have = tuple(found.get_tensor()._get_dims())
            if have != tuple(value.shape):
                raise AssertionError("Parameter [%s]'s shape does not match: the program has %s, the state %s" %
                                     (var.name, have, tuple(value.shape)))
            scope.set(var.name, value)
    if unused:
        import warnings
        warnings.warn("This list is not set, Because of Paramerter not found in program. There are: %s" %
                      " ".join(sorted(unused)))


def save_inference_model(path_prefix, feed_vars, fetch_vars, executor, **kwargs):
    """PREFIX.pdmodel and PREFIX.pdiparams: what fetch_vars need of feed_vars."""
    _check_prefix(path_prefix)
    _folder_of(path_prefix)
    program = _program(kwargs.get("program"))
    _native.save_inference_prefix(_scope(), program, _names_of(feed_vars, "feed_vars"), _names_of(fetch_vars, "fetch_vars"),
                                  path_prefix)


def load_inference_model(path_prefix, executor, **kwargs):
    """[program, names of the feeds, variables to fetch]; the parameters go into the scope."""
    if path_prefix is None:
        raise NotImplementedError("load_inference_model: a model in memory; give a path")
    program, feeds, targets = _native.load_inference_model(_scope(), path_prefix, kwargs.get("model_filename"),
                                                           kwargs.get("params_filename"))
    return [program, feeds, [program.global_block().var(name) for name in targets]]


def normalize_program(program, feed_vars, fetch_vars, **kwargs):
    """The part of the program that fetch_vars need, for inference."""
    return _program(program).clone(for_test=True).prune(_names_of(feed_vars, "feed_vars"),
                                                       _names_of(fetch_vars, "fetch_vars"))


def serialize_program(feed_vars, fetch_vars, **kwargs):
    """The bytes of normalize_program."""
    return normalize_program(_program(kwargs.get("program")), feed_vars, fetch_vars).to_bytes()


def deserialize_program(data):
    """A program of its bytes."""
    return _native.parse_program(data)


def serialize_persistables(feed_vars, fetch_vars, executor, **kwargs):
    """The bytes of PREFIX.pdiparams."""
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        save_inference_model(os.path.join(folder, "m"), feed_vars, fetch_vars, executor, **kwargs)
        return load_from_file(os.path.join(folder, "m.pdiparams"))


def deserialize_persistables(program, data, executor):
    """The parameters of serialize_persistables, into the scope."""
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        save_to_file(os.path.join(folder, "params"), data)
        _native.load_persistables(_scope(), program, folder, "params")


def save_to_file(path, content):
    if not isinstance(content, bytes):
        raise ValueError("'content' type should be bytes.")
    _files.write(path, content)


def load_from_file(path):
    with _files.open_read(path) as source:
        return source.read()


def _chosen(program, vars, predicate):
    if vars is not None:
        return [v if isinstance(v, str) else v.name for v in vars]
    return [v.name for v in _program(program).list_vars() if predicate is None or predicate(v)]


def save_vars(executor, dirname, main_program=None, vars=None, predicate=None, filename=None):
    """Variables, one file each, or all in one."""
    _files.makedirs(dirname)
    program = _program(program_of_vars(main_program, vars))
    _native.save_vars(_scope(), program, _chosen(program, vars, predicate), dirname, filename)


def load_vars(executor, dirname, main_program=None, vars=None, predicate=None, filename=None):
    """What save_vars wrote."""
    program = _program(program_of_vars(main_program, vars))
    _native.load_vars(_scope(), program, _chosen(program, vars, predicate), dirname, filename)


__getattr__ = _names.guard(__name__)
