"""fluid.dygraph: what layers, optimizers and schedules of 1.8.5 give (recorded), functions of fluid inside a guard."""
import os
import tempfile
import unittest

import numpy as np
import paddle
import paddle.fluid as fluid
from paddle.fluid import dygraph as D

I = fluid.initializer
L = fluid.layers
RECORDED = {
    "adam": [0.207889, 0.383062, 0.049825, 0.586596, 0.676638, -0.212043, 0.879987],
    "conv": [27.0, 31.0, 39.0, 43.0],
    "pool": [2.0, 3.0, 5.0, 6.0],
    "gru": [0.779841, 0.779841],
    "norm": [-1.224598, 0.0, 1.224598, -1.224598, 0.0, 1.224598],
    "bn": [-0.999964, -0.999964, -0.999964, 0.999964, 0.999964, 0.999964, 0.0375, 0.0625, 0.0875],
    "prelu": [-0.5, 3.0],
    "bil": [0.28125, 0.28125, 4.5, 4.5],
    "drop": [0.0, 0.1875, 0.375, 0.5625, 0.75, 0.9375],
    "noam": [0.0125, 0.025, 0.0375, 0.05, 0.044721, 0.040825],
    "piece": [1.0, 1.0, 0.5, 0.5, 0.25, 0.25],
    "nexp": [0.1, 0.1, 0.060653, 0.060653, 0.036788, 0.036788],
    "exp": [0.1, 0.070711, 0.05, 0.035355, 0.025, 0.017678],
    "inv": [0.1, 0.08, 0.066667, 0.057143, 0.05, 0.044444],
    "poly": [0.1, 0.05, 0.02, 0.01, 0.01, 0.01],
    "polyc": [0.1, 0.07, 0.04, 0.01, 0.04, 0.025],
    "cos": [0.1, 0.1, 0.085355, 0.085355, 0.05, 0.05],
    "warm": [0.1, 0.2, 0.5, 0.5, 0.5, 0.5],
    "step": [0.1, 0.1, 0.05, 0.05, 0.025],
    "multi": [0.1, 0.05, 0.05, 0.025, 0.025],
    "lam": [0.5, 0.45, 0.405, 0.3645, 0.32805],
    "plateau": [1.0, 1.0, 1.0, 0.5, 0.5, 0.25, 0.25],
}


def given(value):
    start = I.NumpyArrayInitializer(value) if isinstance(value, np.ndarray) else I.Constant(value)
    return fluid.ParamAttr(initializer=start)


def rates(schedule, count=6):
    return [schedule() for _ in range(count)]


def by_epoch(schedule):
    out = []
    for _ in range(5):
        out.append(schedule())
        schedule.epoch()
    return out


