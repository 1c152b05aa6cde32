"""paddle.callbacks: callbacks of paddle.Model during training."""
from paddle import _names
from paddle.hapi.callbacks import (Callback, EarlyStopping, LRScheduler, ModelCheckpoint, ProgBarLogger,  # noqa: F401
                                   ReduceLROnPlateau, VisualDL)

_names.REASONS.setdefault("WandbCallback", "its package is not there; write a Callback that logs")
__getattr__ = _names.guard(__name__)
