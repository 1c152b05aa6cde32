"""paddle.incubate.autograd: matrices of derivatives of functions, and products with them."""
import contextlib

from paddle import _names
from paddle.autograd.functional import jvp, vjp


class Jacobian(object):
    """Derivatives of the elements of func(*xs) (rows) by those of xs (columns); is_batched: one matrix for each first index."""

    def __init__(self, func, xs, is_batched=False):
        from paddle.autograd import grad
        from paddle.tensor.manipulation import concat, reshape, stack
        inputs = list(xs) if isinstance(xs, (list, tuple)) else [xs]
        inputs = [x.detach() for x in inputs]
        for x in inputs:
            x.stop_gradient = False
        outs = func(*inputs)
        outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
        lead = [inputs[0].shape[0]] if is_batched else []
        flat = concat([reshape(out, lead + [-1]) for out in outs], -1)
        rows = []
        for i in range(flat.shape[-1]):
            element = flat[:, i] if is_batched else flat[i]
            found = grad([element], inputs, create_graph=True, retain_graph=True, allow_unused=True)
            found = [x * 0.0 if g is None else g for g, x in zip(found, inputs)]
            rows.append(concat([reshape(g, lead + [-1]) for g in found], -1))
        self._value = stack(rows, len(lead))

    @property
    def shape(self):
        return self._value.shape

    def __getitem__(self, indexes):
        return self._value[indexes]


class Hessian(Jacobian):
    """Second derivatives of func(*xs), which is one number."""

    def __init__(self, func, xs, is_batched=False):
        from paddle.autograd import grad
        from paddle.tensor.manipulation import concat, reshape

        def slopes(*inputs):
            value = func(*inputs)
            count = value.shape[-1] if value.shape else 1
            if (len(value.shape) > 1 and count != 1) if is_batched else int(value.size) != 1:
                raise RuntimeError("The function given to Hessian should return as single element Tensor or batched single "
                                   "element Tensor.")
            found = grad([value], list(inputs), create_graph=True, allow_unused=True)
            found = [x * 0.0 if g is None else g for g, x in zip(found, inputs)]
            lead = [inputs[0].shape[0]] if is_batched else []
            return concat([reshape(g, lead + [-1]) for g in found], -1)

        super(Hessian, self).__init__(slopes, xs, is_batched)


_prim = [False]


def enable_prim():
    """Stored without effect: operators are not split into primitive ones."""
    _prim[0] = True


def disable_prim():
    """The end of enable_prim."""
    _prim[0] = False


def prim_enabled():
    """Whether enable_prim was called."""
    return _prim[0]


def prim2orig(block=None):
    """Nothing to do: programs hold no primitive operators."""


def _reached(inputs):
    """The variables that are computed from the inputs, and these."""
    block = inputs[0].block
    found = {var.name: var for var in inputs}
    for op in block.ops:
        if any(name in found for name in op.input_arg_names):
            found.update((name, block.var(name)) for name in op.output_arg_names if block.has_var(name))
    return list(found.values())


@contextlib.contextmanager
def _flowing(variables):
    """Lets gradients flow through these tensors, and restores stop_gradient afterwards."""
    stopped = [var for var in variables if var.stop_gradient]
    for var in stopped:
        var.stop_gradient = False
    try:
        yield
    finally:
        for var in stopped:
            var.stop_gradient = True


def grad(outputs, inputs, grad_outputs=None):
    """Gradients of the outputs by the inputs: variables of the program. After enable_prim stop_gradient does not count, as in
    Paddle."""
    from paddle._op import check_static
    from paddle.static import gradients
    check_static("incubate.autograd.grad")
    several = isinstance(inputs, (list, tuple))
    inputs = list(inputs) if several else [inputs]
    with _flowing(_reached(inputs) if prim_enabled() else []):
        found = gradients(outputs if isinstance(outputs, (list, tuple)) else [outputs], inputs, grad_outputs)
    return found if several else found[0]


__all__ = ["Hessian", "Jacobian", "jvp", "vjp"]
__getattr__ = _names.guard(__name__)
