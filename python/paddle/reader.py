"""paddle.reader: functions that make readers of readers. A reader is a function that gives an iterator of samples."""
import itertools
import random
import sys
from collections import deque

__all__ = ["cache", "map_readers", "buffered", "compose", "chain", "shuffle", "ComposeNotAligned", "firstn",
           "xmap_readers", "multiprocess_reader"]

_END = object()


class ComposeNotAligned(ValueError):
    """Readers of compose() gave different numbers of samples."""


class _Failure(object):
    """An exception of a worker thread on its way to the reader's user."""

    def __init__(self, value):
        self.value = value


def cache(reader):
    """Reads everything once, and gives it from memory."""
    rows = tuple(reader())

    def cached():
        for row in rows:
            yield row

    return cached


def map_readers(func, *readers):
    """func of one sample of every reader."""

    def reader():
        for rows in zip(*[r() for r in readers]):
            yield func(*rows)

    return reader


def shuffle(reader, buf_size):
    """Shuffles buf_size samples at a time, with Python's random module."""

    def shuffled():
        buf = []
        for row in reader():
            buf.append(row)
            if len(buf) >= buf_size:
                random.shuffle(buf)
                for item in buf:
                    yield item
                buf = []
        if buf:
            random.shuffle(buf)
            for item in buf:
                yield item

    return shuffled


def chain(*readers):
    """One reader after the other."""

    def reader():
        for row in itertools.chain(*[r() for r in readers]):
            yield row

    return reader


def compose(*readers, **kwargs):
    """Tuples of the samples of all readers. check_alignment (True): readers must end together."""
    check_alignment = kwargs.pop("check_alignment", True)
    if kwargs:
        raise TypeError("compose() has no argument %s" % sorted(kwargs)[0])

    def flat(row):
        return row if isinstance(row, tuple) else (row,)

    def reader():
        iterators = [r() for r in readers]
        if not check_alignment:
            for rows in zip(*iterators):
                yield sum(map(flat, rows), ())
            return
        for rows in itertools.zip_longest(*iterators, fillvalue=_END):
            if any(row is _END for row in rows):
                raise ComposeNotAligned("outputs of readers are not aligned.")
            yield sum(map(flat, rows), ())

    return reader


def buffered(reader, size):
    """A thread reads up to `size` samples ahead."""

    def read(source, queue):
        try:
            for row in source:
                queue.put(row)
            queue.put(_END)
        except BaseException as error:  # handed to the user's thread
            queue.put(_Failure(error))

    def buffered_reader():
        from queue import Queue
        from threading import Thread
        queue = Queue(maxsize=size)
        Thread(target=read, args=(reader(), queue), daemon=True).start()
        while True:
            row = queue.get()
            if row is _END:
                return
            if isinstance(row, _Failure):
                raise row.value
            yield row

    return buffered_reader


def firstn(reader, n):
    """The first n samples."""

    def reader_n():
        return itertools.islice(reader(), n)

    return reader_n


def xmap_readers(mapper, reader, process_num, buffer_size, order=False):
    """mapper over the samples, in process_num threads. order: results in the order of the samples."""

    def feed(queue, workers):
        try:
            for number, row in enumerate(reader()):
                queue.put((number, row))
        except BaseException as error:
            queue.put((None, _Failure(error)))
        for _ in range(workers):
            queue.put(_END)

    def work(source, results):
        while True:
            item = source.get()
            if item is _END:
                results.put(_END)
                return
            number, row = item
            try:
                results.put((number, row if isinstance(row, _Failure) else mapper(row)))
            except BaseException as error:
                results.put((number, _Failure(error)))

    def xreader():
        from queue import Queue
        from threading import Thread
        source, results = Queue(buffer_size), Queue(buffer_size)
        threads = [Thread(target=feed, args=(source, process_num), daemon=True)]
        threads += [Thread(target=work, args=(source, results), daemon=True) for _ in range(process_num)]
        for thread in threads:
            thread.start()
        left, waiting, expected = process_num, {}, 0
        while left:
            item = results.get()
            if item is _END:
                left -= 1
                continue
            number, row = item
            if isinstance(row, _Failure):
                raise row.value
            if not order:
                yield row
                continue
            waiting[number] = row
            while expected in waiting:
                yield waiting.pop(expected)
                expected += 1

    return xreader


def multiprocess_reader(readers, use_pipe=True, queue_size=1000):
    """Every reader in a process of its own; samples come in the order in which they arrive."""
    if not isinstance(readers, list) or not readers:
        raise ValueError("`readers` must be a list of at least one reader")

    def send(reader, queue):
        try:
            for row in reader():
                if row is None:
                    raise ValueError("a sample is None")
                queue.put((0, row))
            queue.put((1, None))
        except BaseException as error:
            queue.put((2, "%s: %s" % (type(error).__name__, error)))

    def joined():
        import multiprocessing
        context = multiprocessing.get_context("fork" if sys.platform != "win32" else None)
        queue = context.Queue(queue_size)
        processes = [context.Process(target=send, args=(r, queue), daemon=True) for r in readers]
        for process in processes:
            process.start()
        left = deque(processes)
        while left:
            kind, row = queue.get()
            if kind == 0:
                yield row
            elif kind == 1:
                left.pop()
            else:
                raise ValueError("multiprocess_reader: a reader failed: %s" % row)
        for process in processes:
            process.join()

    return joined


#: Paddle has these functions in paddle.reader.decorator
decorator = sys.modules[__name__]
