"""Indexing of Tensors: x[...] and x[...] = value.

Ints, slices, None and ... are one slice op. Lists, arrays, tensors and masks become whole numbers, which are gathered as numpy
would; where they stand among slices, numpy's rules say where their dimension goes. Ints count as slices (as in Paddle).
"""
from skiff import _native

from paddle._tensor import Tensor

_one = _native.eager_one
_WHOLE = slice(None)
_BASIC = (int, slice, type(None), type(Ellipsis))


class _Part(object):
    """An index that is an array: for dimension `dim` of what the slices leave."""

    __slots__ = ("dim", "ids")

    def __init__(self, dim, ids):
        self.dim, self.ids = dim, ids


def _wrong(part):
    return ValueError("a Tensor is indexed by bool, int, slice, ..., None, and tuples, lists, arrays and Tensors of these, but "
                      "received %s" % type(part).__name__)


def _number(value):
    return value if value is None or value.__class__ is int else int(value)


def _array(part):
    """An array of integers or booleans; a number; or part itself, if it is something else."""
    import numpy
    if isinstance(part, Tensor):
        array = part._numpy()
    elif isinstance(part, (list, tuple, range)):
        array = numpy.array([_array(p) if isinstance(p, (Tensor, list, tuple)) else p for p in part])
        if not array.size:
            array = array.astype("int64")
    elif isinstance(part, (numpy.ndarray, numpy.generic)):
        array = part
    else:
        return part
    if array.dtype.kind not in "biu":
        raise _wrong(part)
    return array.item() if array.ndim == 0 else array


def _normal(x, item):
    """The parts of an index, one for every dimension (masks: for several), arrays as numpy arrays."""
    parts = [p if p is None or p is Ellipsis or p.__class__ in (slice, int) else _array(p)
             for p in (item if item.__class__ is tuple else (item,))]
    rank, used, dots = x.ndim, 0, None
    for i, part in enumerate(parts):
        if part is Ellipsis:
            if dots is not None:
                raise IndexError("an index can only have a single ellipsis ('...')")
            dots = i
        elif part is not None and part.__class__ is not bool:
            used += part.ndim if hasattr(part, "dtype") and part.dtype.kind == "b" else 1
    if used > rank:
        raise IndexError("too many indices for tensor of dimension %d: %d" % (rank, used))
    if dots is not None:
        parts[dots:dots + 1] = [_WHOLE] * (rank - used)
    else:
        parts += [_WHOLE] * (rank - used)
    return parts


def _bound(index, size, dim):
    if not -size <= index < size:
        raise IndexError("index %d is out of bounds for dimension %d with size %d" % (index, dim, size))
    return index


def _mask_ids(mask, shape, dim):
    if list(mask.shape) != list(shape[dim:dim + mask.ndim]):
        raise IndexError("The shape of boolean index %s did not match indexed tensor %s along dimension %d" %
                         (list(mask.shape), list(shape[dim:dim + mask.ndim]), dim))
    return [ids.astype("int64") for ids in mask.nonzero()]


def _list_ids(ids, size, dim):
    ids = ids.astype("int64")
    if ids.size and (ids.min() < -size or ids.max() >= size):
        bad = ids[(ids < -size) | (ids >= size)].ravel()[0]
        raise IndexError("index %d is out of bounds for dimension %d with size %d" % (bad, dim, size))
    return ids % size if size else ids


def _split(x, item):
    """(basic, arrays): an index of ints, slices and None; and _Parts for what it leaves."""
    shape, basic, arrays = x.shape, [], []
    dim = left = 0  # of x; of what basic leaves
    for part in _normal(x, item):
        cls = part.__class__
        if cls is slice:
            basic.append(part)
            dim, left = dim + 1, left + 1
        elif part is None or part is True:
            basic.append(None)
            left += 1
        elif part is False:
            basic.append(None)
            arrays.append(_Part(left, _no_ids()))
            left += 1
        elif hasattr(part, "dtype"):
            many = _mask_ids(part, shape, dim) if part.dtype.kind == "b" else [_list_ids(part, shape[dim], dim)]
            for ids in many:
                arrays.append(_Part(left, ids))
                basic.append(_WHOLE)
                dim, left = dim + 1, left + 1
        elif hasattr(part, "__index__"):
            basic.append(_bound(part.__index__(), shape[dim], dim))
            dim += 1
        else:
            raise _wrong(part)
    return basic, arrays


