"""fluid.layers of volumes, of resizing, and small ones, against Paddle 1.8.5 (fluid_extra.json)."""
import json
import os
import unittest

import fluid_extra
import numpy as np
import paddle.fluid as fluid

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "fluid_extra.json")) as _source:
    RECORDED = json.load(_source)


class Layers(unittest.TestCase):
    def test_every_layer(self):
        got = fluid_extra.compute()
        self.assertEqual(sorted(RECORDED), sorted(got))
        for name, (shape, first, total) in RECORDED.items():
            with self.subTest(name):
                self.assertEqual(shape, got[name][0])
                np.testing.assert_allclose(got[name][1], first, atol=2e-5)
                np.testing.assert_allclose(got[name][2], total, rtol=1e-4, atol=2e-2)

    def test_random_shapes_of_variables(self):
        main = fluid.Program()
        with fluid.program_guard(main, fluid.Program()):
            size, shape = fluid.layers.fill_constant([1], "int64", 3), fluid.data("shape", [2], "int32")
            outs = [fluid.layers.gaussian_random([size, 5]), fluid.layers.uniform_random([size, 5]), fluid.layers.gaussian_random(shape),
                    fluid.layers.randint(-5, 5, shape=shape, dtype="int32")]
            got = fluid.Executor(fluid.CPUPlace()).run(main, feed={"shape": np.array([4, 2], "int32")}, fetch_list=outs)
        self.assertEqual([v.shape for v in got], [(3, 5), (3, 5), (4, 2), (4, 2)])
        self.assertTrue((np.abs(got[1]) <= 1).all() and got[3].min() >= -5 and got[3].max() < 5)

    def test_at_once(self):
        with fluid.dygraph.guard():
            image = fluid.dygraph.to_variable(np.arange(4, dtype="float32").reshape(1, 1, 2, 2))
            self.assertEqual(fluid.layers.resize_nearest(image, [4, 4], align_corners=False).numpy()[0, 0, 3].tolist(), [2, 2, 3, 3])
            volume = fluid.dygraph.Conv3D(1, 1, 2, param_attr=fluid.initializer.Constant(1.0), bias_attr=False)
            self.assertEqual(volume(fluid.dygraph.to_variable(np.ones([1, 1, 2, 2, 2], "float32"))).numpy().tolist(), [[[[[8]]]]])

    def test_messages(self):
        image = fluid.data("message_image", [1, 1, 2, 2], "float32")
        for wrong, call in (
                ("can only be 'BILINEAR'", lambda: fluid.layers.image_resize(image, [1, 1], resample="CUBIC")),
                ("takes tensors of 5 dimensions", lambda: fluid.layers.resize_trilinear(image, [1, 1])),
                ("One of out_shape and scale", lambda: fluid.layers.image_resize(image)),
                ("as numbers, not as Variables", lambda: fluid.layers.image_resize(image, image)),
                ("does not fit a tensor of 4 dimensions", lambda: fluid.layers.image_resize(image, [1])),
                ("can only be 'max' or 'avg'", lambda: fluid.layers.pool3d(image, 1, "sum")),
                ("act must be None", lambda: fluid.layers.inplace_abn(image, act="relu"))):
            with self.subTest(wrong), self.assertRaises(Exception) as raised:
                call()
            self.assertIn(wrong, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
