"""backward, grad, hooks, PyLayer and in-place writes of eager mode; memory of long loops."""
import gc
import resource
import unittest

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


def leaf(*values):
    return paddle.to_tensor(list(values), dtype="float32", stop_gradient=False)


class Cube(PyLayer):
    @staticmethod
    def forward(ctx, x, factor=1.0):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x * x * factor

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensor()
        return grad * 3 * x * x * ctx.factor


class Backward(unittest.TestCase):
    def test_second_time(self):
        x = leaf(1.0, 2.0)
        y = (x * x).sum()
        y.backward()
        with self.assertRaisesRegex(SystemError, "second time.*retain_graph=True"):
            y.backward()
        self.assertEqual(x.grad.tolist(), [2.0, 4.0])

    def test_arguments(self):
        x = leaf(1.0, 2.0)
        with self.assertRaisesRegex(AssertionError, r"shape \[3\] mismatch Tensor .* with shape \[2\]"):
            (x * 2).backward(paddle.ones([3]))
        with self.assertRaisesRegex(AssertionError, "must be paddle.Tensor"):
            (x * 2).backward([1.0, 1.0])
        with self.assertRaisesRegex(AssertionError, "2 gradients for 1 tensors"):
            paddle.autograd.backward([x * 2], [None, None])
        with self.assertRaisesRegex(AssertionError, "in the list twice"):
            paddle.autograd.backward([x, x])
        with self.assertRaisesRegex(AssertionError, "element 0 of inputs must be a Tensor"):
            paddle.grad(x * 2, ["x"])
        with self.assertRaisesRegex(AssertionError, "grad: outputs must be a Tensor, or a list or tuple of at least one"):
            paddle.grad([], [x])
        with self.assertRaisesRegex(ValueError, "0-th input does not appear"):
            paddle.grad(x * 2, [leaf(1.0)])
        with self.assertRaisesRegex(RuntimeError, "it has no gradient that could be retained"):
            paddle.ones([1]).retain_grads()

    def test_changed_in_place(self):
        x = leaf(1.0, 2.0)
        y = x * 2
        z = y * y
        y.add_(paddle.ones([2]))
        with self.assertRaisesRegex(RuntimeError, "elementwise_mul: input X was changed in place"):
            z.sum().backward()

    def test_in_place_keeps_what_was_read(self):
        x = leaf(0.5, -1.0)
        y = x * 2
        y.multiply_(y * 3)  # 3 y^2
        y.exp_()
        y.sum().backward()
        want = np.exp(12 * x.numpy() ** 2) * 24 * x.numpy()
        np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-5)
        x.clear_grad()
        y = x * 2
        y.fill_(3.0)
        (y * x).sum().backward()
        self.assertEqual(x.grad.tolist(), [3.0, 3.0])
        with self.assertRaisesRegex(ValueError, "Leaf Var .* can't use inplace strategy"):
            x.zero_()
        with self.assertRaisesRegex(ValueError, "Leaf Tensor .* can't use inplace strategy"):
            x[0] = 1.0
        with paddle.no_grad():
            x[0] = 7.0
        self.assertEqual([x.tolist(), x.stop_gradient, x.is_leaf], [[7.0, -1.0], False, True])

    def test_cleared(self):
        x = leaf(1.0, 2.0)
        x.clear_grad()
        self.assertIsNone(x.grad)
        for i in range(3):
            (x * x).sum().backward()
            x.clear_grad()
        self.assertEqual(x.grad.tolist(), [0.0, 0.0])
        (x * x).sum().backward()
        self.assertEqual(x.grad.tolist(), [2.0, 4.0])
        x.grad = None
        self.assertIsNone(x.grad)

    def test_given_gradient_stays(self):
        x, g = leaf(1.0, 2.0), paddle.to_tensor([3.0, 4.0])
        x.backward(g)
        x.backward(g)
        self.assertEqual([x.grad.tolist(), g.tolist(), g.stop_gradient], [[6.0, 8.0], [3.0, 4.0], True])

    def test_long_chain(self):
        x = leaf(1.0)
        y = x
        for _ in range(20000):
            y = y + 1.0
        y.backward()
        self.assertEqual(x.grad.item(), 1.0)
        y = x
        for _ in range(20000):
            y = y + 1.0
        del y

    def test_jacobian(self):
        x = leaf(1.0, 2.0)
        self.assertEqual(paddle.autograd.jacobian(x * x, x)[:].tolist(), [[2.0, 0.0], [0.0, 4.0]])
        self.assertEqual(paddle.autograd.hessian((x ** 3).sum(), x)[:].tolist(), [[6.0, 0.0], [0.0, 12.0]])
        y, product = paddle.autograd.vjp(lambda t: t * t, x, paddle.to_tensor([1.0, 10.0]))
        self.assertEqual(product.tolist(), [2.0, 40.0])
        y, product = paddle.autograd.jvp(lambda t: t * t, x, paddle.to_tensor([1.0, 10.0]))
        self.assertEqual(product.tolist(), [2.0, 40.0])
        with self.assertRaisesRegex(ValueError, "at most 1 dimensions"):
            paddle.autograd.jacobian(paddle.ones([2, 2]), x)
        with self.assertRaisesRegex(ValueError, "ys must be one number"):
            paddle.autograd.hessian(x * x, x)


