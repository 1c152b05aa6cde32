"""Finds the command `skiff` and becomes it."""
import os
import shutil
import sys


def package_root():
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def skiff_command():
    """$SKIFF, the command next to this package (build/skiff, or bin/skiff of an installation), or the one on the PATH."""
    beside = os.path.join(os.path.dirname(package_root()), "skiff")
    installed = os.path.join(package_root(), "../../../bin/skiff")
    for path in (os.environ.get("SKIFF"), beside, installed, shutil.which("skiff")):
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise SystemExit("the command skiff was not found: set SKIFF to its path, or put it on the PATH")


def become(arguments):
    """skiff with these arguments; the scripts it starts run with this Python and this package."""
    paths = os.environ.get("PYTHONPATH", "")
    if package_root() not in paths.split(os.pathsep):
        os.environ["PYTHONPATH"] = package_root() + (os.pathsep + paths if paths else "")
    os.environ.setdefault("SKIFF_PYTHON", sys.executable)
    skiff = skiff_command()
    sys.stdout.flush()
    os.execv(skiff, [skiff] + arguments)
