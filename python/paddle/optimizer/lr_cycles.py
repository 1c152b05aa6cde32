"""Schedules that go up and down, begin anew, or wait for a metric (names of paddle.optimizer.lr)."""
import math

from paddle import _names
from paddle.optimizer.lr import LRScheduler


def _check_number(owner, arg, value, kinds=(float, int)):
    if not isinstance(value, kinds):
        raise TypeError("'%s' in %s must be %s, but received %s" %
                        (arg, owner, " or ".join("'%s'" % k.__name__ for k in kinds), type(value)))


def _check_positive(owner, arg, value, kinds=(float, int), zero=False):
    _check_number(owner, arg, value, kinds)
    if value < 0 or (value == 0 and not zero):
        raise ValueError("'%s' in %s must be a positive number, but received %s" % (arg, owner, value))


class MultiplicativeDecay(LRScheduler):
    """rate * lr_lambda(1) * lr_lambda(2) * ... * lr_lambda(epoch)"""

    def __init__(self, learning_rate, lr_lambda, last_epoch=-1, verbose=False):
        if not callable(lr_lambda):
            raise TypeError("The type of 'lr_lambda' in 'MultiplicativeDecay' must be 'function', but received %s." %
                            type(lr_lambda))
        self.lr_lambda = lr_lambda
        super(MultiplicativeDecay, self).__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        rate = self.base_lr
        for epoch in range(1, self.last_epoch + 1):
            rate = rate * self.lr_lambda(epoch)
        return rate


class LinearLR(LRScheduler):
    """From rate * start_factor to rate * end_factor in total_steps, then constant."""

    def __init__(self, learning_rate, total_steps, start_factor=1.0 / 3, end_factor=1.0, last_epoch=-1, verbose=False):
        if not 0 < start_factor <= 1.0:
            raise ValueError("`start_factor` must be greater than 0 and less or equal to 1, but got %s" % start_factor)
        if not 0 <= end_factor <= 1.0:
            raise ValueError("`end_factor` must be greater than 0 and less than 1, but got %s" % end_factor)
        if total_steps <= 0:
            raise ValueError("`total_steps` must be greater than 0, but got %s" % total_steps)
        self.start_factor, self.end_factor, self.total_steps = start_factor, end_factor, total_steps
        super(LinearLR, self).__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        if self.last_epoch == 0:
            return self.base_lr * self.start_factor
        if self.last_epoch > self.total_steps:
            return self.last_lr
        way = self.end_factor - self.start_factor
        return self.last_lr * (1.0 + way / (self.total_steps * self.start_factor + (self.last_epoch - 1) * way))


class CyclicLR(LRScheduler):
    """Between base_learning_rate and max_learning_rate, up in step_size_up and down in step_size_down steps; the height of
    a cycle stays (triangular), halves (triangular2), shrinks by exp_gamma each step (exp_range), or is scale_fn's."""

    def __init__(self, base_learning_rate, max_learning_rate, step_size_up, step_size_down=None, mode="triangular",
                 exp_gamma=1.0, scale_fn=None, scale_mode="cycle", last_epoch=-1, verbose=False):
        _check_positive("CyclicLR", "max_learning_rate", max_learning_rate, zero=True)
        _check_positive("CyclicLR", "step_size_up", step_size_up, (int,))
        if step_size_down is not None:
            _check_positive("CyclicLR", "step_size_down", step_size_down, (int,))
        _check_number("CyclicLR", "exp_gamma", exp_gamma, (float,))
        own = {"triangular": (lambda x: 1.0, "cycle"), "triangular2": (lambda x: 1 / (2.0 ** (x - 1)), "cycle"),
               "exp_range": (lambda x: exp_gamma ** x, "iterations")}
        if scale_fn is None and mode not in own:
            raise ValueError("'mode' is invalid and 'scale_fn' is not specified, make sure one of 'mode' or 'scale_fn' is valid")
        if scale_mode not in ("cycle", "iterations"):
            raise ValueError("'scale_mode' must be one of 'cycle' or 'iterations")
        self.cycle_size = float(step_size_up) + float(step_size_up if step_size_down is None else step_size_down)
        self.step_up_pct = float(step_size_up) / self.cycle_size
        self.max_lr = float(max_learning_rate)
        self.amplitude = self.max_lr - base_learning_rate
        self.mode, self.gamma = mode, exp_gamma
        self.scale_fn, self.scale_mode = own[mode] if scale_fn is None else (scale_fn, scale_mode)
        super(CyclicLR, self).__init__(base_learning_rate, last_epoch, verbose)

    def get_lr(self):
        step = self.last_epoch
        cycle = 1 + step // self.cycle_size
        place = 1.0 + step / self.cycle_size - cycle
        up = self.step_up_pct
        height = self.amplitude * (place / up if place <= up else (1 - place) / (1 - up))
        return self.base_lr + height * self.scale_fn(cycle if self.scale_mode == "cycle" else step)


