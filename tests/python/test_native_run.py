"""Tensors, scopes and executors of skiff._native."""
import array
import gc
import threading
import unittest

import numpy as np

from skiff import _native as N

L = N.layers


class TensorTest(unittest.TestCase):
    def test_numpy_in_and_out(self):
        for dtype in ("float32", "float64", "int64", "int32", "int16", "int8", "uint8", "bool", "float16"):
            a = (np.arange(6).reshape(2, 3) % 2).astype(dtype)
            t = N.Tensor(a)
            self.assertEqual((t.dtype, t.shape, t.kind, t.initialized), (dtype, (2, 3), "tensor", True))
            back = np.asarray(t)
            self.assertEqual(back.dtype, a.dtype)
            np.testing.assert_array_equal(back, a)

    def test_view_and_copies(self):
        a = np.arange(4, dtype="float32")
        t = N.Tensor(a)
        a[0] = 100
        self.assertEqual(np.asarray(t)[0], 0)
        view = np.asarray(t)
        view[1] = 7
        self.assertEqual(np.asarray(t)[1], 7)
        t.set(np.zeros(9, "float32"))
        np.testing.assert_array_equal(view, [0, 7, 2, 3])
        own = t.numpy()
        own[0] = 5
        self.assertEqual(np.asarray(t)[0], 0)
        del t
        gc.collect()
        self.assertEqual(view[1], 7)

    def test_other_inputs(self):
        self.assertEqual(N.Tensor([[1, 2], [3, 4]]).dtype, "int64")
        self.assertEqual(N.Tensor([1.5, 2]).dtype, "float32")
        self.assertEqual(N.Tensor([1.5, 2], dtype="float64").dtype, "float64")
        self.assertEqual(N.Tensor(np.arange(6.0, dtype="f4").reshape(2, 3).T).shape, (3, 2))
        np.testing.assert_array_equal(np.asarray(N.Tensor(np.arange(6.0, dtype="f4").reshape(2, 3).T)),
                                      np.arange(6.0).reshape(2, 3).T)
        np.testing.assert_array_equal(np.asarray(N.Tensor(array.array("f", [1, 2]))), [1, 2])
        self.assertEqual(N.Tensor(np.float32(3)).shape, ())
        self.assertEqual(N.Tensor(np.zeros((0, 3), "f4")).shape, (0, 3))
        self.assertEqual(bytes(memoryview(N.Tensor(np.array([1], "i4")))), b"\1\0\0\0")
        with self.assertRaises(TypeError):
            N.Tensor(np.array(["a"]))
        with self.assertRaises(TypeError):
            N.Tensor(np.zeros(2, "complex64"))
        with self.assertRaises(ValueError):
            N.Tensor(np.zeros((1,) * 10, "f4"))

    def test_sequences(self):
        t = N.Tensor(np.zeros((5, 1), "int64"), [[2, 1], [1, 2, 2]])
        self.assertEqual(t.lod(), [[0, 2, 3], [0, 1, 3, 5]])
        self.assertEqual(t.recursive_sequence_lengths(), [[2, 1], [1, 2, 2]])
        self.assertTrue(t.has_valid_recursive_sequence_lengths())
        t.set_lod([[0, 5]])
        self.assertEqual(t.recursive_sequence_lengths(), [[5]])
        with self.assertRaises(ValueError):
            t.set_recursive_sequence_lengths([[2, 2]])
        with self.assertRaises(ValueError):
            t.set_lod([[0, 3, 2, 5]])
        self.assertEqual(t.recursive_sequence_lengths(), [[5]])
        self.assertEqual(t.copy().lod(), [[0, 5]])
        t.set(np.zeros(3, "f4"))
        self.assertEqual(t.lod(), [])

    def test_selected_rows(self):
        t = N.Tensor()
        self.assertIsNone(t.rows)
        t.set_rows([7, 3], 10, np.array([[1, 2], [3, 4]], "f4"))
        self.assertEqual((t.kind, t.rows, t.height, len(t)), ("rows", [7, 3], 10, 2))
        np.testing.assert_array_equal(np.asarray(t), [[1, 2], [3, 4]])
        with self.assertRaises(ValueError):
            t.set_rows([1], 10, np.zeros((2, 2), "f4"))


