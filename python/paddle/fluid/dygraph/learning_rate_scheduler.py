"""Learning rates of 1.8's eager mode: each step of the optimizer asks for the rate and moves it on."""
import math

__all__ = ["NoamDecay", "PiecewiseDecay", "NaturalExpDecay", "ExponentialDecay", "InverseTimeDecay", "PolynomialDecay",
           "CosineDecay", "LinearLrWarmup", "ReduceLROnPlateau", "StepDecay", "MultiStepDecay", "LambdaDecay"]


class LearningRateDecay(object):
    """Base: step() gives the rate of the present step."""

    def __init__(self, begin=0, step=1, dtype="float32"):
        self.begin, self.step_num, self.step_size, self.dtype = begin, begin, step, dtype

    def __call__(self):
        rate = self.step()
        self.step_num += self.step_size
        return _number(rate)

    def step(self):
        raise NotImplementedError()

    def state_dict(self):
        """Its numbers."""
        return {key: value for key, value in self.__dict__.items() if isinstance(value, (int, float, bool, str, list))}

    def set_state_dict(self, state_dict):
        """What state_dict gave."""
        self.__dict__.update({key: value for key, value in state_dict.items() if key in self.__dict__})

    set_dict = set_state_dict


def _number(rate):
    """A float of a float or a tensor with one element."""
    if hasattr(rate, "numpy"):
        return float(rate.numpy().reshape(-1)[0])
    return float(rate)


class PiecewiseDecay(LearningRateDecay):
    """values[i] before step boundaries[i]."""

    def __init__(self, boundaries, values, begin, step=1, dtype="float32"):
        super().__init__(begin, step, dtype)
        self.boundaries, self.vars = boundaries, [_number(v) for v in values]

    def step(self):
        for boundary, value in zip(self.boundaries, self.vars):
            if self.step_num < boundary:
                return value
        return self.vars[-1]


class _ByDivision(LearningRateDecay):
    def __init__(self, learning_rate, decay_steps, decay_rate, staircase=False, begin=0, step=1, dtype="float32"):
        super().__init__(begin, step, dtype)
        self.learning_rate, self.decay_steps, self.decay_rate = learning_rate, decay_steps, decay_rate
        self.staircase = staircase

    def _share(self):
        share = self.step_num / self.decay_steps
        return math.floor(share) if self.staircase else share


class NaturalExpDecay(_ByDivision):
    """rate * e^(-decay_rate * step / decay_steps)"""

    def step(self):
        return self.learning_rate * math.exp(-self.decay_rate * self._share())


class ExponentialDecay(_ByDivision):
    """rate * decay_rate^(step / decay_steps)"""

    def step(self):
        return self.learning_rate * self.decay_rate**self._share()


class InverseTimeDecay(_ByDivision):
    """rate / (1 + decay_rate * step / decay_steps)"""

    def step(self):
        return self.learning_rate / (1 + self.decay_rate * self._share())


class PolynomialDecay(LearningRateDecay):
    """From rate to end_learning_rate in decay_steps."""

    def __init__(self, learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False, begin=0, step=1,
                 dtype="float32"):
        super().__init__(begin, step, dtype)
        self.learning_rate, self.decay_steps, self.end_learning_rate = learning_rate, decay_steps, end_learning_rate
        self.power, self.cycle = power, cycle

    def step(self):
        step, steps = self.step_num, self.decay_steps
        if self.cycle:
            steps *= 1 if step == 0 else math.ceil(step / steps)
        else:
            step = min(step, steps)
        return (self.learning_rate - self.end_learning_rate) * (1 - step / steps)**self.power + self.end_learning_rate


class CosineDecay(LearningRateDecay):
    """rate * (cos(epoch * pi / epochs) + 1) / 2"""

    def __init__(self, learning_rate, step_each_epoch, epochs, begin=0, step=1, dtype="float32"):
        super().__init__(begin, step, dtype)
        self.learning_rate, self.step_each_epoch, self.epochs = learning_rate, step_each_epoch, epochs

    def step(self):
        epoch = math.floor(self.step_num / self.step_each_epoch)
        return self.learning_rate * 0.5 * (math.cos(epoch * math.pi / self.epochs) + 1)


class NoamDecay(LearningRateDecay):
    """rate * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)"""

    def __init__(self, d_model, warmup_steps, begin=1, step=1, dtype="float32", learning_rate=1.0):
        super().__init__(begin, step, dtype)
        self.learning_rate, self.d_model, self.warmup_steps = learning_rate, d_model, warmup_steps

    def step(self):
        return self.learning_rate * self.d_model**-0.5 * min(self.step_num**-0.5, self.warmup_steps**-1.5 * self.step_num)


