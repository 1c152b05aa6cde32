"""Branches, loops and recurrent layers of Paddle 2 in static mode. Run by real Paddle 2.6.2 this file writes what the tests compare
with: python control2_cases.py > control_2x.json"""
import zlib

import numpy as np
import paddle
from paddle import nn, static

R = np.random.RandomState(5)
FEEDS = {"x": R.randn(3, 5, 3).astype("float32"), "length": np.array([5, 2, 3]), "h": R.randn(1, 3, 4).astype("float32"),
         "c": R.randn(1, 3, 4).astype("float32"), "i": np.array([2]), "v": np.array([1., -2., .5], "float32")}


def data(name):
    var = static.data(name, {"x": [None, 5, 3], "length": [None], "i": [1], "v": [3]}.get(name, [1, None, 4]),
                      str(FEEDS[name].dtype))
    var.stop_gradient = name in ("length", "i")
    return var


def gru_both_ways():
    layer = nn.GRU(3, 4, 2, direction="bidirect")
    return layer, layer(data("x"), None, data("length"))


def gru():
    layer = nn.GRU(3, 4)
    return layer, layer(data("x"), data("h"))


def lstm_two_layers():
    layer = nn.LSTM(3, 4, 2)
    return layer, layer(data("x"), None, data("length"))


def lstm_time_major():
    layer = nn.LSTM(3, 4, time_major=True)
    return layer, layer(paddle.transpose(data("x"), [1, 0, 2]), (data("h"), data("c")))


def simple():
    layer = nn.SimpleRNN(3, 4, activation="relu")
    return layer, layer(data("x"), data("h"))


def rnn_of_gru_cells():
    layer = nn.RNN(nn.GRUCell(3, 4))
    return layer, layer(data("x"), None, data("length"))


def rnn_backwards():
    layer = nn.RNN(nn.LSTMCell(3, 4), is_reverse=True)
    return layer, layer(data("x"), None, data("length"))


def birnn():
    layer = nn.BiRNN(nn.SimpleRNNCell(3, 4), nn.SimpleRNNCell(3, 4))
    return layer, layer(data("x"), None, data("length"))


def cell_without_bias():
    layer = nn.GRUCell(3, 4, bias_ih_attr=False)
    return layer, layer(data("x")[:, 0])


def cond():
    v, layer = data("v"), nn.Linear(3, 2)
    h = layer(paddle.reshape(v, [1, 3]))
    return layer, static.nn.cond(paddle.sum(data("i")) > 1, lambda: paddle.tanh(h), lambda: h * h)


def choices():
    v, i, layer = data("v"), data("i"), nn.Linear(3, 2)
    h = layer(paddle.reshape(v, [1, 3]))
    one = static.nn.switch_case(i, {1: lambda: h * 5, 2: lambda: paddle.tanh(h)}, default=lambda: h)
    return layer, [one, static.nn.case([(paddle.sum(v) > 0, lambda: h * 7), (paddle.sum(v) < 0, lambda: h * h)])]


def loop():
    v, i, layer = data("v"), paddle.full([1], 0, "int64"), nn.Linear(3, 3)
    y = layer(paddle.reshape(v, [1, 3]))
    return layer, static.nn.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, paddle.tanh(layer(y))], [i, y])[1]


CASES = [gru_both_ways, gru, lstm_two_layers, lstm_time_major, simple, rnn_of_gru_cells, rnn_backwards, birnn,
         cell_without_bias, cond, choices, loop]


def flat(value):
    return [y for x in value for y in flat(x)] if isinstance(value, (list, tuple)) else [value]


def values(build):
    """The parameters' names, and the values of the outputs and of the gradients of the first input and the parameters."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), paddle.utils.unique_name.guard():
        layer, out = build()
        outs = flat(out)
        loss = paddle.add_n([paddle.mean(o * o) * (i + 1) for i, o in enumerate(outs)])
        block = main.global_block()
        feeds = [name for name in FEEDS if block.has_var(name)]
        wanted = [block.var("x" if "x" in feeds else "v")] + [p for p in layer.parameters() if not p.stop_gradient]
        grads = static.gradients(loss, wanted)
    exe, scope = static.Executor(), static.Scope()
    with static.scope_guard(scope):
        exe.run(startup)
        for p in layer.parameters():
            r = np.random.RandomState(zlib.crc32(p.name.encode()) % 1000)
            scope.find_var(p.name).get_tensor().set(r.uniform(-.5, .5, p.shape).astype("float32"), paddle.CPUPlace())
        got = exe.run(main, feed={name: FEEDS[name] for name in feeds}, fetch_list=outs + grads)
    names = [[key, p.name, list(p.shape)] for key, p in layer.named_parameters()]
    return names, [np.asarray(v).reshape(-1).tolist() for v in got]


if __name__ == "__main__":
    import json
    paddle.enable_static()
    out = {}
    for build in CASES:
        names, got = values(build)
        out[build.__name__] = {"names": names, "values": [[round(x, 6) for x in v] for v in got]}
    print(json.dumps(out, separators=(",", ":")).replace("],[", "],\n["))
