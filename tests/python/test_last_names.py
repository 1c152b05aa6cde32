"""What was left of the names: numbers as text, two types in one search. Values are those of Paddle 2.6.2."""
import contextlib
import io
import os
import re
import tempfile
import unittest

import numpy as np
import paddle


class Searching(unittest.TestCase):
    """Numbers of two types are compared as they are, not cast first: 2.9 lies before the integer 3."""

    def test_two_types(self):
        row = [1, 3, 5, 7]
        for sorted_type in ("float32", "float64", "int32", "int64"):
            for type_, values, places in (("int64", [3, 6], [1, 3]), ("int32", [3, 6], [1, 3]),
                                          ("float32", [2.9, 3.1], [1, 2]), ("float64", [2.9, 3.1], [1, 2])):
                with self.subTest(sorted_type=sorted_type, values=type_):
                    line = paddle.to_tensor(np.array(row, sorted_type))
                    wanted = paddle.to_tensor(np.array(values, type_))
                    self.assertEqual(paddle.searchsorted(line, wanted).tolist(), places)
                    self.assertEqual(paddle.bucketize(wanted, line).tolist(), places)
        self.assertEqual(paddle.searchsorted(paddle.to_tensor(row), paddle.to_tensor([3., 5.5]), right=True).tolist(),
                         [2, 3])

    def test_wrong(self):
        with self.assertRaisesRegex(Exception, "Values .* has type bool, expected a number"):
            paddle.searchsorted(paddle.to_tensor([1, 2]), paddle.to_tensor([True]))


class Full(unittest.TestCase):
    CASES = (("1.5", None, [1.5, 1.5]), ("3", None, [3., 3.]), ("3", "int64", [3, 3]), ("inf", None, [np.inf] * 2),
             ("9007199254740993", "int64", [9007199254740993] * 2))

    def test_text(self):
        for text, dtype, wanted in self.CASES:
            with self.subTest(text):
                made = paddle.full([2], text, dtype)
                self.assertEqual((made.tolist(), made.dtype == paddle.int64), (wanted, dtype == "int64"))
        self.assertEqual(paddle.full([2], "1.5", "int64").tolist(), [1, 1])

    def test_tensor(self):
        self.assertEqual(paddle.full([2], paddle.to_tensor([1.5])).tolist(), [1.5, 1.5])
        self.assertEqual(paddle.full([2], paddle.to_tensor(1.5), "int64").tolist(), [1, 1])

    def test_static(self):
        paddle.enable_static()
        try:
            main = paddle.static.Program()
            with paddle.static.program_guard(main):
                outs = [paddle.full([2], text, dtype) for text, dtype, _ in self.CASES]
                outs.append(paddle.full([2], paddle.full([1], 2.5)))
            got = paddle.static.Executor().run(main, fetch_list=outs)
        finally:
            paddle.disable_static()
        self.assertEqual([list(g) for g in got], [wanted for _, _, wanted in self.CASES] + [[2.5, 2.5]])

    def test_wrong(self):
        with self.assertRaisesRegex(ValueError, "could not convert string to float: 'x'"):
            paddle.full([2], "x")
        with self.assertRaisesRegex(TypeError, "must be a number"):
            paddle.full([2], None)


