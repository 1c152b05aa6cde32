"""fleet.load_model and load_inference_model are whole: files that are damaged, processes that are killed (load_job.py)."""
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from ports import free_port

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "load_job.py")
SECONDS = 90


class Loads(unittest.TestCase):
    def start(self, what):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        ports = [str(free_port()) for _ in range(2)]
        env = dict(os.environ, PADDLE_PSERVERS_IP_PORT_LIST=",".join("127.0.0.1:" + p for p in ports), PADDLE_TRAINERS_NUM="2",
                   SKIFF_SILENCE_MS="3000", POD_IP="127.0.0.1", PADDLE_TRAINER_ENDPOINTS="127.0.0.1:%d,127.0.0.1:%d" % (free_port(), free_port()))
        self.jobs = {}
        for i in range(2):
            for who, own in (("server%d" % i, {"TRAINING_ROLE": "PSERVER", "PADDLE_PORT": ports[i]}),
                             ("worker%d" % i, {"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": str(i)})):
                log = open(os.path.join(self.folder, who + ".log"), "w+", encoding="utf-8")
                self.addCleanup(log.close)
                job = subprocess.Popen([sys.executable, SCRIPT, self.folder, what], env=dict(env, **own), stdout=log,
                                       stderr=subprocess.STDOUT)
                self.addCleanup(job.wait)
                self.addCleanup(job.kill)
                self.jobs[who] = job

    def said(self, who):
        with open(os.path.join(self.folder, who + ".log"), encoding="utf-8") as f:
            return f.read()

    def ends(self, who, good, *texts):
        try:
            status = self.jobs[who].wait(SECONDS)
        except subprocess.TimeoutExpired:
            status = "no end"
        self.assertTrue((status == 0) == good, "%s ended with %s:\n%s" % (who, status, self.said(who)))
        for text in texts:
            self.assertIn(text, self.said(who))

    def kill_reader(self, file, who):
        """... once it waits for what the pipe gives."""
        path, until = os.path.join(self.folder, file), time.monotonic() + SECONDS
        pipe = None
        while pipe is None:
            self.assertLess(time.monotonic(), until, "nobody reads\n" + self.said("worker0") + self.said("server1"))
            try:
                if os.path.exists(os.path.join(self.folder, "ready")):  # before, it is the file that was copied
                    pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                pass
            time.sleep(0.01)
        self.addCleanup(os.close, pipe)
        self.jobs[who].kill()
        self.jobs[who].wait()
        open(os.path.join(self.folder, "killed"), "w", encoding="utf-8").close()

    def test_damaged_files_change_nothing(self):
        self.start("torn")
        for who in ("worker0", "worker1"):
            self.ends(who, True, "all checked")
        for who in ("server0", "server1"):
            self.ends(who, True)

    def test_a_server_is_killed_in_the_middle(self):
        self.start("server")
        self.kill_reader("stuck/001/part-001-00001.gz", "server1")
        self.ends("worker0", True, "server 1 is named")
        self.ends("server0", False, "server 1 at", "its parameters are lost")

    def test_the_loading_worker_is_killed_in_the_middle(self):
        self.start("worker")
        self.kill_reader("stuck/002/part-000.gz", "worker0")
        self.ends("worker1", True, "all checked")
        for who in ("server0", "server1"):
            self.ends(who, True, "worker 0 left during a load: the load is dropped")


if __name__ == "__main__":
    unittest.main()
