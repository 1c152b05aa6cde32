"""The distributed jobs that this process has entered, so that Executor.close can leave them."""

_open = []


def enter(job):
    """job has leave()."""
    if job not in _open:
        _open.append(job)


def leave(job):
    if job in _open:
        _open.remove(job)
        job.leave()


def leave_all():
    while _open:
        leave(_open[-1])
