"""Details of eager mode against what 2.6.2 gave (eager_details_cases.py); reading ahead of slow and of failing data."""
import json
import os
import threading
import unittest
import warnings

import eager_details_cases as cases
import numpy as np
import paddle
import recorded
from paddle.io import DataLoader, Dataset, IterableDataset

RECORDED = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "eager_details.json")))


class Recorded(unittest.TestCase):
    def test_all(self):
        self.assertEqual(sorted(RECORDED), sorted(cases.CASES))
        for name, case in cases.CASES.items():
            exact = name in ("doubles", "equality")
            with self.subTest(name):
                recorded.compare(self, cases.tidy(case()), RECORDED[name], rtol=0 if exact else 2e-5, atol=0 if exact else 2e-6)


class Ahead(unittest.TestCase):
    def test_slow_stream(self):
        """What has come is given out, though the stream waits for what the loop does."""
        done = threading.Event()

        class Slow(IterableDataset):
            def __iter__(self):
                yield np.float32(1)
                done.wait()
                yield np.float32(2)

        seen = []
        for batch in DataLoader(Slow(), batch_size=None):
            seen.append(float(batch))
            done.set()
        self.assertEqual(seen, [1.0, 2.0])

    def test_errors_come_in_order(self):
        class Bad(Dataset):
            def __len__(self):
                return 9

            def __getitem__(self, i):
                if i == 2:
                    raise LookupError("row 2 is bad")
                return np.float32(i)

        seen, loop = [], iter(DataLoader(Bad()))
        with self.assertRaisesRegex(LookupError, "row 2 is bad"):
            for batch in loop:
                seen.append(float(batch))
        self.assertEqual(seen, [0.0, 1.0])
        self.assertEqual(list(loop), [])

    def test_loops_that_are_left_end_their_threads(self):
        before = threading.active_count()
        loader = DataLoader(cases.Drawn(50))
        for _ in range(20):
            for _ in loader:
                break
            iter(loader)
        self.assertEqual(threading.active_count(), before)

    def test_readers_that_are_started_begin_a_loop(self):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            loader = paddle.base.io.DataLoader.from_generator(capacity=2, iterable=False)
        self.assertIn("supports iterable mode only", str(told[-1].message))
        loader.set_batch_generator(lambda: iter([[np.ones(2, "float32")]]))
        self.assertEqual([batch[0].tolist() for batch in loader()], [[1.0, 1.0]])


class Packed(unittest.TestCase):
    """Hooks of saved tensors where real Paddle refuses or dies."""

    def test_nested_and_again(self):
        a, seen = cases.leaf(1.0, 2.0), []

        def hooks(name):
            return paddle.autograd.saved_tensors_hooks(lambda x: (seen.append(name), x)[1],
                                                       lambda x: (seen.append(name + "'"), x)[1])

        with hooks("outer"):
            with hooks("inner"):
                b = a * a
            c = (b * a).sum()
            with paddle.no_grad():
                a * a
        a * a
        c.backward(retain_graph=True)
        c.backward()
        self.assertEqual(seen, ["inner"] * 2 + ["outer"] * 2 + (["outer'"] * 2 + ["inner'"] * 2) * 2)
        self.assertEqual(a.grad.tolist(), [6.0, 24.0])

    def test_second_order(self):
        a = cases.leaf(1.0, 2.0)
        with paddle.autograd.saved_tensors_hooks(lambda x: x, lambda x: x):
            (slope,) = paddle.grad((a * a * a).sum(), [a], create_graph=True)
        slope.sum().backward()
        self.assertEqual(a.grad.tolist(), [6.0, 12.0])
        with paddle.autograd.saved_tensors_hooks(lambda x: x.numpy(), paddle.to_tensor):
            b = (a * a).sum()
        with self.assertRaisesRegex(NotImplementedError, "elementwise_mul: derivatives of second order need the leaf itself"):
            paddle.grad(b, [a], create_graph=True)

    def test_in_place(self):
        """Real Paddle 2.6.2 gives these numbers, and dies in `later`."""
        def run(function):
            x, w = cases.leaf(1.0, 2.0, 3.0), cases.leaf(1.0, 2.0, 3.0)
            y = x * 2
            with paddle.autograd.saved_tensors_hooks(lambda t: t, lambda t: t):
                out = function(y, w)
            return x, w, y, out

        x, w, y, out = run(lambda y, w: y.exp_())
        out.sum().backward()
        for got, want in zip(x.grad.tolist(), [14.778112, 109.1963, 806.8576]):
            self.assertAlmostEqual(got, want, places=3)
        x, w, y, out = run(lambda y, w: y.multiply_(w))
        out.sum().backward()
        self.assertEqual([x.grad.tolist(), w.grad.tolist()], [[2.0, 4.0, 6.0]] * 2)
        x, w, y, later = run(lambda y, w: y * y)
        y.add_(paddle.ones([3]))
        later.sum().backward()
        self.assertEqual(x.grad.tolist(), [8.0, 16.0, 24.0])
        x, w, y, out = run(lambda y, w: y * w)
        with paddle.no_grad():
            w.add_(paddle.ones([3]))
        with self.assertRaisesRegex(RuntimeError, "elementwise_mul: input Y was changed in place"):
            out.sum().backward()

    def test_wrong(self):
        def run(pack, unpack):
            a = cases.leaf(1.0, 2.0)
            with paddle.autograd.saved_tensors_hooks(pack, unpack):
                b = (a * a).sum()
            b.backward()

        self.assertRaises(ZeroDivisionError, run, lambda x: 1 / 0, lambda x: x)
        self.assertRaises(ZeroDivisionError, run, lambda x: x, lambda x: 1 / 0)
        with self.assertRaisesRegex(TypeError, "what an unpack hook returns must be a Tensor"):
            run(lambda x: x, lambda x: 5)
        for wrong in (paddle.ones([3]), paddle.ones([2], "float64")):
            with self.assertRaisesRegex(ValueError, r"type float32 and shape \[2\], but gave float"):
                run(lambda x: x, lambda x: wrong)
        with self.assertRaisesRegex(TypeError, "must be two functions"):
            run(None, None)


if __name__ == "__main__":
    unittest.main()
