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


if __name__ == "__main__":
    unittest.main()
