"""Training by days that is killed anywhere and started again ends with the tables of a job that was not."""
import glob
import gzip
import os
import signal
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "online_days.py")


class Days(unittest.TestCase):
    def run_once(self, folder, point=0):
        done = subprocess.run([sys.executable, SCRIPT, folder, str(point)], capture_output=True, text=True, timeout=120)
        self.assertIn(done.returncode, (0, -signal.SIGKILL), done.stderr)
        return done

    def result(self, folder):
        """(day, pass) of the done lines; the rows of the last model, by id."""
        with open(folder + "/models/donefile.txt") as lines:
            words = [line.split("\t") for line in lines.read().splitlines()]
        rows = {}
        for name in glob.glob(os.path.join(words[-1][2], "000", "part-*")):
            for line in gzip.open(name, "rt"):
                row = line.split()
                self.assertNotIn(row[0], rows)
                rows[row[0]] = [float(x) for x in row[1:]]
        return [(int(w[0]), int(w[3])) for w in words], rows

    def test_killed(self):
        with tempfile.TemporaryDirectory() as whole:
            steps = int(self.run_once(whole).stdout.split("points ")[1])
            places, rows = self.result(whole)
        self.assertEqual(places, [(20261116, 1), (20261117, -1), (20261117, 1), (20261118, -1)])
        self.assertIn(str(1 << 62), rows)
        self.assertGreater(steps, 12)
        for point in list(range(1, steps, 2)) + [2.5, 7.5, 8.5, 16.5]:
            with tempfile.TemporaryDirectory() as folder:
                first = self.run_once(folder, point)
                second = self.run_once(folder)
                self.assertEqual(second.returncode, 0, second.stderr)
                again, found = self.result(folder)
                self.assertEqual(again, places, "killed at %s" % point)
                self.assertEqual(sorted(found), sorted(rows), "killed at %s" % point)
                for key in rows:  # slot, unseen days, delta score, show, click: every pass counts once
                    self.assertEqual(found[key][:5], rows[key][:5], "killed at %s, id %s" % (point, key))
                if isinstance(point, int):
                    self.assertEqual(first.returncode, -signal.SIGKILL)
                passes = first.stdout.count("pass ") + second.stdout.count("pass ")
                self.assertIn(passes, (4, 5), first.stdout + second.stdout)


if __name__ == "__main__":
    unittest.main()
