"""Switching fluid to running at once, and tensors of it."""
from skiff import _native

from paddle import _names
from paddle._mode import mode
from paddle._tensor import Tensor
from paddle.autograd import grad as _grad
from paddle.fluid import unique_name
from paddle.fluid._build import net
from paddle.fluid.dygraph.backward_strategy import BackwardStrategy
from paddle.fluid.framework import Program, Variable
from paddle.framework import no_grad as _no_grad


def enabled():
    """Whether functions of fluid run at once."""
    return mode.guard and mode.trace is None


class guard(object):
    """with fluid.dygraph.guard(): ... - functions of fluid run at once inside."""

    def __init__(self, place=None):
        self._before = []

    def __enter__(self):
        names = unique_name.guard()
        self._before.append((mode.guard, mode.eager, _native.eager_set_noting(True), _native.eager_set_generation(1), names))
        net.push_programs(Program(), Program())  # as in Paddle: a guard has programs, seeds and names of its own
        names.__enter__()
        mode.guard = mode.eager = True
        return self

    def __exit__(self, *_):
        mode.guard, mode.eager, noting, generation, names = self._before.pop()
        names.__exit__(None, None, None)
        net.pop_programs()
        _native.eager_set_generation(generation)
        _native.eager_set_noting(noting)

    def __call__(self, function):
        import functools

        @functools.wraps(function)
        def call(*args, **kwargs):
            with self:
                return function(*args, **kwargs)
        return call


#: the guard of enable_dygraph, while it is open
_open = []


def enable_dygraph(place=None):
    """From now on functions of fluid run at once."""
    if not _open:
        _open.append(guard(place).__enter__())


def disable_dygraph():
    """From now on they append to programs."""
    if _open:
        _open.pop().__exit__()


enable_imperative, disable_imperative = enable_dygraph, disable_dygraph


def no_grad(func=None):
    """A context or a decorator: ops are not recorded for backward."""
    return _no_grad(func)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=False,
         no_grad_vars=None, backward_strategy=None):
    """Gradients of outputs by inputs."""
    return _grad(outputs, inputs, grad_outputs, retain_graph, create_graph, only_inputs, allow_unused, no_grad_vars)


def to_variable(value, name=None, zero_copy=None):
    """A tensor of an array; tensors and variables stay as they are."""
    import numpy
    if isinstance(value, (Tensor, Variable)):
        return value
    if not isinstance(value, numpy.ndarray):
        raise TypeError("The type of 'value' in fluid.dygraph.to_variable must be (numpy.ndarray, Variable), but received %s." %
                        type(value))
    if not enabled():
        raise AssertionError("We Only support to_variable in imperative mode, please use fluid.dygraph.guard() as context to run "
                             "it in imperative Mode")
    out = Tensor(value)
    if name is not None:
        out.name = name
    return out


# ---- methods that tensors have in 1.8 ----


_backward = Tensor.backward


def backward(self, grad_tensor=None, retain_graph=False):
    """As in 2.x; the argument may also be a BackwardStrategy, which changes nothing."""
    return _backward(self, None if isinstance(grad_tensor, BackwardStrategy) else grad_tensor, retain_graph)


Tensor.backward = backward
if not hasattr(Tensor, "gradient"):
    def gradient(self):
        """Its gradient as an array; None: it has none."""
        return None if self._grad is None else self._grad.numpy()

    Tensor.gradient = gradient


def noting():
    return _native.eager_noting()


__getattr__ = _names.guard(__name__)
