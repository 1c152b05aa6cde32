"""Datasets and training from them."""
import os
import signal
import tempfile
import threading
import time
import unittest

import numpy as np

from skiff import _native as N

L = N.layers


def write_files(folder, files=2, lines=50):
    names = []
    for f in range(files):
        names.append(os.path.join(folder, "part-%d" % f))
        with open(names[-1], "w") as out:
            for i in range(lines):
                k = f * lines + i
                out.write("2 %d %d 1 %g\n" % (k % 10, (k + 1) % 10, k % 10))
    return names


def network(net):
    ids = L.data(net, "ids", [1], dtype="int64", lod_level=1)
    y = L.data(net, "y", [1])
    p = L.fc(net, L.sequence_pool(net, L.embedding(net, ids, 10, 4), "sum"), 1)
    return ids, y, L.mean(net, L.square_error_cost(net, p, y))


class TrainTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.files = write_files(self.folder.name)
        self.net = N.Net()
        self.ids, self.y, self.loss = network(self.net)
        N.Optimizer(self.net, "sgd", 0.01).minimize(self.loss)
        self.exe = N.Executor()
        self.exe.run(self.net.startup)

    def dataset(self, kind="QueueDataset", batch=10):
        d = N.Dataset(kind)
        d.set_vars([self.ids, self.y])
        d.set_batch_size(batch)
        d.set_files(self.files)
        d.set_pipe_command("cat")
        return d

    def test_train(self):
        lines = []
        d = self.dataset()
        first = self.exe.train(self.net.main, d, fetch_list=[self.loss], fetch_info=["loss"], print_period=2, print=lines.append)
        self.assertEqual((first["batches"], first["samples"], first["stopped"]), (10, 100, False))
        self.assertEqual(len(lines), 5)
        self.assertIn("loss", lines[0])
        for _ in range(60):
            self.exe.train(self.net.main, d)
        feed = {"ids": N.Tensor(np.array([[3], [4]], "int64"), [[2]]), "y": [[3.0]]}
        test = self.net.main.clone(for_test=True)
        self.assertLess(self.exe.run(test, feed, [self.loss.name], return_numpy=True)[0][0], 2.0)

    def test_infer_changes_nothing(self):
        before = np.array(self.exe.scope.find("fc_0.w_0"))
        r = self.exe.infer(self.net.main, self.dataset(), threads=1)
        self.assertEqual(r["samples"], 100)
        np.testing.assert_array_equal(np.array(self.exe.scope.find("fc_0.w_0")), before)

    def test_in_memory(self):
        d = self.dataset("InMemoryDataset")
        d.load()
        self.assertEqual(d.memory_size, 100)
        order = [np.array(b["y"]).ravel().tolist() for b in d.batches()]
        self.assertEqual((len(order), order[0]), (10, [float(i) for i in range(10)]))
        d.local_shuffle(3)
        shuffled = [v for b in d.batches() for v in np.array(b["y"]).ravel()]
        self.assertNotEqual(shuffled, sum(order, []))
        self.assertEqual(sorted(shuffled), sorted(sum(order, [])))
        d.slots_shuffle(["ids"], 5)
        self.assertEqual(self.exe.train(self.net.main, d)["samples"], 100)
        d.release()
        self.assertEqual(d.memory_size, 0)
        d.preload(2)
        d.wait_preload()
        self.assertEqual(d.memory_size, 100)

    def test_batches(self):
        batches = list(self.dataset(batch=30).batches())
        self.assertEqual([len(b["y"]) for b in batches], [30, 30, 30, 10])
        self.assertEqual(batches[0]["ids"].recursive_sequence_lengths(), [[2] * 30])
        self.assertEqual(batches[0]["ids"].shape, (60, 1))

    def test_handler(self):
        values, threads = [], set()

        def handler(tensors):
            threads.add(threading.get_ident())
            values.append([None if t is None else float(np.asarray(t).ravel()[0]) for t in tensors])

        d = self.dataset()
        d.set_pipe_command("sh -c 'while read l; do echo \"$l\"; sleep 0.02; done'")
        self.exe.train(self.net.main, d, handler_vars=[self.loss, "nobody"], handler_period=0.1, handler=handler)
        self.assertGreaterEqual(len(values), 3)
        self.assertNotIn(threading.get_ident(), threads)
        self.assertTrue(all(v[1] is None for v in values))
        self.assertTrue(any(v[0] is not None for v in values))

    def test_exception_in_callback_stops(self):
        def broken(text):
            raise LookupError("no more")

        with self.assertRaisesRegex(LookupError, "no more"):
            self.exe.train(self.net.main, self.dataset(batch=1), fetch_list=[self.loss], print_period=1, print=broken)
        self.assertEqual(self.exe.train(self.net.main, self.dataset())["samples"], 100)

    def test_interrupt(self):
        # a job in the background is started with SIGINT ignored
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        d = self.dataset()
        d.set_pipe_command("sh -c 'while read l; do echo \"$l\"; sleep 0.05; done'")
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        start = time.time()
        with self.assertRaises(KeyboardInterrupt):
            self.exe.train(self.net.main, d)
        self.assertLess(time.time() - start, 4)

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "QueueDataset or InMemoryDataset"):
            N.Dataset("BoxDataset")
        d = self.dataset()
        with self.assertRaises(ValueError):
            d.set_batch_size(0)
        with self.assertRaises(ValueError):
            self.exe.train(self.net.main, d, fetch_list=[self.loss], fetch_info=["a", "b"])
        with self.assertRaises(TypeError):
            self.exe.train(self.net.main, None)
        with self.assertRaises(TypeError):
            self.exe.train(self.net.main, d, colour=3)
        d.set_files([os.path.join(self.folder.name, "nothing")])
        with self.assertRaises(Exception) as caught:
            self.exe.train(self.net.main, d)
        self.assertIn("nothing", str(caught.exception))
        bad = os.path.join(self.folder.name, "bad")
        with open(bad, "w") as out:
            out.write("2 1 x 1 3\n")
        d = self.dataset("InMemoryDataset")
        d.set_files([bad])
        with self.assertRaisesRegex(ValueError, "bad"):
            d.load()
        d = self.dataset()
        d.set("drop_last", True)
        d.set("no_such_key", 3)
        with self.assertRaisesRegex(ValueError, "no_such_key"):
            self.exe.train(self.net.main, d)


if __name__ == "__main__":
    unittest.main()
