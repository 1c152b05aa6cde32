#!/usr/bin/env python
"""Records what a program gives in real PaddlePaddle (1.8 or 2.x), as cases for `skiff replay`.

As a command, for a training script as it is:

    python record_paddle.py --out DIR [--steps N] [--stop] script.py [script's own arguments]

Every program that the script runs with Executor.run becomes a case of its own, DIR/0, DIR/1, ...: the program, its persistable variables before
the first step, and for the first N steps what was fed and what was fetched.

As a module, where the script has the pieces at hand:

    from record_paddle import record
    record(exe, main_program, startup_program, feeds, fetch_list, "case_dir")

docs/guide/record.md says more.
"""
import argparse
import os
import shutil
import struct
import sys

if "paddle" not in sys.modules:
    # With one thread the sparse Adam of 1.8 reads one row id beyond the end of its list, and now and then a row gets a wrong gradient; the
    # code for several threads does not. Paddle reads this once, when it is imported.
    os.environ.setdefault("FLAGS_inner_op_parallelism", "2")

import numpy as np

import paddle

try:
    import paddle.fluid as base
except ImportError:  # 2.5 and later
    import paddle.base as base

core = base.core
VERSION = paddle.__version__
IS_1X = VERSION.startswith("1.")
VarType = core.VarDesc.VarType

# numpy type -> VarType.Type, the number in tensor files. Paddle shows bfloat16 as uint16.
DTYPES = {"bool": 0, "int16": 1, "int32": 2, "int64": 3, "float16": 4, "float32": 5, "float64": 6, "uint8": 20, "int8": 21, "uint16": 22}

# Ops that draw from an engine; without a seed of their own no two runs give the same.
RANDOM_OPS = ("dropout", "uniform_random", "gaussian_random", "truncated_gaussian_random", "randint", "randperm", "sampling_id", "nce",
              "shuffle_batch", "bernoulli", "multinomial", "random_crop", "uniform_random_batch_size_like",
              "gaussian_random_batch_size_like")


class RecordError(Exception):
    """The program cannot be recorded; the text says why and what to do."""


# ---------------------------------------------------------------- tensor files


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def tensor_bytes(array):
    """version, length of the description, description (data type, dims), data"""
    array = np.asarray(array)
    if array.dtype.name not in DTYPES:
        raise RecordError("a tensor of type %s cannot be written" % array.dtype)
    description = b"\x08" + varint(DTYPES[array.dtype.name]) + b"".join(b"\x10" + varint(d) for d in array.shape)
    return struct.pack("<Ii", 0, len(description)) + description + array.tobytes()


class Dense(object):
    """A LoDTensor: array and offsets per level."""

    def __init__(self, array, lod=()):
        self.array, self.lod = np.array(array), [list(level) for level in lod]

    def file_bytes(self):
        out = struct.pack("<IQ", 0, len(self.lod))
        for level in self.lod:
            out += struct.pack("<Q%dQ" % len(level), 8 * len(level), *level)
        return out + tensor_bytes(self.array)


class Rows(object):
    """SelectedRows: row ids, height of the whole, values."""

    def __init__(self, rows, height, array):
        self.rows, self.height, self.array = list(rows), height, np.array(array)

    def file_bytes(self):
        ids = struct.pack("<%dq" % len(self.rows), *self.rows)
        return struct.pack("<IQ", 0, len(self.rows)) + ids + struct.pack("<q", self.height) + tensor_bytes(self.array)


def write_file(path, data):
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        os.makedirs(folder)
    with open(path, "wb") as f:
        f.write(data)


def write_values(folder, values):
    """A '/' in a variable's name is a sub-folder."""
    for name, value in values.items():
        if name.startswith("/") or ".." in name.split("/"):
            raise RecordError("variable name %r cannot be a file name" % name)
        write_file(os.path.join(folder, name), value.file_bytes())


# ---------------------------------------------------------------- what Paddle holds


def plain_program(program):
    """The Program behind whatever was given to Executor.run."""
    if program is None:
        program = paddle.static.default_main_program() if not IS_1X else base.default_main_program()
    inner = getattr(program, "_program", None)  # CompiledProgram
    if inner is not None:
        if getattr(program, "_is_data_parallel", False) and len(getattr(program, "_places", None) or [0]) > 1:
            raise RecordError("a program on several devices is not recorded; record it on one")
        program = inner
    if not hasattr(program, "global_block"):
        raise RecordError("%s is no Program" % type(program).__name__)
    return program


