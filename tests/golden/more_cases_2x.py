"""Cases for Paddle 2.6."""
import numpy as np
import paddle
import paddle.nn.functional as F

import more_cases_names
from more_cases import A, CUBE, DOUBLE, SMALL, WIDE, Fixed, both, ids, numbers, of


def fill(cases):
    functions(cases)
    moving(cases)
    picking(cases)
    ordering(cases)
    products(cases)
    layers(cases)
    doubles(cases)
    more_cases_names.fill(cases)


def opened(function):
    """The result of the function, which Paddle calls a constant, with a gradient all the same."""
    def call(*args):
        out = function(*args)
        out.stop_gradient = False
        return out
    return call


def functions(cases):
    """Of one element, and comparisons."""
    for name in "acos asin atan sinh cosh tan asinh atanh expm1 log10 trunc".split():
        argument = np.abs(SMALL) + 0.05 if name == "log10" else SMALL
        both(cases, name + "/plain", getattr(paddle, name), argument)
    both(cases, "acosh/plain", paddle.acosh, np.abs(SMALL) + 1.2)
    for name, function in (("mish", F.mish), ("hard_shrink", F.hardshrink), ("softshrink", F.softshrink),
                           ("tanh_shrink", F.tanhshrink), ("thresholded_relu", F.thresholded_relu), ("celu", F.celu),
                           ("hard_swish", F.hardswish), ("brelu", F.hardtanh), ("stanh", paddle.stanh), ("logit", paddle.logit)):
        argument = np.abs(SMALL) if name == "logit" else 4 * A
        both(cases, name + "/plain", function, argument)
    cases["celu/alpha"] = of(lambda x: F.celu(x, alpha=0.4), 3 * A)
    cases["logit/eps"] = of(lambda x: paddle.logit(x, 0.2), numbers(5, 3, 4, low=0.05, high=0.95))
    cases["hard_shrink/threshold"] = of(lambda x: F.hardshrink(x, 0.3), A)
    cases["softshrink/threshold"] = of(lambda x: F.softshrink(x, 0.3), A)
    cases["thresholded_relu/threshold"] = of(lambda x: F.thresholded_relu(x, 0.2), A)
    both(cases, "maxout/plain", lambda x: F.maxout(x, 2), WIDE)
    cases["maxout/axis"] = of(lambda x: F.maxout(x, 3, axis=-1), WIDE)
    odd = np.array([[1.0, np.nan, np.inf], [-np.inf, 0.0, -3.0]], "float32")
    for name in ("isnan", "isinf", "isfinite"):
        cases[name + "_v2/plain"] = of(getattr(paddle, name), odd)
        cases[name + "_v2/float64"] = of(getattr(paddle, name), odd.astype("float64"))
        cases[name + "_v2/int64"] = of(getattr(paddle, name), ids([1, 2], [3, 0]))
    near = A + np.array([1e-9, 1e-3, 0, 1], "float32")
    cases["isclose/plain"] = of(paddle.isclose, A, near)
    cases["isclose/nan"] = of(lambda x, y: paddle.isclose(x, y, rtol=1e-2, equal_nan=True), odd, odd)
    cases["allclose/yes"] = of(paddle.allclose, A, A)
    cases["allclose/no"] = of(paddle.allclose, A, near)
    cases["equal_all/yes"] = of(paddle.equal_all, A, A)
    cases["equal_all/no"] = of(paddle.equal_all, A, near)
    cases["bitwise_not/int64"] = of(paddle.bitwise_not, ids([1, -2], [0, 5]))
    cases["bitwise_not/bool"] = of(paddle.bitwise_not, np.array([True, False]))
    both(cases, "elementwise_fmax/plain", paddle.fmax, A, numbers(6, 3, 4))
    both(cases, "elementwise_fmin/broadcast", paddle.fmin, CUBE, numbers(6, 4))
    both(cases, "atan2/plain", paddle.atan2, A, numbers(6, 3, 4))
    both(cases, "lerp/plain", paddle.lerp, A, numbers(6, 3, 4), numbers(7, 3, 4))
    cases["lerp/number"] = of(lambda x, y: paddle.lerp(x, y, 0.3), A, numbers(6, 3, 4))
    cases["lerp/broadcast"] = of(paddle.lerp, CUBE, numbers(6, 3, 4), numbers(7, 4))


