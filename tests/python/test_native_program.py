"""Programs, blocks, variables, ops and layers of skiff._native."""
import gc
import unittest

from skiff import _native as N

L = N.layers


def linear(net):
    x = L.data(net, "x", [13])
    y = L.data(net, "y", [1])
    p = L.fc(net, x, 1)
    return x, y, p, L.mean(net, L.square_error_cost(net, p, y))


class Attr:
    def __init__(self, **fields):
        self.__dict__.update(fields)


class ProgramTest(unittest.TestCase):
    def test_one_variable_is_one_object(self):
        net = N.Net()
        x, _, p, _ = linear(net)
        self.assertIs(net.main.block(0).var("x"), x)
        self.assertIs(p.program, net.main)
        self.assertIs(p.block, net.main.block(0))
        self.assertEqual(p.op.type, "elementwise_add")
        self.assertIs(p.op, net.main.block(0).op(1))

    def test_program_outlives_net(self):
        net = N.Net()
        x, *_ = linear(net)
        del net
        gc.collect()
        self.assertEqual(x.program.block(0).var("fc_0.w_0").shape, (13, 1))

    def test_variables(self):
        net = N.Net()
        x, *_ = linear(net)
        w = net.main.find_var("fc_0.w_0")
        self.assertEqual((x.name, x.shape, x.dtype, x.lod_level), ("x", (-1, 13), "float32", 0))
        self.assertEqual((x.persistable, x.stop_gradient, x.is_parameter, x.kind), (False, True, False, "LOD_TENSOR"))
        self.assertEqual((w.persistable, w.is_parameter, w.trainable, w.learning_rate), (True, True, True, 1.0))
        x.shape = [None, 7]
        x.lod_level = 1
        x.stop_gradient = False
        x.name = "z"
        self.assertEqual((x.shape, x.lod_level, x.stop_gradient), ((-1, 7), 1, False))
        self.assertEqual(net.main.block(0).op(0).input("X"), ["z"])
        w.trainable = False
        w.learning_rate = 0.5
        w.regularizer = ("l2", {"coeff": 0.25})
        self.assertEqual((w.trainable, w.learning_rate, w.regularizer), (False, 0.5, ("l2", {"coeff": 0.25})))
        with self.assertRaises(AttributeError):
            x.trainable = False
        with self.assertRaises(ValueError):
            x.dtype = "float31"
        with self.assertRaises(ValueError):
            x.name = "y"

    def test_blocks(self):
        p = N.Program()
        b = p.block(0)
        v = b.create_var("a", shape=[2, 3], dtype="int64", lod_level=1, persistable=True, need_check_feed=True)
        self.assertEqual((v.dtype, v.persistable, v.need_check_feed), ("int64", True, True))
        self.assertIs(b.create_var("a", shape=[2, 3]), v)
        with self.assertRaises(ValueError):
            b.create_var("a", shape=[2, 4])
        with self.assertRaises(ValueError):
            b.create_var("a", dtype="float32")
        with self.assertRaises(KeyError):
            b.var("nothing")
        self.assertIsNone(b.find_var("nothing"))
        self.assertFalse(b.has_var("nothing"))
        sub = p.create_block(0)
        self.assertEqual((sub.idx, sub.parent_idx, sub.forward_idx, p.num_blocks), (1, 0, -1, 2))
        self.assertIs(sub.find_var("a"), v)
        self.assertFalse(sub.has_var("a"))
        self.assertEqual(b.var_names(), ["a"])
        b.rename_var("a", "c")
        self.assertEqual((v.name, [x.name for x in b.vars()]), ("c", ["c"]))
        b.remove_var("c")
        self.assertEqual(b.vars(), [])
        with self.assertRaises(IndexError):
            p.block(2)
        with self.assertRaises(TypeError):
            N.Block()

    def test_append_op(self):
        p = N.Program()
        b = p.block(0)
        b.create_var("x", shape=[-1, 4], dtype="float32")
        out = b.create_var("y")
        self.assertIsNone(out.dtype)
        p.op_role = 1
        p.op_role_var = ["w", "w@GRAD"]
        op = b.append_op("scale", {"X": ["x"]}, {"Out": out}, {"scale": 2, "not_declared": 7, "bias": None})
        self.assertEqual((op.type, op.idx, out.shape, out.dtype), ("scale", 0, (-1, 4), "float32"))
        self.assertEqual((op.attr("scale"), op.attr_type("scale"), op.attr("bias_after_scale")), (2.0, "FLOAT", True))
        self.assertEqual((op.attr("op_role"), op.attr("op_role_var")), (1, ["w", "w@GRAD"]))
        self.assertFalse(op.has_attr("not_declared"))
        p.op_role = 0
        p.op_role_var = []
        cast = b.append_op("cast", {"X": "y"}, {"Out": "z"}, {"in_dtype": "float32", "out_dtype": "int64"})
        self.assertEqual((cast.attr("in_dtype"), cast.attr("out_dtype"), b.var("z").dtype), (5, 3, "int64"))
        first = b.append_op("assign", {"X": "x"}, {"Out": "a"}, at=0)
        self.assertEqual(([o.type for o in b.ops()], first.idx), (["assign", "scale", "cast"], 0))
        with self.assertRaisesRegex(ValueError, "relu"):
            b.append_op("rellu", {"X": "x"}, {"Out": "q"})
        with self.assertRaisesRegex(ValueError, "input X is missing"):
            b.append_op("relu", {}, {"Out": "q"})
        with self.assertRaisesRegex(TypeError, "scale"):
            b.append_op("scale", {"X": "x"}, {"Out": "q"}, {"scale": "two"})
        self.assertEqual(b.num_ops, 3)
        raw = b.append_op("of_nobody", {"In": ["x"]}, {"Out": []}, {"n": 3, "big": 1 << 40, "f": 0.5, "l": [1.5, 2], "s": ["a"]}, raw=True)
        self.assertEqual(raw.all_attrs(), {"n": 3, "big": 1 << 40, "f": 0.5, "l": [1.5, 2.0], "s": ["a"]})
        self.assertEqual([raw.attr_type(n) for n in raw.attr_names], ["INT", "LONG", "FLOAT", "FLOATS", "STRINGS"])
        self.assertFalse(raw.known())
        b.remove_ops(3)
        self.assertEqual(raw.idx, -1)

    def test_op(self):
        net = N.Net()
        linear(net)
        op = net.main.block(0).op(0)
        self.assertEqual((op.type, op.input_names, op.output_names), ("mul", ["X", "Y"], ["Out"]))
        self.assertEqual((op.input_arg_names, op.output_arg_names), (["x", "fc_0.w_0"], ["fc_0.tmp_0"]))
        op.set_attr("x_num_col_dims", 2)
        self.assertEqual(op.attr("x_num_col_dims"), 2)
        op.set_attr("mine", 3, "LONG")
        self.assertEqual((op.attr("mine"), op.attr_type("mine")), (3, "LONG"))
        op.remove_attr("mine")
        with self.assertRaises(KeyError):
            op.attr("mine")
        op.rename_input("x", "x2")
        op.set_output("Out", ["o2"])
        self.assertEqual((op.input("X"), op.output("Out"), op.input("Z")), (["x2"], ["o2"], []))
        self.assertIn("op mul {X:[x2] Y:[fc_0.w_0]} -> {Out:[o2]}", op.text())

    def test_registry(self):
        self.assertIn("lookup_table", N.op_types())
        self.assertIn("lookup_table_v2", N.op_types(2))
        info = N.op_info("concat")
        self.assertEqual(info["inputs"][0], ("X", True, False))
        self.assertIn(("axis", "INT", 0, False), info["attrs"])
        with self.assertRaisesRegex(KeyError, "did you mean concat"):
            N.op_info("concatt")

    def test_copies(self):
        net = N.Net()
        x, _, p, loss = linear(net)
        L.dropout(net, p, 0.5)
        N.Optimizer(net, "sgd", learning_rate=0.1).minimize(loss)
        test = net.main.clone(for_test=True)
        self.assertNotIn("sgd", [o.type for o in test.block(0).ops()])
        self.assertTrue([o for o in test.block(0).ops() if o.type == "dropout"][0].attr("is_test"))
        self.assertEqual(net.main.clone().diff(net.main), "")
        self.assertNotEqual(test.diff(net.main), "")
        pruned = net.main.prune(["x"], [p])
        self.assertEqual([o.type for o in pruned.block(0).ops() if o.type not in ("feed", "fetch")], ["mul", "elementwise_add", "scale"])
        again = N.parse_program(net.main.to_bytes())
        self.assertEqual(again.diff(net.main), "")
        self.assertEqual(N.parse_program(net.main.text()).diff(net.main), "")
        net.main.verify()
        with self.assertRaises(ValueError):
            N.parse_program(b"\xff\xff\xff")
        net.main.random_seed = 7
        self.assertEqual((net.main.random_seed, net.main.version, net.main.generation), (7, 1008005, 1))
        net.main.generation = 2
        self.assertEqual(net.main.generation, 2)
        with self.assertRaises(ValueError):
            net.main.generation = 3


