"""Helpers of layers of user code: LayerHelper, and checks of arguments."""
from paddle import _names
from paddle.fluid import core  # noqa: F401
from paddle.fluid.core import VarDesc  # noqa: F401
from paddle.fluid.framework import Variable, default_main_program, device_guard, dtype_name, in_dygraph_mode  # noqa: F401
from paddle.fluid.layer_helper import LayerHelper  # noqa: F401
from paddle.framework import ParamAttr  # noqa: F401


def check_type(input, input_name, expected_type, op_name, extra_message=""):
    """TypeError unless input is of that type, or one of those types."""
    if not isinstance(input, expected_type):
        raise TypeError("The type of '%s' in %s must be %s, but received %s. %s" %
                        (input_name, op_name, expected_type, type(input), extra_message))


def check_dtype(input_dtype, input_name, expected_dtype, op_name, extra_message=""):
    """TypeError unless the data type is one of those."""
    allowed = expected_dtype if isinstance(expected_dtype, (list, tuple)) else [expected_dtype]
    if dtype_name(input_dtype) not in allowed:
        raise TypeError("The data type of '%s' in %s must be %s, but received %s. %s" %
                        (input_name, op_name, expected_dtype, dtype_name(input_dtype), extra_message))


def check_variable_and_dtype(input, input_name, expected_dtype, op_name, extra_message=""):
    """TypeError unless it is a Variable of one of those data types."""
    check_type(input, input_name, Variable, op_name, extra_message)
    check_dtype(input.dtype, input_name, expected_dtype, op_name, extra_message)


def convert_dtype(dtype):
    """The name of a data type."""
    return dtype_name(dtype)


def convert_np_dtype_to_dtype_(np_dtype):
    """The data type of a name or of numpy's."""
    return core.BY_DTYPE[dtype_name(np_dtype)]


__getattr__ = _names.guard(__name__)
