"""fluid.dygraph against numbers of 1.8.5 (dygraph_cases.py): update rules, gradients, seeds, dropout."""
import json
import os
import unittest

import numpy as np

import dygraph_cases

RECORDED = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "dygraph_recorded.json")))


def flat(value):
    """Numbers, texts and truths of nested lists, one after the other."""
    return [leaf for item in value for leaf in flat(item)] if isinstance(value, (list, tuple)) else [value]


class Recorded(unittest.TestCase):
    def test_all(self):
        self.assertEqual(sorted(RECORDED), sorted(dygraph_cases.CASES))
        for name, case in dygraph_cases.CASES.items():
            with self.subTest(name):
                have, want = flat(case()), flat(RECORDED[name])
                number = [isinstance(v, float) for v in want]
                self.assertEqual([v for v, n in zip(have, number) if not n], [v for v, n in zip(want, number) if not n])
                np.testing.assert_allclose(*[[v for v, n in zip(of, number) if n] for of in (have, want)], rtol=2e-5, atol=2e-6)


if __name__ == "__main__":
    unittest.main()
