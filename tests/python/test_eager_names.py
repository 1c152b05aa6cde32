"""Functions of statistics, special functions, matrices, diagonals, windows and volumes: values and gradients of Paddle 2.6.2
(names_recorded.json, made by names_cases.py)."""
import json
import os
import unittest

import names_cases
import numpy as np
import paddle

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "names_recorded.json")) as _source:
    RECORDED = json.load(_source)


class Values(unittest.TestCase):
    def test_every_case(self):
        self.assertEqual(sorted(RECORDED), sorted(names_cases.CASES))
        self.assertGreater(len(RECORDED), 140)
        for name, wanted in RECORDED.items():
            with self.subTest(name):
                got = names_cases.compute(name)
                self.assertEqual(len(wanted), len(got))
                for want, have in zip(wanted, got):
                    self.assertEqual(want is None, have is None)
                    if want is None:
                        continue
                    self.assertEqual(want[:2], have[:2])
                    np.testing.assert_allclose(have[2], want[2], rtol=1e-4, atol=1e-5)
                    np.testing.assert_allclose(have[3], want[3], rtol=1e-4, atol=1e-3)

    def test_gradients_that_paddle_forgets(self):
        x, y = paddle.ones([3, 3]), paddle.to_tensor([1.0, 2.0, 3.0])
        x.stop_gradient = y.stop_gradient = False
        weights = paddle.arange(9, dtype="float32").reshape([3, 3])
        (paddle.diagonal_scatter(x, y) * weights).sum().backward()
        self.assertEqual(x.grad.tolist(), [[0, 1, 2], [3, 0, 5], [6, 7, 0]])
        self.assertEqual(y.grad.tolist(), [0, 4, 8])
        x = paddle.arange(5, dtype="float32")
        x.stop_gradient = False
        paddle.unfold(x, 0, 3, 1).sum().backward()
        self.assertEqual(x.grad.tolist(), [1, 2, 3, 2, 1])
        y = paddle.ones([2, 3])
        y.stop_gradient = False
        (paddle.trapezoid(y) * paddle.to_tensor([1.0, 2.0])).sum().backward()
        self.assertEqual(y.grad.tolist(), [[0.5, 1, 0.5], [1, 2, 1]])

    def test_forms_in_place(self):
        x = paddle.to_tensor([0.5, 1.5])
        np.testing.assert_allclose(x.lgamma_().numpy(), [0.5723649, -0.1207822], rtol=1e-5)
        x = paddle.to_tensor([4, 6])
        self.assertIs(x.gcd_(paddle.to_tensor([6, 9])), x)
        self.assertEqual(x.tolist(), [2, 3])
        x = paddle.zeros([2, 2])
        x.fill_diagonal_(3.0)
        self.assertEqual(x.tolist(), [[3, 0], [0, 3]])
        self.assertEqual(paddle.zeros([2, 3, 4]).get_strides(), [12, 4, 1])

    def test_put_along_axis(self):
        """Of Paddle 2.6.2, too."""
        x = paddle.to_tensor([[10, 30, 20], [60, 40, 50]])
        index, value = paddle.zeros([2, 2], "int32"), paddle.to_tensor([[1, 2], [3, 4]])
        for how, with_self, first in (("add", False, [4, 6, 20]), ("mul", False, [3, 8, 20]), ("mean", True, [4, 12, 20]),
                                      ("mean", False, [2, 3, 20]), ("amin", True, [1, 2, 20]), ("amax", True, [10, 30, 20]),
                                      ("amax", False, [3, 4, 20])):
            got = paddle.put_along_axis(x, index, value, 0, how, with_self, False)
            self.assertEqual(got.tolist(), [first, [60, 40, 50]], (how, with_self))

    def test_equations(self):
        a, b, c = (np.random.RandomState(i).rand(*shape).astype("float32") for i, shape in
                   enumerate(((2, 3, 2), (2, 2, 3), (3, 4))))
        for equation, arrays in (("...jk->...kj", [a]), ("...jk,...kl->...jl", [a, b]), ("...jk,...kl", [a, b]),
                                 ("ijk,ikl,lm->im", [a, b, c]), ("...k->...", [a])):
            np.testing.assert_allclose(paddle.einsum(equation, *[paddle.to_tensor(v) for v in arrays]).numpy(),
                                       np.einsum(equation, *arrays), rtol=1e-5, err_msg=equation)


