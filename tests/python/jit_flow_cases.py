"""Functions and layers whose branches and loops depend on values, for paddle.jit.save. Run by real Paddle 2.6.2 this file writes
what the tests compare with: python jit_flow_cases.py > jit_flow.json"""
import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.static import InputSpec


def ramp(*shape, shift=0.0):
    return (np.arange(int(np.prod(shape)), dtype="float32").reshape(shape) * 0.5 - 2 + shift).astype("float32")


def n(value):
    return np.array([value], "int64")


ROWS, VECTOR, COUNT = InputSpec([None, 4], "float32", "x"), InputSpec([4], "float32", "v"), InputSpec([1], "int64", "n")
CASES = []


def case(function, specs, *feeds):
    """A function with the specs of its inputs and what it is run with. No decorator: Paddle would call it again."""
    CASES.append((function.__name__, function, specs, feeds))


# ---- if ----


def both_sides(x):
    if x.mean() > 0:
        y = x * 2
        z = y + 1
    else:
        y = x - 1
        z = x
    return y + z


case(both_sides, [ROWS], [ramp(2, 4)], [ramp(2, 4, shift=5)])


def one_side(x):
    y = x
    if paddle.max(x) > 3:
        y = y / 2
    return y


case(one_side, [ROWS], [ramp(2, 4)], [ramp(2, 4, shift=5)])


def many_sides(x):
    m = x.mean()
    if m < 0:
        scale = 1.0
    elif m < 3:
        scale = 2.0
    else:
        scale = m
    return x * scale


case(many_sides, [ROWS], [ramp(2, 4)], [ramp(2, 4, shift=1)], [ramp(2, 4, shift=9)])


def returns_early(x):
    if x.sum() > 20:
        return x * 10
    if x.sum() > 5:
        z = x + 1
        return z
    return -x


case(returns_early, [ROWS], [ramp(2, 4)], [ramp(2, 4, shift=2)], [ramp(3, 4, shift=9)])


def by_size(x):
    if paddle.shape(x)[0] == 1:
        return x * 2
    return x + 100


case(by_size, [ROWS], [ramp(1, 4)], [ramp(3, 4)])


def by_shape(x):
    if x.shape[0] > 2:
        out = x.sum(axis=1)
    else:
        out = x.mean(axis=1)
    return out


case(by_shape, [ROWS], [ramp(1, 4)], [ramp(3, 4)])


def logic(x):
    if x.mean() > 0 and not x.max() > 10:
        y = x * 2
    else:
        y = x - 1
    if x[0] > 5 or x[1] < -1:
        y = y + 100
    return y


case(logic, [VECTOR], [ramp(4)], [ramp(4, shift=2)], [ramp(4, shift=20)])


def ternary(x):
    y = x * 2 if x.mean() > 0 else x - 1
    return y + (1.0 if x[0] > 0 else x[1])


case(ternary, [VECTOR], [ramp(4)], [ramp(4, shift=4)])


def nested(x):
    y = x
    if x.mean() > 0:
        if x.max() > 5:
            y = x * 3
        else:
            y = x * 2
        y = y + 1
    return y


case(nested, [VECTOR], [ramp(4)], [ramp(4, shift=2)], [ramp(4, shift=8)])


def python_stays(x):
    parts, k = {"a": x}, 3
    if k > 2:
        parts["b"] = x * k
    if x.sum() > 0:
        axis = 0
        y = paddle.concat([parts["a"], parts["b"]], axis=axis)
    else:
        axis = 0
        y = paddle.concat([parts["b"], parts["a"]], axis=axis)
    return paddle.cumsum(y, axis=axis)


case(python_stays, [VECTOR], [ramp(4)], [ramp(4, shift=3)])


def chained(x):
    if 0 < x.mean() < 5:
        x = x * 100
    return x


case(chained, [VECTOR], [ramp(4)], [ramp(4, shift=2)], [ramp(4, shift=9)])


def structures(x):
    if x.sum() > 0:
        pair = (x, x * 2)
    else:
        pair = (x * 3, x * 4)
    a, b = pair
    return {"out": a, "more": [b, a + b]}


case(structures, [VECTOR], [ramp(4)], [ramp(4, shift=3)])


def condition_as_result(x):
    ok = x.sum() > 0
    if ok:
        ok = x.max() < 5
    return ok


case(condition_as_result, [VECTOR], [ramp(4, shift=3)], [ramp(4, shift=9)], [ramp(4)])


# ---- loops ----


def doubling(x):
    i = 0
    while x.sum() < 100 and i < 10:
        x = x * 2
        i += 1
    return x, i


case(doubling, [ROWS], [ramp(2, 4, shift=3)], [ramp(3, 4, shift=-5)])


def counting(n, x):
    s = x
    for i in range(n):
        s = s + i
        if s.sum() > 50:
            break
    return s


case(counting, [COUNT, ROWS], [n(5), ramp(2, 4)], [n(0), ramp(2, 4)], [n(50), ramp(1, 4)])


def range_of_three(n, x):
    for i in range(1, n, 2):
        if i == 3:
            continue
        x = x + i
    return x


case(range_of_three, [COUNT, VECTOR], [n(9), ramp(4)], [n(3), ramp(4)])


def rows(x):
    s = paddle.zeros([4])
    for r in x:
        if r.sum() < 0:
            continue
        s = s + r
    return s


