"""Cases for Paddle 2.6: special functions, running extremes, square matrices."""
import numpy as np
import paddle

from more_cases import A, CUBE, SMALL, both, ids, numbers, of

ABOVE = numbers(31, 3, 4, low=0.3, high=4.0)
WIDE_RANGE = np.array([[-40.0, -3.2, -0.4, 0.3], [0.9, 7.5, 29.0, 45.0]], "float32")
ODD = np.array([[3.0, 1.0, np.nan, 5.0], [2.0, 2.0, 7.0, 2.0]], "float32")


def matrices(seed, count, n, m=None):
    """Far from singular."""
    out = numbers(seed, count, n, m or n, dtype="float64")
    return out if m else out + 2 * np.eye(n)


def fill(cases):
    special(cases)
    running(cases)
    square(cases)


def special(cases):
    both(cases, "lgamma/plain", paddle.lgamma, ABOVE)
    both(cases, "lgamma/below_zero", paddle.lgamma, -ABOVE)
    both(cases, "digamma/plain", paddle.digamma, ABOVE)
    both(cases, "digamma/below_zero", paddle.digamma, -ABOVE)
    for n in (1, 2, 5):
        both(cases, "polygamma/order_%d" % n, lambda x, n=n: paddle.polygamma(x, n), ABOVE)
    both(cases, "erfinv/plain", paddle.erfinv, SMALL)
    cases["erfinv/ends"] = of(paddle.erfinv, np.array([0.9999, -0.99999, 0.0, 1e-9], "float64"))
    for name in ("i0", "i0e", "i1", "i1e"):
        both(cases, name + "/plain", getattr(paddle, name), 3 * A)
        cases[name + "/far"] = of(getattr(paddle, name), WIDE_RANGE.astype("float64"))
    both(cases, "nextafter/plain", paddle.nextafter, A, numbers(32, 3, 4))


def running(cases):
    for name in ("cummax", "cummin"):
        function = getattr(paddle, name)
        both(cases, name + "/axis", lambda x, f=function: f(x, axis=1), CUBE)
        cases[name + "/last_int32"] = of(lambda x, f=function: f(x, axis=-1, dtype="int32"), CUBE)
        cases[name + "/equal_and_nan"] = of(lambda x, f=function: f(x, axis=1), ODD)
        cases[name + "/int64"] = of(lambda x, f=function: f(x, axis=0), ids([3, 1, 2], [1, 1, 5], [4, 0, 5]))
    for how in ("amin", "amax"):
        cases["put_along_axis/" + how] = of(lambda x, v, how=how: paddle.put_along_axis(
            x, paddle.assign(ids([0, 2, 1, 0])), v, 0, how), A, numbers(33, 1, 4))


def square(cases):
    x, y = matrices(34, 2, 3), matrices(35, 2, 3, 2)
    positive = x @ x.transpose(0, 2, 1)
    cases["inverse/batch"] = of(paddle.inverse, x)
    cases["inverse/one"] = of(paddle.inverse, x[0].astype("float32"))
    cases["determinant/batch"] = of(paddle.linalg.det, x)
    cases["determinant/one"] = of(paddle.linalg.det, x[0].astype("float32"))
    cases["slogdeterminant/batch"] = of(paddle.linalg.slogdet, -x)
    cases["cholesky/lower"] = of(paddle.linalg.cholesky, positive)
    cases["cholesky/upper"] = of(lambda v: paddle.linalg.cholesky(v, upper=True), positive)
    cases["slogdeterminant/one"] = of(paddle.linalg.slogdet, x[0].astype("float32"))
    cases["cholesky/float32"] = of(paddle.linalg.cholesky, positive.astype("float32"))
    cases["solve/float32"] = of(paddle.linalg.solve, x.astype("float32"), y.astype("float32"))
    cases["triangular_solve/float32"] = of(paddle.linalg.triangular_solve, x.astype("float32"), y.astype("float32"))
    cases["solve/batch"] = of(paddle.linalg.solve, x, y)
    cases["solve/vector"] = of(paddle.linalg.solve, x[0], y[0, :, 0].copy())
    for name, arguments in (("upper", {}), ("lower", {"upper": False}), ("transposed", {"transpose": True})):
        cases["triangular_solve/" + name] = of(lambda a, b, arguments=arguments: paddle.linalg.triangular_solve(a, b, **arguments),
                                               x, y)
