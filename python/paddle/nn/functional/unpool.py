"""The way back of max pooling."""
from paddle import _names
from paddle._op import fill, need
from paddle.nn.functional.conv import pair


def _unpool(dims, formats):
    def function(x, indices, kernel_size, stride=None, padding=0, data_format=formats, output_size=None, name=None):
        from paddle.tensor.manipulation import cast, reshape
        from paddle.tensor.picking import put_along_axis
        where = function.__name__
        if data_format != formats:
            raise ValueError("Attr(data_format) should be '%s'. Received Attr(data_format): %s." % (formats, data_format))
        if len(need(x, "x", where).shape) != dims + 2:
            raise ValueError("The x should have %d dimensions, but received %d" % (dims + 2, len(x.shape)))
        kernel = pair(kernel_size, dims, "kernel_size")
        stride = kernel if stride is None else pair(stride, dims, "stride")
        pads = pair(padding, dims, "padding")
        plain = [(x.shape[2 + i] - 1) * stride[i] + kernel[i] - 2 * pads[i] for i in range(dims)]
        sizes = plain if output_size is None else [int(v) for v in list(output_size)[-dims:]]
        for i, (size, usual) in enumerate(zip(sizes, plain)):
            if not usual - stride[i] < size < usual + stride[i]:
                raise ValueError('invalid output_size "%s" (dim %d must be between %d and %d)' %
                                 (sizes, i, usual - stride[i], usual + stride[i]))
        count = 1
        for size in sizes:
            count *= size
        places = reshape(cast(indices, "int64"), [x.shape[0], x.shape[1], -1])
        values = reshape(x, [x.shape[0], x.shape[1], -1])
        empty = fill([x.shape[0], x.shape[1], count], 0, x.dtype)
        return reshape(put_along_axis(empty, places, values, 2, broadcast=False), [x.shape[0], x.shape[1]] + sizes)

    function.__name__ = function.__qualname__ = "max_unpool%dd" % dims
    function.__doc__ = "Every value at the place that max_pool%dd found it; 0 elsewhere." % dims
    return function


max_unpool1d, max_unpool2d, max_unpool3d = _unpool(1, "NCL"), _unpool(2, "NCHW"), _unpool(3, "NCDHW")

__getattr__ = _names.guard(__name__)
