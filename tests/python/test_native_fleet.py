"""A job of one server and two workers in one process, over skiff._native.Fleet."""
import gc
import os
import tempfile
import threading
import time
import unittest

import numpy as np

from ports import free_port
from skiff import _native as N

L = N.layers


class _Constant:
    initializer = ("constant", {"value": 0.5})


def network():
    net = N.Net()
    x = L.data(net, "x", [3])
    y = L.data(net, "y", [1])
    p = L.fc(net, x, 1, param_attr=_Constant(), bias_attr=False)
    loss = L.mean(net, L.square_error_cost(net, p, y))
    N.Optimizer(net, "sgd", 0.1).minimize(loss)
    return net, p, loss


class FleetTest(unittest.TestCase):
    def test_roles(self):
        f = N.Fleet()
        self.assertFalse(f.is_initialized)
        f.init_user("worker", 1, 2, ["127.0.0.1:6170", "127.0.0.1:6171"])
        self.assertEqual((f.is_worker, f.is_server, f.is_first_worker), (True, False, False))
        self.assertEqual((f.worker_index, f.worker_num, f.server_num), (1, 2, 2))
        self.assertEqual(f.server_endpoints, "127.0.0.1:6170,127.0.0.1:6171")
        self.assertEqual(f.split_files(["a", "b", "c", "d", "e"]), ["d", "e"])
        self.assertIsNone(f.main_program)
        with self.assertRaises(ValueError):
            N.Fleet().init_user("boss", 0, 1, ["127.0.0.1:1"])
        with self.assertRaises(ValueError):
            N.Fleet().init_env("other")
        with self.assertRaises(TypeError):
            f.split(N.Program(), N.Program(), colour=1)
        for tables in (["t"], [("t",)], [["t", ""]]):
            with self.assertRaisesRegex(TypeError, r"tables must be a list of \(name, settings\)"):
                f.split(N.Program(), N.Program(), tables=tables)
        with self.assertRaisesRegex(TypeError, "settings of a table"):
            f.split(N.Program(), N.Program(), tables=[("t", 3)])
        self.assertEqual(f.tables, [])

    def test_environment(self):
        before = dict(os.environ)
        try:
            os.environ.update(TRAINING_ROLE="TRAINER", PADDLE_TRAINERS_NUM="2", PADDLE_TRAINER_ID="1",
                              PADDLE_PSERVERS_IP_PORT_LIST="127.0.0.1:6170")
            f = N.Fleet()
            f.init_env("cloud")
            self.assertEqual((f.worker_index, f.worker_num), (1, 2))
            os.environ["TRAINING_ROLE"] = "COOK"
            with self.assertRaises(ValueError):
                N.Fleet().init_env("cloud")
            del os.environ["PADDLE_TRAINERS_NUM"]
            os.environ["TRAINING_ROLE"] = "TRAINER"
            with self.assertRaises((KeyError, ValueError)):
                N.Fleet().init_env("cloud")
        finally:
            os.environ.clear()
            os.environ.update(before)

    def test_sync_job(self):
        endpoint = "127.0.0.1:%d" % free_port()
        failures, weights, sums, shuffled, shared, lines = [], {}, {}, {}, {}, []
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)

        def guarded(work, *args):
            try:
                work(*args)
            except BaseException as error:
                failures.append(error)

        def shuffle(fleet, net, i, has_files=True):
            """200 samples with values of this worker's own, or none, over both workers."""
            path = os.path.join(folder.name, "rows-%d" % i)
            with open(path, "w") as out:
                for k in range(200):
                    out.write("3 %d 0 0 1 1\n" % (1000 * (i + 1) + k))
            data = N.Dataset("InMemoryDataset")
            data.set_vars([net.main.block(0).var("x"), net.main.block(0).var("y")])
            data.set_batch_size(10)
            data.set_files([path] if has_files else [])
            data.load()
            fleet.global_shuffle(data, 7)
            return [int(v) for batch in data.batches() for v in np.array(batch["x"])[:, 0]]

        def serve():
            fleet = N.Fleet()
            fleet.on_log(lines.append)
            fleet.init_user("server", 0, 2, [endpoint])
            net, _, _ = network()
            fleet.split(net.main, net.startup, mode="sync")
            fleet.init_server()
            fleet.run_server()

        def work(i):
            fleet = N.Fleet()
            fleet.init_user("worker", i, 2, [endpoint])
            net, p, loss = network()
            fleet.split(net.main, net.startup, mode="sync")
            scope = N.Scope()
            exe = N.Executor(scope)
            fleet.init_worker(scope)
            exe.run(fleet.startup_program)
            for _ in range(3):
                exe.run(fleet.main_program, {"x": np.array([[1, i, 0]], "f4"), "y": np.array([[1]], "f4")}, [loss.name])
            weights[i] = np.array(scope.find("fc_0.w_0")).ravel()
            sums[i] = fleet.all_reduce([i + 1, 5]), fleet.all_reduce([0.5 + i], "max")
            fleet.barrier_worker()
            shuffled[i] = shuffle(fleet, net, i)
            shared[i] = shuffle(fleet, net, i, i == 0)
            if i == 0:
                fleet.save_persistables(scope, folder.name)
                fleet.save_inference_model(scope, ["x"], [p.name], os.path.join(folder.name, "model"))
            fleet.stop_worker()

        threads = [threading.Thread(target=guarded, args=(serve,), daemon=True)] + [
            threading.Thread(target=guarded, args=(work, i), daemon=True) for i in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
        self.assertEqual(failures, [])
        self.assertFalse(any(t.is_alive() for t in threads))
        # the same on one machine: the mean of both gradients
        w = np.full(3, 0.5)
        for _ in range(3):
            grads = [2 * (w @ np.array(x) - 1) * np.array(x) for x in ([1, 0, 0], [1, 1, 0])]
            w = w - 0.1 * (grads[0] + grads[1]) / 2
        np.testing.assert_allclose(weights[0], w, rtol=1e-5)
        np.testing.assert_array_equal(weights[0], weights[1])
        self.assertEqual((sums[0], sums[1]), (([3, 10], [1.5]), ([3, 10], [1.5])))
        self.assertEqual(sorted(shuffled[0] + shuffled[1]), list(range(1000, 1200)) + list(range(2000, 2200)))
        for mine in shuffled.values():  # each has samples of both
            self.assertTrue(any(v < 2000 for v in mine) and any(v >= 2000 for v in mine))
        self.assertEqual(sorted(shared[0] + shared[1]), list(range(1000, 1200)))  # worker 1 had no file
        self.assertGreater(len(shared[1]), 20)
        self.assertIn("fc_0.w_0", os.listdir(folder.name))
        scope = N.Scope()
        program, feeds, targets = N.load_inference_model(scope, os.path.join(folder.name, "model"))
        out, = N.Executor(scope).run(program, {"x": np.array([[1, 1, 1]], "f4")}, targets, return_numpy=True)
        np.testing.assert_allclose(out[0, 0], w.sum(), rtol=1e-5)

    def test_dropped(self):
        """A worker whose fleet goes without stop_worker is lost: the server ends at once, with its name."""
        for mode in ("sync", "half_async", "async", "geo"):
            for cycle in (False, True):
                with self.subTest(mode=mode, cycle=cycle):
                    self.drop_worker(mode, cycle)

    def drop_worker(self, mode, cycle):
        endpoint = "127.0.0.1:%d" % free_port()
        failures = []

        def serve():
            fleet = N.Fleet()
            fleet.init_user("server", 0, 1, [endpoint])
            net, _, _ = network()
            fleet.split(net.main, net.startup, mode=mode, geo_steps=2)
            try:
                fleet.run_server()
            except Exception as error:
                failures.append(str(error))

        server = threading.Thread(target=serve, daemon=True)
        server.start()
        fleet = N.Fleet()
        fleet.init_user("worker", 0, 1, [endpoint])
        net, _, loss = network()
        fleet.split(net.main, net.startup, mode=mode, geo_steps=2)
        scope = N.Scope()
        exe = N.Executor(scope)
        fleet.init_worker(scope)
        exe.run(fleet.startup_program)
        for _ in range(3):
            exe.run(fleet.main_program, {"x": np.ones((1, 3), "f4"), "y": np.ones((1, 1), "f4")}, [loss.name])
        if cycle:
            ring = [fleet, scope, exe, net]
            ring.append(ring)
            del ring
        start = time.monotonic()
        del fleet, scope, exe, net, loss
        gc.collect()
        server.join(20)
        self.assertFalse(server.is_alive())
        self.assertLess(time.monotonic() - start, 5)
        self.assertEqual(len(failures), 1)
        self.assertRegex(failures[0], r"worker 0 \(.*\) has (dropped its fleet|ended) without stop_worker")

    def test_lines_to_a_file(self):
        fleet = N.Fleet()
        fleet.init_user("server", 0, 1, ["127.0.0.1:%d" % free_port()])
        net, _, _ = network()
        fleet.split(net.main, net.startup, mode="sync")
        self.assertRaises(TypeError, fleet.on_log, "stderr")
        with tempfile.TemporaryFile() as log:
            fleet.on_log(log.fileno())
            server = threading.Thread(target=fleet.run_server, daemon=True)
            server.start()
            while os.fstat(log.fileno()).st_size == 0:
                time.sleep(0.01)
            fleet.stop_server()
            server.join(20)
            fleet.on_log(None)
            log.seek(0)
            self.assertRegex(log.read().decode(), r"^\[server 0\] server 0 at 127.0.0.1:\d+ serves 1 parameter slice in 1 shard\n")


if __name__ == "__main__":
    unittest.main()
