"""paddle.utils.unique_name: fluid's."""
from paddle import _names
from paddle.fluid import unique_name as _fluid
from paddle.fluid.unique_name import generate, guard  # noqa: F401


def switch(new_generator=None, new_para_name_checker=None):
    """Other counters from now on; gives what was before as a pair, which switch(*pair) takes back."""
    return _fluid.switch(new_generator), new_para_name_checker


__all__ = ["generate", "guard", "switch"]
__getattr__ = _names.guard(__name__)
