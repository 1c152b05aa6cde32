"""Medians, quantiles, sums without NaN, running extremes, covariances."""
import math

from paddle import _names
from paddle._op import Call, Value, fill, is_float, need, type_number
from paddle.fluid.framework import dtype_name


def _line(x, axis, where):
    """(x with the axes as its last one, the number of dims before, those axes): None is all of them."""
    from paddle.tensor.manipulation import reshape
    from paddle.tensor.linalg import transpose
    rank = len(x.shape)
    if axis is None:
        return reshape(x, [-1]), list(range(rank))
    axes = [axis] if isinstance(axis, int) else list(axis)
    for a in axes:
        if not isinstance(a, int) or not -max(rank, 1) <= a < max(rank, 1):
            raise ValueError("%s: the axis %r is not in the range [%d, %d) of a tensor of the shape %s" %
                             (where, a, -rank, rank, list(x.shape)))
    axes = sorted({a % rank if rank else 0 for a in axes})
    if rank == 0:
        return reshape(x, [-1]), []
    kept = [a for a in range(rank) if a not in axes]
    if axes != [rank - 1]:
        x = transpose(x, kept + axes)
    if len(axes) > 1:
        x = reshape(x, [x.shape[i] for i in range(len(kept))] + [-1])
    return x, axes


def _as_dims(out, x, axes, keepdim):
    """The result of a line, with 1 in place of the axes when they are kept."""
    from paddle.tensor.manipulation import reshape
    if not keepdim:
        return out
    return reshape(out, [1 if a in axes else x.shape[a] for a in range(len(x.shape))])


def _at(ordered, place):
    """Element `place` of the last dimension."""
    from paddle.tensor.manipulation import slice
    from paddle.tensor.manipulation import squeeze
    last = len(ordered.shape) - 1
    return squeeze(slice(ordered, [last], [place], [place + 1]), [last])