class Wrong(unittest.TestCase):
    def test_messages(self):
        x = paddle.ones([2, 3])
        for wrong, call in (
                ("the axis 2 is not in the range", lambda: paddle.median(x, 2)),
                ("q must be in", lambda: paddle.quantile(x, 1.5)),
                ("greater than or equal to 0", lambda: paddle.polygamma(x, -1)),
                ("greater than or equal to 1", lambda: paddle.multigammaln(x, 0)),
                ("must be 'int32' or 'int64'", lambda: paddle.cummax(x, 0, "float32")),
                ("a whole number", lambda: paddle.gcd(x, x)),
                ("both x and dx", lambda: paddle.trapezoid(x, x, 1.0)),
                ("n must be greater than 0", lambda: paddle.diff(x, 0)),
                ("must hold square matrices", lambda: paddle.inverse(x)),
                ("do not fit", lambda: paddle.linalg.solve(paddle.eye(3), x)),
                ("not positive definite", lambda: paddle.linalg.cholesky(paddle.zeros([2, 2]))),
                ("needs singular values", lambda: paddle.linalg.cond(paddle.eye(2))),
                ("square matrices are expected", lambda: paddle.linalg.matrix_power(x, 2)),
                ("at least 2 tensors", lambda: paddle.linalg.multi_dot([x])),
                ("the diagonal has [2]", lambda: paddle.diagonal_scatter(x, paddle.ones([3]))),
                ("the slice has [2]", lambda: paddle.select_scatter(x, paddle.ones([3]), 1, 0)),
                ("of at least two dimensions", lambda: paddle.ones([2]).fill_diagonal_(1.0)),
                ("is not at an element of 4", lambda: paddle.as_strided(x, [1], [1], 3)),
                ("do not fit the dimension of 3", lambda: paddle.unfold(x, 1, 4, 1)),
                ("'raise', 'wrap', 'clip'", lambda: paddle.take(x, paddle.to_tensor([0]), "no")),
                ("must be greater than 1", lambda: paddle.vsplit(paddle.ones([2]), 1)),
                ("Expect a 1-D vector", lambda: paddle.combinations(x)),
                ("rows of the same length", lambda: paddle.cdist(x, paddle.ones([2, 2]))),
                ("is no type of floats", lambda: paddle.finfo("int32")),
                ("is of 2 operands, but there are 1", lambda: paddle.einsum("...i,...i->...", x)),
                ("invalid output_size", lambda: paddle.nn.functional.max_unpool1d(paddle.ones([1, 1, 2]),
                                                                                  paddle.zeros([1, 1, 2], "int32"), 2,
                                                                                  output_size=[9])),
                ("should be 5D tensor", lambda: paddle.nn.functional.conv3d(x, paddle.ones([1, 1, 1, 1, 1]))),
                ("is smaller than the filter", lambda: paddle.nn.functional.conv3d(paddle.ones([1, 1, 1, 3, 3]),
                                                                              paddle.ones([1, 1, 2, 1, 1]))),
                ("gives a size of 9 on axis 2, must be in [3, 4)", lambda: paddle.nn.functional.conv3d_transpose(
                    paddle.ones([1, 1, 2, 2, 2]), paddle.ones([1, 1, 2, 2, 2]), output_size=[9, 9, 9])),
                ("[time, batch, beam]", lambda: paddle.nn.functional.gather_tree(x, x))):
            with self.subTest(wrong), self.assertRaises(Exception) as raised:
                call()
            self.assertIn(wrong, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
