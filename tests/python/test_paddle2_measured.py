"""paddle 2.x: values that Paddle 2.6.2 gave where Skiff once gave others or failed."""
import json
import os
import tempfile
import unittest

import average2_cases
import numpy as np
import paddle
import paddle.nn.functional as F
import prune_cases
from paddle2_help import fresh, values

data = paddle.static.data


def with_gradients(build, *names):
    """A build for values(): what build() gives, and the gradients of the first of it with respect to inputs by name."""
    def both():
        got = build()
        block = paddle.static.default_main_program().global_block()
        return list(got) + paddle.static.gradients([got[0]], [block.var(n) for n in names])

    return both


def trainable(name, shape, dtype="float32"):
    var = data(name, shape, dtype)
    var.stop_gradient = False
    return var


class Values(unittest.TestCase):
    def test_arange_counts_in_its_own_type(self):
        for end, size in ((0.6, 6), (0.3, 3), (1.0, 10)):
            for dtype in ("float32", "float64"):
                got = values(lambda: paddle.arange(0, end, 0.1, dtype))
                self.assertEqual(got.shape, (size,), (end, dtype))
                np.testing.assert_allclose(got, np.arange(size) * 0.1, rtol=1e-6)

    FEED = {"h": np.arange(12, dtype="float32").reshape(4, 3), "c": np.array([[True, False, True]])}
    CHOSEN = [[0, 0, 2], [3, -3, 5], [6, -6, 8], [9, -9, 11]]
    GRADIENT = [[0, 0, 4], [6, 6, 10], [12, 12, 16], [18, 18, 22]]

    def test_where_broadcasts(self):
        def build():
            h = trainable("h", [4, 3])
            out = paddle.where(data("c", [1, 3], "bool"), h, 1 - h)
            return paddle.sum(out * out), out

        _, out, gradient = values(with_gradients(build, "h"), self.FEED)
        np.testing.assert_array_equal(out, self.CHOSEN)
        np.testing.assert_array_equal(gradient, self.GRADIENT)

    def test_sum_of_gradients_without_those_that_nothing_reaches(self):
        def build():
            h = trainable("h", [4, 3])
            zero = paddle.full([1], 0.0)
            held = paddle.cast(data("c", [1, 3], "bool"), "float32")
            shape = paddle.add(paddle.multiply(h, zero), paddle.multiply(held, zero))
            out = paddle.where(paddle.cast(paddle.add(held, shape), "bool"), paddle.add(h, shape), paddle.add(1 - h, shape))
            return paddle.sum(out * out), out

        _, out, gradient = values(with_gradients(build, "h"), self.FEED)
        np.testing.assert_array_equal(out, self.CHOSEN)
        np.testing.assert_array_equal(gradient, self.GRADIENT)

    def test_cross_entropy_of_probabilities(self):
        def build(reduction):
            loss = F.cross_entropy(trainable("p", [2, 3]), data("y", [2, 1], "int64"), reduction=reduction, use_softmax=False)
            return [loss]

        feed = {"p": np.array([[.5, .5, 0], [1, 0, 0]], "float32"), "y": np.array([[0], [0]])}
        for reduction, loss, first in (("none", [[0.69314718], [0]], [-2, -1]), ("mean", 0.34657359, [-1, -0.5]),
                                       ("sum", 0.69314718, [-2, -1])):
            got, gradient = values(with_gradients(lambda: build(reduction), "p"), feed)
            np.testing.assert_allclose(got, loss, rtol=1e-6)
            np.testing.assert_allclose(gradient, [[first[0], 0, 0], [first[1], 0, 0]], rtol=1e-6)

    def test_cross_entropy_of_probabilities_with_soft_labels(self):
        got = values(lambda: F.cross_entropy(data("p", [2, 3]), data("y", [2, 3]), use_softmax=False, soft_label=True,
                                             reduction="none"),
                     {"p": np.array([[.5, .5, 0], [1, 0, 0]], "float32"),
                      "y": np.array([[.5, .25, .25], [1, 0, 0]], "float32")})
        np.testing.assert_allclose(got, [[2.5e19], [0]], rtol=1e-6)

    def test_dropout_takes_the_seed_of_the_program(self):
        def build():
            paddle.static.default_main_program().random_seed = 1
            x = paddle.ones([2, 8])
            return [F.dropout(x, 0.7), paddle.nn.Dropout(0.7)(x)]

        want = np.zeros((2, 8))
        want[0, 5] = want[1, 4] = 1 / 0.3
        for _ in range(2):
            for got in values(build):
                np.testing.assert_allclose(got, want, rtol=1e-6)

    def test_where_the_largest_stand(self):
        def build():
            x = data("x", [1, 2, 8])
            return list(F.adaptive_max_pool1d(x, 3, return_mask=True)) + list(F.max_pool1d(x, 2, return_mask=True)) + \
                [F.adaptive_max_pool1d(x, 3)]

        feed = {"x": np.random.RandomState(0).rand(1, 2, 8).astype("float32")}
        out, mask, pairs, pair_mask, alone = values(build, feed)
        np.testing.assert_allclose(out, [[[0.71518934, 0.6458941, 0.891773], [0.96366274, 0.92559665, 0.92559665]]], rtol=1e-6)
        np.testing.assert_array_equal(mask, [[[1, 5, 7], [0, 5, 5]]])
        np.testing.assert_allclose(pairs, [[[0.71518934, 0.60276335, 0.6458941, 0.891773],
                                            [0.96366274, 0.79172504, 0.92559665, 0.0871293]]], rtol=1e-6)
        np.testing.assert_array_equal(pair_mask, [[[1, 2, 5, 7], [0, 2, 5, 7]]])
        np.testing.assert_array_equal(alone, out)

    def test_no_tape_while_programs_are_built(self):
        self.assertFalse(paddle.is_grad_enabled())


