"""Skiff for Python: the native module. Scripts written for PaddlePaddle import `paddle`, which stands on it."""
from skiff import _native

__version__ = _native.__version__
