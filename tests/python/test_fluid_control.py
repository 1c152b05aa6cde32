"""Branches, loops and recurrent nets of paddle.fluid: values, gradients and programs as real 1.8.5 gave them (control_1x.json,
written by control_cases.py), and what wrong calls give."""
import json
import os
import tempfile
import unittest

import control_cases as cases
import numpy as np
import paddle.fluid as fluid
from fluid_help import fresh, run
from paddle.fluid import layers as L
from paddle.fluid.layers import control_flow

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "control_1x.json")) as file:
    RECORDED = json.load(file)


def slope(build, name, array, index):
    """The change of the loss with one element of a feed, by a central difference."""
    sides = []
    for step in (1e-2, -1e-2):
        moved = array.copy()
        moved[index] += step
        sides.append(float(np.asarray(run(build, {name: moved})).reshape(-1)[0]))
    return (sides[0] - sides[1]) / 2e-2


class Recorded(unittest.TestCase):
    def compare(self, got, want):
        self.assertEqual(sorted(got), sorted(want))
        for name in want:
            np.testing.assert_allclose(got[name], want[name], rtol=2e-4, atol=2e-6, err_msg=name)

    def test_values_and_programs(self):
        for build in cases.CASES:
            with self.subTest(case=build.__name__):
                got, program = cases.values(build)
                self.compare(got, RECORDED[build.__name__]["values"])
                for i, (block, want) in enumerate(zip(program, RECORDED[build.__name__]["program"])):
                    self.assertEqual(block.split(), want.split(), "block %d" % i)
                self.assertEqual(len(program), len(RECORDED[build.__name__]["program"]))

    def test_the_other_branch(self):
        self.compare(cases.values(cases.cond, "other")[0], RECORDED["cond other"]["values"])