class Pruning(unittest.TestCase):
    def test_feeds_that_the_targets_do_not_need(self):
        with fresh() as (main, _):
            x = data("x", [4, 3])
            data("y", [4, 3])
            out = paddle.mean(x)
            for feeds in (["x", "y"], ["x", "nonesuch"], []):
                for targets in ([out], [out.name], out):
                    cut = main._prune_with_input(feeds, targets)
                    self.assertEqual([op.type for op in cut.global_block().ops], ["reduce_mean"])
                    self.assertEqual(sorted(cut.global_block().vars), ["mean_0.tmp_0", "x"])
            with self.assertRaisesRegex(ValueError, "feeded_var_names of Program._prune_with_input.. can only be str"):
                main._prune_with_input([x], [out])
            exe, feed = paddle.static.Executor(), {"x": np.full((4, 3), 2, "float32"), "y": np.ones((4, 3), "float32")}
            with self.assertWarnsRegex(UserWarning, "The variable y is not found in program"):
                got = exe.run(main, feed=feed, fetch_list=[out], use_prune=True)
            self.assertEqual(float(got[0]), 2.0)

    def test_training(self):
        prune_cases.compare(self, prune_cases.Face2(), os.path.join(os.path.dirname(os.path.abspath(__file__)), "prune_2x.json"))

    def test_lists_of_fetches(self):
        with fresh() as (main, _):
            x = data("x", [2])
            y, exe, feed = x * 2.0, paddle.static.Executor(), {"x": np.ones(2, "float32")}
            for fetches in ([(y,)], [[y, y.name]], [y, (x, y)]):
                got = exe.run(main, feed=feed, fetch_list=fetches)
                self.assertEqual(len(got), sum(len(f) if isinstance(f, (list, tuple)) else 1 for f in fetches))
                np.testing.assert_array_equal(got[-1], [2, 2])
            with self.assertRaisesRegex(TypeError, r"Requires fetch_list\[0\]\[0\] shall be one of \(list, tuple\)"):
                exe.run(main, feed=feed, fetch_list=[(1, y)])


