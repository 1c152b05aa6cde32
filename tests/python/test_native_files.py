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
        self.assertEqual(sorted(os.listdir(self.path("a"))), ["__skiff_manifest__"] + names)
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

    def test_states_are_of_one_save(self):
        """Somebody saves all the while: parameters and moments that are read together are of the same save."""
        m, done = self.net.main, self.path("done")
        names = ["fc_0.w_0", "fc_0.w_0_moment1_0"]

        def save(value):
            for name in names:
                self.scope.var(name).set(np.full((3, 2), value, "f4"))
            N.save(self.scope, m, self.path("s/m"))
            N.save_vars(self.scope, m, names, self.path("v"))

        save(0)
        saver = os.fork()
        if not saver:
            value = 0
            while not os.path.exists(done) and value < 20000:
                value += 1
                save(value)
            os._exit(0)
        try:
            seen = set()
            while len(seen) < 40:
                for state in (N.read_saved(self.path("s/m")), N.read_saved(self.path("v"), names)):
                    w, moment = (np.asarray(state[name]).flat[0] for name in names)
                    self.assertEqual(w, moment)
                    seen.add(w)
        finally:
            open(done, "w").close()
            self.assertEqual(os.waitpid(saver, 0)[1], 0)
        os.remove(self.path("s/m.pdopt"))
        with self.assertRaisesRegex(FileNotFoundError, "m.pdopt is missing"):
            N.read_saved(self.path("s/m"))
        os.remove(self.path("s/m.skiff_manifest.yaml"))
        self.assertEqual(sorted(N.read_saved(self.path("s/m"))), ["fc_0.b_0", "fc_0.w_0"])

    def test_inference_model(self):
        feed = {"x": np.ones((2, 3), "f4")}
        want = self.exe.run(self.net.main.prune(["x"], [self.p]), feed, [self.p.name], return_numpy=True)[0]
        N.save_inference_model(self.scope, self.net.main, ["x"], [self.p], self.path("d"))
        N.save_inference_model(self.scope, self.net.main, ["x"], [self.p], self.path("e"), "model", "params")
        N.save_inference_prefix(self.scope, self.net.main, ["x"], [self.p], self.path("f"))
        self.assertEqual(sorted(os.listdir(self.path("e"))), ["__skiff_manifest__", "model", "params"])
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

    def test_programs_from_files_stay_inside(self):
        """A model with a save op: refused when run, by name; allowed below a folder; ours runs as ever."""
        target, own = self.path("out/w"), self.path("own")
        os.mkdir(self.path("out"))
        self.net.main.block(0).append_op("save", {"X": ["fc_0.w_0"]}, {}, {"file_path": target})
        program = N.parse_program(self.net.main.to_bytes())
        feed = {"x": np.zeros((1, 3), "f4"), "y": np.zeros((1, 2), "f4")}
        with self.assertRaisesRegex(Exception, r"op \d+ save: acts outside the program \(file .*out/w\).*allow_ops"):
            self.exe.run(program, feed, [])
        with self.assertRaisesRegex(Exception, "takes a folder"):
            program.allow_ops("save")
        os.mkdir(own)
        program.allow_ops("save", own)
        with self.assertRaisesRegex(Exception, "does not lie below"):
            self.exe.run(program, feed, [])
        self.assertFalse(os.path.exists(target))
        program.allow_ops("save", self.path("out"))
        self.exe.run(program, feed, [])
        np.testing.assert_array_equal(np.asarray(N.read_tensor(target)), self.w())
        os.remove(target)
        self.exe.run(self.net.main, feed, [])
        self.assertTrue(os.path.exists(target))

    def test_bools(self):
        """Bytes of numpy's bools may be anything: what is set is 0 or 1, what is read too, what is fed must be."""
        odd = np.array([0, 1, 7, 255], "u1").view("?")
        self.scope.var("flags").set(odd)
        np.testing.assert_array_equal(np.asarray(self.scope.find("flags")).view("u1"), [0, 1, 1, 1])
        for name, read in (("flags", N.read_tensor), ("flags.pdparams", lambda p: N.read_state(p)["f"])):
            path = self.path(name)
            (N.write_tensor if name == "flags" else lambda p, v: N.write_state(p, {"f": v}))(path, np.array([0, 1, 1, 1], "?"))
            with open(path, "rb") as f:
                data = f.read()
            self.assertEqual(data.count(b"\0\1\1\1"), 1)
            with open(path, "wb") as f:
                f.write(data.replace(b"\0\1\1\1", b"\0\1\7\3"))
            np.testing.assert_array_equal(np.asarray(read(path)).view("u1"), [0, 1, 1, 1])

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
