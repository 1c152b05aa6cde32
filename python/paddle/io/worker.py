"""Sub-processes of a DataLoader: each has a pipe to the loader, takes numbers from it and gives batches back.

A pipe belongs to one worker, so that batches come in order without being sorted, and a worker that dies is seen at once: its
pipe ends. A worker whose loader is gone ends too, for the same reason.
"""
import os
import pickle
import queue
import signal
import threading
import traceback

#: what get_worker_info gives in this process
_here = None


class WorkerInfo(object):
    """id, num_workers, dataset and seed of the worker that is reading; not to be changed."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __setattr__(self, key, value):
        raise RuntimeError("Cannot assign attributes to WorkerInfo objects")


def get_worker_info():
    """Which worker of a DataLoader reads here (id, num_workers, dataset, seed); None outside of one."""
    return _here


class WorkerFailure(Exception):
    """The traceback of a sub-process: the cause of the exception that reaches the loop."""

    def __str__(self):
        return "\n" + self.args[0]


class Stopped(object):
    """What a worker sends when its part of a stream is over."""


class Failed(object):
    """The message of a worker about an exception; `where` names the rows."""

    def __init__(self, error, where):
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        self.text = "in %s:\n%s" % (where, text)
        try:
            self.error = pickle.dumps(error)
            pickle.loads(self.error)
        except Exception:  # not every exception can be sent; its text can
            self.error = pickle.dumps(RuntimeError("%s: %s" % (type(error).__name__, error)))

    def raise_again(self):
        raise pickle.loads(self.error) from WorkerFailure(self.text)


def send(connection, value):
    """Arrays go without a copy in the pickle: first their number and the rest, then their bytes."""
    buffers = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    connection.send_bytes(pickle.dumps((len(buffers), head)))
    for buffer in buffers:
        with buffer.raw() as raw:
            connection.send_bytes(raw)


def receive(connection):
    """What send sent; EOFError when the other side is gone."""
    count, head = pickle.loads(connection.recv_bytes())
    return pickle.loads(head, buffers=[bytearray(connection.recv_bytes()) for _ in range(count)])


def _take_tasks(connection, tasks):
    """Always reading, so that the loader never waits for a worker that waits for the loader."""
    try:
        while True:
            tasks.put(connection.recv())
    except (EOFError, OSError):
        os._exit(0)  # the loader is gone, or done with us


def _seed(info, base):
    import random
    import numpy
    import paddle
    random.seed(base + info.id)
    paddle.seed(base + info.id)
    numpy.random.seed([info.id, base & 0xffffffff, base >> 32])


def _sent(connection, make, where):
    """Sends what make gives, or its exception. Whether more may come."""
    try:
        value = make()
    except StopIteration:
        value = Stopped()
    except BaseException as error:
        value = Failed(error, where)
    send(connection, value)
    return not isinstance(value, (Failed, Stopped))


def run(connection, others, plan, number, base):
    """A worker's life. others: the loader's ends of the pipes, which only the loader may hold."""
    global _here
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the loader handles Ctrl-C and ends the workers
    for other in others:
        other.close()
    info = _here = WorkerInfo(id=number, num_workers=plan.num_workers, dataset=plan.dataset, seed=base)
    tasks = queue.Queue()
    threading.Thread(target=_take_tasks, args=(connection, tasks), daemon=True).start()
    try:
        _seed(info, base)
        failed = None
        if plan.worker_init_fn is not None:
            plan.worker_init_fn(number)
    except BaseException as error:
        failed = Failed(error, "the start of worker %d of a DataLoader" % number)
    fetch = None
    while True:
        task = tasks.get()
        if task == "again" or fetch is None:
            fetch = plan.fetcher()
            if task == "again":
                continue
        try:
            if failed is not None:
                send(connection, failed)
            else:
                _sent(connection, lambda: fetch(task), "worker %d of a DataLoader, %s" % (number, plan.told(task)))
        except (BrokenPipeError, ConnectionResetError):
            os._exit(0)


class Plan(object):
    """What workers need to know of a loader."""

    def __init__(self, loader):
        self.dataset, self.num_workers, self.worker_init_fn = loader.dataset, loader.num_workers, loader.worker_init_fn
        self.make, self.told = loader._fetcher, loader._told

    def fetcher(self):
        from paddle.io.collate import to_arrays
        fetch = self.make()
        return lambda task: to_arrays(fetch(task))


class Worker(object):
    """The loader's side of one sub-process."""

    def __init__(self, plan, number, base, others):
        import multiprocessing
        context = multiprocessing.get_context("fork")
        self.number = number
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=run, args=(theirs, others + [self.connection], plan, number, base),
                                       name="paddle.io worker %d" % number, daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, task):
        try:
            self.connection.send(task)
        except (BrokenPipeError, ConnectionResetError):
            pass  # answer() reports it

    def answer(self, timeout):
        """The next batch. RuntimeError: the worker has died, or takes longer than timeout seconds."""
        try:
            if timeout and not self.connection.poll(timeout):
                raise RuntimeError("DataLoader timed out: worker %d (pid %d) has given no batch for %s seconds" %
                                   (self.number, self.process.pid, timeout))
            return receive(self.connection)
        except (EOFError, ConnectionResetError):
            self.process.join(5)
            code = self.process.exitcode
            told = "was ended by signal %d" % -code if code is not None and code < 0 else "ended with code %s" % code
            raise RuntimeError("DataLoader: worker %d (pid %d) %s before it gave its batch" %
                               (self.number, self.process.pid, told)) from None

    def close(self):
        self.connection.close()

    def join(self):
        self.process.join(1)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join(1)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
