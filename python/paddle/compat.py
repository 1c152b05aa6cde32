"""paddle.compat: text and numbers alike in Python 2 and 3."""
import math

__all__ = ["long_type", "to_text", "to_bytes", "round", "floor_division", "get_exception_message"]

int_type = int
long_type = int


def _convert(obj, inplace, one):
    if obj is None:
        return None
    if isinstance(obj, list):
        values = [_convert(item, inplace, one) for item in obj]
        if inplace:
            obj[:] = values
            return obj
        return values
    if isinstance(obj, set):
        values = {_convert(item, inplace, one) for item in obj}
        if inplace:
            obj.clear()
            obj.update(values)
            return obj
        return values
    if isinstance(obj, dict):
        values = {_convert(key, False, one): _convert(value, False, one) for key, value in obj.items()}
        if inplace:
            obj.clear()
            obj.update(values)
            return obj
        return values
    return one(obj)


def to_text(obj, encoding="utf-8", inplace=False):
    """bytes become str; lists, sets and dictionaries of them too."""

    def one(value):
        if isinstance(value, bytes):
            return value.decode(encoding)
        if isinstance(value, (bool, float)):
            return value
        return str(value)

    return _convert(obj, inplace, one)


def to_bytes(obj, encoding="utf-8", inplace=False):
    """str becomes bytes; lists, sets and dictionaries of them too."""

    def one(value):
        return value.encode(encoding) if isinstance(value, str) else bytes(value)

    return _convert(obj, inplace, one)


def round(x, d=0):
    """Halves go away from zero, as in Python 2."""
    if x == 0:
        return 0.0
    p = 10 ** d
    if x > 0:
        return float(math.floor((x * p) + 0.5)) / p
    return float(math.ceil((x * p) - 0.5)) / p


def floor_division(x, y):
    return x // y


def get_exception_message(exc):
    assert exc is not None
    return str(exc)
