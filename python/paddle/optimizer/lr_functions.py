"""Rates as functions of the step: variables of a program (as in fluid), or schedules in eager mode."""
from paddle import _names
from paddle._mode import mode


def _either(name, schedule):
    """fluid's function of that name in programs; schedule(lr module, arguments) in eager mode."""
    def function(*args, **kwargs):
        from paddle.fluid.layers import learning_rate_scheduler
        from paddle.optimizer import lr
        if mode.eager:
            return schedule(lr, *args, **kwargs)
        return getattr(learning_rate_scheduler, name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "%s by the number of steps run." % name
    return function


noam_decay = _either("noam_decay", lambda lr, d_model, warmup_steps, learning_rate=1.0:
                     lr.NoamDecay(d_model, warmup_steps, learning_rate=learning_rate))
exponential_decay = _either("exponential_decay", lambda lr, learning_rate, decay_steps, decay_rate, staircase=False:
                            lr.ExponentialDecay(learning_rate, decay_rate))
natural_exp_decay = _either("natural_exp_decay", lambda lr, learning_rate, decay_steps, decay_rate, staircase=False:
                            lr.NaturalExpDecay(learning_rate, decay_rate))
inverse_time_decay = _either("inverse_time_decay", lambda lr, learning_rate, decay_steps, decay_rate, staircase=False:
                             lr.InverseTimeDecay(learning_rate, decay_rate))
polynomial_decay = _either("polynomial_decay", lambda lr, learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0,
                           cycle=False: lr.PolynomialDecay(learning_rate, decay_steps, end_learning_rate, power, cycle))
piecewise_decay = _either("piecewise_decay", lambda lr, boundaries, values: lr.PiecewiseDecay(boundaries, values))
cosine_decay = _either("cosine_decay", lambda lr, learning_rate, step_each_epoch, epochs:
                       lr.CosineAnnealingDecay(learning_rate, epochs))
linear_lr_warmup = _either("linear_lr_warmup", lambda lr, learning_rate, warmup_steps, start_lr, end_lr:
                           lr.LinearWarmup(learning_rate, warmup_steps, start_lr, end_lr))


def autoincreased_step_counter(counter_name=None, begin=1, step=1):
    """A variable that every run of the program increases."""
    from paddle._op import check_static
    from paddle.fluid.layers import nn
    check_static("autoincreased_step_counter")
    return nn.autoincreased_step_counter(counter_name, begin, step)


__getattr__ = _names.guard(__name__)
