"""paddle.io: datasets and loaders in Python."""
import math
import threading

from paddle import _names


class Dataset(object):
    """Samples by number: __getitem__ and __len__ are the user's."""

    def __getitem__(self, idx):
        raise NotImplementedError("'__getitem__' not implement in class %s" % type(self).__name__)

    def __len__(self):
        raise NotImplementedError("'__len__' not implement in class %s" % type(self).__name__)


class IterableDataset(Dataset):
    """Samples one after the other: __iter__ is the user's."""

    def __iter__(self):
        raise NotImplementedError("'__iter__' not implement in class %s" % type(self).__name__)

    def __getitem__(self, idx):
        raise RuntimeError("'__getitem__' should not be called for IterableDataset %s" % type(self).__name__)

    def __len__(self):
        raise RuntimeError("'__len__' should not be called for IterableDataset %s" % type(self).__name__)


class TensorDataset(Dataset):
    """Rows of arrays of the same length."""

    def __init__(self, tensors):
        if any(len(t) != len(tensors[0]) for t in tensors):
            raise AssertionError("tensors not have same shape of the 1st dimension")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(t[index] for t in self.tensors)

    def __len__(self):
        return len(self.tensors[0])


class ComposeDataset(Dataset):
    """The fields of several datasets side by side."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets or any(len(d) != len(self.datasets[0]) for d in self.datasets):
            raise AssertionError("input datasets should not be empty and have the same length")

    def __len__(self):
        return len(self.datasets[0])

    def __getitem__(self, idx):
        sample = []
        for dataset in self.datasets:
            fields = dataset[idx]
            sample.extend(fields if isinstance(fields, (list, tuple)) else [fields])
        return tuple(sample)


class ChainDataset(IterableDataset):
    """Iterable datasets one after the other."""

    def __init__(self, datasets):
        self.datasets = list(datasets)

    def __iter__(self):
        for dataset in self.datasets:
            for sample in dataset:
                yield sample


class ConcatDataset(Dataset):
    """Datasets one after the other."""

    def __init__(self, datasets):
        self.datasets = list(datasets)

    def __len__(self):
        return sum(len(d) for d in self.datasets)

    def __getitem__(self, idx):
        idx = idx + len(self) if idx < 0 else idx
        for dataset in self.datasets:
            if idx < len(dataset):
                return dataset[idx]
            idx -= len(dataset)
        raise IndexError("index out of range")


class Subset(Dataset):
    """Some samples of a dataset."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, idx):
        return self.dataset[self.indices[idx]]

    def __len__(self):
        return len(self.indices)


#: (the seed, the executor whose stream began with it)
_stream = (None, None)


def _permutation(n):
    """0 .. n-1 in an order that paddle.seed decides: what the op randperm draws."""
    from skiff import _native

    from paddle import framework
    global _stream
    if n == 0:
        return []
    seed = framework.current_seed()
    if _stream[1] is None or seed != _stream[0]:
        _stream = (seed, _native.Executor(_native.Scope(), seed=None if seed is None else seed[0]))
    program = _native.Program()
    program.generation = 2
    out = program.block(0).create_var(name="order")
    program.block(0).append_op(type="randperm", inputs={}, outputs={"Out": out},
                               attrs={"n": n, "dtype": 3, "seed": 0})
    return _stream[1].run(program, {}, [out], return_numpy=True)[0].tolist()


def random_split(dataset, lengths, generator=None):
    """Disjoint parts, drawn at random."""
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = _permutation(len(dataset))
    out, at = [], 0
    for n in lengths:
        out.append(Subset(dataset, order[at:at + n]))
        at += n
    return out


class Sampler(object):
    """Base: numbers of samples in some order."""

    def __init__(self, data_source=None):
        self.data_source = data_source

    def __iter__(self):
        raise NotImplementedError


