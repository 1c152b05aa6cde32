"""Elements put on diagonals and into slices, windows over tensors, other views of their elements; what is made of pieces."""
from paddle import _names
from paddle._mode import mode
from paddle._op import Value, fill, need
from paddle.fluid.framework import dtype_name


def _places(shape):
    """The number of each element, in the shape."""
    from paddle.tensor.creation import arange
    from paddle.tensor.manipulation import reshape
    count = 1
    for size in shape:
        count *= size
    return reshape(arange(count, dtype="int64"), list(shape))


def _spread(x, y, chosen):
    """x with the elements of y, in their order, at the places `chosen` (numbers of elements, in y's shape)."""
    from paddle.tensor.manipulation import cast, reshape
    from paddle.tensor.picking import put_along_axis
    out = put_along_axis(reshape(x, [-1]), reshape(chosen, [-1]), cast(reshape(y, [-1]), x.dtype), 0)
    return reshape(out, list(x.shape))


def put_reduced(arr, indices, values, axis, reduce, include_self):
    """put_along_axis for means, and where the elements that are there do not count."""
    from paddle.tensor.creation import full_like, ones_like, zeros_like
    from paddle.tensor.picking import put_along_axis

    def put(onto, what, how):
        return put_along_axis(onto, indices, what, axis, how, True, False)

    if not include_self:  # the least of values put twice is the same
        first = {"mul": 1, "multiply": 1, "add": 0, "mean": 0}.get(reduce)
        arr = put(arr, values if first is None else full_like(values, first), "assign")
    if reduce != "mean":
        return put(arr, values, reduce)
    counts = ones_like(arr) if include_self else put(ones_like(arr), zeros_like(values), "assign")
    counts = put(counts, ones_like(values), "add")
    total = put(arr, values, "add")
    return total / counts if dtype_name(arr.dtype)[0] == "f" else total // counts


# ---- diagonals -----------------------------------------------------------------------------------


def diagflat(x, offset=0, name=None):
    """A square matrix with the elements of x on a diagonal."""
    from paddle.tensor.manipulation import reshape
    from paddle.tensor.picking import diag
    return diag(reshape(need(x, "x", "diagflat"), [-1]), offset)


def fill_diagonal_tensor(x, y, offset=0, dim1=0, dim2=1, name=None):
    """x with y on the diagonal of two axes; y's last dimension runs along it."""
    from paddle.tensor.picking import diagonal
    need(x, "x", "fill_diagonal_tensor"), need(y, "y", "fill_diagonal_tensor")
    chosen = diagonal(_places(x.shape), offset, dim1, dim2)
    shape = list(y.shape) if len(y.shape) == len(chosen.shape) else [1] * (len(chosen.shape) - len(y.shape)) + list(y.shape)
    if len(x.shape) == 2 and len(y.shape) == 2 and y.shape[0] == 1:
        shape = list(y.shape[1:])
    if shape != list(chosen.shape):
        raise ValueError("fill_diagonal_tensor: y has the shape %s; the diagonal has %s" % (list(y.shape), list(chosen.shape)))
    return _spread(x, y, chosen)


def diagonal_scatter(x, y, offset=0, axis1=0, axis2=1, name=None):
    """x with y on the diagonal of two axes."""
    return fill_diagonal_tensor(x, y, offset, axis1, axis2)