class Averages(unittest.TestCase):
    def test_programs(self):
        """LookAhead and ModelAverage in programs."""
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "averages_2x.json")) as file:
            recorded = json.load(file)
        self.assertEqual(set(recorded), set(average2_cases.CASES))
        for name, weights in recorded.items():
            with self.subTest(case=name):
                np.testing.assert_allclose(average2_cases.values(name), weights, rtol=1e-5, atol=1e-6)


class Sequences(unittest.TestCase):
    """The layers of sequences take their arguments by 2.6.2's names. Rows 0 to 4 of x are 2 and 3 long sequences."""

    def results(self, build):
        lod = lambda array: paddle.base.create_lod_tensor(array, [[2, 3]], paddle.CPUPlace())  # noqa: E731
        feed = {"x": lod(np.arange(10, dtype="float32").reshape(5, 2) / 10), "i": lod(np.arange(5).reshape(5, 1))}
        with fresh() as (main, startup):
            got = build(data("x", [None, 2], "float32", 1), data("i", [None, 1], "int64", 1))
            got = list(got) if isinstance(got, (list, tuple)) else [got]
            exe = paddle.static.Executor()
            exe.run(startup)
            return [(np.array(v), v.lod()) for v in exe.run(main, feed=feed, fetch_list=got, return_numpy=False)]

    def check(self, build, want, lod):
        got = self.results(build)[0]
        np.testing.assert_allclose(got[0], want, rtol=5e-5)
        self.assertEqual(got[1], lod)

    def test_rows(self):
        S, two = paddle.static.nn, [[0, 2, 5]]
        self.check(lambda x, i: S.sequence_first_step(input=x), [[0, .1], [.4, .5]], [])
        self.check(lambda x, i: S.sequence_last_step(input=x), [[.2, .3], [.8, .9]], [])
        self.check(lambda x, i: S.sequence_enumerate(input=i, win_size=2, pad_value=9),
                   [[0, 1], [1, 9], [2, 3], [3, 4], [4, 9]], two)
        self.check(lambda x, i: S.sequence_slice(input=x, offset=paddle.assign(np.array([[0], [1]])),
                                                 length=paddle.assign(np.array([[1], [2]]))),
                   [[0, .1], [.6, .7], [.8, .9]], [[0, 1, 3]])
        self.check(lambda x, i: S.sequence_concat(input=[i, i]), [[v] for v in (0, 1, 0, 1, 2, 3, 4, 2, 3, 4)], [[0, 4, 10]])

    def test_numbers(self):
        S = paddle.static.nn
        half = paddle.nn.initializer.Constant(0.5)
        want = [[.3, .3], [.3, .3], [1.1, 1.1], [1.95, 1.95], [1.5, 1.5]]
        self.check(lambda x, i: S.sequence_conv(input=x, num_filters=2, param_attr=paddle.ParamAttr(initializer=half), act="relu"),
                   want, [[0, 2, 5]])
        self.check(lambda x, i: S.sequence_softmax(input=S.sequence_softmax(input=S.sequence_reshape(input=x, new_dim=1))),
                   [[v] for v in (.24103, .24651, .25271, .25975, .16027, .16244, .16487, .1676, .17068, .17414)], [[0, 4, 10]])

    def test_pad_and_unpad(self):
        S = paddle.static.nn
        padded, lengths = self.results(lambda x, i: S.sequence_pad(x, paddle.full([1], 7.0), maxlen=4))
        np.testing.assert_allclose(padded[0][:, :, 1], [[.1, .3, 7, 7], [.5, .7, .9, 7]], rtol=1e-6)
        np.testing.assert_array_equal(lengths[0], [2, 3])
        self.check(lambda x, i: S.sequence_unpad(paddle.reshape(paddle.arange(12, dtype="float32"), [2, 3, 2]),
                                                 length=paddle.assign(np.array([2, 1]))),
                   [[0, 1], [2, 3], [6, 7]], [[0, 2, 3]])


