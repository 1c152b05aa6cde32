"""Declared functions as objects of Python: arguments, refusals, signatures, methods, pickling, both modes, tracing."""
import copy
import inspect
import pickle
import pydoc
import unittest

import numpy as np
import paddle
import paddle.nn.functional as F


def ones(*shape):
    return paddle.ones(shape)


class Arguments(unittest.TestCase):
    def test_by_position_and_name(self):
        x = paddle.to_tensor([-2.0, 4.0])
        for out in (F.leaky_relu(x, 0.5), F.leaky_relu(x, negative_slope=0.5), F.leaky_relu(negative_slope=0.5, x=x),
                    F.leaky_relu(x, np.float32(0.5)), F.leaky_relu(x, paddle.to_tensor(0.5), None)):
            self.assertEqual(out.tolist(), [-1.0, 4.0])

    def test_numbers(self):
        x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        self.assertEqual(paddle.sum(x, axis=np.int64(0)).tolist(), [4.0, 6.0])
        self.assertEqual(paddle.sum(x, paddle.to_tensor([0, 1])).item(), 10.0)
        self.assertEqual(paddle.reshape(x, np.array([4, 1])).shape, [4, 1])
        self.assertEqual(paddle.reshape(x, range(4, 0, -3)).shape, [4, 1])
        self.assertEqual(paddle.full([1], 2 ** 53 + 1, "int64").item(), 2 ** 53 + 1)
        self.assertEqual(paddle.equal(paddle.to_tensor([2 ** 60 + 1]), 2 ** 60 + 1).tolist(), [True])
        self.assertEqual(paddle.full([2], True, "bool").tolist(), [True, True])
        self.assertEqual(str(paddle.cast(x, np.dtype("int32")).dtype), "paddle.int32")

    def test_matmul_of_whole_numbers(self):
        x = paddle.to_tensor([[1, 2], [3, 4]])
        out = paddle.matmul(x, x, transpose_y=True)
        self.assertEqual((str(out.dtype), out.tolist()), ("paddle.int64", [[5, 11], [11, 25]]))

    def test_refused(self):
        x = ones(2, 2)
        for call, kind, text in (
                (lambda: paddle.abs(), TypeError, "abs() missing 1 required positional argument: 'x'"),
                (lambda: paddle.add(), TypeError, "add() missing 2 required positional arguments: 'x' and 'y'"),
                (lambda: paddle.lerp(), TypeError,
                 "lerp() missing 3 required positional arguments: 'x', 'y', and 'weight'"),
                (lambda: paddle.abs(x, None, 3), TypeError, "abs() takes from 1 to 2 positional arguments but 3 were given"),
                (lambda: paddle.index_sample(x, x, x), TypeError,
                 "index_sample() takes 2 positional arguments but 3 were given"),
                (lambda: paddle.abs(x, axis=1), TypeError, "abs() got an unexpected keyword argument 'axis'"),
                (lambda: paddle.abs(x, x=x), TypeError, "abs() got multiple values for argument 'x'"),
                (lambda: paddle.abs(3), TypeError, "The type of 'x' in abs must be Variable, but received <class 'int'>."),
                (lambda: paddle.abs(None), TypeError, "The type of 'x' in abs must be Variable"),
                (lambda: paddle.concat(3), TypeError, "The type of 'x' in concat must be a list or tuple of Variables"),
                (lambda: paddle.concat([x, 3]), TypeError, "The type of 'x' in concat must be Variable"),
                (lambda: paddle.pow(x, "a"), TypeError, "The type of 'y' in pow must be a number, but received <class 'str'>"),
                (lambda: paddle.reshape(x, 3.5), TypeError, "The type of 'shape' in reshape must be an int, list or tuple"),
                (lambda: paddle.reshape(x, ["a"]), TypeError, "The elements of 'shape' in reshape must be int"),
                (lambda: paddle.reshape(x, [-1, -1]), AssertionError, "shape[1] is also -1"),
                (lambda: paddle.max(x, 2), ValueError, "max: the axis 2 is not in the range [-2, 2) of a tensor of the shape [2, 2]"),
                (lambda: paddle.unbind(x, 5), ValueError, "unbind: the axis 5 is not one of the 2 dimensions"),
                (lambda: paddle.split(x, 0), ValueError, "is not evenly divisible by"),
                (lambda: paddle.cast(x, "float31"), Exception, "float31"),
                (lambda: F.selu(x, 0.5), ValueError, "The scale must be greater than 1.0. Received: 0.5."),
                (lambda: F.softshrink(x, -1), ValueError, "The threshold must be no less than zero. Received: -1.0."),
                (lambda: paddle.uniform([2], "int64"), TypeError, "uniform/rand only supports ['float32', 'float64']"),
                (lambda: paddle.randint(-3), ValueError, "If high is None, low must be greater than 0, but received low = -3."),
                (lambda: paddle.randperm(0), ValueError, "The input n should be greater than 0 in randperm op."),
                (lambda: paddle.tril(ones(3)), ValueError, "x shape in tril must be at least 2-D"),
                (lambda: F.embedding(paddle.to_tensor([0]), x, 5), ValueError, "padding_idx must be within [-2, 2)"),
                (lambda: paddle.full([2], None), TypeError, "The type of 'fill_value' in full must be a number"),
                (lambda: paddle.full([2], [1, 2]), TypeError, "full: the value must be a number"),
                (lambda: paddle.full([2], "a"), ValueError, "could not convert string to float: 'a'"),
                (lambda: paddle.equal(x, "a"), TypeError, "The type of 'y' in equal must be a number"),
                (lambda: paddle.equal(x, [1]), TypeError, "equal: y must be a tensor or a number"),
                (lambda: paddle.stack([x], [0]), TypeError, "The type of 'axis' in stack must be an int, but received <class 'list'>"),
                (lambda: paddle.split(x, None), TypeError, "The type of 'num_or_sections' in split must be a number"),
                (lambda: type(paddle.abs)(), TypeError, "functions are declared in Skiff's src/calls")):
            with self.subTest(text):
                with self.assertRaises(kind) as caught:
                    call()
                self.assertIn(text, str(caught.exception))

    def test_nothing_is_left_after_a_refusal(self):
        x = ones(2, 2)
        for _ in range(3):
            with self.assertRaises(ValueError):
                paddle.add(x, ones(3))
            self.assertEqual(paddle.add(x, x).tolist(), [[2.0, 2.0], [2.0, 2.0]])


