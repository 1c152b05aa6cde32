"""Programs, blocks, variables, operators, names, places, core."""
import unittest

import numpy as np
import paddle.fluid as fluid
from fluid_help import fresh
from paddle.fluid import core, layers as L
from paddle.fluid.layer_helper import LayerHelper


class Programs(unittest.TestCase):
    def test_program(self):
        with fresh() as (main, startup):
            self.assertIs(fluid.default_main_program(), main)
            self.assertIs(fluid.default_startup_program(), startup)
            x = L.data("x", [4])
            y = L.fc(x, 2, act="relu")
            self.assertEqual(main.num_blocks, 1)
            block = main.global_block()
            self.assertIs(block, main.block(0))
            self.assertIs(main.current_block(), block)
            self.assertEqual([op.type for op in block.ops], ["mul", "elementwise_add", "relu"])
            self.assertEqual([p.name for p in main.all_parameters()], ["fc_0.w_0", "fc_0.b_0"])
            self.assertEqual([op.type for op in startup.global_block().ops], ["fill_constant", "uniform_random"])
            self.assertEqual(set(block.vars), {"x", "fc_0.w_0", "fc_0.b_0", "fc_0.tmp_0", "fc_0.tmp_1", "fc_0.tmp_2"})
            self.assertEqual([v.name for v in main.list_vars()][0], "x")
            self.assertIs(block.var("x"), x)
            self.assertEqual(y.shape, (-1, 2))
            text = str(main)
            self.assertIn("fc_0.w_0", text)
            self.assertIn("relu", main.to_string(True, with_details=True))
            self.assertRaises(AssertionError, main.to_string, 1)

    def test_clone_and_bytes(self):
        with fresh() as (main, _):
            loss = L.mean(L.dropout(L.fc(L.data("x", [4]), 2), 0.5))
            test = main.clone(for_test=True)
            fluid.optimizer.SGD(0.1).minimize(loss)
            self.assertTrue(any(op.type == "sgd" for op in main.global_block().ops))
            again = main.clone(for_test=True)
            self.assertFalse(any(op.type == "sgd" or op.type.endswith("_grad") for op in again.global_block().ops))
            dropout = [op for op in test.global_block().ops if op.type == "dropout"][0]
            self.assertTrue(dropout.attr("is_test"))
            copy = fluid.Program.parse_from_string(main.desc.serialize_to_string())
            self.assertEqual(main.diff(copy), "")
            self.assertEqual(main.diff(main.clone()), "")
            self.assertEqual(copy.desc.num_blocks(), 1)

    def test_seed(self):
        program = fluid.Program()
        self.assertEqual(program.random_seed, 0)
        program.random_seed = 5
        self.assertEqual(program.clone().random_seed, 5)
        with self.assertRaises(ValueError):
            program.random_seed = "5"
        program.global_seed(9)
        self.assertEqual((program.random_seed, fluid.Program().random_seed), (9, 9))
        program.global_seed(0)

    def test_guards(self):
        outer = fluid.default_main_program()
        with fluid.program_guard(fluid.Program()):
            self.assertIsNot(fluid.default_main_program(), outer)
        self.assertIs(fluid.default_main_program(), outer)
        for args in ((1,), (fluid.Program(), 2)):
            with self.assertRaises(TypeError):
                with fluid.program_guard(*args):
                    pass
        before = fluid.framework.switch_main_program(fluid.Program())
        self.assertIs(before, outer)
        fluid.framework.switch_main_program(before)
        startup = fluid.default_startup_program()
        self.assertIs(fluid.framework.switch_startup_program(fluid.Program()), startup)
        fluid.framework.switch_startup_program(startup)
        with self.assertRaises(AssertionError):
            with fluid.name_scope(""):
                pass
        with fluid.device_guard("cpu"):
            pass
        with self.assertRaises(ValueError):
            with fluid.device_guard("tpu"):
                pass

    def test_names(self):
        with fluid.unique_name.guard():
            self.assertEqual(fluid.unique_name.generate("fc"), "fc_0")
            self.assertEqual(fluid.unique_name.generate("fc"), "fc_1")
            with fluid.unique_name.guard("A_"):
                self.assertEqual(fluid.unique_name.generate("fc"), "A_fc_0")
            old = fluid.unique_name.switch()
            self.assertEqual(fluid.unique_name.generate("fc"), "fc_0")
            fluid.unique_name.switch(old)
            self.assertEqual(fluid.unique_name.generate("fc"), "fc_2")
        with self.assertRaises(TypeError):
            with fluid.unique_name.guard(3):
                pass

    def test_scopes_of_names(self):
        with fresh() as (main, _):
            with fluid.name_scope("a"), fluid.name_scope("b"):
                L.data("x", [2]) + 1.0
            self.assertTrue(main.global_block().ops[0].attr("op_namescope").startswith("/a"))