class NetTest(unittest.TestCase):
    def test_guards(self):
        net = N.Net()
        main, startup = N.Program(), N.Program()
        net.push_programs(main, startup)
        linear(net)
        self.assertIs(net.main, main)
        net.pop_programs()
        self.assertEqual((main.block(0).num_ops, net.main.block(0).num_ops, startup.block(0).num_ops), (5, 0, 2))
        with self.assertRaises(RuntimeError):
            net.pop_programs()
        other = N.Program()
        net.set_programs(main=other)
        self.assertIs(net.main, other)

    def test_names(self):
        net = N.Net()
        self.assertEqual([net.name("fc"), net.name("fc")], ["fc_0", "fc_1"])
        net.push_names("in/")
        self.assertEqual(net.name("fc"), "in/fc_0")
        net.pop_names()
        old = net.switch_names(None)
        self.assertEqual(net.name("fc"), "fc_0")
        new = net.switch_names(old)
        self.assertEqual(net.name("fc"), "fc_2")
        net.switch_names(new)
        self.assertEqual(net.name("fc"), "fc_1")
        net.push_scope("a")
        linear(net)
        self.assertEqual(net.main.block(0).op(0).attr("op_namescope"), "/a/")
        net.pop_scope()

    def test_blocks(self):
        net = N.Net()
        b = net.enter_block()
        self.assertEqual((b.idx, b.parent_idx), (1, 0))
        L.fill_constant(net, [1], "float32", 3.0)
        self.assertEqual((b.num_ops, net.block), (1, b))
        self.assertEqual(net.leave_block().idx, 0)
        net.block = b
        self.assertIs(net.block, b)
        with self.assertRaises(ValueError):
            net.block = N.Program().block(0)

    def test_errors_are_raised_at_once_and_forgotten(self):
        net = N.Net()
        x = L.data(net, "x", [13])
        with self.assertRaisesRegex(TypeError, "size must be an int"):
            L.fc(net, x, "many")
        with self.assertRaisesRegex(TypeError, "input must be a Variable"):
            L.fc(net, 3, 1)
        with self.assertRaisesRegex(TypeError, "has no argument colour"):
            L.fc(net, x, 1, colour=3)
        with self.assertRaisesRegex(TypeError, "needs size"):
            L.fc(net, x)
        with self.assertRaisesRegex(ValueError, "did you mean relu"):
            L.fc(net, x, 1, act="rellu")
        with self.assertRaises(ValueError) as caught:
            L.elementwise_add(net, x, L.data(net, "k", [4]))
        self.assertEqual(caught.exception.status, "SHAPE")
        with self.assertRaisesRegex(ValueError, "not a variable of the current"):
            L.fc(N.Net(), x, 1)
        self.assertEqual(L.fc(net, x, 2).shape, (-1, 2))

    def test_param_attr(self):
        net = N.Net()
        x = L.data(net, "x", [13])
        attr = Attr(name="w", initializer=("uniform", {"low": -0.1, "high": 0.1, "seed": 3}), learning_rate=0.5,
                    regularizer=("l1", {"coeff": 0.1}), trainable=False)
        L.fc(net, x, 4, param_attr=attr, bias_attr=False)
        w = net.main.find_var("w")
        self.assertEqual((w.shape, w.trainable, w.learning_rate, w.regularizer), ((13, 4), False, 0.5, ("l1", {"coeff": 0.1})))
        op = net.startup.block(0).op(0)
        self.assertEqual((op.type, op.attr("seed")), ("uniform_random", 3))
        self.assertAlmostEqual(op.attr("min"), -0.1, places=6)
        self.assertEqual(net.startup.block(0).num_ops, 1)
        L.fc(net, x, 4, param_attr="named", bias_attr=Attr(initializer=Attr(_spec=("constant", {"value": 2.0}))))
        self.assertTrue(net.main.find_var("named").is_parameter)
        L.fc(net, x, 2, param_attr=Attr(initializer=("values", {"values": [0.5] * 26})))
        self.assertEqual(net.startup.find_var("fc_2.w_0").op.attr("fp32_values"), [0.5] * 26)
        with self.assertRaisesRegex(ValueError, "no initializer magic"):
            L.fc(net, x, 4, param_attr=Attr(initializer=("magic", {})))

    def test_zero_is_not_left_out(self):
        net = N.Net()
        x = L.data(net, "x", [4])
        self.assertEqual(L.scale(net, x).op.attr("scale"), 1.0)
        self.assertEqual(L.scale(net, x, scale=0.0).op.attr("scale"), 0.0)
        self.assertEqual(L.elementwise_add(net, x, x).op.attr("axis"), -1)
        self.assertEqual(L.elementwise_add(net, x, x, axis=0).op.attr("axis"), 0)
        ids = L.data(net, "ids", [1], dtype="int64", lod_level=1)
        self.assertEqual(L.embedding(net, ids, 10, 4).op.attr("padding_idx"), -1)
        self.assertEqual(L.embedding(net, ids, 10, 4, padding_idx=0).op.attr("padding_idx"), 0)

    def test_results(self):
        net = N.Net()
        x = L.data(net, "x", [6])
        y = L.data(net, "y", [1], dtype="int64")
        values, indices = L.topk(net, x, 2)
        self.assertEqual((values.shape, indices.dtype), ((-1, 2), "int64"))
        self.assertEqual([v.shape for v in L.split(net, x, 3, None, 1)], [(-1, 2)] * 3)
        self.assertEqual([v.shape for v in L.split(net, x, 0, [1, 5], 1)], [(-1, 1), (-1, 5)])
        auc, batch_auc, states = L.auc(net, L.softmax(net, L.fc(net, x, 2)), y)
        self.assertEqual((len(states), auc.shape, batch_auc.dtype), (4, (1,), "float64"))
        self.assertEqual(L.softmax_with_cross_entropy(net, L.fc(net, x, 3), y).shape, (-1, 1))
        loss, soft = L.softmax_with_cross_entropy(net, L.fc(net, x, 3), y, softmax=True)
        self.assertEqual((loss.shape, soft.shape), ((-1, 1), (-1, 3)))
        self.assertEqual(L.cross_entropy(net, soft, y).shape, (-1, 1))
        self.assertEqual(L.assign_value(net, [2, 2], "float32", [[1, 2], [3, 4]], None).op.attr("fp32_values"), [1, 2, 3, 4])
        with self.assertRaises(ValueError):
            L.assign_value(net, [3], "float32", [1, 2], None)
        words = L.data(net, "w", [4], lod_level=1)
        padded, length = L.sequence_pad(net, words, L.fill_constant(net, [1], "float32", 0), 5)
        self.assertEqual((padded.shape, length.dtype), ((-1, 5, 4), "int64"))
        self.assertEqual(L.lr_piecewise(net, [10, 20], [0.1, 0.2, 0.3]).shape, (1,))

    def test_every_layer_has_a_signature(self):
        for name, text in L._signatures.items():
            self.assertTrue(text.startswith(name + "(net"), text)
            self.assertTrue(callable(getattr(L, name)))
            with self.assertRaises(TypeError):
                getattr(L, name)()

    def test_operators(self):
        net = N.Net()
        x = L.data(net, "x", [4])
        self.assertEqual(N.var_op(net, "+", x, x).op.type, "elementwise_add")
        self.assertEqual(N.var_op(net, "*", x, 2.0).op.type, "scale")
        self.assertEqual(N.var_op(net, "-", 1.0, x).op.type, "scale")
        self.assertEqual(N.var_op(net, "<", x, x).dtype, "bool")
        self.assertEqual(N.var_astype(net, x, "int64").dtype, "int64")
        self.assertEqual(N.var_neg(net, x).op.attr("scale"), -1.0)
        with self.assertRaises(ValueError):
            N.var_op(net, "@", x, x)
        with self.assertRaises(TypeError):
            N.var_op(net, "+", x, "two")

    def test_control_flow(self):
        net = N.Net()
        a = L.fill_constant(net, [1], "int64", 0)
        b = L.fill_constant(net, [1], "int64", 3)
        cond = L.less_than(net, a, b, None)
        loop = net.while_begin(cond)
        L.increment(net, a, 1, False)
        L.less_than(net, a, b, cond)
        loop.end()
        rate = L.create_global_var(net, [1], 0.0, persistable=True, name="rate")
        switch = net.switch_begin()
        switch.case(cond)
        L.assign(net, L.fill_constant(net, [1], "float32", 1.0), rate)
        switch.end()
        switch.default()
        L.assign(net, L.fill_constant(net, [1], "float32", 2.0), rate)
        switch.end()
        exe = N.Executor()
        exe.run(net.startup)
        out = exe.run(net.main, fetch=[a, rate], return_numpy=True)
        self.assertEqual([float(o[0]) for o in out], [3.0, 2.0])