class Loops(unittest.TestCase):
    """1.8.5 gives wrong gradients (or fails) where a loop carries a variable; here they are what differences say, and 2.6's."""

    X = np.array([1., -2., .5], "float32")

    def check_grad(self, build):
        def with_grad():
            loss = build()
            fluid.backward.append_backward(loss)
            return [loss, fluid.default_main_program().global_block().var("x@GRAD")]

        grad = np.asarray(run(with_grad, {"x": self.X})[1])
        for i in range(3):
            self.assertAlmostEqual(float(grad[i]), slope(build, "x", self.X, i), delta=2e-2 * max(1, abs(grad[i])))
        return grad

    @staticmethod
    def given():
        x = L.data("x", [3], append_batch_size=False)
        x.stop_gradient = False
        return x

    @staticmethod
    def loop(body, carried, times):
        i, n = L.fill_constant([1], "int64", 0), L.fill_constant([1], "int64", times)
        return L.while_loop(lambda i, *v: L.less_than(i, n), lambda i, *v: [L.increment(i)] + body(i, *v), [i] + carried)[1:]

    def test_carried(self):
        def build():
            x = self.given()
            return L.mean(self.loop(lambda i, y: [L.elementwise_mul(y, L.scale(x, 0.5))], [L.scale(x, 1.0)], 3)[0])

        np.testing.assert_allclose(self.check_grad(build), 4 * self.X ** 3 / 8 / 3, rtol=1e-5)

    def test_one_that_only_others_read(self):
        """Nothing outside reads y: its gradient begins with zeros."""
        def build():
            x = self.given()
            _, total = self.loop(lambda i, y, s: [L.elementwise_mul(y, y), s + y], [L.scale(x, 1.0), L.scale(x, 0.5)], 3)
            return L.mean(total)

        np.testing.assert_allclose(self.check_grad(build), (0.5 + 1 + 2 * self.X + 4 * self.X ** 3) / 3, rtol=1e-5)

    def test_made_anew(self):
        """y is made of x alone in every iteration: only the last one counts."""
        def build():
            x = self.given()
            return L.mean(self.loop(lambda i, y: [L.square(x)], [L.scale(x, 3.0)], 4)[0])

        np.testing.assert_allclose(self.check_grad(build), 2 * self.X / 3, rtol=1e-5)

    def test_never_runs(self):
        def build():
            x = self.given()
            return L.mean(self.loop(lambda i, y: [L.square(y)], [L.scale(x, 3.0)], 0)[0])

        np.testing.assert_allclose(self.check_grad(build), [1., 1., 1.], rtol=1e-5)

    def test_a_branch_in_a_loop(self):
        """Each iteration's branch is the one it took, with the values it had."""
        def build():
            x, two = self.given(), L.fill_constant([1], "int64", 3)
            return L.mean(self.loop(lambda i, y: [L.cond(L.less_than(i, two), lambda: L.elementwise_mul(y, x),
                                                         lambda: L.elementwise_add(L.tanh(y), x))], [L.scale(x, 1.0)], 4)[0])

        self.check_grad(build)

    def test_a_loop_in_a_loop(self):
        def build():
            x = self.given()

            def body(i, y):
                return [self.loop(lambda j, z: [L.elementwise_mul(z, L.scale(x, 0.5))], [L.scale(y, 1.0)], 2)[0]]

            return L.mean(self.loop(body, [L.scale(x, 1.0)], 2)[0])

        np.testing.assert_allclose(self.check_grad(build), 5 * self.X ** 4 / 16 / 3, rtol=1e-5)

    def test_branches_in_branches(self):
        def build():
            x = self.given()
            a, zero, one = L.reduce_mean(x), L.fill_constant([1], "float32", -1.), L.fill_constant([1], "float32", 1.)
            return L.mean(L.cond(L.less_than(zero, a), lambda: L.cond(L.less_than(a, one), lambda: L.square(x),
                                                                     lambda: L.tanh(x)), lambda: L.scale(x, 5.)))

        np.testing.assert_allclose(self.check_grad(build), 2 * self.X / 3, rtol=1e-5)

    def test_two_runs_of_one_plan(self):
        """Nothing of a run stays for the next one."""
        with fresh() as (main, startup):
            x = self.given()
            loss = L.mean(self.loop(lambda i, y: [L.elementwise_mul(y, y)], [L.scale(x, 1.0)], 2)[0])
            fluid.backward.append_backward(loss)
            exe = fluid.Executor(fluid.CPUPlace())
            exe.run(startup)
            for value in (self.X, 2 * self.X, self.X):
                got = exe.run(main, feed={"x": value}, fetch_list=["x@GRAD"])[0]
                np.testing.assert_allclose(got, 4 * value ** 3 / 3, rtol=1e-5)


B, T, D = 2, 3, 4
IDS = {"ids": np.arange(6).reshape(B, T, 1)}
ROWS = {"x": np.linspace(-1, 1, B * D).reshape(B, D).astype("float32")}


def steps_of(inner=None, h0=None):
    """StaticRNN over embedded ids: the outputs of inner(state), and the states."""
    e = L.transpose(L.embedding(fluid.data("ids", [B, T, 1], "int64"), [10, D]), [1, 0, 2])
    rnn = L.StaticRNN()
    with rnn.step():
        w = rnn.step_input(e)
        p = rnn.memory(init=h0) if h0 is not None else rnn.memory(shape=[-1, D], batch_ref=w, init_value=.5)
        h = L.fc([w, p], D, act="tanh")
        rnn.update_memory(p, h)
        if inner:
            q = rnn.memory(shape=[-1, D], batch_ref=w)
            r = inner(h)
            rnn.update_memory(q, r)
            rnn.output(r)
        rnn.output(h)
    return rnn()


def branch(h):
    return L.cond(L.reduce_sum(h) > 0., lambda: h * 2., lambda: h - 1.)


def steps_in_steps(h):
    rnn, parts = L.StaticRNN(), L.reshape(h, [2, B, 2])
    with rnn.step():
        z = rnn.step_input(parts)
        m = rnn.memory(shape=[-1, 2], batch_ref=z)
        n = L.fc([z, m], 2)
        rnn.update_memory(m, n)
        rnn.output(n)
    return L.reshape(rnn(), [B, D])


