"""Gradients of gradients in programs: names and values that real Paddle 2.6.2 gave (second_2x.json, written by
second_cases.py), differences of first gradients in float64, and what has no second order."""
import os
import unittest

import numpy as np
import paddle
import paddle.nn.functional as F
import second_cases as cases
from paddle import static

paddle.enable_static()
HERE = os.path.dirname(os.path.abspath(__file__))

class Recorded(unittest.TestCase):
    def test_values(self):
        cases.compare(self, cases.Face2(), os.path.join(HERE, "second_2x.json"))


def weighted(gradients):
    """One number of gradients in which every part counts."""
    total = 0
    for i, g in enumerate(gradients):
        w = paddle.assign(np.random.RandomState(50 + i).standard_normal(g.shape))
        total = total + (g * g * w).sum() + (g * w).sum()
    return total


class Differences(unittest.TestCase):
    def check(self, function, *shapes):
        with static.program_guard(static.Program(), static.Program()), static.scope_guard(static.Scope()):
            inputs = [static.data("x%d" % i, shape, "float64") for i, shape in enumerate(shapes)]
            for x in inputs:
                x.stop_gradient = False
            total = weighted(static.gradients([function(*inputs).sum()], inputs))
            second = static.gradients([total], inputs)
            exe = static.Executor()
            feed = {"x%d" % i: np.abs(np.random.RandomState(i).standard_normal(shape)) + .5 for i, shape in enumerate(shapes)}
            got = exe.run(feed=feed, fetch_list=second)
            for name, values in zip(sorted(feed), got):
                want = np.zeros(values.shape)
                for at in np.ndindex(*values.shape):
                    sides = []
                    for step in (1e-5, -1e-5):
                        moved = dict(feed, **{name: feed[name].copy()})
                        moved[name][at] += step
                        sides.append(float(exe.run(feed=moved, fetch_list=[total])[0]))
                    want[at] = (sides[0] - sides[1]) / 2e-5
                self.assertEqual(values.dtype, np.float64)
                np.testing.assert_allclose(values, want, rtol=2e-5, atol=5e-6)

    def test_functions_of_one(self):
        for function in (paddle.exp, paddle.rsqrt, paddle.reciprocal, F.softmax, F.log_sigmoid, paddle.square, paddle.log, paddle.sqrt, paddle.tanh, F.sigmoid, F.silu, paddle.sin, paddle.cos,
                         lambda t: t ** 3, lambda t: t ** 1.5, lambda t: (t ** 3).abs(), lambda t: F.relu(t - 1.0) ** 3,
                         lambda t: F.leaky_relu(t - 1.0) ** 3, lambda t: (t ** 3).clip(0.1, 2.0)):
            self.check(lambda t: function(t) * t, [3, 2])

    def test_two_operands(self):
        for left, right in (([3, 2], [3, 2]), ([3, 2], [2]), ([2], [3, 2]), ([3, 1], [1, 2])):
            for function in (lambda a, b: (a + b) * a, lambda a, b: (a - b) * b, lambda a, b: a * b * a, lambda a, b: a / b):
                self.check(function, left, right)

    def test_products(self):
        for left, right in (([3, 2], [2, 4]), ([2, 3, 2], [2, 2, 2]), ([2, 3, 2], [2, 2])):
            self.check(lambda a, b: paddle.matmul(a, b) ** 2, left, right)
        self.check(lambda a, b: paddle.matmul(a, b, transpose_x=True, transpose_y=True) ** 2, [2, 3], [4, 2])
        self.check(lambda a, b: paddle.bmm(a, b) ** 2, [2, 2, 3], [2, 3, 2])

    def test_sums_and_moves(self):
        for function in (lambda t: t.sum(axis=0) ** 3, lambda t: t.sum(axis=[0, 2], keepdim=True) ** 3, lambda t: t.mean() ** 3,
                         lambda t: t.mean(axis=1) ** 3, lambda t: paddle.reshape(t, [-1, 2]) ** 3,
                         lambda t: paddle.transpose(t, [2, 0, 1]) ** 3, lambda t: t[0] ** 3, lambda t: t[:, 1:, ::2] ** 3,
                         lambda t: paddle.flatten(t) ** 3, lambda t: paddle.squeeze(t[:, :1], 1) ** 3,
                         lambda t: paddle.expand(t[:, :1], [2, 3, 2]) ** 3, lambda t: paddle.tile(t, [2, 1, 1]) ** 3,
                         lambda t: paddle.unsqueeze(t, [0, 2]) ** 3, lambda t: paddle.concat([t, t * 2.0], axis=1) ** 3):
            self.check(function, [2, 3, 2])

    def test_third_of_products(self):
        """24 x; real 2.6.2 gives 20 x."""
        with static.program_guard(static.Program(), static.Program()):
            x = static.data("x", [2])
            x.stop_gradient = False
            g = x * x * x * x
            for _ in range(3):
                g, = static.gradients([g], [x])
            got, = static.Executor().run(feed={"x": np.array([.5, 1.5], "float32")}, fetch_list=[g])
            np.testing.assert_allclose(got, [12., 36.], rtol=1e-6)


class Without(unittest.TestCase):
    """Gradient ops that have no gradient."""
    def test_gradients(self):
        with static.program_guard(static.Program(), static.Program()):
            x = static.data("x", [3])
            x.stop_gradient = False
            g, = static.gradients([paddle.cumprod(x, 0)], [x])
            with self.assertRaisesRegex(NotImplementedError, "op cumprod_grad, which gives x@GRAD from .*, has no gradient"):
                static.gradients([(g * g).sum()], [x])
            before = len(static.default_main_program().global_block().ops)
            copy = paddle.assign(g)
            copy.stop_gradient = True
            second, = static.gradients([(copy * x).sum()], [x])  # as a constant
            self.assertGreater(len(static.default_main_program().global_block().ops), before)
            self.assertEqual(second.shape, (3,))


if __name__ == "__main__":
    unittest.main()