class Hooks(unittest.TestCase):
    def test_removing_inside(self):
        x, calls = leaf(1.0), []
        handles = []

        def first(grad):
            calls.append("first")
            handles[0].remove()
            handles[1].remove()
        handles += [x.register_hook(first), x.register_hook(lambda g: calls.append("second")),
                    x.register_hook(lambda g: g * 10)]
        (x * 2).backward()
        self.assertEqual([calls, x.grad.item()], [["first"], 20.0])
        with self.assertWarnsRegex(RuntimeWarning, "does not exist or has been removed"):
            self.assertFalse(handles[0].remove())

    def test_that_fails(self):
        x = leaf(1.0)
        handle = x.register_hook(lambda g: 1 / 0)
        with self.assertRaises(ZeroDivisionError):
            (x * 2).backward()
        handle.remove()
        x.register_hook(lambda g: "text")
        with self.assertRaisesRegex(TypeError, "what a hook returns must be a Tensor"):
            (x * 2).backward()
        with self.assertRaisesRegex(RuntimeError, "Cannot register hook on a tensor that stop gradient"):
            paddle.ones([1]).register_hook(print)


class Layers(unittest.TestCase):
    def test_second_order(self):
        x = leaf(2.0)
        (first,) = paddle.grad(Cube.apply(x, factor=2.0), [x], create_graph=True)
        (second,) = paddle.grad(first, [x])
        self.assertEqual([first.item(), second.item()], [24.0, 24.0])

    def test_second_order_of_a_saved_output(self):
        class Exp(PyLayer):
            @staticmethod
            def forward(ctx, x):
                y = x.exp()
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.saved_tensor()[0]

        x = leaf(2.0)
        y = Exp.apply(x)
        (first,) = paddle.grad(y * 3.0, [x], create_graph=True)
        (second,) = paddle.grad(first, [x])
        np.testing.assert_allclose([first.item(), second.item()], [3 * np.exp(2.0)] * 2, rtol=1e-6)
        z = Exp.apply(x) * 3.0
        with self.assertRaisesRegex(RuntimeError, "that output is gone; keep it in a variable"):
            paddle.grad(z, [x], create_graph=True)

    def test_options(self):
        seen = []

        class Two(PyLayer):
            @staticmethod
            def forward(ctx, a, b):
                ctx.set_materialize_grads(False)
                sign = a.sign()
                ctx.mark_non_differentiable(sign)
                return a * 1, b * 1, sign

            @staticmethod
            def backward(ctx, *grads):
                seen.append([g is None for g in grads])
                return grads[0], None

        a, b = leaf(1.0), leaf(2.0)
        left, right, sign = Two.apply(a, b)
        self.assertTrue(sign.stop_gradient)
        left.backward()
        self.assertEqual([seen, a.grad.item(), b.grad], [[[False, True, True]], 1.0, None])  # as in Paddle: one for every output

    def test_same_tensor(self):
        class Same(PyLayer):
            @staticmethod
            def forward(ctx, x):
                return x

            @staticmethod
            def backward(ctx, grad):
                return grad * 5

        x = leaf(1.0)
        y = Same.apply(x)
        y.backward()
        self.assertEqual([x.grad.item(), x.is_leaf, y is x], [5.0, True, False])

    def test_wrong(self):
        class Few(PyLayer):
            @staticmethod
            def forward(ctx, a, b):
                return a * b

            @staticmethod
            def backward(ctx, grad):
                return grad

        with self.assertRaisesRegex(ValueError, "Few.backward gave 1 gradients, but Few.forward was given 2 tensors"):
            Few.apply(leaf(1.0), leaf(2.0)).backward()

        class Text(Cube):
            @staticmethod
            def backward(ctx, grad):
                return "text"

        with self.assertRaisesRegex(ValueError, "Text.backward must give Tensors or None"):
            Text.apply(leaf(1.0)).backward()

        class Nothing(PyLayer):
            pass

        with self.assertRaisesRegex(NotImplementedError, "implement the forward"):
            Nothing.apply(leaf(1.0))

    def test_saved_hooks(self):
        x = leaf(2.0)
        with paddle.autograd.saved_tensors_hooks(lambda t: t.numpy(), lambda a: paddle.to_tensor(a)):
            y = Cube.apply(x)
        y.backward()
        self.assertEqual(x.grad.item(), 12.0)


