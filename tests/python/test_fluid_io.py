"""Saving and loading, metrics, Trainer and Inferencer, splitting programs, fleets of one process."""
import os
import tempfile
import unittest
from unittest import mock

import numpy as np
import paddle
import paddle.fluid as fluid
from fluid_help import fresh
from paddle.fluid import core, layers as L

X = np.array([[1.0, 2.0], [3.0, -1.0]], "float32")


def network():
    x, y = L.data("x", [2]), L.data("y", [1])
    h = L.fc(x, 3, act="tanh", param_attr="w0", bias_attr="b0")
    p = L.fc(h, 1, param_attr="w1", bias_attr="b1")
    loss = L.mean(L.square_error_cost(p, y))
    fluid.optimizer.Momentum(0.1, 0.9).minimize(loss)
    return p, loss


def value(name):
    return np.array(fluid.global_scope().find_var(name).get_tensor())


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = folder.name
        context = fresh(3)
        self.main, self.startup = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        self.p, self.loss = network()
        self.exe = fluid.Executor(fluid.CPUPlace())
        self.exe.run(self.startup)
        self.exe.run(self.main, feed={"x": X, "y": X[:, :1]}, fetch_list=[self.loss])

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def in_new_scope(self, load, names):
        """The values of names after load() into an empty scope."""
        with fluid.scope_guard(core.Scope()):
            load()
            return [value(name) for name in names]

    def check(self, load, names=("w0", "b1")):
        for got, name in zip(self.in_new_scope(load, names), names):
            np.testing.assert_array_equal(got, value(name))

    def test_params_and_persistables(self):
        fluid.io.save_params(self.exe, self.path("params"), self.main)
        self.assertEqual(sorted(os.listdir(self.path("params"))), ["__skiff_manifest__", "b0", "b1", "w0", "w1"])
        fluid.io.save_persistables(executor=self.exe, dirname=self.path("all"))
        self.assertIn("w0_velocity_0", os.listdir(self.path("all")))
        fluid.io.save_persistables(self.exe, self.path("one"), self.main, filename="all")
        self.assertEqual(sorted(os.listdir(self.path("one"))), ["__skiff_manifest__", "all"])
        self.check(lambda: fluid.io.load_params(self.exe, self.path("params"), self.main))
        self.check(lambda: fluid.io.load_persistables(self.exe, self.path("all"), self.main), ("w0", "w0_velocity_0"))
        self.check(lambda: fluid.io.load_persistables(self.exe, self.path("one"), self.main, filename="all"))
        self.assertRaises(TypeError, fluid.io.save_params, self.exe, 3)
        self.assertRaises(TypeError, fluid.io.save_params, self.exe, self.dir, 3)
        self.assertRaises(TypeError, fluid.io.save_params, 3, self.dir)
        self.assertRaises((OSError, KeyError), fluid.io.load_params, self.exe, self.path("nowhere"), self.main)

    def test_vars(self):
        fluid.io.save_vars(self.exe, self.path("v"), self.main, vars=[self.main.global_block().var("w0")])
        self.assertEqual(sorted(os.listdir(self.path("v"))), ["__skiff_manifest__", "w0"])
        fluid.io.save_vars(self.exe, self.path("v"), self.main, predicate=lambda var: var.persistable and var.name in ("b0", "b1"))
        self.assertEqual(sorted(os.listdir(self.path("v"))), ["__skiff_manifest__", "b0", "b1", "w0"])
        self.check(lambda: fluid.io.load_vars(self.exe, self.path("v"), self.main, predicate=lambda var: var.name == "w0"), ["w0"])
        self.assertRaises(TypeError, fluid.io.save_vars, self.exe, self.path("v"), self.main, vars=[3])

    def test_inference_model(self):
        names = fluid.io.save_inference_model(self.path("m"), ["x"], [self.p], self.exe)
        self.assertEqual(names, [self.p.name])
        self.assertEqual(sorted(os.listdir(self.path("m"))), ["__model__", "__skiff_manifest__", "b0", "b1", "w0", "w1"])
        want, = self.exe.run(self.main.clone(for_test=True), feed={"x": X, "y": X[:, :1]}, fetch_list=[self.p])
        with fluid.scope_guard(core.Scope()):
            program, feeds, targets = fluid.io.load_inference_model(self.path("m"), self.exe)
            self.assertEqual(feeds, ["x"])
            got, = self.exe.run(program, feed={"x": X}, fetch_list=targets)
        np.testing.assert_allclose(got, want)
        fluid.io.save_inference_model(self.path("f"), "x", self.p, self.exe, model_filename="model", params_filename="params")
        self.assertEqual(sorted(os.listdir(self.path("f"))), ["__skiff_manifest__", "model", "params"])
        with fluid.scope_guard(core.Scope()):
            program, _, targets = fluid.io.load_inference_model(self.path("f"), self.exe, "model", "params")
            np.testing.assert_allclose(self.exe.run(program, feed={"x": X}, fetch_list=targets)[0], want)
        fluid.io.save_inference_model(self.path("p"), ["x"], [self.p], self.exe, program_only=True)
        self.assertEqual(os.listdir(self.path("p")), ["__model__"])
        fluid.io.save_inference_model(self.path("d"), ["x"], [self.p], self.exe, export_for_deployment=False)
        self.assertIn("__model__.main_program", os.listdir(self.path("d")))
        self.assertRaises(ValueError, fluid.io.save_inference_model, self.path("m"), [3], [self.p], self.exe)
        self.assertRaises(ValueError, fluid.io.save_inference_model, self.path("m"), ["x"], [3], self.exe)
        self.assertRaises(ValueError, fluid.io.load_inference_model, self.path("none"), self.exe)
        self.assertRaises(NotImplementedError, fluid.io.load_inference_model, self.path("m"), self.exe, pserver_endpoints=["a"])

    def test_damage_is_named(self):
        """Every load compares with the manifest; without it nothing is compared."""
        fluid.io.save_persistables(self.exe, self.path("all"), self.main)
        fluid.save(self.main, self.path("s", "model"))
        fluid.io.save_inference_model(self.path("m"), ["x"], [self.p], self.exe)
        for file in (self.path("all", "w0"), self.path("s", "model.pdopt"), self.path("m", "b1")):
            with open(file, "r+b") as out:
                out.seek(-1, os.SEEK_END)
                out.write(b"\x55")
        for load, file in ((lambda: fluid.io.load_persistables(self.exe, self.path("all"), self.main), "w0"),
                           (lambda: fluid.load(self.main, self.path("all"), self.exe), "w0"),
                           (lambda: fluid.io.load_program_state(self.path("all")), "w0"),
                           (lambda: fluid.load(self.main, self.path("s", "model"), self.exe), "model.pdopt"),
                           (lambda: fluid.io.load_program_state(self.path("s", "model")), "model.pdopt"),
                           (lambda: fluid.io.load_inference_model(self.path("m"), self.exe), "b1")):
            with self.assertRaisesRegex(ValueError, file + ": checksum .* remove the manifest that lists it"):
                load()
        os.remove(self.path("all", "__skiff_manifest__"))
        fluid.io.load_persistables(self.exe, self.path("all"), self.main)

    def test_program_only(self):
        """A program that is written alone, over one that is listed, is taken off the list."""
        fluid.io.save_inference_model(self.path("m"), ["x"], [self.p], self.exe)
        fluid.io.save_inference_model(self.path("m"), ["x"], [fluid.layers.scale(self.p, 2.0)], self.exe, program_only=True)
        fluid.io.load_inference_model(self.path("m"), self.exe)

    def test_cut_save(self):
        """A save that was cut behind its instant is found, by calls that list files, too."""
        fluid.io.save_persistables(self.exe, self.path("all"), self.main)
        fluid.save(self.main, self.path("s", "model"))
        want = value("w0")
        for folder in ("all", "s"):
            names = os.listdir(self.path(folder))
            os.mkdir(self.path(folder, ".skiff-commit-1"))
            for name in names:
                os.rename(self.path(folder, name), self.path(folder, ".skiff-commit-1", name))
        np.testing.assert_array_equal(fluid.io.load_program_state(self.path("all"))["w0"], want)
        self.check(lambda: fluid.load(self.main, self.path("s", "model"), self.exe), ("w0", "w0_velocity_0"))
        self.assertNotIn(".skiff-commit-1", os.listdir(self.path("s")) + os.listdir(self.path("all")))

    def test_save_and_load(self):
        fluid.save(self.main, self.path("s", "model"))
        self.assertEqual(sorted(os.listdir(self.path("s"))), ["model.pdmodel", "model.pdopt", "model.pdparams", "model.skiff_manifest.yaml"])
        self.check(lambda: fluid.load(self.main, self.path("s", "model"), self.exe), ("w0", "w0_velocity_0"))
        state = fluid.io.load_program_state(self.path("s", "model"))
        np.testing.assert_array_equal(state["w1"], value("w1"))
        self.assertEqual(list(fluid.io.load_program_state(self.path("s", "model"), ["w1"])), ["w1"])
        state["w1"] = state["w1"] * 2
        fluid.io.set_program_state(self.main, state)
        np.testing.assert_array_equal(value("w1"), state["w1"])
        self.assertRaises(AssertionError, fluid.io.set_program_state, self.main, {"w1": np.zeros(7, "float32")})
        with self.assertWarns(UserWarning):
            fluid.io.set_program_state(self.main, {"other": np.zeros(7, "float32")})
        fluid.io.save_params(self.exe, self.path("params"), self.main)
        self.check(lambda: fluid.load(self.main, self.path("params"), self.exe))
        self.assertIn("w0", fluid.io.load_program_state(self.path("params")))
        fluid.io.save_params(self.exe, self.path("one"), self.main, filename="all")
        self.check(lambda: fluid.load(self.main, self.path("one", "all"), self.exe, fluid.io.get_program_parameter(self.main)))
        self.assertRaises(ValueError, fluid.load, self.main, self.path("one", "all"))
        self.assertRaises(ValueError, fluid.load, self.main, self.path("nothing"))
        self.assertRaises(ValueError, fluid.io.load_program_state, self.path("nothing"))
        self.assertRaises(AssertionError, fluid.save, self.main, self.path("s", ""))
        self.assertRaises(TypeError, fluid.save, 3, self.path("s"))

    def test_helpers(self):
        self.assertEqual({v.name for v in fluid.io.get_program_parameter(self.main)}, {"w0", "b0", "w1", "b1"})
        self.assertIn("learning_rate_0", {v.name for v in fluid.io.get_program_persistable_vars(self.main)})
        block = self.main.global_block()
        self.assertTrue(fluid.io.is_parameter(block.var("w0")) and fluid.io.is_persistable(block.var("w0")))
        self.assertTrue(fluid.io.is_belong_to_optimizer(block.var("w0_velocity_0")))
        np.testing.assert_array_equal(fluid.io.get_parameter_value(block.var("w0"), self.exe), value("w0"))
        np.testing.assert_array_equal(fluid.io.get_parameter_value_by_name("w0", self.exe, self.main), value("w0"))
        self.assertIs(fluid.io.batch, paddle.batch)
        self.assertIs(fluid.io.shuffle, paddle.reader.shuffle)

    def test_load_layer(self):
        fluid.io.save_params(self.exe, self.path("params"), self.main)
        program = fluid.Program()
        with fluid.program_guard(program):
            out = program.global_block().create_var(name="w0", shape=[2, 3], dtype="float32", persistable=True)
            L.load(out, self.path("params", "w0"))
        self.check(lambda: self.exe.run(program), ["w0"])


