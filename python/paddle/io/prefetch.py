"""Reading ahead of a loop, as Paddle's buffered readers do it."""
import threading
from collections import deque

_END = object()
#: how long a loop waits for the reader to get ahead when it has an item to continue with; streams may be slow
_PATIENCE = 0.2


class _Failure(object):
    def __init__(self, error):
        self.error = error


class _Reader(object):
    """The thread's side: items that were read and not taken."""

    def __init__(self, items, ahead):
        self.read, self._items, self._ahead = deque(), items, ahead
        self.changed = threading.Condition()
        self.stopped, self._over = False, False
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        last = _END
        try:
            for item in self._items:
                if not self._add(item):
                    return
        except BaseException as error:  # raised again where the item is wanted
            last = _Failure(error)
        with self.changed:
            self.read.append(last)
            self._over = True
            self.changed.notify_all()

    def _add(self, item):
        """False: no more items are wanted."""
        with self.changed:
            self.read.append(item)
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.stopped or len(self.read) < self._ahead)
            return not self.stopped

    def settle(self):
        """Waits, with the lock, until all is read that may be."""
        self.changed.wait_for(lambda: self._over or len(self.read) >= self._ahead, _PATIENCE)


class Prefetch(object):
    """An iterator over items; a thread reads `ahead` more than were taken. The caller that takes one waits until the thread
    has done so: the random numbers that a dataset draws are then the same in every run, and reader and loop do not run at once."""

    def __init__(self, items, ahead):
        self._reader = _Reader(items, ahead)
        self._reader.thread.start()
        with self._reader.changed:
            self._reader.settle()

    def __iter__(self):
        return self

    def __next__(self):
        reader = self._reader
        with reader.changed:
            reader.changed.wait_for(lambda: reader.read)
            item = reader.read[0]
            if item is _END:
                raise StopIteration
            reader.read.popleft()
            if isinstance(item, _Failure):
                reader.read.append(_END)
                raise item.error
            reader.changed.notify_all()
            reader.settle()
            return item

    def stop(self):
        """Nothing more is read."""
        with self._reader.changed:
            self._reader.stopped = True
            self._reader.changed.notify_all()
        if self._reader.thread is not threading.current_thread():
            self._reader.thread.join(_PATIENCE)  # a stream that waits for data ends with its next item

    __del__ = stop