class Programs(unittest.TestCase):
    def setUp(self):
        paddle.enable_static()

    def tearDown(self):
        paddle.disable_static()

    def test_error_clip(self):
        """The gradient of h is clipped where both parts of it have been added up, before tanh's."""
        main, startup = paddle.static.Program(), paddle.static.Program()

        def filled(value):
            return paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(value))

        with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
            x = paddle.static.data("x", [None, 3])
            h = paddle.static.nn.fc(x, 4, weight_attr=filled(0.5), activation="tanh")
            a, b = (paddle.static.nn.fc(h, 2, weight_attr=filled(value)) for value in (0.3, -0.2))
            loss = paddle.mean(a * a + b)
            with self.assertRaisesRegex(TypeError, "takes an ErrorClipByValue or None"):
                h._set_error_clip(3)
            h._set_error_clip(paddle.nn.clip.ErrorClipByValue(max=0.05, min=-0.01))
            paddle.optimizer.SGD(0.1).minimize(loss)
        kinds = [op.type for op in main.global_block().ops]
        self.assertEqual(kinds[kinds.index("clip") - 1:kinds.index("clip") + 2], ["sum", "clip", "tanh_grad"])
        exe = paddle.static.Executor()
        exe.run(startup)
        got = exe.run(main, feed={"x": np.array([[1, 2, -1], [.5, -2, 1]], "float32")},
                      fetch_list=[loss, h.name + "@GRAD", "fc_0.w_0"])
        self.assertAlmostEqual(float(got[0]), 0.254137665, places=6)
        np.testing.assert_allclose(got[1], [[0.05] * 4, [-0.01] * 4], rtol=1e-6)
        np.testing.assert_allclose(got[2], np.repeat([[0.4983701408], [0.4939202368], [0.5030398965]], 4, 1), rtol=1e-6)
        self.assertNotIn("clip", [op.type for op in main.clone(for_test=True).global_block().ops])
        h._set_error_clip(None)
        with paddle.static.program_guard(main, startup):
            found = paddle.static.gradients([loss], h)
        self.assertEqual([op.type for op in main.global_block().ops].count("clip"), 1)
        self.assertEqual(len(found), 1)

    def test_prim_grad(self):
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            x, w = paddle.static.data("x", [2]), paddle.static.data("w", [2])
            y = x * x * w
            self.assertIsNone(paddle.incubate.autograd.grad(y, x))
            paddle.incubate.autograd.enable_prim()
            try:
                found = paddle.incubate.autograd.grad(y, [x, w])
            finally:
                paddle.incubate.autograd.disable_prim()
            self.assertTrue(x.stop_gradient and y.stop_gradient)
        got = paddle.static.Executor().run(main, feed={"x": np.array([2, 3], "float32"), "w": np.array([5, 7], "float32")},
                                           fetch_list=found)
        self.assertEqual([g.tolist() for g in got], [[20, 42], [4, 9]])

    def test_row_conv(self):
        """The last steps see what is left of the sequence. (Values: golden cases of the op.)"""
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup):
            x = paddle.static.data("x", [2, 3, 1])
            weight = paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(1.0))
            out = paddle.static.nn.row_conv(x, 1, weight, act="relu")
            with self.assertRaisesRegex(ValueError, "row_conv: future_context_size -2 of x"):
                paddle.static.nn.row_conv(x, -2)
            flat = paddle.static.nn.row_conv(paddle.static.data("flat", [4, 1]), 1, weight)
        exe = paddle.static.Executor()
        exe.run(startup)
        values = np.array([[1, 2, 4], [-8, 3, 0]], "float32").reshape(2, 3, 1)
        feed = {"x": values, "flat": np.zeros([4, 1], "float32")}
        with self.assertRaisesRegex(ValueError, r"must be \[n, length, width\], or ragged \[rows, width\]"):
            exe.run(main, feed=feed, fetch_list=[flat])
        from paddle.base import create_lod_tensor
        feed["flat"] = create_lod_tensor(np.array([[1], [2], [3], [4]], "float32"), [[3, 1]], paddle.CPUPlace())
        got = exe.run(main, feed=feed, fetch_list=[out, flat], return_numpy=False)
        self.assertEqual(np.array(got[0]).reshape(2, 3).tolist(), [[3, 6, 4], [0, 3, 0]])
        self.assertEqual((np.array(got[1]).ravel().tolist(), got[1].lod()), ([3, 5, 3, 4], [[0, 3, 4]]))

    def test_printed_fetches(self):
        """One line a time, as 2.6 prints it."""
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            ids, dense = paddle.static.data("ids", [None, 1], "int64", lod_level=1), paddle.static.data("d", [None, 2])
            fetches = [paddle.mean(dense), dense / 3.0, ids, paddle.mean(dense) > 9.0]
        data = paddle.distributed.QueueDataset()
        data.init(batch_size=2, thread_num=1, use_var=[ids, dense])
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "part-0")
            with open(name, "w") as file:
                file.write("3 7 8 9 2 1 2\n2 4 5 2 10 20\n1 4 2 10 20\n")
            data.set_filelist([name])
            with contextlib.redirect_stdout(out):
                paddle.static.Executor().train_from_dataset(main, data, fetch_list=fetches, print_period=1,
                                                            fetch_info=["cost", "third", "ids", "large"])
        lines = re.sub(r"time: \[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\]", "time: [..]", out.getvalue())
        self.assertEqual(lines, "time: [..], batch: [1], cost[1]:[8.25], third[4]:[0.333333 0.666667 3.33333 6.66667], "
                                "ids[5]:[7 8 9 4 5], large[1]:[0]\n"
                                "time: [..], batch: [2], cost[1]:[15], third[2]:[3.33333 6.66667], ids[1]:[4], large[1]:[1]\n")

    def test_cvm_of_one_column(self):
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            x, cvm = paddle.static.data("x", [2, 1]), paddle.static.data("cvm", [2, 2])
            out = paddle.static.nn.continuous_value_model(x, cvm, True)
            self.assertEqual(list(out.shape), [2, 1])
        with self.assertRaisesRegex(ValueError, "must have at least 2 columns, show and click"):
            paddle.static.Executor().run(main, feed={"x": np.ones([2, 1], "float32"), "cvm": np.ones([2, 2], "float32")},
                                         fetch_list=[out])


