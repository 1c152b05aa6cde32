"""Recorded jobs of Paddle 2.6.2's tables, run by real servers and workers: python3 golden.py PYTHON CASES FOLDER [NAME ..]

CASES holds <case>/case.json (settings and actions), expect.txt (every file that the job saved) and pulled.txt (looked-up rows).
sparse_job.py is one process of a case, as it was run with Paddle. Two cases run at a time; what fails is kept in FOLDER.
"""
import concurrent.futures
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "python"))
from ports import free_port  # noqa: E402

TOLERANCE = 2e-5  # six digits are written
SKIP = re.compile(r"^(server\d+\.log|worker\d+\.log|worker\d+\.txt|turn|turn\.tmp|case\.json|end\d+|(.*/)?__skiff_manifest__)$")


def agreed(name, want):
    """The files that are expected, with the differences of docs/reference/differences.md."""
    if name == "servers3":  # where a server has one dense number, Paddle writes the learning rate behind it
        return {file: [line.split()[0] for line in lines] if "/001/" in file else lines for file, lines in want.items()}
    if name == "push_unflushed":  # a save pushes first what the worker has queued
        return {file: want[re.sub("^early/", "late/", file)] for file in want}
    if name.startswith("geo_"):  # jobs without sparse tables have no dnn_plugin
        return {file.replace("dnn_plugin/", ""): lines for file, lines in want.items()}
    return want


#: what the worker is told where Paddle goes on as if nothing had happened
REFUSED = {"load_wrong_count": "has 3 files part-*, table embedding has shard_num 4: there must be one file for each shard"}


def is_compared(name, line):
    """Lines of pulled.txt; the others are agreed differences."""
    if name.startswith("dense_"):  # what servers have trained comes back to exe.run, too
        return not re.match(r"worker\d+ \d+ dense_w ", line)
    return name != "geo_1x2"  # what others have changed comes with a worker's own exchange, not while it does nothing


# ---- one job ----


