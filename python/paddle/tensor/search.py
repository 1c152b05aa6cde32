"""Finding and choosing."""
from paddle import _names
from paddle._op import Value, declared, fill, need, one

globals().update(declared(__name__))


def where(condition, x=None, y=None, name=None):
    """x where the condition holds, y elsewhere; without x and y: where it holds."""
    need(condition, "condition", "where")
    if x is None and y is None:
        return nonzero(condition, as_tuple=True)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    kind = x.dtype if isinstance(x, Value) else y.dtype if isinstance(y, Value) else "float32"
    x = x if isinstance(x, Value) else fill([1], x, kind)
    y = y if isinstance(y, Value) else fill([1], y, kind)
    if not tuple(condition.shape) == tuple(x.shape) == tuple(y.shape):
        from paddle.tensor.creation import zeros_like
        from paddle.tensor.math import add
        from paddle.tensor.manipulation import cast
        zeros = [zeros_like(x), zeros_like(y), zeros_like(condition)]
        zero, held = cast(zeros[2], kind), cast(condition, kind)
        shape = add(add(zeros[0], zeros[1]), zero)
        x, y = add(x, shape), add(y, shape)
        condition = cast(add(held, shape), "bool")
    return one("where", "where", {"Condition": condition, "X": x, "Y": y}, name=name)


def nonzero(x, as_tuple=False):
    """The places where x is not zero, one row each (as_tuple: one column per dimension)."""
    need(x, "x", "nonzero")
    out = one("where_index", "where_index", {"Condition": x}, stop_gradient=True)
    if not as_tuple:
        return out
    from paddle.tensor.manipulation import slice
    rank = len(x.shape)
    if rank == 1:
        return (out,)
    return tuple(slice(out, axes=[1], starts=[i], ends=[i + 1]) for i in range(rank))


__getattr__ = _names.guard(__name__)
