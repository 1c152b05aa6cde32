"""Skiff for Python: the native module. Scripts written for PaddlePaddle import `paddle`, which stands on it."""
try:
    from skiff import _native
except ImportError as e:
    from skiff._missing import explained
    raise explained(e) from None

__version__ = _native.__version__
Trainer = _native.Trainer
