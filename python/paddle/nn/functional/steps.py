"""Beams and frames: gather_tree, temporal_shift; attention under its other name."""
from paddle import _names
from paddle._op import need


def gather_tree(ids, parents):
    """Complete sequences of beams [time, batch, beam], followed from their ends through the parents."""
    from paddle.tensor.manipulation import slice, squeeze, stack
    from paddle.tensor.picking import take_along_axis
    if len(need(ids, "ids", "gather_tree").shape) != 3 or list(ids.shape) != list(need(parents, "parents", "gather_tree").shape):
        raise ValueError("gather_tree: ids %s and parents %s must both have the shape [time, batch, beam]" %
                         (list(ids.shape), list(parents.shape)))
    steps = ids.shape[0]

    def at(x, i):
        return squeeze(slice(x, [0], [i], [i + 1]), [0])

    out, place = [at(ids, steps - 1)], at(parents, steps - 1)
    for i in range(steps - 2, -1, -1):
        out.insert(0, take_along_axis(at(ids, i), place, 1))
        place = take_along_axis(at(parents, i), place, 1)
    return stack(out, 0)


def temporal_shift(x, seg_num, shift_ratio=0.25, name=None, data_format="NCHW"):
    """Parts of the channels of frames [batch * seg_num, ...] moved to the frame before and behind."""
    from paddle.tensor.linalg import transpose
    from paddle.tensor.manipulation import concat, reshape, slice
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError("Attr(data_format) should be 'NCHW' or 'NHWC'. Received Attr(data_format): %s." % data_format)
    last = data_format == "NHWC"
    x = transpose(need(x, "x", "temporal_shift"), [0, 3, 1, 2]) if last else need(x, "x", "temporal_shift")
    channels = x.shape[1]
    frames = reshape(x, [-1, seg_num, channels] + list(x.shape[2:]))
    first, second = int(channels * shift_ratio), int(channels * 2 * shift_ratio)

    def part(begin, end):
        return slice(frames, [2], [begin], [end])

    before, behind, rest = part(0, first), part(first, second), part(second, channels)
    empty = slice(before, [1], [0], [1]) * 0.0
    moved = [concat([empty, slice(before, [1], [0], [seg_num - 1])], 1) if seg_num > 1 else empty]
    empty = slice(behind, [1], [0], [1]) * 0.0
    moved.append(concat([slice(behind, [1], [1], [seg_num]), empty], 1) if seg_num > 1 else empty)
    out = reshape(concat(moved + [rest], 2), [-1, channels] + list(x.shape[2:]))
    return transpose(out, [0, 2, 3, 1]) if last else out


__getattr__ = _names.guard(__name__)
