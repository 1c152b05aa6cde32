"""Tensors of eager mode: what Paddle 2.6.2 gives for the expressions of eager_cases.py, and what those cannot say."""
import copy
import json
import os
import pickle
import unittest

import numpy as np
import paddle
from eager_cases import cases, outcome


def alike(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a != a and b != b or abs(a - b) <= 1e-5 + 1e-6 * abs(b)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b))
    return a == b


class Recorded(unittest.TestCase):
    def test_as_paddle(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "eager_recorded.json"), encoding="utf-8") as file:
            recorded = json.load(file)
        self.assertGreater(len(recorded), 700)
        for text in cases():
            with self.subTest(text):
                have = json.loads(json.dumps(outcome(text)))
                self.assertTrue(alike(have, recorded[text]), "%s, not %s" % (have, recorded[text]))


class More(unittest.TestCase):
    def test_beyond_paddle(self):
        """Paddle refuses or hangs; numpy's answers here."""
        x = paddle.arange(12).reshape([3, 4])
        n = x.numpy()
        for index in ([-1], (None, [0, 1]), (slice(2, 1),), (slice(None), [True, False, True, True]),
                      (np.array([[True, False, True, False]] * 3),)):
            np.testing.assert_array_equal(x[index].numpy(), n[index])
        np.testing.assert_array_equal((7 // x[1]).numpy(), 7 // n[1])
        with self.assertRaisesRegex(IndexError, "index 5 is out of bounds for dimension 0 with size 3"):
            x[[0, 5]]
        with self.assertRaisesRegex(IndexError, "boolean index .2. did not match indexed tensor .3. along dimension 0"):
            x[paddle.to_tensor([True, False])]
        with self.assertRaisesRegex(IndexError, r"shapes \[2\], \[3\] do not fit"):
            x[[0, 1], [0, 1, 2]]
        with self.assertRaisesRegex(IndexError, "too many indices for tensor of dimension 2: 3"):
            x[0, 0, 0]
        with self.assertRaisesRegex(IndexError, "single ellipsis"):
            x[..., 0, ...]
        with self.assertRaisesRegex(ValueError, "indexed by bool, int, slice.*received str"):
            x["a"]
        with self.assertRaisesRegex(ValueError, "step cannot be zero"):
            x[::0]
        with self.assertRaisesRegex(ValueError, "integers to the power -1"):
            x ** -1
        with self.assertRaisesRegex(RuntimeError, "~ is for bool and integers"):
            ~paddle.ones([1])

    def test_messages(self):
        x = paddle.ones([2, 3])
        with self.assertRaisesRegex(ValueError, r"shape \[4\] cannot be assigned.*shape \[2, 3\]"):
            x[0] = np.zeros(4)
        with self.assertRaisesRegex(ValueError, "__add__: the other operand must be int, float, bool or Tensor, but got list"):
            x + [1]
        with self.assertRaisesRegex(ValueError, r"add_: the shape of the result, \[4, 2, 3\]"):
            x.add_(paddle.ones([4, 2, 3]))
        with self.assertRaisesRegex(AssertionError, r"need tensor with shape \[2, 3\]"):
            x.set_value(np.zeros([3], "float32"))
        with self.assertRaisesRegex(AssertionError, "need tensor with dtype float32  but load tensor with dtype int64"):
            x.set_value(np.zeros([2, 3], "int64"))
        for name in ("cuda", "pin_memory"):
            with self.assertRaisesRegex(RuntimeError, "Skiff computes on the CPU"):
                getattr(x, name)()
        with self.assertRaisesRegex(RuntimeError, "no device gpu:0"):
            x.to("gpu:0")
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'typ'"):
            x.to(typ="int64")
        with self.assertRaisesRegex(ValueError, "lists that are nested must have the same lengths"):
            paddle.to_tensor([[1, 2], [3]])
        with self.assertRaisesRegex(ValueError, "gradient of .* must have the shape"):
            x.grad = paddle.ones([3])
        with self.assertRaisesRegex(TypeError, "a gradient must be a Tensor or None"):
            x.grad = 5
        with self.assertRaisesRegex(ValueError, "NoneType cannot be assigned"):
            x[0] = None
        with self.assertRaisesRegex(TypeError, "a hook must be callable"):
            x.register_hook(3)
        with self.assertRaisesRegex(ValueError, "astype: None is no data type"):
            x.astype(None)
        with self.assertRaisesRegex(ValueError, r"sum: the axis 5 is not in the range \[-2, 2\)"):
            x.sum(axis=5)
        with self.assertRaisesRegex(TypeError, "to_tensor: a tensor cannot be made of elements of the type <U1"):
            paddle.to_tensor("a")

    def test_memory_is_shared(self):
        x = paddle.to_tensor([1.0, 2.0, 3.0])
        view, twin = np.asarray(memoryview(x)), x.detach()
        x.add_(paddle.ones([3]))
        x[0] = 9.0
        self.assertEqual([view.tolist(), twin.tolist()], [[9.0, 3.0, 4.0]] * 2)
        held = np.asarray(memoryview(paddle.to_tensor([5.0, 6.0])))
        paddle.zeros([2])
        self.assertEqual(held.tolist(), [5.0, 6.0])
        y = paddle.to_tensor([1.0, 2.0])
        old = np.asarray(memoryview(y))
        y.set(np.arange(1000.0))
        self.assertEqual([old.tolist(), y.shape], [[1.0, 2.0], [1000]])
        x.cast_("int64")  # another size: who shares keeps the old memory
        self.assertEqual([x.tolist(), view.tolist()], [[9, 3, 4], [9.0, 3.0, 4.0]])

    def test_copies(self):
        x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        x.note = ["mine"]
        for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
            self.assertEqual([other.tolist(), other.stop_gradient], [[1.0, 2.0], False])
        twin = copy.deepcopy(x)
        self.assertRegex(twin.name, "^%s_deepcopy_[0-9]+$" % x.name)
        twin.note.append("its")
        twin.set_value(np.zeros(2, "float32"))
        self.assertEqual([x.note, x.tolist()], [["mine"], [1.0, 2.0]])
        with self.assertRaisesRegex(RuntimeError, "Only Leaf Tensor support the deepcopy"):
            copy.deepcopy(x * 2)
        p = paddle.create_parameter([2], "float32", name="own_name")
        q = pickle.loads(pickle.dumps(p))
        self.assertEqual([q.name, q.shape, q.stop_gradient, q.tolist()], ["own_name", [2], False, p.tolist()])
        self.assertEqual({x: 1}[x], 1)
        self.assertTrue(x in [x])

    def test_random_in_place(self):
        paddle.seed(1)
        a = paddle.uniform([4], min=0.0, max=2.0)
        paddle.seed(1)
        b = paddle.zeros([4]).uniform_(0.0, 2.0)
        self.assertEqual(a.tolist(), b.tolist())
        c = paddle.zeros([20000]).exponential_(2.0)
        self.assertTrue(abs(c.mean().item() - 0.5) < 0.02 and c.min().item() >= 0)
        self.assertTrue(abs(paddle.zeros([20000]).normal_(3.0, 0.5).mean().item() - 3.0) < 0.02)

    def test_randperm_of_a_tensor(self):
        """As PaddleRec's mhcn calls it; the orders are those of Paddle 2.6.2."""
        paddle.seed(2023)
        self.assertEqual(paddle.randperm(paddle.to_tensor(5)).tolist(), [4, 1, 3, 2, 0])
        self.assertEqual(paddle.randperm(paddle.shape(paddle.zeros([10, 3]))[0]).tolist(), [5, 0, 6, 2, 3, 1, 7, 9, 8, 4])
        with self.assertRaisesRegex(ValueError, "should be greater than 0"):
            paddle.randperm(paddle.to_tensor(0))
        with self.assertRaisesRegex(TypeError, "'n' in randperm must be a number, but received <class 'str'>"):
            paddle.randperm("5")

    def test_to(self):
        x = paddle.to_tensor([1.5])
        self.assertIs(x.to("cpu"), x)
        self.assertIs(x.cpu(), x)
        self.assertEqual([str(x.to(t).dtype) for t in ("float64", paddle.int32, paddle.to_tensor(1))],
                         ["paddle.float64", "paddle.int32", "paddle.int64"])
        self.assertEqual(x.to(device="cpu", dtype="int64").tolist(), [1])

    def test_broadcast(self):
        x = paddle.to_tensor([[1.0], [2.0]], stop_gradient=False)
        a, b = paddle.broadcast_tensors([x, paddle.ones([3])])
        (a * 2 + b).sum().backward()
        self.assertEqual([a.shape, b.shape, x.grad.tolist()], [[2, 3], [2, 3], [[6.0], [6.0]]])
        self.assertEqual([paddle.broadcast_shape([2, 1, 3], [1, 3, 1]), paddle.broadcast_shape([], [2]),
                          paddle.broadcast_shape([-1, 3], [1, 3])], [[2, 3, 3], [2], [-1, 3]])
        with self.assertRaisesRegex(ValueError, "do not fit together: 2 and 3"):
            paddle.broadcast_tensors([paddle.ones([2]), paddle.ones([3])])
        with self.assertRaisesRegex(ValueError, "list of at least one tensor"):
            paddle.broadcast_tensors([])

    def test_print_options(self):
        paddle.set_printoptions(precision=2, edgeitems=1, threshold=4)
        try:
            self.assertIn("[0.33, ..., 0.33])", str(paddle.full([9], 1 / 3)))
        finally:
            paddle.set_printoptions(precision=8, edgeitems=3, threshold=1000)
        with self.assertRaisesRegex(TypeError, "'precision' in set_printoptions must be"):
            paddle.set_printoptions(precision="a")
        self.assertEqual(str(paddle.Tensor()), "Tensor(Not initialized)")

    def test_half(self):
        for bits, value in ((0x3c00, 1.0), (0x7bff, 65504.0), (0x0001, 2.0 ** -24), (0xfc00, -np.inf), (0x8000, -0.0)):
            half = paddle.to_tensor(np.array([bits], "uint16").view("float16"))
            self.assertEqual(half.astype("float32").item(), value)
            self.assertEqual(paddle.to_tensor([value]).astype("float16").numpy().view("uint16")[0], bits)
        cut = paddle.to_tensor([1.7, -0.2, 65504.5, 2.0 ** -24 * 1.9])  # Paddle does not round
        self.assertEqual(cut.astype("float16").numpy().view("uint16").tolist(), [0x3ecc, 0xb266, 0x7c00, 1])
        self.assertEqual(paddle.to_tensor([1.01, 3.14159265, np.inf]).astype("bfloat16").astype("float32").tolist(),
                         [1.0078125, 3.140625, np.inf])


if __name__ == "__main__":
    unittest.main()
