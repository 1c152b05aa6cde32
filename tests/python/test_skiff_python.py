"""The command `skiff python`: what a script starts gets the same Python and the same Skiff."""
import os
import subprocess
import sys
import unittest

import skiff

HOME = os.path.dirname(os.path.dirname(os.path.abspath(skiff.__file__)))
SKIFF = os.path.join(os.path.dirname(HOME), "skiff")


def run(code, **env):
    return subprocess.run([SKIFF, "python", "-c", code], capture_output=True, text=True,
                          env=dict({k: v for k, v in os.environ.items() if k != "PYTHONHASHSEED"}, **env), check=False)


class SkiffPython(unittest.TestCase):
    def test_paddle_is_skiffs(self):
        got = run("import paddle.fluid; print(paddle.fluid.__file__)")
        self.assertEqual(got.stdout.strip(), os.path.join(HOME, "paddle/fluid/__init__.py"), got.stderr)

    def test_children(self):
        """A pipe command that says `python` or `python3` must find one that has numpy and paddle."""
        for python in ("python", "python3"):
            got = run("import subprocess; subprocess.run('%s -c \"import numpy, paddle; print(paddle.__file__)\"; "
                      "which skiff fleetrun', shell=True)" % python)
            here = os.path.dirname(SKIFF)
            self.assertEqual(got.stdout.split(), [os.path.join(HOME, "paddle/__init__.py"), SKIFF,
                                                  os.path.join(here, "fleetrun")], got.stderr)

    def test_own_python3_on_path(self):
        """The folder of these names may be on PATH without SKIFF_PYTHON: no python3 that starts itself for ever."""
        got = run("print('here')", SKIFF_PYTHON="", PATH=os.path.join(HOME, "skiff/bin") + ":/usr/bin:/bin")
        self.assertEqual(got.stdout.split(), ["here"], got.stderr)

    def test_hash_seed(self):
        """hash() of a string is the same in every process, unless the user wants another or none."""
        code = "print(hash('a word'))"
        self.assertEqual(run(code).stdout, run(code).stdout)
        self.assertEqual(run(code, PYTHONHASHSEED="0").stdout, run(code).stdout)
        self.assertNotEqual(run(code, PYTHONHASHSEED="1").stdout, run(code).stdout)

    def test_path_once(self):
        """skiff python inside of skiff python: PATH and PYTHONPATH do not grow."""
        code = "import os, subprocess; print(os.environ['PATH'], os.environ['PYTHONPATH'], flush=True); "
        got = run(code + "subprocess.run(['skiff', 'python', '-c', %r])" % code).stdout.splitlines()
        self.assertEqual(len(got), 2)
        self.assertEqual(got[0], got[1])

    def test_module(self):
        """python -m skiff is the command, with this Python."""
        def module(*words):
            return subprocess.run([sys.executable, "-m", "skiff"] + list(words), capture_output=True, text=True, check=False)
        self.assertEqual(module("--version").stdout, "skiff %s\n" % skiff.__version__)
        self.assertEqual(module("python", "-c", "import sys; print(sys.executable)").stdout.strip(), sys.executable)
        self.assertEqual(module("no-such-command").returncode, 2)

    def test_no_such_python(self):
        got = run("pass", SKIFF_PYTHON="python-of-nowhere")
        self.assertEqual(got.returncode, 1)
        self.assertIn("SKIFF_PYTHON is python-of-nowhere: no such program on PATH", got.stderr)


if __name__ == "__main__":
    unittest.main()
