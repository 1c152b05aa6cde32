"""Loops and choices of 2.x. In eager mode they are Python's own."""
import paddle
from paddle import _names
from paddle._op import Call, need
from paddle.fluid.layers import control_flow as _flow
from paddle.fluid.layers.control_flow import While  # noqa: F401


def _eager():
    return paddle.in_dynamic_mode()


def cond(pred, true_fn=None, false_fn=None, name=None, return_names=None):
    """What true_fn() gives where pred (one bool) holds, else what false_fn() gives."""
    need(pred, "pred", "cond")
    if not _eager():
        return _flow.cond(pred, true_fn, false_fn, name)
    chosen = ("true_fn", true_fn) if pred.item() else ("false_fn", false_fn)
    if chosen[1] is None:
        return None
    if not callable(chosen[1]):
        raise TypeError("The {} in cond must be callable, but received {}".format(chosen[0], type(chosen[1]).__name__))
    return chosen[1]()


def case(pred_fn_pairs, default=None, name=None):
    """What the function of the first pair whose predicate holds gives; otherwise default (without one: the last pair's)."""
    if not _eager():
        return _flow.case(pred_fn_pairs, default, name)
    for pred, fn in pred_fn_pairs:
        if pred.item():
            return fn()
    return default() if default is not None else pred_fn_pairs[-1][1]()


def switch_case(branch_index, branch_fns, default=None, name=None):
    """What the function of that number gives; otherwise default (without one: that of the largest number)."""
    if not _eager():
        return _flow.switch_case(branch_index, branch_fns, default, name)
    pairs = _flow._branch_fns(branch_fns)
    index = branch_index.item()
    for key, fn in pairs:
        if key == index:
            return fn()
    return default() if default is not None else pairs[-1][1]()


def while_loop(cond, body, loop_vars, is_test=False, name=None):
    """loop_vars while cond(*loop_vars), by body(*loop_vars)."""
    if not _eager():
        return _flow.while_loop(cond, body, loop_vars, is_test, name)
    if not loop_vars:
        raise ValueError("loop_vars in while_loop should not be empty")
    while cond(*loop_vars).item():
        results = body(*loop_vars)
        results = results if isinstance(results, (list, tuple)) else [results]
        if len(results) != len(loop_vars):
            raise ValueError("body in while_loop should return the same arity (length and structure) and types as "
                             "loop_vars")
        loop_vars = results
    return list(loop_vars)


def Assert(cond, data=None, summarize=20, name=None):
    """Fails when the program runs and cond (one bool) does not hold; the tensors of data are printed before."""
    from paddle.fluid.layers import host  # noqa: F401 - registers what prints
    need(cond, "cond", "assert")
    for item in data or []:
        need(item, "data", "assert")
    Call.op("assert", {"Cond": cond, "Data": list(data or [])}, {}, {"summarize": summarize})


def Print(input, first_n=-1, message=None, summarize=20, print_tensor_name=True, print_tensor_type=True,
          print_tensor_shape=True, print_tensor_layout=True, print_tensor_lod=True, print_phase="both"):
    """input; whenever the program computes it, it is printed."""
    from paddle.fluid.layers import host  # noqa: F401 - registers what prints
    need(input, "input", "Print")
    return Call("print").one("print", {"In": input},
                             {"first_n": first_n, "summarize": summarize, "message": message or "",
                              "print_tensor_name": print_tensor_name, "print_tensor_type": print_tensor_type,
                              "print_tensor_shape": print_tensor_shape, "print_tensor_layout": print_tensor_layout,
                              "print_tensor_lod": print_tensor_lod, "print_phase": print_phase.upper()})


def py_func(func, x, out, backward_func=None, skip_vars_in_backward_input=None):
    """out = func(*x), computed by Python while the program runs."""
    from paddle.fluid.layers import host
    return host.py_func(func, x, out, backward_func, skip_vars_in_backward_input)


class Switch(_flow.Switch):
    """with Switch() as switch: with switch.case(cond): ... with switch.default(): ..."""


__getattr__ = _names.guard(__name__)