class Objects(unittest.TestCase):
    def test_signature_and_help(self):
        self.assertEqual(str(inspect.signature(F.leaky_relu)), "(x, negative_slope=0.01, name=None)")
        self.assertEqual(str(inspect.signature(paddle.randint)), "(low=0, high=None, shape=[1], dtype=None, name=None)")
        self.assertIn("leaky_relu(x, negative_slope=0.01, name=None)\n    x, or negative_slope * x below zero.",
                      pydoc.render_doc(F.leaky_relu, renderer=pydoc.plaintext))
        self.assertEqual((F.relu.__name__, F.relu.__module__), ("relu", "paddle.nn.functional.activation"))
        self.assertEqual(repr(paddle.abs), "<function paddle.tensor.math.abs>")
        self.assertTrue(callable(paddle.abs) and inspect.isroutine(paddle.abs))

    def test_every_signature(self):
        """The arguments of every row are Python."""
        from skiff import _native
        count = 0
        for module in ("math", "stat", "elements", "logic", "search", "linalg", "manipulation", "creation", "random", "picking"):
            for function in _native.functions("tensor." + module).values():
                self.assertEqual(tuple(inspect.signature(function).parameters), function._arguments)
                count += 1
        self.assertGreater(count, 150)

    def test_copies(self):
        for function in (paddle.abs, F.relu, paddle.mod):
            self.assertIs(pickle.loads(pickle.dumps(function)), function)
            self.assertIs(copy.deepcopy(function), function)

    def test_methods(self):
        x = paddle.to_tensor([[-1.0, 2.0]])
        method = x.abs
        self.assertEqual(method().tolist(), [[1.0, 2.0]])
        self.assertEqual(x.sum(axis=1, keepdim=True).tolist(), [[1.0]])
        self.assertIs(type(x).abs, paddle.abs)

    def test_one_result_or_several(self):
        x = paddle.to_tensor([[3.0, 1.0, 2.0]])
        self.assertIsInstance(paddle.topk(x, 2), tuple)
        self.assertIsInstance(paddle.split(x, 3, axis=1), list)
        self.assertEqual([t.item() for t in paddle.unbind(x, 1)[:2] if t.shape == [1]], [3.0, 1.0])
        self.assertEqual(len(paddle.unstack(paddle.zeros([100, 1]))), 100)
        flat = paddle.to_tensor([1.0])
        self.assertIs(paddle.t(flat), flat)