class Variables(unittest.TestCase):
    def test_attributes(self):
        with fresh():
            x = L.data("x", [3, 4], dtype="int64", lod_level=1)
            self.assertEqual((x.name, x.shape, x.dtype, x.lod_level), ("x", (-1, 3, 4), core.VarDesc.VarType.INT64, 1))
            self.assertEqual(x.type, core.VarDesc.VarType.LOD_TENSOR)
            self.assertTrue(x.stop_gradient and x.is_data and not x.persistable)
            self.assertEqual((x.grad_name, x.ndim), ("x@GRAD", 3))
            self.assertEqual(str(x.dtype), "VarType.INT64")
            x.persistable = True
            self.assertTrue(x.persistable)
            self.assertIn("x", str(x))
            self.assertIn("stop_gradient", x.to_string(False, True))
            self.assertRaises(RuntimeError, x.numpy)
            self.assertRaises(RuntimeError, x.detach)
            y = fluid.data("y", [None, 2])
            self.assertEqual(y.shape, (-1, 2))
            self.assertTrue(y.need_check_feed)
            for call in (lambda: L.data(3, [1]), lambda: L.data("z", 1), lambda: fluid.data(3, [1]), lambda: fluid.data("z", 1)):
                self.assertRaises(TypeError, call)

    def test_parameters(self):
        with fresh() as (main, startup):
            w = L.create_parameter([2, 3], "float32", name="w", attr=fluid.ParamAttr(
                name="w", learning_rate=0.5, regularizer=fluid.regularizer.L2Decay(0.1), trainable=False))
            self.assertIsInstance(w, fluid.framework.Parameter)
            self.assertEqual(w.optimize_attr["learning_rate"], 0.5)
            w.optimize_attr["learning_rate"] = 0.25
            self.assertEqual(w.learning_rate, 0.25)
            w.optimize_attr = {"learning_rate": 2.0}
            self.assertEqual(w.optimize_attr["learning_rate"], 2.0)
            self.assertFalse(w.trainable)
            w.trainable = True
            self.assertTrue(w.trainable)
            self.assertIn("trainable", w.to_string(True, True))
            p = main.global_block().create_parameter(name="p", shape=[2], dtype="float32",
                                                     initializer=None)
            self.assertEqual([v.name for v in main.all_parameters()], ["w", "p"])
            self.assertIsInstance(p, fluid.framework.Parameter)
            for keys in ({"shape": [], "dtype": "float32"}, {"shape": [-1], "dtype": "float32"}, {"shape": [1], "dtype": None}):
                self.assertRaises(ValueError, main.global_block().create_parameter, **keys)

    def test_attr(self):
        make = fluid.ParamAttr
        for keys in ({"name": 1}, {"learning_rate": "x"}, {"trainable": 1}, {"initializer": 3}, {"regularizer": 3},
                     {"do_model_average": 3}):
            self.assertRaises(TypeError, make, **keys)
        to_attr = make._to_attr
        self.assertEqual(to_attr("n").name, "n")
        self.assertIsNotNone(to_attr(fluid.initializer.Constant(1)).initializer)
        self.assertIsNotNone(to_attr(fluid.regularizer.L1Decay(1)).regularizer)
        self.assertIs(to_attr(False), False)
        self.assertIsNone(to_attr(True).name)
        self.assertEqual(len(to_attr([None, "a"])), 2)
        self.assertRaises(TypeError, to_attr, 3.0)

    def test_block(self):
        with fresh() as (main, _):
            block = main.global_block()
            v = block.create_var(name="v", shape=[2, 3], dtype="float32", persistable=True)
            self.assertEqual(block.create_var().name, "_generated_var_0")
            self.assertRaises(TypeError, block.create_var, "v")
            self.assertRaises(ValueError, block.var, "none")
            self.assertRaises(TypeError, block.var, 3)
            self.assertRaises(ValueError, block._var_recursive, "none")
            self.assertIs(block._var_recursive("v"), v)
            self.assertIsNone(block._find_var_recursive("none"))
            self.assertTrue(block.has_var("v"))
            self.assertIs(fluid.Variable(block, name="v"), v)
            out = block.create_var(name="o", dtype="float32")
            op = block.append_op(type="scale", inputs={"X": v}, outputs={"Out": out}, attrs={"scale": 2})
            self.assertEqual(out.shape, (2, 3))
            self.assertEqual((op.type, op.input("X"), op.output("Out"), op.attr("scale")), ("scale", ["v"], ["o"], 2.0))
            self.assertTrue(op.has_attr("bias") and not op.has_attr("nothing"))
            self.assertEqual((sorted(op.input_names), op.output_names), (["ScaleTensor", "X"], ["Out"]))
            self.assertEqual((op.input_arg_names, op.output_arg_names), (["v"], ["o"]))
            self.assertIn("bias", op.all_attrs())
            op._set_attr("bias", 1.5)
            self.assertEqual(op.attr("bias"), 1.5)
            self.assertEqual(out.op, op)
            self.assertIn("scale", str(op))
            block._prepend_op(type="fill_constant", outputs={"Out": v}, attrs={"shape": [2, 3], "dtype": v.dtype, "value": 1.0})
            block._insert_op(1, type="assign", inputs={"X": v}, outputs={"Out": block.create_var(name="a", dtype="float32")})
            self.assertEqual([o.type for o in block.ops], ["fill_constant", "assign", "scale"])
            block._remove_op(1)
            block._remove_var("a")
            block._rename_var("o", "renamed")
            self.assertEqual(block.ops[1].output("Out"), ["renamed"])
            block.ops[1]._rename_input("v", "v")
            block.ops[1]._rename_output("renamed", "renamed")
            self.assertRaises(ValueError, block.append_op)
            self.assertRaises((KeyError, ValueError, NotImplementedError), block.append_op, type="no_such_op")
            got, = fluid.Executor().run(main, fetch_list=["renamed"])
            np.testing.assert_allclose(got, np.full((2, 3), 3.5))

    def test_helper(self):
        with fresh() as (main, startup):
            x = L.data("x", [3])
            helper = LayerHelper("mine", input=x, act="relu", bias_attr=None, param_attr=None, name=None)
            self.assertEqual((helper.name, helper.layer_type), ("mine_0", "mine"))
            w = helper.create_parameter(helper.param_attr, [3, 2], x.dtype, default_initializer=fluid.initializer.Constant(2.0))
            self.assertEqual(w.name, "mine_0.w_0")
            out = helper.create_variable_for_type_inference(dtype=helper.input_dtype())
            helper.append_op(type="mul", inputs={"X": helper.input(), "Y": w}, outputs={"Out": out})
            out = helper.append_activation(helper.append_bias_op(out))
            self.assertEqual(out.name, "mine_0.tmp_2")
            state, new = helper.create_or_get_global_variable("state", dtype="float32", shape=[1], persistable=True)
            self.assertTrue(new)
            self.assertFalse(helper.create_or_get_global_variable("state")[1])
            helper.set_variable_initializer(state, fluid.initializer.Constant(7.0))
            self.assertIs(helper.get_parameter("mine_0.w_0"), w)
            self.assertRaises(ValueError, helper.get_parameter, "state")
            helper.is_instance("act", str)
            self.assertRaises(TypeError, helper.is_instance, "act", int)
            self.assertIsNone(helper.create_parameter(False, [1]))
            exe = fluid.Executor()
            exe.run(startup)
            got, kept = exe.run(main, feed={"x": np.ones((1, 3), "float32")}, fetch_list=[out, "state"])
            np.testing.assert_allclose(got, [[6, 6]])
            self.assertEqual(kept.tolist(), [7.0])


