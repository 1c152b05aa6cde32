"""Names of Paddle 2.6 around the core: dlpack, strategies as text, sampled classes, debugging of numbers, VisualDL."""
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

import numpy as np
import paddle
import paddle.distributed.fleet as fleet
import paddle.nn.functional as F
from paddle.amp import debugging
from paddle.utils.dlpack import from_dlpack, to_dlpack

HERE = os.path.dirname(os.path.abspath(__file__))


class Dlpack(unittest.TestCase):
    def test_both_ways(self):
        for dtype in ("float32", "float64", "int64", "int32", "uint8", "float16"):
            x = paddle.to_tensor(np.arange(6).reshape(2, 3).astype(dtype))
            back = from_dlpack(to_dlpack(x))
            self.assertEqual((back.dtype, back.numpy().tolist()), (x.dtype, x.numpy().tolist()))
        self.assertEqual(from_dlpack(to_dlpack(paddle.to_tensor([True, False]))).numpy().tolist(), [1, 0])
        array = np.arange(6).reshape(2, 3)
        for given in (array, array.T, array[:, ::2]):
            for made in (from_dlpack(given.__dlpack__()), from_dlpack(given)):
                self.assertEqual(made.numpy().tolist(), given.tolist())

    def test_numpy_shares_the_memory(self):
        x = paddle.to_tensor([1.0, 2.0])
        array = np.from_dlpack(x)
        x[0] = 9.0
        self.assertEqual(array.tolist(), [9.0, 2.0])
        self.assertEqual(np.from_dlpack(paddle.create_parameter([2], "float32")).shape, (2,))
        del x
        self.assertEqual(array.tolist(), [9.0, 2.0])

    def test_refused(self):
        capsule = to_dlpack(paddle.ones([2]))
        from_dlpack(capsule)
        with self.assertRaisesRegex(ValueError, "consumed only once"):
            from_dlpack(capsule)
        with self.assertRaisesRegex(TypeError, "The type of 'x' in to_dlpack must be paddle.Tensor"):
            to_dlpack([1])
        with self.assertRaisesRegex(TypeError, "must be PyCapsule object"):
            from_dlpack(3)
        with self.assertRaisesRegex(TypeError, "bfloat16 cannot be given away"):
            to_dlpack(paddle.ones([2]).astype("bfloat16"))


class Strategy(unittest.TestCase):
    """strategy_2x.prototxt is what real 2.6.2 has saved."""

    def setUp(self):
        with open(os.path.join(HERE, "strategy_2x.prototxt")) as file:
            self.recorded = file.read()

    def saved(self, strategy):
        with tempfile.TemporaryDirectory() as folder:
            strategy.save_to_prototxt(folder + "/s")
            with open(folder + "/s") as file:
                return file.read()

    def test_written_as_there(self):
        s = fleet.DistributedStrategy()
        self.assertEqual(self.saved(s), "")
        s.a_sync, s.a_sync_configs = True, {"k_steps": 100, "launch_barrier": False}
        s.amp, s.amp_configs = True, {"init_loss_scaling": 1024, "decr_ratio": 0.75, "custom_white_list": ["conv2d", "mul"]}
        s.localsgd_configs = {"k_steps": 4, "begin_step": 30}
        s.gradient_merge, s.gradient_merge_configs = True, {"k_steps": 2, "avg": False}
        s.hybrid_configs = {"dp_degree": 2, "mp_degree": 1}
        s.fuse_grad_size_in_MB = 50
        s.trainer_desc_configs = {"dump_fields_path": 'dump "here"\\', "dump_fields": ["a", "b"], "stat_var_names": ["c"]}
        s.fs_client_param = {"uri": "hdfs://h:1", "user": "u", "passwd": "p", "hadoop_bin": "b"}
        p = "table_parameters.embedding."
        saver = p + "accessor.table_accessor_save_param."
        s.sparse_table_configs = {"embedding": {
            p + "table_class": "MemorySparseTable", p + "shard_num": 10, p + "accessor.accessor_class": "SparseAccessor",
            p + "accessor.embedx_dim": 10, p + "accessor.ctr_accessor_param.nonclk_coeff": 0.1,
            p + "accessor.embed_sgd_param.name": "SparseAdaGradSGDRule",
            p + "accessor.embed_sgd_param.adagrad.learning_rate": 0.05,
            p + "accessor.embed_sgd_param.adagrad.weight_bounds": [-10.0, 10.0],
            saver + "num": 2, saver + "param": [1, 2], saver + "converter": ["", "(x)"]}}
        self.assertEqual(self.saved(s), self.recorded)

    def test_read(self):
        s = fleet.DistributedStrategy()
        s.load_from_prototxt(os.path.join(HERE, "strategy_2x.prototxt"))
        self.assertTrue(s.a_sync and s.amp)
        self.assertEqual((s.a_sync_configs["k_steps"], s.a_sync_configs["launch_barrier"], s.a_sync_configs["send_queue_size"]),
                         (100, False, 16))
        self.assertEqual(s.gradient_merge_configs, {"k_steps": 2, "avg": False})
        self.assertEqual(s.trainer_desc_configs["dump_fields_path"], 'dump "here"\\')
        table, = s.sparse_table_configs
        self.assertEqual((table.table_name, table.values["accessor.embed_sgd_param.adagrad.weight_bounds"],
                          table.values["accessor.table_accessor_save_param.1.converter"]), ("embedding", [-10.0, 10.0], "(x)"))
        self.assertEqual(self.saved(s), self.recorded)

    def test_other_forms_and_mistakes(self):
        cases = [("a_sync: maybe", ":1: a_sync: expected true or false, found maybe"),
                 ("amp: true\nnone_such: 3", ':2: Message type "DistributedStrategy" has no field named "none_such"'),
                 ("a_sync_configs { k_steps: x }", ":1: k_steps: expected a whole number, found x"),
                 ("a_sync_configs {\n k_steps: 3", ":2: the file ends; expected a value"),
                 ("trainer_desc_configs { trainer: x }", ":1: trainer: expected text in quotes, found x"),
                 ('amp: "', ":1: not a token")]
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/s"
            for text, message in cases:
                with open(path, "w") as file:
                    file.write(text)
                with self.subTest(text=text), self.assertRaises(ValueError) as raised:
                    fleet.DistributedStrategy().load_from_prototxt(path)
                self.assertIn(path + message, str(raised.exception))
            with open(path, "w") as file:
                file.write("# a comment\na_sync_configs: < k_steps: 0x10, send_wait_times: 2; >\n"
                           "amp_configs { custom_white_list: ['a', 'b'] }  # end\n")
            s = fleet.DistributedStrategy()
            s.load_from_prototxt(path)
            self.assertEqual((s.a_sync_configs["k_steps"], s.a_sync_configs["send_wait_times"]), (16, 2))
            self.assertEqual(s.amp_configs["custom_white_list"], ["a", "b"])