class Modes(unittest.TestCase):
    def tearDown(self):
        paddle.disable_static()

    def test_default_type(self):
        paddle.set_default_dtype("float64")
        try:
            self.assertEqual(str(paddle.zeros([1]).dtype), "paddle.float64")
            self.assertEqual(str(paddle.rand([1]).dtype), "paddle.float64")
        finally:
            paddle.set_default_dtype("float32")
        self.assertEqual(str(paddle.ones([1]).dtype), "paddle.float32")

    def test_tensors_do_not_go_into_programs(self):
        x = ones(2)
        paddle.enable_static()
        with self.assertRaisesRegex(TypeError, "The type of 'x' in abs must be Variable, but received .*Tensor"):
            paddle.abs(x)
        self.assertEqual(str(inspect.signature(paddle.abs)), "(x, name=None)")

    def test_traced(self):
        weight = paddle.to_tensor([[2.0], [3.0]])

        @paddle.jit.to_static
        def function(x):
            return F.relu(paddle.matmul(x, weight)) + paddle.sum(weight)

        self.assertEqual(function(paddle.to_tensor([[1.0, 1.0], [-1.0, -1.0]])).tolist(), [[10.0], [5.0]])


class Steps(unittest.TestCase):
    """Rows of several steps: what rules refuse, windows, results by choice."""

    def test_refused(self):
        x, image = ones(2, 2), ones(1, 3, 4, 4)
        ids = paddle.zeros([2], "int64")
        for call, kind, text in (
                (lambda: F.mse_loss(x, x, "most"), ValueError, "'reduction' in mse_loss should be 'sum', 'mean' or 'none'"),
                (lambda: F.mse_loss(x, x, None), ValueError, "but received None, which is not allowed"),
                (lambda: F.mse_loss(x, 2.0), TypeError, "The type of 'label' in mse_loss must be Variable"),
                (lambda: F.nll_loss(image, ids), ValueError, "(got input_dims4, label_dims1)"),
                (lambda: F.nll_loss(ones(2), ids), ValueError, "Expected 2 or more dimensions (got 1)"),
                (lambda: F.nll_loss(ones(2, 0), ids), ValueError, "Expected 1 or more classess (got num classes0)"),
                (lambda: F.hsigmoid_loss(x, ids, 1, x), ValueError, "Expected num_classes >= 2 (got 1)"),
                (lambda: F.layer_norm(x, [3]), ValueError,
                 "Given normalized_shape is [3], expected input with shape [*, 3, but got input shape [2, 2]"),
                (lambda: F.normalize(ones(2)), ValueError, "Axis must be 0 or -1 when x is a 1-D tensor, but received axis = 1"),
                (lambda: F.batch_norm(ones(2), ones(2), ones(2)), AssertionError, "input dim must be larger than 1"),
                (lambda: F.batch_norm(x, ones(2), ones(2), data_format="CN"), ValueError, "'NDHWC' but receive CN"),
                (lambda: F.prelu(x, x), AssertionError, "The dim count of weight shape should be 1 in prelu()."),
                (lambda: F.prelu(x, ones(3)), AssertionError, "The weight size should be equal to x input channel"),
                (lambda: paddle.polygamma(x, -1), ValueError, "greater than or equal to 0. But received n = -1"),
                (lambda: paddle.polygamma(x, 1.5), TypeError, "The input of n must be int type"),
                (lambda: F.glu(x, 2), ValueError, "Expected value range of `axis` is [-2, 2), but received axis: 2"),
                (lambda: F.conv2d(image, ones(4, 3, 1, 1), stride=[1, 2, 3]), ValueError,
                 "stride must be an int or 2 of them, but got [1, 2, 3]"),
                (lambda: F.conv2d(image, ones(4, 3, 1, 1), stride=None), ValueError, "2 of them, but got None"),
                (lambda: F.conv2d(image, ones(4, 3, 1, 1), padding="FULL"), ValueError,
                 "Unknown padding: 'FULL'. It can only be 'SAME' or 'VALID'."),
                (lambda: F.conv2d(image, ones(4, 3, 1, 1), padding=[[1, 1]]), ValueError,
                 "padding must be a pair for each of the 2 dimensions, but got [1, 1]"),
                (lambda: F.conv2d(image, ones(4, 3, 1, 1), data_format="NCL"), ValueError,
                 "Attr(data_format) should be 'NCHW' or 'NHWC'. Received Attr(data_format): NCL."),
                (lambda: F.conv2d(x, ones(4, 3, 1, 1)), ValueError, "Input x should be 4D tensor, but received x with the shape"),
                (lambda: F.conv2d(image, ones(4, 3, 1, 1), groups=0), ValueError, "conv2d should be greater than 0"),
                (lambda: F.conv2d(image, ones(4, 3, 1, 1), groups=2), ValueError, "input must be divisible by groups"),
                (lambda: F.avg_pool1d(x, 2), ValueError, "The input should have 3 dimensions, but received a tensor of shape [2, 2]"),
                (lambda: F.avg_pool2d(image, 2, divisor_override=0), ZeroDivisionError, "divisor_override cannot be 0"),
                (lambda: F.max_pool2d(image, 2, return_mask=True, data_format="NHWC"), ValueError,
                 "data_format must be set to NCHW in API:max_pool2d")):
            with self.subTest(text):
                with self.assertRaises(kind) as raised:
                    call()
                self.assertIn(text, str(raised.exception))

    def test_channels_must_be_known(self):
        paddle.enable_static()
        try:
            with paddle.static.program_guard(paddle.static.Program()):
                x = paddle.static.data("x", [1, -1, 4, 4])
                w = paddle.static.data("w", [4, 3, 1, 1])
                with self.assertRaisesRegex(ValueError, "The channel dimension of the input"):
                    F.conv2d(x, w)
        finally:
            paddle.disable_static()

    def test_paddings(self):
        """All spellings of the same border."""
        image, weight = paddle.arange(16, dtype="float32").reshape([1, 1, 4, 4]), ones(1, 1, 3, 3)
        for spellings in ((1, [1], [1, 1], (1, 1, 1, 1), [[1, 1], [1, 1]], [[0, 0], [0, 0], [1, 1], [1, 1]], "SAME"),
                          ([1, 0, 0, 2], [(1, 0), (0, 2)], [[0, 0], [0, 0], [1, 0], [0, 2]]), (0, "VALID", "valid")):
            outs = [F.conv2d(image, weight, padding=p).tolist() for p in spellings]
            self.assertEqual(outs, outs[:1] * len(outs))

    def test_results_by_choice(self):
        x = paddle.arange(16, dtype="float32").reshape([1, 1, 4, 4])
        self.assertEqual(F.max_pool2d(x, 2).tolist(), [[[[5.0, 7.0], [13.0, 15.0]]]])
        for kind in ("float32", "float64"):
            self.assertEqual(F.avg_pool2d(x.astype(kind), 2, divisor_override=2).tolist(), [[[[5.0, 9.0], [21.0, 25.0]]]])
        out, mask = F.max_pool2d(x, 2, return_mask=True)
        self.assertEqual((out.shape, mask.tolist()), ([1, 1, 2, 2], [[[[5, 7], [13, 15]]]]))


if __name__ == "__main__":
    unittest.main()
