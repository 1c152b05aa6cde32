"""Details of eager mode: run by real 2.6.2 once (eager_details.json), and by test_eager_details.py."""
import io
import itertools
import json
import time

import numpy as np
import paddle
from paddle.autograd import PyLayer
from paddle.io import DataLoader, Dataset, IterableDataset

#: what Paddle prints before anything else was called
PRINTED = [str(paddle.float32), repr(paddle.bfloat16), "%s" % paddle.bool, str([paddle.uint8]), "{}".format(paddle.int64)]
INF, NAN = float("inf"), float("nan")


def leaf(*values):
    return paddle.to_tensor(list(values), dtype="float32", stop_gradient=False)


def tidy(value):
    """Tensors as [shape, type, values], arrays as lists."""
    if isinstance(value, paddle.Tensor):
        return [value.shape, str(value.dtype), value.stop_gradient, value.astype("float64").numpy().ravel().tolist()]
    if isinstance(value, dict):
        return {key: tidy(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [tidy(item) for item in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def halves():
    a = paddle.to_tensor([1.5, 2.0, -3.25, 999424.0, 0.0], dtype="bfloat16")
    return [a[0].item(), float(a[1]), int(a[2]), a.item(3), a.reshape([5, 1]).item(2, 0), bool(a[0]), bool(a[4]), [10, 20, 30][a[1]],
            a.tolist(), (a[0] == 1.5).item(), (a != a).tolist(), paddle.equal(a, a.astype("float32").astype("bfloat16")).tolist()]


def doubles():
    given = [0.9, [0.7], [[0.1, 2]], [np.float64(0.3)], [np.array(0.3)], [paddle.to_tensor(0.3, dtype="float64")], np.float64(0.9),
             np.array([0.9])]
    return [[paddle.to_tensor(v, dtype=d) for d in ("float64", None, "float32")] for v in given]


def equality():
    a = [1.2e-8, 1e-8, 0, 1, INF, -INF, INF, NAN, 3e-8, -1e-8]
    b = [1.1e-8, 0, 2e-8, 1.0000001, INF, -INF, -INF, NAN, 4.1e-8, 1e-8]
    out = []
    for dtype in ("float32", "float64"):
        x, y = paddle.to_tensor(a, dtype=dtype), paddle.to_tensor(b, dtype=dtype)
        out += [x == y, x != y, paddle.less_equal(x, y), paddle.greater_equal(x, y), x == 0, paddle.equal_all(x[:2], y[:2]),
                paddle.equal_all(x[4:6], y[4:6]), paddle.equal_all(x[7:8], y[7:8])]
    small = paddle.to_tensor([1e-9, 0.0, -1e-9])
    return out + [paddle.heaviside(small, paddle.to_tensor([0.25])), *paddle.frexp(paddle.to_tensor([1e-30, 0.0, 3.0]))]


def divisors():
    n = paddle.to_tensor
    pairs = [(n(12), n(20)), (n([12, 8]), n(20)), (n(-4), n([6, 0])), (n(0), n(0)), (n([[9]]), n([6, 12]))]
    return [[paddle.gcd(x, y), paddle.lcm(x, y)] for x, y in pairs]


def metrics():
    out = []
    for seed in range(3):
        rng = np.random.RandomState(seed)
        scores, labels = np.round(rng.rand(12), 1), rng.randint(0, 2, 12)
        for make in (paddle.metric.Precision, paddle.metric.Recall):
            metric = make()
            metric.update(scores, labels)
            metric.update(paddle.to_tensor(scores[:, None]), paddle.to_tensor(1 - labels[:, None]))
            out.append(float(metric.accumulate()))
    for score in (0.5, 0.49999, 0.50001, 1.5, 2.5, -0.5, 1.0):
        p, r = paddle.metric.Precision(), paddle.metric.Recall()
        p.update(np.array([score]), np.array([1]))
        r.update(np.array([score]), np.array([1]))
        out.append([int(n) for n in (p.tp, p.fp, r.tp, r.fn)])
    return out


def clips():
    out, free = [], paddle.create_parameter([3], "float32", attr=paddle.ParamAttr(need_clip=False))
    for clip in (paddle.nn.ClipGradByNorm(1.0), paddle.nn.ClipGradByGlobalNorm(1.0), paddle.nn.ClipGradByValue(0.5)):
        p = paddle.ones([2])
        out += [len(clip([(p, None)])), len(clip([])), len(clip([(free, None), (free, paddle.ones([3]))])),
                [[a.shape, b] for a, b in clip([(p, None), (p, paddle.ones([2]) * 3), (free, paddle.ones([3]) * 4), (free, None)])]]
    return out


def hooks(order, on_leaf):
    """r: retain_grads, h: a hook that doubles, n: one that only looks, x: one that is removed again."""
    a, seen = leaf(1.0, 2.0), []
    x = a if on_leaf else a * 1.0
    for letter in order:
        if letter == "r":
            x.retain_grads()
        elif letter == "n":
            x.register_hook(lambda g: seen.append([g.numpy().tolist(), g.stop_gradient]))
        elif letter == "h":
            x.register_hook(lambda g: g * 2)
        else:
            x.register_hook(lambda g: g * 100).remove()
    loss = (x * x * 3.0).sum()
    loss.backward(retain_graph=True)
    first = tidy([x.grad, a.grad])
    loss.backward()
    return first + [x.grad, a.grad, seen]


def in_grad():
    out = []
    for order in ("h", "rh", "r"):
        a = leaf(1.0, 2.0)
        x = a * 1.0
        for letter in order:
            x.retain_grads() if letter == "r" else x.register_hook(lambda g: g * 2)
        out += [paddle.grad((x * x).sum(), [x, a]), x.grad]
    return out


def packed(function, *shapes):
    """What an op saves, in order, as hooks see it, and the gradients with what they give back."""
    inputs = [paddle.to_tensor(np.arange(1, 1 + int(np.prod(s))).reshape(s).astype("float32") / 2, stop_gradient=False)
              for s in shapes]
    seen = []

    def pack(x):
        seen.append(["pack", x])
        return x.numpy()

    def unpack(array):
        seen.append(["unpack", array])
        return paddle.to_tensor(array) * 3

    with paddle.autograd.saved_tensors_hooks(pack, unpack):
        out = function(*inputs)
    out.sum().backward()
    return seen + [x.grad for x in inputs]


class Triple(PyLayer):
    seen = []

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 3

    @staticmethod
    def backward(ctx, grad):
        (x,), out = ctx.saved_tensor(), grad * 3
        Triple.seen += [grad.stop_gradient, x.stop_gradient, out.stop_gradient]
        return out


def flags():
    """stop_gradient of gradients and of results."""
    x, y = leaf(1.0, 2.0), paddle.to_tensor([3.0, 4.0])
    w = paddle.ones([2])
    z = x * y
    z.retain_grads()
    z.backward(w)
    own = leaf(1.0)
    Triple.apply(own).sum().backward()
    itself = leaf(1.0)
    itself.backward()
    made = [x.grad, z.grad, w, own.grad, itself.grad]
    for create in (False, True):
        made += paddle.grad((x * 2).sum(), [x], create_graph=create) + paddle.grad((x * y).sum(), [x], create_graph=create)
        made += paddle.grad(x, [x], create_graph=create)
    made += [paddle.topk(x, 1)[1], paddle.argsort(x), x.astype("int64"), paddle.argmax(x), x > 1, paddle.floor(x), x.detach()]
    made += [paddle.autograd.hessian((x * x).sum(), x)[:], paddle.autograd.jacobian(x * x, x)[:]]
    return [t.stop_gradient for t in made] + Triple.seen


def clearing():
    out = []
    for clear in (lambda x: x.clear_grad(), lambda x: x.clear_gradient(), lambda x: x.clear_gradient(False),
                  lambda x: x.clear_gradient(set_to_zero=False)):
        x = leaf(1.0, 2.0)
        (x * x).sum().backward()
        clear(x)
        out.append(x.grad)
    return out


def versions():
    x = paddle.ones([2, 2])
    out = [x.inplace_version]
    y = x.detach()
    linear, norm = paddle.nn.Linear(2, 2), paddle.nn.BatchNorm1D(2)
    sgd = paddle.optimizer.SGD(0.1, parameters=linear.parameters())
    norm(linear(x)).sum().backward()
    sgd.step()
    linear.set_state_dict(linear.state_dict())
    for change in (lambda: x.add_(paddle.ones([2, 2])), lambda: x.__setitem__(0, 3.0), x.zero_, lambda: x.fill_(3.0),
                   lambda: x.scale_(2.0), lambda: x.set_value(np.ones((2, 2), "float32")), x.exp_,
                   lambda: paddle.assign(paddle.ones([2, 2]), x), lambda: x.clip_(0, 1), x.uniform_,
                   lambda: x.copy_(paddle.ones([2, 2]), True), x._bump_inplace_version, lambda: x.reshape_([4])):
        change()
        out.append(x.inplace_version)
    return out + [t.inplace_version for t in (x.clone(), x + 1, y, linear.weight, linear.weight.grad, norm._mean)]


def overwritten():
    out = []
    for change in (lambda b, c: b.add_(paddle.ones([2])), lambda b, c: c.__setitem__(0, 1.0)):
        b = leaf(1.0, 2.0) * 2
        c = b.exp() * b.exp()
        d = c * c
        change(b, c)
        try:
            d.sum().backward()
            out.append("ran")
        except RuntimeError as error:
            out.append("received tensor_version:1 != wrapper_version_snapshot:0" in str(error))
    return out


def plateau():
    out = []
    for values in ((paddle.to_tensor(1.0), paddle.to_tensor([0.5]), np.float32(0.7), 0.6, np.array([0.65])), (1.0, 2.0), (leaf(3.0),)):
        schedule = paddle.optimizer.lr.ReduceOnPlateau(0.1, patience=1)
        for value in values:
            schedule.step(value)
        out += [json.loads(json.dumps(schedule.state_dict())), isinstance(schedule.best, paddle.Tensor), schedule.last_lr]
    return out


def buffers():
    buffer = io.BytesIO()
    for value in ([1, 2], paddle.ones([2]), {"x": paddle.zeros([1, 3]), "n": 7}, {"s": {"a": paddle.full([2], 5.0)}}):
        paddle.save(value, buffer)
    buffer.seek(0)
    out = [paddle.load(buffer), paddle.load(buffer, return_numpy=True), paddle.load(buffer)]
    where = buffer.tell()
    paddle.load(buffer)
    rest = len(buffer.read())
    buffer.seek(where)
    return out + [rest, paddle.load(buffer)]


def seeds(seed):
    """The seed of the default main program, which initializers and dropout take."""
    paddle.static.default_main_program().random_seed = seed
    try:
        paddle.seed(5)
        nn, init = paddle.nn, paddle.nn.initializer
        out = [nn.Linear(3, 4).weight, nn.Linear(3, 4).weight, nn.Conv2D(2, 3, 3).weight, nn.Embedding(5, 3).weight,
               nn.LSTM(2, 3).parameters()[0], paddle.create_parameter([2, 3], "float32")]
        for name in ("Uniform", "Normal", "TruncatedNormal", "XavierUniform", "XavierNormal", "KaimingUniform", "KaimingNormal",
                     "Orthogonal"):
            out.append(nn.Linear(3, 4, weight_attr=paddle.ParamAttr(initializer=getattr(init, name)())).weight)
        one = init.Uniform()
        out.append(paddle.create_parameter([3], "float32", default_initializer=one))
        paddle.static.default_main_program().random_seed = 3
        out.append(paddle.create_parameter([3], "float32", default_initializer=one))
        x = paddle.ones([2, 6])
        out += [nn.functional.dropout(x, 0.5), nn.Dropout(0.5)(x), nn.functional.alpha_dropout(x, 0.5), paddle.rand([3])]
        return [v.numpy().ravel()[:6].tolist() for v in out]
    finally:
        paddle.static.default_main_program().random_seed = 0


class Drawn(Dataset):
    """Rows of random numbers: which ones depends on when they are read."""

    def __init__(self, count):
        self.count, self.read = count, 0

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        self.read += 1
        return np.float32(np.random.randint(1000)), np.int64(i)


class Streamed(IterableDataset):
    def __init__(self, count):
        self.count, self.read = count, 0

    def __iter__(self):
        for i in range(self.count):
            self.read += 1
            yield np.float32(np.random.randint(1000)), np.int64(i)


def ahead(make, count, pause=0.0, **options):
    """What a loop that is left and begun again sees, with the reads so far. pause: for Paddle's thread to get where it waits."""
    np.random.seed(7)
    data, out = make(count), []
    loader = DataLoader(data, shuffle=make is Drawn, **options)
    for epoch in range(3):
        for i, batch in enumerate(loader()):
            time.sleep(pause)
            out.append([float(batch[0].numpy().ravel()[0]), data.read])
            if epoch == 1:
                out.append(float(np.random.randint(1000)))
            if i == 3:
                break
        batch = None
        time.sleep(pause)
        out.append(float(np.random.randint(1000)))
    return out


def generated(way, pyreader, returns_list, **options):
    """Loaders of generators: what they give, and how far they have read after the first batch."""
    made = {"read": 0}

    def samples():
        for i in range(12):
            made["read"] += 1
            yield np.full((2,), i, "float32"), np.int64(i)

    def batches():
        for i in range(9):
            made["read"] += 1
            yield paddle.full([2, 2], i), np.array([i, i])

    kind = paddle.base.io.PyReader if pyreader else paddle.base.io.DataLoader.from_generator
    loader = kind(capacity=2, return_list=returns_list, **options)
    given = {"sample": (samples, 2), "sample_list": (paddle.batch(samples, 3),), "batch": (batches,)}[way]
    getattr(loader, ("decorate_%s_generator" if pyreader else "set_%s_generator") % way)(*given)
    out = []
    for i, batch in enumerate(loader()):
        out.append([type(batch).__name__, [isinstance(v, paddle.Tensor) for v in batch], batch])
        if i == 0:
            time.sleep(PAUSE)
            out.append(made["read"])
    linear = paddle.nn.Linear(2, 1, weight_attr=paddle.nn.initializer.Constant(1.0))
    return out + [linear(batch[0])]


def static(run):
    """A case of static mode."""
    def case():
        paddle.enable_static()
        try:
            main, startup = paddle.static.Program(), paddle.static.Program()
            with paddle.static.program_guard(main, startup):
                return run(startup)
        finally:
            paddle.disable_static()
    return case


def fetches(startup):
    x = paddle.static.data("x", [2])
    y, z = x * 2, x + 3
    w = paddle.create_parameter([2], "float32", default_initializer=paddle.nn.initializer.Constant(1.0))
    loss = (w * x).sum()
    step = paddle.optimizer.SGD(0.1).minimize(loss)
    exe, out = paddle.static.Executor(), []
    exe.run(startup)
    for asked in ([(y,)], [[y, z]], [y, (z,)], ((y,),), [(y.name, z)], [()], [[]], [(y,), (z, y)], y, "x", None, [step], [loss, step],
                  [(loss,), step], [(y, (z,))], [(1,)]):
        try:
            out.append([v.tolist() for v in exe.run(feed={"x": np.ones(2, "float32")}, fetch_list=asked)])
        except TypeError as error:
            out.append(str(error)[:97])
    return out


def feeds(startup):
    class Rows(Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, i):
            return np.full((2,), i, "float32"), np.int64(i)

    x, y = paddle.static.data("x", [None, 2]), paddle.static.data("y", [None], "int64")
    total, exe, out = x.sum(), paddle.static.Executor(), []
    for returns_list, places, workers in itertools.product((True, False), (None, 1, 2), (0, 1)):
        loader = DataLoader(Rows(), feed_list=[x, y], places=places and paddle.static.cpu_places(places), return_list=returns_list,
                            num_workers=workers)
        for batch in loader:
            if not returns_list:
                out.append([[[name, np.array(value).tolist()] for name, value in sorted(feed.items())] for feed in batch])
                out += exe.run(feed=batch, fetch_list=[total]) if len(batch) == 1 else []
            else:
                out.append([[np.array(v).tolist() for v in one] for one in (batch if places == 2 else [batch])])
                out.append([isinstance(v, np.ndarray) for one in (batch if places == 2 else [batch]) for v in one])
    return out


PAUSE = 0.0
CASES = {"printed": lambda: PRINTED, "halves": halves, "doubles": doubles, "equality": equality, "divisors": divisors,
         "metrics": metrics, "clips": clips, "in grad": in_grad, "flags": flags, "clearing": clearing, "versions": versions,
         "overwritten": overwritten, "plateau": plateau, "buffers": buffers, "seeds 0": lambda: seeds(0),
         "seeds 90": lambda: seeds(90), "fetches": static(fetches), "feeds": static(feeds)}
for _order in ("r", "n", "h", "rh", "hr", "hh", "rhh", "hrh", "hhr", "rhr", "nrhn", "hrhr", "hnrhn", "rx", "xrh"):
    for _leaf in (False, True):
        CASES["hooks %s %d" % (_order, _leaf)] = lambda order=_order, on_leaf=_leaf: hooks(order, on_leaf)
_F = paddle.nn.functional
for _name, _function, _shapes in (
        ("multiply", paddle.multiply, ([2], [2])), ("add", paddle.add, ([2], [2])), ("matmul", paddle.matmul, ([2, 2], [2, 2])),
        ("exp", paddle.exp, ([2],)), ("relu", _F.relu, ([2],)), ("softmax", _F.softmax, ([2, 2],)), ("divide", paddle.divide, ([2], [2])),
        ("linear", _F.linear, ([2, 2], [2, 2], [2])), ("chain", lambda x: paddle.exp(x * x) * x, ([2],)),
        ("gather", lambda x: paddle.gather(x, paddle.to_tensor([0])), ([2, 2],)), ("max", paddle.max, ([2],)),
        ("constant", lambda x: x * paddle.to_tensor([5.0, 6.0]), ([2],)), ("norm", lambda x: _F.layer_norm(x, 2), ([2, 2],)),
        ("layer", lambda x: Triple.apply(x) * x, ([2],))):
    CASES["packed " + _name] = lambda function=_function, shapes=_shapes: packed(function, *shapes)
for _make in (Drawn, Streamed):
    for _i, _options in enumerate(({}, {"batch_size": 4}, {"batch_size": 4, "drop_last": True}, {"use_buffer_reader": False},
                                   {"prefetch_factor": 4, "batch_size": 2})):
        CASES["ahead %s %d" % (_make.__name__, _i)] = lambda make=_make, options=_options: ahead(make, 41, PAUSE, **options)
for _way, _reader, _list in itertools.product(("sample", "sample_list", "batch"), (False, True), (False, True)):
    CASES["generated %s %d %d" % (_way, _reader, _list)] = lambda *a, of=(_way, _reader, _list): generated(*of)
CASES["generated plain"] = lambda: generated("batch", False, True, use_double_buffer=False)