class Functions(unittest.TestCase):
    def test_class_center_sample(self):
        label = paddle.to_tensor([11, 5, 1, 3, 12, 2, 15, 19, 18, 19])
        remapped, classes = F.class_center_sample(label, 20, 6)  # real 2.6.2's
        self.assertEqual(remapped.numpy().tolist(), [4, 3, 0, 2, 5, 1, 6, 8, 7, 8])
        self.assertEqual(classes.numpy().tolist(), [1, 2, 3, 5, 11, 12, 15, 18, 19])
        drawn = set()
        for _ in range(60):
            remapped, classes = F.class_center_sample(paddle.to_tensor([3, 7, 3, 1], dtype="int32"), 20, 8)
            self.assertEqual(remapped.numpy().tolist(), [1, 2, 1, 0])
            found = classes.numpy().tolist()
            self.assertEqual((found[:3], len(set(found)), str(classes.dtype)), ([1, 3, 7], 8, "paddle.int32"))
            drawn.update(found[3:])
        self.assertEqual(drawn, set(range(20)) - {1, 3, 7})

    def test_class_center_sample_refuses(self):
        for args, message in (((paddle.to_tensor([3]), 5, 9), "Expected num_samples less than or equal to 5, got num_samples 9"),
                              ((paddle.to_tensor([[3]]), 5, 2), "Expected label_dims == 1 "),
                              ((paddle.to_tensor([9]), 5, 2), "labels are from 9 to 9; expected 0 to 4")):
            with self.assertRaisesRegex(ValueError, message):
                F.class_center_sample(*args)
        with self.assertRaisesRegex(TypeError, "must be int32 or int64"):
            F.class_center_sample(paddle.to_tensor([3.0]), 5, 2)

    def test_sigmoid_focal_loss(self):
        logit = paddle.to_tensor([[.97, .91, .03], [.55, .43, .71]])
        label = paddle.to_tensor([[1.0, 0, 0], [0, 1.0, 0]])
        np.testing.assert_allclose(F.sigmoid_focal_loss(logit, label).numpy(), 1.3156493, rtol=1e-6)  # real 2.6.2's

    def test_lists_of_ints_and_floats(self):
        """Rows of different types: float32, as floats of Python are."""
        for data in ([[1.0, 2], [3, 4]], [[1, 2], [3, 4.5]], [[np.float64(1)], [2]], [[[1], [2.5]], [[3], [4]]]):
            self.assertEqual(paddle.to_tensor(data).dtype, paddle.float32)
        double = paddle.ones([2], dtype="float64")
        self.assertEqual(paddle.to_tensor([double, [1, 2]]).dtype, paddle.float32)  # as real 2.6.2


