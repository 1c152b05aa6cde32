"""What distributions have in common: shapes, arguments, families."""
import numbers
import warnings

import paddle
from paddle._op import Value
from paddle.fluid.framework import dtype_name


def sum_right(value, count):
    """The sum over the last `count` dimensions."""
    return value.sum(list(range(-count, 0))) if count > 0 else value


def real_or_tensor(value, name):
    """A tensor of a number or tensor."""
    if isinstance(value, Value):
        return value
    if not isinstance(value, numbers.Real):
        raise TypeError("Expected type of %s is Real|Variable, but got %s" % (name, type(value)))
    return paddle.full([], float(value), paddle.get_default_dtype())


def same_shape(*values):
    """The tensors, of one shape."""
    if all(list(v.shape) == list(values[0].shape) for v in values):
        return list(values)
    return paddle.broadcast_tensors(list(values))


def without_gradient(method):
    """The method, through which no gradient goes."""
    def call(self, *args, **kwargs):
        with paddle.no_grad():
            return method(self, *args, **kwargs)

    return call


class Distribution(object):
    """A distribution of values of the shape batch_shape + event_shape: batch_shape counts independent ones."""

    def __init__(self, batch_shape=(), event_shape=()):
        self._batch_shape, self._event_shape = tuple(batch_shape), tuple(event_shape)

    @property
    def batch_shape(self):
        return self._batch_shape

    @property
    def event_shape(self):
        return self._event_shape

    @property
    def mean(self):
        raise NotImplementedError

    @property
    def variance(self):
        raise NotImplementedError

    def sample(self, shape=()):
        """Values, through which no gradient goes."""
        raise NotImplementedError

    def rsample(self, shape=()):
        """Values, through which gradients go to the parameters."""
        raise NotImplementedError

    def entropy(self):
        raise NotImplementedError

    def kl_divergence(self, other):
        raise NotImplementedError

    def prob(self, value):
        """Density, or probability, of a value."""
        return self.log_prob(value).exp()

    def log_prob(self, value):
        raise NotImplementedError

    def probs(self, value):
        raise NotImplementedError

    def _extend_shape(self, sample_shape):
        return tuple(sample_shape) + self._batch_shape + self._event_shape

    def _validate_args(self, *args):
        """Whether all are tensors; some of them: ValueError."""
        found = [isinstance(arg, Value) for arg in args]
        if any(found) and not all(found):
            raise ValueError("if one argument is Tensor, all arguments should be Tensor")
        return all(found)

    def _to_tensor(self, *args):
        """Tensors of numbers, lists and arrays, of one shape; float32 unless one is an array of float64."""
        import numpy
        arrays = []
        for arg in args:
            if not isinstance(arg, (float, list, tuple, numpy.ndarray)):
                raise TypeError("Type of input args must be float, list, tuple, numpy.ndarray or Tensor, but received type %s" %
                                type(arg))
            array = numpy.array(arg)
            if str(array.dtype) not in ("float32", "float64"):
                warnings.warn("data type of argument only support float32 and float64, your argument will be convert to float32.")
            arrays.append(array)
        kind = next((a.dtype for a, arg in zip(arrays, args) if isinstance(arg, numpy.ndarray) and a.dtype.kind == "f" and
                     a.dtype.itemsize > 2), "float32")
        return tuple(paddle.to_tensor(numpy.ascontiguousarray(a) if a.shape else a)
                     for a in numpy.broadcast_arrays(*[a.astype(kind) for a in arrays]))

    def _pair(self, name, first, second):
        """Two parameters as tensors, and whether both were numbers."""
        self.name = name
        first, second = [float(v) if isinstance(v, int) else v for v in (first, second)]
        plain = isinstance(first, float) and isinstance(second, float)
        if not self._validate_args(first, second):
            first, second = self._to_tensor(first, second)
        self.dtype, self.all_arg_is_float = dtype_name(first.dtype), plain
        return first, second

    def _value(self, param, value):
        """The value in the type of the parameters."""
        if value.dtype != param.dtype and dtype_name(value.dtype) in ("float32", "float64"):
            warnings.warn("dtype of input 'value' needs to be the same as parameters of distribution class. dtype of 'value' will "
                          "be converted.")
            return paddle.cast(value, param.dtype)
        return value

    @staticmethod
    def _probs_to_logits(probs, is_binary=False):
        return paddle.log(probs) - paddle.log1p(-probs) if is_binary else paddle.log(probs)

    @staticmethod
    def _logits_to_probs(logits, is_binary=False):
        return paddle.nn.functional.sigmoid(logits) if is_binary else paddle.nn.functional.softmax(logits, axis=-1)


class ExponentialFamily(Distribution):
    """Distributions with natural parameters: entropy and divergence by the gradient of the logarithm of their sum."""

    @property
    def _natural_parameters(self):
        raise NotImplementedError

    def _log_normalizer(self, *parameters):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError

    def _leaves(self):
        leaves = []
        for parameter in self._natural_parameters:
            leaf = parameter.detach()
            leaf.stop_gradient = False
            leaves.append(leaf)
        return leaves

    @staticmethod
    def _gradients(value, leaves):
        if paddle.in_dynamic_mode():
            return paddle.grad(value.sum(), leaves, create_graph=True)
        return paddle.static.gradients(value.sum(), leaves)

    def entropy(self):
        leaves = self._leaves()
        norm = self._log_normalizer(*leaves)
        out = norm - self._mean_carrier_measure
        for leaf, grad in zip(leaves, self._gradients(norm, leaves)):
            out = out - leaf * grad
        return out


class Independent(Distribution):
    """Another distribution whose last batch dimensions are part of the event."""

    def __init__(self, base, reinterpreted_batch_rank):
        if not isinstance(base, Distribution):
            raise TypeError("Expected type of 'base' is Distribution, but got %s" % type(base))
        if not 0 < reinterpreted_batch_rank <= len(base.batch_shape):
            raise ValueError("Expected 0 < reinterpreted_batch_rank <= %d, but got %d" %
                             (len(base.batch_shape), reinterpreted_batch_rank))
        self._base, self._reinterpreted_batch_rank = base, reinterpreted_batch_rank
        shape, cut = base.batch_shape + base.event_shape, len(base.batch_shape) - reinterpreted_batch_rank
        super().__init__(shape[:cut], shape[cut:])

    @property
    def mean(self):
        return self._base.mean

    @property
    def variance(self):
        return self._base.variance

    def sample(self, shape=()):
        return self._base.sample(shape)

    def rsample(self, shape=()):
        return self._base.rsample(shape)

    def log_prob(self, value):
        return sum_right(self._base.log_prob(value), self._reinterpreted_batch_rank)

    def entropy(self):
        return sum_right(self._base.entropy(), self._reinterpreted_batch_rank)
