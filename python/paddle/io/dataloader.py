"""DataLoader: batches of a dataset, read here or by sub-processes."""
from paddle._mode import mode
from paddle.io.collate import default_collate_fn, default_convert_fn, to_lod_tensors, to_tensors
from paddle.io.dataset import IterableDataset
from paddle.io.prefetch import Prefetch
from paddle.io.sampler import BatchSampler


class DataLoader(object):
    """Batches of a dataset: Tensors, in the form of the dataset's rows (static mode: LoDTensors; return_list=False: a list with
    a feed for each place). num_workers > 0: sub-processes read ahead; order and content are those of none."""

    def __init__(self, dataset, feed_list=None, places=None, return_list=True, batch_sampler=None, batch_size=1,
                 shuffle=False, drop_last=False, collate_fn=None, num_workers=0, use_buffer_reader=True, prefetch_factor=2,
                 use_shared_memory=True, timeout=0, worker_init_fn=None, persistent_workers=False):
        if not isinstance(num_workers, int) or num_workers < 0:
            raise AssertionError("num_workers should be a non-negative value")
        if prefetch_factor <= 0:
            raise AssertionError("prefetch_factor should be a positive value")
        if timeout < 0:
            raise AssertionError("timeout should be a non-negative value")
        if not return_list and not mode.eager and feed_list is None:
            raise AssertionError("feed_list should be set when return_list=False")
        self.dataset, self.feed_list, self.return_list, self.num_workers = dataset, feed_list, return_list, num_workers
        self.prefetch_factor, self.timeout, self.worker_init_fn = prefetch_factor, timeout, worker_init_fn
        self.places, self.drop_last, self.batch_size = places, drop_last, batch_size
        self._ahead = prefetch_factor + (3 if use_buffer_reader else 2)  # batches, as measured on Paddle 2.6.2
        self._iterable = isinstance(dataset, IterableDataset)
        self._persistent, self._pool = persistent_workers, None
        self.batch_sampler = self._sampler(batch_sampler, shuffle)
        by_batch = self.batch_sampler is not None or batch_size is not None
        self.collate_fn = collate_fn or (default_collate_fn if by_batch else default_convert_fn)

    def _sampler(self, given, shuffle):
        if self._iterable and shuffle:
            raise ValueError("IterableDataset not support shuffle, but got shuffle=%s" % shuffle)
        if self._iterable and given is not None:
            raise ValueError("IterableDataset expect unspecified batch_sampler")
        if given is not None:
            if self.batch_size != 1 or shuffle or self.drop_last:
                raise AssertionError("batch_size/shuffle/drop_last should not be set when batch_sampler is given")
            self.batch_size = None
            return given
        if self.batch_size is None:
            return None
        if not self.batch_size > 0:
            raise AssertionError("batch_size should be None or a positive value when batch_sampler is not given")
        if self._iterable:
            return None
        return BatchSampler(self.dataset, shuffle=shuffle, batch_size=self.batch_size, drop_last=self.drop_last)

    @staticmethod
    def from_generator(feed_list=None, capacity=None, use_double_buffer=True, iterable=True, return_list=False,
                       use_multiprocess=False, drop_last=True):
        """The loader of generators (fluid.io.DataLoader.from_generator)."""
        from paddle.fluid.io import DataLoader as Fluid
        return Fluid.from_generator(feed_list=feed_list, capacity=capacity, use_double_buffer=use_double_buffer,
                                    iterable=iterable, return_list=return_list, use_multiprocess=use_multiprocess,
                                    drop_last=drop_last)

    @staticmethod
    def from_dataset(dataset, places, drop_last=True):
        """The loader of a QueueDataset or InMemoryDataset."""
        from paddle.fluid.io import DataLoader as Fluid
        return Fluid.from_dataset(dataset, places, drop_last)

    def __len__(self):
        if self._iterable:
            raise ValueError("length of IterableDataset not supported")
        return len(self.dataset) if self.batch_sampler is None else len(self.batch_sampler)

    # ---- what is read, here and in sub-processes ----

    def _tasks(self):
        """What fetchers are asked for, one after the other: numbers of rows. Streams know theirs: None, without an end."""
        if self._iterable:
            while True:
                yield None
        yield from range(len(self.dataset)) if self.batch_sampler is None else self.batch_sampler

    def _fetcher(self):
        """A function task -> batch; StopIteration: a stream is over."""
        dataset, collate = self.dataset, self.collate_fn
        if not self._iterable:
            if self.batch_sampler is None:
                return lambda task: collate(dataset[task])
            return lambda task: collate([dataset[i] for i in task])
        rows = iter(dataset)
        if self.batch_size is None:
            return lambda task: collate(next(rows))
        return lambda task: collate(self._rows(rows))

    def _rows(self, rows):
        batch = []
        for row in rows:
            batch.append(row)
            if len(batch) == self.batch_size:
                return batch
        if not batch or self.drop_last:
            raise StopIteration
        return batch

    @staticmethod
    def _told(task):
        """A task in a message."""
        if task is None:
            return "the next rows of the stream"
        numbers = task if isinstance(task, (list, tuple)) else [task]
        shown = ", ".join(str(n) for n in numbers[:8]) + (", ..." if len(numbers) > 8 else "")
        return "row%s %s" % ("" if len(numbers) == 1 else "s", shown)

    def _feeds(self, batches):
        """What the loop gets of batches of arrays. In static mode one for each place; what is left over at the end goes."""
        if mode.eager:
            for batch in batches:
                yield to_tensors(batch)
            return
        places = len(self.places) if isinstance(self.places, (list, tuple)) else 1
        group = []
        for batch in batches:
            group.append(to_lod_tensors(batch))
            if len(group) < places:
                continue
            if not self.return_list:
                yield [self._named(one) for one in group]
            else:
                yield group if places > 1 else group[0]
            group = []

    def _named(self, batch):
        values = batch if isinstance(batch, (list, tuple)) else [batch]
        return dict(zip([v if isinstance(v, str) else v.name for v in self.feed_list], values))

    # ---- loops ----

    def __iter__(self):
        return self._feeds(self._by_workers() if self.num_workers > 0 else Prefetch(self._here(), self._ahead))

    __call__ = __iter__

    def _here(self):
        fetch = self._fetcher()
        for task in self._tasks():
            try:
                batch = fetch(task)
            except StopIteration:
                return
            yield batch

    def _by_workers(self):
        pool = self._pool or _Pool(self)
        self._pool = pool if self._persistent else None
        done = False
        try:
            yield from pool.batches(self._tasks(), self.prefetch_factor, self.timeout)
            done = True
        finally:
            if not (done and self._persistent):  # workers of a loop that was left are in the middle of something
                self._pool = None
                pool.close()