def _fill_diagonal(x, value, offset=0, wrap=False, name=None):
    """Every element of the diagonal becomes the value; wrap continues below a tall matrix."""
    from paddle.tensor.creation import full_like
    from paddle.tensor.logic import logical_and
    from paddle.tensor.search import where
    rank, cols = len(x.shape), x.shape[-1]
    if rank < 2 or rank > 2 and len(set(x.shape)) > 1:
        raise ValueError("fill_diagonal_: a tensor of at least two dimensions, all equal when there are more, is expected; "
                         "it has the shape %s" % list(x.shape))
    count = cols ** rank if rank > 2 else x.shape[0] * cols
    step, end = sum(cols ** i for i in range(rank)), count if wrap or rank > 2 else min(count, cols * cols)
    place, width = _places(x.shape), fill([1], cols, "int64")
    start = place - offset  # where the place lies when there is no offset: in the same row, on the main diagonal
    on = logical_and(start % fill([1], step, "int64") == fill([1], 0, "int64"), start // width == place // width)
    on = logical_and(on, start < fill([1], end, "int64"))
    return where(on, full_like(x, value), x)


def select_scatter(x, values, axis, index, name=None):
    """x with the values in the slice `index` of the axis."""
    from paddle.tensor.manipulation import slice, squeeze
    axis = axis % len(need(x, "x", "select_scatter").shape)
    index = index + x.shape[axis] if index < 0 else index
    chosen = squeeze(slice(_places(x.shape), [axis], [index], [index + 1]), [axis])
    if list(values.shape) != list(chosen.shape):
        raise RuntimeError("select_scatter: the values have the shape %s; the slice has %s" %
                           (list(values.shape), list(chosen.shape)))
    return _spread(x, values, chosen)


# ---- windows and views ---------------------------------------------------------------------------


def _strides(shape):
    out, step = [], 1
    for size in reversed(shape):
        out.insert(0, step)
        step *= size
    return out


def as_strided(x, shape, stride, offset=0, name=None):
    """The elements of x at offset (in bytes) + sums of index * stride; a copy here, through which gradients go."""
    from paddle.tensor.creation import arange
    from paddle.tensor.manipulation import gather, reshape
    from paddle.tensor.math import add
    _eager_only("as_strided")
    if offset % x.element_size():
        raise ValueError("as_strided: the offset of %d bytes is not at an element of %d" % (offset, x.element_size()))
    at = fill([1] * max(len(shape), 1), offset // x.element_size(), "int64")
    for dim, (size, step) in enumerate(zip(shape, stride)):
        along = [1] * len(shape)
        along[dim] = size
        at = add(at, reshape(arange(size, dtype="int64") * step, along))
    return reshape(gather(reshape(x, [-1]), reshape(at, [-1])), list(shape))


def _eager_only(what):
    if not mode.eager:
        raise RuntimeError("We only support '%s()' in dynamic graph mode, please call 'paddle.disable_static()' to enter "
                           "dynamic graph mode." % what)


def unfold(x, axis, size, step, name=None):
    """Windows of `size` along the axis, `step` apart, as a new last dimension."""
    axis = axis % max(len(need(x, "x", "unfold").shape), 1)
    shape, strides = list(x.shape), _strides(x.shape)
    if size > shape[axis] or step < 1:
        raise ValueError("unfold: size %d and step %d do not fit the dimension of %d" % (size, step, shape[axis]))
    strides.append(strides[axis])
    strides[axis] *= step
    shape[axis] = (shape[axis] - size) // step + 1
    return as_strided(x, shape + [size], strides)


def view(x, shape_or_dtype, name=None):
    """Another shape, or the same bytes as another type; a copy here."""
    from paddle.tensor.manipulation import reshape
    _eager_only("view")
    if isinstance(shape_or_dtype, (list, tuple)):
        return reshape(x, list(shape_or_dtype))
    from paddle.tensor.creation import to_tensor
    if dtype_name(shape_or_dtype) == dtype_name(x.dtype):
        return reshape(x, list(x.shape))
    return to_tensor(x.numpy().view(dtype_name(shape_or_dtype)))


def view_as(x, other, name=None):
    """x in the shape of the other."""
    return view(x, list(other.shape))


def unflatten(x, axis, shape, name=None):
    """The axis as several dimensions; one of them may be -1."""
    from paddle.tensor.manipulation import reshape
    rank = len(need(x, "x", "unflatten").shape)
    if not -rank <= axis < rank:
        raise ValueError("unflatten: the axis %d is not in the range [%d, %d)" % (axis, -rank, rank))
    axis %= rank
    sizes = [int(v) for v in (shape.tolist() if isinstance(shape, Value) and mode.eager else shape)]
    return reshape(x, list(x.shape[:axis]) + sizes + list(x.shape[axis + 1:]))


def take(x, index, mode="raise", name=None):
    """Elements of the flattened x; numbers beyond its end are an error, wrap around or are clipped."""
    from paddle.tensor.manipulation import gather, reshape
    from paddle.tensor.math import clip
    from paddle.tensor.search import where
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError("'mode' in 'take' should be 'raise', 'wrap', 'clip', but received %s." % mode)
    if dtype_name(need(index, "index", "take").dtype) not in ("int32", "int64"):
        raise TypeError("The data type of 'index' must be one of ['int32', 'int64'], but got %s" % index.dtype)
    flat = reshape(need(x, "x", "take"), [-1])
    count = flat.shape[0]
    at = reshape(index, [-1])
    size = fill([1], count, at.dtype)
    if mode == "wrap":
        at = at % size
    elif mode == "clip":
        at = clip(at, 0, count - 1)
    else:
        at = where(at < 0, at + size, at)
    return reshape(gather(flat, at), list(index.shape))


# ---- more and fewer dimensions -------------------------------------------------------------------


def _at_least(rank, grow):
    def function(*inputs, name=None):
        from paddle.tensor.creation import to_tensor
        from paddle.tensor.manipulation import reshape
        outs = []
        for x in inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) else inputs:
            x = x if isinstance(x, Value) else to_tensor(x)
            outs.append(x if len(x.shape) >= rank else reshape(x, grow(list(x.shape))))
        return outs[0] if len(outs) == 1 else outs

    function.__name__ = function.__qualname__ = "atleast_%dd" % rank
    function.__doc__ = "Tensors of at least %d dimensions." % rank
    return function


atleast_1d = _at_least(1, lambda shape: [1])
atleast_2d = _at_least(2, lambda shape: [1] * (2 - len(shape)) + shape)
atleast_3d = _at_least(3, lambda shape: shape + [1] if len(shape) == 2 else [1] + shape + [1] if shape else [1, 1, 1])


def vsplit(x, num_or_sections, name=None):
    """split along the first of at least two dimensions."""
    from paddle.tensor.manipulation import split
    if len(need(x, "x", "vsplit").shape) < 2:
        raise ValueError("The input tensor's dimension must be greater than 1, but got %d" % len(x.shape))
    return split(x, num_or_sections, axis=0)


def tensordot(x, y, axes=2, name=None):
    """Products summed over axes of x and of y: the last and first so many, or lists of them."""
    from paddle.tensor.linalg import matmul, transpose
    from paddle.tensor.manipulation import reshape
    rank_x, rank_y = len(need(x, "x", "tensordot").shape), len(need(y, "y", "tensordot").shape)
    if isinstance(axes, Value):
        axes = axes.tolist()
    if isinstance(axes, int):
        over_x, over_y = list(range(rank_x - axes, rank_x)), list(range(axes))
    else:
        axes = [v.tolist() if isinstance(v, Value) else v for v in axes]
        if not axes or isinstance(axes[0], int):
            axes = [axes]
        over_x, over_y = list(axes[0]), list(axes[1] if len(axes) > 1 else axes[0])
        longer = max(over_x, over_y, key=len)  # the shorter one continues as the longer one
        over_x, over_y = (over + longer[len(over):] for over in (over_x, over_y))
    from paddle.tensor.math import sum
    for a, b in zip(over_x, over_y):
        if x.shape[a] != y.shape[b]:
            if 1 not in (x.shape[a], y.shape[b]):
                raise ValueError("tensordot: dimension %d of x has %d elements, dimension %d of y has %d" %
                                 (a, x.shape[a], b, y.shape[b]))
            x, y = (sum(x, a, keepdim=True), y) if y.shape[b] == 1 else (x, sum(y, b, keepdim=True))
    over_x, over_y = [a % rank_x for a in over_x], [b % rank_y for b in over_y]
    rest_x, rest_y = ([d for d in range(rank) if d not in over] for rank, over in ((rank_x, over_x), (rank_y, over_y)))
    count = 1
    for a in over_x:
        count *= x.shape[a]
    left = reshape(transpose(x, rest_x + over_x) if rank_x else x, [-1, count])
    right = reshape(transpose(y, over_y + rest_y) if rank_y else y, [count, -1])
    return reshape(matmul(left, right), [x.shape[d] for d in rest_x] + [y.shape[d] for d in rest_y])


def combinations(x, r=2, with_replacement=False, name=None):
    """All choices of r elements of a vector, as rows."""
    import itertools
    from paddle.tensor.creation import to_tensor
    from paddle.tensor.manipulation import gather, reshape
    if len(need(x, "x", "combinations").shape) != 1:
        raise TypeError("Expect a 1-D vector, but got x shape %s" % list(x.shape))
    if not isinstance(r, int) or r < 0:
        raise ValueError("Expect a non-negative int, but got r=%s" % r)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(x.shape[0]), r))
    if not rows or r == 0:
        return fill([0], 0, dtype_name(x.dtype))
    return reshape(gather(x, to_tensor([i for row in rows for i in row], dtype="int64")), [len(rows), r])


