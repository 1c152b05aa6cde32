"""Runs the cases of tests/golden/more_cases_*.py on Skiff and compares them with what Paddle gave (ops_more, ops26_more)."""
import os
import struct
import subprocess
import sys

import numpy as np

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDEN = os.path.join(os.environ.get("BUILD", os.path.join(TOP, "build")), "golden")
sys.path.insert(0, os.path.join(TOP, "tests", "golden"))

TYPES = {0: "bool", 2: "int32", 3: "int64", 5: "float32", 6: "float64"}


def unpack():
    subprocess.check_call([os.path.join(TOP, "tests", "golden", "unpack.sh")], cwd=TOP)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def tensor(path):
    """A tensor file of Paddle as an array."""
    with open(path, "rb") as source:
        data = source.read()
    levels, at = struct.unpack_from("<Q", data, 4)[0], 12
    for _ in range(levels):
        at += 8 + struct.unpack_from("<Q", data, at)[0]
    size = struct.unpack_from("<i", data, at + 4)[0]
    desc, body = data[at + 8:at + 8 + size], data[at + 8 + size:]
    dims, kind, i = [], 5, 0
    while i < len(desc):
        key, i = varint(desc, i)
        value, i = varint(desc, i)
        if key == 8:
            kind = value
        else:
            dims.append(value)
    return np.frombuffer(body, TYPES[kind]).reshape(dims)


def recorded(folder, name):
    """({input: array}, [(name of a result, array)], {rtol, atol}, number of forward results)"""
    case = os.path.join(GOLDEN, folder, name)
    with open(os.path.join(case, "case.txt")) as source:
        facts = dict(line.rstrip("\n").split(": ", 1) for line in source if ": " in line)
    feed = {f: tensor(os.path.join(case, "feed", "0", f)) for f in facts.get("feeds", "").split()}
    values = [(f, tensor(os.path.join(case, "expect", "0", f))) for f in facts["fetches"].split()]
    return feed, values, {"rtol": float(facts["rtol"]) * 5, "atol": float(facts["atol"]) * 5}


class Case(object):
    """What the cases build with."""

    def __init__(self, data):
        self.data, self.wanted = data, []

    def given(self, name, array, grad=True):
        array = np.asarray(array)
        var = self.data(name, list(array.shape), str(array.dtype))
        var.stop_gradient = not (grad and array.dtype.kind == "f")
        if not var.stop_gradient:
            self.wanted.append(var)
        return var


def feed_by_order(feed, values, outs):
    """The gradients that are fed, under the names that the outputs have here."""
    for (name, _), out in zip(values, outs):
        if name + "@GRAD" in feed:
            feed[out.name + "@GRAD"] = feed.pop(name + "@GRAD")


def compute(static, unique_name, function, feed, values, parameters=()):
    """What the outputs and the gradients of the inputs are here."""
    program, startup = static.Program(), static.Program()
    with static.program_guard(program, startup), unique_name.guard(), static.scope_guard(static.Scope()):
        case = Case(static.data)
        outs = function(case)
        outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
        fetches, block = list(outs), program.global_block()
        feed_by_order(feed, values, outs)
        rising = [o for o in outs if o.name + "@GRAD" in feed]
        if rising:
            fetches += [g for g in static.gradients(rising, case.wanted) if g is not None]
            for i in reversed(range(len(block.ops))):
                names = [o.name + "@GRAD" for o in rising]
                if block.ops[i].type in ("fill_any_like", "fill_constant", "shape") and \
                        block.ops[i].output_arg_names[0].replace("_shape", "@GRAD") in names:
                    block._remove_op(i)
        exe = static.Executor(static.cpu())
        exe.run(startup)
        for name, value in parameters:
            static.global_scope().var(name).get_tensor().set(value, static.cpu())
        return [f.name for f in fetches], exe.run(program, feed=feed, fetch_list=fetches)