def _plain(x, item):
    """An index of ints, slices, None and ... alone."""
    parts = list(item) if item.__class__ is tuple else [item]
    used = len(parts) - parts.count(None)
    if Ellipsis in parts:
        at = parts.index(Ellipsis)
        parts[at:at + 1] = [_WHOLE] * (x.ndim - used + 1)
        if Ellipsis in parts:
            raise IndexError("an index can only have a single ellipsis ('...')")
        used -= 1
    if used > x.ndim:
        raise IndexError("too many indices for tensor of dimension %d: %d" % (x.ndim, used))
    return parts


def _no_ids():
    import numpy
    return numpy.zeros([0], "int64")


# ---- reading ----


def _slice_of(part, size):
    """(start, end, step) for the ops; None: the complete dimension."""
    if part.step == 0:
        raise ValueError("slice step cannot be zero")
    start, stop, step = part.indices(size)  # tensors are __index__'ed
    if step > 0:
        stop = max(start, stop)
        return None if start == 0 and stop == size and step == 1 else (start, stop, step)
    return (start, start, 1) if stop >= start else (start, stop, step)


def _basic(x, parts):
    axes, starts, ends, steps, drop, new = [], [], [], [], [], []
    shape, dim, shown = x.shape, 0, 0
    for part in parts:
        if part is None:
            new.append(shown)
            shown += 1
            continue
        if part.__class__ is slice:
            shown += 1
            if part is not _WHOLE:
                found = _slice_of(part, shape[dim])
                if found is not None:
                    axes.append(dim)
                    starts.append(found[0])
                    ends.append(found[1])
                    steps.append(found[2])
        else:
            size = shape[dim]
            if not -size <= part < size:
                _bound(part, size, dim)
            part = part + size if part < 0 else part
            axes.append(dim)
            starts.append(part)
            ends.append(part + 1)
            steps.append(1)
            drop.append(dim)
        dim += 1
    if axes:
        attrs = {"axes": axes, "starts": starts, "ends": ends, "decrease_axis": drop}
        if any(step != 1 for step in steps):
            x = _strided(x, attrs, steps)
        else:
            x = _one("slice", {"Input": x}, attrs)
    if new:
        from paddle.tensor.manipulation import unsqueeze
        x = unsqueeze(x, new)
    return x


def _strided(x, attrs, steps):
    """Axes with negative steps are turned round first: the op cannot go down to the first element."""
    back = [i for i, step in enumerate(steps) if step < 0]
    if back:
        shape, axes = x.shape, attrs["axes"]
        for i in back:
            last = shape[axes[i]] - 1
            attrs["starts"][i], attrs["ends"][i], steps[i] = last - attrs["starts"][i], last - attrs["ends"][i], -steps[i]
        x = _one("flip", {"X": x}, {"axis": [axes[i] for i in back]})
    attrs["strides"] = steps
    return _one("strided_slice", {"Input": x}, attrs)


def _gathered(x, arrays):
    """x with the arrays in place of their dimensions."""
    import numpy
    from paddle.tensor.manipulation import gather, reshape, transpose
    places = [part.dim for part in arrays]
    try:
        ids = numpy.broadcast_arrays(*[part.ids for part in arrays])
    except ValueError:
        raise IndexError("indices of the shapes %s do not fit together" %
                         ", ".join(str(list(part.ids.shape)) for part in arrays)) from None
    shape, more = x.shape, list(ids[0].shape)
    first, count = places[0], len(places)
    if places != list(range(first, first + count)):
        first = 0
    rest = [d for d in range(len(shape)) if d not in places]
    order = rest[:first] + places + rest[first:]
    if order != list(range(len(shape))):
        x = transpose(x, order)
        shape = [shape[d] for d in order]
    if count > 1:
        sizes = shape[first:first + count]
        flat = numpy.ravel_multi_index([i.ravel() for i in ids], sizes) if ids[0].size else ids[0].ravel()
        shape = shape[:first] + [int(numpy.prod(sizes))] + shape[first + count:]
        x = reshape(x, shape)
    else:
        flat = ids[0].ravel()
    final = shape[:first] + more + shape[first + 1:]
    if not flat.size or 0 in final:
        from paddle.tensor.creation import zeros
        return zeros(final, x.dtype)
    out = gather(x, Tensor(numpy.ascontiguousarray(flat, "int64")), axis=first)
    return out if len(more) == 1 else reshape(out, final)


