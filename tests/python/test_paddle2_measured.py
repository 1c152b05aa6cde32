"""paddle 2.x: values that Paddle 2.6.2 gave where Skiff once gave others or failed."""
import unittest

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle2_help import fresh, values

data = paddle.static.data


def with_gradients(build, *names):
    """A build for values(): what build() gives, and the gradients of the first of it with respect to inputs by name."""
    def both():
        got = build()
        block = paddle.static.default_main_program().global_block()
        return list(got) + paddle.static.gradients([got[0]], [block.var(n) for n in names])

    return both


def trainable(name, shape, dtype="float32"):
    var = data(name, shape, dtype)
    var.stop_gradient = False
    return var


class Values(unittest.TestCase):
    def test_arange_counts_in_its_own_type(self):
        for end, size in ((0.6, 6), (0.3, 3), (1.0, 10)):
            for dtype in ("float32", "float64"):
                got = values(lambda: paddle.arange(0, end, 0.1, dtype))
                self.assertEqual(got.shape, (size,), (end, dtype))
                np.testing.assert_allclose(got, np.arange(size) * 0.1, rtol=1e-6)

    FEED = {"h": np.arange(12, dtype="float32").reshape(4, 3), "c": np.array([[True, False, True]])}
    CHOSEN = [[0, 0, 2], [3, -3, 5], [6, -6, 8], [9, -9, 11]]
    GRADIENT = [[0, 0, 4], [6, 6, 10], [12, 12, 16], [18, 18, 22]]

    def test_where_broadcasts(self):
        def build():
            h = trainable("h", [4, 3])
            out = paddle.where(data("c", [1, 3], "bool"), h, 1 - h)
            return paddle.sum(out * out), out

        _, out, gradient = values(with_gradients(build, "h"), self.FEED)
        np.testing.assert_array_equal(out, self.CHOSEN)
        np.testing.assert_array_equal(gradient, self.GRADIENT)

    def test_sum_of_gradients_without_those_that_nothing_reaches(self):
        def build():
            h = trainable("h", [4, 3])
            zero = paddle.full([1], 0.0)
            held = paddle.cast(data("c", [1, 3], "bool"), "float32")
            shape = paddle.add(paddle.multiply(h, zero), paddle.multiply(held, zero))
            out = paddle.where(paddle.cast(paddle.add(held, shape), "bool"), paddle.add(h, shape), paddle.add(1 - h, shape))
            return paddle.sum(out * out), out

        _, out, gradient = values(with_gradients(build, "h"), self.FEED)
        np.testing.assert_array_equal(out, self.CHOSEN)
        np.testing.assert_array_equal(gradient, self.GRADIENT)


if __name__ == "__main__":
    unittest.main()
