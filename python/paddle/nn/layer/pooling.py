"""Pooling as layers."""
from paddle import _names
from paddle.nn import functional as F
from paddle.nn.layer._declared import NEEDED, layer

_WINDOW = (("kernel_size", NEEDED), ("stride", None), ("padding", 0))
_SHOWN = ("kernel_size", "stride", "padding")


def _pool(function, class_name, fields, **options):
    return layer(function, class_name, "nn.functional.%s as a layer." % function.__name__, fields, **options)


MaxPool1D = _pool(F.max_pool1d, "MaxPool1D", _WINDOW + (("return_mask", False), ("ceil_mode", False)), shown=_SHOWN)
MaxPool2D = _pool(F.max_pool2d, "MaxPool2D", _WINDOW + (("return_mask", False), ("ceil_mode", False), ("data_format", "NCHW")),
                  shown=_SHOWN, also=(("kernel_size", "ksize"),))
AvgPool1D = _pool(F.avg_pool1d, "AvgPool1D", _WINDOW + (("exclusive", True), ("ceil_mode", False)), shown=_SHOWN)
AvgPool2D = _pool(F.avg_pool2d, "AvgPool2D", _WINDOW + (("ceil_mode", False), ("exclusive", True), ("divisor_override", None),
                                                        ("data_format", "NCHW")),
                  shown=_SHOWN, also=(("kernel_size", "ksize"), ("divisor_override", "divisor")))
AdaptiveAvgPool1D = _pool(F.adaptive_avg_pool1d, "AdaptiveAvgPool1D", (("output_size", NEEDED),))
AdaptiveMaxPool1D = _pool(F.adaptive_max_pool1d, "AdaptiveMaxPool1D", (("output_size", NEEDED), ("return_mask", False)))
AdaptiveAvgPool2D = _pool(F.adaptive_avg_pool2d, "AdaptiveAvgPool2D", (("output_size", NEEDED), ("data_format", "NCHW")),
                          prefix="_", shown=("output_size",))
AdaptiveMaxPool2D = _pool(F.adaptive_max_pool2d, "AdaptiveMaxPool2D", (("output_size", NEEDED), ("return_mask", False)),
                          prefix="_")
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

__getattr__ = _names.guard(__name__)
