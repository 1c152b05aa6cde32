"""Runs the cases of cases.py and judges them; see run_all.sh. Needs only the standard library."""
import argparse
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from cases import CASES, NOTE

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PR_SET_CHILD_SUBREAPER = 36


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True)
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--keep")
    return parser.parse_args()


def free_ports(count):
    """The first of count neighbouring ports that are free on two loopback addresses."""
    for base in range(21000 + os.getpid() % 500 * 16, 32000, 16):
        taken = False
        for port in range(base, base + count):
            for address in ("127.0.0.1", "127.0.0.2", "127.0.0.3"):
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    try:
                        probe.bind((address, port))
                    except OSError:
                        taken = True
        if not taken:
            return base
    raise RuntimeError("no free ports")


def descendants(root):
    """Process ids below root, from /proc."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name) as file:
                    parent = int(file.read().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(parent, []).append(int(name))
    found, todo = [], [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def end_descendants():
    """Ends whatever a case left behind. This process adopts orphans, so all of them are below it."""
    for number, patience in ((signal.SIGTERM, 3.0), (signal.SIGKILL, 3.0)):
        left = descendants(os.getpid())
        for pid in left:
            try:
                os.kill(pid, number)
            except OSError:
                pass
        limit = time.time() + (patience if left else 0)
        while left and time.time() < limit:
            reap()
            left = descendants(os.getpid())
            time.sleep(0.05)
        if not left:
            return


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except OSError:
        pass


def figures(log):
    """All key=value words of the RESULT lines; a later line wins."""
    found = {}
    with open(log, errors="replace") as lines:
        for line in lines:
            if line.startswith("RESULT "):
                found.update(word.split("=", 1) for word in line.split()[1:] if "=" in word)
    return found


def number(text):
    try:
        return float(text)
    except ValueError:
        return text


def failed_check(check, found):
    """None, or what is wrong. A check is "name OP value"; the value may be another figure's name."""
    name, op, want = re.match(r"^([\w.]+)(==|!=|>=|<=|>|<)(.+)$", check).groups()
    if name not in found:
        return "no figure %s" % name
    have, want = number(found[name]), number(found.get(want, want))
    try:
        good = {"==": have == want, "!=": have != want}.get(op)
        if good is None:
            good = {">=": have >= want, "<=": have <= want, ">": have > want, "<": have < want}[op]
    except TypeError:
        good = False
    return None if good else "%s is %s, not %s%s" % (name, found[name], op, want)


def telling_lines(log):
    with open(log, errors="replace") as file:
        lines = [line.strip() for line in file.readlines()[-60:]]
    return [line for line in lines if re.search(r"Error\b|error:|Exception|wrong|not found|fault", line)]


def last_words(log, folder):
    """What most likely says why a case failed: in its own log, else in those of its processes."""
    logs = [log]
    for prefixes in (("workerlog", "trainer."), ("serverlog", "pserver.")):
        for where, _, names in sorted(os.walk(folder)):
            logs += [os.path.join(where, name) for name in sorted(names)
                     if name.startswith(prefixes) and not name.endswith(".py")]
    for name in logs:
        lines = telling_lines(name)
        if lines:
            return lines[-1][:160]
    with open(log, errors="replace") as file:
        lines = [line.strip() for line in file if line.strip()]
    return lines[-1][:160] if lines else ""


