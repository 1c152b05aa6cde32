"""Tables in a server inside the worker: fleets without servers, GPUBox's passes, programs without a fleet."""
import contextlib
import glob
import gzip
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import paddle
import paddle.distributed.fleet as fleet

FAR = 1 << 62
IDS = np.arange(8, dtype="int64").reshape(8, 1) * 1000003 + FAR
LABELS = np.arange(8, dtype="float32").reshape(8, 1) / 8


def network(entry=None, slots=1):
    ids = [paddle.static.data(str(i + 1), [None, 1], "int64") for i in range(slots)]
    label = paddle.static.data("label", [None, 1], "float32")
    rows = [paddle.reshape(paddle.static.nn.sparse_embedding(i, [10, 4], entry=entry, param_attr=paddle.ParamAttr(name="table")),
                           [-1, 4]) for i in ids]
    half = paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(0.5))
    guess = paddle.static.nn.fc(paddle.concat(rows, axis=1), 1, weight_attr=half)
    return ids, label, guess, paddle.mean(paddle.nn.functional.square_error_cost(guess, label))


class Case(unittest.TestCase):
    def setUp(self):
        paddle.enable_static()
        stack = contextlib.ExitStack()
        self.main, self.startup = paddle.static.Program(), paddle.static.Program()
        stack.enter_context(paddle.static.program_guard(self.main, self.startup))
        stack.enter_context(paddle.utils.unique_name.guard())
        stack.enter_context(paddle.static.scope_guard(paddle.static.Scope()))
        self.folder = stack.enter_context(tempfile.TemporaryDirectory())
        self.addCleanup(stack.close)
        self.exe = paddle.static.Executor()

    def loss_of(self, loss, program=None):
        feed = {"1": IDS, "label": LABELS}
        return float(self.exe.run(program or paddle.static.default_main_program(), feed=feed, fetch_list=[loss])[0])


