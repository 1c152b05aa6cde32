"""paddle.distribution: numbers and draws of real 2.6.2 (distribution.json, written by distribution_cases.py), and what it has no
recorded numbers for: moments of draws, gradients, programs."""
import json
import os
import unittest
import warnings

import distribution_cases as cases
import numpy as np
import paddle
from paddle import distribution as D
from paddle import static

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "distribution.json")) as file:
    RECORDED = json.load(file)
t = cases.t


class Recorded(unittest.TestCase):
    def same(self, want, got):
        """Types, shapes and values; exceptions by their names."""
        if isinstance(want, list) and len(want) == 3 and isinstance(want[0], str):
            self.assertEqual(got[:2], want[:2])
            np.testing.assert_allclose(got[2], want[2], rtol=2e-5, atol=2e-6)
        elif isinstance(want, list) and want and isinstance(want[0], list):
            self.assertEqual(len(got), len(want))
            for one, other in zip(want, got):
                self.same(one, other)
        else:
            self.assertEqual(got, want)

    def compare(self, part, compute):
        for name, wanted in RECORDED[part].items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                got = json.loads(json.dumps(compute(name)))
            for what, want in wanted.items():
                if name.startswith("categorical") and what.endswith("_shape"):
                    continue  # an AttributeError there
                with self.subTest(part=part, name=name, what=what):
                    self.same(want, got[what])

    def test_values(self):
        self.assertGreater(len(RECORDED["asked"]), 20)
        self.compare("asked", cases.asked)

    def test_transforms(self):
        self.compare("transformed", cases.transformed)

    def test_draws(self):
        got = json.loads(json.dumps(cases.drawn()))
        for name, want in RECORDED["drawn"].items():
            with self.subTest(name=name):
                self.same(want, got[name])


class Drawn(unittest.TestCase):
    def moments(self, distribution, shape=(20000,)):
        paddle.seed(3)
        values = distribution.sample(shape).numpy().astype("float64")
        np.testing.assert_allclose(values.mean(0), distribution.mean.numpy(), atol=0.05)
        np.testing.assert_allclose(values.var(0), distribution.variance.numpy(), rtol=0.1, atol=0.01)
        return values

    def test_moments(self):
        shares = self.moments(D.Dirichlet(t([1.0, 2.0, 3.0], [0.5, 0.5, 4.0])))
        np.testing.assert_allclose(shares.sum(-1), 1, rtol=1e-5)
        self.moments(D.Beta(t(0.5, 2.0), t(1.5, 3.0)))
        self.moments(D.Laplace(cases.LOC, t(1.0, 0.5, 0.25)))
        self.moments(D.Geometric(t(0.5, 0.7)))
        self.moments(D.Multinomial(5, cases.ROWS))
        self.moments(D.Gumbel(t(0.5, -1.0), t(0.5, 0.25)))

    def test_seed(self):
        def draw():
            paddle.seed(5)
            return D.Dirichlet(t(1.0, 2.0)).sample([3]).numpy().tolist()
        self.assertEqual(draw(), draw())
        self.assertEqual(D.Beta(t(0.5), t(1.5)).sample([3]).shape, [3])  # the last dimension of 1 goes, as there

    def test_gradients(self):
        loc, scale = t(0.5, 1.0), t(2.0, 3.0)
        loc.stop_gradient = scale.stop_gradient = False
        paddle.seed(4)
        values = D.Normal(loc, scale).rsample([5])
        values.sum().backward()
        np.testing.assert_allclose(loc.grad.numpy(), [5, 5])
        np.testing.assert_allclose(scale.grad.numpy(), ((values - loc) / scale).sum(0).numpy(), rtol=1e-4)
        self.assertTrue(D.Normal(loc, scale).sample([2]).stop_gradient)
        q = t(0.3, 0.6)
        q.stop_gradient = False
        D.kl_divergence(D.Bernoulli(t(0.5, 0.5)), D.Bernoulli(q)).sum().backward()
        np.testing.assert_allclose(q.grad.numpy(), [-0.5 / 0.3 + 0.5 / 0.7, -0.5 / 0.6 + 0.5 / 0.4], rtol=1e-4)


