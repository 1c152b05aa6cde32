"""Arithmetic: element by element, reductions, sums of lists."""
from paddle import _names
from paddle._op import Call, declared, need_all

globals().update(declared(__name__))


def einsum(equation, *operands):
    """Sums of products by Einstein's notation."""
    operands = need_all(list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple))
                        else list(operands), "operands", "einsum")
    if "..." in equation or len(operands) > 2:
        from paddle.tensor import equation as spelling
        equation = spelling.spelled(equation, operands)
        if len(operands) > 2:
            return spelling.pairs(equation, operands, einsum)
    call = Call("einsum")
    out = call.var()
    caches = [call.var() for _ in operands]
    shapes = [call.var() for _ in operands]
    call.op("einsum", {"Operands": operands}, {"Out": out, "InnerCache": caches, "XShape": shapes},
            {"equation": equation})
    return out


__getattr__ = _names.guard(__name__)