def by_sequence():
    e = L.embedding(fluid.data("s", [None, 1], "int64", lod_level=1), [10, D])
    d = L.DynamicRNN()
    with d.block():
        w = d.step_input(e)
        m = d.memory(shape=[D])
        h = L.fc([w, m], D, act="tanh")
        d.update_memory(m, h)
        d.output(h)
    return L.sequence_last_step(d())


def loop(inner):
    i, n = L.fill_constant([1], "int64", 0), L.fill_constant([1], "int64", 3)
    h = L.fc(fluid.data("x", [B, D], "float32"), D)
    body = lambda i, h: [i + 1, inner(L.fc(h, D, act="tanh", param_attr="w", bias_attr="b"))]  # noqa: E731
    return L.while_loop(lambda i, h: L.less_than(i, n), body, [i, h])[1]


class Saved(unittest.TestCase):
    """Networks with blocks, trained a step: saved for inference they give what they gave; with use_prune they train alike."""
    nets = {
        "steps": (lambda: steps_of(h0=fluid.data("x", [B, D], "float32")), dict(IDS, **ROWS)),
        "steps from a number": (steps_of, IDS),
        "a branch in steps": (lambda: steps_of(branch)[0], IDS),
        "steps in steps": (lambda: steps_of(steps_in_steps)[0], IDS),
        "sequences": (by_sequence, {"s": fluid.create_lod_tensor(np.arange(5).reshape(5, 1), [[2, 3]], fluid.CPUPlace())}),
        "a loop": (lambda: loop(lambda h: h), ROWS),
        "a branch in a loop": (lambda: loop(branch), ROWS),
        "a cell": (lambda: L.rnn(L.GRUCell(D), L.reshape(fluid.data("x", [B, D], "float32"), [B, 2, 2]))[0], ROWS),
    }

    def trained(self, build, feed, prune, folder):
        with fresh() as (main, startup):
            main.random_seed = startup.random_seed = 3
            out = build()
            fluid.optimizer.SGD(.5).minimize(L.mean(out))
            exe = fluid.Executor()
            exe.run(startup)
            exe.run(main, feed=feed, use_prune=prune, fetch_list=[])
            right, = exe.run(main.clone(for_test=True), feed=feed, fetch_list=[out])
            fluid.io.save_inference_model(folder, sorted(feed), [out], exe)
        with fluid.scope_guard(fluid.Scope()):
            program, feeds, fetches = fluid.io.load_inference_model(folder, exe)
            return right, exe.run(program, feed={name: feed[name] for name in feeds}, fetch_list=fetches)[0]

    def test_all(self):
        for name, (build, feed) in self.nets.items():
            with self.subTest(net=name), tempfile.TemporaryDirectory() as folder:
                right, loaded = self.trained(build, feed, False, folder)
                np.testing.assert_allclose(loaded, right, rtol=1e-6)
                pruned, loaded = self.trained(build, feed, True, folder)
                np.testing.assert_array_equal(pruned, right)
                np.testing.assert_allclose(loaded, right, rtol=1e-6)


