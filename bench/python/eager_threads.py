"""The documents' CTR-DNN (eager.py) with 1 and 2 threads for one op, in turns in one process:

    python eager_threads.py [BATCH [STEPS [ROUNDS [THREADS]]]]

Prints microseconds a row by the clock, the best of the rounds, and the ratio, in eager mode and by exe.run. Other work on the
machine slows two threads more than one: a realtime priority (chrt -r 10) keeps it away.
"""
import sys
import time

ARGUMENTS = [int(text) for text in sys.argv[1:]] + [1000, 2, 60, 2][len(sys.argv) - 1:]
sys.argv[1:] = [str(ARGUMENTS[0])]      # eager.py reads its own

import eager as network                 # noqa: E402
import paddle                           # noqa: E402
from skiff import _native               # noqa: E402


def rule(**more):
    return paddle.optimizer.Adam(0.001, lazy_mode=True, **more)


def main():
    batch, count, rounds, threads = ARGUMENTS
    for name, way in ("eager", network.eager), ("exe.run", network.program):
        steps, best = way(rule), {1: 1e9, threads: 1e9}
        steps(10)
        for _ in range(rounds):
            for n in best:
                _native.set_num_threads(n)
                steps(1)
                start = time.perf_counter()
                steps(count)
                best[n] = min(best[n], 1e6 * (time.perf_counter() - start) / (count * batch))
        print("batch %d %-8s %6.2f us a row with 1 thread, %6.2f with %d: %.2f times as fast" % (
            batch, name, best[1], best[threads], threads, best[1] / best[threads]))
        _native.set_num_threads(1)


main()
