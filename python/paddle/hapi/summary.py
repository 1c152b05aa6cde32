"""paddle.summary: a table of a network's layers with the shapes that go through them and their parameters."""
from paddle import _names
from paddle._op import Value
from paddle.framework import no_grad
from paddle.static.input import InputSpec


def _is_shape(value):
    return all(isinstance(d, int) or d is None for d in value)


def _sizes(value):
    """A tuple of ints, or nested lists of such."""
    if isinstance(value, InputSpec):
        value = tuple(value.shape)
    if isinstance(value, int):
        value = (value,)
    if isinstance(value, (list, tuple)) and _is_shape(value):
        if sum(1 for d in value if d is None or d == -1) > 1:
            raise ValueError("Option input_size only the dim of batch_size can be None or -1.")
        for d in value:
            if d is not None and d != -1 and d <= 0:
                raise ValueError("Expected element in input size greater than zero, but got %s" % d)
        return tuple(1 if d is None or d == -1 else d for d in value)
    if not isinstance(value, (list, tuple)):
        raise AssertionError("input_size is a shape, an InputSpec or a list of them, but got %s" % type(value))
    return [_sizes(v) for v in value]


def _sizes_of(value):
    if isinstance(value, Value):
        return tuple(value.shape)
    if isinstance(value, dict):
        return [_sizes_of(v) for v in value.values()]
    if isinstance(value, (list, tuple)):
        return [_sizes_of(v) for v in value]
    raise ValueError("Input is not tensor, list, tuple and dict, unable to determine input_size, please input input_size.")


def _made(sizes, dtypes):
    import paddle
    if isinstance(sizes, tuple):
        dtype = dtypes[0] if isinstance(dtypes, (list, tuple)) else dtypes
        return paddle.cast(paddle.rand(list(sizes)), dtype or "float32")
    dtypes = dtypes if isinstance(dtypes, (list, tuple)) else [dtypes] * len(sizes)
    return [_made(s, d) for s, d in zip(sizes, dtypes)]


def _shapes(value):
    if isinstance(value, (list, tuple)):
        return [_shapes(v) for v in value]
    return list(value.shape) if hasattr(value, "shape") else []


def _count(shape):
    out = 1
    for d in shape:
        out *= d
    return out


def _elements(shapes):
    if shapes and isinstance(shapes[0], list):
        return sum(_elements(s) for s in shapes)
    return _count(shapes)


class _Row(object):
    def __init__(self, layer, inputs, output):
        self.inputs, self.output = _shapes(inputs), _shapes(output)
        found = [p for p in layer._parameters.values() if p is not None]
        self.count = sum(_count(p.shape) for p in found)
        self.trained = sum(_count(p.shape) for p in found if not p.stop_gradient)


def _rows(net, inputs):
    """{name: _Row} of the layers in the order in which they end."""
    from paddle import nn
    rows, hooks, lonely = {}, [], not net.sublayers()

    def seen(layer, given, output):
        number = layer.full_name().split("_")[-1]
        name = "%s-%d" % (type(layer).__name__, (int(number) if number.isdigit() else len(rows)) + 1)
        rows[name] = _Row(layer, list(given) if isinstance(given, tuple) else given, output)

    def watch(layer):
        if not isinstance(layer, (nn.Sequential, nn.LayerList)) and (layer is not net or lonely):
            hooks.append(layer.register_forward_post_hook(seen))

    net.apply(watch)
    try:
        with no_grad():
            net(*inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return rows


def _table(rows, sizes):
    names = [(15, "Layer (type)", str), (20, "Input Shape", str), (20, "Output Shape", str), (15, "Param #", "{:,}".format)]
    lines = [(name, row.inputs, row.output, row.count) for name, row in rows.items()]
    widths = [max([least] + [len(str(line[i])) for line in lines]) for i, (least, _, _) in enumerate(names)]
    total = max(75, sum(widths) + 5)

    def line(cells):
        return " ".join("{:^{}}".format(cell, width) for cell, width in zip(cells, widths))

    count, trained = sum(r.count for r in rows.values()), sum(r.trained for r in rows.values())
    mega = 4.0 / 1024**2
    size_in = _elements_of(sizes) * mega
    size_out = 2.0 * sum(_elements(r.output) for r in rows.values()) * mega
    out = ["-" * total, line([title for _, title, _ in names]), "=" * total]
    out += [line([show(cell) for cell, (_, _, show) in zip(cells, names)]) for cells in lines]
    out += ["=" * total, "Total params: {:,}".format(count), "Trainable params: {:,}".format(trained),
            "Non-trainable params: {:,}".format(count - trained), "-" * total, "Input size (MB): %0.2f" % size_in,
            "Forward/backward pass size (MB): %0.2f" % size_out, "Params size (MB): %0.2f" % (count * mega),
            "Estimated Total Size (MB): %0.2f" % (size_in + size_out + count * mega), "-" * total, ""]
    return "\n".join(out), {"total_params": count, "trainable_params": trained}


def _elements_of(sizes):
    return _count(sizes) if isinstance(sizes, tuple) else sum(_elements_of(s) for s in sizes)


def summary(net, input_size=None, dtypes=None, input=None):
    """Prints the table; {"total_params": .., "trainable_params": ..}."""
    if input_size is None and input is None:
        raise ValueError("input_size and input cannot be None at the same time")
    sizes = _sizes_of(input) if input_size is None else _sizes(input_size)
    sizes = [sizes] if isinstance(sizes, tuple) else sizes
    training = net.training
    net.eval()
    try:
        rows = _rows(net, [input] if input is not None else _made(sizes, dtypes))
    finally:
        if training:
            net.train()
    text, counts = _table(rows, sizes)
    print(text)
    return counts


__getattr__ = _names.guard(__name__)
