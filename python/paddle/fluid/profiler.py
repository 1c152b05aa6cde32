"""fluid.profiler: how long a stretch of a script takes. Skiff's own profile of operators: `train_from_dataset(debug=True)`."""
import sys
import time
from contextlib import contextmanager

from paddle import _names

__all__ = ["cuda_profiler", "reset_profiler", "profiler", "start_profiler", "stop_profiler"]

_started = None


def start_profiler(state, tracer_option="Default"):
    """state: CPU, GPU or All."""
    global _started
    if state not in ("CPU", "GPU", "All"):
        raise ValueError("The state must be 'CPU' or 'GPU' or 'All'.")
    if tracer_option not in ("Default", "OpDetail", "AllOpDetail"):
        raise ValueError("tracer option must be 'Default', 'OpDetail', 'AllOpDetail'.")
    if _started is None:
        _started = time.time()


def stop_profiler(sorted_key=None, profile_path="/tmp/profile"):
    """Writes the seconds since the start to standard error and to profile_path."""
    global _started
    if sorted_key not in (None, "default", "calls", "total", "max", "min", "ave"):
        raise ValueError("The sorted_key must be None or in 'calls', 'total', 'max', 'min' and 'ave'")
    if _started is None:
        return
    text = "profiled %.6f s\n" % (time.time() - _started)
    _started = None
    sys.stderr.write(text)
    if profile_path:
        with open(profile_path, "w") as file:
            file.write(text)


def reset_profiler():
    global _started
    if _started is not None:
        _started = time.time()


@contextmanager
def profiler(state, sorted_key=None, profile_path="/tmp/profile", tracer_option="Default"):
    start_profiler(state, tracer_option)
    try:
        yield
    finally:
        stop_profiler(sorted_key, profile_path)


@contextmanager
def cuda_profiler(output_file, output_mode=None, config=None):
    """There is no CUDA here: refused."""
    raise RuntimeError("cuda_profiler: Skiff has no CUDA; use fluid.profiler.profiler('CPU')")
    yield


__getattr__ = _names.guard(__name__)
