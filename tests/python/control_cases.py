"""Nets with branches, loops and recurrence for Paddle 1.8, each with a loss. Run by real Paddle 1.8.5 this file writes what the
tests compare with: python control_cases.py > control_1x.json"""
import zlib

import numpy as np
import paddle.fluid as fluid

L = fluid.layers
X = np.array([[1., -2, .5], [-.3, .2, .1], [.7, .6, -1.1], [-.4, -.9, .2], [.25, .5, .75]], "float32")
STEPS = np.random.RandomState(3).randn(4, 2, 3).astype("float32")
STATE = np.random.RandomState(4).randn(2, 3).astype("float32")
RAGGED = np.random.RandomState(5).randn(6, 3).astype("float32")


def ragged(rows=RAGGED, lengths=(1, 3, 2)):
    return fluid.create_lod_tensor(rows, [list(lengths)], fluid.CPUPlace())


def given(name, shape, **more):
    var = L.data(name, list(shape), **more)
    var.stop_gradient = False
    return var


def fixed(name, shape):
    return given(name, shape, append_batch_size=False)


def cond():
    x, i = given("x", [3]), fixed("i", [1])
    h, zero = L.fc(x, 2), L.fill_constant([1], "float32", 0.)
    return L.mean(L.cond(L.less_than(i, zero), lambda: L.fc(h, 2, act="relu"), lambda: h * h))


def case():
    x = given("x", [3])
    a, b = L.fill_constant([1], "float32", .3), L.fill_constant([1], "float32", .1)
    first = L.case([(L.less_than(a, b), lambda: L.fc(x, 2)), (L.less_than(b, a), lambda: L.fc(x, 2, act="tanh"))],
                   default=lambda: L.fc(x, 2, act="relu"))
    index = L.fill_constant([1], "int32", 2)
    second = L.switch_case(index, {1: lambda: L.fc(x, 2), 2: lambda: L.scale(L.fc(x, 2), 3.)})
    return L.mean(first) + L.mean(second)


def ifelse():
    x = given("x", [3])
    zero = L.fill_constant_batch_size_like(x, [-1, 1], "float32", 0.)
    choice = L.IfElse(L.less_than(L.reduce_sum(x, 1, keep_dim=True), zero))
    with choice.true_block():
        choice.output(L.fc(choice.input(x), 2))
    with choice.false_block():
        choice.output(L.fc(choice.input(x), 2, act="tanh"))
    return L.mean(choice()[0])


def static_rnn():
    x, h0 = fixed("steps", [4, 2, 3]), fixed("state", [2, 3])
    net = L.StaticRNN()
    with net.step():
        word, before = net.step_input(x), net.memory(init=h0)
        now = L.fc([word, before], 3, act="tanh")
        net.update_memory(before, now)
        net.step_output(now)
    return L.mean(net())


def static_rnn_two():
    x = fixed("steps", [4, 2, 3])
    net = L.StaticRNN()
    with net.step():
        word = net.step_input(x)
        before = net.memory(shape=[-1, 3], batch_ref=x, ref_batch_dim_idx=1, init_value=0.3)
        now = L.fc(word, 3, act="tanh") + before
        net.update_memory(before, now)
        net.step_output(now)
        net.output(L.fc(now, 2))
    a, b = net()
    return L.mean(a) + L.mean(b)


def dynamic_rnn():
    x = given("ragged", [3], lod_level=1)
    net = L.DynamicRNN()
    with net.block():
        word, before = net.step_input(x), net.memory(shape=[3], value=0.)
        now = L.fc([word, before], 3, act="tanh")
        net.update_memory(before, now)
        net.output(now)
    return L.mean(L.sequence_last_step(net()))


def dynamic_rnn_static_input():
    x, e, h0 = given("ragged", [3], lod_level=1), given("three", [3]), given("init", [3])
    net = L.DynamicRNN()
    with net.block():
        word, same, before = net.step_input(x), net.static_input(e), net.memory(init=h0, need_reorder=True)
        now = L.fc([word, before, same], 3, act="tanh")
        net.update_memory(before, now)
        net.output(now, L.fc(now, 2))
    a, b = net()
    return L.mean(a) + L.mean(b)


