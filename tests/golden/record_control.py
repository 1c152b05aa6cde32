"""Records the cases of ops_control.tar.xz on real Paddle 1.8.5 (and assert on 2.6.2), in the form of docs/guide/record.md: ops that run
blocks, and those between them.

    PYTHONPATH=tools python tests/golden/record_control.py ops_control      # with each of the two
    tar --sort=name --owner=0 --group=0 --mtime=2026-01-01 -cJf tests/golden/ops_control.tar.xz ops_control
"""
import os
import sys

import numpy as np
import record_paddle
from record_paddle import base, record

OUT = sys.argv[1]
FEED = {}


def floats(seed, *shape):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype("float32")


def ragged(array, *lengths):
    return base.create_lod_tensor(array, [list(lengths)], base.CPUPlace())


def given(name, value):
    """A fed variable with a gradient."""
    array = np.array(value)
    lod = 0 if isinstance(value, np.ndarray) else len(value.recursive_sequence_lengths())
    var = L.data(name, ([-1] if lod else [array.shape[0]]) + list(array.shape[1:]), dtype=array.dtype.name,
                 append_batch_size=False, lod_level=lod)
    var.stop_gradient = array.dtype.kind != "f"
    FEED[name] = value
    return var


def rows():
    return given("x", floats(1, 4, 3))


def sequences():
    return given("s", ragged(floats(2, 6, 2), 1, 3, 2))


def cond(sign):
    x, i = rows(), given("i", np.array([sign], "float32"))
    return L.cond(L.less_than(i, L.fill_constant([1], "float32", 0.)), lambda: L.tanh(x), lambda: x * x)


def if_else():
    x = rows()
    choice = L.IfElse(L.less_than(L.reduce_sum(x, 1, keep_dim=True),
                                  L.fill_constant_batch_size_like(x, [-1, 1], "float32", 0.)))
    with choice.true_block():
        choice.output(L.tanh(choice.input(x)))
    with choice.false_block():
        choice.output(L.scale(choice.input(x), 3.))
    return choice()[0]


def split_and_merge():
    s, mask = sequences(), given("mask", np.array([[True], [False], [True]]))
    yes, no = control_flow.split_lod_tensor(s, mask)
    return control_flow.merge_lod_tensor(L.tanh(yes), L.scale(no, 2.), s, mask)


def recurrent(reverse=False):
    x, h = given("steps", floats(3, 4, 2, 3)), given("h", floats(4, 2, 3))
    net = L.StaticRNN()
    with net.step():
        word, before = net.step_input(x), net.memory(init=h)
        now = L.tanh(word + before * before)
        net.update_memory(before, now)
        net.step_output(now)
    if reverse:
        base.default_main_program().global_block().ops[-1]._set_attr("reverse", True)
    return net()


def dynamic_rnn():
    s, same, h = sequences(), given("same", floats(5, 3, 2)), given("h", floats(6, 3, 2))
    net = L.DynamicRNN()
    with net.block():
        word, e, before = net.step_input(s), net.static_input(same), net.memory(init=h, need_reorder=True)
        now = L.tanh(word + before * e)
        net.update_memory(before, now)
        net.output(now)
    return net()


def two_levels():
    """Steps of the upper level are sequences of the lower one."""
    t = base.create_lod_tensor(floats(7, 6, 2), [[2, 1], [1, 3, 2]], base.CPUPlace())
    s = given("s", t)
    table = control_flow.lod_rank_table(s)
    array = control_flow.lod_tensor_to_array(s, table)
    return control_flow.array_to_lod_tensor(array, table)


def numbers():
    x = rows()
    i = L.fill_constant([1], "int64", 2)
    array = L.array_write(x, i)
    return [L.array_length(array), L.is_empty(x)]


def lstm_unit():
    x, c = given("gates", floats(8, 3, 8)), given("c", floats(9, 3, 2))
    helper = base.layer_helper.LayerHelper("lstm_unit")
    cell, hidden = (helper.create_variable_for_type_inference("float32") for _ in range(2))
    helper.append_op(type="lstm_unit", inputs={"X": x, "C_prev": c}, outputs={"C": cell, "H": hidden},
                     attrs={"forget_bias": 0.5})
    return L.concat([cell, hidden], 1)


def lstmp(**more):
    x = given("wide", ragged(floats(10, 6, 8), 1, 3, 2))
    return L.dynamic_lstmp(x, 8, 3, **more)[0]


def asserted():
    x = paddle.static.data("x", [2])
    FEED["x"] = np.array([1., 2.], "float32")
    paddle.static.nn.control_flow.Assert(paddle.sum(x) > 0, [x])
    return [paddle.is_empty(x), x + 1]


if record_paddle.IS_1X:
    L = base.layers
    from paddle.fluid.layers import control_flow
    CASES = {
        "conditional_block/taken": lambda: cond(-1.), "conditional_block/not_taken": lambda: cond(1.),
        "conditional_block/if_else": if_else, "split_lod_tensor/sequences": split_and_merge, "recurrent/steps": recurrent,
        "recurrent/reverse": lambda: recurrent(True), "shrink_rnn_memory/dynamic_rnn": dynamic_rnn,
        "lod_tensor_to_array/two_levels": two_levels, "lod_array_length/numbers": numbers,
        "print/passes": lambda: L.Print(rows(), first_n=1), "lstm_unit/bias": lstm_unit, "lstmp/peepholes": lstmp,
        "lstmp/clipped": lambda: lstmp(is_reverse=True, use_peepholes=False, cell_clip=.05, proj_clip=.02,
                                       proj_activation="identity")}
else:
    import paddle
    paddle.enable_static()
    CASES = {"assert/holds": asserted}


def forward(build):
    """The value of the result, to know its size."""
    main, startup = base.Program(), base.Program()
    startup.random_seed = 5
    with base.program_guard(main, startup), base.unique_name.guard():
        out = build()
    exe = base.Executor(base.CPUPlace())
    exe.run(startup)
    return exe.run(main, feed=dict(FEED), fetch_list=[out], return_numpy=False)[0]


def with_gradients(out, value):
    """A copy of the result, and the gradients of all inputs and parameters; the copy's weights in the loss are fed under the
    name of its gradient."""
    block = base.default_main_program().global_block()
    copy = L.assign(out)
    weight = block.create_var(name="weight", shape=out.shape, dtype="float32", stop_gradient=True)
    wanted = [n for n in FEED if not block.var(n).stop_gradient]
    pairs = base.backward.append_backward(L.reduce_sum(L.elementwise_mul(out, weight)))
    block._rename_var("weight", copy.name + "@GRAD")  # after backward, which would take it for its own
    FEED[copy.name + "@GRAD"] = floats(11, *np.array(value).shape)
    made = [block.var(n + "@GRAD") for n in wanted if block.has_var(n + "@GRAD")]
    return [copy] + made + [g for _, g in pairs]


for name, build in CASES.items():
    FEED.clear()
    main, startup = base.Program(), base.Program()
    startup.random_seed = 5
    plain = name.split("/")[0] in ("lod_array_length", "assert")
    value = None if plain else forward(build)
    FEED.clear()
    with base.program_guard(main, startup), base.unique_name.guard():
        out = build()
        results = out if plain else with_gradients(out, value)
    exe = base.Executor(base.CPUPlace())
    record(exe, main, startup, [dict(FEED)], results, os.path.join(OUT, name))
