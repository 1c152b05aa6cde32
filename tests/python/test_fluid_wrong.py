"""Wrong calls give the kind of exception that real Paddle 1.8.5 gives (wrong_calls.txt, recorded by wrong_calls.py)."""
import os
import unittest
import warnings

import wrong_calls

#: where Skiff's kind is another one, and why
INTENDED = {
    "matmul_shapes": "ValueError: Paddle's own check trips over an assert",
    "attr_initializer": "TypeError at once; Paddle fails later, in the layer",
    "gradients_number": "TypeError; Paddle's AttributeError is an accident",
}


class Wrong(unittest.TestCase):
    def test_kinds(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "wrong_calls.txt")
        with open(path) as file:
            recorded = dict(line.split() for line in file)
        self.assertEqual(sorted(recorded), sorted(name for name, _ in wrong_calls.CASES))
        warnings.simplefilter("ignore")
        before = os.environ.get("CPU_NUM")
        for name, call in wrong_calls.CASES:
            with self.subTest(name=name):
                found = wrong_calls.kinds_of(call)
                if name in INTENDED:
                    self.assertIn(INTENDED[name].split(":")[0].split()[0].rstrip(";"), found)
                elif recorded[name] == "operator":
                    self.assertNotEqual(found, ["none"])
                else:
                    self.assertIn(recorded[name], found)
        os.environ.pop("CPU_NUM", None)
        if before is not None:
            os.environ["CPU_NUM"] = before


if __name__ == "__main__":
    unittest.main()
