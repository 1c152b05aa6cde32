"""paddle.Model, its callbacks, paddle.summary, paddle.amp. What is printed was recorded from real 2.6.2."""
import contextlib
import io
import os
import re
import tempfile
import unittest
import warnings

import numpy as np
import paddle
import paddle.nn as nn

SUMMARY = (
    '---------------------------------------------------------------------------\n'
    ' Layer (type)       Input Shape          Output Shape         Param #    \n'
    '===========================================================================\n'
    '   Linear-1           [[1, 4]]              [1, 8]              40       \n'
    '    ReLU-1            [[1, 8]]              [1, 8]               0       \n'
    '   Linear-2           [[1, 8]]              [1, 2]              18       \n'
    '===========================================================================\n'
    'Total params: 58\n'
    'Trainable params: 58\n'
    'Non-trainable params: 0\n'
    '---------------------------------------------------------------------------\n'
    'Input size (MB): 0.00\n'
    'Forward/backward pass size (MB): 0.00\n'
    'Params size (MB): 0.00\n'
    'Estimated Total Size (MB): 0.00\n'
    '---------------------------------------------------------------------------\n'
    '\n'
    "{'total_params': 58, 'trainable_params': 58}\n"
)
PRINTED = (
    'The loss value printed in the log is the current step, and the metric is the average value of previous steps.\n'
    'Epoch 1/2\n'
    'step 1/3 - loss: 0.2812 - T\n'
    'step 2/3 - loss: 0.1871 - T\n'
    'step 3/3 - loss: 1.0619 - T\n'
    'Eval begin...\n'
    'step 1/3 - loss: 0.5447 - T\n'
    'step 2/3 - loss: 0.2770 - T\n'
    'step 3/3 - loss: 0.1699 - T\n'
    'Eval samples: 5\n'
    'Epoch 2/2\n'
    'step 1/3 - loss: 0.5447 - T\n'
    'step 2/3 - loss: 0.2007 - T\n'
    'step 3/3 - loss: 0.4558 - T\n'
    'Eval begin...\n'
    'step 1/3 - loss: 0.5659 - T\n'
    'step 2/3 - loss: 0.3520 - T\n'
    'step 3/3 - loss: 0.0729 - T\n'
    'Eval samples: 5\n'
    'Eval begin...\n'
    'step 3/3 - loss: 0.0729 - T\n'
    'Eval samples: 5\n'
    'Predict begin...\n'
    'step 2/3 - T\n'
    'step 3/3 - T\n'
    'Predict samples: 5\n'
)


class Rows(paddle.io.Dataset):
    def __getitem__(self, i):
        return np.full([2], i / 4, "float32"), np.array([i % 2], "float32")

    def __len__(self):
        return 5


def made(rate=0.1):
    layer = nn.Linear(2, 1, weight_attr=paddle.ParamAttr(initializer=nn.initializer.Constant(0.5)))
    model = paddle.Model(layer)
    model.prepare(paddle.optimizer.SGD(rate, parameters=layer.parameters()), nn.MSELoss())
    return model


def printed(call):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        call()
    return out.getvalue()