class SequenceSampler(Sampler):
    """0, 1, 2, ..."""

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler):
    """A random order, or draws."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        super(RandomSampler, self).__init__(data_source)
        self.replacement, self._num_samples, self.generator = replacement, num_samples, generator

    @property
    def num_samples(self):
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        import numpy
        n = len(self.data_source)
        if self.replacement:
            return iter(numpy.random.choice(n, self.num_samples).tolist())
        return iter(numpy.random.permutation(n)[:self.num_samples].tolist())

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The given numbers in random order."""

    def __init__(self, indices):
        super(SubsetRandomSampler, self).__init__()
        self.indices = indices

    def __iter__(self):
        return iter([self.indices[i] for i in _permutation(len(self.indices))])

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Draws by weights."""

    def __init__(self, weights, num_samples, replacement=True):
        super(WeightedRandomSampler, self).__init__()
        self.weights, self.num_samples, self.replacement = weights, num_samples, replacement

    def __iter__(self):
        import numpy
        p = numpy.asarray(self.weights, "float64")
        return iter(numpy.random.choice(len(p), self.num_samples, self.replacement, p / p.sum()).tolist())

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of batch_size numbers."""

    def __init__(self, dataset=None, sampler=None, shuffle=False, batch_size=1, drop_last=False):
        if (dataset is None) == (sampler is None):
            raise AssertionError("either dataset or sampler should be set")
        if not isinstance(batch_size, int) or batch_size <= 0:
            raise AssertionError("batch_size should be a positive integer, but got %s" % batch_size)
        super(BatchSampler, self).__init__(dataset)
        self.sampler = sampler if sampler is not None else RandomSampler(dataset) if shuffle else SequenceSampler(dataset)
        self.batch_size, self.shuffle, self.drop_last = batch_size, shuffle, drop_last

    def __iter__(self):
        batch = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else (n + self.batch_size - 1) // self.batch_size


class DistributedBatchSampler(BatchSampler):
    """The part of the numbers that belongs to this process."""

    def __init__(self, dataset, batch_size, num_replicas=None, rank=None, shuffle=False, drop_last=False):
        from paddle import distributed
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, batch_size, shuffle, drop_last
        if not isinstance(batch_size, int) or batch_size <= 0:
            raise AssertionError("batch_size should be a positive integer")
        self.nranks = distributed.get_world_size() if num_replicas is None else num_replicas
        self.local_rank = distributed.get_rank() if rank is None else rank
        self.epoch = 0
        self.num_samples = int(math.ceil(len(dataset) * 1.0 / self.nranks))
        self.total_size = self.num_samples * self.nranks

    def __iter__(self):
        import numpy
        n = len(self.dataset)
        order = list(range(n))
        order += order[:self.total_size - n]
        if self.shuffle:
            numpy.random.RandomState(self.epoch).shuffle(order)
            self.epoch += 1
        batch = []
        for index in _share(order, self.nranks, self.local_rank, self.batch_size):
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self):
        n = self.num_samples
        return n // self.batch_size if self.drop_last else (n + self.batch_size - 1) // self.batch_size

    def set_epoch(self, epoch):
        """Decides the order of the next shuffle."""
        self.epoch = epoch


def _share(order, nranks, rank, batch_size):
    """Every nranks-th batch; what is left over is shared evenly."""
    if nranks == 1:
        return order
    left = len(order) % (batch_size * nranks)
    whole = len(order) - left
    mine = []
    for at in range(rank * batch_size, whole, batch_size * nranks):
        mine.extend(order[at:at + batch_size])
    each = left // nranks
    return mine + order[whole + rank * each:whole + (rank + 1) * each]


def default_collate_fn(batch):
    """Fields of samples, stacked."""
    import numbers
    import numpy
    sample = batch[0]
    if isinstance(sample, numpy.ndarray):
        return numpy.stack(batch, axis=0)
    if isinstance(sample, (numbers.Number, numpy.generic)):
        return numpy.array(batch)
    if isinstance(sample, (str, bytes)):
        return batch
    if isinstance(sample, dict):
        return {key: default_collate_fn([d[key] for d in batch]) for key in sample}
    if isinstance(sample, (list, tuple)):
        if any(len(s) != len(sample) for s in batch):
            raise RuntimeError("fields number not same among a batch data")
        return [default_collate_fn(fields) for fields in zip(*batch)]
    if hasattr(sample, "__array__"):
        return numpy.stack([numpy.asarray(s) for s in batch], axis=0)
    raise TypeError("batch data con only contains: tensor, numpy.ndarray, dict, list, number, but got %s" % type(sample))


default_convert_fn = list


