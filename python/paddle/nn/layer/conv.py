"""Convolutions as layers."""
import math

from paddle import _names
from paddle.nn import functional as F
from paddle.nn import initializer as init
from paddle.nn.functional.conv import pair
from paddle.nn.layer.layers import Layer


class _ConvNd(Layer):
    """Filters and biases; forward is of the classes."""

    def __init__(self, in_channels, out_channels, kernel_size, transposed, dims, stride=1, padding=0, padding_mode="zeros",
                 output_padding=0, dilation=1, groups=1, weight_attr=None, bias_attr=None, data_format="NCHW"):
        super(_ConvNd, self).__init__()
        if weight_attr is False:
            raise AssertionError("weight_attr should not be False in Conv.")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError("padding_mode must be one of zeros, reflect, replicate, circular, but got padding_mode='%s'" %
                             padding_mode)
        if padding_mode != "zeros" and not isinstance(padding, int):
            raise TypeError("when padding_mode in ['reflect', 'replicate', 'circular'], type of padding must be int")
        if data_format not in ("NHWC", "NCHW", "NLC", "NCL", "NDHWC", "NCDHW"):
            raise ValueError("data_format must be one of NHWC, NCHW, NLC, NCL, NDHWC, NCDHW, but got data_format='%s'" % data_format)
        if not transposed and in_channels % groups:
            raise ValueError("in_channels must be divisible by groups.")
        self._in_channels, self._out_channels, self._groups = in_channels, out_channels, groups
        self._kernel_size = pair(kernel_size, dims, "kernel_size")
        self._stride, self._dilation = pair(stride, dims, "stride"), pair(dilation, dims, "dilation")
        self._padding, self._padding_mode, self.output_padding = padding, padding_mode, output_padding
        self._data_format, self._param_attr, self._bias_attr = data_format, weight_attr, bias_attr
        area = 1
        for k in self._kernel_size:
            area *= k
        fill = None if transposed else init.Normal(0.0, math.sqrt(2.0 / (area * in_channels)))
        sizes = [in_channels, out_channels // groups] if transposed else [out_channels, in_channels // groups]
        self.weight = self.create_parameter(sizes + self._kernel_size, weight_attr, default_initializer=fill)
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def _padded(self, x):
        """(x with its border, what is left to pad)"""
        if self._padding_mode == "zeros":
            return x, self._padding
        border = [self._padding] * (2 * len(self._kernel_size))
        return F.pad(x, border, mode=self._padding_mode, data_format=self._data_format), 0

    def extra_repr(self):
        text = "%d, %d, kernel_size=%s" % (self._in_channels, self._out_channels, self._kernel_size)
        ones = [1] * len(self._kernel_size)
        for word, value, plain in (("stride", self._stride, ones), ("padding", self._padding, 0),
                                   ("padding_mode", self._padding_mode, "zeros"), ("output_padding", self.output_padding, 0),
                                   ("dilation", self._dilation, ones), ("groups", self._groups, 1)):
            if value != plain:
                text += ", %s=%s" % (word, value)
        return text + ", data_format=" + self._data_format


class Conv1D(_ConvNd):
    """Convolution of sequences."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1,
                 padding_mode="zeros", weight_attr=None, bias_attr=None, data_format="NCL"):
        super(Conv1D, self).__init__(in_channels, out_channels, kernel_size, False, 1, stride, padding, padding_mode, 0,
                                     dilation, groups, weight_attr, bias_attr, data_format)

    def forward(self, x):
        x, padding = self._padded(x)
        return F.conv1d(x, self._own("weight"), self._own("bias"), self._stride, padding, self._dilation, self._groups,
                        self._data_format)


class Conv2D(_ConvNd):
    """Convolution of images."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1,
                 padding_mode="zeros", weight_attr=None, bias_attr=None, data_format="NCHW"):
        super(Conv2D, self).__init__(in_channels, out_channels, kernel_size, False, 2, stride, padding, padding_mode, 0,
                                     dilation, groups, weight_attr, bias_attr, data_format)

    def forward(self, x):
        x, padding = self._padded(x)
        return F.conv2d(x, self._own("weight"), self._own("bias"), self._stride, padding, self._dilation, self._groups,
                        self._data_format)


class Conv1DTranspose(_ConvNd):
    """What Conv1D does, the other way."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, dilation=1,
                 weight_attr=None, bias_attr=None, data_format="NCL"):
        super(Conv1DTranspose, self).__init__(in_channels, out_channels, kernel_size, True, 1, stride, padding, "zeros",
                                              output_padding, dilation, groups, weight_attr, bias_attr, data_format)

    def forward(self, x, output_size=None):
        return F.conv1d_transpose(x, self.weight, self.bias, self._stride, self._padding,
                                  self.output_padding if output_size is None else 0, self._groups, self._dilation, output_size,
                                  self._data_format)


class Conv2DTranspose(_ConvNd):
    """What Conv2D does, the other way."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, dilation=1, groups=1,
                 weight_attr=None, bias_attr=None, data_format="NCHW"):
        super(Conv2DTranspose, self).__init__(in_channels, out_channels, kernel_size, True, 2, stride, padding, "zeros",
                                              output_padding, dilation, groups, weight_attr, bias_attr, data_format)

    def forward(self, x, output_size=None):
        return F.conv2d_transpose(x, self.weight, self.bias, self._stride, self._padding,
                                  self.output_padding if output_size is None else 0, self._dilation, self._groups, output_size,
                                  self._data_format)


__getattr__ = _names.guard(__name__)
