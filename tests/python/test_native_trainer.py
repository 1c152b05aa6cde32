"""skiff.Trainer: what `skiff train` does, from Python."""
import math
import os
import signal
import tempfile
import threading
import unittest

import skiff
from skiff import _native as N

L = N.layers
EXAMPLE = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "mymodel")


class ConfigTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.options = ["runner.model=./mymodel.yaml", "runner.model_save_path=" + os.path.join(self.folder.name, "out")]

    def trainer(self, *options, **keywords):
        return skiff.Trainer(os.path.join(EXAMPLE, "config.yaml"), self.options + list(options), **keywords)

    def test_validation_report_and_resume(self):
        lines = []
        t = self.trainer("runner.epochs=2", "runner.valid_data_dir=clicks.csv")
        t.add_observer(line=lines.append)
        result = t.run()
        self.assertEqual(result["epochs"], 2)
        self.assertEqual(result["samples"], 1200)
        self.assertGreater(result["valid_auc"], 0.5)
        self.assertIn(result["best_epoch"], (0, 1))
        self.assertTrue(any(x.startswith("valid: epoch 1: auc %.4f" % result["valid_auc"]) for x in lines), lines)
        self.assertTrue(os.path.exists(os.path.join(self.folder.name, "out", "report.html")))
        again = self.trainer("runner.epochs=3", resume=True).run()
        self.assertEqual(again["epochs"], 1)
        self.assertLess(again["loss"], result["loss"])

    def test_errors(self):
        with self.assertRaisesRegex(OSError, "none.yaml"):
            skiff.Trainer("/none.yaml", quiet=True)
        with self.assertRaisesRegex(ValueError, "runner.epochz"):
            self.trainer("runner.epochz=1").run()
        t = self.trainer("runner.epochs=1")
        with self.assertRaisesRegex(TypeError, "callable"):
            t.add_observer(begin=3)
        t.run()
        with self.assertRaisesRegex(Exception, "has run"):
            t.run()


class NetTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        rows = os.path.join(self.folder.name, "rows")
        with open(rows, "w") as out:
            for i in range(200):
                out.write("1 %g 1 %g\n" % (i / 200, 2 * i / 200 + 1))
        self.net = N.Net()
        x, y = L.data(self.net, "x", [1]), L.data(self.net, "y", [1])
        loss = L.mean(self.net, L.square_error_cost(self.net, L.fc(self.net, x, 1), y))
        N.Optimizer(self.net, "sgd", 0.1).minimize(loss)
        data = N.Dataset("QueueDataset")
        data.set_vars([x, y])
        data.set_batch_size(10)
        data.set_files([rows])
        self.trainer = skiff.Trainer(options=["runner.epochs=3", "runner.model_save_path=" + self.folder.name + "/out"],
                                     quiet=True, net=self.net, inputs=[x, y], loss=loss, dataset=data)

    def test_observers(self):
        seen = {"batches": 0, "saved": []}
        epochs = []

        def batch(thread, samples):
            seen["batches"] += 1
            self.assertEqual(samples, 10)

        self.trainer.add_observer(batch=batch, end=epochs.append, saved=lambda epoch, folder: seen["saved"].append((epoch, folder)))
        result = self.trainer.run()
        self.assertEqual(seen["batches"], 60)
        self.assertEqual([e["epoch"] for e in epochs], [0, 1, 2])
        self.assertEqual(result["loss"], epochs[-1]["loss"])
        self.assertLess(epochs[2]["loss"], epochs[0]["loss"])
        self.assertTrue(math.isnan(result["auc"]))
        self.assertEqual(seen["saved"][2], (2, self.folder.name + "/out/2"))
        self.assertTrue(os.path.isdir(seen["saved"][2][1]))

    def test_an_observer_ends_it(self):
        self.trainer.add_observer(end=lambda epoch: epoch["epoch"] == 1)
        result = self.trainer.run()
        self.assertEqual(result["epochs"], 2)
        self.assertFalse(result["stopped"])

    def test_exceptions_of_observers_are_raised(self):
        def fail(epoch):
            raise KeyError("mine")

        self.trainer.add_observer(begin=fail)
        with self.assertRaisesRegex(KeyError, "mine"):
            self.trainer.run()

    def test_stop_from_another_thread(self):
        started = threading.Event()
        stopper = threading.Thread(target=lambda: (started.wait(), self.trainer.stop()))
        stopper.start()

        def batch(thread, samples):
            started.set()
            stopper.join()

        self.trainer.add_observer(batch=batch)
        result = self.trainer.run()
        self.assertTrue(result["stopped"])
        self.assertLess(result["samples"], 200)

    def test_interrupt(self):
        self.trainer.add_observer(begin=lambda epoch: os.kill(os.getpid(), signal.SIGINT))
        with self.assertRaises(KeyboardInterrupt):
            self.trainer.run()
        self.assertTrue(self.trainer.result["stopped"])


if __name__ == "__main__":
    unittest.main()
