"""Finding and choosing."""
from paddle import _names
from paddle._op import Value, Call, fill, need, one, type_number


def _arg(kind, call, x, axis, keepdim, dtype, name):
    need(x, "x", call)
    return one(call, kind, {"X": x}, {"axis": 0 if axis is None else axis, "flatten": axis is None,
                                      "keepdims": keepdim, "dtype": type_number(dtype)}, name, stop_gradient=True)


def argmax(x, axis=None, keepdim=False, dtype="int64", name=None):
    """Where the largest value is."""
    return _arg("arg_max", "argmax", x, axis, keepdim, dtype, name)


def argmin(x, axis=None, keepdim=False, dtype="int64", name=None):
    """Where the smallest value is."""
    return _arg("arg_min", "argmin", x, axis, keepdim, dtype, name)


def _sorted(call, x, axis, descending, name):
    call = Call(call, name)
    out, ids = call.var(), call.var("int64", stop_gradient=True)
    call.op("argsort", {"X": x}, {"Out": out, "Indices": ids}, {"axis": axis, "descending": descending})
    return out, ids


def argsort(x, axis=-1, descending=False, name=None):
    """The order that sorts x."""
    return _sorted("argsort", need(x, "x", "argsort"), axis, descending, name)[1]


def sort(x, axis=-1, descending=False, name=None):
    """x sorted along the axis."""
    return _sorted("sort", need(x, "x", "sort"), axis, descending, name)[0]


def topk(x, k, axis=None, largest=True, sorted=True, name=None):
    """The k largest (smallest) values along the axis and where they are."""
    need(x, "x", "topk")
    call = Call("top_k_v2", name)
    out, ids = call.var(), call.var("int64", stop_gradient=True)
    inputs, attrs = {"X": x}, {"largest": largest, "sorted": sorted, "axis": -1 if axis is None else axis}
    if isinstance(k, Value):
        inputs["K"] = k
    else:
        attrs["k"] = k
    call.op("top_k_v2", inputs, {"Out": out, "Indices": ids}, attrs)
    return out, ids


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


def masked_select(x, mask, name=None):
    """The elements where the mask holds."""
    return one("masked_select", "masked_select", {"X": need(x, "x", "masked_select"),
                                                  "Mask": need(mask, "mask", "masked_select")}, name=name, slot="Y")


def index_select(x, index, axis=0, name=None):
    """Slices by number along the axis."""
    return one("index_select", "index_select", {"X": need(x, "x", "index_select"),
                                                "Index": need(index, "index", "index_select")}, {"dim": axis}, name)


__getattr__ = _names.guard(__name__)
