"""Every layer of paddle.fluid, run, with its values; and what wrong arguments give."""
import inspect
import math
import unittest

import numpy as np
import paddle.fluid as fluid
from fluid_help import fresh, run, sequences
from paddle.fluid import layers as L
from skiff import _native

X = np.array([[-2.0, -0.5, 0.25], [0.5, 1.0, 3.0]], "float32")
POS = np.abs(X) + 0.1
Y = np.array([[1.0, 2.0, -1.0], [0.5, -2.0, 4.0]], "float32")


def data(name="x", shape=(3,), **more):
    return L.data(name, list(shape), **more)


class Cases(unittest.TestCase):
    def check(self, got, want, rtol=1e-5, atol=1e-6):
        np.testing.assert_allclose(np.asarray(got), want, rtol=rtol, atol=atol)


class OneInput(Cases):
    def test_functions(self):
        sigmoid = lambda x: 1 / (1 + np.exp(-x))
        erf = np.vectorize(math.erf)
        cases = {
            "sigmoid": sigmoid, "logsigmoid": lambda x: np.log(sigmoid(x)), "exp": np.exp, "tanh": np.tanh, "abs": np.abs,
            "ceil": np.ceil, "floor": np.floor, "cos": np.cos, "sin": np.sin, "square": np.square, "relu": lambda x: np.maximum(x, 0),
            "softplus": lambda x: np.log1p(np.exp(x)), "softsign": lambda x: x / (1 + np.abs(x)), "sign": np.sign, "erf": erf,
            "round": lambda x: np.floor(np.abs(x) + 0.5) * np.sign(x), "gelu": lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))),
            "leaky_relu": lambda x: np.where(x > 0, x, 0.02 * x), "relu6": lambda x: np.clip(x, 0, 6),
            "hard_sigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1), "swish": lambda x: x * sigmoid(x),
            "elu": lambda x: np.where(x > 0, x, np.exp(x) - 1),
            "selu": lambda x: 1.0507010 * np.where(x > 0, x, 1.6732632 * (np.exp(x) - 1)),
            "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6, "stanh": lambda x: 1.7159 * np.tanh(0.67 * x),
            "softshrink": lambda x: np.where(x > 0.5, x - 0.5, np.where(x < -0.5, x + 0.5, 0)),
            "brelu": lambda x: np.clip(x, 0, 24), "mean": lambda x: x.mean().reshape(1)}
        for name, formula in cases.items():
            with self.subTest(name=name):
                self.check(run(lambda: getattr(L, name)(data()), {"x": X}), formula(X))
        for name, formula in {"sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": lambda x: 1 / x, "log": np.log,
                              "log1p": np.log1p}.items():
            with self.subTest(name=name):
                self.check(run(lambda: getattr(L, name)(data()), {"x": POS}), formula(POS))

    def test_names(self):
        with fresh():
            x = data()
            self.assertEqual(L.relu(x, name="mine").name, "mine.tmp_0")
            self.assertEqual(L.sigmoid(x, name="mine").name, "mine.tmp_1")
            self.assertEqual(L.sigmoid(x).name, "sigmoid_0.tmp_0")

    def test_arguments(self):
        self.check(run(lambda: L.leaky_relu(data(), 0.5), {"x": X}), np.where(X > 0, X, 0.5 * X))
        self.check(run(lambda: L.pow(data(), 2.0), {"x": X}), X ** 2)
        self.check(run(lambda: L.pow(data(), L.fill_constant([1], "float32", 3.0)), {"x": X}), X ** 3)
        self.check(run(lambda: L.scale(data(), 2.0, 1.0), {"x": X}), 2 * X + 1)
        self.check(run(lambda: L.scale(data(), 2.0, 1.0, bias_after_scale=False), {"x": X}), 2 * (X + 1))
        self.check(run(lambda: L.scale(data(), L.fill_constant([1], "float32", 4.0)), {"x": X}), 4 * X)
        self.check(run(lambda: L.clip(data(), -1, 1), {"x": X}), X.clip(-1, 1))
        self.check(run(lambda: L.clamp(data(), max=1.0), {"x": X}), X.clip(None, 1))
        norm = math.sqrt((X ** 2).sum())
        self.check(run(lambda: L.clip_by_norm(data(), 1.0), {"x": X}), X / norm)
        self.check(run(lambda: L.softmax(data()), {"x": X}), np.exp(X) / np.exp(X).sum(1, keepdims=True))
        self.check(run(lambda: L.logsumexp(data(), dim=1), {"x": X}), np.log(np.exp(X).sum(1)))
        self.check(run(lambda: L.l2_normalize(data(), 1), {"x": X}), X / np.sqrt((X ** 2).sum(1, keepdims=True)))
        self.check(run(lambda: L.label_smooth(data(), epsilon=0.3), {"x": X}), 0.7 * X + 0.1)
        self.check(run(lambda: L.prelu(data(), "all"), {"x": X}), np.where(X > 0, X, 0.25 * X))
        self.check(run(lambda: L.cast(data(), "int64"), {"x": X}), X.astype("int64"))
        self.check(run(lambda: L.isfinite(data()), {"x": X}), [True])
        self.assertRaises(ValueError, run, lambda: L.prelu(data(), "some"), {"x": X})
        self.assertRaises(ValueError, run, lambda: L.label_smooth(data(), epsilon=2), {"x": X})
        self.assertRaises(AssertionError, run, lambda: L.clamp(data()), {"x": X})

    def test_wrong_inputs(self):
        with fresh():
            for call in (lambda: L.relu(X), lambda: L.sigmoid(3), lambda: L.fc("x", 3), lambda: L.mean(None),
                         lambda: L.softmax(data("i", dtype="int64")), lambda: L.tanh(data("i", dtype="int64")),
                         lambda: L.fc(data("i", dtype="int64"), 3)):
                self.assertRaises(TypeError, call)


