"""Samplers: the numbers of samples, one by one or in batches. Shuffling draws from numpy's global state."""
import math

from paddle.io.dataset import IterableDataset, permutation


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
    """A random order; with replacement: draws. generator: an iterator that gives the numbers instead."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        super().__init__(data_source)
        if not isinstance(replacement, bool):
            raise TypeError("expect boolean value for replacement, but got replacement=%s" % (replacement,))
        if num_samples is not None and not replacement:
            raise ValueError("num_samples should not be specified while replacement is False")
        self.replacement, self._num_samples, self.generator = replacement, num_samples, generator
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError("num_samples should be a positive integer, but got num_samples=%s" % (self.num_samples,))

    @property
    def num_samples(self):
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        import itertools
        import numpy
        if self.generator:
            yield from itertools.islice(self.generator, self.num_samples)
            return
        n = len(self.data_source)
        yield from numpy.random.choice(numpy.arange(n), self.num_samples if self.replacement else n,
                                       replace=self.replacement).tolist()

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The given numbers in an order that paddle.seed decides."""

    def __init__(self, indices):
        super().__init__()
        if len(indices) == 0:
            raise ValueError("The length of `indices` in SubsetRandomSampler should be greater than 0.")
        self.indices = indices

    def __iter__(self):
        return iter([self.indices[i] for i in permutation(len(self.indices))])

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Draws by weights; of a matrix of weights, for every row."""

    def __init__(self, weights, num_samples, replacement=True):
        super().__init__()
        if not isinstance(num_samples, int) or num_samples <= 0:
            raise ValueError("num_samples should be a positive integer")
        if not isinstance(replacement, bool):
            raise ValueError("replacement should be a boolean value")
        self.weights, self.num_samples, self.replacement = weights, num_samples, replacement

    def _rows(self):
        import numpy
        weights = numpy.array(self.weights.numpy() if hasattr(self.weights, "numpy") else self.weights)
        if weights.ndim > 2:
            raise AssertionError("weights should be a 1-D or 2-D array")
        rows = weights.reshape((-1, weights.shape[-1]))
        if not (numpy.all(rows >= 0.0) and numpy.all(numpy.isfinite(rows))):
            raise AssertionError("weights should be positive values")
        least = (rows > 0.0).sum(axis=1).min()
        if least == 0:
            raise AssertionError("weights should have positive values")
        if not self.replacement and least < self.num_samples:
            raise AssertionError("weights positive value number should not less than num_samples when replacement=False")
        return rows / rows.sum(axis=1, keepdims=True)

    def __iter__(self):
        import numpy
        return iter([int(i) for row in self._rows()
                     for i in numpy.random.choice(len(row), self.num_samples, self.replacement, row)])

    def __len__(self):
        return self.num_samples * len(self._rows())


def _check_batches(batch_size, shuffle, drop_last):
    if not isinstance(batch_size, int) or batch_size <= 0:
        raise AssertionError("batch_size should be a positive integer, but got %s" % (batch_size,))
    if not isinstance(shuffle, bool):
        raise AssertionError("shuffle should be a boolean value, but got %s" % type(shuffle))
    if not isinstance(drop_last, bool):
        raise AssertionError("drop_last should be a boolean value, but got %s" % type(drop_last))


def _batches(numbers, batch_size, drop_last):
    batch = []
    for number in numbers:
        batch.append(number)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch and not drop_last:
        yield batch


def _count(n, batch_size, drop_last):
    return n // batch_size if drop_last else (n + batch_size - 1) // batch_size


class BatchSampler(Sampler):
    """Lists of batch_size numbers."""

    def __init__(self, dataset=None, sampler=None, shuffle=False, batch_size=1, drop_last=False):
        if (dataset is None) == (sampler is None):
            raise AssertionError("either dataset or sampler should be set")
        _check_batches(batch_size, shuffle, drop_last)
        if isinstance(dataset, IterableDataset):
            raise AssertionError("dataset should not be a paddle.io.IterableDataset")
        if sampler is not None and not isinstance(sampler, Sampler):
            raise AssertionError("sampler should be a paddle.io.Sampler, but got %s" % type(sampler))
        if sampler is not None and shuffle:
            raise AssertionError("shuffle should be False when sampler is set")
        super().__init__(dataset)
        self.sampler = sampler if sampler is not None else RandomSampler(dataset) if shuffle else SequenceSampler(dataset)
        self.batch_size, self.shuffle, self.drop_last = batch_size, shuffle, drop_last

    def __iter__(self):
        return _batches(self.sampler, self.batch_size, self.drop_last)

    def __len__(self):
        return _count(len(self.sampler), self.batch_size, self.drop_last)


class DistributedBatchSampler(BatchSampler):
    """The part of the numbers that belongs to this process; shuffled by the number of the epoch."""

    def __init__(self, dataset, batch_size, num_replicas=None, rank=None, shuffle=False, drop_last=False):
        from paddle import distributed
        _check_batches(batch_size, shuffle, drop_last)
        for value, least, what in ((num_replicas, 1, "num_replicas should be a positive integer"),
                                   (rank, 0, "rank should be a non-negative integer")):
            if value is not None and (not isinstance(value, int) or value < least):
                raise AssertionError(what)
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, batch_size, shuffle, drop_last
        self.nranks = distributed.get_world_size() if num_replicas is None else num_replicas
        self.local_rank = distributed.get_rank() if rank is None else rank
        self.epoch = 0
        self.num_samples = int(math.ceil(len(dataset) * 1.0 / self.nranks))
        self.total_size = self.num_samples * self.nranks

    def __iter__(self):
        import numpy
        n = len(self.dataset)
        order = list(range(n)) * (1 + math.ceil((self.total_size - n) / max(n, 1)))
        order = order[:self.total_size]
        if self.shuffle:
            numpy.random.RandomState(self.epoch).shuffle(order)
            self.epoch += 1
        return _batches(_share(order, self.nranks, self.local_rank, self.batch_size), self.batch_size, self.drop_last)

    def __len__(self):
        return _count(self.num_samples, self.batch_size, self.drop_last)

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
