"""fluid.io.PyReader and DataLoader: a thread makes feeds of a Python generator while the program runs."""
import warnings

from paddle import _names, _which
from paddle._mode import mode
from paddle.fluid import core, framework
from paddle.fluid.data_feeder import DataFeeder
from paddle.io.prefetch import Prefetch

__all__ = ["PyReader", "DataLoader", "default_collate_fn"]

class _Loader(object):
    """What PyReader and DataLoader.from_generator share."""

    def __init__(self, feed_list, capacity, use_double_buffer, iterable, return_list, drop_last=True):
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError("feed_list must be a list of Variables, but got %s" % type(feed_list))
        if not iterable and not feed_list:
            if not mode.guard and (not mode.eager or _which.version() < "2"):
                raise ValueError("a reader with iterable=False needs feed_list")
            warnings.warn("Please NOTE: DygraphGeneratorLoader supports iterable mode only. Change to iterable mode.")
            iterable = True
        self._feed_list = list(feed_list or [])
        for var in self._feed_list:
            if not isinstance(var, framework.Variable):
                raise TypeError("feed_list must hold Variables, but got %s" % type(var))
        self._reads_ahead = (capacity or 2) + (3 if use_double_buffer else 2)  # as measured on Paddle 2.6.2
        self._iterable = bool(iterable)
        self._return_list = bool(return_list)
        self._drop_last = drop_last
        self._make = None
        self._places = None
        self._ahead = None
        if not self._iterable:
            # Executor.run of this program without feed asks this reader
            notes = self._feed_list[0].program.__dict__
            notes["_readers"] = notes.get("_readers", []) + [self]

    @property
    def iterable(self):
        return self._iterable

    @property
    def queue(self):
        return self._ahead

    # ---- sources of data ----

    def _set(self, make, places):
        if places is not None and not isinstance(places, (list, tuple)):
            places = [places]
        if self._iterable and places is None:
            places = framework.cpu_places(1)
        self._places = places
        self._make = make
        return self

    def set_sample_generator(self, reader, batch_size, drop_last=True, places=None):
        """reader() yields samples."""
        if batch_size <= 0:
            raise AssertionError("batch_size must be larger than 0")
        from paddle.batch import batch
        one = (lambda: ((row,) if not isinstance(row, (list, tuple)) else row for row in reader()))
        return self.set_sample_list_generator(batch(one, batch_size, drop_last), places)

    def set_sample_list_generator(self, reader, places=None):
        """reader() yields lists of samples."""
        feeder = DataFeeder(self._feed_list, core.CPUPlace()) if self._feed_list else None

        def make():
            for rows in reader():
                if feeder is None:
                    yield [core.LoDTensor(column) for column in _columns(rows)]
                else:
                    yield feeder.feed(rows)

        return self._set(make, places)

    def set_batch_generator(self, reader, places=None):
        """reader() yields arrays or tensors, one per variable."""
        names = [var.name for var in self._feed_list]

        def make():
            for arrays in reader():
                if isinstance(arrays, dict):
                    yield {name: _tensor(value) for name, value in arrays.items()}
                    continue
                if not isinstance(arrays, (list, tuple)):
                    arrays = list(arrays) if self._is_eager() else [arrays]
                values = [_tensor(value) for value in arrays]
                yield dict(zip(names, values)) if names else values

        return self._set(make, places)

    # ---- iterable ----

    def __iter__(self):
        if not self._iterable:
            raise AssertionError("DataLoader is not iterable")
        if self._make is None:
            raise AssertionError("Data source of DataLoader has not set yet")
        return self._iterate(Prefetch(self._make(), self._reads_ahead))

    __call__ = __iter__

    def _iterate(self, ahead):
        places, group = len(self._places), []
        try:
            for item in ahead:
                group.append(item)
                if len(group) == places:
                    yield self._form(group)
                    group = []
            if group and not self._drop_last:
                yield self._form(group)
        finally:
            ahead.stop()

    def _is_eager(self):
        """Programs have variables to feed; without, in the mode of 2.x, the data is for functions that run at once."""
        return mode.guard or mode.eager and not self._feed_list

    def _form(self, group):
        if self._is_eager():
            return _eager(list(group[0].values()) if isinstance(group[0], dict) else group[0])
        if not self._return_list:
            return group if isinstance(group[0], dict) else group[0]
        rows = [list(item.values()) if isinstance(item, dict) else item for item in group]
        return rows[0] if len(rows) == 1 else rows

    # ---- not iterable ----

    def start(self):
        """Begins a pass; Executor.run then takes a batch each."""
        if self._iterable:
            raise AssertionError("start() cannot be called when DataLoader is iterable")
        if self._make is None:
            raise AssertionError("The data source of DataLoader has not set yet")
        if self._ahead is not None:
            raise RuntimeError("the reader is started already: call reset() at the end of a pass")
        self._ahead = Prefetch(self._make(), self._reads_ahead)

    def reset(self):
        """Ends a pass."""
        if self._iterable:
            raise AssertionError("reset() cannot be called when DataLoader is iterable")
        if self._ahead is not None:
            self._ahead.stop()
            self._ahead = None

    def _next(self):
        try:
            return next(self._ahead)
        except StopIteration:
            raise core.EOFException("There is no next data.") from None


def _eager(values):
    """Tensors of eager mode (fluid.dygraph.guard)."""
    from paddle._tensor import Tensor
    return [Tensor(value.numpy() if hasattr(value, "numpy") else value) for value in values]


