"""Functions that use x.shape where a size is not known until a run: saved by paddle.jit.save, run with two sizes.
(shape, sum) are those of real Paddle 2.6.2 for arange(24) as [2, 3, 4] and arange(60) as [5, 3, 4]."""
import os
import tempfile
import unittest

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.static import InputSpec


def unpacked(x):
    n, h, w = x.shape
    return x.reshape([n, h * w])


def turned(x):
    y = x.transpose([1, 0, 2])
    return y.reshape([y.shape[0], y.shape[1] * y.shape[2]])


CASES = [
    ("reshape", lambda x: x.reshape([x.shape[0], -1]), ([2, 12], 276), ([5, 12], 1770)),
    ("reshape of a product", lambda x: x.reshape([x.shape[0] * x.shape[1], x.shape[2]]), ([6, 4], 276), ([15, 4], 1770)),
    ("reshape to a tuple", lambda x: paddle.reshape(x, (x.shape[0], 12)), ([2, 12], 276), ([5, 12], 1770)),
    ("reshape, last", lambda x: paddle.reshape(x, [-1, x.shape[0]]), ([12, 2], 276), ([12, 5], 1770)),
    ("reshape, divided", lambda x: x.reshape([x.shape[0] // 1, 12]), ([2, 12], 276), ([5, 12], 1770)),
    ("unpacked", unpacked, ([2, 12], 276), ([5, 12], 1770)),
    ("turned", turned, ([3, 8], 276), ([3, 20], 1770)),
    ("expand", lambda x: paddle.ones([1, 4]).expand([x.shape[0], 4]) + x[:, 0], ([2, 4], 68), ([5, 4], 530)),
    ("expand to x", lambda x: paddle.expand(x[:, :1], x.shape), ([2, 3, 4], 180), ([5, 3, 4], 1530)),
    ("tile", lambda x: paddle.ones([1, 4]).tile([x.shape[0], 1]) + x[:, 0], ([2, 4], 68), ([5, 4], 530)),
    ("zeros", lambda x: paddle.zeros([x.shape[0], 4]) + x[:, 0], ([2, 4], 60), ([5, 4], 510)),
    ("full", lambda x: paddle.full([x.shape[0], 2], 3.0), ([2, 2], 12), ([5, 2], 30)),
    ("full of it", lambda x: paddle.full([2], x.shape[0], dtype="float32"), ([2], 4), ([2], 10)),
    ("arange", lambda x: paddle.arange(x.shape[0]).astype("float32") + x[:, 0, 0], ([2], 13), ([5], 130)),
    ("slice", lambda x: x[:x.shape[0] - 1], ([1, 3, 4], 66), ([4, 3, 4], 1128)),
    ("mean", lambda x: x.sum() / x.shape[0], ([], 138), ([], 354)),
    ("power", lambda x: paddle.ones_like(x).sum() / x.shape[0] ** 2, ([], 6), ([], 2.4)),
    ("rand", lambda x: paddle.rand([x.shape[0]]) * 0 + 1, ([2], 2), ([5], 5)),
    ("one_hot", lambda x: F.one_hot(paddle.arange(x.shape[0]), 5), ([2, 5], 2), ([5, 5], 5)),
    ("a known size decides", lambda x: x.reshape([x.shape[0], -1]) if x.shape[1] == 3 else x, ([2, 12], 276), ([5, 12], 1770)),
]


def numbers(rows):
    return paddle.arange(12 * rows, dtype="float32").reshape([rows, 3, 4])


def saved(function, folder):
    traced = paddle.jit.to_static(function, input_spec=[InputSpec([None, 3, 4], "float32", "x")])
    paddle.jit.save(traced, os.path.join(folder, "m"))
    return os.path.join(folder, "m")


class Sizes(unittest.TestCase):
    def test_as_real(self):
        for name, function, *wanted in CASES:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                loaded = paddle.jit.load(saved(function, folder))
                for rows, (shape, total) in zip((2, 5), wanted):
                    out = loaded(numbers(rows))
                    self.assertEqual(list(out.shape), shape)
                    self.assertAlmostEqual(float(out.sum()), total, places=4)

    def test_gradients_go_through(self):
        class Net(paddle.nn.Layer):
            def __init__(self):
                super().__init__()
                self.fc = paddle.nn.Linear(12, 1)

            def forward(self, x):
                return self.fc(x.reshape([x.shape[0], -1])).sum() / x.shape[0]
        with tempfile.TemporaryDirectory() as folder:
            loaded = paddle.jit.load(saved(Net(), folder), fine_tune=True)
            loaded.train()
            for rows in (2, 5):
                loaded(numbers(rows)).backward()
                weight = [p for p in loaded.parameters() if len(p.shape) == 2][0]
                np.testing.assert_allclose(weight.grad.numpy().ravel(), numbers(rows).numpy().reshape(rows, 12).mean(axis=0), rtol=1e-6)
                weight.clear_grad()

    def test_decisions_by_it(self):
        """A branch is the program's; a generator over it is refused with its line."""
        def decides(x):
            return x * 2 if x.shape[0] > 3 else x

        def counts(x):
            return sum(x[i].sum() for i in range(x.shape[0]))
        with tempfile.TemporaryDirectory() as folder:
            loaded = paddle.jit.load(saved(decides, folder))
            for rows in (2, 5):
                np.testing.assert_array_equal(loaded(numbers(rows)).numpy(), decides(numbers(rows)).numpy())
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(RuntimeError) as caught:
            saved(counts, folder)
        self.assertRegex(str(caught.exception), r"test_eager_sizes.py:\d+: .*known when the program runs.*only a for statement")

    def test_programs_say_minus_one_as_ever(self):
        paddle.enable_static()
        try:
            with paddle.static.program_guard(paddle.static.Program()):
                self.assertEqual(list(paddle.static.data("x", [-1, 3]).shape), [-1, 3])
        finally:
            paddle.disable_static()

    def test_full_wants_one_element(self):
        self.assertEqual(paddle.full([2], paddle.to_tensor([2.5]), "int64").tolist(), [2, 2])
        with self.assertRaisesRegex(ValueError, "the tensor has 2 elements"):
            paddle.full([2], paddle.to_tensor([1.0, 2.0]))


if __name__ == "__main__":
    unittest.main()
