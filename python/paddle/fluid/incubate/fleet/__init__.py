"""fluid.incubate.fleet: jobs of workers and parameter servers."""
from paddle import _names

__getattr__, __dir__ = _names.lazy(__name__, {}, ("base", "parameter_server", "collective"))
