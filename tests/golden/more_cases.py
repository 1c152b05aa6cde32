"""What the cases of record_more.py are made of; they are in more_cases_1x.py and more_cases_2x.py: name -> function of a Case that
gives the outputs."""
import numpy as np


def numbers(seed, *shape, low=-1.0, high=1.0, dtype="float32"):
    return np.random.RandomState(seed).uniform(low, high, shape).astype(dtype)


A, SMALL = numbers(1, 3, 4), numbers(2, 3, 4, low=-0.9, high=0.9)
CUBE, WIDE = numbers(3, 2, 3, 4), numbers(4, 2, 4, 5, 6)
DOUBLE = CUBE.astype("float64")


class Fixed(object):
    """An input without gradient."""

    def __init__(self, array):
        self.array = array


def of(function, *arrays):
    """A case of one function of tensors."""
    return lambda case: function(*[case.given("xyzuvw"[i], array.array, False) if isinstance(array, Fixed) else
                                   case.given("xyzuvw"[i], array) for i, array in enumerate(arrays)])


def both(cases, name, function, *arrays):
    """The same in float32 and float64."""
    cases[name] = of(function, *arrays)
    cases[name + "_float64"] = of(function, *[a.astype("float64") if a.dtype == np.float32 else a for a in arrays])


def ids(*values, dtype="int64"):
    return np.array(values, dtype)
