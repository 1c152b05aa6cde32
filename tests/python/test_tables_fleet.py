"""fleet's calls about sparse tables, in a job of one server and one worker (tables_job.py)."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from ports import free_port

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tables_job.py")


class Jobs(unittest.TestCase):
    def run_job(self, *args):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        port = str(free_port())
        env = dict(os.environ, PADDLE_PSERVERS_IP_PORT_LIST="127.0.0.1:" + port, PADDLE_TRAINERS_NUM="1",
                   PADDLE_TRAINER_ID="0", POD_IP="127.0.0.1", PADDLE_PORT=port,
                   PADDLE_TRAINER_ENDPOINTS="127.0.0.1:%d" % free_port())
        jobs = [subprocess.Popen([sys.executable, SCRIPT, folder] + list(args), env=dict(env, TRAINING_ROLE=role), text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for role in ("TRAINER", "PSERVER")]
        said = []
        for job in jobs:
            try:
                said.append(job.communicate(timeout=60)[0])
            except subprocess.TimeoutExpired:
                job.kill()
                said.append(job.communicate()[0] + "\nno end")
        self.assertEqual([job.returncode for job in jobs], [0, 0], "\n".join(said))
        self.assertIn("all checked", said[0])
        return said[0]

    def test_with_a_table(self):
        said = self.run_job()
        self.assertIn("[fleet] table t: unknown settings: zebra.stripes\n", said)
        self.assertIn("[fleet] settings of table nobody are not used: the program has no distributed table of that name\n", said)

    def test_without_a_table(self):
        self.run_job("plain")


if __name__ == "__main__":
    unittest.main()
