"""paddle.optimizer.lr: the first 30 rates of every schedule, and rates after jumps, are those of Paddle 2.6.2."""
import json
import os
import unittest

import numpy as np
import paddle
from lr_schedules import CASES, jumps, values

lr = paddle.optimizer.lr
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lr_schedules.json")) as _source:
    RECORDED = json.load(_source)


class Schedules(unittest.TestCase):
    def test_rates(self):
        self.assertEqual(sorted(RECORDED), sorted(CASES))
        for name, make in CASES.items():
            with self.subTest(name):
                np.testing.assert_allclose(values(make(lr)), RECORDED[name]["steps"], rtol=1e-12, atol=1e-15)
                self.assertEqual(sorted(make(lr).state_dict()), RECORDED[name]["keys"])
                if RECORDED[name]["jumps"] is not None:
                    np.testing.assert_allclose(jumps(make(lr)), RECORDED[name]["jumps"], rtol=1e-12, atol=1e-15)

    def test_state_goes_on(self):
        for name in ("CyclicLR", "LinearWarmup cosine", "ReduceOnPlateau"):
            first, second = CASES[name](lr), CASES[name](lr)
            for _ in range(9):
                first.step(1.0) if "Plateau" in name else first.step()
            second.set_state_dict(first.state_dict())
            self.assertEqual((first(), first.last_epoch), (second(), second.last_epoch), name)

    def test_wrong_state(self):
        with self.assertRaisesRegex(RuntimeError, r"Can't find \[ last_lr \] in state_dict"):
            lr.StepDecay(0.1, 3).set_state_dict({"last_epoch": 3})

    def test_executor_follows(self):
        paddle.enable_static()
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
            x = paddle.static.data("x", [None, 1])
            schedule = lr.CyclicLR(0.1, 0.5, 2)
            loss = paddle.mean(paddle.static.nn.fc(x, 1, bias_attr=False, weight_attr=paddle.ParamAttr(
                name="w", initializer=paddle.nn.initializer.Constant(0.0))))
            paddle.optimizer.SGD(schedule).minimize(loss)
        exe, scope = paddle.static.Executor(), paddle.static.Scope()
        with paddle.static.scope_guard(scope):
            exe.run(startup)
            for _ in range(3):
                exe.run(main, feed={"x": np.ones((2, 1), "float32")})
                schedule.step()
            self.assertAlmostEqual(float(np.array(scope.find_var("w").get_tensor())[0, 0]), -(0.1 + 0.3 + 0.5), places=6)

    def test_refusals(self):
        for make, text in (
                (lambda: lr.CyclicLR(0.1, 1.0, 0), "'step_size_up' in CyclicLR must be a positive number, but received 0"),
                (lambda: lr.CyclicLR(0.1, -1.0, 3), "'max_learning_rate' in CyclicLR must be a positive number"),
                (lambda: lr.CyclicLR(0.1, 1.0, 3, mode="square"), "make sure one of 'mode' or 'scale_fn' is valid"),
                (lambda: lr.CyclicLR(0.1, 1.0, 3, scale_mode="x"), "'scale_mode' must be one of"),
                (lambda: lr.OneCycleLR(1.0, 10, phase_pct=1.5), "'phase_pct' must be between 0 and 1, but received 1.5"),
                (lambda: lr.OneCycleLR(1.0, 10, phase_pct=0.6, three_phase=True), "'phase_pct' must be less than 0.5"),
                (lambda: lr.OneCycleLR(1.0, 10, anneal_strategy="x"), "'anneal_strategy' must by one of"),
                (lambda: lr.OneCycleLR(1.0, 2).step(3), "Tried to step 3 times. However the number of total steps is 2"),
                (lambda: lr.LinearLR(0.1, 0), "`total_steps` must be greater than 0, but got 0"),
                (lambda: lr.LinearLR(0.1, 3, start_factor=2.0), "`start_factor` must be greater than 0"),
                (lambda: lr.LinearLR(0.1, 3, end_factor=2.0), "`end_factor` must be greater than 0"),
                (lambda: lr.CosineAnnealingWarmRestarts(0.1, 0), "Expected positive integer T_0, but got 0"),
                (lambda: lr.CosineAnnealingWarmRestarts(0.1, 2, 0), "Expected integer T_mult >= 1, but got 0"),
                (lambda: lr.CosineAnnealingWarmRestarts(0.1, 2).step(-1), "Expected non-negative epoch, but got -1"),
                (lambda: lr.ReduceOnPlateau(0.1, mode="x"), "mode: x is unknown!"),
                (lambda: lr.ReduceOnPlateau(0.1, factor=2.0), "gamma should be < 1.0"),
                (lambda: lr.ReduceOnPlateau(0.1, threshold_mode="x"), "threshold mode: x is unknown!")):
            with self.assertRaises(ValueError) as caught:
                make()
            self.assertIn(text, str(caught.exception))
        for make, text in ((lambda: lr.CyclicLR(0.1, 1.0, 2.5), "'step_size_up' in CyclicLR must be 'int', but received"),
                           (lambda: lr.MultiplicativeDecay(0.1, 3), "must be 'function', but received"),
                           (lambda: lr.ReduceOnPlateau("a"), "The type of 'learning_rate' in 'ReduceOnPlateau'"),
                           (lambda: lr.ReduceOnPlateau(0.1).step("a"), "metrics must be 'int'")):
            with self.assertRaises(TypeError) as caught:
                make()
            self.assertIn(text, str(caught.exception))
        with self.assertRaisesRegex(AssertionError, "the size of metrics must be 1, but the current metrics.size is 2"):
            lr.ReduceOnPlateau(0.1).step(np.ones(2))


if __name__ == "__main__":
    unittest.main()
