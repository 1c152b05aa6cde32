"""Running: executors, feeds, devices, readers, datasets, fetch handlers."""
import io
import os
import tempfile
import time
import unittest
import warnings
from contextlib import redirect_stdout

import numpy as np
import paddle
import paddle.fluid as fluid
import prune_cases
from fluid_help import fresh, sequences
from paddle.fluid import core, layers as L

X = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.25], [4.0, 4.0]], "float32")


def regression(rate=0.1):
    """y = x w; (loss, prediction)"""
    x, y = L.data("x", [2]), L.data("y", [1])
    p = L.fc(x, 1, param_attr=fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.5)), bias_attr=False)
    loss = L.mean(L.square_error_cost(p, y))
    fluid.optimizer.SGD(rate).minimize(loss)
    return loss, p


def weight():
    return np.array(fluid.global_scope().find_var("w").get_tensor())


class Executors(unittest.TestCase):
    def test_run(self):
        with fresh() as (main, startup):
            loss, p = regression()
            exe = fluid.Executor(fluid.CPUPlace())
            self.assertEqual(exe.run(startup), [])
            feed = {"x": X, "y": X[:, :1]}
            value, got = exe.run(main, feed=feed, fetch_list=[loss, p.name])
            np.testing.assert_allclose(got, X.sum(1, keepdims=True) / 2)
            self.assertEqual(value.shape, (1,))
            again, = exe.run(main, feed=[feed], fetch_list=[loss])
            self.assertLess(again[0], value[0])
            tensor, = exe.run(feed=feed, fetch_list=[p], return_numpy=False)
            self.assertIsInstance(tensor, fluid.LoDTensor)
            one = exe.run(main, feed=feed, fetch_list=loss)
            self.assertEqual(len(one), 1)
            pruned = exe.run(main.clone(for_test=True), feed={"x": X}, fetch_list=[p], use_prune=True)[0]
            np.testing.assert_allclose(pruned, X @ weight(), rtol=1e-6)
            with self.assertWarns(UserWarning):
                exe.run(main, feed=dict(feed, z=X), fetch_list=[loss])

    def test_an_edited_program_runs_as_it_is_now(self):
        """Plain, pruned, and on two devices: whatever was made of the program before the edit is not used after it."""
        with fresh() as (main, startup):
            x = L.data("x", [2])
            y = L.scale(x, 2.0)
            total = L.reduce_sum(y)
            exe = fluid.Executor()
            two = fluid.CompiledProgram(main).with_data_parallel(places=[fluid.CPUPlace(), fluid.CPUPlace()])
            op = [op for op in main.global_block().ops if op.type == "scale"][0]
            states = set()
            for factor in (2.0, 5.0, -1.0):
                op._set_attr("scale", factor)
                states.add(main.state)
                for got in (exe.run(main, feed={"x": X}, fetch_list=[y])[0],
                            exe.run(main, feed={"x": X}, fetch_list=[y], use_prune=True)[0],
                            exe.run(two, feed={"x": X}, fetch_list=[y])[0]):
                    np.testing.assert_array_equal(got, X * np.float32(factor))
                np.testing.assert_allclose(exe.run(main, feed={"x": X}, fetch_list=[total])[0], X.sum() * factor, rtol=1e-6)
            self.assertEqual(len(states), 3)

    def test_use_prune(self):
        """Against real 1.8.5: optimizer operators stay, or those that are chosen; on one device and two."""
        prune_cases.compare(self, prune_cases.Face1(), os.path.join(os.path.dirname(os.path.abspath(__file__)), "prune_1x.json"))
        with fresh() as (main, startup):
            loss, p = regression()
            exe = fluid.Executor(fluid.CPUPlace())
            weights = []
            for program in (main, fluid.CompiledProgram(main),
                            fluid.CompiledProgram(main).with_data_parallel(places=fluid.cpu_places(2))):
                exe.run(startup)
                exe.run(program, feed={"x": X, "y": X[:, :1]}, fetch_list=[loss], use_prune=True)
                weights.append(weight())
            np.testing.assert_allclose(weights[1:], [weights[0]] * 2, rtol=1e-6)
            self.assertNotEqual(weights[0][0, 0], 0.5)
            with self.assertRaisesRegex(TypeError, "The operator in fetch_list is not an optimize_op: mul"):
                exe.run(main, feed={"x": X}, fetch_list=[[main.global_block().ops[0]]])

    def test_wrong(self):
        with fresh() as (main, startup):
            loss, _ = regression()
            exe = fluid.Executor()
            exe.run(startup)
            feed = {"x": X, "y": X[:, :1]}
            self.assertRaises(TypeError, exe.run, "main")
            self.assertRaises(TypeError, exe.run, main, feed=3)
            self.assertRaises(AssertionError, exe.run, main, feed=[feed, feed])
            self.assertRaises(AssertionError, exe.run, main, feed=feed, fetch_list=3)
            self.assertRaises(TypeError, exe.run, main, feed=feed, fetch_list=[3])
            self.assertRaises((KeyError, ValueError), exe.run, main, feed=feed, fetch_list=["nothing"])
            self.assertRaises((TypeError, ValueError), exe.run, main, feed={"x": X.astype("int32"), "y": X[:, :1]},
                              fetch_list=[loss])
            self.assertRaises((KeyError, ValueError, RuntimeError), exe.run, main, feed={"x": X}, fetch_list=[loss])
            exe.close()
            exe.close()
            self.assertRaises(RuntimeError, exe.run, main, feed=feed)

    def test_checked_feed(self):
        with fresh() as (main, _):
            x = fluid.data("x", [None, 2])
            y = x * 2.0
            exe = fluid.Executor()
            np.testing.assert_allclose(exe.run(main, feed={"x": X}, fetch_list=[y])[0], 2 * X)
            np.testing.assert_allclose(exe.run(main, feed={"x": [[1.0, 2.0]]}, fetch_list=[y])[0], [[2, 4]])
            self.assertRaises(ValueError, exe.run, main, feed={"x": np.zeros((2, 3), "float32")}, fetch_list=[y])
            self.assertRaises((ValueError, TypeError), exe.run, main, feed={"x": np.zeros((2, 2), "int64")}, fetch_list=[y])

    def test_sequences(self):
        with fresh() as (main, _):
            s = L.data("s", [1], lod_level=1)
            y = s * 2.0
            exe = fluid.Executor()
            feed = {"s": sequences([2, 1])}
            self.assertRaises(RuntimeError, exe.run, main, feed=feed, fetch_list=[y])
            got, = exe.run(main, feed=feed, fetch_list=[y], return_numpy=False)
            self.assertEqual((np.array(got).ravel().tolist(), got.recursive_sequence_lengths()), ([0, 2, 4], [[2, 1]]))

    def test_scopes(self):
        with fresh() as (main, startup):
            loss, _ = regression()
            other = core.Scope()
            exe = fluid.Executor()
            exe.run(startup, scope=other)
            self.assertIsNone(fluid.global_scope().find_var("w"))
            exe.run(main, feed={"x": X, "y": X[:, :1]}, fetch_list=[loss], scope=other)
            self.assertIsNotNone(other.find_var("w"))

    def test_set_value(self):
        with fresh() as (main, startup):
            _, p = regression()
            exe = fluid.Executor()
            exe.run(startup)
            fluid.global_scope().find_var("w").get_tensor().set(np.array([[2.0], [3.0]], "float32"), fluid.CPUPlace())
            got, = exe.run(main.clone(for_test=True), feed={"x": X, "y": X[:, :1]}, fetch_list=[p])
            np.testing.assert_allclose(got, X @ [[2.0], [3.0]])


