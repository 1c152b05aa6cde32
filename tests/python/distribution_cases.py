"""Distributions: what they compute of given values. Run by real Paddle 2.6.2 this file writes what the tests compare with:
python distribution_cases.py > distribution.json"""
import numpy as np
import paddle
from paddle import distribution as D


def t(*values, dtype="float32"):
    return paddle.to_tensor(np.array(values, dtype))


P, Q = t(0.3, 0.7, 0.5), t(0.2, 0.6, 0.9)
LOC, SCALE, AT = t(0.5, -1.0, 2.0), t(1.0, 2.0, 0.25), t(0.1, 0.7, 2.5)
ROWS = t([0.2, 0.3, 0.5], [0.6, 0.1, 0.3])
DOUBLE = np.array([0.25, 1.5])
PAIRS = {
    "normal": (lambda: D.Normal(LOC, SCALE), lambda: D.Normal(t(0.0, 1.0, 2.5), t(2.0, 1.0, 0.5)), AT),
    "normal_of_numbers": (lambda: D.Normal(0.5, 2), lambda: D.Normal(1, 1.5), AT),
    "normal_of_lists": (lambda: D.Normal([0.5, 1.0], [[1.0], [2.0]]), lambda: D.Normal(0.0, 1.0), t(0.3)),
    "normal_of_doubles": (lambda: D.Normal(DOUBLE, DOUBLE + 1), lambda: D.Normal(DOUBLE * 2, DOUBLE), t(0.3, dtype="float64")),
    "lognormal": (lambda: D.LogNormal(LOC, SCALE), lambda: D.LogNormal(t(0.0, 1.0, 2.5), t(2.0, 1.0, 0.5)), AT),
    "uniform": (lambda: D.Uniform(t(0.0, -1.0, 2.0), t(1.0, 2.0, 5.0)), None, t(0.1, 3.0, 2.5)),
    "uniform_of_numbers": (lambda: D.Uniform(0, 3), None, AT),
    "laplace": (lambda: D.Laplace(LOC, SCALE), lambda: D.Laplace(t(0.0, 1.0, 2.5), t(2.0, 1.0, 0.5)), AT),
    "laplace_of_numbers": (lambda: D.Laplace(0.0, 2.0), lambda: D.Laplace(1.0, 1.0), AT),
    "cauchy": (lambda: D.Cauchy(LOC, SCALE), lambda: D.Cauchy(t(0.0, 1.0, 2.5), t(2.0, 1.0, 0.5)), AT),
    "gumbel": (lambda: D.Gumbel(LOC, SCALE), None, AT),
    "bernoulli": (lambda: D.Bernoulli(P), lambda: D.Bernoulli(Q), t(1.0, 0.0, 1.0)),
    "bernoulli_certain": (lambda: D.Bernoulli(t(0.0, 1.0)), lambda: D.Bernoulli(t(0.5, 0.5)), t(0.0, 1.0)),
    "categorical": (lambda: D.Categorical(ROWS), lambda: D.Categorical(t([1.0, 2.0, 3.0], [3.0, 1.0, 1.0])),
                    t([1, 2], [0, 0], dtype="int64")),
    "categorical_one": (lambda: D.Categorical(t(1.0, 3.0, 4.0)), lambda: D.Categorical(t(1.0, 1.0, 2.0)), t(2, 0, dtype="int64")),
    "categorical_same": (lambda: D.Categorical(ROWS), None, t(2, 0, dtype="int64")),
    "geometric": (lambda: D.Geometric(P), lambda: D.Geometric(Q), t(1.0, 0.0, 4.0)),
    "multinomial": (lambda: D.Multinomial(5, ROWS), None, t([1.0, 2.0, 2.0], [5.0, 0.0, 0.0])),
    "multinomial_zero": (lambda: D.Multinomial(3, t(0.0, 0.4, 0.6)), None, t(0.0, 1.0, 2.0)),
    "beta": (lambda: D.Beta(t(0.5, 2.0), t(1.5, 3.0)), lambda: D.Beta(t(1.0, 1.0), t(2.0, 0.5)), t(0.2, 0.6)),
    "beta_of_numbers": (lambda: D.Beta(2.0, 3), lambda: D.Beta(1, 1), t(0.2, 0.6)),
    "dirichlet": (lambda: D.Dirichlet(t([1.0, 2.0, 3.0], [0.5, 0.5, 4.0])), lambda: D.Dirichlet(t([2.0, 2.0, 2.0], [1.0, 1.0, 1.0])),
                  ROWS),
    "independent": (lambda: D.Independent(D.Normal(LOC, SCALE), 1), None, AT),
    "affine": (lambda: D.TransformedDistribution(D.Normal(LOC, SCALE), [D.AffineTransform(t(1.0), t(3.0))]), None, AT),
    "chained": (lambda: D.TransformedDistribution(D.Normal(LOC, SCALE), [D.AffineTransform(t(1.0), t(-2.0)), D.SigmoidTransform()]),
                None, t(0.1, 0.7, 0.5)),
    "called": (lambda: D.ExpTransform()(D.Normal(LOC, SCALE)), None, AT),
}
ASKED = ("mean", "variance", "stddev", "entropy", "log_prob", "prob", "probs", "cdf", "icdf", "pmf", "log_pmf", "batch_shape",
         "event_shape")