class LinearLrWarmup(LearningRateDecay):
    """From start_lr to end_lr in warmup_steps, then learning_rate: a number or another schedule."""

    def __init__(self, learning_rate, warmup_steps, start_lr, end_lr, begin=1, step=1, dtype="float32"):
        super().__init__(begin, step, dtype)
        if not isinstance(learning_rate, (float, int, LearningRateDecay)):
            raise TypeError("the type of learning_rate should be [int, float or LearningRateDecay], the current type is %s" %
                            (learning_rate,))
        if not start_lr < end_lr:
            raise AssertionError("start_lr %s must be less than end_lr %s" % (start_lr, end_lr))
        self.learning_rate, self.warmup_steps, self.start_lr = learning_rate, warmup_steps, start_lr
        self.lr_ratio_before_warmup = (float(end_lr) - float(start_lr)) / float(warmup_steps)

    def step(self):
        base = self.learning_rate() if isinstance(self.learning_rate, LearningRateDecay) else self.learning_rate
        if self.step_num < self.warmup_steps:
            return self.lr_ratio_before_warmup * self.step_num + self.start_lr
        return base


class ReduceLROnPlateau(LearningRateDecay):
    """Multiplied by decay_rate when the loss of step(loss) has not become better for `patience` times."""

    def __init__(self, learning_rate, mode="min", decay_rate=0.1, patience=10, verbose=False, threshold=1e-4,
                 threshold_mode="rel", cooldown=0, min_lr=0, eps=1e-8, dtype="float32"):
        super().__init__(dtype=dtype)
        if mode not in ("min", "max"):
            raise ValueError("mode %s is unknown!" % mode)
        if decay_rate >= 1.0:
            raise ValueError("new_lr = origin_lr * decay_rate and decay_rate should be < 1.0.")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError("threshold mode %s is unknown!" % threshold_mode)
        if not isinstance(learning_rate, (float, int)):
            raise TypeError("The type of 'learning_rate' in 'ReduceLROnPlateau' must be 'float' or 'int', but received %s." %
                            type(learning_rate))
        self.mode, self.decay_rate, self.patience, self.verbose = mode, decay_rate, patience, verbose
        self.threshold, self.threshold_mode, self.cooldown, self.min_lr, self.eps = (threshold, threshold_mode, cooldown,
                                                                                     min_lr, eps)
        self.learning_rate = learning_rate
        self.cooldown_counter, self.best_loss, self.num_bad_epochs, self.epoch_num = 0, None, 0, 0

    def __call__(self):
        return float(self.learning_rate)

    def _is_better(self, loss):
        best = self.best_loss
        margin = best * self.threshold if self.threshold_mode == "rel" else self.threshold
        return loss < best - margin if self.mode == "min" else loss > best + margin

    def step(self, loss):
        loss = _number(loss)
        self.epoch_num += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self.best_loss is None or self._is_better(loss):
            self.best_loss, self.num_bad_epochs = loss, 0
            return
        self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            new = max(self.learning_rate * self.decay_rate, self.min_lr)
            if self.learning_rate - new > self.eps:
                if self.verbose:
                    print("Epoch %d: reducing learning rate from %s to %s." % (self.epoch_num, self.learning_rate, new))
                self.learning_rate = new


class _ByEpoch(LearningRateDecay):
    """Base of those that the script moves on: epoch() after every epoch."""

    def __init__(self, learning_rate):
        if not isinstance(learning_rate, (float, int)):
            raise TypeError("The type of 'learning_rate' must be 'float, int', but received %s." % type(learning_rate))
        super().__init__()
        self.base_lr = float(learning_rate)
        self.epoch_num = -1
        self.learning_rate = self.base_lr
        self.epoch()

    def __call__(self):
        return float(self.learning_rate)

    def epoch(self, epoch=None):
        self.epoch_num = self.epoch_num + 1 if epoch is None else epoch
        self.learning_rate = self.get_lr()

    def get_lr(self):
        raise NotImplementedError


class StepDecay(_ByEpoch):
    """Multiplied by decay_rate every step_size epochs."""

    def __init__(self, learning_rate, step_size, decay_rate=0.1):
        if not isinstance(step_size, int):
            raise TypeError("The type of 'step_size' must be 'int', but received %s." % type(step_size))
        if decay_rate >= 1.0:
            raise ValueError("decay_rate should be < 1.0.")
        self.every, self.decay_rate = step_size, decay_rate
        super().__init__(learning_rate)

    def get_lr(self):
        return self.base_lr * self.decay_rate**(self.epoch_num // self.every)


class MultiStepDecay(_ByEpoch):
    """Multiplied by decay_rate at each milestone."""

    def __init__(self, learning_rate, milestones, decay_rate=0.1):
        if not isinstance(milestones, (tuple, list)):
            raise TypeError("The type of 'milestones' in 'MultiStepDecay' must be 'tuple, list', but received %s." %
                            type(milestones))
        if any(a >= b for a, b in zip(milestones, milestones[1:])):
            raise ValueError("The elements of milestones must be incremented")
        if decay_rate >= 1.0:
            raise ValueError("decay_rate should be < 1.0.")
        self.milestones, self.decay_rate = milestones, decay_rate
        super().__init__(learning_rate)

    def get_lr(self):
        return self.base_lr * self.decay_rate**sum(1 for m in self.milestones if self.epoch_num >= m)


class LambdaDecay(_ByEpoch):
    """rate * lr_lambda(epoch)"""

    def __init__(self, learning_rate, lr_lambda):
        if not callable(lr_lambda):
            raise TypeError("The type of 'lr_lambda' in 'LambdaDecay' must be 'function', but received %s." % type(lr_lambda))
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate)

    def get_lr(self):
        return self.base_lr * self.lr_lambda(self.epoch_num)
