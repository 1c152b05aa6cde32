"""All parameters at once: as a vector, and their gradients clipped."""
from paddle import _names
from paddle._mode import mode
from paddle._tensor import Tensor
from paddle.framework import no_grad


def _need_eager(what):
    if not mode.eager:
        raise RuntimeError("%s: this API can only run in dynamic mode." % what)


def parameters_to_vector(parameters, name=None):
    """One vector of all values."""
    from paddle.tensor.manipulation import concat, reshape
    _need_eager("parameters_to_vector")
    with no_grad():
        out = concat([reshape(p, [-1]) for p in parameters], 0)
    out.stop_gradient = False
    return out


def vector_to_parameters(vec, parameters, name=None):
    """The values of a vector into the parameters."""
    _need_eager("vector_to_parameters")
    values, at, parameters = vec.numpy(), 0, list(parameters)
    sizes = [p.numpy().size for p in parameters]
    if sum(sizes) != values.size:
        raise ValueError("vector_to_parameters: the parameters have %d values, but the vector %d" % (sum(sizes), values.size))
    for parameter, size in zip(parameters, sizes):
        parameter.set_value(values[at:at + size].reshape(parameter.shape))
        at += size


def _with_gradients(parameters, what):
    _need_eager(what)
    return [p for p in ([parameters] if isinstance(parameters, Tensor) else parameters) if p.grad is not None]


@no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    """Gradients scaled so that their norm, all together, is at most max_norm; gives the norm before."""
    from paddle.tensor.creation import to_tensor
    from paddle.tensor.linalg import norm
    from paddle.tensor.manipulation import stack
    from paddle.tensor.math import abs, clip, max, multiply
    found = _with_gradients(parameters, "clip_grad_norm_")
    if norm_type not in (float("inf"), 0, 1, 2):
        raise ValueError("norm_type only support [inf, 0, 1, 2]")
    if not found:
        return to_tensor(0.0)
    if norm_type == float("inf"):
        total = max(stack([max(abs(p.grad)) for p in found]))
    else:
        total = norm(stack([norm(p.grad, float(norm_type)) for p in found]), float(norm_type))
    if error_if_nonfinite and not abs(total).item() < float("inf"):
        raise RuntimeError("The total norm of %s order of the gradients from `parameters` is non-finite, so it cannot be clipped. "
                           "In any case, disable this error and scale the gradient by non-finite norm, set "
                           "`error_if_nonfinite=False`" % norm_type)
    factor = clip(float(max_norm) / (total + 1e-6), max=1.0)
    for parameter in found:
        parameter.grad = multiply(parameter.grad, factor)
    return total


@no_grad()
def clip_grad_value_(parameters, clip_value):
    """Every element of the gradients between -clip_value and clip_value."""
    from paddle.tensor.math import clip
    for parameter in _with_gradients(parameters, "clip_grad_value_"):
        parameter.grad = clip(parameter.grad, -float(clip_value), float(clip_value))


__getattr__ = _names.guard(__name__)
