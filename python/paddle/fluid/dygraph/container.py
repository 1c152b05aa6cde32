"""Layers of layers."""
from paddle.fluid.dygraph.layers import Layer
from paddle.nn import LayerList as _LayerList
from paddle.nn import ParameterList as _ParameterList
from paddle.nn import Sequential as _Sequential


class Sequential(_Sequential, Layer):
    """Layers one after the other."""


class LayerList(_LayerList, Layer):
    """A list of layers."""


class ParameterList(_ParameterList, Layer):
    """A list of parameters."""
