"""Layers of fluid of volumes, of resizing, and small ones, with gradients: what Paddle 1.8 gives.

    python tests/python/fluid_extra.py tests/python/fluid_extra.json     # with real Paddle 1.8.5
"""
import json
import sys

import numpy as np
import paddle.fluid as fluid

L = fluid.layers
#: without gradients
FLAT = ("elementwise_equal", "fill_constant", "fill_shape")


def drawn(seed, *shape):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype("float32")


def filled(value):
    return fluid.ParamAttr(initializer=fluid.initializer.Constant(value))


def parameter(value):
    return L.create_parameter([3], "float32", default_initializer=fluid.initializer.Constant(value))


FEED = {"x": drawn(0, 2, 4, 4, 5, 6), "i": drawn(1, 2, 3, 5, 7), "a": drawn(2, 3, 4), "b": drawn(3, 1, 4), "c": drawn(4, 3, 4),
        "n": np.array([2, 3], "int64")}


def layers(x, i, a, b, c, n):
    """name -> variable"""
    return {
        "conv3d": L.conv3d(x, 2, 3, stride=2, padding=1, param_attr=filled(0.3), bias_attr=False),
        "conv3d_transpose": L.conv3d_transpose(x, 2, filter_size=3, stride=2, param_attr=filled(0.3), bias_attr=False),
        "pool3d_max": L.pool3d(x, 2, "max", 2),
        "pool3d_avg": L.pool3d(x, 3, "avg", 2, 1),
        "pool3d_global": L.pool3d(x, pool_type="avg", global_pooling=True),
        "adaptive_pool3d_avg": L.adaptive_pool3d(x, [2, 3, 2], "avg"),
        "adaptive_pool3d_max": L.adaptive_pool3d(x, [2, 3, 2], "max"),
        "temporal_shift": L.temporal_shift(i, 2, 0.34),
        "affine_channel": L.affine_channel(i, parameter(2.0), parameter(0.5)),
        "addcmul": L.addcmul(a, b, c, 0.5),
        "elementwise_equal": L.cast(L.elementwise_equal(a, a), "float32"),
        "fsp_matrix": L.fsp_matrix(i, i),
        "resize_bilinear": L.resize_bilinear(i, [9, 4]),
        "resize_bilinear_by_scale": L.resize_bilinear(i, scale=1.5, align_corners=False, align_mode=0),
        "resize_nearest": L.resize_nearest(i, [9, 4]),
        "resize_nearest_free": L.resize_nearest(i, [3, 11], align_corners=False),
        "resize_trilinear": L.resize_trilinear(x, [5, 2, 7]),
        "image_resize_short": L.image_resize_short(i, 3),
        "fill_constant": L.fill_constant([2, 2], "float32", L.reduce_sum(a)),
        "fill_shape": L.fill_constant(n, "float32", 1.5)}


def compute():
    """name -> [shape, the first values, a weighted sum of all]"""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup):
        inputs = {key: fluid.data(key, list(array.shape), str(array.dtype)) for key, array in FEED.items()}
        for key, var in inputs.items():
            var.stop_gradient = key == "n"
        names, wanted = [], []
        for name, var in layers(**inputs).items():
            names.append(name)
            wanted.append(var)
            if name not in FLAT:
                key = "a" if name == "addcmul" else "x" if "3d" in name or name == "resize_trilinear" else "i"
                names.append(name + "@" + key)
                wanted.append(fluid.gradients(var, inputs[key])[0])
        executor = fluid.Executor(fluid.CPUPlace())
        executor.run(startup)
        got = executor.run(main, feed=FEED, fetch_list=wanted)
    out = {}
    for name, array in zip(names, got):
        flat = np.asarray(array, "float64").ravel()
        out[name] = [list(np.shape(array)), [round(float(v), 5) for v in flat[:6]],
                     round(float((flat * (1 + np.arange(flat.size) % 5)).sum()), 3)]
    return out


if __name__ == "__main__":
    with open(sys.argv[1], "w") as to:
        json.dump(compute(), to, separators=(",", ":"))
        to.write("\n")
