"""paddle.jit: tracing, running, saving, loading; paddle.inference."""
import os
import tempfile
import unittest
import warnings

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.static import InputSpec


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.norm = nn.BatchNorm1D(3)
        self.register_buffer("count", paddle.zeros([1]))

    def forward(self, x):
        self.count = self.count + 1
        with paddle.no_grad():
            weight = F.sigmoid(paddle.sum(self.fc.weight * 2))
        return self.norm(F.relu(self.fc(x))) * weight


def rows(n=6):
    return paddle.to_tensor(np.random.RandomState(n).rand(n, 4).astype("float32"))


def twins():
    one, other = Net(), Net()
    other.set_state_dict(one.state_dict())
    return one, other


class Traced(unittest.TestCase):
    def test_as_without(self):
        plain, net = twins()
        static = paddle.jit.to_static(net)
        for n in (6, 6, 3):
            want, got = plain(rows(n)), static(rows(n))
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-6)
            for out in (want, got):
                paddle.sum(paddle.square(out)).backward()
        np.testing.assert_allclose(net.fc.weight.grad.numpy(), plain.fc.weight.grad.numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(net.norm._mean.numpy(), plain.norm._mean.numpy(), rtol=1e-6)
        self.assertEqual(net.count.numpy().tolist(), [3.0])
        self.assertEqual(len(net.forward.program_cache), 2)

    def test_values_decide(self):
        calls = []

        @paddle.jit.to_static
        def function(x):
            calls.append(1)
            return x * 2 if x.mean().numpy() > 0 else x - 1
        self.assertEqual(function(paddle.to_tensor([1.0, 3.0])).numpy().tolist(), [2.0, 6.0])
        self.assertEqual(function(paddle.to_tensor([-1.0, -3.0])).numpy().tolist(), [-2.0, -4.0])
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(RuntimeError, r"test_eager_jit.py:\d+: .*numpy of a tensor.*paddle.static.nn.cond"):
                paddle.jit.save(function, folder + "/f", input_spec=[InputSpec([2])])

    def test_control_flow_of_programs(self):
        @paddle.jit.to_static
        def function(x):
            return paddle.static.nn.cond(paddle.mean(x) > 0, lambda: x * 2, lambda: x * x)
        for value, want, grad in ((3.0, 6.0, 2.0), (-3.0, 9.0, -6.0)):
            x = paddle.to_tensor([value], stop_gradient=False)
            out = function(x)
            self.assertEqual(out.numpy().tolist(), [want])
            out.backward()
            self.assertEqual(x.grad.numpy().tolist(), [grad])

    def test_nested_and_other_arguments(self):
        @paddle.jit.to_static
        def function(pair, times=1, **more):
            return {"sum": pair[0] + pair[1] * times, "rest": [more["c"], "text"]}
        a, b = paddle.to_tensor([1.0]), paddle.to_tensor([2.0])
        for times in (1, 3):
            out = function((a, b), times, c=a)
            self.assertEqual(out["sum"].numpy().tolist(), [1.0 + 2 * times])
            self.assertEqual((out["rest"][0].numpy().tolist(), out["rest"][1]), ([1.0], "text"))
        self.assertEqual(function([np.ones([1], "float32"), b], c=a)["sum"].numpy().tolist(), [3.0])

    def test_switched_off(self):
        seen = []

        @paddle.jit.to_static
        def function(x):
            seen.append(type(x).__name__)
            return x
        paddle.jit.enable_to_static(False)
        try:
            function(paddle.ones([1]))
        finally:
            paddle.jit.enable_to_static(True)
        function(paddle.ones([1]))
        self.assertEqual(seen, ["Tensor", "Variable"])
        self.assertRaises(TypeError, paddle.jit.enable_to_static, "yes")
        self.assertRaises(TypeError, paddle.jit.to_static, 3)


class Files(unittest.TestCase):
    def saved(self, folder):
        net = Net()
        net(rows())
        net.eval()
        paddle.jit.save(net, folder + "/n", input_spec=[InputSpec([None, 4], "float32", "x")])
        return net

    def test_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            net = self.saved(folder)
            self.assertEqual(sorted(os.listdir(folder)), ["n.pdiparams", "n.pdiparams.info", "n.pdmodel"])
            loaded = paddle.jit.load(folder + "/n")
            for n in (6, 2):
                np.testing.assert_allclose(loaded(rows(n)).numpy(), net(rows(n)).numpy(), rtol=1e-5, atol=1e-6)
            self.assertEqual(loaded._input_spec()[0].shape, (-1, 4))
            with self.assertRaisesRegex(ValueError, "takes 1 inputs"):
                loaded(rows(), rows())
            self.assertRaises(ValueError, loaded.program, "backward")

    def test_trained_on(self):
        paddle.seed(7)  # other weights may give only zeros behind the relu, and then nothing is learnt
        with tempfile.TemporaryDirectory() as folder:
            self.saved(folder)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                still = paddle.jit.load(folder + "/n")
                still.train()
            self.assertIn("fine_tune=True", str(told[-1].message))
            self.assertTrue(still(rows()).stop_gradient)
            loaded = paddle.jit.load(folder + "/n", fine_tune=True)
            loaded.train()
            optimizer = paddle.optimizer.SGD(0.1, parameters=loaded.parameters())
            losses = []
            for _ in range(5):
                loss = paddle.mean(paddle.square(loaded(rows()) - 1.0))
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                losses.append(loss.item())
            self.assertLess(losses[-1], losses[0])

    def test_predictor(self):
        from paddle import inference
        with tempfile.TemporaryDirectory() as folder:
            net = self.saved(folder)
            predictor = inference.create_predictor(inference.Config(folder + "/n.pdmodel", folder + "/n.pdiparams"))
            handle = predictor.get_input_handle("x")
            handle.reshape([6, 4])
            handle.copy_from_cpu(rows().numpy())
            predictor.run()
            out = predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()
            np.testing.assert_allclose(out, net(rows()).numpy(), rtol=1e-5, atol=1e-6)

    def test_what_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(ValueError, "there is no .*none.pdmodel"):
                paddle.jit.load(folder + "/none")
            with self.assertRaisesRegex(ValueError, "received a folder"):
                paddle.jit.save(Net(), folder + "/")
            with self.assertRaisesRegex(TypeError, "should be 'Layer' or 'Function'"):
                paddle.jit.save(3, folder + "/x")
            with self.assertRaisesRegex(ValueError, "give input_spec"):
                paddle.jit.save(Net(), folder + "/x")
            self.saved(folder)
            with open(folder + "/n.pdiparams.info", "wb") as out:
                out.write(b"cos\nsystem\n(S'true'\ntR.")
            with self.assertRaisesRegex(Exception, "plain values only"):
                paddle.jit.load(folder + "/n")


class Specs(unittest.TestCase):
    def test_spec(self):
        spec = InputSpec.from_tensor(rows(), "x")
        self.assertEqual((spec.shape, spec.name, spec.batch(3).shape, spec.unbatch().shape), ((6, 4), "x", (3, 6, 4), (6, 4)))
        self.assertEqual(InputSpec([None, 2]), InputSpec([-1, 2]))
        self.assertRaises(TypeError, InputSpec, 3)
        self.assertRaises(ValueError, InputSpec, ["a"])


if __name__ == "__main__":
    unittest.main()