class ScopeTest(unittest.TestCase):
    def test_values(self):
        s = N.Scope()
        self.assertIsNone(s.find("w"))
        t = s.var("w")
        self.assertEqual((t.kind, t.initialized), ("none", False))
        self.assertIsNotNone(s.find("w"))
        t.set(np.arange(3, dtype="f4"))
        np.testing.assert_array_equal(np.array(s.find("w")), [0, 1, 2])
        s.set("v", [1, 2])
        self.assertEqual((s.find("v").dtype, s.names()), ("int64", ["w", "v"]))
        snapshot = np.asarray(s.find("w"))
        snapshot[0] = 9
        self.assertEqual(np.array(s.find("w"))[0], 0)
        child = s.new_scope()
        child.var("w").set(np.ones(2, "f4"))
        self.assertEqual(s.find("w").shape, (2,))
        child.var("own").set([1])
        self.assertIsNone(s.find("own"))
        self.assertEqual(child.names(), ["own", "w", "v"])
        del s
        gc.collect()
        self.assertEqual(child.find("v").shape, (2,))


def network(net):
    x = L.data(net, "x", [3])
    y = L.data(net, "y", [1])
    p = L.fc(net, x, 1, param_attr=_Constant(), bias_attr=False)
    return x, y, p, L.mean(net, L.square_error_cost(net, p, y))


class _Constant:
    initializer = ("constant", {"value": 0.5})


