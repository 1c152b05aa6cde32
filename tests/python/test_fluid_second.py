"""Gradients of gradients in programs of 1.x: names and values that real Paddle 1.8.5 gave (second_1x.json, written by
second_cases.py), and what has no second order."""
import os
import unittest
import warnings

import numpy as np
import paddle.fluid as fluid
import second_cases as cases

HERE = os.path.dirname(os.path.abspath(__file__))


class Recorded(unittest.TestCase):
    def test_values(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cases.compare(self, cases.Face1(), os.path.join(HERE, "second_1x.json"))


class Without(unittest.TestCase):
    """Gradient ops that have no gradient."""
    def test_minimize(self):
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            x = fluid.layers.create_parameter([3, 2], "float32", name="x")
            g, = fluid.gradients([fluid.layers.reduce_max(x)], [x])
            ops = len(fluid.default_main_program().global_block().ops)
            with self.assertRaisesRegex(NotImplementedError, "op reduce_max_grad, which gives x@GRAD from .*, has no gradient"):
                fluid.optimizer.SGD(.1).minimize(fluid.layers.reduce_sum(fluid.layers.square(g)))
            self.assertEqual(len(fluid.default_main_program().global_block().ops), ops + 2)

    def test_sign_is_a_constant(self):
        """x + sign(gradient): the usual perturbation needs no second order."""
        with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.scope_guard(fluid.Scope()):
            x = fluid.layers.create_parameter([2], "float32", name="x", default_initializer=fluid.initializer.Constant(2.))
            g, = fluid.gradients([fluid.layers.reduce_max(x)], [x])
            pairs = fluid.backward.append_backward(fluid.layers.reduce_sum(fluid.layers.square(x + fluid.layers.sign(g))))
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(fluid.default_startup_program())
            np.testing.assert_allclose(exe.run(fetch_list=[pairs[0][1]])[0], [6., 6.])

    def test_warning(self):
        """The one result of 1.8 that is no derivative."""
        with fluid.program_guard(fluid.Program(), fluid.Program()):
            x = fluid.layers.create_parameter([1], "float32", name="x")
            g, = fluid.gradients([x * x], [x])
            with self.assertWarnsRegex(UserWarning, "op elementwise_mul reads the gradient x@GRAD.*not the derivative"):
                fluid.gradients([g * g + x * x * x], [x])
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                g = fluid.layers.assign(g)
                fluid.gradients([g * g + x * x * x], [x])


if __name__ == "__main__":
    unittest.main()