class Recorded(unittest.TestCase):
    def check(self, name, values):
        np.testing.assert_allclose(np.ravel(values), RECORDED[name], rtol=2e-5, atol=5e-6, err_msg=name)

    def test_training(self):
        with D.guard():
            x = D.to_variable(np.arange(6).reshape(2, 3).astype("float32") / 4)
            start = np.array([[.1, -.2], [.3, .4], [-.5, .6]], "float32")
            linear = D.Linear(3, 2, param_attr=given(start), bias_attr=given(.1), act="tanh")
            optimizer = fluid.optimizer.Adam(0.1, parameter_list=linear.parameters())
            for _ in range(3):
                loss = L.reduce_mean(L.square(linear(x) - L.ones([1], "float32")))
                loss.backward()
                optimizer.minimize(loss)
                linear.clear_gradients()
            self.check("adam", loss.numpy().ravel().tolist() + linear.weight.numpy().ravel().tolist())

    def test_layers(self):
        with D.guard():
            x = D.to_variable(np.arange(6).reshape(2, 3).astype("float32") / 4)
            images = D.to_variable(np.arange(18).reshape(1, 2, 3, 3).astype("float32"))
            self.check("conv", D.Conv2D(2, 1, 2, param_attr=given(.5), bias_attr=given(1.))(images).numpy())
            self.check("pool", D.Pool2D(2, "avg", 1)(images).numpy()[:, :1])
            gru = D.GRUUnit(6, param_attr=given(.1), bias_attr=given(.2))
            hidden = gru(D.to_variable(np.ones((1, 6), "float32")), D.to_variable(np.full((1, 2), .5, "float32")))[0]
            self.check("gru", hidden.numpy())
            self.check("norm", D.LayerNorm(3)(x).numpy())
            norm = D.BatchNorm(3)
            self.check("bn", norm(x).numpy().ravel().tolist() + norm._mean.numpy().tolist())
            self.check("prelu", D.PRelu("all", param_attr=given(.25))(D.to_variable(np.array([[-2., 3.]], "float32"))).numpy())
            self.check("bil", D.BilinearTensorProduct(3, 3, 2, param_attr=given(.5), bias_attr=given(0.))(x, x).numpy())
            drop = D.Dropout(0.25)
            drop.eval()
            self.check("drop", drop(x).numpy())

    def test_schedules(self):
        for name, schedule in (("noam", D.NoamDecay(100, 4)), ("piece", D.PiecewiseDecay([2, 4], [1., .5, .25], 0)),
                               ("nexp", D.NaturalExpDecay(.1, 2, .5, staircase=True)), ("exp", D.ExponentialDecay(.1, 2, .5)),
                               ("inv", D.InverseTimeDecay(.1, 2, .5)), ("poly", D.PolynomialDecay(.1, 3, 0.01, 2.)),
                               ("polyc", D.PolynomialDecay(.1, 3, 0.01, 1., cycle=True)), ("cos", D.CosineDecay(.1, 2, 4)),
                               ("warm", D.LinearLrWarmup(.5, 3, 0., .3))):
            self.check(name, rates(schedule))
        for name, schedule in (("step", D.StepDecay(.1, 2, .5)), ("multi", D.MultiStepDecay(.1, [1, 3], .5)),
                               ("lam", D.LambdaDecay(.5, lambda e: .9**e))):
            self.check(name, by_epoch(schedule))
        plateau, seen = D.ReduceLROnPlateau(1.0, decay_rate=.5, patience=1), []
        for loss in (1., .9, .95, .96, .97, .98, .99):
            plateau.step(loss)
            seen.append(plateau())
        self.check("plateau", seen)


