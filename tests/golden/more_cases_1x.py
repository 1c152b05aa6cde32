"""Cases for Paddle 1.8."""
import numpy as np
import paddle.fluid as fluid

from more_cases import A, CUBE, SMALL, WIDE, Fixed, both, ids, numbers, of

L = fluid.layers


def fill(cases):
    functions(cases)
    moving(cases)
    picking(cases)
    layers(cases)


def functions(cases):
    for name in ("acos", "asin", "atan"):
        cases[name + "/plain"] = of(getattr(L, name), SMALL)
    for name, function in (("soft_relu", L.soft_relu), ("hard_shrink", L.hard_shrink), ("softshrink", L.softshrink),
                           ("tanh_shrink", L.tanh_shrink), ("thresholded_relu", L.thresholded_relu), ("hard_swish", L.hard_swish),
                           ("brelu", L.brelu), ("stanh", L.stanh)):
        cases[name + "/plain"] = of(function, 4 * A)
    cases["soft_relu/threshold"] = of(lambda x: L.soft_relu(x, 1.5), 3 * A)
    cases["mish/plain"] = of(lambda x: simple("mish", x), 4 * A)
    odd = np.array([[1.0, np.nan, np.inf], [-np.inf, 0.0, -3.0]], "float32")
    for name, function in (("isnan", L.has_nan), ("isinf", L.has_inf)):
        cases[name + "/yes"] = of(function, odd)
        cases[name + "/no"] = of(function, A)
    cases["maxout/plain"] = of(lambda x: L.maxout(x, 2), WIDE)
    cases["label_smooth/plain"] = of(lambda x: L.label_smooth(x, epsilon=0.1), A)
    cases["label_smooth/prior"] = of(lambda x, p: L.label_smooth(x, p, 0.2), A, Fixed(np.array([[0.1, 0.2, 0.3, 0.4]], "float32")))


def simple(kind, x, slot="X"):
    """An op of one input that has no function."""
    helper = fluid.layer_helper.LayerHelper(kind)
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type=kind, inputs={slot: x}, outputs={"Out": out})
    return out


def moving(cases):
    cases["crop_tensor/plain"] = of(lambda x: L.crop_tensor(x, shape=[2, 2], offsets=[0, 1]), A)
    cases["crop_tensor/rest"] = of(lambda x: L.crop_tensor(x, shape=[1, -1, 2], offsets=[1, 1, 0]), CUBE)
    cases["crop/plain"] = of(lambda x: L.crop(x, shape=[2, 2], offsets=[0, 1]), A)
    cases["crop/like"] = of(lambda x, y: L.crop(x, shape=y, offsets=[1, 2]), A, Fixed(numbers(5, 2, 2)))
    both(cases, "pad/plain", lambda x: L.pad(x, [1, 0, 0, 2], 0.5), A)
    for mode in ("constant", "reflect", "edge"):
        cases["pad2d/" + mode] = of(lambda x, mode=mode: L.pad2d(x, [1, 2, 0, 3], mode, 0.5), WIDE)
        cases["pad2d/%s_last" % mode] = of(lambda x, mode=mode: L.pad2d(x, [1, 2, 0, 3], mode, 0.5, "NHWC"), WIDE)
    cases["pad_constant_like/plain"] = of(lambda x, y: L.pad_constant_like(x, y, 0.5), Fixed(numbers(5, 4, 6)), A)
    cases["reverse/plain"] = of(lambda x: L.reverse(x, [0, 2]), CUBE)
    cases["meshgrid/two"] = of(lambda x, y: L.meshgrid([x, y]), numbers(1, 3), numbers(2, 2))
    cases["diag/plain"] = of(L.diag, numbers(1, 3))
    cases["diag_embed/plain"] = of(lambda x: simple("diag_embed", x, "Input"), A)
    cases["trace/plain"] = of(lambda x: L.trace(x, 1, 0, 2), CUBE)
    cases["eye/plain"] = lambda case: [L.eye(3), L.eye(2, 3, dtype="int64")]
    cases["eye/batch"] = lambda case: L.eye(2, 3, batch_shape=[2])
    cases["linspace/plain"] = lambda case: [L.linspace(0, 1, 5, "float32"), L.linspace(3, -2, 4, "float64"), L.linspace(2, 5, 1, "float32")]
    cases["unfold/plain"] = of(lambda x: L.unfold(x, [2, 3], [2, 1], [1, 0], [1, 2]), WIDE)
    cases["pixel_shuffle/plain"] = of(lambda x: L.pixel_shuffle(x, 2), numbers(4, 2, 8, 2, 3))
    cases["strided_slice/backwards"] = of(lambda x: L.strided_slice(x, [1, 2], [2, 3], [0, -5], [-1, -2]), CUBE)
    cases["strided_slice/minus_one"] = of(lambda x: L.strided_slice(x, [1], [0], [-1], [2]), CUBE)
    cases["expand_as/plain"] = of(L.expand_as, numbers(5, 1, 4), Fixed(A))
    cases["expand_as/multiple"] = of(L.expand_as, A, Fixed(numbers(5, 6, 4)))
    cases["unbind/plain"] = of(lambda x: L.unbind(x, 1) if hasattr(L, "unbind") else L.unstack(x, 1), CUBE)