class TwoInputs(Cases):
    def two(self, build, feed=None, **keys):
        return run(lambda: build(data(), data("y"), **keys), feed or {"x": X, "y": Y})

    def test_elementwise(self):
        for name, formula in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum,
                              "min": np.minimum}.items():
            with self.subTest(name=name):
                self.check(self.two(getattr(L, "elementwise_" + name)), formula(X, Y))
        self.check(run(lambda: L.elementwise_pow(data(), data("y")), {"x": POS, "y": Y}), POS ** Y)
        i, j = np.array([[7, -3, 9]], "int64"), np.array([[2, 2, 4]], "int64")
        ints = lambda f: run(lambda: f(data("i", dtype="int64"), data("j", dtype="int64")), {"i": i, "j": j})
        self.check(ints(L.elementwise_mod), [[1, -1, 1]])
        self.check(ints(L.elementwise_floordiv), [[3, -1, 2]])
        row = np.array([10.0, 20.0], "float32")
        got = run(lambda: L.elementwise_add(L.data("x", [2, 3], append_batch_size=False),
                                            L.data("r", [2], append_batch_size=False), axis=0, act="relu"),
                  {"x": X, "r": row})
        self.check(got, np.maximum(X + row[:, None], 0))

    def test_compare(self):
        for name, formula in {"less_than": np.less, "less_equal": np.less_equal, "greater_than": np.greater,
                              "greater_equal": np.greater_equal, "equal": np.equal, "not_equal": np.not_equal}.items():
            self.check(self.two(getattr(L, name)), formula(X, Y))
        bools = lambda f: run(lambda: f(data() > 0, data("y") > 0), {"x": X, "y": Y})
        self.check(bools(L.logical_and), (X > 0) & (Y > 0))
        self.check(bools(L.logical_or), (X > 0) | (Y > 0))
        self.check(bools(L.logical_xor), (X > 0) ^ (Y > 0))
        self.check(run(lambda: L.logical_not(data() > 0), {"x": X}), ~(X > 0))
        self.assertRaises(TypeError, bools, lambda a, b: L.logical_and(L.cast(a, "int32"), b))

    def test_operators(self):
        pairs = [(lambda x, y: x + y, X + Y), (lambda x, y: x - y, X - Y), (lambda x, y: x * y, X * Y),
                 (lambda x, y: x / y, X / Y), (lambda x, y: x + 1, X + 1), (lambda x, y: 1 - x, 1 - X),
                 (lambda x, y: 2 * x, 2 * X), (lambda x, y: x / 4.0, X / 4), (lambda x, y: 3.0 / y, 3 / Y),
                 (lambda x, y: -x, -X), (lambda x, y: x ** 2, X ** 2), (lambda x, y: 2.0 ** x, 2 ** X),
                 (lambda x, y: x + np.float32(2), X + 2), (lambda x, y: x < y, X < Y), (lambda x, y: x >= 0.5, X >= 0.5),
                 (lambda x, y: x == y, X == Y), (lambda x, y: x != y, X != Y), (lambda x, y: x.astype("float64"), X)]
        for number, (build, want) in enumerate(pairs):
            with self.subTest(number=number):
                self.check(self.two(build), want)
        with fresh():
            x = data()
            self.assertRaises(TypeError, lambda: x + "1")
            self.assertFalse(x == None)  # noqa: E711
            self.assertIn(x, {x: 1})

    def test_other_program(self):
        with fresh() as (main, _):
            x = data()
            with fluid.program_guard(fluid.Program()):
                y = x + 1.0
            self.assertIs(y.program, main)

    def test_products(self):
        a = np.arange(6, dtype="float32").reshape(2, 3)
        b = np.arange(12, dtype="float32").reshape(3, 4)
        flat = lambda name, shape: L.data(name, shape, append_batch_size=False)
        feed = {"a": a, "b": b}
        self.check(run(lambda: L.matmul(flat("a", [2, 3]), flat("b", [3, 4])), feed), a @ b)
        self.check(run(lambda: L.matmul(flat("a", [2, 3]), flat("a", [2, 3]), transpose_y=True, alpha=0.5), {"a": a}), a @ a.T / 2)
        self.check(run(lambda: L.mul(flat("a", [2, 3]), flat("b", [3, 4])), feed), a @ b)
        batch = np.stack([a, a + 1])
        self.check(run(lambda: L.bmm(flat("a", [2, 2, 3]), flat("b", [2, 3, 4])), {"a": batch, "b": np.stack([b, b])}), batch @ b)
        self.check(self.two(L.dot), (X * Y).sum(1, keepdims=True))
        cos = (X * Y).sum(1) / np.sqrt((X ** 2).sum(1) * (Y ** 2).sum(1))
        self.check(self.two(L.cos_sim), cos[:, None])
        constant = fluid.ParamAttr(initializer=fluid.initializer.Constant(1.0))
        got = run(lambda: L.bilinear_tensor_product(data(), data("y"), 2, param_attr=constant), {"x": X, "y": Y})
        self.check(got, np.repeat((X.sum(1) * Y.sum(1))[:, None], 2, 1))
        self.assertRaises(ValueError, run, lambda: L.matmul(flat("a", [2, 3]), flat("a", [2, 3])), {"a": a})