class Initializers(unittest.TestCase):
    def fill(self, initializer, shape=(40, 30), seed=3):
        with fresh(seed) as (main, startup):
            L.create_parameter(list(shape), "float32", name="w", attr=fluid.ParamAttr(name="w", initializer=initializer))
            fluid.Executor().run(startup)
            return np.array(fluid.global_scope().find_var("w").get_tensor())

    def test_values(self):
        I = fluid.initializer
        self.assertTrue((self.fill(I.Constant(0.25)) == 0.25).all())
        u = self.fill(I.Uniform(-0.5, 0.25))
        self.assertTrue(-0.5 <= u.min() < -0.4 and 0.2 < u.max() <= 0.25)
        n = self.fill(I.Normal(1.0, 0.1))
        self.assertTrue(abs(n.mean() - 1) < 0.01 and abs(n.std() - 0.1) < 0.01)
        t = self.fill(I.TruncatedNormal(0.0, 1.0))
        self.assertTrue(np.abs(t).max() <= 2.0)
        x = self.fill(I.Xavier())
        self.assertTrue(np.abs(x).max() <= (6.0 / 70) ** 0.5)
        m = self.fill(I.MSRA(fan_in=10))
        self.assertTrue(0.7 < np.abs(m).max() <= 0.6 ** 0.5 + 1e-6)
        values = np.arange(6, dtype="float32").reshape(2, 3)
        self.assertTrue((self.fill(I.NumpyArrayInitializer(values), (2, 3)) == values).all())
        b = self.fill(I.Bilinear(), (1, 1, 2, 2))
        self.assertEqual(b.shape, (1, 1, 2, 2))
        self.assertTrue((self.fill(I.Uniform(seed=5)) == self.fill(I.Uniform(seed=5))).all())
        self.assertFalse(fluid.initializer.force_init_on_cpu())

    def test_call(self):
        with fresh() as (_, startup):
            block = startup.global_block()
            var = block.create_var(name="v", shape=[3], dtype="float32", persistable=True,
                                   initializer=fluid.initializer.Constant(4.0))
            fluid.Executor().run(startup)
            self.assertEqual(np.array(fluid.global_scope().find_var(var.name).get_tensor()).tolist(), [4.0] * 3)

    def test_wrong(self):
        I = fluid.initializer
        for call in (lambda: I.Constant(None), lambda: I.Uniform(1.0, 0.0), lambda: I.Normal(None),
                     lambda: I.TruncatedNormal(scale=None), lambda: I.Xavier(uniform=None), lambda: I.MSRA(seed=None),
                     lambda: I.NumpyArrayInitializer([1]), lambda: fluid.regularizer.L1Decay(None),
                     lambda: fluid.regularizer.L2Decay(None), lambda: fluid.clip.GradientClipByValue(-1.0)):
            self.assertRaises(AssertionError, call)
        self.assertRaises(ValueError, I.NumpyArrayInitializer, np.zeros(2, "bool"))
        self.assertRaises(TypeError, fluid.clip.GradientClipByNorm, 1.0, need_clip=3)
        self.assertIn("0.5", str(fluid.clip.GradientClipByValue(0.5)))
        self.assertIn("L2Decay", str(fluid.regularizer.L2Decay(0.5)))