def moving(cases):
    """Elements that only change places."""
    cases["crop_tensor/plain"] = of(lambda x: paddle.crop(x, shape=[2, 2], offsets=[0, 1]), A)
    cases["crop_tensor/rest"] = of(lambda x: paddle.crop(x, shape=[1, -1, 2], offsets=[1, 1, 0]), CUBE)
    both(cases, "pad/plain", lambda x: F.pad(x, [1, 0, 0, 2], value=0.5), A)
    cases["pad/int64"] = of(lambda x: F.pad(x, [1, 0, 0, 2]), ids([1, 2], [3, 4]))
    cases["meshgrid/two"] = of(lambda x, y: paddle.meshgrid(x, y), numbers(1, 3), numbers(2, 2))
    cases["meshgrid/three"] = of(lambda x, y, z: paddle.meshgrid(x, y, z), numbers(1, 3), numbers(2, 2), numbers(3, 4))
    cases["meshgrid/int64"] = of(lambda x, y: paddle.meshgrid(x, y), ids(1, 2), ids(3, 4, 5))
    both(cases, "diag_v2/of_vector", opened(paddle.diag), numbers(1, 3))
    cases["diag_v2/of_vector_offset"] = of(opened(lambda x: paddle.diag(x, 1, padding_value=0.5)), numbers(1, 3))
    cases["diag_v2/of_matrix"] = of(opened(paddle.diag), A)
    cases["diag_v2/of_matrix_offset"] = of(opened(lambda x: paddle.diag(x, -1)), A)
    cases["diag_v2/int64"] = of(paddle.diag, ids(1, 2))
    cases["diag_embed/plain"] = of(F.diag_embed if hasattr(F, "diag_embed") else paddle.diag_embed, A)
    cases["diag_embed/dims"] = of(lambda x: (F.diag_embed if hasattr(F, "diag_embed") else paddle.diag_embed)(x, 1, 0, 2), A)
    both(cases, "diagonal/plain", paddle.diagonal, CUBE)
    cases["diagonal/axes"] = of(lambda x: paddle.diagonal(x, 1, 2, 0), CUBE)
    both(cases, "trace/plain", paddle.trace, A)
    cases["trace/axes"] = of(lambda x: paddle.trace(x, -1, 1, 2), CUBE)
    cases["eye/plain"] = lambda case: [paddle.eye(3), paddle.eye(2, 3, "int64"), paddle.eye(2, 2, "float64")]
    cases["linspace/plain"] = lambda case: [paddle.linspace(0, 1, 5), paddle.linspace(3, -2, 4, "float64"),
                                            paddle.linspace(0, 10, 4, "int32"), paddle.linspace(2, 5, 1)]
    cases["tril_indices/plain"] = lambda case: [paddle.tril_indices(3, 4, 0), paddle.tril_indices(4, 3, -1)]
    cases["triu_indices/plain"] = lambda case: [paddle.triu_indices(3, 4, 1), paddle.triu_indices(4, 3, 0)]
    both(cases, "repeat_interleave/number", lambda x: paddle.repeat_interleave(x, 2, axis=1), A)
    cases["repeat_interleave/flat"] = of(lambda x: paddle.repeat_interleave(x, 2), A)
    cases["repeat_interleave/tensor"] = of(lambda x, n: paddle.repeat_interleave(x, n, axis=0), A, ids(1, 0, 3))
    both(cases, "unfold/plain", lambda x: F.unfold(x, 2), WIDE)
    cases["unfold/all"] = of(lambda x: F.unfold(x, [2, 3], strides=[2, 1], paddings=[1, 0, 1, 2], dilations=[1, 2]), WIDE)
    both(cases, "pixel_shuffle/plain", lambda x: F.pixel_shuffle(x, 2), numbers(4, 2, 8, 2, 3))
    cases["pixel_shuffle/last"] = of(lambda x: F.pixel_shuffle(x, 2, "NHWC"), numbers(4, 2, 2, 3, 8))
    cases["unbind/plain"] = of(lambda x: paddle.unbind(x, 1), CUBE)
    cases["strided_slice/backwards"] = of(lambda x: paddle.strided_slice(x, [1, 2], [2, 3], [0, -5], [-1, -2]), CUBE)
    cases["strided_slice/getitem_backwards"] = of(lambda x: x[::2, ::-1], CUBE)
    cases["set_value/number"] = of(lambda x: paddle.static.setitem(x + 0, (slice(None), slice(0, 2)), 7.0), CUBE)
    cases["set_value/row"] = of(lambda x, v: paddle.static.setitem(x + 0, 1, v), CUBE, numbers(5, 3, 4))
    cases["set_value/broadcast"] = of(lambda x, v: paddle.static.setitem(x + 0, (slice(None), 1), v), CUBE, numbers(5, 4))
    cases["set_value/step"] = of(lambda x, v: paddle.static.setitem(x + 0, (slice(None), slice(None, None, -2), 0), v), CUBE, numbers(5, 2, 2))
    cases["set_value/element"] = of(lambda x, v: paddle.static.setitem(x + 0, (1, 2, 3), v), CUBE, numbers(5, 1))
    cases["set_value/float64"] = of(lambda x, v: paddle.static.setitem(x + 0, (0, slice(1, 3)), v), DOUBLE, numbers(5, 2, 4, dtype="float64"))
    cases["set_value/int64"] = of(lambda x: paddle.static.setitem(x + 0, (0, slice(0, 1)), 5), ids([1, 2], [3, 4]))