class Shapes(Cases):
    def test_reductions(self):
        for name, formula in {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}.items():
            layer = getattr(L, "reduce_" + name)
            self.check(run(lambda: layer(data()), {"x": X}), np.reshape(formula(X), [1]))
            self.check(run(lambda: layer(data(), dim=1, keep_dim=True), {"x": X}), formula(X, axis=1, keepdims=True))
            self.check(run(lambda: layer(data(), dim=[0, 1]), {"x": X}), np.reshape(formula(X), [1]))
        self.check(run(lambda: L.reduce_all(data() > 0, dim=1), {"x": X}), (X > 0).all(1))
        self.check(run(lambda: L.reduce_any(data() > 0, dim=1), {"x": X}), (X > 0).any(1))
        self.check(run(lambda: L.sums([data(), data("y")]), {"x": X, "y": Y}), X + Y)
        self.check(run(lambda: L.sum([data(), data("y")]), {"x": X, "y": Y}), X + Y)

    def test_shapes(self):
        cases = [(lambda x: L.reshape(x, [3, -1]), X.reshape(3, 2)), (lambda x: L.reshape(x, [0, 1, 3], act="relu"),
                                                                      np.maximum(X, 0).reshape(2, 1, 3)),
                 (lambda x: L.flatten(L.reshape(x, [2, 3, 1]), axis=2), X.reshape(6, 1)), (lambda x: L.transpose(x, [1, 0]), X.T),
                 (lambda x: L.t(x), X.T), (lambda x: L.unsqueeze(x, [1]), X[:, None]),
                 (lambda x: L.squeeze(L.unsqueeze(x, [1]), [1]), X), (lambda x: L.expand(x, [2, 1]), np.tile(X, (2, 1))),
                 (lambda x: L.slice(x, [1], [1], [3]), X[:, 1:3]), (lambda x: x[:, 1], X[:, 1]), (lambda x: x[0], X[0]),
                 (lambda x: x[:, -1], X[:, -1]), (lambda x: x[0:1, 1:], X[0:1, 1:]), (lambda x: x[:, ::2], X[:, ::2]),
                 (lambda x: x[:], X), (lambda x: L.strided_slice(x, [1], [0], [3], [2]), X[:, ::2]),
                 (lambda x: L.stack([x, x], axis=1), np.stack([X, X], 1)), (lambda x: L.concat([x, x], axis=1), np.concatenate([X, X], 1)),
                 (lambda x: L.shape(x), [2, 3]), (lambda x: L.rank(x), [2]), (lambda x: L.size(x), [6]),
                 (lambda x: L.tril(x), np.tril(X)), (lambda x: L.triu(x, 1), np.triu(X, 1))]
        for number, (build, want) in enumerate(cases):
            with self.subTest(number=number):
                self.check(run(lambda: build(data()), {"x": X}), want)
        for got, want in zip(run(lambda: L.split(data(), 3, dim=1), {"x": X}), np.split(X, 3, 1)):
            self.check(got, want)
        for got, want in zip(run(lambda: L.split(data(), [1, -1], dim=1), {"x": X}), np.split(X, [1], 1)):
            self.check(got, want)
        for got, want in zip(run(lambda: L.unstack(L.data("x", [2, 3], append_batch_size=False)), {"x": X}), X):
            self.check(got, want)
        index = np.array([1], "int32")
        got = run(lambda: L.slice(data(), [1], [L.data("i", [1], dtype="int32", append_batch_size=False)], [3]),
                  {"x": X, "i": index})
        self.check(got, X[:, 1:3])
        with fresh():
            x = data()
            self.assertRaises(TypeError, L.transpose, x, 1)
            self.assertRaises(ValueError, L.transpose, x, [0])
            self.assertRaises(ValueError, L.flatten, x, 5)
            self.assertRaises(TypeError, L.split, x, "2")
            self.assertRaises(TypeError, L.concat, "x")
            self.assertRaises(TypeError, L.concat, [x], "0")
            self.assertRaises(TypeError, L.reshape, x, 3)
            self.assertRaises(TypeError, lambda: x["a"])
            self.assertRaises(TypeError, lambda: iter(x))

    def test_picking(self):
        index = np.array([1, 0, 1], "int64")
        i = lambda: L.data("i", [3], dtype="int64", append_batch_size=False)
        self.check(run(lambda: L.gather(data(), i()), {"x": X, "i": index}), X[index])
        self.check(run(lambda: L.index_select(data(), i(), 1), {"x": X, "i": index}), X[:, index])
        self.check(run(lambda: L.gather_nd(data(), L.data("n", [2], dtype="int64")), {"x": X, "n": np.array([[1, 2]], "int64")}), [3.0])
        two = lambda: L.data("i", [2], dtype="int64", append_batch_size=False)
        feed = {"x": X, "y": Y, "i": np.array([1, 0], "int64")}
        self.check(run(lambda: L.scatter(data(), two(), data("y")), feed), Y[::-1])
        feed["i"] = np.array([1, 1], "int64")
        self.check(run(lambda: L.scatter(data(), two(), data("y"), overwrite=False), feed), [X[0], Y.sum(0)])
        self.check(run(lambda: L.where(data() > 0.3), {"x": X}), np.argwhere(X > 0.3))
        self.check(run(lambda: L.nonzero(data() > 0.3), {"x": X}), np.argwhere(X > 0.3))
        rows, columns = run(lambda: list(L.nonzero(data() > 0.3, as_tuple=True)), {"x": X})
        self.check(columns, np.argwhere(X > 0.3)[:, 1:])
        ids = np.array([[2], [0]], "int64")
        self.check(run(lambda: L.one_hot(data("ids", [1], dtype="int64"), 3), {"ids": ids}), np.eye(3)[[2, 0]])
        self.check(run(lambda: fluid.one_hot(fluid.data("ids", [None], "int64"), 3), {"ids": ids[:, 0]}), np.eye(3)[[2, 0]])
        self.check(run(lambda: L.argmax(data(), 1), {"x": X}), X.argmax(1))
        self.check(run(lambda: L.argmin(data(), 1), {"x": X}), X.argmin(1))
        values, ids = run(lambda: list(L.argsort(data(), descending=True)), {"x": X})
        self.check(values, -np.sort(-X, 1))
        self.check(ids, np.argsort(-X, 1))
        values, ids = run(lambda: list(L.topk(data(), 2)), {"x": X})
        self.check(values, -np.sort(-X, 1)[:, :2])
        self.check(ids, np.argsort(-X, 1)[:, :2])

    def test_selected_rows(self):
        def build():
            ids = data("ids", [1], dtype="int64", lod_level=1)
            out = L.embedding(ids, [4, 2], is_sparse=True, param_attr="table")
            fluid.backward.append_backward(L.reduce_sum(out))
            grad = fluid.default_main_program().global_block().var("table@GRAD")
            return L.get_tensor_from_selected_rows(L.merge_selected_rows(grad))

        ids = fluid.create_lod_tensor(np.array([[3], [1], [3]], "int64"), [[3]], fluid.CPUPlace())
        self.check(run(build, {"ids": ids}), [[1, 1], [2, 2]])

    def test_creation(self):
        cases = [(lambda: L.fill_constant([2], "float32", 0.5), [0.5, 0.5]), (lambda: L.zeros([2], "int64"), [0, 0]),
                 (lambda: L.ones([2], "float32"), [1, 1]), (lambda: L.assign(np.array([1, 2], "int32")), [1, 2]),
                 (lambda: L.assign([1.5, 2.0]), [1.5, 2.0]), (lambda: L.range(0, 5, 2, "int64"), [0, 2, 4]),
                 (lambda: L.full([2], 3), [3, 3]), (lambda: L.create_global_var([2], 1.5, "float32", persistable=True), [1.5, 1.5]),
                 (lambda: L.increment(L.fill_constant([1], "float32", 1.0), 2.0), [3.0])]
        for number, (build, want) in enumerate(cases):
            with self.subTest(number=number):
                self.check(run(build), want)
        like = [(L.zeros_like, np.zeros((2, 3))), (L.ones_like, np.ones((2, 3))), (lambda x: L.full_like(x, 7.0), np.full((2, 3), 7)),
                (L.assign, X), (lambda x: L.fill_constant_batch_size_like(x, [-1, 2], "float32", 4.0), np.full((2, 2), 4.0))]
        for build, want in like:
            self.check(run(lambda: build(data()), {"x": X}), want)
        with fresh():
            self.assertEqual(L.create_tensor("float32", name="t").name, "t")
            self.assertRaises(TypeError, L.assign, "x")
            self.assertRaises(TypeError, L.fill_constant, 3, "float32", 1)
            self.assertRaises(ValueError, L.fill_constant, [1], "text", 1)

    def test_random(self):
        for build, low, high in ((lambda: L.uniform_random([200], min=-0.5, max=0.25), -0.5, 0.25),
                                 (lambda: L.gaussian_random([200], std=0.1), -1, 1), (lambda: L.randn([200]), -6, 6),
                                 (lambda: L.randint(2, 9, [200]), 2, 8)):
            got = run(build)
            self.assertTrue(low <= got.min() < got.max() <= high and got.shape == (200,))
        got = run(lambda: L.sampling_id(L.softmax(data())), {"x": X})
        self.assertTrue(got.shape == (2,) and (0 <= got).all() and (got < 3).all())

    def test_arrays(self):
        def build():
            zero, one = L.fill_constant([1], "int64", 0), L.fill_constant([1], "int64", 1)
            array = L.create_array("float32")
            L.array_write(data(), zero, array)
            L.array_write(data() * 2.0, one, array)
            return [L.array_read(array, one), L.tensor_array_to_tensor(array, axis=0)[0]]

        second, joined = run(build, {"x": X})
        self.check(second, 2 * X)
        self.check(joined, np.concatenate([X, 2 * X]))

    def test_hash(self):
        got = run(lambda: L.hash(data("i", [1], dtype="int64"), 100, num_hash=2), {"i": np.array([[5], [5], [6]], "int64")})
        self.assertEqual(got.shape, (3, 2, 1))
        self.assertTrue((got[0] == got[1]).all() and (got >= 0).all() and (got < 100).all())