class Families(unittest.TestCase):
    def test_register(self):
        class Shifted(D.Normal):
            pass
        self.assertEqual(D.kl_divergence(Shifted(0.0, 1.0), D.Normal(0.0, 1.0)).numpy(), 0)
        D.register_kl(Shifted, D.Normal)(lambda p, q: "mine")
        self.assertEqual(D.kl_divergence(Shifted(0.0, 1.0), D.Normal(0.0, 1.0)), "mine")
        with self.assertRaisesRegex(NotImplementedError, "kl_divergence\\(Normal, Uniform\\): register_kl has no function"):
            D.kl_divergence(D.Normal(0.0, 1.0), D.Uniform(0.0, 1.0))
        with self.assertRaisesRegex(TypeError, "must be subclass of Distribution"):
            D.register_kl(int, D.Normal)

    def test_own_family(self):
        """A family by its natural parameters: the exponential distribution."""
        class Exponential(D.ExponentialFamily):
            def __init__(self, rate):
                self.rate = rate
                super().__init__(rate.shape)

            @property
            def _natural_parameters(self):
                return (-self.rate,)

            def _log_normalizer(self, x):
                return -paddle.log(-x)

            @property
            def _mean_carrier_measure(self):
                return 0.0
        p, q = Exponential(t(0.5, 2.0)), Exponential(t(1.0, 1.0))
        np.testing.assert_allclose(p.entropy().numpy(), 1 - np.log([0.5, 2.0]), rtol=1e-5)
        np.testing.assert_allclose(D.kl_divergence(p, q).numpy(), np.log([0.5, 2.0]) + 1 / np.array([0.5, 2.0]) - 1, rtol=1e-5)

    def test_vectors(self):
        """A transform of vectors makes events of the base's last dimension."""
        made = D.TransformedDistribution(D.Normal(t(0.0, 0.0, 0.0), t(1.0, 1.0, 1.0)), [D.StickBreakingTransform()])
        self.assertEqual((made.batch_shape, made.event_shape), ((), (4,)))
        value = made.sample()
        np.testing.assert_allclose(value.sum().numpy(), 1, rtol=1e-5)
        self.assertEqual(made.log_prob(value).shape, [])

    def test_refused(self):
        for call, kind, message in (
                (lambda: D.Normal(t(1.0), 2.0), ValueError, "if one argument is Tensor, all arguments should be Tensor"),
                (lambda: D.Normal("a", 2.0), TypeError, "Type of input args must be float"),
                (lambda: D.Bernoulli(t(1.5)), ValueError, r"must be in range \[0, 1\]"),
                (lambda: D.Geometric(t(0.0)), ValueError, "Interval"), (lambda: D.Laplace("a", 1.0), TypeError, "Expected type of loc"),
                (lambda: D.Cauchy(0.0, 1.0).mean, ValueError, "has no mean"),
                (lambda: D.Multinomial(0, cases.P), ValueError, "total_count must be int"),
                (lambda: D.Independent(D.Normal(0.0, 1.0), 1), ValueError, "reinterpreted_batch_rank"),
                (lambda: D.AffineTransform(1.0, t(1.0)), TypeError, "Expected 'loc' is a Tensor"),
                (lambda: D.ReshapeTransform((2, 3), (4,)), ValueError, "numel"),
                (lambda: D.AbsTransform().forward_log_det_jacobian(t(1.0)), NotImplementedError, "non-injective")):
            with self.assertRaisesRegex(kind, message):
                call()


class Programs(unittest.TestCase):
    def test_static(self):
        """The same numbers in a program."""
        want = D.Normal(cases.LOC, cases.SCALE).log_prob(cases.AT).numpy()
        paddle.enable_static()
        try:
            with static.program_guard(static.Program()):
                loc, scale, at = [static.data(n, [3]) for n in ("loc", "scale", "at")]
                p = D.Normal(loc, scale)
                asked = [p.log_prob(at), p.sample([100]), D.kl_divergence(p, D.Normal(0.0, 1.0)), D.Uniform(0.0, 2.0).entropy()]
                feed = {"loc": np.array([0.5, -1, 2], "f"), "scale": np.array([1, 2, .25], "f"), "at": np.array([.1, .7, 2.5], "f")}
                got = static.Executor().run(feed=feed, fetch_list=asked)
                with self.assertRaisesRegex(NotImplementedError, "are for eager mode"):
                    D.Beta(2.0, 3.0).sample([2])
        finally:
            paddle.disable_static()
        np.testing.assert_allclose(got[0], want, rtol=1e-5)
        self.assertEqual(got[1].shape, (100, 3))
        np.testing.assert_allclose(got[3], np.log(2), rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
