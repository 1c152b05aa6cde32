"""fluid.incubate: fleet (distributed jobs) and data_generator (pipe commands)."""
from paddle import _names

__getattr__, __dir__ = _names.lazy(__name__, {}, ("fleet", "data_generator"))
