"""paddle.jit of functions whose branches and loops depend on values: programs with the numbers of real 2.6.2 (jit_flow.json, written
by jit_flow_cases.py) and of eager mode, training, and what is refused."""
import contextlib
import io
import json
import os
import tempfile
import unittest

import jit_flow_cases as cases
import numpy as np
import paddle
import paddle.fluid as fluid
import paddle.nn as nn
from paddle import static
from paddle.static import InputSpec

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "jit_flow.json")) as file:
    RECORDED = json.load(file)
#: where real Paddle's program gives other numbers than the function: a < b < c keeps the last comparison only, and what a loop
#: carries is written one after the other, so that a, b = b, a + b reads the new a; what a loop sets by index is lost
REAL_IS_WRONG = ("chained", "swapping", "written_parts")
X = [InputSpec([4], "float32", "x")]


def by_executor(path, feeds):
    """Results of a saved program by paddle.static."""
    paddle.enable_static()
    try:
        with static.scope_guard(static.Scope()):
            exe = static.Executor()
            program, names, fetches = static.load_inference_model(path, exe)
            return [exe.run(program, feed=dict(zip(names, feed)), fetch_list=fetches) for feed in feeds]
    finally:
        paddle.disable_static()


class Saved(unittest.TestCase):
    def check(self, name, function, specs, feeds, folder):
        path = os.path.join(folder, name)
        paddle.jit.save(paddle.jit.to_static(cases.built(function), input_spec=specs), path)
        loaded = paddle.jit.load(path)
        for k, (feed, run) in enumerate(zip(feeds, by_executor(path, feeds))):
            plain = cases.flat(cases.built(function)(*cases.tensors(feed)))
            for got in (cases.flat(loaded(*cases.tensors(feed))), run):
                self.assertEqual(len(got), len(plain))
                for value, want in zip(got, plain):
                    np.testing.assert_allclose(value.ravel(), want.ravel(), rtol=1e-5)
                if name in RECORDED and name not in REAL_IS_WRONG:
                    for value, (dtype, shape, want) in zip(got, RECORDED[name][k]):
                        self.assertEqual((str(value.dtype), list(value.shape)), (dtype, shape))
                        np.testing.assert_allclose(value.ravel(), want, rtol=1e-5)

    def test_values(self):
        self.assertGreaterEqual(len(RECORDED), 20)
        with tempfile.TemporaryDirectory() as folder:
            for name, function, specs, feeds in cases.CASES:
                with self.subTest(case=name):
                    self.check(name, function, specs, feeds, folder)

    def test_file_without_parameters(self):
        """Paddle does not load an empty file of parameters; one of an earlier save does not stay."""
        with tempfile.TemporaryDirectory() as folder:
            paddle.jit.save(nn.Linear(4, 2), folder + "/m", input_spec=[InputSpec([None, 4])])
            self.assertIn("m.pdiparams", os.listdir(folder))
            paddle.jit.save(paddle.jit.to_static(cases.one_side, input_spec=[cases.ROWS]), folder + "/m")
            self.assertNotIn("m.pdiparams", os.listdir(folder))

    def test_skip_forward(self):
        class Two(nn.Layer):
            def forward(self, x):
                return x

            @paddle.jit.to_static(input_spec=X)
            def score(self, x):
                return x * 2
        with tempfile.TemporaryDirectory() as folder:
            paddle.jit.save(Two(), folder + "/m", skip_forward=True)
            self.assertEqual(sorted(os.listdir(folder)), ["m.score.pdmodel"])


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1D(4)

    def forward(self, x):
        y = self.norm(self.fc(x))
        i = 0
        while y.abs().sum() > 3 and i < 5:
            y = y * 0.7
            i += 1
        return y.sum() if y[0, 0] > 0 else (y * y).sum()


