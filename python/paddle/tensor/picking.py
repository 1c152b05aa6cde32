"""Diagonals, parts, places: tensors made of chosen elements of others."""
from paddle import _mode, _names
from paddle._op import Value, Call, declared, dims, fill, int_tensor, need, need_all, one, type_number
from paddle.fluid.framework import dtype_name

globals().update(declared(__name__))


def linspace(start, stop, num, dtype=None, name=None):
    """num numbers from start to stop."""
    dtype = dtype_name("float32" if dtype is None else dtype)
    ends = [v if isinstance(v, Value) else fill([1], v, dtype, on_cpu=True) for v in (start, stop)]
    count = num if isinstance(num, Value) else fill([1], num, "int32", on_cpu=True)
    out = one("linspace", "linspace", {"Start": ends[0], "Stop": ends[1], "Num": count}, {"dtype": type_number(dtype)}, name,
              dtype=dtype, stop_gradient=True)
    if not isinstance(num, Value) and not _mode.mode.eager:
        out.shape = [num]
    return out


def meshgrid(*args, **kwargs):
    """Vectors repeated to a common grid."""
    vectors = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
    call = Call("meshgrid", kwargs.get("name"))
    outs = [call.var() for _ in need_all(vectors, "input", "meshgrid")]
    call.op("meshgrid", {"X": vectors}, {"Out": outs})
    return outs


# ---- parts, orders -------------------------------------------------------------------------------


def _numbers(values, where, tensor, tensors, attr):
    """({slot: variables}, {attr: numbers}) of a Variable, or of a list that may hold some."""
    values = dims(values, attr, where)
    if isinstance(values, Value):
        values.stop_gradient = True
        return {tensor: values}, {}
    if any(isinstance(v, Value) for v in values):
        given = [v if isinstance(v, Value) else int_tensor(v) for v in values]
        return {tensors: given}, {attr: [-1 if isinstance(v, Value) else v for v in values]}
    return {}, {attr: values}


def crop(x, shape=None, offsets=None, name=None):
    """The part of `shape` that begins at `offsets`."""
    need(x, "x", "crop_tensor")
    inputs, attrs = {"X": x}, {}
    for values, names in ((list(x.shape) if shape is None else shape, ("Shape", "ShapeTensor", "shape")),
                          ([0] * len(x.shape) if offsets is None else offsets, ("Offsets", "OffsetsTensor", "offsets"))):
        more, numbers = _numbers(values, "crop_tensor", *names)
        inputs.update(more)
        attrs.update(numbers)
    return one("crop_tensor", "crop_tensor", inputs, attrs, name)


def rot90(x, k=1, axes=(0, 1), name=None):
    """Turned by k quarters, from the first of the axes to the second."""
    from paddle.tensor.manipulation import flip, transpose
    need(x, "x", "rot90")
    rank = len(x.shape)
    a, b = [axis + rank if axis < 0 else axis for axis in axes]
    if rank < 2 or a == b or not (0 <= a < rank and 0 <= b < rank):
        raise ValueError("Rotation axes must be two different ones of the %d dimensions, but received axes = %s" % (rank, axes))
    order = list(range(rank))
    order[a], order[b] = b, a
    if k % 4 == 0:
        return x
    if k % 4 == 2:
        return flip(flip(x, a), b)
    return transpose(flip(x, b), order) if k % 4 == 1 else flip(transpose(x, order), b)


def moveaxis(x, source, destination, name=None):
    """x with some axes at other places."""
    from paddle.tensor.manipulation import transpose
    rank = len(need(x, "x", "moveaxis").shape)
    source, destination = [[axis + rank if axis < 0 else axis for axis in dims(axes, "axis", "moveaxis")]
                           for axes in (source, destination)]
    if len(source) != len(destination) or len(set(source)) != len(source) or len(set(destination)) != len(source):
        raise AssertionError("'source' must have the same number with 'destination', each axis once")
    order = [axis for axis in range(rank) if axis not in source]
    for to, axis in sorted(zip(destination, source)):
        order.insert(to, axis)
    return transpose(x, order, name)


def unique(x, return_index=False, return_inverse=False, return_counts=False, axis=None, dtype="int64", name=None):
    """The different elements (or slices along the axis) in order; where each is first, which each element is, how many."""
    call = Call("unique", name)
    attrs = {"dtype": type_number(dtype), "return_index": return_index, "return_inverse": return_inverse,
             "return_counts": return_counts, "axis": [] if axis is None else [axis], "is_sorted": True}
    out = call.var(stop_gradient=True)
    first, which, counts = [call.var(dtype_name(dtype), stop_gradient=True) for _ in range(3)]
    call.op("unique", {"X": need(x, "x", "unique")}, {"Out": out, "Indices": first, "Index": which, "Counts": counts}, attrs)
    outs = [out] + [v for v, wanted in ((first, return_index), (which, return_inverse), (counts, return_counts)) if wanted]
    return outs[0] if len(outs) == 1 else tuple(outs)


def unique_consecutive(x, return_inverse=False, return_counts=False, axis=None, dtype="int64", name=None):
    """Without repeated neighbours; which each element is, how many."""
    call = Call("unique_consecutive", name)
    out = call.var(stop_gradient=True)
    which, counts = [call.var(dtype_name(dtype), stop_gradient=True) for _ in range(2)]
    outputs = {"Out": out, "Index": which, "Counts": counts}
    call.op("unique_consecutive", {"X": need(x, "x", "unique_consecutive")}, outputs,
            {"dtype": type_number(dtype), "return_inverse": return_inverse, "return_counts": return_counts,
             "axis": [] if axis is None else [axis]})
    outs = [out] + [v for v, wanted in ((which, return_inverse), (counts, return_counts)) if wanted]
    return outs[0] if len(outs) == 1 else tuple(outs)


