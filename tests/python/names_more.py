"""Averages of weights, L-BFGS, graphs, paths of tags, frames, matrices of derivatives, rates as functions: what Paddle 2.6 gives.

    python tests/python/names_more.py tests/python/names_more.json     # with real Paddle 2.6.2
"""
import json
import sys

import numpy as np
import paddle

X = np.arange(12).reshape(4, 3).astype("float32") / 6 - 1
Y = np.arange(8).reshape(4, 2).astype("float32") / 4
RATES = (("noam_decay", (64, 10, 2.0)), ("exponential_decay", (0.1, 3, 0.5)), ("natural_exp_decay", (0.1, 3, 0.5)),
         ("inverse_time_decay", (0.1, 3, 0.5)), ("polynomial_decay", (0.1, 5, 0.01, 2.0)),
         ("piecewise_decay", ([2, 4], [0.1, 0.05, 0.01])), ("cosine_decay", (0.1, 2, 5)))


def whole(values, dtype="int64"):
    return paddle.to_tensor(values, dtype=dtype)


def linear():
    layer = paddle.nn.Linear(3, 2)
    layer.weight.set_value(np.arange(6).reshape(3, 2).astype("float32") / 10)
    layer.bias.set_value(np.zeros(2, "float32"))
    return layer


def loss_of(layer):
    return ((layer(paddle.to_tensor(X)) - paddle.to_tensor(Y)) ** 2).mean()


def averages(out):
    for name in ("look_ahead", "average"):
        layer = linear()
        inner = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
        outer = paddle.incubate.LookAhead(inner, alpha=0.3, k=2) if name == "look_ahead" else paddle.incubate.ModelAverage(
            0.5, parameters=layer.parameters(), min_average_window=2, max_average_window=3)
        for _ in range(5):
            loss_of(layer).backward()
            if name == "average":
                inner.step()
            outer.step()
            inner.clear_grad()
        out[name] = layer.weight.tolist()
        if name == "average":
            with outer.apply():
                out["average_applied"] = layer.weight.tolist()
            out["average_restored"] = layer.weight.tolist()


def lbfgs(out):
    for search in (None, "strong_wolfe"):
        layer = linear()
        optimizer = paddle.optimizer.LBFGS(learning_rate=0.5, max_iter=3, line_search_fn=search, parameters=layer.parameters())

        def closure():
            loss = loss_of(layer)
            optimizer.clear_grad()
            loss.backward()
            return loss

        losses = [float(optimizer.step(closure)) for _ in range(3)] + [float(closure())]
        out["lbfgs_%s" % search] = [losses, layer.weight.tolist()]
    target, weight = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([1.0, 3.0])
    for name in ("minimize_bfgs", "minimize_lbfgs"):
        found = getattr(paddle.incubate.optimizer.functional, name)(lambda x: ((x - target) ** 2 * weight).sum(),
                                                                     paddle.to_tensor([5.0, 5.0]))
        out[name] = [bool(found[0]), found[2].tolist()]


def graphs(out):
    part = paddle.geometric
    nodes, first, second = whole([0, 1, 2]), whole([8, 9, 0, 4, 7, 6, 7]), whole([0, 2, 3, 5, 1])
    counts = [whole([2, 3, 2], "int32"), whole([1, 3, 1], "int32")]
    out["reindex"] = [v.tolist() for v in part.reindex_graph(nodes, first, counts[0])]
    out["reindex_heter"] = [v.tolist() for v in part.reindex_heter_graph(nodes, [first, second], counts)]
    row, column = whole([3, 7, 0, 9, 1, 4, 2, 9, 3, 9, 1, 9, 7]), whole([0, 2, 4, 5, 6, 7, 9, 11, 11, 13, 13])
    out["neighbors"] = [v.tolist() for v in part.sample_neighbors(row, column, whole([0, 8, 1, 2]), 5)]
    x = paddle.to_tensor([[0, 2, 3], [1, 4, 5], [2, 6, 7]], dtype="float32", stop_gradient=False)
    y = paddle.to_tensor([1.0, 2, 3, 4], stop_gradient=False)
    source, target = whole([0, 1, 2, 0]), whole([1, 2, 1, 0])
    for message, how in (("add", "sum"), ("mul", "mean"), ("div", "max"), ("sub", "min")):
        x.clear_grad(), y.clear_grad()
        got = part.send_ue_recv(x, y, source, target, message, how)
        (got * paddle.arange(9, dtype="float32").reshape([3, 3])).sum().backward()
        out["send_ue_recv_" + message] = [got.tolist(), x.grad.tolist(), y.grad.tolist()]
    out["send_uv"] = part.send_uv(x, x, source, target, "mul").tolist()


def sequences(out):
    scores = paddle.to_tensor(np.random.RandomState(0).rand(2, 4, 3).astype("float32"))
    moves = paddle.to_tensor(np.random.RandomState(1).rand(3, 3).astype("float32"))
    for ends in (False, True):
        out["viterbi_%s" % ends] = [v.tolist() for v in paddle.text.viterbi_decode(scores, moves, whole([3, 4]), ends)]
    ids = whole([[[2, 2], [6, 1]], [[3, 9], [6, 1]], [[0, 1], [9, 0]]])
    parents = whole([[[0, 0], [1, 1]], [[1, 0], [1, 0]], [[0, 0], [0, 1]]])
    out["gather_tree"] = paddle.nn.functional.gather_tree(ids, parents).tolist()
    frames = paddle.arange(32, dtype="float32").reshape([4, 4, 2, 1])
    out["temporal_shift"] = paddle.nn.functional.temporal_shift(frames, 2, 0.25).tolist()


def derivatives(out):
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    out["jacobian"] = paddle.incubate.autograd.Jacobian(paddle.matmul, [x, x])[:, :].tolist()
    out["hessian"] = paddle.incubate.autograd.Hessian(lambda v: (v * v * v).sum(), paddle.to_tensor([1.0, 2.0]))[:].tolist()


def rates(out):
    for name, arguments in RATES:
        schedule, found = getattr(paddle.optimizer.lr, name)(*arguments), []
        for _ in range(6):
            found.append(schedule())
            schedule.step()
        out["eager_" + name] = found
    paddle.enable_static()
    executor = paddle.static.Executor()
    for name, arguments in RATES + (("linear_lr_warmup", (0.1, 3, 0.0, 0.1)),):
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup):
            rate = getattr(paddle.optimizer.lr, name)(*arguments)
        executor.run(startup)
        out["static_" + name] = [float(executor.run(main, fetch_list=[rate])[0].ravel()[0]) for _ in range(6)]
    weight_norm(out, executor)
    paddle.disable_static()


def weight_norm(out, executor):
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        x = paddle.static.data("x", [3, 4], "float32")
        fill = paddle.nn.initializer.Assign(np.arange(1, 9).reshape(4, 2).astype("float32"))
        attr = paddle.static.WeightNormParamAttr(name="norm_w", initializer=fill)
        y = paddle.static.nn.fc(x, 2, weight_attr=attr, bias_attr=False)
        loss = (y * y).mean()
        paddle.optimizer.SGD(0.01).minimize(loss)
    executor.run(startup)
    feed = {"x": (np.arange(12).reshape(3, 4) / 5).astype("float32")}
    out["weight_norm"] = [float(executor.run(main, feed=feed, fetch_list=[loss])[0]) for _ in range(3)]


def compute():
    out = {}
    for part in (averages, lbfgs, graphs, sequences, derivatives, rates):
        part(out)
    return out


if __name__ == "__main__":
    with open(sys.argv[1], "w") as to:
        json.dump(compute(), to, separators=(",", ":"))
        to.write("\n")
