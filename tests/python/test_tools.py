"""Names that tools around training use: file systems, tree indexes, versions, descriptions of ops, datasets' settings; and layers made
of other ops than Paddle's, whose kernels exist on GPUs only."""
import os
import stat
import tempfile
import unittest

import numpy as np
import paddle
import tree_index
from paddle.distributed import fleet
from paddle.distributed.fleet.dataset import TreeIndex
from paddle.distributed.fleet.proto import index_dataset_pb2 as pb
from paddle.distributed.fleet.utils import HDFSClient, LocalFS
from paddle.distributed.fleet.utils.fs import (FSFileExistsError, FSFileNotExistsError, FSTimeOut)

paddle.enable_static()

#: what tests/python/tree_index.py prints on Paddle 2.6.2
TREE = {
    "ancestors": [[0, 0, 13], [1, 2, 13], [3, 5, 13], [7, 12, 13]],
    "children": [[3, 4, 5], [7, 8, 9, 10], [11, 12]],
    "layers": [[0], [1, 2], [3, 4, 5], [7, 8, 9, 10, 11, 12]],
    "leafs": [(10, True, 1.75), (11, True, 2.0), (12, True, 2.25), (13, True, 2.5), (14, True, 2.75), (15, True, 3.0)],
    "more": [[1, 15, 1], [1, 14, 0], [1, 10, 0], [1, 10, 0], [1, 6, 1], [1, 5, 0], [1, 3, 1], [1, 2, 0]],
    "nodes": [1, 0, 11, 0],
    "path": [12, 5, 2],
    "pi": [(10, 1), (13, 1)],
    "sample": [[10, 12, 11, 1], [10, 12, 13, 0], [10, 12, 13, 0], [10, 12, 12, 0], [4, 5, 4, 1], [4, 5, 5, 0], [2, 2, 2, 1],
               [2, 2, 3, 0], [13, 99, 14, 1], [13, 99, 13, 0], [13, 99, 12, 0], [13, 99, 12, 0], [5, 0, 6, 1], [5, 0, 4, 0],
               [2, 0, 3, 1], [2, 0, 2, 0]],
    "sizes": [4, 2, 12, 16],
    "travel": [[9, 4, 1, 0], [12, 5]],
}