class Metrics(unittest.TestCase):
    def test_metrics(self):
        M = fluid.metrics
        preds, labels = np.array([[0.1], [0.7], [0.8], [0.9]]), np.array([[0], [1], [0], [1]])
        precision, recall, both = M.Precision(), M.Recall(), M.CompositeMetric()
        both.add_metric(precision)
        both.add_metric(recall)
        both.update(preds, labels)
        self.assertEqual(both.eval(), [2 / 3, 1.0])
        both.reset()
        self.assertEqual(precision.eval(), 0.0)
        self.assertRaises(ValueError, both.add_metric, 3)
        self.assertRaises(ValueError, precision.update, [1], [1])
        accuracy = M.Accuracy()
        accuracy.update(0.5, 10)
        accuracy.update(np.array([1.0]), 30)
        self.assertAlmostEqual(accuracy.eval(), 0.875)
        self.assertEqual(accuracy.get_config()["states"], {"value": 35.0, "weight": 40.0})
        accuracy.reset()
        self.assertRaises(ValueError, accuracy.eval)
        self.assertRaises(ValueError, accuracy.update, "x", 1)
        chunk = M.ChunkEvaluator()
        chunk.update(10, 9, 8)
        self.assertAlmostEqual(chunk.eval()[2], 2 * 0.8 * (8 / 9) / (0.8 + 8 / 9))
        self.assertRaises(ValueError, chunk.update, "a", 1, 1)
        edit = M.EditDistance("e")
        self.assertRaises(ValueError, edit.eval)
        edit.update(np.array([[0.0], [2.0]]), 2)
        self.assertEqual(edit.eval(), (1.0, 0.5))
        self.assertRaises(NotImplementedError, M.MetricBase("m").update, 1, 2)
        self.assertRaises(NotImplementedError, M.MetricBase("m").eval)
        self.assertEqual(str(M.MetricBase("m")), "m")

    def test_auc(self):
        auc = fluid.metrics.Auc("auc")
        random = np.random.RandomState(0)
        labels = (random.rand(500, 1) < 0.4).astype("int64")
        scores = np.clip(0.3 * labels + 0.5 * random.rand(500, 1), 0, 1).astype("float32")
        for i in range(0, 500, 100):
            auc.update(np.concatenate([1 - scores[i:i + 100], scores[i:i + 100]], 1), labels[i:i + 100])
        pos, neg = scores[labels == 1], scores[labels == 0]
        want = (pos[:, None] > neg[None]).mean()
        self.assertAlmostEqual(auc.eval(), want, places=3)
        auc.reset()
        self.assertEqual(auc.eval(), 0.0)
        self.assertRaises(ValueError, auc.update, [1], labels)

    def test_average(self):
        with self.assertWarns(Warning):
            average = fluid.average.WeightedAverage()
        self.assertRaises(ValueError, average.eval)
        average.add(2.0, 1)
        average.add(4.0, 3)
        self.assertEqual(average.eval(), 3.5)
        self.assertRaises(ValueError, average.add, "x", 1)