class Operators(unittest.TestCase):
    def test_on_variables_of_another_program(self):
        with fresh() as (main, _):
            x, y = data("x", [2, 3]), data("y", [2, 3])
        with fresh() as (other, _):
            out = [x + y, x * y, x + 1, 2 ** x, x / y, x < y, -x, x.astype("float64")]
            self.assertEqual(other.global_block().ops, [])
        self.assertEqual([v.block.program.global_block().ops[-1].type for v in out], ["cast"] * 8)
        self.assertEqual([op.type for op in main.global_block().ops],
                         ["elementwise_add", "elementwise_mul", "scale", "fill_constant", "elementwise_pow",
                          "elementwise_div", "less_than", "scale", "cast"])
        feed = {"x": np.full((2, 3), 3, "float32"), "y": np.full((2, 3), 4, "float32")}
        got = paddle.static.Executor().run(main, feed=feed, fetch_list=out)
        np.testing.assert_array_equal([float(g[0, 0]) for g in got], [7, 12, 4, 8, 0.75, 1, -3, 3])


class State(unittest.TestCase):
    def trained(self):
        w = paddle.create_parameter([2, 1], "float32", name="w", default_initializer=paddle.nn.initializer.Constant(2.0))
        x = data("x", [None, 2])
        paddle.optimizer.Adam(0.1).minimize(paddle.mean(paddle.matmul(x, w)))
        return x, w

    def test_values_in_the_scope(self):
        with fresh() as (_, startup):
            x, w = self.trained()
            for var in (w, x):
                with self.assertRaisesRegex(ValueError, "Can not find Variable '%s' in the Scope" % var.name):
                    var.get_value()
            paddle.static.Executor().run(startup)
            self.assertEqual(np.array(w.get_value()).tolist(), [[2], [2]])
            w.set_value(np.array([[1], [3]], "float32"))
            self.assertEqual(np.array(w.get_value()).tolist(), [[1], [3]])
            with self.assertRaisesRegex(ValueError, r"w expected a shape \[2, 1\], but the received shape is \[2\]"):
                w.set_value(np.array([1, 3], "float32"))
            with self.assertRaisesRegex(TypeError, "`value` should be `numpy.ndarray` or `LoDTensor`"):
                w.set_value(3)

    def test_state_of_a_program(self):
        with fresh() as (main, startup):
            _, w = self.trained()
            exe = paddle.static.Executor()
            exe.run(startup)
            of_optimizer = ["learning_rate_0"] + ["w_%s_0" % n for n in ("beta1_pow_acc", "beta2_pow_acc", "moment1", "moment2")]
            self.assertEqual(sorted(main.state_dict("param")), ["w"])
            self.assertEqual(sorted(main.state_dict("opt")), of_optimizer)
            self.assertEqual(sorted(main.state_dict()), sorted(["w"] + of_optimizer))
            self.assertAlmostEqual(float(np.array(main.state_dict()["w_beta2_pow_acc_0"])[0]), 0.999, 6)
            with self.assertRaisesRegex(ValueError, "`mode` string should be 'param', 'opt' or 'all', but received zz"):
                main.state_dict("zz")
            with self.assertRaisesRegex(TypeError, "Type of `mode` should be string"):
                main.state_dict(3)
            with self.assertWarnsRegex(UserWarning, "Skip loading for 'no'. Because 'no' not in the program"):
                main.set_state_dict({"w": np.array([[5], [6]], "float32"), "no": np.ones(2)})
            self.assertEqual(np.array(w.get_value()).tolist(), [[5], [6]])
            self.assertIsNone(exe.flush())

    def test_size(self):
        got = values(lambda: data("x", [None, 2]).size(), {"x": np.ones((3, 2), "float32")})
        self.assertEqual((got.shape, int(got)), ((), 6))

    def test_names_are_switched_as_a_pair(self):
        names = paddle.utils.unique_name
        with names.guard():
            names.generate("q")
            before = names.switch()
            self.assertEqual((len(before), names.generate("q")), (2, "q_0"))
            names.switch(*before)
            self.assertEqual(names.generate("q"), "q_1")


