"""Every optimizer of fluid against Paddle 1.8.5."""
import unittest

from optimizer_cases import generation
from optimizer_recorded import Recorded


class Fluid(Recorded, unittest.TestCase):
    generation = 1

    def test_subclass(self):
        """A user's own class over one of these."""
        O = generation(1)[0]["O"]

        class Slow(O.AdamOptimizer):
            def __init__(self, rate):
                super(Slow, self).__init__(rate / 2, beta1=0.5)

        optimizer = Slow(0.2)
        self.assertEqual((optimizer.type, optimizer.current_step_lr(), optimizer._options["beta1"]), ("adam", 0.1, 0.5))
        self.assertIs(O.Adam, O.AdamOptimizer)
        self.assertEqual(O.Adam.__name__, "AdamOptimizer")


if __name__ == "__main__":
    unittest.main()
