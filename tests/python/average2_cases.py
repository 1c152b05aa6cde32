"""LookAhead and ModelAverage of 2.x in programs; real Paddle 2.6.2 records the weights after each of some steps:

    python average2_cases.py > averages_2x.json
"""
import json
import sys

import numpy as np
import paddle

paddle.enable_static()
S, O, I = paddle.static, paddle.optimizer, paddle.incubate
X, W = np.array([[1., 2.], [3., -1.]], "float32"), np.array([[1.], [-2.]], "float32")


def weights():
    return [x for name in ("w", "b") for x in np.array(S.global_scope().find_var(name).get_tensor()).ravel().tolist()]


def average(rate, shortest, longest):
    def make(loss):
        O.SGD(.05).minimize(loss)
        return I.ModelAverage(rate, min_average_window=shortest, max_average_window=longest)
    return make


def means(average, exe):
    with average.apply(exe):
        got = [weights()]
    got.append(weights())
    with average.apply(exe, need_restore=False):
        pass
    got.append(weights())
    average.restore(exe)
    return got + [weights()]


CASES = {
    "lookahead sgd": (lambda loss: I.LookAhead(O.SGD(.05), alpha=.5, k=3).minimize(loss), None),
    "lookahead adam": (lambda loss: I.LookAhead(O.Adam(.05), alpha=.3, k=2).minimize(loss), None),
    "short windows": (average(.15, 2, 4), means),
    "shorter windows": (average(.5, 1, 3), means),
}


def values(name):
    make, after = CASES[name]
    main, startup = S.Program(), S.Program()
    with S.program_guard(main, startup), paddle.utils.unique_name.guard(), S.scope_guard(S.Scope()):
        attr = paddle.ParamAttr(name="w", initializer=paddle.nn.initializer.Assign(W))
        y = S.nn.fc(S.data("x", [None, 2]), 1, weight_attr=attr, bias_attr=paddle.ParamAttr(name="b"))
        loss = paddle.mean(paddle.square(y))
        made = make(loss)
        exe, got = S.Executor(), []
        exe.run(startup)
        for _ in range(7):
            exe.run(main, feed={"x": X}, fetch_list=[loss])
            got += [weights()] + (after(made, exe) if after else [])
        return got


if __name__ == "__main__":
    json.dump({name: values(name) for name in CASES}, sys.stdout, indent=0)
