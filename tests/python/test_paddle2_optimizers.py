"""Every optimizer of paddle.optimizer against Paddle 2.6.2."""
import unittest

import numpy as np
from optimizer_cases import W, generation, run
from optimizer_recorded import Recorded


class Second(Recorded, unittest.TestCase):
    generation = 2
    #: Paddle's kernel for CPUs forgets rescale_grad
    own_numbers = ("O.Momentum(0.1, 0.8, use_nesterov=True, rescale_grad=0.5)",)

    def test_rescale(self):
        scaled, wanted = run("O.Momentum(0.1, 0.8, rescale_grad=0.5)", 2), run("O.Momentum(0.05, 0.8)", 2)
        for name, values in wanted["parameters"].items():
            np.testing.assert_allclose(scaled["parameters"][name], values, rtol=1e-5, atol=1e-7)

    def test_lr_ratio(self):
        """Paddle has it on GPUs only: the rate of a parameter times a factor."""
        half = run("O.AdamW(0.1, weight_decay=0.5, lr_ratio=lambda p: 0.5)", 2)
        wanted = run("O.AdamW(0.05, weight_decay=0.5)", 2)
        self.assertEqual(half["parameters"], wanted["parameters"])
        self.assertEqual({op[3]["lr_ratio"] for op in half["main"] if op[0] == "adamw"}, {1.0})
        one = run("O.AdamW(0.1, weight_decay=0.5, lr_ratio=lambda p: 0.0 if p.name == 'linear_0.w_0' else 1.0)", 2)["parameters"]
        np.testing.assert_array_equal(np.reshape(one["linear_0.w_0"], W[0].shape), W[0])
        self.assertNotEqual(one["linear_0.b_0"], [0.0, 0.0])

    def test_wrong(self):
        O = generation(2)[0]["O"]
        for call, kind, text in (
                (lambda: O.AdamW(beta1=1.0), ValueError, "beta1"), (lambda: O.RMSProp(0.1, rho=-0.1), ValueError, "rho"),
                (lambda: O.Adam(epsilon=-1.0), ValueError, "epsilon"), (lambda: O.Adagrad(), TypeError, "learning_rate"),
                (lambda: O.Adagrad(0.1, rho=0.5), TypeError, "rho"), (lambda: O.AdamW(weight_decay=None), ValueError, "weight_decay"),
                (lambda: O.AdamW(weight_decay="0.1"), TypeError, "weight_decay"), (lambda: O.AdamW(lr_ratio=0.5), TypeError, "lr_ratio"),
                (lambda: O.AdamW(apply_decay_param_fun="w"), TypeError, "apply_decay_param_fun"),
                (lambda: O.SGD(None), ValueError, "learning_rate"), (lambda: O.SGD(None), AssertionError, "learning_rate")):
            with self.assertRaisesRegex(kind, text):
                call()
        for raised in ("O.AdamW(0.1, apply_decay_param_fun=lambda name: name.nothing)", "O.AdamW(0.1, lr_ratio=lambda p: p.nothing)"):
            with self.assertRaises(AttributeError):
                run(raised, 2)
        with self.assertRaisesRegex(TypeError, "function of parameters"):
            run("O.AdamW(0.1, lr_ratio=lambda p: 'much')", 2)


if __name__ == "__main__":
    unittest.main()