class Networks(Cases):
    constant = staticmethod(lambda v=1.0, name=None: fluid.ParamAttr(name=name, initializer=fluid.initializer.Constant(v)))

    def test_fc(self):
        got = run(lambda: L.fc(data(), 2, param_attr=self.constant(), bias_attr=self.constant(0.5), act="relu"), {"x": X})
        self.check(got, np.maximum(np.repeat(X.sum(1, keepdims=True), 2, 1) + 0.5, 0))
        got = run(lambda: L.fc([data(), data("y")], 1, param_attr=[self.constant(1.0), self.constant(2.0)], bias_attr=False),
                  {"x": X, "y": Y})
        self.check(got, (X.sum(1) + 2 * Y.sum(1))[:, None])
        with fresh():
            self.assertRaises(ValueError, L.fc, [data(), data("y")], 1, param_attr=[None])
            self.assertRaises(TypeError, L.fc, data(), 1, param_attr=3)

    def test_embedding(self):
        table = np.arange(12, dtype="float32").reshape(6, 2)
        attr = fluid.ParamAttr(initializer=fluid.initializer.NumpyArrayInitializer(table))
        ids = np.array([[4], [0]], "int64")
        got = run(lambda: L.embedding(data("i", [1], dtype="int64"), [6, 2], param_attr=attr), {"i": ids})
        self.check(got, table[[4, 0]])
        got = run(lambda: L.embedding(data("i", [1], dtype="int64"), [6, 2], padding_idx=0, param_attr=attr), {"i": ids})
        self.check(got, [table[4], [0, 0]])
        got = run(lambda: fluid.embedding(fluid.data("i", [None, 2], "int64"), [6, 2], param_attr=attr), {"i": ids.reshape(1, 2)})
        self.check(got, table[[[4, 0]]])
        seq = fluid.create_lod_tensor(np.array([[1], [2], [5]], "int64"), [[2, 1]], fluid.CPUPlace())
        got = run(lambda: fluid.contrib.layers.fused_embedding_seq_pool(data("s", [1], dtype="int64", lod_level=1), [6, 2],
                                                                        param_attr=attr), {"s": seq})
        self.check(got, [table[1] + table[2], table[5]])
        with fresh():
            self.assertRaises(TypeError, L.embedding, data(), [6, 2])
            self.assertRaises(TypeError, L.embedding, data("i", [1], dtype="int64"), 6)
            self.assertRaises(TypeError, L.embedding, data("i", [1], dtype="int64"), [6, 2], dtype="int64")
            self.assertRaises(NotImplementedError, fluid.contrib.layers.fused_embedding_seq_pool,
                              data("j", [1], dtype="int64", lod_level=1), [6, 2], combiner="mean")

    def test_norms(self):
        want = (X - X.mean(0)) / np.sqrt(X.var(0) + 1e-5)
        self.check(run(lambda: L.batch_norm(data()), {"x": X}), want, rtol=1e-4)
        want = (X - X.mean(1, keepdims=True)) / np.sqrt(X.var(1, keepdims=True) + 1e-5)
        self.check(run(lambda: L.layer_norm(data()), {"x": X}), want, rtol=1e-4)
        self.check(run(lambda: L.data_norm(data()), {"x": X}), X, rtol=1e-4)
        kept = run(lambda: L.dropout(data("x", [1000]), 0.25, seed=3), {"x": np.ones((1, 1000), "float32")})
        self.assertTrue(0.65 < kept.mean() < 0.85 and set(np.unique(kept)) == {0.0, 1.0})
        self.check(run(lambda: L.dropout(data(), 0.25, is_test=True), {"x": X}), 0.75 * X)
        with fresh():
            self.assertRaises(AssertionError, L.batch_norm, data(), bias_attr=False)

    def test_images(self):
        image = np.arange(16, dtype="float32").reshape(1, 1, 4, 4)
        pic = lambda: data("p", [1, 4, 4])
        got = run(lambda: L.conv2d(pic(), 1, 2, stride=2, param_attr=self.constant(), bias_attr=False), {"p": image})
        self.check(got, [[[[10, 18], [42, 50]]]])
        self.check(run(lambda: L.pool2d(pic(), 2, "max", 2), {"p": image}), [[[[5, 7], [13, 15]]]])
        self.check(run(lambda: L.pool2d(pic(), pool_type="avg", global_pooling=True), {"p": image}), [[[[7.5]]]])
        got = run(lambda: fluid.nets.simple_img_conv_pool(pic(), 1, 2, 2, 2, conv_stride=2, param_attr=self.constant(),
                                                          bias_attr=False), {"p": image})
        self.check(got, [[[[50]]]])
        got = run(lambda: fluid.nets.img_conv_group(pic(), [1, 1], 2, conv_padding=0, conv_filter_size=2, pool_stride=2,
                                                    param_attr=self.constant()), {"p": image})
        self.assertEqual(got.shape, (1, 1, 1, 1))
        with fresh():
            self.assertRaises(ValueError, L.pool2d, pic(), pool_type="mid")
            self.assertRaises(ValueError, L.pool2d, pic())
            self.assertRaises(ValueError, L.conv2d, pic(), 1, 2, data_format="HW")
            self.assertRaises(ValueError, L.conv2d, pic(), 1, 2, padding="HALF")
            self.assertRaises(ValueError, L.conv2d, pic(), 1, 2, use_cudnn=3)

    def test_recurrent(self):
        steps = sequences([2, 1], 6)
        build = lambda: L.dynamic_gru(data("s", [6], lod_level=1), 2, param_attr=self.constant(0.0), bias_attr=self.constant(0.0))
        got = np.array(run(build, {"s": steps}, return_numpy=False))
        self.assertEqual(got.shape, (3, 2))
        u = 1 / (1 + np.exp(-np.array([0.0, 1.0])))
        self.check(got[0], u * np.tanh([4.0, 5.0]), rtol=1e-4)
        hidden, cell = run(lambda: list(L.dynamic_lstm(data("s", [8], lod_level=1), 8, param_attr=self.constant(0.0),
                                                       bias_attr=self.constant(0.0))), {"s": sequences([1], 8)}, return_numpy=False)
        self.assertEqual(np.array(hidden).shape, (1, 2))
        self.check(np.array(hidden), 1 / (1 + np.exp(-np.array([[6.0, 7.0]]))) * np.tanh(np.array(cell)), rtol=1e-4)
        got = run(lambda: L.gru_unit(data("s", [6]), data("h", [2]), 6, param_attr=self.constant(0.0),
                                     bias_attr=self.constant(0.0))[0],
                  {"s": np.zeros((1, 6), "float32"), "h": np.ones((1, 2), "float32")})
        self.check(got, [[0.5, 0.5]])

    def test_nets(self):
        self.check(run(lambda: fluid.nets.glu(data("x", [2])), {"x": np.array([[2.0, 0.0]], "float32")}), [[1.0]])
        q = np.random.RandomState(0).rand(1, 2, 4).astype("float32")
        build = lambda heads: (lambda: fluid.nets.scaled_dot_product_attention(
            data("q", [2, 4]), data("q", [2, 4]), data("q", [2, 4]), num_heads=heads))
        score = q @ q.transpose(0, 2, 1) / 2
        weight = np.exp(score) / np.exp(score).sum(-1, keepdims=True)
        self.check(run(build(1), {"q": q}), weight @ q, rtol=1e-4)
        self.assertEqual(run(build(2), {"q": q}).shape, (1, 2, 4))
        got = run(lambda: fluid.nets.sequence_conv_pool(data("s", [2], lod_level=1), 3, 3), {"s": sequences([2, 1], 2)})
        self.assertEqual(got.shape, (2, 3))
        with fresh():
            self.assertRaises(ValueError, fluid.nets.scaled_dot_product_attention, data(), data(), data())

    def test_step_counter(self):
        with fresh() as (main, startup):
            counter = L.autoincreased_step_counter(begin=5, step=2)
            exe = fluid.Executor()
            exe.run(startup)
            self.assertEqual([int(exe.run(main, fetch_list=[counter])[0][0]) for _ in range(3)], [6, 8, 10])


