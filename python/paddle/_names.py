"""Lazy names of modules, and the one line that a name which does not exist is answered with.

A module that uses `lazy` lists its names with the module each comes from; nothing is imported before a name is asked for,
so a data generator process does not pay for the training side.
"""
import sys

# Names that users look for, and why Skiff does not have them.
REASONS = {
    "install_check": "run `skiff doctor` in a shell instead",
    "load_op_library": "operators are written in C under src/ops",
    "cuda_profiler": "there is no CUDA device here; use fluid.profiler.profiler",
}
for _names_of, _reason in (
        ("as_complex as_real conj angle imag polar complex64 complex128", "there are no complex numbers"),
        ("svd qr eig eigh eigvals eigvalsh lu lu_unpack lstsq pinv matrix_rank pca_lowrank householder_product",
         "no decomposition but cholesky; nearest: linalg.cholesky, linalg.solve, linalg.inv, linalg.det"),
        ("ProcessMesh Shard Replicate Partial Placement DistAttr Strategy ReduceType shard_tensor shard_layer shard_optimizer "
         "reshard dtensor_from_fn to_static_model", "models are not split over devices; nearest: paddle.distributed.fleet"),
        ("vision audio fft signal sparse quantization onnx", "not a part of what recommendation needs"),
        ("to_sparse_coo to_sparse_csr to_dense nnz crows cols", "there are no sparse tensors; gradients of tables are SelectedRows"),
        ("BoxPSDataset FileInstantDataset", "tables on GPUs are not there; nearest: InMemoryDataset, QueueDataset")):
    for _word in _names_of.split():
        REASONS[_word] = _reason


class MissingName(AttributeError):
    """A name of Paddle that Skiff does not have."""


def text(module, name, have):
    """One line: what it is, that there is no such thing, the nearest that there is."""
    import difflib
    line = "%s.%s: Skiff has no such name" % (module, name)
    if name in REASONS:
        return line + " (" + REASONS[name] + ")"
    near = difflib.get_close_matches(name, sorted(have), 3, 0.6)
    folded = {word.lower(): word for word in have}
    if not near and name.lower() in folded:
        near = [folded[name.lower()]]
    if near:
        line += "; nearest: " + ", ".join(near)
    return line


def _is_import_from(frame):
    """Whether the frame is at `from module import name`, which drops an AttributeError's text."""
    import opcode
    try:
        return frame.f_code.co_code[frame.f_lasti] == opcode.opmap["IMPORT_FROM"]
    except (IndexError, KeyError):
        return False


def missing(module, name, have, depth=2):
    """Raises for `module.name`: ImportError in a from-import, AttributeError elsewhere."""
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError("module %r has no attribute %r" % (module, name))
    line = text(module, name, have)
    if _is_import_from(sys._getframe(depth)):
        raise ImportError(line, name=name)
    raise MissingName(line)


def member(self, name):
    """__getattr__ of a class: the line for a member that it does not have."""
    if name.startswith("_"):
        raise AttributeError("%r object has no attribute %r" % (type(self).__name__, name))
    kind = type(self)
    raise MissingName(text(kind.__name__, name, {word for word in dir(kind) if not word.startswith("_")}))


def lazy(module, where, submodules=(), depth=3):
    """(__getattr__, __dir__) of a module. where: name -> "module" or "module:attribute"; depth: calls between who asks and
    the answer."""

    def find(name):
        import importlib
        space = sys.modules[module].__dict__
        if name in where:
            path, _, attribute = where[name].partition(":")
            value = getattr(importlib.import_module(path), attribute or name)
        elif name in submodules:
            value = importlib.import_module(module + "." + name)
        else:
            missing(module, name, set(where) | set(submodules) |
                    {word for word in space if not word.startswith("_")}, depth)
        space[name] = value
        return value

    def names():
        return sorted(set(where) | set(submodules) | set(sys.modules[module].__dict__))

    def module_getattr(name):
        return find(name)

    return module_getattr, names


def guard(module):
    """__getattr__ of a module whose names are all defined in it."""

    def module_getattr(name):
        if name == "__path__":  # every from-import inside a function asks for it
            raise AttributeError(name)
        missing(module, name,
                [word for word in sys.modules[module].__dict__ if not word.startswith("_")])

    return module_getattr


class _SameModule(object):
    """Loads a module by a second name: both names are one object, with the __spec__ of the first."""

    def __init__(self, path):
        self._path = path

    def create_module(self, spec):
        import importlib
        self._module = importlib.import_module(self._path)
        self._spec = self._module.__spec__
        return self._module

    def exec_module(self, module):
        module.__spec__ = self._spec


_same = {}  # second names of modules: what they are


def same_modules(package, where):
    """`import package.name` and `from package.name import x` give the module that where[name] names."""
    _same.update({package + "." + name: path for name, path in where.items()})


class _ModuleFinder(object):
    """Last on sys.meta_path: second names of modules, and answers for modules of paddle that do not exist."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith("paddle."):
            return None
        if name in _same:
            from importlib.machinery import ModuleSpec
            return ModuleSpec(name, _SameModule(_same[name]))
        parent, _, last = name.rpartition(".")
        import pkgutil
        have = [info.name for info in pkgutil.iter_modules(path)] if path else []
        raise ModuleNotFoundError(text(parent, last, have), name=name)


def install_finder():
    if not any(isinstance(finder, type) and finder.__name__ == "_ModuleFinder" or
               type(finder).__name__ == "_ModuleFinder" for finder in sys.meta_path):
        sys.meta_path.append(_ModuleFinder)
