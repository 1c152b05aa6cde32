"""fluid.dygraph against numbers of 1.8.5 (dygraph_cases.py): update rules, gradients, seeds, dropout."""
import json
import os
import unittest

import dygraph_cases
import recorded

RECORDED = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "dygraph_recorded.json")))


class Recorded(unittest.TestCase):
    def test_all(self):
        self.assertEqual(sorted(RECORDED), sorted(dygraph_cases.CASES))
        for name, case in dygraph_cases.CASES.items():
            with self.subTest(name):
                recorded.compare(self, case(), RECORDED[name])


if __name__ == "__main__":
    unittest.main()