class Sequences(Cases):
    """Two sequences: rows 0, 1 and row 2."""

    def seq(self, build, width=1, lengths=(2, 1), more=None, dtype="float32"):
        feed = dict(more or {}, s=sequences(lengths, width, dtype))
        got = run(lambda: build(data("s", [width], lod_level=1, dtype=dtype)), feed, return_numpy=False)
        return np.array(got)

    def test_pool(self):
        for kind, want in (("sum", [[1], [2]]), ("average", [[0.5], [2]]), ("sqrt", [[1 / math.sqrt(2)], [2]]), ("max", [[1], [2]]),
                           ("first", [[0], [2]]), ("last", [[1], [2]])):
            self.check(self.seq(lambda s: L.sequence_pool(s, kind)), want)
        self.check(self.seq(L.sequence_first_step), [[0], [2]])
        self.check(self.seq(L.sequence_last_step), [[1], [2]])
        with fresh():
            self.assertRaises(TypeError, L.sequence_pool, data("i", [1], dtype="int64", lod_level=1), "sum")

    def test_others(self):
        e = math.exp(1)
        self.check(self.seq(L.sequence_softmax), [[1 / (1 + e)], [e / (1 + e)], [1]])
        self.check(self.seq(lambda s: L.sequence_concat([s, s])), [[0], [1], [0], [1], [2], [2]])
        self.check(self.seq(L.sequence_reverse), [[1], [0], [2]])
        self.check(self.seq(lambda s: L.sequence_reshape(s, 1), width=2), np.arange(6).reshape(6, 1))
        few = np.array([[5.0], [7.0]], "float32")
        self.check(self.seq(lambda s: L.sequence_expand(data("f", [1]), s, ref_level=0), more={"f": few}), [[5], [5], [7]])
        self.check(self.seq(lambda s: L.sequence_expand_as(data("f", [1]), s), more={"f": few}), [[5], [5], [7]])
        offset = {"o": np.array([[1], [0]], "int64"), "n": np.array([[1], [1]], "int64")}
        self.check(self.seq(lambda s: L.sequence_slice(s, data("o", [1], dtype="int64"), data("n", [1], dtype="int64")),
                            more=offset), [[1], [2]])
        self.check(self.seq(lambda s: L.sequence_enumerate(s, 2, 9), dtype="int64"), [[0, 1], [1, 9], [2, 9]])
        pad = lambda s: L.sequence_pad(s, L.fill_constant([1], "float32", -1.0))
        self.check(self.seq(lambda s: pad(s)[0]), [[[0], [1]], [[2], [-1]]])
        self.check(self.seq(lambda s: pad(s)[1]), [2, 1])
        self.check(self.seq(lambda s: L.sequence_unpad(*pad(s))), [[0], [1], [2]])
        got = run(lambda: L.sequence_mask(L.data("n", [2], dtype="int64", append_batch_size=False), 3, "float32"),
                  {"n": np.array([2, 1], "int64")})
        self.check(got, [[1, 1, 0], [1, 0, 0]])
        conv = lambda s: L.sequence_conv(s, 1, 3, param_attr=Networks.constant(), bias_attr=False)
        self.check(self.seq(conv), [[1], [1], [2]])
        tensor = run(lambda: L.lod_reset(data("x"), target_lod=[0, 1, 2]), {"x": X}, return_numpy=False)
        self.assertEqual(tensor.lod(), [[0, 1, 2]])
        with fresh():
            self.assertRaises(ValueError, L.lod_reset, data())

    def test_ctr(self):
        cvm = np.array([[3.0, 1.0], [1.0, 0.0]], "float32")
        feed = {"c": cvm, "x": np.array([[3, 1, 5], [1, 0, 6]], "float32")}
        got = run(lambda: L.continuous_value_model(data(), data("c", [2]), False), feed)
        self.check(got, [[5], [6]])
        got = run(lambda: L.continuous_value_model(data(), data("c", [2]), True), feed)
        self.check(got[:, 0], np.log(cvm[:, 0] + 1))
        tags = fluid.create_lod_tensor(np.array([[1], [2]], "int64"), [[1, 1]], fluid.CPUPlace())
        rows = fluid.create_lod_tensor(X, [[1, 1]], fluid.CPUPlace())
        build = lambda: list(L.filter_by_instag(data("x", lod_level=1), data("t", [1], dtype="int64", lod_level=1),
                                                data("f", [1], dtype="int64"), True))
        out, weight = run(build, {"x": rows, "t": tags, "f": np.array([[2]], "int64")}, return_numpy=False)
        self.check(np.array(out), X[1:])


