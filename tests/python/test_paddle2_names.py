"""Every public name of Paddle 2.6.2 (paddle2_names.json) is there, or is answered with one line that names it; and what names
that came later compute (names_more.json)."""
import importlib
import json
import os
import tempfile
import unittest

import names_more
import numpy as np
import paddle

HERE = os.path.dirname(os.path.abspath(__file__))


def recorded(name):
    with open(os.path.join(HERE, name)) as source:
        return json.load(source)


class Names(unittest.TestCase):
    def ask(self, module, name):
        """None when it is there, or the answer."""
        try:
            owner = paddle.ones([1]) if module == "Tensor" else importlib.import_module("paddle." + module if module else "paddle")
            getattr(owner, name)
        except (AttributeError, ImportError) as answer:
            return str(answer)
        except (RuntimeError, ValueError):
            pass  # a property that this tensor has no value for
        return None

    def test_every_name(self):
        there = missing = 0
        for module, names in recorded("paddle2_names.json").items():
            for name in names.split():
                answer = self.ask(module, name)
                if answer is None:
                    there += 1
                    continue
                missing += 1
                self.assertNotIn("\n", answer)
                self.assertIn("Skiff has no such name", answer)
                self.assertIn(name if self.has_module(module) else module.rpartition(".")[2], answer)
        self.assertGreater(there, 1100)
        self.assertLess(missing, 330)

    @staticmethod
    def has_module(module):
        try:
            return module == "Tensor" or bool(importlib.import_module("paddle." + module if module else "paddle"))
        except ImportError:
            return False

    def test_reasons_and_neighbours(self):
        for module, name, words in (("", "as_complex", "there are no complex numbers"), ("linalg", "svd", "nearest: linalg.cholesky"),
                                    ("", "fft", "not a part of what recommendation needs"),
                                    ("distributed", "ProcessMesh", "nearest: paddle.distributed.fleet"),
                                    ("distributed.fleet", "BoxPSDataset", "nearest: InMemoryDataset"),
                                    ("Tensor", "to_sparse_coo", "there are no sparse tensors"),
                                    ("Tensor", "reshap", "nearest: reshape")):
            self.assertIn(words, self.ask(module, name))

    def test_methods_of_variables(self):
        paddle.enable_static()
        try:
            with paddle.static.program_guard(paddle.static.Program()):
                x = paddle.static.data("x", [3, 3], "float32")
                got = paddle.static.Executor().run(feed={"x": np.diag([1.0, 2.0, 4.0]).astype("float32")}, fetch_list=[
                    x.median(axis=1), x.lgamma().sum(axis=0), x.inverse(), x.cummax(axis=0)[0], x.unflatten(1, [1, 3]), x.cov()])
        finally:
            paddle.disable_static()
        self.assertEqual(got[0].tolist(), [0, 0, 0])
        self.assertEqual(got[2].tolist(), [[1, 0, 0], [0, 0.5, 0], [0, 0, 0.25]])
        self.assertEqual(got[3].tolist(), [[1, 0, 0], [1, 2, 0], [1, 2, 4]])
        self.assertEqual((got[4].shape, got[5].shape), ((3, 1, 3), (3, 3)))

    def test_modules_of_base(self):
        from paddle.base.io import DataLoader, PyReader
        import paddle.base.core as core
        import paddle.base.reader
        import paddle.fluid.io
        self.assertIs(paddle.base.reader.PyReader, PyReader)
        self.assertIs(paddle.base.io, paddle.fluid.io)
        self.assertEqual((DataLoader.__name__, paddle.fluid.io.__spec__.name), ("DataLoader", "paddle.fluid.io"))
        self.assertTrue(core.LoDTensor)
        with self.assertRaisesRegex(ImportError, "paddle.base.nothing: Skiff has no such name"):
            import paddle.base.nothing  # noqa: F401

    def test_members_of_datasets(self):
        dataset = paddle.base.DatasetFactory().create_dataset("InMemoryDataset")
        with self.assertRaisesRegex(AttributeError, "InMemoryDataset.set_merge_by_line: Skiff has no such name; nearest: "
                                                    "set_merge_by_lineid"):
            dataset.set_merge_by_line(True)


class Values(unittest.TestCase):
    def test_against_paddle(self):
        wanted, got = recorded("names_more.json"), names_more.compute()
        self.assertEqual(sorted(wanted), sorted(got))
        for name, want in wanted.items():
            with self.subTest(name):
                self.check(got[name], want)

    def check(self, have, want):
        if isinstance(want, list) and any(isinstance(v, list) for v in want):
            self.assertEqual(len(have), len(want))
            for a, b in zip(have, want):
                self.check(a, b)
            return
        np.testing.assert_allclose(np.asarray(have, "float64"), np.asarray(want, "float64"), rtol=1e-4, atol=1e-5)


