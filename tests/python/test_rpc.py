"""paddle.distributed.rpc between real processes: values, exceptions, deaths, and that no unauthenticated peer can run a function."""
import json
import os
import pickle
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

import paddle

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(paddle.__file__)))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Job(object):
    """Processes of rpc_job.py; a temporary folder of its own, so that jobs do not meet."""

    def __init__(self, what, size, host="127.0.0.1", **environment):
        self.port, self.folder = free_port(), tempfile.TemporaryDirectory()
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SKIFF_SECRET", "PADDLE_"))}
        env.update(PYTHONPATH=PACKAGES, TMPDIR=self.folder.name, FLAGS_stop_check_timeout="60", **environment)
        self.processes = [subprocess.Popen([sys.executable, os.path.join(HERE, "rpc_job.py"), what, str(rank), str(size),
                                            "%s:%d" % (host, self.port)], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE, text=True) for rank in range(size)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.communicate()
        self.folder.cleanup()

    def ends(self):
        """(status, stdout, stderr) of each process."""
        return [(p.returncode, out, err) for p in self.processes for out, err in [p.communicate(timeout=100)]]


class Calls(unittest.TestCase):
    def test_all(self):
        with Job("calls", 3) as job:
            ended = job.ends()
            for status, out, err in ended:
                self.assertEqual(status, 0, err)
                self.assertTrue(out.endswith("left\n"))
            got = json.loads(ended[0][1].splitlines()[0])
            self.assertEqual(os.listdir(os.path.join(job.folder.name, "skiff-rpc-%d" % os.getuid())), [])
        raised = got.pop("raised")
        self.assertEqual(got, {
            "sum": 5, "keywords": "xy", "async": [k + 10 for k in range(20)], "tensor": ["Tensor", [2.0, 3.0]], "large": 3e6,
            "self": True, "others": 3, "nested": ["w1", "w0", "w1", "w0", "w1"],
            "infos": [["w%d" % k, k, "127.0.0.1"] for k in range(3)], "info": [True, True], "after": 2})
        for (kind, message, cause), (wanted, text, inside) in zip(raised, [
                ("KeyError", "lost", "in worker w1:\nTraceback"), ("RuntimeError", "Unsendable: 1 and 2", "raise {"),
                ("SystemExit", "3", "in worker w1"), ("TypeError", "worker w1 cannot send back a lock", ""),
                ("ValueError", "there is no worker nobody; there are w0, w1, w2", "None"), ("PicklingError", "<lambda>", "None"),
                ("PicklingError", "<lambda>", "None"), ("TimeoutError", "wait_for of worker w1 has not answered within 0.2 s", "None"),
                ("ValueError", "there is no worker w9", "None")]):
            self.assertEqual(kind if kind != "AttributeError" else "PicklingError", wanted, message)
            self.assertIn(text, message)
            self.assertIn(inside, cause)

    def test_one_process(self):
        with Job("environment", 1) as job:
            (status, out, err), = job.ends()
            self.assertEqual((status, out), (0, "left\n"), err)

    def test_a_worker_ends(self):
        with Job("ends", 2) as job:
            first, second = job.ends()
            self.assertEqual((first[0], second[0]), (0, 7), first[2])
            during, after, leaving = json.loads(first[1])
            self.assertEqual(during[:2], ["ConnectionError", "rpc: worker w1 ended while it ran end"])
            self.assertEqual(after[0], "ConnectionError")
            self.assertIn("worker w1 has ended or cannot be reached", after[1])
            self.assertEqual(leaving[:2], ["ConnectionError", "rpc.shutdown: w1 (rank 1) has ended without shutdown"])

    def test_names_must_differ(self):
        with Job("names", 2) as job:
            for status, out, err in job.ends():
                self.assertEqual(status, 1)
                self.assertIn("The Worker name must be unique, but name `same` is repeated.", err)

    def test_before_init(self):
        import paddle.distributed.rpc as rpc
        with self.assertRaisesRegex(RuntimeError, "call init_rpc first"):
            rpc.rpc_sync("w0", len, args=([],))
        with self.assertRaisesRegex(ValueError, "master_endpoint is 'nowhere'; expected host:port"):
            rpc.init_rpc("w0", 0, 1, "nowhere")


class Strangers(unittest.TestCase):
    def test_other_machines_need_a_secret(self):
        """An address that is not of the loopback: refused at once, before anything listens."""
        with Job("environment", 1, host="192.0.2.1") as job:
            (status, out, err), = job.ends()
            self.assertEqual(status, 1)
            self.assertIn("give all processes of the job one secret (SKIFF_SECRET_FILE", err)

    def test_secret(self):
        """With a secret of the environment nothing is put into the folder for temporary files."""
        with Job("calls", 3, SKIFF_SECRET="0123456789abcdef0123456789abcdef") as job:
            self.assertEqual([status for status, _, _ in job.ends()], [0, 0, 0])
            self.assertEqual(os.listdir(job.folder.name), [])

    def test_file_that_others_can_read(self):
        with tempfile.NamedTemporaryFile() as file:
            os.chmod(file.name, 0o644)
            with Job("environment", 1, SKIFF_SECRET_FILE=file.name) as job:
                (status, out, err), = job.ends()
                self.assertEqual(status, 1)
                self.assertIn("must belong to you and be readable by you alone", err)

    def test_nothing_is_read_of_them(self):
        """A pickle that would write a file, from somebody without the secret: not run, and the job goes on."""
        with Job("holds", 2) as job:
            for process in job.processes:
                self.assertEqual(process.stdout.readline(), "ready\n")
            mark = os.path.join(job.folder.name, "mark")
            evil = pickle.dumps(_Evil(mark))
            framed = struct.pack("<Q", len(evil)) + bytes(32) + evil
            for hello in (b"", bytes(32), bytes(64), os.urandom(64)):
                with socket.create_connection(("127.0.0.1", job.port)) as stranger:
                    stranger.settimeout(30)
                    stranger.sendall(hello + framed)
                    got = b""
                    try:
                        while True:
                            part = stranger.recv(4096)
                            if not part:
                                break
                            got += part
                    except ConnectionError:
                        pass
                    self.assertEqual(len(got), 32)  # the random bytes that everybody gets; no proof
            for process in job.processes:
                process.stdin.write("\n")
                process.stdin.flush()
            for status, out, err in job.ends():
                self.assertEqual((status, out), (0, "left\n"), err)
            self.assertFalse(os.path.exists(mark))


class _Evil(object):
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


if __name__ == "__main__":
    unittest.main()