def train_func():
    x, y = L.data("x", [2]), L.data("y", [1])
    return L.mean(L.square_error_cost(L.fc(x, 1, param_attr="w", bias_attr="b"), y))


class Trainers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = folder.name
        patch = mock.patch.dict(os.environ)
        patch.start()
        self.addCleanup(patch.stop)
        os.environ.pop("PADDLE_TRAINING_ROLE", None)

    def reader(self):
        for i in range(6):
            yield [(X[0], X[0][:1]), (X[1], X[1][:1])]

    def trainer(self, config=None, **keys):
        return fluid.Trainer(train_func=train_func, optimizer_func=lambda: fluid.optimizer.SGD(0.05), place=fluid.CPUPlace(),
                             checkpoint_config=config, **keys)

    def test_train_test_save(self):
        trainer, events = self.trainer(), []
        trainer.train(2, events.append, reader=self.reader, feed_order=["x", "y"])
        kinds = [type(event).__name__ for event in events]
        self.assertEqual(kinds.count("EndStepEvent"), 12)
        self.assertEqual((kinds[0], kinds[-1]), ("BeginEpochEvent", "EndEpochEvent"))
        ends = [event for event in events if isinstance(event, fluid.EndStepEvent)]
        self.assertLess(ends[-1].metrics[0][0], ends[0].metrics[0][0])
        self.assertEqual(len(trainer.test(self.reader, ["x", "y"])), 1)
        trainer.save_params(os.path.join(self.dir, "params"))
        names = ["b", "learning_rate_0", "w"]  # Paddle's files and no other
        self.assertEqual(sorted(os.listdir(os.path.join(self.dir, "params"))), names)
        trainer.save_params(os.path.join(self.dir, "params"))
        self.assertEqual(sorted(os.listdir(os.path.join(self.dir, "params"))), names)
        trainer.save_inference_model(os.path.join(self.dir, "model"), ["x", "y"], [0])
        self.assertIn("__model__", os.listdir(os.path.join(self.dir, "model")))
        inferencer = fluid.contrib.Inferencer(lambda: L.fc(L.data("x", [2]), 1, param_attr="w", bias_attr="b"),
                                              os.path.join(self.dir, "params"), fluid.CPUPlace())
        self.assertEqual(inferencer.infer({"x": X})[0].shape, (2, 1))
        self.assertRaises(ValueError, inferencer.infer, 3)
        again = self.trainer(param_path=os.path.join(self.dir, "params"))
        with fluid.scope_guard(trainer.scope):
            trained = value("w")
        with fluid.scope_guard(again.scope):
            np.testing.assert_array_equal(value("w"), trained)

    def test_checkpoints(self):
        where = os.path.join(self.dir, "ckpt")
        config = lambda: fluid.CheckpointConfig(where, max_num_checkpoints=2, epoch_interval=1, step_interval=2)

        class Crash(Exception):
            pass

        steps = []

        def crash(event):
            if isinstance(event, fluid.EndStepEvent):
                steps.append((event.epoch, event.step))
                if steps[-1] == (1, 3):
                    raise Crash

        with self.assertRaises(Crash):
            self.trainer(config()).train(3, crash, self.reader, ["x", "y"])
        from paddle.fluid.contrib import trainer as module
        self.assertEqual(len(os.listdir(where)), 2)
        serial = module.get_latest_checkpoint_serial(where)
        self.assertEqual(module.load_trainer_args(where, serial, 0, ["epoch_id", "step_id"]), ["1", "2"])
        self.assertIsNone(module.load_trainer_args(where, serial, 5, ["epoch_id"]))
        del steps[:]
        resumed = self.trainer(config())
        resumed.train(3, lambda e: steps.append((e.epoch, e.step)) if isinstance(e, fluid.EndStepEvent) else None,
                      self.reader, ["x", "y"])
        self.assertEqual(steps[0], (1, 3))
        self.assertEqual(os.listdir(where), [])
        module.clean_checkpoint(where, delete_dir=True)
        self.assertFalse(os.path.isdir(where))
        self.assertEqual(module.get_latest_checkpoint_serial(where), -1)

    def test_stop_and_wrong(self):
        trainer, steps = self.trainer(parallel=True), []

        def stop(event):
            if isinstance(event, fluid.EndStepEvent):
                steps.append(event.step)
                trainer.stop()

        trainer.train(3, stop, self.reader, ["x", "y"])
        self.assertEqual(steps, [0])
        self.assertRaises(AssertionError, fluid.CheckpointConfig, epoch_interval=0)
        self.assertRaises(AssertionError, fluid.CheckpointConfig, step_interval=0)
        self.assertRaises(TypeError, self.trainer, 3)
        self.assertRaises(TypeError, fluid.Trainer, train_func, lambda: 3)
        os.environ["PADDLE_TRAINING_ROLE"] = "COOK"
        self.assertRaises(ValueError, self.trainer)


