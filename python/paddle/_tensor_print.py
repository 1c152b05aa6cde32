"""Tensors as text, in Paddle 2.6's form: items of one width, wrapped lines, the middle of large ones left out."""
import numpy


class _Options(object):
    precision, threshold, edgeitems, sci_mode, linewidth = 8, 1000, 3, False, 80


options = _Options()


def set_printoptions(precision=None, threshold=None, edgeitems=None, sci_mode=None, linewidth=None):
    """How tensors are printed: digits, elements before it is shortened, elements at both ends, 1e+0, width of a line."""
    for name, value, kind in (("precision", precision, int), ("threshold", threshold, int), ("edgeitems", edgeitems, int),
                              ("sci_mode", sci_mode, bool), ("linewidth", linewidth, int)):
        if value is None:
            continue
        if not isinstance(value, kind):
            raise TypeError("The type of '%s' in set_printoptions must be %s, but received %s." % (name, kind, type(value)))
        setattr(options, name, value)


def _word(value):
    if value.dtype.kind != "f":
        return str(value)
    if options.sci_mode:
        return "%.*e" % (options.precision, value)
    if numpy.ceil(value) == value:
        return "%.0f." % value
    return "%.*f" % (options.precision, value)


def _ends(array):
    """What of an array is printed when it is shortened."""
    for axis in range(array.ndim):
        if array.shape[axis] > 2 * options.edgeitems:
            keep = list(range(options.edgeitems)) + list(range(array.shape[axis] - options.edgeitems, array.shape[axis]))
            array = array.take(keep, axis)
    return array


class _Writer(object):
    def __init__(self, array, short):
        self.short = short
        seen = _ends(array).ravel()
        words = [_word(value) for value in seen]
        self.width = max([len(word) for word in words] or [0])
        self.signed = array.dtype.kind != "b" and bool((seen < 0).any())

    def word(self, value):
        word = _word(value)
        if self.width <= len(word):
            return word
        if self.signed and not value < 0:
            return " " + word.ljust(self.width - 1)
        return word.ljust(self.width)

    def parts(self, array, write):
        edge = options.edgeitems
        if self.short and array.shape[0] > 2 * edge:
            return [write(v) for v in array[:edge]] + ["..."] + [write(v) for v in array[-edge:]]
        return [write(v) for v in array]

    def write(self, array, indent):
        if array.ndim == 0:
            return self.word(array[()])
        if array.ndim == 1:
            words = self.parts(array, self.word)
            per_line = max(1, (options.linewidth - indent) // (self.width + 2))
            lines = [", ".join(words[i:i + per_line]) for i in range(0, len(words), per_line)]
            return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
        parts = self.parts(array, lambda part: self.write(part, indent + 1))
        return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def text(tensor, prefix="Tensor"):
    """Tensor(shape=[2], dtype=float32, place=Place(cpu), stop_gradient=True, ...)"""
    if tensor._kind != "tensor":
        return "Tensor(Not initialized)"
    array = (tensor.detach().astype("float32") if tensor._dtype == "bfloat16" else tensor)._numpy()
    indent = len(prefix) + 1
    short = array.ndim > 0 and array.size > options.threshold
    return "%s(shape=%s, dtype=%s, place=Place(cpu), stop_gradient=%s,\n%s%s)" % (
        prefix, tensor.shape, tensor._dtype, tensor.stop_gradient, " " * indent, _Writer(array, short).write(array, indent))