def _by_tensor(x, ids):
    """x[ids] in one op, without a look at the numbers; None: it needs one."""
    if ids._dtype == "bool":
        return _one("masked_select", {"X": x, "Mask": ids}, None, "Y") if ids.shape == x.shape else None
    if ids.ndim != 1 or ids._dtype not in ("int64", "int32") or not x.ndim or not ids._count:
        return None
    try:
        return _one("gather", {"X": x, "Index": ids})
    except ValueError:  # numbers from the end, or out of range
        return None


def getitem(self, item):
    """self[item]"""
    if item.__class__ is int and self.ndim:
        size = self.shape[0]
        at = item + size if item < 0 else item
        if not 0 <= at < size:
            _bound(item, size, 0)
        return _one("slice", {"Input": self}, {"axes": (0,), "starts": (at,), "ends": (at + 1,), "decrease_axis": (0,)})
    if isinstance(item, Tensor) and item.ndim:
        out = _by_tensor(self, item)
        if out is not None:
            return out
    for part in item if item.__class__ is tuple else (item,):
        if part.__class__ not in _BASIC:
            basic, arrays = _split(self, item)
            break
    else:
        basic, arrays = _plain(self, item), None
    out = _basic(self, basic)
    if arrays:
        out = _gathered(out, arrays)
    elif out is self:
        out = _one("assign", {"X": self})
    return out


# ---- writing ----


def _places(x, item):
    """An index into numpy arrays of x's shape, in two steps: ints and slices, then arrays."""
    basic, arrays = _split(x, item)
    first = tuple(slice(_number(p.start), _number(p.stop), _number(p.step)) if p.__class__ is slice else p for p in basic)
    if not arrays:
        return first, None
    second = [_WHOLE] * sum(p.__class__ is slice or p is None for p in basic)
    for part in arrays:
        second[part.dim] = part.ids
    return first, tuple(second)


def _value_array(x, value):
    import numpy
    if isinstance(value, Tensor):
        value = value if value._dtype == x._dtype or x._dtype != "bfloat16" else value.detach().astype("bfloat16")
        return value._numpy()
    if x._dtype == "bfloat16":
        return Tensor(numpy.asarray(value, "float32")).astype("bfloat16")._numpy()
    array = numpy.asarray(value)
    if array.dtype.kind not in "fiub":
        raise ValueError("a Tensor's elements are numbers or truth values; %s cannot be assigned" % type(value).__name__)
    return array


def _write(x, item, value):
    """Writes into the memory of x, without recording on the tape."""
    import numpy
    first, second = _places(x, item)
    view = numpy.asarray(memoryview(x))[first + (Ellipsis,)]
    value = _value_array(x, value)
    try:
        if second is None:
            view[...] = value
        else:
            view[second] = value
    except ValueError as error:
        raise ValueError("a value of the shape %s cannot be assigned to these elements of a tensor of the shape %s: %s" %
                         (list(value.shape), x.shape, error)) from None
    x._touched()


def _scattered(x, item, value):
    """A new tensor, with gradients to x and to the value."""
    import numpy
    from paddle.tensor.manipulation import expand, reshape, scatter
    first, second = _places(x, item)
    places = numpy.arange(x._count).reshape(x.shape)[first]
    places = numpy.asarray(places if second is None else places[second])
    if not places.size:
        return x
    value = value.astype(x.dtype) if isinstance(value, Tensor) else Tensor(numpy.asarray(_value_array(x, value), x._dtype))
    if value.shape != list(places.shape):
        while value.ndim > places.ndim and value.shape[0] == 1:
            value = reshape(value, value.shape[1:])
        if places.ndim:
            value = expand(value, list(places.shape))
    out = scatter(reshape(x, [-1]), Tensor(places.ravel()), reshape(value, [-1]))
    return reshape(out, x.shape)


def setitem(self, item, value):
    """self[item] = value"""
    wanted = isinstance(value, Tensor) and not value.stop_gradient
    if not _native.eager_noting() or self.stop_gradient and not wanted:
        return _write(self, item, value)
    if self.is_leaf and not self.stop_gradient:
        raise ValueError("Leaf Tensor (%s) that doesn't stop gradient can't use inplace strategy: assign to a copy, or inside "
                         "paddle.no_grad()" % self.name)
    mark = _native.eager_mark()
    self._take(_scattered(self, item, value), mark)