class Orders(unittest.TestCase):
    """Recorded in eager mode: in static mode Paddle's own samplers fail."""

    def test_seed_decides_the_order(self):
        for _ in range(2):
            paddle.seed(2023)
            self.assertEqual(list(paddle.io.SubsetRandomSampler([1, 3, 5, 7, 9])), [9, 3, 7, 5, 1])
            split = lambda: [list(part) for part in paddle.io.random_split(range(10), [3, 7])]  # noqa: E731
            self.assertEqual(split(), [[5, 0, 6], [2, 3, 1, 7, 9, 8, 4]])
            self.assertEqual(split(), [[8, 2, 3], [9, 1, 4, 7, 6, 0, 5]])
        with self.assertRaisesRegex(ValueError, "should be greater than 0"):
            paddle.io.SubsetRandomSampler([])

    def test_randperm(self):
        def build():
            return [paddle.randperm(n) for n in (5, 10, 10, 6, 1, 2)] + [paddle.randperm(7, "float32")]

        got = values(build, seed=2023)
        want = [[4, 1, 3, 2, 0], [5, 0, 6, 2, 3, 1, 7, 9, 8, 4], [8, 2, 3, 9, 1, 4, 7, 6, 0, 5], [5, 4, 2, 1, 0, 3], [0],
                [1, 0], [3, 5, 6, 1, 2, 0, 4]]
        self.assertEqual([g.tolist() for g in got], want)
        self.assertEqual([got[0].dtype, got[-1].dtype], [np.int64, np.float32])
        with self.assertRaisesRegex(ValueError, "The input n should be greater than 0 in randperm op"), fresh():
            paddle.randperm(0)


def worker():
    info = paddle.io.get_worker_info()
    return (-1, 0) if info is None else (info.id, info.num_workers)


class Parts(paddle.io.IterableDataset):
    """0 to 5, shared between the workers."""

    def __iter__(self):
        me, all = worker()
        for i in range(max(me, 0), 6, max(all, 1)):
            yield np.array([i, me, all])


class Numbered(paddle.io.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        return np.array((i,) + worker())


def read(dataset, workers):
    loader = paddle.io.DataLoader(dataset, batch_size=2, num_workers=workers, places=paddle.CPUPlace(), return_list=True)
    return [np.array(b[0] if isinstance(b, (list, tuple)) else b).tolist() for b in loader]


class Workers(unittest.TestCase):
    def test_who_reads_what(self):
        alone = [[[0, -1, 0], [1, -1, 0]], [[2, -1, 0], [3, -1, 0]], [[4, -1, 0], [5, -1, 0]]]
        self.assertEqual(read(Parts(), 0), alone)
        self.assertEqual(read(Numbered(), 0), alone)
        self.assertEqual(read(Parts(), 2), [[[0, 0, 2], [2, 0, 2]], [[1, 1, 2], [3, 1, 2]], [[4, 0, 2]], [[5, 1, 2]]])
        self.assertEqual(read(Numbered(), 2),
                         [[[0, 0, 2], [1, 0, 2]], [[2, 1, 2], [3, 1, 2]], [[4, 0, 2], [5, 0, 2]]])
        self.assertIsNone(paddle.io.get_worker_info())

    def test_a_pipe_that_gives_nothing_is_told(self):
        for kind in (paddle.distributed.QueueDataset, paddle.distributed.InMemoryDataset):
            with fresh() as (main, startup), tempfile.NamedTemporaryFile("w", suffix=".txt") as rows:
                rows.write("1 0.5\n")
                rows.flush()
                x = data("x", [None, 1])
                loss = paddle.mean(paddle.static.nn.fc(x, 1))
                dataset = kind()
                dataset.init(batch_size=1, thread_num=1, use_var=[x], pipe_command="cat >/dev/null")
                dataset.set_filelist([rows.name])
                if hasattr(dataset, "load_into_memory"):
                    dataset.load_into_memory()
                exe = paddle.static.Executor()
                exe.run(startup)
                for call in (exe.train_from_dataset, exe.infer_from_dataset):
                    with self.assertWarnsRegex(UserWarning, r"no samples: nothing was done \(1 files, pipe command `cat >"):
                        call(main, dataset, fetch_list=[loss])


if __name__ == "__main__":
    unittest.main()
