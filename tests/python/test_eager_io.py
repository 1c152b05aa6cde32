"""paddle.io in eager mode: tensors, sub-processes, the message when one fails. Orders are those of real 2.6.2."""
import os
import signal
import unittest

import numpy as np
import paddle
from paddle._tensor import Tensor
from paddle.io import DataLoader, Dataset, IterableDataset, get_worker_info


class Rows(Dataset):
    def __init__(self, count=7, bad=None, kill=None):
        self.count, self.bad, self.kill = count, bad, kill

    def __getitem__(self, i):
        if i == self.bad:
            raise LookupError("row %d is bad" % i)
        if i == self.kill:
            os.kill(os.getpid(), signal.SIGKILL)
        return np.full([2], i, "float32"), i

    def __len__(self):
        return self.count


class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        for i in range(5):
            if info is None or i % info.num_workers == info.id:
                yield np.array([i], "int64")


def rows_of(loader):
    return [batch[1].numpy().tolist() for batch in loader]


class Batches(unittest.TestCase):
    def test_tensors(self):
        batch = next(iter(DataLoader(Rows(), batch_size=3)))
        self.assertEqual([type(b) for b in batch], [Tensor, Tensor])
        self.assertEqual(batch[0].shape, [3, 2])
        self.assertTrue(batch[0].stop_gradient)
        self.assertEqual(batch[1].numpy().dtype, np.int64)

    def test_nested_samples(self):
        class Mixed(Dataset):
            def __getitem__(self, i):
                return {"a": (i, "name%d" % i), "b": [1.5]}

            def __len__(self):
                return 2
        (batch,) = DataLoader(Mixed(), batch_size=2)
        self.assertEqual(batch["a"][0].numpy().tolist(), [0, 1])
        self.assertEqual(list(batch["a"][1]), ["name0", "name1"])
        self.assertEqual(batch["b"][0].numpy().tolist(), [1.5, 1.5])

    def test_rows_that_do_not_fit(self):
        class Ragged(Dataset):
            def __getitem__(self, i):
                return list(range(i + 1))

            def __len__(self):
                return 2
        with self.assertRaisesRegex(RuntimeError, "fields number not same"):
            list(DataLoader(Ragged(), batch_size=2))

    def test_error_without_workers(self):
        with self.assertRaisesRegex(LookupError, "row 4 is bad"):
            list(DataLoader(Rows(bad=4), batch_size=2))