TRANSFORMS = {
    "abs": (lambda: D.AbsTransform(), t(-1.0, 2.0)), "affine": (lambda: D.AffineTransform(t(1.0, 2.0), t(3.0, -2.0)), t(0.5, 1.0)),
    "exp": (lambda: D.ExpTransform(), t(-1.0, 2.0)), "power": (lambda: D.PowerTransform(t(2.0)), t(0.5, 3.0)),
    "sigmoid": (lambda: D.SigmoidTransform(), t(-1.0, 2.0)), "tanh": (lambda: D.TanhTransform(), t(-1.0, 0.5)),
    "softmax": (lambda: D.SoftmaxTransform(), t(1.0, 2.0, 4.0)), "reshape": (lambda: D.ReshapeTransform((2, 3), (3, 2)),
                                                                             paddle.arange(6, dtype="float32").reshape([2, 3])),
    "stick": (lambda: D.StickBreakingTransform(), t([0.1, -0.4, 1.2], [0.5, 0.0, 0.3])),
    "chain": (lambda: D.ChainTransform([D.AffineTransform(t(0.5), t(2.0)), D.ExpTransform(), D.TanhTransform()]), t(-1.0, 0.2)),
    "independent": (lambda: D.IndependentTransform(D.ExpTransform(), 1), t([0.1, 0.2], [0.3, 0.4])),
    "stack": (lambda: D.StackTransform([D.ExpTransform(), D.TanhTransform()], 0), t([0.1, 0.2], [0.3, 0.4])),
}
SHAPES = {"stick": [[3], [2, 4]], "reshape": [[2, 3], [5, 2, 3]], "affine": [[2], [4, 1]], "chain": [[2]]}


def shown(value):
    """A result as plain values."""
    if isinstance(value, (list, tuple)):
        return [shown(v) for v in value]
    if hasattr(value, "numpy"):
        return [str(value.dtype).split(".")[-1], list(value.shape), value.numpy().astype("float64").ravel().tolist()]
    return value


def answer(function):
    """What a call gives, or the kind of exception."""
    try:
        return shown(function())
    except Exception as error:
        return type(error).__name__


def asked(name):
    make, other, at = PAIRS[name]
    p, out = make(), {}
    for what in ASKED:
        if what == "icdf":
            out[what] = answer(lambda: p.icdf(t(0.1, 0.5, 0.9)))
        elif what in ("mean", "variance", "stddev", "batch_shape", "event_shape"):
            out[what] = answer(lambda: getattr(p, what))
        elif what == "entropy":
            out[what] = answer(p.entropy)
        else:
            out[what] = answer(lambda: getattr(p, what)(at))
    if other is not None:
        out["kl"] = answer(lambda: D.kl_divergence(p, other()))
        out["kl_divergence"] = answer(lambda: p.kl_divergence(other()))
    return out


def transformed(name):
    make, x = TRANSFORMS[name]
    f = make()
    out = {"forward": answer(lambda: f.forward(x)), "inverse": answer(lambda: f.inverse(f.forward(x))),
           "forward_log_det": answer(lambda: f.forward_log_det_jacobian(x)),
           "inverse_log_det": answer(lambda: f.inverse_log_det_jacobian(f.forward(x)))}
    for shape in SHAPES.get(name, ()):
        out["shape%s" % shape] = answer(lambda: f.forward_shape(tuple(shape)))
    return out


def drawn():
    """Draws that paddle.seed decides."""
    out = {}
    for name in ("normal", "normal_of_numbers", "lognormal", "uniform", "uniform_of_numbers", "laplace", "cauchy", "gumbel", "bernoulli",
                 "categorical", "geometric", "multinomial", "affine"):
        paddle.seed(11)
        out[name] = answer(lambda: PAIRS[name][0]().sample([4]))
    return out


if __name__ == "__main__":
    import json
    import warnings
    warnings.simplefilter("ignore")
    print(json.dumps({"asked": {name: asked(name) for name in PAIRS}, "transformed": {n: transformed(n) for n in TRANSFORMS},
                      "drawn": drawn()}))