class Losses(Cases):
    def test_losses(self):
        p = np.array([[0.2, 0.8], [0.6, 0.4]], "float32")
        label = np.array([[1], [0]], "int64")
        feed = {"p": p, "l": label}
        i = lambda: data("l", [1], dtype="int64")
        self.check(run(lambda: L.cross_entropy(data("p", [2]), i()), feed), -np.log([[0.8], [0.6]]))
        soft = np.array([[0.5, 0.5], [1, 0]], "float32")
        self.check(run(lambda: L.cross_entropy(data("p", [2]), data("s", [2]), soft_label=True), {"p": p, "s": soft}),
                   -(soft * np.log(p)).sum(1, keepdims=True))
        e = np.exp(p)
        sm = e / e.sum(1, keepdims=True)
        loss, got = run(lambda: list(L.softmax_with_cross_entropy(data("p", [2]), i(), return_softmax=True)), feed)
        self.check(loss, -np.log([[sm[0, 1]], [sm[1, 0]]]))
        self.check(got, sm)
        x, y = np.array([[0.3], [0.9]], "float32"), np.array([[0.0], [1.0]], "float32")
        two = {"x": x, "y": y}
        pair = lambda f, *a, **k: run(lambda: f(data("x", [1]), data("y", [1]), *a, **k), two)
        self.check(pair(L.sigmoid_cross_entropy_with_logits), np.maximum(x, 0) - x * y + np.log1p(np.exp(-np.abs(x))))
        self.check(pair(L.square_error_cost), (x - y) ** 2)
        self.check(pair(L.mse_loss), [((x - y) ** 2).mean()])
        self.check(pair(L.log_loss), -y * np.log(x + 1e-4) - (1 - y) * np.log(1 - x + 1e-4))
        self.check(pair(L.huber_loss, 0.2), np.where(np.abs(y - x) <= 0.2, (y - x) ** 2 / 2, 0.2 * (np.abs(y - x) - 0.1)))
        self.check(pair(L.smooth_l1), np.where(np.abs(x - y) < 1, (x - y) ** 2 / 2, np.abs(x - y) - 0.5))
        self.check(pair(L.kldiv_loss, reduction="none"), np.where(y > 0, y * (np.log(np.maximum(y, 1e-9)) - x), 0))
        self.check(pair(L.teacher_student_sigmoid_loss).shape, (2, 1))
        three = lambda f, **k: run(lambda: f(data("y", [1]), data("x", [1]), data("z", [1]), **k), dict(two, z=x[::-1]))
        self.check(three(L.rank_loss), np.log1p(np.exp(x - x[::-1])) - y * (x - x[::-1]))
        self.check(three(L.margin_rank_loss, margin=0.2), np.maximum(0, -y * (x - x[::-1]) + 0.2))
        self.check(run(lambda: L.bpr_loss(data("p", [2]), i()), feed),
                   [[np.log1p(np.exp(0.2 - 0.8))], [np.log1p(np.exp(0.4 - 0.6))]])
        self.assertEqual(run(lambda: L.nce(data("p", [2]), i(), 5, num_neg_samples=2, seed=1), feed).shape, (2, 1))
        self.assertEqual(run(lambda: L.hsigmoid(data("p", [2]), i(), 4), feed).shape, (2, 1))
        self.check(run(lambda: L.dice_loss(data("p", [2]), i()), feed), [1 - (1.6 / 2 + 1.2 / 2) / 2], rtol=1e-4)
        anchor = L.npair_loss
        got = run(lambda: anchor(L.data("p", [2, 2], append_batch_size=False), L.data("p", [2, 2], append_batch_size=False),
                                 L.data("s", [2], append_batch_size=False)), {"p": p, "s": np.array([0, 1], "float32")})
        self.assertEqual(got.shape, (1,))

    def test_wrong(self):
        with fresh():
            p, label = data("p", [2]), data("l", [1], dtype="int64")
            self.assertRaises(TypeError, L.cross_entropy, label, label)
            self.assertRaises(TypeError, L.square_error_cost, p, label)
            self.assertRaises(TypeError, L.kldiv_loss, p, p, reduction=3)
            self.assertRaises(Exception, L.nce, p, label, 5, sampler="best")
            self.assertRaises(AssertionError, L.nce, p, label, 5, sampler="custom_dist")
            self.assertRaises(ValueError, L.hsigmoid, p, label, 1)
            self.assertRaises(ValueError, L.hsigmoid, p, label, 4, is_custom=True)

    def test_metrics(self):
        p = np.array([[0.2, 0.8], [0.6, 0.4], [0.3, 0.7]], "float32")
        feed = {"p": p, "l": np.array([[1], [0], [0]], "int64")}
        i = lambda: data("l", [1], dtype="int64")
        self.check(run(lambda: L.accuracy(data("p", [2]), i()), feed), [2 / 3])
        got = run(lambda: list(L.auc(data("p", [2]), i())[:2]), feed)
        self.check(got[0], [1.0], atol=1e-3)


