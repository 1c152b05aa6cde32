"""Models on other machines: what is saved there is loaded again, and is the old one or the new one whenever a save is killed."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy

import paddle
import paddle.fluid as fluid
from paddle import static
from paddle.distributed import fleet
from s3_server import S3, Fault
from skiff import _native
from webhdfs_server import WebHDFS

SAVE = """
import sys
import numpy
import paddle
from paddle import static
paddle.enable_static()
main, startup = static.Program(), static.Program()
with static.program_guard(main, startup):
    loss = paddle.mean(static.nn.fc(static.data("x", [None, 3]), 2))
    paddle.optimizer.Adam().minimize(loss)
exe = static.Executor()
exe.run(startup)
for name in ("fc_0.w_0", "fc_0.b_0", "fc_0.w_0_moment1_0"):
    value = static.global_scope().find_var(name).get_tensor()
    value.set(numpy.full(value.shape(), float(sys.argv[2]), "float32"), paddle.CPUPlace())
static.save(main, sys.argv[1])
"""
NAMES = ("SKIFF_", "AWS_", "HADOOP_", "http_proxy", "all_proxy", "no_proxy")


class Models(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.before = dict(os.environ)
        for name in list(os.environ):
            if name.lower().startswith(tuple(n.lower() for n in NAMES)) and name != "SKIFF_HOME":
                del os.environ[name]
        self.s3, self.hdfs = S3(), WebHDFS()
        self.s3.page = self.hdfs.page = 100
        self.tmp = os.path.join(self.folder, "tmp")
        os.mkdir(self.tmp)
        os.environ.update({"SKIFF_S3_ENDPOINT": self.s3.url, "AWS_ACCESS_KEY_ID": self.s3.keys[0], "TMPDIR": self.tmp,
                           "AWS_SECRET_ACCESS_KEY": self.s3.keys[1], "SKIFF_WEBHDFS_ENDPOINT": self.hdfs.url,
                           "HADOOP_USER_NAME": "me", "SKIFF_FS_PAUSE": "2"})
        paddle.enable_static()

    def tearDown(self):
        paddle.disable_static()
        self.assertEqual(os.listdir(self.tmp), [])
        self.s3.end()
        self.hdfs.end()
        os.environ.clear()
        os.environ.update(self.before)
        shutil.rmtree(self.folder)

    def fails(self, words, call, *args, **more):
        with self.assertRaises(Exception) as caught:
            call(*args, **more)
        for word in words.split(" ... "):
            self.assertIn(word, str(caught.exception))
        return caught.exception

    def names(self, remote):
        """Files below a path of this class's servers, without what Skiff puts beside them."""
        if remote.startswith("s3:"):
            all_names = [name for name in self.s3.objects if not name.endswith("/")]
            start = remote[len("s3://box/"):]
        else:
            all_names, start = list(self.hdfs.files), remote[len("hdfs:"):]
        return sorted(name[len(start):] for name in all_names if name.startswith(start) and "manifest" not in name)

    def program(self):
        main, startup = static.Program(), static.Program()
        with fluid.unique_name.guard(), static.program_guard(main, startup):
            x = static.data("x", [None, 3])
            y = static.nn.fc(x, 2)
            paddle.optimizer.Adam().minimize(paddle.mean(y))
        exe = static.Executor()
        exe.run(startup)
        return main, x, y, exe

    def weight(self):
        return numpy.array(static.global_scope().find_var("fc_0.w_0").get_tensor())

    def change(self):
        static.global_scope().set("fc_0.w_0", numpy.zeros((3, 2), "float32"))