def _columns(rows):
    import numpy
    return [numpy.array(column) for column in zip(*rows)]


def _tensor(value):
    return value if isinstance(value, core.LoDTensor) else core.LoDTensor(value)


def next_feeds(readers, program, devices):
    """One feed per device from the readers that are started; EOFException when one has ended."""
    started = [reader for reader in readers if reader._ahead is not None]
    if not started:
        if readers and not any(program.global_block().has_var(var.name) for r in readers for var in r._feed_list):
            return [{}] * devices
        raise RuntimeError("the program reads from a reader that is not started: call start() first, or feed the variables")
    feeds = []
    for _ in range(devices):
        feed = {}
        for reader in started:
            feed.update(reader._next())
        feeds.append(feed)
    return feeds


class PyReader(_Loader):
    """The reader of Fluid 1.4 to 1.8."""

    def __init__(self, feed_list=None, capacity=None, use_double_buffer=True, iterable=True, return_list=False):
        _Loader.__init__(self, feed_list, capacity, use_double_buffer, iterable, return_list)

    def decorate_sample_generator(self, sample_generator, batch_size, drop_last=True, places=None):
        self.set_sample_generator(sample_generator, batch_size, drop_last, places)

    def decorate_sample_list_generator(self, reader, places=None):
        self.set_sample_list_generator(reader, places)

    def decorate_batch_generator(self, reader, places=None):
        self.set_batch_generator(reader, places)

    # names of layers.py_reader
    decorate_paddle_reader = decorate_sample_list_generator
    decorate_tensor_provider = decorate_batch_generator


class DataLoader(object):
    """DataLoader.from_generator, DataLoader.from_dataset, or DataLoader(dataset) of a list-like dataset (in this process:
    num_workers is accepted and not used)."""

    def __init__(self, dataset, feed_list=None, places=None, return_list=False, batch_sampler=None, batch_size=1,
                 shuffle=False, drop_last=False, collate_fn=None, num_workers=0, use_buffer_reader=True,
                 use_shared_memory=True, timeout=0, worker_init_fn=None):
        if num_workers < 0:
            raise AssertionError("num_workers should be a non-negative value")
        if timeout < 0:
            raise AssertionError("timeout should be a non-negative value")
        if not return_list and not feed_list:
            raise AssertionError("feed_list should be set when return_list=False")
        self.dataset, self._feed_list, self._return_list = dataset, list(feed_list or []), return_list
        self.batch_sampler, self.batch_size, self._shuffle, self.drop_last = batch_sampler, batch_size, shuffle, drop_last
        self.collate_fn = collate_fn or default_collate_fn
        self.num_workers = num_workers

    def _batches(self):
        import random
        if self.batch_sampler is not None:
            for indices in self.batch_sampler:
                yield [self.dataset[i] for i in indices]
            return
        if hasattr(self.dataset, "__getitem__"):
            order = list(range(len(self.dataset)))
            if self._shuffle:
                random.shuffle(order)
            rows = (self.dataset[i] for i in order)
        else:
            rows = iter(self.dataset)
        from paddle.batch import batch
        for group in batch(lambda: rows, self.batch_size, self.drop_last)():
            yield group

    def __len__(self):
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        whole, rest = divmod(len(self.dataset), self.batch_size)
        return whole + (1 if rest and not self.drop_last else 0)

    def __iter__(self):
        names = [var.name for var in self._feed_list]

        def make():
            for rows in self._batches():
                values = [_tensor(value) for value in self.collate_fn(rows)]
                yield values if self._return_list else [dict(zip(names, values))]

        for item in Prefetch(make(), 5):
            yield _eager(item) if mode.guard and self._return_list else item

    __call__ = __iter__

    @staticmethod
    def from_generator(feed_list=None, capacity=None, use_double_buffer=True, iterable=True, return_list=False,
                       use_multiprocess=False, drop_last=True):
        """A loader whose data set_sample_generator, set_sample_list_generator or set_batch_generator gives."""
        return _Loader(feed_list, capacity, use_double_buffer, iterable, return_list, drop_last)

    @staticmethod
    def from_dataset(dataset, places=None, drop_last=True):
        """The batches of a dataset of DatasetFactory, as feeds."""
        if not hasattr(dataset, "_native"):
            raise AssertionError("dataset must be type of DatasetBase, but got %s" % type(dataset))
        return _DatasetLoader(dataset, places, drop_last)


class _DatasetLoader(object):
    def __init__(self, dataset, places, drop_last):
        places = framework.cpu_places(1) if places is None else places
        self._places = places if isinstance(places, (list, tuple)) else [places]
        self._dataset, self._drop_last = dataset, drop_last

    def __iter__(self):
        self._dataset._prepare()
        group = []
        for feed in self._dataset._native.batches():
            group.append(feed)
            if len(group) == len(self._places):
                yield group
                group = []
        if group and not self._drop_last:
            yield group

    __call__ = __iter__


def default_collate_fn(batch):
    """Columns of a list of samples, as arrays."""
    import numpy
    first = batch[0]
    if isinstance(first, (list, tuple)):
        return [numpy.stack([numpy.asarray(row[i]) for row in batch]) for i in range(len(first))]
    return [numpy.stack([numpy.asarray(row) for row in batch])]


__getattr__ = _names.guard(__name__)