class Alone(Case):
    """fleet.init() without servers."""

    def build(self, strategy=None):
        fleet.init()
        ids, label, guess, loss = network()
        optimizer = fleet.distributed_optimizer(paddle.optimizer.Adam(0.05), strategy or fleet.DistributedStrategy())
        optimizer.minimize(loss)
        self.exe.run(paddle.static.default_startup_program())
        fleet.init_worker()
        return ids, guess, loss

    def test_numbers_of_tables(self):
        """Folders of a model are in the order of the tables' names, as 2.6.2 has them, not of their look-ups."""
        fleet.init()
        ids = paddle.static.data("ids", [None, 1], "int64")
        rows = [paddle.reshape(paddle.static.nn.sparse_embedding(ids, [10, n], param_attr=paddle.ParamAttr(name=name)), [-1, n])
                for name, n in (("users", 2), ("words", 3), ("items", 4))]
        loss = paddle.mean(paddle.static.nn.fc(paddle.concat(rows, axis=1), 1))
        fleet.distributed_optimizer(paddle.optimizer.SGD(0.05), fleet.DistributedStrategy()).minimize(loss)
        self.exe.run(self.startup)
        fleet.init_worker()
        self.exe.run(self.main, feed={"ids": IDS})
        fleet.save_persistables(self.exe, self.folder)
        fleet.stop_worker()
        self.assertEqual(fleet.fleet._job._fleet.tables, ["items", "users", "words"])
        with gzip.open(sorted(glob.glob(self.folder + "/001/*"))[FAR % 1000], "rt") as f:
            self.assertEqual(f.read().split()[0], str(FAR))

    def test_a_save_that_fails(self):
        """The last table cannot be written: the folders of the others stay as they were."""
        fleet.init()
        ids = paddle.static.data("ids", [None, 1], "int64")
        rows = [paddle.reshape(paddle.static.nn.sparse_embedding(ids, [10, 2], param_attr=paddle.ParamAttr(name=name)), [-1, 2])
                for name in ("items", "words")]
        strategy, save = fleet.DistributedStrategy(), "table_parameters.words.accessor.table_accessor_save_param."
        strategy.sparse_table_configs = {
            "items": {"table_parameters.items.shard_num": 2},
            "words": {"table_parameters.words.shard_num": 2, save + "num": 1, save + "param": [1],
                      save + "converter": ["exit 3"], save + "deconverter": ["cat"]}}
        loss = paddle.mean(paddle.static.nn.fc(paddle.concat(rows, axis=1), 1))
        fleet.distributed_optimizer(paddle.optimizer.SGD(0.05), strategy).minimize(loss)
        self.exe.run(self.startup)
        fleet.init_worker()
        self.addCleanup(fleet.stop_worker)
        self.exe.run(self.main, feed={"ids": IDS})
        fleet.save_persistables(self.exe, self.folder, mode=0)

        def files():
            return {str(path): path.read_bytes() for path in pathlib.Path(self.folder).glob("[0-9]*/*")}

        before = files()
        self.assertEqual(len(before), 5)
        os.mkdir(self.folder + "/.002.skiff-save-1-0")  # of dense parameters, whose worker was killed
        self.exe.run(self.main, feed={"ids": IDS + 1})
        with self.assertRaisesRegex(OSError, "save of table words: .*exit 3"):
            fleet.save_persistables(self.exe, self.folder, mode=1)
        self.assertEqual(files(), before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["000", "001", "002"])

    def test_features(self):
        ids, guess, loss = self.build()
        self.addCleanup(fleet.stop_worker)
        self.assertEqual(fleet.server_num(), 0)
        losses = [self.loss_of(loss) for _ in range(10)]
        self.assertLess(losses[-1], 0.7 * losses[0])
        fleet.save_persistables(self.exe, os.path.join(self.folder, "m"))
        rows = [line.split() for name in glob.glob(os.path.join(self.folder, "m", "000", "part-000-*.gz"))
                for line in gzip.open(name, "rt")]
        self.assertEqual(sorted(int(row[0]) for row in rows), IDS.ravel().tolist())
        with gzip.open(os.path.join(self.folder, "m", "001", "part-000.gz"), "rt") as dense:
            lines = dense.read().splitlines()
        self.assertEqual(len(lines), 5)  # a bias and four weights, with their moments
        weight = paddle.static.global_scope().find_var("fc_0.w_0").get_tensor().numpy().ravel()
        np.testing.assert_allclose([float(line.split()[0]) for line in lines[1:]], weight, rtol=1e-5)
        self.assertEqual({len(line.split()) for line in lines}, {3})
        there = self.loss_of(loss)
        self.assertNotEqual(self.loss_of(loss), there)
        fleet.load_model(os.path.join(self.folder, "m"), 0)
        self.assertAlmostEqual(self.loss_of(loss), there, places=5)
        fleet.save_inference_model(self.exe, os.path.join(self.folder, "i"), [ids[0].name, "label"], [guess])
        self.assertEqual(sorted(os.listdir(os.path.join(self.folder, "i"))), ["000", "dnn_plugin"])

    def test_rows_on_disk_go(self):
        """After stop_worker the tables are gone, those on disk, too."""
        strategy, at = fleet.DistributedStrategy(), "table_parameters.table."
        strategy.sparse_table_configs = {"table": {at + "shard_num": 2, at + "memory_limit": "256K", at + "memory_policy": "disk",
                                                   at + "path": os.path.join(self.folder, "rows")}}
        self.build(strategy)
        for i in range(20):
            ids = np.arange(400, dtype="int64").reshape(400, 1) + 400 * i
            self.exe.run(paddle.static.default_main_program(), feed={"1": ids, "label": np.ones((400, 1), "float32")})
        self.assertTrue(os.listdir(os.path.join(self.folder, "rows", "table.server_0")))
        fleet.stop_worker()
        self.assertEqual(os.listdir(os.path.join(self.folder, "rows")), [])

    def test_plain_tensor_without_a_sync(self):
        strategy = fleet.DistributedStrategy()
        strategy.a_sync = False
        _, _, loss = self.build(strategy)
        with self.assertRaisesRegex(ValueError, "outside the table W .table. of 10 rows"):
            self.loss_of(loss)


