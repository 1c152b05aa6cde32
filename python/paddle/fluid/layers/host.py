"""Layers that speak with Python while the program runs: Print, py_func."""
import sys

from skiff import _native

from paddle import _names
from paddle.fluid import framework
from paddle.fluid.layer_helper import LayerHelper, check_dtype, check_variable

__all__ = ["Print", "py_func"]

_functions = []


def _write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def _call(number, inputs, count):
    """The results of a registered function, as many as the op has outputs."""
    results = _functions[number](*inputs)
    if not isinstance(results, (list, tuple)):
        results = [] if results is None and count == 0 else [results]
    if len(results) != count:
        raise ValueError("py_func: %s gave %d results, but the operator has %d outputs" %
                         (getattr(_functions[number], "__name__", "the function"), len(results), count))
    return list(results)


_native.set_host(_write, _call)


def register(function):
    """The number by which operators name a function."""
    for number, known in enumerate(_functions):
        if known is function:
            return number
    _functions.append(function)
    return len(_functions) - 1


def Print(input, first_n=-1, message=None, summarize=20, print_tensor_name=True, print_tensor_type=True,
          print_tensor_shape=True, print_tensor_lod=True, print_phase="both"):
    """input; whenever the program computes it, it is printed."""
    check_dtype(input, "input", "fluid.layers.Print", ("float32", "float64", "int32", "int64", "bool"))
    helper = LayerHelper("print" + "_" + input.name)
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(type="print", inputs={"In": [input]}, outputs={"Out": [out]},
                     attrs={"first_n": first_n, "summarize": summarize, "message": message or "",
                            "print_tensor_name": print_tensor_name, "print_tensor_type": print_tensor_type,
                            "print_tensor_shape": print_tensor_shape, "print_tensor_lod": print_tensor_lod,
                            "print_phase": print_phase.upper()})
    return out


def _variables(value, what):
    if value is None:
        return []
    value = list(value) if isinstance(value, (list, tuple)) else [value]
    for item in value:
        check_variable(item, what, "py_func")
    return value


def py_func(func, x, out, backward_func=None, skip_vars_in_backward_input=None):
    """out = func(*x), computed by Python while the program runs. backward_func gets x, out (but the skipped ones) and the
    gradients of out, and gives the gradients of x."""
    LayerHelper("py_func")
    xs, outs = _variables(x, "X"), _variables(out, "Out")
    for function, what in ((func, "func"), (backward_func, "backward_func")):
        if function is not None and not callable(function):
            raise TypeError("py_func: %s must be callable, but received %s" % (what, type(function)))
    if func is None or not callable(func):
        raise TypeError("Input func must be a function.")
    for item in outs:
        if any(d is None for d in item.shape):
            raise ValueError("Output shapes of py_func op should be provided by users manually")
    skip = _variables(skip_vars_in_backward_input, "skip_vars_in_backward_input") if backward_func is not None else []
    known = {item.name for item in xs + outs}
    for item in skip:
        if item.name not in known:
            raise ValueError("Variable {} is not found in forward inputs and outputs".format(item.name))
    block = framework.default_main_program().current_block()
    block.append_op(type="py_func", inputs={"X": xs}, outputs={"Out": outs},
                    attrs={"forward_callable_id": register(func),
                           "backward_callable_id": -1 if backward_func is None else register(backward_func),
                           "backward_skip_vars": [item.name for item in skip]})
    return out


__getattr__ = _names.guard(__name__)
