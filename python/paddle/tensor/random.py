"""Random numbers; paddle.seed() gives the stream of Paddle 2.6."""
from paddle import _names
from paddle._op import need, one, shape_inputs, type_number
from paddle.framework import get_default_dtype


def uniform(shape, dtype=None, min=-1.0, max=1.0, seed=0, name=None):
    """Between min and max."""
    inputs, sizes = shape_inputs(shape, "uniform")
    return one("uniform", "uniform_random", inputs,
               {"shape": sizes, "min": float(min), "max": float(max), "seed": seed,
                "dtype": type_number(dtype or get_default_dtype())}, name, stop_gradient=True)


def rand(shape, dtype=None, name=None):
    """Between 0 and 1."""
    return uniform(shape, dtype, 0.0, 1.0, name=name)


def gaussian(shape, mean=0.0, std=1.0, seed=0, dtype=None, name=None):
    """Of the normal distribution."""
    inputs, sizes = shape_inputs(shape, "gaussian")
    return one("gaussian", "gaussian_random", inputs,
               {"shape": sizes, "mean": float(mean), "std": float(std), "seed": seed,
                "dtype": type_number(dtype or get_default_dtype())}, name, stop_gradient=True)


def randn(shape, dtype=None, name=None):
    """Of the standard normal distribution."""
    return gaussian(shape, dtype=dtype, name=name)


standard_normal = randn


def normal(mean=0.0, std=1.0, shape=None, name=None):
    """Of the normal distribution with this mean and deviation (numbers)."""
    return gaussian([1] if shape is None else shape, mean, std, name=name)


def randint(low=0, high=None, shape=[1], dtype=None, name=None):
    """Integers from low to high - 1."""
    if high is None:
        if low <= 0:
            raise ValueError("If high is None, low must be greater than 0, but received low = %s." % low)
        low, high = 0, low
    inputs, sizes = shape_inputs(shape, "randint")
    return one("randint", "randint", inputs, {"shape": sizes, "low": low, "high": high, "seed": 0,
                                              "dtype": type_number(dtype or "int64")}, name, stop_gradient=True)


def randperm(n, dtype="int64", name=None):
    """0 .. n-1 in random order."""
    if n < 1:
        raise ValueError("The input n should be greater than 0 in randperm op.")
    return one("randperm", "randperm", {}, {"n": n, "dtype": type_number(dtype), "seed": 0}, name, stop_gradient=True)


def multinomial(x, num_samples=1, replacement=False, name=None):
    """Draws by the weights in x."""
    return one("multinomial", "multinomial", {"X": need(x, "x", "multinomial")},
               {"num_samples": num_samples, "replacement": replacement}, name, stop_gradient=True)


__getattr__ = _names.guard(__name__)