class WithoutFleet(Case):
    def build(self, entry):
        _, _, _, loss = network(entry)
        paddle.optimizer.Adam(0.1).minimize(loss)
        self.exe.run(self.startup)
        return loss

    def test_rows_are_not_here(self):
        """Reading the table as a tensor is an error that says where its rows are: there is a shape, but no memory."""
        loss = self.build(paddle.distributed.CountFilterEntry(1))
        self.loss_of(loss, self.main)
        tensor = paddle.static.global_scope().find_var("table").get_tensor()
        here = "the rows of this table are on the parameter servers; this process holds none of them"
        for read in (np.array, memoryview, lambda t: t.numpy(), lambda t: np.asarray(t, "float64")):
            with self.assertRaisesRegex(RuntimeError, here):
                read(tensor)
        with self.assertRaisesRegex(RuntimeError, "fetched variable table: its rows are on the parameter servers"):
            self.loss_of("table", self.main)
        ids = self.main.global_block().var("1")
        with self.assertRaisesRegex(RuntimeError, "cannot save variable table: its rows are in a table of servers .*static.save"):
            paddle.static.save_inference_model(os.path.join(self.folder, "i"), [ids], [loss], self.exe, program=self.main)

    def test_entry(self):
        """An entry asks for rows that are created on first use: of any id, saved next to the dense parameters."""
        loss = self.build(paddle.distributed.CountFilterEntry(1))
        losses = [self.loss_of(loss, self.main) for _ in range(4)]
        self.assertLess(losses[-1], 0.7 * losses[0])
        test = self.loss_of(loss.name, self.main.clone(for_test=True))
        paddle.static.save(self.main, os.path.join(self.folder, "m"))
        names = os.listdir(os.path.join(self.folder, "m.tables", "000"))
        self.assertEqual(len(names), 10)
        for _ in range(3):
            self.loss_of(loss, self.main)
        self.assertNotAlmostEqual(self.loss_of(loss, self.main), test, places=3)
        paddle.static.load(self.main, os.path.join(self.folder, "m"))
        self.assertAlmostEqual(self.loss_of(loss, self.main), test, places=4)

    def test_network_without_optimizer(self):
        """A script that only judges builds the network alone: it finds the rows, those of the load before are gone."""
        loss = self.build(paddle.distributed.CountFilterEntry(1))
        first, later = (os.path.join(self.folder, name) for name in ("first", "later"))
        self.loss_of(loss, self.main)
        want = [self.loss_of(loss.name, self.main.clone(for_test=True))]
        paddle.static.save(self.main, first)
        feed = {"1": np.concatenate([IDS, IDS + 7]), "label": np.concatenate([LABELS, LABELS])}
        for _ in range(3):
            self.exe.run(self.main, feed=feed)
        want.append(self.loss_of(loss.name, self.main.clone(for_test=True)))
        paddle.static.save(self.main, later)
        self.exe.close()
        self.exe, judge, scope = paddle.static.Executor(), paddle.static.Program(), paddle.static.Scope()
        with paddle.static.scope_guard(scope), paddle.utils.unique_name.guard(), \
                paddle.static.program_guard(judge, paddle.static.Program()):
            ids, label, guess, loss = network(paddle.distributed.CountFilterEntry(1))
            self.exe.run(paddle.static.default_startup_program())
            for path, loss_then in ((later, want[1]), (first, want[0]), (first, want[0])):
                paddle.static.load(judge, path)
                self.assertAlmostEqual(self.loss_of(loss, judge), loss_then, places=5)
            feed = {"1": IDS + 7, "label": LABELS}  # rows of the later model alone: only the bias is left
            guesses = self.exe.run(judge, feed=feed, fetch_list=[guess])[0]
            np.testing.assert_array_equal(guesses, np.array(scope.find_var("fc_0.b_0").get_tensor()).repeat(8).reshape(8, 1))

    def test_no_entry(self):
        loss = self.build(None)
        with self.assertRaisesRegex(ValueError, "outside the table W .table. of 10 rows"):
            self.loss_of(loss, self.main)


