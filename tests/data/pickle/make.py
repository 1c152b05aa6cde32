"""Wrote the pickles of this folder: python make.py <out folder> <tag>, once with Python 3.7 and numpy 1.x (tag py37), once with
Python 3.11 and numpy 2.x (tag py311). With Paddle 2.6 at hand (py311) it also writes what paddle.save and paddle.static.save write."""
import collections
import os
import pickle
import sys

import numpy as np

out, tag = sys.argv[1], sys.argv[2]


def arrays():
    a = collections.OrderedDict()
    a["f4"] = np.array([[1.5, -2.25, 3e20], [0.1, -0.0, 1e-30]], dtype="float32")
    a["f8"] = np.array([0.1, 255.5], dtype="float64")
    a["f2"] = np.array([1.5, -2], dtype="float16")
    a["i1"] = np.array([-128, 127], dtype="int8")
    a["i2"] = np.array([-300, 300], dtype="int16")
    a["i4"] = np.array([-70000, 70000], dtype="int32")
    a["i8"] = np.array([[-(2 ** 40)], [2 ** 40]], dtype="int64")
    a["u1"] = np.array([0, 128, 255], dtype="uint8")
    a["b1"] = np.array([True, False, True])
    a["fortran"] = np.asfortranarray(np.arange(24, dtype="float32").reshape(2, 3, 4))
    a["zero_d"] = np.array(2.5, dtype="float32")
    a["scalar"] = np.float32(7.25)
    a["empty"] = np.zeros((0, 3), dtype="float32")
    a["big_endian"] = np.array([1, -2, 300], dtype=">i4")
    return a


def write(name, value, protocol):
    with open(os.path.join(out, "%s_%s.pkl" % (tag, name)), "wb") as f:
        pickle.dump(value, f, protocol=protocol)


for protocol in (2, 3, 4) + ((5,) if sys.version_info >= (3, 8) else ()):
    write("p%d" % protocol, dict(arrays()), protocol)
write("ordered", arrays(), 2)
write("one", {"w": np.arange(3, dtype="float32")}, 2)
write("empty", {}, 2)
write("many", {"v%04d" % i: np.full((1, 2), i, "float32") for i in range(1003)}, 2)
write("structured", {"linear.weight": np.ones((2, 2), "float32"),
                     "StructuredToParameterName@@": {"linear.weight": "linear_0.w_0"}}, 2)
write("sliced", {"big@@.0": np.arange(4, dtype="float32"), "big@@.1": np.arange(4, 6, dtype="float32"),
                 "other": np.ones(1, "float32"),
                 "UnpackBigParamInfor@@": {"big": {"OriginShape": (2, 3), "slices": ["big@@.0", "big@@.1"]}}}, 2)
write("scheduler", {"m": np.ones(1, "float32"), "LR_Scheduler": {"last_epoch": 3, "last_lr": 0.5}, "n": -5}, 2)


class Evil(object):
    def __reduce__(self):
        return (os.system, ("echo hacked",))


write("evil", {"w": Evil()}, 2)
write("objects", {"w": np.array([{}, "x"], dtype=object)}, 2)
write("list", [1, 2, 3], 2)

if tag == "py311":
    import paddle

    layer = paddle.nn.Linear(2, 3)
    layer.weight.set_value(np.arange(6, dtype="float32").reshape(2, 3))
    paddle.save(layer.state_dict(), os.path.join(out, "paddle_save_layer.pdparams"))
    paddle.save([layer.weight], os.path.join(out, "ignored"))  # in a list: a tuple (name, array)
    with open(os.path.join(out, "ignored"), "rb") as f:
        pair = pickle.load(f)[0]
    os.remove(os.path.join(out, "ignored"))
    write("named", {"w": pair}, 4)
    paddle.enable_static()
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        x = paddle.static.data("x", [None, 2])
        paddle.static.nn.fc(x, 3, weight_attr=paddle.nn.initializer.Constant(0.5))
    exe = paddle.static.Executor()
    exe.run(startup)
    paddle.static.save(main, os.path.join(out, "static_save"))
    paddle.save(main.state_dict(), os.path.join(out, "paddle_save_static.pdparams"))
