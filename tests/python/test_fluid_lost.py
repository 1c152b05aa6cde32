"""Workers whose scripts end without stop_worker, as processes of jobs of one server and two workers: the job ends in bounded
time, and everybody says who was lost and why (docs/internals/consistency.md, "All modes")."""
import os
import subprocess
import sys
import tempfile
import time
import unittest

from ports import free_port

HERE = os.path.dirname(os.path.abspath(__file__))
MODES = ("sync", "half_async", "async", "geo")


class Job:
    def __init__(self, mode, how):
        self.mode, endpoint = mode, "127.0.0.1:%d" % free_port()
        self.folder = tempfile.TemporaryDirectory()
        command = [sys.executable, os.path.join(HERE, "lost_job.py"), mode, how]
        env = dict(os.environ, SKIFF_SILENCE_MS="2000")
        self.started = time.monotonic()
        self.processes = {}
        for who in ("server 0", "worker 0", "worker 1"):
            with open(self.path(who), "w") as log:
                self.processes[who] = subprocess.Popen(command + who.split() + [endpoint], stdout=log, stderr=log, env=env)

    def path(self, who):
        return os.path.join(self.folder.name, who)

    def said(self, who):
        with open(self.path(who)) as log:
            return log.read()

    def wait(self):
        """Exit statuses of server 0, worker 0, worker 1."""
        return [self.processes[who].wait(60) for who in ("server 0", "worker 0", "worker 1")]

    def end(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()
        self.folder.cleanup()


class Lost(unittest.TestCase):
    def run_jobs(self, how, statuses, server_says, modes=MODES):
        jobs = [Job(mode, how) for mode in modes]
        try:
            for job in jobs:
                with self.subTest(mode=job.mode, how=how):
                    self.assertEqual(job.wait(), statuses, job.said("server 0") + job.said("worker 0"))
                    self.assertRegex(job.said("server 0"), server_says)
                    if statuses[1] == 0:
                        self.assertIn("DONE", job.said("worker 0"))
        finally:
            for job in jobs:
                job.end()

    def test_exception(self):
        said = "has ended with exit status 1, without stop_worker"
        self.run_jobs("raise", [0, 0, 1], r"\[server 0\] worker 1 \(.*\) %s; the others continue" % said)

    def test_sys_exit(self):
        self.run_jobs("exit", [0, 0, 3], r"worker 1 \(.*\) has ended with exit status 3, without stop_worker; the others continue",
                      ("sync", "async"))

    def test_os_exit(self):
        """No message is sent: the lost connection is noticed."""
        self.run_jobs("os_exit", [0, 0, 3], r"worker 1 \(.*\) has (had no connection|been silent) for .* s; the others continue")

    def test_good_end(self):
        """A script that is through with status 0 has only forgotten stop_worker."""
        self.run_jobs("exit0", [0, 0, 0], r"worker 1 \(.*\) has left", ("sync", "async"))

    def test_all_fail(self):
        self.run_jobs("raise_all", [1, 1, 1], r"all trainers have died; the last one: worker 0 \(.*\) has ended with exit status 1")


if __name__ == "__main__":
    unittest.main()