def picking(cases):
    cases["scatter_nd_add/rows"] = of(L.scatter_nd_add, CUBE, ids([0, 1], [1, 2], [0, 1]), numbers(5, 3, 4))
    cases["scatter_nd/plain"] = of(lambda i, u: L.scatter_nd(i, u, [5]), ids([1], [3]), numbers(5, 2))
    cases["multiplex/plain"] = of(lambda x, y, i: L.multiplex([x, y], i), A, numbers(5, 3, 4), ids([1], [0], [1], dtype="int32"))
    cases["index_sample/plain"] = of(L.index_sample, A, ids([0, 3], [1, 1], [2, 0]))
    cases["unique/plain"] = of(L.unique, ids(3, 1, 3, 2, 1))
    cases["unique/floats"] = of(lambda x: L.unique(x, "int64"), np.array([2.5, -1, 2.5, 0], "float32"))
    cases["unique_with_counts/plain"] = of(L.unique_with_counts, ids(3, 1, 3, 2, 1))
    cases["argsort/up"] = of(lambda x: L.argsort(x, 1), CUBE)
    cases["argsort/down"] = of(lambda x: L.argsort(x, 1, True), CUBE)
    cases["cumsum/axis"] = of(lambda x: L.cumsum(x, 1), CUBE)
    cases["cumsum/exclusive_reverse"] = of(lambda x: L.cumsum(x, 2, True, True), CUBE)
    cases["kron/plain"] = of(L.kron, A, numbers(5, 2, 3))
    cases["addmm/plain"] = of(lambda z, x, y: L.addmm(z, x, y, alpha=2.0, beta=0.5), numbers(9, 3, 2), A, numbers(3, 4, 2))
    cases["cross/plain"] = of(lambda x, y: L.cross(x, y), numbers(5, 2, 3), numbers(6, 2, 3))
    cases["dist/plain"] = of(lambda x, y: L.dist(x, y, 2), A, numbers(6, 3, 4))
    cases["allclose/yes"] = of(lambda x, y: L.allclose(x, y), A, A)


def layers(cases):
    def seeded(function):
        def build(case):
            fluid.default_startup_program().random_seed = 5
            return function(case)
        return build
    # without scale and bias the gradient of 1.8 lacks a term
    def given():
        return dict(param_attr=fluid.ParamAttr(initializer=fluid.initializer.Uniform(0.5, 1.5)),
                    bias_attr=fluid.ParamAttr(initializer=fluid.initializer.Uniform(-1, 1)))
    cases["group_norm/plain"] = seeded(lambda case: L.group_norm(case.given("x", numbers(4, 2, 4, 3, 2)), 2, **given()))
    cases["group_norm/last"] = seeded(lambda case: L.group_norm(case.given("x", numbers(4, 2, 3, 2, 4)), 2, data_layout="NHWC", **given()))
    cases["instance_norm/plain"] = seeded(lambda case: L.instance_norm(case.given("x", WIDE)))
    cases["spectral_norm/plain"] = seeded(lambda case: L.spectral_norm(case.given("x", numbers(4, 3, 5), False), power_iters=2))
    cases["lrn/plain"] = of(lambda x: L.lrn(x, 3, 1.5, 0.1, 0.75), WIDE)
    cases["lrn/last"] = of(lambda x: L.lrn(x, 3, 1.5, 0.1, 0.75, data_format="NHWC"), WIDE)
    last = numbers(4, 2, 5, 6, 4)
    for name, x, layout in (("nchw", WIDE, "NCHW"), ("nhwc", last, "NHWC")):
        cases["conv2d/more_" + name] = seeded(lambda case, x=x, layout=layout: L.conv2d(
            case.given("x", x), 6, [3, 2], [2, 1], [1, 0, 2, 1], groups=2, data_format=layout))
        cases["conv2d_transpose/" + name] = seeded(lambda case, x=x, layout=layout: L.conv2d_transpose(
            case.given("x", x), 6, filter_size=[3, 2], padding=1, stride=2, groups=2, data_format=layout))
        cases["depthwise_conv2d_transpose/" + name] = seeded(lambda case, x=x, layout=layout: L.conv2d_transpose(
            case.given("x", x), 4, filter_size=2, stride=2, groups=4, data_format=layout, use_cudnn=False))
        for how in ("max", "avg"):
            cases["pool2d/more_%s_%s" % (how, name)] = of(lambda x, layout=layout, how=how: L.pool2d(
                x, 3, how, 2, [1, 0, 1, 1], data_format=layout), x)
    volume, channels_last = numbers(4, 2, 4, 4, 5, 3), numbers(4, 2, 4, 5, 3, 4)
    for name, x, layout in (("ncdhw", volume, "NCDHW"), ("ndhwc", channels_last, "NDHWC")):
        cases["conv3d/" + name] = seeded(lambda case, x=x, layout=layout: L.conv3d(
            case.given("x", x), 6, [2, 3, 2], [1, 2, 1], [1, 0, 2, 1, 0, 1], groups=2, data_format=layout))
        cases["conv3d_transpose/" + name] = seeded(lambda case, x=x, layout=layout: L.conv3d_transpose(
            case.given("x", x), 6, filter_size=[2, 3, 2], padding=1, stride=2, groups=2, data_format=layout))
        for how in ("max", "avg"):
            cases["pool3d/%s_%s" % (how, name)] = of(lambda x, layout=layout, how=how: L.pool3d(
                x, [2, 3, 2], how, [1, 2, 1], [1, 0, 1, 1, 0, 1], data_format=layout), x)
    cases["pool3d/inclusive"] = of(lambda x: L.pool3d(x, 3, "avg", 2, 1, ceil_mode=True, exclusive=False), volume)
    cases["pool3d/global"] = of(lambda x: L.pool3d(x, pool_type="avg", global_pooling=True), volume)
    cases["pool3d/adaptive"] = of(lambda x: L.adaptive_pool3d(x, [2, 3, 1], "avg"), volume)
    cases["uniform_random_batch_size_like/plain"] = of(lambda x: L.uniform_random_batch_size_like(x, [-1, 5], seed=7), A)
    cases["gaussian_random_batch_size_like/plain"] = of(lambda x: L.gaussian_random_batch_size_like(x, [-1, 5], seed=7), A)