def picking(cases):
    """By index."""
    both(cases, "scatter_nd_add/rows", paddle.scatter_nd_add, CUBE, ids([0, 1], [1, 2], [0, 1]), numbers(5, 3, 4))
    cases["scatter_nd_add/elements"] = of(paddle.scatter_nd_add, A, ids([0, 1], [2, 3]), numbers(5, 2))
    cases["scatter_nd/plain"] = of(lambda i, u: paddle.scatter_nd(i, u, [5]), ids([1], [3]), numbers(5, 2))
    cases["multiplex/plain"] = of(lambda x, y, i: paddle.multiplex([x, y], i), A, numbers(5, 3, 4), ids([1], [0], [1], dtype="int32"))
    both(cases, "index_sample/plain", paddle.index_sample, A, ids([0, 3], [1, 1], [2, 0]))
    cases["index_sample/int64"] = of(paddle.index_sample, ids([5, 6], [7, 8]), ids([1], [0]))
    at = ids([[0], [2], [1]], [[1], [0], [0]])
    both(cases, "take_along_axis/plain", lambda x, i: paddle.take_along_axis(x, i, 2), CUBE, at)
    cases["take_along_axis/broadcast"] = of(lambda x, i: paddle.take_along_axis(x, i, 1), A, ids([0, 3, 1]))
    both(cases, "put_along_axis/plain", lambda x, i, v: paddle.put_along_axis(x, i, v, 2), CUBE, at, numbers(5, 2, 3, 1))
    cases["put_along_axis/add"] = of(lambda x, i, v: paddle.put_along_axis(x, i, v, 1, "add"), A, ids([0, 0], [1, 3], [2, 2]), numbers(5, 3, 2))
    cases["put_along_axis/mul"] = of(lambda x, i, v: paddle.put_along_axis(x, i, v, 1, "mul"), A, ids([0, 1], [1, 3], [2, 3]), numbers(5, 3, 2))
    both(cases, "index_add/plain", lambda x, i, v: paddle.index_add(x, i, 1, v), CUBE, ids(2, 0, 2), numbers(5, 2, 3, 4))
    cases["index_put/plain"] = of(lambda x, i, j, v: paddle.index_put(x, (i, j), v), A, ids(0, 2), ids(1, 3), numbers(5, 2))
    cases["index_put/add"] = of(lambda x, i, v: paddle.index_put(x, (i,), v, True), A, ids(0, 2, 0), numbers(5, 3, 4))
    cases["index_put/mask"] = of(lambda x, i, v: paddle.index_put(x, (i,), v), A, A > 0, numbers(5, 1))
    cases["unique/plain"] = of(lambda x: paddle.unique(x, True, True, True), ids(3, 1, 3, 2, 1))
    cases["unique/floats"] = of(paddle.unique, np.array([[2.5, -1.0], [2.5, 0.0]], "float32"))
    cases["unique/axis"] = of(lambda x: paddle.unique(x, True, True, True, axis=0), ids([2, 1], [0, 5], [2, 1]))
    cases["unique_consecutive/plain"] = of(lambda x: paddle.unique_consecutive(x, True, True), ids(1, 1, 2, 2, 3, 1))
    cases["searchsorted/plain"] = of(paddle.searchsorted, ids(1, 3, 5), ids(0, 3, 6))
    cases["searchsorted/rows_right"] = of(lambda s, v: paddle.searchsorted(s, v, out_int32=True, right=True), np.sort(A, 1), numbers(5, 3, 2))
    cases["bincount/plain"] = of(paddle.bincount, ids(0, 2, 2))
    cases["bincount/weights"] = of(lambda x, w: paddle.bincount(x, w, 6), ids(0, 2, 2), numbers(5, 3))
    cases["histogram/plain"] = of(lambda x: paddle.histogram(x, 4, -1, 1), A)
    cases["histogram/own_range"] = of(lambda x: paddle.histogram(x, 3), ids(1, 2, 1, 5))
    for how in ("sum", "mean", "max", "min"):
        both(cases, "segment_pool/" + how, getattr(paddle.geometric, "segment_" + how), A, ids(0, 0, 2))
        both(cases, "graph_send_recv/" + how, lambda x, s, d, how=how: paddle.geometric.send_u_recv(x, s, d, how), A, ids(0, 1, 2, 0), ids(1, 2, 1, 0))
    cases["graph_send_recv/size"] = of(lambda x, s, d: paddle.geometric.send_u_recv(x, s, d, "mean", 4), A, ids(0, 1, 2, 0), ids(1, 3, 1, 0))


