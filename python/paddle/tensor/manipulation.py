"""Shapes: reshape, concat, split, slice, gather and their kin."""
from builtins import slice as builtin_slice

from skiff import _native

from paddle import _names
from paddle._mode import mode
from paddle._op import Value, Call, dims, int_tensor, need, need_all, one, type_number
from paddle._tensor import Tensor
from paddle.fluid._build import net
from paddle.fluid.framework import Variable

run = _native.eager_op
INT_MAX = 2147483647


def cast(x, dtype):
    """x as another type."""
    need(x, "x", "cast")
    return one("cast", "cast", {"X": x}, {"in_dtype": x.dtype, "out_dtype": type_number(dtype)},
               stop_gradient=x.stop_gradient)


def concat(x, axis=0, name=None):
    """The inputs one after the other along the axis."""
    inputs, attrs = {"X": need_all(x, "x", "concat")}, {}
    if isinstance(axis, Value):
        axis.stop_gradient = True
        inputs["AxisTensor"] = axis
    else:
        attrs["axis"] = dims(axis, "axis", "concat")[0]
    return one("concat", "concat", inputs, attrs, name)


def _with_shape(call, kind, x, attrs, name=None, inputs=None):
    if mode.eager and inputs is None:
        out = Tensor()
        run(kind, {"X": x}, {"Out": out, "XShape": Tensor()}, attrs)
        return out
    call = Call(call, name)
    out, shape = call.var(), call.var()
    every = {"X": x}
    every.update(inputs or {})
    call.op(kind, every, {"Out": out, "XShape": shape}, attrs)
    return out


def reshape(x, shape, name=None):
    """Another shape for the same values: -1 is what remains, 0 what x has there."""
    if mode.eager and shape.__class__ in (list, tuple) and shape.count(-1) < 2 and all(d.__class__ is int for d in shape):
        need(x, "x", "reshape")
        out = Tensor()
        run("reshape2", {"X": x}, {"Out": out, "XShape": Tensor()}, {"shape": shape})
        return out
    need(x, "x", "reshape")
    shape = dims(shape, "shape", "reshape")
    call = Call("reshape2", name)
    inputs = {"X": x}
    if isinstance(shape, Value):
        shape.stop_gradient = True
        inputs["Shape"] = shape
        sizes = []
    else:
        sizes = [-1 if isinstance(d, Value) else d for d in shape]
        if len([d for d in sizes if d == -1]) > 1 and not any(isinstance(d, Value) for d in shape):
            raise AssertionError("Only one dimension value of 'shape' in reshape can be -1. But received shape[%d] is "
                                 "also -1." % [i for i, d in enumerate(sizes) if d == -1][1])
        if any(isinstance(d, Value) for d in shape):
            inputs["ShapeTensor"] = [d if isinstance(d, Value) else int_tensor(d, shape=[1]) for d in shape]
    out, seen = call.var(), call.var()
    call.op("reshape2", inputs, {"Out": out, "XShape": seen}, {"shape": sizes})
    return out


def transpose(x, perm, name=None):
    """Dimensions in another order."""
    need(x, "x", "transpose")
    perm = dims(perm, "perm", "transpose")
    if len(perm) != len(x.shape):
        raise ValueError("Input(perm) is the permutation of dimensions of Input(x), its length should be equal to "
                         "dimensions of Input(x), but received dimension of Input(x) is %d, the length of Input(perm) is %d."
                         % (len(x.shape), len(perm)))
    return _with_shape("transpose", "transpose2", x, {"axis": perm}, name)


def t(input, name=None):
    """The transpose of a matrix."""
    need(input, "input", "t")
    if len(input.shape) > 2:
        raise ValueError("Input(input) only support N-D (N<=2) tensor, but received length of Input(input) is %d. "
                         "Perhaps you can use paddle.tensor.transpose() instead." % len(input.shape))
    return input if len(input.shape) < 2 else _with_shape("t", "transpose2", input, {"axis": [1, 0]}, name)


def unsqueeze(x, axis, name=None):
    """New dimensions of size 1."""
    need(x, "x", "unsqueeze")
    axes = dims(axis, "axis", "unsqueeze")
    if isinstance(axes, Value):
        axes.stop_gradient = True
        return _with_shape("unsqueeze2", "unsqueeze2", x, {"axes": []}, name, {"AxesTensor": axes})
    return _with_shape("unsqueeze2", "unsqueeze2", x, {"axes": axes}, name)