class Called(unittest.TestCase):
    def test_training(self):
        """As without to_static: losses, weights, running means."""
        def run(static_net):
            paddle.seed(5)
            net = Net()
            net = paddle.jit.to_static(net) if static_net else net
            opt = paddle.optimizer.Adam(0.05, parameters=net.parameters())
            rows, losses = np.random.RandomState(3), []
            for _ in range(5):
                loss = net(paddle.to_tensor(rows.randn(6, 4).astype("float32")))
                loss.backward()
                opt.step()
                opt.clear_grad()
                losses.append(float(loss))
            return losses, net.fc.weight.numpy(), net.norm._mean.numpy()
        for one, other in zip(run(False), run(True)):
            np.testing.assert_array_equal(one, other)

    def test_trained_and_saved(self):
        paddle.seed(5)
        net = paddle.jit.to_static(Net(), input_spec=[InputSpec([None, 4])])
        net(paddle.to_tensor(np.random.RandomState(3).randn(3, 4).astype("float32"))).backward()
        self.assertGreater(float(net.fc.weight.grad.abs().sum()), 0)
        net.eval()
        with tempfile.TemporaryDirectory() as folder:
            paddle.jit.save(net, folder + "/n")
            loaded = paddle.jit.load(folder + "/n")
            for sign in (1, -9):
                x = paddle.ones([3, 4]) * sign
                np.testing.assert_allclose(loaded(x).numpy(), net(x).numpy(), rtol=1e-5)

    def test_side_that_would_fail(self):
        """Both sides are traced; where one cannot be, a call runs as written."""
        @paddle.jit.to_static
        def function(x):
            if x.sum() < 0:
                raise ValueError("below zero")
            return x.reshape([2, 2]) if x.sum() > 1 else x.reshape([3, 5])
        self.assertEqual(function(paddle.ones([4])).shape, [2, 2])
        with self.assertRaisesRegex(ValueError, "below zero"):
            function(-paddle.ones([4]))

    def test_attributes_are_as_before(self):
        class Counts(nn.Layer):
            def __init__(self):
                super().__init__()
                self.seen = 0

            def forward(self, x):
                if x.sum() > 0:
                    self.seen = self.seen + 1
                return x * self.seen
        net = Counts()
        with tempfile.TemporaryDirectory() as folder:
            paddle.jit.save(net, folder + "/c", input_spec=X)
            self.assertEqual(paddle.jit.load(folder + "/c")(paddle.ones([4])).numpy().tolist(), [1.0] * 4)
        self.assertEqual(net.seen, 0)