def ordering(cases):
    both(cases, "argsort/up", lambda x: paddle.sort(x, 1), CUBE)
    cases["argsort/down"] = of(lambda x: paddle.sort(x, 1, True), CUBE)
    cases["argsort/ties"] = of(lambda x: [paddle.sort(x, 0), paddle.argsort(x, 0)], np.array([[1, 2], [1, 1], [0, 2]], "float32"))
    both(cases, "kthvalue/plain", lambda x: paddle.kthvalue(x, 2, 1), CUBE)
    cases["kthvalue/keep"] = of(lambda x: paddle.kthvalue(x, 3, keepdim=True), CUBE)
    cases["mode/plain"] = of(lambda x: paddle.mode(x, 1), np.array([[2, 1, 2, 3], [1, 1, 3, 3]], "float32"))
    ties = np.array([[1, 1, 0], [2, 2, 2]], "float32")
    for name in ("amax", "amin"):
        both(cases, "reduce_%s/ties" % name, lambda x, name=name: getattr(paddle, name)(x, 1), ties)
        cases["reduce_%s/all" % name] = of(getattr(paddle, name), CUBE)
        cases["reduce_%s/keep" % name] = of(lambda x, name=name: getattr(paddle, name)(x, [0, 2], True), CUBE)
    both(cases, "cumprod/plain", lambda x: paddle.cumprod(x, 1), CUBE)
    cases["cumprod/zero"] = of(lambda x: paddle.cumprod(x, 0), np.array([[1, 0, 2], [3, 4, 0], [2, 5, 0]], "float32"))
    both(cases, "logcumsumexp/plain", lambda x: paddle.logcumsumexp(x, 1), CUBE)
    both(cases, "cumsum/axis", lambda x: paddle.cumsum(x, 1), CUBE)
    cases["cumsum/int64"] = of(lambda x: paddle.cumsum(x, 0), ids([1, 2], [3, 4]))