def squeeze(x, axis=None, name=None):
    """Without dimensions of size 1 (None: all of them)."""
    need(x, "x", "squeeze")
    axes = [] if axis is None else dims(axis, "axis", "squeeze")
    return _with_shape("squeeze", "squeeze2", x, {"axes": axes}, name)


def flatten(x, start_axis=0, stop_axis=-1, name=None):
    """The dimensions from start_axis to stop_axis as one."""
    need(x, "x", "flatten")
    n = len(x.shape)
    for axis, arg in ((start_axis, "start_axis"), (stop_axis, "stop_axis")):
        if not isinstance(axis, int) or axis > n - 1 or axis < -n:
            raise ValueError("The %s should be a int, and in range [-rank(x), rank(x))" % arg)
    start, stop = start_axis % n, stop_axis % n
    if start > stop:
        raise ValueError("The stop_axis should be larger than stat_axis")
    return _with_shape("flatten", "flatten_contiguous_range", x, {"start_axis": start, "stop_axis": stop}, name)


def stack(x, axis=0, name=None):
    """The inputs along a new axis."""
    return one("stack", "stack", {"X": need_all(x, "x", "stack")}, {"axis": axis}, name, slot="Y")


def unstack(x, axis=0, num=None):
    """The slices along the axis, without it."""
    need(x, "x", "unstack")
    count = x.shape[axis] if num is None else num
    call = Call("unstack")
    outs = [call.var() for _ in range(count)]
    call.op("unstack", {"X": x}, {"Y": outs}, {"axis": axis, "num": count})
    return outs


def unbind(input, axis=0):
    """The slices along the axis, without it."""
    need(input, "input", "unbind")
    call = Call("unbind")
    outs = [call.var() for _ in range(input.shape[axis])]
    call.op("unbind", {"X": input}, {"Out": outs}, {"axis": axis})
    return outs


def split(x, num_or_sections, axis=0, name=None):
    """Equal parts, or parts of the given sizes, along the axis."""
    need(x, "x", "split")
    if isinstance(axis, Value):
        raise TypeError("split: the axis must be known while the program is built")
    axis = axis + len(x.shape) if axis < 0 else axis
    call = Call("split", name)
    if isinstance(num_or_sections, int):
        size = x.shape[axis]
        if size > 0 and size % num_or_sections:
            error = ValueError if mode.eager else AssertionError
            raise error("The input's size along the split dimension must be evenly divisible by Attr(num_or_sections). But %d "
                        "is not evenly divisible by %d. " % (num_or_sections, size))
        count, attrs = num_or_sections, {"num": num_or_sections, "sections": []}
    else:
        sections = dims(num_or_sections, "num_or_sections", "split")
        if any(isinstance(s, Value) for s in sections):
            raise TypeError("split: the sections must be known while the program is built")
        count, attrs = len(sections), {"num": 0, "sections": sections}
    attrs["axis"] = axis
    outs = [call.var() for _ in range(count)]
    call.op("split", {"X": x}, {"Out": outs}, attrs)
    return outs


def chunk(x, chunks, axis=0, name=None):
    """Equal parts along the axis."""
    return split(x, chunks, axis, name)


def slice(input, axes, starts, ends):
    """input from starts to ends along the axes."""
    need(input, "input", "slice")
    axes = dims(axes, "axes", "slice")
    inputs, attrs, flags = {"Input": input}, {"axes": axes, "decrease_axis": []}, [1] * len(axes)
    for values, key, slot in ((starts, "starts", "Starts"), (ends, "ends", "Ends")):
        values = dims(values, key, "slice")
        if isinstance(values, Value):
            values.stop_gradient = True
            inputs[slot + "Tensor"] = values
            attrs[key], flags = [], [-1] * len(axes)
            continue
        attrs[key] = [-1 if isinstance(v, Value) else v for v in values]
        if any(isinstance(v, Value) for v in values):
            inputs[slot + "TensorList"] = [v if isinstance(v, Value) else int_tensor(v) for v in values]
            flags = [-1 if isinstance(v, Value) else f for v, f in zip(values, flags)]
    attrs["infer_flags"] = flags
    return one("slice", "slice", inputs, attrs)