class SaveAndLoad(Models):
    def all_ways(self, at):
        with static.scope_guard(static.Scope()):
            main, x, y, exe = self.program()
            want = self.weight()
            parameters = [".b_0", ".w_0"]
            ways = [
                (lambda: static.save(main, at + "/a/m"), lambda: static.load(main, at + "/a/m"),
                 at + "/a", ["/m.pdmodel", "/m.pdopt", "/m.pdparams"]),
                (lambda: fluid.save(main, at + "/b/m"), lambda: fluid.load(main, at + "/b/m.pdparams"), at + "/b/m.pdp",
                 ["arams"]),
                (lambda: fluid.io.save_params(exe, at + "/c/", main), lambda: fluid.load(main, at + "/c", exe), at + "/c/fc_0",
                 parameters),
                (lambda: fluid.io.save_persistables(exe, at + "/d", main, "all"),
                 lambda: fluid.io.load_persistables(exe, at + "/d", main, "all"), at + "/d", ["/all"]),
                (lambda: static.save_inference_model(at + "/e/m", [x], [y], exe, program=main),
                 lambda: static.load_inference_model(at + "/e/m", exe), at + "/e", ["/m.pdiparams", "/m.pdmodel"]),
                (lambda: fluid.io.save_inference_model(at + "/f", ["x"], [y], exe, main),
                 lambda: fluid.io.load_inference_model(at + "/f/", exe), at + "/f/", ["__model__", "fc_0.b_0", "fc_0.w_0"]),
                (lambda: static.save_vars(exe, at + "/g", main, [main.global_block().var("fc_0.w_0")]),
                 lambda: static.load_vars(exe, at + "/g", main, [main.global_block().var("fc_0.w_0")]), at + "/g/", ["fc_0.w_0"]),
            ]
            for save, load, where, names in ways:
                save()
                self.assertEqual(self.names(where), names, where)
                self.change()
                load()
                self.assertTrue((self.weight() == want).all(), where)
            for path in ("/a/m", "/c"):
                self.assertTrue((static.load_program_state(at + path)["fc_0.w_0"] == want).all())
                self.assertTrue((fluid.io.load_program_state(at + path)["fc_0.w_0"] == want).all())

    def test_s3(self):
        self.all_ways("s3://box/models")

    def test_hdfs(self):
        self.all_ways("hdfs:/models")

    def test_eager(self):
        paddle.disable_static()
        layer = paddle.nn.Linear(3, 2)
        paddle.save(layer.state_dict(), "s3://box/a/l.pdparams")
        self.assertTrue((paddle.load("s3://box/a/l.pdparams")["weight"].numpy() == layer.weight.numpy()).all())
        one = paddle.to_tensor(numpy.ones((1, 3), "float32"))
        for path in ("s3://box/jit/m", "hdfs:/jit/m"):
            paddle.jit.save(layer, path, [static.InputSpec([None, 3])])
            self.assertTrue((paddle.jit.load(path)(one).numpy() == layer(one).numpy()).all())
        self.fails("The ``path`` (s3://box/none) to load model not exists", paddle.load, "s3://box/none")
        paddle.enable_static()

    def test_fleet(self):
        """A process alone; jobs are in tests/cluster."""
        os.environ.pop("SKIFF_WEBHDFS_ENDPOINT")
        os.environ.pop("HADOOP_USER_NAME")
        self.hdfs.user = "joe"
        strategy = fleet.DistributedStrategy()
        strategy.fs_client_param = {"uri": self.hdfs.url, "user": "joe", "passwd": "x", "hadoop_bin": "/none/bin/hadoop"}
        main, startup = static.Program(), static.Program()
        with static.scope_guard(static.Scope()), fluid.unique_name.guard(), static.program_guard(main, startup):
            try:
                fleet.init()
                y = static.nn.fc(static.data("x", [None, 3]), 2)
                fleet.distributed_optimizer(paddle.optimizer.Adam(), strategy).minimize(paddle.mean(y))
                exe = static.Executor()
                exe.run(startup)
                fleet.save_persistables(exe, "afs:/day/0", main)
                fleet.save_inference_model(exe, "hdfs:/day/1", ["x"], [y], main)
            finally:
                _native.fs_configure("hdfs", "", "")
        self.assertIn("/day/0/fc_0.w_0_moment1_0", self.hdfs.files)
        self.assertEqual(self.names("hdfs:/day/1/"), ["__model__", "fc_0.b_0", "fc_0.w_0"])
        self.fails("fs_client_param of DistributedStrategy has no key url; it has hadoop_bin, passwd, uri, user",
                   setattr, strategy, "fs_client_param", {"url": "x"})

    def test_tables(self):
        """A process alone with a sparse table: what was saved, tables and dense parameters, comes back."""
        main, startup = static.Program(), static.Program()
        with static.scope_guard(static.Scope()), fluid.unique_name.guard(), static.program_guard(main, startup):
            fleet.init()
            ids = static.data("ids", [None, 1], "int64")
            rows = static.nn.sparse_embedding(ids, [10, 3], param_attr=paddle.ParamAttr(name="words"))
            y = static.nn.fc(paddle.reshape(rows, [-1, 3]), 2)
            strategy = fleet.DistributedStrategy()
            strategy.sparse_table_configs = {"words": {"table_parameters.words.shard_num": 2}}
            fleet.distributed_optimizer(paddle.optimizer.SGD(0.5), strategy).minimize(paddle.mean(y))
            exe = static.Executor()
            exe.run(startup)
            fleet.init_worker()
            self.addCleanup(fleet.stop_worker)

            def step():
                return exe.run(main, feed={"ids": numpy.array([[7], [8]])}, fetch_list=[y])[0]

            step()
            fleet.save_inference_model(exe, "s3://box/t", ["ids"], [y])
            self.assertEqual(self.names("s3://box/t/"), ["000/part-000-00000.gz", "000/part-000-00001.gz", "dnn_plugin/__model__",
                                                         "dnn_plugin/fc_0.b_0", "dnn_plugin/fc_0.w_0"])
            want = self.weight()
            before = step()
            self.assertFalse((self.weight() == want).all())
            fleet.load_inference_model("s3://box/t")
            self.assertTrue((self.weight() == want).all())
            # six digits in shard files; outputs are sums, and one near zero has fewer
            numpy.testing.assert_allclose(step(), before, rtol=1e-4, atol=1e-5)
            del self.s3.objects["t/dnn_plugin/fc_0.b_0"]
            self.fails("s3://box/t/dnn_plugin has no file of fc_0.b_0", fleet.load_inference_model, "s3://box/t")

    def test_what_fails_says_why(self):
        with static.scope_guard(static.Scope()):
            main, x, y, exe = self.program()
            host = "127.0.0.1:%d" % self.s3.server_port
            self.fails("s3://box/no/m.pdparams: there is no such file or folder", static.load, main, "s3://box/no/m")
            self.fails("There is no directory named 's3://box/no'", fluid.io.load_inference_model, "s3://box/no", exe)
            self.fails("s3://other/x: GET at %s answers with status 404: NoSuchBucket: ... ; there is no such bucket: create it, or "
                       "correct its name" % host, static.save, main, "s3://other/x/m")
            shutil.rmtree(os.path.join(self.tmp, os.listdir(self.tmp)[0]))
            static.save(main, "s3://box/m/m")
            self.s3.objects["m/m.pdopt"] += b"x"
            self.fails("s3://box/m/m.pdopt: ... bytes by its manifest", static.load, main, "s3://box/m/m")
            del self.s3.objects["m/m.pdopt"]
            self.fails("s3://box/m/m.pdopt is missing, its manifest lists it with", static.load, main, "s3://box/m/m")
            os.environ["AWS_SECRET_ACCESS_KEY"] = "wrong"
            self.fails("s3://box/m: GET at %s answers with status 403: SignatureDoesNotMatch" % host, static.load, main,
                       "s3://box/m/m")
            os.environ["AWS_SECRET_ACCESS_KEY"] = self.s3.keys[1]
            os.environ.update(SKIFF_FS_TRIES="2", SKIFF_S3_ENDPOINT="http://127.0.0.1:1")
            self.fails("s3://box/m: GET at 127.0.0.1:1 failed, tried 2 times", static.load, main, "s3://box/m/m")
            self.fails("s3://box: GET at 127.0.0.1:1 failed", paddle.save, {"a": 1}, "s3://box/one")

    def test_no_room_here(self):
        with static.scope_guard(static.Scope()):
            main, x, y, exe = self.program()
            static.save(main, "s3://box/m/m")
            os.environ["TMPDIR"] = "/none"
            self.fails("s3://box/m/m.skiff_manifest.yaml: cannot be kept in /none/skiff", static.load, main, "s3://box/m/m")
            self.fails("s3://box/m: cannot write the model folder /none/skiff", static.save, main, "s3://box/m/m")
            self.fails("s3://box/one: cannot write /none/skiff", paddle.save, {"a": 1}, "s3://box/one")

    def test_a_save_that_is_not_in_its_place(self):
        with static.scope_guard(static.Scope()):
            main, x, y, exe = self.program()
            static.save(main, "s3://box/m/m")
            want = self.weight() + 1
            static.global_scope().set("fc_0.w_0", want)
            self.s3.faults = [Fault("PUT", 403, 1, having="/box/m/m.pdparams")]
            self.fails("s3://box/m/.skiff-save- ... holds an unfinished save whose files are not moved yet: ... status 403", static.save, main,
                       "s3://box/m/m")
            self.change()
            static.load(main, "s3://box/m/m")  # puts it there
            self.assertTrue((self.weight() == want).all())
            self.assertFalse([name for name in self.s3.objects if ".skiff-" in name])

    def test_an_upload_that_is_cut(self):
        os.environ["SKIFF_FS_TRIES"] = "2"
        with static.scope_guard(static.Scope()):
            main, x, y, exe = self.program()
            static.save(main, "s3://box/m/m")
            before = dict(self.s3.objects)
            for what, words in ((503, "answers with status 503: Injected: as the test wants; all attempts failed: try again later"),
                                ("reset", "failed, tried 2 times")):
                self.s3.faults = [Fault("PUT", what, 99, having="m.pdopt")]
                error = self.fails("the model cannot be uploaded; it is kept in %s/skiff-model-" % self.tmp, static.save, main,
                                   "s3://box/m/m")
                self.assertIn(words, str(error))
                self.assertEqual(self.s3.objects, before)  # nothing is left of it
                kept = os.path.join(self.tmp, os.listdir(self.tmp)[0])
                self.s3.faults = []
                static.load(main, kept + "/m")
                shutil.rmtree(kept)
            self.s3.faults = [Fault("PUT", 503, 1, having="m.pdopt"), Fault("PUT", "reset", 1, having="m.pdparams"),
                              Fault("DELETE", 500)]
            static.save(main, "s3://box/m/m")  # what passes is not noticed
            self.assertEqual(sorted(self.s3.objects), sorted(before))

    def test_an_upload_that_is_not_renamed(self):
        with static.scope_guard(static.Scope()):
            main, x, y, exe = self.program()
            for _ in range(2):
                self.hdfs.faults = [Fault("PUT", 403, having="destination=/new&")]
                self.fails("the model cannot be uploaded; it is kept in %s/skiff-model- ... status 403" % self.tmp, static.save, main, "hdfs:/new/m")
                self.assertEqual(self.hdfs.files, {})
                self.assertFalse([name for name in self.hdfs.folders if "skiff-save" in name])
            static.save(main, "hdfs:/new/m")
            self.assertEqual(self.names("hdfs:/new"), ["/m.pdmodel", "/m.pdopt", "/m.pdparams"])

    def test_what_old_saves_have_left(self):
        self.s3.objects.update({"m/.skiff-save-5-0/x": b"", "m/.skiff-save-ffffffff-0/x": b"", "m/other": b"mine"})
        with static.scope_guard(static.Scope()):
            main, x, y, exe = self.program()
            fluid.io.save_params(exe, "s3://box/m", main)
        self.assertEqual(sorted(self.s3.objects), ["m/.skiff-save-ffffffff-0/x", "m/__skiff_manifest__", "m/fc_0.b_0",
                                                   "m/fc_0.w_0", "m/other"])

    def test_a_manifest_of_the_old_name(self):
        with static.scope_guard(static.Scope()):
            main, x, y, exe = self.program()
            fluid.io.save_params(exe, "s3://box/m", main)
            names = sorted(self.s3.objects)
            self.s3.objects["m/skiff_manifest.yaml"] = self.s3.objects.pop("m/__skiff_manifest__")
            fluid.io.load_params(exe, "s3://box/m", main)
            whole = self.s3.objects["m/fc_0.w_0"]
            self.s3.objects["m/fc_0.w_0"] = whole[:-1] + bytes([whole[-1] ^ 1])
            self.fails("m/fc_0.w_0: checksum", fluid.io.load_params, exe, "s3://box/m", main)
            fluid.io.save_params(exe, "s3://box/m", main)
            self.assertEqual(sorted(self.s3.objects), names)

    def test_a_marker_from_elsewhere(self):
        self.s3.objects.update({"m/a": b"1", "top": b"2", "m/.skiff-commit-1-0": b"../top\n/top\n\na\n"})
        _native.saved_parts("s3://box/m")
        self.assertEqual(self.s3.objects, {"top": b"2"})


