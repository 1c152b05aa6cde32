"""Functions of fluid.layers that are something else inside a guard: schedules are objects, parameters are tensors."""
from paddle.fluid.dygraph import learning_rate_scheduler as lr


def _parameter(shape, dtype, name=None, attr=None, is_bias=False, default_initializer=None):
    from paddle.fluid.param_attr import ParamAttr
    from paddle.framework import make_parameter, to_attr
    attr = ParamAttr(name=name) if attr is None and name else attr
    return make_parameter("create_parameter_0", to_attr(attr), shape, dtype, is_bias, default_initializer)


FORMS = {
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