class Passes(unittest.TestCase):
    """core.PSGPU alone: its calls and their order."""

    def setUp(self):
        self.box = paddle.framework.core.PSGPU()
        self.addCleanup(lambda: setattr(type(self.box), "_state", None))

    def test_order(self):
        box = self.box
        with self.assertRaisesRegex(RuntimeError, "begin_pass: call init_gpu_ps first"):
            box.begin_pass()
        with self.assertRaisesRegex(ValueError, "the list of devices is empty"):
            box.init_gpu_ps([])
        with contextlib.redirect_stderr(io.StringIO()) as said:
            box.init_gpu_ps([0, 1])
        self.assertIn("2 devices are 2 threads of this process, on CPUs", said.getvalue())
        with self.assertRaisesRegex(RuntimeError, "end_pass: no pass is open; call begin_pass first"):
            box.end_pass()
        with self.assertRaisesRegex(RuntimeError, r"begin_pass: there is no dataset; call the dataset's _set_use_ps_gpu\(True\)"):
            box.begin_pass()
        data = paddle.distributed.InMemoryDataset()
        data._set_use_ps_gpu(True)
        box.begin_pass()
        box.set_dataset(data)  # of the next pass, which may be loaded meanwhile
        with self.assertRaisesRegex(RuntimeError, "begin_pass: pass 1 is open; call end_pass first"):
            paddle.base.core.PSGPU().begin_pass()  # one for the process
        with self.assertRaisesRegex(RuntimeError, "finalize: pass 1 is open"):
            box.finalize()
        box.end_pass()
        with self.assertRaisesRegex(RuntimeError, "end_pass: no pass is open; call begin_pass first"):
            box.end_pass()
        box.dump_to_mem()
        box.finalize()

    def test_after_finalize(self):
        """The calls of an object that has ended say so; a new one begins anew."""
        box = self.box
        box.finalize()
        data = paddle.distributed.InMemoryDataset()
        calls = {"set_slot_vector": ([1],), "set_slot_dim_vector": ([8],), "set_slot_offset_vector": ([0],),
                 "init_gpu_ps": ([0],), "set_date": (2026, 11, 17), "set_dataset": (data,), "load_into_memory": (),
                 "begin_pass": (), "end_pass": (), "dump_to_mem": (), "finalize": ()}
        for call, arguments in calls.items():
            with self.assertRaisesRegex(RuntimeError, r"PSGPU.%s: finalize has been called; make a new PSGPU\(\) and call "
                                        "init_gpu_ps first" % call):
                getattr(box, call)(*arguments)
        with self.assertRaisesRegex(RuntimeError, "begin_pass: call init_gpu_ps first"):
            paddle.framework.core.PSGPU().begin_pass()

    def test_datasets(self):
        box = self.box
        for data, name in ((paddle.distributed.QueueDataset(), "QueueDataset"), (None, "NoneType"), ("files", "str")):
            with self.assertRaisesRegex(RuntimeError, "set_dataset: passes need an InMemoryDataset, this is a %s; create one "
                                        "first" % name):
                box.set_dataset(data)
        box.set_dataset(paddle.distributed.InMemoryDataset())
        box.set_dataset(paddle.base.DatasetFactory().create_dataset("InMemoryDataset"))

    def test_settings(self):
        box = self.box
        box.set_slot_vector([1, 2, 3])
        box.set_slot_offset_vector([0, 1])
        box.set_date(2026, 11, 17)
        with self.assertRaisesRegex(ValueError, "2 widths for 3 slots"):
            box.set_slot_dim_vector([8, 8])
        with self.assertRaisesRegex(ValueError, "takes a list of integers"):
            box.set_slot_vector(["a"])
        with self.assertRaisesRegex(RuntimeError, "load_into_memory: call set_dataset first"):
            box.load_into_memory()
        with self.assertRaisesRegex(ValueError, "need an InMemoryDataset"):
            paddle.distributed.QueueDataset()._set_use_ps_gpu(True)


