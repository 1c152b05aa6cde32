"""Records the cases of ops26_more.tar.xz on real Paddle 2.6.2 and of ops_more.tar.xz on 1.8.5: single functions, forward and gradient, in
the form of docs/guide/record.md.

    PYTHONPATH=tools python tests/golden/record_more.py ops26_more [words of names]
    tar --sort=name --owner=0 --group=0 --mtime=2026-01-01 -cJf tests/golden/ops26_more.tar.xz ops26_more
"""
import os
import sys

import numpy as np
import paddle
from record_paddle import record

FAILED = []
#: ops of 1.8 whose results look as if they had gradients
FLAT = ("isnan", "isinf", "allclose", "unique", "unique_with_counts", "diag", "linspace", "eye",
        "uniform_random_batch_size_like", "gaussian_random_batch_size_like")
NEW = not paddle.__version__.startswith("1.")
if NEW:
    paddle.enable_static()
    import paddle.static as static
    from paddle.base import core
    from more_cases_2x import fill
    from paddle.utils import unique_name
else:
    import paddle.fluid as static
    from paddle.fluid import core
    from more_cases_1x import fill
    from paddle.fluid import unique_name

PLACE = core.CPUPlace()


class Case(object):
    """What a case builds with: inputs by value."""

    def __init__(self):
        self.feed, self.wanted = {}, []

    def given(self, name, array, grad=True):
        """An input; floats get a gradient."""
        array = np.asarray(array)
        var = static.data(name, list(array.shape), str(array.dtype))
        self.feed[name] = array
        var.stop_gradient = not (grad and array.dtype.kind == "f")
        if not var.stop_gradient:
            self.wanted.append(var)
        return var


def sizes(program, outs, feed, startup):
    """The shapes that the outputs have when the program runs."""
    exe, scope = static.Executor(PLACE), core.Scope()
    with static.scope_guard(scope):
        exe.run(startup)
        return [np.asarray(v) for v in exe.run(program, feed=feed, fetch_list=outs, return_numpy=False)]


def feed_gradients(block, outs, values, feed):
    """Takes out the ops that set the outputs' gradients to one: they are fed instead."""
    names = [out.name + "@GRAD" for out in outs]
    for i in reversed(range(len(block.ops))):
        if block.ops[i].type in ("fill_any_like", "fill_constant", "shape") and \
                block.ops[i].output_arg_names[0].replace("_shape", "@GRAD") in names:
            block._remove_op(i)
    for i, (name, value) in enumerate(zip(names, values)):
        if any(name in op.input_arg_names for op in block.ops):
            feed[name] = np.random.RandomState(90 + i).uniform(-1, 1, value.shape).astype(value.dtype)


def build(function, out_dir, name):
    program, startup = static.Program(), static.Program()
    with static.program_guard(program, startup), unique_name.guard():
        case = Case()
        outs = function(case)
        outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
        fetches = list(outs)
        smooth = [o for o in outs if not o.stop_gradient and not any(op.type in FLAT for op in program.global_block().ops)]
        if case.wanted and smooth:
            values = sizes(program, smooth, case.feed, startup)
            found = static.gradients(smooth, case.wanted)
            fetches += [g for g in found if g is not None]
            feed_gradients(program.global_block(), smooth, values, case.feed)
        exact = any(a.dtype == np.float64 for a in case.feed.values())
        record(static.Executor(PLACE), program, startup, [case.feed], fetches, os.path.join(out_dir, name),
               what=name, seed=2023 if NEW and "random" in name else None,
               **(dict(rtol=1e-6 if "pool" in name else 1e-7, atol=1e-8 if "pool3d" in name else 1e-9) if exact else dict(rtol=2e-5, atol=2e-6)))


def main(out_dir, words):
    cases = {}
    fill(cases)
    for name, function in cases.items():
        if words and not any(word in name for word in words):
            continue
        try:
            build(function, out_dir, name)
        except Exception as error:  # the others are still wanted
            print("%s: %s" % (name, str(error).strip().split("\n")[-1][:300]))
            FAILED.append(name)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
    sys.exit(bool(FAILED))
