"""GradScaler: losses are multiplied by a factor, gradients divided by it; it follows what overflows. In float32 nothing
overflows sooner, so the numbers of training stay as they are."""
from enum import Enum


class OptimizerState(Enum):
    INIT = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler(object):
    """enable False: scale gives the loss back, step is the optimizer's, update does nothing."""

    def __init__(self, enable=True, init_loss_scaling=2.0**16, incr_ratio=2.0, decr_ratio=0.5, incr_every_n_steps=2000,
                 decr_every_n_nan_or_inf=1, use_dynamic_loss_scaling=True):
        if incr_ratio <= 1.0:
            raise AssertionError("The incr_ratio must be > 1.0.")
        if decr_ratio >= 1.0:
            raise AssertionError("The decr_ratio must be < 1.0.")
        self._enable, self._dynamic = enable, use_dynamic_loss_scaling and enable
        self._scale, self._init = float(init_loss_scaling), float(init_loss_scaling)
        self._incr_ratio, self._decr_ratio = incr_ratio, decr_ratio
        self._incr_every, self._decr_every = incr_every_n_steps, decr_every_n_nan_or_inf
        self._good = self._bad = 0
        self._found_inf, self._states = False, {}

    def scale(self, var):
        """The loss times the factor."""
        return var * self._scale if self._enable else var

    def unscale_(self, optimizer):
        """Divides the optimizer's gradients, and looks for inf and nan."""
        if not self._enable:
            return
        state = self._states.get(id(optimizer), OptimizerState.INIT)
        if state is OptimizerState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state is OptimizerState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        self._unscale(optimizer)
        self._states[id(optimizer)] = OptimizerState.UNSCALED

    def _unscale(self, optimizer):
        import numpy
        self._found_inf = False
        for parameter in _parameters(optimizer):
            grad = parameter.grad
            if grad is None:
                continue
            parameter.grad = grad * (1.0 / self._scale)
            if not numpy.isfinite(parameter.grad.numpy()).all():
                self._found_inf = True

    def step(self, optimizer):
        """The optimizer's step, unless gradients have overflowed."""
        if not self._enable:
            return optimizer.step()
        state = self._states.get(id(optimizer), OptimizerState.INIT)
        if state is OptimizerState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state is OptimizerState.INIT:
            self._unscale(optimizer)
        if not self._found_inf:
            optimizer.step()
        self._states[id(optimizer)] = OptimizerState.STEPPED

    def update(self):
        """Moves the factor on."""
        self._states = {}
        if not self._dynamic:
            return
        if self._found_inf:
            self._good, self._bad = 0, self._bad + 1
            if self._bad == self._decr_every:
                self._scale, self._bad = max(self._scale * self._decr_ratio, 1.0), 0
        else:
            self._bad, self._good = 0, self._good + 1
            if self._good == self._incr_every:
                self._scale, self._good = self._scale * self._incr_ratio, 0

    def minimize(self, optimizer, *args, **kwargs):
        """step and update in one."""
        if not self._enable:
            return optimizer.minimize(*args, **kwargs)
        self.step(optimizer)
        self.update()
        return None, []

    def is_enable(self):
        return self._enable

    def is_use_dynamic_loss_scaling(self):
        return self._dynamic

    def get_init_loss_scaling(self):
        return self._init

    def set_init_loss_scaling(self, new_init_loss_scaling):
        self._init = self._scale = float(new_init_loss_scaling)

    def get_incr_ratio(self):
        return self._incr_ratio

    def set_incr_ratio(self, new_incr_ratio):
        if new_incr_ratio <= 1.0:
            raise AssertionError("The new_incr_ratio must be > 1.0.")
        self._incr_ratio = new_incr_ratio

    def get_decr_ratio(self):
        return self._decr_ratio

    def set_decr_ratio(self, new_decr_ratio):
        if new_decr_ratio >= 1.0:
            raise AssertionError("The new_decr_ratio must be < 1.0.")
        self._decr_ratio = new_decr_ratio

    def get_incr_every_n_steps(self):
        return self._incr_every

    def set_incr_every_n_steps(self, new_incr_every_n_steps):
        self._incr_every = new_incr_every_n_steps

    def get_decr_every_n_nan_or_inf(self):
        return self._decr_every

    def set_decr_every_n_nan_or_inf(self, new_decr_every_n_nan_or_inf):
        self._decr_every = new_decr_every_n_nan_or_inf

    def state_dict(self):
        """Factor, counts and settings; empty when it is off."""
        if not self._enable:
            return {}
        import numpy
        return {"scale": numpy.array([self._scale], "float32"), "incr_ratio": self._incr_ratio,
                "decr_ratio": self._decr_ratio, "incr_every_n_steps": self._incr_every,
                "decr_every_n_nan_or_inf": self._decr_every, "incr_count": self._good, "decr_count": self._bad,
                "use_dynamic_loss_scaling": self._dynamic}

    def load_state_dict(self, state_dict):
        """What state_dict gave."""
        if not self._enable:
            return
        if not state_dict:
            raise RuntimeError("The input state dict is empty, possibly because it was saved from a disabled instance of "
                               "GradScaler.")
        self._init = self._scale = float(state_dict["scale"][0])
        self._incr_ratio, self._decr_ratio = state_dict["incr_ratio"], state_dict["decr_ratio"]
        self._incr_every, self._decr_every = state_dict["incr_every_n_steps"], state_dict["decr_every_n_nan_or_inf"]
        self._good, self._bad = state_dict["incr_count"], state_dict["decr_count"]
        self._dynamic = state_dict["use_dynamic_loss_scaling"]


AmpScaler = GradScaler


def _parameters(optimizer):
    """The optimizer's parameters; of groups too."""
    out = []
    for entry in getattr(optimizer, "_parameter_list", None) or []:
        out.extend(entry["params"] if isinstance(entry, dict) else [entry])
    return out
