"""Structures of variables: lists, tuples, named tuples and dictionaries inside each other, walked in one order."""
from paddle import _names


def is_sequence(value):
    return isinstance(value, (list, tuple, dict))


def _children(value):
    return [value[key] for key in sorted(value)] if isinstance(value, dict) else list(value)


def _like(value, children):
    """A structure of the kind of `value` with other children."""
    if isinstance(value, dict):
        return type(value)(zip(sorted(value), children))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*children)
    return type(value)(children)


def flatten(nest):
    """All leaves, in order; a leaf alone is a list of one."""
    if not is_sequence(nest):
        return [nest]
    return [leaf for child in _children(nest) for leaf in flatten(child)]


def pack_sequence_as(structure, flat_sequence):
    """The structure with other leaves."""
    leaves = iter(flat_sequence)

    def pack(value):
        return _like(value, [pack(child) for child in _children(value)]) if is_sequence(value) else next(leaves)

    if len(flatten(structure)) != len(list(flat_sequence)):
        raise ValueError("Could not pack sequence. Structure had %d elements, but flat_sequence had %d elements." %
                         (len(flatten(structure)), len(list(flat_sequence))))
    return pack(structure)


def map_structure(func, *structure):
    """func(leaves of all structures in one place) in a structure like the first."""
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in zip(*[flatten(s) for s in structure])])


def _check_same(a, b, check_types):
    if is_sequence(a) != is_sequence(b):
        raise ValueError("The two structures don't have the same nested structure: %s and %s" % (type(a), type(b)))
    if not is_sequence(a):
        return
    if check_types and type(a) is not type(b):
        raise TypeError("The two structures don't have the same sequence type. First structure has type {}, while second "
                        "structure has type {}.".format(type(a), type(b)))
    if len(a) != len(b):
        raise ValueError("The two structures don't have the same number of elements: %d and %d" % (len(a), len(b)))
    if isinstance(a, dict) and isinstance(b, dict) and set(a) != set(b):
        raise ValueError("The two dictionaries don't have the same set of keys. First structure has keys {}, while second "
                         "structure has keys {}.".format(sorted(a), sorted(b)))
    for x, y in zip(_children(a), _children(b)):
        _check_same(x, y, check_types)


def assert_same_structure(nest1, nest2, check_types=True):
    """ValueError (or TypeError) unless both have the same places for leaves."""
    _check_same(nest1, nest2, check_types)


def copy_mutable_vars(structure):
    """The same leaves in lists and dictionaries of their own."""
    return pack_sequence_as(structure, flatten(structure))


__getattr__ = _names.guard(__name__)