class Models(unittest.TestCase):
    def test_what_is_printed(self):
        model = made()

        def run():
            model.fit(Rows(), Rows(), batch_size=2, epochs=2, shuffle=False, log_freq=1, verbose=2)
            model.evaluate(Rows(), batch_size=2, verbose=2)
            model.predict(Rows(), batch_size=2, verbose=2)
        self.assertEqual(re.sub(r"\d+[mu]?s/step", "T", printed(run)), PRINTED)

    def test_one_growing_line(self):
        text = printed(lambda: made().fit(Rows(), batch_size=2, shuffle=False, verbose=1))
        self.assertRegex(text, r"step 3/3 \[=+\] - loss: 1.0619 - ")

    def test_accumulates(self):
        one, two = made(), made()
        one.fit(Rows(), batch_size=5, shuffle=False, verbose=0)
        two.train_batch([np.full([2, 2], 1.0, "float32")], [np.ones([2, 1], "float32")], update=False)
        self.assertEqual(two.network.weight.numpy().ravel().tolist(), [0.5, 0.5])
        self.assertTrue((one.network.weight.numpy() != 0.5).all())

    def test_iterations(self):
        seen = []

        class Count(paddle.callbacks.Callback):
            def on_train_batch_end(self, step, logs=None):
                seen.append(step)
        made().fit(Rows(), batch_size=2, num_iters=4, verbose=0, callbacks=Count())
        self.assertEqual(seen, [0, 1, 2, 0])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            model = made()
            text = printed(lambda: model.fit(Rows(), batch_size=2, epochs=3, save_dir=folder, save_freq=2, verbose=0))
            self.assertEqual(text.count("save checkpoint at"), 3)
            self.assertEqual(sorted(os.listdir(folder)), ["0.pdparams", "2.pdparams", "final.pdparams"])
            other = made()
            other.load(folder + "/final")
            np.testing.assert_array_equal(other.network.weight.numpy(), model.network.weight.numpy())
            wrong = paddle.Model(nn.Linear(3, 1))
            with self.assertRaisesRegex(ValueError, r"weight receives a shape \[2, 1\]"):
                wrong.load(folder + "/final")
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                wrong.load(folder + "/final", skip_mismatch=True)
            self.assertIn("Skip loading for weight", str(told[0].message))
            with self.assertRaisesRegex(AssertionError, "there is no .*none.pdparams"):
                model.load(folder + "/none")
            model.save(folder + "/infer", training=False)
            np.testing.assert_allclose(paddle.jit.load(folder + "/infer")(paddle.ones([2, 2])).numpy(),
                                       model.predict_batch([np.ones([2, 2], "float32")])[0], rtol=1e-6)

    def test_stops_early(self):
        with tempfile.TemporaryDirectory() as folder:
            epochs = []

            class Seen(paddle.callbacks.Callback):
                def on_epoch_end(self, epoch, logs=None):
                    epochs.append(epoch)
            stop = paddle.callbacks.EarlyStopping("loss", patience=1, min_delta=100.0)
            text = printed(lambda: made().fit(Rows(), Rows(), batch_size=5, epochs=9, save_dir=folder, verbose=0,
                                              callbacks=[stop, Seen()]))
            self.assertEqual(epochs, [0, 1])
            self.assertIn("Epoch 2: Early stopping.", text)
            self.assertIn("best_model.pdparams", os.listdir(folder))

    def test_rates(self):
        model = made()
        plateau = paddle.callbacks.ReduceLROnPlateau(patience=1, factor=0.5, min_delta=100.0, verbose=0)
        model.fit(Rows(), Rows(), batch_size=5, epochs=3, verbose=0, callbacks=[plateau])
        self.assertAlmostEqual(model._optimizer.get_lr(), 0.025)
        schedule = paddle.optimizer.lr.StepDecay(1.0, 1, 0.5)
        scheduled = made(schedule)
        scheduled.fit(Rows(), batch_size=5, epochs=2, verbose=0)
        self.assertEqual(schedule(), 0.25)
        self.assertRaises(ValueError, paddle.callbacks.LRScheduler, True, True)
        self.assertRaises(ValueError, paddle.callbacks.ReduceLROnPlateau, factor=1.0)

    def test_what_is_refused(self):
        model = paddle.Model(nn.Linear(2, 1))
        with self.assertRaisesRegex(AssertionError, "call `model.prepare"):
            model.train_batch([np.ones([1, 2], "float32")])
        with self.assertRaisesRegex(TypeError, "'loss' must be"):
            model.prepare(loss=3)
        with self.assertRaisesRegex(AssertionError, "not sub class of Metric"):
            model.prepare(metrics=3)
        with self.assertRaisesRegex(ValueError, "level of amp_configs"):
            model.prepare(amp_configs="O7")
        with self.assertRaisesRegex(ValueError, "could not be recognized"):
            model.prepare(amp_configs={"levle": 1})
        with self.assertRaisesRegex(AttributeError, "write a Callback"):
            paddle.callbacks.WandbCallback
        with self.assertRaisesRegex(NotImplementedError, "paddle.summary counts parameters"):
            paddle.flops(model.network, [1, 2])


