"""Optimizers, learning rates, clipping, decay, gradients."""
import json
import os
import unittest

import average_cases
import numpy as np
import paddle.fluid as fluid
import weight_norm_cases
from fluid_help import fresh
from paddle.fluid import layers as L

O = fluid.optimizer
W0, X = np.array([[1.0], [-2.0]], "float32"), np.array([[1.0, 2.0], [3.0, -1.0]], "float32")
G = X.sum(0).reshape(2, 1)  # the gradient of reduce_sum(x w) by w


def steps(make, n=2, before=None, loss=None):
    """The parameter after n steps of minimizing sum(x w)."""
    with fresh() as (main, startup):
        attr = fluid.ParamAttr(name="w", initializer=fluid.initializer.NumpyArrayInitializer(W0))
        x = L.data("x", [2])
        cost = L.reduce_sum(L.fc(x, 1, param_attr=attr, bias_attr=False))
        if before:
            before()
        ops, pairs = make().minimize(cost)
        exe = fluid.Executor()
        exe.run(startup)
        for _ in range(n):
            exe.run(main, feed={"x": X}, fetch_list=[cost])
        return np.array(fluid.global_scope().find_var("w").get_tensor())


class Rules(unittest.TestCase):
    def check(self, got, want):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)

    def test_sgd(self):
        self.check(steps(lambda: O.SGD(0.1)), W0 - 0.2 * G)
        self.check(steps(lambda: O.SGDOptimizer(learning_rate=0.1), 1), W0 - 0.1 * G)

    def test_rate_zero(self):
        self.check(steps(lambda: O.SGD(0.0)), W0)
        self.check(steps(lambda: O.Adam(0.0)), W0)

    def test_momentum(self):
        self.check(steps(lambda: O.Momentum(0.1, 0.9)), W0 - 0.1 * G - 0.1 * 1.9 * G)
        nesterov = steps(lambda: O.MomentumOptimizer(0.1, 0.9, use_nesterov=True), 1)
        self.check(nesterov, W0 - 0.1 * (G + 0.9 * G))

    def test_adagrad(self):
        self.check(steps(lambda: O.Adagrad(0.1), 1), W0 - 0.1 * G / (np.abs(G) + 1e-6))
        got = steps(lambda: O.Adagrad(0.1, initial_accumulator_value=2.0), 1)
        self.check(got, W0 - 0.1 * G / (np.sqrt(G * G + 2) + 1e-6))
        self.check(steps(lambda: O.DecayedAdagrad(0.1, decay=0.5), 1), W0 - 0.1 * G / (np.sqrt(0.5 * G * G) + 1e-6))

    def test_adam_family(self):
        self.check(steps(lambda: O.Adam(0.1), 1), W0 - 0.1 * np.sign(G))
        self.check(steps(lambda: O.Adam(0.1, lazy_mode=True), 1), W0 - 0.1 * np.sign(G))
        self.check(steps(lambda: O.Adamax(0.1), 1), W0 - 0.1 * np.sign(G))
        step = 0.1 * G / (np.sqrt(0.001 * G * G) + 1e-6)  # 1.8 does not correct for the first steps
        ratio = np.linalg.norm(W0) / np.linalg.norm(step)
        self.check(steps(lambda: O.Lamb(0.1, lamb_weight_decay=0.0), 1), W0 - 0.1 * ratio * step)
        kept = steps(lambda: O.LambOptimizer(0.1, exclude_from_weight_decay_fn=lambda p: True), 1)
        self.check(kept, W0 - 0.1 * ratio * step)
        decayed = step + 0.5 * W0
        self.check(steps(lambda: O.Lamb(0.1, lamb_weight_decay=0.5), 1),
                   W0 - 0.1 * np.linalg.norm(W0) / np.linalg.norm(decayed) * decayed)

    def test_others(self):
        self.check(steps(lambda: O.RMSProp(0.1), 1), W0 - 0.1 * G / np.sqrt(0.05 * G * G + 1e-6))
        mean, square = 0.05 * G, 0.05 * G * G
        first = 0.1 * G / np.sqrt(square - mean ** 2 + 1e-6)
        self.check(steps(lambda: O.RMSPropOptimizer(0.1, momentum=0.5, centered=True), 1), W0 - first)
        mean, square = 0.95 * mean + 0.05 * G, 0.95 * square + 0.05 * G * G
        second = 0.5 * first + 0.1 * G / np.sqrt(square - mean ** 2 + 1e-6)
        self.check(steps(lambda: O.RMSPropOptimizer(0.1, momentum=0.5, centered=True)), W0 - first - second)
        grads = 0.05 * G * G
        updates = 0.05 * 1e-6 / (grads + 1e-6) * G * G
        self.check(steps(lambda: O.Adadelta(1.0), 1), W0 - np.sqrt((updates + 1e-6) / (grads + 1e-6)) * G)
        linear = G - np.abs(G) / 0.1 * W0
        self.check(steps(lambda: O.Ftrl(0.1, l1=0.01), 1), (0.01 * np.sign(linear) - linear) / (np.abs(G) / 0.1 + 2 * 0.01))
        norm_w, norm_g = np.linalg.norm(W0), np.linalg.norm(G)
        rate = 0.1 * 0.5 * norm_w / (norm_g + 0.25 * norm_w)
        self.check(steps(lambda: O.LarsMomentum(0.1, 0.9, lars_coeff=0.5, lars_weight_decay=0.25), 1), W0 - rate * (G + 0.25 * W0))

    def test_adadelta_into_other_variables(self):
        """1.8.5 takes the new average of updates where it lies in the place of the old one, otherwise the old one."""
        random = np.random.RandomState(3)
        feed = {n: random.rand(3, 2).astype("float32") + .2 for n in ("Param", "Grad", "AvgSquaredGrad", "AvgSquaredUpdate")}
        rho, eps, got = .95, 1e-6, {}
        for apart in ("", "Param", "AvgSquaredUpdate", "Param AvgSquaredGrad AvgSquaredUpdate"):
            with fresh() as (main, startup):
                block = main.global_block()
                ins = {n: block.create_var(name=n, shape=[3, 2], dtype="float32") for n in feed}
                ins["LearningRate"] = L.fill_constant([1], "float32", 1.)
                names = {n: n + "Out" if n in apart.split() else n for n in feed if n != "Grad"}
                outs = {n + "Out": block.create_var(name=to, shape=[3, 2], dtype="float32") for n, to in names.items()}
                block.append_op(type="adadelta", inputs=ins, outputs=outs, attrs={"rho": rho, "epsilon": eps})
                got[apart] = fluid.Executor().run(main, feed=feed, fetch_list=[names["Param"], names["AvgSquaredUpdate"]])
        g, e = feed["Grad"], rho * feed["AvgSquaredGrad"] + (1 - rho) * feed["Grad"] ** 2
        step = np.sqrt((feed["AvgSquaredUpdate"] + eps) / (e + eps)) * g
        new = rho * feed["AvgSquaredUpdate"] + (1 - rho) * step ** 2
        for apart, (param, average) in got.items():
            u = feed["AvgSquaredUpdate"] if "Update" in apart else new
            np.testing.assert_allclose(param, feed["Param"] - np.sqrt((u + eps) / (e + eps)) * g, rtol=1e-5, err_msg=apart)
            np.testing.assert_allclose(average, new, rtol=1e-5)

    def test_around_others(self):
        """LookaheadOptimizer, ModelAverage and Dpsgd against real 1.8.5."""
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "averages_1x.json")) as file:
            recorded = json.load(file)
        for name, (weights, names) in recorded.items():
            with self.subTest(case=name):
                got, kept = average_cases.values(name)
                self.assertEqual(kept, names)
                np.testing.assert_allclose(got, weights, rtol=1e-5, atol=1e-6)
        self.assertEqual(set(recorded), set(average_cases.CASES))
        for alpha, k in ((1.5, 5), (.5, 0), (.5, 2.0)):
            self.assertRaises(AssertionError, O.LookaheadOptimizer, O.SGD(.1), alpha, k)
        self.assertRaises(AssertionError, O.LookaheadOptimizer, None)

    def test_weight_norm(self):
        """WeightNormParamAttr against real 1.8.5."""
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "weight_norm_1x.json")) as file:
            recorded = json.load(file)
        self.assertEqual(set(recorded), set(weight_norm_cases.CASES))
        for name, by_optimizer in recorded.items():
            for optimizer, (losses, *parameters) in by_optimizer.items():
                with self.subTest(case=name, optimizer=optimizer):
                    found, *ours = weight_norm_cases.values(name, optimizer)
                    np.testing.assert_allclose(found, losses, rtol=1e-4)
                    self.assertEqual([p[:2] for p in ours], [p[:2] for p in parameters])
                    for (_, _, got), (_, _, want) in zip(ours, parameters):
                        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
        with fresh(), self.assertRaisesRegex(ValueError, "weight_norm of parameter fc_0.w_0 by dimension 2; it has 2"):
            L.fc(L.data("x", [2]), 1, param_attr=fluid.WeightNormParamAttr(dim=2))

    def test_recompute(self):
        def make():
            optimizer = O.RecomputeOptimizer(O.SGD(0.1))
            optimizer._set_checkpoints([])
            return optimizer

        self.check(steps(make, 1), W0 - 0.1 * G)

    def test_clip_and_decay(self):
        C, R = fluid.clip, fluid.regularizer
        norm = np.sqrt((G ** 2).sum())
        self.check(steps(lambda: O.SGD(0.1, grad_clip=C.GradientClipByValue(0.5)), 1), W0 - 0.1 * G.clip(-0.5, 0.5))
        self.check(steps(lambda: O.SGD(0.1, grad_clip=C.GradientClipByNorm(1.0)), 1), W0 - 0.1 * G / norm)
        self.check(steps(lambda: O.SGD(0.1, grad_clip=C.GradientClipByGlobalNorm(1.0)), 1), W0 - 0.1 * G / norm)
        never = C.GradientClipByGlobalNorm(1.0, need_clip=lambda p: p.name != "w")
        self.check(steps(lambda: O.SGD(0.1, grad_clip=never), 1), W0 - 0.1 * G)
        self.check(steps(lambda: O.SGD(0.1), 1, lambda: C.set_gradient_clip(C.GradientClipByValue(0.5))),
                   W0 - 0.1 * G.clip(-0.5, 0.5))
        self.check(steps(lambda: O.SGD(0.1, regularization=R.L2Decay(0.5)), 1), W0 - 0.1 * (G + 0.5 * W0))
        self.check(steps(lambda: O.SGD(0.1, regularization=R.L1Decay(0.5)), 1), W0 - 0.1 * (G + 0.5 * np.sign(W0)))
        self.assertRaises(TypeError, C.set_gradient_clip, 3)
        with fresh():
            self.assertRaises(TypeError, C.set_gradient_clip, C.GradientClipByValue(1.0), [3])

    def test_wrong(self):
        for call in (lambda: O.SGD(1), lambda: O.SGD("0.1"), lambda: O.SGD(0.1, regularization=3),
                     lambda: O.SGD(0.1, grad_clip=3)):
            self.assertRaises(TypeError, call)
        self.assertRaises(AssertionError, O.Adam, beta1=None)
        self.assertRaises(ValueError, O.RMSProp, 0.1, rho=None)
        self.assertRaises(ValueError, O.Adadelta, 0.1, rho=None)
        self.assertRaises(AssertionError, O.SGD(0.1).minimize, 3)
        with fresh():
            x = L.data("x", [2])
            h = L.fc(x, 2)
            self.assertRaises((ValueError, AssertionError), O.SGD(0.1).minimize, h)
            self.assertRaises(TypeError, O.SGD(0.1).minimize, L.mean(h), parameter_list=3)
            self.assertRaises(TypeError, fluid.backward.append_backward, 3)
            self.assertRaises(NotImplementedError, fluid.backward.append_backward, L.mean(h), callbacks=[print])