class Base(unittest.TestCase):
    def test_modes(self):
        with paddle.base.dygraph.guard():
            tensor = paddle.base.dygraph.to_variable(np.ones([2, 2], "float32"))
            self.assertEqual(tensor.sum().item(), 4)
        paddle.base.disable_dygraph()
        self.assertFalse(paddle.base.dygraph.enabled())
        paddle.base.enable_dygraph()
        self.assertTrue(paddle.base.in_dygraph_mode() and paddle.framework.in_dynamic_or_pir_mode())
        self.assertFalse(paddle.base.in_pir_mode())
        self.assertEqual(paddle.get_flags(["FLAGS_check_nan_inf"]), {"FLAGS_check_nan_inf": False})

    def test_data_feed_desc(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "data.proto")
            with open(path, "w") as to:
                to.write('name: "MultiSlotDataFeed"\nbatch_size: 2\nmulti_slot_desc {\n  slots {\n    name: "words"\n'
                         '    type: "uint64"\n    is_dense: false\n    is_used: false\n  }\n}')
            desc = paddle.base.DataFeedDesc(path)
            desc.set_batch_size(128)
            desc.set_use_slots(["words"])
            self.assertEqual(desc.desc(), 'name: "MultiSlotDataFeed"\nbatch_size: 128\nmulti_slot_desc {\n  slots {\n'
                                          '    name: "words"\n    type: "uint64"\n    is_dense: false\n    is_used: true\n  }\n}\n'
                                          'pipe_command: "cat"\n')
            with self.assertRaisesRegex(ValueError, "there is no slot 'word'; there are words"):
                desc.set_dense_slots(["word"])
            with open(path, "w") as to:
                to.write("name: \"MultiSlotDataFeed\"\nmulti_slot_desc {\n")
            with self.assertRaisesRegex(ValueError, "a closing brace is missing"):
                paddle.base.DataFeedDesc(path)

    def test_profiler(self):
        from paddle import profiler
        schedule = profiler.make_scheduler(closed=1, ready=1, record=2, repeat=1)
        self.assertEqual([schedule(i).name for i in range(5)], ["CLOSED", "READY", "RECORD", "RECORD_AND_RETURN", "CLOSED"])
        with profiler.Profiler(timer_only=True) as timed:
            with profiler.RecordEvent("part"):
                pass
            timed.step(num_samples=4)
        self.assertEqual(len(timed._parts["part"]), 1)
        self.assertRegex(timed.step_info("images"), r"batch_cost: \d+\.\d{5} s ips: \d+\.\d{3} images/s")
        with self.assertRaisesRegex(ValueError, "none may be negative"):
            profiler.make_scheduler(closed=-1, ready=0, record=1)

    def in_memory(self, x, executor):
        """A worker that a pass has no file for loads nothing, as in Paddle; one without a file list is refused."""
        dataset = paddle.distributed.InMemoryDataset()
        dataset.init(batch_size=2, use_var=[x])
        with self.assertRaisesRegex(RuntimeError, "call set_filelist first"):
            dataset.load_into_memory()
        dataset.set_filelist([])
        dataset.load_into_memory()
        dataset.preload_into_memory()
        dataset.wait_preload_done()
        dataset.local_shuffle()
        self.assertEqual(dataset.get_memory_data_size(), 0)
        with self.assertWarnsRegex(UserWarning, "empty list of files"):
            executor.train_from_dataset(paddle.static.default_main_program(), dataset)
        dataset.release_memory()

    def test_empty_list_of_files(self):
        paddle.enable_static()
        try:
            with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
                x = paddle.static.data("x", [None, 1], "int64")
                dataset = paddle.base.DatasetFactory().create_dataset()
                dataset.set_use_var([x])
                executor = paddle.static.Executor()
                with self.assertRaisesRegex(RuntimeError, "call set_filelist first"):
                    executor.train_from_dataset(paddle.static.default_main_program(), dataset)
                dataset.set_filelist([])
                with self.assertWarnsRegex(UserWarning, "empty list of files"):
                    executor.train_from_dataset(paddle.static.default_main_program(), dataset)
                self.in_memory(x, executor)
        finally:
            paddle.disable_static()


if __name__ == "__main__":
    unittest.main()