class SmallOnes(unittest.TestCase):
    def test_arrays(self):
        def build():
            i, x = L.fill_constant([1], "int64", 2), L.fill_constant([2], "float32", 7.)
            array = L.array_write(x, i)
            none = L.fill_constant([0, 3], "float32", 0.)
            return [L.array_length(array), L.array_read(array, i), L.is_empty(x), L.is_empty(none)]

        got = run(build)
        self.assertEqual(got[0].tolist(), [3])
        self.assertEqual(got[1].tolist(), [7., 7.])
        self.assertEqual([got[2].tolist(), got[3].tolist()], [[False], [True]])

    def test_rank_table(self):
        def build():
            x = L.data("x", [1], lod_level=1)
            table = control_flow.lod_rank_table(x)
            array = control_flow.lod_tensor_to_array(x, table)
            zero = L.fill_constant([1], "int64", 0)
            return [control_flow.max_sequence_len(table), L.array_read(array, zero),
                    control_flow.array_to_lod_tensor(array, table),
                    L.reorder_lod_tensor_by_rank(L.data("y", [1]), table)]

        x = fluid.create_lod_tensor(np.arange(6, dtype="float32").reshape(6, 1), [[1, 3, 2]], fluid.CPUPlace())
        got = run(build, {"x": x, "y": np.array([[5.], [6.], [7.]], "float32")}, return_numpy=False)
        self.assertEqual(np.array(got[0]).tolist(), [3])
        self.assertEqual(np.array(got[1]).reshape(-1).tolist(), [1., 4., 0.])
        self.assertEqual(np.array(got[2]).reshape(-1).tolist(), [0., 1., 2., 3., 4., 5.])
        self.assertEqual(got[2].recursive_sequence_lengths(), [[1, 3, 2]])
        self.assertEqual(np.array(got[3]).reshape(-1).tolist(), [6., 7., 5.])

    def test_masks(self):
        def build():
            x, mask = L.data("x", [1], lod_level=1), L.data("m", [1], dtype="bool")
            yes, no = control_flow.split_lod_tensor(x, mask)
            return [yes, no, control_flow.merge_lod_tensor(yes, no, x, mask)]

        x = fluid.create_lod_tensor(np.arange(6, dtype="float32").reshape(6, 1), [[1, 3, 2]], fluid.CPUPlace())
        got = run(build, {"x": x, "m": np.array([[True], [False], [True]])}, return_numpy=False)
        self.assertEqual([np.array(v).reshape(-1).tolist() for v in got], [[0, 4, 5], [1, 2, 3], [0, 1, 2, 3, 4, 5]])
        self.assertEqual([v.recursive_sequence_lengths() for v in got], [[[1, 2]], [[3]], [[1, 3, 2]]])

    def test_an_empty_side(self):
        """No row goes to the true side: its block does not run."""
        def build():
            x = L.data("x", [1])
            choice = L.IfElse(L.less_than(x, L.fill_constant_batch_size_like(x, [-1, 1], "float32", -100.)))
            with choice.true_block():
                choice.output(L.scale(choice.input(x), 10.))
            with choice.false_block():
                choice.output(L.scale(choice.input(x), 2.))
            return choice()[0]

        self.assertEqual(run(build, {"x": np.array([[1.], [2.]], "float32")}).tolist(), [[2.], [4.]])

    def test_a_cell_of_ones_own(self):
        class Sums(L.RNNCell):
            state_shape = [3]

            def call(self, inputs, states):
                total = inputs + states
                return total, total

        def build():
            return list(L.rnn(Sums(), L.data("x", [2, 4, 3], append_batch_size=False)))

        x = cases.STEPS.transpose(1, 0, 2).copy()
        out, last = run(build, {"x": x})
        np.testing.assert_allclose(out, np.cumsum(x, 1), rtol=1e-5)
        np.testing.assert_allclose(last, x.sum(1), rtol=1e-5)

    def test_first_states_of_basic_nets(self):
        """Both directions begin with the states given: zeros, or else."""
        from paddle.fluid.contrib.layers import basic_gru

        def build():
            x, h = L.data("x", [2, 4, 3], append_batch_size=False), L.data("h", [2, 2, 2], append_batch_size=False)
            attr = fluid.ParamAttr(initializer=fluid.initializer.Constant(0.1))
            given = basic_gru(x, h, 2, bidirectional=True, param_attr=attr)
            return list(given) + list(basic_gru(x, None, 2, bidirectional=True, param_attr=attr))

        x = cases.STEPS.transpose(1, 0, 2).copy()
        out, last, plain, plain_last = run(build, {"x": x, "h": np.zeros((2, 2, 2), "float32")})
        np.testing.assert_allclose(out, plain, rtol=1e-6)
        np.testing.assert_allclose(last, plain_last, rtol=1e-6)
        self.assertEqual([out.shape, last.shape], [(2, 4, 4), (2, 2, 2)])
        np.testing.assert_allclose(last[0], out[:, -1, :2], rtol=1e-6)
        np.testing.assert_allclose(last[1], out[:, 0, 2:], rtol=1e-6)
        moved = run(build, {"x": x, "h": np.ones((2, 2, 2), "float32")})[0]
        self.assertGreater(np.abs(moved - plain).max(), 0.1)

    def test_a_branch_that_only_speaks(self):
        import contextlib
        import io

        def build():
            L.cond(L.fill_constant([1], "bool", True), lambda: L.Print(L.fill_constant([1], "int32", 5)) and None)
            return L.fill_constant([1], "float32", 1.)

        with contextlib.redirect_stdout(io.StringIO()) as out:
            run(build)
        self.assertIn("\tdata: 5,\n", out.getvalue())

    def test_cudnn_lstm_is_built_only(self):
        def build():
            x, h = L.data("x", [4, 2, 3], append_batch_size=False), L.data("h", [1, 2, 5], append_batch_size=False)
            out = L.lstm(x, h, h, 4, 5, 1)
            self.assertEqual(out[0].shape, (4, 2, 5))
            return out[0]

        with self.assertRaisesRegex(NotImplementedError, "cudnn_lstm: .*it runs on GPUs only, in Paddle too"):
            run(build, {"x": np.zeros((4, 2, 3), "float32"), "h": np.zeros((1, 2, 5), "float32")})


