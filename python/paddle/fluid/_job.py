"""The distributed jobs that this process is part of, so that Executor.close can leave them. They are not kept alive here: a
worker whose job has no owner any more has not finished, and the servers are notified (skiff._native.Fleet)."""
import threading
import weakref

_open = weakref.WeakSet()


def patiently(call, *args, stop=None):
    """call(*args), which may wait for other processes, on another thread, so that Ctrl-C is handled. After a Ctrl-C the call
    is ended by stop(); without one its thread is left alone: it ends with the process."""
    done, result, failure = threading.Event(), [], []

    def run():
        try:
            result.append(call(*args))
        except BaseException as error:  # raised again below
            failure.append(error)
        done.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while not done.wait(0.2):
            pass
    except BaseException:
        if stop is not None:
            stop()
            thread.join()
        raise
    if failure:
        raise failure[0]
    return result[0]


def enter(job):
    """job has leave(), which does nothing when it was not joined, or left already."""
    _open.add(job)


def leave_all():
    for job in list(_open):
        job.leave()
