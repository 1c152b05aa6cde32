"""Files and splitting."""
import os
import tempfile
import unittest

import numpy as np

from skiff import _native as N

L = N.layers


class FilesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.net = N.Net()
        self.x = L.data(self.net, "x", [3])
        self.p = L.fc(self.net, self.x, 2, act="sigmoid")
        y = L.data(self.net, "y", [2])
        N.Optimizer(self.net, "adam").minimize(L.mean(self.net, L.square_error_cost(self.net, self.p, y)))
        self.exe = N.Executor()
        self.exe.run(self.net.startup)
        self.scope = self.exe.scope

    def path(self, name):
        return os.path.join(self.folder, name)

    def w(self, scope=None):
        return np.array((scope or self.scope).find("fc_0.w_0"))

    def check(self, save, load, program=None):
        """What save wrote, load brings back; returns the names that the other scope has then."""
        want = self.w()
        save()
        other = N.Scope()
        load(other)
        np.testing.assert_array_equal(self.w(other), want)
        return sorted(other.names())

    def test_params(self):
        m = self.net.main
        names = self.check(lambda: N.save_params(self.scope, m, self.path("a")), lambda s: N.load_params(s, m, self.path("a")))
        self.assertEqual(names, ["fc_0.b_0", "fc_0.w_0"])
        self.assertEqual(sorted(os.listdir(self.path("a"))), names)
        names = self.check(lambda: N.save_persistables(self.scope, m, self.path("b"), "all"),
                           lambda s: N.load_persistables(s, m, self.path("b"), "all"))
        self.assertIn("fc_0.w_0_moment1_0", names)
        names = self.check(lambda: N.save_vars(self.scope, m, ["fc_0.w_0"], self.path("c")),
                           lambda s: N.load_vars(s, m, [m.find_var("fc_0.w_0")], self.path("c")))
        self.assertEqual(names, ["fc_0.w_0"])

    def test_save_load(self):
        m = self.net.main
        self.check(lambda: N.save(self.scope, m, self.path("m")), lambda s: N.load(s, m, self.path("m")))
        state = N.read_state(self.path("m.pdparams"))
        self.assertEqual(sorted(state), ["fc_0.b_0", "fc_0.w_0"])
        np.testing.assert_array_equal(np.asarray(state["fc_0.w_0"]), self.w())
        N.write_state(self.path("again.pdparams"), {"v": np.arange(3, dtype="f4"), "t": state["fc_0.b_0"]})
        again = N.read_state(self.path("again.pdparams"))
        self.assertEqual((sorted(again), np.asarray(again["v"]).tolist()), (["t", "v"], [0, 1, 2]))

    def test_inference_model(self):
        feed = {"x": np.ones((2, 3), "f4")}
        want = self.exe.run(self.net.main.prune(["x"], [self.p]), feed, [self.p.name], return_numpy=True)[0]
        N.save_inference_model(self.scope, self.net.main, ["x"], [self.p], self.path("d"))
        N.save_inference_model(self.scope, self.net.main, ["x"], [self.p], self.path("e"), "model", "params")
        N.save_inference_prefix(self.scope, self.net.main, ["x"], [self.p], self.path("f"))
        self.assertEqual(sorted(os.listdir(self.path("e"))), ["model", "params"])
        for args in ((self.path("d"),), (self.path("e"), "model", "params"), (self.path("f"),)):
            scope = N.Scope()
            program, feeds, targets = N.load_inference_model(scope, *args)
            self.assertEqual(feeds, ["x"])
            out, = N.Executor(scope).run(program, feed, targets, return_numpy=True)
            np.testing.assert_allclose(out, want, rtol=1e-6)
        program, _, _ = N.load_inference_model(None, self.path("d"))
        self.assertEqual(program.find_var("x").shape, (-1, 3))

    def test_tensor_and_program_files(self):
        t = N.Tensor(np.arange(4, dtype="f4"), [[1, 3]])
        N.write_tensor(self.path("t"), t)
        back = N.read_tensor(self.path("t"))
        self.assertEqual((np.asarray(back).tolist(), back.lod()), ([0, 1, 2, 3], [[0, 1, 4]]))
        N.write_program(self.net.main, self.path("p"))
        self.assertEqual(N.read_program(self.path("p")).diff(self.net.main), "")

    def test_errors(self):
        with self.assertRaises(FileNotFoundError):
            N.read_tensor(self.path("nothing"))
        with self.assertRaises((OSError, ValueError)):
            N.load_params(N.Scope(), self.net.main, self.path("nothing"))
        with self.assertRaises((OSError, ValueError)):
            N.load_inference_model(N.Scope(), self.path("nothing"))
        with self.assertRaises(KeyError):
            N.save_vars(self.scope, self.net.main, ["nobody"], self.path("x"))
        with self.assertRaises(TypeError):
            N.save_params(self.scope, "program", self.path("x"))
        with open(self.path("junk"), "wb") as out:
            out.write(b"\x01\x02")
        with self.assertRaises(ValueError):
            N.read_tensor(self.path("junk"))


class SplitTest(unittest.TestCase):
    def setUp(self):
        self.net = N.Net()
        x = L.data(self.net, "x", [13])
        y = L.data(self.net, "y", [1])
        loss = L.mean(self.net, L.square_error_cost(self.net, L.fc(self.net, x, 1), y))
        N.Optimizer(self.net, "sgd", 0.1).minimize(loss)

    def split(self, **more):
        return N.Split(self.net.main, self.net.startup, trainer_id=0, pservers="10.0.0.1:6170,10.0.0.2:6170", trainers=4, **more)

    def test_sync(self):
        s = self.split()
        self.assertEqual((s.mode, s.endpoints, s.tables), ("sync", ["10.0.0.1:6170", "10.0.0.2:6170"], []))
        main, startup = s.trainer()
        types = [o.type for o in main.block(0).ops()]
        self.assertEqual((types.count("send"), types.count("recv"), types.count("send_barrier")), (2, 2, 1))
        self.assertIn("recv", [o.type for o in startup.block(0).ops()])
        server, server_startup = s.server("10.0.0.1:6170")
        self.assertEqual(server.block(0).op(0).type, "listen_and_serv")
        self.assertEqual(server.block(0).op(0).attr("Fanin"), 4)
        placed = {p["origin"]: p for p in s.placement()}
        self.assertEqual((placed["fc_0.w_0"]["shape"], placed["fc_0.w_0"]["offset"]), ((13, 1), 0))
        with self.assertRaises(ValueError):
            s.server("10.0.0.3:6170")

    def test_config(self):
        config = N.split_config_default()
        self.assertEqual((config["slice_var_up"], config["min_block_size"], config["split_method"]), (True, 8192, "RoundRobin"))
        self.assertEqual(self.split(config=N.split_config_fleet("async")).mode, "async")
        half = self.split(config=N.split_config_fleet("half_async"))
        self.assertEqual(half.mode, "async")  # what servers do: they apply on arrival
        self.assertEqual(self.split(config={"sync_mode": False}).mode, "half_async")
        self.assertEqual(self.split(config=N.split_config_fleet("geo"), sync_mode=False).mode, "geo")
        with self.assertRaises(ValueError):
            self.split(config={"sync_mode": True, "runtime_split_send_recv": True})
        with self.assertRaises(ValueError):
            self.split(config={"sync_mode": None})
        with self.assertRaises(TypeError):
            self.split(config={"colour": 1})
        with self.assertRaises(ValueError):
            self.split(config={"split_method": "Dice"})


if __name__ == "__main__":
    unittest.main()