class Devices(unittest.TestCase):
    def setUp(self):
        self.before = os.environ.get("CPU_NUM")
        os.environ["CPU_NUM"] = "2"

    def tearDown(self):
        os.environ.pop("CPU_NUM") if self.before is None else os.environ.update(CPU_NUM=self.before)

    def one_step(self, run_step):
        with fresh() as (main, startup):
            loss, p = regression()
            exe = fluid.Executor()
            exe.run(startup)
            got = run_step(exe, main, loss, p)
            return got, weight()

    def expected(self, parts):
        w = np.full((2, 1), 0.5)
        grads = [2 * x.T @ (x @ w - x[:, :1]) / len(x) for x in parts]
        return w - 0.1 * sum(grads) / len(parts)

    def test_list_of_feeds(self):
        parts = [X[:3], X[3:]]
        feeds = [{"x": x, "y": x[:, :1]} for x in parts]

        def step(exe, main, loss, p):
            program = fluid.CompiledProgram(main).with_data_parallel(loss_name=loss.name)
            self.assertEqual(program.device_count, 2)
            self.assertRaises(ValueError, exe.run, program, feed=feeds + feeds, fetch_list=[loss])
            return exe.run(program, feed=feeds, fetch_list=[loss, p])

        (losses, rows), w = self.one_step(step)
        self.assertEqual((losses.shape, rows.shape), ((2,), (4, 1)))
        np.testing.assert_allclose(w, self.expected(parts), rtol=1e-5)

    def test_one_feed_is_cut(self):
        def step(exe, main, loss, p):
            return exe.run(fluid.CompiledProgram(main).with_data_parallel(loss_name=loss.name),
                           feed={"x": X, "y": X[:, :1]}, fetch_list=[loss, p], return_merged=False)

        (losses, rows), w = self.one_step(step)
        self.assertEqual([len(losses), [r.shape for r in rows]], [2, [(2, 1), (2, 1)]])
        np.testing.assert_allclose(w, self.expected([X[:2], X[2:]]), rtol=1e-5)

    def test_parallel_executor(self):
        def step(exe, main, loss, p):
            strategy, build = fluid.ExecutionStrategy(), fluid.BuildStrategy()
            strategy.num_threads = 2
            build.reduce_strategy = fluid.BuildStrategy.ReduceStrategy.Reduce
            parallel = fluid.ParallelExecutor(False, loss.name, main_program=main, exec_strategy=strategy, build_strategy=build)
            self.assertEqual(parallel.device_count, 2)
            got = parallel.run([loss.name], feed={"x": X, "y": X[:, :1]})
            parallel.drop_local_exe_scopes()
            return got

        (losses,), w = self.one_step(step)
        self.assertEqual(losses.shape, (2,))
        np.testing.assert_allclose(w, self.expected([X[:2], X[2:]]), rtol=1e-5)

    def test_sum_of_gradients(self):
        def step(exe, main, loss, p):
            build = fluid.BuildStrategy()
            build.gradient_scale_strategy = fluid.BuildStrategy.GradientScaleStrategy.One
            return exe.run(fluid.CompiledProgram(main).with_data_parallel(loss_name=loss.name, build_strategy=build),
                           feed={"x": X, "y": X[:, :1]}, fetch_list=[loss])

        _, w = self.one_step(step)
        np.testing.assert_allclose(w - 0.5, 2 * (self.expected([X[:2], X[2:]]) - 0.5), rtol=1e-5)

    def test_one_device(self):
        def step(exe, main, loss, p):
            program = fluid.CompiledProgram(main).with_data_parallel(loss_name=loss.name, places=[fluid.CPUPlace()])
            plain = exe.run(fluid.CompiledProgram(main.clone(for_test=True)), feed={"x": X, "y": X[:, :1]}, fetch_list=[loss])
            return plain + exe.run(program, feed={"x": X, "y": X[:, :1]}, fetch_list=[loss])

        (a, b), w = self.one_step(step)
        self.assertEqual(a, b)
        np.testing.assert_allclose(w, self.expected([X]), rtol=1e-5)

    def test_sequences_are_cut(self):
        parts = fluid.compiler.split_feed({"s": sequences([2, 1, 3, 1])}, 2)
        self.assertEqual([p["s"].recursive_sequence_lengths() for p in parts], [[[2, 1]], [[3, 1]]])
        self.assertEqual([np.array(p["s"]).ravel().tolist() for p in parts], [[0, 1, 2], [3, 4, 5, 6]])
        self.assertRaises(ValueError, fluid.compiler.split_feed, {"x": X[:1]}, 2)

    def test_wrong(self):
        main = fluid.Program()
        self.assertRaises(TypeError, fluid.CompiledProgram, "main")
        program = fluid.CompiledProgram(main).with_data_parallel()
        self.assertRaises(AssertionError, program.with_data_parallel)
        self.assertRaises(RuntimeError, fluid.ParallelExecutor, True)
        with self.assertRaisesRegex(ValueError, "this process is trainer 0 of 1"):
            fluid.ParallelExecutor(False, num_trainers=2)
        self.assertRaises(TypeError, fluid.ParallelExecutor, False, share_vars_from=3)
        with self.assertRaises(AttributeError):
            fluid.BuildStrategy().no_such_option = 1


