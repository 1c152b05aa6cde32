"""Shapes: reshape, concat, split, slice, gather and their kin."""
from builtins import slice as builtin_slice

from paddle import _names
from paddle._op import Value, declared, int_tensor, need_all
from paddle.fluid._build import net
from paddle.fluid.framework import Variable

globals().update(declared(__name__))

INT_MAX = 2147483647


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


__getattr__ = _names.guard(__name__)
