"""Small layers made of others."""
from paddle import _names
from paddle._mode import switched
from paddle.fluid.layer_helper import LayerHelper, check_variable, simple_op

__all__ = ["addcmul", "elementwise_equal", "temporal_shift", "affine_channel", "fsp_matrix", "inplace_abn"]


def _appended(function, *args):
    """Appends what the function of 2.x would."""
    with switched(False):
        return function(*args)


def addcmul(input, tensor1, tensor2, value=1.0, out=None, name=None):
    """input + value * tensor1 * tensor2"""
    from paddle.fluid.layers.nn import elementwise_add, elementwise_mul, scale
    from paddle.fluid.layers.tensor import assign
    check_variable(input, "input", "addcmul")
    result = elementwise_add(input, scale(elementwise_mul(tensor2, tensor1), float(value)))
    return result if out is None else assign(result, out)


def elementwise_equal(x, y, name=None):
    """x == y, element by element."""
    from paddle.fluid.layers.control_flow import equal
    return equal(x, y)


def temporal_shift(x, seg_num, shift_ratio=0.25, name=None):
    """Parts of the channels of frames moved to the frame before and behind."""
    from paddle.nn.functional import steps
    return _appended(steps.temporal_shift, x, seg_num, shift_ratio)


def affine_channel(x, scale=None, bias=None, data_layout="NCHW", name=None, act=None):
    """scale * x + bias, of each channel."""
    from paddle.fluid.layers.nn import elementwise_add, elementwise_mul
    helper = LayerHelper("affine_channel", name=name, act=act)
    axis = 1 if data_layout == "NCHW" else len(x.shape) - 1
    return helper.append_activation(elementwise_add(elementwise_mul(x, scale, axis=axis), bias, axis=axis))


def fsp_matrix(x, y):
    """The mean products of the channels of x and of y over all positions."""
    from paddle.fluid.layers.nn import matmul, reshape, scale
    size = x.shape[2] * x.shape[3]
    left, right = reshape(x, [0, 0, -1]), reshape(y, [0, 0, -1])
    return scale(matmul(left, right, transpose_y=True), 1.0 / size)


def inplace_abn(input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, bias_attr=None, data_layout="NCHW",
                name=None, moving_mean_name=None, moving_variance_name=None, do_model_average_for_mean_and_var=True,
                use_global_stats=False, act_alpha=1.0):
    """batch_norm, then the activation: None, identity, leaky_relu or elu."""
    from paddle.fluid.layers.nn import batch_norm
    if act not in (None, "identity", "leaky_relu", "elu"):
        raise AssertionError("act must be None, identity, leaky_relu or elu in inplace_abn, but received %r" % (act,))
    out = batch_norm(input, None, is_test, momentum, epsilon, param_attr, bias_attr, data_layout, False, name, moving_mean_name,
                     moving_variance_name, do_model_average_for_mean_and_var, use_global_stats)
    return out if act in (None, "identity") else simple_op(act, {"X": out}, {"alpha": float(act_alpha)})


__getattr__ = _names.guard(__name__)