class Host(unittest.TestCase):
    def test_print(self):
        import contextlib
        import io
        with fresh() as (main, startup):
            x = L.fill_constant([2, 2], "float32", 0.25)
            L.Print(x, message="here:", summarize=3)
            L.Print(L.fill_constant([1], "int64", 7), first_n=1, print_tensor_shape=False)
            exe, out = fluid.Executor(fluid.CPUPlace()), io.StringIO()
            with contextlib.redirect_stdout(out):
                exe.run(main)
                exe.run(main)
        text = out.getvalue()
        self.assertEqual(text.count("\there:\tThe place is:CPUPlace\nTensor[fill_constant_0.tmp_0]\n\tshape: [2,2,]\n\tdtype: f\n"
                                    "\tdata: 0.25,0.25,0.25,\n"), 2)
        self.assertEqual(text.count("Tensor[fill_constant_1.tmp_0]\n\tdtype: l\n\tdata: 7,\n"), 1)

    def test_py_func(self):
        seen = []

        def forward(a):
            seen.append(np.array(a).shape)
            return np.square(np.array(a))

        def backward(a, d):
            return 2 * np.array(a) * np.array(d)

        def build():
            x = L.data("x", [2])
            x.stop_gradient = False
            y = fluid.default_main_program().current_block().create_var(name="y", dtype="float32", shape=[-1, 2])
            y = L.py_func(forward, x, y, backward, skip_vars_in_backward_input=y)
            loss = L.mean(y)
            fluid.backward.append_backward(loss)
            return [loss, fluid.default_main_program().global_block().var("x@GRAD")]

        loss, grad = run(build, {"x": np.array([[1., 2.], [3., 4.]], "float32")})
        self.assertEqual([float(loss[0]), grad.tolist(), seen], [7.5, [[.5, 1.], [1.5, 2.]], [(2, 2)]])

    def test_py_func_that_fails(self):
        def bad(a):
            raise KeyError("never")

        def few(a):
            return [np.array(a)]

        def build(function, outs):
            x = L.fill_constant([1], "float32", 1.)
            block = fluid.default_main_program().current_block()
            made = [block.create_var(name="o%d" % i, dtype="float32", shape=[1]) for i in range(outs)]
            L.py_func(function, x, made)
            return x

        with self.assertRaisesRegex(KeyError, "never"):
            run(lambda: build(bad, 1))
        with self.assertRaisesRegex(ValueError, "py_func: few gave 1 results, but the operator has 2 outputs"):
            run(lambda: build(few, 2))
        with fresh(), self.assertRaisesRegex(TypeError, "Input func must be a function"):
            L.py_func(None, None, None)


