"""Derivatives of second order in eager mode: against differences of first ones, in float64."""
import unittest

import numpy as np
import paddle
import paddle.nn.functional as F


def leaf(*shape, seed=0, positive=False):
    values = np.random.RandomState(seed).standard_normal(shape)
    return paddle.to_tensor(np.abs(values) + 0.5 if positive else values, dtype="float64", stop_gradient=False)


def weighted(first):
    """One number of gradients: their products with fixed numbers, squared, so that every part counts."""
    total = 0
    for i, g in enumerate(first):
        w = paddle.to_tensor(np.random.RandomState(50 + i).standard_normal(g.shape), dtype="float64")
        total = total + (g * g * w).sum() + (g * w).sum()
    return total


def inner(function, inputs):
    return weighted(paddle.grad(function(*inputs).sum(), inputs, create_graph=True, allow_unused=True))


class Second(unittest.TestCase):
    def check(self, function, *inputs):
        inner(function, inputs).backward()
        for x in inputs:
            kept, step = x.numpy(), 1e-5
            want = np.zeros(kept.shape)
            for at in np.ndindex(*kept.shape):
                sides = []
                for sign in (1, -1):
                    moved = kept.copy()
                    moved[at] += sign * step
                    x.set_value(moved)
                    sides.append(inner(function, inputs).item())
                want[at] = (sides[0] - sides[1]) / (2 * step)
            x.set_value(kept)
            np.testing.assert_allclose(x.grad.numpy(), want, rtol=2e-5, atol=2e-6)

    def test_functions_of_one(self):
        x = leaf(3, 2, positive=True)
        for function in (paddle.exp, paddle.expm1, paddle.rsqrt, paddle.reciprocal, paddle.log1p, F.log_sigmoid,
                         lambda t: F.softplus(t, beta=2), lambda t: F.elu(t - 1.0, 0.7), lambda t: F.relu6(t * 4.0) ** 3,
                         lambda t: paddle.floor(t) * t ** 3, paddle.square, paddle.log, paddle.sqrt, paddle.tanh, F.sigmoid, F.silu, paddle.sin, paddle.cos,
                         lambda t: t ** 3, lambda t: t ** 1.5, lambda t: t ** 1, lambda t: (t ** 3).abs(),
                         lambda t: F.relu(t - 1.0) ** 3, lambda t: F.leaky_relu(t - 1.0) ** 3,
                         lambda t: (t ** 3).clip(0.1, 2.0)):
            x.clear_grad()
            self.check(lambda t: function(t) * t, x)

    def test_losses(self):
        label = paddle.to_tensor(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
        for function in (F.softmax, lambda t: F.softmax(t, axis=0), lambda t: F.log_loss(F.sigmoid(t), label),
                         lambda t: F.binary_cross_entropy(F.sigmoid(t), label, reduction="none"),
                         lambda t: F.binary_cross_entropy_with_logits(t, label, reduction="none")):
            self.check(lambda t: function(t) * t, leaf(3, 2))

    def test_rows(self):
        ids = paddle.to_tensor([[0, 2], [2, 1]])
        self.check(lambda w: F.embedding(ids, w) ** 3, leaf(3, 2))
        self.check(lambda t: paddle.gather(t, paddle.to_tensor([2, 0, 2])) ** 3, leaf(3, 2))
        self.check(lambda t: F.pad(t, [1, 0, 0, 2]) ** 3, leaf(3, 2))
        self.check(lambda t, w: F.conv2d(t, w, padding=1) ** 2, leaf(1, 2, 3, 3), leaf(2, 2, 2, 2, seed=1))

    def test_two_operands(self):
        for left, right in (((3, 2), (3, 2)), ((3, 2), (2,)), ((2,), (3, 2)), ((3, 1), (1, 2)), ((3, 2), ())):
            for function in (lambda a, b: (a + b) * a, lambda a, b: (a - b) * b, lambda a, b: a * b * a, lambda a, b: a / b):
                self.check(function, leaf(*left, seed=1), leaf(*right, seed=2, positive=True))

    def test_products(self):
        for left, right in (((3, 2), (2, 4)), ((2, 3, 2), (2, 2, 2)), ((2, 3, 2), (2, 2)), ((3, 2), (2,)), ((2,), (2,))):
            self.check(lambda a, b: paddle.matmul(a, b) ** 2, leaf(*left, seed=3), leaf(*right, seed=4))
        self.check(lambda a, b: paddle.matmul(a, b, transpose_x=True, transpose_y=True) ** 2, leaf(2, 3), leaf(4, 2, seed=5))
        self.check(lambda a, b: paddle.bmm(a, b) ** 2, leaf(2, 2, 3), leaf(2, 3, 2, seed=5))
        self.check(lambda a, w, b: F.linear(a, w, b) ** 2, leaf(2, 3), leaf(3, 2, seed=6), leaf(2, seed=7))

    def test_sums_and_moves(self):
        for function in (lambda t: t.sum(axis=0) ** 3, lambda t: t.sum(axis=[0, 2], keepdim=True) ** 3, lambda t: t.mean() ** 3,
                         lambda t: t.mean(axis=1) ** 3, lambda t: t.reshape([-1, 2]) ** 3, lambda t: t.transpose([2, 0, 1]) ** 3,
                         lambda t: t[0] ** 3, lambda t: t[:, 1:, ::2] ** 3, lambda t: t[..., None] ** 3, lambda t: t.flatten() ** 3,
                         lambda t: t[:, :1].squeeze(1) ** 3, lambda t: t[:, :1].expand([2, 3, 2]) ** 3,
                         lambda t: paddle.tile(t, [2, 1, 1]) ** 3, lambda t: t.unsqueeze([0, 2]) ** 3,
                         lambda t: paddle.concat([t, t * 2.0, paddle.ones([2, 1, 2], "float64")], axis=1) ** 3):
            self.check(function, leaf(2, 3, 2))

    def test_third(self):
        x = paddle.to_tensor([0.5, 1.5], stop_gradient=False)
        (first,) = paddle.grad((x ** 4).sum(), [x], create_graph=True)
        (second,) = paddle.grad(first.sum(), [x], create_graph=True)
        (third,) = paddle.grad(second.sum(), [x], create_graph=True)
        np.testing.assert_allclose(third.numpy(), [12.0, 36.0], rtol=1e-6)  # 24 x

    def test_what_has_none(self):
        x = leaf(3, 2)
        for function in (lambda t: paddle.cumprod(t, 0), lambda t: t.max()):
            with self.assertRaisesRegex(RuntimeError, "_grad doesn't have any grad op"):
                paddle.grad(function(x).sum(), [x], create_graph=True)
        self.assertEqual(paddle.grad(x.max(), [x])[0].shape, [3, 2])  # first order works as before

    def test_power_by_a_tensor(self):
        x, y = leaf(2, positive=True), leaf(2, seed=1)
        fixed = paddle.to_tensor([2.5, 3.0], dtype="float64")
        self.check(lambda t: t ** fixed, x)
        x.clear_grad()
        with self.assertRaisesRegex(RuntimeError, "elementwise_pow_grad"):
            paddle.grad((x ** y).sum(), [x, y], create_graph=True)


if __name__ == "__main__":
    unittest.main()