class Debugging(unittest.TestCase):
    """paddle.amp.debugging: lines and counts as real 2.6.2 prints them."""

    def tearDown(self):
        debugging.disable_tensor_checker()

    def said(self, function):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                function()
            except RuntimeError as error:
                print("RuntimeError:", error)
        return out.getvalue()

    def config(self, **settings):
        with contextlib.redirect_stdout(io.StringIO()):
            return debugging.TensorCheckerConfig(True, **settings)

    def test_one_tensor(self):
        mode = debugging.DebugMode
        good, bad = paddle.to_tensor([1.0, 0, 3.0, -2]), paddle.to_tensor([1.0, float("nan"), float("inf"), 0])
        stats, values = debugging.check_numerics(good, "op", "v")
        self.assertEqual((stats.numpy().tolist(), values.numpy().tolist()), ([0, 0, 1], [3.0, -2.0, 0.5]))
        self.assertEqual(self.said(lambda: debugging.check_numerics(good, "op", "v", mode.CHECK_ALL)),
                         "[PRECISION] in [device=cpu, op=op, tensor=v, dtype=fp32], numel=4, num_zero=1, max=3.000000e+00, "
                         "min=-2.000000e+00, mean=5.000000e-01\n")
        line = ("[PRECISION] [ERROR] in [device=cpu, op=op, tensor=v, dtype=fp32], numel=4, num_nan=1, num_inf=1, num_zero=1, max=inf, "
                "min=0.000000e+00, mean=nan\n")
        self.assertEqual(self.said(lambda: debugging.check_numerics(bad, "op", "v", mode.CHECK_NAN_INF)), line)
        self.assertEqual(self.said(lambda: debugging.check_numerics(bad, "op", "v")),
                         line + "RuntimeError: There are NAN or INF (num_nan=1, num_inf=1, num_zero=1) in [device=cpu, op=op, tensor=v, "
                         "dtype=fp32].\n")
        self.assertEqual(self.said(lambda: debugging.check_numerics(good * 1e5, "op", "v", mode.CHECK_ALL_FOR_OVERFLOW)).count("\n"), 1)
        self.assertEqual(self.said(lambda: debugging.check_numerics(good, "op", "v", mode.CHECK_ALL_FOR_OVERFLOW)), "")
        with self.assertRaisesRegex(TypeError, "but received int64"):
            debugging.check_numerics(paddle.to_tensor([1]), "op", "v")

    def test_all_ops(self):
        x = paddle.to_tensor([1.0, 0, 3.0, -2], stop_gradient=False)
        log = ("[PRECISION] [ERROR] in [device=cpu, op=log, tensor=, dtype=fp32], numel=4, num_nan=2, num_inf=1, num_zero=0, "
               "max=6.931472e-01, min=-inf, mean=nan\n")
        debugging.enable_tensor_checker(self.config())
        self.assertEqual(self.said(lambda: paddle.log(x - 1.0)), log +
                         "RuntimeError: There are NAN or INF (num_nan=2, num_inf=1, num_zero=0) in [device=cpu, op=log, tensor=, "
                         "dtype=fp32].\n")
        debugging.disable_tensor_checker()
        self.assertEqual(self.said(lambda: paddle.log(x - 1.0)), "")
        debugging.enable_tensor_checker(self.config(debug_mode=debugging.DebugMode.CHECK_NAN_INF))
        said = self.said(lambda: paddle.log(x - 1.0).sum().backward()).splitlines(True)
        self.assertEqual(said[0], log)
        self.assertEqual([line.split("op=")[1].split(",")[0] for line in said], ["log", "sum", "log_grad", "scale"])
        for settings in (dict(skipped_op_list=["log"]), dict(checked_op_list=["relu"])):
            debugging.enable_tensor_checker(self.config(**settings))
            self.assertEqual(self.said(lambda: paddle.log(x - 1.0)), "")

    def test_ops_of_the_checker(self):
        """The checker casts bfloat16 by an op of its own; the op that it looks at keeps its gradient."""
        x = paddle.to_tensor([1.0, 2], stop_gradient=False)
        debugging.enable_tensor_checker(self.config(debug_mode=debugging.DebugMode.CHECK_NAN_INF))
        self.assertEqual(self.said(lambda: (x.astype("bfloat16").astype("float32") * 3.0).sum().backward()), "")
        debugging.disable_tensor_checker()
        self.assertEqual(x.grad.tolist(), [3, 3])

    def test_steps_and_files(self):
        x = paddle.to_tensor([0.0])
        debugging.TensorCheckerConfig.current_step_id = 0
        with tempfile.TemporaryDirectory() as folder:
            config = self.config(debug_mode=debugging.DebugMode.CHECK_NAN_INF, output_dir=folder + "/logs", debug_step=[1, 3])
            for _ in range(5):
                debugging.enable_tensor_checker(config)
                self.assertEqual(self.said(lambda: paddle.log(x)), "")
                debugging.disable_tensor_checker()
            name, = os.listdir(folder + "/logs")
            with open(os.path.join(folder, "logs", name)) as file:
                self.assertEqual(file.read().count("op=log,"), 2)
        for settings, message in ((dict(debug_step=3), "debug_step must be list or tuple"), (dict(debug_mode=1), "one of DebugMode"),
                                  (dict(skipped_op_list="log"), "skipped_op_list must be list or tuple")):
            with self.assertRaisesRegex(ValueError, message):
                debugging.TensorCheckerConfig(True, **settings)

    def test_counts(self):
        def run():
            with debugging.collect_operator_stats():
                linear = paddle.nn.Linear(4, 2)
                (paddle.nn.functional.relu(linear(paddle.ones([2, 4]))).sum()).backward()
                paddle.ones([2]).astype("int64") + 1
        rows = {line.split("|")[0].strip(): [int(n) for n in line.split("|")[1:]] for line in self.said(run).splitlines()
                if line.startswith("  ")}
        self.assertEqual((rows["matmul_v2"], rows["relu"], rows["reduce_sum"]), ([0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 1, 0]))
        self.assertEqual(rows["cast"], [0, 0, 0, 1])
        self.assertNotIn("relu_grad", rows)
        self.assertEqual(self.said(debugging.disable_operator_stats_collection), "")

    def test_layer(self):
        class Inverse(paddle.nn.Layer):
            @debugging.check_layer_numerics
            def forward(self, x):
                return 1 / x
        net = Inverse()
        self.assertEqual(net(paddle.to_tensor([2.0])).numpy().tolist(), [0.5])
        self.assertIn("op=divide", self.said(lambda: net(paddle.to_tensor([0.0]))))
        self.assertEqual(self.said(lambda: 1 / paddle.to_tensor([0.0])), "")
        with self.assertRaisesRegex(RuntimeError, "First input of this layer must be tensor"):
            net(3)


