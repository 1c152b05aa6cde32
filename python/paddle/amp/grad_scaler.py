"""GradScaler. Paddle's works on GPUs only: on a CPU it is always disabled, with a warning. So it is
here: losses are not scaled, step is the optimizer's."""
import warnings
from enum import Enum


class OptimizerState(Enum):
    INIT = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler(object):
    """scale gives the loss back, step is the optimizer's, update does nothing. Settings are kept, and not used."""

    def __init__(self, enable=True, init_loss_scaling=2.0**16, incr_ratio=2.0, decr_ratio=0.5, incr_every_n_steps=2000,
                 decr_every_n_nan_or_inf=1, use_dynamic_loss_scaling=True):
        if enable:
            warnings.warn("GradScaler can only be enabled on CUDAPlace, XPUPlace and CustomPlace, current place is Place(cpu), so "
                          "it makes no effect.")
        self._init, self._incr_ratio, self._decr_ratio = float(init_loss_scaling), incr_ratio, decr_ratio
        self._incr_every, self._decr_every = incr_every_n_steps, decr_every_n_nan_or_inf

    def scale(self, var):
        """The loss as it is."""
        return var

    def unscale_(self, optimizer):
        """Nothing to do: the gradients were not scaled."""

    def step(self, optimizer):
        """The optimizer's step."""
        return optimizer.step()

    def update(self):
        """Nothing to do: there is no factor."""

    def minimize(self, optimizer, *args, **kwargs):
        """optimizer.minimize"""
        return optimizer.minimize(*args, **kwargs)

    def is_enable(self):
        return False

    is_use_dynamic_loss_scaling = is_enable

    def get_init_loss_scaling(self):
        return self._init

    def set_init_loss_scaling(self, new_init_loss_scaling):
        self._init = float(new_init_loss_scaling)

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
        """Empty, as of any scaler that is disabled."""
        return {}

    def load_state_dict(self, state_dict):
        """Nothing is taken over."""


AmpScaler = GradScaler
