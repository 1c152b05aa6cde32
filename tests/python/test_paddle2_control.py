"""Branches, loops and recurrent layers of paddle 2: names, values and gradients as real 2.6.2 gave them (control_2x.json, written
by control2_cases.py), and what wrong calls give."""
import contextlib
import io
import json
import os
import unittest

import control2_cases as cases
import numpy as np
import paddle
from paddle import nn, static

paddle.enable_static()
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "control_2x.json")) as file:
    RECORDED = json.load(file)


@contextlib.contextmanager
def fresh():
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), paddle.utils.unique_name.guard(), static.scope_guard(static.Scope()):
        yield main, startup


class Recorded(unittest.TestCase):
    def test_values(self):
        for build in cases.CASES:
            with self.subTest(case=build.__name__):
                names, got = cases.values(build)
                want = RECORDED[build.__name__]
                self.assertEqual([list(n) for n in names], want["names"])
                self.assertEqual(len(got), len(want["values"]))
                for i, (value, right) in enumerate(zip(got, want["values"])):
                    np.testing.assert_allclose(value, right, rtol=2e-4, atol=2e-6, err_msg="value %d" % i)


class Layers(unittest.TestCase):
    def test_first_values(self):
        """Weights and biases begin uniform within 1 / sqrt(hidden)."""
        with fresh() as (main, startup):
            layer = nn.GRU(3, 16)
            exe = static.Executor()
            exe.run(startup)
            for p in layer.parameters():
                value = np.asarray(static.global_scope().find_var(p.name).get_tensor())
                self.assertLessEqual(np.abs(value).max(), 0.25)
                self.assertGreater(np.abs(value).max(), 0.2)

    def test_results_that_nothing_reads(self):
        """An output of a loop over steps that leads nowhere has a gradient of zeros."""
        def gradients(both):
            with fresh() as (main, startup):
                paddle.seed(7)
                x = static.data("x", [2, 3, 4])
                steps, last = nn.RNN(nn.GRUCell(4, 5))(x)
                loss = paddle.mean(last) + (paddle.mean(steps) * 0.0 if both else 0.0)
                pairs = static.append_backward(loss)
                exe = static.Executor()
                exe.run(startup)
                feed = {"x": np.arange(24, dtype="float32").reshape(2, 3, 4) / 24}
                return exe.run(main, feed=feed, fetch_list=[grad for _, grad in pairs])

        alone, with_zeros = gradients(False), gradients(True)
        self.assertEqual(len(alone), 4)
        for a, b in zip(alone, with_zeros):
            self.assertGreater(float(np.abs(a).max()), 1e-4)
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)

    def test_dropout_between_layers(self):
        with fresh() as (main, startup):
            layer = nn.LSTM(3, 8, 2, dropout=0.5)
            x = static.data("x", [2, 4, 3])
            train = layer(x)[0]
            layer.eval()
            test = layer(x)[0]
            exe = static.Executor()
            exe.run(startup)
            feed = {"x": np.ones((2, 4, 3), "float32")}
            a, b = exe.run(main, feed=feed, fetch_list=[train, test])
            c = exe.run(main, feed=feed, fetch_list=[test])[0]
            self.assertFalse(np.allclose(a, b))
            self.assertTrue((b == c).all())

    def test_wrong(self):
        with fresh():
            with self.assertRaisesRegex(ValueError, "direction should be forward or bidirect"):
                nn.GRU(3, 4, direction="sideways")
            with self.assertRaisesRegex(ValueError, "hidden_size of LSTMCell must be greater than 0"):
                nn.LSTMCell(3, 0)
            with self.assertRaisesRegex(ValueError, "Unknown activation 'gelu'"):
                nn.SimpleRNN(3, 4, activation="gelu")
            with self.assertRaisesRegex(ValueError, "input size of forward cell"):
                nn.BiRNN(nn.GRUCell(3, 4), nn.GRUCell(2, 4))
            with self.assertRaisesRegex(NotImplementedError, "state_shape"):
                nn.RNNCellBase().state_shape


class Host(unittest.TestCase):
    def test_assert_and_print(self):
        with fresh() as (main, startup):
            x = static.data("x", [2])
            static.Print(x, message="seen")
            static.nn.control_flow.Assert(paddle.sum(x) > 0, [x], 1)
            exe, out = static.Executor(), io.StringIO()
            with contextlib.redirect_stdout(out):
                exe.run(main, feed={"x": np.array([1., 2.], "float32")})
                with self.assertRaisesRegex(ValueError, "The condition variable '.*' of AssertOp must be true, but received false"):
                    exe.run(main, feed={"x": np.array([-1., -2.], "float32")})
        self.assertIn("Variable: x\n  - message: seen\n  - lod: {}\n  - place: Place(cpu)\n  - shape: [2]\n  - layout: NCHW\n"
                      "  - dtype: float32\n  - data: [1 2]\n", out.getvalue())
        self.assertTrue(out.getvalue().endswith("  - dtype: float32\n  - data: [-1]\n"))

    def test_py_func(self):
        with fresh() as (main, startup):
            x = static.data("x", [2])
            y = main.current_block().create_var(name="y", dtype="float32", shape=[2])
            static.py_func(lambda a: np.array(a) * 3, x, y)
            got = static.Executor().run(main, feed={"x": np.array([1., 2.], "float32")}, fetch_list=["y"])[0]
        self.assertEqual(got.tolist(), [3., 6.])

    def test_files_run_no_functions(self):
        with fresh() as (main, startup):
            x = static.data("x", [2])
            y = main.current_block().create_var(name="y", dtype="float32", shape=[2])
            static.py_func(lambda a: np.array(a), x, y)
            loaded = static.deserialize_program(main.desc.serialize_to_string())
            with self.assertRaisesRegex(NotImplementedError, "py_func: acts outside the program .*: refused"):
                static.Executor().run(loaded, feed={"x": np.array([1., 2.], "float32")}, fetch_list=["y"])


class Arrays(unittest.TestCase):
    def test_write_and_join(self):
        with fresh() as (main, startup):
            one = paddle.full([2], 1.0)
            array = paddle.tensor.create_array("float32", [one, one * 2])
            size = paddle.tensor.array_length(array)
            array = paddle.tensor.array_write(one * 5, size, array)
            joined, sizes = paddle.tensor.tensor_array_to_tensor(array, axis=0)
            stacked = paddle.tensor.tensor_array_to_tensor(array, axis=0, use_stack=True)[0]
            item = paddle.tensor.array_read(array, paddle.full([1], 1, "int64"))
            got = static.Executor().run(main, fetch_list=[size, joined, sizes, stacked, item, paddle.is_empty(one)])
        self.assertEqual([v.tolist() for v in got],
                         [[2], [1, 1, 2, 2, 5, 5], [2, 2, 2], [[1, 1], [2, 2], [5, 5]], [2, 2], False])


if __name__ == "__main__":
    unittest.main()
