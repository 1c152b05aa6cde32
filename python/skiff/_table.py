"""Tables of Python as columns that the native module takes: a float64 array, or int32 codes with the texts that they count.

Numbers and booleans become numbers; strings, categories and other objects become texts; times become texts in ISO form. None,
NaN, NaT and pandas.NA are missing values. Objects of pandas and pyarrow are recognised by their methods; neither is imported.
"""
from decimal import Decimal

import numpy as np


def _is_sparse(x):
    return hasattr(x, "tocsr") or hasattr(x, "todense")


def _codes(values, missing):
    """Texts by number, in the order in which they come."""
    seen, codes = {}, np.empty(len(values), np.int32)
    for i, (value, absent) in enumerate(zip(values, missing)):
        codes[i] = -1 if absent else seen.setdefault(value, len(seen))
    return codes, list(seen)


def _is_missing(value):
    # NaN and NaT differ from themselves; pandas.NA has no truth
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True


def _text(value):
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, (dict, list, tuple, set)):
        raise TypeError("argument must be a string or a number, found %s" % type(value).__name__)
    return str(value)


def _objects(values):
    missing = [_is_missing(v) for v in values]
    there = [v for v, m in zip(values, missing) if not m]
    if there and all(isinstance(v, (int, float, Decimal, np.number, np.bool_)) for v in there):
        return np.array([np.nan if m else float(v) for v, m in zip(values, missing)], np.float64)
    return _codes([None if m else _text(v) for v, m in zip(values, missing)], missing)


def _times(values):
    """datetime64 to "2024-03-05 07:00:00"; days stay days."""
    missing = np.isnat(values)
    seconds = values.astype("datetime64[s]")
    days = bool(np.all((seconds == seconds.astype("datetime64[D]")) | missing))
    texts = np.datetime_as_string(values.astype("datetime64[D]") if days else seconds)
    return _codes([t.replace("T", " ") for t in texts.tolist()], missing.tolist())


def _array(values):
    values = np.asarray(values)
    if values.ndim != 1:
        raise ValueError("a column must have one dimension, found %d" % values.ndim)
    kind = values.dtype.kind
    if kind == "c":
        raise ValueError("Complex data not supported")
    if kind in "biuf":
        return np.ascontiguousarray(values, np.float64)
    if kind == "M":
        return _times(values)
    if kind == "m":
        return np.where(np.isnat(values), np.nan, values / np.timedelta64(1, "s")).astype(np.float64)
    return _objects(values.tolist())


def _series(values):
    """A column of pandas."""
    dtype = values.dtype
    if hasattr(values, "cat"):
        names = list(values.cat.categories)
        codes = np.ascontiguousarray(values.cat.codes.to_numpy(), np.int32)
        return codes, [_text(name) for name in names]
    if getattr(dtype, "tz", None) is not None:
        return _times(values.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
    if getattr(dtype, "kind", "O") in "biuf" and not isinstance(dtype, np.dtype):
        return np.ascontiguousarray(values.to_numpy(np.float64, na_value=np.nan))
    return _array(values.to_numpy())


def _arrow(values):
    """A column of pyarrow."""
    kind = str(values.type)
    if kind.startswith(("int", "uint", "float", "double", "halffloat")):
        return np.ascontiguousarray(values.cast("float64").to_numpy(), np.float64)
    if kind.startswith(("timestamp", "date")):
        return _times(np.array(values.to_pylist(), "datetime64[us]"))
    return _objects(values.to_pylist())


class Table:
    """Columns with their names, as native calls take them. names: None where the input has none."""

    def __init__(self, names, columns, rows):
        self.names, self.columns, self.rows = names, columns, rows

    def pairs(self, names):
        return list(zip(names, self.columns))

    def take(self, rows):
        """The rows where `rows` is true."""
        columns = [(c[0][rows], c[1]) if isinstance(c, tuple) else c[rows] for c in self.columns]
        return Table(self.names, columns, int(np.count_nonzero(rows)))


def _unique(names):
    names = [str(name) for name in names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError("two columns have the name %r: rename one of them" % twice[0])
    return names


def table_of(x):
    """A Table of a DataFrame, an Arrow table, a mapping of columns, or rows (a two-dimensional array, a list of lists)."""
    if _is_sparse(x):
        raise TypeError("A sparse matrix was passed, but dense data is required: use X.toarray()")
    if hasattr(x, "column_names") and hasattr(x, "num_rows"):
        return Table(_unique(x.column_names), [_arrow(x.column(i)) for i in range(x.num_columns)], x.num_rows)
    if hasattr(x, "columns") and hasattr(x, "iloc"):
        names = list(x.columns)
        named = all(isinstance(name, str) for name in names)
        columns = [_series(x.iloc[:, i]) for i in range(len(names))]
        return Table(_unique(names) if named else None, columns, len(x))
    if isinstance(x, dict):
        columns = [_array(v) for v in x.values()]
        return Table(_unique(x), columns, len(next(iter(x.values()), ())))
    array = np.asarray(x)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if array.ndim != 2:
        hint = "Reshape your data either using array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it contains a single sample."
        raise ValueError("Expected 2D array, got %dD array instead: shape=%r.\n%s" % (array.ndim, array.shape, hint))
    return Table(None, [_array(array[:, i]) for i in range(array.shape[1])], array.shape[0])


def columns_with_infinity(names, columns):
    return [n for n, c in zip(names, columns) if not isinstance(c, tuple) and np.isinf(c).any()]
