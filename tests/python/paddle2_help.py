"""Small helpers of the tests of paddle 2.x; every one also runs on Paddle 2.6.2, where the recorded values come from."""
import contextlib

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

paddle.enable_static()


@contextlib.contextmanager
def fresh():
    """New default programs, names and scope; gives (main, startup)."""
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard(), \
            paddle.static.scope_guard(paddle.static.Scope()):
        yield main, startup


def inputs():
    """The variables that expressions of paddle2_ops.json are written with."""
    data = paddle.static.data
    e = dict(paddle=paddle, nn=nn, F=F, opt=paddle.optimizer, np=np)
    for name, shape, dtype in (("x", [None, 3, 4], None), ("y", [None, 3, 4], None), ("m", [None, 3], None),
                               ("sm", [None, 3], None), ("ids", [None, 1], "int64"), ("lab", [None, 1], "int64"),
                               ("labf", [None, 1], "float32"), ("b", [None, 3, 4], "bool"), ("i", [None, 3, 4], "int64"),
                               ("v", [5], None), ("iv", [2], "int64"), ("p1", [None, 1], None),
                               ("img", [None, 2, 6, 6], None), ("w", [10, 4], None)):
        e[name] = data(name, shape, dtype)
    e["seq"] = data("seq", [None, 4], "float32", 1)

    def loss(lr=None, frozen=False):
        first = nn.Linear(3, 2, weight_attr=paddle.ParamAttr(learning_rate=lr) if lr else None)
        h = first(e["m"])
        if frozen:
            first.weight.trainable = False
            first.weight.stop_gradient = True
        return paddle.mean(nn.Linear(2, 1)(h))

    def lossreg():
        decay = paddle.regularizer.L2Decay(0.01)
        return paddle.mean(nn.Linear(3, 2, weight_attr=paddle.ParamAttr(regularizer=decay))(e["m"]))

    e.update(loss=loss, lossreg=lossreg)
    return e


def feeds():
    """Values for inputs()."""
    rng = np.random.RandomState(3)
    f = {name: rng.uniform(0.1, 0.9, shape).astype("float32") for name, shape in
         (("x", (2, 3, 4)), ("y", (2, 3, 4)), ("m", (2, 3)), ("sm", (2, 3)), ("v", (5,)), ("p1", (2, 1)),
          ("img", (2, 2, 6, 6)), ("w", (10, 4)), ("seq", (2, 4)))}
    f["ids"], f["lab"], f["iv"] = np.array([[3], [7]]), np.array([[1], [0]]), np.array([1, 0])
    f["labf"] = f["lab"].astype("float32")
    f["b"], f["i"] = f["x"] > 0.5, rng.randint(1, 9, (2, 3, 4))
    return f


def evaluate(expression):
    """The results of an expression over inputs(), fed with feeds(): flat lists of numbers; None: not a value."""
    paddle.seed(11)
    with fresh() as (main, startup):
        got = eval(expression, inputs())
        got = [g for g in (got if isinstance(got, (list, tuple)) else [got])]
        if not all(hasattr(g, "block") for g in got):
            return None
        exe = paddle.static.Executor(paddle.CPUPlace())
        exe.run(startup)
        out = exe.run(main, feed=feeds(), fetch_list=got)
    return [np.asarray(o, "float64").ravel().tolist() for o in out]


def values(build, feed=None, seed=None):
    """What build() gives (a Variable or a list of them), computed."""
    if seed is not None:
        paddle.seed(seed)
    with fresh() as (main, startup):
        wanted = build()
        several = isinstance(wanted, (list, tuple))
        exe = paddle.static.Executor(paddle.CPUPlace())
        exe.run(startup)
        got = exe.run(main, feed=feed or {}, fetch_list=list(wanted) if several else [wanted])
    return got if several else got[0]


class Net(nn.Layer):
    """Embeddings, two dense layers, dropout-free: as PaddleRec's rank models are."""

    def __init__(self, slots=3, rows=50, width=4):
        super(Net, self).__init__()
        self.table = nn.Embedding(rows, width, sparse=True,
                                  weight_attr=paddle.ParamAttr(name="table", initializer=nn.initializer.Uniform()))
        self.first = nn.Linear(slots * width + 2, 8, weight_attr=paddle.ParamAttr(
            initializer=nn.initializer.Normal(std=0.3)))
        self.act = nn.ReLU()
        self.last = nn.Linear(8, 2, weight_attr=paddle.ParamAttr(initializer=nn.initializer.TruncatedNormal(std=0.5)))

    def forward(self, slots, dense):
        parts = [paddle.reshape(self.table(s), [-1, 4]) for s in slots]
        return self.last(self.act(self.first(paddle.concat(parts + [dense], axis=1))))


def click_model(optimizer):
    """(feeds, loss, auc, batch auc, states); minimized."""
    slots = [paddle.static.data("s%d" % i, [None, 1], "int64") for i in range(3)]
    dense = paddle.static.data("dense", [None, 2], "float32")
    label = paddle.static.data("label", [None, 1], "int64")
    logits = Net()(slots, dense)
    auc, batch_auc, states = paddle.static.auc(F.softmax(logits), label, num_thresholds=2**12 - 1, slide_steps=20)
    loss = paddle.mean(F.cross_entropy(logits, label))
    optimizer.minimize(loss)
    return slots + [dense, label], loss, auc, batch_auc, states


def click_batches(n=12, size=16):
    rng = np.random.RandomState(5)
    for _ in range(n):
        feed = {"s%d" % i: rng.randint(0, 50, (size, 1)).astype("int64") for i in range(3)}
        feed["dense"] = rng.rand(size, 2).astype("float32")
        feed["label"] = ((feed["s0"] % 2 + (feed["dense"][:, :1] > 0.5)) > 1).astype("int64")
        yield feed


def train(make_optimizer, seed=7):
    """Losses of the batches, the last AUC."""
    paddle.seed(seed)
    with fresh() as (main, startup):
        _, loss, auc, _, _ = click_model(make_optimizer())
        exe = paddle.static.Executor(paddle.CPUPlace())
        exe.run(startup)
        got = [exe.run(main, feed=feed, fetch_list=[loss, auc]) for feed in click_batches()]
    return [float(g[0]) for g in got], float(got[-1][1])


OPTIMIZERS = {
    "SGD": lambda: paddle.optimizer.SGD(0.5),
    "Momentum": lambda: paddle.optimizer.Momentum(0.1, 0.9),
    "Adam": lambda: paddle.optimizer.Adam(0.05),
    "Adam lazy": lambda: paddle.optimizer.Adam(0.05, lazy_mode=True),
    "Adam decay": lambda: paddle.optimizer.Adam(0.05, weight_decay=0.01),
    "Adam L1": lambda: paddle.optimizer.Adam(0.05, weight_decay=paddle.regularizer.L1Decay(0.01)),
    "Lamb": lambda: paddle.optimizer.Lamb(0.05),
    "Adagrad": lambda: paddle.optimizer.Adagrad(0.1),
    "RMSProp": lambda: paddle.optimizer.RMSProp(0.02),
    "clip": lambda: paddle.optimizer.SGD(0.5, grad_clip=nn.ClipGradByGlobalNorm(0.1)),
}

if __name__ == "__main__":  # on Paddle 2.6.2: prints what test_paddle2_run.py holds
    for name, make in OPTIMIZERS.items():
        losses, auc = train(make)
        print("    %r: (%s, %.6f)," % (name, ["%.5f" % v for v in (losses[0], losses[1], losses[5], losses[-1])], auc))