class Guard(unittest.TestCase):
    def test_inside_and_outside(self):
        self.assertFalse(D.enabled() or fluid.in_dygraph_mode())
        with D.guard():
            self.assertTrue(D.enabled() and fluid.in_dygraph_mode())
            self.assertEqual(L.fill_constant([2], "float32", 3.0).numpy().tolist(), [3.0, 3.0])
        self.assertIsInstance(L.fill_constant([2], "float32", 3.0), fluid.framework.Variable)
        fluid.enable_dygraph()
        try:
            self.assertEqual(L.concat([D.to_variable(np.ones([1, 2]))] * 2, axis=0).shape, [2, 2])
        finally:
            fluid.disable_dygraph()
        with self.assertRaisesRegex(AssertionError, "only support to_variable in imperative mode|We Only support"):
            D.to_variable(np.ones([1]))

    def test_functions_of_both_kinds(self):
        with D.guard():
            x = D.to_variable(np.array([[1., 2.], [3., 4.]], "float32"))
            np.testing.assert_allclose(L.log_softmax(x).numpy()[0], [-1.3132616, -0.31326166], rtol=1e-6)
            self.assertEqual(L.roll(x, 1, 0).numpy().tolist(), [[3., 4.], [1., 2.]])
            for name, args, want in (("kron", (x, x), 16), ("dist", (x, x), 1), ("trace", (x,), 1)):
                self.assertEqual(getattr(L, name)(*args).numpy().size, want)
            self.assertEqual(L.index_sample(x, D.to_variable(np.array([[1], [0]]))).numpy().tolist(), [[2.], [3.]])
            self.assertEqual(L.diag_embed(x).shape, [2, 2, 2])
            three = D.to_variable(np.eye(3, dtype="float32"))
            self.assertEqual(L.cross(three, three).numpy().sum(), 0.0)
            self.assertEqual(L.embedding(D.to_variable(np.array([[1], [2]])), [4, 3]).shape, [2, 3])

    def test_a_function_is_traced_once(self):
        with D.guard():
            out = [L.scale(D.to_variable(np.full([2], i, "float32")), scale=2.0).numpy()[0] for i in range(3)]
            self.assertEqual(out, [0.0, 2.0, 4.0])
            self.assertEqual(L.scale(D.to_variable(np.ones([2], "float32")), scale=3.0).numpy()[0], 3.0)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder, D.guard():
            path = os.path.join(folder, "m")
            layer, other = D.Linear(2, 2), D.Linear(2, 2)
            optimizer = fluid.optimizer.Adam(L.exponential_decay(0.1, 1, 0.5), parameter_list=layer.parameters())
            layer(D.to_variable(np.ones([1, 2], "float32"))).backward()
            optimizer.minimize(None)
            fluid.save_dygraph(layer.state_dict(), path)
            fluid.save_dygraph(optimizer.state_dict(), path)
            self.assertEqual(sorted(os.listdir(folder)), ["m.pdopt", "m.pdparams"])
            state, moments = fluid.load_dygraph(path)
            other.set_dict(state)
            np.testing.assert_array_equal(other.weight.numpy(), layer.weight.numpy())
            self.assertEqual(sum("moment1" in name for name in moments), 2)
            with self.assertRaisesRegex(RuntimeError, "not exists"):
                fluid.load_dygraph(path + "x")
            with self.assertRaisesRegex(AssertionError, "state_dict is empty"):
                fluid.save_dygraph({}, path)

    def test_what_is_refused(self):
        with D.guard():
            with self.assertRaisesRegex(AttributeError, "parameter_list argument"):
                fluid.optimizer.SGD(0.1)
            with self.assertRaisesRegex(ValueError, "Unknown pool_type"):
                D.Pool2D(2, "mean")
            with self.assertRaisesRegex(TypeError, "must be .numpy.ndarray, Variable."):
                D.to_variable([1, 2])
            with self.assertRaisesRegex(NotImplementedError, "no op tree_conv"):
                D.TreeConv(feature_size=5, output_size=6, num_filters=1, max_depth=2)(
                    D.to_variable(np.ones([1, 10, 5], "float32")), D.to_variable(np.ones([1, 9, 2], "int32")))
        os.environ["PADDLE_TRAINERS_NUM"] = "2"
        try:
            with self.assertRaisesRegex(Exception, "PADDLE_TRAINER_ID is not set"):
                D.parallel.prepare_context()
        finally:
            del os.environ["PADDLE_TRAINERS_NUM"]

    def test_layers_in_programs(self):
        main, startup = fluid.Program(), fluid.Program()
        with fluid.program_guard(main, startup):
            x = fluid.data("x", [2, 3])
            loss = D.L1Loss()(x, L.zeros([2, 3], "float32"))
        executor = fluid.Executor(fluid.CPUPlace())
        out = executor.run(main, feed={"x": np.full([2, 3], -2, "float32")}, fetch_list=[loss])
        self.assertEqual(float(np.ravel(out[0])[0]), 2.0)

    def test_traced_layer(self):
        with tempfile.TemporaryDirectory() as folder, D.guard():
            layer = D.Linear(3, 1, param_attr=given(1.0), bias_attr=given(0.5))
            x = D.to_variable(np.ones([2, 3], "float32"))
            out, traced = D.TracedLayer.trace(layer, [x])
            self.assertEqual(traced([x])[0].numpy().tolist(), [[3.5], [3.5]])
            traced.save_inference_model(folder, feed=[0], fetch=[0])
            with fluid.scope_guard(fluid.Scope()):
                D.disable_dygraph()
                executor = fluid.Executor(fluid.CPUPlace())
                program, feeds, fetches = fluid.io.load_inference_model(folder, executor)
                got = executor.run(program, feed={feeds[0]: np.zeros([1, 3], "float32")}, fetch_list=fetches)
            self.assertEqual(got[0].tolist(), [[0.5]])

    def test_version(self):
        self.assertEqual(paddle.__version__, "1.8.5")


if __name__ == "__main__":
    unittest.main()