class Pieces(unittest.TestCase):
    def test_backward_then_apply(self):
        with fresh() as (main, startup):
            x = L.data("x", [2])
            loss = L.reduce_sum(L.fc(x, 1, param_attr=fluid.ParamAttr(
                name="w", initializer=fluid.initializer.NumpyArrayInitializer(W0)), bias_attr=False))
            optimizer = O.SGD(0.1)
            pairs = optimizer.backward(loss)
            self.assertEqual([(p.name, g.name) for p, g in pairs], [("w", "w@GRAD")])
            ops = optimizer.apply_gradients(pairs)
            self.assertEqual([op.type for op in ops], ["sgd"])
            self.assertEqual(optimizer._global_learning_rate().name, "learning_rate_0")
            self.assertEqual(optimizer.current_step_lr(), 0.1)
            exe = fluid.Executor()
            exe.run(startup)
            grad, = exe.run(main, feed={"x": X}, fetch_list=["w@GRAD"])
            np.testing.assert_allclose(grad, G)

    def test_minimize_gives_ops_and_pairs(self):
        with fresh() as (main, startup):
            loss = L.mean(L.fc(L.data("x", [2]), 1))
            optimizer = O.Adam(0.1)
            ops, pairs = optimizer.minimize(loss)
            self.assertEqual({op.type for op in ops} & {"adam"}, {"adam"})
            self.assertEqual(sorted(p.name for p, _ in pairs), ["fc_0.b_0", "fc_0.w_0"])
            self.assertIn("fc_0.w_0_moment1_0", optimizer.get_opti_var_name_list())
            # what minimize gives may stand in a fetch_list
            fluid.Executor().run(startup)
            got = fluid.Executor().run(main, feed={"x": X}, fetch_list=[loss] + list(ops[:1]))
            self.assertEqual(len(got), 1)

    def test_chosen_parameters(self):
        with fresh() as (main, _):
            loss = L.mean(L.fc(L.fc(L.data("x", [2]), 2), 1))
            _, pairs = O.SGD(0.1).minimize(loss, parameter_list=["fc_1.w_0"])
            self.assertEqual([p.name for p, _ in pairs], ["fc_1.w_0"])
        with fresh() as (main, _):
            loss = L.mean(L.fc(L.fc(L.data("x", [2]), 2), 1))
            _, pairs = O.SGD(0.1).minimize(loss, no_grad_set={"fc_0.w_0"})
            self.assertNotIn("fc_0.w_0", [p.name for p, _ in pairs])

    def test_apply_optimize(self):
        with fresh() as (_, startup):
            loss = L.mean(L.fc(L.data("x", [2]), 1))
            optimizer = O.SGD(0.1)
            self.assertEqual(len(optimizer.apply_optimize(loss, startup, optimizer.backward(loss))), 2)

    def test_gradients(self):
        with fresh() as (main, startup):
            x = L.data("x", [2], stop_gradient=False)
            y = L.reduce_sum(L.square(x))
            grad, = fluid.gradients([y], [x])
            got, = fluid.Executor().run(main, feed={"x": X}, fetch_list=[grad])
            np.testing.assert_allclose(got, 2 * X)
            self.assertEqual(fluid.gradients(y, L.data("z", [1])), [None])
            self.assertRaises(TypeError, fluid.gradients, [3], [x])
            self.assertRaises(ValueError, fluid.gradients, [y], [x], target_gradients=[y, y])

    def test_average(self):
        with fresh() as (main, startup):
            x = L.data("x", [2])
            loss = L.reduce_sum(L.fc(x, 1, param_attr=fluid.ParamAttr(
                name="w", initializer=fluid.initializer.NumpyArrayInitializer(W0)), bias_attr=False))
            O.SGD(0.1).minimize(loss)
            ema = O.ExponentialMovingAverage(0.5)
            ema.update()
            exe = fluid.Executor()
            exe.run(startup)
            weights = []
            value = lambda: np.array(fluid.global_scope().find_var("w").get_tensor())
            for _ in range(2):
                exe.run(main, feed={"x": X}, fetch_list=[loss])
                weights.append(value())
            with ema.apply(exe):
                np.testing.assert_allclose(value(), (0.25 * weights[0] + 0.5 * weights[1]) / 0.75, rtol=1e-5)
            np.testing.assert_allclose(value(), weights[1])