class Wrong(unittest.TestCase):
    def refuse(self, error, text, build):
        with fresh() as (main, startup):
            with self.assertRaisesRegex(error, text):
                build()
            self.assertEqual(main.current_block().idx, 0)

    def test_branches(self):
        pred = lambda: L.fill_constant([1], "bool", True)
        one = lambda: L.fill_constant([1], "float32", 1.)
        self.refuse(ValueError, "true_fn returns non-None while false_fn returns None",
                    lambda: L.cond(pred(), one, lambda: None))
        self.refuse(ValueError, "Incompatible return values", lambda: L.cond(pred(), lambda: [one(), one()], lambda: [one()]))
        self.refuse(TypeError, "The true_fn in cond must be callable", lambda: L.cond(pred(), 3))
        self.refuse(ZeroDivisionError, "", lambda: L.cond(pred(), lambda: 1 // 0))
        self.refuse(TypeError, "The tuple's size of 'pred_fn_pairs' in case must be 2", lambda: L.case([(pred(), one, one)]))
        self.refuse(ValueError, "The key in 'branch_fns' must be unique, but '1' appears more than once",
                    lambda: L.switch_case(L.fill_constant([1], "int32", 1), [(1, one), (1, one)]))
        self.refuse(ValueError, "input must in true/false blocks", lambda: L.IfElse(pred()).input(one()))
        self.refuse(ValueError, "Must invoke true_block/false_block before __call__", lambda: L.IfElse(pred())())

        def no_output():
            with L.IfElse(pred()).true_block():
                one()

        self.refuse(ValueError, "if_else: a block without output", no_output)

    def test_static_rnn(self):
        def not_updated():
            x, net = L.fill_constant([4, 2, 3], "float32", 0.), L.StaticRNN()
            with net.step():
                step = net.step_input(x)
                net.memory(init=L.fill_constant([2, 3], "float32", 0.))
                net.step_output(step)

        self.refuse(ValueError, "static_rnn: memory .* is not updated in the block", not_updated)

        def other_steps():
            net = L.StaticRNN()
            a, b = L.fill_constant([4, 2], "float32", 0.), L.fill_constant([3, 2], "float32", 0.)
            with net.step():
                net.step_input(a)
                net.step_input(b)

        self.refuse(ValueError, "static_rnn: input .* has 3 steps, the first has 4", other_steps)
        self.refuse(ValueError, "You must invoke memory in rnn block", lambda: L.StaticRNN().memory())
        self.refuse(ValueError, "RNN output can only be retrieved after rnn block", lambda: L.StaticRNN()())

    def test_dynamic_rnn(self):
        def no_input():
            with L.DynamicRNN().block():
                pass

        self.refuse(RuntimeError, r"dynamic_rnn: the block has no step_input\(\)", no_input)

        def memory_first():
            net = L.DynamicRNN()
            with net.block():
                net.memory(shape=[3])

        self.refuse(ValueError, "step_input should be invoked before memory", memory_first)

    def test_running(self):
        def lengths():
            a, b = L.data("a", [1], lod_level=1), L.data("b", [1], lod_level=1)
            return control_flow.lod_tensor_to_array(b, control_flow.lod_rank_table(a))

        ragged = lambda *n: fluid.create_lod_tensor(np.zeros((sum(n), 1), "float32"), [list(n)], fluid.CPUPlace())
        with self.assertRaisesRegex(ValueError, "the rank table has 2 sequences, b has 3"):
            run(lengths, {"a": ragged(1, 2), "b": ragged(1, 2, 3)})
        with self.assertRaisesRegex(ValueError, "the length of sequence 1 of b differs from the rank table"):
            run(lengths, {"a": ragged(1, 2), "b": ragged(1, 3)})
        with self.assertRaisesRegex(ValueError, "level is 0, but a has 0 lod levels"):
            run(lengths, {"a": np.zeros((2, 1), "float32"), "b": ragged(1, 3)})

        def mask():
            return control_flow.split_lod_tensor(L.data("x", [1]), L.data("m", [1], dtype="bool"))[0]

        with self.assertRaisesRegex(ValueError, "Mask m has 3 elements, x has 2 rows"):
            run(mask, {"x": np.zeros((2, 1), "float32"), "m": np.zeros((3, 1), "bool")})


if __name__ == "__main__":
    unittest.main()
