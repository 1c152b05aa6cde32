"""float64: optimizers against numbers of real Paddle 2.6.2 (double_cases.py), and what is refused."""
import json
import os
import unittest

import numpy as np
import paddle

import double_cases

HERE = os.path.dirname(os.path.abspath(__file__))
# Real's eager adam and decay take their settings as float64; here they are float32, as in its programs.
ROUNDED = ("eager.Adam", "eager.SGD_l2")


class Double(unittest.TestCase):
    def setUp(self):
        paddle.set_default_dtype("float64")

    def tearDown(self):
        paddle.set_default_dtype("float32")

    def test_every_optimizer(self):
        with open(os.path.join(HERE, "double_recorded.json")) as file:
            recorded = json.load(file)
        names = [case[0] for case in double_cases.cases()]
        self.assertEqual(sorted(names), sorted(recorded))
        for name, mode, rule, sparse in double_cases.cases():
            with self.subTest(name):
                have = mode(rule, sparse)
                tolerance = 2e-7 if name.startswith(ROUNDED) else 1e-12
                for a, b in zip(have, recorded[name]):
                    np.testing.assert_allclose(np.array(a), np.array(b), rtol=0, atol=tolerance)

    def test_accumulators_are_float64(self):
        layer = paddle.nn.Linear(2, 1)
        optimizer = paddle.optimizer.Adam(parameters=layer.parameters())
        layer(paddle.ones([1, 2])).sum().backward()
        optimizer.step()
        kinds = {value.dtype for value in optimizer.state_dict().values() if hasattr(value, "dtype")}
        self.assertEqual(kinds, {paddle.float64})

    def test_what_real_crashes_with_works_or_is_refused(self):
        ids = paddle.to_tensor([1, 1, 3])
        table = paddle.nn.Embedding(4, 2, sparse=True)
        before = table.weight.numpy()
        optimizer = paddle.optimizer.Adamax(0.1, parameters=table.parameters())
        table(ids).sum().backward()
        optimizer.step()
        moved = table.weight.numpy() - before
        np.testing.assert_allclose(moved, [[0, 0], [-0.1, -0.1], [0, 0], [-0.1, -0.1]], atol=1e-7)
        for rule in (paddle.optimizer.AdamW, paddle.optimizer.Adadelta):
            optimizer = rule(0.1, parameters=table.parameters())
            with self.assertRaisesRegex(NotImplementedError, "is SelectedRows, which this op does not take"):
                optimizer.step()

    def test_both_types_in_one_optimizer(self):
        for order in (("float64", "float32"), ("float32", "float64")):
            pair = [paddle.create_parameter([2], dtype) for dtype in order]
            before = [p.numpy() for p in pair]
            optimizer = paddle.optimizer.SGD(0.1, parameters=pair)
            sum(p.sum().astype("float32") for p in pair).backward()
            optimizer.step()
            for p, old in zip(pair, before):
                np.testing.assert_allclose(p.numpy() - old, [-0.1, -0.1], rtol=1e-5)

    def test_the_rate_is_one_number(self):
        paddle.enable_static()
        try:
            main = paddle.static.Program()
            with paddle.static.program_guard(main):
                x = paddle.static.data("x", [2], "float32")
                block = main.global_block()
                rate = paddle.static.data("rate", [1], "int64")
                block.append_op(type="sgd", inputs={"Param": x, "Grad": x, "LearningRate": rate}, outputs={"ParamOut": x})
            with self.assertRaisesRegex(ValueError, "LearningRate must be one number of float32 or float64"):
                paddle.static.Executor().run(main, feed={"x": np.ones(2, "float32"), "rate": np.ones(1, "int64")}, fetch_list=[x])
        finally:
            paddle.disable_static()

    def test_no_rows_move_nothing(self):
        table = paddle.nn.Embedding(4, 2, sparse=True)
        before = table.weight.numpy()
        optimizer = paddle.optimizer.SGD(0.1, parameters=table.parameters())
        table(paddle.zeros([0], "int64")).sum().backward()
        optimizer.step()
        np.testing.assert_array_equal(table.weight.numpy(), before)


class Nan(unittest.TestCase):
    def test_relu_makes_nan_zero_as_2x_does(self):
        x = paddle.to_tensor([float("nan"), 1.0, -1.0], stop_gradient=False)
        y = paddle.nn.functional.relu(x)
        y.sum().backward()
        self.assertEqual(y.tolist(), [0.0, 1.0, 0.0])
        self.assertEqual(x.grad.tolist(), [0.0, 1.0, 0.0])

    def test_also_in_a_fused_layer(self):
        paddle.enable_static()
        try:
            main, startup = paddle.static.Program(), paddle.static.Program()
            with paddle.static.program_guard(main, startup):
                x = paddle.static.data("x", [-1, 2])
                y = paddle.nn.functional.relu(paddle.nn.Linear(2, 3)(x))
            exe = paddle.static.Executor()
            exe.run(startup)
            out = exe.run(main, feed={"x": np.array([[np.nan, 1]], "float32")}, fetch_list=[y])[0]
            self.assertEqual(out.tolist(), [[0.0, 0.0, 0.0]])
        finally:
            paddle.disable_static()


if __name__ == "__main__":
    unittest.main()
