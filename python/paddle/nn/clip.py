"""Gradient clipping, given to optimizers as grad_clip."""
from paddle import _names


class ClipGradBase(object):
    """Base of the clips."""

    _spec = None


class ClipGradByValue(ClipGradBase):
    """Every element between min (default -max) and max."""

    def __init__(self, max, min=None):
        self.max = float(max)
        self.min = -self.max if min is None else float(min)
        self._spec = ("value", {"max": self.max, "min": self.min})


class ClipGradByNorm(ClipGradBase):
    """Every gradient scaled to a norm of at most clip_norm."""

    def __init__(self, clip_norm):
        self.clip_norm = float(clip_norm)
        self._spec = ("norm", {"clip_norm": self.clip_norm})


class ClipGradByGlobalNorm(ClipGradBase):
    """All gradients scaled together so that their common norm is at most clip_norm."""

    def __init__(self, clip_norm, group_name="default_group", auto_skip_clip=False):
        self.clip_norm, self.group_name = float(clip_norm), group_name
        self._spec = ("global_norm", {"clip_norm": self.clip_norm, "group_name": group_name,
                                      "need_clip": lambda var: getattr(var, "need_clip", True)})


__getattr__ = _names.guard(__name__)
