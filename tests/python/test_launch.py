"""python -m paddle.distributed.launch and fleetrun: collective jobs, and those of servers and workers."""
import os
import subprocess
import sys
import tempfile
import unittest

from skiff._command import package_root, skiff_command

SCRIPT = """
import os, sys
print("rank %s of %s, %s" % (os.environ["PADDLE_TRAINER_ID"], os.environ["PADDLE_TRAINERS_NUM"], sys.argv[1:]))
sys.exit(int(os.environ["PADDLE_TRAINER_ID"] == os.environ.get("FAILS")) * 3)
"""


class Launch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        with open(os.path.join(self.folder.name, "script.py"), "w") as f:
            f.write(SCRIPT)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("PADDLE_")}
        self.environment["PYTHONPATH"] = package_root()

    def tearDown(self):
        self.folder.cleanup()

    def run_it(self, command, **environment):
        return subprocess.run(command, cwd=self.folder.name, env=dict(self.environment, **environment),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)

    def log(self, name):
        with open(os.path.join(self.folder.name, "log", name)) as f:
            return f.read()

    def test_collective_is_what_is_meant_without_servers(self):
        got = self.run_it([sys.executable, "-m", "paddle.distributed.launch", "--nproc_per_node", "2",
                           "script.py", "-m", "config.yaml", "--rate", "0.1"])
        self.assertEqual(got.returncode, 0, got.stderr)
        self.assertEqual(got.stdout, "rank 0 of 2, ['-m', 'config.yaml', '--rate', '0.1']\n")
        self.assertEqual(self.log("workerlog.1"), "rank 1 of 2, ['-m', 'config.yaml', '--rate', '0.1']\n")

    def test_one_rank_without_flags(self):
        got = self.run_it([sys.executable, "-m", "paddle.distributed.launch", "script.py"])
        self.assertEqual((got.returncode, got.stdout), (0, "rank 0 of 1, []\n"))

    def test_fleetrun(self):
        fleetrun = os.path.join(os.path.dirname(skiff_command()), "fleetrun")
        got = self.run_it([fleetrun, "--nproc_per_node=2", "script.py"])
        self.assertEqual((got.returncode, got.stdout), (0, "rank 0 of 2, []\n"))

    def test_the_failing_rank_is_named(self):
        got = self.run_it([sys.executable, "-m", "paddle.distributed.launch", "--nproc_per_node", "2", "script.py"],
                          FAILS="1")
        self.assertEqual(got.returncode, 3)
        self.assertIn("rank 1 failed with status 3", got.stderr)
        self.assertIn("its log is log/workerlog.1", got.stderr)


if __name__ == "__main__":
    unittest.main()
