"""Optimizers of 1.8 around others, and Dpsgd; real Paddle 1.8.5 records what they give:

    python average_cases.py > averages_1x.json
"""
import json
import sys

import numpy as np
import paddle.fluid as fluid

L, O = fluid.layers, fluid.optimizer
X, W = np.array([[1., 2.], [3., -1.]], "float32"), np.array([[1.], [-2.]], "float32")


def value(name):
    return np.array(fluid.global_scope().find_var(name).get_tensor()).ravel().tolist()


def weights():
    return value("w") + value("b")


def average(rate, shortest, longest):
    def make(loss):
        O.SGD(.05).minimize(loss)
        return O.ModelAverage(rate, min_average_window=shortest, max_average_window=longest)
    return make


def means(average, exe):
    """Means, what is there after them, and both once more with a restore by hand."""
    with average.apply(exe):
        got = [weights()]
    got.append(weights())
    with average.apply(exe, need_restore=False):
        pass
    got.append(weights())
    average.restore(exe)
    return got + [weights()]


def dpsgd(loss):
    o = O.Dpsgd(learning_rate=.05, clip=2., batch_size=4., sigma=.5)
    o._seed = 11
    o.minimize(loss)


CASES = {
    "lookahead sgd": (lambda loss: O.LookaheadOptimizer(O.SGD(.05), alpha=.5, k=3).minimize(loss), None),
    "lookahead adam": (lambda loss: O.LookaheadOptimizer(O.Adam(.05), alpha=.3, k=2).minimize(loss), None),
    "short windows": (average(.15, 2, 4), means),
    "shorter windows": (average(.5, 1, 3), means),
    "one window": (average(1.0, 10000, 10000), means),
    "dpsgd": (dpsgd, None),
    "dpsgd without noise": (lambda loss: O.DpsgdOptimizer(.05, clip=2., sigma=0.).minimize(loss), None),
}


def values(name):
    """The weights after each of some steps, and the names of what a checkpoint holds."""
    make, after = CASES[name]
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        attr = fluid.ParamAttr(name="w", initializer=fluid.initializer.NumpyArrayInitializer(W))
        loss = L.mean(L.square(L.fc(fluid.data("x", [None, 2], "float32"), 1, param_attr=attr, bias_attr=fluid.ParamAttr(name="b"))))
        made = make(loss)
        exe, got = fluid.Executor(fluid.CPUPlace()), []
        exe.run(startup)
        for _ in range(7):
            exe.run(main, feed={"x": X}, fetch_list=[loss])
            got += [weights()] + (after(made, exe) if after else [])
        return got, sorted(v.name for v in main.list_vars() if v.persistable and v.name not in ("feed", "fetch"))


if __name__ == "__main__":
    json.dump({name: values(name) for name in CASES}, sys.stdout, indent=0)
