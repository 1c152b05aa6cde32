"""paddle.amp.debugging: NaN and Inf in what ops compute, and how often ops of each type run. Eager mode."""
import contextlib
import enum
import functools
import os
import random

from skiff import _native

import paddle
from paddle import _names
from paddle._tensor import Tensor

_NAMES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}
_state = {"config": None, "counts": None}


class DebugMode(enum.Enum):
    """Which values of tensors are reported: NaN and Inf, and end; NaN and Inf only; values beyond float16; all."""

    CHECK_NAN_INF_AND_ABORT = 0
    CHECK_NAN_INF = 1
    CHECK_ALL_FOR_OVERFLOW = 2
    CHECK_ALL = 3


# ---- one tensor ----


def _look(array):
    """(NaNs, Infs, zeros), (largest, smallest, mean) of an array, in its own type as Paddle computes them."""
    import numpy
    wide = array.astype("float64", copy=False)
    counts = int(numpy.isnan(wide).sum()), int(numpy.isinf(wide).sum()), int((wide == 0).sum())
    if not wide.size:
        return counts, (0.0, 0.0, 0.0)
    with numpy.errstate(all="ignore"):
        seen = wide[~numpy.isnan(wide)] if counts[0] < wide.size else wide
        return counts, (float(seen.max()), float(seen.min()), float(wide.mean()))


def _text(value):
    return "%e" % value if value == value and abs(value) != float("inf") else "%f" % value


def _report(array, dtype, op, name, mode, output_dir):
    """Reports on a tensor as the mode asks; RuntimeError where the mode ends the program."""
    counts, values = _look(array)
    where = "[device=cpu, op=%s, tensor=%s, dtype=%s]" % (op, name, _NAMES[dtype])
    bad = counts[0] + counts[1] > 0
    shown = "max=%s, min=%s, mean=%s" % tuple(_text(v) for v in values)
    largest = 65504.0
    if bad:
        _say("[PRECISION] [ERROR] in %s, numel=%d, num_nan=%d, num_inf=%d, num_zero=%d, %s" %
             ((where, array.size) + counts + (shown,)), output_dir)
        if mode is DebugMode.CHECK_NAN_INF_AND_ABORT:
            raise RuntimeError("There are NAN or INF (num_nan=%d, num_inf=%d, num_zero=%d) in %s." % (counts + (where,)))
    elif mode is DebugMode.CHECK_ALL or mode is DebugMode.CHECK_ALL_FOR_OVERFLOW and dtype == "float32" and (
            values[0] > largest or values[1] < -largest):
        _say("[PRECISION] in %s, numel=%d, num_zero=%d, %s" % (where, array.size, counts[2], shown), output_dir)
    return counts, values


def _say(line, output_dir):
    if not output_dir:
        print(line, flush=True)
        return
    os.makedirs(output_dir, exist_ok=True)
    with open(os.path.join(output_dir, "worker_cpu.%d" % os.getpid()), "a") as out:
        out.write(line + "\n")


def check_numerics(tensor, op_type, var_name, debug_mode=DebugMode.CHECK_NAN_INF_AND_ABORT):
    """([NaNs, Infs, zeros], [largest, smallest, mean]) of a tensor; NaN and Inf are printed, and end the program in the first mode."""
    if not isinstance(tensor, Tensor):
        raise TypeError("check_numerics takes a Tensor of eager mode, but received %s" % type(tensor))
    if tensor._dtype not in _NAMES:
        raise TypeError("check_numerics takes tensors of %s, but received %s" % (", ".join(_NAMES), tensor._dtype))
    counts, values = _report(_values(tensor), tensor._dtype, op_type, var_name, debug_mode, None)
    return paddle.to_tensor(list(counts), dtype="int64"), paddle.to_tensor(list(values), dtype="float32")


def _values(tensor):
    return (tensor.astype("float32") if tensor._dtype == "bfloat16" else tensor)._numpy()


# ---- all ops ----


def _short(op):
    """The name of an op in Paddle 2.6's lists: reduce_sum_grad is sum_grad."""
    end = "_grad" if op.endswith("_grad") else ""
    name = op[:-len("_grad")] if end else op
    for head in ("elementwise_", "reduce_"):
        name = name[len(head):] if name.startswith(head) else name
    name = {"sub": "subtract", "mul": "multiply", "div": "divide"}.get(name, name)
    return (name[:-3] if name.endswith("_v2") else name) + end


def _observe(op, outputs):
    """After every op."""
    if _state["counts"] is not None and not op.endswith("_grad"):
        kind = outputs[0]._dtype if outputs else ""
        row = _state["counts"].setdefault(op, [0, 0, 0, 0])
        row[{"float16": 0, "bfloat16": 1, "float32": 2}.get(kind, 3)] += 1
    config = _state["config"]
    if config is None or not config._covers(op):
        return
    for out in outputs:
        if out._dtype in _NAMES and out._is_initialized():
            _report(_values(out), out._dtype, _short(op), "", config.debug_mode, config.output_dir)


