"""Two branches of a program as one state: what differs is selected when the program runs."""
import linecache

from skiff import _native

from paddle._mode import mode
from paddle._tensor import Tensor
from paddle.fluid._build import net
from paddle.fluid.framework import Variable
from paddle.jit.exits import VALUE
from paddle.jit.trace import NeedsValue

_layers = _native.layers
NUMBER = (bool, int, float)


class _Undefined(object):
    """A name without a value."""

    def __repr__(self):
        return "nothing"


UNDEFINED = _Undefined()


def refuse_at(place, why):
    """NeedsValue with the statement and its place."""
    file, line = place
    text = linecache.getline(file, line).strip()
    raise NeedsValue("%s:%d: `%s` (paddle.jit): %s" % (file, line, text, why))


class Unset(object):
    """Stands for a name that only one side of a branch, or only the body of a loop, has set. Using it is refused."""

    def __init__(self, name, place, why):
        self.__dict__.update(_skiff_name=name, _skiff_place=place, _skiff_why=why)

    def _skiff_refuse(self, *_, **__):
        refuse_at(self._skiff_place, "%s %s, and is used afterwards: give it a value before" %
                  (self._skiff_name, self._skiff_why))

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__") or name == "_fields":
            raise AttributeError(name)
        self._skiff_refuse()


for _name in ("add radd sub rsub mul rmul truediv rtruediv floordiv mod pow rpow matmul neg lt le gt ge eq ne getitem setitem call "
              "iter len bool float int index").split():
    setattr(Unset, "__%s__" % _name, Unset._skiff_refuse)
Unset.__hash__ = object.__hash__


def missing(value):
    return value is UNDEFINED or isinstance(value, Unset)


# ---- nested values ----


def take(value, leaves):
    """The leaves of nested lists, tuples and dicts into `leaves`; gives their form."""
    if isinstance(value, dict):
        return type(value), tuple(value), tuple(take(v, leaves) for v in value.values())
    if isinstance(value, (list, tuple)):
        return type(value), None, tuple(take(v, leaves) for v in value)
    leaves.append(value)
    return None


def put(form, leaves):
    """What `take` took apart, with other leaves (an iterator)."""
    if form is None:
        return next(leaves)
    kind, keys, parts = form
    items = [put(part, leaves) for part in parts]
    if keys is not None:
        return kind(zip(keys, items)) if kind is dict else _filled(kind, keys, items)
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def _filled(kind, keys, items):
    out = kind()
    out.update(zip(keys, items))
    return out


def copied(values):
    """The same leaves in lists and dicts of their own."""
    leaves = []
    form = take(values, leaves)
    return put(form, iter(leaves))


# ---- variables ----


def is_array(value):
    return isinstance(value, Variable) and value.kind == "LOD_TENSOR_ARRAY"


def as_variable(value):
    """A tensor of eager mode as a variable of the trace."""
    return mode.trace.variable(value) if isinstance(value, Tensor) and mode.trace is not None else value


def as_bool(value):
    """A condition."""
    return value if value.dtype.dtype == "bool" else _layers.cast(net, value, "bool")


def logical(kind, *values):
    """logical_and, logical_or, logical_not of conditions."""
    return getattr(_layers, kind)(net, *values, None)


def constant(value, dtype, shape=None):
    """A number as a variable."""
    from paddle.fluid.layers.tensor import fill_constant
    if net.main.generation == 1:
        return fill_constant(shape or [1], dtype, value)
    from paddle._op import fill
    return fill(shape or [], value, dtype)


def kind_of(value):
    """The type of a number in a program."""
    return "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float32"


def wider(one, other):
    """The type that holds numbers of both."""
    order = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
    return max(one, other, key=order.index)


def zeros_like(var):
    """Zeros of a variable's type, in its shape as far as that is known."""
    return constant(0, var.dtype.dtype, [1 if n < 0 else n for n in shape_of(var)])


def shape_of(var):
    """Sizes, -1 for those that a run decides (Variable.shape has variables there while a function is traced)."""
    return list(var.shape)


def to_arrays(values, names, grown):
    """Lists that a branch or loop appends to become arrays of the program."""
    out = list(values)
    for at, name in enumerate(names):
        if name in grown and isinstance(out[at], list) and all(isinstance(v, (Variable, Tensor)) for v in out[at]):
            out[at] = _array(out[at])
    return out


def _array(items):
    from paddle.tensor.array import create_array
    items = [as_variable(v) for v in items]
    return create_array(items[0].dtype.dtype if items else "float32", items)


# ---- branches ----