GPUBOX = """
import os, sys
import paddle, paddle.distributed.fleet as fleet
sys.path.insert(0, sys.argv[1])
from paddle.fluid import _psgpu
from test_local_tables import network
paddle.enable_static()
fleet.init()
ids, label, guess, loss = network(slots=2)
strategy = fleet.DistributedStrategy()
strategy.a_sync = True
strategy.a_sync_configs = {"use_ps_gpu": 1}
fleet.distributed_optimizer(paddle.optimizer.Adam(0.05), strategy).minimize(loss)
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
    sys.exit()
exe = paddle.static.Executor(paddle.CUDAPlace(0))
exe.run(paddle.static.default_startup_program())
fleet.init_worker()
data = paddle.distributed.InMemoryDataset()
data._set_use_ps_gpu(True)
data.init(use_var=ids + [label], pipe_command="cat", batch_size=4, thread_num=5)
data.set_filelist([sys.argv[2] + "/data"])
box = paddle.framework.core.PSGPU()
box.set_slot_vector([1, 2])
box.set_slot_dim_vector([3, 3])
box.init_gpu_ps([0, 1])
for day in range(3):
    data.set_date("2026111%d" % day)
    data.preload_into_memory()
    data.wait_preload_done()
    box.begin_pass()
    exe.train_from_dataset(paddle.static.default_main_program(), data)
    box.end_pass()
    fleet.save_inference_model(exe, "%s/%d" % (sys.argv[2], day), [v.name for v in ids + [label]], [guess])
    data.release_memory()
    print("day", day, fleet.fleet._job.tables("state").table_state(0)["rows"])
data.load_into_memory()
print("fetched", _psgpu.fetch_rows(_psgpu.Box.job, data, 2))
fleet.shrink()
box.finalize()
fleet.stop_worker()
"""


class GpuBox(unittest.TestCase):
    """A server and a worker, as run_gpubox.sh starts them: the worker needs no server, which ends at once."""

    def run_role(self, role, folder):
        env = dict(os.environ, TRAINING_ROLE=role, PADDLE_PSERVERS_IP_PORT_LIST="127.0.0.1:1", PADDLE_PORT="1",
                   POD_IP="127.0.0.1", PADDLE_TRAINERS_NUM="1", PADDLE_TRAINER_ID="0")
        here = os.path.dirname(os.path.abspath(__file__))
        return subprocess.run([sys.executable, "-c", GPUBOX, here, folder], env=env, capture_output=True, text=True, timeout=120)

    def test_job(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/data", "w") as data:
                for i in range(40):
                    data.write("1 %d 1 %d 1 %g\n" % (FAR + i, i % 3, i % 2))
            server = self.run_role("PSERVER", folder)
            self.assertEqual(server.returncode, 0, server.stderr)
            self.assertIn("tables live in the worker; this server has nothing to do and ends", server.stderr)
            worker = self.run_role("TRAINER", folder)
            self.assertEqual(worker.returncode, 0, worker.stderr)
            self.assertEqual(worker.stdout.split("\n")[:4], ["day 0 43", "day 1 43", "day 2 43", "fetched 40"])
            self.assertEqual(worker.stderr.count("CUDA devices were asked for (use_gpu); CPUs are used"), 1)
            self.assertEqual(worker.stderr.count("the targets do not need label: left out"), 1)
            self.assertEqual(len(os.listdir(folder + "/2/000")), 37)


if __name__ == "__main__":
    unittest.main()