# ---- places --------------------------------------------------------------------------------------


def scatter_nd(index, updates, shape, name=None):
    """Zeros of a shape with updates added at coordinates."""
    return scatter_nd_add(fill(shape, 0, need(updates, "updates", "scatter_nd").dtype), index, updates, name)


def _common(first, second, axis):
    """The shape of both but for the axis, where it is the second's; unit dimensions are repeated."""
    if len(first) != len(second):
        raise ValueError("`indices` and `arr` must have the same number of dimensions!")
    shape = [max(a, b) for a, b in zip(first, second)]
    shape[axis] = second[axis]
    return shape


def take_along_axis(arr, indices, axis, broadcast=True):
    """Elements along the axis by number; unit dimensions are repeated."""
    from paddle.tensor.manipulation import expand, unsqueeze
    need(arr, "x", "take_along_axis")
    rank = len(arr.shape)
    axis = axis + rank if axis < 0 else axis
    if broadcast:
        while len(indices.shape) < rank:
            indices = unsqueeze(indices, 0)
        shape = _common(list(arr.shape), list(indices.shape), axis)
        indices = expand(indices, shape)
        shape[axis] = arr.shape[axis]
        arr = expand(arr, shape)
    return one("take_along_axis", "take_along_axis", {"Input": arr, "Index": indices}, {"Axis": axis}, slot="Result")


def put_along_axis(arr, indices, values, axis, reduce="assign", include_self=True, broadcast=True):
    """arr with elements along the axis replaced, added to, multiplied, or the mean, least or largest."""
    from paddle.tensor.manipulation import expand
    need(arr, "x", "put_along_axis")
    axis = axis + len(arr.shape) if axis < 0 else axis
    shape = list(indices.shape)
    if broadcast:
        shape = _common(list(arr.shape), shape, axis)
        indices = expand(indices, shape)
    values = expand(values, shape) if isinstance(values, Value) else fill(shape, values, arr.dtype)
    if reduce != "assign" and (not include_self or reduce == "mean"):
        from paddle.tensor.placing import put_reduced
        return put_reduced(arr, indices, values, axis, reduce, include_self)
    return one("put_along_axis", "put_along_axis", {"Input": arr, "Index": indices, "Value": values},
               {"Axis": axis, "Reduce": reduce, "Include_self": True}, slot="Result")


def _parts(x, item):
    """[axis, start, end, step, is a number] of every part of an index that is not a whole dimension."""
    parts = list(item) if isinstance(item, tuple) else [item]
    rank, shown = len(x.shape), [p for p in parts if p is not None]
    for i, part in enumerate(shown):
        if part is Ellipsis:
            shown[i:i + 1] = [slice(None)] * (rank - len(shown) + 1)
    if len(shown) > rank:
        raise IndexError("too many indices (%d) for the %d dimensions of %s" % (len(shown), rank, x.name))
    found = []
    for axis, part in enumerate(shown):
        if isinstance(part, slice):
            step = 1 if part.step is None else part.step
            start = (0 if step > 0 else 2147483647) if part.start is None else part.start
            end = (2147483647 if step > 0 else -1) if part.stop is None else part.stop
            if part != slice(None):
                found.append((axis, start, end, step, False))
        elif hasattr(part, "__index__") and not isinstance(part, bool):
            index = part.__index__()
            found.append((axis, index, index + 1 if index != -1 else 2147483647, 1, True))
        else:
            raise TypeError("setitem: a program sets parts by ints, slices, None and ..., but got %s; use index_put or where" %
                            type(part))
    return found


def setitem(x, item, value):
    """x with a part replaced by a value, which is repeated as needed."""
    need(x, "x", "setitem")
    if isinstance(item, Value) and item.dtype.dtype == "bool" and len(item.shape) == len(x.shape):
        return masked_fill(x, item, value)
    found = _parts(x, item)
    kind = x.dtype.dtype
    attrs = {"axes": [p[0] for p in found], "starts": [p[1] for p in found], "ends": [p[2] for p in found],
             "steps": [p[3] for p in found], "decrease_axes": [p[0] for p in found if p[4]], "none_axes": [],
             "dtype": type_number(kind)}
    inputs = {"Input": x}
    if isinstance(value, Value):
        from paddle.tensor.manipulation import cast
        inputs["ValueTensor"] = value if value.dtype == x.dtype else cast(value, kind)
        attrs.update(values=[], shape=[])
    else:
        import numpy
        array = numpy.asarray(value, kind)
        attrs.update(values=array.ravel().tolist(), shape=list(array.shape) or [1])
    return one("set_value", "set_value", inputs, attrs)


def index_fill(x, index, axis, value, name=None):
    """x with slices along the axis set to a value."""
    from paddle.tensor.manipulation import scatter, transpose
    axis = axis + len(x.shape) if axis < 0 else axis
    order = list(range(len(x.shape)))
    order[0], order[axis] = axis, 0
    turned = transpose(x, order) if axis else x
    rows = fill([index.shape[0]] + list(turned.shape[1:]), value, x.dtype)
    out = scatter(turned, index, rows, name=name)
    return transpose(out, order) if axis else out


def masked_fill(x, mask, value, name=None):
    """x with a value where the mask holds."""
    from paddle.tensor.search import where
    return where(need(mask, "mask", "masked_fill"), value if isinstance(value, Value) else fill([1], value, x.dtype), x, name)


__getattr__ = _names.guard(__name__)
