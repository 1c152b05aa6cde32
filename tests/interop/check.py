"""Loads with real Paddle what tests/interop/resave.c saved, and compares. Used by tools/check_interop.sh.

usage: python check.py feeds OUT          makes OUT/feeds from tests/data/interop/inputs.txt (any Paddle)
       python check.py check OUT          loads everything in OUT; exit status 1 when something differs
"""
import os
import struct
import sys

os.environ.setdefault("GLOG_minloglevel", "2")

import numpy as np

import paddle

try:
    import paddle.fluid as base
except ImportError:
    import paddle.base as base

V1 = paddle.__version__.startswith("1.")
if not V1:
    paddle.enable_static()
static = base if V1 else paddle.static
place = base.CPUPlace()
exe = static.Executor(place)
SAVED, INTEROP = "tests/data/saved", "tests/data/interop"
TYPES = {2: "int32", 3: "int64", 5: "float32", 6: "float64"}
failures = 0


def read(path):
    with open(path, "rb") as f:
        return f.read()


def read_tensor(path):
    """array, lod of a LoDTensor file"""
    data = read(path)
    at = 12
    lod = []
    for _ in range(struct.unpack_from("<Q", data, 4)[0]):
        n, = struct.unpack_from("<Q", data, at)
        lod.append(list(struct.unpack_from("<%dQ" % (n // 8), data, at + 8)))
        at += 8 + n
    size, = struct.unpack_from("<i", data, at + 4)
    numbers, v, shift = [], 0, 0
    for byte in bytearray(data[at + 8:at + 8 + size]):
        v |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(v)
            v, shift = 0, 0
    array = np.frombuffer(data[at + 8 + size:], TYPES[numbers[1]]).reshape(numbers[3::2])
    return array, lod


def lod_tensor(array, lod):
    t = base.core.LoDTensor()
    t.set(np.array(array), place)
    t.set_lod(lod)
    return t


def write_tensor(path, array, lod):
    kind = {v: k for k, v in TYPES.items()}[array.dtype.name]
    desc = bytearray([8, kind])
    for d in array.shape:
        desc += bytearray([16]) + bytearray([d] if d < 128 else [d & 127 | 128, d >> 7])
    out = struct.pack("<IQ", 0, len(lod))
    for level in lod:
        out += struct.pack("<Q%dQ" % len(level), 8 * len(level), *level)
    with open(path, "wb") as f:
        f.write(out + struct.pack("<Ii", 0, len(desc)) + bytes(desc) + array.tobytes())


def make_feeds(out):
    """inputs.txt: per line slot after slot, each a count and its values: 13 reals, 26 times one id, the label."""
    rows = [line.split() for line in open(os.path.join(INTEROP, "inputs.txt"))]
    os.makedirs(os.path.join(out, "feeds"))
    dense = np.array([[float(x) for x in r[1:14]] for r in rows], "float32")
    write_tensor(os.path.join(out, "feeds", "dense_input"), dense, [])
    for j in range(26):
        ids = np.array([[int(r[15 + 2 * j])] for r in rows], "int64")
        write_tensor(os.path.join(out, "feeds", "C%d" % (j + 1)), ids, [list(range(len(rows) + 1))])


def report(what, difference, limit):
    global failures
    good = difference is not None and difference <= limit
    failures += not good
    print("%-5s %s %s: largest difference %s" % ("ok" if good else "FAIL", paddle.__version__, what, difference))


def largest(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return None if a.shape != b.shape or a.dtype != b.dtype else float(np.abs(a.astype("f8") - b.astype("f8")).max()) if a.size else 0.0


def predict(what, folder, feed_dir, wants, **names):
    """Loads the model, runs it, compares with every array of wants (what: array)."""
    with static.scope_guard(base.core.Scope()):
        if V1:
            program, feeds, fetches = base.io.load_inference_model(folder, exe, **names)
        else:
            program, feeds, fetches = static.load_inference_model(folder, exe, **names)
        feed = {n: lod_tensor(*read_tensor(os.path.join(feed_dir, n))) for n in feeds}
        got, = exe.run(program, feed=feed, fetch_list=fetches, return_numpy=False)
        for name, (want, limit) in sorted(wants.items()):
            report("%s, against %s" % (what, name), largest(np.array(got), want), limit)


def check_inference(out):
    small = {"Paddle's own run": (read_tensor(os.path.join(SAVED, "inference_default_case/expect/0/save_infer_model/scale_0.tmp_0"))[0], 1e-7),
             "Skiff's run": (read_tensor(os.path.join(out, "predicted_small"))[0], 1e-6)}
    feed = os.path.join(SAVED, "inference_default_case/feed/0")
    large = {"Paddle's own run": (np.loadtxt(os.path.join(INTEROP, "output.p18.txt"), dtype="float32"), 1e-7)}
    models = [("inference folder", "inference", {}, feed, small), ("inference folder, two files", "inference_files",
                                                                   dict(model_filename="model", params_filename="params"), feed, small)]
    for name in ("p26", "p18"):
        wants = dict(large, **{"Skiff's run": (read_tensor(os.path.join(out, "predicted_" + name))[0], 1e-6)})
        models.append(("model of %s saved again as folder" % name, name + "_dir", {}, os.path.join(out, "feeds"), wants))
        models.append(("model of %s saved again as prefix" % name, name + "_prefix", None, os.path.join(out, "feeds"), wants))
    models.append(("inference prefix", "prefix", None, feed, small))
    built = {"Skiff's run": (read_tensor(os.path.join(out, "predicted_built"))[0], 1e-6)}
    models.append(("network built by Skiff, folder", "built_dir", {}, os.path.join(out, "built_feed"), built))
    models.append(("network built by Skiff, prefix", "built_prefix", None, os.path.join(out, "built_feed"), built))
    for what, folder, names, feed_dir, wants in models:
        folder = os.path.join(out, folder)
        if names is None:  # prefix files
            if V1:
                names = dict(model_filename="ctr.pdmodel", params_filename="ctr.pdiparams")
            else:
                folder, names = os.path.join(folder, "ctr"), {}
        elif not names and not V1:
            names = dict(model_filename="__model__", params_filename=None)
        predict(what, folder, feed_dir, wants, **names)


def same_values(what, values, names):
    worst = 0.0
    for n in names:
        want = read_tensor(os.path.join(SAVED, "persistables_separate", n))[0]
        d = largest(values[n], want) if n in values else None
        if d is None:
            report("%s, variable %s" % (what, n), None, 0)
            return
        worst = max(worst, d)
    report("%s, %d variables" % (what, len(names)), worst, 0)


def check_state(out):
    params = sorted(os.listdir(os.path.join(SAVED, "params_separate")))
    everything = sorted(os.listdir(os.path.join(SAVED, "persistables_separate")))
    same_values("load_program_state of .pdparams and .pdopt", static.load_program_state(os.path.join(out, "fluid_save", "ctr")), everything)
    if not V1:
        loaded = paddle.load(os.path.join(out, "fluid_save", "ctr.pdparams"), return_numpy=True)
        same_values("paddle.load of .pdparams", loaded, params)
    # fluid.load / static.load into a program with these variables
    program, scope = static.Program(), base.core.Scope()
    block = program.global_block()
    for n in everything:
        array = read_tensor(os.path.join(SAVED, "persistables_separate", n))[0]
        if n in params:
            block.create_parameter(name=n, shape=array.shape, dtype=array.dtype.name)
        else:
            block.create_var(name=n, shape=array.shape, dtype=array.dtype.name, persistable=True)
    load_vars = base.io.load_vars if V1 else static.io.load_vars
    ways = [("load", lambda: static.load(program, os.path.join(out, "fluid_save", "ctr"), exe)),
            ("load_vars, separate files", lambda: load_vars(exe, os.path.join(out, "persistables"), program, vars=list(program.list_vars()))),
            ("load_vars, one file",
             lambda: load_vars(exe, os.path.join(out, "together"), program, vars=list(program.list_vars()), filename="all"))]
    for what, load in ways:
        scope = base.core.Scope()
        with static.scope_guard(scope):
            for v in program.list_vars():
                want = read_tensor(os.path.join(SAVED, "persistables_separate", v.name))[0]
                scope.var(v.name).get_tensor().set(np.zeros_like(want), place)
            load()
            same_values(what, {n: np.array(scope.find_var(n).get_tensor()) for n in everything}, everything)


def check_training(out):
    """One step of the saved training program, and of the one that Paddle saved: the same loss, the same parameters."""
    results = []
    for path in (os.path.join(out, "fluid_save/ctr.pdmodel"), os.path.join(SAVED, "fluid_save/ctr.pdmodel")):
        program, scope = static.Program.parse_from_string(read(path)), base.core.Scope()
        feed_dir = os.path.join(SAVED, "inference_default_case/feed/0")
        feed = {n: lod_tensor(*read_tensor(os.path.join(feed_dir, n))) for n in os.listdir(feed_dir)}
        rows = np.array(feed["dense_input"]).shape[0]
        feed["label"] = lod_tensor(np.arange(rows, dtype="int64").reshape(-1, 1) % 2, [])
        with static.scope_guard(scope):
            for n in os.listdir(os.path.join(SAVED, "persistables_separate")):
                scope.var(n).get_tensor().set(read_tensor(os.path.join(SAVED, "persistables_separate", n))[0].copy(), place)
            loss, = exe.run(program, feed=feed, fetch_list=["reduce_sum_0.tmp_0"])
            results.append((loss, np.array(scope.find_var("fc_0.w_0").get_tensor())))
    report("one step of .pdmodel, loss", largest(results[0][0], results[1][0]), 0)
    report("one step of .pdmodel, fc_0.w_0", largest(results[0][1], results[1][1]), 0)


def check_built(out):
    """One step of a network that Skiff built, trained and saved: Paddle comes to the variables that Skiff came to."""
    program, scope = static.Program.parse_from_string(read(os.path.join(out, "built/net.pdmodel"))), base.core.Scope()
    feed_dir = os.path.join(out, "built_feed")
    feed = {n: lod_tensor(*read_tensor(os.path.join(feed_dir, n))) for n in os.listdir(feed_dir)}
    with static.scope_guard(scope):
        for n, value in static.load_program_state(os.path.join(out, "built/net")).items():
            scope.var(n).get_tensor().set(value, place)
        exe.run(program, feed=feed, fetch_list=[])
        after = os.path.join(out, "built_after")
        worst = max(largest(np.array(scope.find_var(n).get_tensor()), read_tensor(os.path.join(after, n))[0]) for n in os.listdir(after))
    report("one more step of a network built and trained by Skiff, %d variables" % len(os.listdir(after)), worst, 1e-6)


if __name__ == "__main__":
    if sys.argv[1] == "feeds":
        make_feeds(sys.argv[2])
    else:
        check_inference(sys.argv[2])
        check_state(sys.argv[2])
        check_training(sys.argv[2])
        check_built(sys.argv[2])
        sys.exit(1 if failures else 0)