class OneCycleLR(LRScheduler):
    """From max_learning_rate / divide_factor up to max_learning_rate (phase_pct of the steps), then down to
    end_learning_rate; three_phase: first down to where it began, then to the end."""

    def __init__(self, max_learning_rate, total_steps, divide_factor=25.0, end_learning_rate=0.0001, phase_pct=0.3,
                 anneal_strategy="cos", three_phase=False, last_epoch=-1, verbose=False):
        _check_positive("OneCycleLR", "max_learning_rate", max_learning_rate, zero=True)
        _check_positive("OneCycleLR", "end_learning_rate", end_learning_rate, zero=True)
        _check_positive("OneCycleLR", "total_steps", total_steps, (int,))
        _check_number("OneCycleLR", "phase_pct", phase_pct, (float,))
        _check_number("OneCycleLR", "divide_factor", divide_factor)
        if not 0 <= phase_pct <= 1:
            raise ValueError("'phase_pct' must be between 0 and 1, but received %s" % phase_pct)
        if three_phase and phase_pct >= 0.5:
            raise ValueError("When three_phase is True, 'phase_pct' must be less than 0.5")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError("'anneal_strategy' must by one of 'cos' or 'linear', but received %s" % anneal_strategy)
        first = max_learning_rate / float(divide_factor)
        top, last = phase_pct * total_steps - 1, total_steps - 1
        self.total_steps, self.anneal_strategy = total_steps, anneal_strategy
        #: of each phase: (first step, last step, rate at its begin, rate at its end)
        if three_phase:
            self._phases = [(0, top, first, max_learning_rate),
                            (top, 2 * phase_pct * total_steps - 2, max_learning_rate, first),
                            (2 * phase_pct * total_steps - 2, last, first, float(end_learning_rate))]
        else:
            self._phases = [(0, top, first, max_learning_rate), (top, last, max_learning_rate, float(end_learning_rate))]
        super(OneCycleLR, self).__init__(first, last_epoch, verbose)

    def get_lr(self):
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError("Tried to step %d times. However the number of total steps is %d" % (step, self.total_steps))
        for begin, end, start_lr, end_lr in self._phases:
            if step <= end:
                break
        place = (step - begin) / (end - begin)
        if self.anneal_strategy == "linear":
            return (end_lr - start_lr) * place + start_lr
        return end_lr + (start_lr - end_lr) / 2.0 * (math.cos(math.pi * place) + 1)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from rate to eta_min in T_0 epochs, then anew, each time T_mult as long."""

    def __init__(self, learning_rate, T_0, T_mult=1, eta_min=0, last_epoch=-1, verbose=False):
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError("Expected positive integer T_0, but got %s" % T_0)
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError("Expected integer T_mult >= 1, but got %s" % T_mult)
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min, self.T_cur = T_mult, eta_min, last_epoch
        super(CosineAnnealingWarmRestarts, self).__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.eta_min + (self.base_lr - self.eta_min) * (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2

    def _place(self, epoch):
        """(T_cur, T_i) of an epoch."""
        if epoch < self.T_0:
            return epoch, self.T_0
        if self.T_mult == 1:
            return epoch % self.T_0, self.T_i
        n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        return epoch - self.T_0 * (self.T_mult ** n - 1) / (self.T_mult - 1), self.T_0 * self.T_mult ** n

    def step(self, epoch=None):
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur - self.T_i, self.T_i * self.T_mult
        else:
            epoch = epoch or 0
            if epoch < 0:
                raise ValueError("Expected non-negative epoch, but got %s" % epoch)
            self.T_cur, self.T_i = self._place(epoch)
        self.last_epoch = math.floor(epoch)
        self.last_lr = self.get_lr()
        self._tell()


class ReduceOnPlateau(LRScheduler):
    """rate * factor after more than `patience` steps without a better metric: step(metric)."""

    def __init__(self, learning_rate, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0,
                 min_lr=0, epsilon=1e-8, verbose=False):
        if mode.lower() not in ("min", "max"):
            raise ValueError("mode: " + mode.lower() + " is unknown!")
        if factor >= 1.0:
            raise ValueError("new_lr = origin_lr * gamma and gamma should be < 1.0.")
        if threshold_mode.lower() not in ("rel", "abs"):
            raise ValueError("threshold mode: " + threshold_mode.lower() + " is unknown!")
        if not isinstance(learning_rate, (float, int)):
            raise TypeError("The type of 'learning_rate' in 'ReduceOnPlateau' must be 'float', but received %s." %
                            type(learning_rate))
        self.mode, self.threshold_mode = mode.lower(), threshold_mode.lower()
        self.factor, self.patience, self.threshold, self.cooldown = factor, patience, threshold, cooldown
        self.min_lr, self.epsilon = min_lr, epsilon
        self.cooldown_counter, self.best, self.num_bad_epochs = 0, None, 0
        self.base_lr = self.last_lr = float(learning_rate)
        self.last_epoch, self.verbose, self._var_name = 0, verbose, None

    def state_keys(self):
        self.keys = ["cooldown_counter", "best", "num_bad_epochs", "last_epoch", "last_lr"]

    def _is_better(self, value):
        margin = self.best * self.threshold if self.threshold_mode == "rel" else self.threshold
        return value < self.best - margin if self.mode == "min" else value > self.best + margin

    def step(self, metrics, epoch=None):
        """One further with this metric: a number, or a tensor or array of one."""
        from paddle.fluid.framework import Variable
        static = isinstance(metrics, Variable)
        size = getattr(metrics, "size", 1)
        if not hasattr(metrics, "__float__") or static:
            raise TypeError("metrics must be 'int', 'float', 'np.float64', 'numpy.ndarray' or 'paddle.Tensor', but receive %s" %
                            type(metrics))
        if size != 1:
            raise AssertionError("the size of metrics must be 1, but the current metrics.size is %s. Maybe that you should call "
                                 "paddle.mean to process it first." % size)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self.best is None or self._is_better(metrics):
            self.best, self.num_bad_epochs = metrics, 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            rate = max(self.last_lr * self.factor, self.min_lr)
            if self.last_lr - rate > self.epsilon:
                self.last_lr = rate
                self._tell()


__getattr__ = _names.guard(__name__)
