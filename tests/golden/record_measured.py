"""Records the cases of measured.tar.xz on real Paddle 2.6.2, in the form of docs/guide/record.md: values that Skiff once gave otherwise.

    PYTHONPATH=tools python tests/golden/record_measured.py measured
    tar --sort=name --owner=0 --group=0 --mtime=2026-01-01 -cJf tests/golden/measured.tar.xz measured
"""
import os
import sys

import numpy as np
import paddle
import paddle.nn.functional as F
from record_paddle import record

paddle.enable_static()
data = paddle.static.data


def given(name, array):
    """An input with a gradient, and its value for the feed."""
    array = np.asarray(array, "float32") if isinstance(array, list) else array
    var = data(name, list(array.shape), str(array.dtype))
    var.stop_gradient = array.dtype.kind != "f"
    FEED[name] = array
    return var


def with_gradients(out, *inputs):
    weights = (1 + np.arange(np.prod(out.shape) or 1)).reshape(out.shape).astype(FEED[inputs[0].name].dtype)
    loss = paddle.sum(out * paddle.assign(weights)) if out.shape else out
    return [out] + paddle.static.gradients([loss], list(inputs))


def probabilities(reduction):
    p, y = given("p", [[.5, .5, 0], [1, 0, 0]]), given("y", np.array([[0], [0]]))
    return with_gradients(F.cross_entropy(p, y, reduction=reduction, use_softmax=False), p)


def where():
    h, c = given("h", np.random.RandomState(1).rand(4, 3).astype("float32")), given("c", np.array([[True, False, True]]))
    return with_gradients(paddle.where(c, h, 1 - h), h)


def doubles(function):
    x = given("x", np.random.RandomState(2).uniform(-3, 3, (2, 3, 4)))
    return with_gradients(function(x), x)


FEED = {}
CASES = {
    "range/float32": lambda: [paddle.arange(0, end, 0.1, "float32") for end in (0.6, 0.3, 1.0)],
    "randperm/seeded": lambda: [paddle.randperm(n) for n in (5, 10, 6, 1, 2)] + [paddle.randperm(7, "float32")],
    "softmax_with_cross_entropy/probabilities": lambda: probabilities("none"),
    "softmax_with_cross_entropy/probabilities_mean": lambda: probabilities("mean"),
    "where/broadcast": where,
    "softmax/float64": lambda: doubles(F.softmax),
    "softmax/float64_axis": lambda: doubles(lambda x: F.softmax(x, axis=1)),
    "log_softmax/float64": lambda: doubles(F.log_softmax),
}


def main(out):
    for name, build in CASES.items():
        FEED.clear()
        program, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(program, startup), paddle.utils.unique_name.guard():
            fetches = build()
            record(paddle.static.Executor(), program, startup, [dict(FEED)], fetches, os.path.join(out, name), what=name,
                   seed=2023 if "randperm" in name else None, **(dict(rtol=1e-9, atol=1e-12) if "float64" in name else {}))


if __name__ == "__main__":
    main(sys.argv[1])
