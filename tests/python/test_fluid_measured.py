"""paddle.fluid: values that Paddle 1.8.5 gave where Skiff once gave others."""
import unittest

import numpy as np
import paddle.fluid as fluid
from fluid_help import fresh, run
from paddle.fluid import layers as L


class Values(unittest.TestCase):
    def test_npair_loss(self):
        rng = np.random.RandomState(0)
        feed = {"a": rng.rand(18, 6).astype("float32"), "p": rng.rand(18, 6).astype("float32"),
                "l": rng.randint(0, 5, (18,)).astype("float32")}
        build = lambda: L.npair_loss(fluid.data("a", [18, 6]), fluid.data("p", [18, 6]),  # noqa: E731
                                     fluid.data("l", [18], "float32"), l2_reg=0.002)
        np.testing.assert_allclose(run(build, feed), [2.9707303], rtol=1e-6)
        with fresh() as (main, _):
            build()
            self.assertEqual([op.type for op in main.global_block().ops][-5:],
                             ["softmax_with_cross_entropy", "elementwise_mul", "reduce_sum", "reduce_mean", "elementwise_add"])

    def test_range_counts_in_its_own_type(self):
        for end, size in ((0.6, 6), (0.3, 3), (1.0, 10)):
            for dtype in ("float32", "float64"):
                got = np.asarray(run(lambda: L.range(0, end, 0.1, dtype), {}))
                self.assertEqual(got.shape, (size,), (end, dtype))
                np.testing.assert_allclose(got, np.arange(size) * 0.1, rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
