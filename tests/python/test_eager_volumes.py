"""Layers of volumes: first values and numbers of real Paddle 2.6.2, gradients against differences, 1.8's names, what is refused.
The ops themselves are in tests/golden (conv3d, conv3d_transpose, pool3d, max_pool3d_with_index)."""
import unittest

import numpy as np
import paddle
import paddle.fluid as fluid
import paddle.nn as nn
import paddle.nn.functional as F


def volume(*shape):
    return paddle.to_tensor(np.random.RandomState(1).rand(*shape).astype("float32"), stop_gradient=False)


class Volumes(unittest.TestCase):
    def test_first_values(self):
        paddle.seed(3)
        np.testing.assert_allclose(nn.Conv3D(1, 1, 2).weight.numpy().ravel()[:3], [0.50837195, -0.66539645, 0.38549653], rtol=1e-6)
        np.testing.assert_allclose(nn.Conv3DTranspose(1, 1, 2).weight.numpy().ravel()[:3], [-0.22885713, -0.6109528, -0.29401147],
                                   rtol=1e-6)

    def test_a_volume_one_deep_is_an_image(self):
        x, conv = volume(2, 4, 1, 5, 6), nn.Conv3D(4, 6, [1, 3, 2], [1, 2, 1], [0, 1, 1], groups=2)
        image = F.conv2d(x[:, :, 0], conv.weight[:, :, 0], conv.bias, [2, 1], 1, groups=2)
        np.testing.assert_allclose(conv(x)[:, :, 0].numpy(), image.numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(nn.MaxPool3D([1, 2, 2])(x)[:, :, 0].numpy(), F.max_pool2d(x[:, :, 0], 2).numpy())
        np.testing.assert_array_equal(nn.AvgPool3D([1, 2, 2])(x)[:, :, 0].numpy(), F.avg_pool2d(x[:, :, 0], 2).numpy())

    def test_learns(self):
        paddle.seed(1)
        net = nn.Sequential(nn.Conv3D(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool3D(2), nn.Conv3DTranspose(4, 2, 2, 2),
                            nn.AdaptiveAvgPool3D(1), nn.Flatten(), nn.Linear(2, 1))
        x = volume(8, 1, 4, 4, 4)
        label = x.detach().mean(axis=[1, 2, 3, 4]).reshape([-1, 1]) * 3
        optimizer = paddle.optimizer.Adam(0.02, parameters=net.parameters())
        losses = []
        for _ in range(30):
            loss = F.mse_loss(net(x), label)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(float(loss))
        self.assertLess(losses[-1], 0.05 * losses[0])

    def test_names_of_18(self):
        with fluid.dygraph.guard():
            out = fluid.dygraph.Conv3D(1, 2, 2)(fluid.dygraph.to_variable(np.ones([1, 1, 3, 3, 3], "float32")))
            self.assertEqual(list(out.shape), [1, 2, 2, 2, 2])
            self.assertEqual(list(fluid.dygraph.Conv3DTranspose(2, 1, 2)(out).shape), [1, 1, 3, 3, 3])

    def test_refused(self):
        x = volume(1, 2, 3, 3, 3)
        for call, text in (
                (lambda: F.conv3d(x, paddle.ones([2, 3, 1, 1, 1])),
                 r"op conv3d, input Filter \[2, 3, 1, 1, 1\]: does not fit 2 input channels in 1 groups"),
                (lambda: F.conv3d(x, paddle.ones([2, 2, 4, 1, 1])), r"op conv3d, input Input \[1, 2, 3, 3, 3\]: is smaller than the filter \(3 of 4\)"),
                (lambda: F.conv3d(x, paddle.ones([2, 2, 1, 1, 1]), data_format="NCHW"), "should be 'NCDHW' or 'NDHWC'"),
                (lambda: F.conv3d(volume(2, 3, 3, 3), paddle.ones([2, 2, 1, 1, 1])), "Input x should be 5D tensor"),
                (lambda: F.conv3d(x, paddle.ones([2, 2, 1, 1, 1]), stride=[1, 2]), "stride must be an int or 3 of them"),
                (lambda: F.max_pool3d(x, 4), r"op pool3d, input X \[1, 2, 3, 3, 3\]: is smaller than the window \(3 of 4\)"),
                (lambda: F.max_pool3d(x, 2, return_mask=True, data_format="NDHWC"), "data_format must be set to NCDHW"),
                (lambda: F.adaptive_avg_pool3d(x, [1, 2]), "output_size must be an int or 3 of them"),
                (lambda: nn.Conv3D(2, 2, 1, data_format="NCWHD"), "data_format must be one of")):
            with self.assertRaisesRegex(ValueError, text):
                call()

    def test_refused_by_18(self):
        with fluid.program_guard(fluid.Program()):
            paddle.enable_static()
            try:
                x, L = fluid.data("x", [2, 2, 3, 3, 3]), fluid.layers
                for call, kind, text in (
                        (lambda: L.conv3d(x, 2, 1, data_format="NCHW"), ValueError, "only NCDHW or NDHWC supported"),
                        (lambda: L.conv3d(x, 2, 1, groups=3), ValueError, "must be divisible by Attr"),
                        (lambda: L.conv3d(x, 2, 1, param_attr=False), AssertionError, "param_attr should not be False"),
                        (lambda: L.conv3d(x, 2, [1, 2]), ValueError, "filter_size must be an int or 3 of them"),
                        (lambda: L.conv3d(x, 2, 1, padding="HALF"), ValueError, "It can only be 'SAME' or 'VALID'"),
                        (lambda: L.conv3d(x, 2, 1, padding=[[1, 1], [0, 0], [0, 0], [0, 0], [0, 0]]), ValueError, "batch or channel"),
                        (lambda: L.conv3d_transpose(x, 2), ValueError, "output_size must be set when filter_size is None"),
                        (lambda: L.conv3d_transpose(x, 2, filter_size=1, param_attr=False), AssertionError, "in conv3d_transpose"),
                        (lambda: L.pool3d(x, 2, "mean"), ValueError, "Unknown Attr"),
                        (lambda: L.pool3d(x), ValueError, "must be passed and be a valid value"),
                        (lambda: L.adaptive_pool3d(x, 1, "avg", True), ValueError, "invalid setting 'require_index'")):
                    with self.assertRaisesRegex(kind, text):
                        call()
            finally:
                paddle.disable_static()


if __name__ == "__main__":
    unittest.main()
