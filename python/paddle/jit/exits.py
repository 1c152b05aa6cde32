"""return, break and continue in the middle of branches and loops, rewritten as values: a branch that ends the function or a
loop step takes the statements after it into its other branch; where that is not enough, a flag skips them."""
import ast

#: the value that the function returns, and whether it has been set
VALUE, RETURNED = "_skiff_value", "_skiff_returned"
_LOOPS = (ast.For, ast.While)


def _exits(nodes):
    """Which of Return, Break, Continue these statements hold; those of loops inside are the loops' own."""
    found = set()
    for node in nodes:
        if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
            found.add(type(node))
        elif isinstance(node, _LOOPS):
            found |= _exits(node.body) & {ast.Return}
            found |= _exits(node.orelse)
        elif not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            for field in ("body", "orelse", "finalbody", "handlers"):
                found |= _exits(getattr(node, field, None) or [])
    return found


def _always(nodes):
    """Whether nothing behind these statements is reached."""
    last = nodes[-1] if nodes else None
    if isinstance(last, ast.If):
        return _always(last.body) and _always(last.orelse)
    return isinstance(last, (ast.Return, ast.Break, ast.Continue, ast.Raise))


class _Loop(object):
    """The flags of a loop, and whether they are needed."""

    def __init__(self, number):
        self.broken, self.skipped = "_skiff_break_%d" % number, "_skiff_continue_%d" % number
        self.uses = set()


class Exits(object):
    """Rewrites one function."""

    def __init__(self):
        self._count, self._flags = 0, False

    def function(self, node):
        """The function with one return, its last statement."""
        body = node.body
        last = body[-1:] if isinstance(body[-1], ast.Return) else []
        before = body[:-1] if last else body
        if ast.Return not in _exits(before):
            node.body = self._sequence(before, True, None) + last
            return
        if not _always(body):
            body = body + [_at(ast.Return(value=ast.Constant(value=None)), body[-1])]
        new = self._sequence(body, True, None)
        head = [_set(RETURNED, False, body[0])] if self._flags else []
        node.body = head + new + [_at(ast.Return(value=ast.Name(id=VALUE, ctx=ast.Load())), body[-1])]

    def _sequence(self, nodes, tail, loop):
        """tail: no statement follows these, in the loop's body or in the function."""
        out = []
        for at, node in enumerate(nodes):
            rest = nodes[at + 1:]
            if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
                return out + self._exit(node, tail, loop)
            inside = _exits([node])
            if isinstance(node, _LOOPS):
                out += self._loop(node, loop)
            elif isinstance(node, ast.If) and inside:
                if _always(node.body):
                    node.orelse, rest = node.orelse + rest, []
                elif _always(node.orelse):
                    node.body, rest = node.body + rest, []
                node.body = self._sequence(node.body, tail and not rest, loop) or [_at(ast.Pass(), node)]
                node.orelse = self._sequence(node.orelse, tail and not rest, loop)
                out.append(node)
                if not rest:
                    return out
            else:
                if inside:
                    self._inside(node, loop)
                out.append(node)
            if inside and rest:
                return out + [self._guard(inside, loop, self._sequence(rest, tail, loop), node)]
        return out

    def _inside(self, node, loop):
        """with, try: their parts."""
        for part in [node] + list(getattr(node, "handlers", [])):
            for field in ("body", "orelse", "finalbody"):
                if getattr(part, field, None):
                    setattr(part, field, self._sequence(getattr(part, field), False, loop) or [_at(ast.Pass(), node)])

    def _exit(self, node, tail, loop):
        if isinstance(node, ast.Return):
            out = [_at(ast.Assign(targets=[ast.Name(id=VALUE, ctx=ast.Store())],
                                  value=node.value or ast.Constant(value=None)), node)]
            if tail and loop is None:
                return out
            self._flags = True
            return out + [_set(RETURNED, True, node)]
        if isinstance(node, ast.Break):
            loop.uses.add(loop.broken)
            return [_set(loop.broken, True, node)]
        if tail:
            return []
        loop.uses.add(loop.skipped)
        return [_set(loop.skipped, True, node)]

    def _guard(self, inside, loop, rest, where):
        """if not (a flag that the statements before may have set): rest"""
        flags = [name for kind, name in ((ast.Return, RETURNED), (ast.Break, loop and loop.broken),
                                         (ast.Continue, loop and loop.skipped)) if kind in inside]
        return _at(ast.If(test=_none_of(flags), body=rest or [ast.Pass()], orelse=[]), where)

    def _loop(self, node, outer):
        """The loop without break and continue: `stops` are the flags that end it."""
        self._count += 1
        loop = _Loop(self._count)
        inside = _exits(node.body)
        if not inside and not node.orelse:
            node.body = self._sequence(node.body, True, loop)
            return [node]
        node.body = self._sequence(node.body, True, loop) or [_at(ast.Pass(), node)]
        if loop.skipped in loop.uses:
            node.body.insert(0, _set(loop.skipped, False, node))
        stops = [loop.broken] if loop.broken in loop.uses else []
        stops += [RETURNED] if ast.Return in inside else []
        orelse, node.orelse = node.orelse, []
        if isinstance(node, ast.While) and stops:
            node.test = _at(ast.BoolOp(op=ast.And(), values=[_none_of(stops), node.test]), node)
        node.stops = stops
        out = [_set(name, False, node) for name in sorted(loop.uses)] + [node]
        if orelse:
            rest = self._sequence(orelse, False, outer) or [_at(ast.Pass(), node)]
            out += [_at(ast.If(test=_none_of(stops), body=rest, orelse=[]), node)] if stops else rest
        return out


def _none_of(flags):
    names = [ast.Name(id=name, ctx=ast.Load()) for name in flags]
    value = names[0] if len(names) == 1 else ast.BoolOp(op=ast.Or(), values=names)
    return ast.UnaryOp(op=ast.Not(), operand=value)


def _set(name, value, where):
    return _at(ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=ast.Constant(value=value)), where)


def _at(node, where):
    """The node, at the line of another; nodes inside that have a line keep it."""
    for each in ast.walk(node):
        if "lineno" in each._attributes and not hasattr(each, "lineno"):
            ast.copy_location(each, where)
    return node


def rewrite_exits(function):
    """return, break and continue of a FunctionDef as values."""
    Exits().function(function)