class Nested(unittest.TestCase):
    """backward inside of backward."""

    def test_recompute(self):
        w = leaf(2.0)

        class Again(PyLayer):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * w * x

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensor()
                x = x.detach()
                x.stop_gradient = False
                with paddle.enable_grad():
                    y = x * w * x
                paddle.autograd.backward([y], [grad])
                return x.grad

        x = leaf(3.0)
        y = Again.apply(x * w) + w * 5.0  # w^3 x^2 + 5 w; inside, w is a leaf of its own walk
        y.backward()
        self.assertEqual([x.grad.item(), w.grad.item()], [48.0, 113.0])  # 2 w^3 x; 3 w^2 x^2 + 5

    def test_same_graph(self):
        x = leaf(3.0)
        y = x * x
        z = y * 2.0
        y.register_hook(lambda g: z.backward())
        with self.assertRaisesRegex(RuntimeError, "through which backward is on its way already"):
            z.backward(retain_graph=True)

    def test_other_graph_in_a_hook(self):
        x, other = leaf(3.0), leaf(4.0)
        y = x * x


        @paddle.enable_grad()
        def more(g):
            (other * x * g).backward()
        y.register_hook(more)
        (y * 2.0).backward()
        self.assertEqual([x.grad.item(), other.grad.item()], [20.0, 6.0])  # 2 * 2 x, and 4 * 2


def sanitized():
    """ASan keeps freed memory for a while: the size of the process says nothing then."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return "libasan" in maps.read()


class Memory(unittest.TestCase):
    def test_cycles(self):
        """Outputs that are saved, and hooks that hold their tensors, are let go."""
        import weakref

        class Saves(PyLayer):
            @staticmethod
            def forward(ctx, x):
                y = x.exp()
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.saved_tensor()[0]

        x = leaf(1.0)
        y = Saves.apply(x)
        gone = weakref.ref(y)
        del y
        self.assertIsNone(gone())
        y = Saves.apply(x)

        def attach(t):
            t.register_hook(lambda g: g * t.detach() * 0.0)
        attach(y)
        gone = weakref.ref(y)
        y.backward()
        self.assertEqual(x.grad.item(), 0.0)
        del y
        gc.collect()
        self.assertIsNone(gone())

    @unittest.skipIf(sanitized(), "ASan keeps freed memory")
    def test_ten_thousand_steps(self):
        """Of a loop with hooks, in-place writes, slices and a PyLayer: it does not grow."""
        w, b = leaf(*[0.1] * 64), leaf(0.5)
        x = paddle.to_tensor(np.random.RandomState(0).standard_normal((16, 64)).astype("float32"))
        b.register_hook(lambda g: g * 0.5)

        def step(i):
            y = F.relu((x * w).sum(axis=1) + b) * 2.0
            y[i % 16] = 0.0
            y.scale_(0.5)
            loss = (Cube.apply(y) + y[:8].sum()).mean()
            loss.backward()
            with paddle.no_grad():
                w.subtract_(1e-6 * w.grad)
            w.clear_grad()
            b.clear_grad()

        for i in range(2000):
            step(i)
        gc.collect()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for i in range(10000):
            step(i)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 4096)  # KiB


if __name__ == "__main__":
    unittest.main()