class Killed(Models):
    """A save over an older one is killed at every request that changes something."""

    def child(self, path, value, kill_at=None):
        """The number of requests that change something; None when it was killed."""
        process = subprocess.Popen([sys.executable, "-c", SAVE, path, str(value)])
        server = self.s3 if path.startswith("s3:") else self.hdfs
        handler, count = server.RequestHandlerClass, [0]
        run = handler.run

        def counting(h):
            if h.command != "GET" and h.command != "HEAD":
                count[0] += 1
                if count[0] == kill_at:
                    process.kill()
                    process.wait()
                    h.close_connection = True
                    return
            run(h)

        for method in ("do_PUT", "do_POST", "do_DELETE"):
            setattr(handler, method, counting)
        try:
            status = process.wait()
        finally:
            for method in ("do_PUT", "do_POST", "do_DELETE"):
                setattr(handler, method, run)
        self.assertEqual(status, 0 if kill_at is None or kill_at > count[0] else -9)
        return count[0]

    def found(self, path):
        state = static.load_program_state(path)
        values = {name: set(state[name].reshape(-1)) for name in ("fc_0.w_0", "fc_0.b_0", "fc_0.w_0_moment1_0")}
        self.assertEqual(len(set(map(tuple, values.values()))), 1, values)  # no mixture
        return values["fc_0.w_0"].pop()

    def old_or_new(self, path, step):
        self.child(path, 1)
        requests = self.child(path, 1)  # over an older one
        held = self.s3.objects if path.startswith("s3:") else self.hdfs.files
        first = dict(held)
        seen = set()
        for kill_at in list(range(1, requests, step)) + [requests]:
            held.clear()
            held.update(first)
            self.child(path, 2, kill_at)
            seen.add(self.found(path))
            self.child(path, 3)  # it is not in the way of the next save
            self.assertEqual(self.found(path), 3)
        self.assertEqual(seen, {1, 2})

    def tearDown(self):
        for name in os.listdir(self.tmp):  # of the last that was killed; the next save would remove it
            shutil.rmtree(os.path.join(self.tmp, name))
        Models.tearDown(self)

    def test_s3(self):
        self.old_or_new("s3://box/m/m", 3)

    def test_hdfs(self):
        self.old_or_new("hdfs:/d/m", 3)


if __name__ == "__main__":
    unittest.main()
