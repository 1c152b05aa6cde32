"""paddle.optimizer.lr: schedules. An executor asks the schedule for the rate before each run; step() moves it on."""
import math
import warnings

from paddle import _names
from paddle._tensor import Tensor


class LRScheduler(object):
    """Base: get_lr() says the rate of epoch (or step) last_epoch."""

    def __init__(self, learning_rate=0.1, last_epoch=-1, verbose=False):
        if not isinstance(learning_rate, (float, int)):
            raise TypeError("The type of learning rate must be float, but received %s" % type(learning_rate))
        if learning_rate < 0:
            raise ValueError("Invalid learning rate: %s" % learning_rate)
        self.base_lr = float(learning_rate)
        self.last_lr = float(learning_rate)
        self.last_epoch = last_epoch
        self.verbose = verbose
        self._var_name = None
        self.step()

    def __call__(self):
        return self.last_lr

    def get_lr(self):
        raise NotImplementedError()

    def step(self, epoch=None):
        """One further, or to that epoch."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self.last_lr = closed() if closed else self.get_lr()
        self._tell()

    def _tell(self):
        if self.verbose:
            print("Epoch %s: %s set learning rate to %s." % (self.last_epoch, type(self).__name__, self.last_lr))

    def state_keys(self):
        """Says in self.keys which attributes are saved."""
        self.keys = ["last_epoch", "last_lr"]

    def state_dict(self):
        """What set_state_dict takes; tensors (ReduceOnPlateau.best) as numbers."""
        self.state_keys()
        state = {key: self.__dict__[key] for key in self.keys if key in self.__dict__}
        return {key: value.item() if isinstance(value, Tensor) else value for key, value in state.items()}

    def set_state_dict(self, state_dict):
        self.state_keys()
        for key in self.keys:
            if key not in state_dict:
                raise RuntimeError("Please check whether state_dict is correct for optimizer. Can't find [ %s ] in state_dict" %
                                   key)
            self.__dict__[key] = state_dict[key]
        if len(state_dict) > len(self.keys):
            warnings.warn("There are some unused values in state_dict. Maybe the optimizer have different 'LearningRateDecay' "
                          "when invoking state_dict and set_dict")

    set_dict = set_state_dict


class NoamDecay(LRScheduler):
    """Warm-up, then 1 / sqrt(step)."""

    def __init__(self, d_model, warmup_steps, learning_rate=1.0, last_epoch=-1, verbose=False):
        if d_model <= 0:
            raise ValueError("d_model should be grater than 0")
        self.d_model, self.warmup_steps = d_model, warmup_steps
        super(NoamDecay, self).__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        a = 1 if self.last_epoch == 0 else self.last_epoch ** -0.5
        b = self.warmup_steps ** -1.5 * self.last_epoch
        return self.base_lr * (self.d_model ** -0.5) * min(a, b)


class PiecewiseDecay(LRScheduler):
    """values[i] before boundaries[i], the last value afterwards."""

    def __init__(self, boundaries, values, last_epoch=-1, verbose=False):
        if not boundaries:
            raise ValueError("The boundaries cannot be empty.")
        if len(values) <= len(boundaries):
            raise ValueError("The values have one element more than boundaries, but received len(values) [%d] < "
                             "len(boundaries) + 1 [%d]." % (len(values), len(boundaries) + 1))
        self.boundaries, self.values = boundaries, values
        super(PiecewiseDecay, self).__init__(values[0] * 1.0, last_epoch, verbose)

    def get_lr(self):
        for boundary, value in zip(self.boundaries, self.values):
            if self.last_epoch < boundary:
                return value
        return self.values[len(self.values) - 1]


class NaturalExpDecay(LRScheduler):
    """rate * exp(-gamma * epoch)"""

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        if gamma <= 0.0:
            raise AssertionError("'gamma' must be a positive number so that the learning rate will decay.")
        self.gamma = gamma
        super(NaturalExpDecay, self).__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * math.exp(-1 * self.gamma * self.last_epoch)


class InverseTimeDecay(LRScheduler):
    """rate / (1 + gamma * epoch)"""

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        self.gamma = gamma
        super(InverseTimeDecay, self).__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr / (1 + self.gamma * self.last_epoch)


class PolynomialDecay(LRScheduler):
    """From rate to end_lr in decay_steps."""

    def __init__(self, learning_rate, decay_steps, end_lr=0.0001, power=1.0, cycle=False, last_epoch=-1, verbose=False):
        if not (isinstance(decay_steps, int) and decay_steps > 0):
            raise AssertionError("'decay_steps' must be a positive integer.")
        if not power > 0.0:
            raise AssertionError("'power' must be greater than 0.0 so that the learning rate will decay.")
        self.decay_steps, self.end_lr, self.power, self.cycle = decay_steps, end_lr, power, cycle
        super(PolynomialDecay, self).__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        epoch, steps = self.last_epoch, self.decay_steps
        if self.cycle:
            times = math.ceil(float(epoch) / float(steps))
            steps *= 1 if epoch == 0 else times
        else:
            epoch = min(epoch, steps)
        return (self.base_lr - self.end_lr) * ((1 - float(epoch) / float(steps)) ** self.power) + self.end_lr


class LinearWarmup(LRScheduler):
    """From start_lr to end_lr in warmup_steps, then the given rate or schedule."""

    def __init__(self, learning_rate, warmup_steps, start_lr, end_lr, last_epoch=-1, verbose=False):
        if not isinstance(learning_rate, (float, int, LRScheduler)):
            raise TypeError("the type of learning_rate should be [int, float or LRScheduler], the current type is %s" %
                            type(learning_rate))
        if end_lr <= start_lr:
            raise AssertionError("end_lr %s must be greater than start_lr %s" % (end_lr, start_lr))
        self.learning_rate, self.warmup_steps, self.start_lr, self.end_lr = learning_rate, warmup_steps, start_lr, end_lr
        super(LinearWarmup, self).__init__(start_lr, last_epoch, verbose)

    def state_dict(self):
        state = super(LinearWarmup, self).state_dict()
        if isinstance(self.learning_rate, LRScheduler):
            state["LinearWarmup_LR"] = self.learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict):
        state = dict(state_dict)
        inner = state.pop("LinearWarmup_LR", None)
        super(LinearWarmup, self).set_state_dict(state)
        if isinstance(self.learning_rate, LRScheduler) and inner is not None:
            self.learning_rate.set_state_dict(inner)

    set_dict = set_state_dict

    def get_lr(self):
        if self.last_epoch < self.warmup_steps:
            return (self.end_lr - self.start_lr) * float(self.last_epoch) / float(self.warmup_steps) + self.start_lr
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.step(self.last_epoch - self.warmup_steps)
            return self.learning_rate()
        return self.learning_rate


class ExponentialDecay(LRScheduler):
    """rate * gamma ^ epoch"""

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        if not 0.0 < gamma < 1.0:
            raise AssertionError("'gamma' must be in interval (0.0, 1.0) so that the learning rate will decay.")
        self.gamma = gamma
        super(ExponentialDecay, self).__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * (self.gamma ** self.last_epoch)


class MultiStepDecay(LRScheduler):
    """rate * gamma for every milestone passed."""

    def __init__(self, learning_rate, milestones, gamma=0.1, last_epoch=-1, verbose=False):
        if not isinstance(milestones, (tuple, list)):
            raise TypeError("The type of 'milestones' in 'MultiStepDecay' must be 'tuple, list', but received %s." %
                            type(milestones))
        if not all(milestones[i] < milestones[i + 1] for i in range(len(milestones) - 1)):
            raise ValueError("The elements of milestones must be incremented")
        if gamma >= 1.0:
            raise ValueError("gamma should be < 1.0.")
        self.milestones, self.gamma = milestones, gamma
        super(MultiStepDecay, self).__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * self.gamma ** sum(self.last_epoch >= m for m in self.milestones)


class StepDecay(LRScheduler):
    """rate * gamma every step_size epochs."""

    def __init__(self, learning_rate, step_size, gamma=0.1, last_epoch=-1, verbose=False):
        if not isinstance(step_size, int):
            raise TypeError("The type of 'step_size' must be 'int', but received %s." % type(step_size))
        if gamma >= 1.0:
            raise ValueError("gamma should be < 1.0.")
        self.step_size, self.gamma = step_size, gamma
        super(StepDecay, self).__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * (self.gamma ** (self.last_epoch // self.step_size))


class LambdaDecay(LRScheduler):
    """rate * lr_lambda(epoch)"""

    def __init__(self, learning_rate, lr_lambda, last_epoch=-1, verbose=False):
        if not callable(lr_lambda):
            raise TypeError("The type of 'lr_lambda' in 'LambdaDecay' must be 'function', but received %s." % type(lr_lambda))
        self.lr_lambda = lr_lambda
        super(LambdaDecay, self).__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * self.lr_lambda(self.last_epoch)


class CosineAnnealingDecay(LRScheduler):
    """Between rate and eta_min by half a cosine in T_max."""

    def __init__(self, learning_rate, T_max, eta_min=0, last_epoch=-1, verbose=False):
        self.T_max, self.eta_min = T_max, float(eta_min)
        super(CosineAnnealingDecay, self).__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        if self.last_epoch == 0:
            return self.base_lr
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            return self.last_lr + (self.base_lr - self.eta_min) * (1 - math.cos(math.pi / self.T_max)) / 2
        return (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / \
            (1 + math.cos(math.pi * (self.last_epoch - 1) / self.T_max)) * (self.last_lr - self.eta_min) + self.eta_min

    def _get_closed_form_lr(self):
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2


from paddle.optimizer.lr_cycles import (CosineAnnealingWarmRestarts, CyclicLR, LinearLR, MultiplicativeDecay,  # noqa: E402,F401
                                        OneCycleLR, ReduceOnPlateau)
from paddle.optimizer.lr_functions import (autoincreased_step_counter, cosine_decay, exponential_decay,  # noqa: E402,F401
                                           inverse_time_decay, linear_lr_warmup, natural_exp_decay, noam_decay,
                                           piecewise_decay, polynomial_decay)

__getattr__ = _names.guard(__name__)
