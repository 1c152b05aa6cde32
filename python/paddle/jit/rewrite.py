"""Functions rewritten so that `if`, `while`, `for`, `and`, `or`, `not`, `x if c else y` and calls ask paddle.jit.flow what to do:
Python's own for Python's values, control flow of the program for its tensors.

    if c:                     def true(): nonlocal y; y = f(x)
        y = f(x)       ->     def false(): nonlocal y; y = x
    else:                     def get(): return (read(lambda: y),)
        y = x                 def set(v): nonlocal y; y = v[0] ...
                              flow.branch(c, true, false, get, set, ("y",), line)
"""
import ast

from paddle.jit.exits import rewrite_exits
from paddle.jit.names_of import Scope, appended, loaded, own_nodes

#: the name of paddle.jit.flow in rewritten functions
FLOW = "_skiff_flow"
_ALONE = ("super", "locals", "globals", "vars", "dir", "isinstance", "issubclass", "hasattr", "getattr", "setattr", "type", "id")


def _flow(name, *args):
    return ast.Call(func=ast.Attribute(value=ast.Name(id=FLOW, ctx=ast.Load()), attr=name, ctx=ast.Load()), args=list(args),
                    keywords=[])


def _later(expression):
    """lambda: expression"""
    none = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(args=none, body=expression)


def _has(node, *kinds):
    return any(isinstance(each, kinds) for each in ast.walk(node))


def _place(nodes, where):
    """Nodes without a line get that of the statement they stand for."""
    for node in nodes:
        for each in ast.walk(node):
            if "lineno" in each._attributes and not hasattr(each, "lineno"):
                ast.copy_location(each, where)
    return nodes


def _bare(text):
    """Statements of a text, without lines."""
    nodes = ast.parse(text).body
    for node in nodes:
        for each in ast.walk(node):
            for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
                if hasattr(each, name):
                    delattr(each, name)
    return nodes


class _Names(ast.NodeTransformer):
    """__x inside of a class is _Class__x; super() names its class and object, as it is called from functions inside."""

    def __init__(self, owner, first):
        self._owner, self._first = owner.lstrip("_") if owner else None, first

    def _mangled(self, name):
        if self._owner and name.startswith("__") and not name.endswith("__"):
            return "_%s%s" % (self._owner, name)
        return name

    def visit_Name(self, node):
        node.id = self._mangled(node.id)
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        node.attr = self._mangled(node.attr)
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and self._first:
            node.args = _place([ast.Name(id="__class__", ctx=ast.Load()), ast.Name(id=self._first, ctx=ast.Load())], node)
        return node


