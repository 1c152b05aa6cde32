"""Distributed jobs through paddle.fluid: one server and two trainers, as processes."""
import os
import signal
import subprocess
import sys
import tempfile
import unittest

import fluid_job
import numpy as np
import paddle.fluid as fluid
from fluid_help import fresh
from paddle.fluid import layers as L
from ports import free_port

HERE = os.path.dirname(os.path.abspath(__file__))


def joint_weights(start=(0.05, 0.05, 0.05, 0.05)):
    """The parameters of one machine with the trainers' batches put together."""
    w = np.array(start, dtype="float64").reshape(4, 1)
    for step in range(fluid_job.STEPS):
        x = np.concatenate([fluid_job.batch(step, t)["x"] for t in range(fluid_job.TRAINERS)]).astype("float64")
        w -= 0.1 * 2 * x.T @ (x @ w - x.sum(1, keepdims=True)) / len(x)
    return w.ravel()


def error(weights):
    """Mean square error over all batches; 1 is that of the first parameters."""

    def mean(w):
        xs = [fluid_job.batch(step, t)["x"] for step in range(fluid_job.STEPS) for t in range(fluid_job.TRAINERS)]
        return np.mean([((x @ w - x.sum(1)) ** 2).mean() for x in xs])

    return mean(np.array(weights)) / mean(np.full(4, 0.05))


class Jobs(unittest.TestCase):
    def run_job(self, kind, mode, *saved):
        """(results of the trainers, folder); saved: a model that the server begins with"""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        endpoint = "127.0.0.1:%d" % free_port()
        command = [sys.executable, os.path.join(HERE, "fluid_job.py"), kind, mode]
        start = lambda role, number: subprocess.Popen(
            command + [role, str(number), endpoint, folder.name] + list(saved), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        processes = [start("server", 0)] + [start("worker", i) for i in range(2)]
        results = []
        try:
            for process in processes[1:] + processes[:1]:
                out, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 0, err[-2000:])
                results += [[float(word) for word in line.split()[1:]] for line in out.splitlines() if line.startswith("RESULT")]
        finally:
            for process in processes:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        self.assertEqual(len(results), 2)
        return results, folder.name

    def test_transpiler_sync(self):
        results, _ = self.run_job("transpiler", "sync")
        for weights in results:
            np.testing.assert_allclose(weights, joint_weights(), rtol=1e-4)

    def test_transpiler_other_modes(self):
        """config.sync_mode = False: ops exchange at once; with runtime_split_send_recv a communicator does."""
        for mode in ("async", "dc_asgd", "runtime_async", "runtime_half_async", "geo"):
            with self.subTest(mode=mode):
                results, _ = self.run_job("transpiler", mode)
                for weights in results:
                    self.assertLess(error(weights), 0.5)

    def test_fleet_sync(self):
        results, folder = self.run_job("fleet", "sync")
        for weights in results:
            np.testing.assert_allclose(weights[:4], joint_weights(), rtol=1e-4)
            self.assertEqual(weights[4], 3.0)
        with fresh():
            exe = fluid.Executor()
            program, feeds, targets = fluid.io.load_inference_model(os.path.join(folder, "model"), exe)
            self.assertFalse(any(op.type in ("send", "recv") for op in program.global_block().ops))
            got, = exe.run(program, feed={"x": np.eye(4, dtype="float32")}, fetch_list=targets)
            np.testing.assert_allclose(got.ravel(), joint_weights(), rtol=1e-4)
        self.assertIn("w", os.listdir(os.path.join(folder, "persistables")))
        self.assertEqual(sorted(os.listdir(folder)), ["model", "of_worker_0", "persistables"])

    def test_waiting(self):
        """A worker without servers says whom it waits for; Ctrl-C is heard."""
        endpoint = "127.0.0.1:%d" % free_port()
        worker = subprocess.Popen([sys.executable, os.path.join(HERE, "fluid_job.py"), "fleet", "sync", "worker", "0", endpoint, "x"],
                                  stderr=subprocess.PIPE, text=True)
        try:
            self.assertIn("[worker 0] waiting for 1 of 1 parameter servers", worker.stderr.readline())
            worker.send_signal(signal.SIGINT)
            self.assertIn("KeyboardInterrupt", worker.communicate(timeout=20)[1])
        finally:
            worker.kill()
            worker.communicate()

    def test_fleet_begins_with_a_saved_model(self):
        start = np.array([[0.5], [-0.25], [0.125], [2.0]], dtype="float32")
        with tempfile.TemporaryDirectory() as folder, fresh() as (main, startup):
            predict, loss = fluid_job.network()
            fluid.optimizer.SGD(0.1).minimize(loss)
            exe = fluid.Executor()
            exe.run(startup)
            fluid.global_scope().find_var("w").get_tensor().set(start, fluid.CPUPlace())
            at = lambda name: os.path.join(folder, name)
            fluid.io.save_persistables(exe, at("files"), main)
            fluid.io.save_persistables(exe, at("one"), main, filename="all")
            fluid.io.save_inference_model(at("model"), ["x"], [predict], exe, main, params_filename="__params__")
            fluid.save(main, at("pickled/net"))
            for saved in ("files", "one", "one/all", "model", "pickled/net"):
                with self.subTest(saved=saved):
                    results, _ = self.run_job("fleet", "sync", at(saved))
                    for weights in results:
                        np.testing.assert_allclose(weights[:4], joint_weights(start), rtol=1e-4)

    def test_fleet_other_modes(self):
        for mode in ("async", "half_async"):
            with self.subTest(mode=mode):
                results, _ = self.run_job("fleet", mode)
                for weights in results:
                    self.assertLess(error(weights[:4]), 0.5)
                    self.assertEqual(weights[4], 3.0)