class Branches(object):
    """Both sides of an if over a variable."""

    def __init__(self, test, before, names, place):
        self._test, self._names, self._place = test, names, place
        self._before, self._sides, self._mask = [], {}, None
        for value in before:
            leaves = []
            take(value, leaves)
            self._before.append(leaves)

    def side(self, which, function, get):
        """Traces a branch in its own block; its results are visible outside of it."""
        test = self._test if which else logical("logical_not", self._test)
        branch = net.branch_begin([test], True)
        try:
            function()
            out = [self._exported(branch, value, was) for value, was in zip(get(), self._before)]
        except BaseException:
            net.leave_block()
            raise
        branch.end()
        self._sides[which] = out

    def _exported(self, branch, value, before):
        leaves, out = [], []
        form = take(value, leaves)
        for at, leaf in enumerate(leaves):
            leaf = as_variable(leaf)
            same = at < len(before) and leaf is before[at]
            out.append(branch.output(leaf) if isinstance(leaf, Variable) and not same and not is_array(leaf) else leaf)
        return form, out

    def merged(self):
        return [self._join(*entry) for entry in zip(self._names, self._sides[True], self._sides[False])]

    def _join(self, name, true, false):
        gone = [side[0] is None and missing(side[1][0]) for side in (true, false)]
        if all(gone):
            return true[1][0]
        if any(gone) and name != VALUE:
            return Unset(name, self._place, "is set on one side only of this `if` over a tensor")
        if any(gone):
            return self._returned(false if gone[0] else true, gone[0])
        if true[0] != false[0]:
            self._differ(name, put(true[0], iter(true[1])), put(false[0], iter(false[1])))
        leaves = [self._leaf(name, a, b) for a, b in zip(true[1], false[1])]
        return put(true[0], iter(leaves))

    def _returned(self, side, first):
        """A value that one side returns: what the other has in its place is never looked at (see exits.RETURNED)."""
        form, leaves = side
        out = []
        for leaf in leaves:
            leaf = constant(leaf, kind_of(leaf)) if isinstance(leaf, NUMBER) else leaf
            if isinstance(leaf, Variable):
                none = zeros_like(leaf)
                leaf = self._select(*((none, leaf) if first else (leaf, none)))
            out.append(leaf)
        return put(form, iter(out))

    def _leaf(self, name, a, b):
        if a is b:
            return a
        tensor = [isinstance(v, Variable) for v in (a, b)]
        number = [isinstance(v, NUMBER) for v in (a, b)]
        if all(number) and a == b and type(a) is type(b):
            return a
        if not all(t or n for t, n in zip(tensor, number)):
            if not any(tensor) and type(a) is type(b) and _equal(a, b):
                return a
            self._differ(name, a, b)
        if all(tensor):
            if a.dtype.dtype != b.dtype.dtype:
                refuse_at(self._place, "%s is %s on one side and %s on the other: cast one of them" %
                          (_shown(name), a.dtype.dtype, b.dtype.dtype))
            return self._select(a, b)
        return self._select(*_as_one_type(a, b))

    def _select(self, true, false):
        if self._mask is None:
            self._mask = _layers.cast(net, self._test, "int32")
        return net.select_input([false, true], self._mask)

    def _differ(self, name, a, b):
        refuse_at(self._place, "%s is %s on one side of this `if` over a tensor and %s on the other: a program selects between "
                  "tensors and numbers of one structure" % (_shown(name), _described(a), _described(b)))


def _as_one_type(a, b):
    """Two variables of one type, of numbers and variables."""
    kinds = [v.dtype.dtype if isinstance(v, Variable) else kind_of(v) for v in (a, b)]
    if all(isinstance(v, NUMBER) for v in (a, b)):
        wanted = wider(*kinds)
    else:  # a number takes the tensor's type, unless it would lose its fraction
        at = 0 if isinstance(a, Variable) else 1
        whole = kinds[1 - at] != "float32" or kinds[at].startswith(("float", "bfloat"))
        wanted = kinds[at] if whole and kinds[at] != "bool" else wider(*kinds)
    return [_layers.cast(net, v, wanted) if isinstance(v, Variable) and v.dtype.dtype != wanted else
            v if isinstance(v, Variable) else constant(v, wanted) for v in (a, b)]


def _equal(a, b):
    try:
        return bool(a == b)
    except Exception:
        return False


def _shown(name):
    return "the returned value" if name == VALUE else name


def _described(value):
    if isinstance(value, (Variable, Tensor)):
        return "a tensor"
    if isinstance(value, (list, tuple, dict)):
        return "a %s of %d" % (type(value).__name__, len(value))
    return repr(value)[:40]


