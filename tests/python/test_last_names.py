"""What was left of the names: numbers as text, two types in one search. Values are those of Paddle 2.6.2."""
import unittest

import numpy as np
import paddle


class Searching(unittest.TestCase):
    """Numbers of two types are compared as they are, not cast first: 2.9 lies before the integer 3."""

    def test_two_types(self):
        row = [1, 3, 5, 7]
        for sorted_type in ("float32", "float64", "int32", "int64"):
            for type_, values, places in (("int64", [3, 6], [1, 3]), ("int32", [3, 6], [1, 3]),
                                          ("float32", [2.9, 3.1], [1, 2]), ("float64", [2.9, 3.1], [1, 2])):
                with self.subTest(sorted_type=sorted_type, values=type_):
                    line = paddle.to_tensor(np.array(row, sorted_type))
                    wanted = paddle.to_tensor(np.array(values, type_))
                    self.assertEqual(paddle.searchsorted(line, wanted).tolist(), places)
                    self.assertEqual(paddle.bucketize(wanted, line).tolist(), places)
        self.assertEqual(paddle.searchsorted(paddle.to_tensor(row), paddle.to_tensor([3., 5.5]), right=True).tolist(),
                         [2, 3])

    def test_wrong(self):
        with self.assertRaisesRegex(Exception, "Values .* has type bool, expected a number"):
            paddle.searchsorted(paddle.to_tensor([1, 2]), paddle.to_tensor([True]))


class Full(unittest.TestCase):
    CASES = (("1.5", None, [1.5, 1.5]), ("3", None, [3., 3.]), ("3", "int64", [3, 3]), ("inf", None, [np.inf] * 2),
             ("9007199254740993", "int64", [9007199254740993] * 2))

    def test_text(self):
        for text, dtype, wanted in self.CASES:
            with self.subTest(text):
                made = paddle.full([2], text, dtype)
                self.assertEqual((made.tolist(), made.dtype == paddle.int64), (wanted, dtype == "int64"))
        self.assertEqual(paddle.full([2], "1.5", "int64").tolist(), [1, 1])

    def test_tensor(self):
        self.assertEqual(paddle.full([2], paddle.to_tensor([1.5])).tolist(), [1.5, 1.5])
        self.assertEqual(paddle.full([2], paddle.to_tensor(1.5), "int64").tolist(), [1, 1])

    def test_static(self):
        paddle.enable_static()
        try:
            main = paddle.static.Program()
            with paddle.static.program_guard(main):
                outs = [paddle.full([2], text, dtype) for text, dtype, _ in self.CASES]
                outs.append(paddle.full([2], paddle.full([1], 2.5)))
            got = paddle.static.Executor().run(main, fetch_list=outs)
        finally:
            paddle.disable_static()
        self.assertEqual([list(g) for g in got], [wanted for _, _, wanted in self.CASES] + [[2.5, 2.5]])

    def test_wrong(self):
        with self.assertRaisesRegex(ValueError, "could not convert string to float: 'x'"):
            paddle.full([2], "x")
        with self.assertRaisesRegex(TypeError, "must be a number"):
            paddle.full([2], None)


if __name__ == "__main__":
    unittest.main()