def start(python, script, case, out, name, extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PADDLE_", "TRAINING_ROLE", "POD_IP"))}
    env.update(extra, PADDLE_WITH_GLOO="0", OMP_NUM_THREADS="1")
    with open(os.path.join(out, name + ".log"), "w") as log:
        return subprocess.Popen([python, script, case, out], cwd=out, env=env, stdout=log, stderr=subprocess.STDOUT)


def prepare(case, out):
    if case["table"].get("entry", ["none"])[0] in ("count", "probability"):  # Paddle 2.6.2 does not look at these entries
        case["table"]["config"]["entry"] = "none"
    with open(os.path.join(out, "case.json"), "w") as f:
        json.dump(case, f)
    for name, text in case.get("prepare", {}).items():
        path = os.path.join(out, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        (gzip.open if name.endswith(".gz") else open)(path, "wt").write(text)


def begin(out, workers, jobs):
    """The first action may begin when all workers have joined."""
    while not all(os.path.exists(os.path.join(out, "worker%d.txt" % i)) for i in range(workers)):
        if any(job.poll() for job in jobs.values()):
            return
        time.sleep(0.02)
    with open(os.path.join(out, "turn.tmp"), "w") as f:
        f.write("0\n")
    os.replace(os.path.join(out, "turn.tmp"), os.path.join(out, "turn"))


def run(python, path, out):
    """None, or what went wrong"""
    with open(path) as f:
        case = json.load(f)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    prepare(case, out)
    servers = ["127.0.0.1:%d" % free_port() for _ in range(case.get("servers", 1))]
    workers = ["127.0.0.1:%d" % free_port() for _ in range(case.get("workers", 1))]
    shared = {"PADDLE_PSERVERS_IP_PORT_LIST": ",".join(servers), "PADDLE_TRAINER_ENDPOINTS": ",".join(workers),
              "PADDLE_TRAINERS_NUM": str(len(workers)), "POD_IP": "127.0.0.1"}
    script, jobs = os.path.join(HERE, "sparse_job.py"), {}
    for kind, role, ends in (("server", "PSERVER", servers), ("worker", "TRAINER", workers)):
        for i, end in enumerate(ends):
            jobs["%s%d" % (kind, i)] = start(python, script, "case.json", out, "%s%d" % (kind, i), dict(
                shared, TRAINING_ROLE=role, PADDLE_PORT=end.split(":")[1], PADDLE_TRAINER_ID=str(i)))
    begin(out, len(workers), jobs)
    wrong = []
    for name in sorted(jobs, reverse=True):  # workers first
        try:
            code = jobs[name].wait(60 if not wrong else 5)
        except subprocess.TimeoutExpired:
            jobs[name].kill()
            code = jobs[name].wait() and "no end"
        if code:
            with open(os.path.join(out, name + ".log"), errors="replace") as f:
                wrong.append("%s: %s\n%s" % (name, code, f.read()[-1500:]))
    return "\n".join(wrong) or None


# ---- what it left ----


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at += 1
        if not data[at - 1] & 128:
            return value, at
        shift += 7


def tensor(data):
    """The lines of a LoDTensor of float32 without LoD."""
    size, = struct.unpack_from("<i", data, 16)
    desc, dims, at = data[20:20 + size], [], 0
    while at < len(desc):
        tag, at = varint(desc, at)
        value, at = varint(desc, at)
        if tag == 18:  # packed
            stop = at + value
            while at < stop:
                value, at = varint(desc, at)
                dims.append(value)
        elif tag == 16:
            dims.append(value)
    values = struct.unpack_from("<%df" % ((len(data) - 20 - size) // 4), data, 20 + size)
    width = dims[-1] or 1
    return ["tensor %s" % dims] + [" ".join("%.9g" % x for x in values[i:i + width]) for i in range(0, len(values), width)]


def by_key(line):
    found = re.search(r"\d+", line)
    return (int(found.group()) if found else -1, line)


def lines_of(path, relative):
    with open(path, "rb") as f:
        data = f.read()
    name = os.path.basename(path)
    if name == "__model__":
        return ["(a program)"]
    if not name.startswith("part-"):
        return tensor(data)
    lines = (gzip.decompress(data) if name.endswith(".gz") else data).decode().splitlines()
    return sorted(lines, key=by_key) if "/000" in "/" + relative else lines


def saved(out, case):
    """{file: lines}"""
    found = {}
    for folder, _, names in os.walk(out):
        for name in names:
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, out)
            if not SKIP.match(relative) and relative not in case.get("prepare", {}):
                found[relative] = lines_of(path, relative)
    return found


def pulled(out, case):
    lines = []
    for i in range(case.get("workers", 1)):
        with open(os.path.join(out, "worker%d.txt" % i)) as f:
            lines += ["worker%d %s" % (i, line.rstrip("\n")) for line in f]
    return lines


def sections(text):
    found, lines = {}, []
    for line in text.splitlines():
        if line.startswith("== "):
            lines = found[line[3:]] = []
        else:
            lines.append(line)
    return found


# ---- the judge ----


def same_word(have, want):
    if have == want:
        return True
    try:
        a, b = float(have), float(want)
    except ValueError:
        return False
    if a != a or b != b:
        return a != a and b != b
    if have.isdigit() and want.isdigit():  # keys, counts
        return False
    return abs(a - b) <= TOLERANCE * abs(b) + 1e-12


def compare_lines(name, have, want):
    if len(have) != len(want):
        shown = ["  have " + line for line in have[:4]] + ["  want " + line for line in want[:4]]
        return ["%s: %d lines, expected %d" % (name, len(have), len(want))] + shown
    wrong = []
    for h, w in zip(have, want):
        a, b = re.split(r"[ ,\t]", h), re.split(r"[ ,\t]", w)
        if len(a) != len(b) or not all(same_word(x, y) for x, y in zip(a, b)):
            wrong += ["%s:" % name, "  have " + h, "  want " + w]
    return wrong


def judge(name, path, out):
    with open(os.path.join(path, "case.json")) as f:
        case = json.load(f)
    with open(os.path.join(path, "expect.txt")) as f:
        want = agreed(name, sections(f.read()))
    with open(os.path.join(path, "pulled.txt")) as f:
        rows = f.read().splitlines()
    have, wrong = saved(out, case), []
    for file in sorted(set(have) | set(want)):
        if file not in have or file not in want:
            wrong.append("%s: %s" % (file, "is missing" if file in want else "is not expected"))
        else:
            wrong += compare_lines(file, have[file], want[file])
    have, rows = [[line for line in lines if is_compared(name, line)] for lines in (pulled(out, case), rows)]
    return wrong + compare_lines("pulled", have, rows)


def check(python, cases, folder, name):
    path, out = os.path.join(cases, name), os.path.join(folder, name)
    wrong = run(python, os.path.join(path, "case.json"), out)
    if name in REFUSED:
        wrong = [] if REFUSED[name] in (wrong or "") else ["expected: " + REFUSED[name], wrong or "it went on"]
    else:
        wrong = [wrong] if wrong else judge(name, path, out)
    if not wrong:
        shutil.rmtree(out, ignore_errors=True)
    return name, wrong


def main():
    python, cases, folder = [os.path.abspath(a) for a in sys.argv[1:4]]
    names = sys.argv[4:] or sorted(n for n in os.listdir(cases) if os.path.exists(os.path.join(cases, n, "case.json")))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        for name, wrong in pool.map(lambda n: check(python, cases, folder, n), names):
            failed += bool(wrong)
            print("%s %s" % ("FAILED" if wrong else "ok", name), flush=True)
            for line in wrong[:20]:
                print("    " + line.replace("\n", "\n    "))
    print("%d of %d cases" % (len(names) - failed, len(names)))
    sys.exit(failed > 0)


main()
