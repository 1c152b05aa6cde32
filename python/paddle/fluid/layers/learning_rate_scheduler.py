"""Learning rates that change with the step: give one to an optimizer. They count with @LR_DECAY_COUNTER@."""
from skiff import _native

from paddle import _names
from paddle.fluid import framework
from paddle.fluid._build import net

_layers = _native.layers

__all__ = ["exponential_decay", "natural_exp_decay", "inverse_time_decay", "polynomial_decay", "piecewise_decay",
           "noam_decay", "cosine_decay", "linear_lr_warmup"]


def noam_decay(d_model, warmup_steps, learning_rate=1.0):
    """rate * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)"""
    return _layers.lr_noam(net, d_model, warmup_steps, learning_rate)


def exponential_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """rate * decay_rate^(step / decay_steps); staircase: integer quotients."""
    return _layers.lr_exponential(net, learning_rate, decay_steps, decay_rate, bool(staircase))


def natural_exp_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """rate * exp(-decay_rate * step / decay_steps)"""
    return _layers.lr_natural_exp(net, learning_rate, decay_steps, decay_rate, bool(staircase))


def inverse_time_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """rate / (1 + decay_rate * step / decay_steps)"""
    return _layers.lr_inverse_time(net, learning_rate, decay_steps, decay_rate, bool(staircase))


def polynomial_decay(learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False):
    """(rate - end) * (1 - step / decay_steps)^power + end"""
    return _layers.lr_polynomial(net, learning_rate, decay_steps, end_learning_rate, power, bool(cycle))


def piecewise_decay(boundaries, values):
    """values[i] until step boundaries[i], the last one after."""
    if len(values) - len(boundaries) != 1:
        raise ValueError("len(values) - len(boundaries) should be 1")
    return _layers.lr_piecewise(net, [float(b) for b in boundaries], [float(v) for v in values])


def cosine_decay(learning_rate, step_each_epoch, epochs):
    """rate / 2 * (cos(epoch * pi / epochs) + 1)"""
    return _layers.lr_cosine(net, learning_rate, step_each_epoch, epochs)


def linear_lr_warmup(learning_rate, warmup_steps, start_lr, end_lr):
    """From start_lr to end_lr in warmup_steps, then learning_rate (a number or a Variable)."""
    if isinstance(learning_rate, framework.Variable):
        return _layers.lr_linear_warmup(net, learning_rate, 0.0, warmup_steps, start_lr, end_lr)
    return _layers.lr_linear_warmup(net, None, float(learning_rate), warmup_steps, start_lr, end_lr)


def _decay_step_counter(begin=0):
    counter = _layers.autoincreased_step_counter(net, "@LR_DECAY_COUNTER@", begin, 1)
    return _layers.cast(net, counter, "float32")


__getattr__ = _names.guard(__name__)