class Feeders(unittest.TestCase):
    def test_feed(self):
        with fresh():
            x, s, i = L.data("x", [2]), L.data("s", [1], dtype="int64", lod_level=1), L.data("i", [1], dtype="int64")
            feeder = fluid.DataFeeder([x, "s", i], fluid.CPUPlace())
            feed = feeder.feed([([1, 2], [5, 6], 0), ([3, 4], [7], 1)])
            self.assertEqual(np.array(feed["x"]).tolist(), [[1, 2], [3, 4]])
            self.assertEqual(np.array(feed["x"]).dtype, np.float32)
            self.assertEqual((np.array(feed["s"]).tolist(), feed["s"].lod()), ([[5], [6], [7]], [[0, 2, 3]]))
            self.assertEqual(np.array(feed["i"]).tolist(), [[0], [1]])
            self.assertRaises(AssertionError, feeder.feed, [([1, 2],)])
            self.assertRaises(ValueError, fluid.DataFeeder([x], None).feed, [([[1, 2, 3]],)])
            self.assertRaises(TypeError, feeder.feed, [([1, 2], 5, 0)])
            self.assertRaises(TypeError, fluid.DataFeeder, [3], None)
            both = feeder.feed_parallel([[([1, 2], [5], 0)], [([3, 4], [7], 1)]], 2)
            self.assertEqual([np.array(f["i"]).tolist() for f in both], [[[0]], [[1]]])
            self.assertRaises(ValueError, feeder.feed_parallel, [[]], 2)
            batches = lambda: iter([[([1, 2], [5], 0)], [([3, 4], [7], 1)]])
            self.assertEqual(len(list(feeder.decorate_reader(batches, False)())), 2)
            self.assertEqual(len(list(feeder.decorate_reader(batches, True, 2)())), 1)

    def test_image_shape(self):
        with fresh():
            feed = fluid.DataFeeder([L.data("p", [1, 2, 2])], None).feed([(np.arange(4),), (np.arange(4),)])
            self.assertEqual(feed["p"].shape(), [2, 1, 2, 2])


