"""Random numbers; paddle.seed() gives the stream of Paddle 2.6."""
from paddle import _names
from paddle._mode import mode
from paddle._op import Value, declared, need

globals().update(declared(__name__))


def _shape_of(x):
    if mode.eager or -1 not in x.shape:
        return x.shape
    from paddle.tensor.attribute import shape
    return shape(x)


def normal(mean=0.0, std=1.0, shape=None, name=None):
    """Of the normal distribution with this mean and deviation: numbers, or tensors of them."""
    from paddle.tensor.manipulation import cast, reshape
    if not isinstance(mean, Value) and not isinstance(std, Value):
        return gaussian([1] if shape is None else shape, mean, std, name=name)
    like = mean if isinstance(mean, Value) else std
    if isinstance(mean, Value) and isinstance(std, Value):
        std = reshape(cast(std, mean.dtype) if std.dtype != mean.dtype else std, _shape_of(mean))
    return randn(_shape_of(like), like.dtype, name) * std + mean


def _bounds(low, high, where):
    if high is None:
        if low <= 0:
            raise ValueError("If high is None, low must be greater than 0, but received low = %s." % low)
        low, high = 0, low
    if low >= high:
        raise ValueError("%s's low must less then high, but received low = %s, high = %s" % (where, low, high))
    return low, high


def randint_like(x, low=0, high=None, dtype=None, name=None):
    """Integers from low to high - 1, in the shape (and type) of x."""
    from paddle.tensor.manipulation import cast
    need(x, "x", "randint_like")
    low, high = _bounds(low, high, "randint_like")
    return cast(randint(low, high, _shape_of(x), "int64", name), x.dtype if dtype is None else dtype)


def gaussian_(x, mean=0.0, std=1.0, seed=0, name=None):
    """x filled with numbers of a normal distribution."""
    return x.normal_(mean, std)


def uniform_random_batch_size_like(input, shape, dtype="float32", input_dim_idx=0, output_dim_idx=0, min=-1.0, max=1.0, seed=0):
    """uniform, with one dimension as in the input."""
    size = need(input, "input", "uniform_random_batch_size_like").shape[input_dim_idx]
    if size < 0:
        from paddle.tensor.attribute import shape as shape_of
        from paddle.tensor.manipulation import slice
        size = slice(shape_of(input), [0], [input_dim_idx], [input_dim_idx + 1])
    return uniform(list(shape[:output_dim_idx]) + [size] + list(shape[output_dim_idx + 1:]), dtype, min, max, seed)


__getattr__ = _names.guard(__name__)
