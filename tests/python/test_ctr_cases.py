"""Networks of ctr_cases.py: ops, results and gradients are those of Paddle 1.8.5 and 2.6.2."""
import json
import os
import unittest

import numpy as np
from ctr_cases import FLUID, PADDLE, run_fluid, run_paddle

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "ctr_cases.json")) as _source:
    RECORDED = json.load(_source)

#: made of other ops than Paddle's, on purpose (docs/reference/differences.md)
OTHER_OPS = {"1": ("ctr_metric_bundle", "distributions"), "2": ("ctr_metric_bundle",)}


class Cases(unittest.TestCase):
    def check(self, generation, names, run):
        self.assertEqual(sorted(names), sorted(RECORDED[generation]))
        for name in names:
            with self.subTest(name):
                got, want = run(name), RECORDED[generation][name]
                if name not in OTHER_OPS[generation]:
                    self.assertEqual(got["ops"], want["ops"])
                self.assertEqual(len(got["values"]), len(want["values"]))
                for i, (a, b) in enumerate(zip(got["values"], want["values"])):
                    np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6, err_msg="%s, value %d" % (name, i))

    def test_1_fluid(self):
        self.check("1", FLUID, run_fluid)

    def test_2_paddle(self):
        self.check("2", PADDLE, run_paddle)


if __name__ == "__main__":
    unittest.main()
