"""Layers of 1.8 with WeightNormParamAttr; real Paddle 1.8.5 records losses and parameters:

    python weight_norm_cases.py > weight_norm_1x.json
"""
import json
import sys

import numpy as np
import paddle.fluid as fluid

L, I = fluid.layers, fluid.initializer
FEED = {"x": np.linspace(-1, 1, 8).reshape(2, 4).astype("float32"),
        "image": np.linspace(-1, 1, 36).reshape(2, 2, 3, 3).astype("float32"), "ids": np.array([[1], [3]])}
W = np.linspace(-.5, .7, 12).reshape(4, 3).astype("float32")
FILTER = np.linspace(-.5, .7, 24).reshape(3, 2, 2, 2).astype("float32")


def attr(dim, fill, **more):
    return fluid.WeightNormParamAttr(dim=dim, initializer=fill, **more)


def fc(dim, fill=None, **more):
    return L.fc(fluid.data("x", [None, 4], "float32"), 3, act="tanh", param_attr=attr(dim, fill or I.NumpyArrayInitializer(W), **more))


def conv(dim):
    return L.conv2d(fluid.data("image", [None, 2, 3, 3], "float32"), 3, 2, param_attr=attr(dim, I.NumpyArrayInitializer(FILTER)))


CASES = {
    "fc": ("x", lambda: fc(None, name="own")), "fc by rows": ("x", lambda: fc(0)), "fc by columns": ("x", lambda: fc(1)),
    "conv": ("image", lambda: conv(None)), "conv by filters": ("image", lambda: conv(0)), "conv by channels": ("image", lambda: conv(1)),
    "conv by width": ("image", lambda: conv(3)),
    "decay": ("x", lambda: fc(1, I.Constant(.4), learning_rate=.5, regularizer=fluid.regularizer.L2Decay(.1))),
    "embedding": ("ids", lambda: L.embedding(fluid.data("ids", [None, 1], "int64"), [5, 3], param_attr=attr(0, I.Constant(.4)))),
}


def values(name, optimizer):
    fed, build = CASES[name]
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        loss = L.mean(L.square(build()))
        (fluid.optimizer.SGD(.1) if optimizer == "SGD" else fluid.optimizer.Adam(.1, epsilon=1e-3)).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        losses = [float(exe.run(main, feed={fed: FEED[fed]}, fetch_list=[loss])[0][0]) for _ in range(3)]
        scope = fluid.global_scope()
        return [losses] + [[p.name, list(p.shape), np.array(scope.find_var(p.name).get_tensor()).ravel().tolist()]
                           for p in main.all_parameters()]


if __name__ == "__main__":
    json.dump({name: {o: values(name, o) for o in ("SGD", "Adam")} for name in CASES}, sys.stdout)
