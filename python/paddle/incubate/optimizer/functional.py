"""minimize_bfgs, minimize_lbfgs: the least value of a function of one vector."""
import numpy as np

from paddle import _names
from paddle.optimizer._lbfgs import Point, _Line


def _run(objective, start, max_iters, tolerance_grad, tolerance_change, guess, line_search_fn, max_line_search_iters,
         initial_step_length, dtype, history):
    """(converged, calls, x, value, gradient, estimate of the inverse Hessian)"""
    from paddle.tensor.creation import to_tensor
    if line_search_fn != "strong_wolfe":
        raise NotImplementedError("Currently only support line_search_fn = 'strong_wolfe', but the specified is '%s'" %
                                  line_search_fn)
    if dtype not in ("float32", "float64"):
        raise ValueError("The dtype must be 'float32' or 'float64', but the specified is %s." % dtype)
    shape, calls = list(start.shape), [0]

    def evaluate(x):
        calls[0] += 1
        point = to_tensor(x.reshape(shape).astype(dtype), stop_gradient=False)
        value = objective(point)
        value.backward()
        return float(value), point.grad.numpy().astype("float64").ravel()

    x = start.numpy().astype("float64").ravel()
    inverse = np.eye(x.size) if guess is None else guess.numpy().astype("float64")
    pairs, done = [], False
    value, gradient = evaluate(x)
    for _ in range(max_iters):
        if np.abs(gradient).max(initial=0) < tolerance_grad:
            done = True
            break
        direction = -inverse @ gradient
        slope = float(gradient @ direction)

        def ahead(length):
            loss, slopes = evaluate(x + length * direction)
            return Point(length, loss, slopes, float(slopes @ direction))

        found = _Line(ahead, Point(0.0, value, gradient, slope), np.abs(direction).max()).find(initial_step_length)
        if found.at == 0:
            break
        moved, before = found.at * direction, value
        pairs = (pairs + [(moved, found.grad - gradient)])[-history:] if history else [(moved, found.grad - gradient)]
        x, value, gradient = x + moved, found.loss, found.grad
        inverse = _updated(np.eye(x.size) if history else inverse, pairs)
        if np.abs(moved).max() < tolerance_change or abs(value - before) < tolerance_change * 1e-9:
            done = True
            break
    return (to_tensor(done), to_tensor(calls[0]), to_tensor(x.reshape(shape).astype(dtype)), to_tensor(np.asarray(value, dtype)),
            to_tensor(gradient.reshape(shape).astype(dtype)), to_tensor(inverse.astype(dtype)))


def _updated(inverse, pairs):
    for move, change in pairs:
        product = float(change @ move)
        if product <= 1e-10:
            continue
        part = np.eye(len(move)) - np.outer(move, change) / product
        inverse = part @ inverse @ part.T + np.outer(move, move) / product
    return inverse


def minimize_bfgs(objective_func, initial_position, max_iters=50, tolerance_grad=1e-7, tolerance_change=1e-9,
                  initial_inverse_hessian_estimate=None, line_search_fn="strong_wolfe", max_line_search_iters=50,
                  initial_step_length=1.0, dtype="float32", name=None):
    """(converged, calls, x, value, gradient, inverse Hessian)"""
    return _run(objective_func, initial_position, max_iters, tolerance_grad, tolerance_change, initial_inverse_hessian_estimate,
                line_search_fn, max_line_search_iters, initial_step_length, dtype, 0)


def minimize_lbfgs(objective_func, initial_position, history_size=100, max_iters=50, tolerance_grad=1e-8, tolerance_change=1e-8,
                   initial_inverse_hessian_estimate=None, line_search_fn="strong_wolfe", max_line_search_iters=50,
                   initial_step_length=1.0, dtype="float32", name=None):
    """(converged, calls, x, value, gradient)"""
    return _run(objective_func, initial_position, max_iters, tolerance_grad, tolerance_change, initial_inverse_hessian_estimate,
                line_search_fn, max_line_search_iters, initial_step_length, dtype, history_size)[:5]


__getattr__ = _names.guard(__name__)