class Transpiled(unittest.TestCase):
    """Programs only; nothing is contacted."""

    SERVERS = "192.168.0.1:6174,192.168.0.2:6174"

    def transpiler(self, **keys):
        L.data("y", [1])
        loss = L.mean(L.fc(L.fc(L.data("x", [200]), 100, act="relu"), 1))
        fluid.optimizer.SGD(0.01).minimize(loss)
        t = fluid.DistributeTranspiler()
        t.transpile(0, pservers=self.SERVERS, trainers=4, **keys)
        return t

    def test_trainer(self):
        with fresh() as (main, startup):
            program = self.transpiler().get_trainer_program(wait_port=False)
            kinds = [op.type for op in program.global_block().ops]
            self.assertEqual((kinds.count("send"), kinds.count("recv"), kinds.count("sgd")), (4, 4, 0))
            self.assertIs(fluid.default_main_program(), program)
            self.assertIn("recv", [op.type for op in fluid.default_startup_program().global_block().ops])
            # the program that was given is run as the trainer's, and so are its copies
            copied = [op.type for op in main.clone().global_block().ops]
            self.assertEqual(copied.count("send"), 4)
            self.assertNotIn("send", [op.type for op in main.clone(for_test=True).global_block().ops])

    def test_half_told(self):
        """transpile(sync_mode=False) is enough: no trainer waits (trainers of 1.8.5 hang)."""
        with fresh():
            t = self.transpiler(sync_mode=False)
            kinds = [op.type for op in t.get_trainer_program(wait_port=False).global_block().ops]
            self.assertEqual((kinds.count("send"), kinds.count("recv"), kinds.count("send_barrier")), (4, 4, 0))
            server = t.get_pserver_program("192.168.0.1:6174").global_block().ops[0]
            self.assertEqual(server.attr("distributed_mode"), 2)

    def test_runtime_split(self):
        """The communicator cuts what is sent; 1.8.5's programs, as fleet's strategies make them."""
        for half in (False, True):
            with fresh():
                L.data("y", [1])
                loss = L.mean(L.fc(L.fc(L.data("x", [200]), 100, act="relu"), 1))
                fluid.optimizer.SGD(0.01).minimize(loss)
                config = fluid.DistributeTranspilerConfig()
                config.sync_mode, config.runtime_split_send_recv, config.half_async = False, True, half
                t = fluid.DistributeTranspiler(config)
                t.transpile(0, pservers=self.SERVERS, trainers=4, sync_mode=False)
                ops = t.get_trainer_program(wait_port=False).global_block().ops
                kinds = [op.type for op in ops]
                self.assertEqual((kinds.count("split_byref"), kinds.count("send_barrier")), (0, int(half)))
                cut = [op for op in ops if op.type == "send" and len(op.attr("send_varnames")) == 2]
                self.assertEqual([op.attr("sections") for op in cut], [[100, 100]])
                server = t.get_pserver_program("192.168.0.1:6174").global_block().ops[0]
                self.assertEqual(server.attr("distributed_mode"), 1)

    def test_server(self):
        with fresh() as (main, _):
            t = self.transpiler()
            program = t.get_pserver_program("192.168.0.1:6174")
            self.assertEqual([op.type for op in program.global_block().ops], ["listen_and_serv"])
            startup = t.get_startup_program("192.168.0.1:6174", program)
            self.assertGreater(len(startup.global_block().ops), 0)
            self.assertIs(fluid.default_main_program(), main)
            self.assertRaises(ValueError, t.get_pserver_program, "1.1.1.1:1")

    def test_wrong(self):
        with fresh():
            self.assertRaises(RuntimeError, fluid.DistributeTranspiler().get_trainer_program)
            self.assertRaises(TypeError, fluid.DistributeTranspiler, 3)
            self.assertRaises(TypeError, fluid.DistributeTranspiler().transpile, 0, trainers="a:1,b:1")
            self.assertRaises(TypeError, fluid.DistributeTranspiler().transpile, 0, pservers=["a:1"])
            config = fluid.DistributeTranspilerConfig()
            for kind, size in ((AssertionError, 8191), (TypeError, "8192")):
                config.min_block_size = size
                self.assertRaises(kind, fluid.DistributeTranspiler(config).transpile, 0)

    def test_runtime_config(self):
        from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler.distributed_strategy import StrategyFactory
        flags = lambda s: len(s.get_trainer_runtime_config().get_communicator_flags())
        self.assertEqual([flags(getattr(StrategyFactory, "create_%s_strategy" % m)()) for m in
                          ("sync", "half_async", "async", "geo")], [4, 4, 9, 2])
        strategy = StrategyFactory.create_async_strategy()
        strategy.set_trainer_runtime_config({"communicator_send_queue_size": 7, "rpc_deadline": 1000})
        self.assertEqual(strategy._native()["send_queue_size"], 7)
        self.assertRaises(ValueError, strategy.set_trainer_runtime_config, {"send_queue": 7})

    def test_fleet_calls(self):
        from paddle.fluid.incubate.fleet.base.role_maker import Role, UserDefinedRoleMaker
        from paddle.fluid.incubate.fleet.parameter_server.distribute_transpiler import DistributedTranspiler
        fleet = DistributedTranspiler()
        self.assertRaises(ValueError, fleet.is_worker)
        fleet.init(UserDefinedRoleMaker(1, Role.WORKER, 2, ["127.0.0.1:1"]))
        self.assertEqual((fleet.worker_index(), fleet.worker_num(), fleet.server_num()), (1, 2, 1))
        self.assertEqual((fleet.server_endpoints(), fleet.server_endpoints(to_string=True)), (["127.0.0.1:1"], "127.0.0.1:1"))
        self.assertEqual((fleet.worker_endpoints(), fleet.server_index()), ([], 1))
        self.assertEqual(fleet.split_files(["a", "b", "c"]), ["c"])
        self.assertRaises(ValueError, fleet.init_server)
        self.assertRaises(ValueError, fleet.init_worker)
        self.assertRaises(ValueError, fleet.run_server)
        self.assertRaises(ValueError, fleet.distributed_optimizer, 3)
        with fresh():
            loss = L.mean(L.fc(L.data("x", [2]), 1))
            optimizer = fleet.distributed_optimizer(fluid.optimizer.SGD(0.1))
            self.assertRaises(TypeError, optimizer.minimize, [loss])
            exe = fluid.Executor()
            self.assertRaises(TypeError, fleet.save_persistables, 3, "x")
            self.assertRaises(ValueError, fleet.save_persistables, exe, "x")
            optimizer.minimize(loss)
            self.assertIs(fleet.main_program, fluid.default_main_program())
            self.assertRaises(ValueError, fleet.init_server, "/nowhere/at/all")
            self.assertRaises(TypeError, fleet.save_inference_model, exe, "x", ["x"], [loss], fluid.CompiledProgram(fluid.Program()))


if __name__ == "__main__":
    unittest.main()