def products(cases):
    both(cases, "kron/plain", paddle.kron, A, numbers(5, 2, 3))
    cases["kron/ranks"] = of(paddle.kron, CUBE, numbers(5, 2))
    both(cases, "addmm/plain", lambda z, x, y: paddle.addmm(z, x, y, beta=0.5, alpha=2.0), numbers(9, 3, 2), A, numbers(3, 4, 2))
    cases["addmm/broadcast"] = of(paddle.addmm, numbers(9, 1, 2), A, numbers(3, 4, 2))
    both(cases, "mv/plain", paddle.mv, A, numbers(5, 4))
    both(cases, "cross/plain", paddle.cross, numbers(5, 2, 3), numbers(6, 2, 3))
    cases["cross/axis"] = of(lambda x, y: paddle.cross(x, y, axis=0), numbers(5, 3, 4), numbers(6, 3, 4))
    for p in (0, 1, 2, 3, float("inf"), float("-inf")):
        cases["dist/%s" % p] = of(lambda x, y, p=p: paddle.dist(x, y, p), A, numbers(6, 3, 4))
    cases["dist/broadcast_float64"] = of(lambda x, y: paddle.dist(x, y, 2), DOUBLE, numbers(6, 4, dtype="float64"))


def layers(cases):
    """Normalisation, convolution, pooling."""
    scale, bias = numbers(5, 4, low=0.5, high=1.5), numbers(6, 4)

    def group_norm(layout, *dims):
        def function(x, scale, bias):
            from paddle.common_ops_import import LayerHelper
            helper = LayerHelper("group_norm")
            y, mean, variance = [helper.create_variable_for_type_inference(x.dtype) for _ in range(3)]
            helper.append_op(type="group_norm", inputs={"X": x, "Scale": scale, "Bias": bias}, outputs={"Y": y, "Mean": mean, "Variance": variance},
                             attrs={"epsilon": 1e-5, "groups": 2, "data_layout": layout})
            return y
        return function, numbers(4, *dims), scale, bias
    both(cases, "group_norm/plain", *group_norm("NCHW", 2, 4, 3, 2))
    cases["group_norm/ncl"] = of(*group_norm("NCHW", 2, 4, 5))
    cases["group_norm/last"] = of(*group_norm("NHWC", 2, 3, 2, 4))
    both(cases, "instance_norm/plain", lambda x, s, b: F.instance_norm(x, weight=s, bias=b), WIDE, scale, bias)
    cases["instance_norm/ncl"] = of(lambda x: F.instance_norm(x), numbers(4, 2, 3, 6))

    def spectral(dim, iters, *dims):
        def function(case):
            from paddle.common_ops_import import LayerHelper
            helper = LayerHelper("spectral_norm")
            w = case.given("w", numbers(4, *dims), False)  # its gradient is not right in Paddle
            u, v = case.given("u", numbers(5, dims[dim]), False), case.given("v", numbers(6, int(np.prod(dims)) // dims[dim]), False)
            out = helper.create_variable_for_type_inference(w.dtype)
            helper.append_op(type="spectral_norm", inputs={"Weight": w, "U": u, "V": v}, outputs={"Out": out}, attrs={"dim": dim, "power_iters": iters, "eps": 1e-12})
            return out
        return function
    cases["spectral_norm/plain"] = spectral(0, 2, 3, 5)
    cases["spectral_norm/as_given"] = spectral(0, 0, 3, 5)
    cases["spectral_norm/dim"] = spectral(1, 1, 2, 3, 2, 2)
    image, last = numbers(4, 2, 4, 5, 6), numbers(4, 2, 5, 6, 4)
    for name, x, layout in (("nchw", image, "NCHW"), ("nhwc", last, "NHWC")):
        both(cases, "conv2d/more_%s" % name, lambda x, w, layout=layout: F.conv2d(x, w, stride=[2, 1], padding=[1, 0, 2, 1], groups=2, data_format=layout), x, numbers(5, 6, 2, 3, 2))
        cases["conv2d/more_same_%s" % name] = of(lambda x, w, layout=layout: F.conv2d(x, w, padding="SAME", data_format=layout), x, numbers(5, 3, 4, 3, 2))
        cases["depthwise_conv2d/more_%s" % name] = of(lambda x, w, layout=layout: F.conv2d(x, w, padding=1, groups=4, data_format=layout), x, numbers(5, 8, 1, 3, 3))
        both(cases, "conv2d_transpose/%s" % name, lambda x, w, layout=layout: F.conv2d_transpose(x, w, stride=2, padding=1, groups=2, data_format=layout), x, numbers(5, 4, 3, 3, 2))
        cases["conv2d_transpose/size_%s" % name] = of(lambda x, w, layout=layout: F.conv2d_transpose(x, w, stride=[2, 3], output_size=[10, 18], data_format=layout), x, numbers(5, 4, 2, 2, 2))
        cases["conv2d_transpose/padded_%s" % name] = of(lambda x, w, layout=layout: F.conv2d_transpose(x, w, stride=2, dilation=2, output_padding=1, data_format=layout), x, numbers(5, 4, 2, 2, 3))
        cases["conv2d_transpose/same_%s" % name] = of(lambda x, w, layout=layout: F.conv2d_transpose(x, w, stride=2, padding="SAME", data_format=layout), x, numbers(5, 4, 2, 3, 3))
        cases["depthwise_conv2d_transpose/%s" % name] = of(lambda x, w, layout=layout: F.conv2d_transpose(x, w, stride=2, groups=4, data_format=layout), x, numbers(5, 4, 1, 2, 2))
        both(cases, "pool2d/more_max_%s" % name, lambda x, layout=layout: F.max_pool2d(x, 3, 2, [1, 0, 1, 1], data_format=layout), x)
        both(cases, "pool2d/more_avg_%s" % name, lambda x, layout=layout: F.avg_pool2d(x, 3, 2, [1, 0, 1, 1], data_format=layout), x)
        cases["pool2d/more_inclusive_%s" % name] = of(lambda x, layout=layout: F.avg_pool2d(x, 3, 2, 1, True, False, data_format=layout), x)
        cases["pool2d/more_adaptive_%s" % name] = of(lambda x, layout=layout: F.adaptive_avg_pool2d(x, [2, 3], data_format=layout), x)
    volume, volume_last = numbers(4, 2, 4, 4, 5, 3), numbers(4, 2, 4, 5, 3, 4)
    for name, x, layout in (("ncdhw", volume, "NCDHW"), ("ndhwc", volume_last, "NDHWC")):
        both(cases, "conv3d/%s" % name, lambda x, w, layout=layout: F.conv3d(x, w, stride=[1, 2, 1], padding=[1, 0, 2, 1, 0, 1], groups=2, data_format=layout), x, numbers(5, 6, 2, 2, 3, 2))
        cases["conv3d/same_%s" % name] = of(lambda x, w, layout=layout: F.conv3d(x, w, padding="SAME", stride=2, data_format=layout), x, numbers(5, 3, 4, 3, 2, 2))
        cases["conv3d/dilated_%s" % name] = of(lambda x, w, layout=layout: F.conv3d(x, w, padding=1, dilation=[2, 1, 2], data_format=layout), x, numbers(5, 3, 4, 2, 2, 2))
        cases["conv3d_transpose/%s" % name] = of(lambda x, w, layout=layout: F.conv3d_transpose(x, w, stride=2, padding=1, groups=2, data_format=layout), x, numbers(5, 4, 3, 2, 3, 2))
        cases["conv3d_transpose/padded_%s" % name] = of(lambda x, w, layout=layout: F.conv3d_transpose(x, w, stride=2, output_padding=1, data_format=layout), x, numbers(5, 4, 2, 2, 2, 2))
        both(cases, "pool3d/max_%s" % name, lambda x, layout=layout: F.max_pool3d(x, [2, 3, 2], [1, 2, 1], [1, 0, 1, 1, 0, 1], data_format=layout), x)
        both(cases, "pool3d/avg_%s" % name, lambda x, layout=layout: F.avg_pool3d(x, [2, 3, 2], [1, 2, 1], [1, 0, 1, 1, 0, 1], data_format=layout), x)
        cases["pool3d/adaptive_%s" % name] = of(lambda x, layout=layout: F.adaptive_avg_pool3d(x, [2, 3, 1], data_format=layout), x)
    cases["conv3d_transpose/sized"] = of(lambda x, w: F.conv3d_transpose(x, w, stride=2, output_size=[8, 11, 6]), volume, numbers(5, 4, 2, 2, 2, 2))
    cases["conv3d/bias"] = of(lambda x, w, b: F.conv3d(x, w, b, padding=1), volume, numbers(5, 3, 4, 2, 2, 2), numbers(6, 3))
    cases["conv3d_transpose/bias"] = of(lambda x, w, b: F.conv3d_transpose(x, w, b), volume, numbers(5, 4, 2, 2, 2, 2), numbers(6, 2))
    cases["pool3d/inclusive"] = of(lambda x: F.avg_pool3d(x, 3, 2, 1, True, False), volume)
    cases["pool3d/divisor"] = of(lambda x: F.avg_pool3d(x, 2, divisor_override=5), volume)
    cases["max_pool3d_with_index/plain"] = of(lambda x: F.max_pool3d(x, 2, 2, return_mask=True), volume)
    cases["max_pool3d_with_index/adaptive"] = of(lambda x: F.adaptive_max_pool3d(x, [2, 3, 1], return_mask=True), volume)
    both(cases, "max_pool2d_with_index/more", lambda x: F.max_pool2d(x, 2, 2, return_mask=True), image)
    norm = [numbers(7, 4, low=0.5, high=1.5), numbers(8, 4), numbers(9, 4), numbers(9, 4, low=0.5, high=1.5)]
    for name, x, layout in (("nchw", image, "NCHW"), ("nhwc", last, "NHWC")):
        both(cases, "batch_norm/more_%s" % name, lambda x, w, b, layout=layout, m=norm[2], v=norm[3]: F.batch_norm(
            x, paddle.assign(m.astype("float32")).astype(x.dtype), paddle.assign(v).astype(x.dtype), w, b, training=True, data_format=layout), x, norm[0], norm[1])
    cases["gumbel_softmax/random"] = of(lambda x: F.gumbel_softmax(x, axis=1), CUBE)
    cases["gumbel_softmax/random_hard"] = of(lambda x: F.gumbel_softmax(x, 0.5, True), Fixed(CUBE))
    cases["gumbel_softmax/random_temperature"] = of(lambda x: F.gumbel_softmax(x, 0.5), Fixed(CUBE))
    cases["leaky_relu/zeros"] = of(F.leaky_relu, np.array([0.0, -0.0, 1.0, -1.0], "float32"))
    half = numbers(5, 3, 4, low=-3, high=3)
    for kind in ("float16", "bfloat16"):
        cases["cast/%s_and_back" % kind] = of(lambda x, kind=kind: paddle.cast(paddle.cast(x, kind), "float32"), Fixed(half))
    cases["label_smooth/plain"] = of(opened(lambda x: F.label_smooth(x, epsilon=0.1)), A)
    cases["label_smooth/prior"] = of(opened(lambda x, p: F.label_smooth(x, p, 0.2)), A, Fixed(np.array([[0.1, 0.2, 0.3, 0.4]], "float32")))
    both(cases, "prelu/one", F.prelu, WIDE, numbers(5, 1))
    both(cases, "prelu/channels", F.prelu, WIDE, numbers(5, 4))
    cases["prelu/channels_last"] = of(lambda x, a: F.prelu(x, a, data_format="NHWC"), last, numbers(5, 4))


def doubles(cases):
    """Losses and their kin in float64."""
    x, y = numbers(5, 4, 3, dtype="float64"), numbers(6, 4, 3, low=0.05, high=0.95, dtype="float64")
    label, click = ids(2, 0, 1, 0), Fixed((y > 0.5).astype("float64"))
    for name, function, arrays in (
            ("softmax_with_cross_entropy/float64", lambda x: F.softmax_with_cross_entropy(x, paddle.assign(label[:, None])), [x]),
            ("softmax_with_cross_entropy/soft_float64", lambda x, y: F.cross_entropy(x, y, soft_label=True, reduction="none"), [x, Fixed(y)]),
            ("softmax_with_cross_entropy/axis_float64", lambda x, l: F.cross_entropy(x, l, axis=1, reduction="none", ignore_index=1), [DOUBLE, ids([[1, 0, 2, 1]], [[0, 0, 1, 2]])]),
            ("layer_norm/float64", lambda x, s, b: F.layer_norm(x, 4, s, b), [DOUBLE, numbers(7, 4, dtype="float64"), numbers(8, 4, dtype="float64")]),
            ("layer_norm/no_scale_float64", lambda x: F.layer_norm(x, [3, 4]), [DOUBLE]),
            ("bce_loss/float64", lambda x, l: F.binary_cross_entropy(x, l, reduction="none"), [y, click]),
            ("sigmoid_cross_entropy_with_logits/float64", lambda x, l: F.binary_cross_entropy_with_logits(x, l, reduction="none"), [x, click]),
            ("nll_loss/float64", lambda x: F.nll_loss(x, paddle.assign(label)), [x]),
            ("nll_loss/weight_float64", lambda x, w: F.nll_loss(x, paddle.assign(label), weight=w, reduction="none"), [x, Fixed(np.array([0.5, 1, 2.0]))]),
            ("kldiv_loss/float64", lambda x, y: F.kl_div(x, y, "batchmean"), [x, Fixed(y)]),
            ("kldiv_loss/none_float64", lambda x, y: F.kl_div(x, y, "none"), [x, Fixed(y)]),
            ("huber_loss/float64", lambda x, y: F.smooth_l1_loss(x, y, "none", 0.4), [x, y]),
            ("log_loss/float32_only", lambda x: F.log_loss(x, paddle.assign((y[:, :1] > 0.5).astype("float32"))), [y[:, :1].astype("float32")]),
            ("dropout/float64_random", lambda x: F.dropout(x, 0.4), [DOUBLE]),
            ("mean/float64", paddle.mean, [DOUBLE]), ("p_norm/float64", lambda x: paddle.linalg.norm(x, 3, 1), [DOUBLE]),
            ("lookup_table_v2/float64", lambda w: F.embedding(paddle.assign(ids([1, 0], [1, 3])), w), [numbers(5, 4, 3, dtype="float64")]),
            ("gather/float64", lambda x: paddle.gather(x, paddle.assign(ids(1, 0, 1))), [DOUBLE]),
            ("scatter/float64", lambda x, u: paddle.scatter(x, paddle.assign(ids(1, 1)), u, False), [DOUBLE, numbers(5, 2, 3, 4, dtype="float64")]),
            ("where/float64", lambda x, y: paddle.where(x > 0, x, y), [x, y]), ("matmul_v2/float64", paddle.matmul, [DOUBLE, numbers(5, 4, 2, dtype="float64")]),
            ("reduce_max/float64", lambda x: paddle.max(x, 1), [DOUBLE]), ("reduce_prod/float64", lambda x: paddle.prod(x, 1), [DOUBLE]),
            ("logsumexp/float64", lambda x: paddle.logsumexp(x, 1), [DOUBLE]), ("elementwise_div/float64", paddle.divide, [x, y]),
            ("elementwise_pow/float64", paddle.pow, [y, x]), ("top_k_v2/float64", lambda x: paddle.topk(x, 2, 1), [DOUBLE]),
            ("expand_v2/float64", lambda x: paddle.expand(x, [2, 4, 3]), [x]), ("clip/float64", lambda x: paddle.clip(x, -0.5, 0.5), [x]),
            ("concat/float64", lambda x, y: paddle.concat([x, y], 1), [x, y]), ("bmm/float64", paddle.bmm, [DOUBLE, numbers(5, 2, 4, 2, dtype="float64")]),
            ("einsum/float64", lambda x, y: paddle.einsum("bik,bkj->bij", x, y), [DOUBLE, numbers(5, 2, 4, 2, dtype="float64")]),
            ("dot/float64", paddle.dot, [x, y]), ("gelu/float64", F.gelu, [x]), ("softplus/float64", F.softplus, [x])):
        cases[name] = of(function, *arrays)