def program_bytes(program):
    """Serialized, without op_callstack: that holds folder names of this machine."""
    copy = program.clone()
    for i in range(copy.num_blocks):
        for op in copy.block(i).ops:
            if op.desc.has_attr("op_callstack"):
                op.desc.remove_attr("op_callstack")
    copy.desc.flush()
    return copy.desc.serialize_to_string()


def variables(program):
    found = {}
    for v in program.list_vars():
        found.setdefault(v.name, v)
    return found


def persistables(program):
    kinds = (VarType.LOD_TENSOR, VarType.SELECTED_ROWS)
    return [n for n, v in sorted(variables(program).items()) if v.persistable and v.type in kinds]


def written(program):
    names = set()
    for i in range(program.num_blocks):
        for op in program.block(i).ops:
            names.update(op.output_arg_names)
    return names


def updated(program):
    """Parameters: what an optimizer op writes back."""
    names = set()
    for i in range(program.num_blocks):
        for op in program.block(i).ops:
            if "ParamOut" in op.output_names:
                names.update(op.output("ParamOut"))
    return names


def scope_value(scope, name, kind):
    """Dense, Rows, or None when the variable has no value."""
    var = scope.find_var(name)
    if var is None:
        return None
    if kind == VarType.SELECTED_ROWS:
        rows = var.get_selected_rows()
        return Rows(rows.rows(), rows.height(), rows.get_tensor()) if rows.get_tensor()._is_initialized() else None
    tensor = var.get_tensor()
    return Dense(tensor, tensor.lod()) if tensor._is_initialized() else None


def scope_values(scope, program, names):
    kinds = variables(program)
    values = {}
    for n in names:
        v = scope_value(scope, n, kinds[n].type)
        if v is not None:
            values[n] = v
    return values


def feed_values(program, feed):
    if feed is None:
        return {}
    if not isinstance(feed, dict):
        raise RecordError("the feed is a %s; only a dict name -> value is recorded" % type(feed).__name__)
    known = variables(program)
    values = {}
    for name, value in feed.items():
        if name not in known:
            continue
        values[name] = Dense(value, value.lod()) if hasattr(value, "lod") else Dense(value)
    return values


def fetch_names(fetch_list):
    if fetch_list is None:
        return []
    if not isinstance(fetch_list, (list, tuple)):
        fetch_list = [fetch_list]
    return [f if isinstance(f, str) else f.name for f in fetch_list]


def fetched_value(value):
    if isinstance(value, np.ndarray) or np.isscalar(value):
        return Dense(value)
    if not hasattr(value, "lod"):
        raise RecordError("a fetched %s cannot be recorded" % type(value).__name__)
    return Dense(value, value.lod())


def set_tensor(tensor, array, lod):
    tensor.set(array, core.CPUPlace())
    if lod:
        tensor.set_lod(lod)


def lod_tensor(value):
    tensor = core.LoDTensor() if hasattr(core, "LoDTensor") else core.DenseTensor()
    set_tensor(tensor, value.array, value.lod)
    return tensor


def nudged(array, direction):
    """Every float but zeros moved by one unit in the last place: up (1), down (-1), or up and down in turns (0)."""
    if array.dtype.kind != "f" or array.itemsize <= 2:
        return array
    up, down = (np.nextafter(array, np.array(to, array.dtype)) for to in (np.inf, -np.inf))
    turns = np.arange(array.size).reshape(array.shape) % 2 == 1
    moved = np.where(turns, up, down) if direction == 0 else up if direction > 0 else down
    return np.where(array == 0, array, moved).astype(array.dtype)


def beyond(a, b, rtol):
    """The most by which b misses a, over what rtol allows; NaN and inf are not counted."""
    fine = np.isfinite(a) & np.isfinite(b)
    if not fine.any():
        return 0.0
    a, b = a[fine].astype("float64"), b[fine].astype("float64")
    return float(max(0.0, (np.abs(a - b) - rtol * np.abs(a)).max()))


# ---------------------------------------------------------------- a case


