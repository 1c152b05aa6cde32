"""Lazy names of modules, and the one line that a name which does not exist is answered with.

A module that uses `lazy` lists its names with the module each comes from; nothing is imported before a name is asked for,
so a data generator process does not pay for the training side.
"""
import sys

# What people look for, and why Skiff has no such thing.
REASONS = {
    "install_check": "run `skiff doctor` in a shell instead",
    "load_op_library": "operators are written in C under src/ops",
    "cuda_profiler": "there is no CUDA device here; use fluid.profiler.profiler",
}


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


class _ModuleFinder(object):
    """Last on sys.meta_path: answers for modules of paddle that do not exist."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith("paddle."):
            return None
        parent, _, last = name.rpartition(".")
        import pkgutil
        have = [info.name for info in pkgutil.iter_modules(path)] if path else []
        raise ModuleNotFoundError(text(parent, last, have), name=name)


def install_finder():
    if not any(isinstance(finder, type) and finder.__name__ == "_ModuleFinder" or
               type(finder).__name__ == "_ModuleFinder" for finder in sys.meta_path):
        sys.meta_path.append(_ModuleFinder)