case(rows, [ROWS], [ramp(5, 4)], [ramp(1, 4)])


def numbered_rows(x):
    s = paddle.zeros([4])
    for i, r in enumerate(x):
        s = s + r * i
    return s


case(numbered_rows, [ROWS], [ramp(5, 4)], [ramp(1, 4)])


def listed(n, x):
    outs = []
    for i in range(n):
        outs.append(x * i)
    return paddle.stack(outs), paddle.concat(outs)


case(listed, [COUNT, VECTOR], [n(3), ramp(4)], [n(1), ramp(4)])


def swapping(n, x):
    a, b = x, x + 1
    i = paddle.zeros([1], "int64")
    while i < n:
        a, b = b, a + b
        i = i + 1
    return a, b


case(swapping, [COUNT, VECTOR], [n(5), ramp(4)], [n(0), ramp(4)])


def loop_in_loop(n, x):
    s = paddle.zeros([1])
    for i in range(n):
        j = 0
        while j < 4:
            j += 1
            if j == 2:
                continue
            s = s + x[0] * j
            if s.sum() < -30:
                break
        s = s + i
    return s


case(loop_in_loop, [COUNT, VECTOR], [n(3), ramp(4)], [n(6), ramp(4)])


def python_loop_with_break(x):
    total = paddle.zeros([1])
    for i in range(4):
        if i == 3:
            break
        if x[i] > 4:
            total = total + 1
        else:
            total = total + x[i]
    return total


case(python_loop_with_break, [VECTOR], [ramp(4, shift=3)], [ramp(4, shift=9)])


def growing(n, x):
    y = x
    while paddle.shape(y)[0] < n * 4:
        y = paddle.concat([y, x])
    return y


case(growing, [COUNT, VECTOR], [n(4), ramp(4)], [n(1), ramp(4)])


def forever(x):
    i = 0
    while True:
        x = x * 1.5
        i += 1
        if x.abs().sum() > 50:
            break
        if i > 4:
            break
    else:
        x = x * 0
    return x


case(forever, [VECTOR], [ramp(4)], [ramp(4, shift=9)])


def returned_from_loops(n, x):
    for i in range(n):
        for j in range(3):
            if x[j] * i > 1.0:
                return x * i + j, i
    return x - 100, paddle.full([], -1, "int64")


case(returned_from_loops, [COUNT, VECTOR], [n(4), ramp(4, shift=2)], [n(4), ramp(4, shift=-3)], [n(0), ramp(4)])


def written_parts(n, x):
    y = paddle.zeros([4])
    for _ in range(n):
        y[0] = y[0] + x[0]
        y[1:3] += 1
    return y


case(written_parts, [COUNT, VECTOR], [n(3), ramp(4)], [n(0), ramp(4)])


# ---- calls ----


def helper(v, limit=2.0):
    if v.max() > limit:
        return v / v.max()
    return v


def calls(x):
    square = lambda v: v * v if v.sum() > 0 else v  # noqa: E731
    return helper(square(x)) + helper(x, limit=0.5)


case(calls, [VECTOR], [ramp(4)], [ramp(4, shift=3)])


class Gate(nn.Layer):
    """A layer with its own branch, called by another one."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3, weight_attr=nn.initializer.Constant(0.25), bias_attr=nn.initializer.Constant(-0.5))

    def forward(self, x):
        y = self.fc(x)
        if y.mean() > 0:
            y = F.relu(y)
        return y


class Tower(nn.Layer):
    def __init__(self):
        super().__init__()
        self.__gate = Gate()
        self.stack = nn.Sequential(Gate(), nn.Linear(3, 2, weight_attr=nn.initializer.Constant(0.5)))
        self.steps = 3

    def inner(self, x, times):
        for _ in range(times):
            x = x + 1
        return x

    def forward(self, x, n):
        out = self.stack(x)
        if n > 2:
            out = self.inner(out, self.steps)
        else:
            out = out * self.__gate(x).sum()
        for i in range(n):
            out = self.inner(out, i)
        return out


case(Tower, [ROWS, COUNT], [ramp(2, 4), n(1)], [ramp(2, 4, shift=5), n(1)], [ramp(3, 4, shift=5), n(4)])


def built(function):
    """A function, or a layer of the class, as a StaticFunction or Layer."""
    return function() if isinstance(function, type) else function


def flat(value):
    """Results as arrays."""
    if isinstance(value, dict):
        return [v for key in sorted(value) for v in flat(value[key])]
    if isinstance(value, (list, tuple)):
        return [v for item in value for v in flat(item)]
    return [np.asarray(value)]


def tensors(feed):
    return [paddle.to_tensor(v) for v in feed]


if __name__ == "__main__":
    import json
    import sys
    import tempfile
    import warnings
    warnings.simplefilter("ignore")
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, function, specs, feeds in CASES:
            try:
                paddle.jit.save(paddle.jit.to_static(built(function), input_spec=specs, full_graph=True), folder + "/" + name)
                loaded = paddle.jit.load(folder + "/" + name)
                out[name] = [[[v.dtype.name, list(v.shape), v.ravel().tolist()] for v in flat(loaded(*tensors(feed)))]
                             for feed in feeds]
            except Exception as error:  # what real Paddle cannot do: the tests compare with eager mode
                print(name, str(error)[-300:], file=sys.stderr)
    print(json.dumps(out))
