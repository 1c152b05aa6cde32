"""Which functions are rewritten (paddle.jit.rewrite), and the rewritten function with its closure, globals and lines."""
import __future__
import ast
import functools
import inspect
import os
import sys
import sysconfig
import types

from paddle.jit import rewrite as _rewrite

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LIBRARY = os.path.dirname(os.path.abspath(os.__file__))
_PACKAGES = tuple({os.path.abspath(p) for p in (sysconfig.get_paths().get("purelib"), sysconfig.get_paths().get("platlib")) if p})
_FUTURES = functools.reduce(lambda a, b: a | b, [getattr(__future__, n).compiler_flag for n in __future__.all_feature_names])
#: packages that have nothing to do with tensors of programs
_others = {"numpy", "scipy", "pandas", "skiff"}
_codes = {}  # code of a function: its rewritten code, or None
_made = set()  # codes that rewriting has made


def ignore(modules):
    """Functions of these modules are left as they are."""
    for module in modules:
        _others.add(module if isinstance(module, str) else module.__name__)


def _is_library(function):
    file = os.path.abspath(function.__code__.co_filename)
    if file.startswith(_HERE + os.sep):
        return True
    if file.startswith(_LIBRARY + os.sep) and not any(os.sep + part + os.sep in file for part in ("site-packages", "dist-packages")):
        return True
    module = getattr(function, "__module__", None) or ""
    return any(module == name or module.startswith(name + ".") for name in _others)


def _parse(code):
    """The FunctionDef of a function's code, at its own lines; None when there is no source."""
    try:
        lines, start = inspect.getsourcelines(code)
    except (OSError, TypeError):
        return None
    text, shift = "".join(lines), start - 1
    if text[:1] in " \t":
        text, shift = "if 1:\n" + text, shift - 1
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    ast.increment_lineno(tree, shift)
    body = tree.body[0].body if shift < start - 1 else tree.body
    return body[0] if isinstance(body[0], ast.FunctionDef) and body[0].name == code.co_name else None


def _owner(function):
    """The name of the class whose method it is."""
    parts = function.__qualname__.split(".")
    return parts[-2] if len(parts) > 1 and parts[-2] != "<locals>" else None


def _remember(code):
    _made.add(code)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            _remember(const)


def _compile(function):
    code = function.__code__
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return None
    node = _parse(code)
    if node is None:
        return None
    _rewrite.rewrite(node, _owner(function))
    arguments = ", ".join(dict.fromkeys(list(code.co_freevars) + [_rewrite.FLOW]))
    module = ast.parse("def _skiff_outer(%s):\n    pass" % arguments)
    module.body[0].body = [node]
    ast.fix_missing_locations(module)
    outer = compile(module, code.co_filename, "exec", flags=code.co_flags & _FUTURES, dont_inherit=True)
    made = _inner(_inner(outer, "_skiff_outer"), code.co_name)
    _remember(made)
    return made


def _inner(code, name):
    return next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)


def source(function):
    """The rewritten function as text; as it is written when it is not rewritten."""
    function = getattr(function, "__func__", function)
    node = _parse(function.__code__)
    if node is None:
        return inspect.getsource(function)
    _rewrite.rewrite(node, _owner(function))
    return ast.unparse(ast.fix_missing_locations(node)) + "\n"


def translated(function):
    """The function or method, rewritten; itself where it is not Python's, a library's, or has no source."""
    if isinstance(function, types.MethodType):
        inner = translated(function.__func__)
        return function if inner is function.__func__ else types.MethodType(inner, function.__self__)
    if not isinstance(function, types.FunctionType) or function.__code__ in _made or \
            getattr(function, "_skiff_not_to_static", False):
        return function
    code = function.__code__
    if code not in _codes:
        _codes[code] = None if _is_library(function) else _compile(function)
    made = _codes[code]
    if made is None:
        return function
    from paddle.jit import flow
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    cells[_rewrite.FLOW] = types.CellType(flow)
    new = types.FunctionType(made, function.__globals__, function.__name__, function.__defaults__,
                             tuple(cells[name] for name in made.co_freevars))
    new.__kwdefaults__, new.__qualname__, new.__module__ = function.__kwdefaults__, function.__qualname__, function.__module__
    new.__dict__.update(function.__dict__)
    return new


assert sys.version_info >= (3, 9)
