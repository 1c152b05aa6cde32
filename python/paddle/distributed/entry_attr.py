"""Which ids get a row in a table of the servers."""
from paddle import _names


class EntryAttr(object):
    """Base."""

    def _to_attr(self):
        raise NotImplementedError("EntryAttr is base class")


class ProbabilityEntry(EntryAttr):
    """An id that is seen gets a row with this probability."""

    def __init__(self, probability):
        if not isinstance(probability, float):
            raise ValueError("probability must be a float in (0,1)")
        if probability <= 0 or probability >= 1:
            raise ValueError("probability must be a float in (0,1)")
        self._probability = probability

    def _to_attr(self):
        return "probability_entry:%s" % self._probability


class CountFilterEntry(EntryAttr):
    """An id gets a row when it was seen this often."""

    def __init__(self, count_filter):
        if not isinstance(count_filter, int):
            raise ValueError("count_filter must be a valid integer greater than 0")
        if count_filter < 0:
            raise ValueError("count_filter must be a valid integer greater or equal than 0")
        self._count_filter = count_filter

    def _to_attr(self):
        return "count_filter_entry:%s" % self._count_filter


class ShowClickEntry(EntryAttr):
    """Rows are kept by shows and clicks, the variables of these names."""

    def __init__(self, show_name, click_name):
        if not isinstance(show_name, str) or not isinstance(click_name, str):
            raise ValueError("show_name click_name must be a str")
        self._show_name, self._click_name = show_name, click_name

    def _to_attr(self):
        return "show_click_entry:%s:%s" % (self._show_name, self._click_name)


__getattr__ = _names.guard(__name__)
