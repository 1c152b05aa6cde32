"""Small helpers of the tests of paddle.fluid."""
import contextlib

import numpy as np
import paddle.fluid as fluid


@contextlib.contextmanager
def fresh(seed=0):
    """New default programs, names and scope; gives (main, startup)."""
    main, startup = fluid.Program(), fluid.Program()
    startup.random_seed = seed
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.core.Scope()):
        yield main, startup


def run(build, feed=None, seed=0, return_numpy=True):
    """The values of what build() gives (a Variable or a list of them)."""
    with fresh(seed) as (main, startup):
        wanted = build()
        several = isinstance(wanted, (list, tuple))
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        got = exe.run(main, feed=feed or {}, fetch_list=list(wanted) if several else [wanted], return_numpy=return_numpy)
    return got if several else got[0]


def sequences(lengths, width=1, dtype="float32", start=0):
    """A LoDTensor with consecutive numbers."""
    rows = sum(lengths)
    array = (np.arange(rows * width) + start).astype(dtype).reshape(rows, width)
    return fluid.create_lod_tensor(array, [list(lengths)], fluid.CPUPlace())