class ExecutorTest(unittest.TestCase):
    def setUp(self):
        self.net = N.Net()
        self.x, self.y, self.p, self.loss = network(self.net)

    def test_run(self):
        exe = N.Executor()
        exe.run(self.net.startup)
        a = np.array([[1, 2, 3], [4, 5, 6]], "f4")
        feed = {"x": a, "y": np.array([[3], [7]], "f4")}
        p, loss = exe.run(self.net.main, feed, [self.p, "mean_0.tmp_0"], return_numpy=True)
        np.testing.assert_allclose(p, [[3], [7.5]])
        np.testing.assert_allclose(loss, [0.125])
        t, = exe.run(self.net.main, feed, [self.p])
        self.assertIsInstance(t, N.Tensor)
        kept = np.asarray(t)
        exe.run(self.net.main, {"x": a * 2, "y": a[:, :1]}, [self.p])
        np.testing.assert_allclose(kept, [[3], [7.5]])

    def test_feeds(self):
        exe = N.Executor()
        exe.run(self.net.startup)
        want = [[3.0]]
        for x in ([[1, 2, 3]], np.array([[1, 2, 3]], "f4"), N.Tensor(np.array([[1, 2, 3]], "f4")),
                  np.array([[1, 0, 2, 0, 3, 0]], "f4")[:, ::2], memoryview(np.array([[1, 2, 3]], "f4"))):
            out, = exe.run(self.net.main, {"x": x, "y": [[1.0]]}, [self.p], return_numpy=True)
            np.testing.assert_allclose(out, want)
        with self.assertRaises((TypeError, ValueError)):
            exe.run(self.net.main, {"x": np.array([[1, 2, 3]], "f8"), "y": [[1.0]]}, [self.p])
        with self.assertRaises(ValueError):
            exe.run(self.net.main, {"x": [[1, 2]], "y": [[1.0]]}, [self.p])
        with self.assertRaises(ValueError):
            exe.run(self.net.main, {"x": [[1, 2, 3]], "z": [[1.0]]}, [self.p])
        with self.assertRaises(TypeError):
            exe.run(self.net.main, [1], [self.p])
        with self.assertRaises(TypeError):
            exe.run("program")

    def test_training_and_scopes(self):
        N.Optimizer(self.net, "sgd", 0.1).minimize(self.loss)
        a, b = N.Scope(), N.Scope()
        exe = N.Executor(a)
        self.assertIs(exe.scope, a)
        exe.run(self.net.startup)
        exe.run(self.net.startup, scope=b)
        feed = {"x": np.array([[1, 0, 0]], "f4"), "y": np.array([[1]], "f4")}
        for _ in range(3):
            exe.run(self.net.main, feed, scope=b)
        np.testing.assert_allclose(np.array(a.find("fc_0.w_0")).ravel(), [0.5] * 3)
        np.testing.assert_allclose(np.array(b.find("fc_0.w_0")).ravel(), [1 - 0.5 * 0.8**3, 0.5, 0.5], rtol=1e-5)
        b.find("fc_0.w_0").set(np.zeros((3, 1), "f4"))
        loss, = exe.run(self.net.main, feed, [self.loss], b, True)
        self.assertEqual(loss[0], 1.0)

    def test_changed_programs_are_compiled_anew(self):
        exe = N.Executor()
        exe.run(self.net.startup)
        feed = {"x": np.ones((1, 3), "f4"), "y": np.ones((1, 1), "f4")}
        s = L.scale(self.net, self.p, scale=2.0)
        self.assertEqual(exe.run(self.net.main, feed, [s], return_numpy=True)[0][0, 0], 3.0)
        s.op.set_attr("scale", 10.0)
        self.assertEqual(exe.run(self.net.main, feed, [s], return_numpy=True)[0][0, 0], 15.0)
        more = L.scale(self.net, s, scale=2.0)
        self.assertEqual(exe.run(self.net.main, feed, [more], return_numpy=True)[0][0, 0], 30.0)
        for _ in range(50):  # programs that go are forgotten, their addresses come again
            test = self.net.main.clone(for_test=True)
            self.assertEqual(exe.run(test, feed, [s.name], return_numpy=True)[0][0, 0], 15.0)

    def test_sequences(self):
        net = N.Net()
        words = L.data(net, "w", [2], lod_level=1)
        pooled = L.sequence_pool(net, words, "sum")
        exe = N.Executor()
        t = N.Tensor(np.arange(8, dtype="f4").reshape(4, 2), [[1, 3]])
        scaled = L.scale(net, words)
        out, same = exe.run(net.main, {"w": t}, [pooled, scaled])
        np.testing.assert_array_equal(np.asarray(out), [[0, 1], [12, 15]])
        self.assertEqual(same.recursive_sequence_lengths(), [[1, 3]])
        with self.assertRaisesRegex(RuntimeError, "LoD"):
            exe.run(net.main, {"w": t}, [scaled], return_numpy=True)

    def test_sparse_gradient(self):
        net = N.Net()
        ids = L.data(net, "ids", [1], dtype="int64")
        out = L.embedding(net, ids, 10, 2, is_sparse=True)
        (w, g), = net.backward(L.mean(net, out))
        exe = N.Executor()
        exe.run(net.startup)
        grad, = exe.run(net.main, {"ids": [[3], [7], [3]]}, [g], return_numpy=True)
        self.assertEqual((grad.kind, grad.height), ("rows", 10))
        self.assertEqual(sorted(set(grad.rows)), [3, 7])

    def test_threads(self):
        results, errors = [], []
        startup_scope = N.Scope()
        N.Executor(startup_scope).run(self.net.startup)

        def work():
            try:
                exe = N.Executor(startup_scope)
                for i in range(200):
                    out, = exe.run(self.net.main, {"x": np.full((4, 3), i, "f4"), "y": np.zeros((4, 1), "f4")}, [self.p],
                                   return_numpy=True)
                    assert (out == 1.5 * i).all(), out
                results.append(1)
            except Exception as e:
                errors.append(e)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual((len(results), errors), (3, []))

    def test_two_generations(self):
        p = N.Program()
        p.generation = 2
        b = p.block(0)
        b.create_var("x", shape=[-1, 4], dtype="float32", need_check_feed=True)
        b.append_op("reduce_mean", {"X": "x"}, {"Out": "m"}, {"reduce_all": True})
        self.assertEqual(b.var("m").shape, ())
        out, = N.Executor().run(p, {"x": np.ones((2, 4), "f4")}, ["m"], return_numpy=True)
        self.assertEqual((out.shape, float(out)), ((), 1.0))

    def test_close(self):
        exe = N.Executor()
        exe.run(self.net.startup)
        exe.close()
        exe.forget(self.net.main)
        self.assertEqual(exe.scope.find("fc_0.w_0").shape, (3, 1))


class MetricTest(unittest.TestCase):
    def test_auc(self):
        pos, neg = np.zeros(4096, "int64"), np.zeros(4096, "int64")
        N.auc_update(pos, neg, np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.3, 0.7]], "f4"), np.array([[0], [1], [1], [0]]))
        self.assertEqual((pos.sum(), neg.sum(), pos[int(0.8 * 4095)]), (2, 2, 1))
        self.assertEqual(N.auc_area(pos, neg), 0.75)
        self.assertEqual(N.auc_area(pos.astype("f8"), neg.astype("f8")), 0.75)
        with self.assertRaises(ValueError):
            N.auc_update(pos, neg, np.array([[1.5]], "f4"), np.array([1]))
        with self.assertRaises(ValueError):
            N.auc_update(pos, neg, np.array([[0.5]], "f4"), np.array([1, 2]))
        with self.assertRaises(TypeError):
            N.auc_update(pos.astype("f4"), neg, np.array([[0.5]], "f4"), np.array([1]))


if __name__ == "__main__":
    unittest.main()