def strided_slice(x, axes, starts, ends, strides, name=None):
    """slice with steps."""
    need(x, "x", "strided_slice")
    axes = dims(axes, "axes", "strided_slice")
    inputs, attrs, flags = {"Input": x}, {"axes": axes}, [1] * len(axes)
    for values, key in ((starts, "starts"), (ends, "ends"), (strides, "strides")):
        values, slot = dims(values, key, "strided_slice"), key.capitalize() + "Tensor"
        if isinstance(values, Value):
            values.stop_gradient = True
            inputs[slot], attrs[key], flags = values, [], [-1] * len(axes)
            continue
        attrs[key] = [-1 if isinstance(v, Value) else v for v in values]
        if any(isinstance(v, Value) for v in values):
            inputs[slot + "List"] = [v if isinstance(v, Value) else int_tensor(v) for v in values]
            flags = [-1 if isinstance(v, Value) else f for v, f in zip(values, flags)]
    attrs["infer_flags"] = flags
    return one("strided_slice", "strided_slice", inputs, attrs, name)


def getitem(var, item):
    """var[item] of 2.x: slice or strided_slice, None makes a dimension."""
    parts = list(item) if isinstance(item, tuple) else [item]
    if any(isinstance(p, Value) and p.dtype is not None and p.dtype.dtype == "bool" for p in parts):
        from paddle.tensor.search import masked_select
        if len(parts) > 1:
            raise TypeError("a Variable is indexed by one mask at a time")
        return masked_select(var, parts[0])
    if len(parts) == 1 and isinstance(parts[0], Variable) and len(parts[0].shape) > 0:
        return gather(var, parts[0])
    rank = len(var.shape)
    real = [p for p in parts if p is not None and p is not Ellipsis]
    if Ellipsis in [p for p in parts if p is Ellipsis]:
        at = [i for i, p in enumerate(parts) if p is Ellipsis][0]
        parts[at:at + 1] = [builtin_slice(None)] * (rank - len(real))
    if len(real) > rank:
        raise IndexError("too many indices (%d) for the %d dimensions of %s" % (len(real), rank, var.name))
    axes, starts, ends, steps, decrease, new = [], [], [], [], [], []
    dim, shown = 0, 0
    for part in parts:
        if part is None:
            new.append(shown)
            shown += 1
            continue
        if isinstance(part, builtin_slice):
            shown += 1
            if part == builtin_slice(None):
                dim += 1
                continue
            step = 1 if part.step is None else part.step
            axes.append(dim)
            steps.append(step)
            starts.append(part.start if part.start is not None else (0 if step > 0 else INT_MAX))
            ends.append(part.stop if part.stop is not None else (INT_MAX if step > 0 else -1))
        elif isinstance(part, Value):
            axes.append(dim)
            decrease.append(dim)
            steps.append(1)
            starts.append(part)
            ends.append(part + 1)
        elif hasattr(part, "__index__"):
            index = part.__index__()
            if var.shape[dim] >= 0 and not -var.shape[dim] <= index < var.shape[dim]:
                raise IndexError("index %d is out of bounds for dimension %d with size %d" % (index, dim, var.shape[dim]))
            axes.append(dim)
            decrease.append(dim)
            steps.append(1)
            starts.append(index)
            ends.append(index + 1 if index != -1 else INT_MAX)
        else:
            raise TypeError("a Variable is indexed by int, slice, None, ... or Variable, but got %s" % type(part))
        dim += 1
    out = _slice_op(var, axes, starts, ends, steps, decrease) if axes else var
    return unsqueeze(out, new) if new else out


def _slice_op(var, axes, starts, ends, steps, decrease):
    strided = any(s != 1 for s in steps)
    kind = "strided_slice" if strided else "slice"
    inputs, attrs, flags = {"Input": var}, {"axes": axes, "decrease_axis": decrease}, [1] * len(axes)
    for values, key, slot in ((starts, "starts", "StartsTensorList"), (ends, "ends", "EndsTensorList")):
        attrs[key] = [-1 if isinstance(v, Value) else v for v in values]
        if any(isinstance(v, Value) for v in values):
            inputs[slot] = [v if isinstance(v, Value) else int_tensor(v) for v in values]
            flags = [-1 if isinstance(v, Value) else f for v, f in zip(values, flags)]
    if strided:
        attrs["strides"] = steps
    attrs["infer_flags"] = flags
    from paddle._op import _append, _create_var
    out = _create_var(net.block, net.name(var.name + "_" + kind), persistable=False)
    _append(net.block, kind, inputs, {"Out": out}, attrs)
    return out


