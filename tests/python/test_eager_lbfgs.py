"""LBFGS against real Paddle 2.6.2 (lbfgs.json, by lbfgs_cases.py): every loss that it asks for; and what it refuses."""
import json
import os
import tempfile
import unittest

import numpy as np
import paddle
from lbfgs_cases import CASES, bowl, minimum, parameter, regression, valley

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lbfgs.json")) as _file:
    RECORDED = json.load(_file)


class Searches(unittest.TestCase):
    def test_cases(self):
        self.assertEqual(sorted(CASES), sorted(RECORDED))
        for name, wanted in RECORDED.items():
            with self.subTest(name):
                found = CASES[name]()
                self.assertEqual(found["counts"], wanted["counts"])
                tolerance = {"rtol": 1e-5, "atol": 2e-5} if "float32" in name else {"rtol": 1e-9, "atol": 1e-12}
                for key in ("given", "asked", "place"):
                    np.testing.assert_allclose(found[key], wanted[key], err_msg=key, **tolerance)

    def test_where_real_crashes(self):
        """ValueError there: its search takes a number for a tensor."""
        found = minimum(regression, [[0.0], [0.0], [0.0]], 3, max_iter=12, line_search_fn="strong_wolfe")
        place = paddle.to_tensor(found["place"], dtype="float64").reshape([3, 1])
        place.stop_gradient = False
        regression(place).backward()
        self.assertLess(float(place.grad.abs().max()), 1e-5)
        self.assertLessEqual(found["given"][2], found["given"][0])

    def test_goes_on_from_saved_state(self):
        def step(optimizer, x):
            def closure():
                optimizer.clear_grad()
                loss = valley(x)
                loss.backward()
                return loss
            return float(optimizer.step(closure))
        x = parameter([-1.2, 1.0], "float64")
        first = paddle.optimizer.LBFGS(parameters=[x], max_iter=3, line_search_fn="strong_wolfe")
        step(first, x)
        y = parameter(x.numpy(), "float64")
        second = paddle.optimizer.LBFGS(parameters=[y], max_iter=3, line_search_fn="strong_wolfe")
        with tempfile.TemporaryDirectory() as folder:
            paddle.save(first.state_dict(), os.path.join(folder, "o.pdopt"))
            second.set_state_dict(paddle.load(os.path.join(folder, "o.pdopt")))
        for _ in range(3):
            self.assertEqual(step(first, x), step(second, y))
        np.testing.assert_array_equal(x.numpy(), y.numpy())

    def test_several_parameters_and_one_without_a_gradient(self):
        a, b, unused = (parameter(values, "float32") for values in ([3.0], [[1.0, -2.0]], [5.0]))
        optimizer = paddle.optimizer.LBFGS(parameters=[a, b, unused], line_search_fn="strong_wolfe")

        def closure():
            optimizer.clear_grad()
            loss = ((a - 1) ** 2).sum() + ((b + 2) ** 2).sum()
            loss.backward()
            return loss
        optimizer.step(closure)
        np.testing.assert_allclose([a.numpy()[0]] + b.numpy().ravel().tolist(), [1, -2, -2], atol=1e-5)
        self.assertEqual(unused.tolist(), [5.0])

    def test_nan_ends(self):
        x = parameter([1.0], "float64")
        optimizer = paddle.optimizer.LBFGS(parameters=[x], line_search_fn="strong_wolfe", max_iter=3)

        def closure():
            optimizer.clear_grad()
            loss = (x * float("nan")).sum()
            loss.backward()
            return loss
        self.assertTrue(np.isnan(float(optimizer.step(closure))))

    def test_refuses(self):
        x = parameter([1.0], "float64")
        with self.assertRaisesRegex(RuntimeError, "only 'strong_wolfe' is supported"):
            paddle.optimizer.LBFGS(parameters=[x], line_search_fn="armijo")
        with self.assertRaisesRegex(NotImplementedError, "does not use this way to minimize loss"):
            paddle.optimizer.LBFGS(parameters=[x]).minimize(bowl(parameter([1.0, 2.0, 3.0], "float64")))
        with self.assertRaisesRegex(TypeError, "the parameters must have one type, but are of paddle.float32, paddle.float64"):
            paddle.optimizer.LBFGS(parameters=[x, parameter([1.0], "float32")])
        with self.assertRaisesRegex(ValueError, "LBFGS: there are no parameters"):
            paddle.optimizer.LBFGS(parameters=[])
        table = paddle.nn.Embedding(3, 2, sparse=True)
        optimizer = paddle.optimizer.LBFGS(parameters=table.parameters())

        def closure():
            loss = table(paddle.to_tensor([1])).sum()
            loss.backward()
            return loss
        with self.assertRaisesRegex(TypeError, "gradient of parameter %s has rows; make its table with sparse=False" % table.weight.name):
            optimizer.step(closure)
        paddle.enable_static()
        try:
            with self.assertRaisesRegex(RuntimeError, "LBFGS is for eager mode"):
                paddle.optimizer.LBFGS()
        finally:
            paddle.disable_static()


if __name__ == "__main__":
    unittest.main()
