"""Every optimizer of a generation against what was recorded (optimizers.json, by optimizer_cases.py): arguments and their defaults,
the ops that minimize appends with all their attributes, the parameters after some steps."""
import json
import os

import numpy as np
from optimizer_cases import CASES, CLASSES, plain, run, signature

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "optimizers.json")) as _file:
    RECORDED = json.load(_file)

#: written by Paddle 2.x, without a meaning here
NOT_DECLARED = {"fill_constant": {"str_value", "place_type"}}


class Recorded(object):
    """Mixed into a TestCase: generation, absent (classes that Skiff does not have), own_numbers (cases whose numbers are others)."""

    absent = own_numbers = ()

    def test_signatures(self):
        recorded = RECORDED[str(self.generation)]["signatures"]
        self.assertEqual(sorted(recorded), sorted(CLASSES[self.generation]))
        for name, wanted in recorded.items():
            with self.subTest(name):
                self.assertEqual(signature(self.generation, name), None if name in self.absent else wanted)

    def check_ops(self, wanted, found):
        self.assertEqual([row[0] for row in wanted], [row[0] for row in found])
        for (kind, ins, outs, attrs), (_, our_ins, our_outs, our_attrs) in zip(wanted, found):
            ignored = NOT_DECLARED.get(kind, ())
            self.assertEqual((ins, outs), (our_ins, our_outs), kind)
            self.assertEqual({k: plain(v) for k, v in attrs.items() if k not in ignored},
                             {k: plain(v) for k, v in our_attrs.items() if k not in ignored}, kind)

    def test_cases(self):
        recorded = RECORDED[str(self.generation)]["cases"]
        self.assertEqual(sorted(recorded), sorted(CASES[self.generation]))
        for expression, wanted in recorded.items():
            with self.subTest(expression):
                found = run(expression, self.generation)
                self.check_ops(wanted["startup"], found["startup"])
                self.check_ops(wanted["main"], found["main"])
                self.assertEqual(sorted(wanted["parameters"]), sorted(found["parameters"]))
                for name, values in wanted["parameters"].items():
                    if expression not in self.own_numbers:
                        np.testing.assert_allclose(found["parameters"][name], values, rtol=2e-5, atol=2e-6, err_msg=name)