class Readers(unittest.TestCase):
    """PyReader and DataLoader, both ways."""

    samples = [([1.0, 2.0], [1]), ([3.0, 4.0], [0]), ([5.0, 6.0], [1])]

    def batches(self):
        return paddle.batch(lambda: iter(self.samples), 2)

    def variables(self):
        return [L.data("x", [2]), L.data("l", [1], dtype="int64")]

    def test_iterable(self):
        with fresh() as (main, _):
            inputs = self.variables()
            total = L.reduce_sum(inputs[0])
            exe = fluid.Executor()
            reader = fluid.io.PyReader(feed_list=inputs, capacity=4, iterable=True)
            reader.decorate_sample_list_generator(self.batches(), places=fluid.CPUPlace())
            for _ in range(2):
                got = [float(exe.run(main, feed=data, fetch_list=[total])[0][0]) for data in reader()]
                self.assertEqual(got, [10.0, 11.0])
            self.assertRaises(AssertionError, reader.start)
            self.assertTrue(reader.iterable)
            loader = fluid.io.DataLoader.from_generator(feed_list=inputs, capacity=2, return_list=True)
            self.assertRaises(AssertionError, iter, loader)
            loader.set_sample_generator(lambda: iter(self.samples), 2, drop_last=False, places=fluid.CPUPlace())
            self.assertEqual([np.array(x).shape for x, _ in loader], [(2, 2), (1, 2)])
            loader.set_batch_generator(lambda: iter([(X, np.ones((4, 1), "int64"))]), places=fluid.cpu_places(1))
            self.assertEqual([np.array(x).shape for x, _ in loader()], [(4, 2)])
            self.assertRaises(AssertionError, loader.set_sample_generator, lambda: None, 0)
            two = fluid.io.DataLoader.from_generator(feed_list=inputs, capacity=2)
            two.set_sample_list_generator(paddle.batch(lambda: iter(self.samples + self.samples[:1]), 2),
                                          places=fluid.cpu_places(2))
            self.assertEqual([len(group) for group in two()], [2])

    def test_started(self):
        with fresh() as (main, _):
            inputs = self.variables()
            reader = fluid.io.PyReader(feed_list=inputs, capacity=4, iterable=False)
            total = L.reduce_sum(inputs[0])
            exe = fluid.Executor()
            reader.decorate_sample_list_generator(self.batches())
            self.assertRaises(RuntimeError, exe.run, main, fetch_list=[total])
            for _ in range(2):
                reader.start()
                self.assertRaises(RuntimeError, reader.start)
                got = []
                with self.assertRaises(fluid.core.EOFException):
                    while True:
                        got.append(float(exe.run(main, fetch_list=[total])[0][0]))
                self.assertEqual(got, [10.0, 11.0])
                reader.reset()
            self.assertRaises(AssertionError, iter, reader)
            # a copy reads too, and a feed given by hand goes before
            reader.start()
            copy = main.clone(for_test=True)
            self.assertEqual(float(exe.run(copy, fetch_list=[total.name])[0][0]), 10.0)
            feed = {"x": X, "l": np.ones((4, 1), "int64")}
            self.assertEqual(float(exe.run(main, feed=feed, fetch_list=[total])[0][0]), float(X.sum()))
            reader.reset()

    def test_py_reader_layers(self):
        with fresh() as (main, _):
            reader = L.py_reader(capacity=4, shapes=[[-1, 2], [-1, 1]], dtypes=["float32", "int64"], use_double_buffer=False)
            x, label = L.read_file(L.double_buffer(reader))
            total = L.reduce_sum(x)
            reader.decorate_paddle_reader(self.batches())
            reader.start()
            self.assertEqual(float(fluid.Executor().run(main, fetch_list=[total])[0][0]), 10.0)
            reader.reset()
            self.assertRaises(ValueError, L.py_reader, 4, [[-1, 2]], [])
        with fresh() as (main, _):
            inputs = self.variables()
            reader = L.create_py_reader_by_data(4, inputs)
            reader.decorate_tensor_provider(lambda: iter([(X, np.ones((4, 1), "int64"))]))
            reader.start()
            self.assertEqual(float(fluid.Executor().run(main, fetch_list=[L.reduce_sum(inputs[0])])[0][0]), float(X.sum()))
            reader.reset()

    def test_errors_come_through(self):
        def bad():
            yield [([1.0, 2.0], [1])]
            raise KeyError("lost")

        with fresh() as (main, _):
            inputs = self.variables()
            reader = fluid.io.PyReader(inputs, 2)
            reader.decorate_sample_list_generator(bad)
            with self.assertRaises(KeyError):
                list(reader())
            self.assertRaises(TypeError, fluid.io.PyReader, 3)
            self.assertRaises(TypeError, fluid.io.PyReader, [3])
            self.assertRaises(ValueError, fluid.io.PyReader, None, 4, iterable=False)

    def test_data_loader(self):
        class Rows(object):
            def __len__(self):
                return 5

            def __getitem__(self, i):
                return np.full(2, i, "float32"), i

        loader = fluid.io.DataLoader(Rows(), batch_size=2, return_list=True)
        self.assertEqual(len(loader), 3)
        self.assertEqual([np.array(b).tolist() for _, b in loader], [[0, 1], [2, 3], [4]])
        shuffled = fluid.io.DataLoader(Rows(), batch_size=2, shuffle=True, drop_last=True, return_list=True)
        self.assertEqual(len(list(shuffled())), 2)
        with fresh():
            fed = fluid.io.DataLoader(Rows(), feed_list=self.variables(), batch_sampler=[[0, 4]])
            self.assertEqual(np.array(next(iter(fed))[0]["l"]).tolist(), [0, 4])
        self.assertRaises(AssertionError, fluid.io.DataLoader, Rows())
        self.assertRaises(AssertionError, fluid.io.DataLoader, Rows(), return_list=True, num_workers=-1)
        self.assertEqual(fluid.io.default_collate_fn([1, 2])[0].tolist(), [1, 2])