def cdist(x, y, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary", name=None):
    """The p-norms of the differences of all rows of x and of y."""
    from paddle.tensor.linalg import norm
    from paddle.tensor.manipulation import cast, unsqueeze
    from paddle.tensor.math import abs, max, sum
    need(x, "x", "cdist"), need(y, "y", "cdist")
    if len(x.shape) < 2 or len(y.shape) < 2 or x.shape[-1] != y.shape[-1]:
        raise ValueError("cdist: x has the shape %s and y %s; both must have rows of the same length" %
                         (list(x.shape), list(y.shape)))
    apart = unsqueeze(x, [-2]) - unsqueeze(y, [-3])
    if p == 0:
        return sum(cast(apart != fill([1], 0, x.dtype), x.dtype), axis=-1)
    return max(abs(apart), axis=-1) if p == float("inf") else norm(apart, p=p, axis=-1)


def renorm(x, p, axis, max_norm):
    """Slices along the axis whose p-norm is above max_norm are scaled down to it."""
    from paddle.tensor.math import abs, pow, sum
    from paddle.tensor.search import where
    from paddle.tensor.creation import ones_like
    rank = len(need(x, "x", "renorm").shape)
    if not -rank <= axis < rank:
        raise ValueError("the axis:%d should be in the range [%d, %d)" % (axis, -rank, rank))
    others = [d for d in range(rank) if d != axis % rank]
    length = pow(sum(pow(abs(x), float(p)), axis=others, keepdim=True), 1.0 / p)
    return x * where(length > max_norm, max_norm / (length + 1e-7), ones_like(length))


def tolist(x):
    """The elements as nested lists."""
    return x.tolist()


class finfo(object):
    """The limits of a type of floats."""

    def __init__(self, dtype):
        import numpy as np
        kind = dtype_name(dtype)
        if kind == "bfloat16":
            values = (2.0 ** -7, -3.3895313892515355e+38, 3.3895313892515355e+38, 2.0 ** -126, 16)
        else:
            if kind not in ("float16", "float32", "float64"):
                raise ValueError("finfo: %s is no type of floats" % kind)
            info = np.finfo(kind)
            values = (info.eps, info.min, info.max, info.tiny, info.bits)
        self.eps, self.min, self.max, self.tiny = (float(v) for v in values[:4])
        self.smallest_normal, self.resolution = self.tiny, float(10 ** -(2 if kind == "bfloat16" else np.finfo(kind).precision))
        self.bits, self.dtype = int(values[4]), kind

    def __repr__(self):
        return "paddle.finfo(min=%g, max=%g, eps=%g, resolution=%g, smallest_normal=%g, tiny=%g, bits=%d, dtype=%s)" % (
            self.min, self.max, self.eps, self.resolution, self.smallest_normal, self.tiny, self.bits, self.dtype)


def is_complex(x):
    """False: there are no complex tensors here."""
    if not isinstance(x, Value):
        raise TypeError("Expected Tensor, but received type of x: %s" % type(x))
    return False


def real(x, name=None):
    """x itself: there are no complex tensors here."""
    return need(x, "x", "real")


def sgn(x, name=None):
    """The sign of every element."""
    from paddle.tensor.math import sign
    return sign(need(x, "x", "sgn"))


__getattr__ = _names.guard(__name__)