class OptimizerTest(unittest.TestCase):
    def test_minimize(self):
        net = N.Net()
        *_, loss = linear(net)
        opt = N.Optimizer(net, "momentum", learning_rate=0.5, momentum=0.9, use_nesterov=True)
        self.assertIsNone(opt.learning_rate)
        ops, pairs = opt.minimize(loss)
        self.assertEqual([o.type for o in ops], ["momentum", "momentum"])
        self.assertEqual([(p.name, g.name) for p, g in pairs], [("fc_0.w_0", "fc_0.w_0@GRAD"), ("fc_0.b_0", "fc_0.b_0@GRAD")])
        self.assertEqual((opt.learning_rate.name, ops[0].attr("use_nesterov")), ("learning_rate_0", True))
        self.assertEqual(sorted(opt.accumulator_names()), ["fc_0.b_0_velocity_0", "fc_0.w_0_velocity_0"])

    def test_backward_then_apply(self):
        net = N.Net()
        *_, loss = linear(net)
        opt = N.Optimizer(net, "sgd", 0.1)
        pairs = opt.backward(loss, parameters=["fc_0.w_0"])
        self.assertEqual([p.name for p, _ in pairs], ["fc_0.w_0"])
        ops = opt.apply(pairs + [(net.main.find_var("fc_0.b_0"), None)])
        self.assertEqual([o.input("Param") for o in ops], [["fc_0.w_0"]])

    def test_gradients(self):
        net = N.Net()
        x, y, p, loss = linear(net)
        self.assertEqual([v and v.name for v in net.gradients([loss], [p])], [p.name + "@GRAD"])

    def test_clip_and_decay(self):
        net = N.Net()
        *_, loss = linear(net)
        asked = []

        def need(param):
            asked.append(param.name)
            return param.name.endswith("w_0")

        N.Optimizer(net, "sgd", 0.1, regularization=("l2", {"coeff": 0.1}),
                    grad_clip=("global_norm", {"clip_norm": 1.0, "need_clip": need})).minimize(loss)
        self.assertEqual(sorted(set(asked)), ["fc_0.b_0", "fc_0.w_0"])
        self.assertIn("sqrt", [o.type for o in net.main.block(0).ops()])

    def test_errors(self):
        net = N.Net()
        *_, loss = linear(net)
        with self.assertRaisesRegex(ValueError, "unknown optimizer"):
            N.Optimizer(net, "magic", 0.1)
        with self.assertRaisesRegex(ValueError, "learning_rate"):
            N.Optimizer(net, "sgd")
        with self.assertRaisesRegex(TypeError, "no option"):
            N.Optimizer(net, "sgd", 0.1, colour=1)
        with self.assertRaisesRegex(ValueError, "shape"):
            N.Optimizer(net, "sgd", 0.1).minimize(net.main.find_var("fc_0.tmp_0"))

        def broken(param):
            raise LookupError("from the callback")

        with self.assertRaisesRegex(LookupError, "from the callback"):
            N.Optimizer(net, "sgd", 0.1, grad_clip=("global_norm", {"clip_norm": 1.0, "need_clip": broken})).minimize(loss)


class ClassesTest(unittest.TestCase):
    def test_subclasses(self):
        class Variable(N.Var):
            def _skiff_made(self):
                self.note = "made"

        class Parameter(Variable):
            pass

        class Program(N.Program):
            pass

        try:
            N.set_classes(Var=Variable, Parameter=Parameter, Program=Program)
            net = N.Net()
            x, *_ = linear(net)
            self.assertIs(type(x), Variable)
            self.assertEqual(x.note, "made")
            x.note = "kept"
            self.assertEqual(net.main.block(0).var("x").note, "kept")
            self.assertIs(type(net.main.find_var("fc_0.w_0")), Parameter)
            self.assertIs(type(net.main), Program)
            self.assertIs(type(net.main.clone()), Program)
            with self.assertRaises(TypeError):
                N.set_classes(Var=int)
            with self.assertRaises(TypeError):
                N.set_classes(Nothing=int)
        finally:
            N.set_classes(Var=N.Var, Parameter=N.Var, Program=N.Program)


if __name__ == "__main__":
    unittest.main()