class Case(object):
    """One program being recorded into one folder. Steps may be added until finish() is called."""

    def __init__(self, folder, program, scope, what, startup=None, seed=None, rtol=1e-4, atol=1e-6):
        self.folder, self.program, self.scope, self.what = folder, program, scope, what
        self.startup, self.seed, self.rtol, self.atol = startup, seed, rtol, atol
        self.steps, self.feeds, self.fetches, self.notes = 0, set(), [], []
        self.feed_steps = None  # None: every step has a feed of its own
        self.last, self.sparse = None, set()
        self.init = scope_values(scope, program, persistables(program))
        self.history = []  # per step: feed, names, values
        self.loose = {}  # variables with an atol of their own
        self.again = None  # again(feed, names, scope): runs one more step elsewhere; None: tolerances stay as they are
        # a case is made beside its place and moved there when it is whole
        self.temp = folder + ".tmp"
        shutil.rmtree(self.temp, ignore_errors=True)
        os.makedirs(self.temp)
        write_file(self.path("main.pb"), program_bytes(program))
        if startup is not None:
            write_file(self.path("startup.pb"), program_bytes(startup))
        self.write("init", self.init)
        self.warn_random()

    def path(self, *parts):
        return os.path.join(self.temp, *parts)

    def write(self, where, values):
        self.sparse.update(n for n, v in values.items() if isinstance(v, Rows))
        write_values(self.path(where), values)

    def warn_random(self):
        for i in range(self.program.num_blocks):
            for op in self.program.block(i).ops:
                if op.type not in RANDOM_OPS or self.seed:
                    continue
                if op.has_attr("is_test") and op.attr("is_test"):
                    continue
                if op.has_attr("seed") and op.attr("seed") and (not op.has_attr("fix_seed") or op.attr("fix_seed")):
                    continue
                note = "op %s draws random numbers without a seed: other runs give other values" % op.type
                if note not in self.notes:
                    self.notes.append(note)

    def add_step(self, feed, names, values):
        if self.feed_steps is None or self.steps < self.feed_steps:
            write_values(self.path("feed", str(self.steps)), feed)
        self.feeds.update(feed)
        for n in names:
            if n not in self.fetches:
                self.fetches.append(n)
        self.write(os.path.join("expect", str(self.steps)), dict(zip(names, values)))
        self.history.append((feed, names, values))
        self.steps += 1

    def state(self):
        """All persistables as they are now."""
        return scope_values(self.scope, self.program, persistables(self.program))

    def untouched(self):
        """Has nothing else changed the persistables since the last step?"""
        now = self.state()
        return set(now) == set(self.last) and all(now[n].file_bytes() == self.last[n].file_bytes() for n in now)

    def measure(self, state):
        """How much the recorded values move when the initial floats move by one unit in the last place: what no other implementation can be asked
        to hit better. Eight times that becomes a variable's own atol where it is more than the case's; whole numbers that change are left out
        of the comparison. Three nudges are few for large parameters, where now and then one element moves far (Adam divides by what may be
        almost zero): updated parameters share one measure, and so do the other final values."""
        if self.again is None or self.notes or any(isinstance(v, Rows) for v in self.init.values()):
            return
        params, moved, shared = updated(self.program), {}, {}
        for nudge in (1, -1, 0):
            for where, name, a, b in self.compared(state, nudge):
                if isinstance(a, Rows) or a.array.shape != b.array.shape:
                    continue
                if a.array.dtype.kind == "f":
                    far = beyond(a.array, b.array, self.rtol)
                    moved[name] = max(moved.get(name, 0.0), far)
                    if where == "final":
                        shared[name in params] = max(shared.get(name in params, 0.0), far)
                elif not np.array_equal(a.array, b.array) and os.path.exists(self.path(where, name)):
                    os.remove(self.path(where, name))
                    self.notes.append("%s/%s is left out: it changes when the initial values move by one unit in the last place"
                                      % (where, name))
        for name in state:
            if name in moved:
                moved[name] = max(moved[name], shared[name in params])
        self.loose = {n: 8 * m for n, m in moved.items() if 8 * m > self.atol}

    def compared(self, state, nudge):
        """Runs all steps from nudged values: (where, name, recorded, now) for everything recorded."""
        scope, pairs = core.Scope(), []
        if self.seed:  # the stream stands where it stood before the first step
            paddle.seed(self.seed)
            if self.startup is not None:
                base.Executor(base.CPUPlace()).run(self.startup, scope=core.Scope())
        for name, value in self.init.items():
            set_tensor(scope.var(name).get_tensor(), nudged(value.array, nudge), value.lod)
        with ThreadedAdam(self.program):
            for step, (feed, names, values) in enumerate(self.history):
                other = self.again({n: lod_tensor(v) for n, v in feed.items()}, names, scope)
                pairs += [("expect/%d" % step, n, v, fetched_value(o)) for n, v, o in zip(names, values, other or [])]
        after = scope_values(scope, self.program, sorted(state))
        return pairs + [("final", n, state[n], after[n]) for n in state if n in after]

    def finish(self, state=None):
        """Writes the final values (state: as they were after the last step, where the scope may hold others by now) and puts the case in its
        place."""
        out = written(self.program)
        state = {n: v for n, v in (state or self.state()).items() if n in out}
        write_values(self.path("final"), state)
        self.measure(state)
        lines = ["what: %s" % self.what, "paddle: %s" % VERSION, "steps: %d" % self.steps]
        if self.seed:
            lines.append("seed: %d" % self.seed)
        if self.feeds:
            lines += ["feeds: %s" % " ".join(sorted(self.feeds)), "feed_steps: %d" % (self.feed_steps or self.steps)]
        lines.append("fetches: %s" % " ".join(self.fetches))
        if self.sparse:
            lines.append("selected_rows: %s" % " ".join(sorted(self.sparse)))
        lines += ["final: yes", "rtol: %g" % self.rtol, "atol: %g" % self.atol]
        if self.loose:
            lines.append("atol_of: %s" % " ".join("%s=%.2g" % item for item in sorted(self.loose.items())))
        lines += ["note: %s" % n for n in self.notes]
        write_file(self.path("case.txt"), ("\n".join(lines) + "\n").encode("utf-8"))
        shutil.rmtree(self.folder, ignore_errors=True)
        os.rename(self.temp, self.folder)
        for n in self.notes:
            print("record_paddle: %s: %s" % (self.folder, n), file=sys.stderr)
        print("record_paddle: %s: %d steps, %d fetched variables" % (self.folder, self.steps, len(self.fetches)), file=sys.stderr)

    def drop(self):
        shutil.rmtree(self.temp, ignore_errors=True)