class WorkerInfo(object):
    """id, num_workers, dataset and seed of the worker that is reading; not to be changed."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __setattr__(self, key, value):
        raise RuntimeError("Cannot assign attributes to WorkerInfo objects")


#: .info: what get_worker_info gives on this thread
_reading = threading.local()


class DataLoader(object):
    """Batches of a dataset, as lists of arrays. num_workers > 0: a thread reads ahead and plays the workers
    in turn, so that order and content are those of Paddle's processes."""

    def __init__(self, dataset, feed_list=None, places=None, return_list=True, batch_sampler=None, batch_size=1,
                 shuffle=False, drop_last=False, collate_fn=None, num_workers=0, use_buffer_reader=True, prefetch_factor=2,
                 use_shared_memory=True, timeout=0, worker_init_fn=None, persistent_workers=False):
        if not isinstance(num_workers, int) or num_workers < 0:
            raise AssertionError("num_workers should be a non-negative value")
        if not return_list and feed_list is None:
            raise AssertionError("feed_list should be set when return_list=False")
        self.dataset, self.feed_list, self.return_list, self.num_workers = dataset, feed_list, return_list, num_workers
        self.batch_sampler, self.collate_fn, self._ahead = batch_sampler, collate_fn or default_collate_fn, prefetch_factor
        self._worker_init_fn = worker_init_fn
        self.places = places
        self.drop_last, self.batch_size = drop_last, batch_size
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable and shuffle:
            raise ValueError("IterableDataset not support shuffle, but got shuffle=%s" % shuffle)
        if self._iterable and batch_sampler is not None:
            raise ValueError("IterableDataset expect unspecified batch_sampler")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or drop_last:
                raise AssertionError("batch_size/shuffle/drop_last should not be set when batch_sampler is given")
            self.batch_size = None
        elif not self._iterable and batch_size is not None:
            self.batch_sampler = BatchSampler(dataset, shuffle=shuffle, batch_size=batch_size, drop_last=drop_last)

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
        return len(self.batch_sampler) if self.batch_size is not None or self.batch_sampler is not None else len(self.dataset)

    def _batches(self, dataset):
        if not self._iterable:
            if self.batch_sampler is None:
                for i in range(len(dataset)):
                    yield self._feed(dataset[i])
                return
            for indices in self.batch_sampler:
                yield self._feed(self.collate_fn([dataset[i] for i in indices]))
            return
        if self.batch_size is None:
            for sample in dataset:
                yield self._feed(sample)
            return
        batch = []
        for sample in dataset:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self._feed(self.collate_fn(batch))
                batch = []
        if batch and not self.drop_last:
            yield self._feed(self.collate_fn(batch))

    def _by_workers(self):
        """The batches of num_workers workers in turn. Workers share the batches of a dataset with numbers; of an iterable one
        each reads its own copy, which get_worker_info lets it make a part of."""
        import copy
        shared = None if self._iterable else self._batches(self.dataset)
        turns = []
        for i in range(self.num_workers):
            dataset = copy.copy(self.dataset) if self._iterable else self.dataset
            info = WorkerInfo(id=i, num_workers=self.num_workers, dataset=dataset, seed=i)
            turns.append((info, shared or self._batches(dataset)))
            _reading.info = info
            if self._worker_init_fn is not None:
                self._worker_init_fn(i)
        while turns:
            turn = turns.pop(0)
            _reading.info = turn[0]
            for batch in turn[1]:
                yield batch
                turns.append(turn)
                break

    def _feed(self, fields):
        if self.return_list:
            return fields
        names = [v if isinstance(v, str) else v.name for v in self.feed_list]
        return dict(zip(names, fields))

    def __iter__(self):
        return self._read_ahead() if self.num_workers > 0 else self._batches(self.dataset)

    __call__ = __iter__

    def _read_ahead(self):
        """A thread reads up to num_workers * prefetch_factor batches ahead; leaving the loop early ends it."""
        import queue
        waiting, done = queue.Queue(max(1, self.num_workers * self._ahead)), threading.Event()

        def offer(item):
            while not done.is_set():
                try:
                    waiting.put(item, timeout=0.1)
                    return True
                except queue.Full:
                    continue
            return False

        def work():
            try:
                for batch in self._by_workers():
                    if not offer((batch, None)):
                        return
                offer((None, None))
            except BaseException as problem:
                offer((None, problem))

        thread = threading.Thread(target=work, name="paddle.io.DataLoader", daemon=True)
        thread.start()
        try:
            while True:
                batch, problem = waiting.get()
                if problem is not None:
                    raise problem
                if batch is None:
                    return
                yield batch
        finally:
            done.set()
            thread.join()


def get_worker_info():
    """Which worker of a DataLoader reads here (id, num_workers, dataset, seed); None outside of one."""
    return getattr(_reading, "info", None)


__getattr__ = _names.guard(__name__)
