"""fluid.unique_name: names that no two variables share."""
from contextlib import contextmanager

from paddle import _names
from paddle.fluid._build import net

__all__ = ["generate", "switch", "guard"]


class UniqueNameGenerator(object):
    """Counters of their own, for switch() and guard()."""

    def __init__(self, prefix=""):
        self.prefix = prefix or ""
        self._names = None

    def __iter__(self):
        """As the pair (generator, checker of names) that some scripts expect of switch()."""
        return iter((self, None))


def generate(key):
    """key_0, key_1, ..."""
    return net.name(key)


def generate_with_ignorable_key(key):
    return net.name(key)


#: names of the parameters of eager mode, in the guard that is open
_taken = [set()]


def take_parameter(name):
    """Whether no parameter of eager mode has the name yet; it is taken then."""
    if name in _taken[-1]:
        return False
    _taken[-1].add(name)
    return True


def switch(new_generator=None, new_para_name_checker=None):
    """Other counters from now on; gives the ones before."""
    _taken[-1] = set()
    if new_generator is not None and not hasattr(new_generator, "_names"):
        return net.switch_names(new_generator)
    old = net.switch_names(new_generator._names if new_generator is not None else None)
    before = UniqueNameGenerator()
    before._names = old
    return before


@contextmanager
def guard(new_generator=None):
    """Fresh counters inside; a str is put in front of every name."""
    if isinstance(new_generator, bytes):
        new_generator = new_generator.decode()
    if new_generator is not None and not isinstance(new_generator, (str, UniqueNameGenerator)):
        raise TypeError("guard: a str or a generator, but got %s" % type(new_generator))
    _taken.append(set())
    try:
        if isinstance(new_generator, UniqueNameGenerator):
            old = switch(new_generator)
            try:
                yield
            finally:
                new_generator._names = net.switch_names(old._names)
            return
        net.push_names(new_generator or "")
        try:
            yield
        finally:
            net.pop_names()
    finally:
        _taken.pop()


__getattr__ = _names.guard(__name__)
