"""What errors of eager ops say: the op, the argument, the tensor's name where it has one, its shape."""
import unittest

import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class Named(unittest.TestCase):
    def says(self, text, call, kind=ValueError):
        with self.assertRaises(kind) as caught:
            call()
        self.assertEqual(str(caught.exception), text)

    def test_shapes_tell_tensors_without_a_name(self):
        a, b = paddle.ones([2, 3]), paddle.ones([4, 5])
        self.says("op elementwise_add, input X [2, 3]: does not fit input Y [4, 5] with axis -1", lambda: a + b)
        self.says("op matmul_v2, input X [2, 3]: cannot be multiplied by input Y [4, 5]", lambda: paddle.matmul(a, b))
        self.says("op gather, input X [2, 3], input Index [1]: input Index [1]: element 0 is 9, must lie in [0, 2)",
                  lambda: paddle.gather(a, paddle.to_tensor([9])))
        self.says("op bce_loss, input Label [3, 1]: must have the shape of X [2, 1]",
                  lambda: F.binary_cross_entropy(paddle.full([2, 1], 0.5), paddle.ones([3, 1])))

    def test_parameters_have_names(self):
        linear = nn.Linear(4, 2)
        self.says("op matmul_v2, input X [2, 3]: cannot be multiplied by input Y (%s) [4, 2]" % linear.weight.name,
                  lambda: linear(paddle.ones([2, 3])))
        table = nn.Embedding(3, 2, weight_attr=paddle.ParamAttr(name="items"))
        self.says("op lookup_table_v2, input Ids [1], input W (items) [3, 2]: input Ids [1]: id 5 at position 0 is outside the "
                  "table W (items) [3, 2] of 3 rows", lambda: table(paddle.to_tensor([5])))

    def test_names_that_users_give(self):
        a, b = paddle.ones([2, 3]), paddle.ones([4, 5])
        a.name, b.name = "clicks", "shows"
        self.says("op elementwise_add, input X (clicks) [2, 3]: does not fit input Y (shows) [4, 5] with axis -1", lambda: a + b)
        a.name = "rows"
        self.says("op elementwise_add, input X (rows) [2, 3]: does not fit input Y (shows) [4, 5] with axis -1", lambda: a + b)

    def test_a_name_of_another_kind_is_refused(self):
        a = paddle.ones([2])
        with self.assertRaises(TypeError):
            a.name = 7

    def test_a_very_long_name_cuts_the_message(self):
        a = paddle.ones([2, 3])
        a.name = "n" * 5000
        with self.assertRaises(ValueError) as caught:
            a + paddle.ones([4, 5])
        self.assertTrue(str(caught.exception).startswith("op elementwise_add, input X (nnnn"))

    def test_no_number_is_left(self):
        a, i = paddle.ones([2, 3]), paddle.ones([2], "int64")
        for call in (lambda: paddle.concat([a, paddle.ones([4, 5])]), lambda: paddle.stack([a, i]), lambda: paddle.log(i),
                     lambda: paddle.topk(a, 9), lambda: F.softmax(a, axis=4), lambda: nn.Conv2D(3, 4, 3)(paddle.ones([1, 2, 5, 5])),
                     lambda: paddle.scatter(a, paddle.to_tensor([7]), paddle.ones([1, 3])), lambda: nn.LSTM(3, 4)(paddle.ones([2, 5, 2]))):
            with self.assertRaises((ValueError, RuntimeError, TypeError)) as caught:
                call()
            self.assertNotRegex(str(caught.exception), r"\b[IO][0-9]+\b")


if __name__ == "__main__":
    unittest.main()
