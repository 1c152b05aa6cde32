"""Weights that are worked out before every forward."""
from paddle import _names
from paddle.framework import no_grad
from paddle.nn import functional as F


def _by_dim(p, dim):
    """p as a matrix with a row for every place of dim; -1: one row."""
    from paddle.tensor.manipulation import reshape, transpose
    if dim == -1:
        return reshape(p, [1, -1])
    order = [dim] + [i for i in range(len(p.shape)) if i != dim]
    return reshape(transpose(p, order) if dim else p, [p.shape[dim], -1])


def _lengths(p, dim):
    from paddle.tensor.manipulation import reshape
    from paddle.tensor.math import sqrt, square, sum
    return reshape(sqrt(sum(square(_by_dim(p, dim)), 1) + 1e-12), [] if dim == -1 else [p.shape[dim]])


class WeightNorm(object):
    """A hook: weight = g * v / |v|, along one dimension (-1: as a whole)."""

    def __init__(self, name, dim):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, layer):
        from paddle.tensor.manipulation import reshape
        from paddle.tensor.math import clip
        g, v = getattr(layer, self.name + "_g"), getattr(layer, self.name + "_v")
        factor = g / clip(_lengths(v, self.dim), min=1e-12)
        shape = [1] * len(v.shape)
        if self.dim != -1:
            shape[self.dim] = v.shape[self.dim]
        return v * reshape(factor, shape)

    def apply(self, layer):
        weight = layer._parameters[self.name]
        rank = len(weight.shape)
        if not -rank <= self.dim < rank:
            raise AssertionError("dim must set between [-R, R), R means the dimension of weight.")
        self.dim = self.dim if self.dim == -1 else self.dim % rank
        with no_grad():
            length = _lengths(weight, self.dim)
        del layer._parameters[self.name]
        _keep(layer, self.name + "_v", weight)
        _keep(layer, self.name + "_g", length)
        setattr(layer, self.name, self.compute_weight(layer))
        layer.register_forward_pre_hook(self)

    def remove(self, layer):
        with no_grad():
            weight = self.compute_weight(layer)
        delattr(layer, self.name)
        del layer._parameters[self.name + "_g"], layer._parameters[self.name + "_v"]
        _keep(layer, self.name, weight)

    def __call__(self, layer, inputs):
        setattr(layer, self.name, self.compute_weight(layer))


def _keep(layer, name, value):
    """A parameter of the layer with the value."""
    parameter = layer.create_parameter(value.shape or [1], dtype=value.dtype)
    layer.add_parameter(name, parameter)
    parameter.set_value(value.numpy().reshape(parameter.shape))


def _once(layer, kind, name, what):
    for hook in layer._forward_pre_hooks.values():
        if isinstance(hook, kind) and hook.name == name:
            raise RuntimeError("Cannot register two %s hooks on the same parameter %s" % (what, name))


def weight_norm(layer, name="weight", dim=0):
    """The layer with its weight as length (name_g) and direction (name_v)."""
    _once(layer, WeightNorm, name, "weight_norm")
    WeightNorm(name, dim).apply(layer)
    return layer


def remove_weight_norm(layer, name="weight"):
    """The layer with its weight as it was before weight_norm."""
    for number, hook in layer._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(layer)
            del layer._forward_pre_hooks[number]
            return layer
    raise ValueError("weight_norm of '%s' not found in %s" % (name, layer))


class SpectralNorm(object):
    """A hook: weight = orig / its largest singular value."""

    def __init__(self, name, n_power_iterations, dim, eps):
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got n_power_iterations=%s" % n_power_iterations)
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def compute_weight(self, layer, iterate):
        from paddle.tensor.linalg import matmul
        from paddle.tensor.math import multiply, sum
        weight = getattr(layer, self.name + "_orig")
        u, v = getattr(layer, self.name + "_u"), getattr(layer, self.name + "_v")
        matrix = _by_dim(weight, self.dim)
        with no_grad():
            for _ in range(self.n_power_iterations if iterate else 0):
                v = F.normalize(matmul(matrix, u, transpose_x=True), axis=0, epsilon=self.eps)
                u = F.normalize(matmul(matrix, v), axis=0, epsilon=self.eps)
        setattr(layer, self.name + "_u", u)
        setattr(layer, self.name + "_v", v)
        return weight / sum(multiply(u, matmul(matrix, v)))

    def apply(self, layer):
        from paddle.tensor.random import normal
        weight = layer._parameters[self.name]
        with no_grad():
            rows, columns = _by_dim(weight, self.dim).shape
            for end, size in (("_u", rows), ("_v", columns)):
                layer.create_parameter([size])  # Paddle draws one, too
                start = F.normalize(normal(0.0, 1.0, [size]), axis=0, epsilon=self.eps)
                layer.register_buffer(self.name + end, start)
        del layer._parameters[self.name]
        layer.add_parameter(self.name + "_orig", weight)
        setattr(layer, self.name, weight * 1.0)
        layer.register_forward_pre_hook(self)

    def __call__(self, layer, inputs):
        setattr(layer, self.name, self.compute_weight(layer, layer.training))


def spectral_norm(layer, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The layer with its weight divided by its largest singular value."""
    from paddle.nn.layer import Conv1DTranspose, Conv2DTranspose, Linear
    _once(layer, SpectralNorm, name, "spectral_norm")
    if dim is None:
        dim = 1 if isinstance(layer, (Conv1DTranspose, Conv2DTranspose, Linear)) else 0
    SpectralNorm(name, n_power_iterations, dim, eps).apply(layer)
    return layer


__getattr__ = _names.guard(__name__)
