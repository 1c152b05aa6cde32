"""paddle.autograd: gradients as values, and functions with custom gradients."""
from skiff import _native

from paddle import _names
from paddle._tensor import Tensor
from paddle.autograd.functional import Hessian, Jacobian, hessian, jacobian, jvp, vjp
from paddle.autograd.py_layer import PyLayer, PyLayerContext, saved_tensors_hooks
from paddle.framework import enable_grad, is_grad_enabled, no_grad, set_grad_enabled


def _tensors(value, what, where):
    """A list of Tensors of one, a list or a tuple."""
    if isinstance(value, Tensor):
        return [value]
    if not isinstance(value, (list, tuple)) or not value:
        raise AssertionError("%s: %s must be a Tensor, or a list or tuple of at least one, but received %s" %
                             (where, what, type(value)))
    for i, item in enumerate(value):
        if not isinstance(item, Tensor):
            raise AssertionError("%s: element %d of %s must be a Tensor, but received %s" % (where, i, what, type(item)))
    return list(value)


def _weights(value, tensors, where):
    """Gradients of the outputs: None, or one (or None) for each."""
    if value is None:
        return None
    value = [value] if isinstance(value, Tensor) else list(value)
    if len(value) != len(tensors):
        raise AssertionError("%s: %d gradients for %d tensors" % (where, len(value), len(tensors)))
    for weight, tensor in zip(value, tensors):
        if weight is not None and weight.shape != tensor.shape:
            raise AssertionError("%s: a gradient of the shape %s for a tensor of the shape %s" %
                                 (where, weight.shape, tensor.shape))
    return value


def backward(tensors, grad_tensors=None, retain_graph=False):
    """Gradients of the sum of all tensors (weighted by grad_tensors) are added to the leaves."""
    tensors = _tensors(tensors, "tensors", "backward")
    if len({id(t) for t in tensors}) < len(tensors):
        raise AssertionError("backward: a tensor is in the list twice")
    _native.eager_backward(tensors, _weights(grad_tensors, tensors, "backward"), retain_graph)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=False,
         no_grad_vars=None):
    """Gradients of the sum of the outputs (weighted by grad_outputs) by the inputs, as a list."""
    if not only_inputs:
        raise AssertionError("grad: only_inputs=False is not supported")
    outputs, inputs = _tensors(outputs, "outputs", "grad"), _tensors(inputs, "inputs", "grad")
    without = _tensors(no_grad_vars, "no_grad_vars", "grad") if no_grad_vars else None
    keep = create_graph if retain_graph is None else retain_graph
    return _native.eager_grad(outputs, inputs, _weights(grad_outputs, outputs, "grad"), keep, create_graph, allow_unused,
                              without)


__all__ = ["backward", "grad", "PyLayer", "PyLayerContext", "saved_tensors_hooks", "jacobian", "hessian", "jvp", "vjp",
           "Jacobian", "Hessian", "no_grad", "enable_grad", "set_grad_enabled", "is_grad_enabled"]
__getattr__ = _names.guard(__name__)