class ThreadedAdam(object):
    """While it is entered, the Adam ops of a 1.8 program take the code for several threads (see the top of the file)."""

    def __init__(self, program):
        self.ops = [op for op in program.global_block().ops if IS_1X and op.type == "adam"]

    def __enter__(self):
        self.before = [op.attr("min_row_size_to_use_multithread") for op in self.ops]
        for op in self.ops:
            op._set_attr("min_row_size_to_use_multithread", 1)

    def __exit__(self, *unused):
        for op, value in zip(self.ops, self.before):
            op._set_attr("min_row_size_to_use_multithread", value)


def record(exe, main_program, startup_program, feeds, fetch_list, out_dir, steps=None, what="recorded with record_paddle.record",
           scope=None, seed=None, keep_startup=False, rtol=1e-4, atol=1e-6):
    """Runs startup_program (None: the scope is ready) and then main_program for `steps` steps (default: one per feed), feeding feeds[step %
    len(feeds)] and fetching fetch_list, and writes the case to out_dir. Returns the fetched values, one list of numpy arrays per step.

    feeds: list of dicts name -> numpy array or LoDTensor. scope: default a fresh one, so that the script's own variables are left alone.
    seed (2.x): paddle.seed before the startup program; needed where ops draw from Paddle's own generator. keep_startup: store startup.pb too
    (always stored with seed); otherwise the values that it gave are enough."""
    main = plain_program(main_program)
    scope = scope or core.Scope()
    if seed:
        paddle.seed(seed)
    if startup_program is not None:
        exe.run(startup_program, scope=scope)
    feeds = list(feeds) or [{}]
    names, results = fetch_names(fetch_list), []
    case = Case(out_dir, main, scope, what, startup_program if seed or keep_startup else None, seed, rtol, atol)
    case.feed_steps = len(feeds) if feeds[0] else None
    case.again = lambda feed, names, where: exe.run(main_program, feed=feed, fetch_list=names, scope=where, return_numpy=False)
    try:
        with ThreadedAdam(main):
            for step in range(steps or len(feeds)):
                feed = feeds[step % len(feeds)]
                values = exe.run(main_program, feed=feed, fetch_list=names, scope=scope, return_numpy=False)
                case.add_step(feed_values(main, feed), names, [fetched_value(v) for v in values])
                results.append([np.array(v) for v in values])
        case.feed_steps = min(case.feed_steps, case.steps) if case.feed_steps else None
    except BaseException:
        case.drop()
        raise
    case.finish()
    return results


# ---------------------------------------------------------------- recording a script


class Stop(BaseException):
    """Ends the script when everything wanted is recorded."""