def cells():
    x, length = fixed("batch", [2, 4, 3]), L.data("length", [2], append_batch_size=False, dtype="int64")
    out, last = L.rnn(L.GRUCell(hidden_size=2), x, sequence_length=length)
    more, (hidden, cell) = L.rnn(L.LSTMCell(hidden_size=2), x)
    return L.mean(out * out) + L.mean(last) + L.mean(more) + L.mean(hidden) + L.mean(cell)


def basic():
    from paddle.fluid.contrib.layers import basic_gru, basic_lstm
    x, length = fixed("batch", [2, 4, 3]), L.data("length", [2], append_batch_size=False, dtype="int64")
    out, last = basic_gru(x, None, 2, num_layers=2, sequence_length=length)
    more, hidden, cell = basic_lstm(x, None, None, 2, num_layers=2)
    return L.mean(out * out) + L.mean(last) + L.mean(more) + L.mean(hidden) + L.mean(cell)


def lstm_unit():
    x, h, c = given("x", [3]), given("hidden", [2]), given("cell", [2])
    hidden, cell = L.lstm_unit(x, h, c, forget_bias=.5)
    return L.mean(hidden * hidden) + L.mean(cell)


def lstmp():
    x = given("wide", [8], lod_level=1)
    a, _ = L.dynamic_lstmp(x, 8, 3)
    b, _ = L.dynamic_lstmp(x, 8, 3, is_reverse=True, use_peepholes=False, cell_clip=.3, proj_clip=.08,
                           proj_activation="identity")
    return L.mean(a * a) + L.mean(b * b)


FEEDS = {"x": X, "i": np.array([-1.], "float32"), "steps": STEPS, "state": STATE, "three": X[:3], "init": X[2:],
         "batch": STEPS.transpose(1, 0, 2).copy(), "length": np.array([4, 2]), "hidden": X[:, :2].copy(),
         "cell": X[:, 1:].copy()}
CASES = [cond, case, ifelse, static_rnn, static_rnn_two, dynamic_rnn, dynamic_rnn_static_input, cells, basic, lstm_unit, lstmp]


def feed_of(name, case):
    if name == "ragged":
        return ragged()
    if name == "wide":
        return ragged(np.random.RandomState(6).randn(6, 8).astype("float32"))
    return np.array([1.], "float32") if name == "i" and case == "other" else FEEDS[name]


def shown(program):
    """A line a block: op types, each with a sum over the names of its slots and variables; lists that Fluid makes of sets
    are sorted."""
    def text(op):
        names = [sorted((s, sorted(get(s))) for s in slots)
                 for get, slots in ((op.input, op.input_names), (op.output, op.output_names))]
        return "%s:%04x" % (op.type, zlib.crc32(repr(names).encode()) & 0xffff)

    return [" ".join(text(op) for op in block.ops) for block in program.blocks]


def values(build, which="one"):
    """{name: numbers} of the loss and of the gradients of inputs and parameters, and the program."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        loss = build()
        fluid.backward.append_backward(loss)
    block = main.global_block()
    parameters = [p.name for p in block.all_parameters()]
    feeds = [name for name in list(FEEDS) + ["ragged", "wide"] if name in block.vars]
    names = [loss.name] + sorted(n + "@GRAD" for n in parameters + feeds if n + "@GRAD" in block.vars)
    scope, exe = fluid.Scope(), fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(scope):
        exe.run(startup)
        for p in block.all_parameters():
            r = np.random.RandomState(zlib.crc32(p.name.encode()) % 1000)
            scope.find_var(p.name).get_tensor().set(r.uniform(-1, 1, p.shape).astype("float32"), fluid.CPUPlace())
        got = exe.run(main, feed={n: feed_of(n, which) for n in feeds}, fetch_list=names, return_numpy=False)
    return {n: np.array(v).reshape(-1).tolist() for n, v in zip(names, got)}, shown(main)


if __name__ == "__main__":
    import json
    out = {}
    for build in CASES:
        got, program = values(build)
        out[build.__name__] = {"values": {n: [round(x, 6) for x in v] for n, v in got.items()}, "program": program}
    out["cond other"] = {"values": {n: [round(x, 6) for x in v] for n, v in values(cond, "other")[0].items()}}
    print(json.dumps(out, separators=(",", ":")).replace('],"', '],\n"').replace('","', '",\n"'))