class Workers(unittest.TestCase):
    def test_order(self):
        want = [[0, 1, 2], [3, 4, 5], [6]]
        for workers in (0, 1, 2, 5):
            self.assertEqual(rows_of(DataLoader(Rows(), batch_size=3, num_workers=workers)), want)

    def test_persistent_workers_stay(self):
        class Who(Rows):
            def __getitem__(self, i):
                return os.getpid(), i
        loader = DataLoader(Who(), batch_size=1, num_workers=2, persistent_workers=True)
        epochs = [sorted({int(pid.numpy()[0]) for pid, _ in loader}) for _ in range(2)]
        self.assertEqual(epochs[0], epochs[1])
        self.assertEqual(len(epochs[0]), 2)
        self.assertNotIn(os.getpid(), epochs[0])

    def test_streams(self):
        loader = DataLoader(Stream(), batch_size=2, num_workers=2, persistent_workers=True)
        for _ in range(2):
            self.assertEqual([b.numpy().ravel().tolist() for b in loader], [[0, 2], [1, 3], [4]])

    def test_an_error_says_where(self):
        with self.assertRaisesRegex(LookupError, "row 4 is bad") as caught:
            list(DataLoader(Rows(bad=4), batch_size=2, num_workers=2))
        cause = str(caught.exception.__cause__)
        self.assertIn("worker 0 of a DataLoader, rows 4, 5", cause)
        self.assertIn("raise LookupError", cause)

    def test_an_error_at_the_start(self):
        def start(worker):
            raise KeyError("no file")
        with self.assertRaisesRegex(KeyError, "no file") as caught:
            list(DataLoader(Rows(), batch_size=2, num_workers=1, worker_init_fn=start))
        self.assertIn("the start of worker 0 of a DataLoader", str(caught.exception.__cause__))

    def test_an_error_that_cannot_be_sent(self):
        class Own(Rows):
            def __getitem__(self, i):
                class Local(Exception):
                    pass
                raise Local("only here")
        with self.assertRaisesRegex(RuntimeError, "Local: only here"):
            list(DataLoader(Own(), num_workers=1))

    def test_a_killed_worker_is_told(self):
        with self.assertRaisesRegex(RuntimeError, r"worker 1 \(pid \d+\) was ended by signal 9"):
            list(DataLoader(Rows(kill=2), batch_size=2, num_workers=2))

    def test_timeout(self):
        class Slow(Rows):
            def __getitem__(self, i):
                import time
                time.sleep(600)
        with self.assertRaisesRegex(RuntimeError, r"timed out: worker 0 \(pid \d+\) has given no batch for 0.2 seconds"):
            list(DataLoader(Slow(), num_workers=1, timeout=0.2))

    def test_leaving_early_ends_the_workers(self):
        class Who(Rows):
            def __getitem__(self, i):
                return os.getpid()
        batches = iter(DataLoader(Who(1000), batch_size=1, num_workers=2))
        pid = int(next(batches).numpy()[0])
        batches.close()
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)

    def test_large_batches_do_not_stall(self):
        class Large(Dataset):
            def __getitem__(self, i):
                return np.full([50000], i, "float32")

            def __len__(self):
                return 60
        order = [int(b.numpy()[0, 0]) for b in DataLoader(Large(), batch_size=10, num_workers=2, prefetch_factor=3)]
        self.assertEqual(order, [0, 10, 20, 30, 40, 50])

    def test_workers_draw_apart(self):
        class Draws(Rows):
            def __getitem__(self, i):
                return np.random.rand()
        np.random.seed(1)
        first = [float(b.numpy()[0]) for b in DataLoader(Draws(2), num_workers=2)]
        np.random.seed(1)
        again = [float(b.numpy()[0]) for b in DataLoader(Draws(2), num_workers=2)]
        self.assertEqual(first, again)
        self.assertNotEqual(first[0], first[1])

    def test_wrong_arguments(self):
        for arguments, what in (({"num_workers": -1}, "num_workers should be"), ({"timeout": -1}, "timeout should be"),
                                ({"prefetch_factor": 0}, "prefetch_factor should be"), ({"batch_size": 0}, "batch_size should")):
            with self.assertRaisesRegex(AssertionError, what):
                DataLoader(Rows(), **arguments)
        info = paddle.io.WorkerInfo(id=1)
        with self.assertRaisesRegex(RuntimeError, "Cannot assign"):
            info.id = 2


class Samplers(unittest.TestCase):
    def test_wrong_arguments(self):
        io = paddle.io
        for kind, make in ((ValueError, lambda: io.RandomSampler(Rows(), num_samples=3)),
                           (TypeError, lambda: io.RandomSampler(Rows(), replacement=1)),
                           (ValueError, lambda: io.WeightedRandomSampler([1.0], 0)),
                           (AssertionError, lambda: list(io.WeightedRandomSampler([1.0, 0.0], 2, False))),
                           (AssertionError, lambda: io.BatchSampler(Stream())),
                           (AssertionError, lambda: io.ConcatDataset([])),
                           (AssertionError, lambda: io.ChainDataset([Rows()])),
                           (IndexError, lambda: io.ConcatDataset([Rows(2)])[2]),
                           (ValueError, lambda: io.random_split(Rows(3), [1, 1]))):
            self.assertRaises(kind, make)

    def test_more_ranks_than_rows(self):
        parts = [list(paddle.io.DistributedBatchSampler(Rows(2), 1, 5, rank)) for rank in range(5)]
        self.assertEqual(parts, [[[0]], [[1]], [[0]], [[1]], [[0]]])


if __name__ == "__main__":
    unittest.main()