def _refresh():
    _native.eager_set_observer(_observe if _state["config"] is not None or _state["counts"] is not None else None)


class TensorCheckerConfig(object):
    """Which ops are checked (checked_op_list, skipped_op_list), in which steps (debug_step: from, to), and what is reported."""

    current_step_id = 0

    def __init__(self, enable, debug_mode=DebugMode.CHECK_NAN_INF_AND_ABORT, output_dir=None, checked_op_list=None,
                 skipped_op_list=None, debug_step=None, stack_height_limit=1):
        self.enable, self.debug_mode, self.output_dir = enable, debug_mode, output_dir
        self.checked_op_list, self.skipped_op_list, self.debug_step = checked_op_list, skipped_op_list, debug_step
        self.stack_height_limit, self.start_step, self.end_step, self.seed = stack_height_limit, None, None, 123
        if not isinstance(debug_mode, DebugMode):
            raise ValueError("debug_mode must be one of DebugMode, but received %r" % (debug_mode,))
        for name in ("checked_op_list", "skipped_op_list", "debug_step"):
            if getattr(self, name) is not None and not isinstance(getattr(self, name), (list, tuple)):
                raise ValueError("%s must be list or tuple" % name)
        if not isinstance(stack_height_limit, int):
            raise ValueError("stack_height_limit must be int")
        if debug_step is not None:
            if len(debug_step) != 2 or debug_step[1] <= debug_step[0]:
                raise AssertionError("debug_step is [first, behind the last], but received %r" % (debug_step,))
            self.start_step, self.end_step = max(debug_step[0], 0), debug_step[1]
        if enable:
            self._set_seed()

    def _set_seed(self):
        import numpy
        paddle.seed(self.seed)
        numpy.random.seed(self.seed)
        random.seed(self.seed)
        print("AMP Debugging TensorCheckerConfig: seed ", self.seed)

    def _covers(self, op):
        names = {op, _short(op)}
        if self.skipped_op_list is not None and names & set(self.skipped_op_list):
            return False
        return not self.checked_op_list or bool(names & set(self.checked_op_list))

    def update_and_check_step_id(self):
        """Whether this step is looked at; counts it."""
        if not self.enable:
            return False
        if self.start_step is not None:
            step = TensorCheckerConfig.current_step_id
            TensorCheckerConfig.current_step_id += 1
            return self.start_step <= step < self.end_step
        return True

    def start_check_nan_inf(self):
        if self.enable:
            _state["config"] = self
            _refresh()

    @staticmethod
    def stop_check_nan_inf():
        _state["config"] = None
        _refresh()


def enable_tensor_checker(checker_config):
    """From now on what ops compute is looked at; called in each step where debug_step is given."""
    if checker_config.update_and_check_step_id():
        checker_config.start_check_nan_inf()
    else:
        checker_config.stop_check_nan_inf()


def disable_tensor_checker():
    """No more."""
    TensorCheckerConfig.stop_check_nan_inf()


def check_layer_numerics(func):
    """For forward of a layer: its ops are looked at, NaN and Inf end the program."""
    @functools.wraps(func)
    def wrapper(self, *args, **kwargs):
        if not args:
            raise RuntimeError("No elements found in args.")
        if not isinstance(args[0], Tensor):
            raise RuntimeError("First input of this layer must be tensor.")
        before, config = _state["config"], TensorCheckerConfig(False)
        _state["config"] = config
        _refresh()
        try:
            return func(self, *args, **kwargs)
        finally:
            _state["config"] = before
            _refresh()

    return wrapper


# ---- how often ops run ----


def enable_operator_stats_collection():
    """Counts ops by the type of what they give, from now on."""
    _state["counts"] = {}
    _refresh()


def disable_operator_stats_collection():
    """Prints the counts."""
    counts, _state["counts"] = _state["counts"], None
    _refresh()
    if counts is None:
        return
    print("<{:-^120}>".format(" op list "))
    print("<{:-^40}".format(" Op Name "), "|", "{:-^17}".format(" FP16 Calls "), "|", "{:-^17}".format(" BF16 Calls "), "|",
          "{:-^17}".format(" FP32 Calls"), "|", "{:-^17}>".format(" Other Calls "))
    for op in sorted(counts):
        print("  %-40s|  %-17s|  %-17s|  %-17s|  %-17s" % ((op,) + tuple(counts[op])))
    print("<{:-^120}>\n".format(" op count: %d " % len(counts)))


@contextlib.contextmanager
def collect_operator_stats():
    """with collect_operator_stats(): ... - the counts of the block."""
    enable_operator_stats_collection()
    try:
        yield
    finally:
        disable_operator_stats_collection()


_names.REASONS.setdefault("compare_accuracy", "it compares runs in float16, which CPUs do not have here")
__getattr__ = _names.guard(__name__)