class _Rewriter(ast.NodeTransformer):
    """One function; functions inside are rewritten by Rewriters of their own."""

    def __init__(self, function, counter):
        self._function, self._counter = function, counter
        self._scope = Scope(function)
        self._bound = set()  # names that only functions made here write: they need a binding in the function

    def run(self):
        self._reads = {}
        for node in own_nodes(self._function.body):
            if isinstance(node, (ast.For, ast.While)):
                self._reads[id(node)] = loaded(self._function, node)
        body = []
        for node in self._function.body:
            new = self.visit(node)
            body.extend(new if isinstance(new, list) else [new])
        names = sorted(self._bound - self._scope.arguments)
        if names:
            head = _bare("if 0:\n    %s = None" % " = ".join(names))
            body = _place(head, self._function.body[0]) + body
        self._function.body = body

    # ---- statements ----

    def _state(self, nodes):
        """(names, text of get and set) of what the statements change."""
        names = self._scope.state(nodes)
        plain = [name for name in names if "." not in name]
        self._bound.update(name for name in plain if name in self._scope.own)
        return names, self._declare(plain)

    def _declare(self, plain):
        """nonlocal and global statements for the names, as text."""
        outer = [name for name in plain if name not in self._scope.globals]
        lines = ["nonlocal " + ", ".join(outer)] if outer else []
        lines += ["global " + ", ".join(n for n in plain if n in self._scope.globals)] if len(outer) < len(plain) else []
        return lines

    def _access(self, names, declared, tag):
        """Texts of the functions that read and write the state."""
        reads = "".join("%s.read(lambda: %s), " % (FLOW, name) for name in names)
        lines = ["def _skiff_get_%s():" % tag, "    return (%s)" % reads, "def _skiff_set_%s(_skiff_values):" % tag]
        lines += ["    " + line for line in declared] + ["    pass"]
        for at, name in enumerate(names):
            if "." in name:
                owner, attr = name.rsplit(".", 1)
                lines.append("    %s.set_attribute(%s, %r, _skiff_values[%d])" % (FLOW, owner, attr, at))
            else:
                lines += ["    %s = _skiff_values[%d]" % (name, at), "    if %s.undefined(%s): del %s" % (FLOW, name, name)]
        return lines

    def _function_text(self, name, declared, argument=""):
        return ["def %s(%s):" % (name, argument)] + ["    " + line for line in declared] + ["    pass"]

    def _next(self):
        self._counter[0] += 1
        return self._counter[0]

    def _where(self, node):
        return node.lineno

    def visit_If(self, node):
        names, declared = self._state(node.body + node.orelse)
        grown = appended(node.body + node.orelse)
        self.generic_visit(node)
        tag, where = self._next(), self._where(node)
        text = self._access(names, declared, tag)
        text += self._function_text("_skiff_true_%d" % tag, declared) + self._function_text("_skiff_false_%d" % tag, declared)
        text += ["%s.branch(0, _skiff_true_%d, _skiff_false_%d, _skiff_get_%d, _skiff_set_%d, %r, %d, %r)" %
                 (FLOW, tag, tag, tag, tag, tuple(names), where, grown)]
        made = _bare("\n".join(text))
        made[2].body[-1:] = node.body
        made[3].body[-1:] = node.orelse or [ast.Pass()]
        made[4].value.args[0] = node.test
        return _place(made, node)

    def visit_While(self, node):
        if node.orelse:
            raise AssertionError("a loop's else is rewritten before")
        names, declared = self._state([node.test] + node.body)
        kept = tuple(n for n in names if "." in n or n in self._reads.get(id(node), ()))
        grown = appended(node.body)
        self.generic_visit(node)
        tag = self._next()
        text = self._access(names, declared, tag)
        text += self._function_text("_skiff_test_%d" % tag, declared) + self._function_text("_skiff_body_%d" % tag, declared)
        text += ["%s.loop(_skiff_test_%d, _skiff_body_%d, _skiff_get_%d, _skiff_set_%d, %r, %r, %d, %r)" %
                 (FLOW, tag, tag, tag, tag, tuple(names), kept, self._where(node), grown)]
        made = _bare("\n".join(text))
        made[2].body[-1:] = [ast.Return(value=node.test)]
        made[3].body[-1:] = node.body
        return _place(made, node)

    def visit_For(self, node):
        names, declared = self._state([node.target] + node.body)
        kept = tuple(n for n in names if "." in n or n in self._reads.get(id(node), ()))
        grown = appended(node.body)
        stops = getattr(node, "stops", [])
        self.generic_visit(node)
        tag = self._next()
        text = self._access(names, declared, tag)
        text += self._function_text("_skiff_body_%d" % tag, declared, "_skiff_item")
        text += ["%s.each(0, _skiff_body_%d, %s, _skiff_get_%d, _skiff_set_%d, %r, %r, %d, %r)" %
                 (FLOW, tag, "lambda: 0" if stops else "None", tag, tag, tuple(names), kept, self._where(node), grown)]
        made = _bare("\n".join(text))
        made[2].body[-1:] = [ast.Assign(targets=[node.target], value=ast.Name(id="_skiff_item", ctx=ast.Load()))] + node.body
        made[3].value.args[0] = node.iter
        if stops:
            made[3].value.args[2] = _later(self.visit(ast.UnaryOp(op=ast.Not(), operand=ast.BoolOp(
                op=ast.Or(), values=[ast.Name(id=s, ctx=ast.Load()) for s in stops]) if len(stops) > 1 else
                ast.Name(id=stops[0], ctx=ast.Load()))))
        return _place(made, node)

    def visit_Assign(self, node):
        """x[i] = v of one variable: a variable of a program is not changed, the name gets another one."""
        self.generic_visit(node)
        if len(node.targets) != 1 or not self._is_item(node.targets[0]):
            return node
        return self._set_item(node, node.targets[0], node.value)

    def visit_AugAssign(self, node):
        """x[i] += v likewise."""
        self.generic_visit(node)
        if not self._is_item(node.target):
            return node
        now = ast.Subscript(value=ast.Name(id=node.target.value.id, ctx=ast.Load()), slice=node.target.slice, ctx=ast.Load())
        return self._set_item(node, node.target, ast.BinOp(left=now, op=node.op, right=node.value))

    def _is_item(self, target):
        return isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id in self._scope.own

    def _set_item(self, node, target, value):
        name = target.value.id
        index = ast.Subscript(value=_attribute("slices"), slice=target.slice, ctx=ast.Load())
        call = _flow("set_item", ast.Name(id=name, ctx=ast.Load()), index, value)
        return _place([ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=call)], node)[0]

    def visit_Assert(self, node):
        self.generic_visit(node)
        call = _flow("check", node.test, _later(node.msg or ast.Constant(value=None)), ast.Constant(value=self._where(node)))
        return _place([ast.Expr(value=call)], node)[0]

    def visit_Raise(self, node):
        self.generic_visit(node)
        return _place([ast.Expr(value=_flow("raising", ast.Constant(value=self._where(node)))), node], node)

    def visit_FunctionDef(self, node):
        if not any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await)) for n in own_nodes(node.body)):
            rewrite_function(node, self._counter)
        return node

    def visit_AsyncFunctionDef(self, node):
        return node

    def visit_ClassDef(self, node):
        return node

    # ---- expressions ----

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        if _has(node, ast.NamedExpr):
            return node
        name = "both" if isinstance(node.op, ast.And) else "either"
        value = node.values[-1]
        for left in reversed(node.values[:-1]):
            value = _place([_flow(name, _later(left), _later(value))], node)[0]
        return value

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return _place([_flow("negated", node.operand)], node)[0] if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node):
        self.generic_visit(node)
        if _has(node, ast.NamedExpr):
            return node
        call = _flow("choice", node.test, _later(node.body), _later(node.orelse), ast.Constant(value=self._where(node)))
        return _place([call], node)[0]

    def visit_Compare(self, node):
        """a < b < c is a < b and b < c, with b computed once."""
        self.generic_visit(node)
        if len(node.ops) < 2 or _has(node, ast.NamedExpr):
            return node
        pairs = [ast.Tuple(elts=[ast.Constant(value=type(op).__name__), _later(right)], ctx=ast.Load())
                 for op, right in zip(node.ops, node.comparators)]
        return _place([_flow("chain", node.left, *pairs)], node)[0]

    def visit_Call(self, node):
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name in _ALONE or name == FLOW or isinstance(node.func, ast.Lambda) or _is_flow(node.func):
            return node
        node.func = _place([_flow("called", node.func)], node)[0]
        return node


def _attribute(name):
    return ast.Attribute(value=ast.Name(id=FLOW, ctx=ast.Load()), attr=name, ctx=ast.Load())


def _is_flow(node):
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == FLOW


def rewrite_function(function, counter=None):
    """A FunctionDef, in place."""
    rewrite_exits(function)
    _Rewriter(function, counter or [0]).run()


def rewrite(function, owner):
    """A FunctionDef of a module, or of the class `owner`, in place."""
    first = function.args.posonlyargs + function.args.args
    _Names(owner, first[0].arg if first else None).visit(function)
    function.decorator_list = []
    rewrite_function(function)
