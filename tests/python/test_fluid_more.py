"""fluid.layers: functions of single variables, forward and gradient, against Paddle 1.8.5 (tests/golden/more_cases_1x.py)."""
import os
import unittest

import more_help
import numpy as np
import paddle.fluid as fluid

more_help.unpack()


class Static(object):
    """The names that more_help uses."""

    Program, Executor, Scope, cpu = fluid.Program, fluid.Executor, fluid.Scope, fluid.CPUPlace
    data, gradients, program_guard = staticmethod(fluid.data), staticmethod(fluid.gradients), staticmethod(fluid.program_guard)
    scope_guard, global_scope = staticmethod(fluid.scope_guard), staticmethod(fluid.global_scope)


class Cases(unittest.TestCase):
    def parameters(self, name):
        folder = os.path.join(more_help.GOLDEN, "ops_more", name, "init")
        return [(f, more_help.tensor(os.path.join(folder, f))) for f in os.listdir(folder)] if os.path.isdir(folder) else []

    def test_every_case(self):
        from more_cases_1x import fill
        cases = {}
        fill(cases)
        self.assertGreater(len(cases), 75)
        for name, function in cases.items():
            with self.subTest(name):
                feed, values, near = more_help.recorded("ops_more", name)
                names, got = more_help.compute(Static, fluid.unique_name, function, feed, values, self.parameters(name))
                self.assertEqual(len(values), len(got))
                for (want_name, want), have in zip(values, got):
                    self.assertEqual((want.shape, want.dtype), (have.shape, have.dtype), want_name)
                    np.testing.assert_allclose(have, want, err_msg=want_name, **near)

    def run_layer(self, function, array):
        feed = {"x": array}
        return more_help.compute(Static, fluid.unique_name, lambda case: function(case.given("x", array)), feed, [])[1]

    def test_by_numpy(self):
        """Layers that are made of others here."""
        L, x = fluid.layers, np.arange(2 * 4 * 4 * 6, dtype="float32").reshape(2, 4, 4, 6)
        np.testing.assert_array_equal(self.run_layer(lambda v: L.flip(v, [1, 3]), x)[0], x[:, ::-1, :, ::-1])
        shuffled = x.reshape(2, 2, 2, 4, 6).transpose(0, 2, 1, 3, 4).reshape(x.shape)
        np.testing.assert_array_equal(self.run_layer(lambda v: L.shuffle_channel(v, 2), x)[0], shuffled)
        deep = x.reshape(2, 4, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(2, 16, 2, 3)
        np.testing.assert_array_equal(self.run_layer(lambda v: L.space_to_depth(v, 2), x)[0], deep)
        pooled = x.reshape(2, 4, 2, 2, 3, 2)
        np.testing.assert_allclose(self.run_layer(lambda v: L.adaptive_pool2d(v, [2, 3], "avg"), x)[0], pooled.mean((3, 5)))
        np.testing.assert_array_equal(self.run_layer(lambda v: L.adaptive_pool2d(v, [2, 3]), x)[0], pooled.max((3, 5)))
        self.assertEqual([0, 2, 4], self.run_layer(lambda v: L.arange(0, 6, 2), x)[0].tolist())
        self.assertEqual(list(range(7)), sorted(self.run_layer(lambda v: L.randperm(7), x)[0].tolist()))

    def test_variables_as_arguments(self):
        L, x = fluid.layers, np.arange(24, dtype="float32").reshape(4, 6)

        def number(value):
            return L.fill_constant([1], "int32", value)

        got = self.run_layer(lambda v: L.strided_slice(v, [0, 1], [number(1), 0], [4, number(6)], [1, number(2)]), x)[0]
        np.testing.assert_array_equal(got, x[1:4, 0:6:2])
        np.testing.assert_array_equal(self.run_layer(lambda v: L.topk(v, number(2)), x)[0], np.sort(x, 1)[:, ::-1][:, :2])
        np.testing.assert_array_equal(self.run_layer(lambda v: L.expand(v, [number(2), 1]), x)[0], np.tile(x, (2, 1)))
        filled = self.run_layer(lambda v: L.fill_constant([number(2), 3], "float32", 1.5), x)[0]
        np.testing.assert_array_equal(filled, np.full((2, 3), 1.5, "float32"))


if __name__ == "__main__":
    unittest.main()