class Collective(unittest.TestCase):
    def test_one_process(self):
        from paddle.fluid.incubate.fleet.collective import DistributedStrategy, fleet
        with mock.patch.dict(os.environ):
            os.environ.pop("PADDLE_TRAINER_ENDPOINTS", None)
            fleet.init()
        self.assertTrue(fleet.is_worker() and fleet.is_first_worker() and not fleet.is_server())
        self.assertEqual((fleet.worker_num(), fleet.worker_index(), fleet.split_files(["a", "b"])), (1, 0, ["a", "b"]))
        with fresh() as (main, startup):
            loss = L.mean(L.fc(L.data("x", [2]), 1))
            fleet.distributed_optimizer(fluid.optimizer.SGD(0.1), DistributedStrategy()).minimize(loss)
            self.assertIs(fleet.main_program, main)
            exe = fluid.Executor()
            exe.run(startup)
            exe.run(fleet.main_program, feed={"x": X}, fetch_list=[loss])
            with tempfile.TemporaryDirectory() as folder:
                fleet.save_persistables(exe, folder)
                self.assertIn("fc_0.w_0", os.listdir(folder))
        fleet.init_worker()
        fleet.stop_worker()
        self.assertRaises(NotImplementedError, fleet.init_server)
        self.assertRaises(NotImplementedError, fleet.run_server)
        self.assertRaises(TypeError, fleet.init, 3)
        self.assertRaises(TypeError, fleet.split_files, "a")
        from paddle.fluid.incubate.fleet.base.role_maker import UserDefinedCollectiveRoleMaker
        fleet.init(UserDefinedCollectiveRoleMaker(1, ["a:1", "b:1"]))
        self.assertEqual((fleet.worker_index(), fleet.worker_num()), (1, 2))
        fleet.init(UserDefinedCollectiveRoleMaker(0, ["a:1"]))


