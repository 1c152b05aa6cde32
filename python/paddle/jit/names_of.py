"""Names that statements of a function bind: what a branch or a loop body may change."""
import ast

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp,
           ast.GeneratorExp)
#: list methods that make a list longer or shorter
_GROW = ("append", "pop", "extend", "insert")


def own_nodes(nodes):
    """The nodes below these that belong to the same function: not those of functions, classes and comprehensions inside."""
    stack = list(reversed(nodes))
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, _SCOPES):
            continue
        stack.extend(reversed(list(ast.iter_child_nodes(node))))


def dotted(node):
    """The text of self.a.b; None for any other expression."""
    inner = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    return ast.unparse(node) if isinstance(inner, ast.Name) and inner is not node else None


def _add(found, name):
    if name is not None and name not in found:
        found.append(name)


def _of_node(node, found):
    if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
        _add(found, node.id)
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        _add(found, dotted(node))
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        _add(found, node.value.id if isinstance(node.value, ast.Name) else dotted(node.value))
    elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        _add(found, node.name)
    elif isinstance(node, ast.ExceptHandler):
        _add(found, node.name)
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            _add(found, (alias.asname or alias.name).split(".")[0])
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _GROW:
        base = node.func.value
        _add(found, base.id if isinstance(base, ast.Name) else dotted(base))


def changed(nodes):
    """Names and attributes (self.a) that these statements set, in the order in which they come."""
    found = []
    for node in own_nodes(nodes):
        _of_node(node, found)
    return found


def appended(nodes):
    """Names and attributes on which these statements call append."""
    found = []
    for node in own_nodes(nodes):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            _of_node(node, found)
    return tuple(found)


class Scope(object):
    """Which names of a function are its own."""

    def __init__(self, function):
        args = function.args
        self.arguments = {a.arg for a in args.posonlyargs + args.args + args.kwonlyargs + [args.vararg, args.kwarg] if a}
        self.globals, self.nonlocals, bound = set(), set(), set(self.arguments)
        for node in own_nodes(function.body):
            if isinstance(node, ast.Global):
                self.globals.update(node.names)
            elif isinstance(node, ast.Nonlocal):
                self.nonlocals.update(node.names)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
                bound.add(node.id)
            elif not isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
                found = []
                _of_node(node, found)
                bound.update(found)
        self.own = bound - self.globals - self.nonlocals

    def state(self, nodes):
        """Names that these statements change and that the function can write."""
        writable = self.own | self.globals | self.nonlocals
        return [name for name in changed(nodes) if "." in name or name in writable]


def loaded(function, but):
    """Names that the function reads outside of the node `but`."""
    found, skip = set(), {id(node) for node in ast.walk(but)}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in skip:
            found.add(node.id)
    return found