class Rates(unittest.TestCase):
    """The rate of the first steps."""

    def rates(self, make, n=4):
        with fresh() as (main, startup):
            rate = make()
            optimizer = O.SGD(rate)
            optimizer.minimize(L.mean(L.fc(L.data("x", [2]), 1)))
            self.assertRaises(RuntimeError, optimizer.current_step_lr)
            exe = fluid.Executor()
            exe.run(startup)
            return [float(exe.run(main, feed={"x": X}, fetch_list=[rate])[0][0]) for _ in range(n)]

    def test_schedules(self):
        at = np.arange(4)
        cases = [(lambda: L.exponential_decay(0.1, 2, 0.5), 0.1 * 0.5 ** (at / 2)),
                 (lambda: L.exponential_decay(0.1, 2, 0.5, staircase=True), 0.1 * 0.5 ** (at // 2)),
                 (lambda: L.natural_exp_decay(0.1, 2, 0.5), 0.1 * np.exp(-0.5 * at / 2)),
                 (lambda: L.inverse_time_decay(0.1, 2, 0.5), 0.1 / (1 + 0.5 * at / 2)),
                 (lambda: L.polynomial_decay(0.1, 2, 0.01), (0.1 - 0.01) * (1 - np.minimum(at, 2) / 2) + 0.01),
                 (lambda: L.piecewise_decay([1, 3], [0.3, 0.2, 0.1]), [0.3, 0.2, 0.2, 0.1]),
                 (lambda: L.noam_decay(4, 2), 4 ** -0.5 * np.minimum((at + 1.0) ** -0.5, (at + 1) * 2 ** -1.5)),
                 (lambda: L.cosine_decay(0.1, 2, 4), 0.05 * (np.cos((at // 2) * np.pi / 4) + 1)),
                 (lambda: L.linear_lr_warmup(0.5, 2, 0.1, 0.3), [0.1, 0.2, 0.5, 0.5]),
                 (lambda: L.linear_lr_warmup(L.piecewise_decay([9], [0.5, 0.1]), 2, 0.1, 0.3), [0.1, 0.2, 0.5, 0.5])]
        for number, (make, want) in enumerate(cases):
            with self.subTest(number=number):
                np.testing.assert_allclose(self.rates(make), want, rtol=1e-4)
        with fresh():
            self.assertRaises(ValueError, L.piecewise_decay, [1], [0.1])


if __name__ == "__main__":
    unittest.main()