class Core(unittest.TestCase):
    def test_places(self):
        self.assertEqual(fluid.CPUPlace(), core.CPUPlace())
        self.assertNotEqual(fluid.CPUPlace(), fluid.CUDAPlace(0))
        self.assertEqual(repr(fluid.CUDAPlace(1)), "CUDAPlace(1)")
        self.assertEqual(len({fluid.CPUPlace(), fluid.CPUPlace(), fluid.CUDAPinnedPlace()}), 2)
        self.assertRaises(TypeError, fluid.CUDAPlace, "0")
        self.assertRaises(RuntimeError, fluid.Executor, fluid.CUDAPlace(0))
        self.assertRaises(TypeError, fluid.Executor, "cpu")
        self.assertFalse(fluid.is_compiled_with_cuda() or core.is_compiled_with_cuda() or fluid.in_dygraph_mode())
        self.assertEqual(core.get_cuda_device_count(), 0)
        self.assertEqual(fluid.cpu_places(3), [fluid.CPUPlace()] * 3)
        self.assertRaises(AssertionError, fluid.cuda_places)
        self.assertRaises(AssertionError, fluid.cuda_pinned_places)
        place = core.Place()
        place.set_place(fluid.CPUPlace())
        self.assertTrue(place.is_cpu_place() and not place.is_gpu_place())

    def test_types(self):
        V = core.VarDesc.VarType
        self.assertEqual((int(V.FP32), V(3), repr(V.LOD_TENSOR)), (5, V.INT64, "VarType.LOD_TENSOR"))
        name = fluid.framework.dtype_name
        for value in ("float32", V.FP32, np.float32, np.dtype("float32"), b"float32", 5):
            self.assertEqual(name(value), "float32")
        self.assertEqual(fluid.framework.convert_np_dtype_to_dtype_("int64"), V.INT64)
        self.assertTrue(fluid.framework.dtype_is_floating("float16"))
        self.assertRaises(ValueError, name, "complex")
        self.assertRaises(ValueError, name, V.LOD_TENSOR)
        self.assertEqual(fluid.framework.grad_var_name("x"), "x@GRAD")

    def test_scope(self):
        scope = core.Scope()
        self.assertIsNone(scope.find_var("x"))
        tensor = scope.var("x").get_tensor()
        self.assertFalse(tensor._is_initialized())
        tensor.set(np.arange(4, dtype="float32").reshape(2, 2), fluid.CPUPlace())
        self.assertEqual(scope.find_var("x").get_tensor().shape(), [2, 2])
        self.assertEqual(np.array(scope.find_var("x").get_tensor()).tolist(), [[0, 1], [2, 3]])
        self.assertEqual(scope.find_var("x").name(), "x")
        self.assertEqual(tensor._dtype(), core.VarDesc.VarType.FP32)
        self.assertRaises(TypeError, tensor.set, np.zeros(2), "cpu")
        child = scope.new_scope()
        self.assertIsNotNone(child.find_var("x"))
        child.var("y").get_tensor().set(np.zeros(1, "int64"))
        self.assertIsNone(scope.find_var("y"))
        self.assertIn("x", scope.local_var_names())
        scope.drop_kids()
        scope.var("n").set_int(4)
        self.assertEqual(scope.find_var("n").get_int(), 4)
        with fluid.scope_guard(scope):
            self.assertIs(fluid.global_scope(), scope)

    def test_tensors(self):
        t = fluid.LoDTensor()
        t.set(np.arange(6, dtype="int64").reshape(6, 1), fluid.CPUPlace())
        t.set_recursive_sequence_lengths([[2, 1], [1, 2, 3]])
        self.assertEqual(t.lod(), [[0, 2, 3], [0, 1, 3, 6]])
        self.assertEqual(t.recursive_sequence_lengths(), [[2, 1], [1, 2, 3]])
        self.assertTrue(t.has_valid_recursive_sequence_lengths())
        t.set_lod([[0, 6]])
        self.assertEqual(t.recursive_sequence_lengths(), [[6]])
        self.assertIn("dim: 6, 1", str(t))
        self.assertEqual(len(t), 6)
        made = fluid.create_lod_tensor([[1, 2], [3]], [[2, 1]], fluid.CPUPlace())
        self.assertEqual((np.array(made).tolist(), made.lod()), ([[1], [2], [3]], [[0, 2, 3]]))
        copy = fluid.create_lod_tensor(made, [[1, 2]], fluid.CPUPlace())
        self.assertEqual(copy.lod(), [[0, 1, 3]])
        for data, lengths in (([[1]], [[2]]), (np.zeros((2, 1)), [[3]])):
            self.assertRaises(AssertionError, fluid.create_lod_tensor, data, lengths, None)
        self.assertRaises(TypeError, fluid.create_lod_tensor, "x", [[1]], None)
        random = fluid.create_random_int_lodtensor([[2, 3]], [4], fluid.CPUPlace(), 1, 5)
        values = np.array(random)
        self.assertTrue(values.shape == (5, 4) and values.min() >= 1 and values.max() <= 5)
        array = fluid.LoDTensorArray()
        array.append(t)
        self.assertEqual(len(array), 1)
        self.assertRaises(TypeError, array.append, 3)
        self.assertEqual(np.array(t._copy()).shape, (6, 1))

    def test_selected_rows(self):
        scope = core.Scope()
        tensor = scope.var("r").get_tensor()
        tensor.set_rows([1, 4], 10, np.ones((2, 3), "float32"))
        rows = scope.find_var("r").get_selected_rows()
        self.assertEqual((rows.rows(), rows.height()), ([1, 4], 10))
        self.assertEqual(np.array(rows.get_tensor()).shape, (2, 3))
        own = core.SelectedRows([5], 8)
        own.set_rows([6])
        own.set_height(9)
        own.sync_index()
        self.assertEqual((own.rows(), own.height()), ([6], 9))

    def test_flags_and_versions(self):
        fluid.set_flags({"FLAGS_test_flag": True})
        self.assertEqual(fluid.get_flags("FLAGS_test_flag"), {"FLAGS_test_flag": True})
        self.assertRaises(TypeError, fluid.set_flags, 3)
        self.assertRaises(TypeError, fluid.get_flags, 3)
        self.assertRaises(ValueError, fluid.get_flags, "FLAGS_unknown_one")
        fluid.require_version("1.6.0")
        fluid.require_version("1.0", "1.9")
        self.assertRaises(Exception, fluid.require_version, "2.0")
        self.assertRaises(TypeError, fluid.require_version, 1)
        self.assertRaises(ValueError, fluid.require_version, "one")

    def test_profiler(self):
        import os
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "profile")
            with fluid.profiler.profiler("CPU", "total", path):
                fluid.profiler.reset_profiler()
            with open(path) as file:
                self.assertIn("profiled", file.read())
        self.assertRaises(ValueError, fluid.profiler.start_profiler, "TPU")
        self.assertRaises(ValueError, fluid.profiler.start_profiler, "CPU", "None")
        self.assertRaises(ValueError, fluid.profiler.stop_profiler, "best")
        with self.assertRaises(RuntimeError):
            with fluid.profiler.cuda_profiler("x"):
                pass

    def test_memory_optimize(self):
        with self.assertWarns(UserWarning):
            fluid.memory_optimize(fluid.Program(), skip_grads=True)
        with self.assertWarns(UserWarning):
            fluid.release_memory(fluid.Program())

    def test_import_is_fast(self):
        """Measured against NumPy's own import, in processor time, so that a busy machine does not count."""
        import subprocess
        import sys
        code = ("from time import process_time as t; a = t(); import numpy; b = t(); "
                "import paddle.fluid as fluid; fluid.layers.fc; print((t() - b) / (b - a))")
        best = min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(3))
        self.assertLess(best, 3)


if __name__ == "__main__":
    unittest.main()