class Folder(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = self._folder.name

    def tearDown(self):
        self._folder.cleanup()

    def at(self, *words):
        return os.path.join(self.folder, *words)

    def write(self, name, data):
        with open(self.at(name), "wb") as target:
            target.write(data)
        return self.at(name)


class Trees(Folder):
    def test_values(self):
        path = self.at("tree.pb")
        tree_index.write(path, pb)
        with open(path, "rb") as source:
            data = source.read()
        self.assertEqual((len(data), sum(data)), (241, 4780))
        self.assertEqual(tree_index.ask(path, TreeIndex), TREE)

    def test_wrong_files(self):
        with self.assertRaisesRegex(ValueError, "item 0: it should have 1684234849 bytes, but has 5; is it a file of a tree builder"):
            TreeIndex("t", self.write("text", b"abcdefghi"))
        with self.assertRaisesRegex(ValueError, "has no .tree_meta with height and branch"):
            TreeIndex("t", self.write("empty", b""))
        with self.assertRaisesRegex(ValueError, "item 0: KVItem is missing required fields: key, value"):
            TreeIndex("t", self.write("other", b"\x02\0\0\0\x18\x05"))
        with self.assertRaises(FileNotFoundError):
            TreeIndex("t", self.at("nothing"))

    def test_wrong_questions(self):
        tree_index.write(self.at("tree.pb"), pb)
        tree = TreeIndex("t", self.at("tree.pb"))
        with self.assertRaisesRegex(ValueError, "id = 77 doesn't exist in Tree"):
            tree.get_travel_codes(77)
        with self.assertRaisesRegex(ValueError, "please init layerwise_sampler first"):
            tree.layerwise_sample([[1]], [10])
        with self.assertRaisesRegex(ValueError, "start_sample_layer is 4, it should be greater than 0 and less than the height 4"):
            tree.init_layerwise_sampler([1], start_sample_layer=4)
        tree.init_layerwise_sampler([1])
        with self.assertRaisesRegex(AssertionError, "was called before"):
            tree.init_layerwise_sampler([1])

    def test_messages(self):
        node = pb.IndexNode(id=7, is_leaf=True, probability=0.5, item_name="x")
        again = pb.IndexNode()
        self.assertEqual(again.ParseFromString(node.SerializeToString()), 12)
        self.assertEqual((again.id, again.is_leaf, again.probability, again.item_name), (7, True, 0.5, "x"))
        meta = pb.TreeMeta(height=-1, branch=2)
        other = pb.TreeMeta()
        other.ParseFromString(meta.SerializeToString())
        self.assertEqual((other.height, other.branch, other.HasField("branch")), (-1, 2, True))
        with self.assertRaisesRegex(ValueError, "Message KVItem is missing required fields: value"):
            pb.KVItem(key=b"a").SerializeToString()
        with self.assertRaisesRegex(TypeError, "IndexNode.id is uint64, but received"):
            node.id = "a"
        with self.assertRaisesRegex(AttributeError, "IndexNode has no field idd"):
            node.idd = 3
        for data, text in ((b"\x0a\x05ab", "KVItem: field 1 is cut off"), (b"\xff", "a number is cut off"),
                           (b"\x0b", "KVItem: unknown wire type 3")):
            with self.assertRaisesRegex(ValueError, text):
                pb.KVItem().ParseFromString(data)


class Files(Folder):
    def test_local(self):
        fs = LocalFS()
        self.assertEqual((fs.ls_dir(self.at("no")), fs.list_dirs(self.at("no"))), (([], []), []))
        fs.mkdirs(self.at("a", "b"))
        fs.touch(self.at("a", "f"))
        fs.touch(self.at("a", "f"))
        self.assertEqual(fs.ls_dir(self.at("a")), (["b"], ["f"]))
        self.assertEqual([fs.is_file(self.at("a")), fs.is_dir(self.at("a")), fs.is_exist(self.at("x"))], [False, True, False])
        with self.assertRaises(FSFileExistsError):
            fs.touch(self.at("a", "f"), exist_ok=False)
        with self.assertRaises(FSFileNotExistsError):
            fs.mv(self.at("x"), self.at("y"))
        with self.assertRaises(FSFileExistsError):
            fs.mv(self.at("a", "f"), self.at("a", "b"))
        with self.assertRaisesRegex(AssertionError, "is already a file"):
            fs.mkdirs(self.at("a", "f"))
        fs.mv(self.at("a", "f"), self.at("a", "b"), overwrite=True)
        self.assertEqual(fs.ls_dir(self.at("a")), ([], ["b"]))
        fs.delete(self.at("a"))
        fs.delete(self.at("a"))
        self.assertFalse(fs.is_exist(self.at("a")))
        self.assertFalse(fs.need_upload_download())
        with self.assertRaisesRegex(NotImplementedError, "LocalFS has no upload"):
            fs.upload("a", "b")

    def client(self, **kw):
        """A hadoop of three lines: `hadoop fs -Dk=v -command ...` over local files."""
        os.makedirs(self.at("bin"))
        path = self.write("bin/hadoop", b"""#!/bin/sh
[ "$1 $2" = "fs -Dk=v" ] || exit 9
shift 2; c=$1; shift
case $c in
-test) exec test "$@";; -mkdir) exec mkdir "$@";; -touchz) exec touch "$@";; -rm) exec rm "$@";; -cat) exec cat "$@";;
-mv) exec mv "$@";; -put|-get) exec cp -r "$@";; -ls) exec ls -ld --time-style=long-iso $1/*;;
esac
exit 3
""")
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return HDFSClient(self.folder, {"k": "v"}, **kw)

    def test_hdfs(self):
        fs = self.client(time_out=0)
        fs.mkdirs(self.at("h", "sub"))
        fs.touch(self.at("h", "f"))
        self.assertEqual(fs.ls_dir(self.at("h")), (["sub"], ["f"]))
        self.assertEqual([fs.is_dir(self.at("h")), fs.is_file(self.at("h")), fs.is_exist(self.at("z"))], [True, False, False])
        self.write("text", b"one\ntwo\n")
        fs.upload(self.at("text"), self.at("h", "sub"))
        self.assertEqual(fs.cat(self.at("h", "sub", "text")), "one\ntwo")
        self.assertEqual(fs.list_files_info([self.at("h", "sub")]), [{"path": self.at("h", "sub", "text"), "size": 8}])
        fs.download(self.at("h", "sub"), self.at("back"))
        self.assertEqual(os.listdir(self.at("back")), ["text"])
        fs.mv(self.at("h", "f"), self.at("h", "g"))
        with self.assertRaisesRegex(FSFileNotExistsError, "/f is not exists"):
            fs.mv(self.at("h", "f"), self.at("h", "g"))
        with self.assertRaisesRegex(FSFileExistsError, "/sub exists already"):
            fs.mv(self.at("h", "g"), self.at("h", "sub"))
        with self.assertRaisesRegex(FSFileNotExistsError, "/no not exists"):
            fs.upload(self.at("no"), self.at("h"))
        fs.delete(self.at("h"))
        self.assertFalse(fs.is_exist(self.at("h")))
        self.assertTrue(fs.need_upload_download())

    def test_hdfs_fails(self):
        with self.assertRaisesRegex(FSTimeOut, "hadoop fs -mv /no/a /no/b: status 1: .*No such file"):
            self.client(time_out=0).mv("/no/a", "/no/b", test_exists=False)
        with self.assertRaisesRegex(FSFileNotExistsError, "HDFSClient: cannot run .*/bin/hadoop: No such file or directory"):
            HDFSClient(self.at("none"), None).is_exist("/a")


class Names(Folder):
    def test_version(self):
        paddle.utils.require_version("1.6.0")
        with self.assertRaises(Exception):
            paddle.utils.require_version("99.0.0")
        self.assertIsInstance(paddle.__git_commit__, str)

    def test_helpers(self):
        from paddle.common_ops_import import LayerHelper, check_type, check_variable_and_dtype
        from paddle.framework.io_utils import Variable, is_persistable
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            x = paddle.static.data("x", [None, 2], "float32")
            helper = LayerHelper("mine")
            out = helper.create_variable_for_type_inference(dtype="float32")
            helper.append_op(type="relu", inputs={"X": [x]}, outputs={"Out": [out]})
            self.assertIsInstance(out, Variable)
            self.assertFalse(is_persistable(out))
            check_variable_and_dtype(x, "x", ["float32"], "mine")
            with self.assertRaisesRegex(TypeError, "The data type of 'x' in mine must be"):
                check_variable_and_dtype(x, "x", ["int64"], "mine")
            with self.assertRaisesRegex(TypeError, "The type of 'x' in mine must be"):
                check_type(x, "x", int, "mine")
            desc = out.block.program.global_block().ops[0].desc
            self.assertEqual((desc.type(), desc.input("X"), desc.output_arg_names()), ("relu", ["x"], [out.name]))
            self.assertEqual(desc.inputs(), {"X": ["x"]})
            self.assertTrue(desc.has_attr("op_role"))
            desc._set_attr("op_role", 1)
            self.assertEqual(desc.attr("op_role"), 1)

    def test_save_vars_of_another_program(self):
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
            w = paddle.create_parameter([2, 3], "float32", name="other_w")
        exe, scope = paddle.static.Executor(), paddle.static.Scope()
        with paddle.static.scope_guard(scope):
            exe.run(startup)
            paddle.static.save_vars(exe, self.folder, vars=[w], filename="all")
            before = np.array(scope.find_var("other_w").get_tensor())
            scope.find_var("other_w").get_tensor().set(before * 0, paddle.CPUPlace())
            paddle.static.load_vars(exe, self.folder, vars=[w], filename="all")
            np.testing.assert_array_equal(np.array(scope.find_var("other_w").get_tensor()), before)
            self.assertEqual(scope.find_var("other_w").get_tensor().cpu().shape(), [2, 3])

    def test_distributed_model(self):
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
            x = paddle.static.data("x", [None, 2])
            y = paddle.static.nn.fc(x, 1)
        exe = paddle.static.Executor()
        load = paddle.distributed.io.load_inference_model_distributed
        with paddle.static.scope_guard(paddle.static.Scope()):
            exe.run(startup)
            import paddle.fluid as fluid
            fluid.io.save_inference_model(self.at("m"), ["x"], [y], exe, main)
            program, feeds, fetches = load(self.at("m"), exe)
            feed = {"x": np.ones((2, 2), "float32")}
            want = exe.run(main, feed=feed, fetch_list=[y])[0]
            self.assertEqual(feeds, ["x"])
            np.testing.assert_array_equal(exe.run(program, feed=feed, fetch_list=fetches)[0], want)
        with self.assertRaisesRegex(ValueError, "There is no directory named '.*/no'"):
            load(self.at("no"), exe)
        with self.assertRaisesRegex(NotImplementedError, "models in memory"):
            load(None, exe, params_filename="p")

    def test_fleet_alone(self):
        with self.assertRaisesRegex(RuntimeError, "fleet is not initialized"):
            with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
                loss = paddle.mean(paddle.static.nn.fc(paddle.static.data("x", [None, 2]), 1))
                fleet.Fleet().distributed_optimizer(paddle.optimizer.SGD(0.1)).minimize(loss)
        kept = os.environ.pop("PADDLE_TRAINER_ENDPOINTS", None)
        try:
            fleet.init(is_collective=True)
            self.assertEqual((fleet.worker_num(), fleet.worker_endpoints(), fleet.is_first_worker()),
                             (1, ["127.0.0.1:6170"], True))
        finally:
            if kept is not None:
                os.environ["PADDLE_TRAINER_ENDPOINTS"] = kept

    def test_datasets(self):
        data = paddle.distributed.InMemoryDataset()
        data.init(batch_size=1, thread_num=2, input_type=1, pipe_command="cat", use_var=[], fs_name="", fs_ugi="")
        data._set_queue_num(3)
        data._set_parse_ins_id(True)
        data._set_merge_by_lineid(2)
        data.set_hdfs_config("", "")
        data.set_hdfs_config("a", "b")
        with self.assertRaisesRegex(ValueError, 'fs_name "a": write hdfs://host:port'):
            data.set_filelist(["a", "hdfs:/b"])
        data = paddle.distributed.QueueDataset()
        data.init(batch_size=1, input_type=1)
        with self.assertRaisesRegex(NotImplementedError, r"input_type=1 \(a line is a batch\) is for InMemoryDataset"):
            paddle.static.Executor().train_from_dataset(paddle.static.Program(), data)
        with self.assertRaisesRegex(ValueError, "input_type must be 0"):
            data.init(input_type=2)

    def test_moving_average(self):
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
            x = paddle.static.data("x", [None, 1])
            one = paddle.ParamAttr(name="w", initializer=paddle.nn.initializer.Constant(1.0))
            loss = paddle.mean(paddle.static.nn.fc(x, 1, weight_attr=one, bias_attr=False))
            paddle.optimizer.SGD(0.1).minimize(loss)
            average = paddle.static.ExponentialMovingAverage(0.9)
            average.update()
        exe, scope = paddle.static.Executor(), paddle.static.Scope()
        with paddle.static.scope_guard(scope):
            exe.run(startup)
            for _ in range(2):
                exe.run(main, feed={"x": np.ones((1, 1), "float32")})

            def weight():
                return float(np.array(scope.find_var("w").get_tensor()).ravel()[0])

            self.assertAlmostEqual(weight(), 0.8, places=6)
            with average.apply(exe):  # Paddle 2.6.2: 0.8473684
                self.assertAlmostEqual(weight(), (0.1 * 0.9 * 0.9 + 0.1 * 0.8) / (1 - 0.81), places=5)
            self.assertAlmostEqual(weight(), 0.8, places=6)


class MadeOfOthers(unittest.TestCase):
    """Layers whose ops Paddle runs on GPUs only: against numpy."""

    def run_(self, build, feed):
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
            wanted = build()
        exe = paddle.static.Executor()
        with paddle.static.scope_guard(paddle.static.Scope()):
            exe.run(startup)
            return [np.array(v) for v in exe.run(main, feed=feed, fetch_list=wanted, return_numpy=False)]

    @staticmethod
    def attr(name, array):
        return paddle.ParamAttr(name=name, initializer=paddle.nn.initializer.Assign(array))

    RANKS = np.array([[1, 1, 0, 2, 1, 0, 0], [2, 1, 0, 2, 1, 3, 2], [3, 0, 0, 2, 1, 3, 2], [0, 1, 0, 2, 1, 3, 2]], "int32")

    def expected_ranks(self, x, w):
        out = np.zeros((4, w.shape[1]), "float32")
        for i, row in enumerate(self.RANKS):
            for k in range(3):
                rank, at = row[2 * k + 1], row[2 * k + 2]
                if row[0] and rank:
                    begin = ((row[0] - 1) * 3 + rank - 1) * x.shape[1]
                    out[i] += x[at] @ w[begin:begin + x.shape[1]]
        return out

    def test_rank_attention(self):
        rng = np.random.RandomState(1)
        x, w = rng.rand(4, 2).astype("float32"), rng.rand(18, 5).astype("float32")

        def build():
            a, ranks = paddle.static.data("x", [None, 2]), paddle.static.data("ranks", [None, 7], "int32")
            a.stop_gradient = False
            out = paddle.incubate.layers.rank_attention(a, ranks, [18, 5], self.attr("w", w), max_rank=3)
            return [out] + paddle.static.gradients([paddle.sum(out)], [a])

        out, dx = self.run_(build, {"x": x, "ranks": self.RANKS})
        np.testing.assert_allclose(out, self.expected_ranks(x, w), rtol=1e-5)
        moved = x.copy()
        moved[0, 1] += 0.5
        self.assertAlmostEqual(float(dx[0, 1]), (self.expected_ranks(moved, w) - self.expected_ranks(x, w)).sum() / 0.5, places=4)
        with self.assertRaisesRegex(ValueError, r"rank_param_shape \[17, 5\] must begin with 2 x max_rank x max_rank"):
            self.run_(lambda: paddle.incubate.layers.rank_attention(
                paddle.static.data("x", [None, 2]), paddle.static.data("ranks", [None, 7], "int32"), [17, 5], None), {})

    def test_rank_attention_of_fluid(self):
        import paddle.fluid as fluid
        from paddle.fluid.framework import set_generation
        rng = np.random.RandomState(1)
        x, w = rng.rand(4, 2).astype("float32"), rng.rand(18, 5).astype("float32")
        set_generation(1)
        try:
            main, startup = fluid.Program(), fluid.Program()
            with fluid.program_guard(main, startup), fluid.unique_name.guard():
                a, ranks = fluid.data("x", [None, 2]), fluid.data("ranks", [None, 7], "int32")
                out = fluid.contrib.layers.rank_attention(a, ranks, [18, 5], fluid.ParamAttr(
                    name="w", initializer=fluid.initializer.NumpyArrayInitializer(w)))
            exe = fluid.Executor(fluid.CPUPlace())
            with fluid.scope_guard(fluid.core.Scope()):
                exe.run(startup)
                got = exe.run(main, feed={"x": x, "ranks": self.RANKS}, fetch_list=[out])[0]
        finally:
            set_generation(2)
        np.testing.assert_allclose(got, self.expected_ranks(x, w), rtol=1e-5)

    def test_batch_fc(self):
        rng = np.random.RandomState(2)
        x, w, b = rng.rand(3, 4, 2), rng.rand(3, 2, 5), rng.rand(3, 5)
        x, w, b = (v.astype("float32") for v in (x, w, b))
        out, = self.run_(lambda: [paddle.incubate.layers.batch_fc(
            paddle.static.data("x", [3, 4, 2]), [3, 2, 5], self.attr("w", w), [3, 5], self.attr("b", b), act="relu")], {"x": x})
        np.testing.assert_allclose(out, np.maximum(x @ w + b[:, None, :], 0), rtol=1e-5)
        with self.assertRaisesRegex(ValueError, r"batch_fc: input \[3, 4, 2\], param_size \[3, 3, 5\] and bias_size"):
            self.run_(lambda: [paddle.incubate.layers.batch_fc(paddle.static.data("x", [3, 4, 2]), [3, 3, 5], None, [3, 5], None)], {})

    def test_fused_seqpool_cvm(self):
        rows = np.array([[1, 1, .5], [3, 2, .25], [4, 0, 1]], "float32")
        tensor = paddle.base.core.LoDTensor()
        tensor.set(rows, paddle.CPUPlace())
        tensor.set_lod([[0, 2, 3]])
        layer = paddle.incubate.layers.fused_seqpool_cvm

        def build():
            x, cvm = paddle.static.data("x", [None, 3], "float32", 1), paddle.static.data("cvm", [None, 2])
            return layer([x], "sum", cvm) + layer([x], "sum", cvm, use_cvm=False)

        kept, dropped = self.run_(build, {"x": tensor, "cvm": np.ones((2, 2), "float32")})
        summed = np.array([[4, 3, .75], [4, 0, 1]])
        want = np.stack([np.log(summed[:, 0] + 1), np.log(summed[:, 1] + 1) - np.log(summed[:, 0] + 1), summed[:, 2]], 1)
        np.testing.assert_allclose(kept, want, rtol=1e-5)
        np.testing.assert_allclose(dropped, summed[:, 2:], rtol=1e-6)
        x = "x"
        for call, kind, text in ((lambda: layer([x], "max", x), ValueError, "only support SUM pooling"),
                                 (lambda: layer([x], "sum", x, pad_value=1.0), NotImplementedError, "only pad_value 0 and cvm_offset 2"),
                                 (lambda: layer(x, "sum", x), TypeError, "The type of 'input' in fused_seqpool_cvm must be list")):
            with self.assertRaisesRegex(kind, text):
                call()

    def test_shuffle_batch(self):
        rows = np.arange(20, dtype="float32").reshape(10, 2)

        def build():
            x = paddle.static.data("x", [None, 2])
            x.stop_gradient = False
            out = paddle.incubate.layers.shuffle_batch(x, seed=5)
            return [out] + paddle.static.gradients([paddle.sum(out * x)], [x])

        out, dx = self.run_(build, {"x": rows})
        self.assertEqual(sorted(map(tuple, out.tolist())), sorted(map(tuple, rows.tolist())))
        self.assertFalse((out == rows).all(axis=1).any(), "a row has stayed where it was")
        order = [rows.tolist().index(row) for row in out.tolist()]  # out[i] = x[order[i]]
        want = out.copy()
        for i, at in enumerate(order):
            want[at] += rows[i]
        np.testing.assert_allclose(dx, want)
        again, _ = self.run_(build, {"x": rows})
        np.testing.assert_array_equal(out, again)


if __name__ == "__main__":
    unittest.main()