TRAIN = """
import numpy as np, paddle
class Rows(paddle.io.Dataset):
    def __len__(self): return 8
    def __getitem__(self, i): return np.full(4, i / 8, "float32"), np.array([i % 2])
model = paddle.Model(paddle.nn.Linear(4, 2))
model.prepare(paddle.optimizer.SGD(0.1, parameters=model.parameters()), paddle.nn.CrossEntropyLoss(), paddle.metric.Accuracy())
model.fit(Rows(), Rows(), batch_size=4, epochs=2, verbose=0, shuffle=False, callbacks=paddle.callbacks.VisualDL("logs"))
"""
WRITER = """
import json
class LogWriter:
    def __init__(self, logdir): self._file = open(logdir + ".json", "w")
    def add_scalar(self, tag, value, step): self._file.write(json.dumps([tag, step, float(value)]) + "\\n")
    def close(self): self._file.close()
"""


class Curves(unittest.TestCase):
    def run_script(self, folder):
        with open(folder + "/train.py", "w") as file:
            file.write(textwrap.dedent(TRAIN))
        packages = os.path.dirname(os.path.dirname(os.path.abspath(paddle.__file__)))
        return subprocess.run([sys.executable, "train.py"], cwd=folder, capture_output=True, text=True,
                              env=dict(os.environ, PYTHONPATH=packages))

    def test_without_the_package(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_script(folder)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("ImportError: Failed importing visualdl.", done.stderr)

    def test_written(self):
        """The package is a file here that keeps what it is given: the real one cannot be installed in tests."""
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/visualdl.py", "w") as file:
                file.write(WRITER)
            done = self.run_script(folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(folder + "/logs.json") as file:
                rows = [json.loads(line) for line in file]
        self.assertEqual([(tag, step) for tag, step, _ in rows if tag == "train/loss"], [("train/loss", k) for k in (1, 2, 3, 4)])
        self.assertEqual([(tag, step) for tag, step, _ in rows if tag == "eval/acc"], [("eval/acc", 0), ("eval/acc", 1)])
        self.assertTrue(all(0 < value < 2 for tag, _, value in rows if tag.endswith("loss")))


if __name__ == "__main__":
    unittest.main()
