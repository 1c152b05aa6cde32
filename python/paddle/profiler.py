"""paddle.profiler: how long steps and named parts of them take; operators are timed by `skiff profile`."""
import enum
import time

from paddle import _names


class ProfilerState(enum.Enum):
    """What a profiler does in a step."""
    CLOSED = 0
    READY = 1
    RECORD = 2
    RECORD_AND_RETURN = 3


class ProfilerTarget(enum.Enum):
    """What is timed."""
    CPU = 0
    GPU = 1
    XPU = 2
    CUSTOM_DEVICE = 3


class SortedKeys(enum.Enum):
    """The order of summary()."""
    CPUTotal = 0
    CPUAvg = 1
    CPUMax = 2
    CPUMin = 3


def make_scheduler(*, closed, ready, record, repeat=0, skip_first=0):
    """A function of the step: closed, then ready, then record steps, so many times (0: for ever)."""
    if closed < 0 or ready < 0 or record <= 0 or repeat < 0 or skip_first < 0:
        raise ValueError("make_scheduler: closed=%s, ready=%s, record=%s, repeat=%s, skip_first=%s; none may be negative, "
                         "record not 0" % (closed, ready, record, repeat, skip_first))
    period = closed + ready + record

    def scheduler(step):
        if step < skip_first:
            return ProfilerState.CLOSED
        step -= skip_first
        if repeat and step // period >= repeat:
            return ProfilerState.CLOSED
        at = step % period
        if at < closed:
            return ProfilerState.CLOSED
        if at < closed + ready:
            return ProfilerState.READY
        return ProfilerState.RECORD if at < period - 1 else ProfilerState.RECORD_AND_RETURN

    return scheduler


_running = []


class RecordEvent(object):
    """A part of a step with a name: with RecordEvent("read"): ..., or begin() and end()."""

    def __init__(self, name, event_type=None):
        self.name, self.event_type, self._from = name, event_type, None

    def begin(self):
        self._from = time.perf_counter()

    def end(self):
        if self._from is None:
            return
        took, self._from = time.perf_counter() - self._from, None
        for profiler in _running:
            profiler._note(self.name, took)

    def __enter__(self):
        self.begin()
        return self

    def __exit__(self, *_):
        self.end()


class Profiler(object):
    """Times steps and the parts named by RecordEvent between start() and stop()."""

    def __init__(self, *, targets=None, scheduler=None, on_trace_ready=None, record_shapes=False, profile_memory=False,
                 timer_only=False, emit_nvtx=False, custom_device_types=(), with_flops=False):
        if isinstance(scheduler, (tuple, list)):
            if len(scheduler) != 2 or scheduler[0] < 0 or scheduler[1] <= scheduler[0]:
                raise ValueError("Profiler: scheduler=%s; a first and a later last step are expected" % (scheduler,))
            first, last = scheduler
            scheduler = make_scheduler(closed=max(first - 1, 0), ready=min(first, 1), record=last - first, repeat=1)
        self._scheduler = scheduler or (lambda step: ProfilerState.RECORD)
        self._ready, self.timer_only = on_trace_ready, timer_only
        self.step_num, self.current_state = 0, self._scheduler(0)
        self._parts, self._steps, self._last = {}, [], None

    def _note(self, name, took):
        if self.current_state in (ProfilerState.RECORD, ProfilerState.RECORD_AND_RETURN):
            self._parts.setdefault(name, []).append(took)

    def start(self):
        """Times from here on."""
        self._last = time.perf_counter()
        if self not in _running:
            _running.append(self)

    def stop(self):
        """The end; what waits for the trace is called."""
        if self in _running:
            _running.remove(self)
        if self._ready and self.current_state in (ProfilerState.RECORD, ProfilerState.RECORD_AND_RETURN):
            self._ready(self)

    def step(self, num_samples=None):
        """The end of a step."""
        now = time.perf_counter()
        if self._last is not None:
            self._steps.append((now - self._last, num_samples))
        self._last = now
        if self._ready and self.current_state is ProfilerState.RECORD_AND_RETURN:
            self._ready(self)
        self.step_num += 1
        self.current_state = self._scheduler(self.step_num)

    def step_info(self, unit=None):
        """Seconds of a step, and steps (or samples) a second, since the last call."""
        steps, self._steps = self._steps, []
        seconds = sum(took for took, _ in steps)
        samples = [count for _, count in steps if count is not None]
        many = sum(samples) if samples else len(steps)
        return " batch_cost: %.5f s ips: %.3f %s/s" % (seconds / len(steps) if steps else 0, many / seconds if seconds else 0,
                                                       unit or ("samples" if samples else "steps"))

    def summary(self, sorted_by=SortedKeys.CPUTotal, op_detail=True, thread_sep=False, time_unit="ms", views=None):
        """Prints the named parts: calls, total, mean, most, least."""
        scale = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[time_unit]
        key = {SortedKeys.CPUAvg: lambda t: sum(t) / len(t), SortedKeys.CPUMax: max,
               SortedKeys.CPUMin: min}.get(sorted_by, sum)
        print("%-32s %8s %12s %12s %12s %12s" % ("name", "calls", "total " + time_unit, "mean", "most", "least"))
        for name, times in sorted(self._parts.items(), key=lambda item: -key(item[1])):
            print("%-32s %8d %12.3f %12.3f %12.3f %12.3f" % ((name, len(times)) + tuple(
                value * scale for value in (sum(times), sum(times) / len(times), max(times), min(times)))))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()


__getattr__ = _names.guard(__name__)