class Summaries(unittest.TestCase):
    def test_table(self):
        with paddle.utils.unique_name.guard():
            net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        self.assertEqual(printed(lambda: print(paddle.summary(net, (1, 4)))), SUMMARY)
        self.assertTrue(net.training)
        self.assertEqual(printed(lambda: print(paddle.summary(net, input=paddle.ones([1, 4])))), SUMMARY)
        with self.assertRaisesRegex(ValueError, "cannot be None at the same time"):
            paddle.summary(net)
        with self.assertRaisesRegex(ValueError, "greater than zero"):
            paddle.summary(net, (0, 4))


class Amp(unittest.TestCase):
    def test_scaler(self):
        """As on real 2.6.2, whose scaler is disabled on CPUs."""
        layer = nn.Linear(2, 1)
        optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
        with self.assertWarnsRegex(UserWarning, "so it makes no effect"):
            scaler = paddle.amp.GradScaler(init_loss_scaling=8.0, incr_every_n_steps=2)
        self.assertFalse(scaler.is_enable() or scaler.is_use_dynamic_loss_scaling())
        before = layer.weight.numpy()
        for i in range(2):
            with paddle.amp.auto_cast():
                loss = paddle.mean(layer(paddle.ones([3, 2])))
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.clear_grad()
        np.testing.assert_allclose(before - layer.weight.numpy(), 0.2, rtol=1e-5)
        loss = paddle.mean(layer(paddle.ones([3, 2])))
        self.assertIs(scaler.scale(loss), loss)
        scaler.load_state_dict({})
        self.assertEqual(scaler.state_dict(), {})
        x = paddle.to_tensor([2.0], stop_gradient=False)
        optimizer = paddle.optimizer.SGD(0.1, parameters=[x])
        loss = scaler.scale((x * x).sum())
        loss.backward()
        self.assertEqual(x.grad.tolist(), [4.0])
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.step(optimizer)  # an enabled one would refuse
        np.testing.assert_allclose(x.numpy(), [1.2])
        self.assertEqual(scaler.minimize(optimizer, loss)[0], [])
        np.testing.assert_allclose(x.numpy(), [0.8])

    def test_names(self):
        layer = nn.Linear(2, 1)
        self.assertIs(paddle.amp.decorate(layer, level="O2"), layer)
        self.assertFalse(paddle.amp.is_float16_supported() or paddle.amp.is_bfloat16_supported())
        for wrong in ({"level": "O9"}, {"dtype": "int8"}, {"custom_white_list": ["a"], "custom_black_list": ["a"]}):
            self.assertRaises(ValueError, paddle.amp.auto_cast, **wrong)

    def test_programs(self):
        paddle.enable_static()
        try:
            main, startup = paddle.static.Program(), paddle.static.Program()
            with paddle.static.program_guard(main, startup), paddle.static.amp.fp16_guard():
                x = paddle.static.data("x", [2, 2])
                loss = paddle.mean(paddle.static.nn.fc(x, 1))
                lists = paddle.static.amp.CustomOpLists(custom_white_list=["mul"])
                optimizer = paddle.static.amp.decorate(paddle.optimizer.SGD(0.1), lists)
                optimizer.minimize(loss)
            executor = paddle.static.Executor()
            executor.run(startup)
            optimizer.amp_init(paddle.CPUPlace())
            out = [float(executor.run(main, feed={"x": np.ones([2, 2], "float32")}, fetch_list=[loss])[0]) for _ in range(2)]
            self.assertAlmostEqual(out[0] - out[1], 0.3, places=5)
        finally:
            paddle.disable_static()


if __name__ == "__main__":
    unittest.main()
