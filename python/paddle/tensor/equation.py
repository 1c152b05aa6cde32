"""Equations of einsum: what the op does not take is spelled out."""
from paddle import _names


def spelled(equation, operands):
    """The equation with letters in place of "...", which stands for the same leading dimensions in every operand."""
    if "..." not in equation:
        return equation
    left, arrow, right = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(operands):
        raise ValueError("einsum: the equation %r is of %d operands, but there are %d" % (equation, len(parts), len(operands)))
    free = [c for c in "zyxwvutsrqponmlkjihgfedcba" if c not in equation]
    most = max([len(x.shape) - len(part.replace("...", "")) for part, x in zip(parts, operands) if "..." in part] or [0])
    if most < 0 or most > len(free):
        raise ValueError("einsum: the equation %r does not fit the operands" % equation)
    letters = "".join(reversed(free[:most]))
    out = []
    for part, x in zip(parts, operands):
        count = len(x.shape) - len(part.replace("...", ""))
        out.append(part.replace("...", letters[most - count:] if count else ""))
    if not arrow:
        seen = "".join(parts).replace("...", "")
        right = "..." + "".join(sorted(c for c in set(seen) if seen.count(c) == 1))
    return ",".join(out) + "->" + right.replace("...", letters)


def pairs(equation, operands, einsum):
    """More than two operands: two at a time, from the left."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    parts, operands = left.split(","), list(operands)
    if not arrow:
        seen = "".join(parts)
        right = "".join(sorted(c for c in set(seen) if seen.count(c) == 1))
    while len(operands) > 2:
        rest = set("".join(parts[2:]) + right)
        kept = "".join(sorted(c for c in set(parts[0] + parts[1]) if c in rest))
        both = einsum("%s,%s->%s" % (parts[0], parts[1], kept), operands[0], operands[1])
        parts, operands = [kept] + parts[2:], [both] + operands[2:]
    return einsum(",".join(parts) + "->" + right, *operands)


__getattr__ = _names.guard(__name__)
