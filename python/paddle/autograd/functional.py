"""Jacobians, Hessians and products with them."""
from paddle._tensor import Tensor


def _grad(y, x, weight=None, create=True):
    from paddle.autograd import grad
    from paddle.tensor.creation import zeros_like
    (found,) = grad([y], [x], None if weight is None else [weight], True, create, allow_unused=True)
    return zeros_like(x) if found is None else found


class Jacobian(object):
    """d ys / d xs: rows are worked out when they are asked for. is_batched: one for every row of a batch."""

    def __init__(self, ys, xs, is_batched=False):
        self._ys, self._xs, self._batched, self._rows = ys, xs, is_batched, {}
        ny, nx = (1 if is_batched else 0), (1 if is_batched else 0)
        self._m = 1 if ys.ndim == ny else ys.shape[-1]
        self._n = 1 if xs.ndim == nx else xs.shape[-1]
        head = [xs.shape[0]] if is_batched else []
        self._scalar_y, self._scalar_x = ys.ndim == ny, xs.ndim == nx
        self.shape = head + ([] if self._scalar_y else [self._m]) + ([] if self._scalar_x else [self._n])

    def _row(self, i):
        if i not in self._rows:
            y = self._ys if self._scalar_y else self._ys[..., i]
            self._rows[i] = _grad(y.sum() if self._batched else y, self._xs)
        return self._rows[i]

    def _whole(self):
        from paddle.tensor.manipulation import stack
        if self._scalar_y:
            return self._row(0)
        return stack([self._row(i) for i in range(self._m)], axis=1 if self._batched else 0)

    def __getitem__(self, item):
        return self._whole()[item]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._whole(), name)


class Hessian(Jacobian):
    """The second derivatives of one number."""


def _single(value, what):
    if isinstance(value, Tensor):
        return value
    raise TypeError("%s must be a Tensor or a tuple of Tensors, but received %s" % (what, type(value)))


def jacobian(ys, xs, batch_axis=None):
    """d ys / d xs of tensors of one dimension (batch_axis=0: of two, for every row); tuples give tuples of them."""
    if batch_axis not in (None, 0):
        raise ValueError("batch_axis should be None or 0, but got %s" % batch_axis)
    if isinstance(ys, (list, tuple)):
        return tuple(jacobian(y, xs, batch_axis) for y in ys)
    if isinstance(xs, (list, tuple)):
        return tuple(jacobian(ys, x, batch_axis) for x in xs)
    most = 1 if batch_axis is None else 2
    for value, what in ((ys, "ys"), (xs, "xs")):
        if _single(value, what).ndim > most:
            raise ValueError("%s should be of at most %d dimensions, but the shape is %s" % (what, most, value.shape))
    return Jacobian(ys, xs, batch_axis is not None)


def hessian(ys, xs, batch_axis=None):
    """Second derivatives of ys, one number (batch_axis=0: one for every row)."""
    if ys.size != (1 if batch_axis is None else ys.shape[0]):
        raise ValueError("hessian: ys must be one number%s, but the shape is %s" %
                         ("" if batch_axis is None else " for every row", ys.shape))
    if isinstance(xs, (list, tuple)):
        return tuple(tuple(_second(ys, a, b, batch_axis) for b in xs) for a in xs)
    return _second(ys, xs, xs, batch_axis)


def _second(ys, a, b, batch_axis):
    made = jacobian(_grad(ys if batch_axis is None else ys.sum(), a), b, batch_axis)
    made.__class__ = Hessian
    return made


def vjp(func, xs, v=None):
    """(func(xs), product of v with its Jacobian)"""
    inputs = _leaves(xs)
    ys = func(*inputs) if isinstance(xs, (list, tuple)) else func(inputs[0])
    from paddle.autograd import grad
    found = grad(ys, inputs, v, True, True, allow_unused=True)
    return ys, tuple(found) if isinstance(xs, (list, tuple)) else found[0]


def jvp(func, xs, v=None):
    """(func(xs), product of its Jacobian with v), by two gradients."""
    from paddle.autograd import grad
    from paddle.tensor.creation import ones_like
    inputs = _leaves(xs)
    ys = func(*inputs) if isinstance(xs, (list, tuple)) else func(inputs[0])
    outs = list(ys) if isinstance(ys, (list, tuple)) else [ys]
    dummies = [ones_like(y) for y in outs]
    for dummy in dummies:
        dummy.stop_gradient = False
    first = grad(outs, inputs, dummies, True, True, allow_unused=True)
    weights = [ones_like(x) for x in inputs] if v is None else list(v) if isinstance(v, (list, tuple)) else [v]
    pairs = [(g, w) for g, w in zip(first, weights) if g is not None]
    found = grad([g for g, _ in pairs], dummies, [w for _, w in pairs], True, True, allow_unused=True)
    return ys, tuple(found) if isinstance(ys, (list, tuple)) else found[0]


def _leaves(xs):
    leaves = []
    for x in xs if isinstance(xs, (list, tuple)) else [xs]:
        leaf = x.detach()
        leaf.stop_gradient = False
        leaves.append(leaf)
    return leaves
