"""Several threads for one op (OMP_NUM_THREADS, core.set_num_threads): the same numbers, to the bit, in every run and for every
number of threads from two on; in eager mode, in exe.run and in predictors."""
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import paddle
from paddle.fluid import core
from skiff import _native

ROWS, SLOTS, WIDTH = 1000, 4, 10


class Network(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.embedding = paddle.nn.Embedding(5000, WIDTH, sparse=True)
        self.hidden = paddle.nn.Linear(SLOTS * WIDTH, 400)
        self.middle = paddle.nn.Linear(400, 400)
        self.out = paddle.nn.Linear(400, 2)

    def forward(self, slots):
        x = paddle.concat([paddle.reshape(self.embedding(ids), [-1, WIDTH]) for ids in slots], axis=1)
        return self.out(paddle.tanh(self.middle(paddle.nn.functional.relu(self.hidden(x)))))


def batch():
    random = np.random.RandomState(1)
    return ([(5000 * random.rand(ROWS, 1) ** 3).astype("int64") for _ in range(SLOTS)],
            random.randint(0, 2, [ROWS, 1]).astype("int64"))


RULES = {"sgd": lambda **k: paddle.optimizer.SGD(0.1, **k), "adam": lambda **k: paddle.optimizer.Adam(0.01, **k),
         "lazy": lambda **k: paddle.optimizer.Adam(0.01, lazy_mode=True, **k)}


def eager(rule):
    paddle.seed(7)
    network, (slots, label) = Network(), batch()
    optimizer = RULES[rule](parameters=network.parameters())
    for _ in range(3):
        loss = paddle.nn.functional.cross_entropy(network([paddle.to_tensor(s) for s in slots]), paddle.to_tensor(label))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return [p.numpy() for p in network.parameters()]


def program(rule):
    paddle.enable_static()
    try:
        main, startup, (slots, label) = paddle.static.Program(), paddle.static.Program(), batch()
        main.random_seed = startup.random_seed = 7
        with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
            ids = [paddle.static.data("s%d" % i, [-1, 1], "int64") for i in range(SLOTS)]
            y = paddle.static.data("y", [-1, 1], "int64")
            network = Network()
            RULES[rule]().minimize(paddle.nn.functional.cross_entropy(network(ids), y))
            names = [p.name for p in network.parameters()]
        with paddle.static.scope_guard(paddle.static.Scope()):
            exe = paddle.static.Executor(paddle.CPUPlace())
            exe.run(startup)
            feed = dict({"s%d" % i: s for i, s in enumerate(slots)}, y=label)
            for _ in range(3):
                got = exe.run(main, feed=feed, fetch_list=names)
        return got
    finally:
        paddle.disable_static()


class Threads(unittest.TestCase):
    def tearDown(self):
        core.set_num_threads(1)

    def with_threads(self, n, function, *args):
        core.set_num_threads(n)
        return function(*args)

    def test_same_numbers(self):
        for way in eager, program:
            for rule in RULES:
                with self.subTest(way=way.__name__, rule=rule):
                    one, two, again, three = (self.with_threads(n, way, rule) for n in (1, 2, 2, 3))
                    for a, b, c, d in zip(one, two, again, three):
                        self.assertEqual(b.tobytes(), c.tobytes())
                        self.assertEqual(b.tobytes(), d.tobytes())
                        np.testing.assert_allclose(b, a, rtol=0, atol=2e-4)

    def test_ops_without_products(self):
        """Element by element, row by row, column by column: no sum is cut, so one thread gives the same bits, too."""
        random = np.random.RandomState(3)
        x, y, row = (paddle.to_tensor(random.rand(*shape).astype("float32") - 0.5, stop_gradient=False)
                     for shape in ([900, 500], [900, 500], [500]))
        table = paddle.to_tensor(random.rand(3000, 40).astype("float32"), stop_gradient=False)
        ids = paddle.to_tensor((3000 * random.rand(9000) ** 2).astype("int64"))

        def compute():
            looked = paddle.nn.functional.embedding(ids, table)
            parts = [paddle.tanh(x), paddle.exp(y) * row, x / (y + 2), paddle.nn.functional.gelu(x + row)]
            joined = paddle.concat(parts, axis=1)
            (joined.sum() + (looked * looked).sum()).backward()
            out = [part.numpy() for part in parts] + [joined.numpy(), looked.numpy()] + [t.grad.numpy() for t in (x, y, row, table)]
            for t in (x, y, row, table):
                t.clear_grad()
            return out
        one, two, five = (self.with_threads(n, compute) for n in (1, 2, 5))
        for a, b, c in zip(one, two, five):
            self.assertEqual(a.tobytes(), b.tobytes())
            self.assertEqual(a.tobytes(), c.tobytes())

    def test_fused_embeddings(self):
        """A program's look-ups are one op, which copies rows only: one thread gives the same bits."""
        slots, _ = batch()
        paddle.enable_static()
        try:
            main, startup = paddle.static.Program(), paddle.static.Program()
            main.random_seed = startup.random_seed = 7
            with paddle.static.program_guard(main, startup):
                table = paddle.nn.Embedding(5000, WIDTH, padding_idx=3)
                parts = [table(paddle.static.data("f%d" % i, [-1, 1], "int64")) for i in range(SLOTS)]
                y = paddle.concat([paddle.reshape(part, [-1, WIDTH]) for part in parts], axis=1)
            exe = paddle.static.Executor(paddle.CPUPlace())
            exe.run(startup)
            feed = {"f%d" % i: ids for i, ids in enumerate(slots)}
            one, two, five = (self.with_threads(n, exe.run, main, feed, [y])[0] for n in (1, 2, 5))
        finally:
            paddle.disable_static()
        self.assertEqual(one.shape, (ROWS, SLOTS * WIDTH))
        self.assertTrue((one != 0).any() and (one.reshape(ROWS, SLOTS, WIDTH)[np.hstack(slots) == 3] == 0).all())
        self.assertEqual(one.tobytes(), two.tobytes())
        self.assertEqual(one.tobytes(), five.tobytes())

    def test_predictor(self):
        network, (slots, _) = Network(), batch()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m")
            paddle.jit.save(network, path, [[paddle.static.InputSpec([None, 1], "int64") for _ in range(SLOTS)]])
            got = []
            for n in 1, 2, 3:
                config = paddle.inference.Config(path + ".pdmodel", path + ".pdiparams")
                config.set_cpu_math_library_num_threads(n)
                got.append(paddle.inference.create_predictor(config).run(slots)[0].copy_to_cpu())
        self.assertEqual(got[1].tobytes(), got[2].tobytes())
        np.testing.assert_allclose(got[0], got[1], rtol=0, atol=1e-5)

    def test_number(self):
        """As real 2.6.2 reads it: 1 for what is no number."""
        for text, number in (("", 1), ("2", 2), ("0", 1), ("4,2", 1), (None, 1)):
            environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
            if text is not None:
                environment["OMP_NUM_THREADS"] = text
            out = subprocess.run([sys.executable, "-c", "from skiff import _native; print(_native.num_threads())"], env=environment,
                                 stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
            self.assertEqual(int(out), number)
        core.set_num_threads(4)
        self.assertEqual(_native.num_threads(), 4)
        core.set_num_threads(-3)
        self.assertEqual(_native.num_threads(), 1)


if __name__ == "__main__":
    unittest.main()
