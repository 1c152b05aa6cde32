"""paddle.nn.utils: gradients and parameters of a layer all together."""
import paddle
from paddle import _names
from paddle._mode import mode
from paddle._tensor import Tensor


def _eager_list(parameters):
    if not mode.eager:
        raise RuntimeError("this API can only run in dynamic mode.")
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def _total_norm(grads, norm_type):
    if norm_type == float("inf"):
        return paddle.max(paddle.stack([paddle.max(paddle.abs(g)) for g in grads]))
    norms = paddle.stack([paddle.norm(g.detach(), norm_type) for g in grads])
    return paddle.norm(norms, norm_type)


@paddle.no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False):
    """Scales the gradients so that their common norm is at most max_norm; gives the norm that they had."""
    parameters = _eager_list(parameters)
    if norm_type not in (float("inf"), 0, 1, 2):
        raise ValueError("norm_type only support %s" % [float("inf"), 0, 1, 2])
    grads = [p.grad for p in parameters if p.grad is not None]
    if not grads:
        return paddle.to_tensor(0.0)
    total = _total_norm(grads, float(norm_type))
    if error_if_nonfinite and not bool(paddle.isfinite(total)):
        raise RuntimeError("The total norm of %s order of the gradients from `parameters` is non-finite, so it cannot be "
                           "clipped. In any case, disable this error and scale the gradient by non-finite norm, set "
                           "`error_if_nonfinite=False`" % float(norm_type))
    factor = paddle.clip(float(max_norm) / (total + 1e-6), max=1.0)
    for parameter in parameters:
        if parameter.grad is not None:
            parameter.grad = paddle.multiply(parameter.grad, factor)
    return total


@paddle.no_grad()
def clip_grad_value_(parameters, clip_value):
    """Gradients between -clip_value and clip_value."""
    for parameter in _eager_list(parameters):
        if parameter.grad is not None:
            parameter.grad = paddle.clip(parameter.grad, min=-float(clip_value), max=float(clip_value))


def parameters_to_vector(parameters, name=None):
    """All elements of the parameters, one after the other."""
    with paddle.no_grad():
        out = paddle.concat([paddle.reshape(p, [-1]) for p in _eager_list(parameters)], axis=0)
    out.stop_gradient = False
    return out


def vector_to_parameters(vec, parameters, name=None):
    """What parameters_to_vector gave, into the parameters."""
    at = 0
    values = vec.numpy()
    for parameter in _eager_list(parameters):
        count = 1
        for size in parameter.shape:
            count *= size
        parameter.set_value(values[at:at + count].reshape(parameter.shape))
        at += count


__getattr__ = _names.guard(__name__)