class Control(Cases):
    def test_while(self):
        def build():
            i, n = L.fill_constant([1], "int64", 0), L.fill_constant([1], "int64", 5)
            total = L.fill_constant([1], "float32", 0.0)
            cond = L.less_than(i, n)
            loop = L.While(cond)
            with loop.block():
                L.assign(L.scale(total, 2.0, 1.0), total)
                L.increment(i, 1.0)
                L.less_than(i, n, cond=cond)
            return total

        self.check(run(build), [31.0])
        with fresh():
            self.assertRaises(TypeError, L.While, data())

    def test_while_loop(self):
        def build():
            i, total = L.fill_constant([1], "int64", 0), L.fill_constant([1], "float32", 1.0)
            n = L.fill_constant([1], "int64", 4)
            return L.while_loop(lambda i, t: L.less_than(i, n), lambda i, t: [i + 1, t * 3.0], [i, total])[1]

        self.check(run(build), [81.0])
        with fresh():
            self.assertRaises(TypeError, L.while_loop, 1, 2, [])
            self.assertRaises(ValueError, L.while_loop, lambda: 1, lambda: 2, [])

    def test_switch(self):
        def build():
            x = L.data("x", [1], append_batch_size=False)
            out = L.create_global_var([1], 0.0, "float32", persistable=True)
            with L.Switch() as switch:
                with switch.case(L.less_than(x, L.fill_constant([1], "float32", 1.0))):
                    L.assign(L.fill_constant([1], "float32", 10.0), out)
                with switch.case(L.less_than(x, L.fill_constant([1], "float32", 2.0))):
                    L.assign(L.fill_constant([1], "float32", 20.0), out)
                with switch.default():
                    L.assign(L.fill_constant([1], "float32", 30.0), out)
            return out

        for x, want in ((0.5, 10.0), (1.5, 20.0), (5.0, 30.0)):
            self.check(run(build, {"x": np.array([x], "float32")}), [want])
        with fresh():
            with self.assertRaises(ValueError):
                with L.Switch().case(None):
                    pass