def gather(x, index, axis=None, name=None):
    """Rows (or other slices) by number."""
    need(x, "x", "gather")
    need(index, "index", "gather")
    inputs, attrs = {"X": x, "Index": index}, {}
    if isinstance(axis, Value):
        inputs["Axis"] = axis
    else:
        attrs["axis"] = 0 if axis is None else axis
    return one("gather", "gather", inputs, attrs, name)


def gather_nd(x, index, name=None):
    """Slices by numbers in several dimensions."""
    return one("gather_nd", "gather_nd", {"X": need(x, "x", "gather_nd"), "Index": need(index, "index", "gather_nd")},
               name=name)


def scatter(x, index, updates, overwrite=True, name=None):
    """x with rows replaced (overwrite) or added to."""
    return one("scatter", "scatter", {"X": need(x, "x", "scatter"), "Ids": need(index, "index", "scatter"),
                                      "Updates": need(updates, "updates", "scatter")}, {"overwrite": overwrite}, name)


def tile(x, repeat_times, name=None):
    """x repeated along its dimensions."""
    need(x, "x", "tile")
    times = dims(repeat_times, "repeat_times", "tile")
    inputs, attrs = {"X": x}, {}
    if isinstance(times, Value):
        times.stop_gradient = True
        inputs["RepeatTimes"] = times
        attrs["repeat_times"] = [-1] * times.shape[0]
    else:
        attrs["repeat_times"] = [-1 if isinstance(d, Value) else d for d in times]
        if any(isinstance(d, Value) for d in times):
            inputs["repeat_times_tensor"] = [d if isinstance(d, Value) else int_tensor(d) for d in times]
    return one("tile", "tile", inputs, attrs, name)


def expand(x, shape, name=None):
    """x repeated to the shape; -1 keeps a dimension."""
    need(x, "x", "expand")
    sizes = dims(shape, "shape", "expand")
    inputs, attrs = {"X": x}, {}
    if isinstance(sizes, Value):
        sizes.stop_gradient = True
        inputs["Shape"] = sizes
    else:
        attrs["shape"] = [-1 if isinstance(d, Value) else d for d in sizes]
        if any(isinstance(d, Value) for d in sizes):
            inputs["expand_shapes_tensor"] = [d if isinstance(d, Value) else int_tensor(d) for d in sizes]
    return one("expand", "expand_v2", inputs, attrs, name)


broadcast_to = expand


def broadcast_shape(x_shape, y_shape):
    """The shape that two shapes give together; -1: known later."""
    out = []
    for i in range(1, max(len(x_shape), len(y_shape)) + 1):
        a = x_shape[-i] if i <= len(x_shape) else 1
        b = y_shape[-i] if i <= len(y_shape) else 1
        if a != b and a > 1 and b > 1:
            raise ValueError("broadcast_shape: the shapes %s and %s do not fit together: %d and %d, counted from the end at %d" %
                             (list(x_shape), list(y_shape), a, b, i))
        out.insert(0, -1 if -1 in (a, b) and max(a, b) <= 1 else max(a, b) if 0 not in (a, b) else 0)
    return out


def broadcast_tensors(input, name=None):
    """All inputs in the shape that they have together."""
    if not isinstance(input, (list, tuple)) or not input:
        raise ValueError("broadcast_tensors: the input must be a list of at least one tensor, but received %s" % type(input))
    shape = []
    for x in need_all(input, "input", "broadcast_tensors"):
        shape = broadcast_shape(shape, list(x.shape))
    return [expand(x, shape) for x in input]


def expand_as(x, y, name=None):
    """x repeated to the shape of y."""
    need(x, "x", "expand_as")
    need(y, "y", "expand_as")
    return one("expand_as", "expand_as_v2", {"X": x, "Y": y}, {"target_shape": list(y.shape)}, name)


def roll(x, shifts, axis=None, name=None):
    """Elements moved along the axis, those that fall out come in at the other end."""
    need(x, "x", "roll")
    return one("roll", "roll", {"X": x}, {"axis": [] if axis is None else dims(axis, "axis", "roll"),
                                          "shifts": dims(shifts, "shifts", "roll")}, name)


def flip(x, axis, name=None):
    """Elements in opposite order along the axes."""
    return one("flip", "flip", {"X": need(x, "x", "flip")}, {"axis": dims(axis, "axis", "flip")}, name)


__getattr__ = _names.guard(__name__)