class Recorder(object):
    """Stands in for Executor.run and writes down what goes in and comes out."""

    def __init__(self, out, steps, stop, what, rtol, atol):
        self.out, self.steps, self.stop, self.what, self.rtol, self.atol = out, steps, stop, what, rtol, atol
        self.cases, self.done, self.refused = {}, set(), set()
        self.original = base.Executor.run

    def install(self):
        recorder = self

        def run(exe, program=None, feed=None, fetch_list=None, feed_var_name="feed", fetch_var_name="fetch", scope=None, return_numpy=True,
                **rest):
            return recorder.run(exe, program, feed, fetch_list, scope, return_numpy,
                                dict(rest, feed_var_name=feed_var_name, fetch_var_name=fetch_var_name))

        base.Executor.run = run

    def case_of(self, program, feed, scope):
        """The case that this run is a step of, or None when it is not to be recorded."""
        key = id(program)
        if key in self.done or key in self.refused:
            return None
        if not feed and not any(op.type == "feed" for op in program.global_block().ops) and self.is_startup(program):
            return None
        if key not in self.cases:
            folder = os.path.join(self.out, str(len(self.cases)))
            self.cases[key] = Case(folder, program, scope, self.what, None, None, self.rtol, self.atol)
        return self.cases[key]

    @staticmethod
    def is_startup(program):
        """Nothing is read but what the program itself has written: it only fills variables."""
        have = set()
        for op in program.global_block().ops:
            if not set(op.input_arg_names) <= have:
                return False
            have.update(op.output_arg_names)
        return True

    def run(self, exe, program, feed, fetch_list, scope, return_numpy, rest):
        def plain(numpy):
            return self.original(exe, program, feed=feed, fetch_list=fetch_list, scope=scope, return_numpy=numpy, **rest)

        where = scope or base.global_scope()
        inner, case = None, None
        try:
            inner = plain_program(program)
            if any(op.type in ("read", "create_py_reader") for op in inner.global_block().ops) and not feed:
                raise RecordError("the program reads its data by itself (DataLoader, py_reader); record a version that is fed")
            case = self.case_of(inner, feed, where)
            stored_feed = feed_values(inner, feed) if case else None
        except RecordError as e:
            self.refuse(inner, str(e))
            case = None
        if case is None:
            return plain(return_numpy)
        if case.last is not None and not case.untouched():
            case.notes.append("persistable variables were changed from outside after step %d; recording ends there" % (case.steps - 1))
            self.complete(inner, case)
            return plain(return_numpy)
        with ThreadedAdam(inner):
            values = plain(False)
        values = [] if values is None else values
        case.add_step(stored_feed, fetch_names(fetch_list), [fetched_value(v) for v in values])
        case.last = case.state()
        case.again = lambda feed, names, where: self.original(exe, program, feed=feed, fetch_list=names, scope=where, return_numpy=False, **rest)
        if case.steps >= self.steps:
            self.complete(inner, case)
        return [np.array(v) for v in values] if return_numpy else values

    def refuse(self, program, why):
        self.refused.add(id(program))
        case = self.cases.get(id(program))
        if case:
            case.drop()
        print("record_paddle: not recorded: %s" % why, file=sys.stderr)

    def complete(self, program, case):
        self.done.add(id(program))
        case.finish(case.last)
        if self.stop and all(key in self.done for key in self.cases):
            raise Stop()

    def finish(self):
        """Programs that ran fewer steps than asked for are stored as far as they went."""
        for key, case in self.cases.items():
            if key in self.done or key in self.refused:
                continue
            if case.steps:
                case.finish(case.last)
            else:
                case.drop()
        return sum(1 for c in self.cases.values() if os.path.isdir(c.folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder for the cases; each case becomes a folder 0, 1, ... in it")
    parser.add_argument("--steps", type=int, default=5, help="steps to record of each program (default 5)")
    parser.add_argument("--stop", action="store_true", help="end the script as soon as every program met so far is recorded")
    parser.add_argument("--what", default=None, help="one sentence for case.txt (default: the script's name)")
    parser.add_argument("--rtol", type=float, default=1e-4, help="relative tolerance written to case.txt (default 1e-4)")
    parser.add_argument("--atol", type=float, default=1e-6, help="absolute tolerance (default 1e-6)")
    parser.add_argument("script", help="the training script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its own arguments")
    args = parser.parse_args()
    if args.steps < 1:
        parser.error("--steps must be at least 1")
    recorder = Recorder(args.out, args.steps, args.stop, args.what or os.path.basename(args.script), args.rtol, args.atol)
    recorder.install()
    sys.argv = [args.script] + args.arguments
    sys.path[0] = os.path.dirname(os.path.abspath(args.script))
    with open(args.script, "rb") as f:
        code = compile(f.read(), args.script, "exec")
    try:
        exec(code, {"__name__": "__main__", "__file__": args.script})
    except Stop:
        pass
    except SystemExit as e:
        if e.code not in (None, 0):
            raise
    recorded = recorder.finish()
    print("record_paddle: %d cases in %s" % (recorded, args.out), file=sys.stderr)
    return 0 if recorded else 1


if __name__ == "__main__":
    sys.exit(main())