class Strategies(unittest.TestCase):
    def test_config(self):
        config = fluid.DistributeTranspilerConfig()
        self.assertTrue(config.sync_mode and config.slice_var_up and not config.runtime_split_send_recv)
        with self.assertRaises(ValueError):
            config.runtime_split_send_recv = True
        with self.assertRaises(ValueError):
            config.sync_mode = None
        config.sync_mode = False
        config.runtime_split_send_recv = True
        with self.assertRaises(ValueError):
            config.sync_mode = True
        with self.assertRaises(ValueError):
            config.runtime_split_send_recv = None
        config.min_block_size = 10
        self.assertRaises(AssertionError, config._fields)

    def test_strategies(self):
        from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import distributed_strategy as S
        factory = S.StrategyFactory
        made = [factory.create_sync_strategy(), factory.create_half_async_strategy(), factory.create_async_strategy(),
                factory.create_geo_strategy(50)]
        self.assertEqual([s._native()["mode"] for s in made], ["sync", "half_async", "async", "geo"])
        self.assertEqual(made[3]._native()["geo_steps"], 50)
        strategy = made[2]
        strategy.set_trainer_runtime_config({"communicator_send_queue_size": 7})
        self.assertEqual(strategy._native()["send_queue_size"], 7)
        self.assertIn("send_queue_size", repr(strategy.get_trainer_runtime_config()))
        self.assertRaises(ValueError, strategy.set_trainer_runtime_config, {"colour": 1})
        self.assertRaises(TypeError, strategy.set_trainer_runtime_config, 3)
        strategy.set_program_config({"slice_var_up": False})
        self.assertFalse(strategy.get_program_config().slice_var_up)
        self.assertRaises(ValueError, strategy.set_program_config, {"colour": 1})
        self.assertRaises(TypeError, strategy.set_program_config, 3)
        strategy.set_execute_strategy({"num_threads": 3})
        self.assertEqual(strategy.get_execute_strategy().num_threads, 3)
        strategy.set_build_strategy(fluid.BuildStrategy())
        strategy.set_server_runtime_config({"_rpc_send_thread_num": 4})
        self.assertEqual(strategy.get_server_runtime_config()._rpc_send_thread_num, 4)
        strategy.set_debug_opt({"a": 1})
        self.assertEqual(strategy.get_debug_opt(), {"a": 1})

        def config(**keys):
            c = fluid.DistributeTranspilerConfig()
            for key, v in keys.items():
                setattr(c, key, v)
            return c

        modes = [S.strategy_of(c)._native()["mode"] for c in (
            None, config(), config(sync_mode=False), config(sync_mode=False, runtime_split_send_recv=True),
            config(sync_mode=False, runtime_split_send_recv=True, geo_sgd_mode=True))]
        self.assertEqual(modes, ["sync", "sync", "half_async", "async", "geo"])
        self.assertRaises(TypeError, S.strategy_of, 3)

    def test_dispatchers(self):
        T = fluid.transpiler
        self.assertEqual(T.RoundRobin(["a", "b"]).dispatch(["x", "y", "z"]), ["a", "b", "a"])
        hashed = T.HashName(["a", "b"])
        self.assertEqual(hashed.dispatch(["x", "y"]), hashed.dispatch(["x", "y"]))
        self.assertEqual(hashed.eps, ["a", "b"])
        hashed.reset()


if __name__ == "__main__":
    unittest.main()