class _Pool(object):
    """The sub-processes of one loader."""

    def __init__(self, loader):
        import sys
        import numpy
        from paddle.io.worker import Plan, Worker
        base = int(numpy.random.randint(low=0, high=sys.maxsize))
        plan = Plan(loader)
        self._workers, self._used = [], False
        for i in range(loader.num_workers):
            self._workers.append(Worker(plan, i, base, [w.connection for w in self._workers]))

    def batches(self, tasks, ahead, timeout):
        """Batches in the order of their tasks, which go round the workers."""
        from paddle.io.worker import Failed, Stopped
        workers = list(self._workers)
        if self._used:
            for worker in workers:
                worker.ask("again")
        self._used = True
        waiting = []  # workers that owe a batch, in the order in which it is wanted
        turn = [w for _ in range(ahead) for w in workers]
        for worker in turn:
            self._ask(worker, tasks, waiting)
        while waiting:
            worker = waiting.pop(0)
            got = worker.answer(timeout)
            if isinstance(got, Failed):
                got.raise_again()
            if isinstance(got, Stopped):  # its other questions are answered alike
                for _ in range(waiting.count(worker)):
                    waiting.remove(worker)
                    worker.answer(timeout)
                continue
            self._ask(worker, tasks, waiting)
            yield got

    @staticmethod
    def _ask(worker, tasks, waiting):
        for task in tasks:
            worker.ask(task)
            waiting.append(worker)
            break

    def close(self):
        for worker in self._workers:
            worker.close()
        for worker in self._workers:
            worker.join()

    def __del__(self):
        self.close()
