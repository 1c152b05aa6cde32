"""Channels and pictures as layers."""
from paddle import _names
from paddle.nn import functional as F
from paddle.nn.layer._declared import NEEDED, layer
from paddle.nn.layer.layers import Layer


def _layer(function, class_name, fields, **options):
    return layer(function, class_name, "nn.functional.%s as a layer." % function.__name__, fields, **options)


def _only_nchw(function, word, class_name):
    made = _layer(function, class_name, ((word, NEEDED), ("data_format", "NCHW")), prefix="_")

    def extra_repr(self):
        known = self.__dict__
        text = "%s=%s" % (word, known["_" + word])
        if known["_data_format"] != "NCHW":
            text += ", data_format=" + known["_data_format"]
        return text + (", name=" + known["_name"] if known["_name"] is not None else "")

    made.extra_repr = extra_repr
    return made


PixelShuffle = _only_nchw(F.pixel_shuffle, "upscale_factor", "PixelShuffle")
PixelUnshuffle = _only_nchw(F.pixel_unshuffle, "downscale_factor", "PixelUnshuffle")
ChannelShuffle = _only_nchw(F.channel_shuffle, "groups", "ChannelShuffle")


class _Windows(Layer):
    def extra_repr(self):
        return "kernel_size=%s, dilation=%s, padding=%s, stride=%s%s" % (
            self.kernel_sizes, self.dilations, self.paddings, self.strides, ", name=%s" % self.name if self.name else "")


class Unfold(_Windows):
    """Every window of images as a column."""

    def __init__(self, kernel_sizes, dilations=1, paddings=0, strides=1, name=None):
        super(Unfold, self).__init__()
        self.kernel_sizes, self.dilations, self.paddings, self.strides, self.name = (kernel_sizes, dilations, paddings, strides,
                                                                                     name)

    def forward(self, input):
        return F.unfold(input, self.kernel_sizes, self.strides, self.paddings, self.dilations, self.name)


class Fold(_Windows):
    """Windows put together to images."""

    def __init__(self, output_sizes, kernel_sizes, dilations=1, paddings=0, strides=1, name=None):
        super(Fold, self).__init__()
        self.output_sizes, self.kernel_sizes, self.dilations = output_sizes, kernel_sizes, dilations
        self.paddings, self.strides, self.name = paddings, strides, name

    def forward(self, input):
        return F.fold(input, self.output_sizes, self.kernel_sizes, self.strides, self.paddings, self.dilations, self.name)


class Upsample(Layer):
    """nn.functional.interpolate as a layer."""

    _words = ("mode", "align_corners", "align_mode", "data_format")

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=False, align_mode=0, data_format="NCHW",
                 name=None):
        super(Upsample, self).__init__()
        self.size, self.scale_factor, self.mode, self.align_corners = size, scale_factor, mode.lower(), align_corners
        self.align_mode, self.data_format, self.name = align_mode, data_format, name

    def forward(self, x):
        return F.interpolate(x, self.size, self.scale_factor, self.mode, self.align_corners, self.align_mode, self.data_format,
                             self.name)

    def extra_repr(self):
        first = "scale_factor=%s" % self.scale_factor if self.scale_factor is not None else "size=%s" % self.size
        parts = [first] + ["%s=%s" % (word, getattr(self, word)) for word in self._words]
        return ", ".join(parts + (["name=%s" % self.name] if self.name else []))


class UpsamplingNearest2D(Upsample):
    """Images of another size by the nearest place."""

    _words = ("data_format",)

    def __init__(self, size=None, scale_factor=None, data_format="NCHW", name=None):
        super(UpsamplingNearest2D, self).__init__(size, scale_factor, "nearest", False, 0, data_format, name)


class UpsamplingBilinear2D(Upsample):
    """Images of another size by the four nearest places."""

    _words = ("data_format",)

    def __init__(self, size=None, scale_factor=None, data_format="NCHW", name=None):
        super(UpsamplingBilinear2D, self).__init__(size, scale_factor, "bilinear", True, 0, data_format, name)


class _Pad(Layer):
    _count, _words = 2, ("mode", "value", "data_format")

    def __init__(self, padding, mode="constant", value=0.0, data_format=None, name=None):
        super(_Pad, self).__init__()
        self._pad = [padding] * (2 * self._count) if isinstance(padding, int) else padding
        self._mode, self._value, self._data_format, self._name = mode, value, data_format, name

    def forward(self, x):
        return F.pad(x, self._pad, self._mode, self._value, self._data_format, self._name)

    def extra_repr(self):
        parts = ["padding=%s" % self._pad] + ["%s=%s" % (word, getattr(self, "_" + word)) for word in self._words]
        return ", ".join(parts + (["name=%s" % self._name] if self._name else []))


class Pad1D(_Pad):
    """Borders of sequences."""

    _count = 1

    def __init__(self, padding, mode="constant", value=0.0, data_format="NCL", name=None):
        super(Pad1D, self).__init__(padding, mode, value, data_format, name)


class Pad2D(_Pad):
    """Borders of images."""

    def __init__(self, padding, mode="constant", value=0.0, data_format="NCHW", name=None):
        super(Pad2D, self).__init__(padding, mode, value, data_format, name)


class Pad3D(_Pad):
    """Borders of volumes."""

    _count = 3

    def __init__(self, padding, mode="constant", value=0.0, data_format="NCDHW", name=None):
        super(Pad3D, self).__init__(padding, mode, value, data_format, name)


class ZeroPad2D(_Pad):
    """Zeros around images."""

    _words = ("data_format",)

    def __init__(self, padding, data_format="NCHW", name=None):
        super(ZeroPad2D, self).__init__(padding, "constant", 0.0, data_format, name)


__getattr__ = _names.guard(__name__)
