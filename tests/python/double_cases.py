"""Training in float64 with every optimizer, in both modes; runs on Skiff and on real Paddle 2.6.2.

    python double_cases.py double_recorded.json     # on real Paddle: records anew
"""
import json
import os
import sys

import numpy as np
import paddle
import paddle.nn as nn

IDS = np.array([[1, 2], [2, 5], [6, 1]], "int64")
RULES = {
    "SGD": lambda **k: paddle.optimizer.SGD(**k),
    "SGD_l2": lambda **k: paddle.optimizer.SGD(weight_decay=0.01, **k),
    "Momentum": lambda **k: paddle.optimizer.Momentum(**k),
    "Momentum_nesterov": lambda **k: paddle.optimizer.Momentum(use_nesterov=True, **k),
    "Momentum_l2": lambda **k: paddle.optimizer.Momentum(weight_decay=0.01, **k),
    "Adagrad": lambda **k: paddle.optimizer.Adagrad(**k),
    "Adadelta": lambda **k: paddle.optimizer.Adadelta(**k),
    "RMSProp": lambda **k: paddle.optimizer.RMSProp(**k),
    "RMSProp_centered": lambda **k: paddle.optimizer.RMSProp(centered=True, momentum=0.5, **k),
    "Adam": lambda **k: paddle.optimizer.Adam(**k),
    "Adam_lazy": lambda **k: paddle.optimizer.Adam(lazy_mode=True, **k),
    "Adam_l1": lambda **k: paddle.optimizer.Adam(weight_decay=paddle.regularizer.L1Decay(0.01), **k),
    "Adam_clip": lambda **k: paddle.optimizer.Adam(grad_clip=nn.ClipGradByGlobalNorm(0.1), **k),
    "AdamW": lambda **k: paddle.optimizer.AdamW(**k),
    "Adamax": lambda **k: paddle.optimizer.Adamax(**k),
    "Lamb": lambda **k: paddle.optimizer.Lamb(**k),
}
# Real Paddle crashes with rows here, or refuses them.
DENSE_ONLY = ("Adadelta", "AdamW", "Adamax", "Adam_l1")


def start(seed, *shape):
    return paddle.ParamAttr(initializer=nn.initializer.Assign(np.random.RandomState(seed).standard_normal(shape)))


class Net(nn.Layer):
    def __init__(self, sparse):
        super().__init__()
        self.table = nn.Embedding(7, 3, sparse=sparse, weight_attr=start(1, 7, 3))
        self.fc = nn.Linear(3, 2, weight_attr=start(2, 3, 2), bias_attr=start(3, 2))

    def forward(self, ids):
        return (self.fc(self.table(ids)) ** 2).mean()


def eager(rule, sparse):
    net = Net(sparse)
    optimizer = RULES[rule](learning_rate=0.05, parameters=net.parameters())
    for _ in range(3):
        loss = net(paddle.to_tensor(IDS))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return [loss.item()] + [p.numpy().tolist() for p in net.parameters()]


def static(rule, sparse):
    paddle.enable_static()
    try:
        main, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
        with paddle.static.program_guard(main, startup):
            net = Net(sparse)
            loss = net(paddle.static.data("ids", [-1, 2], "int64"))
            RULES[rule](learning_rate=0.05).minimize(loss)
        exe = paddle.static.Executor(paddle.CPUPlace())
        with paddle.static.scope_guard(scope):
            exe.run(startup)
            for _ in range(3):
                value = exe.run(main, feed={"ids": IDS}, fetch_list=[loss])[0]
            return [float(value)] + [np.array(scope.find_var(p.name).get_tensor()).tolist() for p in net.parameters()]
    finally:
        paddle.disable_static()


def cases():
    """(name, function, rule, sparse)"""
    return [("%s.%s.%s" % (mode.__name__, rule, "rows" if sparse else "dense"), mode, rule, sparse)
            for rule in RULES for sparse in (False, True) for mode in (eager, static)
            if not (sparse and rule in DENSE_ONLY)]


def record(path):
    out = {name: mode(rule, sparse) for name, mode, rule, sparse in cases()}
    with open(path, "w") as file:
        file.write("{\n" + ",\n".join("%s: %s" % (json.dumps(name), json.dumps(value)) for name, value in out.items()) + "\n}\n")


if __name__ == "__main__":
    paddle.set_default_dtype("float64")
    record(os.path.abspath(sys.argv[1]))
