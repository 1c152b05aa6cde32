"""The distributed jobs that this process has entered, so that Executor.close can leave them. They are not kept alive here: a
worker whose job is dropped by everybody has not finished, and the servers are told so (skiff._native.Fleet)."""
import weakref

_open = weakref.WeakSet()


def enter(job):
    """job has leave()."""
    _open.add(job)


def leave(job):
    if job in _open:
        _open.discard(job)
        job.leave()


def leave_all():
    for job in list(_open):
        leave(job)
