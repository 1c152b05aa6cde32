"""Loops over variables as while ops.

The body is traced into the op's block with the state it begins with. Where a step leaves another kind of value than it found (a
number that counts up, a size that grows, a name that is set for the first time) the block is dropped and traced again with a
variable that holds both, until a step gives what it takes.
"""
from skiff import _native

from paddle.fluid._build import net
from paddle.fluid.framework import Variable
from paddle.jit.merge import NUMBER, UNDEFINED, Unset, as_bool, as_variable, constant, is_array, kind_of, logical, missing, put
from paddle.jit.merge import refuse_at, shape_of, take, to_arrays, wider

_layers = _native.layers
_MOST = 12  # traces of one body


class _Carried(object):
    """How a leaf goes from step to step: as a variable of this type and these sizes."""

    __slots__ = ("dtype", "shape")

    def __init__(self, dtype, shape):
        self.dtype, self.shape = dtype, list(shape)


def _joined(one, other):
    """Sizes that hold for both."""
    if len(one) != len(other):
        return list(other)
    return [a if a == b else -1 for a, b in zip(one, other)]


class _Again(Exception):
    """The body must be traced again: a leaf is carried in another way."""


class While(object):
    """while test(): body(), as an op."""

    def __init__(self, test, body, get, set, names, kept, place, grown):
        self._test, self._body, self._get, self._set = test, body, get, set
        self._names, self._kept, self._place = names, kept, place
        self._values = to_arrays(get(), names, grown)
        self._carried = {}  # (name, leaf): how it is carried, where that is not what it begins with
        self._forms = {}    # name: form, of those that have no value before the loop

    def build(self):
        """Appends the op; names have the values behind the loop."""
        for _ in range(_MOST):
            try:
                return self._trace()
            except _Again:
                net.leave_block()
        refuse_at(self._place, "what this loop over tensors changes has another type or structure after every step")

    # ---- the state before the loop ----

    def _begin(self):
        """[(form, leaves)] of the state, with variables of the loop's own."""
        state = []
        for name, value in zip(self._names, self._values):
            leaves = []
            form = take(value, leaves)
            if form is None and missing(leaves[0]) and name in self._forms:
                form, leaves = self._forms[name], [UNDEFINED] * self._count(self._forms[name])
            state.append((form, [self._first(name, at, leaf) for at, leaf in enumerate(leaves)]))
        return state

    @staticmethod
    def _count(form):
        return 1 if form is None else sum(While._count(part) for part in form[2])

    def _first(self, name, at, leaf):
        how, leaf = self._carried.get((name, at)), as_variable(leaf)
        if isinstance(leaf, Variable) and not is_array(leaf):
            value, shape = leaf, how.shape if how else shape_of(leaf)
            if how and how.dtype != leaf.dtype.dtype:
                value = _layers.cast(net, value, how.dtype)
        elif how is None:
            return leaf
        elif missing(leaf):  # first set in the loop: not read before
            value, shape = constant(0, how.dtype, [1 if n < 0 else n for n in how.shape]), how.shape
        else:
            value, shape = constant(leaf, how.dtype), how.shape
        out = _layers.assign(net, value, None)
        out.shape = shape
        return out

    @staticmethod
    def _packed(state):
        return [put(form, iter(leaves)) for form, leaves in state]

    # ---- a step ----

    def _trace(self):
        state = self._begin()
        self._set(self._packed(state))
        test = _layers.assign(net, self._condition(), None)
        loop = net.while_begin(test, True)
        self._set(self._packed(state))
        try:
            self._body()
            after = [self._compared(*entry) for entry in zip(self._names, state, self._get())]
            if self._changes:
                raise _Again
            go = self._condition()
            self._write(state, after)
            _layers.assign(net, go, test)
        except _Again:
            raise
        except BaseException:
            net.leave_block()
            raise
        loop.end()
        self._finish(state)

    def _condition(self):
        self._changes = False
        go = self._test()
        if not isinstance(go, Variable):
            go = constant(bool(go), "bool")
        return as_bool(go)

    def _compared(self, name, before, value):
        """Leaves after a step, None for those that need not be written."""
        form, leaves = before
        now = []
        shape = take(value, now)
        if form is None and missing(leaves[0]):
            if not missing(value) and name in self._kept and all(isinstance(as_variable(v), Variable) or isinstance(v, NUMBER)
                                                                  for v in now):
                self._appears(name, shape, now)
            return [None]
        if shape != form:
            self._refuse(name, put(form, iter(leaves)), value)
        return [self._leaf(name, at, *pair) for at, pair in enumerate(zip(leaves, now))]

    def _appears(self, name, form, leaves):
        """A name that the body sets first and that is read behind the loop."""
        self._forms[name] = form
        for at, leaf in enumerate(leaves):
            leaf = as_variable(leaf)
            self._carry(name, at, *((leaf.dtype.dtype, shape_of(leaf)) if isinstance(leaf, Variable) else (kind_of(leaf), [])))

    def _carry(self, name, at, dtype, shape):
        self._carried[name, at] = _Carried(dtype, shape)
        self._changes = True

    def _leaf(self, name, at, before, now):
        now = as_variable(now)
        if now is before:
            return None
        if isinstance(before, Variable) and not is_array(before):
            return self._variable(name, at, before, now)
        if isinstance(before, NUMBER) and isinstance(now, NUMBER) and before == now and type(before) is type(now):
            return None
        if isinstance(before, NUMBER) and isinstance(now, NUMBER):
            self._carry(name, at, wider(kind_of(before), kind_of(now)), [])
        elif isinstance(before, NUMBER) and isinstance(now, Variable):
            self._carry(name, at, now.dtype.dtype, shape_of(now))
        elif isinstance(now, Variable) or isinstance(before, Variable) or not _same(before, now):
            self._refuse(name, before, now)
        return None

    def _variable(self, name, at, before, now):
        if isinstance(now, NUMBER):
            return constant(now, before.dtype.dtype)
        if not isinstance(now, Variable) or is_array(now):
            self._refuse(name, before, now)
        shape, kinds = shape_of(before), [before.dtype.dtype, now.dtype.dtype]
        if kinds[0] != kinds[1] or _joined(shape, shape_of(now)) != shape:
            if (name, at) not in self._carried and kinds[0] != kinds[1]:
                refuse_at(self._place, "%s is %s before this loop over a tensor and %s after a step: cast one of them" %
                          (name, kinds[0], kinds[1]))
            self._carry(name, at, wider(*kinds), _joined(shape, shape_of(now)))
        return now

    def _refuse(self, name, before, now):
        from paddle.jit.merge import _described
        refuse_at(self._place, "%s is %s before this loop over a tensor and %s after a step: a program carries tensors and numbers "
                  "of one structure from step to step" % (name, _described(before), _described(now)))

    # ---- after a step ----

    def _write(self, state, after):
        """The step's values into the loop's variables. One that is another variable of the loop is copied first: a, b = b, a."""
        own = {id(leaf) for _, leaves in state for leaf in leaves if isinstance(leaf, Variable)}
        pairs = [(new, old) for (_, leaves), news in zip(state, after) for new, old in zip(news, leaves) if new is not None]
        pairs = [(_layers.assign(net, new, None) if id(new) in own else new, old) for new, old in pairs]
        for new, old in pairs:
            _layers.assign(net, new, old)

    def _finish(self, state):
        values = self._packed(state)
        for at, (name, value) in enumerate(zip(self._names, values)):
            if missing(value):
                values[at] = Unset(name, self._place, "is set only inside of this loop over a tensor")
        self._set(values)