class Datasets(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.files = []
        for part in range(2):
            path = os.path.join(self.folder.name, "part-%d" % part)
            with open(path, "w") as out:
                for row in range(20):
                    out.write("2 %d 1 1 %d\n" % (row, part))
            self.files.append(path)

    def dataset(self, kind="QueueDataset", threads=2):
        x, y = L.data("x", [2]), L.data("y", [1])
        dataset = fluid.DatasetFactory().create_dataset(kind)
        dataset.set_use_var([x, y])
        dataset.set_batch_size(4)
        dataset.set_thread(threads)
        dataset.set_filelist(self.files)
        dataset.set_pipe_command("cat")
        return dataset, x, y

    def test_train_and_infer(self):
        with fresh() as (main, startup):
            dataset, x, y = self.dataset()
            p = L.fc(x, 1, param_attr=fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.0)))
            loss = L.mean(L.square_error_cost(p, y))
            fluid.optimizer.SGD(1e-3).minimize(loss)
            exe = fluid.Executor()
            exe.run(startup)
            before = weight()
            exe.infer_from_dataset(main, dataset, fetch_list=[loss], fetch_info=["loss"], print_period=2)
            np.testing.assert_array_equal(weight(), before)
            out = io.StringIO()
            with redirect_stdout(out):
                exe.train_from_dataset(main, dataset, thread=1, fetch_list=[loss], fetch_info=["the loss"], print_period=2)
            self.assertIn("the loss", out.getvalue())
            self.assertGreater(np.abs(weight() - before).max(), 0)
            with redirect_stdout(io.StringIO()):
                exe.train_from_dataset(fluid.CompiledProgram(main), dataset, fetch_list=[loss], debug=True)
            main._fleet_opt = {"dump_fields_path": "dumps", "dump_fields": [loss.name]}
            with self.assertWarnsRegex(UserWarning, "dump_fields_path: nothing is written to dumps: only `skiff train`"):
                exe.infer_from_dataset(main, dataset)
            main._fleet_opt = {"dump_fields_path": "dumps", "dump_fields": []}
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                exe.infer_from_dataset(main, dataset)
            self.assertRaises(RuntimeError, exe.train_from_dataset, main)
            self.assertRaises(TypeError, exe.train_from_dataset, main, 3)
            self.assertRaises(TypeError, exe.train_from_dataset, 3, dataset)
            self.assertRaises(AssertionError, exe.train_from_dataset, main, dataset, fetch_list=[loss], fetch_info=["a", "b"])
            self.assertRaises(AssertionError, exe.train_from_dataset, main, dataset, fetch_handler=3)
            loader = fluid.io.DataLoader.from_dataset(dataset, fluid.cpu_places(1), drop_last=False)
            self.assertEqual(sum(np.array(feed[0]["x"]).shape[0] for feed in loader()), 40)
            self.assertRaises(AssertionError, fluid.io.DataLoader.from_dataset, 3)

    def test_handlers(self):
        with fresh() as (main, startup):
            dataset, x, y = self.dataset(threads=1)
            dataset.set_pipe_command("sleep 0.6; cat; sleep 0.6")
            loss = L.mean(L.square_error_cost(L.fc(x, 1), y))
            exe = fluid.Executor()
            exe.run(startup)
            seen = []

            class New(fluid.executor.FetchHandler):
                def handler(self, res_dict):
                    seen.append(res_dict)

            exe.train_from_dataset(main, dataset, fetch_handler=New(var_dict={"loss": loss}, period_secs=0.5))
            self.assertTrue(seen and set(seen[0]) == {"loss"})
            self.assertTrue(any(isinstance(d["loss"], np.ndarray) for d in seen))
            del seen[:]
            exe.train_from_dataset(main, dataset, fetch_handler=New([loss.name], 0.5, True))
            self.assertTrue(seen and isinstance(seen[0], list))
            self.assertRaises(AssertionError, fluid.executor.FetchHandler)
            out = io.StringIO()
            with redirect_stdout(out):
                fluid.executor.FetchHandler({"a": loss}).handler({"a": np.array([2.5])})
                fluid.executor.FetchHandler(["a"]).handler([3.5])
                fluid.executor.FetchHandler.help()
            self.assertIn("2.5", out.getvalue())

    def test_in_memory(self):
        with fresh() as (main, startup):
            dataset, x, y = self.dataset("InMemoryDataset")
            dataset.load_into_memory()
            self.assertEqual((dataset.get_memory_data_size(), dataset.get_shuffle_data_size()), (40, 40))
            dataset.local_shuffle()
            dataset.global_shuffle()
            dataset.slots_shuffle(["y"])
            dataset.set_queue_num(2)
            dataset.set_fleet_send_batch_size(10)
            dataset.set_fleet_send_sleep_seconds(0)
            total = L.reduce_sum(x)
            exe = fluid.Executor()
            exe.infer_from_dataset(main, dataset, fetch_list=[total], fetch_info=["t"], print_period=1000)
            dataset.release_memory()
            self.assertEqual(dataset.get_memory_data_size(), 0)
            dataset.preload_into_memory()
            dataset.wait_preload_done()
            self.assertEqual(dataset.get_memory_data_size(), 40)
            self.assertIn("batch_size: 4", dataset.desc())

    def test_wrong(self):
        with fresh():
            self.assertRaises(ValueError, fluid.DatasetFactory().create_dataset, "MyDataset")
            dataset, x, y = self.dataset()
            self.assertRaises(NotImplementedError, dataset.local_shuffle)
            self.assertRaises(NotImplementedError, dataset.global_shuffle)
            dataset.set_hdfs_config("a", "b")  # for hdfs: names only, as in Paddle
            dataset.set_download_cmd("a")
            with self.assertRaisesRegex(ValueError, 'fs_name "a": write hdfs://host:port'):
                dataset.set_filelist(["afs:/a"])
            self.assertRaises(TypeError, dataset.set_filelist, "file")
            self.assertRaises(ValueError, dataset.set_use_var, [L.data("d", [1], dtype="float64")])
            exe = fluid.Executor()
            dataset.set_filelist([os.path.join(self.folder.name, "none")])
            self.assertRaises((OSError, KeyError), exe.train_from_dataset, fluid.default_main_program(), dataset)
            dataset.set_filelist(self.files)
            dataset.set_pipe_command("exit 3")
            self.assertRaises((RuntimeError, OSError, ValueError), exe.train_from_dataset, fluid.default_main_program(), dataset)

    def test_readers_of_skiff(self):
        with fresh():
            dataset, x, y = self.dataset()
            dataset.set_format("format", "multislot")
            self.assertEqual(len(list(fluid.io.DataLoader.from_dataset(dataset)())), 10)


class Speed(unittest.TestCase):
    def test_many_small_runs(self):
        """A run of a tiny program costs microseconds, not milliseconds."""
        with fresh() as (main, startup):
            loss, _ = regression(0.0)
            exe = fluid.Executor()
            exe.run(startup)
            feed = {"x": X, "y": X[:, :1]}
            exe.run(main, feed=feed, fetch_list=[loss])
            start = time.process_time()
            for _ in range(300):
                exe.run(main, feed=feed, fetch_list=[loss])
            self.assertLess((time.process_time() - start) / 300, 1e-3)


if __name__ == "__main__":
    unittest.main()