class Fluid(unittest.TestCase):
    def test_moving_momentum(self):
        """mean = mean * momentum + batch mean * (1 - momentum), with the momentum of a variable."""
        import paddle.fluid as fluid
        main, startup = fluid.Program(), fluid.Program()
        with fluid.program_guard(main, startup), fluid.unique_name.guard():
            x = fluid.data("x", [None, 1])
            momentum = fluid.layers.create_global_var([1], 0.75, "float32", persistable=True, name="momentum")
            fluid.layers.batch_norm(x, momentum=momentum)
        exe, scope = fluid.Executor(fluid.CPUPlace()), fluid.core.Scope()
        with fluid.scope_guard(scope):
            exe.run(startup)
            got = exe.run(main, feed={"x": np.array([[2.0], [6.0]], "float32")}, fetch_list=["batch_norm_0.w_1"])
        self.assertEqual(got[0].tolist(), [1.0])


class LinesAreBatches(unittest.TestCase):
    """InMemoryDataset.init(input_type=1), values of 2.6.2: an id is a sample of its own, dense values are rows."""

    def seen(self, text, batch_size=1, kind="int64"):
        paddle.enable_static()
        out = io.StringIO()
        try:
            main = paddle.static.Program()
            with paddle.static.program_guard(main):
                ids, floats = (paddle.static.data(name, [None, 1], t, lod_level=1) for name, t in (("ids", "int64"), ("f", "float32")))
                dense = paddle.static.data("d", [None, 2], kind)
                for var in (ids, floats, dense):
                    paddle.static.Print(var, message=var.name, print_tensor_layout=False)
            data = paddle.distributed.InMemoryDataset()
            data.init(batch_size=batch_size, thread_num=1, use_var=[ids, floats, dense], input_type=1)
            with tempfile.TemporaryDirectory() as folder:
                name = os.path.join(folder, "part-0")
                with open(name, "w") as file:
                    file.write(text)
                data.set_filelist([name])
                data.load_into_memory()
                with contextlib.redirect_stdout(out):
                    paddle.static.Executor().train_from_dataset(main, data)
        finally:
            paddle.disable_static()
        return re.findall(r"- lod: (.*)\n(?:.*\n)*?  - shape: (.*)\n(?:.*\n)*?  - data: (.*)\n", out.getvalue())

    def test_values(self):
        self.assertEqual(self.seen("3 7 8 9 3 0.5 1.5 2.5 6 1 0 3 4 5 6\n2 4 5 2 0.25 0.75 4 10 20 30 40\n"), [
            ("{{0, 1, 2, 3}}", "[3, 1]", "[7 8 9]"), ("{{0, 1, 2, 3}}", "[3, 1]", "[0.5 1.5 2.5]"), ("{}", "[3, 2]", "[1 0 3 4 5 6]"),
            ("{{0, 1, 2}}", "[2, 1]", "[4 5]"), ("{{0, 1, 2}}", "[2, 1]", "[0.25 0.75]"), ("{}", "[2, 2]", "[10 20 30 40]")])

    def test_wrong(self):
        line = "1 7 1 0.5 3 1 2 3\n"
        with self.assertRaisesRegex(ValueError, "part-0.*slot d: a line has 3 values, expected a multiple of 2"):
            self.seen(line)
        with self.assertRaisesRegex(ValueError, r"input_type 1 \(a line is a batch\) needs batch_size 1, found 2"):
            self.seen(line, 2)


class Settings(unittest.TestCase):
    """Taken as in Paddle; refused where they would count."""

    def test_datasets(self):
        import paddle.fluid as fluid
        data = fluid.DatasetFactory().create_dataset("InMemoryDataset")
        data.set_merge_by_sid(True)
        data.preprocess_instance()
        data.set_enable_pv_merge(True)
        for call in (data.preprocess_instance, data._prepare):
            with self.assertRaisesRegex(NotImplementedError, "samples of one page view are not merged here"):
                call()
        data = fluid.DatasetFactory().create_dataset()
        data.set_rank_offset("rank_offset")
        with self.assertRaisesRegex(NotImplementedError, "leave set_rank_offset"):
            data._prepare()

    def test_by_user(self):
        class Job(object):
            _job = object()
        data = paddle.distributed.InMemoryDataset()
        data._set_shuffle_by_uid(True)
        with self.assertRaisesRegex(NotImplementedError, "at random, not by user"):
            data.global_shuffle(Job())


if __name__ == "__main__":
    unittest.main()