class Suite(object):
    def __init__(self, args):
        self.args = args
        self.work = os.path.abspath(args.keep) if args.keep else tempfile.mkdtemp(prefix="acceptance.")
        os.makedirs(self.work, exist_ok=True)
        self.version = ""
        if args.peer:
            self.version = subprocess.check_output(
                [args.python, "-c", "import paddle; print(paddle.__version__)"],
                universal_newlines=True, cwd=self.work).strip()
        self.env = self.environment()
        self.rows = self.make_rows()

    def environment(self):
        """python, and fleetrun if it is in the same folder, come from PYTHON; the rest of PATH stays."""
        bin_dir = os.path.join(self.work, "bin")
        os.makedirs(bin_dir, exist_ok=True)
        python = self.args.python
        python = os.path.abspath(python) if os.sep in python else shutil.which(python)
        wrapper = os.path.join(bin_dir, "python")
        with open(wrapper, "w") as file:
            file.write('#!/bin/sh\nexec "%s" "$@"\n' % python)
        os.chmod(wrapper, 0o755)
        env = dict(os.environ)
        for name in list(env):
            if name.startswith(("PADDLE_", "FLAGS_", "TRAINING_ROLE", "POD_IP", "http_proxy", "https_proxy")):
                del env[name]
        env["PATH"] = os.pathsep.join([bin_dir, os.path.dirname(python), env["PATH"]])
        env["PYTHONHASHSEED"] = "0"
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        env["SUITE"] = HERE
        if self.args.peer:
            # real Paddle downloads the housing data; it takes this copy instead
            env["HOME"] = os.path.join(self.work, "home")
            cache = os.path.join(env["HOME"], ".cache/paddle/dataset/uci_housing")
            os.makedirs(cache, exist_ok=True)
            shutil.copy(os.path.join(HERE, "../../../python/paddle/dataset/housing.data"), cache)
        return env

    def make_rows(self):
        rows = os.path.join(self.work, "rows.tsv")
        subprocess.check_call(
            [self.args.python, os.path.join(HERE, "lib/make_criteo.py"), "--rows", "6000", "--out", rows],
            stdout=subprocess.DEVNULL)
        return rows

    def peer_way(self, case):
        """(reason not to run, command, checks) for the real Paddle at hand."""
        minor = ".".join(self.version.split(".")[:2])
        way = case["peer"].get(minor)
        if way is None:
            return "not a case for Paddle %s" % self.version, None, None
        if isinstance(way, str) and way != "run":
            return way, None, None
        way = {} if way == "run" else way
        return None, way.get("command", case["command"]), way.get("checks", case["checks"])

    def run(self, case):
        """(status, seconds, text)"""
        command, checks = case["command"], case["checks"]
        if self.args.peer:
            reason, command, checks = self.peer_way(case)
            if reason:
                return "absent", 0.0, reason
        folder = os.path.join(self.work, case["name"])
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(os.path.join(HERE, case["group"]), folder)
        log = os.path.join(self.work, case["name"] + ".log")
        env = dict(self.env, PORT_BASE=str(free_ports(8)), ROWS=self.rows)
        start = time.time()
        with open(log, "w") as out:
            process = subprocess.Popen(
                ["bash", "-e", "-o", "pipefail", "-c", command], cwd=folder, env=env,
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
            try:
                code = process.wait(timeout=case["timeout"])
            except subprocess.TimeoutExpired:
                code = None
        seconds = time.time() - start
        end_descendants()
        why = last_words(log, folder) if code else ""
        if not self.args.keep:
            shutil.rmtree(folder, ignore_errors=True)
        if code is None:
            return "FAIL", seconds, "not finished after %d s" % case["timeout"]
        if code:
            return "FAIL", seconds, "exit code %d: %s" % (code, why)
        found = figures(log)
        wrong = [text for text in (failed_check(check, found) for check in checks) if text]
        if wrong:
            return "FAIL", seconds, "; ".join(wrong)
        shown = [name for name in case["show"] if name in found]
        return "pass", seconds, " ".join("%s=%s" % (name, found[name]) for name in shown)


def main():
    args = parse_args()
    chosen = [case for case in CASES
              if not args.only or any(text in case["name"] for text in args.only)]
    if args.list:
        for case in chosen:
            print("%-28s %-18s %s" % (case["name"], case["group"], case["covers"]))
        return 0
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    suite = Suite(args)
    print("python: %s %s" % (args.python, ("(real Paddle %s)" % suite.version) if args.peer else ""))
    print("%-28s %-8s %6s  %s" % ("case", "status", "s", "figures, or the reason"))
    counts = {}
    for case in chosen:
        status, seconds, text = suite.run(case)
        if status == "FAIL" and case["optional"]:
            status = "optional"
        counts[status] = counts.get(status, 0) + 1
        print("%-28s %-8s %6.1f  %s" % (case["name"], status, seconds, text))
        sys.stdout.flush()
    print("RESULT " + " ".join("%s=%d" % item for item in sorted(counts.items())))
    if counts.get("optional"):
        print(NOTE)
    if args.keep or counts.get("FAIL"):
        print("logs: %s" % suite.work)
    else:
        shutil.rmtree(suite.work, ignore_errors=True)
    return 1 if counts.get("FAIL") else 0


if __name__ == "__main__":
    sys.exit(main())