class Declared(Cases):
    """Functions that are rows of src/calls: what the rows add to the layers."""

    def test_objects(self):
        for name in ("relu", "prelu", "batch_norm", "dynamic_lstm", "elementwise_add", "reduce_sum"):
            self.assertIsInstance(getattr(L.nn, name), _native.Function)
        self.assertEqual(str(inspect.signature(L.scale)),
                         "(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None)")

    def test_refused(self):
        with fresh():
            x = fluid.data("x", [4, 6])
            for call, kind, text in (
                    (lambda: L.scale(x, act=2), TypeError, "The type of 'act' in scale must be str, but received <class 'int'>."),
                    (lambda: L.softmax(x, axis=0.5), TypeError, "softmax: axis must be an int, not float"),
                    (lambda: L.transpose(x, 1), TypeError,
                     "The type of 'perm' in transpose must be list or tuple, but received <class 'int'>."),
                    (lambda: L.split(x, 2.5), TypeError,
                     "The type of 'num_or_sections' in split must be int, list or tuple, but received float."),
                    (lambda: L.prelu(x, None), ValueError, "mode should be one of all, channel, element."),
                    (lambda: L.batch_norm(x, bias_attr=False), AssertionError, "bias_attr should not be False in batch_norm."),
                    (lambda: L.clamp(x), AssertionError, "either min or max should be defined."),
                    (lambda: L.flatten(x, 3), ValueError, "The axis should be a int, and in range [0, rank(x)]"),
                    (lambda: L.relu(np.ones(2)), TypeError,
                     "The type of 'x' in relu must be Variable, but received <class 'numpy.ndarray'>.")):
                with self.assertRaises(kind) as raised:
                    call()
                self.assertEqual(str(raised.exception), text)

    def test_values_of_arguments(self):
        with fresh() as main:
            x = fluid.data("x", [4, 6])
            L.l2_normalize(x, None)
            L.elementwise_add(x, x, axis=0.0)
            L.scale(x, scale=0)
            L.prelu(x, "all", fluid.initializer.Constant(0.5), "slopes")
            full = L.full_like(x, 2.5, stop_gradient=False)
            self.assertFalse(full.stop_gradient)
            ops = fluid.default_main_program().global_block().ops
            self.assertEqual([ops[0].attr("axis"), ops[1].attr("axis"), ops[2].attr("scale")], [1, 0, 0.0])
            self.assertEqual(ops[3].output("Out"), ["slopes.tmp_0"])
            start = fluid.default_startup_program().global_block().ops
            self.assertEqual([(op.type, op.attr("value")) for op in start], [("fill_constant", 0.5)])


class Names(unittest.TestCase):
    def test_every_layer_is_called_here(self):
        """A layer without a test fails this one."""
        import os
        text = ""
        for name in ("test_fluid_layers.py", "test_fluid_optimizer.py", "test_fluid_run.py", "test_fluid_io.py", "golden_models.py",
                     "test_fluid_control.py", "control_cases.py", "test_eager_fluid.py", "ctr_cases.py", "test_fluid_more.py",
                     "fluid_extra.py", "test_fluid_extra.py", "../golden/more_cases_1x.py", "../golden/record_ctr.py"):
            with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name)) as file:
                text += file.read()
        generated = {"elementwise_" + n for n in "add sub mul div max min pow".split()} | \
            {"reduce_" + n for n in "sum mean max min prod".split()}
        for name in L.__all__:
            with self.subTest(name=name):
                self.assertTrue(name in generated or "L." + name in text or '"%s"' % name in text or "fluid.layers." + name in text)

    def test_no_such_layer(self):
        with self.assertRaisesRegex(AttributeError, r"paddle.fluid.layers.fcc: Skiff has no such name; nearest: fc"):
            L.fcc


if __name__ == "__main__":
    unittest.main()