def _same(a, b):
    try:
        return a is b or type(a) is type(b) and bool(a == b)
    except Exception:
        return False


# ---- for ----


class _Counted(object):
    """Items by number, with a count by a variable: start, start + step .. below stop; item(i) is what the body gets."""

    def __init__(self, start, stop, step, item, place=None):
        self.start, self.stop, self.step, self.item, self._place = start, stop, step, item, place

    def __iter__(self):
        from paddle.jit.trace import NeedsValue, user_line
        raise NeedsValue("%s: the number of iterations is a tensor, which is known when the program runs (paddle.jit): only a for "
                         "statement can be written to the program" % user_line())


def length(value):
    """len of a variable: a number where it is known."""
    from paddle.tensor import shape
    from paddle.tensor.array import array_length
    if is_array(value):
        return array_length(value)
    dims = shape_of(value)
    if not dims:
        raise TypeError("len() of a 0-D tensor")
    return dims[0] if dims[0] >= 0 else shape(value)[0]


def numbers(*args):
    """range(...)"""
    if not any(isinstance(v, Variable) for v in args):
        return range(*args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (args[0], args[1], 1) if len(args) == 2 else args
    return _Counted(start, stop, step, lambda i: i)


def numbered(items, start=0):
    """enumerate(...)"""
    found = counted(items, None)
    if found is None:
        return enumerate(items, start)
    if (found.start, found.step) != (0, 1):
        raise TypeError("enumerate of a range over tensors must begin at 0 and count by 1")
    return _Counted(0, found.stop, 1, lambda i: (i + start if start else i, found.item(i)))


def counted(items, place):
    """Items that a variable counts; None for Python's own."""
    if isinstance(items, _Counted):
        return items
    if not isinstance(items, Variable):
        return None
    stop = length(items)
    if not isinstance(stop, Variable):
        return None
    if is_array(items):
        from paddle.tensor.array import array_read
        return _Counted(0, stop, 1, lambda i: array_read(items, i))
    return _Counted(0, stop, 1, lambda i: items[i])


def each(items, body, go, get, set, names, kept, place, grown):
    """for item in items: body(item), as long as go()"""
    if isinstance(items.step, Variable) or items.step == 0:
        refuse_at(place, "the step of this range must be a number, not 0")
    box = [_whole(items.start)]
    stop = _whole(items.stop)

    def test():
        more = box[0] < stop if items.step > 0 else box[0] > stop
        if go is None:
            return more
        on = go()
        return logical("logical_and", more, as_bool(on)) if isinstance(on, Variable) else logical(
            "logical_and", more, constant(bool(on), "bool"))

    def step():
        now = box[0]
        body(items.item(now))
        box[0] = now + items.step

    def put_all(values):
        box[0] = values[0]
        set(values[1:])

    While(test, step, lambda: (box[0],) + tuple(get()), put_all, ("the count",) + tuple(names), kept, place, grown).build()


def _whole(value):
    """A count as an int64 variable."""
    if not isinstance(value, Variable):
        return constant(value, "int64")
    return value if value.dtype.dtype == "int64" else _layers.cast(net, value, "int64")