def median(x, axis=None, keepdim=False, name=None):
    """The middle of the sorted elements along the axis (None: of all), or the mean of the two; NaN where one is NaN."""
    from paddle.tensor.elements import isnan
    from paddle.tensor.manipulation import cast
    from paddle.tensor.math import sum
    from paddle.tensor.search import topk
    need(x, "x", "median")
    if axis is not None and not isinstance(axis, int):
        raise ValueError("In median, axis should be none or an integer in range [-rank(x), rank(x)).")
    line, axes = _line(x, axis, "median")
    size = line.shape[-1]
    dtype = "float64" if dtype_name(x.dtype) == "float64" else "float32"
    least, _ = topk(line, size // 2 + 1, axis=-1, largest=False)
    out = cast(_at(least, size // 2), dtype)
    if size % 2 == 0:
        out = (cast(_at(least, size // 2 - 1), dtype) + out) / 2
    if is_float(x):
        out = out + sum(cast(isnan(line), dtype) * cast(line, dtype), axis=-1)
    return _as_dims(out, x, axes, keepdim)


def _sorted_valid(line):
    """(sorted with NaN as the largest, how many of each line are no NaN)."""
    from paddle.tensor.creation import full_like
    from paddle.tensor.elements import isnan
    from paddle.tensor.manipulation import cast
    from paddle.tensor.math import sum
    from paddle.tensor.search import sort, where
    bad = isnan(line)
    ordered = sort(where(bad, full_like(line, math.inf), line), axis=-1)
    return ordered, sum(cast(bad == fill([1], False, "bool"), "int64"), axis=-1, keepdim=True)


def nanmedian(x, axis=None, keepdim=False, name=None):
    """The median of what is no NaN; NaN where nothing else is."""
    from paddle.tensor.creation import full_like
    from paddle.tensor.manipulation import cast, squeeze
    from paddle.tensor.math import clip
    from paddle.tensor.picking import take_along_axis
    from paddle.tensor.search import where
    need(x, "x", "nanmedian")
    line, axes = _line(x if is_float(x) else cast(x, "float32"), axis, "nanmedian")
    ordered, count = _sorted_valid(line)
    last = len(line.shape) - 1
    two = fill([1], 2, "int64")
    lower = take_along_axis(ordered, clip(count - 1, 0) // two, last)
    upper = take_along_axis(ordered, clip(count // two, 0, line.shape[-1] - 1), last)
    out = where(count == 0, full_like(lower, math.nan), (lower + upper) * 0.5)
    return _as_dims(squeeze(out, [last]), x, axes, keepdim)


def _quantile(x, q, axis, keepdim, where, skip_nan):
    from paddle.tensor.creation import full_like
    from paddle.tensor.manipulation import cast, squeeze, stack
    from paddle.tensor.math import clip, floor, ceil
    from paddle.tensor.elements import isnan
    from paddle.tensor.math import any as any_of
    from paddle.tensor.picking import take_along_axis
    from paddle.tensor.search import where as choose
    need(x, "x", where)
    if isinstance(q, Value):
        q = q.tolist() if hasattr(q, "tolist") else q
    shares = [float(v) for v in q] if isinstance(q, (list, tuple)) else [float(q)]
    if not shares or any(not 0 <= v <= 1 for v in shares):
        raise ValueError("%s: q must be in [0, 1], but received %s" % (where, q))
    line, axes = _line(x if is_float(x) else cast(x, "float32"), axis, where)
    # Paddle weighs in float64, and gives it; the elements are float32 until then
    ordered, count = _sorted_valid(line)
    last = len(line.shape) - 1
    none = count == 0 if skip_nan else any_of(isnan(line), axis=-1, keepdim=True)
    most = cast(count, "float64") - 1 if skip_nan else full_like(cast(count, "float64"), line.shape[-1] - 1)
    outs = []
    for share in shares:
        place = most * share
        lower, upper = clip(floor(place), 0), clip(ceil(place), 0)
        below = cast(take_along_axis(ordered, cast(lower, "int64"), last), "float64")
        above = cast(take_along_axis(ordered, cast(upper, "int64"), last), "float64")
        out = below + (above - below) * (place - lower)
        out = choose(none, full_like(out, math.nan), out)
        outs.append(_as_dims(squeeze(out, [last]), x, axes, keepdim))
    return stack(outs, 0) if len(outs) > 1 else outs[0]


def quantile(x, q, axis=None, keepdim=False):
    """The q-th part of the sorted elements, between neighbours by their distance; NaN where one is NaN."""
    return _quantile(x, q, axis, keepdim, "quantile", False)


def nanquantile(x, q, axis=None, keepdim=False):
    """quantile of what is no NaN."""
    return _quantile(x, q, axis, keepdim, "nanquantile", True)


def _without_nan(x):
    from paddle.tensor.creation import zeros_like
    from paddle.tensor.elements import isnan
    from paddle.tensor.search import where
    return where(isnan(x), zeros_like(x), x)


def nansum(x, axis=None, dtype=None, keepdim=False, name=None):
    """The sum of what is no NaN."""
    from paddle.tensor.math import sum
    return sum(_without_nan(need(x, "x", "nansum")), axis, dtype, keepdim, name)


def nanmean(x, axis=None, keepdim=False, name=None):
    """The mean of what is no NaN."""
    from paddle.tensor.elements import isnan
    from paddle.tensor.manipulation import cast
    from paddle.tensor.math import sum
    need(x, "x", "nanmean")
    axis = [axis] if isinstance(axis, int) else axis
    count = sum(cast(isnan(x) == fill([1], False, "bool"), x.dtype), axis=axis, keepdim=keepdim)
    return nansum(x, axis, keepdim=keepdim, name=name) / count


def _running(kind, x, axis, dtype, name):
    from paddle.tensor.manipulation import flatten
    need(x, "x", kind)
    if axis is None:
        axis, x = -1, flatten(x) if len(x.shape) != 1 else x
    if dtype_name(dtype) not in ("int32", "int64"):
        raise TypeError("The data type of 'dtype' in %s must be 'int32' or 'int64', but received %s." % (kind, dtype))
    call = Call(kind, name)
    out, places = call.var(), call.var(dtype_name(dtype), True)
    call.op(kind, {"x": x}, {"out": out, "indices": places}, {"axis": axis, "dtype": type_number(dtype)})
    return out, places


def cummax(x, axis=None, dtype="int64", name=None):
    """(the largest so far along the axis, its place); None: of the flattened input."""
    return _running("cummax", x, axis, dtype, name)


def cummin(x, axis=None, dtype="int64", name=None):
    """(the smallest so far along the axis, its place); None: of the flattened input."""
    return _running("cummin", x, axis, dtype, name)


def cov(x, rowvar=True, ddof=True, fweights=None, aweights=None, name=None):
    """The covariances of the rows (columns: rowvar=False), weighted by how often and how much."""
    from paddle.tensor.linalg import matmul, transpose
    from paddle.tensor.manipulation import cast, reshape
    from paddle.tensor.math import maximum, sum
    if len(need(x, "x", "cov").shape) not in (1, 2):
        raise ValueError("Input(x) only support N-D (1<=N<=2) tensor in cov, but received length of Input(input) is %d." %
                         len(x.shape))
    rows = reshape(x, [1, -1]) if len(x.shape) == 1 else x if rowvar else transpose(x, [1, 0])
    times = None if fweights is None else cast(fweights, x.dtype)
    weights = times if aweights is None else cast(aweights, x.dtype) if times is None else times * cast(aweights, x.dtype)
    if weights is None:
        total = fill([1], rows.shape[1], x.dtype)
        mean = sum(rows, axis=1, keepdim=True) / total
        freedom = total - (1 if ddof else 0)
    else:
        total = sum(weights)
        mean = sum(rows * weights, axis=1, keepdim=True) / total
        freedom = total
        if ddof:
            freedom = total - 1 if aweights is None else total - sum(weights * cast(aweights, x.dtype)) / total
    apart = rows - mean
    weighted = apart if weights is None else apart * weights
    out = matmul(weighted, transpose(apart, [1, 0])) / maximum(freedom, fill([1], 0, x.dtype))
    return reshape(out, []) if rows.shape[0] == 1 else out


def corrcoef(x, rowvar=True, name=None):
    """The correlations of the rows (columns: rowvar=False)."""
    from paddle.tensor.manipulation import unsqueeze
    from paddle.tensor.math import clip, sqrt
    from paddle.tensor.picking import diagonal
    both = cov(x, rowvar)
    if len(both.shape) == 0:
        return both / both
    spread = sqrt(diagonal(both))
    return clip(both / unsqueeze(spread, [1]) / unsqueeze(spread, [0]), -1, 1)


__getattr__ = _names.guard(__name__)
