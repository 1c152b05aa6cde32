"""Random numbers; paddle.seed() gives the stream of Paddle 2.6."""
from paddle import _names
from paddle._mode import mode
from paddle._op import Tensor, Value, need, number, one, shape_inputs, type_number
from paddle.framework import get_default_dtype


def _float_type(dtype, where):
    """The number of a floating type; None: the default."""
    dtype = type_number(dtype or get_default_dtype())
    if dtype.dtype not in ("float16", "bfloat16", "float32", "float64"):
        raise TypeError("%s only supports ['float32', 'float64'], but received %s" % (where, dtype.dtype))
    return dtype


def uniform(shape, dtype=None, min=-1.0, max=1.0, seed=0, name=None):
    """Between min and max."""
    inputs, sizes = shape_inputs(shape, "uniform")
    return one("uniform", "uniform_random", inputs,
               {"shape": sizes, "min": float(min), "max": float(max), "seed": seed,
                "dtype": _float_type(dtype, "uniform/rand")}, name, stop_gradient=True)


def rand(shape, dtype=None, name=None):
    """Between 0 and 1."""
    return uniform(shape, dtype, 0.0, 1.0, name=name)


def gaussian(shape, mean=0.0, std=1.0, seed=0, dtype=None, name=None):
    """Of the normal distribution."""
    inputs, sizes = shape_inputs(shape, "gaussian")
    return one("gaussian", "gaussian_random", inputs,
               {"shape": sizes, "mean": float(mean), "std": float(std), "seed": seed,
                "dtype": _float_type(dtype, "gaussian/standard_normal/randn/normal")}, name, stop_gradient=True)


def randn(shape, dtype=None, name=None):
    """Of the standard normal distribution."""
    return gaussian(shape, dtype=dtype, name=name)


standard_normal = randn


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


def randint(low=0, high=None, shape=[1], dtype=None, name=None):
    """Integers from low to high - 1."""
    low, high = _bounds(low, high, "randint")
    inputs, sizes = shape_inputs(shape, "randint")
    return one("randint", "randint", inputs, {"shape": sizes, "low": low, "high": high, "seed": 0,
                                              "dtype": type_number(dtype or "int64")}, name, stop_gradient=True)


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


def randperm(n, dtype="int64", name=None):
    """0 .. n-1 in random order."""
    n = int(n) if isinstance(n, Tensor) else number(n, "n", "randperm")
    if n < 1:
        raise ValueError("The input n should be greater than 0 in randperm op.")
    return one("randperm", "randperm", {}, {"n": n, "dtype": type_number(dtype), "seed": 0}, name, stop_gradient=True)


def multinomial(x, num_samples=1, replacement=False, name=None):
    """Draws by the weights in x."""
    return one("multinomial", "multinomial", {"X": need(x, "x", "multinomial")},
               {"num_samples": num_samples, "replacement": replacement}, name, stop_gradient=True)


def bernoulli(x, name=None):
    """1 with the probability in x, else 0."""
    return one("randint", "bernoulli", {"X": need(x, "x", "bernoulli")}, name=name, stop_gradient=True)


def poisson(x, name=None):
    """Of Poisson's distribution with the mean in x."""
    return one("poisson", "poisson", {"X": need(x, "x", "poisson")}, name=name, stop_gradient=True)


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
