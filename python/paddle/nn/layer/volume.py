"""Layers of volumes, and the way back of pooling."""
from paddle import _names
from paddle.nn import functional as F
from paddle.nn.layer._declared import NEEDED, layer
from paddle.nn.layer.conv import _ConvNd

_WINDOW = (("kernel_size", NEEDED), ("stride", None), ("padding", 0))
_SHOWN = ("kernel_size", "stride", "padding")


def _pool(function, class_name, fields, **options):
    return layer(function, class_name, "nn.functional.%s as a layer." % function.__name__, fields, **options)


MaxPool3D = _pool(F.max_pool3d, "MaxPool3D", _WINDOW + (("return_mask", False), ("ceil_mode", False), ("data_format", "NCDHW")),
                  shown=_SHOWN, also=(("kernel_size", "ksize"),))
AvgPool3D = _pool(F.avg_pool3d, "AvgPool3D", _WINDOW + (("ceil_mode", False), ("exclusive", True), ("divisor_override", None),
                                                        ("data_format", "NCDHW")),
                  shown=_SHOWN, also=(("kernel_size", "ksize"), ("divisor_override", "divisor")))
AdaptiveAvgPool3D = _pool(F.adaptive_avg_pool3d, "AdaptiveAvgPool3D", (("output_size", NEEDED), ("data_format", "NCDHW")),
                          prefix="_", shown=("output_size",))
AdaptiveMaxPool3D = _pool(F.adaptive_max_pool3d, "AdaptiveMaxPool3D", (("output_size", NEEDED), ("return_mask", False)),
                          prefix="_")
MaxUnPool1D, MaxUnPool2D, MaxUnPool3D = (
    _pool(_function, _name, _WINDOW + (("data_format", _format), ("output_size", None)), inputs=2, shown=("output_size",),
          also=(("kernel_size", "ksize"),))
    for _function, _name, _format in ((F.max_unpool1d, "MaxUnPool1D", "NCL"), (F.max_unpool2d, "MaxUnPool2D", "NCHW"),
                                      (F.max_unpool3d, "MaxUnPool3D", "NCDHW")))


class Conv3D(_ConvNd):
    """Convolution of volumes."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1,
                 padding_mode="zeros", weight_attr=None, bias_attr=None, data_format="NCDHW"):
        super(Conv3D, self).__init__(in_channels, out_channels, kernel_size, False, 3, stride, padding, padding_mode, 0,
                                     dilation, groups, weight_attr, bias_attr, data_format)

    def forward(self, x):
        x, padding = self._padded(x)
        return F.conv3d(x, self._own("weight"), self._own("bias"), self._stride, padding, self._dilation, self._groups,
                        self._data_format)


class Conv3DTranspose(_ConvNd):
    """What Conv3D does, the other way."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, dilation=1, groups=1,
                 weight_attr=None, bias_attr=None, data_format="NCDHW"):
        super(Conv3DTranspose, self).__init__(in_channels, out_channels, kernel_size, True, 3, stride, padding, "zeros",
                                              output_padding, dilation, groups, weight_attr, bias_attr, data_format)

    def forward(self, x, output_size=None):
        return F.conv3d_transpose(x, self.weight, self.bias, self._stride, self._padding,
                                  self.output_padding if output_size is None else 0, self._groups, self._dilation, output_size,
                                  self._data_format)


__getattr__ = _names.guard(__name__)
