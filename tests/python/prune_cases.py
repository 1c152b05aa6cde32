"""Networks of two losses that are run with use_prune, for Paddle 1.8 and 2.x; real Paddle records what they give:

    python prune_cases.py 1 > prune_1x.json        (real 1.8.5)
    python prune_cases.py 2 > prune_2x.json        (real 2.6.2)
"""
import json
import sys

import numpy as np

X = np.arange(8, dtype="float32").reshape(2, 4) / 8
Y = np.ones((2, 1), "float32")


class Face1:
    def __init__(self):
        import paddle.fluid as fluid
        self.programs, self.guard, self.scope_guard, self.scope = fluid.Program, fluid.program_guard, fluid.scope_guard, fluid.Scope
        self.global_scope, self.mean, self.sgd, self.adam = fluid.global_scope, fluid.layers.mean, fluid.optimizer.SGD, fluid.optimizer.Adam
        self.fluid = fluid

    def executor(self):
        return self.fluid.Executor(self.fluid.CPUPlace())

    def data(self, name, shape):
        return self.fluid.data(name, shape, "float32")

    def fc(self, x, size, name, act=None):
        attr = self.fluid.ParamAttr(name=name, initializer=self.fluid.initializer.Constant(.3))
        return self.fluid.layers.fc(x, size, param_attr=attr, bias_attr=False, act=act)


class Face2(Face1):
    def __init__(self):
        import paddle
        paddle.enable_static()
        static = paddle.static
        self.programs, self.guard, self.scope_guard, self.scope = static.Program, static.program_guard, static.scope_guard, static.Scope
        self.global_scope, self.mean, self.sgd, self.adam = static.global_scope, paddle.mean, paddle.optimizer.SGD, paddle.optimizer.Adam
        self.paddle, self.executor = paddle, static.Executor

    def data(self, name, shape):
        return self.paddle.static.data(name, shape, "float32")

    def fc(self, x, size, name, act=None):
        attr = self.paddle.ParamAttr(name=name, initializer=self.paddle.nn.initializer.Constant(.3))
        return self.paddle.static.nn.fc(x, size, weight_attr=attr, bias_attr=False, activation=act)


#: name: (what is fetched of loss, other loss and what minimize gives for each; optimizer; fed; use_prune)
CASES = {
    "loss": (lambda loss, other, a, b: [loss], "sgd", "xy", True),
    "adam": (lambda loss, other, a, b: [loss], "adam", "xy", True),
    "nothing": (lambda loss, other, a, b: [], "sgd", "xy", True),
    "what minimize gives": (lambda loss, other, a, b: [loss, a], "sgd", "xy", False),
    "that alone": (lambda loss, other, a, b: [a], "adam", "xy", False),
    "list of operators": (lambda loss, other, a, b: [a[0], loss], "sgd", "xy", True),
    "one operator": (lambda loss, other, a, b: [[a[0][0]], loss], "sgd", "xy", False),
    "the other": (lambda loss, other, a, b: [other, b], "adam", "xy", False),
    "the other without a label": (lambda loss, other, a, b: [other, b], "sgd", "x", False),
    "fed": (lambda loss, other, a, b: [loss, "x"], "sgd", "xy", True),
}


def values(F, name):
    """What the second run fetched, and the weights after it."""
    fetch, optimizer, fed, prune = CASES[name]
    main, startup = F.programs(), F.programs()
    with F.guard(main, startup), F.scope_guard(F.scope()):
        x, y = F.data("x", [None, 4]), F.data("y", [None, 1])
        h = F.fc(x, 3, "w0", "tanh")
        o = F.fc(h, 1, "w1")
        loss, other = F.mean((o - y) * (o - y)), F.mean(F.fc(h, 2, "w2"))
        a, b = getattr(F, optimizer)(.1).minimize(loss), getattr(F, optimizer)(.1).minimize(other)
        exe = F.executor()
        exe.run(startup)
        feed = {name: value for name, value in (("x", X), ("y", Y)) if name in fed}
        for _ in range(2):
            got = exe.run(main, feed=feed, fetch_list=fetch(loss, other, a, b), use_prune=prune)
        got += [np.array(F.global_scope().find_var(w).get_tensor()) for w in ("w0", "w1", "w2")]
    return [np.asarray(v).ravel() for v in got]


def compare(test, F, path):
    with open(path) as file:
        want = json.load(file)
    for name in CASES:
        with test.subTest(case=name):
            got = values(F, name)
            test.assertEqual(len(got), len(want[name]))
            for i, (a, b) in enumerate(zip(got, want[name])):
                np.testing.assert_allclose(a, b, rtol=1e-4, err_msg="value %d" % i)


if __name__ == "__main__":
    F = {"1": Face1, "2": Face2}[sys.argv[1]]()
    json.dump({name: [v.tolist() for v in values(F, name)] for name in CASES}, sys.stdout, indent=0)
