"""Functions of fluid.layers that are something else inside a guard: schedules are objects, parameters are tensors."""
from skiff import _native

from paddle.fluid._at_once import at_once
from paddle.fluid._build import net
from paddle.fluid.dygraph import learning_rate_scheduler as lr
from paddle.fluid.initializer import Constant, Xavier
from paddle.fluid.layers import nn


def _parameter(shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None):
    from paddle.fluid.param_attr import ParamAttr
    from paddle.framework import make_parameter, to_attr
    attr = ParamAttr(name=name) if attr is None and name else attr
    start = default_initializer or (Constant(0.0) if is_bias else Xavier())
    return make_parameter("create_parameter_0", to_attr(attr), shape, dtype, is_bias, start)


@at_once
def _dropout(x, dropout_prob, is_test, seed, dropout_implementation):
    return nn.dropout(x, dropout_prob, is_test, seed, None, dropout_implementation)


def dropped(x, dropout_prob, is_test=False, seed=None, name=None, dropout_implementation="downgrade_in_infer"):
    """dropout; the program's seed is part of the call, because a guard keeps what it has traced."""
    return _dropout(x, dropout_prob, is_test, seed or net.main.random_seed or seed, dropout_implementation)


def _of_guard(x, dropout_prob, is_test=False, seed=None, name=None, dropout_implementation="downgrade_in_infer"):
    """As Paddle 1.8 has it: inside a guard is_test counts for nothing; what counts is whether gradients are kept track of."""
    return dropped(x, dropout_prob, not _native.eager_noting(), seed, name, dropout_implementation)


FORMS = {
    "dropout": _of_guard,
    "create_parameter": _parameter,
    "exponential_decay": lr.ExponentialDecay,
    "natural_exp_decay": lr.NaturalExpDecay,
    "inverse_time_decay": lr.InverseTimeDecay,
    "polynomial_decay": lr.PolynomialDecay,
    "cosine_decay": lr.CosineDecay,
    "linear_lr_warmup": lr.LinearLrWarmup,
    "piecewise_decay": lambda boundaries, values: lr.PiecewiseDecay(boundaries, values, 0),
    "noam_decay": lambda d_model, warmup_steps, learning_rate=1.0: lr.NoamDecay(d_model, warmup_steps,
                                                                              learning_rate=learning_rate),
}
