"""paddle.static: programs of Paddle 2.x, built, run, saved."""
from contextlib import contextmanager

from paddle import _names
from paddle import _variable  # noqa: F401 (methods of Variables)
from paddle._op import Call, check_static, fill, need, one
from paddle.fluid import core
from paddle.fluid._build import net
from paddle.fluid.compiler import BuildStrategy, CompiledProgram, ExecutionStrategy  # noqa: F401
from paddle.fluid.core import Scope  # noqa: F401
from paddle.fluid.executor import global_scope, scope_guard  # noqa: F401
from paddle.fluid.framework import (Operator, Parameter, Program, Variable, cpu_places, default_main_program,  # noqa: F401
                                    default_startup_program, dtype_name, name_scope, program_guard)
from paddle.fluid.optimizer import ExponentialMovingAverage  # noqa: F401
from paddle.framework import WeightNormParamAttr, get_default_dtype  # noqa: F401
from paddle.static import amp, io, nn  # noqa: F401
from paddle.static.executor import Executor  # noqa: F401
from paddle.static.input import InputSpec  # noqa: F401
from paddle.static.nn.control_flow import Print, py_func  # noqa: F401
from paddle.static.io import (deserialize_persistables, deserialize_program, is_persistable, load,  # noqa: F401
                              load_from_file, load_inference_model, load_program_state, load_vars, normalize_program, save,
                              save_inference_model, save_to_file, save_vars, serialize_persistables, serialize_program,
                              set_program_state)
from paddle.tensor.creation import create_global_var, create_parameter, global_state  # noqa: F401
from paddle.tensor.picking import setitem  # noqa: F401


def data(name, shape, dtype=None, lod_level=0):
    """An input of the program; None and -1 are sizes that each run decides."""
    check_static("paddle.static.data")
    if not isinstance(name, (str, bytes)):
        raise TypeError("The type of 'name' in data must be (str, bytes), but received %s." % type(name))
    if not isinstance(shape, (list, tuple)):
        raise TypeError("The type of 'shape' in data must be (list, tuple), but received %s." % type(shape))
    sizes = [-1 if d is None else int(d) for d in shape]
    from paddle._op import _create_var
    return _create_var(net.main.block(0), name if isinstance(name, str) else name.decode(), shape=sizes,
                       dtype=dtype_name(dtype or get_default_dtype()), lod_level=lod_level, stop_gradient=True,
                       need_check_feed=True)


@contextmanager
def device_guard(device=None):
    """Everything is computed on the CPU; the name of the device is checked and no more."""
    if device is not None and device.split(":")[0] not in ("cpu", "gpu", "xpu", "npu", ""):
        raise ValueError("The Attr(device) should be 'cpu' 'npu' or 'gpu', and it can also be empty string or None when there "
                         "is no need to specify device. But received %s" % device)
    yield


def cuda_places(device_ids=None):
    raise RuntimeError("paddle.static.cuda_places: Skiff has no CUDA; use paddle.static.cpu_places()")


def append_backward(loss, parameter_list=None, no_grad_set=None, callbacks=None, checkpoints=None, distop_context=None):
    """Gradients of the loss by the parameters: [(parameter, gradient)]."""
    need(loss, "loss", "append_backward")
    return net.backward(loss, parameter_list, sorted(no_grad_set, key=str) if no_grad_set else None)


def gradients(targets, inputs, target_gradients=None, no_grad_set=None):
    """Gradients of the targets by the inputs; None where stop_gradient is set (inputs of static.data have it)."""
    targets = targets if isinstance(targets, (list, tuple)) else [targets]
    inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    if target_gradients is not None and not isinstance(target_gradients, (list, tuple)):
        target_gradients = [target_gradients]
    return net.gradients(list(targets), list(inputs), target_gradients,
                         sorted(no_grad_set, key=str) if no_grad_set else None)


# ---- metrics ------------------------------------------------------------------------------------


def accuracy(input, label, k=1, correct=None, total=None):
    """The share of rows whose label is among the k largest of input."""
    need(input, "input", "accuracy")
    need(label, "label", "accuracy")
    call = Call("accuracy")
    values, ids = call.var(), call.var("int64")
    call.op("top_k_v2", {"X": input}, {"Out": values, "Indices": ids}, {"k": k, "sorted": False})
    out = call.var("float32")
    correct = call.var("int32") if correct is None else correct
    total = call.var("int32") if total is None else total
    call.op("accuracy", {"Out": values, "Indices": ids, "Label": label},
            {"Accuracy": out, "Correct": correct, "Total": total})
    return out


def auc(input, label, curve="ROC", num_thresholds=2**12 - 1, topk=1, slide_steps=1, ins_tag_weight=None):
    """Area under the curve of everything seen, that of the last slide_steps batches, and the four variables of counts
    [batch positive, batch negative, positive, negative]."""
    need(input, "input", "auc")
    need(label, "label", "auc")
    call = Call("auc")
    whole, batch = call.var("float64"), call.var("float64")
    if ins_tag_weight is None:
        weight = fill([1, 1], 1.0, "float32")
        weighted = {}
    else:
        weight = ins_tag_weight
        weighted = {"InsTagWeight": weight}
    size = (1 + slide_steps) * (num_thresholds + 1) + 1
    states = [global_state(shape, 0.0, "int64")
              for shape in ([size], [size], [1, num_thresholds + 1], [1, num_thresholds + 1])]
    for out, positive, negative, steps in ((batch, states[0], states[1], slide_steps), (whole, states[2], states[3], 0)):
        inputs = {"Predict": input, "Label": label, "StatPos": positive, "StatNeg": negative}
        inputs.update(weighted)
        call.op("auc", inputs, {"AUC": out, "StatPosOut": positive, "StatNegOut": negative},
                {"curve": curve, "num_thresholds": num_thresholds, "slide_steps": steps})
    return whole, batch, states


def ctr_metric_bundle(input, label, ins_tag_weight=None):
    """Sums over everything seen: (squared error, absolute error, predictions, q, positives, rows)."""
    if ins_tag_weight is None:
        ins_tag_weight = fill([1, 1], 1.0, "float32")
    need(input, "input", "ctr_metric_bundle")
    need(label, "label", "ctr_metric_bundle")
    from paddle.tensor.manipulation import cast
    from paddle.tensor.math import abs, multiply, sigmoid, square, subtract, sum
    label = cast(label, input.dtype)
    apart = subtract(input, label)
    row = multiply(fill([1], 1.0, input.dtype), input * 0.0 + 1.0)
    parts = (("sqrerr", square(apart)), ("abserr", abs(apart)), ("prob", input), ("q", sigmoid(input)), ("pos", label),
             ("total", row))
    states = []
    for key, value in parts:
        state = create_global_var([1], 0.0, "float32", persistable=True, name=net.name("ctr_metric_" + key))
        added = sum(multiply(value, ins_tag_weight))
        one_ = one("elementwise_add", "elementwise_add", {"X": state, "Y": added}, {"axis": -1})
        Call.op("assign", {"X": one_}, {"Out": state})
        states.append(state)
    return tuple(states)


__getattr__ = _names.guard(__name__)