class Rewritten(unittest.TestCase):
    """Python's own values behave as before."""

    def same(self, function, *args):
        from paddle.jit.translate import translated
        new = translated(function)
        self.assertIsNot(new.__code__, function.__code__)
        want, got = function(*args), new(*args)
        self.assertEqual(got, want)
        return got

    def test_exits(self):
        def function(items, limit):
            out = []
            for item in items:
                if item < 0:
                    continue
                for k in range(item):
                    if k == 3:
                        break
                    if item == limit:
                        return out + ["found"]
                    out.append((item, k))
                else:
                    out.append("all")
                try:
                    if item == 5:
                        continue
                    out.append(1 // (item - 1))
                except ZeroDivisionError:
                    out.append("zero")
            else:
                return out
        for items in ([1, 2, -1, 5], [7, 1], [], [2, 4]):
            self.same(function, items, 4)

    def test_scopes(self):
        total = [0]

        def function(a, *rest, key=3, **more):
            nonlocal total
            if a:
                total = [key]
                extra = [v for v in rest if v and v > 1]
                del a
            first = (lambda v: v or "none")(more.get("x"))
            while (n := len(extra)) > 1 and not n > 9:
                extra = extra[1:]
            with contextlib.suppress(KeyError):
                if rest:
                    return total, extra, first, 0 < key < 5
            return None
        self.assertEqual(self.same(function, 1, 2, 3), ([3], [3], "none", True))
        self.assertEqual(total, [3])

    def test_undefined(self):
        from paddle.jit.translate import translated

        def function(flag):
            if flag:
                value = 1
            return value
        self.assertEqual(translated(function)(True), 1)
        with self.assertRaises(UnboundLocalError):
            translated(function)(False)

    def test_left_alone(self):
        from paddle.jit.translate import translated

        @paddle.jit.not_to_static
        def out(x):
            return x

        def steps(x):
            yield x
        for function in (out, steps, np.mean, len, json.dumps, paddle.nn.functional.relu, (lambda x: x)):
            self.assertIs(translated(function), function)

    def test_code(self):
        code = paddle.jit.to_static(cases.one_side).code
        self.assertIn("_skiff_flow.branch(", code)


def kind(x):
    mode = "a" if x.sum() > 0 else "b"
    return x if mode == "a" else -x


def nothing(x):
    if x.sum() > 0:
        return x


def one_side_only(x):
    if x.sum() > 0:
        t = x * 2
    return t + 1


def raising(x):
    if x.min() < 0:
        raise ValueError("negative")
    return x


def array(x):
    return x + paddle.to_tensor(x.numpy())


def types(x):
    if x.sum() > 0:
        y = x
    else:
        y = x.astype("int64")
    return y


def shapes_of_results(x):
    if x.sum() > 0:
        y = (x, x)
    else:
        y = x
    return y[0]


def extended(x):
    parts = [x]
    while parts[-1].sum() < 100:
        parts.extend([parts[-1] * 2])
    return parts[-1]


def listed(x):
    return [x[i] for i in range(paddle.shape(x)[0])]


def types_in_loop(x):
    i = paddle.zeros([1], "int64")
    while i < 3:
        i = (i + 1).astype("float32")
    return i


def left_in_loop(x):
    i = paddle.zeros([1], "int64")
    while i < 3:
        i, name = i + 1, "a"
    return x if name == "a" else i


def largest(x):
    return max(x[0], x[1])


REFUSED = [
    (kind, r"`mode = .*the value is 'a' on one side of this `if` over a tensor and 'b' on the other"),
    (nothing, r"`if x.sum\(\) > 0:`.*the returned value is a tensor on one side .* and None on the other"),
    (one_side_only, r"`if x.sum\(\) > 0:`.*t is set on one side only .*give it a value before"),
    (raising, r"`raise ValueError\(\"negative\"\)`.*Use assert"),
    (array, r"`return x \+ paddle.to_tensor\(x.numpy\(\)\)`: numpy of a tensor.*paddle.jit.not_to_static"),
    (types, r"y is float32 on one side and int64 on the other: cast one of them"),
    (shapes_of_results, r"y is a tuple of 2 on one side .* and a tensor on the other"),
    (extended, r"`while .*parts is a list of 1 before this loop over a tensor and a list of 2 after a step"),
    (listed, r"the number of iterations is a tensor.*only a for statement"),
    (types_in_loop, r"i is int64 before this loop over a tensor and float32 after a step: cast one of them"),
    (left_in_loop, r"name is set only inside of this loop over a tensor, and is used afterwards"),
    (largest, r"`return max\(x\[0\], x\[1\]\)`: __bool__ of a tensor"),
]


class Refused(unittest.TestCase):
    def test_messages(self):
        with tempfile.TemporaryDirectory() as folder:
            for function, message in REFUSED:
                with self.subTest(case=function.__name__):
                    with self.assertRaisesRegex(RuntimeError, r"test_jit_flow.py:\d+: " + ".*" + message):
                        paddle.jit.save(paddle.jit.to_static(function, input_spec=X), folder + "/f")
                    self.assertEqual(os.listdir(folder), [])


class Fluid(unittest.TestCase):
    """1.8: numbers of real 1.8.5."""

    def test_declarative(self):
        @fluid.dygraph.declarative
        def function(x):
            if fluid.layers.mean(x) > 0:
                y = x * 2
            else:
                y = x - 1
            i = fluid.layers.fill_constant([1], "int64", 0)
            while i < 3:
                y = y + 1
                i = i + 1
            for _ in range(2):
                y = y * 1.5
            return y
        ones = np.ones((2, 2), "float32")
        with tempfile.TemporaryDirectory() as folder:
            with fluid.dygraph.guard():
                for sign, want in ((1, 11.25), (-1, 2.25)):
                    out = function(fluid.dygraph.to_variable(sign * ones))
                    np.testing.assert_allclose(out.numpy(), want * ones)
                fluid.dygraph.ProgramTranslator().save_inference_model(folder)
                program = fluid.dygraph.ProgramTranslator().get_program(function, ones)[0]
            kinds = [op.type for op in program.global_block().ops]
            self.assertEqual((kinds.count("conditional_block"), kinds.count("while")), (2, 1))
            paddle.enable_static()
            try:
                exe = fluid.Executor(fluid.CPUPlace())
                program, names, fetches = fluid.io.load_inference_model(folder, exe)
                for sign, want in ((1, 11.25), (-1, 2.25)):
                    np.testing.assert_allclose(exe.run(program, {names[0]: sign * ones}, fetches)[0], want * ones)
            finally:
                paddle.disable_static()

    def test_function_of_variables(self):
        @fluid.dygraph.dygraph_to_static_func
        def function(x):
            if fluid.layers.mean(x) > 0:
                return x * 2
            return x - 1
        paddle.enable_static()
        try:
            with fluid.program_guard(fluid.Program()):
                x = fluid.data("x", [2], "float32")
                y = function(x)
                exe = fluid.Executor(fluid.CPUPlace())
                for value, want in ((3.0, 6.0), (-3.0, -4.0)):
                    got = exe.run(feed={"x": np.full(2, value, "float32")}, fetch_list=[y])[0]
                    np.testing.assert_allclose(got, np.full(2, want))
        finally:
            paddle.disable_static()

    def test_printed_and_checked(self):
        def function(x):
            print("traced", x.shape[0])
            print(x)
            assert x.sum() > 0, "no"
            return x * 2
        said = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(said):
            paddle.jit.save(paddle.jit.to_static(function, input_spec=X), folder + "/f")
        self.assertEqual(said.getvalue(), "traced 4\n")


if __name__ == "__main__":
    unittest.main()
